"""``source.join``: the tables whose histories become one, as facts of templates/_macros.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.columns import cast
from scdgen.facts.history import Times
from scdgen.facts.refusals import refuse_rows
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class JoinedTable:
    """A table of a join."""

    alias: str
    """Its quoted alias."""
    table: str
    """Its quoted name."""
    keys: tuple[str, ...]
    """The expressions for the keys of the spec, in the target's types."""
    start: str
    """The expression for the start of a version."""
    until: str
    """The expression for the exclusive end of a version, NULL while it is open."""
    where: tuple[str, ...]
    """The conditions on a row."""
    named: bool
    """Whether the start, the end or a condition uses the alias."""

    @property
    def label(self) -> str:
        """Return the alias as a text literal."""
        return sql.text_literal(sql.unquote(self.alias))


@dataclass(frozen=True)
class Join:
    """The steps from several tables with versions to the rows of one history."""

    tables: tuple[JoinedTable, ...]
    """The joined tables, in the order of the spec."""
    keys: tuple[str, ...]
    """The quoted keys of the target; the tables have them as ``stored``."""
    since: str | None
    """The time from which a version must start or end for its key to be read; ``None`` to read every key."""
    no_key: str
    """The refusal of a version without a key."""
    no_start: str
    """The refusal of a version without a start."""
    empty: str
    """The refusal of a version that does not end after its start."""

    @property
    def stored(self) -> tuple[str, ...]:
        """Return the names of the keys in the step of a table, whose columns may have any other name."""
        return tuple(f"_scd_key_{number}" for number in range(1, len(self.keys) + 1))


def join_of(spec: Spec, times: Times) -> Join:
    """Return the join of a spec, whose versions have these times."""
    tables = []
    for alias, joined in spec.source.join.items():
        texts = [joined.start, joined.end, *([joined.where] if joined.where else [])]
        form = {"gap": joined.gap, "open_end": joined.open_end}
        stored = spec.model_copy(update={"history": spec.history.model_copy(update=form)})
        tables.append(
            JoinedTable(
                alias=sql.quote(alias),
                table=sql.quote_parts(sql.split_name(joined.table)),
                keys=tuple(cast(sql.quote(joined.keys[key]), spec.columns[key].type) for key in spec.keys),
                start=cast(sql.expression(joined.start).text, times.type),
                until=Times(stored).until_of(sql.expression(joined.end).text),
                where=(sql.expression(joined.where).condition,) if joined.where else (),
                named=any((alias.lower(),) == name[:-1] for text in texts for name in sql.expression(text).names),
            )
        )
    since, shown = spec.source.changed_since, ("_scd_table", "_scd_from", "_scd_until")
    return Join(
        tables=tuple(tables),
        keys=tuple(map(sql.quote, spec.keys)),
        since=cast(sql.expression(since).text, times.type) if since else None,
        no_key=refuse_rows(spec, "null_key", "a joined version has no key", shown),
        no_start=refuse_rows(spec, "null_time", "a joined version has no start", shown),
        empty=refuse_rows(spec, "end_before_start", "a joined version does not end after its start", shown),
    )
