"""Takes a table with history back to a time (``scdgen rewind``): one MERGE, planned first, and named in Delta's log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.dates import note_dates
from scdgen.compile.queries import require_rewindable, rewind_counts, rewind_rows, rewind_script, variables_query
from scdgen.compile.steps import list_own
from scdgen.engine.engine import Engine
from scdgen.errors import UsageError
from scdgen.facts.columns import cast
from scdgen.facts.history import REWIND_TO
from scdgen.facts.variables import Variable, params_of_run
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from scdgen.run import delta
from scdgen.run.delta import RetryLimit, retry
from scdgen.run.table import TargetTable, find_additions, table_zone, with_zone
from scdgen.run.versions import require_forms

if TYPE_CHECKING:
    from pyspark.sql import Row


@dataclass(frozen=True)
class RewindResult:
    """What a rewind does, or did."""

    target: str
    """The name of the table."""
    to: str
    """The time to go back to, in the time zone of the table."""
    removed: int
    """The number of versions that start after it, and are removed."""
    reopened: int
    """The number of versions that end after it, and are open again."""
    superseded: int | None
    """The number of rows that are ended instead, with ``history.recorded``: all of these; ``None`` without it."""
    keys: int
    """The number of keys that have such a version."""
    sample: tuple[dict[str, Any], ...] = ()
    """Some of these versions: ``change``, the key, and start and end as they are stored, as text."""
    version: int | None = None
    """The Delta version after it; ``None`` for a plan."""
    run_id: str = ""
    """Its id in Delta's log; empty for a plan, and if there was nothing to do."""

    @property
    def is_needless(self) -> bool:
        """Whether no version starts or ends after the time."""
        return not (self.removed or self.reopened)


def plan_rewind(engine: Engine, spec: Spec, to: object, params: Mapping[str, object], sample: int) -> RewindResult:
    """Count what a rewind would do, and read up to ``sample`` of its versions. Writes nothing.

    Raises :class:`UsageError` without history and for a wrong time, :class:`DataError` if the table does not fit.
    """
    with _open(engine, spec, to, params) as (bound, time, _):
        return _count(engine, bound, time, sample)


def rewind(
    engine: Engine, spec: Spec, to: object, params: Mapping[str, object], run_id: str, limit: RetryLimit
) -> RewindResult:
    """Take a table back to a time, by one MERGE whose commit names the run. Raises as :func:`plan_rewind` does."""

    def attempt() -> RewindResult:
        with _open(engine, spec, to, params, run_id) as (bound, time, merge):
            found, table = _count(engine, bound, time, 0), TargetTable(engine.spark, spec)
            if found.is_needless:
                return replace(found, version=table.read_version())
            with delta.note_run(engine.spark, spec, run_id, rewound=time):
                rows = engine.spark.sql(merge).collect()
            # What the MERGE itself says: another writer may have been there since the count.
            version = table.read_newest(run_id, several=False)[0].version
            # Dates of snapshots after the time are to be merged again.
            for feed in spec.feeds:
                if feed.each is not None and (seen := TargetTable(engine.spark, feed).read_dates()).until(time) != seen:
                    with delta.note_run(engine.spark, spec, run_id, rewound=time):
                        engine.query(note_dates(feed, seen.until(time))).collect()
            return replace(found, **_read_written(spec, found, rows[0]), version=version, run_id=run_id)

    return retry(spec.target, limit, attempt)[0]


@contextmanager
def _open(
    engine: Engine, spec: Spec, to: object, params: Mapping[str, object], run_id: str | None = None
) -> Iterator[tuple[Spec, str, str]]:
    """Lock the session, and set the variables; yield the spec of the run, the time as text, and the MERGE."""
    require_rewindable(spec)
    # Nothing is read from the source: of the params, only those with the time of the run are set.
    of_run = params_of_run(spec)
    own = {name: param for name, param in spec.params.items() if name in of_run}
    if unknown := sorted(params.keys() - own):
        raise UsageError(f"the param '{unknown[0]}' is of the source, which a rewind does not read; leave it out")
    with table_zone(engine, spec) as zoned:
        bound = bind(zoned.model_copy(update={"params": own}), None, params)
        with engine.ready(bound, None):
            table = TargetTable(engine.spark, spec)
            table.require()
            # Refuse a table whose rows do not mean what the spec says; columns that it lacks do not matter.
            find_additions(with_zone(spec, bound), table.read_stored())
            kind = spec.history.type.upper()
            require_forms([("--to", str(to), kind)])
            engine.declare(Variable(REWIND_TO, kind, cast(sql.text_literal(str(to)), kind)))
            (time,) = engine.query(variables_query(REWIND_TO)).collect()[0]
            *before, merge = list_own(rewind_script(bound), run_id)
            engine.execute(before)
            yield bound, time, merge


def _read_written(spec: Spec, counted: RewindResult, row: Row) -> dict[str, Any]:
    """Read the fields of a result from the counts of a MERGE, which ended rows and inserted some, or changed them."""
    inserted, updated, deleted = (int(row[f"num_{done}_rows"]) for done in ("inserted", "updated", "deleted"))
    if spec.recorded:
        return {"removed": updated - inserted, "reopened": inserted, "superseded": updated}
    # With `open_end: last_run`, it also updated all other open versions.
    by_run = spec.history.open_end == "last_run"
    return {"removed": deleted, "reopened": counted.reopened if by_run else updated}


def _count(engine: Engine, bound: Spec, time: str, sample: int) -> RewindResult:
    removed, reopened, keys = map(int, engine.query(rewind_counts(bound)).collect()[0])
    rows = engine.query(rewind_rows(bound, sample)).collect() if sample else []
    words = {"remove": "removed", "reopen": "reopened"}
    listed = (row.asDict(recursive=True) for row in rows)
    named = tuple({"change": words[row.pop("_scd_action")], **row} for row in listed)
    superseded = removed + reopened if bound.recorded else None
    return RewindResult(bound.target, time, removed, reopened, superseded, keys, named)
