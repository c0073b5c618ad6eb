"""Files as rows in the types that a spec's expressions need.

CSV and JSON hold texts and numbers. A column that the spec takes as it is keeps its text, so that '0001' and a number
of 30 digits stay what they are, and goes from there to the type of the target's column by a cast that fails where a
value does not convert. Other columns take the type that their values have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.diagnose_cast import FILE
from scdgen.errors import DataError, nearest
from scdgen.files.find import Files
from scdgen.files.scan import csv_headers, json_keys
from scdgen.files.types import as_texts, fields_problem
from scdgen.patterns.source import time_type
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

STRICT = {"mode": "FAILFAST", "columnPruning": "false"}  # with pruned columns Spark does not count a row's cells
CSV = {"header": "true", "escape": '"', "multiLine": "true", "nullValue": "\x00", **STRICT}
_TEXTS = ("STRING", "VARCHAR", "CHAR", "BINARY")
_NESTED = ("ARRAY", "STRUCT", "MAP")


@dataclass(frozen=True)
class Opened:
    """Files that Spark has opened: ``texts`` as they are, with the file of each row; ``rows`` in their types."""

    files: Files
    texts: DataFrame
    rows: DataFrame


def opened(spark: SparkSession, spec: Spec, files: Files) -> Opened:
    """Open files for a spec. Raises :class:`DataError` where they are not what their names say."""
    taken = taken_types(spec)
    if files.kind == "csv":
        texts = _csv(spark, spec, files, taken)
        return Opened(files, texts, typed(texts, taken, guessed(texts, compared(spec) - taken.keys())))
    if files.kind == "json":
        texts = _json(spark, spec, files, taken)
        return Opened(files, texts, typed(texts, taken, {}))
    # A folder's Parquet files are one table whose later files may have more columns; its reader takes one file's.
    reader = spark.read.format(files.kind).options(**files.options())
    texts = reader.options(mergeSchema="true").load(files.paths()) if files.local else reader.load(files.paths()[0])
    for problem in fields_problem(spark, texts.schema, taken, in_order=True):
        raise DataError(f"{files.shown}: {problem}")
    return Opened(files, _with_file(texts), texts)


def taken_types(spec: Spec) -> dict[str, set[str]]:
    """Lower-case name of each source column that the spec takes as it is -> the types that it becomes."""
    found: dict[str, set[str]] = {}
    taken = [(spec.column_source(name), column.type) for name, column in spec.columns.items()]
    if spec.source.effective_at is not None:
        taken.append((spec.source.effective_at, time_type(spec)))
    for text, kind in taken:
        bare = sql.expression(text).bare
        if bare is not None:
            found.setdefault(bare.lower(), set()).add(kind)
    return found


def read_columns(spec: Spec) -> set[str]:
    """Lower-case names of the columns that the spec's expressions name, some of which may not be the source's."""
    named = {column for name in spec.columns for column in sql.expression(spec.column_source(name)).columns}
    return named | compared(spec) | (sql.expression(spec.source.effective_at or "1").columns)


def compared(spec: Spec) -> set[str]:
    """Lower-case names of the source columns that are compared as they are."""
    source = spec.source
    texts = [*source.sequence_by, *(text for text in (source.delete_when, source.where) if text is not None)]
    return {name for text in texts for name in sql.expression(text).columns}


def _is_text(kinds: set[str]) -> bool:
    return any(kind.startswith(_TEXTS) for kind in kinds)


def _csv(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> DataFrame:
    """A CSV as text. Nothing between two commas is NULL; a quoted nothing is an empty text, NULL in a typed column."""
    from pyspark.sql import functions as f

    reader = spark.read.options(**CSV, **files.options())
    if files.local:
        frames = _csv_by_header(reader, spec, files)
    else:
        frames = [_with_file(reader.options(enforceSchema="false").csv(files.paths()))]
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.unionByName(other)
    columns = []
    for name in frame.columns:
        column, kinds = f.col(sql.quote(name)), taken.get(name.lower(), set())
        nested = next((kind for kind in sorted(kinds) if kind.startswith(_NESTED)), None)
        if nested:
            written = sql.text_literal(nested)
            raise DataError(
                f"{files.shown}: column {name}: a CSV holds no {nested}; write in the spec "
                f"from: from_json({name}, {written}, map('mode', 'FAILFAST'))"
            )
        columns.append((f.when(column != "", column) if kinds and not _is_text(kinds) else column).alias(name))
    return frame.select(*columns)


def _csv_by_header(reader: Any, spec: Spec, files: Files) -> list[DataFrame]:
    """A frame per header among the files, each with the columns that all of them have, by name."""
    from pyspark.sql.types import StringType, StructField, StructType

    headers = csv_headers(files.local)
    if not headers:
        raise DataError(f"{files.shown}: is empty; a CSV begins with a header of column names")
    first, *others = headers
    wanted = read_columns(spec)
    for header, paths in headers.items():
        known = {name.lower() for name in header}
        lost = next((x for other in headers for x in other if x.lower() in wanted - known), None)
        if lost:
            hint = nearest(lost, header) or "; add it, or keep files of other columns apart"
            raise DataError(f"{paths[0]}: there is no column {lost}, which other files have{hint}")
    kept = [name for name in first if all(name.lower() in {x.lower() for x in other} for other in others)]
    frames = []
    for header, paths in headers.items():
        schema = StructType([StructField(name, StringType()) for name in header])
        part = Files(files.shown, files.kind, tuple(paths))
        frame = _with_file(reader.schema(schema).csv(part.paths()))
        extra = [name for name in frame.columns if name not in {*header, FILE}]  # named by the folders
        frames.append(frame.select(*(sql.quote(name) for name in [*kept, *extra, FILE])))
    return frames


def _json(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> DataFrame:
    """JSON lines; columns that the spec takes as they are as text, or as structures of texts."""
    from pyspark.sql.types import StringType, StructField, StructType

    keys = json_keys(files.local)
    if files.local and not keys:
        none = ", ".join(f"CAST(NULL AS STRING) AS {sql.quote(name)}" for name in [*sorted(read_columns(spec)), FILE])
        return spark.sql(f"SELECT {none} WHERE FALSE")
    reader = spark.read.options(mode="FAILFAST", **files.options())
    found = reader.json(files.paths()).schema
    for problem in fields_problem(spark, found, taken, in_order=False):
        raise DataError(f"{files.shown}: {problem}")
    nested = as_texts(spark, {kind for kinds in taken.values() for kind in kinds if kind.startswith(_NESTED)})
    # Spark infers no column for a key that has {} in every line.
    bare = [StructField(key, StringType()) for key in keys.values() if key not in found.names]
    fields = []
    for field in [*found.fields, *bare]:
        kinds = taken.get(field.name.lower(), set())
        kind: Any = nested.get(next(iter(kinds)), StringType()) if len(kinds) == 1 else StringType()
        fields.append(StructField(field.name, kind if kinds else field.dataType))
    return _with_file(reader.schema(StructType(fields)).json(files.paths()))


def _with_file(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.select("*", f.col("_metadata.file_path").alias(FILE))


def typed(texts: DataFrame, taken: dict[str, set[str]], kinds_of: dict[str, str]) -> DataFrame:
    """The columns cast to the one type that the spec has for them, or to the one that their values have."""
    from pyspark.sql import functions as f

    columns: list[Column] = []
    for name in texts.columns:
        column, kinds = f.col(sql.quote(name)), taken.get(name.lower(), set())
        if len(kinds) == 1 and not _is_text(kinds):
            column = column.cast(next(iter(kinds)))
        elif name in kinds_of:
            column = f.when(column != "", column).cast(kinds_of[name])
        if name != FILE:
            columns.append(column.alias(name))
    return texts.select(*columns)


# What a text looks like in a type that is compared otherwise than as text. A number that begins with 0 is a text.
_GUESSES = {
    "BIGINT": r"^[+-]?(0|[1-9]\d*)$",
    "DECIMAL(38, 0)": r"^[+-]?(0|[1-9]\d*)$",
    "DOUBLE": r"^[+-]?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d+)?$",
    "TIMESTAMP": r"^\d{4}-\d\d?-\d\d?([ T]\d.*)?$",
    "BOOLEAN": r"^(?i)(true|false)$",
}


def guessed(texts: DataFrame, names: set[str]) -> dict[str, str]:
    """Column -> the type that all its values have, of the columns named; those that are texts are not in it."""
    from pyspark.sql import functions as f

    asked = [name for name in texts.columns if name.lower() in names]
    if not asked:
        return {}
    tests = [f.expr(_fits(column, *guess)) for column in map(sql.quote, asked) for guess in _GUESSES.items()]
    fits = iter(texts.select(*tests).first() or ())
    found = {}
    for name in asked:
        kinds = [kind for kind in _GUESSES if next(fits)]
        if kinds:
            found[name] = kinds[0]
    return found


def _fits(column: str, kind: str, pattern: str) -> str:
    """Whether there are texts in a column and all of them are values of a type."""
    test = f"{column} RLIKE {sql.text_literal(pattern)} AND TRY_CAST({column} AS {kind}) IS NOT NULL"
    return f"COALESCE(BOOL_AND({test}) FILTER (WHERE {column} <> ''), FALSE)"
