"""Record Spark's answers to tests/cases/expressions: python -m tests.tools.expressions"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Row

from scdgen.engine.session import local_session
from scdgen.sql.tokens import DIALECT
from tests.conftest import SETTINGS
from tests.support.expressions import Answer, Topic, answers_file, read_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Values that Python has no type for, or a smaller one; Spark writes them as text.
_AS_TEXT = re.compile(r"(?<![a-z_`])(date|timestamp|timestamp_ntz)(?=[,>]|$)")


def ask(spark: SparkSession, topic: Topic) -> dict[str, list[Answer]]:
    """Evaluate each expression of a topic on each row alone; see :func:`tests.support.expressions.read_answers`."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.ansi.enabled", "true")
    for row in range(topic.height):
        session.sql(topic.query(range(row, row + 1), DIALECT)).createOrReplaceTempView(f"row_{row}")
    answers = {}
    for expression in topic.expressions:
        kind = session.sql(f"SELECT {expression} AS e FROM row_0").schema[0].dataType.simpleString()
        answers[expression] = [kind, *(_ask(session, expression, kind, row) for row in topic.rows_for(expression))]
    return answers


def _ask(session: SparkSession, expression: str, kind: str, row: int) -> Answer:
    frame = session.sql(f"SELECT {expression} AS e FROM row_{row}")
    if (wanted := _AS_TEXT.sub("string", kind)) != kind:
        frame = frame.selectExpr(f"CAST(e AS {wanted})")
    try:
        return _spell(frame.collect()[0][0])
    except PySparkException as error:
        return {"error": error.getCondition() or type(error).__name__}
    except Py4JJavaError:  # an error of Spark's own, without a condition
        return {"error": "INTERNAL_ERROR"}


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session(Path(folder), SETTINGS)
        for topic in read_topics():
            answers = ask(spark, topic).items()
            lines = (
                f" {json.dumps(each, ensure_ascii=False)}: {json.dumps(rows, ensure_ascii=False)}"
                for each, rows in answers
            )
            answers_file(topic.name).write_text("{\n" + ",\n".join(lines) + "\n}\n")
        spark.stop()
