"""Reads local Parquet files whose types differ, and times in nanoseconds, in the types that the spec needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.engine import FILE
from scdgen.engine.footer import Footer, describe_unread, read_footer
from scdgen.engine.session import set_while
from scdgen.errors import DataError
from scdgen.files.find import Files, spark_path
from scdgen.files.shape import parse_types
from scdgen.model.spec import Spec
from scdgen.sql.types import NESTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NANOS_AS_LONG = {"spark.sql.legacy.parquet.nanosAsLong": "true"}
# The numbers in a column, and the type that holds them all without loss.
_WIDER = (("tinyint", "smallint", "int", "bigint"), ("tinyint", "smallint", "int", "float", "double"))

Frames = list[tuple[Path, "DataFrame"]]


def read_parquet(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> DataFrame:
    """Read local Parquet files, with the file of each row; a column that a file lacks is NULL.

    Raises :class:`DataError` if a column has types in the files that no type of the spec unites.
    """
    groups = _group(files.local)
    nanos = {path for footer, _ in groups for path in (footer.nanoseconds if footer else ())}
    reader = spark.read.options(**files.options())
    if not nanos:
        try:
            # Later files of a folder may have more columns; without mergeSchema Spark takes the columns of one file.
            return _declare(with_file(reader.options(mergeSchema="true").parquet(*files.paths())), spec)
        except Exception as error:
            if unread := describe_unread(files.local):
                raise DataError(unread) from error
            if "CANNOT_MERGE" not in str(error) or len(groups) == 1:
                raise
    frames: Frames = []
    for footer, listed in groups:
        # Spark refuses nanoseconds as times, but reads them as numbers.
        with set_while(spark, _NANOS_AS_LONG if footer and footer.nanoseconds else {}):
            rows = with_file(spark.read.options(**files.options()).parquet(*map(spark_path, listed)))
        frames.append((listed[0], _read_nanoseconds(rows, footer, str(listed[0]))))
    # A type that the spec gives decides over those of the files.
    wanted = {name: next(iter(kinds)) for name, kinds in taken.items() if len(kinds) == 1}
    wanted |= {name.lower(): kind for name, kind in spec.source.columns.items()}
    kinds = _unite(frames, wanted, parse_types(spark, {kind for kind in wanted.values() if kind.startswith(NESTED)}))
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


def _group(files: Iterable[Path]) -> list[tuple[Footer | None, list[Path]]]:
    """The files by their columns and types; each one whose footer cannot be read is alone."""
    found: dict[object, tuple[Footer | None, list[Path]]] = {}
    for file in files:
        footer = read_footer(file)
        found.setdefault(footer.schema if footer else file, (footer, []))[1].append(file)
    return list(found.values())


def _read_nanoseconds(rows: DataFrame, footer: Footer | None, shown: str) -> DataFrame:
    """Convert columns that were read as numbers of nanoseconds to times, which have microseconds."""
    from pyspark.sql import functions as f

    times = footer.nanoseconds if footer else {}
    inside = next((path for path in times if len(path) > 1), None)
    if inside is not None:
        what = f"column {'.'.join(inside)} has nanoseconds, which Spark does not read inside of another column"
        raise DataError(f"{shown}: {what}; write microseconds, in pandas with coerce_timestamps='us'")
    columns = []
    for name in rows.columns:
        column = sql.quote(name)
        if (name,) in times:
            # Round down, also before 1970, where a plain division rounds up.
            micros = f"({column} - PMOD({column}, 1000)) DIV 1000"
            local = f"TIMESTAMPADD(MICROSECOND, {micros}, TIMESTAMP_NTZ '1970-01-01 00:00:00')"
            columns.append(f.expr(f"TIMESTAMP_MICROS({micros})" if times[(name,)] else local).alias(name))
        else:
            columns.append(f.col(column))
    return rows.select(*columns)


def _unite(frames: Frames, wanted: dict[str, str], nested: dict[str, Any]) -> dict[str, str]:
    """Lower-case column -> the type to cast it to, for columns whose types differ.

    ``wanted`` are the types of the spec, ``nested`` those of them that have parts, as Spark's.
    """
    found = {}
    for name, kinds in _find_types(frames).items():
        if len(kinds) == 1:
            continue
        names = {kind.simpleString() for kind, _ in kinds.values()}
        wider = next((group[-1] for group in _WIDER if names <= set(group)), None)
        kind = wanted.get(name)
        # Take a nested type only if the files have all of its fields.
        if kind in nested:
            if all(_has_fields_of(given, nested[kind]) for given, _ in kinds.values()):
                found[name] = kind
        elif kind is not None and not any(text.upper().startswith(NESTED) for text in names):
            found[name] = kind
        elif wider:
            found[name] = wider
        elif not all(text.upper().startswith(NESTED) for text in names):
            raise DataError(_describe_difference(name, kinds))
    return found


def _find_types(frames: Frames) -> dict[str, dict[str, tuple[Any, Path]]]:
    """Lower-case column -> its distinct types by their texts, each with a file that has it."""
    seen: dict[str, dict[str, tuple[Any, Path]]] = {}
    for file, rows in frames:
        for field in rows.schema.fields:
            seen.setdefault(field.name.lower(), {}).setdefault(field.dataType.simpleString(), (field.dataType, file))
    return seen


def _has_fields_of(found: Any, wanted: Any) -> bool:
    """Whether two types have the same fields in the same order, so that a cast takes none for another."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        return _has_fields_of(found.elementType, wanted.elementType)
    if isinstance(found, MapType) and isinstance(wanted, MapType):
        return _has_fields_of(found.valueType, wanted.valueType)
    if not isinstance(found, StructType) or not isinstance(wanted, StructType):
        return not isinstance(found, ArrayType | MapType | StructType)
    names = [[f.name.lower() for f in kind.fields] for kind in (found, wanted)]
    pairs = zip(found.fields, wanted.fields, strict=False)
    return names[0] == names[1] and all(_has_fields_of(one.dataType, other.dataType) for one, other in pairs)


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
