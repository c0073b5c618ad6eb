"""When a run is retried, without Spark."""

from __future__ import annotations

import pytest

from scdgen import DataError, EngineError
from scdgen.run.delta import is_conflict, retry

CONFLICTS = [
    "[DELTA_CONCURRENT_APPEND.WITHOUT_HINT] ConcurrentAppendException: files were added to the root of the table",
    "[DELTA_CONCURRENT_DELETE_READ.WITHOUT_HINT] files were read and are gone",
    "[DELTA_CONCURRENT_DELETE_DELETE.WITH_PARTITION_HINT] both removed a file",
    "[DELTA_CONCURRENT_TRANSACTION] another stream with this application id",
    "[DELTA_CONCURRENT_WRITE] a version was written",
    "[DELTA_METADATA_CHANGED] the columns changed",
    "[DELTA_PROTOCOL_CHANGED] the protocol changed",
    "[TABLE_OR_VIEW_ALREADY_EXISTS] Cannot create table because it already exists",
    "io.delta.exceptions.ConcurrentAppendException: Files were added",
    "io.delta.exceptions.MetadataChangedException: The metadata changed",
]


@pytest.mark.parametrize("text", CONFLICTS)
def test_delta_conflicts_are_recognised(text: str) -> None:
    cause = RuntimeError(f"{text}\nmore")
    error = EngineError("x.y: something else was said")
    error.__cause__ = cause
    assert is_conflict(cause) and is_conflict(error)


@pytest.mark.parametrize(
    "text", ["[DELTA_CONCURRENT_MODE_UNKNOWN] x", "[DELTA_TABLE_NOT_FOUND] x", "a column ConcurrentAppend", ""]
)
def test_other_errors_are_not_conflicts(text: str) -> None:
    assert not is_conflict(RuntimeError(text))


def lost() -> EngineError:
    error = EngineError("x.y: lost")
    error.__cause__ = RuntimeError(CONFLICTS[0])
    return error


def test_waits_grow_and_are_random(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    tries = iter([*[lost() for _ in range(8)], None])

    def attempt() -> str:
        failed = next(tries)
        if failed is not None:
            raise failed
        return "done"

    assert retry("x.y", 8, attempt) == ("done", 8)
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True)), waits


def test_last_retry_fails_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise lost()

    with pytest.raises(EngineError, match=r"^x\.y: other writers changed the table during each of 3 tries; run again"):
        retry("x.y", 2, attempt)
    assert len(calls) == 3


def test_shared_checkpoint_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)

    def attempt() -> None:
        error = EngineError("x.y: another stream writes with the same checkpoint; let one stream alone use it")
        raise error from RuntimeError("[DELTA_CONCURRENT_TRANSACTION] x")

    with pytest.raises(EngineError, match="the same checkpoint; let one stream alone use it"):
        retry("x.y", 2, attempt)


def test_other_errors_are_not_retried() -> None:
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise DataError("x.y: two changes of one key and time")

    with pytest.raises(DataError):
        retry("x.y", 5, attempt)
    assert len(calls) == 1


def test_non_empty_folder_is_retried_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer may be about to write its log there; if none appears, the folder is reported."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    calls: list[int] = []

    def attempt(ready: int) -> int:
        calls.append(1)
        if len(calls) < ready:
            error = EngineError("x.y: Cannot create table, the location is not empty")
            error.__cause__ = RuntimeError("[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] Cannot create table")
            raise error
        return 1

    assert retry("x.y", 5, lambda: attempt(3)) == (1, 2)
    calls.clear()
    with pytest.raises(EngineError, match=r"not empty$"):
        retry("x.y", 5, lambda: attempt(9))
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(EngineError, match=r"not empty$"):
        retry("x.y", 0, lambda: attempt(9))
    assert len(calls) == 1
