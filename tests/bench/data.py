"""The tables of the bench, generated from a few sizes: a history of many versions, and batches of changes to it.

A key has ``versions`` versions, thirty days each, the last one open. All of one age were written together, in files of
their own, as batches would write them: a file holds old versions or open ones. The values of a version follow from its
key and its number, so that what a batch must do to the table can be counted without any MERGE.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scdgen import load_spec_text, render
from scdgen.compile.statements import cut
from scdgen.model.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "bench"
DAYS = 30  # that a version lasts
FILES = 4  # per age


@dataclass(frozen=True)
class Size:
    """How large the table and the batch are. ``changed``, ``late`` and ``unchanged`` are shares."""

    keys: int = 1_000_000
    versions: int = 4
    changed: float = 0.01  # of the keys: they have a change each
    per_key: int = 1  # changes of such a key
    late: float = 0.0  # of the changes: they begin inside the version before the open one
    same: bool = False  # the changes say what is stored already
    columns: int = 5  # tracked ones
    layout: str = "none"  # none | partitioned | clustered

    def but(self, **values: Any) -> Size:
        """The size with some of its numbers changed."""
        return replace(self, **values)

    @property
    def rows(self) -> int:
        """Versions in the table before the batch."""
        return self.keys * self.versions

    @property
    def step(self) -> int:
        """One of this many keys is in the batch."""
        return max(1, round(1 / self.changed))

    @property
    def batch_keys(self) -> int:
        """Keys of the batch."""
        return (self.keys + self.step - 1) // self.step

    @property
    def batch_rows(self) -> int:
        """Changes of the batch."""
        return self.batch_keys * self.per_key

    def expected(self) -> tuple[int, int, int]:
        """Rows that scdgen must insert, update and delete, computed from the sizes.

        A change opens a version and closes the open one; more changes of the key open more, and close nothing stored.
        A late change splits the version before the open one: one opens, and one that was closed ends earlier.
        """
        if self.same:
            return 0, 0, 0
        return self.batch_rows, self.batch_keys, 0


def names(size: Size) -> list[str]:
    """The tracked columns."""
    return [f"c{number}" for number in range(size.columns)]


def spec_of(size: Size, table: str, source: str, snapshot: bool = False) -> Spec:
    """The spec of :func:`spec_text`."""
    return load_spec_text(spec_text(size, table, source, snapshot))


def spec_text(size: Size, table: str, source: str, snapshot: bool = False) -> str:
    """What a user would write for this table, fed by changes or by full extracts."""
    columns = ", ".join(["id: bigint", "part: int", *(f"{name}: string" for name in names(size))])
    layouts = {
        "none": "table: {layout: none}",
        "partitioned": "table: {partition_by: [part]}",
        "clustered": "table: {cluster_by: [id]}",
    }
    feed = "feed: snapshot" if snapshot else "effective_at: changed_at"
    taken = "snapshot: {taken_at: \"TIMESTAMP '2026-01-01'\"}" if snapshot else ""
    return (
        f"target: {SCHEMA}.{table}\npattern: scd2\nsource: {{table: {source}, {feed}}}\n{taken}\n"
        f"keys: [id]\ncolumns: {{{columns}}}\n{layouts[size.layout]}\n"
    )


def _values(size: Size, of: str) -> str:
    """The tracked columns as text; ``of`` distinguishes the versions of a key."""
    return ", ".join(f"CONCAT('{name} ', id, ' ', {of}) AS {name}" for name in names(size))


def _start(number: str) -> str:
    return f"TIMESTAMPADD(DAY, {DAYS} * ({number}), TIMESTAMP '2010-01-01')"


def make_history(spark: SparkSession, size: Size, table: str) -> None:
    """The table before the batch, by scdgen's own create.sql."""
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{table}")
    for statement in cut(render(spec_of(size, table, "nowhere")).create).texts:
        spark.sql(statement)
    for age in range(size.versions):
        newest = age == size.versions - 1
        end = "CAST(NULL AS TIMESTAMP)" if newest else _start(str(age + 1))
        spark.sql(
            f"INSERT INTO {SCHEMA}.{table} SELECT /*+ REPARTITION({FILES}) */ id, CAST(id % 16 AS INT), "
            f"{_values(size, str(age))}, {_start(str(age))}, {end}, {str(newest).lower()} FROM RANGE({size.keys})"
        )
    if size.layout == "clustered":
        spark.sql(f"OPTIMIZE {SCHEMA}.{table}")


def make_batch(spark: SparkSession, size: Size, table: str) -> None:
    """The changes, as a Delta table."""
    last = size.versions - 1
    late = f"id DIV {size.step} % 1000 < {round(size.late * 1000)}"
    number = f"CASE WHEN {late} THEN {last} - 1 ELSE {last} END"
    of = f"CASE WHEN {'TRUE' if size.same else 'FALSE'} THEN '{last}' ELSE CONCAT('new ', change) END"
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{table} USING DELTA AS SELECT id, CAST(id % 16 AS INT) AS part, "
        f"{_values(size, of)}, TIMESTAMPADD(HOUR, 1 + CAST(change AS INT), {_start(number)}) AS changed_at "
        f"FROM (SELECT id * {size.step} AS id FROM RANGE({size.batch_keys})) "
        f"CROSS JOIN (SELECT id AS change FROM RANGE({size.per_key}))"
    )


def make_result(spark: SparkSession, before: str, after: str, table: str) -> None:
    """The finished rows of a batch, which the floor writes."""
    spark.sql(
        f"CREATE OR REPLACE TABLE {SCHEMA}.{table} USING DELTA AS "
        f"SELECT * FROM {SCHEMA}.{after} EXCEPT ALL SELECT * FROM {SCHEMA}.{before}"
    )


def make_plain(spark: SparkSession, size: Size, old: str, table: str) -> None:
    """The history in a table without properties, so that Delta writes no deletion vectors."""
    layouts = {"none": "", "partitioned": "PARTITIONED BY (part)", "clustered": "CLUSTER BY (id)"}
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{table}")
    spark.sql(
        f"CREATE TABLE {SCHEMA}.{table} USING DELTA {layouts[size.layout]} AS SELECT * FROM {SCHEMA}.{old} WHERE FALSE"
    )
    for age in range(size.versions):
        spark.sql(
            f"INSERT INTO {SCHEMA}.{table} SELECT /*+ REPARTITION({FILES}) */ * FROM {SCHEMA}.{old} "
            f"WHERE valid_from = {_start(str(age))}"
        )
