"""The base class of patterns: rules, columns, templates with their facts, actions and checks.

A pattern is one class and one folder of templates. The built-in ones are modules next to this one; other packages
register theirs as entry points in the group ``scdgen.patterns``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from scdgen.facts.base import Facts
from scdgen.facts.built import Source
from scdgen.facts.checks import KEY_NOT_NULL, UNIQUE_KEY, Checks, row_checks
from scdgen.facts.columns import Target
from scdgen.facts.plan import REFRESHED, SUPERSEDED, WITHDRAWN, Counts, PlanFacts
from scdgen.facts.recorded import recorded_columns
from scdgen.facts.variables import audit_columns
from scdgen.facts.views import Read
from scdgen.model.pattern import PatternRules, rules_of
from scdgen.model.registry import Found
from scdgen.model.spec import Spec
from scdgen.patterns.scd2_rewind import Rewind
from scdgen.sql.types import parse_type, struct_fields


class Pattern(PatternRules, ABC):
    """The SQL of one value of ``pattern``. Subclass this to add a pattern.

    A :class:`Source` is what the facts of all templates have in common.
    """

    written_actions: ClassVar[tuple[str, ...]]
    """The actions that write: each counts rows of the MERGE's source, and no row counts twice.

    With history they are what happens to versions, else what happens to keys.
    """
    check_names: ClassVar[tuple[str, ...]] = (UNIQUE_KEY.name, KEY_NOT_NULL.name)
    closing_action: ClassVar[str | None] = None
    """The written action that ends a version; ``None`` if the table has no versions."""
    deleting_action: ClassVar[str | None] = None
    """The written action that removes a key; ``None`` if the plan has a column ``_scd_deletes`` for that."""

    def writing_actions(self, spec: Spec) -> tuple[str, ...]:
        """Return the actions that write into a table of the spec."""
        return self.written_actions

    def actions(self, spec: Spec) -> tuple[str, ...]:
        """Return what plan.sql counts: what happens to keys, then to versions."""
        return (*self.writing_actions(spec), "unchanged")

    def split_counts(self, spec: Spec, counted: Mapping[str, int]) -> Counts:
        """Split the counts of a plan or a run into those of keys and those of versions; 0 for one that is missing."""
        of_versions = {*self.written_actions, WITHDRAWN, REFRESHED, SUPERSEDED} if self.keeps_history else set()
        listed = {action: counted.get(action, 0) for action in self.actions(spec)}
        return Counts(
            {action: number for action, number in listed.items() if action not in of_versions},
            {action: number for action, number in listed.items() if action in of_versions},
        )

    def columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return every column of the target, in the table's order."""
        return (*self.planned_columns(spec), *recorded_columns(spec), *audit_columns(spec))

    @abstractmethod
    def planned_columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return the columns whose values are known before a run, as a plan shows them, in the table's order."""

    @abstractmethod
    def merge(self, source: Source) -> Facts:
        """Return the facts of merge.sql."""

    @abstractmethod
    def plan(self, source: Source) -> PlanFacts:
        """Return the facts of plan.sql."""

    def counts(self, source: Source) -> Facts | None:
        """Return the query of one row with a count per action; ``None`` if only plan.sql can count them."""
        return None

    def rewind(self, source: Source) -> Rewind | None:
        """Return the MERGE that takes the table back to a time; ``None`` if the table cannot go back."""
        return None

    def checks(self, source: Source) -> Checks:
        """Return the checks of the table."""
        return row_checks(source.spec)

    def read(self, source: Source) -> Read:
        """Return how to read the table."""
        columns = tuple(column.name for column in self.columns(source.spec))
        return Read(source.target, source.key_names, columns, place=source.key_names)

    @abstractmethod
    def conflicting(self, source: Source) -> tuple[str, ...]:
        """Return the values that the MERGE compares to find a conflict between unordered rows of a key."""

    def is_needless(self, spec: Spec, planned: Mapping[str, int]) -> bool:
        """Whether the counts of a plan show that the MERGE would change nothing and cannot fail.

        A plan does not evaluate columns that are not compared, but the MERGE does, and a value of theirs may not
        convert.
        """
        compared = all(column.track and column.merge == "last" for column in spec.columns.values())
        return compared and not any(planned[action] for action in self.writing_actions(spec))


def pattern_of(spec: Spec) -> Pattern:
    """Return the pattern of a spec."""
    found = rules_of(spec)
    assert isinstance(found, Pattern)
    return found


def sequence_problems(spec: Spec, place: tuple[str, ...]) -> Found:
    """Yield broken rules of the option at ``place``, if the spec has it."""
    stored = spec.stored_sequence
    if stored is None:
        return
    counts = {feed.feed: len(feed.source.sequence_by) for feed in spec.feeds if feed.source.sequence_by}
    if not counts:
        yield place, "sequence: stores what sequence_by gives, which no source has; write source.sequence_by"
        return
    if not parse_type(stored.type).has_order:
        yield (*place, "type"), f"sequence: values of {stored.type} have no order; write a type that has one"
    fields = struct_fields(stored.type)
    wanted = len(fields) if fields and max(counts.values()) > 1 else max(counts.values())
    own = counts.get(spec.feed)
    if own not in (None, wanted):
        has = f"sequence_by has {own} expression{'s' if own != 1 else ''}"
        if fields and wanted == len(fields):
            yield (*place, "type"), f"sequence: {stored.type} has {wanted} fields, but {has}; write a field for each"
        else:
            other = next(name for name, count in counts.items() if count == wanted)
            what = f"{has}, and that of {other} has {wanted}; one column keeps both, so write as many in each"
            yield ("source", "sequence_by"), f"sequence: {what}"
