"""rejects.sql: the rows that a quarantine keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts import source
from scdgen.facts.base import Facts, Head, fields_of
from scdgen.facts.columns import names_of
from scdgen.facts.row_rules import Expected, read_rows
from scdgen.facts.session import Session
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class Rejects(Facts, template="rejects.sql.j2"):
    """rejects.sql: the rows that break the expectations ``rules``, whose columns are ``content``."""

    head: Head
    session: Session
    target: str
    quarantine: str
    schema: str | None
    rules: tuple[Expected, ...]
    content: tuple[str, ...]

    @classmethod
    def of(cls, spec: Spec) -> Rejects:
        """Return the facts of a spec with a quarantine; only params are variables of the statement."""
        rows, parts = read_rows(spec, "changes"), sql.split_name(spec.quarantine or "")
        session = replace(Session.of(spec, rows), taken_at=None, last_run=None, batch=())
        return cls(
            head=Head.of_feed(spec),
            session=session,
            target=".".join(spec.target_parts),
            quarantine=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 else None,
            rules=tuple(rule for rule in rows.expected if rule.quarantined),
            content=(*names_of(fields_of(spec)), *source.own_time(spec), *(["_scd_sets"] if spec.source.sets else [])),
        )
