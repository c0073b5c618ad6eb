"""Sessions other than those of the tests: without ANSI mode, in another time zone, with TIMESTAMP_NTZ; and batches
without rows. A statement that is pasted there gives the right rows or stops, and a run gives the right rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, EngineError, Runner, load_spec_text, render
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from tests.conftest import by_tier, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.model.spec import Spec

ANSI_OFF = {"spark.sql.ansi.enabled": "false"}
NTZ = {"spark.sql.timestampType": "TIMESTAMP_NTZ"}
NEW_YORK = {"spark.sql.session.timeZone": "America/New_York"}

CHANGES = """
target: env.{name}
pattern: scd2
source: {{table: env.{name}_raw, effective_at: at}}
keys: [id]
columns: {{id: int, amount: "decimal(9,2)"}}
"""
ROWS = """
target: env.{name}
pattern: scd1
source: {{table: env.{name}_raw}}
keys: [id]
columns: {{id: int, amount: "decimal(9,2)"}}
"""
EXTRACT = """
target: env.{name}
pattern: scd2
source: {{table: env.{name}_raw, feed: snapshot}}
keys: [id]
columns: {{id: int, v: string}}
history: {{open_end: '9999-12-31'}}
snapshot: {{taken_at: ":taken"}}
params: {{taken: timestamp}}
"""


@pytest.fixture(autouse=True)
def _schema(spark: SparkSession) -> None:
    spark.sql("CREATE SCHEMA IF NOT EXISTS env")


def session_with(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def fill(spark: SparkSession, table: str, query: str) -> None:
    spark.sql(f"CREATE OR REPLACE TABLE {table} USING delta AS {query}")


def paste(session: Any, *scripts: str) -> None:
    for script in scripts:
        for statement in cut(script).texts:
            session.sql(statement).collect()


def as_file(session: Any, spec: Spec) -> None:
    paste(session, render(spec).merge)


def as_script(session: Any, spec: Spec) -> None:
    session.sql(render_script(cut(render(spec).merge))).collect()


@pytest.mark.verify
@pytest.mark.parametrize("form", [as_file, as_script])
@pytest.mark.parametrize(
    ("kind", "value"), [("changes", "5000000000L"), ("changes", "'x7'"), ("rows", "5000000000L"), ("rows", "'12,50'")]
)
def test_no_cast_changes_a_value_without_ansi_mode(
    spark: SparkSession, form: Callable[[Any, Spec], None], kind: str, value: str
) -> None:
    name = f"ansi_{form.__name__}_{kind}"
    spec = load_spec_text((CHANGES if kind == "changes" else ROWS).format(name=name))
    fill(spark, f"env.{name}_raw", f"SELECT {value} AS id, 1.5 AS amount, TIMESTAMP '2024-01-01' AS at")
    session = session_with(spark, ANSI_OFF)
    spark.sql(f"DROP TABLE IF EXISTS env.{name}")
    paste(session, render(spec).create)
    with pytest.raises(Exception, match=rf"\[SCDGEN_SETTINGS\] env\.{name}: needs ANSI mode"):
        form(session, spec)
    assert rows_of(spark, f"env.{name}") == []
    # The runner turns ANSI mode on for the run, and names the column.
    with pytest.raises(Exception, match=r"column id: .* is not a valid INT"):
        Runner(session).run(spec)
    assert session.conf.get("spark.sql.ansi.enabled") == "false"


@pytest.mark.nightly
def test_texts_are_read_as_they_are_written(spark: SparkSession) -> None:
    """A user's session may read escapes, double quotes and names otherwise, and fill ``${name}``; a run does not."""
    settings = {
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.parser.quotedRegexColumnNames": "true",
    }
    session = session_with(spark, settings)
    texts = ["it's", "lit", "${spark.app.name}", "other"]
    spark.createDataFrame([(n, v) for n, v in enumerate(texts)], "id int, v string").write.format("delta").mode(
        "overwrite"
    ).saveAsTable("env.texts_raw")
    spec = load_spec_text(
        "target: env.texts\npattern: scd1\nsource: {table: env.texts_raw, where: 'v IN (:p, :q, \"lit\")'}\nkeys: [v]\n"
        "columns: {v: string, id: int}\nparams: {p: string, q: string}\n"
    )
    spark.sql("DROP TABLE IF EXISTS env.texts")
    runner, params = Runner(session), {"p": texts[0], "q": texts[2]}
    assert runner.run(spec, params=params).inserted == 3
    assert runner.run(spec, params=params).updated == 0
    assert {row[0] for row in rows_of(spark, "env.texts")} == {*texts[:3]}
    for text in texts[:3]:
        assert [row["v"] for row in runner.versions(spec, {"v": text}).collect()] == [text]
    assert {name: session.conf.get(name) for name in settings} == settings


def history(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    found = spark.sql(f"SELECT id, v, CAST(valid_from AS STRING), CAST(valid_to AS STRING), is_current FROM {table}")
    return sorted(tuple(row) for row in found.collect())


FAR = "9999-12-31 00:00:00"
AFTER_TWO = [
    (1, "a", "2024-01-01 00:00:00", "2024-02-01 00:00:00", False),
    (1, "b", "2024-02-01 00:00:00", FAR, True),
    (2, "x", "2024-01-01 00:00:00", FAR, True),
    (3, "z", "2024-01-01 00:00:00", "2024-02-01 00:00:00", False),
]


@pytest.mark.parametrize("zone", ["America/New_York", pytest.param("Asia/Kolkata", marks=pytest.mark.nightly)])
def test_a_run_in_another_zone_than_the_first_one(spark: SparkSession, zone: str) -> None:
    """The open end is an instant: the literal of the session's zone would be another one."""
    name = f"zone_{zone[-4:].lower()}"
    spec = load_spec_text(EXTRACT.format(name=name))
    runner, other = Runner(spark), Runner(session_with(spark, {"spark.sql.session.timeZone": zone}))
    for number, (values, taken) in enumerate(
        [("(1, 'a'), (2, 'x'), (3, 'z')", "2024-01-01"), ("(1, 'b'), (2, 'x')", "2024-02-01")]
    ):
        fill(spark, f"env.{name}_raw", f"SELECT * FROM VALUES {values} AS (id, v)")
        for again in (other, runner)[1 - number :]:
            again.run(spec, params={"taken": taken})
    assert history(spark, f"env.{name}") == AFTER_TWO
    assert [check.name for check in other.check(spec) if check.failures] == []
    assert [row.v for row in other.versions(spec, as_of="2024-01-31 23:00:00").collect()] == ["a", "x", "z"]
    assert other.spark.conf.get("spark.sql.session.timeZone") == zone, "it is set back"


@pytest.mark.nightly
def test_a_paste_in_another_zone_stops(spark: SparkSession) -> None:
    spec = load_spec_text(EXTRACT.format(name="zone_paste"))
    scripts = render(spec)
    fill(spark, "env.zone_paste_raw", "SELECT * FROM VALUES (1, 'a'), (2, 'x'), (3, 'z') AS (id, v)")
    spark.sql("DROP TABLE IF EXISTS env.zone_paste")
    taken = "DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT TIMESTAMP '{} UTC'"
    paste(spark, scripts.create, taken.format("2024-01-01 00:00:00"), scripts.merge)
    before = history(spark, "env.zone_paste")
    fill(spark, "env.zone_paste_raw", "SELECT * FROM VALUES (1, 'b'), (2, 'x') AS (id, v)")
    session = session_with(spark, NEW_YORK)
    session.sql(taken.format("2024-02-01 00:00:00"))
    for script in (scripts.merge, scripts.plan):
        with pytest.raises(Exception, match=r"\[SCDGEN_TIME_ZONE\] env\.zone_paste: run SET TIME ZONE 'UTC' first"):
            paste(session, script)
    assert history(spark, "env.zone_paste") == before
    # What only reads is right in any zone.
    paste(session, scripts.checks)
    assert all(session.sql(check).isEmpty() for check in cut(scripts.checks).texts)
    paste(session, "SET TIME ZONE 'UTC'", scripts.merge)
    assert history(spark, "env.zone_paste") == AFTER_TWO


@pytest.mark.nightly
def test_a_paste_of_an_empty_extract_in_another_session_stops(spark: SparkSession) -> None:
    """It closes every version, and no row of it is tested."""
    text = EXTRACT.format(name="empty_paste").replace(
        '":taken"', "\"'2024-02-01'\", allow_empty: true, max_deleted: 1.0"
    )
    spec = load_spec_text(text.replace("params: {taken: timestamp}", ""))
    scripts = render(spec)
    fill(spark, "env.empty_paste_raw", "SELECT 1 AS id, 'a' AS v WHERE FALSE")
    spark.sql("DROP TABLE IF EXISTS env.empty_paste")
    paste(spark, scripts.create)
    stored = "(1, 'a', TIMESTAMP '2024-01-01', TIMESTAMP '9999-12-31', TRUE)"
    spark.sql(f"INSERT INTO env.empty_paste VALUES {stored}")
    for settings, rule in ((NEW_YORK, "SCDGEN_TIME_ZONE"), (ANSI_OFF, "SCDGEN_SETTINGS"), (NTZ, "SCDGEN_SETTINGS")):
        for script in (scripts.merge, scripts.plan):
            with pytest.raises(Exception, match=rf"\[{rule}\] env\.empty_paste: "):
                paste(session_with(spark, settings), script)
    assert history(spark, "env.empty_paste") == [(1, "a", "2024-01-01 00:00:00", FAR, True)]
    paste(spark, scripts.merge)
    assert history(spark, "env.empty_paste") == [(1, "a", "2024-01-01 00:00:00", "2024-02-01 00:00:00", False)]


@pytest.mark.verify
def test_a_table_keeps_the_zone_that_it_was_made_in(spark: SparkSession) -> None:
    """Dates and texts are times of that zone, in every later session."""
    text = CHANGES.format(name="zone_kept").replace('amount: "decimal(9,2)"', "v: string, seen: timestamp")
    session = session_with(spark, {"spark.sql.session.timeZone": "Europe/Oslo"})
    spec = load_spec_text(text)
    row = "SELECT 1 AS id, '{}' AS v, '2024-07-01 10:00:00' AS seen, DATE '{}' AS at"
    fill(spark, "env.zone_kept_raw", row.format("a", "2024-01-01"))
    Runner(session).run(spec)
    fill(spark, "env.zone_kept_raw", f"{row.format('a', '2024-01-01')} UNION ALL {row.format('b', '2024-07-01')}")
    Runner(spark).run(spec)
    assert [(row.v, str(row.f), str(row.s)) for row in spark.sql(
        "SELECT v, CAST(valid_from AS STRING) AS f, CAST(seen AS STRING) AS s FROM env.zone_kept ORDER BY 2"
    ).collect()] == [
        ("a", "2023-12-31 23:00:00", "2024-07-01 08:00:00"), ("b", "2024-06-30 22:00:00", "2024-07-01 08:00:00"),
    ]  # fmt: skip
    wrong = load_spec_text(text + "table: {time_zone: UTC}\n")
    with pytest.raises(Exception, match=r"table\.time_zone: Europe/Oslo -> UTC: .* so every run stops"):
        Runner(spark).run(wrong)


@pytest.mark.verify
def test_timestamps_without_a_zone(spark: SparkSession) -> None:
    """With timestampType TIMESTAMP_NTZ the word TIMESTAMP means another type: a run reads it as ever, a paste stops."""
    spec = load_spec_text(CHANGES.format(name="ntz"))
    session = session_with(spark, NTZ)
    fill(spark, "env.ntz_raw", "SELECT 1 AS id, 1.5 AS amount, TIMESTAMP '2024-01-01' AS at")
    assert [Runner(session).run(spec).inserted for _ in range(2)] == [1, 0]
    assert dict(spark.table("env.ntz").dtypes)["valid_from"] == "timestamp"
    with pytest.raises(Exception, match=r"\[SCDGEN_SETTINGS\] env\.ntz: needs ANSI mode and TIMESTAMP_LTZ"):
        as_file(session, spec)


CREATES = """
target: env.creates
pattern: scd2
source: {{table: env.creates_raw, effective_at: at}}
keys: [id]
columns: {{id: int, v: struct<at:timestamp_ntz>}}
history: {{gap: {gap}, row_hash: row_hash}}
views: {{current: env.creates_now, as_of: env.creates_at}}
lookups: {{env.creates_facts: {{fact: env.creates_raw, at: at, keys: {{id: id}}, columns: {{valid_from: since}}}}}}
"""


@pytest.mark.nightly
def test_a_paste_that_creates_something_stops_in_another_session(spark: SparkSession) -> None:
    """A table keeps the types, and a view the zone, of the session that creates it; a gap of days has its days."""
    days, seconds = (load_spec_text(CREATES.format(gap=gap)) for gap in ("1 day", "1 second"))
    spark.sql("DROP TABLE IF EXISTS env.creates")
    spark.sql("DROP VIEW IF EXISTS env.creates_facts")
    fill(
        spark,
        "env.creates_raw",
        "SELECT 1 AS id, STRUCT(TIMESTAMP_NTZ '2024-01-01 00:00:00.123456' AS at) AS v, "
        "TIMESTAMP '2024-10-26 12:00:00' AS at UNION ALL "
        "SELECT 1, STRUCT(TIMESTAMP_NTZ '2024-01-01 00:00:00.123789'), TIMESTAMP '2024-10-28 12:00:00'",
    )
    scripts = render(days)
    ntz, berlin = session_with(spark, NTZ), session_with(spark, {"spark.sql.session.timeZone": "Europe/Berlin"})
    with pytest.raises(Exception, match=r"\[SCDGEN_SETTINGS\] env\.creates: needs TIMESTAMP_LTZ"):
        paste(ntz, scripts.create)
    assert not spark.catalog.tableExists("env.creates")
    paste(berlin, scripts.create)
    paste(spark, scripts.merge)
    # A hash has every digit of a time without a zone.
    found = spark.table("env.creates").orderBy("valid_from").collect()
    assert len({row.row_hash for row in found}) == 2
    assert str(found[0].valid_to) == "2024-10-27 12:00:00"
    for script in (scripts.views, scripts.lookups, scripts.checks):
        with pytest.raises(Exception, match=r"\[SCDGEN_TIME_ZONE\] env\.creates: run SET TIME ZONE 'UTC' first"):
            paste(berlin, script)
        with pytest.raises(Exception, match=r"\[SCDGEN_SETTINGS\] env\.creates: needs ANSI mode and TIMESTAMP_LTZ"):
            paste(ntz, script)
    assert not spark.catalog.tableExists("env.creates_facts")
    paste(spark, scripts.views, scripts.lookups)
    assert spark.sql(cut(scripts.checks).texts[0]).isEmpty()
    # What was created in the right session is right in any: the clock of Berlin was changed on 2024-10-27.
    assert [row.id for row in berlin.sql("SELECT id FROM env.creates_now").collect()] == [1]
    assert berlin.table("env.creates_facts").where("since IS NULL").isEmpty()
    # Seconds are the same in all zones, but a fact that is cast is not.
    scripts = render(seconds)
    with pytest.raises(Exception, match=r"\[SCDGEN_SETTINGS\] env\.creates: needs TIMESTAMP_LTZ"):
        paste(ntz, scripts.views)
    paste(berlin, scripts.views, scripts.checks)
    with pytest.raises(Exception, match=r"\[SCDGEN_TIME_ZONE\]"):
        paste(berlin, scripts.lookups)


BY_NAME = """
target: env.{name}
pattern: {pattern}
source: {{{source}}}
keys: [id]
columns:
  id: int
  addr: struct<city:string,zip:int>
  old: array<struct<city:string,zip:int>>
"""
# The fields in another order, one more, and a number as text.
TURNED = "NAMED_STRUCT('zip', '150', 'more', 1, 'city', 'Oslo')"
RIGHT = "NAMED_STRUCT('city', 'Oslo', 'zip', 150)"


def require_by_name(spark: SparkSession, name: str, spec: Spec, load: Callable[[], object], more: str = "") -> None:
    """Load the turned row twice; the fields have their values."""
    row = f"SELECT 1 AS id, {TURNED} AS addr, ARRAY({TURNED}, NULL) AS old, {more}TIMESTAMP '2024-01-01' AS at"
    fill(spark, f"env.{name}_raw", row.replace("RIGHT", TURNED))
    paste(spark, render(spec).create)
    load()
    load()
    (found,) = spark.table(f"env.{name}").select(*spec.columns).collect()
    (wanted,) = spark.sql(f"SELECT 1, {RIGHT}, ARRAY({RIGHT}, NULL), {more.replace('RIGHT', RIGHT)}1").collect()
    assert tuple(found) == tuple(wanted)[:-1]


@pytest.mark.parametrize("reads", by_tier(["table", "query", "frame", "paste"], ["table"]))
def test_structs_are_matched_by_name(spark: SparkSession, reads: str) -> None:
    name = f"struct_{reads}"
    source = f"query: SELECT * FROM env.{name}_raw" if reads == "query" else f"table: env.{name}_raw"
    text = BY_NAME.format(name=name, pattern="scd2", source=f"{source}, effective_at: at")
    spec = load_spec_text(text + "  m: {type: 'map<string,struct<city:string,zip:int>>', track: false}\n")

    def load() -> None:
        if reads == "paste":
            as_file(spark, spec)
            return
        Runner(spark).run(spec, source=spark.table(f"env.{name}_raw") if reads == "frame" else None)

    require_by_name(spark, name, spec, load, "MAP('k', RIGHT) AS m, ")


@pytest.mark.nightly
@pytest.mark.parametrize("pattern", ["scd1", "scd0"])
def test_structs_of_a_row_are_matched_by_name(spark: SparkSession, pattern: str) -> None:
    name = f"struct_{pattern}"
    spec = load_spec_text(BY_NAME.format(name=name, pattern=pattern, source=f"table: env.{name}_raw"))
    require_by_name(spark, name, spec, lambda: Runner(spark).run(spec))


@pytest.mark.nightly
def test_a_missing_field_is_named(spark: SparkSession) -> None:
    fill(spark, "env.lacks_raw", "SELECT 1 AS id, NAMED_STRUCT('city', 'Oslo') AS addr, TIMESTAMP '2024-01-01' AS at")
    text = BY_NAME.format(name="lacks", pattern="scd2", source="table: env.lacks_raw, effective_at: at")
    spec = load_spec_text(text.split("  old:")[0])
    with pytest.raises(DataError) as caught:
        Runner(spark).run(spec)
    assert str(caught.value) == ("env.lacks: no field zip in the structure (columns.addr.type); there are city")
    assert not spark.catalog.tableExists("env.lacks")


EMPTY = {
    "join": "query: SELECT r.* FROM env.{name}_raw AS r INNER JOIN env.{name}_open AS o ON r.batch = o.batch",
    "exists": "query: SELECT r.* FROM env.{name}_raw AS r "
    "WHERE EXISTS (SELECT 1 FROM env.{name}_open AS o WHERE r.batch = o.batch)",
    "in": 'table: env.{name}_raw, where: "batch IN (SELECT batch FROM env.{name}_open)"',
    "view": "table: env.{name}_view",
}


@pytest.mark.parametrize("form", by_tier(EMPTY, (), ["join"]))
def test_a_night_without_rows(spark: SparkSession, form: str) -> None:
    """The source drops its rows by another table: nothing to do, in a paste, a run and a plan."""
    name = f"night_{form}"
    fill(spark, f"env.{name}_raw", "SELECT 1 AS id, 1.5 AS amount, 1 AS batch, TIMESTAMP '2024-01-01' AS at")
    fill(spark, f"env.{name}_open", "SELECT 1 AS batch WHERE FALSE")
    spark.sql(
        f"CREATE OR REPLACE VIEW env.{name}_view AS SELECT r.* FROM env.{name}_raw AS r "
        f"LEFT ANTI JOIN env.{name}_raw AS d ON r.batch = d.batch"
    )
    spec = load_spec_text(CHANGES.format(name=name).replace(f"table: env.{name}_raw", EMPTY[form].format(name=name)))
    scripts = render(spec)
    paste(spark, scripts.create, scripts.merge)
    # No scan and no join tests the rules.
    merge = cut(scripts.merge).texts[-1]
    query = merge[merge.index("USING (") + 7 : merge.index("\n) AS s")]
    (plan,) = spark.sql(f"EXPLAIN {query}").collect()[0]
    guarded = [line for line in plan.splitlines() if "raise_error" in line]
    assert guarded and all(re.search(r"\bFilter\b", line) for line in guarded), plan
    assert not any("Join" in line or "Scan" in line for line in guarded), plan
    assert Runner(spark).run(spec).inserted == 0
    assert not Runner(spark).plan(spec)
    assert rows_of(spark, f"env.{name}") == []
    fill(spark, f"env.{name}_open", "SELECT 1 AS batch")
    if form != "view":
        assert Runner(spark).run(spec).inserted == 1


@pytest.mark.nightly
def test_a_file_is_not_taken_for_that_of_the_spec_before(spark: SparkSession, tmp_path: Path) -> None:
    """Both are read through one view, of which the first has times and the second numbers."""
    text = "target: env.path_{0}\npattern: scd2\nsource: {{path: {1}, format: json, effective_at: at}}\nkeys: [id]\n"
    text += "columns: {{id: int}}\n"
    for name, at in (("first", '"2024-01-01"'), ("second", "1704067200000")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(f'{{"id": 1, "at": {at}}}\n')
        spec = load_spec_text(text.format(name, tmp_path / name))
        if name == "first":
            assert Runner(spark).run(spec).inserted == 1
    with pytest.raises(DataError, match=r"effective_at \(at\): is BIGINT, and a number is not a TIMESTAMP"):
        Runner(spark).run(spec)
    assert not spark.catalog.tableExists("env.path_second")


@pytest.mark.verify
def test_primary_key_is_refused(spark: SparkSession) -> None:
    """Spark's parser or Delta would refuse it with an error of their own."""
    spec = load_spec_text(
        "target: environment.keyed\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int}\n"
        "table: {primary_key: true, create_schema: false}\n"
    )
    runner = Runner(spark)
    with pytest.raises(
        EngineError, match=r"table\.primary_key: this engine has no primary keys, which only Databricks"
    ):
        runner.run(spec, spark.createDataFrame([(1,)], "id int"))
    assert not runner.exists(spec)
