"""Every form of AUTO CDC: stand-alone tables, several flows into a table, snapshots, and calls in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import Spec, load_spec_text
from tests.conftest import ROOT
from tests.unit.test_cli import run

pytestmark = pytest.mark.verify

CASES = ROOT / "tests" / "cases" / "auto_cdc"


def draft(capsys: pytest.CaptureFixture[str], folder: Path, name: str, text: str, *options: str) -> tuple[str, str]:
    """Write a file, draft from it, and return the draft and what stderr says of it."""
    (folder / name).write_text(text)
    status, out, err = run(capsys, "init", "--auto-cdc", folder / name, *options)
    assert status == 0, err
    return out, err.replace(f"{folder}/", "")


def spec_of(capsys: pytest.CaptureFixture[str], folder: Path, name: str, text: str, *options: str) -> Spec:
    return load_spec_text(draft(capsys, folder, name, text, *options)[0])


@pytest.mark.parametrize("path", sorted(CASES.glob("*.sql")), ids=lambda path: path.stem)
def test_draft_of_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path
) -> None:
    """The draft is the file next to it, which is valid; stderr says what the comments at its head say."""
    monkeypatch.chdir(CASES)
    columns = ("--columns", "userId:int,name:string,city:string,sequenceNum:bigint") if path.stem == "users" else ()
    status, out, err = run(capsys, "init", "--auto-cdc", path.name, *columns)
    assert (status, out) == (0, path.with_suffix(".yml").read_text())
    assert err.count("\n") == out.count("\n# - ")
    (tmp_path / "spec.yml").write_text(out)
    assert run(capsys, "validate", tmp_path / "spec.yml")[0] == 0


TABLE = "CREATE STREAMING TABLE a.t (id INT, name STRING, synced_at TIMESTAMP)"


@pytest.mark.parametrize(
    ("sql", "python"),
    [
        (
            """CREATE FLOW f AS AUTO CDC INTO a.t FROM stream(b.s) KEYS (id) APPLY AS DELETE WHEN op = 'D'
            APPLY AS TRUNCATE WHEN op = 'T' SEQUENCE BY n COLUMNS * EXCEPT (op) STORED AS SCD TYPE 1""",
            """dp.create_auto_cdc_flow(target="a.t", source="b.s", keys=["id"], apply_as_deletes=expr("op = 'D'"),
            apply_as_truncates="op = 'T'", sequence_by=col("n"), except_column_list=["op"], stored_as_scd_type=1)""",
        ),
        (
            """APPLY CHANGES INTO a.t FROM b.s KEYS (id, no) SEQUENCE BY STRUCT(n, m) COLUMNS (id, no, x, y)
            IGNORE NULL UPDATES STORED AS SCD TYPE 2 TRACK HISTORY ON * EXCEPT (y)""",
            """dlt.apply_changes("a.t", "b.s", [col("id"), F.col("no")], F.struct("n", F.col("m")),
            column_list=["id", "no", "x", "y"], ignore_null_updates=True, stored_as_scd_type="2",
            track_history_except_column_list=["y"])""",
        ),
        (
            """CREATE FLOW f AS AUTO CDC INTO a.t FROM b.s KEYS (id) SEQUENCE BY n COLUMNS (id, x, y)
            IGNORE NULL UPDATES ON * EXCEPT (x) STORED AS SCD TYPE 2 TRACK HISTORY ON (x)""",
            """create_auto_cdc_flow(name="f", target="a.t", source="b.s", keys=["id"], sequence_by="n",
            column_list=[col("id"), col("x"), col("y")], ignore_null_updates_except_column_list=["x"],
            stored_as_scd_type=2, track_history_column_list=["x"], apply_as_deletes=None, once=False)""",
        ),
        (
            """CREATE FLOW f AS AUTO CDC INTO a.t FROM b.s KEYS (id) SEQUENCE BY n COLUMNS TO UPDATE changed
            COLUMNS (id, x) IGNORE NULL UPDATES ON (x) STORED AS SCD TYPE 2""",
            """dp.create_auto_cdc_flow(target="a.t", source="b.s", keys=["id"], sequence_by=expr("n"),
            columns_to_update="changed", column_list=["id", "x"], ignore_null_updates_column_list=["x"],
            stored_as_scd_type=2)""",
        ),
        (
            f"""{TABLE}; CREATE FLOW f AS AUTO CDC INTO a.t FROM SNAPSHOT b.s KEYS (id) STORED AS SCD TYPE 2
            TRACK HISTORY ON * EXCEPT (synced_at)""",
            """dp.create_streaming_table(name="a.t", schema="id INT, name STRING, synced_at TIMESTAMP")
            dp.create_auto_cdc_from_snapshot_flow(target="a.t", source="b.s", keys=["id"], stored_as_scd_type=2,
            track_history_except_column_list=["synced_at"])""",
        ),
        (
            f"""{TABLE} COMMENT 'all';
            CREATE FLOW f AS AUTO CDC INTO a.t FROM b.s KEYS (id) SEQUENCE BY n;
            CREATE FLOW g AS AUTO CDC ONCE INTO a.t FROM b.u KEYS (id) SEQUENCE BY n""",
            """dp.create_streaming_table("a.t", schema="id INT, name STRING, synced_at TIMESTAMP", comment="all")
            dp.create_auto_cdc_flow(target="a.t", source="b.s", keys=["id"], sequence_by="n", name="f")
            dp.create_auto_cdc_flow(target="a.t", source="b.u", keys=["id"], sequence_by="n", name="g", once=True)""",
        ),
    ],
)  # fmt: skip
def test_python_is_read_as_the_sql_that_it_stands_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sql: str, python: str
) -> None:
    python = "\n".join(line.strip() for line in python.splitlines())
    assert spec_of(capsys, tmp_path, "f.py", python) == spec_of(capsys, tmp_path, "f.sql", sql)


FLOW = "dp.create_auto_cdc_flow(target={}, source='b.s', keys=['id'], sequence_by='n', stored_as_scd_type=2)"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (f"T = 'a.t'\n{FLOW.format('T')}", "a.t"),
        ("C = 'a'\n" + FLOW.format("f'{C}.t'"), "a.t"),
        (FLOW.format("'LIVE.t2'"), "t2"),
        (f"def make():\n    return {FLOW.format(chr(39) + 'a.t' + chr(39))}", "a.t"),
    ],
)
def test_text_of_constants_is_known(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, target: str) -> None:
    assert spec_of(capsys, tmp_path, "f.py", text).target == target


@pytest.mark.parametrize(
    "text",
    [
        f"T = 'a.t'\nT = 'a.u'\n{FLOW.format('T')}",
        f"A = B\nB = A\n{FLOW.format('A')}",
        f"A = [B]\nB = [A]\n{FLOW.format('A')}",
    ],
)
def test_what_only_a_run_would_know_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    """In no time, whatever the file says."""
    (tmp_path / "f.py").write_text(text)
    status, out, err = run(capsys, "init", "--auto-cdc", tmp_path / "f.py")
    assert (status, out) == (1, "")
    assert "target: is not text that can be read without running the file" in err


def test_a_list_that_the_file_changes_is_not_known(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flow = "dp.create_auto_cdc_flow(target='a.t', source='b.s', keys=KEYS, sequence_by='n')"
    assert spec_of(capsys, tmp_path, "f.py", f"KEYS = ['id']\n{flow}").keys == ("id",)
    (tmp_path / "f.py").write_text(f"KEYS = ['id']\nKEYS.append('no')\n{flow}")
    assert run(capsys, "init", "--auto-cdc", tmp_path / "f.py")[0] == 1


def test_nothing_of_a_file_is_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = f"open({str(made)!r}, 'w')\nx = '\\d'\n{FLOW.format(chr(39) + 'a.t' + chr(39))}"
    assert draft(capsys, tmp_path, "f.py", text)[1] == ""
    assert not made.exists()


@pytest.mark.parametrize(
    ("source", "name"),
    [("next_one", "next_one"), ("lambda v: next_one(v, 1)", "next_one"), ("partial(next_one, 1)", "next_one")],
)
def test_function_of_snapshots(capsys: pytest.CaptureFixture[str], tmp_path: Path, source: str, name: str) -> None:
    text = (
        f"def next_one(latest):\n    return None\ndp.create_auto_cdc_from_snapshot_flow(target='a.t', source={source}, "
        "keys=['id'], stored_as_scd_type=2)"
    )
    out, err = draft(capsys, tmp_path, "f.py", text)
    spec = load_spec_text(out)
    assert spec.source.table == name
    assert spec.snapshot is not None and spec.snapshot.taken_at == ":version" and "version" in spec.params
    assert err.startswith(
        f"f.py: check: source: the function {name} is not run, and its name is not a table; write the"
    )


SNAPSHOT = "CREATE FLOW f AS AUTO CDC INTO a.t FROM SNAPSHOT {} KEYS (id) STORED AS SCD TYPE {}"
ONE_FILE = "_metadata.file_path = (SELECT v.p FROM current_snapshot_version())"
FILE = f"(SELECT * FROM read_files('/in', format => 'json') WHERE {ONE_FILE})"
VERSION = "(SELECT * FROM b.s WHERE v = (select `v` from current_snapshot_version( ))) WITH VERSION (SELECT 1)"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (SNAPSHOT.format("(SELECT * FROM b.s)", 1), {"table": "b.s"}),
        (SNAPSHOT.format("(SELECT id FROM b.s)", 1), {"query": "SELECT id FROM b.s"}),
        (SNAPSHOT.format("(SELECT * FROM read_files('/in', format => 'csv'))", 2), {"path": "/in", "format": "csv"}),
        (SNAPSHOT.format(f"{FILE} WITH VERSION (SELECT 1)", 2), {"path": "/in", "format": "json"}),
        (
            SNAPSHOT.format("(SELECT * FROM read_files('/in', format => 'json') WHERE a)", 1),
            {"query": "SELECT * FROM read_files('/in', format => 'json') WHERE a"},
        ),
        (
            SNAPSHOT.format(VERSION, 1), {"query": "SELECT * FROM b.s WHERE v = :version"},
        ),
        (SNAPSHOT.format("b.`snapshot`", 1), {"table": "b.snapshot"}),
        ("CREATE STREAMING TABLE a.t FLOW AUTO CDC ONCE FROM SNAPSHOT b.s KEYS (id)", {"table": "b.s"}),
    ],
)  # fmt: skip
def test_source_of_snapshots(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, source: dict[str, str]
) -> None:
    spec = spec_of(capsys, tmp_path, "f.sql", text)
    assert spec.source.model_dump(exclude_defaults=True) == {"feed": "snapshot", **source}


def test_columns_of_the_query_of_snapshots(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = SNAPSHOT.format("(SELECT CAST(id AS INT) AS id, b AS name FROM b.s)", 1)
    spec = spec_of(capsys, tmp_path, "f.sql", text)
    assert {name: column.type for name, column in spec.columns.items()} == {"id": "INT", "name": "STRING"}


TWO = "CREATE FLOW one AS AUTO CDC INTO a.t {}; CREATE FLOW `the second` AS AUTO CDC INTO a.t {}"


@pytest.mark.parametrize(
    ("first", "second", "sources", "value"),
    [
        (
            "FROM b.s KEYS (id) SEQUENCE BY n", "FROM b.u KEYS (ID) SEQUENCE BY n", ["one", "the_second"],
            {"updated_at": "n"},
        ),
        (
            "FROM b.s KEYS (id) SEQUENCE BY n", "FROM b.u KEYS (id) SEQUENCE BY m + 1", ["one", "the_second"],
            {"updated_at": "updated_at", "columns.updated_at.from_": {"one": "n", "the_second": "m + 1"}},
        ),
        (
            "FROM b.s KEYS (id) SEQUENCE BY STRUCT(n, a)", "FROM b.u KEYS (id) SEQUENCE BY n", ["one", "the_second"],
            {"updated_at": "n", "sequence.name": "sequence_by"},
        ),
        (
            "FROM SNAPSHOT b.s KEYS (id)", "FROM b.u KEYS (id) SEQUENCE BY n", ["one", "the_second"],
            {"updated_at": None},
        ),
        (
            "FROM b.s KEYS (id) SEQUENCE BY n COLUMNS (id, x) STORED AS SCD TYPE 2",
            "FROM b.u KEYS (id) SEQUENCE BY m COLUMNS (x, id) STORED AS SCD TYPE 2", ["one", "the_second"],
            {"history.valid_from": "__START_AT"},
        ),
    ],
)  # fmt: skip
def test_flows_into_one_table_are_sources(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, first: str, second: str, sources: list[str],
    value: dict[str, Any],
) -> None:  # fmt: skip
    spec = spec_of(capsys, tmp_path, "f.sql", TWO.format(first, second)).whole
    assert [*spec.sources] == sources
    for place, expected in value.items():
        found: Any = spec
        for step in place.split("."):
            found = found[step] if isinstance(found, dict) else getattr(found, step)
        assert found == expected, place


def test_flow_that_goes_on_comes_before_one_that_runs_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Without a name of their own, flows have that of the table."""
    call = "dp.create_auto_cdc_flow(target='a.t', source='{}', keys=['id'], sequence_by='n', once={})\n"
    out, err = draft(capsys, tmp_path, "f.py", call.format("old", True) + call.format("new", False))
    sources = load_spec_text(out).whole.sources
    assert {name: source.table for name, source in sources.items()} == {"t": "new", "t_2": "old"}
    assert err == "f.py: not mapped: once: scdgen run --feed t_2, once\n"


def test_name_chooses_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    flow = "CREATE FLOW f AS AUTO CDC INTO {} FROM b.s KEYS (id) SEQUENCE BY n;\nSELECT 1;\n"
    text = flow.format("a.t") + flow.format("a.U")
    assert spec_of(capsys, tmp_path, "f.sql", text, "--name", "a.u").target == "a.U"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "APPLY CHANGES INTO a.t FROM b.s KEYS (id) SEQUENCE BY ingested_at",
            "SEQUENCE BY ingested_at: its name is that of a time of loading; if so, a late row counts as the newest. "
            "Order by the time of the source",
        ),
        (
            "CREATE FLOW f AS AUTO CDC INTO a.t FROM SNAPSHOT b.s KEYS (id);"
            "CREATE FLOW g AS AUTO CDC INTO a.t FROM b.u KEYS (id) SEQUENCE BY n",
            "SEQUENCE BY: the snapshots (f) have no time, so no column orders rows across batches; write effective_at "
            "for them, and updated_at",
        ),
        (
            "CREATE FLOW f AS AUTO CDC INTO a.t FROM b.s KEYS (id) SEQUENCE BY STRUCT(n, a);"
            "CREATE FLOW g AS AUTO CDC INTO a.t FROM b.u KEYS (id) SEQUENCE BY STRUCT(n, a, b)",
            "SEQUENCE BY: the flows have different numbers of fields; write as many in each, and history.sequence or "
            "sequence",
        ),
    ],
)  # fmt: skip
def test_what_is_likely_to_be_wrong_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str
) -> None:
    out, err = draft(capsys, tmp_path, "f.sql", text)
    assert err == f"f.sql: check: {says}\n"
    assert "# Check:\n" in out
    load_spec_text(out)


def test_deletes_of_type_1_are_remembered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "APPLY CHANGES INTO a.t FROM b.s KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n STORED AS SCD TYPE {}"
    of_type_1, of_type_2 = (spec_of(capsys, tmp_path, "f.sql", text.format(kind)) for kind in (1, 2))
    assert (of_type_1.on_delete, of_type_1.deleted, of_type_1.views.current) == ("mark", "is_deleted", "a.t_current")
    assert (of_type_2.on_delete, of_type_2.views.current) == (None, None)
    partial = text.format(1).replace("BY n", "BY n COLUMNS TO UPDATE changed")
    assert (spec := spec_of(capsys, tmp_path, "f.sql", partial)).on_delete is None and spec.source.sets == "changed"


@pytest.mark.parametrize(
    ("name", "text", "left_out"),
    [
        (
            "f.sql",
            "CREATE STREAMING TABLE a.t (id INT MASK hide, CONSTRAINT `an id` EXPECT (id > 0) ON VIOLATION DROP ROW, "
            "PRIMARY KEY(id)) CLUSTER BY AUTO COMMENT \"it's all\" TBLPROPERTIES (a = 'b') "
            "FLOW AUTO CDC FROM b.s KEYS (id) SEQUENCE BY n",
            "MASK of id, CONSTRAINT `an id`, PRIMARY KEY, CLUSTER BY, TBLPROPERTIES",
        ),
        (
            "f.py",
            "dp.create_streaming_table('a.t', schema='id INT', comment=\"it's all\", expect_all_or_drop={'a': 'b'},\n"
            "  cluster_by_auto=True)\n"
            "dp.create_auto_cdc_flow(target='a.t', source='b.s', keys=['id'], sequence_by='n')",
            "expect_all_or_drop, cluster_by_auto",
        ),
    ],
)
def test_what_a_draft_leaves_out_of_the_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, text: str, left_out: str
) -> None:
    out, err = draft(capsys, tmp_path, name, text)
    assert err == f"{name}: not mapped: of the table: {left_out}; see table and expectations in a spec\n"
    assert load_spec_text(out).description == "it's all"
