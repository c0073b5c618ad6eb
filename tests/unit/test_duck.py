"""The row cases on DuckDB.

In `make verify`: every batch twice, the checks after each, and the counts of plan.sql before each MERGE. So is every
eighth case in `make test`, which plays the others once, with the checks at the end and without the gate.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from scdgen import Spec, load_spec_text
from scdgen.cases.duck import DuckWorld
from scdgen.cases.format import Case, read_case_file
from scdgen.cases.play import Checks, Difference, Given, Repeat, play
from scdgen.compile.render import read_file
from scdgen.duck.database import Database, Merged, translate_error
from scdgen.duck.known import UnknownError
from scdgen.errors import EngineError
from tests.conftest import by_tier, without_gate
from tests.support.reference import xxhash64
from tests.support.row_cases import CASES
from tests.support.worlds import foretell, require_foretold

# Case -> the construct that keeps it on Spark.
ON_SPARK = {
    "tracked_maps": "TO_JSON of another value",
    "filled_and_compared_maps": "the function array_sort",
    "compare_changes": "a large or small number to text, in 'MERGE INTO",
    "sequence_of_two": "an order of values of STRUCT",
    "any_of_arrays": "an order of values of ARRAY",
    "extracts_conflicts_any": "an order of values of MAP",
}


class _Trusting(DuckWorld):
    """Takes the queries of these cases, which read what the templates write, with the functions of the templates."""

    def require_known(self, spec: Spec, query: str) -> None:
        """Refuse nothing."""


class _World(_Trusting):
    """Compares what plan.sql counts with what the MERGE does."""

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> Merged:
        foretold = None if infer else foretell(self, spec, source, params)
        result = super().run(spec, source, params, infer)
        require_foretold(foretold, result)
        return result


WHOLE = [case.name for case in CASES if zlib.crc32(case.name.encode()) % 8 == 0]
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize("name", by_tier(BY_NAME, WHOLE, BY_NAME))
def test_case(name: str) -> None:
    world = _World()
    try:
        _play(BY_NAME[name], world, "every", "every")
    finally:
        world.database.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[DuckWorld]:
    """One database for all cases that are played quickly."""
    world = _Trusting()
    with without_gate():
        yield world
    world.database.close()


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in WHOLE])
def test_case_once(shared: DuckWorld, name: str) -> None:
    shared.clear()
    _play(BY_NAME[name], shared, "stated", "end")


def _play(case: Case, world: DuckWorld, repeat: Repeat, checks: Checks) -> None:
    if case.name in ON_SPARK:
        with pytest.raises(UnknownError, match=ON_SPARK[case.name]):
            play(case, world, repeat, checks)
    else:
        play(case, world, repeat, checks)


def test_few_cases_need_spark() -> None:
    assert len(ON_SPARK) <= 0.05 * len(CASES)
    assert set(ON_SPARK) <= {case.name for case in CASES}


@pytest.mark.verify
def test_hash_is_that_of_spark_for_every_text() -> None:
    """Of every length up to three stripes, a long one, and characters of one to four bytes."""
    letters = random.Random(1)
    texts = ["".join(letters.choices('ab0"{\x01é漢😀', k=size)) for size in (*range(100), 5000)]
    database = duckdb.connect()
    for name in ("macros", "xxhash64"):
        database.execute(read_file(f"duckdb/{name}.sql"))
    found = [database.execute("SELECT _spark_xxhash64(?)", [text]).fetchone() for text in ["ABC", *texts]]
    assert found[0] == (4105715581806190027,), "Spark's documentation has this one"
    assert found[1:] == [(xxhash64(text),) for text in texts]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (duckdb.InvalidInputException("Invalid Input Error: 'numpy' is required for this operation, but it wasn't"),
         "DuckDB needs the package numpy, which is not installed; run: pip install numpy"),
        (duckdb.InvalidInputException("Invalid Input Error: Required module 'pytz' failed to import, due to the"),
         "DuckDB needs the package pytz, which is not installed; run: pip install pytz"),
        (duckdb.OutOfMemoryException("Out of Memory Error: failed to pin block of size 32.0 KiB (953.6 MiB/953.6"),
         "a statement needs more than 1 GB of memory; give it fewer rows"),
        (duckdb.InternalException("INTERNAL Error: access to index 3 of a vector of size 3\n\nStack"),
         "DuckDB broke down (INTERNAL Error: access to index 3 of a vector of size 3); give --engine spark"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)  # fmt: skip
def test_error_that_is_not_of_the_sql_says_what_to_do(error: duckdb.Error, says: str) -> None:
    found = translate_error(error)
    assert isinstance(found, EngineError) and str(found) == says


SPEC_OF_FILE = """
target: crm.customer
pattern: scd2
source:
  table: crm.updates
  effective_at: CAST(at AS TIMESTAMP)
  delete_when: EXISTS (SELECT 1 FROM crm.closed WHERE name = city)
keys: [id]
columns: {id: int, city: string}
views: {current: crm.now}
"""
FILE = """
spec: customer.yml
cases:
- name: A late row splits the version that it falls in
  tables:
    crm.closed: |
      name
      Atlantis
  batches:
  - rows: |
      id | city | at
      1  | Oslo | 2024-01-01
      1  | Rome | 2024-03-01
    expect: |
      id | city | valid_from
      1  | Oslo | 2024-01-01
      1  | Rome | 2024-03-01
    counts: {new: 1, opened: 2}
  - rows: |
      id   | city | at
      NULL | Rome | 2024-02-01
    error: NULL_KEY
  - rows: |
      id | city     | at
      1  | Bern     | 2024-02-01
      1  | Atlantis | 2024-04-01
      2  | Bern     | 2024-02-01
    expect: |
      id | city | valid_to
      1  | Oslo | 2024-02-01
      1  | Bern | 2024-03-01
      1  | Rome | 2024-04-01
      2  | Bern | NULL
    again: false
  views:
    crm.now: |
      id | city
      2  | Bern
"""


# Times of another zone than the one of the run are announced, and the next one withdraws them.
OF_EXTRACTS = """
target: crm.customer
pattern: scd2
source: {table: crm.updates, feed: snapshot, effective_at: CAST(at AS TIMESTAMP)}
keys: [id]
columns: {id: int, city: string}
snapshot: {taken_at: ":taken"}
params: {taken: timestamp}
"""
WITHDRAWN = """
spec: customer.yml
cases:
- name: A version that has not begun is withdrawn
  batches:
  - rows: |
      id | city | at
      1  | Oslo | 2024-01-01 10:30
    params: {taken: 2024-01-01 09:00}
    counts: {new: 1, opened: 1}
  - rows: |
      id | city | at
      1  | Rome | 2024-01-01 11:20
    params: {taken: 2024-01-01 10:00}
    counts: {changed: 1, opened: 1, folded: 1, withdrawn: 1}
"""


def play_file(folder: Path, text: str, spec: str = SPEC_OF_FILE) -> None:
    (folder / "customer.yml").write_text(spec)
    (folder / "customer.test.yml").write_text(text)
    for case in read_case_file(folder / "customer.test.yml"):
        world = DuckWorld()
        try:
            play(case, world)
        finally:
            world.database.close()


def test_cases_of_a_file_are_played(tmp_path: Path) -> None:
    play_file(tmp_path, FILE)


@pytest.mark.parametrize("more", ["", "history: {recorded: true}\n"])
def test_withdrawn_versions_are_counted(tmp_path: Path, more: str) -> None:
    superseded = ", superseded: 1}" if more else "}"
    play_file(tmp_path, WITHDRAWN.replace("withdrawn: 1}", f"withdrawn: 1{superseded}"), OF_EXTRACTS + more)


def test_given_rows_are_of_no_run(tmp_path: Path) -> None:
    given = "given: |\n    id | city | valid_from | valid_to\n    9  | Bonn | 2024-01-01 | NULL\n"
    text = FILE.partition("  tables:")[0] + f"  {given}"
    text += """  batches:
  - tables:
      crm.closed: |
        name
    rows: |
      id | city | at
      9  | Rome | 2024-03-01
    expect: |
      id | city | first_run | run
      9  | Bonn | NULL      | 1
      9  | Rome | 1         | 1
"""
    (tmp_path / "customer.yml").write_text(f"{SPEC_OF_FILE}audit: {{inserted_at: first_run, run_id: run}}\n")
    (tmp_path / "customer.test.yml").write_text(text)
    (case,) = read_case_file(tmp_path / "customer.test.yml")
    world = DuckWorld()
    play(case, world)
    world.database.close()


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("1  | Rome | 2024-04-01", "1  | Rome | NULL", "batch 3\nmissing:\nid | city | valid_to\n1  | Rome | NULL\n"
         "extra:\nid | city | valid_to\n1  | Rome | 2024-04-01"),
        ("opened: 2", "opened: 1", "batch 1: 2 opened, not 1"),
        ("NULL_KEY", "LATE", "batch 2: refused by null_key, not LATE: "),
        ("NULL | Rome", "3    | Rome", "batch 2: not refused by NULL_KEY"),
        ("      2  | Bern\n", "      1  | Bern\n", "view crm.now\nmissing:\n"),
    ],
)  # fmt: skip
def test_difference_is_shown(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    assert right in FILE
    with pytest.raises(Difference) as found:
        play_file(tmp_path, FILE.replace(right, wrong))
    assert str(found.value).startswith(message)


def spec_with(**expressions: str | None) -> Spec:
    given = {"table": "raw.t", "effective_at": "at", **expressions}
    source = {name: text for name, text in given.items() if text is not None}
    text = json.dumps({"target": "a.t", "pattern": "scd2", "source": source, "keys": ["id"], "columns": {"id": "int"}})
    return load_spec_text(text)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("at > 'yesterday'", "a cast between TIMESTAMP and STRING that is not written"),
        ("coalesce(flag, 0) = 1", "a cast between BOOLEAN and BIGINT that is not written"),
        ("soundex(name) = 'A'", "the function soundex"),
        ("concat_ws(',', Sort_Array(split(name, ',')))", "the function Sort_Array"),
        ("name RLIKE '(?<=a)b'", "the regular expression (?<=a)b"),
        ("date_format(at, 'YYYY') = '2024'", "the pattern YYYY"),
    ],
)
def test_unknown_expression_is_refused_by_name(where: str, what: str) -> None:
    database = Database()
    database.put("raw.t", {"id": "int", "name": "string", "at": "timestamp", "flag": "boolean"}, [])
    with pytest.raises(UnknownError) as stopped:
        database.run(spec_with(where=where))
    assert str(stopped.value) == f"inline: source.where: {what}: use --engine spark"
    database.close()


def test_known_expressions_run() -> None:
    database = Database()
    rows = [(1, "Ab", dt.datetime(2024, 1, 1), True), (2, "b", dt.datetime(2024, 1, 2), None)]
    database.put("raw.t", {"id": "int", "name": "string", "at": "timestamp", "flag": "boolean"}, rows)
    where = "lower(name) = 'ab' AND at >= DATE '2024-01-01' AND flag AND name RLIKE '^[A-Z]'"
    where += " AND round(1.005e0, 2) = 1.01D"
    assert database.run(spec_with(where=where)).inserted == 1
    assert database.execute("SELECT id FROM a.t") == [(1,)]
    database.close()


@pytest.mark.parametrize(
    ("where", "lacking"), [("CAST(amount AS BOOLEAN)", "Macro _spark_truth() does not support the supplied arguments")]
)
def test_what_duckdb_lacks_says_to_use_spark(where: str, lacking: str) -> None:
    database = Database()
    types = {"id": "int", "at": "timestamp", "amount": "double", "tags": "map<string, int>"}
    database.put("raw.t", types, [(1, dt.datetime(2024, 1, 1), 1.0, {"a": 1})])
    with pytest.raises(UnknownError) as stopped:
        database.run(spec_with(where=where))
    assert lacking in str(stopped.value)
    assert str(stopped.value).endswith(": use --engine spark")
    database.close()


def test_name_that_is_not_there_does_not_ask_for_spark() -> None:
    database = Database()
    database.put("raw.t", {"id": "int", "at": "timestamp"}, [])
    with pytest.raises(EngineError, match="the rows have no column gone") as stopped:
        database.execute("SELECT gone FROM raw.t")
    assert "--engine" not in str(stopped.value)
    database.close()


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("unix_micros(here) > 0", {}),
        ("unix_micros(max_here) > 0", {"table": None, "query": "SELECT *, here AS max_here FROM raw.t"}),
        ("unix_micros(at) > 0", {}),
        ("unix_micros(there[0]) > 0", {}),
        ("unix_micros(here + INTERVAL '1' DAY) > 0", {}),
        ("(SELECT max(unix_micros(here)) FROM raw.t) > 0", {}),
    ],
)
def test_time_without_zone_is_not_read_as_one_with_a_zone(where: str, source: dict[str, str | None]) -> None:
    database = local_times()
    with pytest.raises(UnknownError, match=r"UNIX_MICROS of TIMESTAMP:|a value whose type is not known"):
        database.run(spec_with(where=where, **source))
    database.close()


def test_time_is_one_with_a_zone_after_a_cast() -> None:
    database = local_times()
    where = "unix_micros(CAST(at AS TIMESTAMP)) > 0 AND here = at AND coalesce(here, at) = at AND hour(here) = 0"
    assert database.run(spec_with(where=where)).inserted == 1
    database.close()


def test_row_with_a_time_without_zone_keeps_its_digits_as_json() -> None:
    database = local_times()
    spec = load_spec_text("""
target: a.t
pattern: scd2
source: {table: raw.t, effective_at: at}
keys: [id]
columns: {id: int, here: timestamp_ntz}
expectations: [{name: old, expect: year(here) < 2024, on_violation: quarantine}]
quarantine: a.rejected
""")
    database.run(spec)
    (row,) = database.execute("SELECT row_json FROM a.rejected")
    assert row == ('{"id":1,"here":"2024-01-01 00:00:00.123456","_scd_at":"2024-01-01 00:00:00.123456"}',)
    database.close()


def local_times() -> Database:
    database = Database()
    types = {"id": "int", "at": "timestamp", "here": "timestamp_ntz", "there": "array<timestamp_ntz>"}
    at = dt.datetime(2024, 1, 1, microsecond=123456)
    database.put("raw.t", types, [(1, at, at, [at])])
    return database


def test_package_does_not_need_duckdb() -> None:
    code = "import sys, scdgen, scdgen.cli.main; print('duckdb' in sys.modules, 'scdgen.duck' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
