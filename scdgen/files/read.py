"""Reads files as rows in the types that a spec's expressions need.

A column of CSV or JSON that the spec takes unchanged is read as text, so that '0001' and a number of 30 digits keep
their digits, and is cast to the type of the target's column. The types of other columns are inferred from their values,
and for JSON from the spec too (:mod:`scdgen.files.shape`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.engine import FILE
from scdgen.engine.session import PARTITIONS_AS_TEXT, set_while
from scdgen.errors import DataError, describe_one_name, nearest
from scdgen.facts.source import SourceRow
from scdgen.files.dialect import Dialect, find_dialect, open_text
from scdgen.files.find import Files
from scdgen.files.objects import read_json
from scdgen.files.parquet import read_parquet, with_file
from scdgen.files.shape import parse_types, taken_types, walk_structs
from scdgen.model.option import sql_texts
from scdgen.model.spec import Spec
from scdgen.sql.types import NESTED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

STRICT = {"mode": "FAILFAST", "columnPruning": "false"}  # with pruned columns Spark does not count a row's cells
_QUOTES = {"escape": '"', "multiLine": "true", "unescapedQuoteHandling": "RAISE_ERROR"}
CSV = {"header": "true", "nullValue": "\x00", **_QUOTES, **STRICT}
# Matches cells of a broken file that Spark has read without an error: a quote that is never closed takes the rest of
# the file, a line that ends in CRLF keeps its CR if the header ends in LF, a byte that is not UTF-8 is replaced.
_DOUBT = r"[\r\n\x00\uFFFD]"
# The same for Python, which reads a byte that is not UTF-8 as a surrogate.
_ODD = re.compile("[\r\n\x00\ufffd\udc80-\udcff]")
_SMALL = 1 << 20  # bytes
_TEXTS = ("STRING", "VARCHAR", "CHAR", "BINARY")
# Texts that Spark reads as a date before the year 1 or after 9999, such as '202401'.
_FAR_YEAR = r"^\s*(-\d|\+?(0{4,7}|0*[1-9]\d{4,6})(-|\s|T|$))"


@dataclass(frozen=True)
class Opened:
    """Files that Spark has opened: ``texts`` as read, with the file of each row; ``rows`` cast to their types.

    ``doubtful`` are local files that Spark may have misread.
    """

    files: Files
    texts: DataFrame
    rows: DataFrame
    doubtful: tuple[Path, ...] = ()


def opened(spark: SparkSession, spec: Spec, files: Files) -> Opened:
    """Open files for a spec. Raises :class:`DataError` if their contents do not fit their format or the spec."""
    with set_while(spark, PARTITIONS_AS_TEXT):
        return _opened(spark, spec, files, taken_types(spec))


def _opened(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> Opened:
    # Each format has its own reader; the last branch is for Delta, and for Parquet that is not local.
    if files.kind == "csv":
        texts = _read_csv(spark, spec, files, taken)
        asked = compared(spec) - taken.keys()
        nothing_to_ask = not any(name.lower() in asked for name in texts.columns) and are_plain(files)
        kinds, doubtful = ({}, []) if nothing_to_ask else _inspect_texts(texts, asked)
        return Opened(files, texts, typed(texts, taken, {**kinds, **_declared(texts, spec)}), _local(files, doubtful))
    if files.kind == "json":
        texts, doubtful = read_json(spark, spec, files)
        return Opened(files, texts, typed(texts, taken, {}), _local(files, doubtful))
    if files.kind == "parquet" and files.local:
        texts = read_parquet(spark, spec, files, taken)
        rows = texts.drop(FILE)
    else:
        rows = spark.read.format(files.kind).load(files.paths()[0])
        texts = with_file(rows)
    for problem in _find_struct_problems(spark, rows.schema, taken):
        raise DataError(f"{files.shown}: {problem}")
    return Opened(files, texts, rows)


def _declared(texts: DataFrame, spec: Spec) -> dict[str, str]:
    """The types that ``source.schema`` gives to columns of a CSV; an array or a struct needs an expression."""
    kinds = {name.lower(): kind for name, kind in spec.source.columns.items() if not kind.startswith(NESTED)}
    return {name: kinds[name.lower()] for name in texts.columns if name.lower() in kinds}


def read_columns(spec: Spec) -> set[str]:
    """Lower-case names of the columns in the spec's expressions; the source may not have all of them."""
    texts = [*map(spec.column_source, spec.columns), *(text for _, text in SourceRow(spec).time_texts)]
    return compared(spec) | {column for text in texts for column in sql.expression(text).columns}


def named_columns(spec: Spec) -> set[str]:
    """Lower-case names of the columns in all SQL of the spec, of the source or not."""
    return read_columns(spec) | {name for found in sql_texts(spec) for name in found.fragment.columns}


def compared(spec: Spec) -> set[str]:
    """Lower-case names of the columns in sequence_by, delete_when and where, which may compare them without a cast."""
    source = spec.source
    texts = [*source.sequence_by, *(text for text in (source.delete_when, source.where) if text is not None)]
    return {name for text in texts for name in sql.expression(text).columns}


def _is_text(kinds: set[str]) -> bool:
    return any(kind.startswith(_TEXTS) for kind in kinds)


def _read_csv(spark: SparkSession, spec: Spec, files: Files, taken: dict[str, set[str]]) -> DataFrame:
    """Read CSV as text. An empty cell is NULL; a quoted empty one is empty text, or NULL in a column with a type."""
    from pyspark.sql import functions as f

    # Options of the command line win over those that were found.
    reader = spark.read.options(**{**CSV, **files.options(), **files.given})
    if files.local:
        frames = _read_csv_by_header(reader, spec, files)
    else:
        frames = [with_file(reader.options(enforceSchema="false").csv(files.paths()))]
        _require_names(files.shown, tuple(frames[0].columns[:-1]), read_columns(spec))
    # The files have the same columns by now, so a union by name loses none.
    frame = reduce(lambda one, more: one.unionByName(more), frames)
    # Make empty cells NULL where the spec has a type: a cast of empty text would fail.
    columns = []
    for name in frame.columns:
        column, kinds = f.col(sql.quote(name)), taken.get(name.lower(), set())
        nested = next((kind for kind in sorted(kinds) if kind.startswith(NESTED)), None)
        if nested:
            call = f"from_json({name}, {sql.text_literal(nested)}, map('mode', 'FAILFAST'))"
            call = f"parse_json({name})" if nested == "VARIANT" else call
            raise DataError(f"{files.shown}: column {name}: a CSV holds no {nested}; write in the spec from: {call}")
        columns.append((f.when(column != "", column) if kinds and not _is_text(kinds) else column).alias(name))
    return frame.select(*columns)


def _read_csv_by_header(reader: Any, spec: Spec, files: Files) -> list[DataFrame]:
    """Read a frame per distinct header, with the columns that all headers share, in the order of the first."""
    from pyspark.sql.types import StringType, StructField, StructType

    heads = csv_heads(files.local, files.dialect)
    if not heads:
        raise DataError(f"{files.shown}: is empty; a CSV begins with a header of column names")
    first, *others = [names for _, names in heads]
    wanted = read_columns(spec)
    for (_, names), paths in heads.items():
        _require_names(str(paths[0]), names, wanted)
        known = {name.lower() for name in names}
        lost = next((x for other in [first, *others] for x in other if x.lower() in wanted - known), None)
        if lost:
            hint = nearest(lost, names) or "; add it, or keep files of other columns apart"
            raise DataError(f"{paths[0]}: no column {lost}, which other files have{hint}")
    # Drop other columns that some files lack, so that the union fits.
    kept = [name for name in first if all(name.lower() in {x.lower() for x in other} for other in others)]
    frames = []
    for (dialect, names), paths in heads.items():
        schema = StructType([StructField(name, StringType()) for name in names])
        part = replace(files, local=tuple(paths))
        frame = with_file(reader.options(**dialect.options()).schema(schema).csv(part.paths()))
        extra = [name for name in frame.columns if name not in {*names, FILE}]  # partition columns
        frames.append(frame.select(*(sql.quote(name) for name in [*kept, *extra, FILE])))
    return frames


def _require_names(place: str, names: tuple[str, ...], wanted: set[str]) -> None:
    """Raise :class:`DataError` for a header of one name that was not split, unless the spec reads that name."""
    likely = describe_one_name(names[0]) if len(names) == 1 else None
    if likely and names[0].lower() not in wanted:
        raise DataError(f"{place}: {likely}")


Head = tuple[Dialect, tuple[str, ...]]


def check_header(spec: Spec, files: Files) -> tuple[str, ...]:
    """Return the columns of a local CSV file that the spec does not read. Raises :class:`DataError` if it lacks one.

    A folder may give columns by the names of its folders (``day=1``), so its files are not tested here. A header with a
    NUL character is not text, which the search for a mistake explains.
    """
    if files.kind != "csv" or len(files.local) != 1 or files.folder:
        return ()
    used = named_columns(spec)
    unused: tuple[str, ...] = ()
    texts = [*map(spec.column_source, spec.columns), *(text for _, text in SourceRow(spec).time_texts)]
    for (_, names), (file, *_) in csv_heads(files.local, files.dialect).items():
        if any("\0" in name for name in names):
            continue
        _require_names(str(file), names, read_columns(spec))
        known = {name.lower() for name in names}
        for name in filter(None, (sql.expression(text).bare for text in texts)):
            if name.lower() not in known:
                raise missing_column(str(file), name, names)
        unused = tuple(name for name in names if name.lower() not in used)
    return unused


def missing_column(place: str, name: str, names: Sequence[str]) -> DataError:
    """The error of a column that the source does not have."""
    hint = nearest(name, names) or f"; its columns are {', '.join(names)}"
    return DataError(f"{place}: no column {name}{hint}")


def csv_heads(
    files: Iterable[Path], dialect_of: Callable[[Path], Dialect] = find_dialect
) -> dict[Head, list[Path]]:  # fmt: skip
    """Each distinct pair of dialect and column names of CSV files -> its files. Empty files are left out."""
    found: dict[Head, list[Path]] = {}
    for file in files:
        dialect = dialect_of(file)
        with open_text(file, dialect.encoding) as text:
            names = dialect.names(next(filter(None, dialect.cells(text)), []))
        lower = [name.lower() for name in names]
        twice = next((name for place, name in enumerate(names) if name.lower() in lower[:place]), None)
        if twice is not None:
            raise DataError(f"{file}:1: the header names '{twice}' twice; keep one, upper and lower case are the same")
        if names:
            found.setdefault((dialect, names), []).append(file)
    return found


def _local(files: Files, uris: Iterable[str]) -> tuple[Path, ...]:
    """The local files with these URIs of Spark's, in order."""
    named = {files.named(uri)[1] for uri in uris}
    return tuple(file for file in files.local if file in named)


def are_plain(files: Files) -> bool:
    """Whether no reader can misread the CSVs, which are local, small and without options; a job of Spark takes longer.

    All rows have the cells of the header, and no cell has what :func:`_inspect_texts` looks for.
    """
    if files.given or any(file.suffix.lower() == ".gz" for file in files.local):
        return False
    small = bool(files.local) and sum(file.stat().st_size for file in files.local) <= _SMALL
    return small and all(_is_plain(file, files.dialect(file)) for file in files.local)


def _is_plain(file: Path, dialect: Dialect) -> bool:
    try:
        with open_text(file, dialect.encoding) as text:
            rows = [cells for cells in dialect.cells(text) if cells]
            ends = text.newlines
    except (csv.Error, UnicodeError):
        return False
    same = {len(cells) for cells in rows} == {len(rows[0])} if rows else False
    return same and ends in {None, "\n", "\r\n"} and not any(_ODD.search("".join(cells)) for cells in rows)


def typed(texts: DataFrame, taken: dict[str, set[str]], kinds_of: dict[str, str]) -> DataFrame:
    """Cast each column to its type in the spec, if that is unambiguous, or to its type in ``kinds_of``."""
    from pyspark.sql import functions as f

    columns: list[Column] = []
    for name in texts.columns:
        column, kinds = f.col(sql.quote(name)), taken.get(name.lower(), set())
        if kinds and all(kind.startswith(("DATE", "TIMESTAMP")) for kind in kinds):
            # Let the cast fail for a year that it would read.
            column = f.when(column.rlike(_FAR_YEAR), f.concat(f.lit("year "), column)).otherwise(column)
        # A column that is cast to different types stays text here.
        if len(kinds) == 1 and not _is_text(kinds):
            column = column.cast(next(iter(kinds)))
        elif name in kinds_of:
            column = f.when(column != "", column).cast(kinds_of[name])
        if name != FILE:
            columns.append(column.alias(name))
    return texts.select(*columns)


# Types that compare differently from text, with the form of their values. A number with a leading zero stays text.
_GUESSES = {
    "BIGINT": r"^[+-]?(0|[1-9]\d*)$",
    "DECIMAL(38, 0)": r"^[+-]?(0|[1-9]\d*)$",
    "DOUBLE": r"^[+-]?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d+)?$",
    "TIMESTAMP": r"^\d{4}-\d\d?-\d\d?([ T]\d.*)?$",
    "BOOLEAN": r"^(?i)(true|false)$",
}


def guessed(texts: DataFrame, names: set[str]) -> dict[str, str]:
    """Column -> the type that fits all its values, for the lower-case ``names``; columns of plain text are left out."""
    return _inspect_texts(texts, names)[0] if any(name.lower() in names for name in texts.columns) else {}


def _inspect_texts(texts: DataFrame, names: set[str]) -> tuple[dict[str, str], list[str]]:
    """The types of :func:`guessed`, and the files that Spark may have misread, in one pass."""
    from pyspark.sql import functions as f

    tested = [name for name in texts.columns if name.lower() in names]
    tests = [f.expr(_render_fit(column, *guess)) for column in map(sql.quote, tested) for guess in _GUESSES.items()]
    cells = [f.col(sql.quote(name)).cast("string") for name in texts.columns if name != FILE]
    file = f.col(FILE) if FILE in texts.columns else f.lit(None).cast("string")
    doubtful = f.collect_set(f.when(f.concat_ws("", *cells).rlike(_DOUBT), file))
    *fits, files = texts.select(*tests, doubtful).first() or ([],)
    found = {}
    # The first type that fits counts; numbers go from narrow to wide.
    for place, name in enumerate(tested):
        kinds = [kind for kind, fit in zip(_GUESSES, fits[place * len(_GUESSES) :], strict=False) if fit]
        if kinds:
            found[name] = kinds[0]
    return found, files


def _render_fit(column: str, kind: str, pattern: str) -> str:
    """The SQL condition that a column has text, all of which converts to a type."""
    test = f"{column} RLIKE {sql.text_literal(pattern)} AND TRY_CAST({column} AS {kind}) IS NOT NULL"
    return f"COALESCE(BOOL_AND({test}) FILTER (WHERE {column} <> ''), FALSE)"


def _find_struct_problems(spark: SparkSession, found: StructType, taken: dict[str, set[str]]) -> Iterator[str]:
    """Yield the fields that the structs of Parquet and Delta files lack, in any order and at any depth."""
    nested = {kind for kinds in taken.values() for kind in kinds if "STRUCT<" in kind}
    wanted = parse_types(spark, nested) if nested else {}
    structs = (
        walked
        for field in found.fields
        for kind in sorted(taken.get(field.name.lower(), set()) & wanted.keys())
        for walked in walk_structs(field.name, field.dataType, wanted[kind])
    )
    for place, given, needed in structs:
        known = {name.lower() for name in given.names}
        for name in (name for name in needed.names if name.lower() not in known):
            hint = nearest(name, given.names) or f"; its fields are {', '.join(given.names)}"
            yield f"column {place}: has no field {name}{hint}"
