"""Work on many specs over several processes: results in the order of the items, errors as without processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from scdgen.errors import EngineError, line_and_status

Item = TypeVar("Item")
Result = TypeVar("Result")

MANY = 50  # up to so many items the processes would cost more than they save
_CHUNK = 4  # items that go to a process at once


class Each(Protocol):
    """A way to go through items."""

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]:
        """The result of each item, in order; an item's error is raised where its result would come."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_turn(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Each item in this process."""
    return map(work, items)


@contextmanager
def workers(items: int, jobs: int | None = None) -> Iterator[Each]:
    """How to go through so many items: in this process, or where there are many in ``jobs`` (default: all cores).

    Work and items have to be picklable. At the end, and after an error or Ctrl-C, the processes are gone.
    """
    count = min(jobs or cores(), items // _CHUNK)
    pool = _pool(count) if items > MANY and count > 1 else None
    if pool is None:
        yield in_turn
        return
    try:
        yield lambda work, items: _spread(pool, count, work, items)
    except BrokenProcessPool as error:
        hint = "where memory is short, run again with --jobs 1"
        raise EngineError(f"one of {count} processes was killed by the system; {hint}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _pool(count: int) -> ProcessPoolExecutor | None:
    """The processes; ``None`` where the system has none to give, as in some sandboxes."""
    # A fork begins with what is imported here; elsewhere than on Linux it is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    try:
        return ProcessPoolExecutor(count, context, _begin)
    except (ImportError, NotImplementedError, OSError):
        return None


def _begin() -> None:
    """In each process: Ctrl-C is for the parent to answer, and none outlives it.

    Syntax trees are many objects that all go at once, so that looking for lost ones early costs more than it brings.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass(frozen=True)
class _Failure:
    """An error, and where it came from in the other process."""

    error: Exception
    trace: str


def _spread(
    pool: ProcessPoolExecutor, count: int, work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Result]:
    """Results in order. Only so much is under way at a time that memory does not grow with the number of items."""
    left, under_way = iter(items), deque[Future[list[Result | _Failure]]]()
    while True:
        while len(under_way) < 4 * count and (chunk := list(islice(left, _CHUNK))):
            under_way.append(pool.submit(_do, work, chunk))
        if not under_way:
            return
        for result in under_way.popleft().result():
            if isinstance(result, _Failure):
                raise result.error from RuntimeError(f"in another process\n{result.trace}")
            yield result


def _do(work: Callable[[Item], Result], chunk: list[Item]) -> list[Result | _Failure]:
    """The results of a chunk, up to the first error."""
    done: list[Result | _Failure] = []
    for item in chunk:
        try:
            done.append(work(item))
        except Exception as error:
            done.append(_Failure(_portable(error), traceback.format_exc()))
            break
    return done


def _portable(error: Exception) -> Exception:
    """An error that comes through to the parent: itself, or its line where it cannot be made again there."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(line_and_status(error)[0])
    return error
