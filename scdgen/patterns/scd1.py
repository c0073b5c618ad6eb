"""The render context of scd1: one row per key, from changes or from snapshots."""

from __future__ import annotations

from types import SimpleNamespace

from scdgen import sql
from scdgen.patterns import source
from scdgen.patterns.columns import comparable, struct
from scdgen.patterns.parts import aliased, any_order, conflict, equal, guard_snapshot, merge_clause, sequence_order
from scdgen.patterns.scd1_combine import combine_changes, combine_snapshot
from scdgen.patterns.source import refusal
from scdgen.spec.model import Spec


def add_current(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd1: one row per key, for both feeds. See templates/scd1_changes.sql.j2 and scd1_snapshot.sql.j2."""
    has_time = spec.source.effective_at is not None
    ctx.deletes = source.flags_deletes(spec)
    order = [*(["_scd_at DESC"] if has_time else []), *sequence_order(ctx.rows)]
    order += [any_order(ctx, ctx.deletes)] if spec.conflicts == "any" else []
    ctx.rank_order = ", ".join(order) or ctx.key_list
    ctx.conflict = None
    ordered = [
        name for name, column in spec.columns.items() if column.merge in {"last", "first"} and name not in spec.keys
    ]
    if spec.conflicts == "fail" and (ordered or ctx.deletes):
        ctx.conflict = conflict(spec, "key and time" if has_time else "key", ["_scd_at"] if has_time else [])
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    ctx.updated_at = sql.quote(spec.updated_at) if spec.updated_at else None
    added = [ctx.updated_at] if spec.updated_at and spec.updated_at not in spec.columns else []
    ctx.stored = [*ctx.values, *added]
    ctx.all_columns = [*ctx.columns, *added]
    ctx.inserted = aliased(ctx.all_columns, "s")
    ctx.content = struct(
        [
            *(["_scd_deleted"] if ctx.deletes else []),
            *(comparable(sql.quote(name), spec.columns[name].type) for name in ordered),
        ]
    )
    ctx.combines = any(column.merge != "last" for column in spec.columns.values())
    spread = f"PARTITION BY {ctx.key_list} ORDER BY {ctx.rank_order}"
    ctx.windows = [f"w AS ({spread})"]
    if ctx.conflict:
        ctx.windows.append(f"ties AS ({spread} RANGE BETWEEN CURRENT ROW AND CURRENT ROW)")
    if ctx.combines and ctx.deletes:
        ctx.windows.append(f"life AS ({spread} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)")
    ctx.latest_columns = [
        *ctx.columns,
        *(f"_scd_at AS {name}" for name in added),
        *(["_scd_at"] if ctx.updated_at and not added else []),
        *(["_scd_deleted"] if ctx.deletes else []),
    ]
    new, old = ("n", "o") if spec.is_snapshot else ("s", "t")
    newer = f"{new}.{ctx.updated_at}" if added else f"{new}._scd_at"
    ctx.in_order = f"{newer} >= {old}.{ctx.updated_at}" if ctx.updated_at else None
    ctx.merge_on = [*equal(ctx.keys, "t", "s"), *ctx.in_partitions]
    pairs = [(name, comparable(name, kinds.get(name, ""))) for name in ctx.stored]

    def values_of(alias: str) -> str:
        return struct(shown.replace(name, f"{alias}.{name}", 1) for name, shown in pairs)

    ctx.same = f"{values_of('t')} <=> {values_of('s')}".replace("\n", "\n    ")
    ctx.same_rows = f"{values_of('o')} <=> {values_of('n')}"
    ctx.merged = {name: f"s.{name}" for name in ctx.stored}
    ctx.replaced = [f"{name} = {value}" for name, value in ctx.merged.items()]
    ctx.anew = None
    ctx.compared_values = aliased(ctx.stored, "n")
    ctx.removes_missing = spec.is_snapshot and spec.deletes == "remove"
    ctx.staging = "scd1_snapshot.sql.j2" if spec.is_snapshot else "scd1_changes.sql.j2"
    ctx.staged = spec.is_snapshot
    ctx.last_step = "staged" if spec.is_snapshot else "latest"
    if spec.is_snapshot:
        guard_snapshot(ctx, spec)
        ctx.not_gone = f"n.{ctx.keys[0]} IS NOT NULL"
        ctx.early = _early(ctx) if ctx.taken_at and ctx.removes_missing else None
        ctx.merge_title = "Makes the table equal to a full extract: one row per key."
    else:
        ctx.merge_title = "Keeps one row per key: the newest change."
    ctx.clauses = _clauses(ctx, spec)
    if ctx.combines:
        (combine_snapshot if spec.is_snapshot else combine_changes)(ctx, spec)


def _early(ctx: SimpleNamespace) -> str:
    """The refusal of a snapshot that is older than what it would remove."""
    early = "the snapshot was not taken after the time of a row that it would remove"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_updated_at'])})"
    return refusal(ctx.spec, "taken_at", early, "run snapshots in the order in which they were taken", sample)


def _clauses(ctx: SimpleNamespace, spec: Spec) -> list[SimpleNamespace]:
    """The WHEN clauses of scd1: when, what, why; ``test`` is the same for the plan, where t and s are joined."""

    def clause(does: str, why: str, matched: bool, *given: str | None) -> SimpleNamespace:
        return merge_clause(ctx, does, why, matched, [part for part in given if part], ctx.replaced)

    if spec.is_snapshot:
        gone = (
            [clause("delete", "A key that is gone.", True, "s._scd_action = 'delete'")] if ctx.removes_missing else []
        )
        update = [clause("update", "A key that has changed.", True)] if ctx.stored else []
        return [*gone, *update, clause("insert", "A new key.", False)]
    kept = "NOT s._scd_deleted" if ctx.deletes else None
    found = []
    if ctx.deletes:
        found.append(clause("delete", "A delete removes the row.", True, "s._scd_deleted", ctx.in_order))
    if ctx.stored:
        found.append(clause("update", "A row that holds other values.", True, kept, ctx.in_order, f"NOT ({ctx.same})"))
    return [*found, clause("insert", "A new key.", False, kept)]
