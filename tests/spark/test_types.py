"""Keys and columns of every comparable type, names that need quoting, and the empty text next to NULL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text, sql
from scdgen.engine.session import set_while
from scdgen.sql import quote
from scdgen.sql.literal import find_form
from scdgen.sql.types import data_type
from tests.conftest import as_of, runnable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# type -> two different values as SQL.
TYPES = {
    "boolean": ("true", "false"),
    "tinyint": ("1", "-128"),
    "smallint": ("1", "32767"),
    "int": ("1", "2"),
    "bigint": ("1", "9223372036854775807"),
    "float": ("1.5", "'NaN'"),
    "double": ("1e-300", "'Infinity'"),
    "decimal(38,10)": ("1234567890123456789012345678.0123456789", "0.0000000001"),
    "string": ("''", "' '"),
    "varchar(20)": ("'a'", "'A'"),
    "char(3)": ("'a'", "'b'"),
    "date": ("'0001-01-01'", "'9999-12-31'"),
    "timestamp": ("'2024-01-01 00:00:00.000001'", "'2024-01-01 00:00:00.000002'"),
    "timestamp_ntz": ("'2024-03-31 02:30:00'", "'1582-10-10 00:00:00'"),
    "binary": ("X'00FF'", "X''"),
}
TRACKED = {
    "array<string>": ("array('a', NULL)", "array('a', '')"),
    "struct<a:int,b:string>": ("named_struct('a', 1, 'b', NULL)", "named_struct('a', NULL, 'b', '1')"),
    "array<struct<a:int,b:array<date>>>": (
        "array(named_struct('a', 1, 'b', array(DATE '2024-01-01')))", "array(named_struct('a', 1, 'b', NULL))"
    ),
    "map<string,int>": ("map('a', 1)", "map('a', NULL)"),
    "struct<a:int,m:map<string,array<double>>>": (
        "named_struct('a', 1, 'm', map('x', array(0.5)))", "named_struct('a', 1, 'm', NULL)"
    ),
    "array<char(3)>": ("array('a')", "array('b')"),
}  # fmt: skip
# Other ways to write a type -> a value as SQL.
SPELLINGS = {
    "integer": "1", "long": "1", "short": "1", "byte": "1", "real": "1.5", "decimal(10)": "5", "dec(12)": "5",
    "numeric(12)": "5", "timestamp_ltz": "TIMESTAMP '2024-01-01'", "character(5)": "'a'", "varchar(5)": "'a'",
    "array<varchar(5)>": "array('a')", "map<string,decimal(12)>": "map('a', 1)",
    "struct<C:char(3)>": "named_struct('C', 'a')", "struct<`d e`: numeric(10) comment 'x'>": "named_struct('d e', 1)",
}  # fmt: skip
HISTORY = "history: {row_hash: row_hash, surrogate_key: sk, action: act}"


def batch(values: list[list[str]]) -> str:
    rows = [f"SELECT {', '.join(row)}" for row in values]
    return "\nUNION ALL ".join(rows)


@pytest.mark.nightly
def test_keys_of_every_type(spark: SparkSession) -> None:
    """All types as parts of one composite key; keys differ in one part."""
    kinds = {kind: values for kind, values in TYPES.items() if not kind.startswith("char")}  # refused as a key
    names = [f"k{i}" for i in range(len(kinds))]
    columns = ", ".join(f"{name}: {{type: '{kind}'}}" for name, kind in zip(names, kinds, strict=True))
    spec = load_spec_text(
        "target: types.keys\npattern: scd2\nsource: {table: nowhere, effective_at: at}\n"
        f"keys: [{', '.join(names)}]\ncolumns: {{{columns}, v: int}}\n{HISTORY}\n"
    )
    first = [f"CAST({one} AS {kind}) AS k{i}" for i, (kind, (one, _)) in enumerate(kinds.items())]
    keys = [first] + [
        [*first[:i], f"CAST({other} AS {kind}) AS k{i}", *first[i + 1 :]]
        for i, (kind, (_, other)) in enumerate(kinds.items())
    ]
    rows = [
        [*key, f"{v} AS v", f"TIMESTAMP '2024-01-0{day}' AS at"] for key in keys for v, day in ((1, 1), (2, 2), (2, 3))
    ]
    source, runner = spark.sql(batch(rows)).coalesce(1), Runner(spark)
    result = runner.run(spec, source=source)
    assert result.inserted == 2 * len(keys), "each key is separate, with two versions"
    again = runner.run(spec, source=source)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    hashes = spark.table("types.keys").select("sk").distinct().count()
    assert hashes == 2 * len(keys)
    assert [check.name for check in runner.check(spec) if check.failures] == []


@pytest.mark.nightly
@pytest.mark.parametrize("feed", ["changes", "snapshot"])
def test_tracked_columns_of_every_type(spark: SparkSession, feed: str) -> None:
    """One key per type: NULL, the first value, the second, the second again, NULL; -0.0 equals 0.0."""
    kinds = {**TYPES, **TRACKED}
    columns = ", ".join(f"c{i}: {{type: '{kind}'}}" for i, kind in enumerate(kinds))
    spec = load_spec_text(
        f"target: types.{feed}\npattern: scd2\nsource: {{table: nowhere, feed: {feed}, effective_at: at}}\n"
        f"keys: [id]\ncolumns: {{id: int, {columns}, m: {{type: 'map<string,int>', track: false}}}}\n{HISTORY}\n"
    )

    def row(number: int, value: str, day: int) -> list[str]:
        cells = [f"CAST({value if i == number else 'NULL'} AS {kind}) AS c{i}" for i, kind in enumerate(kinds)]
        return [f"{number} AS id", *cells, f"map('day', {day}) AS m", f"TIMESTAMP '2024-01-0{day}' AS at"]

    steps = [
        [row(i, ("NULL", one, two, two, "NULL")[day - 1], day) for i, (one, two) in enumerate(kinds.values())]
        for day in range(1, 6)
    ]
    runner = Runner(spark)
    runs = [[row for step in steps for row in step], steps[2]] if feed == "changes" else steps
    for rows in runs:
        source = spark.sql(batch(rows)).coalesce(1)
        runner.run(spec, source=source)
        again = runner.run(spec, source=source)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    found = spark.sql(
        f"SELECT id, collect_list(DAY(valid_from)) FROM (SELECT * FROM types.{feed} ORDER BY valid_from) GROUP BY id"
    ).collect()
    assert {row[0]: row[1] for row in found} == {i: [1, 2, 3, 5] for i in range(len(kinds))}
    assert [check.name for check in runner.check(spec) if check.failures] == []
    assert spark.table(f"types.{feed}").select("row_hash").distinct().count() == 1 + 2 * len(kinds), "hashes differ"


NAMES = ["select", "a b", "a`b", "ß€中", "a.b", "x;y", "(z)", "=,{}", "--c", "/*d*/", "'q'", '"r"', "\\s", "Group"]


@pytest.mark.nightly
def test_names_are_quoted(spark: SparkSession) -> None:
    """Column names of the target, of the key, the history and the partition, and the table's own name."""
    quoted = [name.replace("`", "``") for name in NAMES]
    columns = {name: "string" for name in NAMES}
    document: dict[str, Any] = {
        "target": "odd.`select`",
        "pattern": "scd2",
        "source": {"table": "nowhere", "effective_at": "`the time`", "delete_when": "`del eted`"},
        "keys": NAMES[:2],
        "columns": {name: {"type": kind, "comment": f"it's {name}"} for name, kind in columns.items()},
        "history": {"valid_from": "valid from", "valid_to": "order", "is_current": "is`current", "action": "the (act)"},
        "table": {"partition_by": ["a b"]},
        "views": {"current": "odd.`group`", "as_of": "odd.`order`"},
    }
    spec, runner = runnable(spark, load_spec_text(json.dumps(document))), Runner(spark)

    def rows(value: str, day: int, deleted: bool = False) -> str:
        cells = [f"{'`k`' if i < 2 else value} AS `{name}`" for i, name in enumerate(quoted)]
        when = f"TIMESTAMP '2024-01-0{day}' AS `the time`, {str(deleted).lower()} AS `del eted`"
        return f"SELECT {', '.join(cells)}, {when} FROM VALUES ('k') AS t(`k`)"

    for value, day, gone in (("'x'", 1, False), ("'y'", 2, False), ("NULL", 3, True)):
        frame = spark.sql(rows(value, day, gone))
        runner.run(spec, source=frame)
        again = runner.run(spec, source=frame)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    found = [(row["select"], row["a`b"], row["valid from"].day, row["order"].day, row["the (act)"])
             for row in spark.table("odd.`select`").orderBy("`valid from`").collect()]  # fmt: skip
    assert found == [("k", "x", 1, 2, "I"), ("k", "y", 2, 3, "D")]
    assert [check.name for check in runner.check(spec) if check.failures] == []
    if spec.views.as_of:
        assert as_of(spark, "SELECT * FROM odd.`order`(TIMESTAMP '2024-01-02')").count() == 1
    assert spark.table("odd.`group`").count() == 0
    assert len(runner.versions(spec, {"a b": "k", "select": "k"}).collect()) == 2


@pytest.mark.nightly
def test_type_in_another_spelling_is_the_same_type(spark: SparkSession) -> None:
    """To Spark, which reads the name in the spec and the one in the SQL, and to a second run."""
    columns = ", ".join(f'c{i}: {{type: "{kind}"}}' for i, kind in enumerate(SPELLINGS))
    spec = load_spec_text(
        "target: types.spelled\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        f"columns: {{id: long, {columns}}}\nhistory: {{row_hash: h}}\n"
    )
    for kind in (*SPELLINGS, "variant")[: -1 if spark.version.startswith("3.") else None]:
        read, named = (spark.sql(f"SELECT CAST(NULL AS {text})").schema[0].dataType for text in (kind, data_type(kind)))
        assert read.simpleString() == named.simpleString()
    values = [f"CAST({value} AS {kind}) AS c{i}" for i, (kind, value) in enumerate(SPELLINGS.items())]
    source, runner = spark.sql(batch([["1 AS id", *values, "DATE '2024-01-01' AS at"]])), Runner(spark)
    assert runner.run(spec, source=source).inserted == 1
    again = runner.run(spec, source=source)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert [check.name for check in runner.check(spec) if check.failures] == []


@pytest.mark.nightly
def test_names_in_another_case(spark: SparkSession) -> None:
    """One name to Spark, another one with a setting, by which no hint names a column that is there already."""
    text = (
        "target: types.cases\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [Id]\n"
        "columns: {Id: int, Name: string}\nhistory: {surrogate_key: sk}\n"
    )
    spec, other = load_spec_text(text), load_spec_text(text.replace("Id", "id").replace("Name", "NAME"))
    source = spark.sql("SELECT 1 AS Id, 'a' AS Name, DATE '2024-01-01' AS at")
    runner = Runner(spark)
    with set_while(spark, {"spark.sql.caseSensitive": "true"}):
        assert [runner.run(spec, source=source).inserted for _ in range(2)] == [1, 0]
        assert [check.name for check in runner.check(spec) if check.failures] == []
        for call in (runner.run, runner.plan):
            with pytest.raises(DataError) as caught:
                call(spec, source=spark.sql("SELECT 1 AS ID, 'a' AS Name, DATE '2024-01-01' AS at"))
            assert str(caught.value) == ("types.cases: no column Id (columns.Id); did you mean 'ID'?")
    again = runner.run(other, source=source)
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)


@pytest.mark.verify
def test_variant_is_compared_by_its_value(spark: SparkSession) -> None:
    if spark.version.startswith("3."):
        pytest.skip("Spark 4.0 added variants")
    spec = load_spec_text(
        "target: types.variants\npattern: scd2\nsource: {table: nowhere, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, v: variant, w: {type: variant, track: false}}\nhistory: {row_hash: h}\n"
    )

    def row(v: str, w: str, day: int) -> list[str]:
        return ["1 AS id", f"parse_json('{v}') AS v", f"parse_json('{w}') AS w", f"DATE '2024-01-0{day}' AS at"]

    runner = Runner(spark)
    first = spark.sql(batch([row('{"a": 1, "b": [2]}', "1", 1), row('{"b": [2], "a": 1}', "2", 2)]))
    later = spark.sql(batch([row('{"a": 1, "b": [3]}', "2", 3)]))
    for source in (first, later):
        assert runner.run(spec, source=source).inserted == 1
        again = runner.run(spec, source=source)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    found = spark.sql("SELECT DAY(valid_from), TO_JSON(v), TO_JSON(w) FROM types.variants ORDER BY valid_from")
    assert [tuple(row) for row in found.collect()] == [(1, '{"a":1,"b":[2]}', "2"), (3, '{"a":1,"b":[3]}', "2")]
    assert [check.name for check in runner.check(spec) if check.failures] == []
    assert [row["action"] for row in runner.plan(spec, source=later)] == []
    assert runner.diff(spec, "2024-01-01", "2024-01-04").counts["changed"] == 1
    assert runner.versions(spec, as_of="2024-01-02").count() == 1


@pytest.mark.nightly
def test_spark_keywords_work_as_names(spark: SparkSession) -> None:
    """With or without backticks, as ``quote`` decides."""
    words = sorted(row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect())
    assert len(words) > 300
    spark.sql("CREATE SCHEMA IF NOT EXISTS types")
    # Without enforceReservedKeywords: with it, Delta cannot write a column named current_schema.
    with set_while(spark, {"spark.sql.ansi.enabled": "true"}):
        for start in range(0, len(words), 75):
            chunk = words[start : start + 75]
            columns = "".join(f'  "{word}": int\n' for word in chunk)
            spec = load_spec_text(
                f"target: types.words_{start}\npattern: scd2\nsource: {{table: nowhere, effective_at: _at}}\n"
                f'keys: ["{chunk[0]}"]\ncolumns:\n{columns}'
            )
            spark.sql(f"DROP TABLE IF EXISTS {spec.target}")
            fields = ", ".join(f"{number} AS `{word}`" for number, word in enumerate(chunk))
            source = spark.sql(f"SELECT {fields}, TIMESTAMP '2024-01-01' AS _at")
            assert Runner(spark).run(spec, source=source).inserted == 1
            stored = spark.table(spec.target).collect()[0]
            assert [stored[word] for word in chunk] == list(range(len(chunk)))


@pytest.mark.nightly
def test_spark_keywords_work_as_view_names(spark: SparkSession) -> None:
    words = [row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()]
    with set_while(spark, {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"}):
        for word in words:
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(word)} AS SELECT 1 AS {quote(word)}")
            assert spark.table(f"`{word}`").columns == [word]
            spark.catalog.dropTempView(word)


VALUES = {
    "DATE": "2026-02-16|2026-2-1|2026-02|2026|2026-02-16 10:00|2026-02-16T|0001-01-01|99999-01-01|today|epoch|"
    "+2026-02|002026-02-16|202401|2024011|-0044-03-15|0000-01-01|10000-01-01|"
    " 2026-02-16 |2026-02-30|2026-13-01|16.02.2026|monday|20260216||2026-02-16x",
    "TIMESTAMP": "2026-02-16|2026-02-16 10:00:00|2026-02-16T10:00:00.123456Z|2026-02-16 1:2:3|"
    "2026-02-16 10:00:00+01:00|2026-02-16 10:00:00 Europe/Oslo|now|10:30|T10:30:00|2026-02-16 10|2026-02-30 10:00|"
    "202401|+202401|-0044-03-15|0000-01-01|2026-02-16 25:00|2026-02-16 10:61|1.2.2026|soon||2026-02-16x10:00",
    "BOOLEAN": "true|F|yes|N|0|maybe||2",
    "INT": "1| -7 |+2147483647|2147483648|1.5|x||1e3",
    "TINYINT": "-128|128",
    "DECIMAL(9, 2)": "1|1.5|-.5|1e3|1,5|x||0x1",
    "DOUBLE": "1|1.5e-3|NaN|-Infinity|inf|1d|1,5|x|",
}


@pytest.mark.nightly
def test_texts_that_stand_for_values(spark: Any) -> None:
    """The check of a param's value before Spark starts agrees with Spark's CAST, the years that Python lacks aside."""
    texts = [(kind, text) for kind, listed in VALUES.items() for text in listed.split("|")]
    values = [(kind, f"TRY_CAST({sql.text_literal(text)} AS {kind})") for kind, text in texts]
    tried = ", ".join(
        f"COALESCE(YEAR({value}) NOT BETWEEN 1 AND 9999, TRUE)" if kind in {"DATE", "TIMESTAMP"} else f"{value} IS NULL"
        for kind, value in values
    )
    refused = [pair for pair, is_null in zip(texts, spark.sql(f"SELECT {tried}").collect()[0], strict=True) if is_null]
    assert [(kind, text) for kind, text in texts if find_form(text, kind)] == refused
