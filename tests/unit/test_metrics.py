"""The table of metrics without Spark: its name, its SQL, and unknown values."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlglot import exp, parse_one

from scdgen import load_spec_text
from scdgen.cli.main import main
from scdgen.errors import UsageError
from scdgen.facts.plan import KEYS, VERSIONS
from scdgen.run.delta import Commit, hash_spec
from scdgen.run.metrics import COLUMNS, Metrics, RunRecord
from scdgen.run.results import RunResult

SPEC = load_spec_text(
    "target: crm.Customer\npattern: scd1\nsource: {table: landed}\nkeys: [id]\ncolumns: {id: int}\n", name="it's.yml"
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", "--metrics: '' is not a table name; write table, schema.table or catalog.schema.table"),
        ("a.b.c.d", "--metrics: 'a.b.c.d' has 4 parts; write one to three: catalog.schema.table"),
        ("a/b", "--metrics: 'a/b' holds a slash or a control character, which no table name may; "
         "write the table's name"),
        ("crm.customer", "--metrics crm.customer: is the target of it's.yml; name another table"),
    ],
)  # fmt: skip
def test_wrong_table_name_is_refused(
    table: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Python and on the command line, before Spark starts."""
    with pytest.raises(UsageError) as refused:
        Metrics(table).require_not_target([SPEC])
    assert str(refused.value) == message
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    Path("it's.yml").write_text(
        "target: crm.customer\npattern: scd1\nsource: {table: landed}\nkeys: [id]\ncolumns: {id: int}\n"
    )
    for command in (["run"], ["stream", "--checkpoint", "cp"]):
        with pytest.raises(SystemExit) as stopped:
            main([*command, "it's.yml", "--metrics", table])
        assert (stopped.value.code, capsys.readouterr().err) == (2, f"{message}\n")


def test_sql_matches_the_columns() -> None:
    schema, table = map(lambda text: parse_one(text, dialect="databricks"), Metrics("ops.`my runs`").render_create())
    assert schema.sql(dialect="databricks") == "CREATE SCHEMA IF NOT EXISTS ops"
    found = [(column.name, column.args["kind"].sql("databricks")) for column in table.this.expressions]
    assert found == [(name, exp.DataType.build(kind, "databricks").sql("databricks")) for name, kind, _ in COLUMNS]
    comments = [comment.this.this for comment in table.find_all(exp.CommentColumnConstraint)]
    assert comments == [meaning for _, _, meaning in COLUMNS]
    assert len(Metrics("runs").render_create()) == 1, "no schema is made for a name without one"


def test_text_is_escaped() -> None:
    row = {**RunRecord(SPEC, "r'1\\").as_row(), "error": "it's\nnot"}
    text = Metrics("ops.runs").render_insert(row)
    values = parse_one(text, dialect="databricks").expression.expressions[0].expressions
    given = {name: value.this for (name, _, _), value in zip(COLUMNS, values, strict=True)}
    assert (given["run"].this, given["spec"].this, given["error"].this) == ("r'1\\", "it's.yml", "it's\nnot")
    assert isinstance(given["inserted"], exp.Null)


def test_keys_and_versions_are_counted_by_the_plan() -> None:
    """In the words of every result; a table without history has neither versions nor keys that return."""
    text = "target: crm.t\npattern: {}\nsource: {{table: a, effective_at: at}}\nkeys: [id]\ncolumns: {{id: int}}\n"
    planned = {"new": 1, "changed": 2, "deleted": 3, "returned": 4, "unchanged": 5, "opened": 6, "closed": 7,
               "corrected": 8, "folded": 9}  # fmt: skip
    done = RunResult.from_merge("crm.t", {}, None, False, version=3, created=False)
    row = RunRecord(load_spec_text(text.format("scd2")), "r1", result=done, planned=planned).as_row()
    assert row["keys"] == {word: planned[word] for word in KEYS}
    assert row["versions"] == {word: planned[word] for word in VERSIONS}
    assert row["deleted"] == 0, "rows of the MERGE"
    shown = "NAMED_STRUCT('opened', '6', 'closed', '7', 'corrected', '8', 'folded', '9')"
    assert f"CAST({shown} AS struct<opened:bigint," in Metrics("ops.runs").render_insert(row)
    row = RunRecord(load_spec_text(text.format("scd1")), "r1", result=done, planned=planned).as_row()
    assert row["keys"] == {"new": 1, "changed": 2, "deleted": 3, "returned": None, "unchanged": 5}
    assert row["versions"] is None
    row = RunRecord(load_spec_text(text.format("scd2")), "r1", result=done).as_row()
    assert (row["keys"], row["versions"]) == (None, None), "no plan, as in a stream"


def test_unknown_values_are_null() -> None:
    began = RunRecord(SPEC, "r1")
    row = began.as_row()
    assert list(row) == [name for name, _, _ in COLUMNS]
    known = {name for name, value in row.items() if value is not None}
    assert known == {"run", "target", "spec", "spec_hash", "started_at", "seconds"}
    assert (row["run"], row["target"], row["spec_hash"]) == ("r1", "crm.Customer", hash_spec(SPEC))
    began.result = RunResult.from_merge("crm.Customer", {}, None, False, version=3, created=False)
    row = began.as_row()
    assert (row["inserted"], row["files_added"], row["version"], row["rows_in"], row["late"]) == (
        0, 0, None, None, None,
    )  # fmt: skip
    commit = Commit(4, began.started_at, "MERGE", refreshed=2, files_added=5, files_removed=1)
    counts = {"num_inserted_rows": 1, "num_updated_rows": 3, "num_deleted_rows": 0}
    began.result = RunResult.from_merge("crm.Customer", counts, commit, False, version=9, created=False, rows_in=7)
    row = began.as_row()
    counted = ("rows_in", "inserted", "updated", "refreshed", "version", "files_added", "files_removed")
    assert [row[name] for name in counted] == [7, 1, 1, 2, 4, 5, 1]
