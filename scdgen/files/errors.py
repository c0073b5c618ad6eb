"""Locates errors in the files of a run: the file, the line if it is known, the column and the value.

If Spark failed, or may have misread the files, they are read again here, row by row, to find the line.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.engine.engine import BadValue, Engine, bad_value, is_cast_error
from scdgen.engine.failures import AFTER_QUOTE, explain_unreadable, is_commit, translate
from scdgen.engine.session import strict
from scdgen.errors import DataError, ScdgenError, UsageError, find_values, of_system, quoted
from scdgen.files.dialect import Dialect, find_dialect, guess_encoding, open_text, pick_form
from scdgen.files.find import Files, find
from scdgen.files.read import Opened, check_header, missing_column, named_columns, opened, read_columns
from scdgen.files.shape import find_wanted, taken_types
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from scdgen.sql.literal import value_text
from scdgen.sql.types import NESTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW = "_scd_source_texts"
_FIX = "the file"
_FIRST = 1000  # objects of JSON whose keys are compared with those that a spec reads


def find_files(path: str) -> Files:
    """Find the files of a path and check their first bytes, without Spark. Raises :class:`ScdgenError`."""
    try:
        return find(path)
    except OSError as error:
        raise DataError(of_system(error, error.filename or path)) from error


def check_source(spec: Spec, path: str, options: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the columns of a CSV that the spec does not read, or the keys of the first objects of JSON lines.

    Raises :class:`DataError` for a CSV that lacks one which it reads. Needs no Spark, which finds what else is wrong
    with a file, such as broken rows; a file that Python cannot read is left to it.
    """
    with suppress(OSError, UnicodeError, EOFError, csv.Error, zlib.error):
        files = _described(spec, path, options)
        if files.kind == "json" and len(files.local) == 1:
            with suppress(DataError):
                rows, used = islice(json_rows(files.local[0]), _FIRST), named_columns(spec)
                return tuple(dict.fromkeys(name for _, row in rows for name in row if name.lower() not in used))
        return check_header(spec, files)
    return ()


def _described(spec: Spec, path: str, options: Mapping[str, str] | None) -> Files:
    likely = spec.source.options if spec.source.format == "csv" else {}
    files = find_files(path)
    form = pick_form(likely) if files.kind == "csv" else {}
    return replace(files, given={**form, **(options or {})}, likely=likely)


def open_files(spark: SparkSession, spec: Spec, path: str, options: Mapping[str, str] | None = None) -> Opened:
    """Open the files of a path. Raises :class:`ScdgenError`, with the line of the mistake if it is known.

    ``options`` are those of Spark's CSV reader, as :func:`scdgen.files.dialect.check_options` returns them.
    """
    files = _described(spec, path, options)
    try:
        with strict(spark):
            source = opened(spark, spec, files)
    except ScdgenError as error:  # such as a missing column, which a broken line may hide
        if files.kind == "json" and (mistake := find_mistake(files.kind, files.local)):
            raise mistake from error
        raise
    except Exception as error:
        # Only now read the files in Python, which is slow, to find the line of the mistake.
        if mistake := find_mistake(files.kind, files.local, files.dialect):
            raise mistake from error
        if isinstance(error, OSError):
            raise DataError(of_system(error, error.filename or path)) from error
        message = _describe_unreadable(files, str(error)) or _describe_unseen(files, str(error))
        if message is not None:
            raise DataError(message, values=find_values(message)) from error
        raise translate(spec, error, path) from error
    # Spark may have misread rows without an error, too; look at the files that show signs of it.
    if mistake := find_mistake(files.kind, source.doubtful, files.dialect):
        raise mistake
    return source


def explained(
    engine: Engine, spec: Spec, source: Opened, params: Mapping[str, object], error: ScdgenError
) -> DataError | None:
    """Translate the error of a run to one that names the place in the files; ``None`` if they did not cause it."""
    # Spark's own error has its class and its text; the line that was made of it has not.
    text = str(error.__cause__ or error)
    missing = re.search(r"\[UNRESOLVED_COLUMN[A-Z_.]*\][^`]*`([^`]+)`", text)
    if missing and missing[1].lower() in read_columns(spec):
        return missing_column(source.files.named(None)[0], missing[1], source.rows.columns)
    if message := _describe_unreadable(source.files, text):
        mistake = find_mistake(source.files.kind, source.files.local, source.files.dialect)
        message = _describe_unnested(spec, source.files) or message
        return mistake or DataError(message, values=find_values(message))
    # Search for the value only after a failed cast, because the search reads all rows.
    if isinstance(error, UsageError) or not is_cast_error(text):
        return None
    source.texts.createOrReplaceTempView(_VIEW)
    try:
        with strict(engine.spark):
            found = bad_value(engine, bind(spec, _VIEW, params))
    finally:
        engine.spark.catalog.dropTempView(_VIEW)
    if found is None:
        return None
    message = found.message(_locate(source.files, found), _FIX)
    return DataError(message, rule="cast", count=found.count, sample=found.key, values=found.shown)


def _locate(files: Files, found: BadValue) -> str:
    """``file:line``, or the file alone if no line holds the texts of the row."""
    shown, local = files.named(found.file)
    if local is None or files.kind not in {"csv", "json"} or not found.texts:
        return shown
    line = line_of(local, files.kind, found.texts, files.dialect)
    return f"{shown}:{line}" if line else shown


def _describe_unreadable(files: Files, text: str) -> str | None:
    """The message of :func:`explain_unreadable`, with the file's path as the user gave it.

    ``None`` for a commit, which may be one of the target, so that its own path has to be shown.
    """
    broken = explain_unreadable(text)
    if broken is None or is_commit(broken[0]):
        return None
    file, what = broken
    return f"{files.named(file)[0]}: {what}"


def _describe_unseen(files: Files, text: str) -> str | None:
    """The message for a file that exists on this machine but not on the one that Spark runs on."""
    if not files.local or "[PATH_NOT_FOUND]" not in text:
        return None
    return f"{files.shown}: the server does not see it; put it where the server has the same path, or on a shared store"


def _describe_unnested(spec: Spec, files: Files) -> str | None:
    """The message for the first value in JSON that is not nested although its column's type is."""
    if files.kind != "json":
        return None
    nested: dict[str, tuple[Any, str]] = {
        name: ((list, dict), "STRUCT") for name, node in find_wanted([spec]).items() if node.inside
    }
    for name, kinds in taken_types(spec).items():
        for kind in kinds:
            if kind.startswith(NESTED):
                nested[name] = (list if kind.startswith("ARRAY") else dict, kind)
    for file in files.local:
        for line, row in json_rows(file):
            for name, value in row.items():
                python, kind = nested.get(name.lower(), (object, ""))
                if value is not None and not isinstance(value, python):
                    bad = BadValue(f"column {name}", str(value), kind)
                    return bad.message(f"{file}:{line}", _FIX)
    return None


DialectOf = Callable[[Path], Dialect]


def find_mistake(kind: str, files: Iterable[Path], dialect_of: DialectOf = find_dialect) -> DataError | None:
    """Find the first mistake in the rows of CSV files or JSON lines, with its line."""
    # Spark returns NULL for a key in another case, so two spellings of one key would lose values.
    spelled: dict[str, str] = {}
    try:
        for file in files if kind in {"csv", "json"} else ():
            for line, row in json_rows(file) if kind == "json" else csv_rows(file, dialect_of(file)):
                for key in row if kind == "json" else ():
                    if (before := spelled.setdefault(key.lower(), key)) != key:
                        message = f"the key '{key}' is written '{before}' before; spell it one way"
                        return DataError(message, place=f"{file}:{line}")
    except DataError as error:
        return error
    except OSError:  # the caller reports the error that it came with
        return None
    return None


def find_uneven(file: Path, dialect: Dialect) -> DataError | None:
    """Find the first mistake in a CSV whose rows differ in their number of cells; ``None`` if Python cannot read it."""
    # Python limits a cell to 128 KB, Spark does not.
    csv.field_size_limit(sys.maxsize)
    with suppress(OSError, UnicodeError, EOFError, csv.Error, zlib.error), open_text(file, dialect.encoding) as text:
        # Only count the cells, which is much faster than to look for each mistake.
        widths = (len(cells) for cells in dialect.cells(text) if cells)
        first = next(widths, 0)
        if any(width != first for width in widths):
            return find_mistake("csv", [file], lambda _: dialect)
    return None


def line_of(file: Path, kind: str, wanted: dict[str, str], dialect_of: DialectOf = find_dialect) -> int | None:
    """Find the line of the first row that holds the texts of ``wanted`` (lower-case column -> text)."""
    for line, row in json_rows(file) if kind == "json" else csv_rows(file, dialect_of(file)):
        texts = {name.lower(): value_text(value) for name, value in row.items()}
        if wanted.items() <= texts.items():
            return line
    return None


class _Lines:
    """The lines of a file with their endings. Raises :class:`DataError` for one that is not UTF-8, or has a NUL."""

    def __init__(self, file: Path, encoding: str = Dialect.encoding, hints: bool = False):
        """``hints``: an option can name the encoding."""
        self.file, self.encoding, self.hints, self.number = file, encoding, hints, 0
        self.end = ""  # ending of the last line read: LF, CRLF or CR; empty at the end of a file without one

    def __iter__(self) -> Iterator[str]:
        try:
            with open_text(self.file, self.encoding) as text:
                for self.number, line in enumerate(text, 1):
                    # Bytes that are not UTF-8 come as surrogates, so that the line is known when one is found.
                    odd = re.search("[\0\udc80-\udcff]", line)
                    if odd and odd[0] == "\0":
                        raise self.error(self.number, "holds a NUL character; save the file as UTF-8 text")
                    if odd:
                        raise self.error(self.number, self._describe_byte(ord(odd[0]) - 0xDC00))
                    self.end = line[len(line.rstrip("\r\n")) :].replace("\r", "CR").replace("\n", "LF")
                    yield line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{self.file}: the gzip file is broken; copy it again") from error

    def _describe_byte(self, byte: int) -> str:
        message = f"the byte 0x{byte:02X} is not UTF-8; save the file as UTF-8"
        guess = guess_encoding(self.file) if self.hints else None
        return f"{message}, or give --source-option encoding={guess}" if guess else message

    def error(self, line: int, what: str, *values: str) -> DataError:
        return DataError(what, place=f"{self.file}:{line}", values=values)


def csv_rows(file: Path, dialect: Dialect | None = None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, column -> cell) for each row of a CSV. Raises :class:`DataError` at the first mistake."""
    # Python limits a cell to 128 KB, Spark does not.
    csv.field_size_limit(sys.maxsize)
    dialect = dialect or find_dialect(file)
    lines = _Lines(file, dialect.encoding, hints=True)
    header: tuple[str, ...] = ()
    first = "header" if dialect.header else "first row"
    begin, end = 1, ""
    try:
        for cells in dialect.cells(lines):
            # The first row gives the names, or without a header only their number.
            if cells and not header:
                header, end = dialect.names(cells), lines.end
                if dialect.header:
                    begin = lines.number + 1
                    continue
            if cells and len(cells) != len(header):
                counts = f"{len(cells)} cell{'s' * (len(cells) != 1)} where the {first} has {len(header)}"
                sep = {",": "comma", ";": "semicolon", "\t": "tab"}.get(dialect.sep, f"'{dialect.sep}'")
                raise lines.error(begin, f"{counts}; fix the row, or put quotes around a cell with a {sep}")
            if header and lines.end not in {"", end}:
                raise lines.error(lines.number, f"the line ends in {lines.end}, the {first} in {end}; use one")
            if cells:
                yield begin, dict(zip(header, cells, strict=True))
            # A row with quotes may go over several lines; the next one begins after it.
            begin = lines.number + 1
    except csv.Error as error:
        is_open = "unexpected end of data" in str(error)
        what = "a quote that opens here is never closed; close it" if is_open else AFTER_QUOTE
        raise lines.error(begin, what) from error


def json_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of JSON lines, but for lines ``null``; numbers are text. Raises :class:`DataError`."""
    # Leave numbers as text: a float would lose digits.
    decoder = json.JSONDecoder(object_pairs_hook=_reject_repeated_keys, parse_int=str, parse_float=str)
    lines = _Lines(file)
    for line in filter(str.strip, lines):
        try:
            value = decoder.decode(line)
        except _RepeatedKeyError as error:
            raise lines.error(lines.number, f"the key '{error}' is given twice; keep one") from error
        except (ValueError, RecursionError):
            value = False
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if not all(isinstance(row, dict) for row in listed):
            shown = quoted(line.strip())
            what = f"{shown} is not a JSON object; write one object per line (JSON lines)"
            raise lines.error(lines.number, what, shown)
        for row in listed:
            yield lines.number, row


class _RepeatedKeyError(Exception):
    """An object has this key twice."""


def _reject_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedKeyError(next(name for place, name in enumerate(names) if name in names[:place]))
    return found
