"""Merges each micro-batch of a stream into its targets exactly once, even if the batch is delivered again.

Delta skips a MERGE whose batch number it has already committed for the table and application, which is the id that
Spark stores in the checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.engine.engine import FILE
from scdgen.engine.footer import describe_unread
from scdgen.engine.session import PARTITIONS_AS_TEXT, set_while
from scdgen.errors import DataError, UsageError
from scdgen.files import errors as files_errors
from scdgen.files import find as files
from scdgen.files import objects
from scdgen.files import read as files_read
from scdgen.files.shape import build_shape, taken_types
from scdgen.model.bind import bind_each
from scdgen.model.graph import Step, steps
from scdgen.model.pattern import rules_of
from scdgen.model.spec import Spec
from scdgen.run.delta import skip_known_batch
from scdgen.run.results import RunResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class BatchResult:
    """The result of a micro-batch."""

    batch: int
    """Its number in the stream."""
    rows: int
    """The number of its rows."""
    results: tuple[RunResult, ...]
    """The result of each target, in the order of the runs."""
    seconds: float
    """The seconds that it took."""

    def as_object(self) -> dict[str, Any]:
        """The result as JSON, with an object per target."""
        targets = {
            result.target: {"inserted": result.inserted, "updated": result.updated, "removed": result.deleted}
            | ({"known": True} if result.known else {})
            for result in self.results
        }
        return {"batch": self.batch, "rows": self.rows, "targets": targets, "seconds": round(self.seconds, 3)}


@dataclass
class MicroBatch:
    """The callback of ``foreachBatch``. Every field can be pickled, because Spark Connect sends it to the server."""

    steps: tuple[Step, ...]
    """The specs to run, in the order of their dependencies."""
    fed: tuple[Spec, ...]
    """The specs that read the batch; the others read the sources that they name."""
    runner: Callable[[SparkSession], Any]
    """Creates the :class:`~scdgen.run.runner.Runner` for the session of a batch."""
    checkpoint: str
    """The folder with the checkpoint of the stream."""
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Target -> params of its spec: name -> value."""
    report: Callable[[BatchResult], None] | None = None
    """Called with the result of each batch; ``None`` for nothing."""
    error: Exception | None = None
    """The first error, because Spark wraps it in another one; ``None`` without one."""
    busy: threading.Lock | None = None
    """Held while a batch is merged; ``None`` if nothing waits for that."""
    stopping: bool = False
    """Whether further batches are prevented."""

    def start(self, frame: DataFrame, interval: str | None) -> StreamingQuery:
        """Start the stream: it ends after the rows that are available, or looks for new ones every ``interval``.

        Raises :class:`EngineError` before it starts if the session cannot skip batches that were committed before.
        """
        with skip_known_batch(frame.sparkSession, self.fed[0], "none", 0):
            pass
        writer = frame.writeStream.foreachBatch(self).option("checkpointLocation", self.checkpoint)
        return (writer.trigger(processingTime=interval) if interval else writer.trigger(availableNow=True)).start()

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Merge one batch into every target, in the order of their dependencies."""
        # Hold the lock for the whole batch, so that stopping waits for the end of one and never cuts it.
        with self.busy or contextlib.nullcontext():
            if self.stopping:
                raise RuntimeError("the stream is being stopped")
            # Keep the error: Spark passes on only its text.
            try:
                self._merge(frame, batch)
            except Exception as error:
                self.error = error
                raise

    def _merge(self, frame: DataFrame, batch: int) -> None:
        begin, spark = time.monotonic(), frame.sparkSession
        runner = self.runner(spark)
        # The id of the stream stays the same after a restart; Delta skips a batch of it that is already merged.
        lines = spark.read.text(f"{self.checkpoint.rstrip('/')}/metadata").collect()
        application = str(json.loads("".join(line[0] for line in lines))["id"])
        fed = {spec.target for spec in self.fed}
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


def build_micro_batch(
    specs: Sequence[Spec],
    runner: Callable[[SparkSession], Any],
    checkpoint: str | None = None,
    params: Mapping[str, object] | None = None,
    report: Callable[[BatchResult], None] | None = None,
) -> MicroBatch:
    """Build the stream. Raises :class:`UsageError` for different sources, and without a checkpoint or a param."""
    ordered = tuple(steps(specs))
    fed = _find_fed_specs(ordered)
    values = bind_each(specs, params or {})
    return MicroBatch(ordered, tuple(fed), runner, _choose_checkpoint(fed, checkpoint), values, report)


def _find_fed_specs(ordered: Sequence[Step]) -> list[Spec]:
    """The specs that read the stream: those that do not read the target of another spec. They have one source."""
    fed = [step.spec for step in ordered if step.spec.source.is_stored and not step.needs]
    if not fed:
        spec = ordered[0].spec
        raise UsageError(
            f"{spec.origin}: a {spec.source.kind} cannot be read as a stream; name a table or a path in the source"
        )
    # Refuse those that a part of the rows would mislead, or that read something else.
    for spec in fed:
        takes_parts = rules_of(spec).takes_parts(spec)
        if not takes_parts or spec.each is not None:
            what, of = ("snapshot.each", "date") if takes_parts else (f"feed: {spec.source.feed}", "key")
            has = f"{what} needs all rows of a {of}, of which a micro-batch has a part"
            raise UsageError(f"{spec.origin}: {has}; use `scdgen run`")
    first, *others = ((spec.origin, spec.source.table or spec.source.path) for spec in fed)
    for origin, source in others:
        if source != first[1]:
            raise UsageError(
                f"{origin}: reads {source}, and {first[0]} reads {first[1]}; "
                "one stream has one source: give specs that read the same"
            )
    return fed


def _choose_checkpoint(fed: Sequence[Spec], given: str | None) -> str:
    """The ``given`` checkpoint, or the one that the specs name."""
    found = list(dict.fromkeys(s.stream.checkpoint for s in fed if s.stream and s.stream.checkpoint))
    if given is None and len(found) != 1:
        what = "none of the specs names" if not found else f"the specs name {len(found)} places for"
        raise UsageError(
            f"{fed[0].origin}: {what} the stream's checkpoint; write stream.checkpoint in a spec, or pass --checkpoint"
        )
    return given or found[0]


def collect_options(fed: Sequence[Spec]) -> dict[str, str]:
    """Merge the options for the reader, from the sources and from ``stream.options``."""
    options: dict[str, str] = {}
    for spec in fed:
        options |= spec.source.options | (dict(spec.stream.options) if spec.stream else {})
    return options


def open_stream(spark: SparkSession, fed: Sequence[Spec], path: str | None, options: Mapping[str, str]) -> DataFrame:
    """Open a streaming frame over the specs' common source, or over ``path`` instead of it.

    The columns of files are those of the files that exist now, cast to the types of the specs' columns. Raises
    :class:`UsageError` or :class:`DataError` if the path cannot be read.
    """
    from pyspark.sql.types import StructType

    source = fed[0].source
    # Read a table or a Delta folder with the types that it has.
    if path is None and source.table is not None:
        return spark.readStream.options(**options).table(source.table)
    place = path or source.path or ""
    found = files.find(place)
    if found.kind == "delta":
        return spark.readStream.format("delta").options(**options).load(found.paths()[0])
    if found.local and not found.folder:
        raise DataError(f"{place}: is one file; a stream reads a folder, into which files come")
    # Find the columns and options of files once, from those that exist; a stream does not infer them.
    plain = source.options if path is None else {}
    if plain or not found.local:
        strict = {**({"header": "true"} if found.kind == "csv" else {}), **files_read.STRICT, **plain}
        with set_while(spark, PARTITIONS_AS_TEXT):
            texts = spark.read.format(found.kind).options(**strict).load(found.paths())
    else:
        if found.kind == "parquet" and (unread := describe_unread(found.local)):
            raise DataError(unread)
        existing = files_errors.open_files(spark, fed[0], place)
        texts, strict = existing.texts, dict(files_read.STRICT)
        # Give Spark the dialect of the first file, and let it compare the header of each later one.
        if found.kind == "csv":
            dialect = existing.files.dialect(found.local[0])
            strict = {**files_read.CSV, **existing.files.given, "enforceSchema": "false", **dialect.options()}
    # Leave out the column with the file's name, which is not in the files.
    fields = StructType([field for field in texts.schema.fields if field.name != FILE])
    location = place if "://" in place else files.spark_path(Path(place))
    frame = spark.readStream.format(found.kind)
    if found.kind == "json":
        # Later files may have what the specs read and these files lack.
        shape = objects.add_texts(build_shape(spark, fields, fed, place), objects.BROKEN)
        lenient = {**strict, **options, **objects.LENIENT}
        rows = objects.without_nulls(frame.schema(shape).options(**lenient).load(location))
        return files_read.typed(rows, taken_types(*fed), {})
    rows = frame.schema(fields).options(**{**strict, **options}).load(location)
    if found.kind == "parquet":
        return rows
    # Cast text as a run does, so that a stream and a run write the same values.
    taken = taken_types(*fed)
    compared = {name for spec in fed for name in files_read.compared(spec)} - taken.keys()
    return files_read.typed(rows, taken, files_read.guessed(texts, compared))
