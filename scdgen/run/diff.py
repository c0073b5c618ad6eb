"""Compares a table with itself: its keys at two effective times, or its rows before and after a run."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from scdgen import sql
from scdgen.compile.queries import DiffRun, DiffTimes, TableVersion, require_recorded, type_keys
from scdgen.errors import DataError, UsageError, quoted
from scdgen.facts.built import Source
from scdgen.facts.plan import CHANGES, ROW_CHANGES, VERSIONS
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import find_versions
from scdgen.run.results import DiffResult, DiffRow, Sides
from scdgen.run.versions import Filter, Given, Rows, Tables
from scdgen.stored.state import find_missing

_ANY = TableVersion(0)
_DAY = re.compile(r"\d{4}-\d\d-\d\d($| \d\d:\d\d)")  # texts that are in the order of the times


@dataclass(frozen=True)
class DiffFilter(Filter, Sides):
    """Selects what to compare, and of which key."""

    times: ClassVar = {"from_time": "--from", "to_time": "--to", "known_from": "--known-from", "known_to": "--known-to"}

    def query(
        self, spec: Spec, versions: tuple[TableVersion, TableVersion] = (_ANY, _ANY), unchanged: bool = False
    ) -> DiffRun | DiffTimes:
        """Return the query; of a run, for the ``versions`` before and after it. ``unchanged`` includes equal rows.

        Raises :class:`UsageError` for options that exclude each other, or a key or history that the spec does not have.
        """
        knows = self._require_one_kind()
        if knows:
            require_recorded(spec, "--known-from")
        source, typed, columns = Source(spec), type_keys(spec, self.keys), pattern_of(spec).columns(spec)
        read = pattern_of(spec).read(source)
        if self.run_id is not None:
            return DiffRun(read, columns, typed, *versions, unchanged)
        query: DiffRun | DiffTimes
        if knows:
            # Leave out what a run writes of itself, and the flag, which is of now.
            own = {name for _, name in (*spec.recorded_columns, *spec.audit.names())}
            own |= {spec.history.is_current.name} if spec.history.is_current else set()
            known = tuple(column for column in columns if sql.unquote(column.name) not in own)
            before, after = TableVersion.known(self.known_from), TableVersion.known(self.known_to)
            query = DiffRun(read, known, typed, before, after, unchanged)
        elif read.times is None:
            what = f"{spec.target} is {spec.pattern}, which keeps no history; give a run with --run instead of times"
            raise UsageError(what, option="--from")
        else:
            until = None if self.to_time is None else str(self.to_time)
            query = DiffTimes(read, tuple(source.columns.values()), typed, str(self.from_time), until, unchanged)
        self._require_order(self.list_given(spec)[len(self.keys) :])
        return query

    def _require_order(self, times: Sequence[Given]) -> None:
        """Refuse a second time that is not after the first; texts in other forms are taken as they are."""
        for (option, text, kind), (other, bound, _) in itertools.pairwise(times):
            if _DAY.match(text) and _DAY.match(bound):
                wrong = text >= bound
            else:
                wrong = kind == "BIGINT" and int(text) >= int(bound)
            if wrong:
                what = f"{quoted(text)} is not before {other} {quoted(bound)}; give the earlier time first"
                raise UsageError(what, option=option)

    def _require_one_kind(self) -> bool:
        """Refuse options that exclude each other; return whether they ask what was known."""
        timed = (self.from_time, self.to_time) != (None, None)
        knows = (self.known_from, self.known_to) != (None, None)
        if self.run_id is not None and timed:
            raise UsageError("goes without --from and --to; give a run, or the times to compare", option="--run")
        if knows and self.known_from is None:
            raise UsageError("is missing; give the first time of what was known", option="--known-from")
        if knows and (timed or self.run_id is not None):
            raise UsageError("goes without --from, --to and --run; give either", option="--known-from")
        if self.run_id is None and not knows and self.from_time is None:
            raise UsageError("is missing; give the time to compare with, or a run with --run", option="--from")
        return knows


def read_diff(tables: Tables, spec: Spec, wanted: DiffFilter, limit: int = 0) -> DiffResult:
    """Read up to ``limit`` rows (0: all), and count all of them.

    Raises :class:`UsageError` if a value is invalid or the spec does not have the key or history, and
    :class:`DataError` if the table, the key or the run does not exist.
    """
    wanted.query(spec)
    versions = (_ANY, _ANY)

    def select(unchanged: bool) -> Rows:
        return tables.select(spec, wanted.query(spec, versions, unchanged), {})

    with tables.reading(spec, wanted.list_given(spec)) as spec:
        if wanted.run_id is not None:
            versions = _find_versions(tables, spec, wanted.run_id)
        rows, counts = _collect(select(unchanged=False), limit)
        # Without a row the key may be unchanged.
        if wanted.keys and not rows:
            _require_key(spec, wanted.keys, select(unchanged=True))
    query = wanted.query(spec, versions)
    names = (column.name for column in query.columns) if isinstance(query, DiffRun) else map(sql.quote, spec.columns)
    of_rows = VERSIONS if spec.keeps_history else CHANGES if spec.deleted else ROW_CHANGES
    words = of_rows if wanted.by_version else CHANGES
    return DiffResult(
        target=spec.target,
        keys=tuple(spec.keys),
        columns=tuple(map(sql.unquote, names)),
        counts={word: counts.get(word, 0) for word in words},
        rows=tuple(_build_row(spec, row) for row in rows),
        run_id=wanted.run_id,
        versions=None if wanted.run_id is None else (versions[0].number, versions[1].number),
        **{name: str(time) for name in wanted.times if (time := getattr(wanted, name)) is not None},
    )


def _find_versions(tables: Tables, spec: Spec, run_id: str) -> tuple[TableVersion, TableVersion]:
    def describe(number: int) -> TableVersion:
        stored = tables.read_columns(spec, number)
        return TableVersion(number, frozenset(column.name for column in find_missing(spec, stored)))

    before, after = find_versions(spec, run_id, tables.read_log(spec))
    return describe(before), describe(after)


def _collect(found: Rows, limit: int) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
    """Collect up to ``limit`` rows, and count all rows per change, with a second query only if rows were left out."""
    rows = found.read(limit + 1 if limit else 0)
    if limit and len(rows) > limit:
        return rows[:limit], found.count_by("_scd_change")
    return rows, Counter(row["_scd_change"] for row in rows)


def _require_key(spec: Spec, keys: Mapping[str, object], found: Rows) -> None:
    """Raise :class:`DataError` if a key has no rows, not even unchanged ones."""
    if not found.read(1):
        listed = ", ".join(f"{name}={value}" for name, value in keys.items())
        raise DataError(f"{spec.target}: no row has the key {listed}; look for it with `scdgen show`")


def _build_row(spec: Spec, row: Mapping[str, Any]) -> DiffRow:
    old, new = row["_scd_old"], row["_scd_new"]
    key = {name: (new or old)[name] for name in spec.keys}
    return DiffRow(row["_scd_change"], key, row.get("_scd_since"), old, new)
