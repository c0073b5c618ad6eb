"""The case files of users: found, read, and played on an engine."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from scdgen import sql
from scdgen.cases.block import CaseError
from scdgen.cases.format import Case, read_case_file
from scdgen.cases.play import Difference, World, play
from scdgen.engine.failures import translate_without_spec
from scdgen.errors import EngineError, ScdgenError, UsageError, line_and_status
from scdgen.model.load import CASES, is_case_file

Open = Callable[[], contextlib.AbstractContextManager[World]]
"""Opens the world of a case, without tables."""


@dataclass(frozen=True)
class File:
    """A file with its cases that were chosen, and the mistakes of the others."""

    path: Path
    cases: tuple[Case, ...]
    mistakes: Sequence[str] = ()


@dataclass(frozen=True)
class Played:
    """A case that was played: what was different, with the rows as text, or nothing."""

    case: Case
    seconds: float
    message: str = ""
    missing: str = ""
    extra: str = ""


def find_case_files(given: Iterable[str | Path]) -> list[Path]:
    """Find case files: the given ones, and those in folders, sorted by name. Raises :class:`UsageError`."""
    found: list[Path] = []
    for item in map(Path, given):
        if item.is_dir():
            inside = sorted(path for path in item.rglob("*") if is_case_file(path))
            if not inside:
                raise UsageError(f"{item}: this folder has no file *{CASES[0]}; give one that holds cases")
            found += inside
        elif not item.exists():
            raise UsageError(f"{item}: no such file or folder; give the path of a file *{CASES[0]}")
        elif not is_case_file(item):
            beside = item.with_name(f"{item.stem}{CASES[0]}")
            where = f"give {beside}" if beside.is_file() else f"cases are in files *{CASES[0]}"
            raise UsageError(f"{item}: is not a file of cases; {where}")
        else:
            found.append(item)
    return list(dict.fromkeys(found))


def read_files(paths: Iterable[Path], text: str | None = None) -> list[File]:
    """Read the cases whose name, or the name of their file, contains a text, whatever its case."""
    wanted, read = (text or "").lower(), list[File]()
    for path in paths:
        cases, wrong = list[Case](), list[str]()
        try:
            cases = read_case_file(path, wrong=wrong)
        except CaseError as error:
            wrong += error.lines
        chosen = tuple(case for case in cases if wanted in f"{path.as_posix()} {case.name}".lower())
        read += [File(path, chosen, wrong)] if chosen or wrong else []
    return read


def play_file(file: File, open_world: Open) -> Iterator[Played]:
    """Play the cases of a file one by one. A failure of the engine itself is raised."""
    for case in file.cases:
        begun, failure = time.monotonic(), Difference("")
        try:
            with open_world() as world:
                play(case, world)
        except Difference as difference:
            failure = difference
        except Exception as error:  # such as SQL whose translation is not known
            failure = Difference(_describe(case, translate_without_spec(error)))
        message = next(iter(str(failure).splitlines()), "")
        if failure.missing or failure.extra:  # of which the message has only the place
            message += ": the rows differ"
        yield Played(case, time.monotonic() - begun, message, failure.missing, failure.extra)


# What the errors say that a value of another type than text would not give.
_OF_TYPES = ("a cast between", "of STRING:", "multiple overloads", "Cannot extract field")


def _describe(case: Case, error: Exception) -> str:
    if not isinstance(error, ScdgenError):
        raise error
    line = line_and_status(error)[0].splitlines()[0]
    # Columns are text unless the case, or the spec, says more.
    if any(words in line for words in _OF_TYPES) and not case.schema_:
        line += ", or give the columns their types in 'schema:'"
    return line


@contextlib.contextmanager
def duck_worlds() -> Iterator[Open]:
    """Open DuckDB. Raises :class:`EngineError` without duckdb, or on Python 3.10, which duckdb 2 does not support."""
    if sys.version_info < (3, 11):
        raise EngineError("duckdb 2 needs Python 3.11 or newer; run scdgen with that, or give --engine spark")
    if not has_duckdb():
        fix = "run: pip install 'duckdb>=2.0.1' (the extra scdgen[test]), or give --engine spark"
        raise EngineError("duckdb is not installed", fix=fix)
    try:
        from scdgen.cases.duck import DuckWorld

        world = DuckWorld()
    except Exception as error:  # of another version, or of one that is half installed
        what = f"duckdb does not start ({(str(error).splitlines() or [type(error).__name__])[0].rstrip('.')})"
        raise EngineError(f"{what}; run: pip install 'duckdb>=2.0.1,<3', or give --engine spark") from error
    try:
        yield partial(_cleared, world)
    finally:
        world.database.close()


def has_duckdb() -> bool:
    """Whether duckdb is installed."""
    return find_spec("duckdb") is not None


@contextlib.contextmanager
def spark_worlds(files: Iterable[File]) -> Iterator[Open]:
    """Open Spark with a warehouse that is removed afterwards."""
    from scdgen.cases.spark import SparkWorld
    from scdgen.engine import session
    from scdgen.engine.jvm import FEW_ROWS
    from scdgen.model.graph import find_table_names

    cases = [case for file in files for case in file.cases]
    # List the tables of all cases, because the session must know their catalogs.
    names = {*find_table_names(case.spec_of(batch) for case in cases for batch in case.batches)}
    for case in cases:
        for tables in (case.tables, *(batch.tables for batch in case.batches)):
            names |= set(map(sql.split_name, tables))
    with tempfile.TemporaryDirectory(prefix="scdgen-test-") as folder:
        spark = session.local_session(folder, {**FEW_ROWS, "spark.sql.session.timeZone": "UTC"})
        try:
            session.know_catalogs(spark, names)
            yield partial(_cleared, SparkWorld(spark, names))
        finally:
            # A session that does not stop must not hide what the cases gave.
            with contextlib.suppress(Exception):
                spark.stop()


@contextlib.contextmanager
def _cleared(world: World) -> Iterator[World]:
    """Yield a world, and drop its tables afterwards."""
    try:
        yield world
    finally:
        world.clear()
