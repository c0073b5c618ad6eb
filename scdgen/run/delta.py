"""Runs in Delta's own log: each commit of a run names the run, its spec and the spec's hash (``userMetadata``).

The log is the one place that cannot differ from the table, so that ``scdgen history`` needs no table of its own, and
``scdgen undo`` knows which versions a run made.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.settings import set_while
from scdgen.errors import DataError
from scdgen.spec.model import Spec
from scdgen.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def new_run_id() -> str:
    """A name for a run: when it began in UTC, and a random part, as in ``20240501T060000-3fa9c1``."""
    return f"{dt.datetime.now(dt.timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def spec_hash(spec: Spec) -> str:
    """Twelve hex digits that change with what a spec says, not with its layout, its comments or its place."""
    text = spec.model_dump_json(by_alias=True, exclude_defaults=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@contextmanager
def noted(spark: SparkSession, spec: Spec, run_id: str, **more: str) -> Iterator[str]:
    """Inside of this every commit carries the run's id, the spec's place and hash, and ``more``.

    Gives the id, or an empty one where the session refuses the setting, and its commits name no run.
    """
    note = {"scdgen": __version__, "run": run_id, "spec": spec.origin, "spec_hash": spec_hash(spec), **more}
    with set_while(spark, {_METADATA: json.dumps(note)}) as taken:
        yield run_id if taken else ""


@dataclass(frozen=True)
class Commit:
    """A version of a table as Delta's log tells it. ``run`` is empty where no run made it, ``undoes`` if no undo did.

    ``inserted``, ``updated`` and ``deleted`` are rows, ``None`` where the operation does not count them.
    """

    version: int
    at: dt.datetime
    operation: str
    run: str = ""
    spec: str = ""
    spec_hash: str = ""
    undoes: str = ""
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    refreshed: int | None = None  # updated without a partner in the source
    files_added: int | None = None
    files_removed: int | None = None

    def told(self) -> str:
        """What it did, in words."""
        if self.inserted is None:
            return self.operation
        return f"{self.operation}: {self.inserted} inserted, {self.updated or 0} updated, {self.deleted or 0} removed"

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Commit:
        """A row of ``DESCRIBE HISTORY``."""
        note, metrics = _note(row.get("userMetadata")), row.get("operationMetrics") or {}

        def count(name: str) -> int | None:
            return int(metrics[name]) if name in metrics else None

        return cls(
            version=int(row["version"]),
            at=row["timestamp"],
            operation=str(row["operation"]),
            run=note.get("run", ""),
            spec=note.get("spec", ""),
            spec_hash=note.get("spec_hash", ""),
            undoes=note.get("undoes", ""),
            inserted=count("numTargetRowsInserted"),
            updated=count("numTargetRowsUpdated"),
            deleted=count("numTargetRowsDeleted"),
            refreshed=count("numTargetRowsNotMatchedBySourceUpdated"),
            files_added=count("numTargetFilesAdded"),
            files_removed=count("numTargetFilesRemoved"),
        )


def _note(text: object) -> dict[str, str]:
    """What a commit says of its run; nothing where somebody else wrote it, in whatever form."""
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    if not isinstance(found, dict) or "scdgen" not in found:
        return {}
    return {str(name): str(value) for name, value in found.items()}


def commits(spark: SparkSession, table: str, limit: int | None = None) -> list[Commit]:
    """The versions of a table that its log still holds, the newest first."""
    rows = spark.sql(f"DESCRIBE HISTORY {table}{f' LIMIT {limit}' if limit else ''}").collect()
    return [Commit.of(row.asDict(recursive=True)) for row in rows]


@dataclass(frozen=True)
class Undo:
    """How a run is undone: its versions, the newest first, the one to go back to, and the table's newest."""

    target: str
    run: str
    made: tuple[Commit, ...]
    back_to: int
    newest: int

    def statement(self, spec: Spec) -> str:
        """The SQL that undoes it."""
        return f"RESTORE TABLE {sql.quote_parts(spec.target_parts)} TO VERSION AS OF {self.back_to}"


# What changes no row that a reader sees, and so may have come after a run that is to be undone.
_HARMLESS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})


def undo_of(spec: Spec, run: str, log: Sequence[Commit]) -> Undo:
    """How to undo a run; raises :class:`DataError` where that would undo more than the run, or nothing."""
    made = tuple(commit for commit in log if commit.run == run)
    if not made:
        known = list(dict.fromkeys(commit.run for commit in log if commit.run))
        listed = f"the newest are {', '.join(known[:3])}" if known else "no run has changed it"
        raise DataError(f"{spec.target}: no version is by the run {run}; {listed}; see `scdgen history`")
    undone = next((commit for commit in log if commit.undoes == run), None)
    if undone is not None:
        raise DataError(f"{spec.target}: the run {run} was undone by version {undone.version}")
    taken_back = {commit.undoes for commit in log if commit.undoes}
    for commit in log:
        stands = not (commit.undoes or commit.run in taken_back or commit.operation in _HARMLESS)
        if commit.version > made[0].version and stands:
            by = f"the run {commit.run}" if commit.run else "no run"
            raise DataError(
                f"{spec.target}: version {commit.version} ({commit.operation}, by {by}) came after the run {run}, and "
                "would be undone with it; undo the later runs first, or RESTORE the table by hand"
            )
    rows = [commit for commit in made if commit.operation == "MERGE"]
    first = made[-1].version
    # A run that made the table leaves it there, without rows: views and grants stay.
    if first == 0 and not rows:
        raise DataError(f"{spec.target}: the run {run} made the table and merged nothing; there is nothing to undo")
    back_to = rows[-1].version - 1 if first == 0 else first - 1
    if not any(commit.version == back_to for commit in log):
        raise DataError(f"{spec.target}: version {back_to}, before the run {run}, is no longer in the table's log")
    return Undo(spec.target, run, made, back_to, log[0].version)
