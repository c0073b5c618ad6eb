"""What a command is given: spec files and folders, and files of rows in the place of a spec's source."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.errors import Problem, SpecError, UsageError
from scdgen.load import load_spec
from scdgen.parallel import Each, in_turn
from scdgen.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}


def spec_paths(given: Iterable[str | Path]) -> list[Path]:
    """The spec files among files and folders, folders searched for ``*.yml`` and ``*.yaml``, in order of name."""
    found: list[Path] = []
    for item in map(Path, given):
        if item.is_dir():
            inside = sorted(path for path in item.rglob("*") if path.suffix in {".yml", ".yaml"})
            if not inside:
                raise UsageError(f"{item}: there is no .yml file in this folder")
            found += inside
        elif item.is_file():
            found.append(item)
        else:
            raise UsageError(f"{item}: there is no such file or folder; give the path of a spec")
    return list(dict.fromkeys(found))


def load_specs(given: Iterable[str | Path], each: Each = in_turn) -> list[Spec]:
    """Every spec, or :class:`SpecError` with the mistakes of all of them in one go; ``each`` goes through the files."""
    specs: list[Spec] = []
    problems: list[Problem] = []
    for found in each(_spec_or_error, spec_paths(given)):
        if isinstance(found, SpecError):
            problems += found.problems
        else:
            specs.append(found)
    owners: dict[tuple[str, ...], Spec] = {}
    for spec in specs:
        name = tuple(part.lower() for part in spec.target_parts)
        if name in owners:
            message = f"target: {spec.target} is the target of {owners[name].origin} too; each table has one spec"
            problems.append(Problem(spec.origin, 1, 1, message))
        owners.setdefault(name, spec)
    if problems:
        raise SpecError(problems)
    return specs


def _spec_or_error(path: Path) -> Spec | SpecError:
    try:
        return load_spec(path)
    except SpecError as error:
        return error


def read_source(spark: SparkSession, spec: Spec, path: str) -> DataFrame:
    """The rows of a CSV (header), JSON lines, Parquet or Delta path."""
    kind = _format(path)
    if "://" not in path:
        path = Path(path).absolute().as_uri()
    return _read_csv(spark, spec, path) if kind == "csv" else spark.read.format(kind).load(path)


def _read_csv(spark: SparkSession, spec: Spec, path: str) -> DataFrame:
    """A CSV as text, which the MERGE casts to the columns' types, so that '0001' stays '0001'.

    Columns that are compared as they are (in ``sequence_by``, ``delete_when`` and ``where``) take the type that Spark
    infers, unless a target column has them as they are, or a number begins with 0. Nothing between two commas is NULL;
    a quoted nothing is an empty text, and NULL where the column is no text.
    """
    from pyspark.sql import functions as f

    reader = spark.read.options(header="true", escape='"', multiLine="true", nullValue="\x00")
    text = reader.csv(path)
    inferred = {}
    compared = _compared(spec)
    if any(name.lower() in compared for name in text.columns):
        fields = reader.csv(path, inferSchema=True).schema.fields
        inferred = {x.name: x.dataType for x in fields if x.name.lower() in compared}
    padded = text.select(
        f.lit(1), *(f.max(f.col(sql.quote(name)).rlike("^[+-]?0[0-9]")).alias(name) for name in inferred)
    ).first()
    assert padded is not None
    kinds = {sql.expression(spec.column_source(name)).bare: column.type for name, column in spec.columns.items()}
    columns = []
    for name in text.columns:
        column = f.col(sql.quote(name))
        if name in inferred and not padded[name]:
            column = column.cast(inferred[name])
        elif kinds.get(name, "STRING") not in {"STRING", "BINARY"}:
            column = f.when(column != "", column)
        columns.append(column.alias(name))
    return text.select(*columns)


def _compared(spec: Spec) -> set[str]:
    """Lower-case names of the source columns that are compared as they are."""
    source = spec.source
    texts = [*source.sequence_by, *(text for text in (source.delete_when, source.where) if text is not None)]
    kept = {(sql.expression(spec.column_source(name)).bare or "").lower() for name in spec.columns}
    return {name for text in texts for name in sql.expression(text).columns} - kept


def _format(path: str) -> str:
    """The format of a path: by its ending; of a folder, by its log or its files."""
    suffix = Path(path).suffix.lower()
    if suffix in _FORMATS and not Path(path).is_dir():
        if "://" not in path and not Path(path).exists():
            raise UsageError(f"{path}: there is no such file; give the path of a CSV, JSON lines, Parquet or Delta")
        return _FORMATS[suffix]
    if "://" in path:
        return _FORMATS.get(suffix, "delta")
    folder = Path(path)
    if not folder.is_dir():
        hint = "give a .csv, .json, .jsonl or .parquet file, or a folder" if folder.exists() else "give one that is"
        raise UsageError(f"{path}: {'cannot tell its format' if folder.exists() else 'is not there'}; {hint}")
    if (folder / "_delta_log").is_dir():
        return "delta"
    kinds = {_FORMATS[file.suffix.lower()] for file in folder.rglob("*") if file.suffix.lower() in _FORMATS}
    if len(kinds) != 1:
        what = " and ".join(sorted(kinds)) + " files" if kinds else "no files that can be read"
        raise UsageError(f"{path}: the folder holds {what}; give a folder of one format: csv, json, parquet or delta")
    return kinds.pop()
