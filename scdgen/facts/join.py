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
    """A table of a join, by its quoted names.

    ``keys`` are the keys of the spec in the target's types, ``start`` and ``until`` the times of a version, the second
    NULL while it is open. ``where`` are the conditions on a row; ``named``: these expressions use the alias.
    """

    alias: str
    table: str
    keys: tuple[str, ...]
    start: str
    until: str
    where: tuple[str, ...]
    named: bool

    @property
    def label(self) -> str:
        """Return the alias as a text literal."""
        return sql.text_literal(sql.unquote(self.alias))


@dataclass(frozen=True)
class Join:
    """The steps from several tables with versions to the rows of one history.

    ``keys`` are the quoted keys of the target; the tables have them as ``stored``. ``since`` is the time from which a
    version must start or end for its key to be read. ``no_key``, ``no_start`` and ``empty`` (it does not end after its
    start) refuse a version.
    """

    tables: tuple[JoinedTable, ...]
    keys: tuple[str, ...]
    since: str | None
    no_key: str
    no_start: str
    empty: str

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
