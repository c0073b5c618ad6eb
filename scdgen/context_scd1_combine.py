"""scd1 with ``merge: first | min | max``: a key's rows, in the batch and in the table, become one value per column.

``last`` and ``first`` go by effective_at, then sequence_by. With ``updated_at`` they keep their order across batches:
it holds the time of the newest row where a column is ``last``, and of the oldest where columns are ``first`` and none
is ``last``. Without it the batch is newer than the table. What stands before a delete of its key no longer counts.
"""

from __future__ import annotations

from types import SimpleNamespace

from scdgen import sql
from scdgen.columns import comparable, struct
from scdgen.context_parts import merge_clause
from scdgen.spec import Spec


def add_combining(ctx: SimpleNamespace, spec: Spec) -> None:
    """The pieces of templates/scd1_changes.sql.j2 and scd1_merge.sql.j2 that combine rows."""
    merges = {sql.quote(name): column.merge for name, column in spec.columns.items()}
    has_time = spec.source.effective_at is not None
    order = [*(["_scd_at"] if has_time else []), *ctx.rows.sequence]
    oldest = "last" not in {merges[name] for name in ctx.values} and "first" in merges.values()
    alive = " FILTER (WHERE _scd_life = 0)" if ctx.deletes else ""
    time = f"{'MIN' if oldest else 'MAX'}(_scd_at){alive}"

    def of_batch(name: str) -> str:
        merge = merges[name]
        if merge in {"min", "max"}:
            return f"{merge.upper()}({name}){alive} AS {name}"
        function = "MAX_BY" if merge == "last" else "MIN_BY"
        # Rows that nothing orders are equal, or else conflicts: any takes one of them.
        return f"{function}({name}, {struct(order) if order else name}){alive} AS {name}"

    ctx.latest_columns = [
        *ctx.keys,
        *map(of_batch, ctx.values),
        *(
            [f"{time} AS {ctx.updated_at}"]
            if ctx.updated_at in ctx.stored and spec.updated_at not in spec.columns
            else []
        ),
        *([f"{time} AS _scd_time"] if has_time else []),
    ]
    if ctx.deletes:
        ctx.latest_columns += [
            "COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted",
            "BOOL_OR(_scd_deleted) AS _scd_anew",
            *(["MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at"] if has_time else []),
        ]
    updated = ctx.updated_at

    def with_table(name: str) -> str:
        merge = merges.get(name)
        if name == updated:
            return f"{'LEAST' if oldest else 'GREATEST'}(t.{name}, s._scd_time)"
        if merge in {"min", "max"}:
            return f"{'LEAST' if merge == 'min' else 'GREATEST'}(t.{name}, s.{name})"
        if updated is None:
            return f"s.{name}" if merge == "last" else f"t.{name}"
        if merge == "first" and not oldest:
            return f"t.{name}"
        test = f"s._scd_time < t.{updated}" if oldest else f"s._scd_time >= t.{updated}"
        return f"CASE WHEN {test} THEN s.{name} ELSE t.{name} END"

    combined = {name: with_table(name) for name in ctx.stored}
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    before = struct(comparable(f"t.{name}", kinds.get(name, "")) for name in ctx.stored)
    after = struct(comparable(text, kinds.get(name, "")) for name, text in combined.items())
    changed = f"NOT ({before} <=> {after})".replace("\n", "\n    ")
    given = struct(comparable(f"s.{name}", kinds.get(name, "")) for name in ctx.stored)
    other = f"NOT ({before} <=> {given})".replace("\n", "\n    ")
    assigned = [f"{name} = {text}" for name, text in combined.items()]
    kept = ["NOT s._scd_deleted"] if ctx.deletes else []
    in_order = [f"s._scd_deleted_at >= t.{updated}"] if updated else []

    def clause(does: str, why: str, matched: bool, given: list[str], sets: list[str]) -> SimpleNamespace:
        return merge_clause(ctx, does, why, matched, given, sets)

    ctx.clauses = []
    if ctx.deletes:
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
