"""What changes, deletes, late rows and combined values mean for the rows of a table: the rules of one section."""

from __future__ import annotations

from scdgen.cli.explain_words import ALL, Rule

MEANING = (
    # Deletes
    Rule("source.delete_when", "2c", "A row for which {delete} is true is a delete of its key at its time; FALSE and "
         "NULL are no delete. The other values of a delete do not count.",
         ("in changes {deleted_sql} AS _scd_deleted",), lambda f: f.has_deletes),
    Rule("source.delete_when", "1c", "A row for which {delete} is true is a delete of its key; FALSE and NULL are no "
         "delete. The other values of a delete do not count.", ("in changes {deleted_sql} AS _scd_deleted",),
         lambda f: f.has_deletes),
    Rule("source.delete_when", "2c 1c", "No row is a delete.", (), lambda f: f.spec.source.delete_when is None),
    Rule("on_delete", "2c", "A delete closes the version that holds at its time; what comes after it opens the key "
         "again. A delete of a key that has no open version at that time does nothing.",
         ("in {ending} {ctx.next_start}",), lambda f: f.has_deletes and not f.marks),
    Rule("on_delete", "2c", "A delete is a version of its own: it has the values known last and {deleted} = true. A "
         "delete of a key that has no open version at that time does nothing.",
         ("step marked", "in staged _scd_deleted AS {quoted[deleted]}"),
         lambda f: f.has_deletes and f.marks and not f.ctx.keeps),
    Rule("on_delete", "2c", "Each delete is a version of its own: it has the values known last and {deleted} = true.",
         ("step marked", "in staged _scd_deleted AS {quoted[deleted]}"),
         lambda f: f.has_deletes and f.marks and f.ctx.keeps),
    Rule("on_delete", "2c", "{deleted} would be true in the version that a delete opens, but no row is a delete.",
         ("in staged _scd_deleted AS {quoted[deleted]}",), lambda f: not f.has_deletes and f.marks),
    Rule("on_delete", "2s", "A current key{within} that is missing from the snapshot closes when the snapshot was "
         "taken.", ("in compared WHEN {gone} THEN ARRAY('close')",), lambda f: f.spec.deletes == "close"),
    Rule("on_delete", "2s", "A current key{within} that is missing from the snapshot closes when the snapshot was "
         "taken, and a version with its last values and {deleted} = true opens there.",
         ("in compared WHEN {gone} THEN ARRAY('close', 'open')",), lambda f: f.marks),
    Rule("on_delete", "2s", "A key that is missing from the snapshot stays as it is.", ("in compared LEFT JOIN",),
         lambda f: f.spec.deletes == "ignore"),
    Rule("source.feed", "2s", "A key that comes back opens again, never before the time at which it was closed.",
         ("in versions GREATEST(_scd_at, _scd_until)",)),
    Rule("on_delete", "1c", "A key whose newest row is a delete loses its row.", ("when DELETE",),
         lambda f: f.has_deletes and not f.spec.updated_at),
    Rule("on_delete", "1c", "A key whose newest row is a delete loses its row, unless {updated_at} is later than the "
         "delete. Nothing remembers the delete: an older row that comes later makes the key's row anew.",
         ("when DELETE",), lambda f: f.has_deletes and f.spec.updated_at),
    Rule("on_delete", "1c", "What stands before a delete of its key does not count: neither earlier rows of the "
         "batch nor the stored row.", ("in ranked AS _scd_life", "when UPDATE _scd_anew"),
         lambda f: f.has_deletes and f.combines and not f.spec.updated_at),
    Rule("on_delete", "1c", "What stands before a delete of its key does not count: neither earlier rows of the "
         "batch nor the stored row, unless {updated_at} is later than the delete.",
         ("in ranked AS _scd_life", "when UPDATE _scd_anew"),
         lambda f: f.has_deletes and f.combines and f.spec.updated_at),
    Rule("on_delete", "1s", "A key of the table{within} that is missing from the snapshot loses its row.",
         ("when DELETE",), lambda f: f.spec.deletes == "remove"),
    Rule("on_delete", "1s", "A key that is missing from the snapshot keeps its row.", ("in compared LEFT JOIN",),
         lambda f: f.spec.deletes == "ignore"),
    Rule("snapshot.scope", "2s 1s", "A stored row for which {scope} is not true stays as it is when its key is "
         "missing; a row of the snapshot is merged wherever it lies.",
         ("find COALESCE({ctx.scope}, FALSE) AS _scd_in_scope",), lambda f: f.ctx.scope and f.spec.deletes != "ignore"),
    Rule("snapshot.scope", "2s 1s", "{scope} decides nothing: with `on_delete: ignore` missing keys stay anyway.",
         ("find COALESCE({ctx.scope}, FALSE) AS _scd_in_scope",), lambda f: f.ctx.scope and f.spec.deletes == "ignore"),
    Rule("snapshot.allow_empty", "2s 1s", "An empty snapshot is taken at its word: every key{within} is missing.", (),
         lambda f: f.snapshot.allow_empty and f.spec.deletes != "ignore"),
    Rule("snapshot.allow_empty", "2s 1s", "An empty snapshot changes nothing.", (),
         lambda f: f.snapshot.allow_empty and f.spec.deletes == "ignore"),
    # What opens a version
    Rule("unchanged", "2c", "A change opens a version where it differs from the state before it in {tracked}; NULL "
         "equals NULL. A change that changes nothing of that opens none, and a stored version that a late row makes "
         "redundant is folded into the one before it.", ("in {opening} AS _scd_opens", "in staged 'fold'"),
         lambda f: not f.ctx.keeps and f.ctx.tracked),
    Rule("unchanged", "2c", "No column is tracked: a version opens with the first row of a key, and with the first "
         "after a delete.", ("in {opening} AS _scd_opens",), lambda f: not f.ctx.keeps and not f.ctx.tracked),
    Rule("unchanged", "2c", "Every change is a version, even one that changes nothing, and none is folded: the table "
         "is the same whatever the order and the batches in which changes arrive, two rows of one key and time aside.",
         ("in {opening} AS _scd_opens",), lambda f: f.ctx.keeps and (f.marks or not f.has_deletes)),
    Rule("unchanged", "2c", "Every change is a version, even one that changes nothing, and none is folded: the table "
         "is the same whatever the order and the batches in which changes arrive, two rows of one key and time, and "
         "a delete that arrives before what it deletes, aside.", ("in {opening} AS _scd_opens",),
         lambda f: f.ctx.keeps and not f.marks and f.has_deletes),
    Rule("unchanged", "2s", "Where a current key differs from its open version in {tracked}, that closes and another "
         "opens; NULL equals NULL. Else none opens.",
         ("in compared WHEN {ctx.same_tracked} THEN ARRAY('correct')", "in compared ELSE ARRAY('close', 'open')"),
         lambda f: not f.ctx.keeps and f.ctx.tracked),
    Rule("unchanged", "2s", "No column is tracked: a version opens for a new key and for one that comes back.",
         ("in compared WHEN {ctx.same_tracked} THEN ARRAY('correct')",),
         lambda f: not f.ctx.keeps and not f.ctx.tracked),
    Rule("unchanged", "2s", "A row that is later than the open version opens one, even where it changes nothing; the "
         "same row again, not later than the open version, changes nothing.", ("in compared {ctx.same}",),
         lambda f: f.ctx.keeps),
    # Late rows, order
    Rule("late_arriving", "2c", "Late rows split, shorten or extend versions that are there; a row with the time of "
         "a stored version replaces it. The result is what replaying the table's own history and the batch together "
         "gives; the same batch again changes nothing.", ("step timeline", "in ranked ORDER BY _scd_rank"),
         lambda f: f.spec.late == "apply" and not f.moves),
    Rule("late_arriving", "2c", "Late rows split, shorten or extend versions that are there; a row with the time of "
         "a stored version replaces it. The result is what replaying the table's own history and the batch together "
         "gives; the same batch again changes nothing, but that an untracked value can be set back by a row in the "
         "middle of a version.", ("step timeline", "in ranked ORDER BY _scd_rank"),
         lambda f: f.spec.late == "apply" and f.moves),
    Rule("late_arriving", "2c", "Rows that are not later than the newest start or delete that the table knows of "
         "their key are dropped.", ("step newest", "in ranked _scd_at > _scd_newest"),
         lambda f: f.spec.late == "ignore"),
    Rule("late_arriving", "2s", "A row that is earlier than the open version of its key is dropped.",
         ("in compared WHEN n._scd_at < o._scd_from{ctx.and_live} THEN FALSE",),
         lambda f: f.has_time and f.spec.late == "ignore"),
    Rule("source.effective_at", "2s", "A row with the time of the open version corrects that version in place.",
         ("in compared WHEN n._scd_at = o._scd_from{ctx.and_live} THEN ARRAY('correct')",), lambda f: f.has_time),
    Rule("updated_at", "1c 1s", "{updated_at} holds the time of the row's newest change. A row of the source changes "
         "the stored one only where its time is not before that.", ("find {order_sql}",),
         lambda f: f.spec.updated_at and f.adds_time and not f.combines),
    Rule("updated_at", "1c 1s", "A row of the source changes the stored one only where its time is not before the "
         "stored {updated_at}.", ("find {order_sql}",),
         lambda f: f.spec.updated_at and not f.adds_time and not f.combines),
    Rule("updated_at", "1c 1s", "{updated_at} holds the time of the newest of the key's rows, in the batch and in "
         "the table.", ("find {order_sql}",), lambda f: f.spec.updated_at and f.combines and not f.oldest),
    Rule("updated_at", "1c 1s", "{updated_at} holds the time of the oldest of the key's rows, in the batch and in "
         "the table.", ("find {order_sql}",), lambda f: f.spec.updated_at and f.combines and f.oldest),
    Rule("updated_at", "1c 1s", "The table keeps no order across batches: what comes is taken as newer than what is "
         "stored.", (), lambda f: not f.spec.updated_at and f.ordered),
    Rule("conflicts", "2c 1c", "Of different rows of one {moment}{unordered} one is taken, each time the same: a "
         "delete before a row.", ("in ranked ORDER BY {ctx.rank_order}",),
         lambda f: f.spec.conflicts == "any" and f.has_deletes),
    Rule("conflicts", ALL, "Of different rows of one {moment}{unordered} one is taken, each time the same.",
         ("in ranked ORDER BY {ctx.rank_order}",), lambda f: f.spec.conflicts == "any" and not f.has_deletes),
    Rule("conflicts", "1c 1s", "No two rows of a key are in conflict: no column goes by their order.", (),
         lambda f: f.spec.conflicts == "fail" and not f.ordered),
)  # fmt: skip

# For each column.
BY_COLUMN = (
    Rule("columns.*.track", "2c", "A change of {named} alone opens no version; its newest value is written into the "
         "version in which it falls.", ("in versions LAST_VALUE({quoted_name}) OVER run AS {quoted_name}",),
         lambda f: not f.item.track and not f.ctx.keeps and not f.from_start),
    Rule("columns.*.track", "2s", "A change of {named} alone opens no version; the new value is written into the "
         "open one.", ("find {quoted_name} = s.{quoted_name}",),
         lambda f: not f.item.track and not f.ctx.keeps and not f.from_start),
    Rule("columns.*.track", "2c 2s", "{named} is untracked; with `unchanged: keep` each version has its own value "
         "all the same.", (), lambda f: not f.item.track and f.ctx.keeps and not f.from_start),
    Rule("columns.*.nulls", "2c", "A NULL in {named} means \"not given\": the key's value before it stays; after a "
         "delete it starts anew.", ("in given AS {quoted_name}",),
         lambda f: f.item.nulls == "ignore" and not f.from_start),
    Rule("columns.*.nulls", "2c", "A NULL in {named} means \"not given\": the key's value before it stays; after a "
         "delete it starts anew. The first known value also fills the versions before it that have NULL, since the "
         "key's first row or last delete.", ("in given AS {quoted_name}",),
         lambda f: f.item.nulls == "fill" and not f.from_start),
    Rule("columns.*.nulls", "2s", "A NULL in {named} means \"not given\": the value of the open version stays; after "
         "a delete it starts anew.", ("in compared o.{quoted_name}) ELSE n.{quoted_name} END AS {quoted_name}",),
         lambda f: f.item.nulls == "ignore" and not f.from_start),
    Rule("columns.*.nulls", "2s", "A NULL in {named} means \"not given\": the value of the open version stays; after "
         "a delete it starts anew. The first known value also fills the versions before it that have NULL, since the "
         "key's first row or last delete.", ("in filled AS {quoted_name}", "in compared AS _scd_fills"),
         lambda f: f.item.nulls == "fill" and not f.from_start),
    Rule("columns.*.merge", "1c 1s", "{named} is the {item.merge} value of the key's rows, in the batch and in the "
         "table; NULL does not count.", ("in {one} {aggregate}({quoted_name}",),
         lambda f: f.combines and not f.is_key and f.item.merge in ("min", "max") and f.spec.updated_at != f.name),
    Rule("columns.*.merge", "1c 1s", "{named} is the value of the key's newest row, in the batch and in the table.",
         ("in {one} MAX_BY({quoted_name}",),
         lambda f: f.combines and not f.is_key and f.item.merge == "last" and f.spec.updated_at != f.name),
    Rule("columns.*.merge", "1c 1s", "{named} is the value of the key's oldest row in the batch, and stays once it "
         "is stored.", ("in {one} MIN_BY({quoted_name}",),
         lambda f: f.combines and not f.is_key and f.item.merge == "first" and not (f.oldest
         and f.spec.updated_at) and f.spec.updated_at != f.name),
    Rule("columns.*.merge", "1c 1s", "{named} is the value of the key's oldest row, in the batch and in the table.",
         ("in {one} MIN_BY({quoted_name}",),
         lambda f: f.combines and not f.is_key and f.item.merge == "first" and f.oldest and f.spec.updated_at
         and f.spec.updated_at != f.name),
    Rule("columns.*.merge", "1c 1s", "{named} of a new key is the {item.merge} of its rows in the batch.",
         ("in {one} {aggregate}({quoted_name}",), lambda f: f.combines and f.spec.updated_at == f.name),
)  # fmt: skip
