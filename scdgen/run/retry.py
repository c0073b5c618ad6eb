"""Delta's conflicts: a run that lost the race to another writer begins again on the version that the other one made.

So does one whose source got rows between two of its statements.

Delta commits a MERGE only where no version since its start has touched the files that it read, so that a try which
lost has changed nothing, and the next one works out everything anew.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

from scdgen.errors import DataError, EngineError, ScdgenError
from scdgen.patterns.source import SOURCE_CHANGED

RETRIES = 5
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds

# Delta's error conditions, and its exceptions' names where a text has no condition (Delta 3, Spark Connect).
_CONFLICT = re.compile(
    r"\bDELTA_(CONCURRENT_(APPEND|DELETE_READ|DELETE_DELETE|TRANSACTION|WRITE)|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
    # Every CREATE says IF NOT EXISTS: one that is refused because of it lost the same race.
    r"|\b(TABLE_OR_VIEW_ALREADY_EXISTS|SCHEMA_ALREADY_EXISTS|DELTA_TABLE_ALREADY_EXISTS)\b"
    r"|\b(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write)|MetadataChanged|ProtocolChanged)Exception\b"
)

# Another writer's CREATE that has begun its files and not yet its log; or files that were left there, which stay.
_UNSURE, _UNSURE_TRIES = re.compile(r"\bDELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\b"), 3

# Two streams that count their batches in one checkpoint.
_TWO_STREAMS = re.compile(r"\b(DELTA_CONCURRENT_TRANSACTION|ConcurrentTransactionException)\b")

Result = TypeVar("Result")


def is_conflict(error: BaseException) -> bool:
    """Whether an error, or what caused it, is Delta's word that another writer was first."""
    return _says(error, _CONFLICT)


def _says(error: BaseException, what: re.Pattern[str]) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if what.search(f"{type(seen).__name__} {seen}"):
            return True
        seen = seen.__cause__
    return False


def retried(
    target: str,
    retries: int,
    attempt: Callable[[], Result],
    cleared: Callable[[BaseException], bool] = lambda _: False,
) -> tuple[Result, int]:
    """The result of ``attempt``, which is called again up to ``retries`` times while other writers are first.

    They are so in the table, or in the source that ``attempt`` reads more than once.

    Gives the result and how many tries were lost before it. ``cleared`` is asked where files are in the place of the
    table and nobody seems to be at work there: whether they are gone now, so that a last try has a chance.

    Waits before each further try: twice as long as before, up to ten seconds, of which a random part is left out, so
    that writers which met once do not meet again.

    Raises:
        EngineError: every try lost.
        DataError: the source got rows during the last try.
    """
    number = 0
    while True:
        try:
            return attempt(), number
        except ScdgenError as error:
            unsure = _says(error, _UNSURE) and number + 1 < min(_UNSURE_TRIES, retries + 1)
            grew = isinstance(error, DataError) and error.rule == SOURCE_CHANGED
            if not (unsure or grew or is_conflict(error)):
                if _says(error, _UNSURE) and cleared(error):
                    return attempt(), number
                raise
            if number == retries and (grew or _says(error, _TWO_STREAMS)):
                raise  # what more tries may not mend is told in words of its own
            if number == retries:
                tries = "the only try" if retries == 0 else f"each of {retries + 1} tries"
                message = (
                    f"{target}: other writers changed the table during {tries}; run again when fewer write to it, "
                    "or allow more with --retries"
                )
                raise EngineError(message) from error
            time.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**number) * random.uniform(0.5, 1))
            number += 1
