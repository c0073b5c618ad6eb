"""scdgen init from local CSV and JSON files, which Python reads without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scdgen import load_spec_text
from scdgen.cli.main import main
from scdgen.init.data import ROWS
from scdgen.init.sample import MOST_BYTES, read_local
from tests.support.dbt_snapshots import manifest_text

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    def call(*given: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main(given)
        return (int(stopped.value.code or 0), *capsys.readouterr())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    return call


def test_draft_from_csv_snapshot(here: Called) -> None:
    """Without a time column it is a snapshot; the shortest key has two columns, neither of them unique alone."""
    rows = [
        f"{region},{number},{name},1990-01-0{number}" for region in "EW" for number, name in ((1, "Ann"), (2, "Bob"))
    ]
    Path("people.csv").write_text("region_code,person_no,name,birth_date\n" + "\n".join(rows) + "\n")
    status, out, _ = here("init", "--from", "people.csv", "--feed", "snapshot")
    assert status == 0
    spec = load_spec_text(out)
    assert (spec.target, spec.source.feed, spec.source.effective_at) == ("default.people", "snapshot", None)
    assert spec.keys == ("region_code", "person_no")
    assert [column.type for column in spec.columns.values()] == ["STRING", "INT", "STRING", "DATE"]
    assert "max_deleted: 0.1" in out and "taken_at: :taken" in out
    assert "# Guessed: unique in all 4 rows.\n" in out


def test_dbt_draft_takes_columns_from_data(here: Called) -> None:
    Path("items.csv").write_text("id,name,updated_at\n007,a,2024-01-01 00:00:00\n008,b,2024-01-02 00:00:00\n")
    config = {"unique_key": "id", "strategy": "timestamp", "updated_at": "updated_at"}
    Path("manifest.json").write_text(manifest_text(config))
    status, out, err = here("init", "--dbt", "manifest.json", "--from", "items.csv", "--columns", "name:varchar(10)")
    assert (status, err) == (0, "")
    kinds = {name: column.type for name, column in load_spec_text(out).columns.items()}
    assert kinds == {"id": "STRING", "name": "VARCHAR(10)", "updated_at": "TIMESTAMP"}
    config = {"unique_key": "id", "strategy": "check", "check_cols": "all"}
    Path("manifest.json").write_text(manifest_text(config, raw_code="", compiled_code="SELECT ID, name::text FROM a"))
    out = here("init", "--dbt", "manifest.json", "--from", "items.csv")[1]
    kinds = {name: column.type for name, column in load_spec_text(out).columns.items()}
    assert kinds == {"ID": "STRING", "name": "STRING"}, "of the data, the types of what the SELECT lists"


def test_draft_has_the_options_of_the_file(here: Called) -> None:
    text = "Kunde;Ort;Betrag;changed_at\n007;Köln;12,50;01.02.2024 08:00\n008;Wien;;13.02.2024 08:00\n"
    for encoding, options in (
        ("utf-8", {"sep": ";"}),
        ("utf-16", {"sep": ";", "encoding": "utf-16"}),
        ("iso-8859-1", {"sep": ";", "encoding": "ISO-8859-1"}),
    ):
        Path("kunde.csv").write_bytes(text.encode(encoding))
        status, out, err = here("init", "--from", "kunde.csv")
        assert (status, err) == (0, "")
        spec = load_spec_text(out)
        assert spec.source.options == {**options, "escape": '"', "multiLine": "true"}
        assert spec.source.effective_at == "to_timestamp(changed_at, 'dd.MM.yyyy HH:mm')"
        assert {name: column.type for name, column in spec.columns.items()} == {
            "Kunde": "STRING", "Ort": "STRING", "Betrag": "DECIMAL(18, 2)"
        }  # fmt: skip


def test_draft_from_json_is_without_spark(here: Called) -> None:
    rows = [
        {"id": 1, "changed": "2024-05-01T10:00:00Z", "deleted": False, "none": None},
        {"id": 2, "changed": "2024-05-02T10:00:00Z"},
    ]
    Path("items.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    status, out, err = here("init", "--from", "items.json")
    assert (status, err) == (0, "")
    spec = load_spec_text(out)
    assert (spec.source.effective_at, spec.source.delete_when) == ("changed", "deleted")
    assert {name: column.type for name, column in spec.columns.items()} == {"id": "BIGINT", "none": "STRING"}


def test_types_are_those_of_all_rows(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text("a,b\n" + "1,2\n" * (ROWS + 1) + "x,2.5\n")
    sample = read_local(str(file), {})
    assert sample is not None and (sample.rows, sample.whole) == (ROWS, False)
    assert [column.type for column in sample.columns] == ["STRING", "DOUBLE"]
    file = tmp_path / "long.json"
    file.write_text('{"a": 1}\n' * (ROWS + 1) + '{"a": 1.5, "b": 1}\n')
    sample = read_local(str(file), {})
    assert sample is not None and [(c.name, c.type) for c in sample.columns] == [("a", "DOUBLE"), ("b", "BIGINT")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": {"b": 1}}'),
        ("a.json", '{"a": 12345678901234567890}'),
        ("a.json", '{"a": 1, "A": 2}'),
        ("a.json", '{"a": 1, "a": 2}'),
        ("a.json", '{"a": 1} 2'),
        ("a.json", "[1]"),
        ("a.json", ""),
        ("a.csv", 'id\n"1" 2\n'),
        ("a.csv", "id\n\0\n"),
    ],
)
def test_spark_reads_what_python_may_misread(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_local(str(tmp_path / name), {}) is None


@pytest.mark.parametrize(
    ("options", "text", "says"),
    [
        ((), "id,name\n1,a\n2,b,c\n",
         "a.csv:3: 3 cells where the header has 2; fix the row, or put quotes around a cell with a comma"),
        (("header=false",), "1,a\n2,b,c\n",
         "a.csv:2: 3 cells where the first row has 2; fix the row, or put quotes around a cell with a comma"),
        ((), "id,ID\n1,2\n", "a.csv:1: the header names 'ID' twice; keep one, upper and lower case are the same"),
        (("nullValue=-",), "id,id\n1,2\n",
         "a.csv:1: the header names 'id' twice; keep one, upper and lower case are the same"),
    ],
)  # fmt: skip
def test_draft_refuses_what_a_run_refuses(options: tuple[str, ...], text: str, says: str, here: Called) -> None:
    """Before Spark starts, which drops cells and numbers the names."""
    Path("a.csv").write_text(text)
    given = [part for option in options for part in ("--source-option", option)]
    assert here("init", "--from", "a.csv", *given, "--feed", "snapshot") == (1, "", f"{says}\n")
    Path("days").mkdir()
    Path("days/a.csv").write_text("id,name\n1,a\n")
    Path("days/b.csv").write_text(text)
    shown = says.replace("a.csv", "days/b.csv")
    assert here("init", "--from", "days", *given, "--feed", "snapshot") == (1, "", f"{shown}\n")


def test_spark_reads_large_files_and_other_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id\n1\n")
    assert read_local(str(file), {"nullValue": "-"}) is None and read_local(str(file), {"sep": ";"}) is not None
    with file.open("r+") as text:
        text.truncate(MOST_BYTES + 1)
    assert read_local(str(file), {}) is None
