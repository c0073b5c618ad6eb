"""After a cast stopped a statement: which value of which column it was. Run only when a run has failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.errors import DataError, ScdgenError, UsageError, quoted
from scdgen.patterns import source
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

FILE = "_scd_file"
"""The column of a source that holds the file of a row, where there is one."""

_CAST_ERRORS = (
    r"\[(CAST_INVALID_INPUT|CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|CANNOT_PARSE_TIMESTAMP|INVALID_DATETIME|"
    r"ARITHMETIC_OVERFLOW|CONVERSION_INVALID_INPUT|EXCEED_LIMIT_LENGTH|DELTA_EXCEED_CHAR_VARCHAR_LIMIT|"
    r"DELTA_NOT_NULL_CONSTRAINT_VIOLATED|NOT_NULL_ASSERT_VIOLATION)"
)


@dataclass(frozen=True)
class BadValue:
    """A value that a column's type does not hold; ``count`` is how many rows have one (None: not known)."""

    place: str  # "column age", with the source's name where it is another one
    value: str | None  # None: NULL, and the column is NOT NULL
    type: str
    count: int | None = None
    key: str = ""  # "id=3"
    file: str | None = None
    texts: dict[str, str] = field(default_factory=dict)  # lower-case source column -> text, of the row

    def message(self, where: str, mend: str) -> str:
        """The line that a user reads."""
        told = ""
        if self.count is not None:
            told = f" ({self.count} row{'s' * (self.count != 1)}, such as key {self.key})"
        if self.value is None:
            return f"{where}: {self.place}: is NULL and may not be{told}; mend {mend}, or leave out nullable: false"
        what = "is longer than" if self.type.startswith(("VARCHAR", "CHAR")) else "is no"
        return f"{where}: {self.place}: {quoted(self.value)} {what} {self.type}{told}; mend {mend} or the type"


@dataclass(frozen=True)
class _Cast:
    """A cast of the generated SQL: what is cast, to what."""

    place: str
    text: str
    type: str
    bare: str | None
    required: bool = False

    def fails(self) -> str:
        if self.required:
            return f"({self.text}) IS NULL"
        if length := re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", self.type):
            return f"LENGTH(CAST(({self.text}) AS STRING)) > {length[1]}"
        return f"(({self.text}) IS NOT NULL AND TRY_CAST(({self.text}) AS {self.type}) IS NULL)"

    @property
    def nested(self) -> bool:
        return self.type.startswith(("ARRAY", "STRUCT", "MAP"))


def is_cast_error(text: str) -> bool:
    """Whether an error's text says that a value did not convert."""
    return re.search(_CAST_ERRORS, text) is not None


def value_error(spark: SparkSession, spec: Spec, error: Exception) -> ScdgenError | None:
    """The error that names the value, where it was one of a param or of the source that a type does not hold."""
    if not is_cast_error(str(error)):
        return None
    if param := _bad_param(spark, spec):
        return param
    found = bad_value(spark, spec)
    if found is None:
        return None
    return DataError(found.message(spec.target, "the source"), rule="cast", count=found.count, sample=found.key)


def _bad_param(spark: SparkSession, spec: Spec) -> UsageError | None:
    """The first param whose value, given as a text, is none of its type."""
    for name, param in spec.params.items():
        text = re.fullmatch(r"'(.*)'", str(param.default), re.DOTALL)
        if text and not _asked(spark, f"SELECT CAST({text[0]} AS {param.type})"):
            value = text[1].replace("\\'", "'").replace("\\\\", "\\")
            told = f"the param '{name}': {quoted(value)} is no {param.type}; give another one"
            return UsageError(f"{spec.origin}: {told}")
    return None


def bad_value(spark: SparkSession, spec: Spec) -> BadValue | None:
    """The first column of the spec with a value that does not convert, and the first row with one.

    Runs in the session of the failed statement, whose variables are still set. ``None`` where no column has one, or
    where the rows cannot be read.
    """
    rows = source.rows(spec, "incoming", guarded=False)
    given = f"WITH source AS ({rows.query}) " if rows.query else ""
    where = f" WHERE {' AND '.join(rows.where)}" if rows.where else ""
    casts = _casts(spec)
    simple = [cast for cast in casts if cast.required or not cast.nested]
    tail = f"FROM {rows.relation}{where}"
    listed = ", ".join(f"COUNT_IF({cast.fails()})" for cast in simple)
    counts = _asked(spark, f"{given}SELECT {listed} {tail}")
    for cast, count in zip(simple, counts[0] if counts else (), strict=False):
        if count:
            return _sampled(spark, spec, cast, count, given, f"FROM {rows.relation}", rows.where)
    # What TRY_CAST does not tell: a value inside another one, or a cast that a user's expression makes.
    for cast in casts:
        try:
            spark.sql(f"{given}SELECT COUNT(CAST(({cast.text}) AS {cast.type})) {tail}").collect()
        except Exception as error:
            told = re.search(r"The value (.+?) of the type .*? cannot be cast to \"(.+?)\"", str(error), re.DOTALL)
            if told:
                return BadValue(cast.place, told[1].strip("'"), told[2])
    return None


def _casts(spec: Spec) -> list[_Cast]:
    """The casts of the source's columns, in the spec's order."""
    found = []
    for name in source.source_columns(spec):
        column = spec.columns[name]
        read = source.fragment(spec, name)
        place = f"column {name}" + (f" (from {read.text})" if column.from_ and read.bare != name else "")
        found.append(_Cast(place, read.text, column.type, read.bare))
        if not column.nullable and name not in spec.keys:
            found.append(_Cast(place, read.text, column.type, read.bare, required=True))
    if spec.source.effective_at is not None:
        read = sql.expression(spec.source.effective_at)
        place = "effective_at" + (f" ({read.text})" if read.text != "effective_at" else "")
        found.append(_Cast(place, read.text, source.time_type(spec), read.bare))
    return found


def _sampled(
    spark: SparkSession, spec: Spec, cast: _Cast, count: int, given: str, relation: str, where: Sequence[str]
) -> BadValue:
    """One of the rows in which a cast fails."""
    keys = [(name, source.fragment(spec, name)) for name in spec.keys]
    texts = ", ".join(f"CAST(({text}) AS STRING)" for text in [cast.text, *(read.text for _, read in keys)])
    conditions = " AND ".join([*where, cast.fails()])
    tail = f"{relation} WHERE {conditions} LIMIT 1"
    with_file, without = (f"{given}SELECT {texts}, {file} {tail}" for file in (FILE, "NULL"))
    found = _asked(spark, with_file) or _asked(spark, without)
    if not found:
        return BadValue(cast.place, "a value", cast.type, count)
    value, *key_texts, file = found[0]
    listed = ", ".join(f"{name}={text}" for (name, _), text in zip(keys, key_texts, strict=True))
    bare = {read.bare.lower(): text for (_, read), text in zip(keys, key_texts, strict=True) if read.bare and text}
    if cast.bare and value is not None:
        bare[cast.bare.lower()] = value
    return BadValue(cast.place, value, cast.type, count, listed, file, bare if cast.bare else {})


def _asked(spark: SparkSession, query: str) -> list[Row]:
    """The rows of a query, none where it fails: the run has an error already, and this would only say more of it."""
    try:
        return spark.sql(query).collect()
    except Exception:
        return []
