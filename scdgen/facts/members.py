"""Members that do not come from the source: those that facts name (infer.sql), and the unknown one (create.sql)."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.audit import Audit
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.columns import Target, cast, names_of
from scdgen.facts.environment import Environment
from scdgen.facts.recorded import Recorded
from scdgen.facts.refusals import Rule
from scdgen.facts.row_rules import DATED, year_rule
from scdgen.facts.source import literal, unknown_key
from scdgen.sql.layout import named_as, negated
from scdgen.sql.tokens import with_alias


@dataclass(frozen=True)
class Infer(Facts, template="infer.sql.j2"):
    """infer.sql: a version for each key that facts name and the table lacks."""

    head: Head
    """The header of the file."""
    target: str
    """The quoted name of the table."""
    now: str
    """What stored versions are read from: the table, or its rows of now."""
    type: str
    """The type of the start of a version."""
    facts: str
    """The quoted name of the table with the facts."""
    keys: tuple[str, ...]
    """The quoted names of the keys."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those that are set to variables of the run."""
    given: tuple[str, ...]
    """The keys of a fact, each with its name."""
    at: str
    """The expression for the time of a fact."""
    environment: Environment
    """The rules for the session."""
    year: Rule | None
    """The rule for the time of a member; ``None`` if it is a number."""
    open_end: str | None
    """The end of open versions, from which on a fact infers nothing; ``None`` if that is NULL."""
    reserved: str | None
    """The condition on facts that do not name the unknown member, which is not inferred; ``None`` without one."""
    values: tuple[str, ...]
    """The columns of a new version that the others are computed from, each with its name."""
    no_next: str
    """The column with the start of what follows such a version: NULL."""
    version: tuple[str, ...]
    """All columns, computed from these, each with its name."""
    moved: tuple[str, ...]
    """The columns that depend on the start, which an earlier fact moves."""
    moves_key: bool
    """Whether the surrogate key is one of them."""
    flag: str
    """The column that flags inferred members."""
    start: str
    """The column with the start of a version."""
    audit: Audit
    """The columns that are set to variables of the run."""
    recorded: Recorded | None
    """The columns of ``history.recorded``, likewise; ``None`` without them."""

    @classmethod
    def of(cls, source: Source, columns: tuple[Target, ...]) -> Infer | None:
        """Return the facts of a spec, if it has inferred members."""
        spec, history, fields = source.spec, source.history, source.fields
        inferred = spec.members.inferred
        if inferred is None or history is None:
            return None
        times = history.times
        exprs = {sql.quote(name): with_alias(sql.expression(text).text, "f") for name, text in inferred.keys.items()}
        unknown = unknown_key(spec)
        return cls(
            head=Head.of(spec),
            target=source.target,
            now=source.now,
            type=times.type,
            facts=sql.quote_parts(sql.split_name(inferred.fact)),
            keys=source.key_names,
            columns=source.session.unstamped(columns),
            given=tuple(named_as(cast(exprs[key.name], key.type), key.name) for key in history.keys),
            at=cast(with_alias(sql.expression(inferred.at).text, "f"), times.type),
            environment=source.rows.environment,
            year=year_rule(spec, ["_scd_at"]) if times.type in DATED else None,
            open_end=times.open_end,
            reserved=negated(unknown) if unknown else None,
            values=tuple(
                field.name if field.is_key else named_as(cast("NULL", field.type), field.name) for field in fields
            ),
            no_next=times.no_next,
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_next", inferred=True)),
            moved=history.from_start,
            moves_key="surrogate_key" in history.columns,
            flag=history.columns["inferred"],
            start=times.start,
            audit=source.session.audit,
            recorded=source.session.recorded,
        )


@dataclass(frozen=True)
class Unknown(Facts, template="unknown.sql.j2"):
    """unknown.sql: the unknown member."""

    target: str
    """The quoted name of the table."""
    key: tuple[str, ...]
    """The quoted names of its key."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those that are set to variables of the run."""
    values: tuple[str, ...]
    """The columns of its row, and its times, each with its name."""
    version: tuple[str, ...]
    """All columns, computed from these, each with its name."""
    audit: Audit
    """The columns that are set to variables of the run."""
    recorded: Recorded | None
    """The columns of ``history.recorded``, likewise; ``None`` without them."""

    @classmethod
    def of(cls, source: Source, columns: tuple[Target, ...]) -> Unknown | None:
        """Return the unknown member of a spec, if it has one."""
        unknown, history, fields = source.spec.members.unknown, source.history, source.fields
        if unknown is None or history is None:
            return None
        members = {sql.quote(name): value for name, value in unknown.items()}
        return cls(
            target=source.target,
            key=source.key_names,
            columns=source.session.unstamped(columns),
            values=(
                *(named_as(literal(members.get(field.name), field.type), field.name) for field in fields),
                named_as(history.times.beginning, "_scd_at"),
                history.times.no_next,
            ),
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_next", inferred=False)),
            audit=source.session.audit,
            recorded=source.session.recorded,
        )
