"""The gate refuses SQL that parses but is wrong: a valid file with one place changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from scdgen import SpecError, load_spec, load_spec_text, render
from scdgen.compile.verify import judge
from scdgen.facts.built import Source
from tests.conftest import ROOT
from tests.support.random_specs import make_case

SPEC = load_spec("specs/customer_address.yml")
GOOD = render(SPEC).files()

MUTATIONS = [
    # file, text, replacement, part of the message
    ("merge.sql", "    ON t.id = s.id AND", "    ON", None),
    ("merge.sql", "ON t.id = s.id", "ON t.idd = s.id", "t.idd is not there"),
    ("merge.sql", "s.start_date AND", "s.strt AND", "s.strt is not there"),
    ("merge.sql", "FROM versions", "FROM vversions", "does not resolve"),
    ("merge.sql", "_scd_batch_from)\n--", "_scd_batch_fron)\n--", "_scd_batch_fron is not there"),
    ("merge.sql", "WHEN MATCHED THEN", "WHEN MATCHED AND {{ x }} THEN", "left over"),
    ("merge.sql", "WHEN MATCHED THEN", "WHEN MATCHED AND :x THEN", "placeholder"),
    ("merge.sql", ", end_date, is_current)\n", ", is_current)\n", "the INSERT lists"),
    ("merge.sql", "s.end_date, s.is", "s.is", "differ in number"),
    ("merge.sql", "end_date = s", "ende_date = s", "which the table does not have"),
    ("merge.sql", ") AS s\n", ") AS u\n", "MERGE INTO … AS t USING"),
    ("plan.sql", "AS _scd_row\n    FROM _scd_plan", "AS _scd_row,\n    FROM _scd_plan", "stray comma in line"),
    ("plan.sql", "CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS\n", "TRUNCATE TABLE a;\n", "no place in plan.sql"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS crm", "DROP SCHEMA crm", "DROP"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS crm", "VACUUM crm.x", "does not know"),
    ("checks.sql", "WITH judged", "DELETE FROM crm.x;\nWITH judged", "DELETE"),
    ("views.sql", "CREATE OR REPLACE VIEW", "CREATE OR VIEW", "does not know"),
    ("merge.sql", "MERGE INTO crm.", "MERGE INTO hr.", "MERGE hr.customer_address has no place in merge.sql"),
    ("merge.sql", "\nMERGE INTO", "\nCREATE TABLE hr.x AS SELECT 1 AS a;\nMERGE INTO", "TABLE hr.x has no place"),
    ("merge.sql", "\nMERGE INTO", "\nSET VARIABLE other = 1;\nMERGE INTO", "VARIABLE other has no place"),
    ("plan.sql", "VIEW _scd_plan", "VIEW crm.customer", "TEMPORARY VIEW crm.customer has no place"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS crm", "CREATE SCHEMA IF NOT EXISTS hr", "SCHEMA hr has no place"),
    ("create.sql", ");\n", ");\nCREATE VIEW crm.v AS SELECT 1 AS a;\n", "VIEW crm.v has no place"),
    ("views.sql", "REPLACE VIEW crm.", "REPLACE VIEW hr.", "VIEW hr.customer_address_current has no place"),
]  # fmt: skip


def objections(file: str, text: str) -> list[str]:
    """The messages of the gate for one file of SPEC."""
    try:
        judge(Source(SPEC), {file: text})
    except SpecError as refused:
        start, end = f"{file}: the SQL is refused: ", "; fix the spec's expression at that place"
        messages = [problem.message for problem in refused.problems]
        assert all(message.startswith(start) and message.endswith(end) for message in messages)
        return [message.removeprefix(start).removesuffix(end) for message in messages]
    return []


@pytest.mark.parametrize(("file", "before", "after", "says"), MUTATIONS)
def test_changed_file_is_refused(file: str, before: str, after: str, says: str | None) -> None:
    changed = GOOD[file].replace(before, after)
    assert changed != GOOD[file], "the mutation does not apply"
    found = objections(file, changed)
    if says is None:
        assert not found, "what is still right passes"
    else:
        assert any(says in objection for objection in found), found


def test_empty_on_and_empty_text_are_refused() -> None:
    merge = GOOD["merge.sql"]
    start, end = merge.index("    ON t."), merge.index("-- Redundant: the version")
    assert any("no ON" in found for found in objections("merge.sql", merge[:start] + "ON\n" + merge[end:]))
    assert objections("merge.sql", "\n")
    assert objections("merge.sql", "-- nothing\n")


@pytest.mark.parametrize(("start", "instead"), [("UPDATE SET", "UPDATE SET *"), ("INSERT (", "INSERT *")])
def test_merge_with_star_is_refused(start: str, instead: str) -> None:
    """``*`` would write whatever columns the source has."""
    merge = GOOD["merge.sql"]
    begin = merge.index(start)
    end = next(at for at in (merge.find("\nWHEN", begin), merge.find("\n--", begin), merge.index(";", begin)) if at > 0)
    found = objections("merge.sql", merge[:begin] + instead + merge[end:])
    assert found == [f"the {start.split()[0]} must list its columns and their values"]


@pytest.mark.parametrize(
    "where",
    [
        "id IN (SELECT id FROM crm.blocked)",
        "EXISTS (SELECT 1 FROM crm.blocked AS b WHERE b.id = id AND flag)",
        "at > (SELECT max(x) FROM crm.blocked)",
    ],
)
@pytest.mark.parametrize("source", ["table: crm.s", "query: SELECT * FROM crm.s"])
def test_columns_of_a_subquery_table_are_not_checked(source: str, where: str) -> None:
    spec = load_spec_text(
        f"target: crm.t\npattern: scd2\nsource: {{{source}, effective_at: at, where: '{where}'}}\n"
        "keys: [id]\ncolumns: {id: int, name: string}\n"
    )
    merge = render(spec).merge
    with pytest.raises(SpecError, match="could not be resolved"):
        judge(Source(spec), {"merge.sql": merge.replace("AS _scd_at\n", "AS _scd_at, nothing\n", 1)})


def test_two_merges_are_refused() -> None:
    merge = GOOD["merge.sql"]
    assert any("more than one MERGE" in found for found in objections("merge.sql", merge + merge))


def test_message_names_the_file() -> None:
    with pytest.raises(SpecError, match=r"checks\.sql: the SQL is refused"):
        judge(Source(SPEC), {"checks.sql": "SELECT a, FROM t;\n"})


@pytest.mark.parametrize("target", ["dim.item", "item2", "main.dim.item"])
@pytest.mark.parametrize(
    "source", ["table: item", "table: crm.item", "path: item, format: delta", "path: a/b.parquet, format: parquet"]
)
def test_names_of_one_to_three_parts(target: str, source: str) -> None:
    """Target and source may share their last part; the name of a source file is its path."""
    text = (
        f"target: {target}\npattern: scd2\nsource: {{{source}, effective_at: at}}\nkeys: [id]\n"
        "columns: {id: int, name: string}\n"
    )
    merge = render(load_spec_text(text)).files()["merge.sql"]
    with pytest.raises(SpecError, match="could not be resolved"):
        judge(Source(load_spec_text(text)), {"merge.sql": merge.replace("AS _scd_at\n", "AS _scd_at, nothing\n", 1)})


def test_mistake_in_two_files_is_reported_for_both() -> None:
    files = {name: text.replace("FROM versions", "FROM vversions") for name, text in GOOD.items()}
    with pytest.raises(SpecError) as caught:
        judge(Source(SPEC), files)
    assert {problem.message.split(":")[0] for problem in caught.value.problems} == {"merge.sql", "plan.sql"}


# Together these have every step of the generated SQL: scd2 and scd1, changes, snapshots and whole histories.
SEEDS = (10, 14, 15, 24, 33, 58, 99)


@pytest.mark.verify
@pytest.mark.parametrize("seed", SEEDS)
def test_renamed_column_in_any_step_is_refused(seed: int) -> None:
    """Rename the columns of each step in turn, in the MERGE and in the plan."""
    spec = load_spec_text(make_case(seed, "r.t", "x").text)
    good = render(spec).files()
    trees = sqlglot.parse(good["merge.sql"], dialect="databricks")
    names = [cte.alias for tree in trees if tree is not None for cte in tree.find_all(exp.CTE)]
    assert len(names) > 1
    for name in names:
        emptied = rf"(?<=FROM |JOIN ){name}\b", f"(SELECT 1 AS nothing FROM {name})"
        files = {**good, **{file: re.sub(*emptied, good[file]) for file in ("merge.sql", "plan.sql")}}
        assert files["merge.sql"] != good["merge.sql"], name
        with pytest.raises(SpecError, match=r"does not resolve|is not there"):
            judge(Source(spec), files)


def refused_by_spark(text: str) -> list[str]:
    """The first word of each statement that sqlglot cannot parse in the Spark dialect."""
    trees = [tree for tree in sqlglot.parse(text, dialect="spark") if tree is not None]
    assert trees
    return [tree.name for tree in trees if tree.find(exp.Command)]


FILES = sorted((ROOT / "generated").rglob("*.sql"))


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_committed_files_parse_as_spark(path: Path) -> None:
    """The gate validates in the Databricks dialect; the files must also be valid Spark SQL."""
    assert refused_by_spark(path.read_text()) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 61))
def test_random_specs_parse_as_spark(seed: int) -> None:
    for text in render(load_spec_text(make_case(seed, f"r.t{seed}", "data/x").text)).files().values():
        assert refused_by_spark(text) == []


def test_sql_that_is_not_spark_is_found() -> None:
    assert refused_by_spark("SELECT 1;\nVACUUM a;\n") == ["VACUUM"]
    with pytest.raises(sqlglot.ParseError):
        refused_by_spark("SELECT CAST(a:b AS STRING) FROM t;\n")


PATHS = [
    "payload:name",
    "payload:name.first::string",
    "payload:items[0]['zip code']",
    "coalesce(payload:name.short, payload:name::string)",
]


@pytest.mark.parametrize("path", PATHS)
def test_databricks_json_path_is_kept_as_written(path: str) -> None:
    """Databricks reads ``column:path``, open-source Spark does not; the engine reports that."""
    document = {
        "target": "crm.t", "pattern": "scd2", "keys": ["id"],
        "source": {
            "table": "crm.s", "effective_at": "payload:at::timestamp", "where": "payload:kind = 'x'",
            "delete_when": "payload:deleted::boolean", "sequence_by": ["payload:lsn::bigint"],
        },
        "columns": {"id": {"type": "bigint", "from": "payload:id"}, "name": {"type": "string", "from": path}},
    }  # fmt: skip
    merge = render(load_spec_text(json.dumps(document))).merge
    assert f"CAST({path} AS STRING) AS name" in merge and "CAST(payload:id AS BIGINT)" in merge
    assert "payload:at::timestamp AS " in merge and "WHERE payload:kind = 'x'" in merge
    assert "payload:lsn::bigint AS _scd_sequence_1" in merge and "COALESCE(payload:deleted::boolean, FALSE)" in merge


def test_json_path_must_begin_with_a_column() -> None:
    spec = load_spec_text(
        "target: crm.t\npattern: scd1\nsource: {table: crm.s}\nkeys: [id]\n"
        "columns: {id: int, name: {type: string, from: 'payload:name'}}\n"
    )
    merge = render(spec).merge
    with pytest.raises(SpecError, match=r"merge\.sql: the SQL is refused: a name does not resolve"):
        judge(Source(spec), {"merge.sql": merge.replace("payload:name", "paylod:name")})
