"""When a run is retried, without Spark."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from scdgen import DataError, EngineError, Runner
from scdgen.cli.options import parse_seconds
from scdgen.cli.run import run
from scdgen.run.delta import RETRY_FOR, RetryLimit, is_conflict, retry

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

    assert retry("x.y", RetryLimit(times=8), attempt) == ("done", 8)
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True)), waits


def test_last_retry_fails_with_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise lost()

    with pytest.raises(EngineError, match=r"^x\.y: other writers changed the table during each of 3 tries; run again"):
        retry("x.y", RetryLimit(times=2), attempt)
    assert len(calls) == 3


class Clock:
    """Time that passes only in ``sleep`` and ``attempt``, which loses ``losses`` times and takes ``takes`` seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, losses: int, takes: float):
        self.now, self.tries, self.losses, self.takes = 1000.0, 0, losses, takes
        monkeypatch.setattr("scdgen.run.delta.time", SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep))

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def attempt(self) -> str:
        self.tries += 1
        self.now += self.takes
        if self.tries <= self.losses:
            raise lost()
        return "done"


def test_a_writer_among_many_goes_on_for_ten_minutes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its number of tries does not matter. One line says that it waits."""
    caplog.set_level("INFO", "scdgen")
    clock = Clock(monkeypatch, losses=20, takes=15)
    assert retry("x.y", RetryLimit(), clock.attempt) == ("done", 20)
    assert caplog.messages == ["x.y: another writer was first; trying again for up to 600 seconds"]
    clock = Clock(monkeypatch, losses=10**6, takes=15)
    with pytest.raises(EngineError) as spent:
        retry("x.y", RetryLimit(), clock.attempt)
    assert RETRY_FOR == 600 and 600 <= clock.now - 1015 <= 620, "the last try begins in time"
    assert str(spent.value) == (
        f"x.y: other writers changed the table during each of {clock.tries} tries; run again when fewer write to it, "
        "or allow more with --retry-for"
    )


def test_the_time_counts_from_the_first_lost_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A MERGE that takes longer than the time gets one more try."""
    clock = Clock(monkeypatch, losses=1, takes=3600)
    assert retry("x.y", RetryLimit(), clock.attempt) == ("done", 1)
    clock = Clock(monkeypatch, losses=1, takes=1)
    with pytest.raises(EngineError, match=r"during the only try; .* with --retry-for$"):
        retry("x.y", RetryLimit(0), clock.attempt)


def test_both_limits(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "scdgen")
    clock = Clock(monkeypatch, losses=9, takes=1)
    with pytest.raises(EngineError, match=r"each of 4 tries; .* with --retries$"):
        retry("x.y", RetryLimit(90, 3), clock.attempt)
    clock.tries = 0
    with pytest.raises(EngineError, match=r"each of 3 tries; .* with --retry-for$"):
        retry("x.y", RetryLimit(2, 3), clock.attempt)
    line = "x.y: another writer was first; trying again for up to"
    assert caplog.messages == [f"{line} 90 seconds", f"{line} 2 seconds"]


def test_the_limits_of_a_runner() -> None:
    """A timedelta or seconds; the runner of another session has the limits of the first."""
    hour = dt.timedelta(hours=1)
    runners = Runner(Mock()), Runner(Mock(), retry_for=hour), Runner(Mock(), retry_for=2.5, retries=3)
    limits = [RetryLimit(600), RetryLimit(3600), RetryLimit(2.5, 3)]
    assert limits == [runner.limit for runner in runners] == [r._on_session_of(Mock()).limit for r in runners]


def test_the_time_of_the_command_line() -> None:
    texts = {"0s": 0, "30s": 30, "10m": 600, "2h": 7200, "1 d": 86400}
    assert {text: parse_seconds("--retry-for", text) for text in texts} == texts
    default = next(param for param in run.params if param.name == "retry_for").default
    assert parse_seconds("--retry-for", str(default)) == RETRY_FOR


def test_shared_checkpoint_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)

    def attempt() -> None:
        error = EngineError("x.y: another stream writes with the same checkpoint; let one stream alone use it")
        raise error from RuntimeError("[DELTA_CONCURRENT_TRANSACTION] x")

    with pytest.raises(EngineError, match="the same checkpoint; let one stream alone use it"):
        retry("x.y", RetryLimit(times=2), attempt)


def test_other_errors_are_not_retried() -> None:
    calls = []

    def attempt() -> None:
        calls.append(1)
        raise DataError("x.y: two changes of one key and time")

    with pytest.raises(DataError):
        retry("x.y", RetryLimit(times=5), attempt)
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

    assert retry("x.y", RetryLimit(times=5), lambda: attempt(3)) == (1, 2)
    calls.clear()
    with pytest.raises(EngineError, match=r"not empty$"):
        retry("x.y", RetryLimit(times=5), lambda: attempt(9))
    assert len(calls) == 3
    calls.clear()
    with pytest.raises(EngineError, match=r"not empty$"):
        retry("x.y", RetryLimit(times=0), lambda: attempt(9))
    assert len(calls) == 1
