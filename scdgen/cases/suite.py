"""The case files of users: found, read, and played on an engine."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from scdgen.cases.format import Case, read_case_file
from scdgen.cases.play import Difference, World, play
from scdgen.engine.failures import translate_without_spec
from scdgen.errors import EngineError, ScdgenError, UsageError, line_and_status
from scdgen.spec.load import CASES, is_case_file

Open = Callable[[Case], contextlib.AbstractContextManager[World]]
"""Opens the world of a case, without tables."""


@dataclass(frozen=True)
class File:
    """A file with its cases that were chosen."""

    path: Path
    cases: tuple[Case, ...]


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
                raise UsageError(f"{item}: there is no file *{CASES[0]} in this folder; give one that holds cases")
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
    """Read the cases whose name, or the name of their file, contains a text, whatever its case.

    Raises :class:`~scdgen.cases.block.CaseError` for the first mistake.
    """
    wanted = (text or "").lower()
    read = [(path, read_case_file(path)) for path in paths]
    return [
        File(path, chosen)
        for path, cases in read
        if (chosen := tuple(case for case in cases if wanted in f"{path.as_posix()} {case.name}".lower()))
    ]


def play_file(file: File, open_world: Open) -> Iterator[Played]:
    """Play the cases of a file one by one. A failure of the engine itself is raised."""
    for case in file.cases:
        begun, failure = time.monotonic(), Difference("")
        try:
            with open_world(case) as world:
                play(case, world)
        except Difference as difference:
            failure = difference
        except Exception as error:  # such as SQL whose translation is not known
            failure = Difference(_describe(case, translate_without_spec(error)))
        lines = str(failure).splitlines()
        message = lines[0] if lines else ""
        if (failure.missing or failure.extra) and ": " not in message:
            message += ": the rows are others"
        yield Played(case, time.monotonic() - begun, message, failure.missing, failure.extra)


def _describe(case: Case, error: Exception) -> str:
    if not isinstance(error, ScdgenError):
        raise error
    line = line_and_status(error)[0].splitlines()[0]
    if "a cast between" in line and not case.schema_:  # columns are text unless the case says more
        line += ", or give the columns their types in 'schema:'"
    return line


@contextlib.contextmanager
def duck_worlds() -> Iterator[Open]:
    """Open DuckDB; after each case its tables are dropped. Raises :class:`EngineError` without duckdb."""
    if not has_duckdb():
        raise EngineError("duckdb is not installed; run: pip install 'scdgen[test]', or give --engine spark")
    from scdgen.cases.duck import DuckWorld

    world = DuckWorld()

    @contextlib.contextmanager
    def open_world(_: Case) -> Iterator[World]:
        try:
            yield world
        finally:
            world.database.clear()

    try:
        yield open_world
    finally:
        world.database.close()


def has_duckdb() -> bool:
    """Whether duckdb is installed."""
    return find_spec("duckdb") is not None


@contextlib.contextmanager
def spark_worlds(files: Iterable[File]) -> Iterator[Open]:
    """Open Spark with a warehouse that is removed afterwards; after each case its schemas are dropped."""
    from scdgen.cases.spark import SparkWorld, drop_schemas
    from scdgen.engine import session
    from scdgen.engine.jvm import QUICK
    from scdgen.spec.graph import find_table_names

    specs = [case.spec_of(batch) for file in files for case in file.cases for batch in case.batches]
    names = sorted(set(find_table_names(specs)))
    with tempfile.TemporaryDirectory(prefix="scdgen-test-") as folder:
        spark = session.local_session(folder, {**QUICK, "spark.sql.session.timeZone": "UTC"})
        try:
            session.know_catalogs(spark, names)

            @contextlib.contextmanager
            def open_world(_: Case) -> Iterator[World]:
                try:
                    yield SparkWorld(spark)
                finally:
                    drop_schemas(spark, names)

            yield open_world
        finally:
            with contextlib.suppress(Exception):
                spark.stop()
