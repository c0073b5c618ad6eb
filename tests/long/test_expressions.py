"""The recorded answers to the expressions of tests/cases/expressions are those of this Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.expressions import Topic, read_answers, read_topics
from tests.tools.expressions import ask

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("topic", read_topics(), ids=lambda topic: topic.name)
def test_answers_are_sparks(spark: SparkSession, topic: Topic) -> None:
    """If a new Spark answers differently: python -m tests.tools.expressions record, and read the difference."""
    found = ask(spark, topic)
    recorded = read_answers(topic.name)
    differences = [
        f"{expression}: recorded {recorded.get(expression)}, Spark says {answer}"
        for expression, answer in found.items()
        if answer != recorded.get(expression)
    ]
    assert not differences, "\n".join(differences)
    assert list(recorded) == list(found), "an answer to an expression that is not asked"
