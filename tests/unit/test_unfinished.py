"""Files left by an interrupted CREATE are removed, and nothing else is. No Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import EngineError
from scdgen.run.delta import RetryLimit, clear_unfinished, retry

LEFT = ("_delta_log/.00000000000000000000.json.0af3.tmp", "_delta_log/..00000000000000000000.json.0af3.tmp.crc")


def refused(folder: Path) -> EngineError:
    error = EngineError("crm.t: the folder of the new table holds other files")
    error.__cause__ = RuntimeError(
        "[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table ('`crm`.`t`'). The associated location "
        f"('file:{folder}') is not empty and also not a Delta table. SQLSTATE: 42601"
    )
    return error


def made(folder: Path, *files: str) -> Path:
    (folder / "_delta_log" / "_staged_commits").mkdir(parents=True)
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("x")
    return folder


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.run.delta._SETTLED", 0)
    monkeypatch.setattr("scdgen.run.delta._FIRST_WAIT", 0)


@pytest.mark.parametrize("files", [(), LEFT])
def test_leftovers_are_removed(tmp_path: Path, files: tuple[str, ...]) -> None:
    spark: Any = object()
    folder = made(tmp_path / "with blank's" / "t", *files)
    tries = []

    def attempt() -> str:
        tries.append(folder.exists())
        if folder.exists():
            raise refused(folder)
        return "made"

    assert retry("crm.t", RetryLimit(), attempt, lambda error: clear_unfinished(spark, error)) == ("made", 2)
    assert tries == [True, True, True, False], "waits for other writers first"


@pytest.mark.parametrize(
    "file",
    ["_delta_log/00000000000000000000.json", "part-0.parquet", "notes.txt", "_delta_log/x/.hidden", ".profile",
     "_delta_log/00000000000000000002.checkpoint.parquet", "sub/.a.tmp"],
)  # fmt: skip
def test_other_files_are_kept(tmp_path: Path, file: str) -> None:
    spark: Any = object()
    folder = made(tmp_path / "t", *LEFT, file)
    before = sorted(folder.rglob("*"))
    with pytest.raises(EngineError, match="holds other files"):
        retry("crm.t", RetryLimit(), lambda: _raise(refused(folder)), lambda error: clear_unfinished(spark, error))
    assert sorted(folder.rglob("*")) == before
    assert not clear_unfinished(spark, refused(tmp_path / "nowhere"))
    assert not clear_unfinished(spark, EngineError("crm.t: something else"))


def test_folder_in_use_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = object()
    folder = made(tmp_path / "t")
    monkeypatch.setattr("time.sleep", lambda _: (folder / LEFT[0]).write_text("more"))
    assert not clear_unfinished(spark, refused(folder)) and folder.exists()


def _raise(error: Exception) -> None:
    raise error
