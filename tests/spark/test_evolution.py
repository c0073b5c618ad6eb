"""A spec that changes after its table was created: added columns, refused drift, tables not made by scdgen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text
from scdgen.compile.statements import cut
from scdgen.model.spec import Spec
from tests.conftest import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id: int, name: string, city: string"
MORE = COLUMNS + ", email: string, visits: {type: int, track: false}"
SCHEMA = "id int, name string, city string, email string, visits int, at timestamp"


def spec_of(columns: str = COLUMNS, rest: str = "", feed: str = "changes", keys: str = "id") -> Spec:
    return load_spec_text(
        f"target: evolve.dim\npattern: scd2\nsource: {{table: nowhere, feed: {feed}, effective_at: at}}\n"
        f"keys: [{keys}]\ncolumns: {{{columns}}}\n{rest}\n"
    )


def day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)


@pytest.fixture
def runner(spark: SparkSession) -> Iterator[Runner]:
    yield Runner(spark)
    spark.sql("DROP TABLE IF EXISTS evolve.dim")


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA).coalesce(1)


def version(spark: SparkSession) -> int:
    return int(spark.sql("DESCRIBE HISTORY evolve.dim LIMIT 1").collect()[0]["version"])


@pytest.mark.verify
def test_partition_of_another_expression_is_not_looked_for_in_vain(spark: SparkSession, runner: Runner) -> None:
    """A batch would read the new partition of its key alone, and open a second version of it."""
    old, new = (
        spec_of(f"{COLUMNS}, part: {{type: int, from: id % {count}}}", "table: {partition_by: [part]}")
        for count in (3, 5)
    )
    rows = [(4, "Ann", "Oslo", None, None, day(1)), (4, "Ann", "Bonn", None, None, day(2))]
    runner.run(old, source=frame(spark, rows[0]))
    with pytest.raises(
        DataError, match=r"columns.part.from: id % 3 -> id % 5: stored rows are in partitions"
    ) as refused:
        runner.run(new, source=frame(spark, rows[1]))
    assert rows_of(spark, "evolve.dim")[0][:4] == (4, "Ann", "Oslo", 1)
    for statement in "\n".join(refused.value.lines[1:]).split(";")[:-1]:
        spark.sql(statement)
    runner.run(new, source=frame(spark, rows[1]))
    assert [row[:4] for row in rows_of(spark, "evolve.dim")] == [(4, "Ann", "Bonn", 4), (4, "Ann", "Oslo", 4)]
    assert not [check for check in runner.check(new) if check.failures]


@pytest.mark.verify
def test_new_columns_are_added(spark: SparkSession, runner: Runner) -> None:
    old = [(1, "Ann", "Oslo", None, None, day(1)), (2, "Bob", "Bonn", None, None, day(1))]
    runner.run(spec_of(rest="history: {row_hash: hash}"), source=frame(spark, *old))
    evolved = spec_of(MORE, "history: {row_hash: hash}\nschema_evolution: add_columns")
    new = [(1, "Ann", "Oslo", None, 7, day(2)), (2, "Bob", "Bonn", "b@x", 8, day(2))]
    planned = runner.plan(evolved, source=frame(spark, *new))
    assert sorted((row["action"], row["id"]) for row in planned) == [("closed", 2), ("corrected", 1), ("opened", 2)]
    assert planned.added == ("email",), "visits is not tracked"
    assert "email" not in spark.table("evolve.dim").columns
    result = runner.run(evolved, source=frame(spark, *new))
    assert result.added == ("email", "visits")
    shown = spark.table("evolve.dim").select("id", "email", "visits", "valid_from", "valid_to").collect()
    assert sorted(map(tuple, shown), key=repr) == [
        (1, None, 7, day(1), None),
        (2, "b@x", 8, day(2), None),
        (2, None, None, day(1), day(2)),
    ]
    again = runner.run(evolved, source=frame(spark, *new))
    assert (again.inserted, again.updated, again.deleted, again.added) == (0, 0, 0, ())
    assert [check.name for check in runner.check(evolved) if check.failures] == [], "the stored hashes hold too"


@pytest.mark.nightly
def test_views_get_the_new_columns(spark: SparkSession, runner: Runner) -> None:
    """After the MERGE, so that they still work if it fails; and in the next run, if a column was added by hand."""
    views = "views: {current: evolve.now, overlay: evolve.overlaid}\noverlays: {first_name: {first: name}}"
    runner.run(spec_of(rest=views), source=frame(spark, (1, "Ann", "Oslo", None, None, day(1))))
    before = {view: spark.table(view).columns for view in ("evolve.now", "evolve.overlaid")}
    evolved = spec_of(MORE, views + "\nschema_evolution: add_columns")
    with pytest.raises(DataError, match="id is NULL"):
        runner.run(evolved, source=frame(spark, (None, "Eve", "Rome", "e@x", 1, day(2))))
    assert {view: spark.table(view).columns for view in before} == before
    assert spark.table("evolve.now").count() == 1
    row = frame(spark, (1, "Ann", "Oslo", "a@x", 1, day(2)))
    runner.run(evolved, source=row)
    for view, columns in before.items():
        assert sorted(spark.table(view).columns) == sorted([*columns, "email", "visits"])
    shown = spark.table("evolve.overlaid").select("first_name", "email", "valid_from").collect()
    assert sorted(map(tuple, shown), key=repr) == [("Ann", "a@x", day(2)), ("Ann", None, day(1))]
    spark.sql("CREATE OR REPLACE VIEW evolve.now AS SELECT id, name FROM evolve.dim")
    runner.run(evolved, source=row)
    assert "email" in spark.table("evolve.now").columns


def test_failed_run_drops_the_new_columns(spark: SparkSession, runner: Runner) -> None:
    runner.run(spec_of(rest="history: {row_hash: hash}"), source=frame(spark, (1, "Ann", "Oslo", None, None, day(1))))
    rows, columns = rows_of(spark, "evolve.dim"), spark.table("evolve.dim").columns
    evolved = spec_of(MORE, "history: {row_hash: hash}\nschema_evolution: add_columns")
    with pytest.raises(DataError, match="id is NULL"):
        runner.run(evolved, source=frame(spark, (None, "Eve", "Rome", "e@x", 1, day(2))))
    assert (rows_of(spark, "evolve.dim"), spark.table("evolve.dim").columns) == (rows, columns)
    properties = {row["key"]: row["value"] for row in spark.sql("SHOW TBLPROPERTIES evolve.dim").collect()}
    assert properties["scdgen.tracked"] == '["name", "city"]'
    assert runner.run(evolved, source=frame(spark, (1, "Ann", "Oslo", "a@x", 1, day(2)))).added == ("email", "visits")


ADOPT = "`scdgen run --adopt`"


@pytest.mark.nightly
def test_existing_table_is_adopted(spark: SparkSession, runner: Runner) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS evolve")
    spark.sql("CREATE TABLE evolve.dim (id INT, name VARCHAR(9), city STRING, valid_from TIMESTAMP, valid_to TIMESTAMP,"
              " is_current BOOLEAN, note STRING) USING DELTA")  # fmt: skip
    spark.sql("INSERT INTO evolve.dim VALUES (1, 'Ann', 'Oslo', '2024-01-01', '2024-01-03', false, 'old'),"
              " (1, 'Ann', 'Rome', '2024-01-02', NULL, true, NULL)")  # fmt: skip
    spec, change = spec_of(rest=""), frame(spark, (1, "Ann", "Bonn", None, None, day(5)))
    with pytest.raises(DataError) as refused:
        runner.run(spec, source=change)
    assert str(refused.value) == (
        "evolve.dim: the table was not created by scdgen; test it with `scdgen check`, then use `scdgen run --adopt`"
    )
    with pytest.raises(DataError, match=r'cannot be adopted, the check no_overlap fails, such as for \{"id": 1'):
        runner.run(spec, source=change, adopt=True)
    assert version(spark) == 1
    spark.sql("UPDATE evolve.dim SET valid_to = '2024-01-02' WHERE note = 'old'")
    assert [row["action"] for row in runner.plan(spec, source=change)] == ["closed", "opened"]
    result = runner.run(spec, source=change, adopt=True)
    assert (result.inserted, result.updated) == (1, 1)
    again = runner.run(spec, source=change)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert sorted(map(tuple, spark.table("evolve.dim").select("city", "valid_to", "note").collect()), key=repr) == [
        ("Bonn", None, None), ("Oslo", day(2), "old"), ("Rome", day(5), None)
    ]  # fmt: skip


STORED = [(1, "Ann", "Oslo", None, 5, day(1)), (1, "Ann", "Rome", None, 6, day(3)), (2, "Bob", "Bonn", None, 7, day(1))]
LATER = [(1, "Ann", "Graz", None, 8, day(5)), (2, "Bob", "Bonn", None, 7, day(5))]
OLD = "id: int, name: string, city: string, visits: int"
# What changes -> the spec of before and after, whether the table has to be adopted, and rows of the later batch.
MOVES: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool]] = {
    "a hashed column's name": (
        (OLD, "history: {row_hash: h, surrogate_key: sk}"),
        ("id: int, name: string, town: {type: string, from: city}, visits: int",
         "history: {row_hash: h, surrogate_key: sk}"),
        True,
    ),
    "a key's name": (
        (OLD, "history: {surrogate_key: sk}"),
        ("customer: {type: int, from: id}, name: string, city: string, visits: int",
         "history: {surrogate_key: sk}", "changes", "customer"),
        True,
    ),
    "another column in the key": (
        (OLD,),
        ("id: int, name: string, city: string, visits: int", "", "changes", "id, name"),
        True,
    ),
    "a wider type": ((OLD,), ("id: bigint, name: string, city: string, visits: bigint",), False),
    "another type": ((OLD, "history: {row_hash: h}"),
                     ("id: int, name: string, city: string, visits: string", "history: {row_hash: h}"), False),
    "no longer tracked": ((OLD,), ("id: int, name: string, city: {type: string, track: false}, visits: int",), False),
    "tracked from now on": (("id: int, name: string, city: string, visits: {type: int, track: false}",), (OLD,), False),
    "without a column": ((OLD,), ("id: int, name: string, city: string",), False),
    "history columns": (
        (OLD,),
        (OLD, "history: {surrogate_key: sk, row_hash: h, action: act}"),
        False,
    ),
    "names of history columns": (
        (OLD,), (OLD, "history: {valid_from: since, valid_to: until, is_current: open}"), False
    ),
    "gap and open end": ((OLD,), (OLD, "history: {gap: 1 millisecond, open_end: '9999-12-31'}"), True),
    "without a gap": ((OLD, "history: {gap: 1 second, open_end: '9999-12-31'}"), (OLD,), True),
    "dates": ((OLD,), (OLD, "history: {type: date}"), True),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("name", MOVES)
def test_statements_of_a_message_keep_the_history(spark: SparkSession, runner: Runner, name: str) -> None:
    """After the statements of the message and a run, the table is as if it had always had the new spec."""
    before, after, adopts = MOVES[name]
    runner.run(spec_of(*before), source=frame(spark, *STORED))
    spec, batch = spec_of(*after), frame(spark, *LATER)
    for _ in range(3):  # what is renamed may have hidden what else differs
        try:
            runner.plan(spec, source=batch)
            break
        except DataError as refused:
            message = str(refused)
            assert (ADOPT in message) == adopts, message
            statements = "\n".join(line for line in message.splitlines() if line.startswith("    "))
            for statement in cut(statements).texts:
                spark.sql(statement)
            if adopts:
                break
    runner.run(spec, source=batch, adopt=adopts)
    failed = {check.name for check in runner.check(spec) if check.failures}
    assert failed <= ({"no_repeat"} if name in {"no longer tracked", "without a column"} else set())
    columns = [column for column in spark.table("evolve.dim").columns if column in table_columns(spec)]
    found = sorted(spark.table("evolve.dim").select(sorted(columns)).collect(), key=repr)
    again = runner.run(spec, source=batch)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    spark.sql("DROP TABLE evolve.dim")
    runner.run(spec, source=frame(spark, *STORED))
    runner.run(spec, source=batch)
    fresh = sorted(spark.table("evolve.dim").select(sorted(columns)).collect(), key=repr)
    if name == "tracked from now on":  # a stored version holds the newest value of what was not tracked
        assert len(found) == len(fresh)
    else:
        assert found == fresh


ITSELF = """target: evolve.dim
pattern: scd2
source:
  query: SELECT * FROM evolve.dim{where}
  feed: versions
  effective_at: valid_from
  effective_until: valid_to
keys: [id]
columns: {{{columns}}}
{after}
"""
# What changes -> the options of the spec before and after, and its columns after.
REBUILDS = {
    "equal neighbours": ("unchanged: keep", "", OLD),
    "a column that is not tracked any more": (
        "",
        "",
        OLD.replace("city: string", "city: {type: string, track: false}"),
    ),
    "deletes as versions": ("", "on_delete: mark\nhistory: {deleted: gone}", OLD),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", REBUILDS)
def test_table_rebuilt_from_itself_is_as_from_its_changes(spark: SparkSession, runner: Runner, name: str) -> None:
    """The advice for changes that the statements of a message cannot bring to stored versions."""
    before, after, columns = REBUILDS[name]
    more = [
        (1, "Ann", "Oslo", None, 5, day(2)),
        (2, "Bob", "Kiel", None, 7, day(4)),
        *((3, "Eve", "Rome", None, visits, day(at)) for visits, at in ((1, 1), (None, 2), (1, 4), (None, 6))),
    ]
    batch = frame(spark, *STORED, *more)
    changes = {"feed": "changes, delete_when: visits IS NULL"}
    runner.run(spec_of(OLD, before, **changes), source=batch)
    stored = spark.table("evolve.dim").count()
    itself = load_spec_text(ITSELF.format(columns=columns, after=after, where=" WHERE NOT gone" * ("gone" in after)))
    try:
        runner.plan(itself)
    except DataError as refused:
        for statement in cut("\n".join(x for x in str(refused).splitlines() if x.startswith("    "))).texts:
            spark.sql(statement)
    result = runner.run(itself)
    assert spark.table("evolve.dim").count() == stored + result.inserted - result.deleted != stored
    again = runner.run(itself)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in runner.check(itself) if check.failures] == []
    order = sorted(table_columns(itself))
    found = sorted(spark.table("evolve.dim").select(order).collect(), key=repr)
    spark.sql("DROP TABLE evolve.dim")
    runner.run(spec_of(columns, after, **changes), source=batch)
    assert found == sorted(spark.table("evolve.dim").select(order).collect(), key=repr)


def table_columns(spec: Spec) -> set[str]:
    return {*spec.columns, *(name for _, name in spec.history.names())}
