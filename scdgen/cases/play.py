"""Play a case: load its batches in order on an engine, and compare what is there with what the case says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Protocol

from scdgen import sql
from scdgen.cases.block import Block, Row, format_block, parse_block
from scdgen.cases.format import MERGED, Again, Batch, Case, records_now, run_columns
from scdgen.compile.compile import render_statements
from scdgen.compile.render import render_query
from scdgen.errors import DataError, EngineError
from scdgen.model.graph import find_written
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.stored.migrate import store_rows

if TYPE_CHECKING:
    from scdgen.duck.database import Merged
    from scdgen.run.results import RunResult


Repeat = Literal["every", "last", "stated"]
"""Which batches are loaded twice: every one, the last one, or only those that say what the second load does."""
Checks = Literal["every", "end", "none"]
"""When the checks of the table run: after every batch, in the end, or never."""


@dataclass(frozen=True)
class Given:
    """Rows of a table that a run reads."""

    types: Mapping[str, str]
    """Spark's type of each column, in order."""
    block: Block
    """Their text; a column that it does not name is NULL."""


class World(Protocol):
    """An engine, and the tables of one case on it."""

    def put(self, name: str, given: Given) -> None:
        """Make a table (or a view) with rows, in place of one of the name."""

    def store(self, spec: Spec, given: Given) -> None:
        """Make the target with rows, and compute the columns that they do not name."""

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> Merged | RunResult:
        """Merge rows, or what the spec's own source has, as one unit. Raises :class:`DataError` for a refusal."""

    def plan(self, spec: Spec, source: Given | None, params: Mapping[str, Any]) -> Mapping[str, int]:
        """Count what such a run would do, in the words of a result."""

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        """Return the rows of a query, and the type of each column in the words of cells."""

    def require_known(self, spec: Spec, query: str) -> None:
        """Raise ``UnknownError`` for a query of a case for which the engine may have other values than Spark."""

    def columns(self, name: str) -> list[str]:
        """Return the columns of a table; none if it does not exist."""

    def find_failures(self, spec: Spec) -> list[str]:
        """Return the name of each check of the table that fails."""

    def execute(self, statements: Iterable[str]) -> object:
        """Run statements of the spec's SQL, in order."""

    def clear(self) -> None:
        """Drop every table and view."""


class Difference(Exception):  # noqa: N818 - the result of a comparison
    """What a case says, and what is there instead; ``missing`` and ``extra`` are rows as text."""

    def __init__(self, message: str, missing: str = "", extra: str = ""):
        self.missing, self.extra = missing, extra
        super().__init__("\n".join([message, *([f"missing:\n{missing}\nextra:\n{extra}"] if missing or extra else [])]))


def play(case: Case, world: World, repeat: Repeat = "every", checks: Checks = "every") -> None:
    """Play a case. Raises :class:`Difference` for the first thing that is not as it says."""
    table = _Table(case, world)
    last = max((number for number, batch in enumerate(case.batches, 1) if batch.error is None), default=0)
    if case.spec is None:
        table.put_all(case.tables, None)
    if case.given is not None:
        table.give(case.given)
        if checks == "every":
            table.check("given")
    for number, batch in enumerate(case.batches, 1):
        again = batch.again is not None or repeat == "every" or (repeat == "last" and number == last)
        table.load(number, batch, again and not (batch.again and batch.again.off))
        if batch.error is None and (checks == "every" or (checks == "end" and number == last)):
            table.check(f"batch {number}")
    if case.table is not None:
        table.expect("in the end", case.table)
    # Create the lookups only now, because they read the facts.
    reads_facts = case.spec is not None or case.facts is not None or case.views.keys() & table.spec.lookups
    if table.spec.lookups and reads_facts:
        table.put_all({}, case.facts)
        world.execute(render_statements(table.spec).lookups.texts)
    for query in case.queries:
        world.require_known(table.spec, query.sql)
        table.compare(query.sql.strip(), query.rows, query.sql)
    for name, text in case.views.items():
        table.expect(f"view {name}", text, name)


STORED = "_scd_stored"
"""The table or view with the rows that a target has before the first batch."""


def stored_statements(spec: Spec, given: Given) -> list[str]:
    """Return the statements that make a target with the rows of :data:`STORED`, without its unknown member."""
    create = render_statements(spec).create.texts
    return [
        *(create[:-1] if spec.members.unknown else create),
        render_query(store_rows(spec, pattern_of(spec).columns(spec), given.block.columns, STORED)),
    ]


class RunNumbers:
    """The number of the batch that wrote a row, by the values of its audit columns, which no case can know."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def note(self, rows: Iterable[Row], number: int) -> int:
        """Number the values that are new since the last run; return how many of them are more than one of a type."""
        new = {value for row in rows for value in row if value is not None} - self._numbers.keys()
        self._numbers |= dict.fromkeys(new, number)
        return len(new) - len(set(map(type, new)))

    def of(self, value: Any) -> int | None:
        """Return the number of the batch whose run has a value; ``None`` for NULL."""
        return None if value is None else self._numbers[value]


class _Table:
    """The target of a case."""

    def __init__(self, case: Case, world: World):
        self.case, self.world = case, world
        self.runs: dict[str, RunNumbers] = {}  # by the name of a column
        self.spec = case.spec_of(case.batches[0])
        for _, name in find_written(self.spec) if case.spec is None else ():  # a view may be in a schema of its own
            if schema := name[:-1]:
                world.execute([f"CREATE SCHEMA IF NOT EXISTS {sql.quote_parts(schema)}"])

    def put(self, name: str, text: str, types: Mapping[str, str]) -> None:
        """Make another table that the spec reads."""
        block = parse_block(text)
        self.world.put(name, Given(types or self.case.text_types(name, block), block))

    def put_all(self, tables: Mapping[str, str], facts: str | None) -> None:
        """Make tables by their names, and that of facts."""
        for name, text in tables.items():
            self.put(self.case.view(name), text, self.case.table_types(name))
        if facts is not None:
            self.put(self.case.fact_table, facts, self.case.fact_types)

    def give(self, text: str) -> None:
        """Make the target with the rows that it has before the first batch."""
        block = parse_block(text)
        types = {name: column.type for name, column in self.spec.columns.items()}
        self.world.store(self.spec, Given({**types, **{n: self.case.stored_types[n] for n in block.columns}}, block))
        self._note_run("given", 0)

    def load(self, number: int, batch: Batch, again: bool) -> None:
        """Load the batch of a number, and a second time with ``again``."""
        place = f"batch {number}"
        self.spec = self.case.spec_of(batch)
        self.put_all(batch.tables, batch.facts)
        if batch.error is not None:
            self._refuse(place, batch, batch.error)
            return
        # In a spec's file, counts are in the words of a plan, which must be made before the run.
        in_words = batch.counts is not None and self.case.spec is None
        planned = self._plan(batch) if in_words else {}
        counts = self._run(place, batch)
        self._note_run(place, number)
        if batch.table is not None:
            self.expect(place, batch.table)
        if batch.counts is not None:
            wanted = batch.counts if in_words else {**dict.fromkeys(counts, 0), **batch.counts}
            _compare_counts(place, wanted, planned if in_words else counts)
        if again and (batch.again or any(counts.values())):  # else it would be the same run once more
            self._load_again(number, batch, batch.again)

    def _load_again(self, number: int, batch: Batch, again: Again | None) -> None:
        place = f"batch {number}, again"
        rule = again.error if again else None
        if self.spec.recorded and not records_now(self.spec):  # the time of the batch is that of stored rows by now
            rule = rule or "recorded_order"
        if rule is not None:
            self._refuse(place, batch, rule)
            return
        before = self._rows()
        counts = self._run(place, batch)
        self._note_run(place, number)
        if again is not None and again.table is not None:
            self.expect(place, again.table)
        else:
            self._same(place, before)
            _compare_counts(place, dict.fromkeys(counts, 0), counts)

    def _note_run(self, place: str, number: int) -> None:
        """Number the run that wrote the newest rows. All rows that a run writes have one time and one id of it."""
        for names in run_columns(self.spec):
            places = [index for index, name in enumerate(self.world.columns(self.case.target)) if name in names]
            numbers = self.runs.setdefault(names[0], RunNumbers())
            self.runs |= dict.fromkeys(names, numbers)
            several = numbers.note([tuple(row[index] for index in places) for row in self._rows()], number)
            if several and number:
                raise Difference(f"{place}: the rows have several times or ids of one run")

    def _plan(self, batch: Batch) -> Mapping[str, int]:
        try:
            return self.world.plan(self.spec, self._source(batch), batch.params)
        except DataError:  # the run fails as well
            return {}

    def _run(self, place: str, batch: Batch) -> dict[str, int]:
        try:
            result = self.world.run(self.spec, self._source(batch), batch.params, batch.facts is not None)
            return {name: getattr(result, name) or 0 for name in MERGED}
        except DataError as error:
            raise Difference(f"{place}: refused by {error.rule}: {error}") from error
        except EngineError as error:
            raise Difference(f"{place}: {error}") from error

    def _source(self, batch: Batch) -> Given | None:
        if batch.rows is None:
            return None
        block = parse_block(batch.rows)
        return Given(self.case.row_types(batch, block), block)

    def _refuse(self, place: str, batch: Batch, rule: str) -> None:
        # A refused batch must leave the table as it was.
        before = self._rows()
        try:
            self.world.run(self.spec, self._source(batch), batch.params, batch.facts is not None)
        except DataError as error:
            if rule.lower() != error.rule and rule not in str(error):
                raise Difference(f"{place}: refused by {error.rule}, not {rule}: {error}") from error
        else:
            raise Difference(f"{place}: not refused by {rule}")
        self._same(place, before)

    def _rows(self) -> list[Row]:
        names = self.world.columns(self.case.target)
        return self.world.read(f"SELECT * FROM {sql.quote_parts(self.spec.target_parts)}")[1] if names else []

    def _same(self, place: str, before: list[Row]) -> None:
        columns = self.world.columns(self.case.target)
        _compare_rows(f"{place}: the table is not as it was", columns, before, self._rows())

    def expect(self, place: str, text: str, name: str | None = None) -> None:
        """Compare the columns of the target, or of the table or view of a name, that a text names."""
        name = name or self.case.target
        columns, there = parse_block(text).columns, self.world.columns(name)
        if unknown := [column for column in columns if column not in there]:
            raise Difference(f"{place}: {name} has no column {', '.join(unknown)} (it has {', '.join(there)})")
        listed = ", ".join(map(sql.quote, columns))
        self.compare(place, text, f"SELECT {listed} FROM {sql.quote_parts(sql.split_name(name))}")

    def compare(self, place: str, text: str, query: str) -> None:
        """Compare the rows of a query, in any order."""
        block = parse_block(text)
        types, found = self.world.read(query)
        # The time and the id of a run differ each time, so compare the number of the run instead.
        of_runs = {name: self.runs[name] for name in chain(*run_columns(self.spec)) if name in self.runs}
        numbers = [of_runs.get(name) for name in types]
        types = {name: "int" if name in of_runs else kind for name, kind in types.items()}
        found = [tuple(n.of(value) if n else value for value, n in zip(row, numbers, strict=True)) for row in found]
        if tuple(types) != block.columns:
            raise Difference(f"{place}: the columns are {', '.join(types)}, not {', '.join(block.columns)}")
        _compare_rows(place, block.columns, block.typed(types), found)

    def check(self, place: str) -> None:
        """Run the checks of the table."""
        if failures := self.world.find_failures(self.spec):
            raise Difference(f"{place}: the check {', '.join(failures)} fails")


def _compare_counts(place: str, wanted: Mapping[str, int], found: Mapping[str, int]) -> None:
    for name, number in wanted.items():
        if found.get(name, 0) != number:
            raise Difference(f"{place}: {found.get(name, 0)} {name}, not {number}")


def _compare_rows(place: str, columns: Iterable[str], wanted: Iterable[Row], found: Iterable[Row]) -> None:
    listed, missing, extra = list(columns), sorted(wanted, key=repr), []
    for row in sorted(found, key=repr):
        if row in missing:
            missing.remove(row)
        else:
            extra.append(row)
    if missing or extra:
        raise Difference(place, format_block(listed, missing), format_block(listed, extra))
