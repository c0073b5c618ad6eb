"""Everything that depends on Delta Lake: the log of a table, restore, transactions and conflicts.

Each commit of a run names the run in ``userMetadata``, so that the log, which always agrees with the table, is the
only store of runs.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import random
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from scdgen.compile.dates import order_times
from scdgen.engine.session import set_while
from scdgen.errors import DataError, EngineError, ScdgenError
from scdgen.facts.base import SOURCE_CHANGED
from scdgen.model.spec import Spec
from scdgen.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

_log = logging.getLogger(__name__)

RETRY_FOR = 600.0  # seconds
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds
_OCCUPIED_TRIES = 3

Result = TypeVar("Result")

_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_APP, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"

# Delta's error conditions, and its exceptions' names for texts without a condition (Delta 3, Spark Connect).
_CONFLICT = re.compile(
    r"\bDELTA_(CONCURRENT_(APPEND|DELETE_READ|DELETE_DELETE|TRANSACTION|WRITE)|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
    # Every CREATE has IF NOT EXISTS, so one that fails because the object exists has lost a race too.
    r"|\b(TABLE_OR_VIEW_ALREADY_EXISTS|SCHEMA_ALREADY_EXISTS|DELTA_TABLE_ALREADY_EXISTS)\b"
    r"|\b(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write)|MetadataChanged|ProtocolChanged)Exception\b"
)
# Two streams use one checkpoint.
_TRANSACTION_CONFLICT = re.compile(r"\b(DELTA_CONCURRENT_TRANSACTION|ConcurrentTransactionException)\b")
# A CREATE found files without a log, of another CREATE that is in progress or was interrupted.
_OCCUPIED = re.compile(r"\bDELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\b")
_MERGE, _RESTORE = "MERGE", "RESTORE"  # what changes the rows of a run, and what goes back to a version

# What a commit says of its run, and the metrics of Delta that a Commit has.
_NOTED = ("run", "spec", "spec_hash", "undoes", "taken", "feed", "rewound")
_METRICS = {
    "inserted": "numTargetRowsInserted",
    "updated": "numTargetRowsUpdated",
    "deleted": "numTargetRowsDeleted",
    "refreshed": "numTargetRowsNotMatchedBySourceUpdated",
    "files_added": "numTargetFilesAdded",
    "files_removed": "numTargetFilesRemoved",
}


def new_run_id() -> str:
    """Generate an id for a run: its start in UTC and a random part, such as ``20240501T060000-3fa9c1``."""
    return f"{dt.datetime.now(dt.timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def hash_spec(spec: Spec) -> str:
    """Hash a spec's options to twelve hex digits; layout, comments and path do not count."""
    text = spec.whole.model_dump_json(by_alias=True, exclude_defaults=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@contextmanager
def note_run(spark: SparkSession, spec: Spec, run_id: str, **more: str) -> Iterator[str]:
    """Add the run's id, the spec's path and hash, and ``more`` to each commit made in this block.

    Yields the id, or an empty one if the session refuses the setting, so that its commits do not name the run.
    """
    note = {"scdgen": __version__, "run": run_id, "spec": spec.origin, "spec_hash": hash_spec(spec), **more}
    if spec.feed and not {"undoes", "rewound"} & more.keys():  # which read no source
        note["feed"] = spec.feed
    if spec.environment:
        note["target"] = spec.environment
    with set_while(spark, {_METADATA: json.dumps(note)}) as taken:
        yield run_id if taken else ""


@dataclass(frozen=True)
class Commit:
    """A version of a table in Delta's log. A count is ``None`` if the operation does not report it."""

    version: int
    """Its number."""
    at: dt.datetime
    """When it was committed, in local time, without a zone."""
    operation: str
    """Delta's name of the operation, such as ``MERGE``."""
    run: str = ""
    """The id of the run that wrote it; empty if none did."""
    spec: str = ""
    """The file of its spec; empty if no run or undo wrote it."""
    spec_hash: str = ""
    """The hash of that spec; empty if no run or undo wrote it."""
    undoes: str = ""
    """The id of the run that it undoes; empty if it undoes none."""
    inserted: int | None = None
    """The number of rows that it inserted."""
    updated: int | None = None
    """The number of rows that it updated, ``refreshed`` included."""
    deleted: int | None = None
    """The number of rows that it deleted."""
    refreshed: int | None = None
    """The number of rows that it updated without a match in the source."""
    files_added: int | None = None
    """The number of data files that it added."""
    files_removed: int | None = None
    """The number of data files that it removed."""
    taken: str = ""
    """The time at which the snapshot was taken, in the session's time zone; empty if the run did not read one."""
    feed: str = ""
    """The name of the source that the run read; empty if its spec had only one."""
    rewound: str = ""
    """The time that the run took the table back to, in the session's time zone; empty for other runs."""

    def describe(self) -> str:
        """Describe the operation and the rows that it changed."""
        if self.inserted is None:
            return self.operation
        return f"{self.operation}: {self.inserted} inserted, {self.updated or 0} updated, {self.deleted or 0} removed"

    @classmethod
    def from_history(cls, row: Mapping[str, Any]) -> Commit:
        """Read a row of ``DESCRIBE HISTORY``."""
        try:
            note = json.loads(str(row.get("userMetadata")))
        except ValueError:  # other tools may write any text there
            note = None
        known: dict[str, Any] = {}
        if isinstance(note, dict) and "scdgen" in note:
            known = {name: str(note[name]) for name in _NOTED if name in note}
        metrics = row.get("operationMetrics") or {}
        # Delta leaves out the metrics that an operation does not have.
        known |= {name: int(metrics[key]) for name, key in _METRICS.items() if key in metrics}
        return cls(int(row["version"]), row["timestamp"], str(row["operation"]), **known)


def read_log(spark: SparkSession, table: str, limit: int | None = None) -> list[Commit]:
    """Read the versions of a table that are still in its log, newest first."""
    rows = spark.sql(f"DESCRIBE HISTORY {table}{f' LIMIT {limit}' if limit else ''}").collect()
    return [Commit.from_history(row.asDict(recursive=True)) for row in rows]


def compares_snapshots(spec: Spec) -> bool:
    """Whether the times of a spec's snapshots show their order: each is given, and is that of the whole table."""
    return (
        spec.reads_snapshot
        and spec.snapshot is not None
        and "taken_at" in spec.snapshot.model_fields_set
        and spec.snapshot.scope is None
    )


def find_newer_snapshot(log: Sequence[Commit], taken: str) -> str:
    """Find the time of the newest snapshot in a log, newest commit first; empty if it was not taken after ``taken``.

    Snapshots that were undone do not count, nor those before a RESTORE by hand, nor what a rewind took out.
    """
    undone, newest, left = {commit.undoes for commit in log}, taken, ""
    for commit in log:
        if commit.operation == _RESTORE and not commit.run:
            break
        if commit.run in undone:
            continue
        if commit.rewound:
            left = min(left or commit.rewound, commit.rewound, key=order_times)
        elif commit.taken and (not left or order_times(commit.taken) <= order_times(left)):
            newest = max(newest, commit.taken, key=order_times)
    return newest if newest != taken else ""


def read_detail(spark: SparkSession, table: str) -> Row:
    """Read the format, size and properties of a table."""
    return spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]


@dataclass(frozen=True)
class Undo:
    """The plan of an undo."""

    target: str
    """The name of the table."""
    run: str
    """The id of the run to undo."""
    made: tuple[Commit, ...]
    """The run's commits, newest first."""
    back_to: int
    """The version to restore."""
    newest: int
    """The newest version of the table."""


# Operations that do not change rows, so they may follow a run that is to be undone.
_HARMLESS = frozenset({"OPTIMIZE", "REORG", "VACUUM START", "VACUUM END"})


def plan_undo(spec: Spec, run: str, log: Sequence[Commit]) -> Undo:
    """Plan how to undo a run. Raises :class:`DataError` if that would undo more than the run, or nothing."""
    made = _find_run(spec, run, log)
    undone = next((commit for commit in log if commit.undoes == run), None)
    if undone is not None:
        raise DataError(f"{spec.target}: the run {run} was undone by version {undone.version}")
    # A run that fails after it has changed columns restores the table by itself.
    # The log has the newest first: reversed, the last commit of each run stays in the dictionary.
    last = {commit.run: commit for commit in reversed(log) if commit.run}
    failed = {name for name, commit in last.items() if commit.operation == _RESTORE and not commit.undoes}
    if run in failed:
        raise DataError(f"{spec.target}: the run {run} failed, and took itself back by version {last[run].version}")
    taken_back = {commit.undoes for commit in log if commit.undoes} | failed
    # Refuse to take later changes back with the run, except those that are not in effect, and those without rows.
    for commit in log:
        in_effect = not (commit.undoes or commit.run in taken_back or commit.operation in _HARMLESS)
        if commit.version > made[0].version and in_effect:
            by = f"the run {commit.run}" if commit.run else "no run"
            raise DataError(
                f"{spec.target}: version {commit.version} ({commit.operation}, by {by}) came after the run {run}, and "
                "would be undone with it; undo the later runs first, or restore an earlier version by hand"
            )
    rows = [commit for commit in made if commit.operation == _MERGE]
    first = made[-1].version
    # Undoing the run that created the table leaves an empty table, to keep its views and grants.
    if first == 0 and not rows:
        raise DataError(f"{spec.target}: the run {run} made the table and merged nothing; there is nothing to undo")
    # For a run that made the table, go back to the version before its first MERGE, not to before the CREATE.
    back_to = rows[-1].version - 1 if first == 0 else first - 1
    _require_version(spec, run, log, back_to)
    return Undo(spec.target, run, made, back_to, log[0].version)


def _find_run(spec: Spec, run: str, log: Sequence[Commit]) -> tuple[Commit, ...]:
    """The commits of a run, newest first. Raises :class:`DataError` if the log has none."""
    made = tuple(commit for commit in log if commit.run == run)
    if not made:
        known = list(dict.fromkeys(commit.run for commit in log if commit.run))
        listed = f"the newest are {', '.join(known[:3])}" if known else "no run has changed it"
        raise DataError(f"{spec.target}: no version is by the run {run}; {listed}; see `scdgen history`")
    return made


def _require_version(spec: Spec, run: str, log: Sequence[Commit], version: int) -> None:
    if not any(commit.version == version for commit in log):
        what = f"version {version}, before the run {run}, has been removed from the table's log"
        raise DataError(f"{spec.target}: {what}")


def find_versions(spec: Spec, run: str, log: Sequence[Commit]) -> tuple[int, int]:
    """Find the versions before and after a run changed rows; they are the same if it changed none.

    Raises :class:`DataError` if the log lacks the run or the version before it, if the run is an undo, or if another
    commit changed rows in between.
    """
    made = _find_run(spec, run, log)
    if other := made[0].undoes:
        raise DataError(f"{spec.target}: the run {run} is the undo of {other}; name that run to see what was undone")
    # Compare only versions that the MERGE made; the others of a run change the columns.
    rows = [commit for commit in made if commit.operation == _MERGE]
    if not rows:
        return made[0].version, made[0].version
    first, last = rows[-1].version, rows[0].version
    _require_version(spec, run, log, first - 1)
    # Refuse if rows of another writer would be shown as changes of this run.
    for commit in log:
        if first < commit.version < last and commit.run != run and commit.operation not in _HARMLESS:
            raise DataError(
                f"{spec.target}: version {commit.version} ({commit.operation}) is between the versions of the run "
                f"{run}, but not by it; give each run a different id to compare them one by one"
            )
    return first - 1, last


@contextmanager
def skip_known_batch(spark: SparkSession, spec: Spec, application: str, batch: int) -> Iterator[None]:
    """Make Delta skip the writes in this block to a table that has already committed this batch of an application.

    Raises :class:`EngineError` if the session refuses the settings, because a batch could then be counted twice.
    """
    with set_while(spark, {_APP: application, _VERSION: str(batch)}) as taken:
        if not taken:
            raise EngineError(
                f"{spec.target}: this session does not let {_APP} be set, by which Delta passes over a batch that it "
                "has taken in; stream on compute that does, which serverless does not, or schedule `scdgen run`"
            )
        yield


def is_conflict(error: BaseException) -> bool:
    """Whether Delta rejected a commit or a CREATE because another writer was first."""
    return _mentions(error, _CONFLICT)


def _mentions(error: BaseException, what: re.Pattern[str]) -> bool:
    cause: BaseException | None = error
    while cause is not None and not what.search(f"{type(cause).__name__} {cause}"):
        cause = cause.__cause__
    return cause is not None


@dataclass(frozen=True)
class RetryLimit:
    """How long a run starts over: by time, because a busy machine makes few tries and loses each more easily."""

    seconds: float = RETRY_FOR
    """The seconds after its first lost try in which it starts over."""
    times: int | None = None
    """The most times that it starts over; ``None`` for any number."""

    def explain_end(self, target: str, retries: int) -> str:
        """The message for a run whose every try lost."""
        tries = "the only try" if retries == 0 else f"each of {retries + 1} tries"
        more = "--retries" if retries == self.times else "--retry-for"
        way_out = f"run again when fewer write to it, or allow more with {more}"
        return f"{target}: other writers changed the table during {tries}; {way_out}"


def retry(target: str, limit: RetryLimit, attempt: Callable[[], Result]) -> tuple[Result, int]:
    """Call ``attempt``, again until ``limit`` after conflicts with other writers of the table or the source.

    Returns the result and the number of retries.

    Delta commits a MERGE only if no version since its start has touched the files that it read, so that a failed
    attempt has changed nothing. Waits before each retry, twice as long each time, up to ten seconds, less a random
    part, so that the same writers do not collide again.

    Raises:
        EngineError: every attempt failed on a conflict.
        DataError: during the last attempt the source got rows, or another run closed a version.
    """
    number, first_lost, noted = 0, 0.0, False
    while True:
        try:
            return attempt(), number
        except ScdgenError as error:
            # Count the time from the first conflict, so that a long attempt does not use it up.
            now = time.monotonic()
            first_lost = first_lost if number else now
            spent = now - first_lost >= limit.seconds or number == limit.times
            # Files without a table: another run may be creating it, so wait for that.
            unsure = _mentions(error, _OCCUPIED) and not spent and number + 1 < _OCCUPIED_TRIES
            grew = isinstance(error, DataError) and error.rule == SOURCE_CHANGED
            # Pass on what another try does not change, and what more tries may not help with.
            is_lost = unsure or grew or is_conflict(error)
            if not is_lost or (spent and (grew or _mentions(error, _TRANSACTION_CONFLICT))):
                raise
            if spent:
                raise EngineError(limit.explain_end(target, number)) from error
            if not (noted or unsure):
                what = "the source or the table changed during the run" if grew else "another writer was first"
                _log.info(f"{target}: {what}; trying again for up to {limit.seconds:g} seconds")
                noted = True
            # Wait longer each time, but not beyond the limit.
            wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(number, 10)) * random.uniform(0.5, 1)
            time.sleep(min(wait, first_lost + limit.seconds - now))  # the last try starts when the time ends
            number += 1
