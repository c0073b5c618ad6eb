"""What stops a run, and how rows are written: the rules of two sections."""

from __future__ import annotations

from scdgen.cli.explain_words import ALL, Rule

REFUSED = (
    Rule("bad_rows", ALL, "null_key: a row with a NULL in {keys}.", ("stop null_key",),
         lambda f: f.spec.bad_rows == "fail"),
    Rule("bad_rows", ALL, "null_time: a row with a NULL in `effective_at`.",
         ("stop null_time effective_at is NULL in",),
         lambda f: f.has_time and f.spec.bad_rows == "fail" and not f.ends_by_literal),
    Rule("bad_rows", "2c 2s", "null_time: a row with a NULL in `effective_at`, or with a time that is not before the "
         "open end {open_end}.", ("stop null_time effective_at is NULL, or",),
         lambda f: f.has_time and f.spec.bad_rows == "fail" and f.ends_by_literal),
    Rule("history.open_end", "2c 2s", "null_time: a row with an `effective_at` that is not before the open end "
         "{open_end}.", ("stop null_time effective_at is NULL, or",),
         lambda f: f.has_time and f.spec.bad_rows == "skip" and f.ends_by_literal),
    Rule("snapshot.taken_at", "2s 1s", "null_time: a `taken_at` that is NULL.", ("stop null_time snapshot.taken_at",),
         lambda f: f.ctx.taken_at and not f.ends_by_literal),
    Rule("snapshot.taken_at", "2s", "null_time: a `taken_at` that is NULL, or not before the open end {open_end}.",
         ("stop null_time snapshot.taken_at",), lambda f: f.ends_by_literal),
    Rule("history.gap", "2c 2s", "gap: a row whose `effective_at` comes {gap} after a change of the session's clock, "
         "so that the end before it would be read as another time.", ("stop gap effective_at",),
         lambda f: f.has_time and f.ctx.times.astray("")),
    Rule("history.gap", "2s", "gap: a `taken_at` that comes {gap} after a change of the session's clock, so that "
         "the end before it would be read as another time.", ("stop gap snapshot.taken_at",),
         lambda f: f.ctx.taken_at and f.ctx.times.astray("")),
    Rule("source", ALL, "source_changed: a row that came into the source after the statement before the MERGE had "
         "read it, and may need more of the target than that statement found.", ("stop source_changed",),
         lambda f: f.ctx.batch),
    Rule("params.last_run", "2c 2s", "null_time: a param `last_run` that is NULL.",
         ("stop null_time the param last_run",), lambda f: f.by_run and "last_run" in f.spec.params),
    Rule("conflicts", "2c 1c", "conflict: two different rows of one {moment}{unordered}. A delete and a row differ; "
         "two deletes do not.", ("stop conflict",), lambda f: f.ctx.conflict and f.has_deletes),
    Rule("conflicts", ALL, "conflict: two different rows of one {moment}{unordered}.", ("stop conflict",),
         lambda f: f.ctx.conflict and not f.has_deletes),
    Rule("late_arriving", "2c", "late: a row that is not later than the newest start or delete that the table knows "
         "of its key.", ("stop late",), lambda f: f.spec.late == "fail"),
    Rule("late_arriving", "2s", "late: a row that is earlier than the open version of its key.", ("stop late",),
         lambda f: f.has_time and f.spec.late == "fail"),
    Rule("snapshot.allow_empty", "2s 1s", "empty_snapshot: a snapshot without a row.", ("stop empty_snapshot",),
         lambda f: not f.snapshot.allow_empty),
    Rule("snapshot.max_deleted", "2s", "max_deleted: a snapshot from which more than {share} of the current "
         "keys{within} are missing.", ("stop max_deleted",),
         lambda f: f.snapshot.max_deleted < 1 and f.spec.deletes != "ignore"),
    Rule("snapshot.max_deleted", "1s", "max_deleted: a snapshot from which more than {share} of the keys{within} are "
         "missing.", ("stop max_deleted",), lambda f: f.snapshot.max_deleted < 1 and f.spec.deletes != "ignore"),
    Rule("snapshot.max_deleted", "2s 1s", "max_deleted ({share}) never stops this run: with `on_delete: ignore` no "
         "key closes.", ("stop max_deleted",), lambda f: f.snapshot.max_deleted < 1 and f.spec.deletes == "ignore"),
    Rule("snapshot.taken_at", "2s", "taken_at: a snapshot that was not taken after the start of a version that it "
         "would close.", ("stop taken_at",)),
    Rule("snapshot.taken_at", "1s", "taken_at: a snapshot that was not taken after the {updated_at} of a row that it "
         "would remove.", ("stop taken_at",), lambda f: f.ctx.early),
    Rule("schema_evolution", ALL, "Before the MERGE `scdgen run` holds the table against the spec: other keys, "
         "history, tracked columns or types stop it, and so does a column that the table lacks.", (),
         lambda f: f.spec.schema_evolution == "fail"),
    Rule("schema_evolution", ALL, "Before the MERGE `scdgen run` holds the table against the spec: other keys, "
         "history, tracked columns or types stop it. A column that is new in the spec is added; stored rows hold "
         "NULL in it.", (), lambda f: f.spec.schema_evolution == "add_columns"),
)  # fmt: skip

STORED = (
    Rule("history.type", "2c 2s", "Times are {time}, in the session's time zone.",
         ("create {quoted[valid_from]} {time}",), lambda f: f.time != "BIGINT"),
    Rule("history.type", "2c 2s", "Times are {time}: sequence numbers.", ("create {quoted[valid_from]} {time}",),
         lambda f: f.time == "BIGINT"),
    Rule("history.valid_from", "2c 2s", "{valid_from} is the start of a version, inclusive.",
         ("in staged AS {quoted[valid_from]}",)),
    Rule("history.valid_to", "2c 2s", "{valid_to} is the end of a version.", ("in staged AS {quoted[valid_to]}",)),
    Rule("history.gap", "2c 2s", "An end is the very time of the next version or delete: a version is valid at a "
         "time from {valid_from} on and before {valid_to}.", ("in staged AS {quoted[valid_to]}",),
         lambda f: f.spec.history.gap is None),
    Rule("history.gap", "2c 2s", "An end is {gap} before the next version or delete.",
         ("in staged AS {quoted[valid_to]}",), lambda f: f.spec.history.gap is not None),
    Rule("history.open_end", "2c 2s", "An open version has NULL in {valid_to}.", ("in staged AS {quoted[valid_to]}",),
         lambda f: not f.by_run and not f.ends_by_literal),
    Rule("history.open_end", "2c 2s", "An open version has {open_end} in {valid_to}.",
         ("in staged AS {quoted[valid_to]}",), lambda f: f.ends_by_literal),
    Rule("history.open_end", "2c 2s", "An open version has the time of the last run in {valid_to}; {flag_name} tells "
         "that it is open. Each run writes its time there, for keys outside of the batch too.",
         ("var _scd_last_run", "in staged AS {quoted[valid_to]}", "when UPDATE SOURCE"), lambda f: f.by_run),
    Rule("history.is_current", "2c 2s", "{flag_name} ({flag.type}) is {flag_open} in an open version and "
         "{flag_closed} in a closed one.", ("in staged AS {quoted[is_current]}",), lambda f: f.flag),
    Rule("history.is_current", "2c 2s", "No column says which version is open: {valid_to} does.", (),
         lambda f: not f.flag),
    Rule("history.row_hash", "2c 2s", "{row_hash} is the SHA-256 of {tracked}; NULL, '' and moved separators differ.",
         ("in staged AS {quoted[row_hash]}",), lambda f: f.spec.history.row_hash and f.ctx.tracked),
    Rule("history.row_hash", "2c 2s", "{row_hash} is the SHA-256 of no column, because none is tracked.",
         ("in staged AS {quoted[row_hash]}",), lambda f: f.spec.history.row_hash and not f.ctx.tracked),
    Rule("history.surrogate_key", "2c 2s", "{surrogate_key} is the SHA-256 of {keys} and {valid_from}; it never "
         "changes for a version.", ("in staged AS {quoted[surrogate_key]}",), lambda f: f.spec.history.surrogate_key),
    Rule("history.action", "2c 2s", "{action} is I for the first version of a key or the first after a delete, U for "
         "a later one, D for one that a delete closed.", ("in staged AS {quoted[action]}",),
         lambda f: f.spec.history.action),
    Rule("history.deleted", "2c 2s", "{deleted} is true in a version that a delete opened.",
         ("in staged AS {quoted[deleted]}",), lambda f: f.spec.history.deleted),
    Rule("table.format", ALL, "The table has the format {spec.table.format}.", ("create USING DELTA",)),
    Rule("table.cluster_by", ALL, "The table is clustered by {clusters}.", ("create CLUSTER BY ({ctx.clustered_by})",),
         lambda f: f.spec.table.cluster_by),
    Rule("table.location", ALL, "The table's files are at {location}.", ("create LOCATION {ctx.location}",),
         lambda f: f.spec.table.location),
    Rule("views.current", "2c 2s", "The view {view_current} shows the open versions{folded}.",
         ("views CREATE OR REPLACE VIEW {ctx.view_current}",), lambda f: f.spec.views.current),
    Rule("views.current", "1c 1s", "The view {view_current} shows the rows.",
         ("views CREATE OR REPLACE VIEW {ctx.view_current}",), lambda f: f.spec.views.current),
    Rule("views.as_of", "2c 2s", "The function {view_as_of} of a time shows the versions that were valid "
         "then{folded}.", ("views CREATE OR REPLACE FUNCTION {ctx.view_as_of}",), lambda f: f.spec.views.as_of),
    Rule("stream", ALL, "What `stream` says goes to `scdgen stream`; the MERGE is the same: {stream}.", (),
         lambda f: f.spec.stream),
)  # fmt: skip

# For each partition column, property, column and check.
PARTITIONS = (
    Rule("table.partition_by.*", ALL, "The table is partitioned by {named}. That derives from the key, so that the "
         "MERGE reads the partitions of the batch's keys alone.",
         ("create PARTITIONED BY ({ctx.partitioned_by})", "find {partition_sql}"), lambda f: f.partition_sql),
    Rule("table.partition_by.*", ALL, "The table is partitioned by {named}. That does not derive from the key, so "
         "that it does not bound what the MERGE reads.", ("create PARTITIONED BY ({ctx.partitioned_by})",),
         lambda f: not f.partition_sql),
)  # fmt: skip
PROPERTIES = (
    Rule("table.properties.*", ALL, "The table has the property {shown}.", ("create {name}",)),
)  # fmt: skip
COLUMNS = (
    Rule("columns.*.nullable", ALL, "{named} is NOT NULL.", ("create {quoted_name} {item.type} NOT NULL",),
         lambda f: not f.item.nullable or f.is_key),
    Rule("columns.*.comment", ALL, "{named} has the comment {comment}.", ("create {comment_sql}",),
         lambda f: f.item.comment),
)  # fmt: skip
CHECKS = (
    Rule("checks.*", ALL, "`scdgen check` also runs {named}: {query_of}.",
         ("checks# {name}: a check of the spec's own",)),
)  # fmt: skip
