"""What depends on Delta Lake: the log of a table, its versions, transactions, conflicts, retries and unfinished tables.

Each commit of a run names the run, its spec and the spec's hash in ``userMetadata``. The log is the one place that
cannot differ from the table, so ``scdgen history`` needs no table of its own, and ``scdgen undo`` knows which versions
a run made.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import random
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scdgen import sql
from scdgen.engine.session import set_while
from scdgen.errors import DataError, EngineError, ScdgenError
from scdgen.patterns.source import SOURCE_CHANGED
from scdgen.spec.model import Spec
from scdgen.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RETRIES = 5
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 10.0  # seconds
_OCCUPIED_TRIES = 3

Result = TypeVar("Result")

_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
_APP, _VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"

# Delta's error conditions, and its exceptions' names for texts without a condition (Delta 3, Spark Connect).
_CONFLICT = re.compile(
    r"\bDELTA_(CONCURRENT_(APPEND|DELETE_READ|DELETE_DELETE|TRANSACTION|WRITE)|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
    # Every CREATE says IF NOT EXISTS: one that is refused because of it lost the same race.
    r"|\b(TABLE_OR_VIEW_ALREADY_EXISTS|SCHEMA_ALREADY_EXISTS|DELTA_TABLE_ALREADY_EXISTS)\b"
    r"|\b(Concurrent(Append|DeleteRead|DeleteDelete|Transaction|Write)|MetadataChanged|ProtocolChanged)Exception\b"
)
_TRANSACTION_CONFLICT = re.compile(r"\b(DELTA_CONCURRENT_TRANSACTION|ConcurrentTransactionException)\b")
# A version whose files or log are gone.
_GONE = re.compile(
    r"\bFAILED_READ_FILE\.FILE_NOT_EXIST\b|\bDELTA_(FILE_NOT_FOUND\w*|VERSION_NOT_FOUND|VERSIONS_NOT_CONTIGUOUS)\b"
    r"|\b(FileNotFound|VersionNotFound)Exception\b"
)
_OCCUPIED = re.compile(r"\bDELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\b")

_SETTLED = 1.0  # seconds in which another process that creates a table writes something


# The log


def new_run_id() -> str:
    """A name for a run: when it began in UTC, and a random part, as in ``20240501T060000-3fa9c1``."""
    return f"{dt.datetime.now(dt.timezone.utc):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def hash_spec(spec: Spec) -> str:
    """Twelve hex digits that change with what a spec says, not with its layout, its comments or its path."""
    text = spec.model_dump_json(by_alias=True, exclude_defaults=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@contextmanager
def note_run(spark: SparkSession, spec: Spec, run_id: str, **more: str) -> Iterator[str]:
    """Add the run's id, the spec's path and hash, and ``more`` to each commit made in this block.

    Yields the id, or an empty one if the session refuses the setting and its commits name no run.
    """
    note = {"scdgen": __version__, "run": run_id, "spec": spec.origin, "spec_hash": hash_spec(spec), **more}
    with set_while(spark, {_METADATA: json.dumps(note)}) as taken:
        yield run_id if taken else ""


@dataclass(frozen=True)
class Commit:
    """A version of a table in Delta's log. ``run`` is empty if no run made it, ``undoes`` if no undo did.

    ``inserted``, ``updated`` and ``deleted`` are rows, ``None`` if the operation does not count them.
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

    @property
    def merges(self) -> bool:
        """Whether it is a MERGE, which alone changes rows of a run."""
        return self.operation == "MERGE"

    def describe(self) -> str:
        """What it did, in words."""
        if self.inserted is None:
            return self.operation
        return f"{self.operation}: {self.inserted} inserted, {self.updated or 0} updated, {self.deleted or 0} removed"

    @classmethod
    def from_history(cls, row: Mapping[str, Any]) -> Commit:
        """The commit in a row of ``DESCRIBE HISTORY``."""
        note, metrics = _parse_note(row.get("userMetadata")), row.get("operationMetrics") or {}

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


def _parse_note(text: object) -> dict[str, str]:
    """What a commit says about its run; nothing if it was not written by scdgen."""
    try:
        found = json.loads(str(text))
    except ValueError:
        return {}
    if not isinstance(found, dict) or "scdgen" not in found:
        return {}
    return {str(name): str(value) for name, value in found.items()}


def read_log(spark: SparkSession, table: str, limit: int | None = None) -> list[Commit]:
    """The versions of a table that its log still holds, the newest first."""
    rows = spark.sql(f"DESCRIBE HISTORY {table}{f' LIMIT {limit}' if limit else ''}").collect()
    return [Commit.from_history(row.asDict(recursive=True)) for row in rows]


def read_format(spark: SparkSession, table: str) -> str:
    """The format of a table's files; ``delta`` if the catalog does not know it."""
    return str(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["format"] or "delta").lower()


# Going back to a version


def render_restore(table: str, version: int) -> str:
    """The SQL that brings a table back to a version, as a new version."""
    return f"RESTORE TABLE {table} TO VERSION AS OF {version}"


@dataclass(frozen=True)
class Undo:
    """How a run is undone: its versions, the newest first, the one to go back to, and the table's newest."""

    target: str
    run: str
    made: tuple[Commit, ...]
    back_to: int
    newest: int

    def render_sql(self, spec: Spec) -> str:
        """The statement that undoes it."""
        return render_restore(sql.quote_parts(spec.target_parts), self.back_to)


# These change no row that a reader sees, so they may follow a run that is to be undone.
_HARMLESS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END"})


def plan_undo(spec: Spec, run: str, log: Sequence[Commit]) -> Undo:
    """How to undo a run; raises :class:`DataError` if that would undo more than the run, or nothing."""
    made = _find_run(spec, run, log)
    undone = next((commit for commit in log if commit.undoes == run), None)
    if undone is not None:
        raise DataError(f"{spec.target}: the run {run} was undone by version {undone.version}")
    taken_back = {commit.undoes for commit in log if commit.undoes}
    for commit in log:
        in_effect = not (commit.undoes or commit.run in taken_back or commit.operation in _HARMLESS)
        if commit.version > made[0].version and in_effect:
            by = f"the run {commit.run}" if commit.run else "no run"
            raise DataError(
                f"{spec.target}: version {commit.version} ({commit.operation}, by {by}) came after the run {run}, and "
                "would be undone with it; undo the later runs first, or RESTORE the table by hand"
            )
    rows = [commit for commit in made if commit.merges]
    first = made[-1].version
    # A run that created the table leaves it, without rows: views and grants stay.
    if first == 0 and not rows:
        raise DataError(f"{spec.target}: the run {run} made the table and merged nothing; there is nothing to undo")
    back_to = rows[-1].version - 1 if first == 0 else first - 1
    _require_version(spec, run, log, back_to)
    return Undo(spec.target, run, made, back_to, log[0].version)


def _find_run(spec: Spec, run: str, log: Sequence[Commit]) -> tuple[Commit, ...]:
    """The commits of a run, the newest first; raises :class:`DataError` if the log holds none."""
    made = tuple(commit for commit in log if commit.run == run)
    if not made:
        known = list(dict.fromkeys(commit.run for commit in log if commit.run))
        listed = f"the newest are {', '.join(known[:3])}" if known else "no run has changed it"
        raise DataError(f"{spec.target}: no version is by the run {run}; {listed}; see `scdgen history`")
    return made


def _require_version(spec: Spec, run: str, log: Sequence[Commit], version: int) -> None:
    if not any(commit.version == version for commit in log):
        raise DataError(f"{spec.target}: version {version}, before the run {run}, is no longer in the table's log")


# What a run changed


def find_versions(spec: Spec, run: str, log: Sequence[Commit]) -> tuple[int, int]:
    """The versions before and after a run changed rows, which are one version if it changed none.

    Raises:
        DataError: the log lacks the run or the version before it, the run is an undo, or rows were also changed by
            something else between its first and its last version.
    """
    made = _find_run(spec, run, log)
    if made[0].undoes:
        raise DataError(
            f"{spec.target}: the run {run} is the undo of {made[0].undoes}; name that run to see what was taken back"
        )
    rows = [commit for commit in made if commit.merges]
    if not rows:
        return made[0].version, made[0].version
    first, last = rows[-1].version, rows[0].version
    _require_version(spec, run, log, first - 1)
    for commit in log:
        if first < commit.version < last and commit.run != run and commit.operation not in _HARMLESS:
            raise DataError(
                f"{spec.target}: version {commit.version} ({commit.operation}) lies between the versions of the run "
                f"{run}, and is not by it; give each run an id of its own to tell their changes apart"
            )
    return first - 1, last


@contextmanager
def explain_vacuumed(spec: Spec, run: str, before: int, after: int) -> Iterator[None]:
    """Raise :class:`DataError` if this block reads one of the versions around a run, and its files are gone."""
    try:
        yield
    except Exception as error:
        if not _mentions(error, _GONE):
            raise
        raise DataError(
            f"{spec.target}: files of version {before} or {after}, before and after the run {run}, were removed by "
            "VACUUM; name a later run"
        ) from error


# Transactions and conflicts


@contextmanager
def skip_known_batch(spark: SparkSession, spec: Spec, application: str, batch: int) -> Iterator[None]:
    """Make Delta skip each write in this block to a table that has taken in this batch already.

    Delta keeps, per application and table, the number of the last batch that it took in. Raises :class:`EngineError`
    if the session refuses the settings that name the two: a batch could then count twice.
    """
    with set_while(spark, {_APP: application, _VERSION: str(batch)}) as taken:
        if not taken:
            raise EngineError(
                f"{spec.target}: this session does not let {_APP} be set, by which Delta passes over a batch that it "
                "has taken in; stream on compute that does, which serverless does not, or schedule `scdgen run`"
            )
        yield


def is_conflict(error: BaseException) -> bool:
    """Whether Delta refused a commit, or a CREATE, because another writer was first."""
    return _mentions(error, _CONFLICT)


def is_transaction_conflict(error: BaseException) -> bool:
    """Whether two streams count their batches in one checkpoint."""
    return _mentions(error, _TRANSACTION_CONFLICT)


def is_occupied_location(error: BaseException) -> bool:
    """Whether a CREATE found files without a log: another writer's CREATE that is under way, or one that broke off."""
    return _mentions(error, _OCCUPIED)


def _mentions(error: BaseException, what: re.Pattern[str]) -> bool:
    return any(what.search(f"{type(found).__name__} {found}") for found in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what caused it."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__


def retry(
    target: str,
    retries: int,
    attempt: Callable[[], Result],
    clear: Callable[[BaseException], bool] = lambda _: False,
) -> tuple[Result, int]:
    """Call ``attempt``, up to ``retries`` times more while other writers are first, in the table or in the source.

    Returns the result and the number of tries lost before it. ``clear`` is called if files are in the table's place
    and no other process seems to write there: it returns whether they are gone, so that a last try has a chance.

    Delta commits a MERGE only if no version since its start has touched the files that it read. So a try that lost has
    changed nothing, and the next one computes everything again.

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


# A table that was not finished


def clear_unfinished(spark: SparkSession, error: BaseException) -> bool:
    """Remove the folder of a CREATE that broke off before its first commit (a full disk); whether it is gone.

    Only below a local folder of an embedded Spark, and only what Delta writes before that commit: an empty log, and
    temporary files. ``error`` is Delta's, which names the folder.
    """
    text = "\n".join(str(found) for found in _causes(error))
    named = re.search(r"associated location \('file:(/.*?)'\)", text)
    if named is None or "connect" in type(spark).__module__:
        return False
    folder = Path("/" + named[1].lstrip("/"))
    found = _find_unfinished(folder)
    time.sleep(_SETTLED)
    if found is None or _find_unfinished(folder) != found:  # another process is writing there
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _find_unfinished(folder: Path) -> dict[Path, int] | None:
    """The files that a CREATE left, with their times of change; ``None`` if the folder holds anything else."""
    found = {}
    for path in folder.rglob("*"):
        temporary = path.is_dir() or re.fullmatch(r"\..*\.(tmp|crc)", path.name)
        if path.relative_to(folder).parts[0] != "_delta_log" or not temporary:
            return None
        found[path] = path.stat().st_mtime_ns
    return found if folder.is_dir() else None
