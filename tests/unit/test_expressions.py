"""DuckDB has Spark's recorded answers to users' expressions, or stops and says to use Spark; the rest is refused."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from decimal import Decimal
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from scdgen.compile.render import read_file
from scdgen.duck.known import FORMS, FUNCTIONS, TOPICS, UnknownError
from scdgen.duck.rules import Reader, print_tree, translate_tree
from scdgen.duck.users import list_kinds, require_known_text
from tests.conftest import ROOT
from tests.support.expressions import Topic, find_differences, is_same, read_answers, read_topics

ALL = read_topics()


@pytest.fixture(scope="module")
def db() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute(read_file("duckdb/macros.sql"))
    return database


@pytest.mark.parametrize("topic", ALL, ids=lambda topic: topic.name)
def test_answers_are_sparks(db: duckdb.DuckDBPyConnection, topic: Topic) -> None:
    answers = read_answers(topic.name)
    assert list(answers) == topic.expressions, "python -m tests.tools.expressions record"
    assert [
        expression for expression, (_, *rows) in answers.items() if len(rows) != len(topic.rows_for(expression))
    ] == []
    assert list(find_differences(db, topic)) == []


@pytest.mark.parametrize("time", ["d", "MAX(d)", "MIN(d) OVER ()", "COALESCE(MAX(d), d)", "(SELECT MAX(d) FROM days)"])
def test_an_interval_is_added_to_any_time(db: duckdb.DuckDBPyConnection, time: str) -> None:
    query = f"WITH days AS (SELECT DATE '2024-02-28' AS d) SELECT INTERVAL 1 DAY + {time} AS at FROM days GROUP BY d"
    text = print_tree(translate_tree(sqlglot.parse_one(query, read=Reader), {}))
    assert db.sql(text).fetchall() == [(dt.date(2024, 2, 29),)]


def test_each_function_of_the_list_has_expressions() -> None:
    """To add one, add expressions on its edge values to tests/cases/expressions and record Spark's answers."""
    called = set(re.findall(r"\w+(?=\()|CURRENT_\w+", " ".join(e for topic in ALL for e in topic.expressions).upper()))
    assert sorted(FUNCTIONS.keys() - called) == []


def test_page_has_the_list() -> None:
    rows = {**{topic: sorted(names) for topic, names in TOPICS.items()}, "date and time patterns": FORMS}
    listed = "\n".join(f"| {topic} | {', '.join(names)} |" for topic, names in rows.items())
    assert listed in (ROOT / "docs" / "how-to" / "test-a-spec.md").read_text()


@pytest.mark.parametrize(
    ("answer", "value", "same"),
    [
        *((1, 1, True), (1, 1.0, False), ("1.0", 1.0, True), ("-0.0", 0.0, False), ("1.50", Decimal("1.5"), False)),
        *((True, 1, False), (None, "", False), ([1, None], [1, 0], False), ([["a", 1]], {"a": 1}, True)),
    ],
)
def test_comparison_sees(answer: Any, value: Any, same: bool) -> None:
    assert is_same(answer, value) is same


TYPES = {
    "n": "int", "f": "float", "s": "text", "t": "timestamp", "d": "date", "b": "boolean", "a": "array<int>",
    "st": "struct<f: int>",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("n = s", "a cast between BIGINT and STRING that is not written"),
        ("s IN (1)", "a cast between STRING and BIGINT that is not written"),
        ("COALESCE(d, '2024-1-1')", "a cast between DATE and STRING that is not written"),
        ("GREATEST(d, '2024-01-01')", "a cast between DATE and STRING that is not written"),
        ("CASE WHEN b THEN n ELSE s END", "a cast between BIGINT and STRING that is not written"),
        ("CASE n WHEN '1' THEN 1 END", "a cast between BIGINT and STRING that is not written"),
        ("CONCAT(s, n)", "CONCAT of BIGINT"),
        ("s || d", "|| of DATE"),
        ("gone = 1", "gone, a value whose type is not known"),
        ("f = 1", "f, a value whose type is not known"),
        ("n * 1.5", "arithmetic with DECIMAL"),
        ("d = '2024-01-01'", "a cast between DATE and STRING that is not written"),
        ("(SELECT x = 1 FROM (SELECT s AS x UNION ALL SELECT s) r)", "a cast between STRING and BIGINT"),
        ("(SELECT st.f = 1 FROM (SELECT STRUCT('a' AS f) AS st) r)", "st.f, a value whose type is not known"),
        ("a = a", "a comparison of ARRAY"),
        ("s + 1", "arithmetic of STRING"),
        ("n AND b", "a condition of BIGINT"),
        ("TRIM(BOTH 'a' FROM s)", "a call in this form"),
        ("DATE_TRUNC(month, t)", "DATE_TRUNC with other units than YEAR, "),
        ("DATEDIFF(/* whole */ DAY, t, t)", "DATEDIFF of 3 values"),
        ("GET_JSON_OBJECT(s, 's')", "GET_JSON_OBJECT with other paths than those of a field"),
        ("SUBSTRING(s, 0, 1)", "SUBSTRING with other numbers than literals from 1 on"),
        ("s LIKE s", "LIKE with other patterns than literals without a backslash"),
        ("NVL(s, 'a', 'b')", "NVL of 3 values"),
        ("'it''s' = s", "CONCAT"),
        ("CharIndex('a', s)", "the function CharIndex"),
        ("SAFE_CAST(s AS INT)", "the function SAFE_CAST"),
        ("EXISTS(a, x -> x > 1)", "EXISTS"),
        ("(SELECT ARG_MAX(s, t) FROM r)", "the function ARG_MAX"),
        ("SELECT n FROM (r JOIN q ON n = s)", "a cast between BIGINT and STRING that is not written"),
        ("SELECT n FROM r QUALIFY ROW_NUMBER() OVER (ORDER BY n) = 1", "Qualify"),
        ("n IN (SELECT n FROM r)", "IN of a query"),
    ],
)
def test_what_is_not_known_is_refused(text: str, refusal: str) -> None:
    types = {name: exp.DataType.build(kind, dialect="databricks") for name, kind in TYPES.items()}
    kinds = dict(itertools.chain.from_iterable(itertools.starmap(list_kinds, types.items())))
    with pytest.raises(UnknownError) as refused:
        require_known_text(text, lambda _: kinds)
    assert refused.value.what.startswith(refusal)
