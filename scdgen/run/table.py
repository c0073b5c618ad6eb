"""The target of a spec: whether it exists and fits its spec, its versions, and its restore if a run fails.

The options that stored rows depend on (keys, history, tracked columns) are saved in the table's properties. A run
compares them with its spec, and so refuses a spec whose rows would not have the same meaning as the stored ones.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.compile.render import Compiler
from scdgen.engine.engine import Engine
from scdgen.engine.session import as_written, is_as_written, read_zone, zone_while
from scdgen.errors import DataError
from scdgen.facts.columns import Target
from scdgen.model.registry import HISTORY, KEYS, PATTERN, PREFIX, TIME_ZONE, TRACKED, definition
from scdgen.model.spec import Spec, locate_history_column
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import Commit, read_detail, read_format, read_log, render_restore
from scdgen.sql.types import data_type, parse_type, read_json_type
from scdgen.sql.zones import UTC_NAMES, same_zone
from scdgen.stored.migrate import (
    ADOPT,
    Line,
    Step,
    add_history_column,
    begin_history,
    rehash,
    rename_column,
    retype_column,
    rewrite_ends,
    set_tracked,
    with_statements,
    write_lines,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REDACTED = "(redacted)"
"""Ends what Spark shows instead of a value that its settings redact."""

_numbers = itertools.count(1)
_NEWEST = 50  # commits to read back in the log: others may follow the one of a run, or of the newest snapshot


class TargetTable:
    """The table of a spec, on one session."""

    def __init__(self, spark: SparkSession, spec: Spec):
        self.spark = spark
        self.name = sql.quote_parts(spec.target_parts)

    def exists(self) -> bool:
        """Whether the table exists."""
        return bool(self.spark.catalog.tableExists(self.name))

    def lacks(self, condition: str) -> bool:
        """Whether no row of the table meets a condition."""
        return not self.spark.table(self.name).where(condition).selectExpr("1").limit(1).collect()

    def read_version(self) -> int:
        """Read the newest Delta version."""
        return read_log(self.spark, self.name, 1)[0].version

    def read_newest(self, run_id: str = "", several: bool = True) -> list[Commit]:
        """Read some of the newest commits, or only the last one unless the one of a run is further back."""
        newest = read_log(self.spark, self.name, _NEWEST if several else 1)
        return newest if several or not run_id or newest[0].run == run_id else self.read_newest()

    def create_views(
        self, names: Iterable[str | None], statements: Sequence[str], columns: Iterable[str], always: bool
    ) -> None:
        """Create the views ``always``, or if one of ``names`` does not exist or lacks one of ``columns``."""
        views = [sql.quote_parts(sql.split_name(name)) for name in names if name]
        if statements and (always or not all(self._has_columns(view, columns) for view in views)):
            for statement in statements:
                self.spark.sql(statement).collect()

    def _has_columns(self, view: str, columns: Iterable[str]) -> bool:
        if not self.spark.catalog.tableExists(view):
            return False
        found = {name.lower() for name in self.spark.table(view).columns}
        return all(name.lower() in found for name in columns)

    def read_zone(self) -> str | None:
        """Read the time zone that the table was made in; ``None`` if it does not exist or does not say so."""
        with suppress(Exception):  # a run meets the error again, and compares the zone with that of the table
            if self.exists():
                (found,) = self.spark.sql(f"SHOW TBLPROPERTIES {self.name} ('{TIME_ZONE}')").collect()
                if found["value"].startswith("*"):  # redacted
                    return self._read_properties().get(TIME_ZONE)
                return None if " " in found["value"] else str(found["value"])  # a sentence if it is not set
        return None

    def read_existing(self) -> Existing:
        """Read the columns and properties of the table."""
        fields = self.spark.table(self.name).schema.fields
        found = Existing(
            {field.name: (read_json_type(field.dataType.jsonValue()).render(), field.nullable) for field in fields},
            self._read_properties(),
        )
        return found if found.adopted else replace(found, kind=self._read_kind())

    def _read_properties(self) -> dict[str, str]:
        """The table's properties, those of scdgen as they were written.

        SHOW TBLPROPERTIES redacts a value if Spark's ``redaction`` settings match its name or a part of it, such as the
        ``url`` of a column's name. DESCRIBE DETAIL does not, but it makes Delta count the table's files.
        """
        shown = {row["key"]: row["value"] for row in self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()}
        if any(name.startswith(PREFIX) and REDACTED in value for name, value in shown.items()):
            return {**shown, **read_detail(self.spark, self.name)["properties"]}
        return shown

    def _read_kind(self) -> str:
        """``view``, or the format of the table's files; ``delta`` if the catalog does not know it."""
        with suppress(Exception):
            if self.spark.catalog.getTable(self.name).tableType in {"VIEW", "TEMPORARY"}:
                return "view"
            return read_format(self.spark, self.name)
        return "delta"

    @contextmanager
    def view_with_columns(self, missing: Sequence[Target]) -> Iterator[str | None]:
        """Create a view of the table with the ``missing`` columns, all NULL, and yield its name; ``None`` without any.

        If the table does not exist, the view is empty, and ``missing`` are all its columns.
        """
        if not missing:
            yield None
            return
        view = f"_scd_target_{next(_numbers)}"
        columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in missing)
        rows = f"SELECT *, {columns} FROM {self.name}" if self.exists() else f"SELECT {columns} WHERE FALSE"
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {rows}")
        try:
            yield view
        finally:
            self.spark.catalog.dropTempView(view)

    @contextmanager
    def restore_on_failure(self, created: bool, steps: int, run_id: str) -> Iterator[None]:
        """Undo a CREATE, or up to ``steps`` versions that change columns, if this block fails.

        ``run_id`` is the id in the commits of the run. Rows need no restore, because a single MERGE changes them.
        """
        before = 0 if created or not steps else self.read_version()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # report the original error, not one of the restore
                # Another run may have created it at the same time; each commit names its run.
                if created and self.exists() and self._is_written_by(run_id, steps):
                    self.spark.sql(f"DROP TABLE {self.name}").collect()
                # If another writer has committed since, an additional column does no harm.
                elif not created and steps and before < self.read_version() <= before + steps:
                    self.spark.sql(render_restore(self.name, before)).collect()
            raise

    def _is_written_by(self, run_id: str, steps: int) -> bool:
        """Whether a run wrote all versions of the table, ``steps`` at most."""
        commits = read_log(self.spark, self.name, steps + 1)
        return len(commits) <= steps and {commit.run for commit in commits} == {run_id}


def with_zone(spec: Spec, bound: Spec) -> Spec:
    """Return the spec with the time zone of its run, to compare with the table; one that the spec names stays."""
    return spec if spec.table.time_zone else spec.in_zone(bound.time_zone)


@contextmanager
def table_zone(engine: Engine, spec: Spec) -> Iterator[Spec]:
    """Give the session the time zone of the spec's table, let it read SQL as written, and yield the spec with the zone.

    A table that does not exist, or does not say in which zone it was made, is read in that of the spec or the session.
    """
    with ExitStack() as changed:
        with engine.lock, engine.translated(spec):
            now = read_zone(engine.spark)
            zone = TargetTable(engine.spark, spec).read_zone() or spec.table.time_zone or now
            differs = not same_zone(zone, now)
            if differs or not is_as_written(engine.spark):  # no other thread may use the session until it is set back
                changed.enter_context(engine.lock)
                changed.enter_context(as_written(engine.spark))
                changed.enter_context(zone_while(engine.spark, zone))
        yield spec.in_zone("UTC" if zone in UTC_NAMES else zone)


@dataclass(frozen=True)
class Existing:
    """An existing table: its columns (name -> Spark's type and whether it is nullable) and its properties."""

    columns: Mapping[str, tuple[str, bool]]
    properties: Mapping[str, str]
    kind: str = "delta"  # its format, or "view"

    @property
    def adopted(self) -> bool:
        """Whether scdgen created or adopted the table, by its properties."""
        return PATTERN in self.properties


def find_missing(spec: Spec, stored: Iterable[str]) -> list[Target]:
    """The columns of a spec's target that are not among the ``stored`` ones."""
    present = {name.lower() for name in stored}
    return [column for column in pattern_of(spec).columns(spec) if sql.unquote(column.name).lower() not in present]


def find_additions(spec: Spec, table: Existing, compiler: Compiler, adopt: bool = False) -> tuple[Target, ...]:
    """The columns that the spec has and the table lacks. With ``adopt`` the table's properties are not compared.

    Raises :class:`DataError` with a line for each mismatch between the table and its spec.
    """
    if table.kind == "view":
        raise DataError(f"{spec.target}: is a view, which holds no rows; name another target, or drop the view")
    if table.kind != "delta":
        way_out = "name another target, or make it one with CONVERT TO DELTA"
        raise DataError(f"{spec.target}: is a {table.kind} table and no Delta table; {way_out}")
    missing = find_missing(spec, table.columns)
    added = tuple(c for c in missing if (name := sql.unquote(c.name)) in spec.columns and name not in spec.keys)
    was = table.properties.get(PATTERN)
    if not adopt and was not in (None, spec.pattern):
        problems: list[Line] = [_describe_pattern(spec, str(was), missing)]
    else:
        problems = list(_find_problems(spec, table, missing, added, adopt))
    if problems:
        written = (f"{spec.target}: {line}" for line in write_lines(problems, compiler))
        lines = (line for text in written for line in text.split("\n"))  # an advice has statements below it
        raise DataError(lines, rule="drift", count=len(problems))
    return added


def _find_problems(
    spec: Spec, table: Existing, missing: list[Target], added: tuple[Target, ...], adopt: bool
) -> Iterator[Line]:
    """Yield the mismatches of a table with the pattern of its spec."""
    stored = {name.lower(): kind for name, kind in table.columns.items()}
    unknown = _find_unknown(spec, table)
    renamed = _find_renamed(spec, unknown, missing)
    found = [
        *_check_missing(spec, table, missing, added, renamed),
        *_check_types(spec, stored),
        *_check_unknown(spec, unknown, renamed),
    ]
    yield from found
    names = [sql.unquote(column.name) for column in added]
    if adopt and names and not found:
        listed = ", ".join(names)
        yield f"adopt the table with the columns that it has first, without {listed}; add them afterwards"
    if not adopt and not table.adopted:
        yield "the table was not created by scdgen; test it with `scdgen check`, then use `scdgen run --adopt`"
    elif not adopt:
        yield from _check_properties(spec, table, set(names), renamed)


def _find_unknown(spec: Spec, table: Existing) -> dict[str, tuple[str, bool]]:
    """Return the columns of a table that its spec lacks, with type and whether they may be NULL."""
    known = {sql.unquote(column.name).lower() for column in pattern_of(spec).columns(spec)}
    return {name: kind for name, kind in table.columns.items() if name.lower() not in known}


def _find_renamed(
    spec: Spec, unknown: Mapping[str, tuple[str, bool]], missing: Iterable[Target]
) -> dict[str, str]:  # fmt: skip
    """Map each column that the table lacks to one of its type that the spec lacks, if the match is unambiguous."""
    free, options = dict(unknown), _history_options(spec)
    found: dict[str, str] = {}
    for column in missing:
        fits = [name for name, (kind, _) in free.items() if _as_stored(kind) == _as_stored(column.type)]
        name = sql.unquote(column.name)
        like = difflib.get_close_matches(name, fits, n=1) or [x for x in fits if x == options.get(name)]
        if like or len(fits) == 1:
            found[name] = (like or fits)[0]
            free.pop(found[name])
    return found


def _history_options(spec: Spec) -> dict[str, str]:
    """Map each history column to its option."""
    return {name: option for option, name in spec.history_columns}


def _describe_pattern(spec: Spec, was: str, missing: Iterable[Target]) -> Line:
    line = f"the table was made with pattern: {was}, the spec says {spec.pattern}"
    if HISTORY in definition(spec):
        return with_statements(f"{line}; its rows have no versions", spec, begin_history(spec), adopt=True)
    if spec.keeps_history or any(missing):
        return f"{line}; name another target"
    return f"{line}; name another target, or use {ADOPT} if its rows fit the spec"


def _check_missing(
    spec: Spec, table: Existing, missing: list[Target], added: tuple[Target, ...], renamed: Mapping[str, str]
) -> Iterator[Line]:
    needed = _read_names(table.properties.get(KEYS)) | _read_names(table.properties.get(TRACKED))
    grows = spec.schema_evolution == "add_columns"
    for column in missing:
        name, is_new = sql.unquote(column.name), column in added
        old, line = renamed.get(name), f"the table has no column '{name}'"
        if old is not None and not (is_new and grows and old not in needed):
            others = [f"remove '{old}' from the property {TRACKED}"] if is_new and old in needed else []
            others += ["set schema_evolution: add_columns"] if is_new and not grows else []
            what = f"{line}, and the spec has no '{old}', which has the same type; renamed?"
            what += f" If not, {' and '.join(others)}" if others else ""
            yield with_statements(what, spec, _rename(spec, old, name), adopt=name in spec.columns)
        elif not is_new:
            yield _describe_needed(spec, column, line)
        elif not grows:
            yield f"{line}; set schema_evolution: add_columns or take it out of the spec"
        elif column.required:
            yield (
                f"the new column '{name}' is nullable: false, but rows already stored have no value for it; "
                "leave out nullable"
            )


def _rename(spec: Spec, old: str, name: str) -> Iterator[Step]:
    yield rename_column(old, name)
    if name in spec.columns:
        yield from rehash(spec, "row_hash" if name in spec.tracked else "surrogate_key")


def _describe_needed(spec: Spec, column: Target, line: str) -> Line:
    """Describe a missing column that stored rows need, with the statements that add it."""
    name = sql.unquote(column.name)
    option = _history_options(spec).get(name)
    added = "sequence" if spec.sequence and name == spec.sequence.name else "updated_at"
    what = ".".join(locate_history_column(option)) if option else "keys" if name in spec.keys else added
    message = f"{line} ({what}), which rows already stored would need; take it out of the spec"
    if option:
        return with_statements(f"{message} or add it", spec, add_history_column(spec, option, name))
    message += ", or add it and fill it for them" if what == "keys" else ""
    return with_statements(message, spec, [Step("add", column.name, type=column.type)])


def _check_types(spec: Spec, stored: Mapping[str, tuple[str, bool]]) -> Iterator[Line]:
    for column in pattern_of(spec).columns(spec):
        name = sql.unquote(column.name)
        kind, _ = stored.get(name.lower(), (column.type, True))
        if _as_stored(kind) == _as_stored(column.type):
            continue
        was = _format_type(kind)
        line = f"the column '{name}' is {was} in the table and {column.type} in the spec; write the table's type"
        if "<" in f"{was}{column.type}":
            yield f"{line} or name another target"
            continue
        steps = [retype_column(name, was, column.type), *(rehash(spec) if name in spec.tracked else ())]
        yield with_statements(f"{line} or convert it", spec, steps)


def _format_type(kind: str) -> str:
    try:
        return data_type(kind)
    except ValueError:  # a type that a spec cannot have, or field names in a struct, which Spark does not quote
        return kind.upper().replace("`", "").replace(": ", ":").replace(", ", ",")


def _as_stored(kind: str) -> str:
    """The type as Spark's schemas have it, where VARCHAR and CHAR are STRING."""
    try:
        return parse_type(kind).as_stored().render()
    except ValueError:
        return _format_type(kind)


def _check_unknown(
    spec: Spec, unknown: Mapping[str, tuple[str, bool]], renamed: Mapping[str, str]
) -> Iterator[Line]:  # fmt: skip
    for name, (_, nullable) in unknown.items():
        if not nullable and name not in renamed.values():
            line = f"the table's column '{name}' is NOT NULL, and the spec has no value for it; add it to the columns"
            yield with_statements(f"{line} or let it be NULL", spec, [Step("nullable", sql.quote(name))])


def _check_properties(spec: Spec, table: Existing, added: set[str], renamed: Mapping[str, str]) -> Iterator[Line]:
    wanted, new_name = definition(spec), {old: new for new, old in renamed.items()}
    zone = table.properties.get(TIME_ZONE)
    if zone and spec.table.time_zone and not same_zone(zone, spec.table.time_zone):
        what = f"the table was made with table.time_zone: {zone}, the spec says {spec.table.time_zone}"
        yield f"{what}; its times were read in the first one; write that, or name another target"
    was, now = table.properties.get(HISTORY, ""), wanted.get(HISTORY, "")
    if was != now:
        line = f"the table was made with history: {was or 'none'}, the spec says {now or 'none'}"
        # Ends of another type cannot be computed from what is stored; the columns have a line each.
        retyped = was.partition(",")[0] != spec.history.type
        yield with_statements(line, spec, [] if retyped else rewrite_ends(_with_history(spec, was), spec), adopt=True)
    before = {new_name.get(name, name) for name in _read_names(table.properties.get(KEYS))}
    after = _read_names(wanted.get(KEYS))
    if _fold(before) != _fold(after):
        line = f"the table was made with keys: {_join(before)}, the spec says {_join(after)}"
        hint = f"name another target, or use {ADOPT} if stored versions are valid by the new keys too"
        yield with_statements(f"{line}; {hint}", spec, rehash(spec, "surrogate_key"))
        return  # keys are not tracked, so the tracked columns differ as a consequence
    before = {new_name.get(name, name) for name in _read_names(table.properties.get(TRACKED))}
    after = _read_names(wanted.get(TRACKED))
    # The names are part of the hash, but to Spark a name in another case is the same.
    fold = set if spec.history.row_hash else _fold
    if fold(before) != fold(after - (added - set(renamed))):
        line = f"the table was made with tracked columns: {_join(before)}, the spec says {_join(after)}"
        yield with_statements(line, spec, [set_tracked(spec), *rehash(spec)])


def _with_history(spec: Spec, was: str) -> Spec:
    """Return the spec with the gap and the open end of a table's property."""
    found = re.fullmatch(r"\w+(?:, gap (.+?))?(?:, open_end (.+))?", was)
    gap, end = found.groups() if found else (None, None)
    number = int if spec.history.type == "bigint" else str
    old = {"gap": gap and number(gap), "open_end": end if end in (None, "last_run") else number(end)}
    return spec.model_copy(update={"history": spec.history.model_copy(update=old)})


def _read_names(text: str | None) -> set[str]:
    return set(json.loads(text)) if text else set()


def _fold(names: set[str]) -> set[str]:
    return {name.lower() for name in names}


def _join(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
