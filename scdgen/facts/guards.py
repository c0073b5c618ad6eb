"""Limits of a full extract, and the refusals of what they do not allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts import source
from scdgen.facts.counts import describe_limit
from scdgen.facts.refusals import refusal, refuse_rows
from scdgen.model.spec import Snapshot, Spec
from scdgen.sql.layout import all_true, negated


@dataclass(frozen=True)
class Guards:
    """Limits of a full extract: the part of the table that it covers, and the share of keys that it may delete."""

    scope: str | None
    """The condition on a stored version that the extract covers; ``None`` if it covers all."""
    max_deleted: float | None
    """The share of keys that it may delete, from 0 to 1; ``None`` for all of them."""
    too_many: str
    """The refusal of more."""

    @property
    def allowed(self) -> str:
        """Return ``max_deleted`` as a percentage."""
        return f"{100 * (self.max_deleted or 0):.6g} %"

    @classmethod
    def of(cls, spec: Spec) -> Guards:
        """Return the guards of a spec."""
        snapshot = spec.snapshot or Snapshot()
        return cls(
            scope=_scope(spec, snapshot),
            max_deleted=snapshot.max_deleted if snapshot.max_deleted < 1 else None,
            too_many=refuse_deleted(spec, snapshot.max_deleted),
        )


def _scope(spec: Spec, snapshot: Snapshot) -> str | None:
    """Return the condition on a stored version that a full extract covers: no member comes from the source."""
    members = (source.unknown_key(spec), source.inferred_flag(spec))
    parts = [sql.expression(snapshot.scope).condition] if snapshot.scope else []
    return all_true([*parts, *(negated(member) for member in members if member)]) or None


def refuse_conflict(spec: Spec, what: str, at: Iterable[str]) -> str | None:
    """Return the refusal of different, unordered rows of one ``what``; ``None`` if any of them may be taken."""
    return refuse_rows(spec, "conflict", f"two different rows of one {what}", at) if spec.conflicts == "fail" else None


def refuse_empty(spec: Spec) -> str | None:
    """Return the refusal of an empty extract; ``None`` if the spec allows one."""
    if (spec.snapshot or Snapshot()).allow_empty:
        return None
    return refusal(spec, "empty_snapshot", "the snapshot is empty")


def refuse_deleted(spec: Spec, limit: float) -> str:
    """Return the refusal of a snapshot that deletes more of the current keys, in the words of a plan."""
    count = ["_scd_closing", "IF(_scd_closing = 1, ' key', ' keys')"]
    share = ["ROUND(100 * _scd_closing / _scd_current, 1)", sql.text_literal(f" %; {describe_limit(limit)})")]
    return refusal(spec, "max_deleted", "", [*count, sql.text_literal(" deleted ("), *share])


def refuse_early(spec: Spec, what: str, at: str) -> str:
    """Return the refusal of a snapshot that is older than a version or row that it would close or remove."""
    return refuse_rows(spec, "taken_at", f"the snapshot is not newer than a {what}", [at])
