"""The registry of all patterns, with what each says of its options.

The built-in patterns are the modules ``scdN`` of :mod:`scdgen.patterns`, one each. Other packages register theirs in
the entry point group ``scdgen.patterns``: each entry point names a subclass of :class:`scdgen.Pattern`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import ClassVar

from scdgen.model.option import Location, Need, Option

GROUP = "scdgen.patterns"
Found = Iterator[tuple[Location, str]]
# Table properties with what the stored rows depend on: a run compares them to see whether the spec has changed.
PREFIX = "scdgen."
PATTERN, KEYS, HISTORY, TRACKED = (f"{PREFIX}{name}" for name in ("pattern", "keys", "history", "tracked"))
TIME_ZONE, RECORDED, DATES = f"{PREFIX}time_zone", f"{PREFIX}recorded", f"{PREFIX}dates"
PARTITIONS = f"{PREFIX}partitions"


class PatternOptions:
    """The part of a pattern that needs no spec: its name, and the options that a spec of it can have."""

    name: ClassVar[str]
    """The value of the option ``pattern``."""
    summary: ClassVar[str]
    """What the table keeps, in a few words for the list of patterns."""
    keeps_history: ClassVar[bool]
    """Whether the table has versions: several rows per key, each valid for a time."""
    feeds: ClassVar[tuple[str, ...]] = ("changes", "snapshot")
    """The values of ``source.feed`` that the pattern accepts."""
    without: ClassVar[Mapping[Need | str, str]] = MappingProxyType({})
    """The options that a spec of this pattern cannot have: all with a need that the pattern does not meet, or one by
    its path, such as ``columns.*.compare`` -> the end of the message that refuses them, after the pattern's name, such
    as ``which keeps no versions; remove it``. If that is empty, the option has the end."""
    deletes: ClassVar[tuple[str, ...]]
    """The values of ``on_delete`` that the pattern accepts, the default first."""
    check_names: ClassVar[tuple[str, ...]] = ()
    """The names of the built-in checks of its tables, which custom checks cannot have."""

    templates: ClassVar[Path | None] = None
    """A folder with the pattern's templates; ``None`` for those of this package."""

    def accepts(self, feed: str) -> bool:
        """Whether a spec of this pattern can have this feed."""
        return feed in self.feeds

    def refuse(self, path: str, option: Option) -> str | None:
        """Return the end of the message that refuses an option; ``None`` if a spec of this pattern can have it."""
        if path in self.without:
            return self.without[path]
        if option.needs is not None and option.needs in self.without:
            return self.without[option.needs] or option.otherwise
        return None


def names_as_json(names: Iterable[str]) -> str:
    """Write a list of columns as the value of a table property."""
    return json.dumps(list(names), ensure_ascii=False)


_registry: dict[str, PatternOptions] = {}


def register(pattern: PatternOptions) -> None:
    """Register a pattern; one of the same name is replaced."""
    _registry[pattern.name] = pattern


@functools.lru_cache(maxsize=1)
def _load_all() -> None:
    """Import the modules of the built-in patterns and the entry points of other packages."""
    package = import_module(GROUP)
    for module in iter_modules(package.__path__):
        if re.fullmatch(r"scd\d", module.name):
            import_module(f"{GROUP}.{module.name}")
    for entry in entry_points(group=GROUP):
        register(entry.load()())


def pattern_names() -> tuple[str, ...]:
    """Return the names of all patterns, the built-in ones first, in descending order."""
    _load_all()
    return tuple(sorted(_registry, key=lambda name: (name.startswith("scd"), name), reverse=True))


def options_of(name: str) -> PatternOptions:
    """Return the pattern of a name; raises ``KeyError`` if it is not registered."""
    _load_all()
    return _registry[name]
