"""The render context of scd2: one row per version, from changes or from snapshots."""

from __future__ import annotations

from types import SimpleNamespace

from scdgen import sql
from scdgen.patterns import source
from scdgen.patterns.columns import cast, comparable, hash_of, named, row_hash, struct
from scdgen.patterns.parts import aliased, any_order, conflict, equal, guard_snapshot, sequence_order
from scdgen.patterns.rename import with_column
from scdgen.patterns.source import refusal
from scdgen.patterns.times import Times
from scdgen.spec.model import Spec


def add_history(ctx: SimpleNamespace, spec: Spec) -> None:
    """What both feeds of scd2 share: the history columns and how a version is written."""
    times, history = Times(spec), spec.history
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    tracked = [sql.quote(n) for n, c in spec.columns.items() if c.track and n not in spec.keys]
    ctx.start = times.start
    ctx.derived = {sql.quote(name): (text, spec.columns[name].type) for name, text in source.derived(spec).items()}
    ctx.tracked = tracked
    # With unchanged: keep every change is a version, so that each has its own values.
    ctx.untracked = [] if spec.unchanged == "keep" else [name for name in ctx.values if name not in tracked]
    ctx.marks = spec.deletes == "mark"
    ctx.keeps = spec.unchanged == "keep"
    ctx.values_struct = struct(ctx.values)
    ctx.deleted_column = sql.quote(history.deleted) if history.deleted else None
    ctx.not_deleted = [f"NOT t.{ctx.deleted_column}"] if history.deleted else []
    ctx.until = times.until()
    ctx.is_open = times.is_open()
    ctx.valid_at = times.valid_at
    ctx.reachable = times.reachable(source.batch_bound(spec))
    # A value that becomes known fills versions which ended long ago, so that no bound holds with nulls: fill.
    bounds = [] if source.fills(spec) else [ctx.reachable]
    ctx.merge_on = [
        *equal(ctx.keys, "t", "s"),
        f"t.{times.start} = s.{times.start}",
        *bounds,
        *ctx.in_partitions,
    ]
    # Only a replay of a key's whole life tells what the action of a version was before a delete closed it.
    ctx.history_where = [*([] if history.action else bounds), *ctx.in_partitions]
    ctx.quoted = {option: sql.quote(name) for option, name in history.names()}
    ctx.all_columns = [*map(sql.quote, spec.columns), *ctx.quoted.values()]
    ctx.inserted = aliased(ctx.all_columns, "s")
    ctx.hash = row_hash((name, kinds[name]) for name in tracked)
    time = times.type
    ctx.surrogate = lambda start: hash_of([*((k, kinds[k]) for k in ctx.keys), (start, time)])
    told = aliased([*tracked, *([ctx.deleted_column] if ctx.deleted_column else [])], "t")  # what tells versions apart
    ctx.tracked_struct = struct(told)
    if ctx.keeps:
        ctx.run_end = struct([*told, f"{ctx.until} AS _scd_at"])
        ctx.run_start = struct([*told, f"t.{times.start} AS _scd_at"])
        firsts = {times.start, sql.quote(history.surrogate_key or ""), *ctx.derived}
        ctx.folded_columns = [
            f"r.{name}"
            if name in ctx.keys
            else f"{'MIN_BY' if name in firsts else 'MAX_BY'}(r.{name}, r.{times.start}) AS {name}"
            for name in ctx.all_columns
        ]
    ctx.compared = [comparable(name, kinds[name]) for name in ctx.values]
    ctx.times = times


def written_history(ctx: SimpleNamespace, start: str, next_start: str, action: str) -> list[str]:
    """The columns that a version has from its start and from what follows it."""
    pieces = {
        "surrogate_key": ctx.surrogate(start),
        "valid_from": start,
        "valid_to": ctx.times.written_end(next_start),
        "is_current": ctx.times.flag(next_start) if "is_current" in ctx.quoted else "",
        "row_hash": ctx.hash,
        "action": action,
        "deleted": ctx.deleted_value,
    }
    derived = [
        f"{cast(with_column(text, ctx.spec.history.valid_from, start), kind)} AS {name}"
        for name, (text, kind) in ctx.derived.items()
    ]
    return [*derived, *(f"{pieces[option]} AS {name}" for option, name in ctx.quoted.items())]


def add_changes(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: changes. See templates/scd2_changes.sql.j2 for the steps these pieces go into."""
    action = spec.history.action
    sequence = sequence_order(ctx.rows)
    ctx.rank_order = ", ".join(["_scd_rank ASC" if sequence else "_scd_rank", *sequence])
    if spec.conflicts == "any":
        ctx.rank_order += f", {any_order(ctx, source.flags_deletes(spec))}"
    ctx.winner = f"the greatest {', '.join(spec.source.sequence_by)} wins" if spec.source.sequence_by else None
    ctx.deletes = source.flags_deletes(spec)
    ctx.conflict = None if spec.conflicts == "any" else conflict(spec, "key and time", ["_scd_at"])
    ctx.content = struct([*(["_scd_deleted"] if ctx.deletes else []), *ctx.compared])
    _add_opening(ctx, spec)
    deleted = ["_scd_deleted"] if ctx.marks else []
    remembered = [*ctx.compared, *([sql.quote(action)] if action else []), *deleted]
    ctx.stored = struct([*remembered, "_scd_until AS _scd_next"])
    begins_deleted = f"COALESCE(t.{ctx.deleted_column}, FALSE)" if ctx.marks else "FALSE"
    ctx.points = ["2", f"t.{ctx.start}, {begins_deleted}, 2", f"{ctx.until}, TRUE, 3"]
    ctx.deleted_value = "_scd_deleted"
    became = "CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END"
    ctx.written = [*ctx.columns, *written_history(ctx, "_scd_at", "_scd_next", became)]
    ctx.now = struct([*ctx.compared, *([f"{became} AS {sql.quote(action)}"] if action else []), *deleted, "_scd_next"])
    ctx.late = spec.late
    late = "a row is not later than the newest start or delete of its key"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_at'])})"
    ctx.late_refusal = refusal(spec, "late", late, "set late_arriving: apply or ignore", sample)
    never_changes = (ctx.start, ctx.quoted.get("surrogate_key"))
    written = [*ctx.values, *ctx.quoted.values()]
    ctx.updated = [name for name in written if name not in never_changes]
    ctx.closed = ctx.updated
    ctx.assigned = [f"{name} = s.{name}" for name in ctx.updated]
    ctx.action_column = sql.quote(action) if action else None
    # The end of a version is found beside what it is for, where nothing else has to be found over the same rows.
    ctx.has_versions = bool(ctx.untracked or action)
    ctx.merge_title = (
        "Merges a batch of changes into the versions of its keys, in any order; the same batch again changes nothing."
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
        ctx.until,
        *aliased(action_columns, "t"),
        "_scd_rank",
    ]
    known = " AND ".join(source.known(spec))
    ctx.rank = f"IF({known}, 1, {source.changed(spec)})" if known else "1"
    ctx.latest_columns = [
        f"LAST_VALUE({name}) OVER run AS {name}" if name in ctx.untracked else name for name in ctx.columns
    ]


def _add_opening(ctx: SimpleNamespace, spec: Spec) -> None:
    """What opens a version, what ends one, and the values that a point has beside its own."""
    state = struct(["_scd_deleted", *ctx.tracked])
    differs = f"NOT (LAG({state}) OVER w <=> {state})"
    ctx.opens_why = "It opens a version where it differs from the state before it."
    if ctx.keeps:
        ctx.opens = "TRUE" if ctx.marks else "NOT _scd_deleted"
        ctx.opens_why = f"Each{'' if ctx.marks else ' that is no delete'} is a version."
    elif ctx.marks:
        ctx.opens = (
            "CASE\n    WHEN _scd_deleted THEN COALESCE(NOT LAG(_scd_deleted) OVER w, _scd_rank = 2)\n"
            f"    ELSE {differs}\nEND"
        )
    else:
        ctx.opens = f"NOT _scd_deleted AND {differs}"
    ctx.boundary = "_scd_opens" if ctx.marks else "_scd_opens OR _scd_deleted"
    if ctx.keeps:
        ctx.next_start, ctx.next_deleted = "LEAD(_scd_at) OVER", "LEAD(_scd_deleted) OVER w"
    else:
        lead = f"LEAD(CASE WHEN {ctx.boundary} THEN {{}} END) IGNORE NULLS OVER"
        ctx.next_start, ctx.next_deleted = lead.format("_scd_at"), f"{lead.format('_scd_deleted')} w"
    nulls = {sql.quote(name): column.nulls for name, column in spec.columns.items()}
    kinds = {sql.quote(name): column.type for name, column in spec.columns.items()}
    ctx.lives, ctx.fills = source.has_lives(spec), source.fills(spec)
    ctx.given_columns = [_given(name, nulls[name], kinds[name], ctx.marks) for name in ctx.columns]
    ctx.marked_columns = [
        f"CASE WHEN _scd_deleted THEN _scd_known.{name} ELSE {name} END AS {name}" if name in ctx.values else name
        for name in ctx.columns
    ]
    ctx.carried = ["_scd_at", "_scd_deleted", "_scd_stored", *(["_scd_rank", "_scd_oldest"] if ctx.marks else [])]
    ctx.before_runs = "marked" if ctx.marks else "opening" if ctx.lives else "points"


def _given(name: str, nulls: str, kind: str, marks: bool) -> str:
    """A column of a change, where NULL may mean "not given". The values of deletes say nothing."""
    if nulls == "value":
        return name
    known = f"CASE WHEN NOT _scd_deleted THEN {name} END"
    before = f"LAST_VALUE({known}) IGNORE NULLS OVER life"
    if nulls == "fill":
        # What the table knows of a time stays, where the batch's row of that time does not give it.
        stored = f"_scd_stored.{name}"
        if marks:  # the version of a delete knows nothing
            stored = f"CASE WHEN NOT _scd_stored._scd_deleted THEN {stored} END"
        first = known if "MAP<" in kind else f"CASE WHEN NOT _scd_deleted THEN COALESCE({name}, {stored}) END"
        before = (
            f"COALESCE(\n            {before},\n            FIRST_VALUE({first}) IGNORE NULLS OVER whole\n        )"
        )
    return f"CASE\n    WHEN _scd_deleted THEN {name}\n    ELSE {before}\nEND AS {name}"


def add_snapshot(ctx: SimpleNamespace, spec: Spec) -> None:
    """scd2, feed: snapshot. See templates/scd2_snapshot.sql.j2."""
    history = spec.history
    guard_snapshot(ctx, spec)
    ctx.rank_order = ", ".join(sequence_order(ctx.rows)) or ctx.key_list
    if spec.conflicts == "any":
        ctx.rank_order += f", {any_order(ctx, False)}{', _scd_at' if spec.source.effective_at else ''}"
    ctx.conflict = None if spec.conflicts == "any" else conflict(spec, "key", [])
    ctx.content = struct([*ctx.compared, *(["_scd_at"] if spec.source.effective_at else [])])
    ctx.closes_missing = spec.deletes in {"close", "mark"}
    ctx.own_time = spec.source.effective_at is not None
    ctx.late = spec.late
    nulls = {sql.quote(name): column.nulls for name, column in spec.columns.items()}
    # A version that lives on: neither closed nor the mark of a delete. Only its values stay where NULL is "not given".
    ctx.and_live = " AND NOT o._scd_was_deleted" if ctx.marks else ""
    live = f"o._scd_until IS NULL{ctx.and_live}"

    def now(name: str) -> str:
        """What the step "compared" names so, if it is not n.name alone."""
        gone = f"WHEN {ctx.gone} THEN o.{name} " if ctx.marks else ""
        stays = f"WHEN {live} THEN COALESCE(n.{name}, o.{name}) " if nulls[name] != "value" else ""
        return f"CASE {gone}{stays}ELSE n.{name} END AS {name}" if gone or stays else f"n.{name}"

    # The same, where it is compared, in other words: Spark rewrites a filter for each choice of the values that it has
    # and the SELECT names, so that its planning would double with each such column (see tests/unit/test_planning.py).
    def compared(name: str) -> str:
        return f"n.{name}" if nulls[name] == "value" else f"COALESCE(n.{name}, CASE WHEN {live} THEN o.{name} END)"

    ctx.compared_values = [now(name) for name in ctx.values]
    unknown = [name for name in ctx.values if nulls[name] == "fill"]

    def filled(name: str) -> str:
        return f"COALESCE(o.{name}, CASE WHEN {live} THEN n.{name} END)" if name in unknown else f"o.{name}"

    tracked = " <=> ".join(named((name, side(name)) for name in ctx.tracked) for side in (compared, filled))
    pairs = list(zip(ctx.values, ctx.compared, strict=True))
    new = named((name, shown.replace(name, compared(name), 1)) for name, shown in pairs)
    old = named((name, shown.replace(name, f"o.{name}", 1)) for name, shown in pairs)
    ctx.at = "n._scd_at" if ctx.own_time else "_scd_taken_at"
    ctx.same_tracked = f"NOT o._scd_was_deleted AND {tracked}" if ctx.marks else tracked
    ctx.same = f"NOT o._scd_was_deleted AND {new} <=> {old}" if ctx.marks else f"{new} <=> {old}"
    if ctx.keeps:  # each row is a version, save that the same row again is none
        ctx.same = f"{ctx.at} <= o._scd_from AND {ctx.same}"
    ctx.at_or_taken = "COALESCE(n._scd_at, _scd_taken_at)" if ctx.own_time else "_scd_taken_at"
    if ctx.own_time and ctx.marks:  # a key comes back after its delete, whatever its row says
        ctx.at_or_taken = (
            "CASE\n    WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at\n"
            "    ELSE COALESCE(n._scd_at, _scd_taken_at)\nEND"
        )
    kind = (
        "CASE\n    WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL"
        f"{' OR _scd_was_deleted' if ctx.marks else ''}) THEN 'I'\n"
        "    WHEN _scd_action = 'close' AND _scd_gone THEN 'D'\n"
        "    WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'\n    ELSE _scd_was\nEND"
    )
    ctx.deleted_value = "_scd_gone"
    ctx.written = [*ctx.columns, *written_history(ctx, "_scd_start", "_scd_next", kind)]
    ctx.fills = bool(unknown)
    if unknown:
        _add_filling(ctx, unknown, live)
    ctx.closed = [name for option, name in ctx.quoted.items() if option in {"valid_to", "is_current", "action"}]
    hashes = [ctx.quoted["row_hash"]] if history.row_hash else []
    ctx.closing_assigned = [f"{name} = s.{name}" for name in ctx.closed]
    ctx.updated = [*ctx.values, *ctx.closed, *hashes, *([ctx.deleted_column] if ctx.marks else [])]
    ctx.assigned = [f"{name} = s.{name}" for name in ctx.updated]
    ctx.action_column = ctx.quoted.get("action")
    ctx.merge_title = "Merges a full extract: new keys open, changed keys close and open, missing keys close."
    ctx.folds = False
    ctx.staging = "scd2_snapshot.sql.j2"
    ctx.stored_columns = [
        *aliased(ctx.columns, "t"),
        f"t.{ctx.start} AS _scd_from",
        f"{ctx.until} AS _scd_until",
        *([f"t.{ctx.action_column} AS _scd_was"] if history.action else []),
        *([f"COALESCE(t.{ctx.deleted_column}, FALSE) AS _scd_was_deleted"] if ctx.marks else []),
        *([f"COALESCE({ctx.scope}, FALSE) AS _scd_in_scope"] if ctx.scope else []),
        f"ROW_NUMBER() OVER (PARTITION BY {', '.join(aliased(ctx.keys, 't'))} ORDER BY t.{ctx.start} DESC) AS _scd_row",
    ]
    early = "the snapshot was not taken after the start of a version that it would close"
    sample = f"TO_JSON({struct([*ctx.keys, '_scd_from'])})"
    ctx.early = refusal(spec, "taken_at", early, "run snapshots in the order in which they were taken", sample)
    late = "a row is earlier than the open version of its key"
    sample = f"TO_JSON({struct([*aliased(ctx.keys, 'n'), 'n._scd_at'])})"
    ctx.late_refusal = refusal(spec, "late", late, "mend effective_at or set late_arriving: ignore", sample)


def _add_filling(ctx: SimpleNamespace, unknown: list[str], live: str) -> None:
    """nulls: fill of a snapshot: what becomes known is written into the versions since the key's last delete."""
    becomes_known = " OR ".join(f"o.{name} IS NULL AND n.{name} IS NOT NULL" for name in unknown)
    ctx.becomes_known = f"NOT ({ctx.new}) AND {live}\n    AND ({becomes_known})"
    ctx.life_columns = [
        *aliased(ctx.columns, "t"),
        f"t.{ctx.start} AS _scd_from",
        f"{ctx.until} AS _scd_until",
        *([f"t.{ctx.quoted['action']} AS _scd_was"] if "action" in ctx.quoted else []),
    ]
    deleted = f" OR COALESCE(t.{ctx.deleted_column}, FALSE)" if ctx.marks else ""
    ctx.ends_life = f"NOT ({ctx.until} <=> LAG(t.{ctx.start}) OVER w){deleted}"
    ctx.newest_first = f"PARTITION BY {', '.join(aliased(ctx.keys, 't'))} ORDER BY t.{ctx.start} DESC"
    ctx.filled_columns = [
        f"COALESCE(l.{name}, c.{name}) AS {name}" if name in unknown else f"l.{name}" for name in ctx.columns
    ]
    ctx.same_life = "\n        AND ".join(equal(ctx.keys, "l", "c"))
    ctx.deleted_value = "FALSE"
    ctx.written_filled = [*ctx.columns, *written_history(ctx, "_scd_from", "_scd_until", "_scd_was")]
