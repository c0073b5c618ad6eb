"""What a run and a check give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunResult:
    """What a run did. ``inserted``, ``updated`` and ``deleted`` are rows, from the result of the MERGE itself.

    ``skipped`` is how many rows of the source had a NULL in a key or in effective_at (with ``bad_rows: skip``),
    ``version`` the Delta version after the run (the one before it where nothing changed), ``created`` whether the run
    made the table, ``added`` the columns that it added, ``seconds`` the time of the whole run, ``retries`` how often it
    began again because another writer was first, ``run_id`` its name in Delta's log.
    """

    target: str
    inserted: int
    updated: int
    deleted: int
    version: int
    created: bool
    seconds: float
    skipped: int = 0
    added: tuple[str, ...] = ()
    retries: int = 0
    run_id: str = ""


@dataclass(frozen=True)
class CheckResult:
    """A check's name, how many rows break it (0 is good), and up to ``limit`` of them."""

    name: str
    failures: int
    sample: list[dict[str, Any]]
