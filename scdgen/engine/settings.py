"""Settings of a session while something lasts, on sessions that may refuse them: serverless compute lets few be set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scdgen.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Databricks' condition, Spark's own ones, and the texts of Spark 3, which have none.
_REFUSED = re.compile(
    r"\[(CONFIG_NOT_AVAILABLE|CANNOT_MODIFY_(?:STATIC_)?CONFIG)\b|Cannot modify the value of a (?:static|Spark) config"
)
_ANSI = "spark.sql.ansi.enabled"


def refuses(error: Exception) -> bool:
    """Whether an error says that the session does not let a setting be read or changed.

    >>> refuses(ValueError("[CONFIG_NOT_AVAILABLE] Configuration spark.x is not available. SQLSTATE: 42K0I"))
    True
    """
    return bool(_REFUSED.search(str(error)))


@contextmanager
def set_while(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[bool]:
    """Inside of this the session has these settings, afterwards its own again.

    Gives whether it does: ``False``, and nothing is changed, where the session refuses one of them.
    """
    before: dict[str, str | None] = {}
    try:
        taken = _set(spark, settings, before)
        if not taken:
            _back(spark, before)
        yield taken
    finally:
        _back(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str], before: dict[str, str | None]) -> bool:
    """Set them, and keep in ``before`` what those that were set had been."""
    try:
        for name, value in settings.items():
            found = spark.conf.get(name, None)
            spark.conf.set(name, value)
            before[name] = found
    except Exception as error:
        if not refuses(error):
            raise
        return False
    return True


def _back(spark: SparkSession, before: dict[str, str | None]) -> None:
    while before:
        name, value = before.popitem()
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def ansi(spark: SparkSession) -> Iterator[None]:
    """While this lasts, a value that does not convert is an error and not NULL, whatever the session is set to.

    Raises :class:`EngineError` where the session takes it for NULL and does not let that be changed.
    """
    if _is_ansi(spark):
        yield
        return
    with set_while(spark, {_ANSI: "true"}) as taken:
        if not taken:
            raise EngineError(
                f"Spark: {_ANSI} is false here and may not be changed, so that a value which does not convert would "
                "become NULL; set it to true for this compute"
            )
        yield


def _is_ansi(spark: SparkSession) -> bool:
    try:
        return str(spark.conf.get(_ANSI)) == "true"
    except Exception as error:
        if not refuses(error):
            raise
    try:
        spark.sql("SELECT CAST('a' AS INT)").collect()
    except Exception as error:
        if "CAST_INVALID_INPUT" not in str(error):
            raise
        return True
    return False
