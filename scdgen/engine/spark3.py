"""Session variables for Spark 3.5, which has none: DECLARE and SET are interpreted here, and values become literals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.errors import EngineError
from scdgen.sql import text_literal
from scdgen.sql.tokens import put, tokens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def with_variables(spark: SparkSession) -> SparkSession:
    """Return the session, wrapped if its SQL has no variables."""
    if not str(spark.version).startswith("3."):
        return spark
    try:  # Databricks has them in runtimes that report Spark 3.5
        spark.sql("DECLARE OR REPLACE VARIABLE _scd_probe INT").collect()
    except Exception as error:
        # Only a parser without variables refuses the syntax; pass on any other error.
        if "PARSE_SYNTAX_ERROR" not in str(error):
            raise
        return cast("SparkSession", Substituting(spark))
    return spark


def session_of(spark: SparkSession) -> SparkSession:
    """Return the session without the wrapper, for comparing sessions."""
    return cast("SparkSession", spark.session) if isinstance(spark, Substituting) else spark


class Substituting:
    """A wrapper that adds variables to a session."""

    def __init__(self, spark: SparkSession):
        self.session = spark
        self._types: dict[str, str] = {}
        self._literals: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def sql(self, text: str) -> DataFrame:
        """Run a statement; those that declare or set a variable return no rows."""
        found = tokens(text)
        words = [token.text.upper() for token in found[:4]]
        if words == ["DECLARE", "OR", "REPLACE", "VARIABLE"]:
            self._declare(text, found)
        elif words[:2] == ["SET", "VARIABLE"]:
            self._set(text, found)
        elif words[0] == "CREATE" and "FUNCTION" in words:
            what = "has no functions in SQL, which came with Spark 4.0; leave out views.as_of"
            raise EngineError(f"Spark {self.session.version} {what}")
        else:
            return self.session.sql(self._put_in(text, found))
        return self.session.sql("SELECT 1 WHERE FALSE")

    def _declare(self, text: str, found: Sequence[Token]) -> None:
        """``DECLARE OR REPLACE VARIABLE name TYPE [DEFAULT value]``."""
        name, *rest = found[4:]
        default = next((token for token in rest if token.text.upper() == "DEFAULT"), None)
        self._types[name.text] = text[name.end + 1 : default.start if default else len(text)].strip()
        self._assign([name.text], text[default.end + 1 :].strip() if default else "NULL")

    def _set(self, text: str, found: Sequence[Token]) -> None:
        """``SET VARIABLE name = value``, or ``(name, name) = (SELECT value, value …)``."""
        equals = next(place for place, token in enumerate(found) if token.token_type is TokenType.EQ)
        names = [token.text for token in found[2:equals] if token.text not in "(),"]
        self._assign(names, text[found[equals].end + 1 :].strip())

    def _assign(self, names: Sequence[str], value: str) -> None:
        kinds = [self._types[name] for name in names]
        given = self._put_in(value, tokens(value))
        listed = ", ".join(f"_{number}" for number in range(len(names)))
        rows = given if len(names) > 1 else f"(SELECT {given})"
        texts = ", ".join(_as_text(kind, f"CAST(_{number} AS {kind})") for number, kind in enumerate(kinds))
        (row,) = self.session.sql(f"SELECT {texts} FROM {rows} AS v({listed})").collect()
        for name, kind, text in zip(names, kinds, row, strict=True):
            self._literals[name] = _literal(kind, text)

    def _put_in(self, text: str, found: Sequence[Token]) -> str:
        """Replace ``session.name``, and the names of scdgen's own variables, with literals."""
        values = []
        for place, token in enumerate(found):
            before = [other.text for other in found[max(0, place - 2) : place]]
            qualified = [word.lower() for word in before] == ["session", "."]
            known = token.token_type is TokenType.VAR and token.text in self._literals
            if known and (qualified or (token.text.startswith("_scd_") and before[-1:] != ["."])):
                start = found[place - 2].start if qualified else token.start
                values.append((start, token.end + 1, self._literals[token.text]))
        return put(text, values)


_ARRAY = re.compile(r"ARRAY\s*<(.+)>", re.IGNORECASE | re.DOTALL)


def _as_text(kind: str, value: str) -> str:
    """Return SQL for a value as text that :func:`_literal` reads, independent of the time zone; NULL stays NULL."""
    array = _ARRAY.fullmatch(kind)
    if array:
        return f"TRANSFORM({value}, _scd_item -> {_as_text(array[1], '_scd_item')})"
    if kind.upper() == "TIMESTAMP":
        return f"CAST(UNIX_MICROS({value}) AS STRING)"
    return f"HEX({value})" if kind.upper() == "BINARY" else f"CAST({value} AS STRING)"


def _literal(kind: str, text: Any) -> str:
    array = _ARRAY.fullmatch(kind)
    if array and text is not None:
        return f"CAST(ARRAY({', '.join(_literal(array[1], item) for item in text)}) AS {kind})"
    if text is None:
        return f"CAST(NULL AS {kind})"
    if kind.upper() == "TIMESTAMP":
        return f"TIMESTAMP_MICROS({text})"
    return f"X'{text}'" if kind.upper() == "BINARY" else f"CAST({text_literal(text)} AS {kind})"
