"""checks.sql and checks.job.sql on a sound and on a damaged table, played on DuckDB."""

from __future__ import annotations

import pytest

from scdgen import load_spec_text, render
from scdgen.compile.queries import check_all, check_script
from scdgen.compile.statements import cut
from scdgen.duck.database import Database

SPEC = load_spec_text(
    "target: c.t\npattern: scd2\nsource: {table: c.s, effective_at: at}\nkeys: [id]\n"
    "columns: {id: int, name: string}\nhistory: {recorded: true}\n"
    "checks: [{name: known_name, query: SELECT id FROM c.t WHERE name = 'x'}]\n"
)
TYPES = {
    "id": "INT", "name": "STRING", "valid_from": "TIMESTAMP", "valid_to": "TIMESTAMP", "is_current": "BOOLEAN",
    "recorded_from": "TIMESTAMP", "recorded_to": "TIMESTAMP",
}  # fmt: skip
SOUND = [
    "1 | a | 2024-01-01 | 2024-01-02 | false | 2024-02-01 | NULL",
    "1 | b | 2024-01-02 | NULL | true | 2024-02-01 | NULL",
]
DAMAGED = [
    *SOUND,
    # Open twice, and the later one overlaps.
    "2 | a | 2024-01-01 | NULL | true | 2024-02-01 | NULL",
    "2 | b | 2024-01-05 | NULL | true | 2024-02-01 | NULL",
    # A version that repeats the one before it, twice.
    "3 | x | 2024-01-01 | 2024-01-02 | false | 2024-02-01 | NULL",
    "3 | x | 2024-01-02 | 2024-01-03 | false | 2024-02-01 | NULL",
    "3 | x | 2024-01-03 | NULL | true | 2024-02-01 | NULL",
    # The flag of a closed version, a row that was superseded before it was recorded, and no key.
    "4 | a | 2024-01-01 | 2024-01-02 | true | 2024-02-01 | NULL",
    "5 | a | 2024-01-01 | NULL | false | 2024-02-02 | 2024-02-01",
    "NULL | a | 2024-01-01 | NULL | true | 2024-02-01 | NULL",
]
BROKEN = {"key_not_null": 1, "no_overlap": 1, "no_repeat": 2, "one_current": 1, "recorded_order": 1}


def fill(rows: list[str]) -> Database:
    """A database with the table."""
    found = Database()
    found.create_schema("c")
    cells = ([cell.strip() for cell in row.split("|")] for row in rows)
    given = [tuple(None if cell == "NULL" else cell for cell in row) for row in cells]
    found.put_text("c.t", TYPES, list(TYPES), given)
    return found


def test_one_query_names_each_broken_check_with_its_number_and_a_row() -> None:
    built_in, own = cut(render(SPEC).checks).texts
    damaged = fill(DAMAGED)
    found = {name: (count, sample) for name, count, sample in damaged.execute(built_in)}
    queries = check_all(SPEC)
    counts = dict(zip(queries.names, damaged.execute(queries.counts)[0], strict=True))
    assert {name: count for name, (count, _) in found.items()} == {name: n for name, n in counts.items() if n}
    assert {name: count for name, (count, _) in found.items() if name in BROKEN} == BROKEN
    assert found["no_overlap"][1].startswith('{"id":2,"valid_from":"2024-01-01')
    assert damaged.execute(own) == [(3,), (3,), (3,)]
    assert fill(SOUND).execute(built_in) == []


def test_job_stops_with_each_broken_check() -> None:
    job = check_script(SPEC)
    with pytest.raises(Exception, match=r"c\.t: rows break .*known_name \(3\), .*no_repeat \(2, as \{.id.:"):
        fill(DAMAGED).execute(job)
    assert fill(SOUND).execute(job) == [("every check holds",)]


def test_two_versions_with_one_number_are_found() -> None:
    text = (
        "target: c.t\npattern: scd2\nsource: {table: c.s, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, name: string}\nhistory: {surrogate_key: {name: sk, type: bigint}, is_current: null}\n"
    )
    spec = load_spec_text(text)
    plain = load_spec_text(text.replace("{name: sk, type: bigint}", "sk"))
    assert "unique_surrogate_key" not in render(plain).checks
    types = {"id": "INT", "name": "STRING", "sk": "BIGINT", "valid_from": "TIMESTAMP", "valid_to": "TIMESTAMP"}
    database = Database()
    database.create_schema("c")
    rows: list[tuple[str | None, ...]] = [(key, "a", "7", "2024-01-01", None) for key in ("1", "2")]
    database.put_text("c.t", types, list(types), rows)
    assert [row[:2] for row in database.execute(render(spec).checks)] == [("unique_surrogate_key", 1)]


def test_columns_may_have_the_names_of_the_results() -> None:
    """Also a key, which the sample shows with all digits of its start."""
    names = ("check_name", "is_broken", "broken_rows", "sample", "p", "t")
    columns = ", ".join(f"{name}: string" for name in names)
    spec = load_spec_text(
        "target: c.t\npattern: scd2\nsource: {table: c.s, effective_at: at}\nkeys: [check_name]\n"
        f"columns: {{{columns}}}\n"
    )
    (built_in,) = cut(render(spec).checks).texts
    table = Database()
    table.create_schema("c")
    types = {
        **dict.fromkeys(names, "STRING"),
        **{name: TYPES[name] for name in ("valid_from", "valid_to", "is_current")},
    }
    start = "2024-01-01 00:00:00.123456"
    table.put_text("c.t", types, list(types), [(*"abcdef", start, None, "false"), (*"xbcdef", start, None, "true")])
    (row,) = table.execute(built_in)
    assert row == ("flag_matches_end", 1, f'{{"check_name":"a","valid_from":"{start}"}}')
    with pytest.raises(Exception, match=r"flag_matches_end \(1, as \{.check_name.:.a."):
        table.execute(check_script(spec))
