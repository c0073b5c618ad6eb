"""rejects.sql: the rows that a quarantine keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.columns import names_of
from scdgen.facts.environment import Environment
from scdgen.facts.row_rules import Expected
from scdgen.facts.session import Session


@dataclass(frozen=True)
class Rejects(Facts, template="rejects.sql.j2"):
    """rejects.sql: the rows that break an expectation, kept in a quarantine."""

    head: Head
    """The header of the file."""
    session: Session
    """The session variables, of which the statement has only params."""
    target: str
    """The name of the table that the rows were for."""
    quarantine: str
    """The quoted name of the table that keeps them."""
    schema: str | None
    """The quoted name of its schema, which is created; ``None`` if its name has none."""
    rules: tuple[Expected, ...]
    """The expectations whose rows it keeps."""
    content: tuple[str, ...]
    """The quoted names of the columns of a row that it keeps."""
    environment: Environment | None
    """The rule for the session, tested before the table is created."""

    @classmethod
    def of(cls, source: Source) -> Rejects:
        """Return the facts of a spec with a quarantine; only params are variables of the statement."""
        spec, rows = source.spec, source.read("changes")
        parts = sql.split_name(spec.quarantine or "")
        session = replace(source.session_of(rows), taken_at=None, last_run=None, batch=())
        return cls(
            head=Head.of_feed(spec),
            session=session,
            target=".".join(spec.target_parts),
            quarantine=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 and spec.table.create_schema else None,
            rules=tuple(rule for rule in rows.expected if rule.quarantined),
            content=(*names_of(source.fields), *source.own_time, *(["_scd_sets"] if spec.source.sets else [])),
            environment=Environment.of_types(spec, ["TIMESTAMP"]),
        )
