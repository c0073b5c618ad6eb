"""Reads JSON lines, after a look at the text of the files.

Spark's reader drops what follows an object on its line, and stops at a line ``null``, which is a delete in Kafka.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from scdgen.engine.engine import FILE
from scdgen.files.find import Files, spark_path
from scdgen.files.parquet import with_file
from scdgen.files.shape import build_shape
from scdgen.model.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

BROKEN = "_scd_broken"
LENIENT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BROKEN}
"""Options for a file with lines ``null``; its schema needs the column that :func:`without_nulls` reads."""


def read_json(spark: SparkSession, spec: Spec, files: Files) -> tuple[DataFrame, list[str]]:
    """Read JSON in the shape that the spec needs, with the file of each row: (rows, URIs of files Spark may misread).

    Columns that it takes unchanged are text, or nested types of text. Raises :class:`DataError` if they do not fit.
    """
    keys, with_nulls, doubtful = _read_keys(spark, files)
    reader = spark.read.options(mode="FAILFAST", **files.options())
    if keys is None:
        return spark.createDataFrame([], add_texts(build_shape(spark, None, [spec], files.shown), FILE)), []
    # Infer types only where the spec does not give them; Spark infers no column for a key that has {} in every line.
    found = None if spec.source.columns else reader.json(files.paths()).schema
    if found is not None:
        found = add_texts(found, *(key for key in keys.values() if key not in found.names))
    shape = build_shape(spark, found, [spec], files.shown)
    # Files with lines `null` need another mode, which turns these into rows to leave out.
    plain = [path for path in files.paths() if path not in with_nulls]
    other = [path for path in files.paths() if path in with_nulls]
    frames = [with_file(reader.schema(shape).json(plain))] if plain else []
    if other:
        lenient = spark.read.options(**LENIENT, **files.options()).schema(add_texts(shape, BROKEN)).json(other)
        frames.append(without_nulls(with_file(lenient)))
    return reduce(lambda one, more: one.unionByName(more), frames), doubtful


def _read_keys(spark: SparkSession, files: Files) -> tuple[dict[str, str] | None, set[str], list[str]]:
    """Read keys of JSON: (lower case -> key, ``None`` without any; paths with ``null``; URIs Spark may misread)."""
    from pyspark.sql import functions as f

    if not files.local:
        return {}, set(), []
    # Wrapped in [], a line with more than one object has another length than 1, or none.
    keys = "IF(JSON_ARRAY_LENGTH(CONCAT('[', value, ']')) = 1, JSON_OBJECT_KEYS(value), NULL)"
    # Read lines as text, so that Spark's JSON reader cannot drop what it does not take.
    read = spark.read.text(files.paths()).where(f.col("value").rlike(r"\S"))
    every = read.select("value", f.col("_metadata.file_path").alias(FILE))
    empty = f.expr("TRIM(value) = 'null'").alias("empty")
    # Collect each key once per file, which stays small, however many rows there are.
    found = every.select(f.expr(f"EXPLODE_OUTER({keys})").alias("key"), FILE, empty).distinct().collect()
    known = {key.lower(): key for key, _, _ in found if key is not None}
    # Find the files that Spark may misread: those with a key in another case, or with a line without keys.
    unread = [file for key, file, empty in found if not empty and (key is None or known[key.lower()] != key)]
    several = len({key for key, _, _ in found if key is not None}) > len(known)
    doubtful = [file for _, file, _ in found] if several else unread
    nulls = {spark_path(local) for _, file, empty in found if empty and (local := files.named(file)[1])}
    objects = any(not empty for *_, empty in found)
    return (known if objects else None), nulls, doubtful


def add_texts(shape: StructType, *names: str) -> StructType:
    """Add columns of text."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType([*shape.fields, *(StructField(name, StringType()) for name in names)])


def without_nulls(rows: DataFrame) -> DataFrame:
    """Leave out the lines ``null`` of rows that were read with ``LENIENT``; any other broken line stops the query."""
    from pyspark.sql import functions as f

    # Naming another column keeps Spark from a query of the broken lines alone, which it refuses.
    column = next(name for name in rows.columns if name not in {BROKEN, FILE})
    broken, value, file = f.col(BROKEN), f.col(f"`{column.replace('`', '``')}`"), f.col("_metadata.file_path")
    text: Any = f.concat(
        f.lit("[FAILED_READ_FILE] Encountered error while reading file "), file,
        f.lit(". [MALFORMED_RECORD_IN_PARSING] Malformed records are detected in record parsing: "), broken,
        f.lit(". "),
    )  # fmt: skip
    is_null = (f.trim(broken) == "null") & value.isNull()
    kept = f.when(broken.isNull(), f.lit(True)).when(is_null, f.lit(False)).otherwise(f.raise_error(text))
    return rows.where(kept).drop(BROKEN)
