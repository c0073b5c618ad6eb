"""Finds the keys and fields of JSON that a spec does not read, as a source has that was changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from scdgen import sql
from scdgen.files.read import read_columns
from scdgen.model.option import sql_texts
from scdgen.model.spec import Spec
from scdgen.sql.expression import is_path
from scdgen.sql.types import Type, parse_type

Path = tuple[str, ...]
_ALIKE = 0.85  # of two names, as difflib measures it: PreferredValue and Preferred-Value, names and name


def find_unread(spec: Spec, objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of objects, and the fields in them, that no column has and no expression reads, each once.

    Of a struct with fields that only other expressions read, such as the ``source`` of Debezium, no field counts.
    """
    used = read_columns(spec) | {name for found in sql_texts(spec) for name in found.fragment.columns}
    # The paths of the columns, and the type of each that is taken as it is.
    paths: set[Path] = set()
    taken: dict[Path, Type] = {}
    for name, column in spec.columns.items():
        text = spec.column_source(name)
        found = {tuple(map(str.lower, parts)) for parts in sql.expression(text).names}
        paths |= found
        if is_path(text) and len(found) == 1:
            taken[found.pop()] = parse_type(column.type)
    # Two structs of one row, as before and after are, have the same fields.
    fields = {path[1] for path in paths if len(path) > 1}
    rows = {path[0] for path in paths if len(path) > 1}

    def look(name: str, value: Any) -> Iterator[str]:
        key = name.lower()
        if key not in used:
            yield name
        elif (key,) in taken:
            yield from _list_extra(value, taken[(key,)], name)
        elif key in rows and isinstance(value, Mapping):
            for inner, deeper in value.items():
                place = f"{name}.{inner}"
                if inner.lower() not in fields:
                    yield place
                elif kind := taken.get((key, inner.lower())):
                    yield from _list_extra(deeper, kind, place)

    return tuple(dict.fromkeys(place for row in objects for name, value in row.items() for place in look(name, value)))


def find_renamed(spec: Spec, objects: Iterable[Mapping[str, Any]]) -> str | None:
    """Describe the keys that the spec reads and no object has, if the objects have others of nearly that name."""
    present = {name for row in objects for name in row}
    used = read_columns(spec)
    absent = used - {name.lower() for name in present}
    others = {name.lower(): name for name in present if name.lower() not in used}
    pairs = ((name, get_close_matches(name, others, n=1, cutoff=_ALIKE)) for name in sorted(absent))
    listed = [f"{others[found[0]]} and no {name}" for name, found in pairs if found]
    if not listed:
        return None
    return f"the first rows have {', '.join(listed)}, so that column is NULL; if it was renamed, change the spec first"


def _list_extra(value: Any, kind: Type, place: str) -> Iterator[str]:
    """Yield the places of a value that its type has no field for."""
    form = kind.name.lower()
    if isinstance(value, list) and form == "array":
        for one in value:
            yield from _list_extra(one, kind.inside[0][1], place)
    if not isinstance(value, Mapping):
        return
    if form == "map":
        for one in value.values():
            yield from _list_extra(one, kind.inside[1][1], place)
    if form == "struct":
        known = {name.lower(): inside for name, inside in kind.inside}
        for name, one in value.items():
            if name.lower() in known:
                yield from _list_extra(one, known[name.lower()], f"{place}.{name}")
            else:
                yield f"{place}.{name}"
