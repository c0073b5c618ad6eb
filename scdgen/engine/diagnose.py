"""After a statement has failed: what to say of it. Of a broken rule, how many rows break it, and one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scdgen.engine.diagnose_cast import value_error
from scdgen.engine.failures import translate
from scdgen.errors import DataError, ScdgenError
from scdgen.patterns.compile import broken_rows, source_rows
from scdgen.spec.model import Spec
from scdgen.sql.tokens import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def explained(spark: SparkSession, spec: Spec, error: Exception) -> ScdgenError:
    """One of our errors for one of Spark's; for a broken rule, with the count and a sample.

    Runs in the session of the failed statement, whose variables are still set.
    """
    broken = rule_name(str(error))
    if broken is None:
        return value_error(spark, spec, error) or translate(spec, error)
    rule, message = broken
    message, count, sample = told_to_users(spec, message), None, None
    query = broken_rows(spec, rule)
    if query is not None:
        try:
            count, sample = spark.sql(query).collect()[0]
            sample = told_to_users(spec, str(sample))
            shown = "" if "such as" in message or sample == "{}" else f", such as {sample}"
            message += f" ({count} in all{shown})"
        except Exception:  # the rule itself has been named; numbers are a courtesy
            count = None
    return DataError(message, rule=rule, count=count, sample=sample)


def cause(spark: SparkSession, spec: Spec, error: Exception) -> Exception:
    """What is wrong with the source, where Spark names a column of our own instead; any other error as it is.

    Runs in the session of the failed statement, whose variables are still set. A step that explodes the column of a
    step before it is refused for that column, if the step before it reads a table or a column that is not there.
    """
    if re.search(r"\[UNRESOLVED_COLUMN[A-Z_.]*\][^\n]*with name `_scd_\w+`", str(error)):
        try:
            spark.sql(source_rows(spec)).schema  # noqa: B018 - looked at, not run
        except Exception as of_source:
            return of_source
    return error


def told_to_users(spec: Spec, text: str) -> str:
    """A message or a sample with the names that the user knows, in the place of those of the generated SQL."""
    started = spec.history.valid_from if spec.keeps_history else "updated_at"
    text = text.replace('"_scd_at":', '"effective_at":').replace('"_scd_from":', f'"{started}":')
    return re.sub(r"\b_scd_target_\d+\b", lambda _: spec.target, text)


def rule_name(text: str) -> tuple[str, str] | None:
    """(rule, message) in an error's text, where one of our rules stopped the statement.

    >>> rule_name("[USER_RAISED_EXCEPTION] [SCDGEN_NULL_KEY] crm.t: the key id is NULL; mend it. SQLSTATE: P0001")
    ('null_key', 'crm.t: the key id is NULL; mend it')
    """
    found = re.search(
        r"(?:USER_RAISED_EXCEPTION\]|RuntimeException:)\s*\[SCDGEN_([A-Z_]+)\] (.*?)(?:\.? SQLSTATE|\n|$)", text
    )
    return (found[1].lower(), first_line(Exception(found[2]))) if found else None
