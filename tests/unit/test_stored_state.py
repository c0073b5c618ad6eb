"""``generate --diff`` and a run say the same about stored rows: of the old spec, and of the table that it made."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from scdgen import DataError, Spec
from scdgen.compile.render import render_facts
from scdgen.facts.built import Source
from scdgen.facts.table import Create
from scdgen.model.pattern import definition
from scdgen.model.registry import HISTORY
from scdgen.patterns.pattern import pattern_of
from scdgen.run.table import find_additions
from scdgen.sql.types import parse_type
from scdgen.stored.migrate import Line, write_lines
from scdgen.stored.state import Column, Stored, compare
from tests.support.spec_variations import BASES, VARIATIONS, Document, changed, load


def table_of(spec: Spec) -> Stored:
    """The table that create.sql makes, read from its text, with the types that Spark's schema has."""
    text = render_facts(Create.of(Source(spec), pattern_of(spec).columns(spec)))
    parsed = sqlglot.parse(text, dialect="databricks")
    (create,) = (found for found in parsed if found is not None and found.find(exp.Schema))
    columns = {
        column.name: Column(
            parse_type(column.kind.sql(dialect="databricks")).as_stored().render(),
            column.find(exp.NotNullColumnConstraint) is None,
        )
        for column in create.find_all(exp.ColumnDef)
        if isinstance(column.parent, exp.Schema) and column.kind is not None
    }
    written = [found for found in create.find_all(exp.Property) if type(found) is exp.Property]
    return Stored(columns, {found.name: found.args["value"].name for found in written})


def compared(old: Spec, new: Spec) -> list[Line]:
    """The lines about a table, which are the same for the old spec and for the table that it made."""
    table = table_of(old)
    drift = compare(table, new)
    assert compare(Stored.of_spec(old), new) == drift
    stopping = [line for line in drift if line.stops]
    try:
        find_additions(new, table)
        assert not stopping
    except DataError as refused:
        assert list(refused.lines) == write_lines(new, stopping) and refused.count == len(stopping)
    return drift


def of(kind: str, *changes: tuple[str, Any], without: str = "") -> Document:
    """A base with several options changed, and without one of its columns."""
    document = BASES[kind]
    for option, value in changes:
        document = changed(document, option, value)
    columns = {name: column for name, column in document["columns"].items() if name != without}
    return {**document, "columns": columns}


TEXT, MARKED = {"type": "string"}, {"type": "string", "track": False}
FLAG = {"name": "is_current", "type": "string", "open": "Y", "closed": "N"}
GROWS = ("schema_evolution", "add_columns")
HASHED = ("history.row_hash", "hash")
STOPS, STAYS = True, False
# What changes -> the spec before and after, and of each line the place, the names of the old and the new one, and
# whether it stops a run.
KINDS: dict[str, tuple[Document, Document, list[tuple[str, object, object, bool]]]] = {
    "nothing": (of("2c"), of("2c"), []),
    "a column is added": (of("2c"), of("2c", ("columns.mail", TEXT), GROWS), [("columns.mail", None, "STRING", STAYS)]),
    "a column is added and required": (
        of("2c"), of("2c", ("columns.mail", {"type": "string", "nullable": False}), GROWS),
        [("columns.mail", None, "STRING", STOPS)],
    ),
    "a column goes": (of("2c"), of("2c", without="bucket"), [("columns.bucket", "INT", None, STOPS)]),
    "an untracked column goes": (
        of("2c", ("columns.note", MARKED)), of("2c"), [("columns.note", "STRING", None, STAYS)],
    ),
    "a required column goes": (
        of("1c", ("columns.note", {"type": "string", "nullable": False})), of("1c"),
        [("columns.note", "STRING", None, STOPS)],
    ),
    "a column has another name": (
        of("2c"), of("2c", ("columns.part", "int"), without="bucket"), [("columns.part", "bucket", "part", STOPS)],
    ),
    "any of two columns may have the new name": (
        of("2c", ("columns.a", "date"), ("columns.b", "date")), of("2c", ("columns.seen", "date")),
        [("columns.seen", None, "DATE", STOPS), ("columns.a", "DATE", None, STOPS),
         ("columns.b", "DATE", None, STOPS)],
    ),
    "an untracked column may have another name": (
        of("2c", ("columns.note", MARKED)), of("2c", ("columns.remark", MARKED)),
        [("columns.remark", "note", "remark", STOPS)],
    ),
    "an untracked column is added for another": (
        of("2c", ("columns.note", MARKED)), of("2c", ("columns.remark", MARKED), GROWS),
        [("columns.remark", None, "STRING", STAYS), ("columns.note", "STRING", None, STAYS)],
    ),
    "another type of a hashed column": (
        of("2c", HASHED), of("2c", HASHED, ("columns.bucket.type", "string")),
        [("columns.bucket.type", "INT", "STRING", STOPS),
         ("history.row_hash", {"bucket": "INT"}, {"bucket": "STRING"}, STOPS)],
    ),
    "another nested type": (
        of("2c", ("columns.a", "array<int>")), of("2c", ("columns.a", "array<bigint>")),
        [("columns.a.type", "ARRAY<INT>", "ARRAY<BIGINT>", STOPS)],
    ),
    "another length of text": (of("2c", ("columns.name.type", "char(3)")), of("2c"), []),
    "NULL is refused": (
        of("2c"), of("2c", ("columns.name.nullable", False)), [("columns.name.nullable", True, False, STAYS)],
    ),
    "hashed and not tracked any more": (
        of("2c", HASHED), of("2c", HASHED, ("columns.name.track", False)),
        [("columns.name.track", True, False, STOPS),
         ("history.row_hash", ["name", "city", "bucket"], ["city", "bucket"], STOPS)],
    ),
    "a hashed column is added": (
        of("2c", HASHED), of("2c", HASHED, ("columns.mail", TEXT), GROWS), [("columns.mail", None, "STRING", STAYS)],
    ),
    "another name of a key": (
        of("2c"), {**of("2c", ("columns.customer", "int"), without="id"), "keys": ["customer", "region"]},
        [("columns.customer", "id", "customer", STOPS)],
    ),
    "a key that goes": (
        of("2c"), of("2c", ("keys", ["id"]), without="region"), [("keys", ["id", "region"], ("id",), STOPS)],
    ),
    "another order of keys": (
        of("2c", ("history.surrogate_key", "sk")),
        of("2c", ("history.surrogate_key", "sk"), ("keys", ["region", "id"])),
        [("keys", ["id", "region"], ("region", "id"), STAYS)],
    ),
    "hashed and not tracked any more, while a column is added": (
        of("2c", HASHED), of("2c", HASHED, ("columns.name.track", False), ("columns.mail", TEXT), GROWS),
        [("columns.name.track", True, False, STOPS), ("columns.mail", None, "STRING", STAYS),
         ("history.row_hash", ["name", "city", "bucket"], ["city", "bucket"], STOPS)],
    ),
    "deletes are versions": (
        of("2c"), of("2c", ("source.delete_when", "gone"), ("history.deleted", "dead"), ("on_delete", "mark")),
        [("history.deleted", None, "is_deleted", STOPS)],
    ),
    "a history column goes": (
        of("2c", ("history.surrogate_key", "sk")), of("2c"), [("columns.sk", "STRING", None, STOPS)],
    ),
    "history columns have other names": (
        of("2c"), of("2c", ("history.valid_from", "since"), ("history.valid_to", "until"), HASHED),
        [("history.valid_from", "valid_from", "since", STOPS), ("history.valid_to", "valid_to", "until", STOPS),
         ("history.row_hash", None, "hash", STOPS)],
    ),
    "starts and ends have other names again": (
        of("2c", ("history.valid_from", "since"), ("history.valid_to", "until")),
        of("2c", ("history.valid_from", "begin"), ("history.valid_to", "finish")),
        [("history.valid_from", "since", "begin", STOPS), ("history.valid_to", "until", "finish", STOPS)],
    ),
    "another history column of the type": (
        of("2c", ("history.surrogate_key", "sk")), of("2c", HASHED),
        [("history.row_hash", None, "hash", STOPS), ("columns.sk", "STRING", None, STOPS)],
    ),
    "another type of the flag": (
        of("2c"), of("2c", ("history.is_current", FLAG)),
        [("history.is_current.type", "BOOLEAN", "STRING", STOPS)],
    ),
    "dates with other names": (
        of("2c"), of("2c", ("history.type", "date"), ("history.valid_from", "since")),
        [("history.valid_from", "valid_from", "since", STOPS), ("history.type", "timestamp", "date", STOPS)],
    ),
    "a pattern with versions": (of("1c"), of("2c"), [("pattern", "scd1", "scd2", STOPS)]),
    "a pattern with the same columns": (
        of("1c"), {**of("1c"), "pattern": "scd0"}, [("pattern", "scd1", "scd0", STOPS)],
    ),
    "a column for the time": (
        of("1c"), of("1c", ("updated_at", "updated")), [("updated_at", None, "updated", STOPS)],
    ),
    "another type of a sequence": (
        of("1c", ("sequence", "seq")), of("1c", ("sequence", {"name": "seq", "type": "decimal(38, 0)"})),
        [("sequence.type", "BIGINT", "DECIMAL(38, 0)", STOPS)],
    ),
    "a time zone": (
        of("2c"), of("2c", ("table.time_zone", "Europe/Oslo")), [("table.time_zone", "UTC", "Europe/Oslo", STOPS)],
    ),
    "no time zone": (
        of("2c", ("table.time_zone", "Europe/Oslo")), of("2c"), [("table.time_zone", "Europe/Oslo", None, STAYS)],
    ),
    "a feed": (of("2c"), of("2s"), []),
    "the unknown member": (of("2c"), of("2c", ("members.unknown", {"id": 0, "region": "none"})), []),
}  # fmt: skip


def test_column_that_was_renamed_in_the_table() -> None:
    spec = load(of("2c"))
    table = table_of(spec)
    columns = {"part" if name == "bucket" else name: column for name, column in table.columns.items()}
    (line,) = compare(Stored(columns, table.properties), spec)
    assert (line.option, line.was, line.now, line.fix.partition(" If")[0]) == (
        "columns.bucket",
        "part",
        "bucket",
        "renamed?",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_diff_and_run_say_the_same(kind: str) -> None:
    before, after, expected = KINDS[kind]
    found = compared(load(before), load(after))
    assert [(line.option, line.was, line.now, line.stops) for line in found] == expected


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["2c", "1c"])
def test_diff_and_run_say_the_same_of_each_option(kind: str) -> None:
    """The feed does not change the table."""
    base = load(BASES[kind])
    for option, value in VARIATIONS[kind]:
        other = load(changed(BASES[kind], option, value))
        compared(base, other)
        compared(other, base)


def test_names_in_another_case_are_the_same() -> None:
    """But the names of tracked columns are part of their hash."""
    upper = {**of("2c"), "columns": {name.upper(): kind for name, kind in BASES["2c"]["columns"].items()}}
    upper["keys"] = ["ID", "REGION"]
    assert compared(load(BASES["2c"]), load(upper)) == []
    (line,) = compared(load(changed(BASES["2c"], *HASHED)), load(changed(upper, *HASHED)))
    assert line.option == "history.row_hash" and [step.kind for step in line.steps] == ["set", "update"]


def test_table_of_another_tool() -> None:
    """Only the columns are compared, and then it has to be adopted."""
    spec = load(BASES["2c"])
    columns = {name: Column(column.type) for name, column in table_of(spec).columns.items()}
    foreign = Stored({"note": Column("STRING"), **columns}, {"scdgen.other": "x"})
    refusal = "the table was not created by scdgen; test it with `scdgen check`, then use `scdgen run --adopt`"
    with pytest.raises(DataError) as refused:
        find_additions(spec, foreign)
    assert refused.value.lines == (f"{spec.target}: {refusal}",)
    assert find_additions(spec, foreign, adopt=True) == ()
    more = load(of("2c", ("columns.mail", TEXT), GROWS))
    with pytest.raises(DataError, match="first, without mail; add them afterwards"):
        find_additions(more, foreign, adopt=True)
    other = load(of("2c", ("history.valid_from", "begins")))
    with pytest.raises(DataError) as refused:
        find_additions(other, foreign)
    assert refused.value.count == 2 and "RENAME COLUMN valid_from TO begins" in str(refused.value)


def test_added_columns_are_returned() -> None:
    new = load(of("2c", ("columns.mail", TEXT), GROWS))
    assert [column.name for column in find_additions(new, table_of(load(BASES["2c"])))] == ["mail"]


@pytest.mark.parametrize(("kind", "says"), [("view", "is a view"), ("parquet", "is a parquet table and no Delta")])
def test_what_is_no_delta_table_is_refused(kind: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        find_additions(load(BASES["2c"]), Stored({}, {}, kind))


HISTORIES: dict[str, dict[str, object]] = {
    "date": {"type": "date", "gap": "1 day", "open_end": "9999-12-31"},
    "timestamp": {"type": "timestamp", "gap": "1 microsecond", "open_end": "9999-12-31 00:00:00"},
    "bigint": {"type": "bigint", "gap": 1, "open_end": 99},
    "plain": {"type": "bigint"},
    "last_run": {"type": "date", "open_end": "last_run"},
}


@pytest.mark.parametrize("now", HISTORIES)
@pytest.mark.parametrize("was", HISTORIES)
def test_other_history_has_a_line_for_each_part(was: str, now: str) -> None:
    """The old gap and open end are of the old type: '1 day' is not a number, and 1 has no unit."""
    old, new = (load({**of("2c"), "history": HISTORIES[name]}) for name in (was, now))
    lines = compared(old, new)
    if old.history.type != new.history.type:
        (line,) = lines
        assert line.option == "history.type" and not line.steps and "one after the other" in line.fix
    else:
        parts = ("gap", "open_end")
        differ = [f"history.{part}" for part in parts if getattr(old.history, part) != getattr(new.history, part)]
        assert [line.option for line in lines] == differ and all(line.steps for line in lines)


def test_tracked_column_that_the_next_run_adds() -> None:
    """The statement of another line has set the property before the table has the column."""
    old, new = load(of("2c", HASHED)), load(of("2c", HASHED, ("columns.mail", TEXT), GROWS))
    table = table_of(old)
    ready = Stored(table.columns, definition(new))
    assert [line.option for line in compare(ready, new)] == ["columns.mail"]
    assert len(find_additions(new, ready)) == 1


def test_history_that_no_property_says() -> None:
    spec = load(BASES["2c"])
    table = Stored.of_spec(spec)
    bare = Stored(table.columns, {name: value for name, value in table.properties.items() if name != HISTORY})
    (line,) = compare(bare, spec)
    assert line.text.startswith("history: none -> timestamp: ") and line.stops
