"""Drafts from AUTO CDC: each clause of a statement, what a draft leaves out, and mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import Spec, load_spec_text
from tests.unit.test_cli import run

pytestmark = pytest.mark.verify

BEGIN = "APPLY CHANGES INTO users FROM feed KEYS (id)"


def draft(capsys: pytest.CaptureFixture[str], folder: Path, text: str, *options: str) -> tuple[int, str, str]:
    (folder / "flow.sql").write_text(text)
    status, out, err = run(capsys, "init", "--auto-cdc", folder / "flow.sql", *options)
    return status, out, err.replace(f"{folder}/", "")


def spec_of(capsys: pytest.CaptureFixture[str], folder: Path, text: str, *options: str) -> Spec:
    status, out, err = draft(capsys, folder, text, *options)
    assert (status, err) == (0, "")
    return load_spec_text(out)


def test_names_in_quotes_are_the_same_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A table's statement says its columns however its flow spells the name, and EXCEPT holds for them, too."""
    text = (
        "CREATE OR REFRESH STREAMING TABLE `crm`.`users` "
        "(id INT, name STRING, op STRING, is_deleted BOOLEAN, at TIMESTAMP) COMMENT 'Users'; "
        "CREATE FLOW f AS AUTO CDC INTO crm.users FROM stream(crm.feed) KEYS (id) "
        "APPLY AS DELETE WHEN is_deleted SEQUENCE BY at COLUMNS * EXCEPT (op) STORED AS SCD TYPE 1"
    )
    spec = spec_of(capsys, tmp_path, text)
    assert (spec.description, list(spec.columns)) == ("Users", ["id", "name", "is_deleted", "at"])
    assert spec.deleted == "is_deleted_"


@pytest.mark.parametrize(
    ("sequence", "columns", "kind"),
    [
        ("CAST(scn AS BIGINT)", "", "bigint"),
        ("scn", "scn:bigint", "bigint"),
        ("scn", "scn:timestamp_ntz", "timestamp"),
        ("scn", "scn:decimal(38,0)", "timestamp"),
    ],
)
def test_type_of_sequence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, sequence: str, columns: str, kind: str
) -> None:
    flow = "APPLY CHANGES INTO users FROM feed KEYS (id) SEQUENCE BY {} COLUMNS (id, a) STORED AS SCD TYPE {}"
    given = ["--columns", columns] if columns else []
    _, out, _ = draft(capsys, tmp_path, flow.format(sequence, 2), *given)
    assert load_spec_text(out).history.type == kind
    assert "has no type of SEQUENCE BY" not in out
    if sequence != "scn":
        spec = spec_of(capsys, tmp_path, flow.format(sequence, 1))
        assert spec.columns[spec.updated_at or ""].type == "BIGINT"


LISTED = f"{BEGIN} SEQUENCE BY n COLUMNS id, a, b STORED AS SCD TYPE 2"


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        (f"{BEGIN} SEQUENCE BY n COLUMNS (id, a)", "pattern", "scd1"),
        (f"{BEGIN} SEQUENCE BY n COLUMNS (id, `a b`)", "columns", ["id", "a b", "n"]),
        (LISTED, "columns", ["id", "a", "b"]),
        (LISTED.replace(" n ", " struct(n, m) "), "source.effective_at", "n"),
        (LISTED.replace(" n ", " STRUCT(n, coalesce(m, 0)) "), "source.sequence_by", ("coalesce(m, 0)",)),
        (LISTED.replace("FROM feed", "FROM STREAM a.feed"), "source.table", "a.feed"),
        (LISTED.replace("APPLY CHANGES", "CREATE FLOW f COMMENT 'a b' AS AUTO CDC"), "source.table", "feed"),
        (LISTED.replace("FROM feed", "FROM stream(LIVE.feed)"), "source.table", "feed"),
        (LISTED.replace("FROM feed", "FROM stream(a.`s t`)"), "source.table", "a.`s t`"),
        (
            LISTED.replace("SEQ", "APPLY AS DELETE WHEN a IS DISTINCT FROM 'KEYS' SEQ"), "source.delete_when",
            "a IS DISTINCT FROM 'KEYS'",
        ),
        (LISTED.replace("COLUMNS", "COLUMNS TO UPDATE changed COLUMNS"), "source.sets", "changed"),
        (LISTED.replace("(id)", "(id, a)"), "keys", ("id", "a")),
        (f"{BEGIN} SEQUENCE BY n COLUMNS (id, a)", "updated_at", "n"),
        (f"{BEGIN} APPLY AS TRUNCATE WHEN op = 'T' SEQUENCE BY n COLUMNS (id)", "source.truncate_when", "op = 'T'"),
        (f"{LISTED} TRACK HISTORY ON a", "track", ["id", "a"]),
        (f"{LISTED} TRACK HISTORY ON * EXCEPT (a)", "track", ["id", "b"]),
        (f"{LISTED} TRACK HISTORY ON *", "track", ["id", "a", "b"]),
        (LISTED.replace("SEQ", "IGNORE NULL UPDATES SEQ"), "nulls", ["a", "b"]),
        (LISTED.replace("SEQ", "IGNORE NULL UPDATES ON (b) SEQ"), "nulls", ["b"]),
        (LISTED.replace("SEQ", "IGNORE NULL UPDATES ON * EXCEPT (b) SEQ"), "nulls", ["a"]),
    ],
)  # fmt: skip
def test_clause_becomes_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, option: str, value: Any
) -> None:
    spec = spec_of(capsys, tmp_path, text)
    found: Any = spec
    if option == "track":
        found = [name for name, column in spec.columns.items() if column.track]
    elif option == "nulls":
        found = [name for name, column in spec.columns.items() if column.nulls == "ignore"]
    else:
        for step in option.split("."):
            found = getattr(found, step)
    assert (list(found) if option == "columns" else found) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LISTED.replace("2", "1") + " TRACK HISTORY ON a", "TRACK HISTORY ON: a table of type 1 has no history"),
        (
            LISTED.replace("SEQ", "IGNORE NULL UPDATES SEQ").replace("2", "1"),
            "IGNORE NULL UPDATES: nulls: is for scd2; source.sets can name the columns of each row",
        ),
        (
            LISTED.replace("FROM feed", "FROM stream(feed) WITH (SKIPCHANGECOMMITS)"),
            "FROM … WITH (SKIPCHANGECOMMITS): an option of the stream; scdgen reads the table",
        ),
        (LISTED.replace("APPLY CHANGES", "CREATE FLOW f AS AUTO CDC ONCE"), "ONCE: each run is a batch"),
        (
            LISTED.replace("SCD TYPE 2", "BITEMPORAL"),
            "STORED AS BITEMPORAL: drafted as scd2; history.recorded keeps the time of a run",
        ),
        (
            LISTED.replace(" COL", " SYSTEM SEQUENCE BY s COL"),
            "SYSTEM SEQUENCE BY: history.recorded takes the time of a run, not that of a column",
        ),
    ],
)
def test_clause_without_option_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str
) -> None:
    """On stderr, and in a comment of a draft that is valid."""
    status, out, err = draft(capsys, tmp_path, text)
    assert (status, err) == (0, f"flow.sql: not mapped: {says}\n")
    assert f"# - {says}\n" in out
    load_spec_text(out)


def test_type_of_history_without_types_is_a_guess(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = draft(capsys, tmp_path, LISTED)[1]
    assert "# A guess: the statement has no type of SEQUENCE BY; timestamp, date or bigint.\n  type: timestamp\n" in out


def test_other_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert spec_of(capsys, tmp_path, LISTED, "--target", "a.b").target == "a.b"
