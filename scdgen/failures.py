"""Spark's, Delta's and Java's own errors as one line with a way out. The original stays behind ``--debug``."""

from __future__ import annotations

import re

from scdgen.errors import DataError, EngineError, ScdgenError, quoted
from scdgen.files import shown_path
from scdgen.spec import Spec
from scdgen.tokens import first_line

# Error condition in Spark's text -> (the data's or spec's fault?, the way out).
_KNOWN: tuple[tuple[str, bool, str], ...] = (
    (r"UNRESOLVED_COLUMN", True, "the source has no such column; mend the spec's expressions or the source"),
    (r"TABLE_OR_VIEW_NOT_FOUND|DELTA_TABLE_NOT_FOUND", True, "name a table that is there, or pass a source"),
    (r"PATH_NOT_FOUND|PATH_DOES_NOT_EXIST", True, "give a path that is there"),
    (r"UNABLE_TO_INFER_SCHEMA", True, "the files at the path are empty or of another format"),
    (r"CAST_INVALID_INPUT|CANNOT_PARSE_TIMESTAMP|INVALID_DATETIME", True,
     "a value does not fit the column's type; mend the source or the type"),
    (r"CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|ARITHMETIC_OVERFLOW", True,
     "a value is too large for the column's type; widen the type"),
    (r"DATATYPE_MISMATCH", True, "an expression of the spec does not fit the types of the source's columns"),
    (r"DELTA_MERGE_UNRESOLVED_EXPRESSION|DELTA_MERGE_MISSING", True,
     "the table's columns are not the spec's; was it made from another spec?"),
    (r"CONCURRENT|DELTA_PROTOCOL_CHANGED|MetadataChangedException", False,
     "another writer changed the table at the same time; run again"),
    (r"PERMISSION|INSUFFICIENT_PRIVILEGES|AccessControlException", False, "ask for the rights on the table"),
    (r"DELTA_UNSUPPORTED|UNSUPPORTED_FEATURE", False, "this Spark or Delta is too old for the statement"),
    (r"Connection refused|UNAVAILABLE|failed to connect", False, "check the address given with --remote"),
    (r"No space left on device", False, "free disk space and run again; the table is as it was"),
)  # fmt: skip

# The cause in Spark's text, where a file could not be read -> what is told, with the pattern's groups in it.
_MALFORMED: tuple[tuple[str, str], ...] = (
    (r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: (.*?)(?: SQLSTATE|\n)",
     "the row {0} has not as many cells as the header; mend it, or put quotes around a cell with a comma"),
    (r"CSV header does not conform to the schema\.\s+Header: (.*)\n\s*Schema: (.*)",
     "its header is {0} where {1} is read; give every file the same columns in one order, each named once, or set the "
     "option enforceSchema: true to go by their places"),
    (r"JsonParseException: Unrecognized token '(.*?)'",
     "holds a line that is no JSON object, at {0}; write one object per line"),
    (r"JsonParseException|JsonEOFException", "holds a line that is no JSON object; write one object per line"),
    (r"\[MALFORMED_RECORD_IN_PARSING[A-Z_.]*\] Malformed records are detected in record parsing: (.*?)\.(?:\s|$)",
     "holds a row that is broken or does not fit the types of the others, read as {0}; mend it"),
    (r"Data type mismatches when reading Parquet column \[(.*?)\]",
     "the column {0} is of another type than in the other files; write them with one type"),
)  # fmt: skip


def unreadable(text: str) -> tuple[str | None, str] | None:
    """(the file as Spark names it, if it does; what is wrong with it) where Spark could not read a file."""
    named = re.search(r"\[FAILED_READ_FILE[A-Z_.]*\] Encountered error while reading file (\S+?)\.(?:\s|$)", text)
    if named is None and "[MALFORMED_RECORD_IN_" not in text:
        return None
    file = named[1] if named else None
    for pattern, told in _MALFORMED:
        found = re.search(pattern, text)
        if found:
            return file, told.format(*(quoted(part.strip()) for part in found.groups()))
    return file, "cannot be read; mend the file, or name its format as it is"


def translate(spec: Spec, error: Exception) -> ScdgenError:
    """One of our errors for an error of the engine."""
    broken = unreadable(str(error))
    if broken is not None:
        file, what = broken
        return DataError(f"{spec.target}: {shown_path(file or spec.source.path or 'a source')}: {what}")
    line = _line(error)
    for pattern, is_data, way_out in _KNOWN:
        if re.search(pattern, str(error)):
            kind = DataError if is_data else EngineError
            return kind(f"{spec.target}: {line}; {way_out}")
    return EngineError(f"{spec.target}: {line}")


def of_check(spec: Spec, check: str, error: Exception) -> ScdgenError:
    """The error of a check that cannot be worked out, which is not a check that fails."""
    kind = type(translate(spec, error))
    return kind(f"{spec.target}: the check {check} cannot be worked out: {_line(error)}; mend its query or its table")


def _line(error: Exception) -> str:
    named = re.search(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+", str(error))
    return first_line(Exception(re.sub(r"\s*SQLSTATE: .*", "", named[0] if named else str(error), flags=re.DOTALL)))
