"""The tables of a join that are targets of other specs: how these write their history columns."""

from __future__ import annotations

from collections.abc import Iterable

from scdgen import sql
from scdgen.model.graph import find_writer, full_name
from scdgen.model.rules import Location
from scdgen.model.spec import JoinedTable, Spec


def fill_in(spec: Spec, others: Iterable[Spec]) -> tuple[Spec, list[tuple[Location, str]]]:
    """Fill in the options of joined tables that the spec leaves out and the spec of the table knows.

    The versions of deletes (``on_delete: mark``) are left out, as are superseded rows (``history.recorded``). Also
    returns the problems: a table without versions, or with times of another type. Raises :class:`SpecError` for a table
    that can be the target of several specs.
    """
    found: list[tuple[Location, str]] = []
    writers = [(full_name(other.target_parts), other) for other in others if other.target_parts != spec.target_parts]
    join = {}
    for alias, joined in spec.source.join.items():
        parts = sql.split_name(joined.table)
        owner = find_writer(spec, full_name(parts), parts, writers)
        if owner is not None and (problem := _problem(spec, joined, owner)):
            found.append((("source", "join", alias, "table"), f"table: {problem}"))
        join[alias] = _filled(joined, owner) if owner is not None and _same_times(spec, owner) else joined
    return spec.model_copy(update={"source": spec.source.model_copy(update={"join": join})}), found


def _problem(spec: Spec, joined: JoinedTable, owner: Spec) -> str | None:
    if not owner.keeps_history:
        return f"{joined.table} is {owner.pattern} in {owner.origin}, which keeps no versions; join a table of scd2"
    if not _same_times(spec, owner) and not (joined.valid_from and joined.valid_to):
        what = f"the times of {joined.table} are of type {owner.history.type}, and history.type is {spec.history.type}"
        return f"{what}; write expressions of that type as valid_from and valid_to"
    return None


def _same_times(spec: Spec, owner: Spec) -> bool:
    """Whether the stored times of another spec are times of this one without a loss."""
    return (owner.history.type, spec.history.type) == ("date", "timestamp") or owner.history.type == spec.history.type


def _filled(joined: JoinedTable, owner: Spec) -> JoinedTable:
    history, start, end = owner.history, sql.quote(owner.history.valid_from), sql.quote(owner.history.valid_to)
    known: dict[str, object] = {"valid_from": start, "valid_to": end, "open_end": history.open_end, "gap": history.gap}
    if history.open_end == "last_run":  # only the flag tells the open version
        flag = history.is_current
        assert flag is not None
        closed = sql.text_literal(flag.closed) if isinstance(flag.closed, str) else str(flag.closed).upper()
        known |= {"valid_to": f"IF({sql.quote(flag.name)} = {closed}, {end}, NULL)", "open_end": None}
    given = {name: getattr(joined, name) for name in joined.model_fields_set if name != "where"}
    where = joined.where
    lives = [f"{sql.quote(history.deleted)} = FALSE"] if history.deleted is not None else []
    lives += [f"{sql.quote(owner.recorded.to)} IS NULL"] if owner.recorded else []
    for condition in lives:
        where = condition if where is None else f"({where}) AND {condition}"
    filled = {**known, **given, "where": where}
    return joined.model_copy(update={name: value for name, value in filled.items() if value != joined.options[name]})
