"""Change feeds of known writers: from their rows, through the draft of init, to the history on DuckDB."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from scdgen import load_spec, load_spec_text
from scdgen.cli.main import main
from scdgen.duck.database import Database
from scdgen.errors import UsageError
from scdgen.init.data import Sample, Seen
from scdgen.init.feeds import draft_from_data
from scdgen.init.sample import read_local
from scdgen.model.spec import Spec
from tests.conftest import ROOT
from tests.support.pages import blocks, commands

START = 1_704_067_200_000  # 2024-01-01, in milliseconds
Rows = Sequence[Mapping[str, Any] | None]
History = list[tuple[Any, ...]]


def envelope(op: str, place: int, before: Any, after: Any, **source: Any) -> dict[str, Any]:
    """A change of Debezium, ``place`` hours after the start."""
    moment = START + place * 3_600_000
    log = source or {"lsn": 100 + place}
    of_log = {"ts_ms": moment, "db": "crm", **log}
    return {"before": before, "after": after, "op": op, "ts_ms": moment + 5, "source": of_log}


def hour(place: int) -> dt.datetime:
    return dt.datetime(2024, 1, 1) + dt.timedelta(hours=place)


def write(rows: Rows, path: Path) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def draft(path: str, *keys: str, pattern: str = "scd2") -> tuple[Spec, str]:
    """The spec that init drafts from a local file, and its text."""
    sample = read_local(path, {})
    assert sample is not None, "Spark was needed"
    text = draft_from_data(sample, "crm.t", pattern, None, list(keys), {}).text()
    return load_spec_text(text), text


def play(spec: Spec, types: Mapping[str, str], rows: Rows, columns: str) -> History:
    """Load rows twice, and return the sorted rows of the table."""
    database = Database()
    cells = [tuple((row or {}).get(name) for name in types) for row in rows]
    database.put("incoming", types, [tuple(_whole(c, types[n]) for n, c in zip(types, r, strict=True)) for r in cells])
    database.run(spec, "incoming")
    again = database.run(spec, "incoming")
    assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
    assert database.find_failures(spec) == []
    found = sorted(database.execute(f"SELECT {columns} FROM {spec.target}"), key=repr)
    database.close()
    return found


def _whole(value: Any, kind: str) -> Any:
    """Give an object all fields of its struct, as the JSON reader does; those without a field are dropped."""
    from scdgen.sql.types import struct_fields

    fields = struct_fields(kind)
    if value is None or fields is None:
        return value
    return {name: _whole(value.get(name), inner) for name, inner in fields}


HISTORY = "id, name, valid_from, valid_to"
ANN, ANNA, BOB = {"id": 1, "name": "Ann"}, {"id": 1, "name": "Anna"}, {"id": 2, "name": "Bob"}
CHANGES: Rows = [
    envelope("r", 0, None, ANN),
    envelope("c", 1, None, BOB),
    envelope("u", 2, ANN, ANNA),
    envelope("d", 3, {"id": 2, "name": None}, None),
    None,
    # The key of 1 becomes 3: a delete, a tombstone and an insert.
    envelope("d", 4, ANNA, None),
    None,
    envelope("c", 4, None, {"id": 3, "name": "Anna"}, lsn=105),
    envelope("m", 5, None, None),
    envelope("t", 6, None, None),
]
EXPECTED = [
    (1, "Ann", hour(0), hour(2)),
    (1, "Anna", hour(2), hour(4)),
    (2, "Bob", hour(1), hour(3)),
    (3, "Anna", hour(4), None),
]


def test_debezium(tmp_path: Path) -> None:
    spec, text = draft(write(CHANGES, tmp_path / "customers.json"))
    source = spec.source
    assert (source.effective_at, source.sequence_by) == ("timestamp_millis(source.ts_ms)", ("source.lsn",))
    assert (source.where, source.delete_when) == ("op IN ('c', 'r', 'u', 'd')", "op = 'd'")
    assert source.columns["before"] == source.columns["after"] == "STRUCT<id: BIGINT, name: STRING>"
    assert source.columns["source"] == "STRUCT<lsn: BIGINT, ts_ms: BIGINT>"
    assert (spec.keys, spec.columns["id"].from_, spec.columns["name"].from_) == (
        ("id",), "coalesce(after.id, before.id)", "after.name",
    )  # fmt: skip
    said = " ".join(text.replace("#", " ").split())
    assert "left out: rows of a TRUNCATE (1)" in said and "Guessed from the columns: a change feed of Debezium." in said
    assert play(spec, source.columns, CHANGES, HISTORY) == EXPECTED


def test_debezium_into_scd1_truncates(tmp_path: Path) -> None:
    spec, _ = draft(write(CHANGES, tmp_path / "customers.json"), pattern="scd1")
    assert spec.source.truncate_when == "op = 't'"
    assert play(spec, spec.source.columns, CHANGES, "id, name") == []
    assert play(spec, spec.source.columns, CHANGES[:-1], "id, name") == [(3, "Anna")]


def test_file_without_before(tmp_path: Path) -> None:
    """A file of snapshot rows has NULL in before; the draft reads the deletes of the next file."""
    spec, _ = draft(write(CHANGES[:2], tmp_path / "customers.json"))
    assert spec.source.columns["before"] == "STRUCT<id: BIGINT, name: STRING>"
    assert play(spec, spec.source.columns, CHANGES, HISTORY) == EXPECTED


def test_positions_of_mysql(tmp_path: Path) -> None:
    rows = [
        envelope("c", 1, None, ANN, file="log.000009", pos=900, row=0),
        envelope("u", 1, ANN, ANNA, file="log.000010", pos=4, row=0),
        envelope("u", 1, ANNA, ANN, file="log.000009", pos=950, row=0),
    ]
    spec, text = draft(write(rows, tmp_path / "customers.json"), "id")
    assert spec.source.sequence_by == ("source.file", "source.pos", "source.row")
    kept = spec.history.sequence
    assert kept is not None and "struct<file: string, pos: bigint, row: bigint>" in text
    # DuckDB has no order of structs; tests/cases/rows/sequence.yml plays one on Spark.
    spec = load_spec_text(
        "\n".join(line for line in text.splitlines() if "feed_position" not in line and line != "history:")
    )
    assert play(spec, spec.source.columns, rows, HISTORY) == [(1, "Anna", hour(1), None)]


def test_feed_without_a_position(tmp_path: Path) -> None:
    rows = [{**r, "source": {"ts_ms": r["source"]["ts_ms"]}} for r in CHANGES[:4] if r is not None]
    spec, _ = draft(write(rows, tmp_path / "customers.json"), "id")
    assert spec.source.sequence_by == ("ts_ms",)
    assert play(spec, spec.source.columns, rows, HISTORY) == [
        (1, "Ann", hour(0), hour(2)), (1, "Anna", hour(2), None), (2, "Bob", hour(1), hour(3)),
    ]  # fmt: skip


def test_unions_of_avro(tmp_path: Path) -> None:
    def as_union(row: Any) -> Any:
        return None if row is None else {"crm.customers.Value": {"id": row["id"], "name": {"string": row["name"]}}}

    rows = [
        {**r, "before": as_union(r["before"]), "after": as_union(r["after"]), "ts_ms": {"long": r["ts_ms"]}}
        for r in (CHANGES[0], CHANGES[2], envelope("d", 3, ANNA, None))
        if r is not None
    ]
    spec, _ = draft(write(rows, tmp_path / "customers.json"), "id")
    image = "`crm.customers.Value`"
    assert spec.columns["id"].from_ == f"coalesce(after.{image}.id, before.{image}.id)"
    assert spec.columns["name"].from_ == f"after.{image}.name.string"


def test_rows_as_text_are_refused(tmp_path: Path) -> None:
    rows = [{"before": None, "after": '{"_id": 1}', "op": "c", "ts_ms": START}]
    with pytest.raises(UsageError, match="after and before are text, as those of MongoDB"):
        draft(write(rows, tmp_path / "m.json"))


def flat(writer: str) -> tuple[Rows, dict[str, Any]]:
    """Three changes of two keys as a writer spells them, and what the draft has to say."""
    changes = [("I", 1, ANN), ("I", 1, BOB), ("U", 2, ANNA), ("D", 3, BOB)]
    rows: list[Mapping[str, Any]] = []
    for number, (op, place, row) in enumerate(changes):
        at, spelled = str(hour(place)), {"I": "insert", "U": "update_postimage", "D": "delete"}[op]
        if writer == "Debezium":
            letter, millis = {"I": "c"}.get(op, op.lower()), START + place * 3_600_000
            gone = "true" if op == "D" else "false"
            rows.append(
                {**row, "__op": letter, "__deleted": gone, "__lsn": number, "__source_ts_ms": millis, "__db": "c"}
            )
        elif writer == "DMS":
            rows.append({"Op": op, "dms_timestamp": at, "updated_at": "2020-01-01 00:00:00", **row})
        else:
            rows.append({**row, "_change_type": spelled, "_commit_version": number, "_commit_timestamp": at})
            if op == "U":
                rows.append({**rows[-1], **ANN, "_change_type": "update_preimage"})
    expected = {
        "Debezium": ("timestamp_millis(__source_ts_ms)", ("__lsn",), "__deleted = 'true'"),
        "DMS": ("dms_timestamp", (), "Op = 'D'"),
        "Delta": ("_commit_timestamp", ("_commit_version", "_change_type"), "_change_type = 'delete'"),
    }[writer]
    return rows, dict(zip(("effective_at", "sequence_by", "delete_when"), expected, strict=True))


@pytest.mark.parametrize("writer", ["Debezium", "DMS", "Delta"])
def test_flat_rows(tmp_path: Path, writer: str) -> None:
    rows, expected = flat(writer)
    path = write(rows, tmp_path / "customers.json")
    spec, text = draft(path, "id")
    assert {name: getattr(spec.source, name) for name in expected} == expected
    assert list(spec.columns) == (["id", "name", "updated_at"] if writer == "DMS" else ["id", "name"])
    assert f"a change feed of {writer}" in text
    # The row before an update is left out, so it is not the same key at the same time.
    assert draft(path)[0].keys == ("id",)
    sample = read_local(path, {})
    assert sample is not None
    types = {c.name: c.type for c in sample.columns}
    assert play(spec, types, [_with_times(row, types) for row in rows], HISTORY) == [
        (1, "Ann", hour(1), hour(2)), (1, "Anna", hour(2), None), (2, "Bob", hour(1), hour(3)),
    ]  # fmt: skip


def _with_times(row: Mapping[str, Any] | None, types: Mapping[str, str]) -> dict[str, Any]:
    return {
        n: dt.datetime.fromisoformat(v) if types.get(n) == "TIMESTAMP" and isinstance(v, str) else v
        for n, v in (row or {}).items()
    }


@pytest.mark.parametrize("given", [None, "at"])
def test_time_of_the_row_is_taken_or_given(given: str | None) -> None:
    """Without a time of the writer, or with --effective-at, the mark of deletes is still the writer's."""
    columns = (
        Seen("__deleted", "STRING", ("false", "true")), Seen("id", "INT", (1, 1)), Seen("name", "STRING", ("a", "a")),
        Seen("at", "TIMESTAMP", (hour(1), hour(2))), *([Seen("__ts_ms", "BIGINT", (START, START))] if given else []),
    )  # fmt: skip
    draft = draft_from_data(Sample("a.b", None, columns, 2, True), None, "scd2", None, ["id"], {}, None, given)
    spec = load_spec_text(draft.text())
    assert (spec.source.effective_at, spec.source.delete_when) == ("at", "__deleted = 'true'")
    assert list(spec.columns) == ["id", "name"]
    assert "two rows of one key and time stop the run" in draft.warnings[0]


def test_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of the page give its output, and its rows give its table."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    page = (ROOT / "docs/how-to/init.md").read_text()
    said = {block.kind: block for block in blocks(page)}
    Path("customers.json").write_text(said["write"].text)
    for command in commands(said["console"].text):
        program, *words = command.line.split()
        if program == "cat":
            assert Path(*words).read_text() == command.output
            continue
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert (stopped.value.code or 0, "".join(capsys.readouterr())) == (0, command.output)
    spec = load_spec(Path("specs/customer.yml"))
    rows = [json.loads(line) for line in said["write"].text.splitlines()]
    shown = [
        "| " + " | ".join("NULL" if cell is None else str(cell) for cell in row) + " |"
        for row in play(spec, spec.source.columns, rows, HISTORY)
    ]
    assert "\n".join(["| id | name | valid_from | valid_to |", "|---|---|---|---|", *shown, ""]) in page
