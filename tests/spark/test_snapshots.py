"""The scope of a full extract, and extracts that are refused: scope, allow_empty, max_deleted, older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id int, region string, name string"


def spec_of(pattern: str, options: str) -> Spec:
    taken = 'taken_at: ":taken", ' if pattern == "scd2" else ""
    return load_spec_text(f"""
target: snaps.{pattern}
pattern: {pattern}
source: {{table: nowhere, feed: snapshot}}
keys: [id]
columns: {{id: int, region: string, name: string}}
params: {{taken: timestamp}}
snapshot: {{{taken}{options}}}
""")


class Table:
    def __init__(self, spark: SparkSession, pattern: str):
        self.spark, self.pattern, self.runner = spark, pattern, Runner(spark)
        spark.sql(f"DROP TABLE IF EXISTS snaps.{pattern}")

    def run(self, day: int, rows: list[tuple[Any, ...]], options: str = "") -> None:
        self.spec, self.params = spec_of(self.pattern, options), {"taken": f"2024-01-0{day}"}
        self.frame = self.spark.createDataFrame(rows, SCHEMA)
        self.runner.run(self.spec, self.frame, self.params)

    def settle(self) -> None:
        """Repeat the last extract, which must change nothing, and run all checks."""
        again = self.runner.run(self.spec, self.frame, self.params)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
        assert not [c for c in self.runner.check(self.spec) if c.failures]

    def names(self) -> list[str]:
        frame = self.spark.table(f"snaps.{self.pattern}")
        return sorted(row["name"] for row in (frame.where("is_current") if self.pattern == "scd2" else frame).collect())


ALL = [(1, "EU", "a"), (2, "EU", "b"), (3, "US", "c"), (4, None, "d")]


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", ["scd1", "scd2"])
def test_snapshot_closes_only_keys_in_scope(spark: SparkSession, pattern: str) -> None:
    table = Table(spark, pattern)
    table.run(1, ALL)
    table.run(2, [(1, "EU", "A")], "scope: region = 'EU' OR region = 'ASIA'")
    assert table.names() == ["A", "c", "d"], "2 is missing from its scope; 3 and 4 are outside of it"
    table.settle()
    for row in ((3, "US", "C"), (5, None, "e")):
        with pytest.raises(DataError, match=r"a row is outside of snapshot\.scope; .* \(1 found, such as") as refused:
            table.run(3, [(1, "EU", "B"), row], "scope: region = 'EU'")
        assert refused.value.rule == "outside_scope"
        with pytest.raises(DataError, match="outside of snapshot"):
            table.runner.plan(table.spec, table.frame, table.params)
    with pytest.raises(DataError, match=r"1 key deleted \(100\.0 %; limit 50 %\)"):
        table.run(3, [(7, "EU", "g")], "scope: region = 'EU', max_deleted: 0.5")
    assert table.names() == ["A", "c", "d"]


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", ["scd1", "scd2"])
def test_empty_snapshot_is_refused_unless_allowed(spark: SparkSession, pattern: str) -> None:
    table = Table(spark, pattern)
    with pytest.raises(DataError, match="the snapshot is empty"):
        table.run(1, [])
    assert not table.runner.exists(spec_of(pattern, "")), "even if the table does not exist"
    table.run(1, ALL)
    table.run(2, [], "allow_empty: true")
    assert table.names() == []
    table.settle()


@pytest.mark.nightly
def test_returning_keys_reopen(spark: SparkSession) -> None:
    table = Table(spark, "scd2")
    table.run(1, ALL)
    table.run(3, ALL[:2])
    table.run(3, ALL[:3])  # the same time again: the key was not missing after all
    rows = spark.table("snaps.scd2").where("id = 3").collect()
    assert [(str(row["valid_from"])[:10], row["valid_to"]) for row in rows] == [("2024-01-01", None)]
    table.run(2, [*ALL[:3], (4, None, "D")])  # an older snapshot: 4 comes back, not before it was closed
    rows = spark.table("snaps.scd2").where("id = 4").orderBy("valid_from").collect()
    assert [(row["name"], str(row["valid_from"])[:10], str(row["valid_to"])[:10]) for row in rows] == [
        ("d", "2024-01-01", "2024-01-03"),
        ("D", "2024-01-03", "None"),
    ]
    table.settle()
