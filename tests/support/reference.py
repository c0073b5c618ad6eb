"""The meaning of a spec in plain Python, independent of the SQL.

Times are any ordered values. A version's ``end`` is the time from which it no longer holds, ``None``
while it is open; :func:`written` applies gap and open end.
"""

from __future__ import annotations

import copy
import datetime as dt
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from xxhash import xxh64_intdigest

Key = tuple[Any, ...]
Values = dict[str, Any]


class RefusedError(Exception):
    """A broken rule; the argument is its name."""


@dataclass(frozen=True)
class Change:
    """One row of a batch. ``sequence`` is compared item by item, NULL being the smallest.

    ``truncates``: it empties the table, and needs no key. ``sets`` are the columns that the row sets, ``None`` for all,
    ``computed`` those that follow from the key, which every row sets.
    ``until`` is the end of a row of ``feed: versions``: the time from which it no longer holds, ``None`` while open.
    """

    key: Key
    at: Any
    values: Values = field(hash=False)
    sequence: tuple[Any, ...] = ()
    deleted: bool = False
    until: Any = None
    sets: frozenset[str] | None = None
    truncates: bool = False
    computed: frozenset[str] = frozenset()

    def gives(self, column: str) -> bool:
        """Whether the row sets a column."""
        return self.sets is None or column in self.sets or column in self.computed

    def given(self) -> Values:
        """The values that the row sets."""
        return {column: value for column, value in self.values.items() if self.gives(column)}


@dataclass
class Version:
    """One version of a key, valid from ``start`` until ``end``."""

    start: Any
    end: Any
    values: Values
    by_delete: bool = False  # the end is a delete
    first: bool = False  # the first of its key, or the first after a delete
    deleted: bool = False  # with on_delete: mark, the version that a delete opens
    inferred: bool = False  # only facts have named its key
    sequence: tuple[Any, ...] | None = None  # with history.sequence, that of the row that it comes from


History = dict[Key, list[Version]]


@dataclass(frozen=True)
class Meaning:
    """The options of a spec that change what the table means."""

    tracked: Sequence[str]
    on_delete: str = "close"
    late_arriving: str = "apply"
    bad_rows: str = "fail"
    conflicts: str = "fail"
    unchanged: str = "skip"
    nulls: Mapping[str, str] = field(default_factory=dict)  # column -> ignore or fill; others are values
    compare: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)  # column -> what of a value counts
    own_time: bool = False  # snapshots: rows have an effective time
    allow_empty: bool = False
    max_deleted: float = 1.0
    scope: Callable[[Key], bool] = lambda _: True
    reserved: Key | None = None  # the key of the unknown member
    rejected: frozenset[Key] = frozenset()  # the keys of rows that an expectation leaves out of an extract or histories
    keeps_sequence: bool = False  # history.sequence

    def kept(self, change: Change) -> tuple[Any, ...] | None:
        """What is stored of the sequence of a row; one NULL is none."""
        return change.sequence if self.keeps_sequence and change.sequence not in ((), (None,)) else None

    def same(self, one: Values, other: Values) -> bool:
        """Whether two rows agree in what counts of the tracked columns."""
        return all(self.agree(column, one[column], other[column]) for column in self.tracked)

    def agree(self, column: str, one: Any, other: Any) -> bool:
        """Whether two values of a column are no change."""
        counts = self.compare.get(column, lambda value: value)
        return bool(counts(one) == counts(other))


def merge_changes(history: History, batch: Iterable[Change], meaning: Meaning) -> History:
    """The history after a batch of changes."""
    usable = _usable(batch, meaning)
    if meaning.on_delete == "ignore":
        usable = [change for change in usable if not change.deleted]
    by_key: dict[Key, list[Change]] = defaultdict(list)
    for change in usable:
        by_key[change.key].append(change)
    result = dict(history)
    for key, changes in by_key.items():
        inferred = [v for v in history.get(key, []) if v.inferred]
        known = [v for v in history.get(key, []) if not v.inferred]
        points = _points_of(known)
        changes = [
            change
            for change in _not_late(changes, points, meaning)
            if all(v.start != change.at or outranks(change, v.sequence) for v in known)
        ]
        points.update({change.at: change for change in _one_per_time(changes, meaning)})
        if inferred and not _complete(inferred[0], points, meaning):
            continue
        stored = {v.start: v.values for v in known if not v.deleted}
        versions = _replay(points, stored, meaning)
        if versions:
            result[key] = versions
        else:
            result.pop(key, None)
    return result


def outranks(change: Change, stored: tuple[Any, ...] | None) -> bool:
    """Whether a row replaces one of the same time that is stored with a sequence: it must be greater.

    A stored one without is older than everything.
    """
    return stored is None or _rank(change.sequence) > _rank(stored)


def _rank(sequence: tuple[Any, ...]) -> tuple[Any, ...]:
    """A sequence in a form that can be compared: NULL is the smallest."""
    return tuple((item is not None, item) for item in sequence)


def _complete(inferred: Version, points: dict[Any, Change], meaning: Meaning) -> bool:
    """Section 6, members: the first true change also holds from the start of the inferred member on.

    Returns whether there is one. A delete of a key without versions changes nothing, nor does one before that change.
    """
    acts = meaning.unchanged == "keep" and meaning.on_delete == "mark"
    firsts = [change for _, change in sorted(points.items()) if acts or not change.deleted]
    if not firsts:
        return False
    for at in [at for at in points if at < firsts[0].at]:
        del points[at]
    if firsts[0].at > inferred.start:
        points[inferred.start] = replace(firsts[0], at=inferred.start)
    return True


def infer(history: History, facts: Iterable[tuple[Key, Any]], columns: Sequence[str], reserved: Key | None) -> History:
    """Section 6, members: a version for each key that facts name and that has none, from its earliest fact on."""
    result = dict(history)
    for key, at in facts:
        if at is None or None in key or key == reserved:
            continue
        versions = result.get(key, [])
        if not versions or (versions[0].inferred and at < versions[0].start):
            result[key] = [Version(at, None, dict.fromkeys(columns), first=True, inferred=True)]
    return result


def rewind(history: History, to: Any, reserved: Key | None = None) -> History:
    """Section 7: the history as if nothing had been effective after a time; the unknown member stays."""
    left = {key: versions if key == reserved else _until(versions, to) for key, versions in history.items()}
    return {key: versions for key, versions in left.items() if versions}


def _until(versions: Sequence[Version], to: Any) -> list[Version]:
    kept = [version for version in versions if version.start <= to]
    later = [version.end is not None and version.end > to for version in kept]
    return [
        replace(version, end=None, by_delete=False) if is_later else version
        for version, is_later in zip(kept, later, strict=True)
    ]


def _usable(batch: Iterable[Change], meaning: Meaning) -> list[Change]:
    found = []
    for change in batch:
        if (any(part is None for part in change.key) and not change.truncates) or change.at is None:
            if meaning.bad_rows == "skip":
                continue
            raise RefusedError("null_key" if any(part is None for part in change.key) else "null_time")
        if change.key == meaning.reserved:
            raise RefusedError("reserved_key")
        found.append(change)
    return found


def _points_of(versions: Sequence[Version]) -> dict[Any, Change]:
    """A stored version is a change at its start, and a delete at an end that no version continues."""
    points = {v.end: Change((), v.end, {}, deleted=True) for v in versions if v.end is not None}
    points.update({v.start: Change((), v.start, v.values, v.sequence or (), v.deleted) for v in versions})
    return points


def _not_late(changes: list[Change], points: Mapping[Any, Change], meaning: Meaning) -> list[Change]:
    """Apply late_arriving: drop or refuse late rows."""
    newest = max(points, default=None)
    if meaning.late_arriving == "apply" or newest is None:
        return changes
    in_time = [change for change in changes if change.at > newest]
    if meaning.late_arriving == "fail" and len(in_time) < len(changes):
        raise RefusedError("late")
    return in_time


def _one_per_time(changes: Iterable[Change], meaning: Meaning) -> list[Change]:
    """Keep one change per key and time, or refuse conflicts."""
    by_time: dict[Any, list[Change]] = defaultdict(list)
    for change in changes:
        by_time[change.at].append(change)
    return [_chosen(group, meaning) for group in by_time.values()]


def _chosen(group: Sequence[Change], meaning: Meaning) -> Change:
    best = max(_rank(change.sequence) for change in group)
    first, *rest = [change for change in group if _rank(change.sequence) == best]
    for other in rest:
        same = (first.deleted and other.deleted) or (first.deleted, first.at, first.given()) == (
            other.deleted,
            other.at,
            other.given(),
        )
        if not same and meaning.conflicts == "fail":
            raise RefusedError("conflict")

    # With conflicts: any a delete wins, then the least row by its values, tracked ones first, NULL before all others.
    def least(change: Change) -> tuple[Any, ...]:
        by_track = sorted(change.values, key=lambda name: name not in meaning.tracked)
        values = (*(change.values[name] for name in by_track), None if change.sets is None else sorted(change.sets))
        return (not change.deleted, *((value is not None, value) for value in values))

    return min([first, *rest], key=least)


def _replay(points: Mapping[Any, Change], stored: Mapping[Any, Values], meaning: Meaning) -> list[Version]:
    """The versions of a key from its changes in order."""
    versions: list[Version] = []
    current: Version | None = None  # the version that holds
    keep, mark = meaning.unchanged == "keep", meaning.on_delete == "mark"
    for change in _given(points, stored, meaning):
        at, is_open = change.at, current is not None and not current.deleted
        if change.deleted and (not mark or not (is_open or keep)):
            if is_open and current is not None:
                current.end, current.by_delete = at, True
                current = None
            continue
        same = current is not None and meaning.same(current.values, change.values)
        if current is not None and same and is_open and not change.deleted and not keep:
            current.values = {**change.values, **{c: current.values[c] for c in meaning.tracked}}
            continue
        values = dict(change.values)
        if change.deleted:  # the last known values; none before the first row
            values = dict(versions[-1].values) if versions else dict.fromkeys(change.values)
        if current is not None:
            current.end, current.by_delete = at, change.deleted
        current = Version(at, None, values, first=not is_open, deleted=change.deleted, sequence=meaning.kept(change))
        versions.append(current)
    return versions


def _given(points: Mapping[Any, Change], stored: Mapping[Any, Values], meaning: Meaning) -> list[Change]:
    """The changes in order of time, with NULL as "not given" in the columns that say so.

    ``stored`` is time -> the values of the version that started then: with ``fill`` a row without a value counts as
    giving the stored value of that time.
    """
    found: list[Change] = []
    life: list[Change] = []  # since the key's first row or last delete
    for at in sorted(points):
        change = points[at]
        if change.deleted:
            life = []
            found.append(change)
            continue
        values = {column: value if change.gives(column) else None for column, value in change.values.items()}
        for column in values:
            how, unset = meaning.nulls.get(column), not change.gives(column)
            if values[column] is None and how == "fill":
                values[column] = stored.get(at, values)[column]
            if values[column] is None and life and (how or unset):
                values[column] = life[-1].values[column]
            if values[column] is not None and how == "fill":
                for earlier in life:
                    if earlier.values[column] is None:
                        earlier.values[column] = values[column]
        # What is not a change leaves a value as the change that opened the version gave it.
        if at in stored and meaning.same(stored[at], values):
            was = {c: stored[at][c] for c in meaning.compare}
            values |= {c: v for c, v in was.items() if v is not None or c not in meaning.nulls}
        if life and meaning.unchanged == "skip" and meaning.same(life[-1].values, values):
            values |= {c: life[-1].values[c] for c in meaning.compare}
        life.append(Change(change.key, at, values, change.sequence))
        found.append(life[-1])
    return found


def _unsaid(rows: Iterable[Change], meaning: Meaning) -> set[Key]:
    """Section 8: the keys of which a row is left out; it says nothing of its key, which stays as it is."""
    return {*meaning.rejected, *(row.key for row in rows if row.at is None and None not in row.key)}


def _in_scope(rows: Iterable[Change], meaning: Meaning) -> list[Change]:
    """The usable rows of a snapshot, each of which is in its scope."""
    usable = _usable(rows, meaning)
    if not all(meaning.scope(row.key) for row in usable):
        raise RefusedError("outside_scope")
    return usable


def merge_snapshot(history: History, rows: Iterable[Change], taken_at: Any, meaning: Meaning) -> History:
    """The history after a full extract taken at ``taken_at``."""
    rows = [*rows]
    usable, unsaid = _in_scope(rows, meaning), _unsaid(rows, meaning)
    if not usable and not meaning.allow_empty:
        raise RefusedError("empty_snapshot")
    by_key: dict[Key, list[Change]] = defaultdict(list)
    for change in usable:
        by_key[change.key].append(change)
    chosen = {key: _chosen(group, meaning) for key, group in by_key.items()}
    chosen = {key: change for key, change in chosen.items() if key not in unsaid}
    covered = [v for key, found in history.items() if meaning.scope(key) and key != meaning.reserved for v in found]
    times = [time for v in covered if not v.inferred for time in (v.start, v.end) if time is not None]
    if not meaning.own_time and max(times, default=taken_at) > taken_at:
        raise RefusedError("taken_at")
    result = {key: [Version(**vars(v)) for v in versions] for key, versions in history.items()}
    live = [key for key, versions in result.items() if versions[-1].end is None and not versions[-1].deleted]
    live = [key for key in live if meaning.scope(key)]
    live = [key for key in live if key != meaning.reserved and not result[key][-1].inferred]
    gone = [key for key in live if key not in chosen and key not in unsaid and meaning.on_delete != "ignore"]
    if len(gone) > meaning.max_deleted * len(live):
        raise RefusedError("max_deleted")
    for key in gone:
        withdrawn = _withdraw(result[key], None, taken_at, meaning)
        if withdrawn and (not result[key] or result[key][-1].end is not None or result[key][-1].deleted):
            continue
        last = result[key][-1]
        _close(last, taken_at, by_delete=True)
        if meaning.on_delete == "mark":
            result[key].append(Version(taken_at, None, dict(last.values), deleted=True))
    for key, change in chosen.items():
        versions = result.setdefault(key, [])
        if meaning.scope(key):
            _withdraw(versions, change.at, taken_at, meaning)
        _take_over(versions, change, taken_at, meaning)
    return {key: versions for key, versions in result.items() if versions}


def _withdraw(versions: list[Version], at: Any, taken_at: Any, meaning: Meaning) -> bool:
    """Take out an open version that starts after the extract, whose row of the key has another time or is missing.

    The version that ended where it began is open again (docs/decisions/0020-announced-versions.md).
    """
    last = versions[-1] if versions else None
    if not meaning.own_time or last is None or last.end is not None or last.deleted or last.inferred:
        return False
    if last.start <= taken_at or at == last.start:
        return False
    versions.pop()
    if versions and versions[-1].end == last.start:
        before = versions[-1]
        before.end, before.by_delete = None, False
    return True


def _close(version: Version, at: Any, by_delete: bool = False) -> None:
    if at <= version.start:
        raise RefusedError("taken_at")
    version.end, version.by_delete = at, by_delete


def _take_over(versions: list[Version], change: Change, taken_at: Any, meaning: Meaning) -> None:
    """Apply one row of a snapshot to the versions of its key."""
    last, keep = versions[-1] if versions else None, meaning.unchanged == "keep"
    if last is None:
        versions.append(Version(change.at, None, change.values, first=True, sequence=meaning.kept(change)))
        return
    if last.inferred:
        start = min(change.at, last.start)
        versions[:] = [Version(start, None, change.values, first=True, sequence=meaning.kept(change))]
        return
    lives = last.end is None and not last.deleted
    at_start = meaning.own_time and lives and change.at == last.start
    if at_start and not outranks(change, last.sequence):
        return
    values = {
        c: last.values[c] if lives and v is None and meaning.nulls.get(c) else v for c, v in change.values.items()
    }
    unknown = [c for c, how in meaning.nulls.items() if how == "fill" and lives and last.values[c] is None]
    state = {**last.values, **{c: values[c] for c in unknown}}  # the new values of the open version
    same = meaning.same(state, values)
    others = {c: v for c, v in values.items() if c not in meaning.tracked}
    kept = {**values, **({c: state[c] for c in meaning.compare} if same else {})}
    if last.end is not None:  # a key that comes back, not before it was closed
        if same and last.end >= change.at and not keep:
            last.end, last.by_delete, last.values = None, False, kept
        else:
            later = last.end < change.at
            last.by_delete = last.by_delete and later
            versions.append(Version(max(change.at, last.end), None, values, first=later, sequence=meaning.kept(change)))
    elif last.deleted:  # the same with a tombstone
        at = change.at if change.at > last.start else taken_at
        _close(last, at)
        versions.append(Version(at, None, values, first=True, sequence=meaning.kept(change)))
    elif (
        meaning.same(last.values, values)
        and all(last.values[c] == v for c, v in others.items())
        and not (keep and change.at > last.start)
    ):
        if at_start:
            last.sequence = meaning.kept(change)
    elif meaning.own_time and change.at < last.start:
        if meaning.late_arriving != "ignore":
            raise RefusedError("late")
    elif (same and not keep) or (meaning.own_time and change.at == last.start):
        _fill(versions, unknown, values)
        last.values = kept
        if at_start:
            last.sequence = meaning.kept(change)
        if meaning.own_time and not keep and change.at == last.start:
            _fold_last(versions, meaning)
    else:
        _close(last, change.at)
        _fill(versions, unknown, values)
        versions.append(Version(change.at, None, values, sequence=meaning.kept(change)))


def _fold_last(versions: list[Version], meaning: Meaning) -> None:
    """Fold a corrected version into the one before it if they are equal; what adjoins was not deleted."""
    last, before = versions[-1], versions[-2] if len(versions) > 1 else None
    if before is None or before.end != last.start or before.deleted or not meaning.same(before.values, last.values):
        return
    versions.pop()
    before.values = {**last.values, **{c: before.values[c] for c in meaning.tracked}}
    before.end, before.by_delete = None, False


def _fill(versions: Sequence[Version], unknown: Sequence[str], values: Values) -> None:
    """``nulls: fill``: write a newly known value into the versions since the last delete that lack it."""
    following: Version | None = None
    for version in reversed(versions):
        if following is not None and (version.end != following.start or version.deleted):
            return
        version.values = {
            **version.values, **{c: values[c] for c in unknown if version.values[c] is None}
        }  # fmt: skip
        following = version


def replace_histories(history: History, rows: Iterable[Change], meaning: Meaning) -> History:
    """Section 6, feed: versions: each key that the source names has the source's history, and no other."""
    rows = [*rows]
    by_key: dict[Key, list[Change]] = defaultdict(list)
    for row in _usable(rows, meaning):
        if row.until is not None and row.until <= row.at:
            raise RefusedError("end_before_start")
        by_key[row.key].append(row)
    for key in _unsaid(rows, meaning):
        by_key.pop(key, None)
    result = {**history, **{key: _whole_history(group, meaning) for key, group in by_key.items()}}
    for key in by_key:  # its rows have no sequence, so that a stored version keeps its own
        stored = {version.start: version.sequence for version in history.get(key, [])}
        result[key] = [replace(version, sequence=stored.get(version.start)) for version in result[key]]
    return result


def _whole_history(group: Iterable[Change], meaning: Meaning) -> list[Version]:
    """The versions of one key: the first row of equal neighbours, and what a gap makes of a delete."""
    versions: list[Version] = []
    rows = _each_once(group)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        begins = following.at if following else None
        until = begins if meaning.on_delete == "ignore" else row.until
        last = versions[-1] if versions and versions[-1].end == row.at and not versions[-1].deleted else None
        if meaning.unchanged == "skip" and last and all(last.values[c] == row.values[c] for c in meaning.tracked):
            last.values = {**row.values, **{c: last.values[c] for c in meaning.tracked}}
            last.end = until
        else:
            versions.append(Version(row.at, until, dict(row.values), first=last is None))
        if until is not None and until != begins:
            versions[-1].by_delete = True
            if meaning.on_delete == "mark":
                versions.append(Version(until, begins, dict(versions[-1].values), deleted=True))
    return versions


def _each_once(group: Iterable[Change]) -> list[Change]:
    """The rows of one key in order of time, exact copies once."""
    rows: list[Change] = []
    for row in sorted(group, key=lambda row: row.at):
        last = rows[-1] if rows else None
        if last is None or (last.at < row.at and last.until is not None and last.until <= row.at):
            rows.append(row)
        elif (last.at, last.until, last.values) != (row.at, row.until, row.values):
            raise RefusedError("conflict" if last.at == row.at else "overlap")
    return rows


@dataclass(frozen=True)
class Period:
    """A version of a joined table: what its row says from ``start`` until ``end``, ``None`` while open."""

    start: Any
    end: Any
    values: Values = field(hash=False)

    def holds(self, at: Any) -> bool:
        return bool(self.start <= at and (self.end is None or at < self.end))


@dataclass(frozen=True)
class Joined:
    """A table of a join along foreign keys: its rows by their own key, and what points to them.

    ``of`` is the table before it that does, by the key that ``pointer`` gives for the values of one of its rows;
    ``None`` for a table with the key of the result. The rows of a table without history have neither start nor end.
    """

    rows: Mapping[Key, Sequence[Period]]
    of: str | None = None
    pointer: Callable[[Values], Key] | None = None
    has_history: bool = True
    required: bool = False

    def names(self) -> set[str]:
        return {name for periods in self.rows.values() for period in periods for name in period.values}


def follow_pointers(tables: Mapping[str, Joined], since: Any = None) -> tuple[list[Change], set[Key]]:
    """Section 8: the rows of one history out of those of tables that point to one another, and the keys that are read.

    A row lasts as long as each table gives the same version. Times without one of the first table, or of one that is
    required, are in no row, and contradict none.
    """
    first, rows, read = next(iter(tables)), [], set()
    ends = {
        at for t in tables.values() if t.has_history for of in t.rows.values() for p in of for at in (p.start, p.end)
    }
    times = sorted(at for at in ends if at is not None)
    names = {name: None for table in tables.values() for name in table.names()}
    needed = [name for name, table in tables.items() if table.required or name == first]
    siblings = [name for name, table in tables.items() if table.has_history and table.of is None]
    for key in tables[first].rows:
        if since is not None and not any(_ever(tables, name, key, since) for name in tables):
            continue
        read.add(key)
        open_rows: dict[object, Change] = {}
        for at in times:
            held = _held(tables, key, at)
            # A boundary of several tables of the key splits all rows, one of a parent those that point to it.
            shared = sorted(id(chosen[name]) for chosen in held for name in siblings) if len(siblings) > 1 else []
            still: dict[object, Change] = {}
            for chosen in held:
                if any(chosen[name] is None for name in needed):
                    continue
                same = str([shared, *map(id, chosen.values())])
                values = [period.values for period in chosen.values() if period is not None]
                began = Change(key, at, names | {n: v for of in values for n, v in of.items()})
                still[same] = open_rows.pop(same, began)
            rows += [replace(row, until=at) for row in open_rows.values()]
            open_rows = still
        rows += open_rows.values()
    return rows, read


def _held(tables: Mapping[str, Joined], key: Key, at: Any) -> list[dict[str, Period | None]]:
    """What the tables give at a time: a row, more if a table has several versions of a key then."""
    found: list[dict[str, Period | None]] = [{}]
    for name, table in tables.items():
        longer = []
        for chosen in found:
            there: list[Period | None] = [
                p for p in _rows_at(table, chosen, key) if not table.has_history or p.holds(at)
            ]
            longer += [{**chosen, name: period} for period in there or [None]]
        found = longer
    return found


def _rows_at(table: Joined, chosen: Mapping[str, Period | None], key: Key) -> Sequence[Period]:
    if table.of is not None and table.pointer is not None:
        child = chosen[table.of]
        key = table.pointer(child.values) if child is not None else (None,)
    return () if None in key else table.rows.get(key, ())


def _ever(tables: Mapping[str, Joined], name: str, key: Key, since: Any) -> bool:
    """Whether a table has a version that starts or ends at the time or later, of a key that was ever pointed to."""
    table = tables[name]
    periods = [period for own in _keys_ever(tables, name, key) for period in table.rows.get(own, ())]
    return table.has_history and any(at is not None and at >= since for p in periods for at in (p.start, p.end))


def _keys_ever(tables: Mapping[str, Joined], name: str, key: Key) -> set[Key]:
    table = tables[name]
    if table.of is None or table.pointer is None:
        return {key}
    before = tables[table.of]
    return {table.pointer(p.values) for own in _keys_ever(tables, table.of, key) for p in before.rows.get(own, ())}


def read_versions(versions: Sequence[Version], meaning: Meaning) -> list[Version]:
    """The versions of a key as views show them: without those of deletes; kept changes that are equal are one."""
    found: list[Version] = []
    for version in versions:
        last = found[-1] if found and meaning.unchanged == "keep" else None
        joins = last is not None and (last.end, last.deleted) == (version.start, version.deleted)
        if last is not None and joins and meaning.same(last.values, version.values):
            values = {**version.values, **{c: last.values[c] for c in meaning.compare}}
            found[-1] = replace(last, end=version.end, values=values)
        else:
            found.append(version)
    return [version for version in found if not version.deleted]


def overlaid(versions: Sequence[Version], kind: str, column: str, meaning: Meaning) -> list[Any]:
    """Section 6, overlays: the value of one overlay in each of the versions of a key, as :func:`read_versions`."""
    last = versions[-1]
    if kind == "first":
        return [versions[0].values[column]] * len(versions)
    if kind == "current":
        return [last.values[column] if last.end is None else None] * len(versions)
    found: list[Any] = []
    for place, version in enumerate(versions):
        earlier = versions[:place]
        if kind == "previous":
            others = [v for v in earlier if not meaning.agree(column, v.values[column], version.values[column])]
            found.append(others[-1].values[column] if others else None)
            continue
        goes_on = place > 0 and earlier[-1].end == version.start
        same = goes_on and meaning.agree(column, earlier[-1].values[column], version.values[column])
        found.append(found[-1] if same else version.start)
    return found


def look_up(versions: Sequence[Version], at: Any, before_first: bool = False) -> Version | None:
    """Section 6, lookups: the version of a key, as :func:`read_versions`, that was valid at the time of a fact."""
    if at is None:
        return None
    if before_first and versions and at < versions[0].start:
        return versions[0]
    return next((v for v in versions if v.start <= at and (v.end is None or at < v.end)), None)


def keep_first(table: dict[Key, Values], batch: Iterable[Change], meaning: Meaning) -> dict[Key, Values]:
    """scd0: the first row of a key is kept. Deletes are ignored; rows of its place may not differ from it."""
    by_key: dict[Key, list[Change]] = defaultdict(list)
    for change in _usable((change for change in batch if not change.deleted), meaning):
        by_key[change.key].append(change)
    result = dict(table)
    for key, group in by_key.items():
        by_place: dict[tuple[Any, ...], list[Change]] = defaultdict(list)
        for change in group:
            by_place[(change.at, _rank(change.sequence))].append(change)
        result.setdefault(key, _chosen(by_place[min(by_place)], meaning).values)
    return result


def merge_current(
    table: dict[Key, Values],
    batch: Iterable[Change],
    meaning: Meaning,
    merges: Mapping[str, str],
    updated_at: str | None = None,
    sequence: str | None = None,
    deleted: str | None = None,
) -> dict[Key, Values]:
    """scd1, feed: changes: one row per key. ``merges`` is column -> last, first, min or max.

    ``deleted``: with ``on_delete: mark``, the column that flags deleted keys.
    """
    stores = _Order(updated_at, sequence, _oldest_counts(merges), deleted)
    by_key: dict[Key, list[Change]] = defaultdict(list)
    for change in _after_truncate(_usable(batch, meaning), table, meaning):
        if not (change.deleted and meaning.on_delete == "ignore"):
            by_key[change.key].append(change)
    result = dict(table)
    for key, group in by_key.items():
        group = sorted(group, key=lambda c: (c.at, _rank(c.sequence)))
        if deleted is not None:
            if (marked := _marked(result.get(key), group, merges, stores)) is not None:
                result[key] = marked
            continue
        deletes = [index for index, change in enumerate(group) if change.deleted]
        live = group[deletes[-1] + 1 :] if deletes else group
        stored = result.get(key)
        starts_again = stored is None or bool(deletes and stores.is_newer(group[deletes[-1]], stored))
        if not live:
            if starts_again:
                result.pop(key, None)
            continue
        row = _combined(live, merges, stores)
        if stored is not None and not starts_again:
            row = _with_stored(stored, row, live, merges, stores)
        result[key] = row
    return result


def _marked(stored: Values | None, group: Sequence[Change], merges: Mapping[str, str], stores: _Order) -> Values | None:
    """Section 7, scd1 that remembers deletes: the row of a key after its changes in order, one after the other.

    A delete flags the row; after it the key starts again. What does not come after a stored delete changes nothing.
    """
    assert stores.deleted is not None
    row = stored
    for change in group:
        if stored is not None and (change.deleted or stored[stores.deleted]) and not stores.comes_after(change, stored):
            continue
        if change.deleted:
            row = row or {column: change.values[column] if column in _COMPUTED else None for column in merges}
            row = row | stores.of(change)
        elif row is None or row[stores.deleted] or stores.is_newer(change, row):
            row = {column: change.values[column] for column in merges} | stores.of(change)
    return row


# A column of random specs that follows from the key, so that a delete has it, too.
_COMPUTED = frozenset({"bucket"})


@dataclass(frozen=True)
class _Order:
    """The columns of scd1 that keep the order of rows across batches: of the oldest row, or of the newest."""

    updated_at: str | None
    sequence: str | None
    oldest: bool
    deleted: str | None = None

    def comes_after(self, change: Change, stored: Values) -> bool:
        """Whether a row or delete comes after the stored row, or after the delete of it: not if it is of its place."""
        assert self.updated_at is not None and self.deleted is not None
        if not stored[self.deleted]:
            return self.is_newer(change, stored)
        kept = stored[self.sequence] if self.sequence else None
        own = change.sequence if self.sequence and change.sequence not in ((), (None,)) else None
        later = own is not None and (kept is None or _rank(own) > _rank(kept))
        return bool(change.at > stored[self.updated_at] or (change.at == stored[self.updated_at] and later))

    def is_newer(self, change: Change, stored: Values) -> bool:
        """Whether a row counts as newer than the stored one; without an order it does."""
        if self.updated_at is None or change.at > stored[self.updated_at]:
            return True
        kept = stored[self.sequence] if self.sequence else None
        return bool(change.at == stored[self.updated_at] and outranks(change, kept))

    def is_older(self, change: Change, stored: Values) -> bool:
        """Whether a row comes before the stored one."""
        assert self.updated_at is not None
        kept = stored[self.sequence] if self.sequence else None
        same_time = self.sequence is not None and change.at == stored[self.updated_at]
        return bool(
            change.at < stored[self.updated_at]
            or (same_time and kept is not None and _rank(change.sequence) < _rank(kept))
        )

    def replaces(self, change: Change, stored: Values) -> bool:
        """Whether the order of a row is stored in place of that of the stored row."""
        return self.is_older(change, stored) if self.oldest else self.is_newer(change, stored)

    def of(self, change: Change) -> Values:
        """What is stored of the order of a row."""
        columns: Values = {} if self.updated_at is None else {self.updated_at: change.at}
        if self.deleted is not None:
            columns[self.deleted] = change.deleted
        if self.sequence is not None:
            columns[self.sequence] = None if change.sequence in ((), (None,)) else change.sequence
        return columns


def _after_truncate(rows: list[Change], table: Iterable[Key], meaning: Meaning) -> list[Change]:
    """The rows after the last one that empties the table, and a delete of each stored key at its time."""

    def place(change: Change) -> tuple[Any, ...]:
        return change.at, _rank(change.sequence)

    last = max((change for change in rows if change.truncates), key=place, default=None)
    if last is None:
        return rows
    tied = [row for row in rows if place(row) == place(last) and not (row.truncates or row.deleted)]
    if tied and meaning.conflicts == "fail":
        raise RefusedError("conflict")
    gone = [Change(key, last.at, {}, last.sequence, deleted=True) for key in table]
    return [*(row for row in rows if place(row) > place(last)), *gone]


def merge_current_snapshot(
    table: dict[Key, Values],
    rows: Iterable[Change],
    meaning: Meaning,
    merges: Mapping[str, str],
    updated_at: str | None = None,
    taken_at: Any = None,
    sequence: str | None = None,
    deleted: str | None = None,
) -> dict[Key, Values]:
    """scd1, feed: snapshot: missing keys of the scope are removed, under the same guards; others merge as changes.

    With ``taken_at``, the rows that it removes must be older. With ``deleted``, missing keys are flagged at that time,
    and one that comes back has only what its rows give.
    """
    rows = [*rows]
    usable, unsaid = _in_scope(rows, meaning), _unsaid(rows, meaning)
    if not usable and not meaning.allow_empty:
        raise RefusedError("empty_snapshot")
    usable = [change for change in usable if change.key not in unsaid]
    there = {change.key for change in usable}
    stored = [key for key in table if meaning.scope(key) and not (deleted and table[key][deleted])]
    gone = [key for key in stored if key not in there | unsaid and meaning.on_delete != "ignore"]
    if updated_at is not None and taken_at is not None and any(table[key][updated_at] >= taken_at for key in gone):
        raise RefusedError("taken_at")
    if len(gone) > meaning.max_deleted * len(stored):
        raise RefusedError("max_deleted")
    left = {key: values for key, values in table.items() if key not in gone}
    if deleted is None or updated_at is None:
        return merge_current(left, usable, meaning, merges, updated_at, sequence)
    order: Values = {updated_at: taken_at, deleted: True, **({sequence: None} if sequence else {})}
    flagged = {key: {**table[key], **order} for key in gone}
    # A key that comes back starts again, also with a row of before its delete, if the snapshot was taken after that.
    back = {key for key, values in left.items() if values[deleted] and taken_at > values[updated_at] and key in there}
    left = {key: values for key, values in left.items() if key not in back}
    return {**merge_current(left, usable, meaning, merges, updated_at, sequence, deleted), **flagged}


def _oldest_counts(merges: Mapping[str, str]) -> bool:
    """Whether ``updated_at`` holds the oldest time: columns are ``first`` and none is ``last``."""
    return "first" in merges.values() and "last" not in merges.values()


def _combined(live: Sequence[Change], merges: Mapping[str, str], stores: _Order) -> Values:
    row: Values = {}
    for column, how in merges.items():
        given = [change.values[column] for change in live if change.gives(column)]
        if how in {"min", "max"}:
            known = [value for value in given if value is not None]
            row[column] = (min if how == "min" else max)(known, default=None)
        else:
            row[column] = given[-1 if how == "last" else 0] if given else None
    return row | stores.of(live[0 if stores.oldest else -1])


def _with_stored(
    stored: Values, row: Values, live: Sequence[Change], merges: Mapping[str, str], stores: _Order
) -> Values:
    """The stored row counts as one that sets all columns at ``updated_at``."""
    result: Values = {}
    for column, how in merges.items():
        given = [change for change in live if change.gives(column)]
        if not given:
            result[column] = stored[column]
            continue
        pair = [value for value in (stored[column], row[column]) if value is not None]
        if how in {"min", "max"}:
            result[column] = (min if how == "min" else max)(pair, default=None)
        elif how == "last":
            result[column] = row[column] if stores.is_newer(given[-1], stored) else stored[column]
        elif stores.updated_at is not None and stores.oldest:
            result[column] = row[column] if stores.is_older(given[0], stored) else stored[column]
        else:
            result[column] = stored[column]
    if stores.updated_at is None:
        return result
    chosen = live[0 if stores.oldest else -1]
    order = stores.of(chosen)
    return result | (order if stores.replaces(chosen, stored) else {column: stored[column] for column in order})


Stamps = tuple[int | None, int | None]
"""The number of the run that first wrote a row, and of the one that last did; NULL for a run before ``audit``."""


def audited(
    stored: Mapping[Key, tuple[Any, Stamps]],
    rows: Mapping[Key, Any],
    run: int,
    moved: Mapping[Key, Key] = MappingProxyType({}),
) -> dict[Key, tuple[Any, Stamps]]:
    """Section 7, audit: what a run leaves of each row and its stamps. A row that is right is not written.

    Rows are named by their key and, with versions, their start; ``moved`` is new name -> the one that is stored.
    """
    left = {name: found for name, found in stored.items() if name not in moved.values()}
    left |= {name: stored[old] for name, old in moved.items()}
    return {
        name: (row, left[name][1] if left[name][0] == row else (left[name][1][0], run))
        if name in left
        else (row, (run, run))
        for name, row in rows.items()
    }


@dataclass(frozen=True)
class Held:
    """A version of a key, and the numbers of the runs from which on, and until which, the table held it."""

    key: Key
    version: Version
    since: int
    until: int | None = None


def superseded(held: Sequence[Held], history: History, run: int, row: Callable[[Key, Version], Any]) -> list[Held]:
    """Section 7, history.recorded: what a run leaves that gives a history. ``row`` is what is stored of a version.

    What the run would update or remove is ended, what it would update or insert is added, and nothing else changes.
    """
    wanted = {(key, version.start): version for key, versions in history.items() for version in versions}
    found, right = [], set()
    for each in held:
        name = (each.key, each.version.start)
        stays = name in wanted and row(each.key, wanted[name]) == row(each.key, each.version)
        if each.until is None and stays:
            right.add(name)
        found.append(each if each.until is not None or stays else replace(each, until=run))
    added = (Held(key, copy.deepcopy(wanted[key, at]), run) for key, at in wanted if (key, at) not in right)
    return [*found, *added]


def as_json(values: Iterable[Any] | Mapping[str, Any]) -> str:
    """The texts of the values as JSON. For text, whole numbers, dates and times.

    A key and a start give an array; a row gives an object in the order of the names, without NULLs.
    """

    def text(value: Any) -> str | None:
        if isinstance(value, dt.datetime):
            return str((value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
        return None if value is None else str(value)

    texts: Any
    if isinstance(values, Mapping):
        texts = {name: text(value) for name, value in sorted(values.items()) if value is not None}
    else:
        texts = [text(value) for value in values]
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))


def sha256(values: Iterable[Any] | Mapping[str, Any]) -> str:
    """SHA-256 of the values as JSON, as hex text."""
    return hashlib.sha256(as_json(values).encode()).hexdigest()


def in_utc(time: Any, zone: str) -> Any:
    """A time of a zone, in UTC; dates and numbers stay."""
    if not isinstance(time, dt.datetime):
        return time
    return time.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.timezone.utc).replace(tzinfo=None)


@dataclass(frozen=True)
class Written:
    """How versions are stored: the options under ``history`` that do not change the meaning."""

    keys: Sequence[str]
    columns: Sequence[str]
    tracked: Sequence[str]
    gap: Any = None  # between an end and the next start: a timedelta or a number
    open_end: Any = None
    flag: tuple[Any, Any] | None = (True, False)
    row_hash: bool = False
    surrogate_key: bool = False
    action: bool = False
    deleted: bool = False
    inferred: bool = False
    sequence: bool = False
    zone: str = "UTC"  # the time zone of the table
    surrogate_type: str = "string"  # or bigint


def shown_sequence(sequence: tuple[Any, ...] | None) -> Any:
    """A sequence as it is stored: a struct of several values."""
    return sequence[0] if sequence is not None and len(sequence) == 1 else sequence


def xxhash64(text: str) -> int:
    """What Spark's function of this name gives for a text."""
    found = xxh64_intdigest(text.encode(), seed=42)
    return found - (1 << 64) if found >> 63 else found


def written(history: History, how: Written) -> list[tuple[Any, ...]]:
    """Every version as a row: columns, surrogate key, start, end, flag, hash, action, deleted, sequence, inferred."""
    rows = []
    for key, versions in history.items():
        for version in versions:
            values = {**dict(zip(how.keys, key, strict=True)), **version.values}
            row = [values[column] for column in how.columns]
            if how.surrogate_key:
                content = [*key, in_utc(version.start, how.zone)]
                row.append(xxhash64(as_json(content)) if how.surrogate_type == "bigint" else sha256(content))
            end = how.open_end
            if version.end is not None:
                end = version.end if how.gap is None else version.end - how.gap
            row += [version.start, end]
            if how.flag:
                row.append(how.flag[0] if version.end is None else how.flag[1])
            if how.row_hash:
                row.append(sha256({column: version.values[column] for column in how.tracked}))
            if how.action:
                row.append("D" if version.by_delete else "I" if version.first else "U")
            if how.deleted:
                row.append(version.deleted)
            if how.sequence:
                row.append(shown_sequence(version.sequence))
            if how.inferred:
                row.append(version.inferred)
            rows.append(tuple(row))
    return sorted(rows, key=repr)
