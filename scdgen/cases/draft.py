"""The first file of cases for a spec: one case, with rows of its data or made up, that passes when it is run."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scdgen import sql
from scdgen.cases.block import Row, format_block, is_readable
from scdgen.cases.format import read_case_file, source_types
from scdgen.cases.nested import cut, is_nested
from scdgen.cases.play import Difference, World, play
from scdgen.cases.suite import duck_worlds, has_duckdb
from scdgen.errors import ScdgenError
from scdgen.facts.source import SourceRow
from scdgen.files.read import read_columns
from scdgen.model.bind import needed_params
from scdgen.model.option import sql_texts
from scdgen.model.spec import Spec

MOST_ROWS = 3
_DAY = "2024-01-01"
# The first letters of a type -> a value of it, as text.
_VALUES = {"TIMESTAMP": _DAY, "DATE": _DAY, "BOOLEAN": "true", "STRING": "a", "VARCHAR": "a", "CHAR": "a"}


@dataclass(frozen=True)
class Rows:
    """Rows of a source: column -> type, and values."""

    types: Mapping[str, str]
    rows: Sequence[Row]

    @staticmethod
    def of_values(columns: Iterable[tuple[str, str, Sequence[Any]]]) -> Rows:
        """Return the first rows of columns, each with a name, a type and its values.

        Columns and rows that a cell cannot hold are left out; text stays text, whatever it may be converted to.
        """
        typed = ((name, _kind_of(kind, values), values) for name, kind, values in columns)
        kept = [column for column in typed if is_readable(column[1])]
        rows = [row for row in zip(*(values for *_, values in kept), strict=True) if not any(map(_has_lines, row))]
        return Rows({name: kind for name, kind, _ in kept}, rows[:MOST_ROWS])

    def of_spec(self, spec: Spec) -> Rows:
        """Return the columns that a spec reads, in the types that it gives them; nested values as cells."""
        needed, known = read_columns(spec), source_types(spec)
        types = {name: known.get(name.lower(), kind) for name, kind in self.types.items()}
        kept = [(place, name) for place, name in enumerate(types) if name.lower() in needed]
        rows = [tuple(cut(row[place], types[name]) for place, name in kept) for row in self.rows]
        return Rows({name: types[name] for _, name in kept}, rows)


def _kind_of(kind: str, values: Iterable[Any]) -> str:
    """Return the type of a cell for a column; the names in a nested type keep their case."""
    if any(isinstance(value, str) for value in values):
        return "string"
    return kind if is_nested(kind) else kind.lower()


def _has_lines(value: Any) -> bool:
    return isinstance(value, str) and len(value.splitlines()) > 1


def draft_cases(spec: Spec, file: Path, data: Rows | None) -> str:
    """Return the text of ``file``, with what the spec makes of rows of its source today, if duckdb is installed.

    Without ``data``, or if the spec refuses them, the rows are made up. The spec, which is no join, has been read from
    its file.
    """
    place = Path(os.path.relpath(spec.origin, file.parent)).as_posix()
    types = {name: _guess_type(spec, name) for name in _list_needed(spec)}
    made_up = Rows(types, [tuple(map(_value_of, types.values()))])
    given = [*([data.of_spec(spec)] if data and data.rows else []), made_up, Rows(types, [])]
    if has_duckdb():
        with duck_worlds() as open_world, tempfile.TemporaryDirectory() as folder:
            tried = Path(folder, "tried.test.yml")
            for rows in given:
                with suppress(ScdgenError, Difference), open_world() as world:
                    return _try(spec, rows, place, tried, world)
    return _write(spec, given[0], place, "what the table is then is for you to write, under 'expect:'")


def _try(spec: Spec, rows: Rows, place: str, tried: Path, world: World) -> str:
    """Return the text with the table that a run gives. Raises an error or a difference if the rows do not pass."""
    # Play the case without its table first, which fails if the rows themselves do not pass.
    tried.write_text(_write(spec, rows, place, ""), encoding="utf-8")
    (case,) = read_case_file(tried, spec)
    play(case, world)
    kinds = world.read(_select(spec, (*spec.columns, *_times(spec))))[0]
    columns = [name for name, kind in kinds.items() if is_readable(kind)]
    # Expect all columns, or else those of the spec: the others may have the time of the run.
    for some in (columns, [name for name in columns if name in spec.columns]):
        found = world.read(_select(spec, some))[1]
        # A block has no cell of several lines.
        expect = format_block(some, [row for row in found if not any(map(_has_lines, row))])
        with suppress(Difference):  # such as a time that is that of the run
            tried.write_text(_write(spec, rows, place, "", expect), encoding="utf-8")
            (case,) = read_case_file(tried, spec)
            world.clear()
            play(case, world)
            remark = "expect has what the spec gives today; read it, and correct what is not meant"
            return _write(spec, rows, place, remark, expect)
    return _write(spec, rows, place, "write what the table is then, under 'expect:'")


def _select(spec: Spec, columns: Iterable[str]) -> str:
    return f"SELECT {', '.join(map(sql.quote, columns))} FROM {sql.quote_parts(spec.target_parts)}"


def _times(spec: Spec) -> list[str]:
    if spec.keeps_history:
        return [spec.history.valid_from, spec.history.valid_to]
    return [name for name in (spec.updated_at, spec.deleted) if name]


def _write(spec: Spec, rows: Rows, place: str, remark: str, expect: str | None = None) -> str:
    return "\n".join(_lines(spec, rows, place, remark, expect)) + "\n"


def _lines(spec: Spec, rows: Rows, place: str, remark: str, expect: str | None) -> Iterator[str]:
    if remark:
        yield f"# A first case: {remark}."
    yield from (f"spec: {place}", "cases:", "- name: the first rows")
    # Columns are text unless the spec or a schema says otherwise.
    known = source_types(spec)
    if any(kind.lower() != known.get(name.lower(), "string").lower() for name, kind in rows.types.items()):
        schema = ", ".join(f"{sql.quote(name)} {kind}" for name, kind in rows.types.items())
        quoted = "'" + schema.replace("'", "''") + "'"
        # A colon in a type would end a plain text of YAML, and none may begin with a backtick.
        is_plain = re.fullmatch(r"[\w ,()]+", schema)
        yield f"  schema: {schema if is_plain else quoted}"
    yield "  batches:"
    for number, line in enumerate(_batch_lines(spec, rows, expect)):
        yield f"  {'  ' if number else '- '}{line}"


def _batch_lines(spec: Spec, rows: Rows, expect: str | None) -> Iterator[str]:
    if params := [f"{name}: {_value_of(spec.params[name].type)}" for name, _ in needed_params(spec)]:
        yield f"params: {{{', '.join(params)}}}"
    yield "rows: |"
    yield from (f"  {line}" for line in format_block(list(rows.types), rows.rows).splitlines())
    if expect is not None:
        yield "expect: |"
        yield from (f"  {line}" for line in expect.splitlines())


def _list_needed(spec: Spec) -> list[str]:
    """Return the columns that a spec reads, as it spells them, in its order."""
    texts = [*map(spec.column_source, spec.columns), *(found.text for found in sql_texts(spec))]
    words = {word.lower(): word for text in reversed(texts) for word in re.findall(r"\w+", text)}
    needed = read_columns(spec)
    return [*(word for name, word in reversed(words.items()) if name in needed), *sorted(needed - words.keys())]


def _guess_type(spec: Spec, name: str) -> str:
    """Return a type of a column of the source: what the spec says, that of the column or time it becomes, else text."""
    if kind := source_types(spec).get(name.lower()):
        return kind
    for column, option in spec.columns.items():
        if (sql.expression(spec.column_source(column)).bare or "").lower() == name.lower():
            return _kind_of(option.type, ()) if is_readable(option.type) else "string"
    times = {column for _, text in SourceRow(spec).time_texts for column in sql.expression(text).columns}
    kind = spec.history.type if spec.keeps_history else "timestamp"
    return kind if name.lower() in times else "string"


def _value_of(kind: str) -> str:
    if is_nested(kind):
        return "[]" if kind.lower().startswith("array") else "{}"
    return next((value for begin, value in _VALUES.items() if kind.upper().startswith(begin)), "1")
