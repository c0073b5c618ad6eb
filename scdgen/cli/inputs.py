"""What a command is given: spec files and folders, and files of rows in the place of a spec's source."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.errors import Problem, ScdgenError, SpecError, UsageError
from scdgen.files import errors as files_errors
from scdgen.spec.load import Lines, load_spec
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as map()
_MANY = 50  # up to so many specs the processes would cost more than they save
_CHUNK = 4  # specs that go to a process at once


@contextmanager
def map_specs(count: int, jobs: int | None) -> Iterator[Each]:
    """Yield ``map``, or for more than 50 specs one that uses ``jobs`` processes (default: one per core), in order."""
    if count <= _MANY or jobs == 1:
        yield map
        return
    # Ctrl-C is for this process to answer.
    pool = ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        yield partial(_map_chunks, pool)
    finally:
        pool.shutdown(cancel_futures=True)


def _map_chunks(pool: ProcessPoolExecutor, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    for result, error in pool.map(partial(_result_or_error, work), items, chunksize=_CHUNK):
        if error is not None:
            raise error
        yield result


def _result_or_error(work: Callable[[Any], Any], item: Any) -> tuple[Any, ScdgenError | None]:
    """What ``work`` gives; an error that it raises would take the results before it in its chunk along."""
    try:
        return work(item), None
    except ScdgenError as error:
        return None, error


def spec_paths(given: Iterable[str | Path]) -> list[Path]:
    """The spec files among files and folders, folders searched for ``*.yml`` and ``*.yaml``, in order of name."""
    found: list[Path] = []
    for item in map(Path, given):
        if item.is_dir():
            inside = sorted(path for path in item.rglob("*") if path.suffix in {".yml", ".yaml"})
            if not inside:
                raise UsageError(f"{item}: there is no .yml or .yaml file in this folder; give one that holds specs")
            found += inside
        elif item.is_file():
            found.append(item)
        elif item.exists():
            raise UsageError(f"{item}: is neither a file nor a folder; give the path of a spec")
        else:
            raise UsageError(f"{item}: there is no such file or folder; give the path of a spec")
    return list(dict.fromkeys(found))


def load_specs(given: Iterable[str | Path], each: Each = map) -> list[Spec]:
    """Every spec, or :class:`SpecError` with the mistakes of all of them in one go; ``each`` goes through the files."""
    specs: list[Spec] = []
    problems: list[Problem] = []
    first: SpecError | None = None
    for found in each(_spec_or_error, spec_paths(given)):
        if isinstance(found, SpecError):
            problems += found.problems
            first = first or found
        else:
            specs.append(found)
    owners: dict[tuple[str, ...], Spec] = {}
    for spec in specs:
        name = tuple(part.lower() for part in spec.target_parts)
        if name in owners:
            message = f"target: {spec.target} is the target of {owners[name].origin} too; each table has one spec"
            problems.append(Problem(spec.origin, Lines.of_file(spec.origin).of(("target",)) or 1, 1, message))
        owners.setdefault(name, spec)
    if problems:
        raise SpecError(problems) from first
    return specs


def _spec_or_error(path: Path) -> Spec | SpecError:
    try:
        return load_spec(path)
    except SpecError as error:
        return error


@contextmanager
def source_rows(
    spark: SparkSession, spec: Spec, path: str | None, params: Mapping[str, object]
) -> Iterator[DataFrame | None]:
    """The rows of a CSV (header), JSON lines, Parquet or Delta path, or ``None`` without a path.

    They are in the types that the spec's expressions need. Raises :class:`UsageError` if the path is not there or of no
    known format, and :class:`DataError` if a file is not what its name says. If what is run inside fails because of the
    files, raises :class:`DataError` with the file, the line if it is known, the column and the value.
    """
    if path is None:
        yield None
        return
    source = files_errors.open_files(spark, spec, path)
    try:
        yield source.rows
    except ScdgenError as error:
        told = files_errors.explained(spark, spec, source, params, error)
        if told is None:
            raise
        raise told from error
