"""What DuckDB says of users' expressions, compared with the answers of Spark in tests/cases/expressions.

``wrong.txt`` there lists the expressions for which DuckDB gives another value than Spark, or accepts what Spark
refuses. It only shrinks: each is to get a rule or to be refused, before a command plays users' own cases on DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest
import sqlglot

from scdgen.duck.known import USERS, UnknownError, require_known, require_written_casts
from scdgen.duck.translate import Translator
from scdgen.patterns.render import read_file
from scdgen.sql.tokens import DIALECT
from tests.support.expressions import FOLDER, Refused, Topic, Verdict, compare, read_topics

TOPICS = read_topics()


def _translator(topic: Topic) -> Callable[[str], str]:
    types = {name.lower(): kind for name, kind in topic.types.items()}

    def translate(expression: str) -> str:
        try:
            tree = sqlglot.parse_one(expression, read=DIALECT)
            for node in tree.walk():
                require_known(node, USERS)
            require_written_casts(tree, types)
            return Translator().translate_expression(expression)
        except (UnknownError, sqlglot.errors.ParseError) as error:
            raise Refused(str(error)) from error

    return translate


def _judge(topic: Topic) -> list[Verdict]:
    database = duckdb.connect()
    database.execute("PRAGMA disable_optimizer")
    database.execute(read_file("duckdb/macros.sql"))
    return list(compare(database, _translator(topic), [topic]))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_wrong_translations_only_shrink(topic: Topic) -> None:
    listed = [line.partition(": ") for line in (FOLDER / "wrong.txt").read_text().splitlines()]
    wrong = {verdict.expression for verdict in _judge(topic) if verdict.outcome.is_silently_wrong}
    assert wrong == {expression for name, _, expression in listed if name == topic.name}
