"""Runs plan.sql, which does not write, and compares its counts with the conditions of ``plan --fail-on``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.compile.compile import Compiled
from scdgen.compile.queries import plan_rows, plan_sample, plan_shape
from scdgen.compile.render import render_query
from scdgen.compile.statements import Statement
from scdgen.engine.engine import Engine
from scdgen.errors import UsageError, nearest
from scdgen.facts.plan import CHANGES, REFRESHED, VIEW
from scdgen.facts.row_rules import Guards
from scdgen.facts.source import SourceRow
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.run.results import PlanResult, PlanRow
from scdgen.run.table import TargetTable, find_additions, with_zone

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_FORM = re.compile(r"\s*([a-z_]+)\s*(>=|<=|!=|==|=|>|<)\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*", re.IGNORECASE)
_TESTS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_HOW = "write a count, a comparison and a number or a percentage of the current keys, in quotes: 'deleted>10%'"


class PlanView:
    """The view of plan.sql, created on the first query. ``spec`` is the bound spec that plan.sql was rendered from.

    ``creates``: a run would create the table. ``added`` are the columns that it would add.
    """

    def __init__(
        self, spark: SparkSession, compiled: Compiled, create: str, counts: str, creates: bool, added: tuple[str, ...]
    ):
        self.spark, self.creates, self.added = spark, creates, added
        self.compiled, self.spec = compiled, compiled.spec
        self._create, self._counts = create, counts
        self._exists = False

    def _query(self, query: str) -> DataFrame:
        """Run a query on the view, and create it first if needed: the counts of a run may not need it."""
        if not self._exists:
            self.spark.sql(self._create).collect()
            self._exists = True
        return self.spark.sql(query)

    def count(self, *names: str) -> dict[str, int]:
        """Run the counts of plan.sql, or only those with ``names``: Spark does not compute the others."""
        frame = self._query(self._counts)
        return _read_numbers(frame.select(*([name for name in frame.columns if name in names] if names else "*")))

    def count_run(self, late: bool = False) -> dict[str, int]:
        """Count what a run would do to keys and versions, and the late rows with ``late``."""
        shape, actions = plan_shape(self.spec), pattern_of(self.spec).actions(self.spec)
        query = None if late and shape.late else self.compiled.counts
        if query is None:
            return self.count(*(action for action in actions if action != REFRESHED), *(["late"] if late else []))
        counts = _read_numbers(self.spark.sql(query))
        if shape.finds_returned and not (self.creates or self.spec.reads_snapshot) and counts["new"]:
            # A key that the steps do not know may have versions that ended long ago, which they do not read.
            counts |= self.count(*CHANGES)
        return counts

    def rows(self) -> list[Row]:
        """Read every version (scd1: row) that a run would write or remove: its action and its new values."""
        return self._query(render_query(plan_rows(self.spec))).collect()

    def summarize(self, target: str, limit: int, skipped: int) -> PlanResult:
        """Read the counts, and up to ``limit`` rows of each action."""
        counts, pattern = self.count(), pattern_of(self.spec)
        query = render_query(plan_sample(self.spec, limit)) if limit else ""
        rows = self._query(query).collect() if query else []
        return PlanResult(
            target=target,
            pattern=pattern,
            counts=pattern.split_counts(self.spec, counts),
            late=counts.get("late", 0),
            current_keys=counts["current_keys"],
            closed_keys=counts.get("closed_keys", 0),
            limit=Guards.of(SourceRow(self.spec)).max_deleted,
            skipped=skipped,
            sample=tuple(_plan_row(self.spec, row.asDict(recursive=True)) for row in rows),
        )


def _read_numbers(frame: DataFrame) -> dict[str, int]:
    return {name: int(number or 0) for name, number in frame.collect()[0].asDict().items()}


def _plan_row(spec: Spec, found: dict[str, Any]) -> PlanRow:
    return PlanRow(
        action=found["_scd_action"],
        late=found.get("_scd_late", False),
        deletes=found.get("_scd_deletes", found["_scd_action"] == pattern_of(spec).deleting_action),
        key={name: found[name] for name in spec.keys},
        old=_as_python(found["_scd_old"]),
        new=_as_python(found["_scd_new"]),
        withdrawn=found.get("_scd_withdrawn", False),
    )


def _as_python(value: Any) -> Any:
    """Convert variants to the Python values that they hold, which can be compared."""
    if isinstance(value, dict):
        return {name: _as_python(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_as_python(part) for part in value]
    return value.toPython() if hasattr(value, "toPython") else value


@contextmanager
def open_plan(
    engine: Engine, compiled: Compiled, creates: bool, added: tuple[str, ...] = (), done: Iterable[Statement] = ()
) -> Iterator[PlanView]:  # fmt: skip
    """Set the variables of plan.sql, yield its view, and drop the view afterwards; see :class:`PlanView`.

    ``done`` were run before, and are not run again, whatever comment they have here: a DECLARE would make its variable
    NULL.
    """
    *before, create, counts, _ = compiled.files.plan.statements
    known = {statement.body for statement in done}
    try:
        engine.execute(statement.text for statement in before if statement.body not in known)
        yield PlanView(engine.spark, compiled, create.text, counts.text, creates, added)
    finally:
        engine.spark.catalog.dropTempView(VIEW)


@contextmanager
def plan_table(engine: Engine, spec: Spec, compiled: Compiled, source: DataFrame | None) -> Iterator[PlanView]:
    """Yield the view of plan.sql; a table that does not exist or lacks columns is replaced by a view with them."""
    table = TargetTable(engine.spark, spec)
    # A plan writes nothing, so it cannot create the table or add the columns that a run would.
    with engine.ready(compiled.spec, source):
        creates = not table.exists()
        if creates:
            missing = pattern_of(spec).columns(spec)
        else:
            # Compare an existing table as a run would, and refuse what a run would refuse.
            found = table.read_stored()
            missing = find_additions(with_zone(spec, compiled.spec), found, not found.adopted)
        added = () if creates else tuple(sql.unquote(column.name) for column in missing)
        with (
            table.view_with_columns(missing) as name,
            open_plan(engine, compiled.with_target(name) if name else compiled, creates, added) as plan,
        ):
            yield plan


@dataclass(frozen=True)
class Limit:
    """A condition of ``--fail-on``."""

    text: str
    """The condition as it was given, without blanks."""
    action: str
    """The word of the count that it limits, or ``late``."""
    comparison: str
    """The operator between the count and the number."""
    number: Decimal
    """The number to compare with: of rows, or with ``percent`` a percentage of the current keys."""
    percent: bool
    """Whether the number is a percentage."""

    def describe_breach(self, plan: PlanResult) -> str | None:
        """The message for a plan that meets the condition; ``None`` for one that does not."""
        counts = {**plan.counts.keys, **plan.counts.versions, "late": plan.late}
        if self.action not in counts:  # a pattern without history has no counts of versions
            return None
        # The closing action counts versions, and a version that marks a delete is not a current key.
        closes = self.action == plan.pattern.closing_action
        count = plan.closed_keys if self.percent and closes else counts[self.action]
        bound = self.number * plan.current_keys / 100 if self.percent else self.number
        if not _TESTS[self.comparison](Decimal(count), bound):
            return None
        found = f"{count} {self.action}"
        if self.percent:
            share = f"{100 * count / plan.current_keys:.1f}% of {plan.current_keys}" if plan.current_keys else "with no"
            found += f", {share} current keys"
        return f"{plan.target}: the plan fails on {self.text}: {found}"


def parse_limits(given: Sequence[str], specs: Sequence[Spec]) -> list[Limit]:
    """Parse the conditions of ``--fail-on``. Raises :class:`UsageError` for one that no plan can meet."""
    known = list(dict.fromkeys([action for spec in specs for action in pattern_of(spec).actions(spec)] + ["late"]))
    limits = []
    for text in given:
        found, wrong = _FORM.fullmatch(text), ""
        action, comparison, number, percent = found.groups() if found else ("", "", "", "")
        if found is None:
            wrong = _HOW
        elif (action := action.lower()) not in known:
            wrong = f"no count '{action}'{nearest(action, known)} (one of {', '.join(known)})"
        elif not percent and "." in number:
            wrong = f"{number} is not a valid number of rows; write a whole number, or {number}%"
        if wrong:
            raise UsageError(wrong, option="--fail-on", value=text)
        limits.append(Limit("".join(text.split()), action, comparison, Decimal(number), bool(percent)))
    return limits
