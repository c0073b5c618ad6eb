"""Expressions as users write them, Spark's answers to them, and where DuckDB has another one.

``tests/cases/expressions`` has the expressions and the rows, and in ``answers`` what Spark said; its README describes
both. ``python -m tests.tools.expressions`` records the answers.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from ruamel.yaml import YAML
from sqlglot import exp

from scdgen.duck.database import translate_error
from scdgen.duck.known import UnknownError
from scdgen.duck.translate import Translator
from scdgen.duck.users import list_kinds, require_known_text

FOLDER = Path(__file__).parents[1] / "cases" / "expressions"
Answer = Any
"""A value in JSON, as the README of the folder spells it, or ``{"error": name}``."""


@dataclass(frozen=True)
class Topic:
    """A file of expressions and the rows to evaluate them on."""

    name: str
    types: dict[str, exp.DataType]
    """Column -> type."""
    columns: dict[str, list[Any]]
    """Column -> a value per row, as YAML has it."""
    expressions: list[str]

    def rows_for(self, expression: str) -> range:
        """Return the rows to evaluate an expression on: those in which one of its columns has a value of its own."""
        words = set(re.findall(r"\w+", expression.lower()))
        return range(max((len(values) for name, values in self.columns.items() if name in words), default=1))

    def query(self, rows: range, dialect: str) -> str:
        """Return a SELECT of some rows and their numbers, for Spark (``databricks``) or DuckDB (``duckdb``).

        It selects from VALUES, so that Spark's optimizer does not put literals into the expressions.
        """
        tuples = []
        for row in rows:
            cells = [values[row] if row < len(values) else None for values in self.columns.values()]
            typed = zip(cells, self.types.values(), strict=True)
            tuples.append((exp.Literal.number(row), *(_cast(value, kind) for value, kind in typed)))
        relation = exp.values(tuples, alias="v", columns=["_row", *self.columns])
        text = exp.select("*").from_(relation).sql(dialect)
        return text.replace("TIMESTAMPTZ", "TIMESTAMP") if dialect == "duckdb" else text

    @property
    def height(self) -> int:
        """The number of rows."""
        return max(map(len, self.columns.values()))


def read_topics() -> list[Topic]:
    """Return the topics of all files, by name."""
    topics = []
    for file in sorted(FOLDER.glob("*.yml")):
        given = YAML(typ="safe", pure=True).load(file)
        types = {name: exp.DataType.build(cells[0], dialect="databricks") for name, cells in given["columns"].items()}
        columns = {name: cells[1:] for name, cells in given["columns"].items()}
        lines = [line for group in given["groups"].values() for line in group.splitlines()]
        topics.append(Topic(file.stem, types, columns, lines))
    return topics


def _cast(value: Any, kind: exp.DataType) -> exp.Expr:
    """A value of YAML as a literal of any engine, cast to its type."""
    if value is None:
        literal: exp.Expr = exp.Null()
    elif kind.this == exp.DType.ARRAY:
        literal = exp.Array(expressions=[_cast(part, kind.expressions[0]) for part in value])
    elif kind.this == exp.DType.STRUCT:
        fields = [(field.this.copy(), _cast(value[field.name], field.args["kind"])) for field in kind.expressions]
        literal = exp.Struct(expressions=[exp.PropertyEQ(this=name, expression=cell) for name, cell in fields])
    elif kind.this == exp.DType.MAP:
        sides = zip((list(value), list(value.values())), kind.expressions, strict=True)
        keys, values = (exp.Array(expressions=[_cast(part, inner) for part in some]) for some, inner in sides)
        literal = exp.Map(keys=keys, values=values)
    elif kind.this in (exp.DType.BINARY, exp.DType.VARBINARY):
        literal = exp.Unhex(this=exp.Literal.string(value.encode().hex()))
    else:
        literal = exp.Literal.string(str(value).lower() if isinstance(value, bool) else str(value))
    return exp.cast(literal, kind.copy(), copy=False)


def answers_file(topic: str) -> Path:
    """Return the file of Spark's answers to a topic."""
    return FOLDER / "answers" / f"{topic}.json"


def read_answers(topic: str) -> dict[str, list[Answer]]:
    """Expression -> its type in Spark, then an answer per row."""
    return json.loads(answers_file(topic).read_text())  # type: ignore[no-any-return]


def translate(topic: Topic, expression: str) -> str:
    """Return DuckDB's SQL of an expression. Raises :class:`UnknownError` for one that is not known."""
    kinds = dict(itertools.chain.from_iterable(itertools.starmap(list_kinds, topic.types.items())))
    require_known_text(expression, lambda _: kinds)
    return Translator().translate_expression(expression)


def find_differences(db: duckdb.DuckDBPyConnection, topic: Topic) -> Iterator[str]:
    """Yield the rows of expressions on which DuckDB has another value than Spark, or an error that is not Spark's.

    It may stop where Spark has a value if its message says to use Spark. ``db`` has the macros; it gets a table.
    """
    db.execute(f"CREATE OR REPLACE TEMP TABLE expression_rows AS {topic.query(range(topic.height), 'duckdb')}")
    for expression, (_, *answers) in read_answers(topic.name).items():
        text = translate(topic, expression)
        for row, answer in enumerate(answers):
            found = _evaluate(db, text, row)
            is_error = isinstance(answer, dict) and set(answer) == {"error"}
            stops = isinstance(found, duckdb.Error)
            if stops and (is_error or isinstance(translate_error(found), UnknownError)):
                continue
            if stops or is_error or not is_same(answer, found):
                yield f"{expression}, row {row}: {answer!r} in Spark, {found!r} in DuckDB"


def _evaluate(db: duckdb.DuckDBPyConnection, text: str, row: int) -> Any:
    """A value, or an error; a time as Spark's text, for Python has neither the year 0 nor the year 10000."""
    try:
        found = db.sql(f"SELECT {text} AS e FROM expression_rows WHERE _row = {row}")
        if found.types[0] in ("DATE", "TIMESTAMP"):
            ((value,),) = found.project("CAST(e AS VARCHAR)").fetchall()
            value = value and re.sub(r"^0001-(.....) \(BC\)", r"0000-\1", value)
            return value and re.sub(r"^\d{5}", r"+\g<0>", value)
        return found.fetchall()[0][0]
    except duckdb.Error as error:
        return error


def is_same(answer: Answer, value: Any) -> bool:
    """Whether a value of DuckDB is Spark's, and has its text: 1 is not the double 1.0, and 1.5 not the decimal 1.50."""
    match value:
        case float():
            if not isinstance(answer, str):
                return False
            wanted = float(answer)
            near = math.isclose(wanted, value, rel_tol=1e-6) and math.copysign(1, wanted) == math.copysign(1, value)
            return near or (math.isnan(wanted) and math.isnan(value))
        case bool() | None | str():
            return type(answer) is type(value) and bool(answer == value)
        case bytes():
            return bool(value.hex() == answer)
        case int() | Decimal() | dt.date():
            text = (
                value.isoformat(" ")
                if isinstance(value, dt.datetime)
                else format(value, "f")
                if isinstance(value, Decimal)
                else str(value)
            )
            return not isinstance(answer, bool) and str(answer) == text
        case dict() if isinstance(answer, dict):
            return list(answer) == list(value) and all(map(is_same, answer.values(), value.values()))
        case dict():
            pairs = zip(sorted(answer, key=str), sorted(map(list, value.items()), key=str), strict=False)
            return len(answer) == len(value) and all(is_same(wanted, found) for wanted, found in pairs)
    return len(answer) == len(value) and all(map(is_same, answer, value))
