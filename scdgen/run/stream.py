"""Streams: each micro-batch is merged into its targets, each target once, however often the batch is delivered.

Exactly once stands on two things. Delta keeps, per application and table, the number of the last batch that it took in
(``txnAppId`` and ``txnVersion``), and passes over a MERGE of a number that it has seen; and a MERGE of the same rows
changes nothing anyway. The application is named by the id that Spark keeps in the checkpoint, so that a new checkpoint
is a new application, whose batches count from 0 again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scdgen.engine.settings import set_while
from scdgen.errors import EngineError, UsageError
from scdgen.patterns.bind import bind_each
from scdgen.run.metrics import Metrics
from scdgen.run.retry import RETRIES
from scdgen.spec.graph import Step, steps
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from scdgen.run.results import RunResult

_APP, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"


@dataclass(frozen=True)
class BatchResult:
    """One micro-batch: its number in the stream, its rows, what each target took in, and the seconds it took."""

    batch: int
    rows: int
    results: tuple[RunResult, ...]
    seconds: float

    def as_object(self) -> dict[str, Any]:
        """For JSON: a flat object, with an object per target."""
        targets = {
            result.target: {"inserted": result.inserted, "updated": result.updated, "removed": result.deleted}
            for result in self.results
        }
        return {"batch": self.batch, "rows": self.rows, "targets": targets, "seconds": round(self.seconds, 3)}


@contextlib.contextmanager
def once(spark: SparkSession, spec: Spec, application: str, batch: int) -> Iterator[None]:
    """Inside of this Delta passes over a write of a batch that the table has taken in already.

    Raises :class:`EngineError` where the session refuses the settings that say so: a batch could then count twice.
    """
    with set_while(spark, {_APP: application, _VERSION: str(batch)}) as taken:
        if not taken:
            raise EngineError(
                f"{spec.target}: this session does not let {_APP} be set, by which Delta passes over a batch that it "
                "has taken in; stream on compute that does, which serverless does not, or schedule `scdgen run`"
            )
        yield


def application_id(spark: SparkSession, checkpoint: str) -> str:
    """The id of the stream that a checkpoint belongs to, which outlives restarts."""
    rows = spark.read.text(f"{checkpoint.rstrip('/')}/metadata").collect()
    return str(json.loads("".join(row[0] for row in rows))["id"])


@dataclass
class MicroBatch:
    """What ``foreachBatch`` calls. Holds nothing but plain values, because Spark Connect sends it to the server.

    ``report`` is called with each :class:`BatchResult`. The first error is kept in ``error``, because Spark wraps it
    in one of its own. ``busy``, where it is given, is held while a batch is merged; ``stopping`` lets no other begin.
    """

    steps: tuple[Step, ...]
    fed: tuple[Spec, ...]  # the specs that the batch itself is merged by; the others read their own sources
    checkpoint: str
    templates: str | None = None
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    report: Callable[[BatchResult], None] | None = None
    retries: int = RETRIES
    metrics: Metrics | None = None
    error: Exception | None = None
    busy: threading.Lock | None = None
    stopping: bool = False

    def prepare(self, spark: SparkSession) -> None:
        """Make the table of metrics, if one is named; raises what says that it cannot be."""
        if self.metrics is not None:
            self.metrics.apart_from([step.spec for step in self.steps])
            self.metrics.prepare(spark)

    def start(self, frame: DataFrame, interval: str | None) -> StreamingQuery:
        """Begin the stream: with what is there and no more, or every ``interval`` (``10 minutes``).

        Raises :class:`EngineError` before it begins where the session cannot keep a batch from counting twice.
        """
        with once(frame.sparkSession, self.fed[0], "none", 0):
            pass
        writer = frame.writeStream.foreachBatch(self).option("checkpointLocation", self.checkpoint)
        return (writer.trigger(processingTime=interval) if interval else writer.trigger(availableNow=True)).start()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Merge one batch into every target, in the order of their dependencies."""
        with self.busy or contextlib.nullcontext():
            if self.stopping:
                raise RuntimeError("the stream is being stopped")
            try:
                self._merge(frame, batch)
            except Exception as error:
                self.error = error
                raise

    def _merge(self, frame: DataFrame, batch: int) -> None:
        from scdgen.run.runner import Runner

        begin = time.monotonic()
        spark = frame.sparkSession
        runner = Runner(spark, self.templates, self.retries, metrics=self.metrics)
        application = application_id(spark, self.checkpoint)
        fed = {spec.target for spec in self.fed}
        # Every MERGE reads the batch more than once: it is worked out once, and is the same each time.
        rows = frame.persist()
        try:
            results = []
            for step in self.steps:
                spec, values = step.spec, self.params.get(step.spec.target, {})
                given = rows if spec.target in fed else None
                results.append(runner.run_once(spec, given, values, application, batch))
            if self.report is not None:
                self.report(BatchResult(batch, rows.count(), tuple(results), time.monotonic() - begin))
        finally:
            rows.unpersist()


def micro_batch(
    specs: Sequence[Spec],
    checkpoint: str | None = None,
    templates: str | None = None,
    params: Mapping[str, object] | None = None,
    report: Callable[[BatchResult], None] | None = None,
    retries: int = RETRIES,
    metrics: Metrics | None = None,
) -> MicroBatch:
    """What merges the batches of a stream into the targets; raises :class:`UsageError` for what does not fit."""
    ordered, fed = streamed_source(specs)
    values = bind_each(specs, params or {})
    place = checkpoint_of(fed, checkpoint)
    return MicroBatch(ordered, tuple(fed), place, templates, values, report, retries, metrics)


def streamed_source(specs: Sequence[Spec]) -> tuple[tuple[Step, ...], list[Spec]]:
    """The order of the specs, and those that the stream itself feeds: all that read what no other spec writes.

    They must read one and the same table or path. Raises :class:`UsageError` where they do not, or where it is a query.
    """
    ordered = tuple(steps(specs))
    fed = [step.spec for step in ordered if step.spec.source.query is None and not step.needs]
    if not fed:
        spec = ordered[0].spec
        raise UsageError(f"{spec.origin}: a query cannot be read as a stream; name a table or a path in the source")
    first = fed[0]
    for spec in fed[1:]:
        if _place(spec) != _place(first):
            raise UsageError(
                f"{spec.origin}: reads {_place(spec)}, and {first.origin} reads {_place(first)}; "
                "one stream has one source: give specs that read the same"
            )
    return ordered, fed


def _place(spec: Spec) -> str:
    return spec.source.table or spec.source.path or "a query"


def checkpoint_of(fed: Sequence[Spec], given: str | None) -> str:
    """Where the stream keeps its place: as given, or as the one spec that names it says."""
    found = list(dict.fromkeys(s.stream.checkpoint for s in fed if s.stream and s.stream.checkpoint))
    if given is None and len(found) != 1:
        what = "none of the specs names" if not found else f"the specs name {len(found)} places for"
        raise UsageError(
            f"{fed[0].origin}: {what} the stream's checkpoint; write stream.checkpoint in a spec, or pass --checkpoint"
        )
    return given or found[0]


def options_of(fed: Sequence[Spec]) -> dict[str, str]:
    """The reader's options: those of the sources and of ``stream.options``."""
    options: dict[str, str] = {}
    for spec in fed:
        options |= spec.source.options | (dict(spec.stream.options) if spec.stream else {})
    return options
