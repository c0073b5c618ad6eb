"""Record Spark's answers to tests/cases/expressions: python -m tests.tools.expressions record [TOPIC ...]"""

from __future__ import annotations

import argparse
import logging
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Row

from scdgen.engine.session import local_session
from scdgen.sql.tokens import DIALECT
from tests.conftest import SETTINGS
from tests.support.expressions import Answer, Topic, read_topics, write_answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STOPPED = (PySparkException, Py4JJavaError)  # the second one for an error of Spark's own, without a condition
# Values that Python has no type for, or a smaller one; Spark writes them as text.
_AS_TEXT = re.compile(r"(?<![a-z_`])(date|timestamp|timestamp_ntz|interval [a-z ]+|variant|char\(\d+\))(?=[,>]|$)")


def ask(spark: SparkSession, topic: Topic) -> dict[str, list[Answer]]:
    """Evaluate each expression of a topic on each row alone; see :func:`tests.support.expressions.read_answers`.

    The rows are local ones, which Spark's optimizer evaluates without a job.
    """
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "true")
    for row in range(topic.height):
        session.sql(topic.query(range(row, row + 1), DIALECT)).createOrReplaceTempView(f"row_{row}")
        session.sql(topic.query(range(row + 1), DIALECT)).createOrReplaceTempView(f"rows_{row + 1}")
    return {expression: _ask(session, topic, expression) for expression in topic.expressions}


def _ask(session: SparkSession, topic: Topic, expression: str) -> list[Answer]:
    try:
        kind = session.sql(f"SELECT {expression} AS e FROM row_0").schema[0].dataType.simpleString()
    except _STOPPED as error:
        return [None, _error(error)]
    rows = topic.rows_for(expression)
    try:
        return [kind, *_values(session, expression, kind, f"rows_{len(rows)}")]
    except _STOPPED:
        return [kind, *(_value(session, expression, kind, row) for row in rows)]


def _value(session: SparkSession, expression: str, kind: str, row: int) -> Answer:
    try:
        (value,) = _values(session, expression, kind, f"row_{row}")
    except _STOPPED as error:
        return _error(error)
    return value


def _values(session: SparkSession, expression: str, kind: str, view: str) -> list[Answer]:
    wanted = _AS_TEXT.sub("string", kind)
    frame = session.sql(f"SELECT {expression} AS e FROM {view}")
    if wanted != kind:
        frame = frame.selectExpr(f"CAST(e AS {wanted})")
    return [_spell(value) for (value,) in frame.collect()]


def _error(error: Exception) -> Answer:
    condition = error.getCondition() if isinstance(error, PySparkException) else "INTERNAL_ERROR"
    return {"error": condition or type(error).__name__}


def _spell(value: Any) -> Answer:
    """A value in JSON: its type is recorded once for the expression."""
    match value:
        case None | bool() | int() | str():
            return value
        case bytes() | bytearray():
            return value.hex()
        case float():
            return repr(value)
        case Row():
            return {name: _spell(part) for name, part in value.asDict().items()}
        case dict():
            return [[_spell(key), _spell(part)] for key, part in value.items()]
        case list():
            return [_spell(part) for part in value]
    return format(value, "f")  # a decimal


def main(arguments: Sequence[str] | None = None) -> None:
    """Record the answers of the named topics, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["record"])
    parser.add_argument("topics", nargs="*", metavar="TOPIC")
    asked = parser.parse_args(arguments)
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session(Path(folder), SETTINGS)
        spark.sparkContext.setLogLevel("OFF")
        for topic in read_topics():
            if not asked.topics or topic.name in asked.topics:
                answers = ask(spark, topic)
                write_answers(topic.name, answers)
                print(f"{topic.name}: {len(answers)} expressions", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
