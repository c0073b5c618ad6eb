"""``defaults.yml``: options for every spec in its folder and below, merged by key before the models are built.

The nearer file wins over the farther one, the spec over all. Each value keeps the file, line and column of its place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scdgen import paths
from scdgen.errors import Problem

FILE = "defaults.yml"
OWN = ("target", "keys", "columns", "sources")
"""Options that each spec has of its own."""
OWN_OF_SOURCE = ("table", "query", "path", "join")
"""Those below ``source``."""
_FLAG = ("history", "is_current")
NULL_IS_A_VALUE = {_FLAG, (*_FLAG, "open"), (*_FLAG, "closed")}
"""Where null, which elsewhere takes a default back, is a value, and not the one without the option."""
_PROJECT = (".git", "scdgen.toml", "pyproject.toml")
_DEEP = 1_000  # more steps than any place has
Location = tuple[int | str, ...]


def is_defaults_file(path: Path) -> bool:
    """Whether a file has defaults of specs, by its name; it is then no spec."""
    return path.name == FILE


def find_defaults(spec: Path) -> Iterator[Path]:
    """Yield the files of defaults of a spec, the nearest first: up to the folder of its project.

    That is the first with ``.git``, ``scdgen.toml`` or ``pyproject.toml``; without one the working folder, or the
    spec's own if it is not below that: a folder that everybody can write to, as above ``/tmp/me``, must have no say.
    """
    own, here = Path(os.path.normpath(spec.absolute())).parent, Path.cwd()
    folders = [own, *own.parents]
    ends = (place for place in folders if any((place / name).exists() for name in _PROJECT))
    last = next(ends, here if here in folders else own)
    for folder in folders[: folders.index(last) + 1]:
        file = folder / FILE if spec.is_absolute() else Path(os.path.relpath(folder / FILE))
        if paths.exists(file):
            yield file


@dataclass(frozen=True)
class Layer:
    """The options of a file: a tree whose nodes know their lines and columns."""

    file: str
    tree: Any


def find_misplaced(layer: Layer) -> Iterator[Problem]:
    """Yield what a file of defaults may not have."""
    if layer.tree is not None and not isinstance(layer.tree, dict):
        yield Problem(layer.file, 1, 1, f"holds no options; {FILE} is a mapping of option: value, as a spec is")
    else:
        for place in (*((name,) for name in OWN), *(("source", name) for name in OWN_OF_SOURCE)):
            depth, line, column, _ = follow(layer.tree, place)
            if depth == len(place):
                what = f"'{place[-1]}' is of one spec, and no default; write it in each spec"
                yield Problem(layer.file, line, column, what)


def merge(layers: Sequence[Layer]) -> dict[str, Any]:
    """Return the options of a spec and its defaults as plain values; the default ``source`` is that of each source."""
    spec, *others = (plain(layer.tree) or {} for layer in layers)
    made: dict[str, Any] = {}
    for options in reversed(others):
        made = _over(options, made)
    if isinstance(named := spec.get("sources"), dict) and "source" in made:
        source = made.pop("source")
        spec = {**spec, "sources": {name: _over({} if own is None else own, source) for name, own in named.items()}}
    merged: dict[str, Any] = _over(spec, made)
    return merged


def _over(near: Any, far: Any, place: Location = ()) -> Any:
    if not isinstance(near, dict) or not isinstance(far, dict):
        return near
    made = {**far, **{key: _over(value, far.get(key), (*place, key)) for key, value in near.items()}}
    back = (key for key, value in near.items() if value is None and key in far)
    for key in back:
        if (*place, key) not in NULL_IS_A_VALUE:
            del made[key]
    return made


def plain(node: Any) -> Any:
    """Convert the round-trip types of the YAML reader, which carry positions, to plain Python values."""
    if isinstance(node, dict):
        return {key if isinstance(key, str) else str(key): plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [plain(value) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def locate(layers: Iterable[Layer], place: Location) -> tuple[str, int, int]:
    """Return file, line and column of the value at a place; without one, of the deepest node around it."""
    found, deepest, reach = ("", 1, 1), -1, _DEEP
    for number, layer in enumerate(layers):
        of_sources = number > 0 and place[:1] == ("sources",) and len(place) > 1
        steps = ("source", *place[2:]) if of_sources else place
        depth, line, column, end = follow(layer.tree, steps)
        depth, end = depth + of_sources, end + of_sources
        if min(depth, reach) > deepest:
            found, deepest = (layer.file, line, column), depth
        # What is no mapping replaces what farther files have there.
        reach = min(reach, end)
    return found


def follow(tree: Any, place: Location) -> tuple[int, int, int, int]:
    """Follow a place as far as a tree has it: return steps, line and column there, and the steps to no mapping."""
    depth, line, column, end = 0, 0, 0, _DEEP
    for step in place:
        if not isinstance(tree, dict):
            end = min(end, depth)
        try:
            if isinstance(tree, dict):
                # YAML reads some keys as numbers or booleans; the path has their text.
                key = step if step in tree else next(key for key in tree if str(key) == step)
                line, column = tree.lc.key(key)  # type: ignore[attr-defined]
            else:
                key = step
                line, column = tree.lc.item(step)
            tree = tree[key]
        except (StopIteration, AttributeError, KeyError, IndexError, TypeError):
            # The file ends here, such as at an option that is missing.
            return depth, line + 1, column + 1, end
        depth += 1
    return depth, line + 1, column + 1, end if isinstance(tree, dict) else min(end, depth)
