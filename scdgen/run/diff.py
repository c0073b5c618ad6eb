"""Compares a table with itself: its keys at two effective times, or its rows before and after a run."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scdgen import sql
from scdgen.compile.queries import (
    DiffRun,
    DiffTimes,
    TableVersion,
    diff_known_query,
    diff_run_query,
    diff_times_query,
)
from scdgen.errors import DataError, UsageError
from scdgen.facts.plan import CHANGES, ROW_CHANGES, VERSIONS
from scdgen.model.spec import Spec
from scdgen.run.delta import explain_vacuumed, find_versions
from scdgen.run.results import DiffResult, DiffRow
from scdgen.run.versions import Given, Rows, Tables, list_keys, require_forms, resolve_word, wrong_order
from scdgen.stored.state import find_missing

_ANY = TableVersion(0)
_DAY = re.compile(r"\d{4}-\d\d-\d\d($| \d\d:\d\d)")  # texts that are in the order of the times


@dataclass(frozen=True)
class DiffFilter:
    """Selects what to compare, two times or a run, and of which key."""

    from_time: object = None
    """The first time; ``None`` with a run."""
    to_time: object = None
    """The second time; ``None`` to compare with the open versions."""
    run_id: str | None = None
    """The id of the run to compare the table before and after; ``None`` with times."""
    keys: Mapping[str, object] = field(default_factory=dict)
    """Column -> value of the key; empty for all keys."""
    known_from: object = None
    """The first time of what the table held (``history.recorded``), instead of times or a run."""
    known_to: object = None
    """The second such time; ``None`` for what it holds now."""

    @property
    def by_version(self) -> bool:
        """Whether versions are compared, and not the keys at two times."""
        return self.run_id is not None or self.known_from is not None

    def query(
        self,
        spec: Spec,
        versions: tuple[TableVersion, TableVersion] = (_ANY, _ANY),
        unchanged: bool = False,
    ) -> DiffRun | DiffTimes:
        """Return the query; of a run, for the ``versions`` before and after it. ``unchanged`` includes equal rows.

        Raises :class:`UsageError` for options that exclude each other, or a key or history that the spec does not have.
        """
        if self.run_id is not None and (self.from_time is not None or self.to_time is not None):
            what = "goes without --from and --to; give a run, or the times to compare"
            raise UsageError(what, option="--run")
        if (self.known_from, self.known_to) != (None, None):
            return self._known_query(spec, unchanged)
        if self.run_id is not None:
            return diff_run_query(spec, self.keys, *versions, unchanged)
        if self.from_time is None:
            what = "is missing; give the time to compare with, or a run with --run"
            raise UsageError(what, option="--from")
        query = diff_times_query(spec, self.keys, self.from_time, self.to_time, unchanged)
        given = self.list_given(spec)
        require_forms(given)
        times = [text for name, text, _ in given if name in {"--from", "--to"}]
        if len(times) == 2 and all(_DAY.match(time) for time in times) and times[0] >= times[1]:
            raise wrong_order(given)  # times in other forms are compared by the engine
        return query

    def _known_query(self, spec: Spec, unchanged: bool) -> DiffRun:
        if self.known_from is None:
            raise UsageError("is missing; give the first time of what was known", option="--known-from")
        if (self.run_id, self.from_time, self.to_time) != (None, None, None):
            what = "goes without --from, --to and --run; give either"
            raise UsageError(what, option="--known-from")
        query = diff_known_query(spec, self.keys, self.known_from, self.known_to, unchanged)
        require_forms(self.list_given(spec))
        return query

    def list_given(self, spec: Spec) -> list[Given]:
        """The given values, for :meth:`SparkTables.require_valid`."""
        times, kind = {"--from": self.from_time, "--to": self.to_time}, spec.history.type.upper()
        given: list[Given] = [(name, str(time), kind) for name, time in times.items() if time is not None]
        known = {"--known-from": self.known_from, "--known-to": self.known_to}
        given += [(name, str(time), "TIMESTAMP") for name, time in known.items() if time is not None]
        return [*list_keys(spec, self.keys), *given]


def read_diff(tables: Tables, spec: Spec, wanted: DiffFilter, limit: int = 0) -> DiffResult:
    """Read up to ``limit`` rows (0: all), and count all of them.

    Raises:
        UsageError: the options exclude each other, a value is invalid, or the spec does not have the key or history.
        DataError, EngineError: the table, the key or the run does not exist, or the engine failed.
    """
    # Refuse wrong options before anything is read.
    wanted.query(spec)
    given = wanted.list_given(spec)
    versions, vacuumed = (_ANY, _ANY), contextlib.ExitStack()

    def select(unchanged: bool) -> Rows:
        return tables.select(spec, wanted.query(spec, versions, unchanged), {})

    with tables.reading(spec) as spec:
        # Compute words such as `now` once, so that the two queries below compare the same times.
        values = tables.require_valid(given, ordered=(wanted.to_time, wanted.known_to) != (None, None))
        wanted = _resolve_words(wanted, values[len(wanted.keys) :])
        # Read the versions of a run under a guard, because VACUUM may have removed their files.
        if wanted.run_id is not None:
            versions = _find_versions(tables, spec, wanted.run_id)
            numbers = (version.number for version in versions)
            vacuumed.enter_context(explain_vacuumed(spec, wanted.run_id, *numbers))
        with vacuumed:
            rows, counts = _collect(select(unchanged=False), limit)
            # No row may mean an unchanged key or an unknown one; only the latter is an error.
            if wanted.keys and not rows:
                _require_key(spec, wanted.keys, select(unchanged=True))
    # Show a count for each word, also for those without rows.
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
        from_time=None if wanted.from_time is None else str(wanted.from_time),
        to_time=None if wanted.to_time is None else str(wanted.to_time),
        known_from=None if wanted.known_from is None else str(wanted.known_from),
        known_to=None if wanted.known_to is None else str(wanted.known_to),
        run_id=wanted.run_id,
        versions=None if wanted.run_id is None else (versions[0].number, versions[1].number),
    )


def _resolve_words(wanted: DiffFilter, values: Sequence[str]) -> DiffFilter:
    """Return the filter with ``values`` for its times that are words."""
    if wanted.known_from is not None:
        known = [time for time in (wanted.known_from, wanted.known_to) if time is not None]
        start, end, *_ = [*map(resolve_word, known, values), None, None]
        return replace(wanted, known_from=start, known_to=end)
    given = [time for time in (wanted.from_time, wanted.to_time) if time is not None]
    start, end, *_ = [*map(resolve_word, given, values), None, None]
    return replace(wanted, from_time=start, to_time=end)


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
