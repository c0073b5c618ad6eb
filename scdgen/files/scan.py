"""Text files row by row with their lines, read as strictly as their formats are written.

Spark's readers guess where a text is broken: a row with too few cells is filled with NULL, a quote that is never closed
takes the rest of the file, a line that ends in LF after others in CRLF runs into the next one, and what follows an
object on its line is dropped. So a local file is walked through once before Spark reads it. This needs no Spark.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scdgen.errors import DataError, quoted

_CSV_REASONS = {
    "unexpected end of data": "a quote that opens here is never closed; close it",
    "expected after": "text follows a closing quote; write a quote inside a quoted cell twice",
    "new-line character": "a line ends in CR alone; end each in LF or CRLF",
}


class _Lines:
    """The lines of a UTF-8 file, unpacked and without a byte order mark, their ends kept.

    Not the text layer of Python: that does not know on which line a byte is that is no UTF-8.
    """

    def __init__(self, file: Path):
        self.file = file
        self.number = 0
        self.crlf = False  # whether the line given last ends in CRLF
        self.ended = False  # whether it ends at all: the last line of a file need not

    def __iter__(self) -> Iterator[str]:
        opener = gzip.open if self.file.suffix.lower() == ".gz" else open
        try:
            with opener(self.file, "rb") as stream:
                for line in stream:
                    yield self._text(line)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{self.file}: the gzip file is broken; copy it again") from error

    def _text(self, line: bytes) -> str:
        self.number += 1
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = line[error.start]
            told = f"the byte 0x{byte:02X} is no UTF-8; save the file as UTF-8"
            raise DataError(f"{self.file}:{self.number}: {told}") from error
        if "\0" in text:
            raise DataError(f"{self.file}:{self.number}: holds a NUL character; save the file as UTF-8 text")
        self.crlf, self.ended = text.endswith("\r\n"), text.endswith("\n")
        return text.removeprefix("\ufeff") if self.number == 1 else text


def csv_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of the header and each row, all of one length. Raises :class:`DataError` at the first mistake."""
    csv.field_size_limit(sys.maxsize)
    lines = _Lines(file)
    reader = csv.reader(lines, strict=True)
    begin, width, crlf = 1, 0, False
    try:
        for cells in reader:
            if not width and cells:
                width, crlf = len(cells), lines.crlf
                if lines.number > begin:
                    raise DataError(f"{file}:{begin}: a name in the header holds a line break; write it on one line")
            if cells and len(cells) != width:
                told = f"{len(cells)} cell{'s' * (len(cells) != 1)} where the header has {width}"
                raise DataError(f"{file}:{begin}: {told}; mend the row, or put quotes around a cell with a comma")
            if lines.ended and lines.crlf != crlf:
                ends = ("CRLF", "LF") if lines.crlf else ("LF", "CRLF")
                raise DataError(f"{file}:{lines.number}: the line ends in {ends[0]}, the header in {ends[1]}; use one")
            if cells:
                yield begin, cells
            begin = lines.number + 1
    except csv.Error as error:
        reason = next((reason for part, reason in _CSV_REASONS.items() if part in str(error)), str(error))
        raise DataError(f"{file}:{begin}: {reason}") from error


def csv_headers(files: Iterable[Path]) -> dict[tuple[str, ...], list[Path]]:
    """The headers among CSV files, each with its files; every row has been walked through.

    A name that is empty becomes ``_c`` and its place, as in Spark. Empty files have no header and are left out.
    """
    found: dict[tuple[str, ...], list[Path]] = {}
    for file in files:
        header: tuple[str, ...] = ()
        for _, cells in csv_rows(file):
            header = header or _header(file, cells)
        if header:
            found.setdefault(header, []).append(file)
    return found


def _header(file: Path, cells: list[str]) -> tuple[str, ...]:
    header = tuple(name or f"_c{place}" for place, name in enumerate(cells))
    lower = [name.lower() for name in header]
    twice = next((name for place, name in enumerate(header) if name.lower() in lower[:place]), None)
    if twice is not None:
        raise DataError(f"{file}:1: the header names '{twice}' twice; keep one, upper and lower case are the same")
    return header


def json_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, object) of JSON lines; numbers in objects are text, as written."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_int=str, parse_float=str)
    lines = _Lines(file)
    for line in lines:
        if not line.strip():
            continue
        try:
            value = decoder.decode(line)
        except _TwiceError as error:
            raise DataError(f"{file}:{lines.number}: the key '{error}' is given twice; keep one") from error
        except (ValueError, RecursionError):
            value = None
        listed = value if isinstance(value, list) else [value]
        if not all(isinstance(row, dict) for row in listed):
            told = f"{quoted(line.strip())} is no JSON object"
            raise DataError(f"{file}:{lines.number}: {told}; write one object per line (JSON lines)")
        for row in listed:
            yield lines.number, row


def json_keys(files: Iterable[Path]) -> dict[str, str]:
    """Lower-case key -> the key, of the objects of JSON lines; every line has been walked through."""
    known: dict[str, str] = {}
    spelled: set[str] = set()
    for file in files:
        for line, row in json_rows(file):
            if row.keys() <= spelled:
                continue
            for key in row:
                before = known.setdefault(key.lower(), key)
                if before != key:
                    raise DataError(f"{file}:{line}: the key '{key}' is written '{before}' before; spell it one way")
            spelled.update(row)
    return known


class _TwiceError(Exception):
    """A key that an object has twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for place, name in enumerate(names) if name in names[:place]))
    return found


def line_of(file: Path, kind: str, wanted: dict[str, str]) -> int | None:
    """The line of the first row that holds the texts of ``wanted`` (lower-case column -> text)."""
    if kind == "json":
        rows = ((line, {name.lower(): _shown(value) for name, value in row.items()}) for line, row in json_rows(file))
    else:
        walked = csv_rows(file)
        header = [name.lower() for name in next(walked, (0, []))[1]]
        rows = ((line, dict(zip(header, cells, strict=True))) for line, cells in walked)
    return next((line for line, row in rows if wanted.items() <= row.items()), None)


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
