"""Values and names that look like SQL, Jinja or a path stay values and names throughout a run."""

from __future__ import annotations

import csv
import json
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scdgen import Runner, load_spec_text
from scdgen.files.errors import open_files
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = [
    "'; DROP TABLE hostile.t; --", "*/ x /*", "{{ 7 * 7 }}", "${spark.app.name}", "\\' OR 1=1", "`x`", "%s {0} $1",
    ":p", "NULL", "null", "\u202eabc\u2066", "a\u2028b\u0085c", "-- x", "\x01\x7f", "\U0001f600", " ", "",
]  # fmt: skip
# A table, a column and a file with hostile names.
TABLE, COLUMN = "hostile.t", "v`; DROP TABLE hostile.t; --"


def spec_text(source: str, target: str = TABLE) -> str:
    columns = json.dumps({"k": "string", COLUMN: "string"})
    return f"target: {target}\npattern: scd2\nsource: {source}\nkeys: [k]\ncolumns: {columns}\n"


@pytest.mark.nightly
def test_hostile_values_stay_values(spark: SparkSession) -> None:
    """As keys, as values, as a param and as a search text."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS hostile")
    source = "{table: nowhere, effective_at: at, where: 'NOT (k <=> :p)'}"
    spec = load_spec_text(spec_text(source) + "params: {p: string}\n")
    frame = spark.createDataFrame([(value, value * 2) for value in VALUES], "k string, v string").selectExpr(
        "k", f"v AS `{COLUMN.replace('`', '``')}`", "TIMESTAMP '2024-05-01' AS at"
    )
    others = VALUES[1:]
    planned = Runner(spark).plan(spec, frame, {"p": VALUES[0]})
    assert {row["k"] for row in planned} == set(others)
    for count in (len(others), 0):
        assert Runner(spark).run(spec, frame, {"p": VALUES[0]}).inserted == count
        assert [row[:2] for row in rows_of(spark, TABLE)] == sorted(((v, v * 2) for v in others), key=repr)
    for value in others:
        assert [row["k"] for row in Runner(spark).versions(spec, {"k": value}).collect()] == [value]
    assert not [check.name for check in Runner(spark).check(spec) if check.failures]


FILES = [
    "x'; DROP TABLE t; --.csv", "a`b.csv", "{{ 7 * 7 }} ${x}.csv", "\u202e.csv", "a\\'b.csv", "per%20cent.csv",
    "[a]{b}*.csv",
]  # fmt: skip


@pytest.mark.nightly
def test_hostile_file_names_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """Each file has one row; together they are one source."""
    spec = load_spec_text(
        spec_text("{table: nowhere, feed: snapshot}", "hostile.files")
        + "snapshot: {taken_at: \"TIMESTAMP '2024-05-01'\"}\n"
    )
    for count in (len(FILES), 0):
        frames = []
        for name in FILES:
            with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["k", COLUMN], [name, "1"]])
            frames.append(open_files(spark, spec, str(tmp_path / name)).rows)
        assert Runner(spark).run(spec, reduce(lambda one, more: one.unionByName(more), frames)).inserted == count
        assert [row[:2] for row in rows_of(spark, spec.target)] == sorted(((name, "1") for name in FILES), key=repr)
