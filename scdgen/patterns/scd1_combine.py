"""scd1 with ``merge: first | min | max``: a key's rows, in the batch and in the table, become one value per column.

``last`` and ``first`` go by effective_at, then sequence_by. With ``updated_at`` they keep their order across batches:
it holds the time of the newest row where a column is ``last``, and of the oldest where columns are ``first`` and none
is ``last``. Without it the batch is newer than the table. What stands before a delete of its key no longer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

from scdgen import sql
from scdgen.patterns.columns import comparable, named, struct
from scdgen.patterns.parts import merge_clause
from scdgen.spec.model import Spec


def _of_batch(ctx: SimpleNamespace, spec: Spec) -> None:
    """One row per key of the batch, column by column."""
    merges = _merges(spec)
    has_time = spec.source.effective_at is not None
    order = [*(["_scd_at"] if has_time else []), *ctx.rows.sequence]
    order += [ctx.content] if spec.conflicts == "any" else []  # so that all columns come from one row
    alive = " FILTER (WHERE _scd_life = 0)" if ctx.deletes else ""
    time = f"{'MIN' if _oldest(merges) else 'MAX'}(_scd_at){alive}"

    def combined(name: str) -> str:
        merge = merges[name]
        if merge in {"min", "max"}:
            return f"{merge.upper()}({name}){alive} AS {name}"
        function = "MAX_BY" if merge == "last" else "MIN_BY"
        # Rows that nothing orders are equal, or else conflicts: any takes one of them.
        return f"{function}({name}, {struct(order) if order else name}){alive} AS {name}"

    added = ctx.updated_at in ctx.stored and spec.updated_at not in spec.columns
    ctx.latest_columns = [
        *ctx.keys,
        *map(combined, ctx.values),
        *([f"{time} AS {ctx.updated_at}"] if added else []),
        *([f"{time} AS _scd_time"] if has_time else []),
    ]
    if ctx.deletes:
        ctx.latest_columns += [
            "COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted",
            "BOOL_OR(_scd_deleted) AS _scd_anew",
            *(["MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at"] if has_time else []),
        ]


def _merges(spec: Spec) -> dict[str, str]:
    return {sql.quote(name): column.merge for name, column in spec.columns.items() if name not in spec.keys}


def _oldest(merges: Mapping[str, str]) -> bool:
    """Whether ``updated_at`` holds the time of the oldest row."""
    return "last" not in merges.values() and "first" in merges.values()


def _with_table(ctx: SimpleNamespace, spec: Spec, new: str, old: str) -> dict[str, str]:
    """Column -> its value where a row of the batch (alias ``new``) meets the stored one (alias ``old``)."""
    merges = _merges(spec)
    updated, oldest = ctx.updated_at, _oldest(merges)

    def combined(name: str) -> str:
        merge = merges.get(name)
        if name == updated:
            return f"{'LEAST' if oldest else 'GREATEST'}({old}.{name}, {new}._scd_time)"
        if merge in {"min", "max"}:
            return f"{'LEAST' if merge == 'min' else 'GREATEST'}({old}.{name}, {new}.{name})"
        if updated is None:
            return f"{new}.{name}" if merge == "last" else f"{old}.{name}"
        if merge == "first" and not oldest:
            return f"{old}.{name}"
        test = f"{new}._scd_time < {old}.{updated}" if oldest else f"{new}._scd_time >= {old}.{updated}"
        return f"CASE WHEN {test} THEN {new}.{name} ELSE {old}.{name} END"

    return {name: combined(name) for name in ctx.stored}


def _compared(ctx: SimpleNamespace, spec: Spec, texts: Iterable[tuple[str, str]]) -> str:
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    return named((name, comparable(text, kinds.get(name, ""))) for name, text in texts)


def combine_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """The pieces of templates/scd1_snapshot.sql.j2 that combine rows: what differs is found after that."""
    _of_batch(ctx, spec)
    combined = _with_table(ctx, spec, "n", "o")
    ctx.compared_values = [
        f"CASE WHEN {ctx.new} THEN n.{name} ELSE {text} END AS {name}" for name, text in combined.items()
    ]
    stored = _compared(ctx, spec, ((name, f"o.{name}") for name in ctx.stored))
    ctx.same_rows = f"{stored} <=> {_compared(ctx, spec, combined.items())}"
    ctx.in_order = None  # column by column
    ctx.merge_title = "Makes the keys of the table those of a full extract; column by column the values become one."


def combine_changes(ctx: SimpleNamespace, spec: Spec) -> None:
    """The pieces of templates/scd1_changes.sql.j2 and scd1_merge.sql.j2 that combine rows."""
    _of_batch(ctx, spec)
    combined = _with_table(ctx, spec, "s", "t")
    before = _compared(ctx, spec, ((name, f"t.{name}") for name in ctx.stored))
    changed = f"NOT ({before} <=> {_compared(ctx, spec, combined.items())})".replace("\n", "\n    ")
    given = _compared(ctx, spec, ((name, f"s.{name}") for name in ctx.stored))
    other = f"NOT ({before} <=> {given})".replace("\n", "\n    ")
    ctx.merged = combined
    assigned = [f"{name} = {text}" for name, text in combined.items()]
    kept = ["NOT s._scd_deleted"] if ctx.deletes else []
    in_order = [f"s._scd_deleted_at >= t.{ctx.updated_at}"] if ctx.updated_at else []

    def clause(does: str, why: str, matched: bool, given: list[str], sets: list[str]) -> SimpleNamespace:
        return merge_clause(ctx, does, why, matched, given, sets)

    ctx.clauses = []
    if ctx.deletes:
        ctx.anew = " AND ".join(["s._scd_anew", *in_order])
        ctx.clauses = [
            clause("delete", "A delete removes the row.", True, ["s._scd_deleted", *in_order], []),
            clause(
                "update",
                "After a delete a key begins anew.",
                True,
                ["s._scd_anew", *kept, *in_order, other],
                ctx.replaced,
            ),
        ]
    ctx.clauses += [
        clause("update", "The row and the batch become one.", True, [*kept, changed], assigned),
        clause("insert", "A new key.", False, kept, []),
    ]
    ctx.merge_title = "Keeps one row per key, column by column: the last, first, least or greatest value."
