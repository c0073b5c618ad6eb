"""From a spec to what the templates print: names quoted, predicates whole, lists in order. Logic ends here."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from scdgen import source, sql
from scdgen.checks import checks
from scdgen.columns import comparable, hash_of, struct, target_columns
from scdgen.source import refusal
from scdgen.spec import Snapshot, Spec
from scdgen.times import Times


def build(spec: Spec) -> SimpleNamespace:
    """The whole context of one spec, for every template of its pattern."""
    ctx = _common(spec)
    if spec.is_scd2:
        _add_history(ctx, spec)
        (_add_snapshot if spec.is_snapshot else _add_changes)(ctx, spec)
    else:
        _add_current(ctx, spec)
    _add_views(ctx, spec)
    ctx.checks = checks(ctx, spec)
    return ctx


def aliased(names: Sequence[str], alias: str) -> list[str]:
    """Names qualified by an alias.

    >>> aliased(["`a`"], "t")
    ['t.`a`']
    """
    return [f"{alias}.{name}" for name in names]


def equal(names: Sequence[str], left: str, right: str, operator: str = "=") -> list[str]:
    """Column by column comparisons between two aliases."""
    return [f"{left}.{name} {operator} {right}.{name}" for name in names]


def _common(spec: Spec) -> SimpleNamespace:
    """Names and settings that every statement of a spec uses."""
    params, needed = source.param_variables(spec)
    keys = [sql.quote(key) for key in spec.keys]
    values = [sql.quote(name) for name in spec.columns if name not in spec.keys]
    properties = {"delta.enableDeletionVectors": "true", **spec.table.properties}
    batch = source.batch_variables(spec)
    names = [variable.name for variable in batch]
    return SimpleNamespace(
        spec=spec,
        target=sql.quote_parts(spec.target_parts),
        schema=sql.quote_parts(spec.target_parts[:-1]) if len(spec.target_parts) > 1 else None,
        description=spec.description,
        description_literal=sql.text_literal(spec.description) if spec.description else None,
        origin=spec.origin,
        params=params,
        needed=needed,
        batch=batch,
        batch_names=f"({', '.join(names)})" if len(names) > 1 else "".join(names),
        taken_at=source.taken_at(spec),
        batch_where=source.predicates(spec, skip_bad=False),
        rows=source.rows(spec, "extract" if spec.is_snapshot else "changes"),
        keys=keys,
        keys_text=", ".join(spec.keys),
        values=values,
        columns=[sql.quote(name) for name in spec.columns],
        table_columns=target_columns(spec),
        key_list=", ".join(keys),
        key_json=f"TO_JSON({struct(keys)})",
        same_key=equal(keys, "t", "c"),
        empty=None,
        in_partitions=source.in_partitions(spec),
        partitioned_by=", ".join(map(sql.quote, spec.table.partition_by)),
        clustered_by=", ".join(map(sql.quote, spec.table.cluster_by)),
        location=sql.text_literal(spec.table.location) if spec.table.location else None,
        properties=[(sql.text_literal(k), sql.text_literal(v)) for k, v in _with_stats(spec, properties).items()],
        comment=lambda text: f" COMMENT {sql.text_literal(text)}" if text else "",
    )


def _with_stats(spec: Spec, properties: dict[str, str]) -> dict[str, str]:
    """Delta keeps the least and greatest value of 32 columns: in a wide table, name those that files are skipped by."""
    wanted = "delta.dataSkippingStatsColumns"
    if len(spec.columns) <= 26 or wanted in properties or not spec.is_scd2:
        return properties
    names = [*spec.keys, spec.history.valid_from, spec.history.valid_to, *spec.table.cluster_by]
    return {**properties, wanted: ",".join(dict.fromkeys(map(sql.quote, names)))}


def _add_views(ctx: SimpleNamespace, spec: Spec) -> None:
    """The views and the table function, where the spec names them."""
    current, as_of = spec.views.current, spec.views.as_of
    ctx.view_current = sql.quote_parts(sql.split_name(current)) if current else None
    ctx.current_where = [ctx.is_open] if spec.is_scd2 else []
    ctx.view_as_of = None
    if as_of:
        parts = sql.split_name(as_of)
        ctx.view_as_of = sql.quote_parts(parts)
        ctx.as_of_where = ctx.times.valid_at(f"{sql.quote(parts[-1])}.at")
        ctx.example_time = {"BIGINT": "1"}.get(ctx.times.type, f"{ctx.times.type} '2024-01-01'")


def _sequence_order(rows: source.Rows) -> list[str]:
    return [f"{name} DESC" for name in rows.sequence]


def _conflict(spec: Spec, what: str, at: Sequence[str]) -> str:
    hint = "mend the source, order them by source.sequence_by or set conflicts: any"
    sample = f"TO_JSON({struct([*map(sql.quote, spec.keys), *at])})"
    return refusal(spec, "conflict", f"two different rows of one {what}", hint, sample)


def _add_history(ctx: SimpleNamespace, spec: Spec) -> None:
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


def _written(ctx: SimpleNamespace, start: str, next_start: str, action: str) -> list[str]:
    """The history columns of a version, from its start and what follows it."""
    pieces = {
        "surrogate_key": lambda: ctx.surrogate(start),
        "valid_from": lambda: start,
        "valid_to": lambda: ctx.times.written_end(next_start),
        "is_current": lambda: ctx.times.flag(next_start),
        "row_hash": lambda: ctx.hash,
        "action": lambda: action,
    }
    return [f"{pieces[option]()} AS {name}" for option, name in ctx.quoted.items()]


def _add_changes(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: changes. See templates/scd2_changes.sql.j2 for the steps these pieces go into."""
    action = spec.history.action
    ctx.rank_order = ", ".join(["_scd_rank", *_sequence_order(ctx.rows)])
    if spec.conflicts == "any" and source.flags_deletes(spec):
        ctx.rank_order += ", _scd_deleted DESC"
    ctx.winner = f"the greatest {', '.join(spec.source.sequence_by)} wins" if spec.source.sequence_by else None
    ctx.deletes = source.flags_deletes(spec)
    ctx.conflict = None if spec.conflicts == "any" else _conflict(spec, "key and time", ["_scd_at"])
    ctx.content = struct([*(["_scd_deleted"] if ctx.deletes else []), *ctx.compared])
    ctx.state = struct(["_scd_deleted", *ctx.tracked])
    remembered = [*ctx.compared, *([sql.quote(action)] if action else [])]
    ctx.stored = struct([*remembered, "_scd_until"])
    became = "CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END"
    ctx.written = [*ctx.columns, *_written(ctx, "_scd_at", "_scd_next", became)]
    ctx.now = struct([*ctx.compared, *([became] if action else []), "_scd_next"])
    ctx.late = spec.late
    late = "a row is not later than the newest start or delete of its key"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_at'])})"
    ctx.late_refusal = refusal(spec, "late", late, "set late_arriving: apply or ignore", sample)
    ctx.updated = [n for n in [*ctx.values, *ctx.history_order] if n not in (ctx.start, ctx.quoted.get("surrogate_key"))]
    ctx.assigned = [f"{name} = s.{name}" for name in ctx.updated]
    ctx.action_column = sql.quote(action) if action else None
    ctx.merge_title = "Merges a batch of changes into the versions of its keys, in any order; a batch again changes nothing."
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


def _guard_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """What both patterns do with a full extract: join it with what is stored, and refuse one that cannot be whole."""
    snapshot = spec.snapshot or Snapshot()
    ctx.join = "\n        AND ".join(equal(ctx.keys, "n", "o"))
    ctx.gone, ctx.new = f"n.{ctx.keys[0]} IS NULL", f"o.{ctx.keys[0]} IS NULL"
    ctx.scope = sql.expression(snapshot.scope).text if snapshot.scope else None
    if not snapshot.allow_empty:
        # In the place of a key, because a column that nothing reads is never worked out.
        place = list(spec.columns).index(spec.keys[0])
        stop = refusal(spec, "empty_snapshot", "the snapshot is empty", "set snapshot.allow_empty: true if that is right")
        nulls = [", ".join(["NULL"] * count) for count in (place, len(ctx.rows.select) - place - 1)]
        ctx.empty = ",\n".join(part for part in (nulls[0], stop, nulls[1]) if part)
    ctx.max_deleted = snapshot.max_deleted if snapshot.max_deleted < 1 else None
    share = f"{snapshot.max_deleted:.6g}"
    too_many = f"the snapshot would close more than {share} of the current keys"
    ctx.too_many = refusal(spec, "max_deleted", too_many, "raise snapshot.max_deleted if that is right")


def _add_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: snapshot. See templates/scd2_snapshot.sql.j2."""
    history = spec.history
    _guard_snapshot(ctx, spec)
    ctx.rank_order = ", ".join(_sequence_order(ctx.rows)) or ctx.key_list
    ctx.conflict = None if spec.conflicts == "any" else _conflict(spec, "key", [])
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
    ctx.written = [*ctx.columns, *_written(ctx, "_scd_start", "_scd_next", kind)]
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


def _add_current(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd1: one row per key, for both feeds. See templates/scd1_changes.sql.j2 and scd1_snapshot.sql.j2."""
    has_time = spec.source.effective_at is not None
    ctx.deletes = source.flags_deletes(spec)
    order = [*(["_scd_at DESC"] if has_time else []), *_sequence_order(ctx.rows)]
    order += ["_scd_deleted DESC"] if spec.conflicts == "any" and ctx.deletes else []
    ctx.rank_order = ", ".join(order) or ctx.key_list
    ctx.conflict = None
    if spec.conflicts == "fail":
        ctx.conflict = _conflict(spec, "key and time" if has_time else "key", ["_scd_at"] if has_time else [])
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    ctx.updated_at = sql.quote(spec.updated_at) if spec.updated_at else None
    added = [ctx.updated_at] if spec.updated_at and spec.updated_at not in spec.columns else []
    ctx.stored = [*ctx.values, *added]
    ctx.all_columns = [*ctx.columns, *added]
    ctx.content = struct(
        [*(["_scd_deleted"] if ctx.deletes else []), *(comparable(name, kinds[name]) for name in ctx.values)]
    )
    ctx.latest_columns = [
        *ctx.columns,
        *(f"_scd_at AS {name}" for name in added),
        *(["_scd_at"] if ctx.updated_at and not added else []),
        *(["_scd_deleted"] if ctx.deletes else []),
    ]
    newer = f"s.{ctx.updated_at}" if added else "s._scd_at"
    ctx.in_order = f"{newer} >= t.{ctx.updated_at}" if ctx.updated_at else None
    ctx.merge_on = [*equal(ctx.keys, "t", "s"), *ctx.in_partitions]
    pairs = [(name, comparable(name, kinds.get(name, ""))) for name in ctx.stored]

    def values_of(alias: str) -> str:
        return struct(shown.replace(name, f"{alias}.{name}", 1) for name, shown in pairs)

    ctx.same = f"{values_of('t')} <=> {values_of('s')}".replace("\n", "\n    ")
    ctx.same_rows = f"{values_of('o')} <=> {values_of('n')}"
    ctx.assigned = [f"{name} = s.{name}" for name in ctx.stored]
    ctx.removes_missing = spec.is_snapshot and spec.deletes == "remove"
    ctx.staging = "scd1_snapshot.sql.j2" if spec.is_snapshot else "scd1_changes.sql.j2"
    ctx.staged = spec.is_snapshot
    ctx.last_step = "staged" if spec.is_snapshot else "latest"
    if spec.is_snapshot:
        _guard_snapshot(ctx, spec)
        ctx.not_gone = f"n.{ctx.keys[0]} IS NOT NULL"
        ctx.merge_title = "Makes the table equal to a full extract: one row per key."
    else:
        ctx.merge_title = "Keeps one row per key: the newest change."
    ctx.clauses = _clauses(ctx, spec)


def _clauses(ctx: SimpleNamespace, spec: Spec) -> list[SimpleNamespace]:
    """The WHEN clauses of scd1: when, what, why; ``test`` is the same for the plan, where t and s are joined."""

    def clause(does: str, why: str, matched: bool, *conditions: str | None) -> SimpleNamespace:
        given = [condition for condition in conditions if condition]
        exists = f"t.{ctx.keys[0]} IS {'NOT ' if matched else ''}NULL"
        when = "\n    AND ".join(["WHEN MATCHED" if matched else "WHEN NOT MATCHED", *given])
        return SimpleNamespace(does=does, why=why, when=when, test="\n    AND ".join([exists, *given]))

    if spec.is_snapshot:
        gone = [clause("delete", "A key that is gone.", True, "s._scd_action = 'delete'")] if ctx.removes_missing else []
        update = [clause("update", "A key that has changed.", True)] if ctx.stored else []
        return [*gone, *update, clause("insert", "A new key.", False)]
    kept = "NOT s._scd_deleted" if ctx.deletes else None
    found = []
    if ctx.deletes:
        found.append(clause("delete", "A delete removes the row.", True, "s._scd_deleted", ctx.in_order))
    if ctx.stored:
        found.append(
            clause("update", "A row that holds other values.", True, kept, ctx.in_order, f"NOT ({ctx.same})")
        )
    return [*found, clause("insert", "A new key.", False, kept)]
