"""The tables derived from TPC-DI without Spark: the files, the oracle, and that each check finds what it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.bench.tpcdi import files, oracle
from tests.bench.tpcdi.checks import CHECKS, Check, failures, found_when_broken

SCALE, SEED = 0.03, 1


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return files.write(tmp_path_factory.mktemp("tpcdi"), SCALE, SEED)


@pytest.fixture(scope="module")
def database(batches: list[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as db:
        oracle.load(db, batches)
        oracle.build(db)
        yield db


def _texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_seed_gives_the_same_files(batches: list[Path], tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    files.write(again, SCALE, SEED)
    files.write(other, SCALE, SEED + 1)
    assert _texts(again) == _texts(batches[0].parent)
    assert _texts(other) != _texts(again)


def test_slices_have_the_same_lines(batches: list[Path], tmp_path: Path) -> None:
    parts = files.write(tmp_path, SCALE, SEED, slices=40)
    assert len(parts) == 42

    def lines(folders: list[Path]) -> Counter[str]:
        return Counter(
            line
            for folder in folders
            for text in _texts(folder).values()
            for line in text.splitlines()
            if not line.startswith(("<?xml", "<TPCDI:Actions", "</TPCDI:Actions"))
        )

    assert lines(parts) == lines(batches)


def test_the_sizes_of_scale_factor_10() -> None:
    """15,280 new customers and 4,340 changes of ten years, and those of a day, are those of the benchmark."""
    kinds = Counter(action.kind for action in files.World(0.1, SEED).history())
    assert kinds == {kind: round(number * 0.1) for kind, number in files.ACTIONS.items()}
    kinds_of_lines = Counter(line[15:18] for _, line in files.finwire(0.1, SEED))
    assert kinds_of_lines["CMP"] == pytest.approx(52, abs=3) and kinds_of_lines["SEC"] == pytest.approx(82, abs=3)
    assert kinds_of_lines["FIN"] == pytest.approx(4488, rel=0.05)


def test_accounts_change_on_days_of_their_customer(database: duckdb.DuckDBPyConnection) -> None:
    """Else the tables would not show what a published version loses: the account's own change of such a day."""
    found = database.execute(
        "SELECT COUNT(*) FROM src.actions AS a JOIN src.actions AS c ON a.CA_C_ID = c.C_ID AND a.ts::DATE = c.ts::DATE "
        "WHERE a.kind = 'UPDACCT' AND c.kind = 'UPDCUST'"
    ).fetchone()
    assert found and found[0] >= 3


def test_there_are_76_checks() -> None:
    assert len(CHECKS) == len({(check.table, check.name) for check in CHECKS}) == 76


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.table}.{check.name}")
def test_a_check_finds_a_broken_table(database: duckdb.DuckDBPyConnection, check: Check) -> None:
    assert not failures(database, check)
    assert found_when_broken(database, check)


@pytest.mark.parametrize("table", oracle.TABLES)
def test_a_difference_is_found(database: duckdb.DuckDBPyConnection, table: str) -> None:
    """A row that only one side has, and one that it has twice."""
    database.execute("BEGIN")
    try:
        database.execute("CREATE SCHEMA theirs")
        for name in oracle.TABLES:
            database.execute(f"CREATE TABLE theirs.{name} AS SELECT * FROM dw.{name}")
        assert not oracle.differences(database, "theirs", table)
        database.execute(f"INSERT INTO theirs.{table} SELECT * FROM dw.{table} LIMIT 1")
        assert oracle.differences(database, "theirs", table)
    finally:
        database.execute("ROLLBACK")
