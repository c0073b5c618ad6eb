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
    """If a new Spark answers differently: python -m tests.tools.expressions, and read the difference."""
    assert ask(spark, topic) == read_answers(topic.name)
