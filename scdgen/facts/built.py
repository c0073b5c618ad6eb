"""The facts of a spec that its statements share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts import source, variables
from scdgen.facts.columns import Field
from scdgen.facts.history import History, Times
from scdgen.facts.recorded import Reached, rows_of_now
from scdgen.facts.row_rules import Rows, read_rows
from scdgen.facts.sequence import SEQUENCE, no_sequence, orders_rows
from scdgen.facts.session import Session
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class Source:
    """What a spec reads, and how its table keeps it."""

    spec: Spec
    """The spec, for one of its sources."""
    target: str
    """The quoted name of the table."""
    now: str
    """What its rows of now are read from: the table, or those of its rows that no run has superseded."""
    columns: Mapping[str, Field]
    """Every column of the spec, by its name."""
    keys: tuple[Field, ...]
    """The key columns, in the order of ``keys``."""
    fields: tuple[Field, ...]
    """The columns that come from a source row, in the table's order."""
    history: History | None
    """The history columns; ``None`` if the table has no versions."""
    rows: Rows
    """The typed rows in the step "incoming", and the rules for them."""
    session: Session
    """The session variables of a statement that reads these rows."""
    in_partitions: tuple[str, ...]
    """Conditions on the table (``t``) that exclude the partitions of other keys."""
    bound: str
    """The time before whose versions the batch affects nothing; empty without a history."""
    reached: Reached | None
    """The rows of now that the batch can affect, if open and closed ones are read apart."""
    own_time: tuple[str, ...]
    """The column with the time of a row; none if the rows have no time of their own."""
    flags_deletes: bool
    """Whether a row may be a delete."""
    fills: bool
    """Whether a first known value is written into earlier versions."""

    @classmethod
    def of(cls, spec: Spec) -> Source:
        """Return the facts of a spec."""
        columns, partitions = source.fields_of(spec), variables.partitions_of(spec)
        keys = tuple(columns[name] for name in spec.keys)
        history = _history(spec, columns, keys) if spec.keeps_history else None
        times = history.times if history else None
        rows = read_rows(spec, columns, times, partitions)
        session, target = Session.of(spec, rows, times, partitions), sql.quote_parts(spec.target_parts)
        bound = variables.batch_bound(spec, times) if times else ""
        return cls(
            spec=spec,
            target=target,
            now=rows_of_now(session.recorded, target),
            columns=columns,
            keys=keys,
            fields=tuple(columns[name] for name in source.source_columns(spec)),
            history=history,
            rows=rows,
            session=session,
            in_partitions=variables.in_partitions(partitions),
            bound=bound,
            reached=Reached.of(spec, times, target, bound),
            own_time=source.own_time(spec),
            flags_deletes=source.flags_deletes(spec),
            fills=variables.fills(spec),
        )

    @property
    def key_names(self) -> tuple[str, ...]:
        """Return the quoted names of the keys."""
        return self.rows.keys

    def read(self, step: str, empty: str | None = None) -> Rows:
        """Return the rows in a step of another name; ``empty`` is the refusal of a source without rows."""
        return replace(self.rows, name=step, empty=empty)

    def beside_reached(self, *bounds: str) -> tuple[str, ...]:
        """Return the conditions by which Delta skips files of the table (``t``), those bounds and the partitions.

        Without the bounds if the step "reached" has them.
        """
        return self.in_partitions if self.reached else (*bounds, *self.in_partitions)

    def session_of(self, rows: Rows) -> Session:
        """Return the session variables of a statement that reads ``rows``."""
        return replace(self.session, rows=rows)


def _history(spec: Spec, columns: Mapping[str, Field], keys: tuple[Field, ...]) -> History:
    derived = {sql.quote(name): (text, spec.columns[name].type) for name, text in spec.derived.items()}
    tracked = tuple(columns[name] for name in spec.tracked)
    named = {option: sql.quote(name) for option, name in spec.history_columns}
    if "sequence" not in named:
        return History(Times(spec), named, keys, tracked, derived)
    none = no_sequence(spec)
    own = orders_rows(spec) or not (spec.reads_snapshot or spec.reads_versions)
    return History(Times(spec), named, keys, tracked, derived, SEQUENCE if own else none, none)
