"""Errors in the case files of tests/cases/rows."""

from __future__ import annotations

import pytest

from scdgen.cases.block import CaseError, format_block, parse_block
from scdgen.cases.format import Case
from tests.support.row_cases import CASES, FOUND, TWICE, read_cases

RIGHT = """
- name: late
  why: it is late
  spec: {source: {effective_at: at}, keys: [id], columns: {id: int}}
  source schema: id int, amount decimal(10,2), at timestamp
  batches:
    - rows: |
        id | amount | at
        1  | 1.50   | 2024-01-01
      table: id
"""
WRONG = [
    ("    - rows: |", "    - rowz: |", "batches 1 rowz: unknown field; "
     "did you mean 'rows'? (the fields: rows, tables, feed, facts, params, options, table, counts, error, again)"),
    ("1.50   | 2024-01-01", "2024-01-01", "batch 1: rows: '1  | 2024-01-01' has 2 cells; 3 columns are named"),
    ("1.50   |", "       |", "batch 1: rows: '1  |        | 2024-01-01': a cell is empty; write NULL or ''"),
    ("1.50   |", "'1.50  |", "batch 1: rows: '1  | '1.50  | 2024-01-01': a quoted cell is 'text', and '' in it is "
     "one quote"),
    ("1.50", "much", "batch 1: rows: column 'amount': 'much' is not a valid decimal(10,2)"),
    ("id | amount | at", "id | amout | at", "batch 1: rows: no column 'amout'; did you mean 'amount'? "
     "(the columns: id, amount, at)"),
    ("id | amount | at", "id | at | at", "batch 1: rows: a column is named twice in 'id | at | at'"),
    ("decimal(10,2)", "money", "batch 1: rows: column 'amount': type 'money' is not for cases; use one of string, "
     "varchar, char, tinyint, smallint, int, bigint, float, double, decimal, date, timestamp, timestamp_ntz, "
     "boolean, struct, array, map"),
    ("id int, amount", "id, amount", "batch 1: rows: source schema: 'id, amount decimal(10,2), at timestamp' is not "
     "'name type, name type'"),
    ("      table: id", "      table: id\n      counts: {insert: 1}", "batch 1: counts: no count 'insert'; did you "
     "mean 'inserted'? (the counts: inserted, updated, deleted, inferred)"),
    ("      table: id", "      counts: {inserted: 1}", "has no 'table': the last batch, or the case, says what the "
     "table is in the end"),
    ("      table: id", "      error: late", "every batch is an error; let one of them be right"),
    ("      table: id", "      table: id\n      error: late", "batches 1: 'error' says that the table stays as it was; "
     "leave out table, counts and again"),
    ("      table: id", "      table: id\n      again: {why: so it is}", "batches 1 again: takes either 'table' or "
     "'error'"),
    ("      table: id", "      table: ''", "batch 1: table: is empty; a table begins with a line of column names"),
]  # fmt: skip


def test_case_is_read() -> None:
    (case,) = read_cases(RIGHT, "x.yml")
    assert isinstance(case, Case)
    assert case.types == {"id": "int", "amount": "decimal(10,2)", "at": "timestamp"}
    assert '"target": "cases.late"' in case.spec_text({})
    assert '"source": {"table": "nowhere", "effective_at": "at", "where": "id > 0"}' in case.spec_text(
        {"source": {"where": "id > 0"}}
    )


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG, ids=[message[:40] for *_, message in WRONG])
def test_wrong_case_names_the_mistake(right: str, wrong: str, message: str) -> None:
    assert right in RIGHT
    (found,) = read_cases(RIGHT.replace(right, wrong), "x.yml")
    assert isinstance(found, CaseError)
    assert str(found) == f"x.yml: case 'late': {message}"


def test_case_files_are_valid() -> None:
    assert [str(case) for case in FOUND if isinstance(case, CaseError)] == [] == TWICE
    assert len(CASES) > 25


def test_printed_table_can_be_read_back() -> None:
    rows = [("", None), ("NULL", " a"), ("it's", "'"), ("a|b", "# c"), ("plain text", "d")]
    assert list(parse_block(format_block(["x", "y"], rows)).rows) == rows
