"""Pieces that the contexts of several patterns share."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from scdgen import sql
from scdgen.patterns import source
from scdgen.patterns.columns import comparable, struct
from scdgen.patterns.source import refusal
from scdgen.spec.model import Snapshot, Spec
from scdgen.sql.layout import WIDTH


def aliased(names: Sequence[str], alias: str) -> list[str]:
    """Names qualified by an alias.

    >>> aliased(["`a`"], "t")
    ['t.`a`']
    """
    return [f"{alias}.{name}" for name in names]


def equal(names: Sequence[str], left: str, right: str, operator: str = "=") -> list[str]:
    """Column by column comparisons between two aliases."""
    return [f"{left}.{name} {operator} {right}.{name}" for name in names]


def sequence_order(rows: source.Rows) -> list[str]:
    """The greatest sequence first; NULL comes last."""
    return [f"{name} DESC" for name in rows.sequence]


def any_order(ctx: SimpleNamespace, deletes: bool) -> str:
    """With conflicts: any, which row counts: a delete, else the least by its values, to be the same each time."""
    values = [
        comparable(sql.quote(n), ctx.spec.columns[n].type) for n in ctx.spec.columns if sql.quote(n) in ctx.values
    ]
    return ", ".join([*(["_scd_deleted DESC"] if deletes else []), struct(values or ctx.keys)])


def conflict(spec: Spec, what: str, at: Sequence[str]) -> str:
    """The refusal of different rows that nothing orders."""
    hint = "mend the source, order them by source.sequence_by or set conflicts: any"
    sample = f"TO_JSON({struct([*map(sql.quote, spec.keys), *at])})"
    return refusal(spec, "conflict", f"two different rows of one {what}", hint, sample)


def guard_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """What both patterns do with a full extract: join it with what is stored, and refuse one that cannot be whole."""
    snapshot = spec.snapshot or Snapshot()
    ctx.join = "\n        AND ".join(equal(ctx.keys, "n", "o"))
    ctx.gone, ctx.new = f"n.{ctx.keys[0]} IS NULL", f"o.{ctx.keys[0]} IS NULL"
    ctx.scope = sql.expression(snapshot.scope).text if snapshot.scope else None
    if not snapshot.allow_empty:
        # In the place of a key, because a column that nothing reads is never worked out.
        place = list(spec.columns).index(spec.keys[0])
        stop = refusal(
            spec, "empty_snapshot", "the snapshot is empty", "set snapshot.allow_empty: true if that is right"
        )
        nulls = [", ".join(["NULL"] * count) for count in (place, len(ctx.rows.select) - place - 1)]
        ctx.empty = ",\n".join(part for part in (nulls[0], stop, nulls[1]) if part)
    ctx.max_deleted = snapshot.max_deleted if snapshot.max_deleted < 1 else None
    share = f"{snapshot.max_deleted:.6g}"
    too_many = f"the snapshot would close more than {share} of the current keys"
    ctx.too_many = refusal(spec, "max_deleted", too_many, "raise snapshot.max_deleted if that is right")


def merge_clause(
    ctx: SimpleNamespace, does: str, why: str, matched: bool, given: Sequence[str], assigned: Sequence[str]
) -> SimpleNamespace:
    """One WHEN of an scd1 MERGE; ``test`` says the same for the plan, where t and s are joined."""
    parts = ["WHEN MATCHED" if matched else "WHEN NOT MATCHED", *given]
    line = " AND ".join(parts)
    when = (
        line if "\n" not in line and len(line) < WIDTH - len(" THEN") else "\nAND ".join(parts).replace("\n    ", "\n")
    )
    test = "\n    AND ".join([f"t.{ctx.keys[0]} IS {'NOT ' if matched else ''}NULL", *given])
    return SimpleNamespace(does=does, why=why, when=when, test=test, assigned=assigned)
