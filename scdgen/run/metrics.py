"""Records each run as a row of a Delta table that the user names (``--metrics ops.runs``).

The row is added after the MERGE, by a plain INSERT, which does not conflict with other writers.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.engine import Engine
from scdgen.engine.failures import translate_at
from scdgen.errors import DataError, ScdgenError, UsageError, line_and_status, line_without_fix
from scdgen.facts.plan import KEYS, VERSIONS
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import RetryLimit, hash_spec, retry
from scdgen.run.results import RunResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)


def _struct(names: Sequence[str]) -> str:
    """The type of a column of counts, as Spark prints it."""
    return f"struct<{','.join(f'{name}:bigint' for name in names)}>"


# Name, type and comment of each column.
COLUMNS = (
    ("run", "STRING", "The id of the run, which is also in the commits of the table"),
    ("target", "STRING", "The table that the run merged into"),
    ("spec", "STRING", "The file of the spec"),
    ("spec_hash", "STRING", "A hash of the spec's options"),
    ("feed", "STRING", "The source that it read, by its name in `sources`; NULL if the spec has one source"),
    ("batch", "BIGINT", "The number of the micro-batch; NULL if the run is not part of a stream"),
    ("started_at", "TIMESTAMP", "When the run began"),
    ("seconds", "DOUBLE", "How long it took, including retries after conflicts with other writers"),
    ("error", "STRING", "Why it failed; the table is then unchanged. NULL if it succeeded"),
    ("rows_in", "BIGINT", "Rows of the source that pass `where`; NULL if a query is read directly"),
    ("skipped", "BIGINT", "Rows of `rows_in` that `bad_rows: skip` left out"),
    ("rejected", "STRING", "Rows that each expectation left out, as JSON; NULL without such expectations"),
    ("inserted", "BIGINT", "Rows that the MERGE inserted; for scd2 the versions that it opened"),
    ("updated", "BIGINT", "Rows that it updated, except those in `refreshed`"),
    ("deleted", "BIGINT", "Rows that it removed: folded versions, not deleted keys, which are in `keys`"),
    ("refreshed", "BIGINT", "Open versions in which only the end changed, to the run's time (`open_end: last_run`)"),
    ("keys", _struct(KEYS), "Counts of keys, from the plan before the run; NULL if there was none"),
    ("versions", _struct(VERSIONS), "Counts of versions, from that plan; NULL for a table without history"),
    ("late", "BIGINT", "Versions in that plan that start before the newest stored one of their key"),
    ("retries", "INT", "How often the run started over, because another writer was first or its source grew"),
    ("created", "BOOLEAN", "Whether the run created the table"),
    ("version", "BIGINT", "The Delta version that it wrote; NULL if it wrote none"),
    ("files_added", "BIGINT", "Data files that the MERGE added"),
    ("files_removed", "BIGINT", "Data files that it removed from the table"),
)  # fmt: skip


@dataclass
class RunRecord:
    """The facts about one run; a fact that is missing is NULL in the table."""

    spec: Spec
    """The spec as it was given, of one source."""
    run: str
    """The id of the run."""
    batch: int | None = None
    """The number of a micro-batch; ``None`` outside of a stream."""
    result: RunResult | None = None
    """The result; ``None`` until the run succeeds."""
    planned: Mapping[str, int] = field(default_factory=dict)
    """Action -> number, by a plan before the MERGE; empty unless the run counts."""
    error: str | None = None
    """Why the run failed; ``None`` if it did not."""
    started_at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.timezone.utc))
    """When the run began, in UTC."""
    begin: float = field(default_factory=time.monotonic)
    """The same on a clock that never jumps, in seconds, to measure the duration."""

    def as_row(self) -> dict[str, Any]:
        """Column -> value, for each column of :data:`COLUMNS`."""
        known: dict[str, Any] = {
            "run": self.run,
            "target": self.spec.target,
            "spec": self.spec.origin,
            "spec_hash": hash_spec(self.spec),
            "feed": self.spec.feed or None,
            "batch": self.batch,
            "started_at": self.started_at.isoformat(timespec="milliseconds"),
            "seconds": round(time.monotonic() - self.begin, 3),
            "error": self.error,
        }
        # Add what only a finished run has; the columns of a failed one stay NULL.
        if done := self.result:
            taken = ("rows_in", "skipped", "inserted", "updated", "deleted", "refreshed", "retries", "created")
            known |= {name: getattr(done, name) for name in taken}
            known["version"] = done.commit.version if done.commit else None
            known["files_added"] = done.commit.files_added if done.commit else 0
            known["files_removed"] = done.commit.files_removed if done.commit else 0
            known["rejected"] = json.dumps(dict(done.rejected)) if done.rejected else None
            known["late"] = self.planned.get("late")
            if self.planned:
                counts = pattern_of(self.spec).split_counts(self.spec, self.planned)
                known["keys"] = {word: counts.keys.get(word) for word in KEYS}
                known["versions"] = {word: counts.versions[word] for word in VERSIONS} if counts.versions else None
        return {name: known.get(name) for name, _, _ in COLUMNS}


class Metrics:
    """The table of metrics. Does not hold a session, so that a stream can send it to another process."""

    def __init__(self, table: str):
        """Raises :class:`UsageError` if the name is not a valid table name."""
        try:
            self.parts = sql.split_name(table)
        except ValueError as error:
            raise UsageError(str(error), option="--metrics") from error
        self.table, self.label = table, f"--metrics {table}"
        self._name = sql.quote_parts(self.parts)
        self._ready = False

    def require_not_target(self, specs: Iterable[Spec]) -> None:
        """Raise :class:`UsageError` if the table is the target of a spec."""
        for spec in specs:
            if [part.lower() for part in spec.target_parts] == [part.lower() for part in self.parts]:
                what = f"is the target of {spec.origin}; name another table"
                raise UsageError(what, option="--metrics", value=self.table)

    def prepare(self, spark: SparkSession) -> None:
        """Create the table if it does not exist, on the first call. Raises an error if it lacks some of the columns."""
        if not self._ready:
            retry(self.table, RetryLimit(), lambda: self._create(spark))
            self._ready = True

    def _create(self, spark: SparkSession) -> None:
        try:
            if not spark.catalog.tableExists(self._name):
                for statement in self.render_create():
                    spark.sql(statement).collect()
            if spark.catalog.getTable(self._name).tableType in {"VIEW", "TEMPORARY"}:
                raise DataError(f"{self.label}: is a view, which takes no rows; name another table")
            existing = {name.lower() for name in spark.table(self._name).columns}
        except ScdgenError:
            raise
        except Exception as error:
            raise translate_at(self.label, error) from error
        missing = [name for name, _, _ in COLUMNS if name not in existing]
        if missing:
            raise DataError(
                f"{self.label}: is there without {len(missing)} of the columns, such as {missing[0]}; add "
                "what is missing, or name another table"
            )

    def render_create(self) -> list[str]:
        """Render the statements that create the table."""
        listed = ",\n    ".join(
            f"{sql.quote(name)} {kind} COMMENT {sql.text_literal(comment)}" for name, kind, comment in COLUMNS
        )
        about = sql.text_literal("A row per run of scdgen and table")
        made = f"CREATE TABLE IF NOT EXISTS {self._name} (\n    {listed}\n)\nUSING DELTA\nCOMMENT {about}"
        schema = self.parts[:-1]
        return [*([f"CREATE SCHEMA IF NOT EXISTS {sql.quote_parts(schema)}"] if schema else []), made]

    def render_insert(self, row: Mapping[str, Any]) -> str:
        """Render the statement that adds a row."""
        names = ", ".join(sql.quote(name) for name, _, _ in COLUMNS)
        values = ", ".join(f"CAST({_render_literal(row[name])} AS {kind})" for name, kind, _ in COLUMNS)
        return f"INSERT INTO {self._name} ({names}) VALUES ({values})"

    def append(self, spark: SparkSession, row: Mapping[str, Any]) -> None:
        """Add a row; if that fails, print a warning."""
        # Send the row to the log first, which keeps it if the table refuses it.
        _log.info("metrics", extra={"event": "metrics", "fields": row})
        try:
            spark.sql(self.render_insert(row)).collect()
        except Exception as error:
            what = line_without_fix(translate_at(self.label, error))
            _log.warning(f"{what}; the merge is kept, but the metrics row of {row['target']} is lost")


@contextmanager
def record_run(metrics: Metrics | None, engine: Engine, record: RunRecord) -> Iterator[RunRecord]:
    """Add a row for the run in this block, whether it succeeds or fails; does nothing without ``metrics``."""
    if metrics is None:
        yield record
        return
    # Refuse a wrong metrics table before the run, because afterwards it costs the row.
    metrics.require_not_target([record.spec])
    metrics.prepare(engine.spark)
    try:
        yield record
    except Exception as error:
        record.error = line_and_status(error, kept=True)[0]
        raise
    finally:
        # A run that was interrupted, such as by Ctrl-C, has neither.
        if record.result is not None or record.error is not None:
            with engine.lock:  # another thread may have set userMetadata for its commits
                metrics.append(engine.spark, record.as_row())


def _render_literal(value: object) -> str:
    if isinstance(value, Mapping):
        return f"NAMED_STRUCT({', '.join(_render_literal(part) for pair in value.items() for part in pair)})"
    return "NULL" if value is None else sql.text_literal(str(value))
