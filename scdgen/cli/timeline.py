"""The versions of a table as lanes on one axis: their times, what each holds and changed, and the gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scdgen.cli import timeline_axis as time_axis
from scdgen.cli.output import format_value
from scdgen.errors import UsageError
from scdgen.run.versions import OPEN, UNTIL, VersionFilter, VersionRows
from scdgen.spec.model import Spec

# What an axis shows where everything begins at one time.
_LEAST_SPAN = {"timestamp": time_axis.DAY, "date": 7 * time_axis.DAY, "bigint": 10}
# How far before all others a first time can lie and still be meant as one.
_FAR = {"timestamp": 20 * 365 * time_axis.DAY, "date": 20 * 365 * time_axis.DAY, "bigint": 100_000}


@dataclass(frozen=True)
class Change:
    """A column whose value differs from the version before."""

    column: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Version:
    """One row: its time as numbers of :func:`time_axis.parse_time`, as it is stored, and what it changed.

    ``until`` is the start of what comes next, None while the version is open. ``again``: the key comes back after a
    delete; ``deletes``: no version follows at its end; ``overlaps``: it begins within the one before it, which does not
    happen in a correct table.
    """

    number: int
    row: Mapping[str, Any]
    start: int
    until: int | None
    begins: str
    ends: str
    changes: tuple[Change, ...] = ()
    deleted: bool = False
    again: bool = False
    deletes: bool = False
    overlaps: bool = False

    @property
    def is_open(self) -> bool:
        """Whether nothing ends it."""
        return self.until is None


@dataclass(frozen=True)
class Lane:
    """The versions of one key in order; ``cut`` if a limit left out the rest of them."""

    key: str
    versions: tuple[Version, ...]
    cut: bool = False


@dataclass(frozen=True)
class Timeline:
    """All lanes between ``lo`` and ``hi``, the ends of the axis.

    ``whole``: the lanes have every version, so that a gap is a delete. ``limit`` is the number of rows at which reading
    stopped, None if it did not.
    """

    target: str
    kind: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    history: tuple[str, ...]
    lanes: tuple[Lane, ...]
    lo: int
    hi: int
    whole: bool = True
    limit: int | None = None

    @property
    def counted(self) -> str:
        """How much there is to see: ``2 keys, 3 versions``."""
        versions = sum(len(lane.versions) for lane in self.lanes)
        return f"{_count_of(len(self.lanes), 'key')}, {_count_of(versions, 'version')}"


def require_history(spec: Spec, option: str) -> None:
    """Raise :class:`UsageError` if a table keeps no versions to draw."""
    if not spec.keeps_history:
        raise UsageError(
            f"{option}: {spec.target} is {spec.pattern}, which keeps no history; use --format table, csv or json"
        )


def build_timeline(spec: Spec, wanted: VersionFilter, found: VersionRows) -> Timeline:
    """The lanes of the rows, in their order."""
    kind, keys = spec.history.type, spec.keys
    values = tuple(name for name in spec.columns if name not in keys)
    groups = [
        (key, list(rows)) for key, rows in itertools.groupby(found.rows, lambda row: _name_key(spec, row))
    ]  # fmt: skip
    cut = _name_key(spec, found.following) if found.following is not None else None
    starts = [at for row in found.rows if (at := time_axis.parse_time(row[spec.history.valid_from], kind)) is not None]
    first = min(starts, default=0)
    lanes = tuple(
        Lane(key, tuple(_build_versions(spec, rows, values, first, wanted.has_whole_history, key == cut)), key == cut)
        for key, rows in groups
    )
    known = {at for lane in lanes for v in lane.versions for at in (v.start, v.until) if at is not None}
    if spec.history.open_end == "last_run":
        ends = (time_axis.parse_time(row[spec.history.valid_to], kind) for row in found.rows)
        known |= {at for at in ends if at is not None}
    goes_on = any(lane.cut or any(v.is_open for v in lane.versions) for lane in lanes)
    return Timeline(
        spec.target, kind, keys, values, tuple(name for _, name in spec.history.names()), lanes,
        *_choose_ends(sorted(known), kind, goes_on), whole=wanted.has_whole_history,
        limit=len(found.rows) if found.following is not None else None,
    )  # fmt: skip


def _name_key(spec: Spec, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(row[name])}" for name in spec.keys)


def _build_versions(
    spec: Spec, rows: Sequence[Mapping[str, Any]], values: Sequence[str], first: int, whole: bool, cut: bool
) -> Iterator[Version]:
    history, kind = spec.history, spec.history.type
    spans = []
    for row in rows:
        start = time_axis.parse_time(row[history.valid_from], kind)
        # An end that is missing, of a version that is not open, is damage; it is drawn as a version without length.
        start = first if start is None else start
        until = time_axis.parse_time(row[UNTIL], kind)
        spans.append((start, None if row[OPEN] else start if until is None else until))
    for place, (row, (start, until)) in enumerate(zip(rows, spans, strict=True)):
        before = rows[place - 1] if place and whole else None
        was_until = spans[place - 1][1] if place else None
        was_deleted = before is not None and _is_deleted(spec, before)
        deleted = _is_deleted(spec, row)
        last = place == len(rows) - 1
        ends = until is not None and (not cut if last else spans[place + 1][0] > until)
        yield Version(
            number=place + 1,
            row=row,
            start=start,
            until=until,
            begins=_format_time(row[history.valid_from], kind),
            ends="" if until is None else _format_time(row[history.valid_to], kind),
            changes=tuple(
                Change(name, before[name], row[name]) for name in values if before[name] != row[name]
            ) if before is not None else (),
            deleted=deleted,
            again=not deleted and before is not None and (was_deleted or (was_until is not None and start > was_until)),
            deletes=whole and ends and not deleted,
            overlaps=bool(place) and whole and (was_until is None or start < was_until),
        )  # fmt: skip


def _is_deleted(spec: Spec, row: Mapping[str, Any]) -> bool:
    return bool(spec.history.deleted and row[spec.history.deleted])


def _format_time(stored: object, kind: str) -> str:
    """A stored time, a midnight without its zeros."""
    text = format_value(stored)
    return text.removesuffix(" 00:00:00") if kind == "timestamp" else text


def _choose_ends(known: Sequence[int], kind: str, goes_on: bool) -> tuple[int, int]:
    """The ends of an axis that shows the known times, with room behind the last one for what goes on.

    A first time far before all others, such as 1900-01-01 for "always", would leave no room for them: the axis then
    begins a little before the second.
    """
    lo, hi = (known[0], known[-1]) if known else (0, 0)
    if len(known) > 2 and known[1] - lo > max(4 * (hi - known[1]), _FAR[kind]):
        lo = known[1] - max(1, (hi - known[1]) // 8)
    if hi == lo:
        return lo, lo + _LEAST_SPAN[kind]
    return lo, hi + (max(1, (hi - lo) // 12) if goes_on else 0)


def _count_of(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
