"""What a pattern is to a spec: its name, what it accepts and its rules; and the registry of all patterns.

The package's own patterns are the modules ``scdN`` of :mod:`scdgen.patterns`, one each. Those of other
packages are found by the entry point group ``scdgen.patterns``: each entry point names a subclass of
:class:`scdgen.Pattern`.
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
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from scdgen.spec.model import Spec

GROUP = "scdgen.patterns"
Location = tuple[int | str, ...]
Found = Iterator[tuple[Location, str]]
# The table properties that say what the stored rows depend on; by them a run notices that the spec has changed since.
PATTERN, KEYS, HISTORY, TRACKED = "scdgen.pattern", "scdgen.keys", "scdgen.history", "scdgen.tracked"


class PatternRules:
    """The side of a pattern that concerns the spec alone."""

    name: ClassVar[str]
    """The value of the option ``pattern``."""
    summary: ClassVar[str]
    """What the table holds, in a few words for the list of patterns."""
    keeps_history: ClassVar[bool]
    """Whether the table has several rows of a key, each valid for a time."""
    feeds: ClassVar[tuple[str, ...]] = ("changes", "snapshot")
    """The values of ``source.feed`` that the pattern accepts."""
    without: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The options that a spec of this pattern cannot have, as ``history`` or ``columns.*.merge``, and how a message
    about them goes on after the pattern's name, as ``which keeps no versions; remove it``."""
    deletes: ClassVar[tuple[str, ...]]
    """The values of ``on_delete`` that the pattern accepts, the default first."""
    check_names: ClassVar[tuple[str, ...]] = ()
    """The names of the checks that its tables can have; no spec can give one of them to a check of its own."""

    templates: ClassVar[Path | None] = None
    """A folder with the pattern's templates; ``None`` for those of this package."""

    def accepts(self, feed: str) -> bool:
        """Whether a spec of this pattern can have a feed."""
        return feed in self.feeds

    def needs_time(self, spec: Spec) -> bool:
        """Whether a row of the source must say when it became true."""
        return False

    def takes_parts(self, spec: Spec) -> bool:
        """Whether the rows of the source may come in parts, as micro-batches do."""
        return True

    def problems(self, spec: Spec) -> Found:
        """What is wrong with a spec by the rules of this pattern: (place in the spec, one line with the fix).

        ``feeds``, ``without`` and ``deletes`` are checked for every pattern; this is for rules that span options.
        """
        return iter(())

    def added_columns(self, spec: Spec) -> Iterable[str]:
        """The columns that the table has besides those of the spec, in order."""
        return ()

    def definition(self, spec: Spec) -> dict[str, str]:
        """What the stored rows depend on, besides pattern and keys: table property -> value."""
        return {}


def definition(spec: Spec) -> dict[str, str]:
    """What the stored rows depend on: table property -> value."""
    return {PATTERN: spec.pattern, KEYS: names_as_json(spec.keys), **spec.rules.definition(spec)}


def names_as_json(names: Iterable[str]) -> str:
    """A list of columns as the value of a table property."""
    return json.dumps(list(names), ensure_ascii=False)


_registry: dict[str, PatternRules] = {}


def register(pattern: PatternRules) -> None:
    """Add a pattern; one of the same name is replaced."""
    _registry[pattern.name] = pattern


@functools.lru_cache(maxsize=1)
def _load_all() -> None:
    """Import the modules of the package's own patterns, and the entry points of other packages."""
    package = import_module(GROUP)
    for module in iter_modules(package.__path__):
        if re.fullmatch(r"scd\d", module.name):
            import_module(f"{GROUP}.{module.name}")
    for entry in entry_points(group=GROUP):
        register(entry.load()())


def pattern_names() -> tuple[str, ...]:
    """The names of all patterns, the package's own in descending order first."""
    _load_all()
    return tuple(sorted(_registry, key=lambda name: (name.startswith("scd"), name), reverse=True))


def rules_of(name: str) -> PatternRules:
    """The pattern of a name; raises ``KeyError`` for one that is not registered."""
    _load_all()
    return _registry[name]
