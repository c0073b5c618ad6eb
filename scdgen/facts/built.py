"""The facts of a spec that its statements share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from scdgen import sql
from scdgen.facts import variables
from scdgen.facts.columns import Target
from scdgen.facts.history import BATCH_FROM, History
from scdgen.facts.recorded import Reached, Recorded, rows_of_now
from scdgen.facts.row_rules import Rows, read_rows
from scdgen.facts.source import SEQUENCE, TAKEN_AT, SourceRow
from scdgen.facts.variables import Audit, Partition, Variable
from scdgen.model.bind import needed_params


@dataclass(frozen=True)
class Session:
    """The session variables that a MERGE or a plan sets first."""

    needed: tuple[tuple[str, str], ...]
    """(name, type) of the params without a default, which the session must declare."""
    params: tuple[Variable, ...]
    """The params with a default."""
    dates: tuple[str, str] | None
    """The date of a row, and the place of the rows, if a param chooses one date; ``None`` without ``snapshot.each``."""
    taken_at: Variable | None
    """The time of a snapshot; ``None`` without one."""
    has_times: bool
    """Whether a row has a time of its own."""
    last_run: Variable | None
    """The time of the run, for ``open_end: last_run``."""
    batch: tuple[Variable, ...]
    """What is computed from the rows of the batch."""
    batch_where: tuple[str, ...]
    """The conditions on the rows that these are computed from."""
    rows: Rows
    """The rows."""
    audit: Audit
    """The columns that a MERGE sets to variables of the run; a plan sets none."""
    recorded: Recorded | None
    """The columns of ``history.recorded``, likewise; ``None`` without them."""

    def unstamped(self, columns: Iterable[Target]) -> tuple[str, ...]:
        """Return the names of the columns that are not set to variables of the run."""
        stamps = {*(self.recorded.names if self.recorded else ()), *self.audit.names}
        return tuple(column.name for column in columns if column.name not in stamps)


class Source(SourceRow):
    """What a spec reads, and how its table keeps it."""

    @cached_property
    def target(self) -> str:
        """Return the quoted name of the table."""
        return sql.quote_parts(self.spec.target_parts)

    @cached_property
    def now(self) -> str:
        """Return what its rows of now are read from: the table, or those of its rows that no run has superseded."""
        return rows_of_now(self.recorded, self.target)

    @cached_property
    def history(self) -> History | None:
        """Return the history columns; ``None`` if the table has no versions."""
        if self.times is None:
            return None
        spec = self.spec
        named = {option: sql.quote(name) for option, name in spec.history_columns}
        tracked = tuple(self.columns[name] for name in spec.tracked)
        derived = {sql.quote(name): (text, spec.columns[name].type) for name, text in spec.derived.items()}
        found = History(self.times, named, self.keys, tracked, derived)
        if "sequence" not in named:
            return found
        own = spec.source.sequence_by or not (spec.reads_snapshot or spec.reads_versions)
        return replace(found, sequence=SEQUENCE if own else self.no_sequence, no_sequence=self.no_sequence)

    @cached_property
    def recorded(self) -> Recorded | None:
        """Return the columns of ``history.recorded``; ``None`` without them."""
        return Recorded.of(self)

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """Return the partition columns by which a batch skips files."""
        return variables.partitions_of(self)

    @cached_property
    def in_partitions(self) -> tuple[str, ...]:
        """Return conditions on the table (``t``) that exclude the partitions of other keys."""
        return variables.in_partitions(self.partitions)

    @cached_property
    def bound(self) -> str:
        """Return the time before whose versions the batch affects nothing; empty without a history."""
        if self.times is None:
            return ""
        return self.times.before(TAKEN_AT) if self.ends_at_once else BATCH_FROM

    @cached_property
    def reached(self) -> Reached | None:
        """Return the rows of now that the batch can affect, if open and closed ones are read apart."""
        return Reached.of(self, self.target, self.bound)

    def beside_reached(self, *bounds: str) -> tuple[str, ...]:
        """Return the conditions by which Delta skips files of the table (``t``), those bounds and the partitions.

        Without the bounds if the step "reached" has them.
        """
        return self.in_partitions if self.reached else (*bounds, *self.in_partitions)

    @cached_property
    def rows(self) -> Rows:
        """Return the typed rows in the step "incoming", and the rules for them."""
        return read_rows(self, self.partitions)

    @cached_property
    def session(self) -> Session:
        """Return the session variables of a statement that reads these rows."""
        spec, rows = self.spec, self.rows
        return Session(
            needed=tuple(needed_params(spec)),
            params=tuple(variables.param_variables(spec)),
            dates=(self.date, self.place) if spec.each is not None else None,
            taken_at=variables.taken_at(self),
            has_times=self.has_time,
            last_run=variables.last_run(self),
            batch=variables.batch_variables(self, self.partitions),
            # The keys of a join are those of its first table.
            batch_where=rows.join.tables[0].where if rows.join else rows.where,
            rows=rows,
            audit=Audit.of(spec),
            recorded=self.recorded,
        )
