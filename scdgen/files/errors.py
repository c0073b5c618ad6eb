"""What is wrong with the files that a run was given: the file, the line if it can be told, the column, the value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scdgen.engine.diagnose_cast import BadValue, bad_value, is_cast_error
from scdgen.engine.failures import translate, unreadable
from scdgen.engine.settings import ansi
from scdgen.errors import DataError, ScdgenError, UsageError, nearest, of_system
from scdgen.files.find import Files, find
from scdgen.files.read import Opened, opened, read_columns, taken_types
from scdgen.files.scan import json_rows, line_of
from scdgen.patterns.bind import bind
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_VIEW = "_scd_source_texts"
_MEND = "the file"


def find_files(path: str) -> Files:
    """The files of a path, each looked at; raises one of our errors in one line. Needs no Spark."""
    try:
        return find(path)
    except OSError as error:
        raise DataError(of_system(error, error.filename or path)) from error


def open_files(spark: SparkSession, spec: Spec, path: str) -> Opened:
    """Open the files of a path; raises one of our errors in one line."""
    files = find_files(path)
    try:
        with ansi(spark):
            return opened(spark, spec, files)
    except ScdgenError:
        raise
    except OSError as error:
        raise DataError(of_system(error, error.filename or path)) from error
    except Exception as error:
        told = _unreadable(files, str(error)) or _unseen(files, str(error))
        if told is not None:
            raise DataError(told) from error
        known = translate(spec, error)
        raise type(known)(str(known).replace(f"{spec.target}:", f"{path}:", 1)) from error


def explained(
    spark: SparkSession, spec: Spec, source: Opened, params: Mapping[str, object], error: ScdgenError
) -> DataError | None:
    """The error that names the place in the files, for one that a run ended with; ``None`` where it is not theirs."""
    text = str(error.__cause__ or error)
    missing = re.search(r"\[UNRESOLVED_COLUMN[A-Z_.]*\][^`]*`([^`]+)`", text)
    if missing and missing[1].lower() in read_columns(spec):
        names = source.rows.columns
        hint = nearest(missing[1], names) or f"; its columns are {', '.join(names)}"
        return DataError(f"{source.files.named(None)[0]}: there is no column {missing[1]}{hint}")
    told = _unreadable(source.files, text)
    if told is not None:
        return DataError(_not_nested(spec, source.files) or told)
    if isinstance(error, UsageError) or not is_cast_error(text):
        return None
    source.texts.createOrReplaceTempView(_VIEW)
    try:
        with ansi(spark):
            found = bad_value(spark, bind(spec, _VIEW, params))
    finally:
        spark.catalog.dropTempView(_VIEW)
    if found is None:
        return None
    message = found.message(_place(source.files, found), _MEND)
    return DataError(message, rule="cast", count=found.count, sample=found.key)


def _place(files: Files, found: BadValue) -> str:
    """``file:line``, or the file alone where no line holds the texts of the row."""
    shown, local = files.named(found.file)
    if local is None or files.kind not in {"csv", "json"} or not found.texts:
        return shown
    line = line_of(local, files.kind, found.texts)
    return f"{shown}:{line}" if line else shown


def _unreadable(files: Files, text: str) -> str | None:
    """What :func:`unreadable` tells, with the file called as it was given."""
    broken = unreadable(text)
    if broken is None:
        return None
    file, what = broken
    return f"{files.named(file)[0]}: {what}"


def _unseen(files: Files, text: str) -> str | None:
    """What to say where a file is on this machine, and Spark, on another one, finds nothing at its path."""
    if not files.local or "[PATH_NOT_FOUND]" not in text:
        return None
    return f"{files.shown}: the server does not see it; put it where the server has the same path, or on a shared store"


def _not_nested(spec: Spec, files: Files) -> str | None:
    """The first value of JSON that is no structure where its column is one."""
    if files.kind != "json":
        return None
    nested = {}
    for name, kinds in taken_types(spec).items():
        for kind in kinds:
            if kind.startswith(("ARRAY", "STRUCT", "MAP")):
                nested[name] = (list if kind.startswith("ARRAY") else dict, kind)
    for file in files.local:
        for line, row in json_rows(file):
            for name, value in row.items():
                python, kind = nested.get(name.lower(), (object, ""))
                if value is not None and not isinstance(value, python):
                    bad = BadValue(f"column {name}", str(value), kind)
                    return bad.message(f"{file}:{line}", _MEND)
    return None
