"""``scdgen generate --diff``: what a changed option means for stored rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from scdgen import Spec
from scdgen.model.resolved import from_json, to_json
from scdgen.stored.migrate import Line
from scdgen.stored.state import Stored, compare
from tests.support.spec_variations import BASES, Document, changed, load, text_of
from tests.unit.test_cli import run

T = "crm.customer"
KEEP = "statements that keep the stored rows"
ADOPT = f"{KEEP}, then `scdgen run --adopt`:"
MAPPING = f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name');"
STOPS = "so every run stops"
OTHER = "name another target"
SAME = "stored rows have the old one, of the same type"
LACKS = "stored rows have no such column"
RETYPED = f"stored values are of the old type, {STOPS}; write the old type or convert it"
FOLDS = "become one when a batch touches their key, or when the table is run into itself with feed: versions"


def converted(name: str, kind: str) -> list[str]:
    return [
        f"ALTER TABLE {T} ADD COLUMN {name}_new {kind};",
        f"UPDATE {T} SET {name}_new = CAST({name} AS {kind});",
        f"ALTER TABLE {T} DROP COLUMN {name};",
        f"ALTER TABLE {T} RENAME COLUMN {name}_new TO {name};",
    ]


def tracks(*names: str) -> str:
    return f"ALTER TABLE {T} SET TBLPROPERTIES ('scdgen.tracked' = '{json.dumps(names)}');"


# (kind, option, value, the line, the statements below it)
CASES: list[tuple[str, str, Any, list[str], list[str]]] = [
    ("2c", "pattern", "scd1",
     [f"pattern: scd2 -> scd1: stored rows are versions, many of a key, {STOPS}; {OTHER}"], []),
    ("2c", "keys", ["id"], [f"keys: id, region -> id: stored rows belong together by the old key, {STOPS}; {OTHER}, "
     f"or use `scdgen run --adopt` if stored versions are valid by the new keys too; {KEEP}:"],
     [f"ALTER TABLE {T} ALTER COLUMN region DROP NOT NULL;"]),
    ("2c", "history.gap", "1 day",
     [f"history.gap: none -> 1 day: stored ends are written with the old one, {STOPS}; {ADOPT}"],
     [f"UPDATE {T} SET valid_to = valid_to - INTERVAL '1' DAY WHERE NOT (valid_to IS NULL);"]),
    ("2c", "history.open_end", "9999-12-31",
     [f"history.open_end: none -> 9999-12-31: stored open versions end with the old one, {STOPS}; {ADOPT}"],
     [f"UPDATE {T} SET valid_to = TIMESTAMP '9999-12-31 00:00:00 UTC' WHERE valid_to IS NULL;"]),
    ("2c", "history.type", "date",
     [f"history.type: timestamp -> date: stored starts and ends are of the old type, {STOPS}; {ADOPT}"],
     [MAPPING, *converted("valid_from", "DATE"), *converted("valid_to", "DATE")]),
    ("2c", "history.valid_to", "until",
     [f"history.valid_to: valid_to -> until: {SAME}, {STOPS}; renamed?; {KEEP}:"],
     [MAPPING, f"ALTER TABLE {T} RENAME COLUMN valid_to TO until;"]),
    ("2c", "history.surrogate_key", "sk",
     [f"history.surrogate_key: none -> sk: {LACKS}, {STOPS}; take it out of the spec or add it; {KEEP}:"],
     [f"ALTER TABLE {T} ADD COLUMN sk STRING;", f"UPDATE {T}",
      "SET sk = SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(UNIX_MICROS(valid_from) AS STRING))), 256);"]),
    ("2c", "columns.name.track", False,
     [f"columns.name.track: true -> false: stored versions that differ only in it {FOLDS}, {STOPS}; "
      f"{KEEP}:"], [tracks("city", "bucket")]),
    ("2c", "columns.extra", "int", [f"columns.extra: none -> INT: {LACKS}, {STOPS}; set schema_evolution: add_columns "
     "or take it out of the spec"], []),
    ("2c", "columns.name.type", "int",
     [f"columns.name.type: STRING -> INT: {RETYPED}; {KEEP}:"],
     [MAPPING, *converted("name", "INT")]),
    ("2c", "columns.name.type", "decimal(9,2)",
     [f"columns.name.type: STRING -> DECIMAL(9, 2): {RETYPED}, which rounds to 2 digits behind the point; {KEEP}:"],
     [MAPPING, *converted("name", "DECIMAL(9, 2)")]),
    ("2c", "columns.bucket.type", "bigint",
     [f"columns.bucket.type: INT -> BIGINT: {RETYPED}; {KEEP}:"],
     [f"ALTER TABLE {T} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true');",
      f"ALTER TABLE {T} ALTER COLUMN bucket TYPE BIGINT;"]),
    ("2c", "history.sequence", "seq",
     [f"history.sequence: none -> seq: {LACKS}, {STOPS}; take it out of the spec or add it; {KEEP}:"],
     [f"ALTER TABLE {T} ADD COLUMN seq BIGINT;"]),
    ("2c", "history.recorded", True,
     [f"history.recorded: none -> recorded_from, recorded_to: {LACKS}, {STOPS}; {KEEP}:"],
     [f"ALTER TABLE {T} ADD COLUMN recorded_from TIMESTAMP;", f"ALTER TABLE {T} ADD COLUMN recorded_to TIMESTAMP;",
      f"UPDATE {T} SET recorded_from = current_timestamp() WHERE recorded_from IS NULL;",
      f"ALTER TABLE {T} SET TBLPROPERTIES ('scdgen.recorded' = '[\"recorded_from\", \"recorded_to\"]');"]),
    ("1c", "audit.run_id", "run", [f"audit.run_id: none -> STRING: {LACKS}, {STOPS}; set schema_evolution: add_columns "
     "or take it out of the spec"], []),
    ("2c", "bad_rows", "skip", [], []),
    ("2c", "late_arriving", "ignore", [], []),
    ("1s", "snapshot.max_deleted", 0.5, [], []),
    ("1c", "conflicts", "any", [], []),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _ungated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the gate, which takes most of the rendering time and has its own tests."""
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda *_: None)


def explained(before: Document, after: Document) -> list[str]:
    """The lines printed for a spec.json on disk and a changed spec."""
    old = from_json(to_json(load(before)))
    assert old is not None
    return written(compare(Stored.of_spec(old), load(after)), load(after))


def written(lines: Iterable[Line], spec: Spec) -> list[str]:
    """Each line with its statements below it."""
    return ["\n".join(line.write(spec)) for line in lines]


@pytest.mark.parametrize(("kind", "option", "value", "line", "below"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_changed_option_is_explained(kind: str, option: str, value: Any, line: list[str], below: list[str]) -> None:
    after = changed(BASES[kind], option, value)
    if option == "pattern":
        after["source"].pop("effective_at")
    expected = ["\n".join([*line, *(f"    {text}" for text in below)])] if line else []
    assert explained(BASES[kind], after) == expected
    assert explained(after, after) == []


def test_column_of_marked_deletes_is_added_to_scd1() -> None:
    before = changed(BASES["1c"], "updated_at", "updated")
    after = changed(before, "deleted", "is_deleted")
    add, *_ = lines = explained(before, after)
    assert len(lines) == 1
    assert add.splitlines() == [
        f"deleted: none -> is_deleted: {LACKS}, {STOPS}; take it out of the spec or add it; {KEEP}:",
        f"    ALTER TABLE {T} ADD COLUMN is_deleted BOOLEAN;",
        f"    UPDATE {T} SET is_deleted = FALSE;",
    ]


KEYS = (
    f"keys: id -> id, region: stored rows belong together by the old key, {STOPS}; {OTHER}, "
    "or use `scdgen run --adopt` if stored versions are valid by the new keys too"
)


@pytest.mark.parametrize(
    ("kind", "option", "value"),
    [
        ("2c", "columns.region.track", False),
        ("2c", "columns.region.nulls", "ignore"),
        ("2s", "columns.region.nulls", "fill"),
        ("1c", "columns.region.merge", "min"),
        ("1c", "columns.region.nullable", False),
        ("2c", "columns.region.from", "upper(area)"),
        ("2c", "columns.region.type", "varchar(9)"),
    ],
)
def test_new_key_hides_other_changes_of_its_column(kind: str, option: str, value: Any) -> None:
    """The line about the keys covers all options of the column."""
    before = changed(changed(BASES[kind], "keys", ["id"]), option, value)
    assert explained(before, BASES[kind]) == [KEYS]
    assert len(explained(BASES[kind], before)) == 1, "the same if it stops being a key"


def test_added_key_column_gives_only_the_key_line() -> None:
    """No line about its NULLs in stored rows or its first value."""
    before = changed(BASES["2c"], "keys", ["id"])
    del before["columns"]["region"]
    fill = f"; fill the new columns for stored rows; {KEEP}:\n    ALTER TABLE {T} ADD COLUMN region STRING;"
    assert explained(before, BASES["2c"]) == [f"{KEYS}{fill}"]
    assert len(explained(BASES["2c"], before)) == 1


def test_option_without_effect_on_a_key_gives_no_line() -> None:
    assert explained(BASES["1c"], changed(BASES["1c"], "columns.id.merge", "min")) == []


def test_partition_that_follows_from_the_key_in_another_way() -> None:
    """A batch reads the partitions of its keys alone, and would not find rows that are in others."""
    old = changed(BASES["2c"], "table.partition_by", ["bucket"])
    (line,) = explained(old, changed(old, "columns.bucket.from", "id % 4"))
    assert line.split("\n    ") == [
        "columns.bucket.from: id % 3 -> id % 4: stored rows are in partitions of the old one, where no batch would "
        f"find them, {STOPS}; {KEEP}:",
        f"UPDATE {T} SET bucket = CAST(id % 4 AS INT);",
        f"""ALTER TABLE {T} SET TBLPROPERTIES ('scdgen.partitions' = '{{"bucket": "id % 4"}}');""",
    ]
    # The columns of the source may have other names, and a snapshot that deletes reads all partitions.
    other = changed(changed(old, "columns.id", {"type": "int", "from": "nr"}), "columns.bucket.from", "nr % 3")
    assert STOPS not in str(explained(old, other))
    extract = changed(BASES["2s"], "table.partition_by", ["bucket"])
    assert STOPS not in str(explained(extract, changed(extract, "columns.bucket.from", "id % 4")))
    # A column that is not of the key was in any partition before.
    free = changed(old, "columns.bucket.from", "length(name)")
    assert STOPS in str(explained(free, old)) and STOPS not in str(explained(old, free))


def test_column_that_goes_while_one_of_its_type_comes() -> None:
    before = changed(BASES["2c"], "history.row_hash", "hash")
    after = changed(before, "columns.part", before["columns"]["bucket"])
    del after["columns"]["bucket"]
    line, hashed = explained(before, after)
    assert line.splitlines() == [
        f"columns.part: bucket -> part: {SAME}, {STOPS}; renamed? If not, remove 'bucket' from the property "
        f"scdgen.tracked and set schema_evolution: add_columns; {ADOPT}",
        f"    {MAPPING}",
        f"    ALTER TABLE {T} RENAME COLUMN bucket TO part;",
    ]
    assert hashed.splitlines()[:2] == [
        "history.row_hash: name, city, bucket -> name, city, part: hash of stored rows is of the old columns (see the "
        f"check hash_matches), {STOPS}; {KEEP}:",
        f"    UPDATE {T}",
    ]


def test_second_axis_that_goes_takes_its_rows_along() -> None:
    """Without them, what was superseded would count as versions."""
    recorded = changed(BASES["2c"], "history.recorded", True)
    (line,) = explained(recorded, BASES["2c"])
    assert line.splitlines() == [
        "history.recorded: recorded_from, recorded_to -> none: rows that were superseded would count as versions, "
        f"{STOPS}; write it, or remove these rows; {KEEP}:",
        f"    DELETE FROM {T} WHERE recorded_to IS NOT NULL;",
        f"    ALTER TABLE {T} UNSET TBLPROPERTIES ('scdgen.recorded');",
    ]


def test_second_axis_with_other_names_is_renamed() -> None:
    recorded = changed(BASES["2c"], "history.recorded", True)
    (line,) = explained(recorded, changed(BASES["2c"], "history.recorded", {"from": "held_from"}))
    assert f"    ALTER TABLE {T} RENAME COLUMN recorded_from TO held_from;" in line.splitlines()


def test_second_axis_begins_with_the_times_of_audit() -> None:
    audited = changed(BASES["2c"], "audit", {"inserted_at": "loaded", "updated_at": "touched", "run_id": "run"})
    (line,) = explained(audited, changed(audited, "history.recorded", True))
    value = "COALESCE(touched, loaded, current_timestamp())"
    assert f"    UPDATE {T} SET recorded_from = {value} WHERE recorded_from IS NULL;" in line.splitlines()


def test_generate_diff_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec, out = tmp_path / "t.yml", tmp_path / "generated"
    spec.write_text(text_of(BASES["2c"]))
    status, printed, _ = run(capsys, "generate", "--diff", spec, "--out", out)
    assert status == 1 and "crm.customer: nothing was generated before" in printed and not out.exists()
    run(capsys, "generate", spec, "--out", out)
    assert run(capsys, "generate", "--diff", spec, "--out", out) == (0, "", "")
    create = out / "crm.customer/create.sql"
    before = create.read_text()
    spec.write_text(text_of(changed(BASES["2c"], "history.gap", "1 day")))
    status, printed, err = run(capsys, "generate", "--diff", spec, "--out", out)
    assert status == 1 and "generated files differ; run: scdgen generate" in err and create.read_text() == before
    assert (
        "-    'scdgen.history' = 'timestamp'" in printed and "+    'scdgen.history' = 'timestamp, gap 1 day'" in printed
    )
    assert printed.splitlines()[-2:] == [f"crm.customer: {CASES[2][3][0]}", f"    {CASES[2][4][0]}"]
    spec.write_text(text_of(changed(BASES["2c"], "late_arriving", "ignore")))
    status, printed, _ = run(capsys, "generate", "--diff", spec, "--out", out)
    assert printed.splitlines()[-1] == "crm.customer: the stored table fits the changed spec"
    file = out / "crm.customer/spec.json"
    resolved = file.read_text()
    file.write_text("{}")
    status, printed, _ = run(capsys, "generate", "--diff", spec, "--out", out)
    unknown = "what the difference means for stored rows is not known"
    assert status == 1 and printed.splitlines()[-1] == f"crm.customer: {file} is not as scdgen writes it; {unknown}"
    file.unlink()
    status, printed, _ = run(capsys, "generate", "--diff", spec, "--out", out)
    assert status == 1 and printed.splitlines()[-1] == f"crm.customer: no {file} to compare with; {unknown}"
    assert f"+++ {file} (of the spec)" in printed and "+++ " + str(out / "crm.customer/merge.sql") in printed
    file.write_text(resolved.replace('"late_arriving": "apply"', '"late_arriving": "fail"'))
    create.write_text("CREATE")
    status, printed, _ = run(capsys, "generate", "--diff", spec, "--out", out)
    assert printed.splitlines()[-1] == "crm.customer: the stored table fits the changed spec"


def test_changed_sequence_is_explained() -> None:
    plain = changed(BASES["2c"], "history.sequence", "seq")
    renamed = changed(BASES["2c"], "history.sequence", "lsn")
    assert explained(plain, renamed) == [
        f"history.sequence: seq -> lsn: {SAME}, {STOPS}; renamed?; {KEEP}:\n    {MAPPING}\n"
        f"    ALTER TABLE {T} RENAME COLUMN seq TO lsn;"
    ]
    assert explained(plain, BASES["2c"])[0] == (
        "columns.seq: BIGINT -> none: stored rows keep it, rows to come have NULL in it"
    )
    small = changed(BASES["2c"], "history.sequence", {"name": "seq", "type": "int"})
    assert explained(small, plain) == [
        f"history.sequence.type: INT -> BIGINT: {RETYPED}; {KEEP}:\n"
        f"    ALTER TABLE {T} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true');\n"
        f"    ALTER TABLE {T} ALTER COLUMN seq TYPE BIGINT;"
    ]
    several = changed(BASES["2c"], "history.sequence", {"name": "seq", "type": "struct<a: int, b: int>"})
    assert explained(plain, several) == [
        f"history.sequence.type: BIGINT -> STRUCT<a: INT, b: INT>: stored values are of the old type, {STOPS}; "
        "write the old type or name another target"
    ]
    one_row = changed(BASES["1c"], "updated_at", "updated")
    assert explained(one_row, changed(one_row, "sequence", "seq")) == [
        f"sequence: none -> seq: {LACKS}, {STOPS}; take it out of the spec or add it; {KEEP}:\n"
        f"    ALTER TABLE {T} ADD COLUMN seq BIGINT;"
    ]
