"""Guesses from the names, types and values of a source's columns; each is for a person to look at."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_CHANGED = re.compile(r"updat|modif|chang", re.IGNORECASE)
_EFFECTIVE = re.compile(
    r"^(effective|valid_?from|start|as_?of|event|commit)|^(ts|at|date|time|timestamp)$", re.IGNORECASE
)
_TIMELY = re.compile(r"_(at|ts|on|time|date|datetime|timestamp)$|(At|Date|Time|Timestamp)$")
_ANOTHER_TIME = re.compile(
    r"birth|dob|creat|delet|expir|end|_to$|due|insert|load|ingest|order|ship|hire", re.IGNORECASE
)
_SEQUENCE = re.compile(
    r"^_*(lsn|scn|offset|version|revision|ts_ms|(seq|sequence|change|event|row|commit|kafka|log)_?"
    r"(no|nr|num|number|id|version|offset|position)?)$",
    re.IGNORECASE,
)
_OPERATION = re.compile(
    r"^_*(cdc_?|dml_?|change_?|row_?)?(op|operation|action|change|type|kind|oper)(_?type|_?code)?$", re.IGNORECASE
)
_DELETED = re.compile(r"^_*(is_?)?(deleted|removed)(_?flag)?$", re.IGNORECASE)
_DELETES = {"d", "del", "delete", "deleted", "remove", "removed", "-d"}
_OPERATIONS = _DELETES | {
    "i", "u", "c", "r", "ins", "upd", "insert", "update", "create", "read", "upsert", "update_preimage",
    "update_postimage", "+i", "-u", "+u",
}  # fmt: skip
_KEY = re.compile(r"(^|_)(id|key|no|nr|num|number|code|uuid|guid|pk)$|[a-z](Id|ID|Key|No|Code)$", re.IGNORECASE)
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MOMENT = ("TIMESTAMP", "DATE")
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Seen:
    """One column of a source: its name, its Spark type in upper case, and the values that were read."""

    name: str
    type: str
    values: tuple[Any, ...] = ()


def time_in_text(values: Iterable[Any]) -> str | None:
    """The type of times that are written as text; ``None`` where one is no time.

    >>> time_in_text(["2024-05-01", None]), time_in_text(["2024-05-01T10:00:00Z"]), time_in_text(["x"])
    ('DATE', 'TIMESTAMP', None)
    """
    given = [value for value in values if value is not None]
    if not given or not all(isinstance(value, str) and _TIME_TEXT.fullmatch(value) for value in given):
        return None
    return "DATE" if all(len(value) == 10 for value in given) else "TIMESTAMP"


def effective_at(columns: Sequence[Seen], snapshot: bool) -> Seen | None:
    """The column that says when a row became true; of a snapshot only one that says when a row changed."""

    def likely(column: Seen) -> int:
        if not column.type.startswith(_MOMENT) or None in column.values or _ANOTHER_TIME.search(column.name):
            return 0
        if _CHANGED.search(column.name):
            return 3
        return 0 if snapshot else 2 if _EFFECTIVE.search(column.name) else 1 if _TIMELY.search(column.name) else 0

    best = max(columns, key=likely, default=None)
    return best if best is not None and likely(best) else None


def sequence_by(columns: Sequence[Seen]) -> Seen | None:
    """The column that orders rows of one key and time: a whole number with a name such as lsn."""
    return next((c for c in columns if c.type in _WHOLE and _SEQUENCE.search(c.name) and None not in c.values), None)


def deletes(columns: Sequence[Seen]) -> tuple[Seen, tuple[str, ...]] | None:
    """The column that marks deletes, and its values that do (none for a boolean)."""
    for column in columns:
        if column.type == "BOOLEAN" and _DELETED.search(column.name):
            return column, ()
        given = {str(value) for value in column.values if value is not None}
        known = {value for value in given if value.lower() in _OPERATIONS}
        if column.type != "STRING" or not _OPERATION.search(column.name) or not given or known != given:
            continue
        marks = sorted(value for value in known if value.lower() in _DELETES)
        if not marks:  # no delete so far: the word that would go with the others
            short, upper = all(len(value) == 1 for value in given), all(value.isupper() for value in given)
            mark = "d" if short else "delete"
            marks = [mark.upper() if upper else mark]
        return column, tuple(marks)
    return None


def before_images(column: Seen) -> tuple[str, ...]:
    """The values that mark a row as it was before an update, which is no change."""
    return tuple(sorted({str(v) for v in column.values if str(v).lower() in {"update_preimage", "-u"}}))


def shared(rows: Sequence[tuple[Any, ...]], places: Sequence[int]) -> int:
    """How many different rows agree with another one in the columns at ``places``."""
    different = set(rows)
    return len(different) - len({tuple(row[place] for place in places) for row in different})


@dataclass(frozen=True)
class Key:
    """Guessed keys; ``tested``: the values speak for them, not the name alone."""

    names: tuple[str, ...]
    tested: bool


def keys(columns: Sequence[Seen], beside: Sequence[Seen], skip: Iterable[int], entity: str) -> Key | None:
    """The fewest columns that, together with those ``beside``, no two different rows share.

    ``skip`` are the places of rows that do not count (deletes), ``entity`` is what the rows are about. Columns whose
    names look like a key come first, then any. Where the columns beside differ in all rows by themselves, there is
    nothing to test, and a name must do.
    """
    out = set(skip)
    every = [*columns, *beside]
    values = zip(*(hashable(c.values) for c in every), strict=True)
    rows = [row for place, row in enumerate(values) if place not in out]
    if not rows:
        return None
    fit = [c for c in columns if c.type == "STRING" or c.type in _WHOLE or c.type.startswith("DECIMAL")]
    fit = [c for c in fit if None not in c.values]
    names = {entity.lower(), entity.lower().removesuffix("s"), "id"}
    likely = {c.name: 2 * (c.name.lower().removesuffix("_id") in names) + bool(_KEY.search(c.name)) for c in fit}
    place = {c.name: index for index, c in enumerate(every)}
    timed = [place[c.name] for c in beside]
    named = sorted((c for c in fit if likely[c.name]), key=lambda c: (-likely[c.name], place[c.name]))
    if timed and shared(rows, timed) == 0:
        return Key((named[0].name,), False) if named else None
    for some in (named, [*named, *(c for c in fit if c not in named)]):
        for group in _groups(some[:8]):
            if shared(rows, [*(place[c.name] for c in group), *timed]) == 0:
                return Key(tuple(c.name for c in sorted(group, key=lambda c: place[c.name])), True)
    return None


def _groups(columns: Sequence[Seen]) -> Iterator[tuple[Seen, ...]]:
    for size in (1, 2, 3):
        yield from itertools.combinations(columns, size)


def hashable(values: Iterable[Any]) -> list[Any]:
    """The values in a form that can be compared in sets."""
    return [value if isinstance(value, str | int | float | None) else repr(value) for value in values]
