"""Reads local Parquet files whose types differ, in the types that the spec needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.engine import FILE
from scdgen.engine.footer import describe_unread, read_footer
from scdgen.errors import DataError
from scdgen.files.find import Files, spark_path
from scdgen.model.spec import Spec
from scdgen.sql.types import NESTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The numbers in a column, and the type that holds them all without loss.
_WIDER = (("tinyint", "smallint", "int", "bigint"), ("tinyint", "smallint", "int", "float", "double"))

Frames = list[tuple[Path, "DataFrame"]]


def read_parquet(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> DataFrame:
    """Read local Parquet files, with the file of each row; a column that a file lacks is NULL.

    Raises :class:`DataError` if a column has types in the files that no type of the spec unites.
    """
    if unread := describe_unread(files.local):
        raise DataError(unread)
    try:
        # Later files of a folder may have more columns; without mergeSchema Spark takes the columns of one file.
        whole = spark.read.options(**files.options()).option("mergeSchema", "true")
        return _declare(with_file(whole.parquet(*files.paths())), spec)
    except Exception as error:
        if "CANNOT_MERGE" not in str(error) or len(groups := _group(files.local)) == 1:
            raise
    reader = spark.read.options(**files.options())
    frames = [(listed[0], with_file(reader.parquet(*map(spark_path, listed)))) for listed in groups]
    # A type that the spec gives decides over those of the files.
    wanted = {name: next(iter(kinds)) for name, kinds in taken.items() if len(kinds) == 1}
    wanted |= {name.lower(): kind for name, kind in spec.source.columns.items()}
    kinds = _unite(frames, wanted)
    parts = [_cast(rows, kinds) for _, rows in frames]
    try:
        rows = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), parts)
        rows.schema  # noqa: B018 - analyzed, not run
    except Exception as error:
        for name, kinds_of in _find_types(frames).items():
            if len(kinds_of) > 1 and next(iter(kinds_of)).upper().startswith(NESTED):
                raise DataError(_describe_difference(name, kinds_of)) from error
        raise
    return _declare(rows, spec)


def with_file(frame: DataFrame) -> DataFrame:
    """Add the file of each row."""
    from pyspark.sql import functions as f

    return frame.select("*", f.col("_metadata.file_path").alias(FILE))


def _group(files: Iterable[Path]) -> list[list[Path]]:
    """The files by their columns and types; each one whose footer cannot be read is alone."""
    found: dict[object, list[Path]] = {}
    for file in files:
        footer = read_footer(file)
        found.setdefault(footer.schema if footer else file, []).append(file)
    return list(found.values())


def _unite(frames: Frames, wanted: dict[str, str]) -> dict[str, str]:
    """Lower-case column -> the type to cast it to, if its types differ: that of the spec, or one that holds them all.

    Spark unites types with parts, where it can.
    """
    found = {}
    for name, kinds in _find_types(frames).items():
        names = {kind.simpleString() for kind, _ in kinds.values()}
        nested = [text.upper().startswith(NESTED) for text in names]
        if len(kinds) == 1 or all(nested):
            continue
        kind = wanted.get(name) or next((group[-1] for group in _WIDER if names <= set(group)), None)
        if any(nested) or kind is None or kind.startswith(NESTED):
            raise DataError(_describe_difference(name, kinds))
        found[name] = kind
    return found


def _find_types(frames: Frames) -> dict[str, dict[str, tuple[Any, Path]]]:
    """Lower-case column -> its distinct types by their texts, each with a file that has it."""
    seen: dict[str, dict[str, tuple[Any, Path]]] = {}
    for file, rows in frames:
        for field in rows.schema.fields:
            seen.setdefault(field.name.lower(), {}).setdefault(field.dataType.simpleString(), (field.dataType, file))
    return seen


def _describe_difference(name: str, kinds: dict[str, tuple[Any, Path]]) -> str:
    (one, (_, file)), (other, (_, another)), *_ = kinds.items()
    what = f"column {name} is {other.upper()}, and {one.upper()} in {file}"
    return f"{another}: {what}; write the files with one type"


def _cast(rows: DataFrame, kinds: dict[str, str]) -> DataFrame:
    from pyspark.sql import functions as f

    columns = []
    for name in rows.columns:
        column: Any = f.col(sql.quote(name))
        columns.append(column.cast(kinds[name.lower()]).alias(name) if name.lower() in kinds else column)
    return rows.select(*columns)


def _declare(rows: DataFrame, spec: Spec) -> DataFrame:
    """Add the columns of ``source.schema`` that no file has, as NULL, and give the others their types."""
    from pyspark.sql import functions as f

    known = {name.lower() for name in rows.columns}
    plain = {name.lower(): kind for name, kind in spec.source.columns.items() if not kind.startswith(NESTED)}
    added = [(name, kind) for name, kind in spec.source.columns.items() if name.lower() not in known]
    return _cast(rows, plain).select("*", *(f.lit(None).cast(kind).alias(name) for name, kind in added))
