"""What a command is given: spec files and folders, and files of rows in the place of a spec's source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen.cli.parallel import Each, in_turn
from scdgen.errors import Problem, ScdgenError, SpecError, UsageError
from scdgen.files import errors as files_errors
from scdgen.spec.load import Lines, load_spec
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def load_specs(given: Iterable[str | Path], each: Each = in_turn) -> list[Spec]:
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


def read_source(spark: SparkSession, spec: Spec, path: str) -> DataFrame:
    """The rows of a CSV (header), JSON lines, Parquet or Delta path, in the types that the spec's expressions need.

    Raises :class:`UsageError` where the path is not there or of no known format, and :class:`DataError` where a file is
    not what its name says. A value that does not convert is an error of Spark's when the rows are read; within
    :func:`source_rows` it is one of ours.
    """
    return files_errors.open_files(spark, spec, path).rows


@contextmanager
def source_rows(
    spark: SparkSession, spec: Spec, path: str | None, params: Mapping[str, object]
) -> Iterator[DataFrame | None]:
    """The rows of :func:`read_source`, or ``None`` without a path, for what is run with them inside.

    Where that fails because of the files, raises :class:`DataError` with the file, the line if it is known, the column
    and the value.
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
