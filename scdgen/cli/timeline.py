"""Builds a timeline from the versions of a table: a lane per key, with times, values, changes and gaps.

Times on the axis are whole numbers; ticks are at round times whose labels do not overlap.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scdgen.cli.output import format_value
from scdgen.errors import UsageError
from scdgen.model.spec import Spec
from scdgen.run.versions import OPEN, UNTIL, VersionFilter, VersionRows

_EPOCH = dt.datetime(1970, 1, 1)
_TIME = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")

SECOND = 1_000_000
DAY = 86_400 * SECOND

# Round steps between ticks, shortest first.
_PARTS_OF_A_DAY = [
    *(base * n for base in (1, 1000) for n in (1, 10, 100)),
    *(SECOND * n for n in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200)),
]
_MONTHS = [1, 3, 6, *(12 * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000))]
_LAST = (dt.datetime.max - _EPOCH) // dt.timedelta(microseconds=1)
_FIRST = (dt.datetime.min - _EPOCH) // dt.timedelta(microseconds=1)

# The length of the axis if all versions begin at one time.
_LEAST_SPAN = {"timestamp": DAY, "date": 7 * DAY, "bigint": 10}
# A first time that is further before the others may be a placeholder for "always".
_FAR = {"timestamp": 20 * 365 * DAY, "date": 20 * 365 * DAY, "bigint": 100_000}


@dataclass(frozen=True)
class Change:
    """A column whose value differs from the version before."""

    column: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Version:
    """One row: its times as numbers of :func:`parse_time` and as stored, and its changes.

    ``until`` is the exclusive end, None while the version is open. ``again``: the key returns after a delete;
    ``deletes``: no version follows at its end; ``overlaps``: it begins before the previous one ends, which does not
    happen in a correct table. If the table says when it held a row, the version is shown so from the time at the place
    ``since`` of :attr:`Timeline.moments` until that at ``gone``, None for now; ``arrives``: its row is of that run.
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
    since: int = 0
    gone: int | None = None
    arrives: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the version has no end."""
        return self.until is None


@dataclass(frozen=True)
class Lane:
    """The versions of one key in order, whenever they were known; ``cut``: a limit left out the rest of them."""

    key: str
    versions: tuple[Version, ...]
    cut: bool = False


@dataclass(frozen=True)
class Timeline:
    """All lanes between ``lo`` and ``hi``, the ends of the axis.

    ``whole``: the lanes have every version, so that a gap is a delete. ``limit`` is the number of rows at which reading
    stopped, None if it did not. ``moments`` are the times at which a run wrote or superseded a row, in order; none if
    the rows are those of one time.
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
    moments: tuple[str, ...] = ()

    @property
    def counted(self) -> str:
        """The number of lanes and versions that are known now: ``2 keys, 3 versions``."""
        counts = [sum(version.gone is None for version in lane.versions) for lane in self.lanes]
        return f"{_format_count(sum(map(bool, counts)), 'key')}, {_format_count(sum(counts), 'version')}"


def require_history(spec: Spec) -> None:
    """Raise :class:`UsageError` if the table does not keep history."""
    if not spec.keeps_history:
        raise UsageError(
            f"{spec.target} is {spec.pattern}, which keeps no history; use --format table, csv or json", option="--html"
        )


def build_timeline(spec: Spec, wanted: VersionFilter, found: VersionRows) -> Timeline:
    """Build the timeline of the rows, with lanes in their order."""
    kind, keys = spec.history.type, spec.keys
    values = tuple(name for name in spec.columns if name not in keys)
    # Group the rows by key; they come in the order of keys.
    groups = [
        (key, list(rows)) for key, rows in itertools.groupby(found.rows, lambda row: _name_key(spec, row))
    ]  # fmt: skip
    # The first row beyond the limit shows which key is cut.
    cut = _name_key(spec, found.following) if found.following is not None else None
    # A version without a start begins with the first one that has one.
    starts = [at for row in found.rows if (at := parse_time(row[spec.history.valid_from], kind)) is not None]
    first = min(starts, default=0)
    axis = [name for _, name in spec.recorded_columns] if wanted.superseded and wanted.known_at is None else []
    moments = _list_moments(found.rows, axis)
    lanes = tuple(
        Lane(
            key,
            tuple(_build_held(spec, rows, values, first, wanted.has_whole_history, key == cut, moments)),
            key == cut,
        )
        for key, rows in groups
    )
    # Let the axis span all times that are known, and go on after them if a version is open.
    known = {at for lane in lanes for v in lane.versions for at in (v.start, v.until) if at is not None}
    if spec.history.open_end == "last_run":
        ends = (parse_time(row[spec.history.valid_to], kind) for row in found.rows)
        known |= {at for at in ends if at is not None}
    goes_on = any(lane.cut or any(v.is_open for v in lane.versions) for lane in lanes)
    return Timeline(
        spec.target, kind, keys, values, tuple(name for _, name in (*spec.history_columns, *spec.recorded_columns)),
        lanes,
        *_choose_ends(sorted(known), kind, goes_on), whole=wanted.has_whole_history,
        limit=len(found.rows) if found.following is not None else None, moments=moments,
    )  # fmt: skip


def _name_key(spec: Spec, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(row[name])}" for name in spec.keys)


def _list_moments(rows: Sequence[Mapping[str, Any]], axis: Sequence[str]) -> tuple[str, ...]:
    """List the times in the columns of the second axis in order, each as it is stored."""
    times = {
        parse_time(row[name], "timestamp"): str(row[name]) for row in rows for name in axis if row[name] is not None
    }
    return tuple(times[at] for at in sorted(at for at in times if at is not None))


def _build_held(
    spec: Spec,
    rows: Sequence[Mapping[str, Any]],
    values: Sequence[str],
    first: int,
    whole: bool,
    cut: bool,
    moments: Sequence[str],
) -> Iterator[Version]:
    """Build the versions of a key as they were known at each moment; one that stays the same is built once."""
    if not moments:
        yield from _build_versions(spec, rows, values, first, whole, cut)
        return
    places = {text: place for place, text in enumerate(moments)}
    since, gone = (name for _, name in spec.recorded_columns)
    spans = [(places.get(str(row[since]), 0), places.get(str(row[gone]))) for row in rows]
    shown: dict[int, Version] = {}  # by the row
    done = []
    for point in sorted({place for span in spans for place in span if place is not None}):
        held = [row for row, (of, to) in zip(rows, spans, strict=True) if of <= point and (to is None or to > point)]
        found = {id(version.row): version for version in _build_versions(spec, held, values, first, whole, cut)}
        for name, before in [*shown.items()]:
            # What a version changed, or that a delete ends it, also depends on its neighbours.
            now = found.get(name)
            if now is None or _told(now) != _told(before):
                done.append(replace(shown.pop(name), gone=point))
        for name, version in found.items():
            if name not in shown:
                arrives = places.get(str(version.row[since]), 0) == point
                shown[name] = replace(version, since=point, arrives=arrives)
    yield from sorted([*done, *shown.values()], key=lambda version: (version.start, version.since))


def _told(version: Version) -> tuple[object, ...]:
    """What a version says besides the values of its row."""
    return version.changes, version.deleted, version.again, version.deletes, version.overlaps


def _build_versions(
    spec: Spec, rows: Sequence[Mapping[str, Any]], values: Sequence[str], first: int, whole: bool, cut: bool
) -> Iterator[Version]:
    history, kind = spec.history, spec.history.type
    spans = []
    for row in rows:
        start = parse_time(row[history.valid_from], kind)
        # A version without an end that is not open is corrupt; draw it with zero length.
        start = first if start is None else start
        until = parse_time(row[UNTIL], kind)
        spans.append((start, None if row[OPEN] else start if until is None else until))
    for place, (row, (start, until)) in enumerate(zip(rows, spans, strict=True)):
        # Without the whole history, the row before may not be the version before.
        before = rows[place - 1] if place and whole else None
        was_until = spans[place - 1][1] if place else None
        was_deleted = before is not None and _is_deleted(spec, before)
        deleted = _is_deleted(spec, row)
        last = place == len(rows) - 1
        # The key ends with a version unless the next one begins right after it.
        ends = until is not None and (not cut if last else spans[place + 1][0] > until)
        yield Version(
            number=place + 1,
            row=row,
            start=start,
            until=until,
            begins=_format_stored(row[history.valid_from], kind),
            ends="" if until is None else _format_stored(row[history.valid_to], kind),
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


def _format_stored(stored: object, kind: str) -> str:
    """Format a stored time, without the zeros of midnight."""
    text = format_value(stored)
    return text.removesuffix(" 00:00:00") if kind == "timestamp" else text


def _choose_ends(known: Sequence[int], kind: str, goes_on: bool) -> tuple[int, int]:
    """Choose the ends of an axis for the known times, with room after the last one for versions that go on.

    A first time far before all others, such as 1900-01-01 for "always", would leave no room for them; the axis then
    begins shortly before the second.
    """
    lo, hi = (known[0], known[-1]) if known else (0, 0)
    if len(known) > 2 and known[1] - lo > max(4 * (hi - known[1]), _FAR[kind]):
        lo = known[1] - max(1, (hi - known[1]) // 8)
    if hi == lo:
        return lo, lo + _LEAST_SPAN[kind]
    return lo, hi + (max(1, (hi - lo) // 12) if goes_on else 0)


def _format_count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Tick:
    """A place on the axis, in the unit of :func:`parse_time`, and its label."""

    at: int
    label: str


def parse_time(stored: object, kind: str) -> int | None:
    """Convert a stored start or end to a number: microseconds since 1970, or the ``bigint`` itself; None for NULL.

    A year that Python's dates do not support becomes their first or last time.

    >>> parse_time("1970-01-02", "date"), parse_time("1970-01-01 00:00:01.5", "timestamp"), parse_time(7, "bigint")
    (86400000000, 1500000, 7)
    """
    if stored is None:
        return None
    if kind == "bigint":
        return int(str(stored))
    found = _TIME.fullmatch(str(stored))
    if found is None:
        raise ValueError(f"'{stored}' is not a valid {kind}")
    year = int(found[1])
    if not 1 <= year <= 9999:
        return _FIRST if year < 1 else _LAST
    hour, minute, second = (int(found[place] or 0) for place in (4, 5, 6))
    fraction = int((found[7] or "").ljust(6, "0"))
    moment = dt.datetime(year, int(found[2]), int(found[3]), hour, minute, second, fraction)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def format_time(at: int, kind: str) -> str:
    """Format a number of :func:`parse_time` as a time, or as a date at midnight.

    >>> format_time(86400000000, "timestamp"), format_time(1500000, "timestamp")
    ('1970-01-02', '1970-01-01 00:00:01.500000')
    """
    if kind == "bigint":
        return str(at)
    moment = _to_moment(at)
    return str(moment if at % DAY else moment.date())


def choose_ticks(lo: int, hi: int, kind: str, width: int) -> list[Tick]:
    """Choose ticks with the shortest step whose labels, two spaces apart, fit in ``width`` characters.

    Requires ``lo`` < ``hi``. Returns at least one tick; the last label may extend beyond the end.
    """

    def fits(found: list[Tick]) -> bool:
        places = [(tick.at - lo) * (width - 1) // (hi - lo) for tick in found]
        return all(
            place + len(tick.label) + 2 <= following
            for tick, place, following in zip(found, places, places[1:], strict=False)
        )

    most = max(2, width // 3)  # a label has at least one digit
    for found in _propose_ticks(lo, hi, kind, most):
        if found and fits(found):
            return found
    return [Tick(lo, format_time(lo, kind))]


def _propose_ticks(lo: int, hi: int, kind: str, most: int) -> Iterator[list[Tick]]:
    if kind == "bigint":
        yield from _tick_numbers(lo, hi, most)
        return
    if kind == "timestamp":
        for step in _PARTS_OF_A_DAY:
            if (hi - lo) // step < most:
                yield _tick_times(lo, hi, step)
    for days, first in ((1, 0), (2, 0), (7, 4)):  # a week begins on a Monday, which 1970-01-05 was
        if (hi - lo) // (days * DAY) < most:
            yield [Tick(at, format_time(at, kind)) for at in _list_multiples(lo, hi, days * DAY, first * DAY)]
    for months in _MONTHS:
        if (hi - lo) // (28 * DAY * months) < most:
            yield _tick_months(lo, hi, months)


def _tick_numbers(lo: int, hi: int, most: int) -> Iterator[list[Tick]]:
    step = 1
    while step <= 2 * (hi - lo):
        for factor in (1, 2, 5):
            if (hi - lo) // (step * factor) < most:
                yield [Tick(at, str(at)) for at in _list_multiples(lo, hi, step * factor)]
        step *= 10


def _list_multiples(lo: int, hi: int, step: int, first: int = 0) -> range:
    return range(lo + (first - lo) % step, hi + 1, step)


def _tick_times(lo: int, hi: int, step: int) -> list[Tick]:
    """List ticks at times of day; the first of each day has its date."""
    form = "%H:%M" if step >= 60 * SECOND else "%H:%M:%S" if step >= SECOND else "%H:%M:%S.%f"
    found: list[Tick] = []
    before = None
    for at in _list_multiples(lo, hi, step):
        moment = _to_moment(at)
        found.append(Tick(at, moment.strftime(form if moment.date() == before else f"{moment.date()} {form}")))
        before = moment.date()
    return found


def _tick_months(lo: int, hi: int, months: int) -> list[Tick]:
    """List ticks at the first days of months; steps of whole years are labelled with the year only."""
    found = []
    month = _to_moment(lo).year * 12 + _to_moment(lo).month - 1
    month -= month % months
    while month < 12 * 10_000:
        if month >= 12:
            year, first = divmod(month, 12)
            at = (dt.datetime(year, first + 1, 1) - _EPOCH) // dt.timedelta(microseconds=1)
            if at > hi:
                break
            if at >= lo:
                found.append(Tick(at, f"{year:04}" if months % 12 == 0 else f"{year:04}-{first + 1:02}"))
        month += months
    return found


def _to_moment(at: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=min(max(at, _FIRST), _LAST))
