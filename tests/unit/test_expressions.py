"""What DuckDB says of users' expressions, compared with the answers of Spark in tests/cases/expressions.

A translation may be refused, or stop where Spark has a value. None may give another value, stop as for wrong data, or
accept what Spark refuses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from scdgen.compile.render import read_file
from scdgen.duck.known import NAMES, USERS, UnknownError
from scdgen.duck.translate import Translator
from scdgen.duck.users import find_calls, require_known_text
from scdgen.sql.tokens import DIALECT
from tests.support.expressions import Outcome, Refused, Topic, Verdict, compare, is_error, read_answers, read_topics

TOPICS = read_topics()


def _translator(topic: Topic) -> Callable[[str], str]:
    types = {name.lower(): kind for name, kind in topic.types.items()}

    def translate(expression: str) -> str:
        try:
            require_known_text(expression, lambda _: types)
            return Translator().translate_expression(expression)
        except (UnknownError, sqlglot.errors.ParseError) as error:
            raise Refused(str(error)) from error

    return translate


@functools.cache
def _judge(name: str, with_types: bool = True) -> list[Verdict]:
    (topic,) = (topic for topic in TOPICS if topic.name == name)
    database = duckdb.connect()
    database.execute("PRAGMA disable_optimizer")
    database.execute(read_file("duckdb/macros.sql"))
    return list(compare(database, _translator(topic if with_types else replace(topic, types={})), [topic]))


def _list_wrong(verdicts: Iterable[Verdict]) -> list[str]:
    return [
        f"{one.expression}, row {one.row}: {one.outcome.value}: {one.spark} in Spark, {one.duckdb} in DuckDB"
        for one in verdicts
        if one.outcome.is_silently_wrong
    ]


@pytest.mark.verify
@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_no_translation_is_silently_wrong(name: str) -> None:
    assert _list_wrong(_judge(name)) == []


@pytest.mark.verify
@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_no_translation_is_silently_wrong_where_types_are_not_known(name: str) -> None:
    assert _list_wrong(_judge(name, with_types=False)) == []


@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_what_duckdb_lacks_says_to_use_spark(name: str) -> None:
    verdicts = [*_judge(name), *_judge(name, with_types=False)]
    assert [one.expression for one in verdicts if one.outcome is Outcome.UNADVISED] == []


@functools.cache
def _compared() -> frozenset[str]:
    """The nodes and the functions of all expressions for which DuckDB has Spark's values, not errors or NULL alone."""
    found = set()
    for topic in TOPICS:
        answers = read_answers(topic.name)
        for verdict in _judge(topic.name):
            kind, *values = answers[verdict.expression]
            if verdict.outcome is not Outcome.AGREES or all(value is None or is_error(value, kind) for value in values):
                continue
            tree = sqlglot.parse_one(verdict.expression, read=DIALECT)
            found |= {type(node).__name__ for node in tree.walk()} | find_calls(verdict.expression, tree)
    return frozenset(found)


def test_each_entry_of_the_allow_list_is_compared_with_spark() -> None:
    """To add an entry, add expressions on its edge values to tests/cases/expressions and record Spark's answers."""
    assert sorted((USERS | NAMES) - _compared()) == []


def test_an_entry_without_expressions_is_found() -> None:
    assert sorted({"Sqrt", "SQRT", "Abs", "ABS"} - _compared()) == ["SQRT", "Sqrt"]


# The tree of each is that of a text that is translated.
@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("DATE_TRUNC(month, at)", "DATE_TRUNC to a unit that is not a literal"),
        ("DATEDIFF(/* whole */ DAY, at, at)", "DATEDIFF of a unit"),
        ("GET_JSON_OBJECT(month, 'b')", "GET_JSON_OBJECT of this path"),
        ("CONCAT(GET_JSON_OBJECT(month, 'b'), GET_JSON_OBJECT(month, '$.b'))", "GET_JSON_OBJECT of this path"),
        ("NVL(month, 'a', 'b')", "NVL of other than two values"),
        ("CONCAT('it''s', month)", "two texts side by side"),
        ("CharIndex('a', month)", "the function CharIndex"),
        ("(SELECT ARG_MAX(month, at) FROM t)", "the function ARG_MAX"),
    ],
)
def test_what_only_the_text_shows_is_refused(text: str, refusal: str) -> None:
    types = {name: exp.DataType.build(kind) for name, kind in (("month", "text"), ("at", "timestamp"))}
    with pytest.raises(UnknownError, match=refusal):
        require_known_text(text, lambda _: types)
