"""The session variables that a MERGE or a plan sets first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scdgen.facts import variables
from scdgen.facts.audit import Audit
from scdgen.facts.columns import Target
from scdgen.facts.history import Times
from scdgen.facts.recorded import Recorded
from scdgen.facts.row_rules import Rows
from scdgen.facts.source import date_of_row, place_of
from scdgen.facts.variables import Partition, Variable
from scdgen.model.spec import Spec


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

    @classmethod
    def of(cls, spec: Spec, rows: Rows, times: Times | None, partitions: tuple[Partition, ...]) -> Session:
        """Return the variables of a spec; the batch's are computed from ``rows``."""
        params, needed = variables.param_variables(spec)
        return cls(
            needed=tuple(needed),
            params=tuple(params),
            dates=(date_of_row(spec), place_of(spec)) if spec.each is not None else None,
            taken_at=variables.taken_at(spec, times),
            has_times=spec.source.effective_at is not None,
            last_run=variables.last_run(spec, times),
            batch=variables.batch_variables(spec, times, partitions),
            # The keys of a join are those of its first table.
            batch_where=rows.join.tables[0].where if rows.join else rows.where,
            rows=rows,
            audit=Audit.of(spec),
            recorded=Recorded.of(spec, times),
        )
