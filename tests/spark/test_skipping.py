"""A run never opens files that hold only versions closed before the batch.

The tests delete such a file, so that opening it fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pytest

from scdgen import Runner, Spec, load_spec_text
from scdgen.compile.compile import render
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from scdgen.model.bind import bind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "skipping.versions"
KEYS, VALUES = 20, "abc"
TIMES = {
    "timestamp": ("CAST({} AS TIMESTAMP)", "'9999-12-31'"),
    "date": ("CAST({} AS DATE)", "'9999-12-31'"),
    "bigint": ("UNIX_DATE(CAST({} AS DATE))", "99999999"),
}


def moment(kind: str, text: str) -> str:
    """SQL that converts a column or a text literal to the type of the history."""
    return TIMES[kind][0].format(text)


def spec_of(kind: str, options: str, source: str = "") -> Spec:
    given = source or f"effective_at: {moment(kind, 'at')}"
    return load_spec_text(
        f"target: {TABLE}\npattern: scd2\nsource: {{table: nowhere, {given}}}\nkeys: [id]\n"
        f"columns: {{id: int, value: string}}\nhistory: {{type: {kind}{options}}}\n"
        + ("snapshot: {taken_at: \"TIMESTAMP '2024-03-01'\"}\n" if source else "")
    )


def batch(spark: SparkSession, month: int, value: str, keys: int) -> DataFrame:
    """One change for each of ``keys`` keys."""
    return spark.createDataFrame(
        [(key, f"2024-{month:02}-01", value) for key in range(keys)], "id int, at string, value string"
    )


def files(spark: SparkSession, where: str) -> set[Path]:
    """The data files with rows that meet a condition."""
    found = spark.sql(f"SELECT DISTINCT _metadata.file_path FROM {TABLE} WHERE {where}").collect()
    return {Path(unquote(urlparse(row[0]).path)) for row in found}


def only_closed(spark: SparkSession) -> set[Path]:
    """The files in which every version is closed."""
    return files(spark, "NOT is_current") - files(spark, "is_current")


def take_away(spark: SparkSession, gone: set[Path]) -> None:
    assert gone, "no file of closed versions alone"
    for file in gone:
        file.unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|FileNotFound|FAILED_READ_FILE"):
        spark.sql(f"SELECT SUM(HASH(*)) FROM {TABLE}").collect()


def make(spark: SparkSession, spec: Spec, opened: int) -> None:
    """Twenty keys with a version per month up to ``opened``, the open ones in a separate file.

    Batches that touch every key leave such files.
    """
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}")
    for statement in cut(render(spec).create).texts:
        spark.sql(statement)
    kind, history = spec.history.type, spec.history
    starts = [moment(kind, f"'2024-{month:02}-01'") for month in range(1, opened + 1)]
    gap = {"timestamp": "INTERVAL 1 MICROSECOND", "date": "1", "bigint": "1"}[kind]
    ends = [f"{start} - {gap}" if history.gap is not None else start for start in starts[1:]]
    for closed in (True, False):
        chosen = slice(0, -1) if closed else slice(-1, None)
        versions = zip(VALUES[:opened][chosen], starts[chosen], ends if closed else [_far(spec)], strict=True)
        rows = ", ".join(f"('{value}', {start}, {end}, {not closed})" for value, start, end in versions)
        spark.sql(
            f"INSERT INTO {TABLE} SELECT /*+ COALESCE(1) */ CAST(id AS INT), v.* FROM RANGE({KEYS}) CROSS JOIN "
            f"(VALUES {rows}) AS v (value, valid_from, valid_to, is_current)"
        )
    assert not [check for check in Runner(spark).check(spec) if check.failures], "scdgen would not leave such a table"


def _far(spec: Spec) -> str:
    kind = spec.history.type
    return "NULL" if spec.history.open_end is None else f"CAST({TIMES[kind][1]} AS {kind})"


@pytest.mark.parametrize(
    ("kind", "open_end"),
    [
        ("timestamp", ""),
        *(
            pytest.param(kind, open_end, marks=pytest.mark.nightly)
            for kind in TIMES
            for open_end in ("", "sentinel", "gap")
            if (kind, open_end) != ("timestamp", "")
        ),
    ],
)
def test_changes_skip_files_closed_before_the_batch(spark: SparkSession, kind: str, open_end: str) -> None:
    """The same result as with all files, for every history type and open end."""
    gap = {"timestamp": "1 microsecond", "date": "1 day", "bigint": "1"}[kind]
    options = {"": "", "sentinel": f", open_end: {TIMES[kind][1]}", "gap": f", gap: {gap}"}[open_end]
    spec, runner = spec_of(kind, options), Runner(spark)
    make(spark, spec, 3)
    take_away(spark, only_closed(spark))
    result = runner.run(spec, batch(spark, 4, "d", keys=5))
    assert (result.inserted, result.updated, result.deleted) == (5, 5, 0)
    again = runner.run(spec, batch(spark, 4, "d", keys=5))
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    current: dict[int, Any] = {row[0]: row[1] for row in spark.sql(_open(spec)).collect()}
    assert current == {key: "d" if key < 5 else "c" for key in range(KEYS)}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["timestamp", "bigint"])
def test_script_skips_files_closed_before_the_batch(spark: SparkSession, kind: str) -> None:
    """The local variables of a script prune files as those of a session do."""
    spec = spec_of(kind, "")
    make(spark, spec, 3)
    take_away(spark, only_closed(spark))
    batch(spark, 4, "d", keys=5).createOrReplaceTempView("skipping_source")
    for _ in range(2):
        spark.sql(render_script(cut(render(bind(spec, "skipping_source", {})).merge))).collect()
        current: dict[int, Any] = {row[0]: row[1] for row in spark.sql(_open(spec)).collect()}
        assert current == {key: "d" if key < 5 else "c" for key in range(KEYS)}


def _open(spec: Spec) -> str:
    """The open versions, read with a condition that skips the deleted file."""
    ends = moment(spec.history.type, "'2024-03-15'")
    return f"SELECT id, value FROM {TABLE} WHERE is_current AND (valid_to IS NULL OR valid_to > {ends})"


@pytest.mark.nightly
def test_snapshot_skips_closed_files(spark: SparkSession) -> None:
    spec, runner = spec_of("timestamp", ""), Runner(spark)
    make(spark, spec, 2)
    take_away(spark, only_closed(spark))
    snapshot = spec_of("timestamp", "", "feed: snapshot")
    rows = spark.createDataFrame([(key, "c" if key < 3 else "b") for key in range(19)], "id int, value string")
    result = runner.run(snapshot, rows)
    assert (result.inserted, result.updated, result.deleted) == (3, 4, 0)
    again = runner.run(snapshot, rows)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
