"""Retries a run that lost the race to another writer, or whose source got rows between two of its statements.

Delta commits a MERGE only if no version since its start has touched the files that it read. So a try that lost has
changed nothing, and the next one computes everything again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from scdgen.errors import DataError, EngineError, ScdgenError
from scdgen.patterns.source import SOURCE_CHANGED
from scdgen.run.delta import is_conflict, is_occupied_location, is_transaction_conflict

RETRIES = 5
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds
_OCCUPIED_TRIES = 3

Result = TypeVar("Result")


def retry(
    target: str,
    retries: int,
    attempt: Callable[[], Result],
    clear: Callable[[BaseException], bool] = lambda _: False,
) -> tuple[Result, int]:
    """Call ``attempt``, up to ``retries`` times more while other writers are first, in the table or in the source.

    Returns the result and the number of tries lost before it. ``clear`` is called if files are in the table's place
    and no other process seems to write there: it returns whether they are gone, so that a last try has a chance.

    Waits before each further try: twice as long as before, up to ten seconds, less a random part, so that writers
    which met once do not meet again.

    Raises:
        EngineError: every try lost.
        DataError: the source got rows during the last try.
    """
    number = 0
    while True:
        try:
            return attempt(), number
        except ScdgenError as error:
            occupied = is_occupied_location(error)
            unsure = occupied and number + 1 < min(_OCCUPIED_TRIES, retries + 1)
            grew = isinstance(error, DataError) and error.rule == SOURCE_CHANGED
            if not (unsure or grew or is_conflict(error)):
                if occupied and clear(error):
                    return attempt(), number
                raise
            if number == retries and (grew or is_transaction_conflict(error)):
                raise  # more tries may not help, and these errors have messages of their own
            if number == retries:
                tries = "the only try" if retries == 0 else f"each of {retries + 1} tries"
                message = (
                    f"{target}: other writers changed the table during {tries}; run again when fewer write to it, "
                    "or allow more with --retries"
                )
                raise EngineError(message) from error
            time.sleep(min(_LONGEST_WAIT, _FIRST_WAIT * 2**number) * random.uniform(0.5, 1))
            number += 1
