"""The tables of a join that are targets of other specs: how these write their history columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scdgen import sql
from scdgen.model.graph import find_writer, full_name
from scdgen.model.option import Location
from scdgen.model.spec import JoinedTable, Spec
from scdgen.sql.literal import value_text


def fill_in(spec: Spec, others: Iterable[Spec]) -> tuple[Spec, list[tuple[Location, str]]]:
    """Fill in the options of joined tables that the spec leaves out and the spec of the table knows.

    The versions of deletes (``on_delete: mark``) are left out, as are superseded rows (``history.recorded``) and the
    unknown member of the table, if the spec has one of its own. Also returns the problems: a table without versions, or
    with times of another type. Raises :class:`SpecError` for a table that can be the target of several specs.
    """
    found: list[tuple[Location, str]] = []
    writers = [(full_name(other.target_parts), other) for other in others if other.target_parts != spec.target_parts]
    join = {}
    for alias, joined in spec.source.join.items():
        parts = sql.split_name(joined.table)
        owner = find_writer(spec, full_name(parts), parts, writers)
        if owner is not None:
            found += [
                (("source", "join", alias, option), f"{option}: {what}")
                for option, what in _problems(spec, joined, owner)
            ]
            joined = _filled(spec, joined, owner) if joined.history or _same_times(spec, owner) else joined
        join[alias] = joined
    return spec.model_copy(update={"source": spec.source.model_copy(update={"join": join})}), found


def _problems(spec: Spec, joined: JoinedTable, owner: Spec) -> Iterator[tuple[str, str]]:
    if joined.on and {*map(str.lower, joined.on)} != {*map(str.lower, owner.keys)}:
        yield "on", f"must be over the keys of {joined.table}, {', '.join(owner.keys)}; write an expression for each"
    if joined.history:
        return
    if not owner.keeps_history:
        what = f"{joined.table} is {owner.pattern} in {owner.origin}, which keeps no versions; join a table of scd2"
        is_first = joined is next(iter(spec.source.join.values()))
        yield "table", what if is_first else f"{what}, or write history: none for its one row at all times"
    elif not _same_times(spec, owner) and not (joined.valid_from and joined.valid_to):
        what = f"the times of {joined.table} are of type {owner.history.type}, and history.type is {spec.history.type}"
        yield "table", f"{what}; write expressions of that type as valid_from and valid_to"


def _same_times(spec: Spec, owner: Spec) -> bool:
    """Whether the stored times of another spec are times of this one without a loss."""
    return (owner.history.type, spec.history.type) == ("date", "timestamp") or owner.history.type == spec.history.type


def _filled(spec: Spec, joined: JoinedTable, owner: Spec) -> JoinedTable:
    history, start, end = owner.history, sql.quote(owner.history.valid_from), sql.quote(owner.history.valid_to)
    known: dict[str, object] = {"valid_from": start, "valid_to": end, "open_end": history.open_end, "gap": history.gap}
    known |= {"surrogate_key": dict(owner.history_columns).get("surrogate_key")} if joined.on else {}
    if history.open_end == "last_run":  # only the flag tells the open version
        flag = history.is_current
        assert flag is not None
        closed = sql.text_literal(flag.closed) if isinstance(flag.closed, str) else str(flag.closed).upper()
        known |= {"valid_to": f"IF({sql.quote(flag.name)} = {closed}, {end}, NULL)", "open_end": None}
    given = {name: getattr(joined, name) for name in joined.model_fields_set if name != "where"}
    where, deleted = joined.where, history.deleted if owner.keeps_history else owner.deleted
    lives = [f"{sql.quote(deleted)} = FALSE"] if deleted is not None else []
    lives += [f"{sql.quote(owner.recorded.to)} IS NULL"] if owner.recorded else []
    if joined.keys and spec.members.unknown and (unknown := owner.members.unknown):
        tests = (f"{sql.quote(key)} = {_literal(unknown[key])}" for key in owner.keys)
        lives.append(f"NOT ({' AND '.join(tests)})")
    for condition in lives:
        where = condition if where is None else f"({where}) AND {condition}"
    filled = {**({} if joined.history else known), **given, "where": where}
    return joined.model_copy(update={name: value for name, value in filled.items() if value != joined.options[name]})


def _literal(value: object) -> str:
    """Return the value of a key; a text is compared in the type of the column."""
    return str(value) if isinstance(value, int) else sql.text_literal(value_text(value))
