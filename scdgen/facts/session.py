"""The session variables that a MERGE or a plan sets first."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.facts import variables
from scdgen.facts.history import Times
from scdgen.facts.row_rules import Rows
from scdgen.facts.variables import Partition, Variable
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class Session:
    """The session variables that a MERGE or a plan sets first.

    ``needed`` are (name, type) of params without a default, which the session must declare.
    """

    needed: tuple[tuple[str, str], ...]
    params: tuple[Variable, ...]
    taken_at: Variable | None
    last_run: Variable | None
    batch: tuple[Variable, ...]
    batch_where: tuple[str, ...]
    rows: Rows

    @classmethod
    def of(cls, spec: Spec, rows: Rows, times: Times | None, partitions: tuple[Partition, ...]) -> Session:
        """Return the variables of a spec; the batch's are computed from ``rows``."""
        params, needed = variables.param_variables(spec)
        return cls(
            needed=tuple(needed),
            params=tuple(params),
            taken_at=variables.taken_at(spec, times),
            last_run=variables.last_run(spec, times),
            batch=variables.batch_variables(spec, times, partitions),
            # The keys of a join are those of its first table.
            batch_where=rows.join.tables[0].where if rows.join else rows.where,
            rows=rows,
        )
