"""What a stream reads: a table, or the files of a folder as they come, in the types that the specs need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.engine.diagnose import FILE
from scdgen.errors import DataError
from scdgen.files import errors as files_errors
from scdgen.files import find as files
from scdgen.files import read as files_read
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def stream_rows(spark: SparkSession, fed: Sequence[Spec], path: str | None, options: Mapping[str, str]) -> DataFrame:
    """A streaming frame over the specs' common source, or over ``path`` in place of it.

    Files that are there tell the columns; their texts go to the types of the specs' columns by a cast that fails where
    a value does not convert. Raises :class:`UsageError` and :class:`DataError` for a path that cannot be read.
    """
    source = fed[0].source
    if path is None and source.table is not None:
        return spark.readStream.options(**options).table(source.table)
    place = path or source.path or ""
    found = files.find(place)
    if found.kind == "delta":
        return spark.readStream.format("delta").options(**options).load(found.paths()[0])
    if found.local and not found.folder:
        raise DataError(f"{place}: is one file; a stream reads a folder, into which files come")
    plain = source.options if path is None else {}
    if plain or not found.local:
        strict = {**({"header": "true"} if found.kind == "csv" else {}), **files_read.STRICT, **plain}
        texts = spark.read.format(found.kind).options(**strict).load(found.paths())
    else:
        strict = {**files_read.CSV, "enforceSchema": "false"} if found.kind == "csv" else dict(files_read.STRICT)
        texts = files_errors.open_files(spark, fed[0], place).texts
    frame = spark.readStream.format(found.kind).schema(_schema(texts, fed, found.kind)).options(**{**strict, **options})
    rows = frame.load(place if "://" in place else files.spark_path(Path(place)))
    if found.kind == "parquet":
        return rows
    taken = _taken(fed)
    compared = {name for spec in fed for name in files_read.compared(spec)} - taken.keys()
    return files_read.typed(rows, taken, files_read.guessed(texts, compared) if found.kind == "csv" else {})


def _schema(texts: DataFrame, fed: Sequence[Spec], kind: str) -> Any:
    """The columns of the files that are there; of JSON also those that the specs read and later files may have."""
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [field for field in texts.schema.fields if field.name != FILE]
    known = {field.name.lower() for field in fields}
    if kind == "json":
        wanted = {name for spec in fed for name in files_read.read_columns(spec)}
        fields += [StructField(name, StringType()) for name in sorted(wanted - known)]
    return StructType(fields)


def _taken(fed: Sequence[Spec]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for spec in fed:
        for name, kinds in files_read.taken_types(spec).items():
            found.setdefault(name, set()).update(kinds)
    return found
