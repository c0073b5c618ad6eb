"""The recorded answers to expressions are whole, and the comparison with them sees each kind of difference."""

from __future__ import annotations

import duckdb
import pytest

from tests.support.expressions import Outcome, Refused, Topic, compare, read_answers, read_topics

TOPICS = {topic.name: topic for topic in read_topics()}


@pytest.mark.parametrize("topic", TOPICS.values(), ids=lambda topic: topic.name)
def test_each_expression_has_an_answer_per_row(topic: Topic) -> None:
    answers = read_answers(topic.name)
    assert list(answers) == topic.expressions, "python -m tests.tools.expressions record"
    for expression, (kind, *values) in answers.items():
        assert len(values) == (1 if kind is None else len(topic.rows_for(expression))), expression


@pytest.mark.parametrize(
    ("expression", "sql", "outcome"),
    [
        ("TRIM(s)", "trim(s, ' ')", Outcome.AGREES),
        ("SPACE(3)", "'  '", Outcome.ANOTHER_VALUE),
        ("LENGTH(s)", "CAST(length(s) AS DOUBLE)", Outcome.ANOTHER_VALUE),  # a number with another text
        ("ASCII(s)", "NULL", Outcome.ANOTHER_VALUE),
        ("SPLIT_PART(mail, '@', 0)", "left(mail, 0)", Outcome.LENIENT),
        ("CHARINDEX('c', s)", "instr(s, 'c')", Outcome.LENIENT),  # Spark does not know it
        ("REVERSE(s)", "error('no')", Outcome.UNADVISED),
        ("UPPER(s)", "no_function(s)", Outcome.STOPS),
    ],
)
def test_comparison_sees(expression: str, sql: str, outcome: Outcome) -> None:
    def translate(given: str) -> str:
        if given != expression:
            raise Refused(given)
        return sql

    verdicts = {verdict.expression: verdict for verdict in compare(duckdb.connect(), translate, [TOPICS["text"]])}
    assert verdicts[expression].outcome == outcome, verdicts[expression]
    assert verdicts["LOWER(s)"].outcome == Outcome.REFUSED
