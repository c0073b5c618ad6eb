"""Reads the first rows of a local CSV or JSON file in Python: init asks its questions before Spark starts."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from scdgen.errors import UsageError, ask_for_separator
from scdgen.files import find as files
from scdgen.files.dialect import open_text
from scdgen.files.objects import is_array
from scdgen.init.data import ROWS, Sample, build_sample, guess_type_of_text, refuse_excels_line

_PYTHON = {"sep", "encoding", "quote", "escape", "comment"}  # options of Spark's CSV reader that Python's has too
_FORMS = (
    ("INT", r"[+-]?\d{1,9}"),
    ("BIGINT", r"[+-]?\d{1,18}"),
    ("DOUBLE", r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"),
    ("BOOLEAN", r"(?i:true|false)"),
)


def read_early(path: str, options: Mapping[str, str]) -> Sample | None:
    """Read the first rows of a local file; ``None`` if only Spark can read them, or can say what is wrong with them.

    Raises :class:`UsageError` for a CSV that a draft's path cannot read.
    """
    found = replace(files.find(path), given=options)
    if len(found.local) != 1 or found.folder or found.kind not in {"csv", "json"} or options.keys() - _PYTHON:
        return None
    if found.kind == "csv":
        refuse_excels_line(found)
    try:
        read = _read_csv(found) if found.kind == "csv" else _read_json(found.local[0])
    except (csv.Error, OSError, EOFError, ValueError):
        return None
    return read and build_sample(*read, path, found.kind)


def _read_csv(found: files.Files) -> tuple[list[tuple[str, str]], list[Sequence[Any]]] | None:
    """Return names and types, and rows of text."""
    (file,), dialect = found.local, found.dialect(found.local[0])
    with open_text(file, dialect.encoding) as text:
        cells = filter(None, dialect.cells(text))
        names = dialect.names(next(cells, []))
        if len(names) == 1 and (likely := ask_for_separator(names[0])):
            raise UsageError(f"{found.shown}: {likely}")
        if len({name.lower() for name in names}) < len(names) or re.search("[\0\ufffd\ud800-\udfff]", "".join(names)):
            return None
        rows = [[cell or None for cell in row[: len(names)]] for row in islice(cells, ROWS + 1)]
    full: list[Sequence[Any]] = [[*row, *[None] * (len(names) - len(row))] for row in rows]
    return [(name, _guess_csv_type(row[place] for row in full)) for place, name in enumerate(names)], full


def _guess_csv_type(values: Iterable[str | None]) -> str:
    """Guess the type that Spark infers, except that numbers with a leading zero stay text.

    >>> [_guess_csv_type(texts) for texts in (["1", "-2", None], ["007"], ["1", "2.5"], ["2024-01-02"], ["x"], [None])]
    ['INT', 'STRING', 'DOUBLE', 'DATE', 'STRING', 'STRING']
    """
    texts = {value for value in values if value is not None}
    if not texts or any(re.match("[+-]?0[0-9]", text) for text in texts):
        return "STRING"
    kind = next((kind for kind, form in _FORMS if all(re.fullmatch(form, text) for text in texts)), None)
    return kind or guess_type_of_text(texts) or "STRING"


def _read_json(file: Path) -> tuple[list[tuple[str, str]], list[Sequence[Any]]] | None:
    """Return keys and types, and rows of values, of JSON lines or an array."""
    with open_text(file) as text:
        read = json.load(text) if is_array(file) else map(json.loads, filter(str.strip, text))
        found = [row for row in islice(read, ROWS + 1) if row is not None]
    if not found or not all(isinstance(row, dict) for row in found):
        return None
    if any(isinstance(value, (dict, list)) for row in found for value in row.values()):
        return None
    names = sorted({name for row in found for name in row})
    rows: list[Sequence[Any]] = [[row.get(name) for name in names] for row in found]
    return [(name, _guess_json_type(row[place] for row in rows)) for place, name in enumerate(names)], rows


def _guess_json_type(values: Iterable[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds in ({bool}, {int}, {float}, {int, float}):
        return "BOOLEAN" if bool in kinds else "DOUBLE" if float in kinds else "BIGINT"
    return "STRING"
