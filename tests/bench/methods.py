"""The methods to compare: scdgen, the floor, and other ways to merge the same batch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import Runner, render
from scdgen.compile.statements import cut
from tests.bench.data import SCHEMA, Size, names, spec_of
from tests.bench.rivals import Dbt, SqlMesh

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD, BATCH, RESULT = "old", "batch", "result"
PLAIN = "old_plain"  # with Delta's default table properties
Run = Callable[["SparkSession", Size, str], None]


@dataclass(frozen=True)
class Method:
    """A way to merge the batch into the table ``table`` of the bench's schema, a clone of ``old``."""

    name: str
    run: Run
    cannot: Callable[[Size], str | None] = lambda size: None  # why it cannot take such a batch
    old: str = OLD

    @property
    def table(self) -> str:
        """The table that it works on."""
        return "t_" + re.sub(r"\W+", "_", self.name.lower())


def scdgen(spark: SparkSession, size: Size, table: str, batch: str = BATCH) -> None:
    """Everything that ``scdgen run`` does, starting with the spec."""
    result = Runner(spark).run(spec_of(size, table, f"{SCHEMA}.{batch}"))
    assert (result.inserted, result.updated, result.deleted) == size.expected(), (size, result)


def merge_sql(spark: SparkSession, size: Size, table: str) -> None:
    """The statements of the generated file, without the runner, for a fair comparison."""
    *before, merge = cut(render(spec_of(size, table, f"{SCHEMA}.{BATCH}")).merge).texts
    for statement in before:
        spark.sql(statement)
    row = spark.sql(merge).collect()[0]
    found = (row["num_inserted_rows"], row["num_updated_rows"], row["num_deleted_rows"])
    assert found == size.expected(), (size, found)


def floor(spark: SparkSession, size: Size, table: str, result: str = RESULT, bound: str = "") -> None:
    """A plain upsert of finished rows by key and start: the cost of writing without computing any version.

    ``bound`` is one more condition on the rows of the target.
    """
    columns = ["part", *names(size), "valid_to", "is_current"]
    everything = ["id", "valid_from", *columns]
    spark.sql(
        f"MERGE INTO {SCHEMA}.{table} AS t USING {SCHEMA}.{result} AS s "
        f"ON t.id = s.id AND t.valid_from = s.valid_from{f' AND ({bound})' if bound else ''} "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'{name} = s.{name}' for name in columns)} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(everything)}) VALUES ({', '.join(f's.{n}' for n in everything)})"
    ).collect()


def _inserted(size: Size, alias: str) -> str:
    columns = ["id", "part", *names(size)]
    return (
        f"INSERT ({', '.join(columns)}, valid_from, valid_to, is_current) "
        f"VALUES ({', '.join(f'{alias}.{name}' for name in columns)}, {alias}.changed_at, NULL, TRUE)"
    )


def delta_docs(spark: SparkSession, size: Size, table: str) -> None:
    """The pattern of Delta's documentation: a change of a current row goes in twice, once below a NULL key."""
    target, batch = f"{SCHEMA}.{table}", f"{SCHEMA}.{BATCH}"
    changed = " OR ".join(f"t.{name} <> s.{name}" for name in names(size))
    spark.sql(
        f"MERGE INTO {target} AS t USING ("
        f"SELECT s.id AS merge_key, s.* FROM {batch} AS s UNION ALL "
        f"SELECT NULL AS merge_key, s.* FROM {batch} AS s JOIN {target} AS t ON s.id = t.id "
        f"WHERE t.is_current AND ({changed})) AS s ON t.id = s.merge_key "
        f"WHEN MATCHED AND t.is_current AND ({changed}) THEN UPDATE SET is_current = FALSE, valid_to = s.changed_at "
        f"WHEN NOT MATCHED THEN {_inserted(size, 's')}"
    ).collect()


def hand_written(spark: SparkSession, size: Size, table: str, tuned: bool = False) -> None:
    """Hand-written SQL for batches with several changes of a key: LAG and LEAD before the same NULL key.

    ``tuned``: the condition on open versions is in ON, not only in WHEN.
    """
    target, batch = f"{SCHEMA}.{table}", f"{SCHEMA}.{BATCH}"
    columns = ", ".join(f"s.{name}" for name in ["id", "part", *names(size)])
    compared = f"CONCAT_WS('|', {', '.join(names(size))})"
    differs = " OR ".join(f"NOT (t.{name} <=> s.{name})" for name in names(size))
    over = "OVER (PARTITION BY id ORDER BY changed_at)"
    on = "t.id = s.merge_key AND t.is_current" if tuned else "t.id = s.merge_key"
    spark.sql(
        f"MERGE INTO {target} AS t USING ("
        f"WITH hashed AS (SELECT *, SHA2({compared}, 256) AS hash FROM {batch}), "
        f"changes AS (SELECT *, LAG(hash) {over} AS hash_before FROM hashed), "
        f"ordered AS (SELECT *, ROW_NUMBER() {over} AS number, LEAD(changed_at) {over} AS ends "
        "FROM changes WHERE hash_before IS NULL OR hash <> hash_before) "
        f"SELECT s.id AS merge_key, {columns}, s.changed_at, s.ends FROM ordered AS s WHERE number = 1 UNION ALL "
        f"SELECT NULL AS merge_key, {columns}, s.changed_at, s.ends FROM ordered AS s "
        f"JOIN {target} AS t ON s.id = t.id AND t.is_current WHERE s.number > 1 OR {differs}) AS s ON {on} "
        f"WHEN MATCHED AND t.is_current AND ({differs}) THEN UPDATE SET is_current = FALSE, valid_to = s.changed_at "
        f"WHEN NOT MATCHED THEN INSERT (id, part, {', '.join(names(size))}, valid_from, valid_to, is_current) "
        f"VALUES ({columns}, s.changed_at, s.ends, s.ends IS NULL)"
    ).collect()


def tuned_by_hand(spark: SparkSession, size: Size, table: str) -> None:
    """:func:`hand_written` with all optimisations available to its author."""
    hand_written(spark, size, table, tuned=True)


def _one_change(size: Size) -> str | None:
    return "fails: several rows of a key" if size.per_key > 1 else None


def _late(size: Size) -> str | None:
    return "wrong rows: a late change" if size.late else None


def _no_late(size: Size) -> str | None:
    return _one_change(size) or _late(size)


METHODS = (
    Method("scdgen", scdgen),
    Method("scdgen's merge.sql", merge_sql),
    Method("floor", floor),
    Method("hand-written", hand_written, _late, PLAIN),
    Method("hand-written, tuned", tuned_by_hand, _late, PLAIN),
    Method("the same, deletion vectors", tuned_by_hand, _late),
    Method("Delta docs", delta_docs, _no_late, PLAIN),
)


def rival_methods(sqlmesh: Path, size: Size) -> tuple[Method, ...]:
    """dbt, and SQLMesh, which keeps an arbitrary row of a key; both silently miss late changes."""
    return (
        Method("dbt", Dbt(), _no_late, f"{OLD}_dbt"),
        Method(
            "SQLMesh",
            SqlMesh(sqlmesh, size),
            lambda s: "loses changes" if s.per_key > 1 or s.late else None,
            f"{OLD}_sqlmesh",
        ),
    )
