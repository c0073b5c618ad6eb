"""Reads the case files of tests/cases/rows; the README there describes them. No Spark here."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from scdgen.errors import nearest

Row = tuple[Any, ...]
# A cell: 'quoted text' with '' for one quote, or anything up to the next |.
_CELL = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^|]*?))\s*(\||$)")
_READ: dict[str, Callable[[str], Any]] = {
    "string": str,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "double": float,
    "decimal": Decimal,
    "date": dt.date.fromisoformat,
    "timestamp": dt.datetime.fromisoformat,
    "boolean": {"true": True, "false": False}.__getitem__,
}


class CaseError(ValueError):
    """A mistake in a case file; the message says where it is and how to fix it."""


@dataclass(frozen=True)
class Block:
    """A table as written: column names, and rows of cells, with ``None`` for NULL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    def typed(self, types: Mapping[str, str]) -> list[Row]:
        """The rows as values of the columns' types (``name -> type``)."""
        for name in self.columns:
            if name not in types:
                raise CaseError(f"no column '{name}'{nearest(name, types)} (the columns: {', '.join(types)})")
        return [
            tuple(
                None if cell is None else value_of(cell, types[name], name)
                for name, cell in zip(self.columns, row, strict=True)
            )
            for row in self.rows
        ]


def value_of(cell: str, kind: str, name: str) -> Any:
    """A cell as a value of a SQL type.

    >>> value_of("2024-01-01", "timestamp", "at")
    datetime.datetime(2024, 1, 1, 0, 0)
    """
    read = _READ.get(kind.lower().split("(")[0])
    if read is None:
        raise CaseError(f"column '{name}': type '{kind}' is not for cases; use one of {', '.join(_READ)}")
    try:
        return read(cell)
    except (ValueError, KeyError, ArithmeticError) as error:
        raise CaseError(f"column '{name}': '{cell}' is not a valid {kind}") from error


def block_of(text: str) -> Block:
    """A table from its text: a line of column names, then a line per row.

    >>> block_of("id | name\\n 1 | NULL\\n# a remark\\n2 | ''\\n3 | 'a|b'").rows
    (('1', None), ('2', ''), ('3', 'a|b'))
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise CaseError("is empty; a table begins with a line of column names")
    header, *rows = [_cells(line) for line in lines]
    columns = tuple(name or "NULL" for name in header)
    if len(set(columns)) < len(columns):
        raise CaseError(f"a column is named twice in '{lines[0].strip()}'")
    for line, row in zip(lines[1:], rows, strict=True):
        if len(row) != len(columns):
            raise CaseError(f"'{line.strip()}' has {len(row)} cells; {len(columns)} columns are named")
    return Block(columns, tuple(rows))


def _cells(line: str) -> tuple[str | None, ...]:
    found: list[str | None] = []
    place, more = 0, True
    while more:
        match = _CELL.match(line, place)
        if match is None or (match[2] or "").startswith("'"):
            raise CaseError(f"'{line.strip()}': a quoted cell is 'text', and '' in it is one quote")
        if match[2] == "":
            raise CaseError(f"'{line.strip()}': a cell is empty; write NULL or ''")
        found.append(None if match[2] == "NULL" else match[2] or match[1].replace("''", "'"))
        place, more = match.end(), match[3] == "|"
    return tuple(found)


def text_of(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Format values as a table of a case file.

    >>> print(text_of(["id", "at"], [(1, dt.datetime(2024, 1, 1)), (22, None), (3, "")]))
    id | at
    1  | 2024-01-01
    22 | NULL
    3  | ''
    """
    lines = [list(columns), *([_cell_of(value) for value in row] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cell_of(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    text = str(value)
    plain = text == text.strip() and text not in {"", "NULL"} and not text.startswith(("'", "#")) and "|" not in text
    return text if plain else "'" + text.replace("'", "''") + "'"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Text = Annotated[str, Field(min_length=1)]


class Counts(_Model):
    """Row counts of the MERGE."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    inferred: int = 0


class Again(_Model):
    """The effect of the second load of a batch if it changes something, and the reason."""

    why: Text
    table: str | None = None
    error: str | None = None

    @model_validator(mode="after")
    def _one(self) -> Again:
        if (self.table is None) == (self.error is None):
            raise ValueError("takes either 'table' or 'error'")
        return self


class Batch(_Model):
    """Rows to load, and the table afterwards. A join has the rows of each of its ``tables`` instead."""

    rows: str = ""
    tables: dict[str, str] = Field(default_factory=dict)
    feed: str | None = None
    facts: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    table: str | None = None
    counts: Counts | None = None
    error: str | None = None
    again: Again | None = None

    @model_validator(mode="after")
    def _refused(self) -> Batch:
        if self.error and (self.table or self.counts or self.again):
            raise ValueError("'error' says that the table stays as it was; leave out table, counts and again")
        return self


class Query(_Model):
    """A query to run after the last batch, and its rows."""

    sql: Text
    rows: str


class Case(_Model):
    """One scenario."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    tier: Literal["test", "long"] = "test"
    why: Text
    spec: dict[str, Any]
    schema_: str = Field(default="", alias="source schema")
    tables: dict[str, Text] = Field(default_factory=dict)
    facts_schema: Text | None = Field(default=None, alias="facts schema")
    batches: Annotated[list[Batch], Field(min_length=1)]
    table: str | None = None
    facts: str | None = None
    queries: list[Query] = Field(default_factory=list)

    @model_validator(mode="after")
    def _whole(self) -> Case:
        good = [batch for batch in self.batches if batch.error is None]
        if not good:
            raise ValueError("every batch is an error; let one of them be right")
        if self.table is None and good[-1].table is None:
            raise ValueError("has no 'table': the last batch, or the case, says what the table is in the end")
        return self

    @property
    def target(self) -> str:
        return f"cases.{self.name}"

    @property
    def fact_table(self) -> str:
        return f"{self.target}_facts"

    @property
    def types(self) -> dict[str, str]:
        """``name -> type`` of the source's columns."""
        return _types("source schema", self.schema_)

    def table_types(self, alias: str) -> dict[str, str]:
        """``name -> type`` of the columns of a joined table."""
        return _types(f"tables {alias}", self.tables[alias])

    def view(self, alias: str) -> str:
        """The view that stands for a joined table."""
        return f"case_{self.name}_{alias}"

    @property
    def fact_types(self) -> dict[str, str]:
        """``name -> type`` of the facts' columns."""
        return _types("facts schema", self.facts_schema or "")

    def spec_text(self, options: Mapping[str, Any]) -> str:
        """The spec as YAML text, with target, source table and the options of a batch filled in."""
        given = {"target": self.target, "pattern": "scd2", **_merged(self.spec, options)}
        if "sources" in given:
            given["sources"] = {name: {"table": "nowhere", **source} for name, source in given["sources"].items()}
            return json.dumps(given, default=str)
        given["source"] = {**({} if self.tables else {"table": "nowhere"}), **given.get("source", {})}
        for alias in self.tables:
            given["source"]["join"][alias] = {"table": self.view(alias), **given["source"]["join"][alias]}
        return json.dumps(given, default=str)  # JSON is YAML

    def check_blocks(self) -> None:
        """Parse every table of the case, so that mistakes are found before anything runs."""
        tables: list[tuple[str, str | None, Callable[[], dict[str, str]] | None]] = [("table", self.table, None)]
        tables.append(("facts", self.facts, lambda: self.fact_types))
        tables += [(f"query {i}", query.rows, None) for i, query in enumerate(self.queries, 1)]
        for i, batch in enumerate(self.batches, 1):
            if batch.tables.keys() != self.tables.keys():
                raise CaseError(f"batch {i}: tables: are not those of the case, {', '.join(self.tables) or 'none'}")
            for alias, text in batch.tables.items():
                tables.append((f"batch {i}: tables {alias}", text, partial(self.table_types, alias)))
            if not self.tables:
                tables.append((f"batch {i}: rows", batch.rows, lambda: self.types))
            tables.append((f"batch {i}: facts", batch.facts, lambda: self.fact_types))
            tables.append((f"batch {i}: table", batch.table, None))
            tables.append((f"batch {i}: again", batch.again.table if batch.again else None, None))
        for place, given, types in tables:
            try:
                block = block_of(given) if given is not None else None
                if block is not None and types is not None:
                    block.typed(types())
            except CaseError as error:
                raise CaseError(f"{place}: {error}") from error


def _types(place: str, schema: str) -> dict[str, str]:
    listed = [part.split(None, 1) for part in re.split(r",(?![^()]*\))", schema)]
    if any(len(part) != 2 for part in listed):
        raise CaseError(f"{place}: '{schema}' is not 'name type, name type'")
    return {name: kind.strip() for name, kind in listed}


def _merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for name, value in more.items():
        nested = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = _merged(result[name], value) if nested else value
    return result


def cases_of(text: str, file: str) -> list[Case | CaseError]:
    """Every case of a file; a wrong one is replaced by its error."""
    try:
        listed = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        return [CaseError(f"{file}: not valid YAML: {error}")]
    if not isinstance(listed, list) or not listed:
        return [CaseError(f"{file}: a case file is a list of cases, each beginning with '- name:'")]
    found: list[Case | CaseError] = []
    for number, document in enumerate(listed, 1):
        name = document.get("name", number) if isinstance(document, dict) else number
        try:
            case = Case.model_validate(document)
            case.check_blocks()
            found.append(case)
        except ValidationError as error:
            problems = "; ".join(_problem(e["loc"], e["type"], e["msg"]) for e in error.errors(include_url=False))
            found.append(CaseError(f"{file}: case '{name}': {problems}"))
        except CaseError as error:
            found.append(CaseError(f"{file}: case '{name}': {error}"))
    return found


def _problem(place: tuple[int | str, ...], kind: str, message: str) -> str:
    models: dict[str, type[BaseModel]] = {"batches": Batch, "queries": Query, "again": Again, "counts": Counts}
    where = " ".join(str(step + 1) if isinstance(step, int) else step for step in place)
    if kind == "extra_forbidden":
        model = next((models[step] for step in reversed(place[:-1]) if step in models and isinstance(step, str)), Case)
        fields = [field.alias or name for name, field in model.model_fields.items()]
        return f"{where}: unknown field{nearest(str(place[-1]), fields)} (the fields: {', '.join(fields)})"
    return f"{where}: {message.removeprefix('Value error, ')}" if where else message.removeprefix("Value error, ")


def all_cases(folder: Path) -> list[Case | CaseError]:
    """The cases of every file of a folder. A name that two cases share is an error, because it names the table."""
    found = [
        case
        for path in sorted(folder.glob("*.yml"))
        for case in cases_of(path.read_text(encoding="utf-8"), f"{path.parent.name}/{path.name}")
    ]
    seen: set[str] = set()
    for index, case in enumerate(found):
        if isinstance(case, Case):
            if case.name in seen:
                found[index] = CaseError(f"the case '{case.name}' is there twice; give one of them another name")
            seen.add(case.name)
    return found
