"""The render context of scd2: one row per version, from changes or from snapshots."""

from __future__ import annotations

from types import SimpleNamespace

from scdgen import source, sql
from scdgen.columns import comparable, hash_of, struct
from scdgen.context_parts import aliased, conflict, equal, guard_snapshot, sequence_order
from scdgen.source import refusal
from scdgen.spec import Spec
from scdgen.times import Times


def add_history(ctx: SimpleNamespace, spec: Spec) -> None:
    """What both feeds of scd2 share: the history columns and how a version is written."""
    times, history = Times(spec), spec.history
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    tracked = [sql.quote(n) for n, c in spec.columns.items() if c.track and n not in spec.keys]
    ctx.start, ctx.end = times.start, times.end
    ctx.tracked = tracked
    ctx.untracked = [name for name in ctx.values if name not in tracked]
    ctx.until = times.until()
    ctx.is_open = times.is_open()
    ctx.valid_at = times.valid_at
    bound = source.batch_bound(spec)
    ctx.reachable = times.reachable(bound)
    ctx.merge_on = [
        *equal(ctx.keys, "t", "s"),
        f"t.{times.start} = s.{times.start}",
        ctx.reachable,
        *ctx.in_partitions,
    ]
    # Only a replay of a key's whole life tells what the action of a version was before a delete closed it.
    ctx.history_where = [*([] if history.action else [ctx.reachable]), *ctx.in_partitions]
    ctx.history_order = [sql.quote(name) for _, name in history.names()]
    ctx.all_columns = [*ctx.columns, *ctx.history_order]
    ctx.hash = hash_of((name, kinds[name]) for name in tracked)
    time = times.type
    ctx.surrogate = lambda start: hash_of([*((k, kinds[k]) for k in ctx.keys), (start, time)])
    ctx.tracked_struct = struct(aliased(tracked, "t"))
    ctx.compared = [comparable(name, kinds[name]) for name in ctx.values]
    ctx.open_flag = times.flag_of(True) if history.is_current else None
    ctx.times = times
    ctx.quoted = {option: sql.quote(name) for option, name in history.names()}


def written_history(ctx: SimpleNamespace, start: str, next_start: str, action: str) -> list[str]:
    """The history columns of a version, from its start and what follows it."""
    pieces = {
        "surrogate_key": ctx.surrogate(start),
        "valid_from": start,
        "valid_to": ctx.times.written_end(next_start),
        "is_current": ctx.times.flag(next_start) if "is_current" in ctx.quoted else "",
        "row_hash": ctx.hash,
        "action": action,
    }
    return [f"{pieces[option]} AS {name}" for option, name in ctx.quoted.items()]


def add_changes(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: changes. See templates/scd2_changes.sql.j2 for the steps these pieces go into."""
    action = spec.history.action
    ctx.rank_order = ", ".join(["_scd_rank", *sequence_order(ctx.rows)])
    if spec.conflicts == "any" and source.flags_deletes(spec):
        ctx.rank_order += ", _scd_deleted DESC"
    ctx.winner = f"the greatest {', '.join(spec.source.sequence_by)} wins" if spec.source.sequence_by else None
    ctx.deletes = source.flags_deletes(spec)
    ctx.conflict = None if spec.conflicts == "any" else conflict(spec, "key and time", ["_scd_at"])
    ctx.content = struct([*(["_scd_deleted"] if ctx.deletes else []), *ctx.compared])
    ctx.state = struct(["_scd_deleted", *ctx.tracked])
    remembered = [*ctx.compared, *([sql.quote(action)] if action else [])]
    ctx.stored = struct([*remembered, "_scd_until"])
    became = "CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END"
    ctx.written = [*ctx.columns, *written_history(ctx, "_scd_at", "_scd_next", became)]
    ctx.now = struct([*ctx.compared, *([became] if action else []), "_scd_next"])
    ctx.late = spec.late
    late = "a row is not later than the newest start or delete of its key"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_at'])})"
    ctx.late_refusal = refusal(spec, "late", late, "set late_arriving: apply or ignore", sample)
    ctx.updated = [
        n for n in [*ctx.values, *ctx.history_order] if n not in (ctx.start, ctx.quoted.get("surrogate_key"))
    ]
    ctx.assigned = [f"{name} = s.{name}" for name in ctx.updated]
    ctx.action_column = sql.quote(action) if action else None
    ctx.merge_title = (
        "Merges a batch of changes into the versions of its keys, in any order; a batch again changes nothing."
    )
    ctx.folds = True
    ctx.staging = "scd2_changes.sql.j2"
    action_columns = [ctx.action_column] if action else []
    ctx.no_action = [f"NULL AS {name}" for name in action_columns]
    ctx.stored_columns = [
        *aliased(ctx.columns, "t"),
        "_scd_at",
        "_scd_deleted",
        *("NULL" for _ in ctx.rows.sequence),
        "_scd_rank",
        ctx.until,
        *aliased(action_columns, "t"),
    ]
    ctx.latest_columns = [
        f"LAST_VALUE({name}) OVER run AS {name}" if name in ctx.untracked else name for name in ctx.columns
    ]


def add_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: snapshot. See templates/scd2_snapshot.sql.j2."""
    history = spec.history
    guard_snapshot(ctx, spec)
    ctx.rank_order = ", ".join(sequence_order(ctx.rows)) or ctx.key_list
    ctx.conflict = None if spec.conflicts == "any" else conflict(spec, "key", [])
    ctx.content = struct([*ctx.compared, *(["_scd_at"] if spec.source.effective_at else [])])
    ctx.closes_missing = spec.deletes == "close"
    ctx.own_time = spec.source.effective_at is not None
    ctx.late = spec.late
    ctx.same_tracked = f"{struct(aliased(ctx.tracked, 'n'))} <=> {struct(aliased(ctx.tracked, 'o'))}"
    compared = [name.replace(raw, f"{{}}.{raw}", 1) for raw, name in zip(ctx.values, ctx.compared, strict=True)]
    ctx.same = " <=> ".join(struct(part.format(alias) for part in compared) for alias in "no")
    kind = (
        "CASE\n    WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL) THEN 'I'\n"
        "    WHEN _scd_gone THEN 'D'\n    WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'\n    ELSE _scd_was\nEND"
    )
    ctx.written = [*ctx.columns, *written_history(ctx, "_scd_start", "_scd_next", kind)]
    ends = [name for option, name in ctx.quoted.items() if option in {"valid_to", "is_current", "action"}]
    hashes = [ctx.quoted["row_hash"]] if history.row_hash else []
    ctx.closing_assigned = [f"{name} = s.{name}" for name in ends]
    ctx.assigned = [f"{name} = s.{name}" for name in [*ctx.values, *ends, *hashes]]
    ctx.action_column = ctx.quoted.get("action")
    ctx.merge_title = "Merges a full extract: new keys open, changed keys close and open, missing keys close."
    ctx.folds = False
    ctx.staging = "scd2_snapshot.sql.j2"
    ctx.stored_columns = [
        *aliased(ctx.columns, "t"),
        f"t.{ctx.start} AS _scd_from",
        f"{ctx.until} AS _scd_until",
        *([f"t.{ctx.action_column} AS _scd_was"] if history.action else []),
        *([f"COALESCE({ctx.scope}, FALSE) AS _scd_in_scope"] if ctx.scope else []),
        f"ROW_NUMBER() OVER (PARTITION BY {', '.join(aliased(ctx.keys, 't'))} ORDER BY t.{ctx.start} DESC) AS _scd_row",
    ]
    early = "the snapshot was not taken after the start of a version that it would close"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_from'])})"
    ctx.early = refusal(spec, "taken_at", early, "run snapshots in the order in which they were taken", sample)
    ctx.at = "n._scd_at" if ctx.own_time else "_scd_taken_at"
    late = "a row is earlier than the open version of its key"
    sample = f"TO_JSON({struct([*aliased(ctx.keys, 'n'), 'n._scd_at'])})"
    ctx.late_refusal = refusal(spec, "late", late, "mend effective_at or set late_arriving: ignore", sample)
