"""The dialect of a CSV: its separator, quotes, encoding and header, given or detected from its first bytes."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO, cast

from scdgen.errors import UsageError, nearest

SEPARATORS = (",", ";", "\t", "|")
_BYTES = 1 << 16  # read to detect the separator
_ROWS = 200
_BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Options of Spark's CSV reader in lower case -> as Spark spells them.
_OPTIONS = {
    name.lower(): name
    for name in (
        "sep", "delimiter", "encoding", "charset", "quote", "escape", "comment", "header", "nullValue", "emptyValue",
        "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "maxColumns", "maxCharsPerColumn",
        "charToEscapeQuoteEscaping",
    )
}  # fmt: skip
_FORM = ("header", "comment", "quote", "escape", "nullValue", "emptyValue")
_SAME = {"delimiter": "sep", "charset": "encoding"}
_FORMATS = {"dateformat": "to_date", "timestampformat": "to_timestamp", "timestampntzformat": "to_timestamp_ntz"}


@dataclass(frozen=True)
class Dialect:
    """The options with which both Python and Spark read a CSV; the defaults are those of RFC 4180.

    ``strips``: a blank after a separator is not part of a cell.
    """

    sep: str = ","
    encoding: str = "utf-8"
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    header: bool = True
    strips: bool = False

    def options(self) -> dict[str, str]:
        """Return the options of Spark's reader that are not the defaults."""
        found = {}
        if self.sep != Dialect.sep:
            found["sep"] = self.sep.replace("\t", "\\t")
        if self.encoding != Dialect.encoding:
            found["encoding"] = self.encoding
        if self.strips:
            found["ignoreLeadingWhiteSpace"] = "true"
        return found

    def cells(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yield the cells of each row. Raises :class:`csv.Error`."""
        doubled = self.escape == self.quote
        kept = lines if not self.comment else (line for line in lines if not line.startswith(self.comment))
        form: dict[str, Any] = {"quotechar": self.quote} if self.quote else {"quoting": csv.QUOTE_NONE}
        form |= {} if doubled else {"doublequote": False, "escapechar": self.escape or None}
        return csv.reader(kept, delimiter=self.sep, strict=True, skipinitialspace=self.strips, **form)

    def names(self, cells: list[str]) -> tuple[str, ...]:
        """Return the column names in a first row, without blanks around them; an empty one is ``_c`` and its index."""
        given = [cell.strip(" ") for cell in cells] if self.header else [""] * len(cells)
        return tuple(name or f"_c{place}" for place, name in enumerate(given))


def check_options(given: Mapping[str, str], option: str) -> dict[str, str]:
    """Return options of Spark's CSV reader as Spark spells them. Raises :class:`UsageError` for an invalid one.

    >>> check_options({"SEP": ";"}, "--source-option")
    {'sep': ';'}
    """
    # Check every option, because Spark ignores those that it does not know.
    found = {}
    for name, value in given.items():
        known = _OPTIONS.get(name.lower())
        if known is None and name.lower() in _FORMATS:
            call = f"{_FORMATS[name.lower()]}(column, '{value}')"
            raise UsageError(f"columns are read as text; write {call} in the spec", option=option, value=name)
        if known is None:
            hint = nearest(name, _OPTIONS.values()) or f"; the options are {', '.join(_OPTIONS.values())}"
            raise UsageError(f"is not a supported option for a CSV{hint}", option=option, value=name)
        # Store an option that has two names under one of them.
        known = _SAME.get(known, known)
        fits, fault = _VALUES.get(known, (None, ""))
        if fits and not fits(value):
            raise UsageError(f"'{value}' is not {fault}", option=option, value=name)
        found[known] = value
    if "quote" in found:  # a quote in a cell is written twice, as with the usual one
        found.setdefault("escape", found["quote"])
    return found


def _is_encoding(name: str) -> bool:
    try:
        codecs.lookup(name)
    except LookupError:
        return False
    return True


# Option -> the test of its values, and what a message says of others.
_VALUES: dict[str, tuple[Callable[[str], bool], str]] = {
    "sep": (lambda text: len(text.replace("\\t", "\t")) == 1, "one character; write it as sep=';' or sep='\\t'"),
    "encoding": (_is_encoding, "an encoding; write it as encoding=windows-1252"),
    **dict.fromkeys(
        ("quote", "escape", "comment"), (lambda text: len(text) < 2, "one character; give one, or nothing for none")
    ),
}


def find_dialect(
    file: Path, given: Mapping[str, str] | None = None, likely: Mapping[str, str] | None = None
) -> Dialect:
    """Detect the dialect of a local file, which may be zipped.

    ``given`` are options that override the detected ones, as :func:`check_options` returns them; ``likely`` those in
    the spec for the files that this one replaces: their encoding is used if the file has no byte order mark, their
    separator if it splits the header better than others do.
    """
    given, known = given or {}, _spelled(likely or {})
    # Python may not know them.
    usual = {name: known[name] for name in ("sep", "encoding") if name in known and _VALUES[name][0](known[name])}
    begin = _read_bytes(file, _BYTES)
    encoding = given.get("encoding") or next(
        (name for bom, name in _BOMS.items() if begin.startswith(bom)), usual.get("encoding", Dialect.encoding)
    )
    # Set what needs no look at the rows; the search for the separator needs it to cut cells.
    plain = Dialect(
        encoding=Dialect.encoding if codecs.lookup(encoding).name == Dialect.encoding else encoding,
        quote=given.get("quote", Dialect.quote),
        escape=given.get("escape", Dialect.escape),
        comment=given.get("comment", ""),
        header=given.get("header", "true").lower() != "false",
        strips=given.get("ignoreLeadingWhiteSpace", "").lower() == "true",
    )
    lines = _decode_lines(begin, plain.encoding)
    sep = given.get("sep") or _find_separator(lines, plain, usual.get("sep"))
    found = replace(plain, sep=sep.replace("\\t", "\t"))
    return replace(found, strips=found.strips or ("ignoreLeadingWhiteSpace" not in given and _is_spaced(lines, found)))


def _decode_lines(begin: bytes, encoding: str) -> list[str]:
    """Return the first lines of a file, without one that is cut."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(begin).lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    return lines[:-1] if len(begin) == _BYTES and len(lines) > 1 else lines


def _is_spaced(lines: list[str], dialect: Dialect) -> bool:
    r"""Whether a blank follows every separator, in the header and in the rows, except before an empty cell.

    >>> [_is_spaced(text.splitlines(), Dialect()) for text in ("a, b\n1, x", "a, b\n1,x", "a, b", "a,b\n1, x")]
    [True, False, True, False]
    """
    if dialect.sep.isspace() or not dialect.header:
        return False
    try:
        head = next(filter(None, dialect.cells(lines)), [])
        rows = list(islice(filter(None, replace(dialect, strips=True).cells(lines)), _ROWS))
    except csv.Error:  # a quote that the cut leaves open, or a mistake that is found later
        return False
    if len(head) < 2 or not all(cell.startswith(" ") for cell in head[1:]):
        return False
    spaced = sum(line.count(f"{dialect.sep} ") for line in lines)
    return all(len(row) == len(head) for row in rows) and spaced >= sum(bool(c) for row in rows for c in row[1:])


def _spelled(options: Mapping[str, str]) -> dict[str, str]:
    """Return those of a spec's options that are known, as Spark spells them."""
    named = {_OPTIONS[name.lower()]: value for name, value in options.items() if name.lower() in _OPTIONS}
    return {_SAME.get(name, name): value for name, value in named.items()}


def pick_form(options: Mapping[str, str]) -> dict[str, str]:
    r"""Return what a spec's options say of the form of a CSV and what no file shows, as Spark spells them.

    These are not the separator and the encoding, which :func:`find_dialect` compares with the file.

    >>> pick_form({"sep": "\\t", "HEADER": "false", "comment": "#", "escape": '"', "multiLine": "true"})
    {'header': 'false', 'comment': '#'}
    """
    usual = {"header": "true", "comment": "", "quote": Dialect.quote, "escape": Dialect.escape}
    named = ((name, value) for name, value in _spelled(options).items() if name in _FORM)
    return check_options({name: value for name, value in named if value.lower() != usual.get(name)}, "source.options")


def _find_separator(lines: list[str], plain: Dialect, likely: str | None) -> str:
    """Find the separator that splits the header and the rows into the same number of cells; a comma by default."""
    best, most = ",", (0.0, 0)
    for sep in dict.fromkeys([*([likely.replace("\\t", "\t")] if likely else []), *SEPARATORS]):
        widths = _count_cells(lines, replace(plain, sep=sep))
        if widths and widths[0] > 1:
            found = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
            if found > most:
                best, most = sep, found
    return best


def _count_cells(lines: list[str], dialect: Dialect) -> list[int]:
    """Count the cells of each of the first rows, up to one that cannot be read."""
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # a quote that the cut leaves open, or a mistake that is found later
        for cells in islice(filter(None, dialect.cells(lines)), _ROWS):
            widths.append(len(cells))
    return widths


def guess_encoding(file: Path) -> str | None:
    """Guess the encoding of a file that is not UTF-8 and has no byte order mark; ``None`` for other files.

    It is ISO-8859-1 unless the file has characters that Windows adds to it, such as €: Spark 4 knows no other encoding
    of one byte unless ``spark.sql.legacy.javaCharsets`` is set.
    """
    begin = _read_bytes(file, 4)
    if any(begin.startswith(bom) for bom in _BOMS):
        return None
    decoder, is_utf8, windows = codecs.getincrementaldecoder("utf-8")("surrogateescape"), True, False
    # A broken gzip file is reported when all of it is read.
    with contextlib.suppress(EOFError, gzip.BadGzipFile), _open_bytes(file) as stream:
        block = b"any"
        while block:
            block = stream.read(1 << 20)
            windows = windows or bool(re.search(rb"[\x80-\x9f]", block))
            is_utf8 = is_utf8 and not re.search("[\udc80-\udcff]", decoder.decode(block, final=not block))
    return None if is_utf8 else "windows-1252" if windows else "ISO-8859-1"


def open_text(file: Path, encoding: str = Dialect.encoding) -> TextIO:
    """Open a text file, unzipped and without a byte order mark; bytes that are not UTF-8 become lone surrogates."""
    name, errors = ("utf-8-sig", "surrogateescape") if encoding == Dialect.encoding else (encoding, "replace")
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    return cast("TextIO", opener(file, "rt", encoding=name, errors=errors, newline=""))


def _read_bytes(file: Path, size: int) -> bytes:
    try:
        with _open_bytes(file) as stream:
            return stream.read(size)
    except (EOFError, gzip.BadGzipFile):
        return b""  # the error is reported when all of it is read


def _open_bytes(file: Path) -> IO[bytes]:
    opener: Any = gzip.open if file.suffix.lower() == ".gz" else open
    return cast("IO[bytes]", opener(file, "rb"))
