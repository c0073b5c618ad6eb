"""Run statements in a SparkSession, one run at a time, and explain their failures.

After a failed statement the variables of the session are still set, so that queries find the rows that broke a rule.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scdgen.compile.queries import BadValues, broken_rows, source_rows
from scdgen.compile.render import render_query
from scdgen.engine.failures import translate
from scdgen.engine.session import PARTITIONS_AS_TEXT, set_while, strict
from scdgen.engine.spark3 import session_of
from scdgen.errors import DataError, ScdgenError, UsageError, quoted
from scdgen.facts.base import YEAR, Facts, advise
from scdgen.facts.built import Source
from scdgen.facts.row_rules import left_out
from scdgen.facts.source import SourceCast, SourceRow
from scdgen.facts.variables import Variable
from scdgen.model.spec import Spec
from scdgen.sql import quote
from scdgen.sql.dates import ways_to_read
from scdgen.sql.tokens import first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

FILE = "_scd_file"
"""The column of a source with the file of a row, if it has one."""

_CAST_ERRORS = (
    r"\[(CAST_INVALID_INPUT|CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|CANNOT_PARSE_TIMESTAMP|INVALID_DATETIME|"
    r"ARITHMETIC_OVERFLOW|CONVERSION_INVALID_INPUT|EXCEED_LIMIT_LENGTH|DELTA_EXCEED_CHAR_VARCHAR_LIMIT|"
    r"DELTA_NOT_NULL_CONSTRAINT_VIOLATED|NOT_NULL_ASSERT_VIOLATION)"
)

# pyspark logs every failed query as a page of JSON; the error contains all of it.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)

_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_locks_guard = threading.Lock()


class Engine:
    """One session. ``lock`` is held while its variables are in use; all engines on the session share it."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        with _locks_guard:
            self.lock = _locks.setdefault(session_of(spark), threading.RLock())

    @contextmanager
    def ready(self, bound: Spec, source: DataFrame | None) -> Iterator[None]:
        """Lock the session for this thread, with ``source`` as the view that a spec with its params reads."""
        view = bound.source.table if source is not None else None
        with self.lock, strict(self.spark), set_while(self.spark, PARTITIONS_AS_TEXT if bound.source.path else {}):
            if source is not None and view is not None:
                # Dropping a view also uncaches its plan; the filter makes it a plan that nothing else caches.
                source.where(f"'{view}' IS NOT NULL").createOrReplaceTempView(view)
            try:
                with self.translated(bound):
                    yield
            finally:
                if view is not None:
                    self.spark.catalog.dropTempView(view)

    def execute(self, statements: Iterable[str]) -> None:
        """Run statements in order."""
        for statement in statements:
            self.spark.sql(statement).collect()

    def query(self, facts: Facts) -> DataFrame:
        """Return the rows of a query, which Spark has not run yet."""
        return self.spark.sql(render_query(facts))

    def declare(self, variable: Variable, is_set: bool = True) -> None:
        """Declare a variable of the session, and set it to its value if ``is_set``."""
        self.execute([f"DECLARE OR REPLACE VARIABLE {variable.name} {variable.type}"])
        if is_set:
            self.execute([f"SET VARIABLE {variable.name} = {variable.value}"])

    def count_source(self, bound: Spec, query: str) -> SourceCounts:
        """Run :func:`scdgen.compile.queries.source_counts`; without a query the rows are unknown, none is left out."""
        if not query:
            return SourceCounts()
        rows, skipped, *rejected = map(int, self.spark.sql(query).collect()[0])
        return SourceCounts(rows, skipped, dict(zip(left_out(bound), rejected, strict=True)))

    @contextmanager
    def translated(self, spec: Spec) -> Iterator[None]:
        """Translate engine errors raised in this block."""
        try:
            yield
        except ScdgenError:
            raise
        except Exception as error:
            known = cause(self, spec, error)
            raise explained(self, spec, known) from known


@dataclass(frozen=True)
class SourceCounts:
    """The numbers of rows of a source, and of those that are left out."""

    rows: int | None = None
    """The number of rows; ``None`` if it is not known."""
    skipped: int = 0
    """Those that ``bad_rows`` leaves out."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Expectation -> number of rows that it leaves out."""


# How to read a number with a decimal comma or a separator of thousands -> the texts that it is for.
_SEPARATORS = {
    "replace({}, ',', '.')": r"[+-]?\d+,\d+",
    "replace({}, ',', '')": r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?",
    "replace(replace({}, '.', ''), ',', '.')": r"[+-]?\d{1,3}(\.\d{3})+,\d+",
}


@dataclass(frozen=True)
class BadValue:
    """A value that a column's type does not hold."""

    place: str
    """The column for a message, with the source's name if that differs: ``column age``."""
    value: str | None
    """Its text; ``None`` for a NULL in a column that is NOT NULL."""
    type: str
    """The type of the column."""
    count: int | None = None
    """The number of rows that have one; ``None`` if it is not known."""
    key: str = ""
    """The key of one of them: ``id=3``."""
    file: str | None = None
    """The file of that row; ``None`` if it is not known."""
    texts: dict[str, str] = field(default_factory=dict)
    """Source column in lower case -> its text in that row."""
    read: str = ""
    """The column of the source, if it is cast as it is; else empty."""
    computed: bool = False
    """Whether an expression over the columns of the source gives the value."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The parts of :meth:`message` that are values of rows."""
        return ("" if self.value is None else quoted(self.value), self.key)

    def message(self, where: str, fix: str) -> str:
        """Format the line that a user reads."""
        rows = ""
        if self.count is not None:
            rows = f" ({self.count} row{'s' * (self.count != 1)}, such as key {self.key})"
        if self.value is None:
            return f"{where}: {self.place}: is NULL and may not be{rows}; fix {fix}, or leave out nullable: false"
        what = "is longer than" if self.type.startswith(("VARCHAR", "CHAR")) else "is not a valid"
        solution = f"fix {fix} or the {'expression' if self.computed else 'type'}{self._suggest_expression()}"
        return f"{where}: {self.place}: {quoted(self.value)} {what} {self.type}{rows}; {solution}"

    def _suggest_expression(self) -> str:
        """Name the expression that reads a date in another format, or a decimal comma."""
        is_time = self.read and self.type in {"DATE", "TIMESTAMP"}
        calls = ways_to_read(self.value or "", self.read, self.type) if is_time else []
        if self.read and self.type.startswith(("DECIMAL", "DOUBLE", "FLOAT")):
            forms = (form for form, text in _SEPARATORS.items() if re.fullmatch(text, self.value or ""))
            calls = [form.format(self.read) for form in forms]
        return f", or write {' or '.join(calls)} in the spec" if calls else ""


def explained(engine: Engine, spec: Spec, error: Exception) -> ScdgenError:
    """Translate an error of Spark's; for a broken rule, with the count and a sample."""
    if found := value_error(engine, spec, error):
        return found
    if (broken := rule_name(str(error))) is None:
        return _with_key(engine, spec, error)
    rule, message = broken
    refused, count, sample, counted = advise(spec, rule, message), None, None, ""
    if (query := broken_rows(spec, rule)) is not None:
        try:
            count, sample = engine.query(query).collect()[0]
            sample = _with_user_names(spec, str(sample))
            shown = "" if refused.sample or sample == "{}" else f", such as {sample}"
            counted = f" ({count} found{shown})" if count else ""
        except Exception:  # the message names the rule even without numbers
            count = None
    own = _with_user_names(spec, refused.sample)
    what = _with_user_names(spec, refused.what) + (f", such as {own}" if own else "")
    # Put the count where the sentence ends: after the fix, if there is one.
    if not refused.fix:
        what += counted
    fix = f"{refused.fix}{counted}" if refused.fix else ""
    return DataError(what, fix=fix, rule=rule, count=count, sample=sample, values=(sample or "", own))


def _with_key(engine: Engine, spec: Spec, error: Exception) -> ScdgenError:
    """Translate an error of Spark's; if a constraint of the table is broken, with the key of a row."""
    known = translate(spec, error)
    broken = re.search(r"\[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES\].*?\((.*)\) violated by row", str(error), re.DOTALL)
    try:
        rows = engine.query(source_rows(spec)).where(f"({broken[1]}) IS NOT TRUE") if broken else None
        count, key = (0, None) if rows is None else (rows.count(), rows.select(*map(quote, spec.keys)).first())
    except Exception:  # the condition is over columns that the source does not have
        return known
    if not count or key is None:
        return known
    named = ", ".join(f"{name}={value}" for name, value in key.asDict().items())
    what = f"{known.what} ({count} row{'s' * (count != 1)}, such as key {named})"
    return DataError(what, count=count, sample=named, place=known.place, fix=known.fix, values=(*known.values, named))


def cause(engine: Engine, spec: Spec, error: Exception) -> Exception:
    """Return the source's error if Spark names a column of scdgen's instead; any other error as it is.

    If a step reads a missing table or column, Spark reports the column that a later step explodes.
    """
    if re.search(r"\[UNRESOLVED_COLUMN[A-Z_.]*\][^\n]*with name `_scd_\w+`", str(error)):
        try:
            engine.query(source_rows(spec)).schema  # noqa: B018 - analyzed, not run
        except Exception as of_source:
            return of_source
    return error


def rule_name(text: str) -> tuple[str, str] | None:
    """Return (rule, message) from an error's text, if one of our rules stopped the statement.

    >>> rule_name("[USER_RAISED_EXCEPTION] [SCDGEN_NULL_KEY] crm.t: id is NULL. SQLSTATE: P0001")
    ('null_key', 'crm.t: id is NULL')
    """
    found = re.search(
        r"(?:USER_RAISED_EXCEPTION\]|RuntimeException:)\s*\[SCDGEN_([A-Z0-9_]+)\] (.*?)(?:\.? SQLSTATE|\n|$)", text
    )
    return (found[1].lower(), first_line(Exception(found[2]))) if found else None


def _with_user_names(spec: Spec, text: str) -> str:
    """Replace names of the generated SQL in a message or a sample with those of the user; times as tables have them."""
    started = spec.history.valid_from if spec.keeps_history else "updated_at"
    shown = {"at": "effective_at", "from": started, "until": spec.history.valid_to, "sets": "sets", "table": "alias"}
    for name, known in shown.items():
        text = text.replace(f'"_scd_{name}":', f'"{known}":')
    text = re.sub(r'"(\d{4,}-\d\d-\d\d)T([\d:]{8})(?:\.000|(\.\d{3}))(?:Z|[+-]\d\d:\d\d)"', r'"\1 \2\3"', text)
    return re.sub(r"\b_scd_target_\d+\b", lambda _: spec.target, text)


def is_cast_error(text: str) -> bool:
    """Whether an error's text means that a value did not convert, or did to a year that is refused."""
    broken = rule_name(text)
    return re.search(_CAST_ERRORS, text) is not None or (broken is not None and broken[0] == YEAR)


def value_error(engine: Engine, spec: Spec, error: Exception) -> ScdgenError | None:
    """Return an error that names the value of a param or of the source that does not convert."""
    if not is_cast_error(str(error)):
        return None
    if param := _bad_param(engine.spark, spec):
        return param
    if found := bad_value(engine, spec):
        message = found.message(spec.target, "the source")
        return DataError(message, rule="cast", count=found.count, sample=found.key, values=found.shown)
    return None


def _bad_param(spark: SparkSession, spec: Spec) -> UsageError | None:
    """Find the first param whose value, given as text, does not convert to its type."""
    for name, param in spec.params.items():
        text = re.fullmatch(r"'(.*)'", str(param.default), re.DOTALL)
        if text is None:
            continue
        try:
            spark.sql(f"SELECT CAST({text[0]} AS {param.type})").collect()
        except Exception:
            value = text[1].replace("\\'", "'").replace("\\\\", "\\")
            what = f"the param '{name}': {quoted(value)} is not a valid {param.type}; give another one"
            return UsageError(f"{spec.origin}: {what}")
    return None


def bad_value(engine: Engine, spec: Spec) -> BadValue | None:
    """Find the first column with a value that does not convert, and a row with one; ``None`` if that is not known."""
    casts, rows = SourceRow(spec).casts, Source(spec).rows
    # Count the failures of all casts in one query first, which finds most of them.
    simple = tuple(cast for cast in casts if cast.required or not cast.nested)
    counts = _rows(engine, BadValues(rows, "count", simple))
    for cast, count in zip(simple, counts[0] if counts else (), strict=False):
        if count:
            return _sampled(engine, spec, cast, count)
    # TRY_CAST does not find a value inside another one, or a cast in a user's expression.
    for cast in casts:
        try:
            engine.query(BadValues(rows, "cast", (cast,))).collect()
        except Exception as error:
            # Prefer a count and a row to the value in Spark's text.
            counts = _rows(engine, BadValues(rows, "count", (cast,))) if cast in simple else []
            if counts and counts[0][0]:
                return _sampled(engine, spec, cast, counts[0][0])
            found = re.search(r"The value (.+?) of the type .*? cannot be cast to \"(.+?)\"", str(error), re.DOTALL)
            found = found or re.search(r"Text ('.+?')() could not be parsed", str(error), re.DOTALL)
            if found:
                return BadValue(cast.place, found[1].strip("'"), found[2] or cast.type, computed=not cast.bare)
    return None


def _sampled(engine: Engine, spec: Spec, cast: SourceCast, count: int) -> BadValue:
    """Find one of the rows in which a cast fails."""
    keys = [(name, SourceRow(spec).fragment(name)) for name in spec.keys]
    values = (SourceCast.of(name, read, "").conversion.value for name, read in keys)
    texts = (cast.conversion.value, *values, *map(quote, cast.reads))
    query = BadValues(Source(spec).rows, "sample", (cast,), texts)
    # Only rows of files have the name of their file.
    found = _rows(engine, replace(query, file=FILE)) or _rows(engine, query)
    if not found:
        return BadValue(cast.place, "a value", cast.type, count, computed=not cast.bare)
    value, *others, file = found[0]
    key_texts, given = others[: len(keys)], dict(zip(cast.reads, others[len(keys) :], strict=True))
    listed = ", ".join(f"{name}={text}" for (name, _), text in zip(keys, key_texts, strict=True))
    if len(given) == 1 and value is not None:
        (value,) = given.values()  # as it is in the source
    # Give the columns by which the line in the file can be found.
    bare = {read.bare.lower(): text for (_, read), text in zip(keys, key_texts, strict=True) if read.bare}
    row = {name: text for name, text in {**bare, **given}.items() if text} if given else {}
    kind = cast.type if cast.required else cast.conversion.type
    return BadValue(cast.place, value, kind, count, listed, file, row, cast.text if cast.bare else "", not cast.bare)


def _rows(engine: Engine, query: BadValues) -> list[Row]:
    """Return the rows of a query, none if it fails: it would only add details to an error that is already there."""
    try:
        return engine.query(query).collect()
    except Exception:
        return []
