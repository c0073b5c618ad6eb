"""A DuckDB database in memory that runs the generated statements as Spark's runner does."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import duckdb
from sqlglot import exp

from scdgen import sql
from scdgen.compile.compile import Compiled, compile_spec
from scdgen.compile.dates import Seen, dates_query, no_dates, runs_of, undated
from scdgen.compile.queries import CheckAll, check_all, typed_values, variables_query
from scdgen.compile.render import read_file, render_query
from scdgen.compile.steps import Existing, Part, Step, list_steps
from scdgen.duck.known import UnknownError
from scdgen.duck.translate import Translator
from scdgen.duck.users import require_known_query, require_known_spec
from scdgen.errors import DataError, EngineError, quoted
from scdgen.facts.row_rules import left_out
from scdgen.facts.variables import param_variables
from scdgen.model.bind import bind
from scdgen.model.spec import TAKEN, Spec
from scdgen.patterns.pattern import pattern_of

Row = tuple[Any, ...]
# Errors of a value that does not convert or does not fit: the names that the macros give, and DuckDB's classes.
_BAD_VALUE = re.compile(r"\[(?:CAST_INVALID_INPUT|CANNOT_PARSE_TIMESTAMP)\] ([^'\n]*)")
_FAILURE = re.compile(r"\[DIVIDE_BY_ZERO\]")
_BAD_VALUES = (duckdb.ConversionException, duckdb.ConstraintException)
# DuckDB has no such function, or not for these types; Spark may. A name that is not there is a mistake for both.
_LACKING = (duckdb.BinderException, duckdb.ParserException, duckdb.NotImplementedException)
_LACKS = re.compile(r"Unimplemented type|Catalog Error: \w+ Function")
_NO_NAME = re.compile(r"Referenced (column|table)|does not have a column|Ambiguous reference")
# A column that the rows lack.
_NO_COLUMN = re.compile(
    r'(?:Column|Referenced column) "((?!_scd_)[^"]+)" (?:referenced that exists in the SELECT|not found in FROM) clause'
)
# Python's packages that DuckDB asks for, one message for each way in which it does.
_PACKAGE = re.compile(r"'(\w+)' is required for this operation|Required module '(\w+)' failed to import")
_BROKEN = (duckdb.FatalException, duckdb.InternalException, duckdb.IOException)
# Macros take decimals with so many digits, of which Spark has room for more before the point.
_MANY_DIGITS = re.compile(r"to type DECIMAL\(38,18\) failed")
_GIVEN = "_scd_given"  # rows of text
_SCHEMAS = (
    "SELECT replace(schema_name, '\"', '\"\"') FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'main'"
)
_VARIABLES = "SELECT replace(name, '\"', '\"\"') FROM duckdb_variables()"
_RELATIONS = """
    SELECT CASE table_type WHEN 'VIEW' THEN 'VIEW' ELSE 'TABLE' END, replace(table_name, '"', '""')
    FROM information_schema.tables WHERE table_schema = 'main'
"""
_FUNCTION = re.compile(r"CREATE (OR REPLACE )?(TEMP(ORARY)? )?(MACRO|FUNCTION)\b", re.IGNORECASE)
_HASH = "_spark_xxhash64"
_AT_ONCE = 200  # rows of an INSERT
# The SQL of a case comes from whoever wrote the file: no file, no network, no code, and no more memory than this.
_MEMORY = "1 GB"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # for few rows, more cost time
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,  # a variable of Python in place of a table that does not exist
    "memory_limit": _MEMORY.replace(" ", ""),
    "temp_directory": "",  # else .tmp in the working folder
}
MOST_ROWS = 100_000
"""How many rows a query may return."""
_FRACTIONS = r"DECIMAL\(\d+, ?[1-9]|DOUBLE|FLOAT"
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")
_TIMES = ("DATE", "TIMESTAMP")


@dataclass(frozen=True)
class Merged:
    """The result of a run, with the counts of :class:`scdgen.run.results.RunResult` under the same names.

    An UPDATE that only sets the open end to the time of the run counts as ``updated``.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    inferred: int = 0
    skipped: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Sequence[Merged]) -> Merged:
        """Add up the results of several runs."""
        rejected: Counter[str] = Counter()
        for each in results:
            rejected.update(each.rejected)
        names = ("inserted", "updated", "deleted", "inferred", "skipped")
        sums: dict[str, Any] = {name: sum(getattr(each, name) for each in results) for name in names}
        return cls(**sums, rejected=dict(rejected))


class Database:
    """A database in memory, without files and network; its statements have limits of memory and rows."""

    def __init__(self) -> None:
        self._open()
        self._translator = Translator()
        self._judged: set[str] = set()
        self._compiled: dict[str, Compiled] = {}
        self._checks: dict[str, CheckAll] = {}
        # Target and feed -> the dates of snapshots that it has seen.
        self._seen: defaultdict[tuple[str, str], Seen] = defaultdict(Seen)

    def _open(self) -> None:
        self._db = duckdb.connect(config=_CONFIG)
        self._db.execute(read_file("duckdb/macros.sql"))
        self._has_functions = self._has_hash = False

    def clear(self) -> None:
        """Drop every table, view, function and variable, and keep what was compiled and translated."""
        self._judged.clear()  # which depends on the tables
        self._seen.clear()
        self._translator.forget()
        if self._has_functions:  # one may be in place of a macro, which is not to be had back
            self._db.close()
            self._open()
            return
        for (name,) in self._db.execute(_VARIABLES).fetchall():
            self._db.execute(f'RESET VARIABLE "{name}"')
        for (name,) in self._db.execute(_SCHEMAS).fetchall():
            self._db.execute(f'DROP SCHEMA "{name}" CASCADE')
        for kind, name in self._db.execute(_RELATIONS).fetchall():
            self._db.execute(f'DROP {kind} "{name}"')

    def close(self) -> None:
        """Free the memory."""
        self._db.close()

    def execute(self, script: str | Iterable[str]) -> list[Row]:
        """Run statements of Spark's SQL in order, and return the rows of the last one; of a MERGE, its actions.

        Raises :class:`UnknownError` if the translation is not known, and what :func:`translate_error` returns.
        """
        rows: list[Row] = []
        for text in [script] if isinstance(script, str) else script:
            try:
                rows = self._execute(text)
            except UnknownError as error:
                first = next((line for line in text.splitlines() if not line.startswith("--")), "")
                quotes = error.what.startswith("'")
                raise UnknownError(error.what if quotes else f"{error.what}, in {quoted(first)}") from error
        return rows

    def _execute(self, text: str) -> list[Row]:
        rows: list[Row] = []
        for statement in self._translator.statements(text):
            if not self._has_hash and _HASH in statement.lower():
                self._run(read_file("duckdb/xxhash64.sql"))
                self._has_hash = True
            self._has_functions |= _FUNCTION.match(statement) is not None
            rows = self._run(statement + (" RETURNING merge_action" if statement.startswith("MERGE ") else ""))
        return rows

    def _run(self, statement: str, given: Sequence[Any] = ()) -> list[Row]:
        try:
            # Fetch one row more than a query may return, to see that it returns too many.
            rows: list[Row] = self._db.execute(statement, given).fetchmany(MOST_ROWS + 1)
        except duckdb.Error as error:
            raise translate_error(error) from error
        if len(rows) > MOST_ROWS:
            raise EngineError(f"a query returns more than {MOST_ROWS:,} rows; add a condition, or aggregate them")
        return rows

    def _roll_back(self) -> None:
        self._db.execute("ROLLBACK")
        self._has_hash = False  # its macros may have been made since BEGIN

    def query(self, text: str) -> tuple[dict[str, str], list[Row]]:
        """Run a query of Spark's SQL, and return the DuckDB type of each column by its name, and the rows."""
        rows = self.execute(text)
        return {column[0]: str(column[1]) for column in self._db.description or ()}, rows

    def columns(self, name: str) -> dict[str, str]:
        """Return the name and DuckDB type of each column of a table or view; empty if it does not exist."""
        return self._describe(f"SELECT * FROM {sql.quote_parts(sql.split_name(name))}")

    def _describe(self, query: str) -> dict[str, str]:
        with suppress(DataError, EngineError, UnknownError):  # what uses the query fails as well
            return self.query(f"SELECT * FROM ({query}) LIMIT 0")[0]
        return {}

    def _find_types(self, query: str) -> dict[str, exp.DataType]:
        """Return the type of each column of a query; empty if the query fails.

        DuckDB has one type for TIMESTAMP and TIMESTAMP_NTZ, which is given as the second one.
        """
        return {name: exp.DataType.build(kind, dialect="duckdb") for name, kind in self._describe(query).items()}

    def require_known(self, spec: Spec, query: str) -> None:
        """Raise :class:`UnknownError` for a query of a user that may have other values here than on Spark."""
        require_known_query(spec, self._find_types, query)

    def create_schema(self, name: str) -> None:
        """Create the schema of a table, if its name has one."""
        if len(parts := sql.split_name(name)) > 1:
            self.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.quote_parts(parts[:-1])}")

    def put(self, name: str, types: Mapping[str, str], rows: Sequence[Row]) -> None:
        """Make a table with rows of Python values, in place of one that exists; ``types`` are Spark's."""
        table = self._name(name)
        columns = ", ".join(f"{sql.quote(column)} {kind}" for column, kind in types.items())
        self.execute(f"CREATE OR REPLACE TABLE {table} ({columns})")
        marks = f"({', '.join('?' * len(types))})"
        (into,) = self._translator.statements(f"INSERT INTO {table} SELECT 1")
        into = into.removesuffix("SELECT 1")
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            self._run(f"{into} VALUES {', '.join([marks] * len(some))}", [cell for row in some for cell in row])

    def put_text(
        self,
        name: str,
        types: Mapping[str, str],
        columns: Sequence[str],
        rows: Sequence[Row],
        typed: Mapping[str, str] | None = None,
    ) -> None:
        """:meth:`put` rows of text, which is converted but for columns in ``typed``; a column without cells is NULL."""
        given = {**dict.fromkeys(columns, "STRING"), **(typed or {})}
        self.put(_GIVEN, given, rows)
        table = self._name(name)
        listed = []
        for column, kind in types.items():
            cast = f"CAST({sql.quote(column) if column in columns else 'NULL'} AS {kind}) AS {sql.quote(column)}"
            listed.append(sql.quote(column) if typed and column in typed else cast)
        self.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {', '.join(listed)} FROM {_GIVEN}")

    def _name(self, name: str) -> str:
        """Create the schema of a table that is put, and return its quoted name."""
        self.create_schema(name)
        return sql.quote_parts(sql.split_name(name))

    def compile(self, spec: Spec, view: str | None = None, params: Mapping[str, object] | None = None) -> Compiled:
        """Return the SQL of a run, with a table in place of the source if ``view`` names one; the same once.

        Raises :class:`UnknownError` for a spec with an expression or an option whose translation is not known.
        """
        key = f"{spec!r} {view} {params}"
        if key not in self._judged:
            bound = bind(spec, view, params or {})
            require_known_spec(bound, self._find_types, view, self._translator.translate_expression)
            self._judged.add(key)
            if key not in self._compiled:
                self._compiled[key] = compile_spec(bound)
        return self._compiled[key]

    def run(
        self, spec: Spec, view: str | None = None, params: Mapping[str, object] | None = None, infer: bool = False
    ) -> Merged:
        """Create or widen the table and merge, in one transaction: a failure leaves every table unchanged.

        With ``snapshot.each``, and without its param, each date is one, and the result has the sums. ``view`` is a
        table whose rows replace the spec's source; ``params`` are name -> Python value or its text; ``infer``: first
        add the keys that facts name and the table lacks.

        Raises :class:`UnknownError` if the translation is not known, :class:`SpecError` and :class:`UsageError` if the
        spec or a param is wrong, and :class:`DataError` if the data breaks a rule.
        """
        if spec.needs_dates(params or {}):
            found = runs_of(spec, params or {}, partial(self.find_dates, spec, view, params))
            return Merged.of([self.run(spec, view, of_date, infer) for _, of_date in found])
        compiled = self.compile(spec, view, params)
        self._require_times(compiled.spec, infer)
        steps = list_steps(compiled, self._find_stored(spec), infer)
        played: list[Part] = []
        self._db.execute("BEGIN")
        try:
            result = self._play(steps, compiled, played)
        except BaseException:
            self._roll_back()
            for step in steps:
                if Part.REJECTS in played and step.part in (Part.RUN, Part.REJECTS):  # kept if the MERGE fails
                    self.execute(step.statements)
            raise
        self._db.execute("COMMIT")
        if spec.each is not None:
            self._seen[spec.target, spec.feed] = self._seen[spec.target, spec.feed].add(self._read_date())
        return result

    def find_dates(
        self, spec: Spec, view: str | None = None, params: Mapping[str, object] | None = None
    ) -> tuple[str, ...]:
        """Return the dates of the snapshots that a run would merge; the arguments are those of :meth:`run`."""
        compiled = self.compile(undated(spec), view, params)
        set_by = {variable.name for variable in param_variables(compiled.spec)}
        self.execute(found.text for found in compiled.files.merge.statements if found.name in set_by)
        rows = self.execute(render_query(dates_query(spec, compiled.spec)))
        dates = self._seen[spec.target, spec.feed].choose(spec, [date for (date,) in rows])
        if not dates and not self.columns(spec.target):
            raise no_dates(spec)
        return dates

    def _read_date(self) -> str:
        return str(self.execute(render_query(variables_query(sql.variable(TAKEN))))[0][0])

    def _play(self, steps: Iterable[Step], compiled: Compiled, played: list[Part]) -> Merged:
        result = Merged()
        for step in steps:
            if step.part is Part.MERGE and compiled.spec.each is not None:
                seen = self._seen[compiled.spec.target, compiled.spec.feed]
                seen.require_newest(compiled.spec, self._read_date())
            rows = self.execute(step.statements)
            match step.part:
                case Part.MEMBERS:
                    result = replace(result, inferred=len(rows))
                case Part.COUNTS:
                    _, skipped, *rejected = map(int, rows[0])
                    counts = dict(zip(left_out(compiled.spec), rejected, strict=True))
                    result = replace(result, skipped=skipped, rejected=counts)
                case Part.MERGE:
                    found = Counter(action for (action,) in rows)
                    result = replace(result, inserted=found["INSERT"], updated=found["UPDATE"], deleted=found["DELETE"])
            played.append(step.part)
        return result

    def plan(
        self, spec: Spec, view: str | None = None, params: Mapping[str, object] | None = None
    ) -> Mapping[str, int]:
        """Return the counts of plan.sql, in the words of a result; the arguments are those of :meth:`run`.

        With ``snapshot.each``, and without its param, they are those of the first date that a run would merge.
        """
        if spec.needs_dates(params or {}):
            dates = self.find_dates(spec, view, params) or self._seen[spec.target, spec.feed].dates[-1:]
            return self.plan(spec, view, {**(params or {}), TAKEN: dates[0]})
        compiled = self.compile(spec, view, params)
        steps = list_steps(compiled, self._find_stored(spec))
        self._db.execute("BEGIN")  # a table that does not exist is made for the plan
        try:
            for step in steps:
                if step.part in (Part.RUN, Part.TABLE):  # the unknown member has the time of the run
                    self.execute(step.statements)
            # The view of the plan, its counts, and a sample that is not needed here.
            *before, counts, _ = compiled.files.plan.texts
            self.execute(before)
            names, rows = self.query(counts)
        finally:
            self._roll_back()
        return {name: int(number or 0) for name, number in zip(names, rows[0], strict=True)}

    def find_failures(self, spec: Spec) -> list[str]:
        """Run the checks of a table, and return the names of those that fail, as Spark's runner does."""
        key = repr(spec)
        queries = self._checks[key] = self._checks.get(key) or check_all(spec)
        counts = self.execute(queries.counts)[0]
        failed = [name for name, count in zip(queries.names, counts, strict=True) if count]
        return failed + [check.name for check in spec.checks if self.execute(sql.query(check.query).text)]

    def _find_stored(self, spec: Spec) -> Existing | None:
        stored = self.columns(spec.target)
        if not stored:
            return None
        names = {name.lower() for name in stored}
        added = tuple(c for c in pattern_of(spec).columns(spec) if sql.unquote(c.name).lower() not in names)
        target = sql.quote_parts(spec.target_parts)

        def lacks(condition: str) -> bool:
            return not self.execute(f"SELECT 1 FROM {target} WHERE {condition} LIMIT 1")

        return Existing(added, lacks)

    def _require_times(self, spec: Spec, infer: bool) -> None:
        """Raise :class:`DataError` for a number that would be cast to a time, or cut off, as Spark's runner does."""
        # The queries name the params, so declare these.
        for variable in param_variables(spec):
            self.execute(f"DECLARE OR REPLACE VARIABLE {variable.name} {variable.type}")
        for values in typed_values(spec, infer):
            try:
                kinds = list(self.query(f"{render_query(values)} LIMIT 0")[0].values())
            except (DataError, EngineError):  # the run fails as well
                continue
            for cast, found, wanted in zip(values.casts, kinds[::2], kinds[1::2], strict=False):
                what = ""
                if found.startswith(_NUMBERS) and wanted.startswith(_TIMES):
                    what = f"a number is not a {wanted}; write an expression that gives a time"
                if wanted == "BIGINT" and (found.startswith(_TIMES) or re.match(_FRACTIONS, found)):
                    what = "a BIGINT would lose a part of it; write an expression or a type that keeps the order"
                if what:
                    place = f"{spec.target}: {cast.place}"
                    raise DataError(f"is {found}, and {what}", place=place, rule="number_as_time")


def translate_error(error: duckdb.Error) -> Exception:
    r"""Return the error that a user sees: a rule of the generated SQL, a value that does not convert, or a failure.

    >>> translate_error(duckdb.InvalidInputException("Invalid Input Error: [SCDGEN_LATE] t: 2 rows are late")).rule
    'late'
    >>> translate_error(duckdb.ConversionException("[UNKNOWN] a cast\n\nLINE 1: ... ERROR('[SCDGEN_LATE] t')")).what
    'a cast'
    """
    text = str(error).partition("\nLINE ")[0]  # without the part of the statement that DuckDB adds
    # The errors that the generated SQL raises name their rule, whatever class DuckDB gives them.
    if found := re.search(r"\[SCDGEN_([A-Z0-9_]+)\] (.*)", text):
        return DataError(found[2], rule=found[1].lower())
    if found := re.search(r"\[UNKNOWN\] ([^'\n]*)", text):
        return UnknownError(found[1])
    if found := _PACKAGE.search(text):
        name = found[1] or found[2]
        return EngineError(f"DuckDB needs the package {name}, which is not installed; run: pip install {name}")
    if isinstance(error, _BROKEN):
        return EngineError(f"DuckDB broke down ({text.splitlines()[0].rstrip('.')}); give --engine spark")
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(f"a statement needs more than {_MEMORY} of memory; give it fewer rows")
    if isinstance(error, duckdb.PermissionException):
        return EngineError("the SQL names a file in place of a table, and a case reads none; give rows under 'tables:'")
    if isinstance(error, duckdb.OutOfRangeException) or "not in timestamp range" in text or _MANY_DIGITS.search(text):
        return UnknownError("a value out of range")  # Spark may have room for it
    if found := re.match(r"Catalog Error: Table with name (\S+) does not exist", text):
        return EngineError(f"there are no rows of the table {found[1]}; give them under 'tables:'")
    if found := _NO_COLUMN.search(text):
        return EngineError(f"the rows have no column {found[1]}, which the spec reads; add it to 'schema:'")
    line = text.splitlines()[0]
    # What DuckDB lacks is not a mistake of the spec or its rows.
    if (isinstance(error, _LACKING) and not _NO_NAME.search(text)) or _LACKS.search(text):
        return UnknownError(f"DuckDB: {line.rstrip('.')}")
    bad = _BAD_VALUE.search(text)
    if bad or (isinstance(error, _BAD_VALUES) and not _FAILURE.search(text)):
        return DataError(bad[1] if bad else line, rule="cast")
    return EngineError(f"DuckDB: {line}")
