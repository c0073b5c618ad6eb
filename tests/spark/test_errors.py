"""Every error that needs Spark, from tests/cases/errors/spark. The tables must be unchanged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import by_tier
from tests.support.error_cases import Case, Found, Group, called, cases, expected

CASES = {found.id: found for found in cases(spark=True)}
Logs = dict[str, list[str]]
Rows = dict[str, tuple[list[str], list[str]]]


class Prepared:
    """The tables of a case file, created once because an error leaves them unchanged."""

    def __init__(self, spark: Any, warehouse: Path):
        self.spark = spark
        self.warehouse = warehouse
        self.found: dict[Path, tuple[Logs, Rows]] = {}

    def state(self, group: Group) -> tuple[Logs, Rows]:
        """The versions of each table of a group's schema, and the rows of the newest ones."""
        logs = self.logs(group)
        return logs, {name: self._rows(f"{group.schema_name}.{name}") for name in logs}

    def logs(self, group: Group) -> Logs:
        """Table -> the files of its versions."""
        folder = self.warehouse / f"{group.schema_name}.db"
        return {log.parent.name: sorted(p.name for p in log.glob("*.json")) for log in folder.glob("*/_delta_log")}

    def _rows(self, table: str) -> tuple[list[str], list[str]]:
        frame = self.spark.table(table)
        return frame.columns, sorted(str(tuple(row)) for row in frame.collect())

    def changed(self, found: Found) -> list[str]:
        """The changed tables; a new version with the same columns and rows is not a change."""
        before, rows = self.found[found.file]
        after = self.logs(found.group)
        self.found[found.file] = after, rows
        odd = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
        schema = found.group.schema_name
        return [name for name in odd if name not in after or self._rows(f"{schema}.{name}") != rows.get(name)]


@pytest.fixture(scope="module")
def prepared(spark: Any, warehouse: Path) -> Prepared:
    return Prepared(spark, warehouse)


@pytest.fixture
def here(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[pytest.CaptureFixture[str]]:
    """An empty folder, and the session of the tests instead of one that a command would start."""
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    monkeypatch.chdir(tmp_path)
    yield capsys
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def do(spark: Any, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a step before the error: a command that succeeds, or a statement."""
    if not step.startswith("scdgen "):
        spark.sql(step.replace("HERE", str(Path.cwd()))).collect()
        return
    status, _, lines = called(step.removeprefix("scdgen "), capsys.readouterr)
    assert (status, lines) == (0, []), step


class Meanwhile:
    """Another writer, whose statement runs while the MERGE is running.

    The spec's source calls ``hold()``, which waits until the statement is done once the MERGE has been sent.
    """

    def __init__(self, spark: Any, statement: str, patch: pytest.MonkeyPatch):
        self.spark, self.statement, self.send = spark, statement, spark.sql
        self.armed, self.begun, self.done = (Path(name).absolute() for name in ("armed", "begun", "done"))
        armed, begun, done = map(str, (self.armed, self.begun, self.done))

        def hold() -> bool:
            """Runs in a Spark process, which cannot import this module."""
            import pathlib
            import time

            if pathlib.Path(armed).exists():
                pathlib.Path(begun).touch()
                end = time.monotonic() + 60
                while not pathlib.Path(done).exists() and time.monotonic() < end:
                    time.sleep(0.05)
            return True

        spark.udf.register("hold", hold, "boolean")
        patch.setattr(type(spark), "sql", lambda session, text, *rest, **more: self.sent(text, *rest, **more))

    def sent(self, text: str, *rest: Any, **more: Any) -> Any:
        if "MERGE INTO" in text:
            self.armed.touch()
            threading.Thread(target=self.write, daemon=True).start()
        return self.send(text, *rest, **more)

    def write(self) -> None:
        waited(self.begun)
        try:
            self.send(self.statement).collect()
        finally:
            self.done.touch()


def waited(file: Path) -> None:
    end = time.monotonic() + 60
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)


def ended(found: Found, prepared: Prepared, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    """Run the steps of the file and the case, then its command; return the result."""
    case: Case = found.case
    case.write(found.group.files)
    if found.file not in prepared.found:
        do(prepared.spark, f"DROP SCHEMA IF EXISTS {found.group.schema_name} CASCADE", capsys)
        do(prepared.spark, f"CREATE SCHEMA {found.group.schema_name}", capsys)
        for step in found.group.given:
            do(prepared.spark, step, capsys)
    for step in case.given:
        do(prepared.spark, step, capsys)
    if case.given or found.file not in prepared.found:
        prepared.found[found.file] = prepared.state(found.group)
    with case.surroundings(), pytest.MonkeyPatch.context() as patch:
        if case.meanwhile:
            Meanwhile(prepared.spark, case.meanwhile, patch)
        return case.run(capsys.readouterr)


# In `make verify`; the others are nightly.
VERIFIED = {
    "commands: a stream of a missing table",
    "rules: late rows",
    "rules: a snapshot without most rows",
    "rules: text in a number",
    "source_files: a decimal comma",
    "source_files: a row with too few cells",
    "source_files: a line that is not JSON",
    "sources: a missing column",
    "sources: a missing table",
    "sources: a number for a time in a struct",
    "tables: a new column",
    "tables: a table not made by scdgen",
    "tables: another writer who changed the same rows",
}


@pytest.mark.parametrize("name", by_tier(CASES, (), VERIFIED))
def test_error(name: str, prepared: Prepared, here: pytest.CaptureFixture[str]) -> None:
    found = CASES[name]
    status, out, lines = ended(found, prepared, here)
    assert (status, lines) == expected(found.case)
    assert out == ""
    assert prepared.changed(found) == found.case.changed
