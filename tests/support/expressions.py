"""Expressions as users write them, Spark's answers to them, and a comparison of DuckDB with these answers.

``tests/cases/expressions`` has the expressions and the rows, and in ``answers`` what Spark said; its README describes
both. ``python -m tests.tools.expressions`` records the answers and prints the differences.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import duckdb
from ruamel.yaml import YAML
from sqlglot import exp

from scdgen.duck.database import translate_error
from scdgen.duck.known import UnknownError
from scdgen.errors import DataError

FOLDER = Path(__file__).parents[1] / "cases" / "expressions"
_WHOLE = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
_TIMES = {exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ}

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
            cells: list[exp.Expr] = [exp.Literal.number(row)]
            for name, values in self.columns.items():
                cells.append(_cast(values[row] if row < len(values) else None, self.types[name]))
            tuples.append(tuple(cells))
        relation = exp.values(tuples, alias="v", columns=["_row", *self.columns])
        if dialect == "duckdb":
            for node in list(relation.find_all(exp.DataType)):
                if node.this in _TIMES - {exp.DType.DATE}:  # times are those of UTC
                    node.set("this", exp.DType.TIMESTAMP)
        return exp.select("*").from_(relation).sql(dialect)

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
        topics.append(Topic(file.stem, types, columns, list(dict.fromkeys(lines))))
    return topics


def _literal(value: Any, kind: exp.DataType) -> exp.Expr:
    """A value of YAML as a literal of any engine; text is cast to the type, so that both engines read it."""
    if value is None:
        return exp.Null()
    match kind.this:
        case exp.DType.ARRAY:
            return exp.Array(expressions=[_cast(part, kind.expressions[0]) for part in value])
        case exp.DType.STRUCT:
            fields = [(field.this, _cast(value[field.name], field.args["kind"])) for field in kind.expressions]
            return exp.Struct(expressions=[exp.PropertyEQ(this=name.copy(), expression=cell) for name, cell in fields])
        case exp.DType.MAP:
            keys, values = ([_cast(part, inner) for part in some] for some, inner in _sides(value, kind))
            return exp.Map(keys=exp.Array(expressions=keys), values=exp.Array(expressions=values))
        case exp.DType.BINARY | exp.DType.VARBINARY:
            return exp.Unhex(this=exp.Literal.string(value.encode().hex()))
    return exp.Literal.string(str(value).lower() if isinstance(value, bool) else str(value))


def _cast(value: Any, kind: exp.DataType) -> exp.Expr:
    return exp.cast(_literal(value, kind), kind.copy(), copy=False)


def _sides(value: dict[Any, Any], kind: exp.DataType) -> Iterator[tuple[Sequence[Any], exp.DataType]]:
    yield list(value), kind.expressions[0]
    yield list(value.values()), kind.expressions[1]


def answers_file(topic: str) -> Path:
    """Return the file of Spark's answers to a topic."""
    return FOLDER / "answers" / f"{topic}.json"


def read_answers(topic: str) -> dict[str, list[Answer]]:
    """Expression -> its type in Spark, or None if Spark refuses it whatever the row; then an answer per row."""
    return json.loads(answers_file(topic).read_text())  # type: ignore[no-any-return]


def write_answers(topic: str, answers: dict[str, list[Answer]]) -> None:
    """Write a line per expression."""
    lines = (f" {_dump(expression)}: {_dump(answer)}" for expression, answer in answers.items())
    file = answers_file(topic)
    file.parent.mkdir(exist_ok=True)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def is_error(answer: Answer, kind: str | None) -> bool:
    """Whether an answer is an error, and not a struct with this field."""
    return isinstance(answer, dict) and set(answer) == {"error"} and not (kind or "").startswith("struct<error:")


class Outcome(str, Enum):
    """How DuckDB compares with Spark on the rows of an expression; the worst of them counts."""

    AGREES = "agrees"
    REFUSED = "refused"
    STOPS = "stops where Spark has a value"
    UNADVISED = "stops where Spark has a value, without the advice to use Spark"
    LENIENT = "accepts what Spark refuses"
    MISLEADS = "stops as for wrong data where Spark has a value"
    ANOTHER_VALUE = "another value"

    @property
    def is_silently_wrong(self) -> bool:
        """Whether a user would not notice."""
        return self in (Outcome.LENIENT, Outcome.MISLEADS, Outcome.ANOTHER_VALUE)


@dataclass(frozen=True)
class Verdict:
    """What was found for an expression."""

    topic: str
    expression: str
    outcome: Outcome
    row: int | None = None
    """The first row with that outcome."""
    spark: str = ""
    duckdb: str = ""
    """The value or error of that row, or why the translation is refused."""
    sql: str = ""
    """The translation."""


class Refused(Exception):  # noqa: N818
    """A translation that is not known."""


def compare(
    db: duckdb.DuckDBPyConnection, translate: Callable[[str], str], topics: Sequence[Topic] | None = None
) -> Iterator[Verdict]:
    """Compare DuckDB with Spark's recorded answers, expression by expression.

    Args:
        db: a connection with the macros that translations call; it gets a table per topic.
        translate: returns DuckDB's SQL of an expression, or raises :class:`Refused`.
        topics: all of them if it is None.
    """
    for topic in topics or read_topics():
        rows = topic.query(range(topic.height), "duckdb")
        db.execute(f"CREATE OR REPLACE TEMP TABLE expression_rows AS {rows}")
        for expression, (kind, *answers) in read_answers(topic.name).items():
            try:
                text = translate(expression)
            except Refused as refused:
                yield Verdict(topic.name, expression, Outcome.REFUSED, duckdb=str(refused))
                continue
            yield _judge(db, topic, expression, kind, answers, text)


def _judge(
    db: duckdb.DuckDBPyConnection, topic: Topic, expression: str, kind: str | None, answers: list[Answer], text: str
) -> Verdict:
    rows = topic.rows_for(expression)
    worst = Verdict(topic.name, expression, Outcome.AGREES, sql=text)
    found = _evaluate(db, text, rows)
    for row, value in zip(rows, found, strict=True):
        answer = answers[0] if kind is None else answers[row]
        outcome = _outcome(answer, kind, value)
        if list(Outcome).index(outcome) > list(Outcome).index(worst.outcome):
            worst = Verdict(topic.name, expression, outcome, row, _dump(answer), _shown(value), text)
    return worst


def _outcome(answer: Answer, kind: str | None, value: Any) -> Outcome:
    if isinstance(value, duckdb.Error):
        if is_error(answer, kind):
            return Outcome.AGREES
        stopped = translate_error(value)
        if isinstance(stopped, DataError):
            return Outcome.MISLEADS
        return Outcome.STOPS if isinstance(stopped, UnknownError) else Outcome.UNADVISED
    if is_error(answer, kind):
        return Outcome.LENIENT
    assert kind is not None
    return Outcome.AGREES if _is_same(answer, _parse_type(kind), value) else Outcome.ANOTHER_VALUE


def _parse_type(kind: str) -> exp.DataType | None:
    """A type, or None of one without values to compare, such as an interval."""
    if re.search(r"interval|variant", kind) or kind == "void":
        return None
    return exp.DataType.build(kind.replace("void", "string"), dialect="databricks")


def _evaluate(db: duckdb.DuckDBPyConnection, text: str, rows: range) -> list[Any]:
    """A value or an error per row; the rows at once if none stops."""
    query = f"SELECT {text} AS e FROM expression_rows"
    try:
        ((_, kind, *_),) = db.execute(f"DESCRIBE {query}").fetchall()
    except duckdb.Error as error:
        return [error for _ in rows]
    if kind in ("DATE", "TIMESTAMP"):  # Python has neither the year 0 nor the year 10000
        query = f"SELECT CAST({text} AS VARCHAR) AS e FROM expression_rows"
    try:
        found = db.execute(f"{query} WHERE _row < {len(rows)} ORDER BY _row").fetchall()
        return [_python(value, kind) for (value,) in found]
    except (duckdb.Error, ValueError, OverflowError):
        return [_evaluate_row(db, f"{query} WHERE _row = {row}", kind) for row in rows]


def _evaluate_row(db: duckdb.DuckDBPyConnection, query: str, kind: str) -> Any:
    try:
        ((value,),) = db.execute(query).fetchall()
    except duckdb.Error as error:
        return error
    return _python(value, kind)


@dataclass(frozen=True)
class _Time:
    kind: str
    text: str


def _python(value: Any, kind: str) -> Any:
    """Spark writes +10000 and 0000 for the years 10000 and 1 BC."""
    if kind not in ("DATE", "TIMESTAMP") or value is None:
        return value
    year, _, rest = value.partition("-")
    if " (BC)" in rest:
        number = int(year) - 1
        year, rest = (f"-{number:04}" if number else "0000"), rest.replace(" (BC)", "")
    return _Time(kind, f"{'+' if len(year) > 4 and year.isdigit() else ''}{year}-{rest}")


def _is_same(answer: Answer, kind: exp.DataType | None, value: Any) -> bool:
    """Whether DuckDB's value is Spark's, and has its text: 1 is not the double 1.0, and 1.5 is not the decimal 1.50."""
    if answer is None or value is None or kind is None:
        return answer is None and value is None
    match kind.this:
        case exp.DType.ARRAY:
            inner = kind.expressions[0]
            return isinstance(value, list | tuple) and _all_same(answer, [inner] * len(answer), value)
        case exp.DType.STRUCT:
            kinds = [field.args["kind"] for field in kind.expressions]
            same_names = isinstance(value, dict) and list(value) == list(answer)
            return same_names and _all_same(list(answer.values()), kinds, list(value.values()))
        case exp.DType.MAP:
            if not isinstance(value, dict) or len(value) != len(answer):
                return False
            pairs = zip(sorted(answer, key=_first_text), sorted(value.items(), key=_first_text), strict=True)
            return all(_all_same(wanted, kind.expressions, pair) for wanted, pair in pairs)
        case exp.DType.BINARY | exp.DType.VARBINARY:
            return isinstance(value, bytes) and value.hex() == answer
        case exp.DType.FLOAT | exp.DType.DOUBLE:
            return isinstance(value, float) and _is_same_float(float(answer), value, kind.this == exp.DType.FLOAT)
        case exp.DType.DECIMAL:
            digits = int(kind.expressions[1].name)  # Python may have got 1.0E-8 for 0.00000001
            return _is_exact(value) and Decimal(value).as_tuple() == Decimal(f"{Decimal(answer):.{digits}f}").as_tuple()
        case exp.DType.BOOLEAN:
            return isinstance(value, bool) and value == answer
    if kind.this in _WHOLE:
        return _is_exact(value) and str(value) == str(answer)
    if kind.this in _TIMES:
        return _is_same_time(answer, kind.this, value)
    return isinstance(value, str) and value == answer


def _is_exact(value: Any) -> bool:
    """A decimal without a fraction has the text of a whole number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _first_text(pair: Sequence[Any]) -> str:
    """Maps come to Python in any order."""
    return str(pair[0])


def _all_same(answers: Sequence[Answer], kinds: Sequence[exp.DataType], values: Sequence[Any]) -> bool:
    return len(answers) == len(values) and all(map(_is_same, answers, kinds, values))


def _is_same_float(answer: float, value: float, is_single: bool) -> bool:
    if math.isnan(answer) or math.isnan(value):
        return math.isnan(answer) and math.isnan(value)
    near = math.isclose(answer, value, rel_tol=1e-6 if is_single else 1e-12)
    return near and math.copysign(1, answer) == math.copysign(1, value)


def _is_same_time(answer: str, kind: exp.DType, value: Any) -> bool:
    wanted = "DATE" if kind == exp.DType.DATE else "TIMESTAMP"
    if isinstance(value, dt.date):  # inside of another value
        text = value.isoformat()
        if isinstance(value, dt.datetime):
            text = re.sub(r"(\.\d*?)0+$", r"\1", text.replace("T", " ")).removesuffix(".")
        value = _Time("TIMESTAMP" if isinstance(value, dt.datetime) else "DATE", text)
    return bool(value == _Time(wanted, answer))


def _shown(value: Any) -> str:
    """A value or the first line of an error, for messages."""
    if isinstance(value, duckdb.Error):
        return f"stops: {str(value).splitlines()[0]}"
    if isinstance(value, _Time):
        return f"{value.kind} {value.text}"
    return repr(value)
