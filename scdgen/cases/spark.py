"""Cases on Spark, which is the truth: DuckDB is only faster."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.cases.block import Row
from scdgen.cases.nested import canonical_rows, is_nested
from scdgen.cases.play import STORED, Given, stored_statements
from scdgen.engine.engine import Engine
from scdgen.model.spec import Spec
from scdgen.run.results import RunResult
from scdgen.run.runner import Runner
from scdgen.run.table import table_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkWorld:
    """A :class:`scdgen.cases.play.World`: tables in a session, in schemas of ``names``, which may be dropped."""

    def __init__(self, spark: SparkSession, names: Iterable[tuple[str, ...]] = ()):
        self.spark, self.runner = spark, Runner(spark)
        self._schemas = {name[:-1] for name in names if len(name) > 1}

    def put(self, name: str, given: Given) -> None:
        # A name without a schema is that of a view.
        frame, parts = self._frame(given), sql.split_name(name)
        if len(parts) == 1:
            frame.createOrReplaceTempView(sql.quote(name))
            return
        self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {sql.quote_parts(parts[:-1])}")
        writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.saveAsTable(sql.quote_parts(parts))

    def store(self, spec: Spec, given: Given) -> None:
        self.put(STORED, given)
        with table_zone(Engine(self.spark), spec) as zoned:
            self.execute(stored_statements(zoned, given))

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> RunResult:
        return self.runner.run(spec, None if source is None else self._frame(source), params, infer=infer)

    def plan(self, spec: Spec, source: Given | None, params: Mapping[str, Any]) -> Mapping[str, int]:
        frame = None if source is None else self._frame(source)
        counts = self.runner.plan(spec, frame, params, rows=False).counts
        return {**counts.keys, **counts.versions}

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        frame = self.spark.sql(query)
        kinds = {name: kind.partition("<")[0] if is_nested(kind) else kind for name, kind in frame.dtypes}
        return kinds, canonical_rows(collect(frame), kinds.values())

    def require_known(self, spec: Spec, query: str) -> None:
        """See :class:`scdgen.cases.play.World`."""

    def columns(self, name: str) -> list[str]:
        table = sql.quote_parts(sql.split_name(name))
        return list(self.spark.table(table).columns) if self.spark.catalog.tableExists(table) else []

    def find_failures(self, spec: Spec) -> list[str]:
        return [result.name for result in self.runner.check(spec) if result.failures]

    def execute(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.spark.sql(statement)

    def clear(self) -> None:
        for parts in self._schemas:
            self.spark.sql(f"DROP SCHEMA IF EXISTS {sql.quote_parts(parts)} CASCADE")
        for view in self.spark.sql("SHOW TABLES").collect():
            if view.isTemporary:
                self.spark.catalog.dropTempView(view.tableName)

    def _frame(self, given: Given) -> DataFrame:
        """The rows in their types; Spark parses the cells, so times are in its session's zone."""
        block = given.block
        listed = [", ".join(["0", *("NULL" if c is None else sql.text_literal(c) for c in row)]) for row in block.rows]
        names = ", ".join(["_none", *map(sql.quote, block.columns)])
        columns = []
        for name, kind in given.types.items():
            text, is_given = sql.quote(name), name in block.columns
            parsed = f"FROM_JSON({text}, {sql.text_literal(kind)})" if is_nested(kind) else f"CAST({text} AS {kind})"
            columns.append(f"{parsed if is_given else f'CAST(NULL AS {kind})'} AS {text}")
        empty = ", ".join(["1", *("NULL" for _ in block.columns)])
        rows = ", ".join(f"({cells})" for cells in listed or [empty])
        return self.spark.sql(f"SELECT {', '.join(columns)} FROM VALUES {rows} AS v ({names}) WHERE _none = 0")


def collect(frame: DataFrame) -> list[Row]:
    """The rows of a frame, with times in the session's zone.

    pyspark cannot convert TIMESTAMP '0001-01-01' ("year 0 is out of range").
    """
    times = {name for name, kind in frame.dtypes if kind == "timestamp"}
    names = {name: sql.quote(name) for name in frame.columns}
    texts = [f"CAST({n} AS STRING) AS {n}" if name in times else n for name, n in names.items()]
    return [
        tuple(_read_time(value) if name in times else value for name, value in zip(frame.columns, row, strict=True))
        for row in frame.selectExpr(*texts).collect()
    ]


def _read_time(text: str | None) -> dt.datetime | None:
    if text is None:
        return None
    whole, _, fraction = text.partition(".")
    return dt.datetime.fromisoformat(f"{whole}.{fraction:0<6}")
