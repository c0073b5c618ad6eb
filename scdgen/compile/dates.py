"""The dates of the snapshots of one source (``snapshot.each``): which of them a run merges, and which a table has seen.

A run merges one snapshot. The param ``taken_at`` chooses it; the dates are looked up before the first one is merged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from scdgen import sql
from scdgen.errors import DataError
from scdgen.facts.base import ADVICE, Helper
from scdgen.facts.built import Source
from scdgen.facts.source import SourceRow
from scdgen.model.registry import DATES
from scdgen.model.spec import CLOCK, TAKEN, Spec

KEPT = 1000
"""How many dates the properties of a table keep."""


def undated(spec: Spec) -> Spec:
    """Return a spec with ``snapshot.each`` that reads the rows of all dates, without the param of one."""
    assert spec.snapshot is not None
    snapshot = spec.snapshot.model_copy(update={"each": None, "taken_at": CLOCK})
    params = {name: param for name, param in spec.params.items() if name != TAKEN}
    return spec.model_copy(update={"snapshot": snapshot, "params": params})


def runs_of(
    spec: Spec, params: Mapping[str, object], find: Callable[[], Iterable[str]]
) -> list[tuple[str, Mapping[str, object]]]:
    """Return (date, params) of each run that merges a source; a single one, without a date, if it needs no dates.

    ``find`` finds them, and may refuse one that is wrong before the first is merged.
    """
    if not spec.needs_dates(params):
        return [("", params)]
    return [(date, {**params, TAKEN: date}) for date in find()]


def dates_query(spec: Spec, bound: Spec) -> Helper:
    """Return the query of the dates of a spec; ``bound`` is :func:`undated` with its source and params filled in."""
    return Helper("dates", (Source(bound).rows, SourceRow(spec).date))


def property_of(spec: Spec) -> str:
    """Return the name of the table's property with the dates; each of several sources has its own."""
    return f"{DATES}.{spec.feed}" if spec.feed else DATES


@dataclass(frozen=True)
class Seen:
    """The dates that a table has seen."""

    dates: tuple[str, ...] = ()
    """The dates, in their order."""
    whole: bool = True
    """Whether these are all; if not, it may have seen any that is earlier."""

    @classmethod
    def read(cls, text: str) -> Seen:
        """Read the table's property: a JSON array of the dates, after a ``null`` if they are not all."""
        dates = json.loads(text)
        return cls(tuple(dates[1:]), whole=False) if dates[:1] == [None] else cls(tuple(dates))

    def write(self) -> str:
        """Return the table's property."""
        return json.dumps([*([] if self.whole else [None]), *self.dates])

    def add(self, date: str) -> Seen:
        """Return the dates with one more; only the newest :data:`KEPT` are kept."""
        dates = sorted({*self.dates, date}, key=order_times)
        return Seen(tuple(dates[-KEPT:]), self.whole and len(dates) <= KEPT)

    def until(self, time: str) -> Seen:
        """Return the dates that are not later than a time."""
        return Seen(tuple(date for date in self.dates if order_times(date) <= order_times(time)), self.whole)

    def choose(self, spec: Spec, found: Iterable[str | None]) -> tuple[str, ...]:
        """Return those of the dates of a source that the table has not seen, in their order.

        Raises :class:`DataError` for a row without a date, unless bad rows are skipped, and for a date that the table
        has not seen and that is not later than all that it has.
        """
        dates = set(found)
        if None in dates and spec.bad_rows == "fail":
            what = f"{spec.each} is NULL in a row, so that it is of no snapshot"
            raise DataError(what, rule="null_time", place=spec.target, fix=ADVICE["null_time"])
        new = sorted({date for date in dates if date is not None} - {*self.dates}, key=order_times)
        if not self.whole and self.dates:
            new = [date for date in new if order_times(date) > order_times(self.dates[0])]
        for date in new:
            self.require_newest(spec, date)
        return tuple(new)

    def require_newest(self, spec: Spec, date: str) -> None:
        """Raise :class:`DataError` for a date that is earlier than one that the table has seen."""
        if self.dates and order_times(date) < order_times(self.dates[-1]):
            what = f"the snapshot of {date} is new and lies before that of {self.dates[-1]}, which the table has seen"
            fix = "nothing was written; leave it out by source.where, or undo the later runs"
            raise DataError(what, rule="taken_at", place=spec.target, fix=fix, sample=date)


def no_dates(spec: Spec) -> DataError:
    """Return the error of a first run without any date."""
    what = "the source has no snapshot: no row has a date"
    return DataError(what, rule="empty_snapshot", place=spec.target, fix="fix the source or snapshot.each")


def note_dates(spec: Spec, seen: Seen) -> Helper:
    """Return the statement that keeps the dates that a table has seen."""
    return Helper("note_dates", (sql.quote_parts(spec.target_parts), property_of(spec), seen.write()))


def order_times(text: str) -> tuple[int, str]:
    """Order times by their text, but numbers (``history.type: bigint``) by their value.

    >>> sorted(["10", "9"], key=order_times)
    ['9', '10']
    """
    return (int(text), "") if text.lstrip("-").isdigit() else (0, text)
