"""The steps and the WHEN clauses of a MERGE in words: the first rule that fits a step, or a WHEN, tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

from scdgen.cli.explain_words import ALL, Rule
from scdgen.cli.outline import When

# What is set before the MERGE, in this order.
BEFORE = (
    Rule("", ALL, "Names the files, so that they can be read as a table.", ("find {ctx.rows.view}",),
         lambda f: f.ctx.rows.view),
    Rule("", ALL, "Takes one time for the whole snapshot.", ("var _scd_taken_at",), lambda f: f.ctx.taken_at),
    Rule("", "2c 2s", "Takes the time of this run, the end of open versions.", ("var _scd_last_run",),
         lambda f: f.by_run),
    Rule("", "2c 2s", "Finds the first time in the batch: stored versions that ended before it are not read.",
         ("var _scd_batch_from",), lambda f: f.bounded and not f.whole_lives),
    Rule("", "2c 2s", "Finds the first time in the batch: stored versions that ended before it are not written, but "
         "they are read, because {action} of a version comes from the key's whole life.", ("var _scd_batch_from",),
         lambda f: f.bounded and f.whole_lives),
)  # fmt: skip
AFTER = (
    Rule("", "2c 2s", "Finds what is staged in the table, by key and {valid_from}.", ("on",)),
    Rule("", "1c 1s", "Finds what is staged in the table, by key.", ("on",)),
)
PARTITIONS = Rule("", ALL, "Finds the values of {named} in the batch: other partitions are not read.",
                  ("var {partition_variable}",), lambda f: f.partition_sql)  # fmt: skip

# The option of these rules is the name of a step.
STEPS = (
    Rule("source", ALL, "The SELECT of the spec."),
    Rule("changes", "2c 1c", "The rows of the source, in the names and types of the table."),
    Rule("extract", "2s 1s", "The rows of the source, in the names and types of the table; where there is no row, "
         "the run stops.", (), lambda f: not f.snapshot.allow_empty),
    Rule("extract", "2s 1s", "The rows of the source, in the names and types of the table."),
    # scd2, changes
    Rule("timeline", "2c", "The changes beside the stored versions of their keys: a version is a change at its start "
         "and, where nothing else stands at that time, a delete at its end. Versions that ended before the batch are "
         "left out.", (), lambda f: f.bounded and not f.whole_lives),
    Rule("timeline", "2c", "The changes beside all stored versions of their keys: a version is a change at its start "
         "and, where nothing else stands at that time, a delete at its end."),
    Rule("newest", "2c", "Beside each row, the newest start or delete that the table knows of its key."),
    Rule("ranked", "2c", "Of the rows of one key and time puts first the one that counts: a change before what is "
         "stored. Late rows go.", (), lambda f: f.spec.late == "ignore"),
    Rule("ranked", "2c", "Of the rows of one key and time puts first the one that counts: a change before what is "
         "stored. A late row stops the run.", (), lambda f: f.spec.late == "fail"),
    Rule("ranked", "2c", "Of the rows of one key and time puts first the one that counts: a change before what is "
         "stored."),
    Rule("points", "2c", "Keeps one row per key and time.", (), lambda f: f.lives),
    Rule("points", "2c", "Keeps one row per key and time, and tells which of them open a version."),
    Rule("given", "2c", "Puts the key's value before it, or else the first known one, in the place of a NULL that "
         "means \"not given\".", (), lambda f: f.ctx.fills),
    Rule("given", "2c", "Puts the key's value before it in the place of a NULL that means \"not given\"."),
    Rule("opening", "2c", "Tells which rows open a version."),
    Rule("known", "2c", "Beside each row, the values of the key that were known last."),
    Rule("marked", "2c", "Gives deletes these values."),
    Rule("runs", "2c", "Numbers the versions and the times between them."),
    Rule("versions", "2c", "Finds the end of each version, the next version of its key, and the newest values of "
         "untracked columns in it.", (), lambda f: f.ctx.untracked and f.marks),
    Rule("versions", "2c", "Finds the end of each version, the next version or delete of its key, and the newest "
         "values of untracked columns in it.", (), lambda f: f.ctx.untracked),
    Rule("versions", "2c", "Finds the end of each version, the next version of its key.", (), lambda f: f.marks),
    Rule("versions", "2c", "Finds the end of each version, the next version or delete of its key."),
    Rule("staged", "2c", "Finds the end of each version, the next version of its key; writes the versions with their "
         "history columns, and tells what each needs: open, close, correct, fold, or nothing where it is stored as it "
         "should be.", (), lambda f: not f.ctx.has_versions and f.marks),
    Rule("staged", "2c", "Finds the end of each version, the next version or delete of its key; writes the versions "
         "with their history columns, and tells what each needs: open, close, correct, fold, or nothing where it is "
         "stored as it should be.", (), lambda f: not f.ctx.has_versions),
    Rule("staged", "2c", "Writes the versions with their history columns, and tells what each needs: open, close, "
         "correct, fold, or nothing where it is stored as it should be."),
    # Snapshots
    Rule("ranked", "2s", "Puts the rows of a key in order; exact copies count once."),
    Rule("ranked", "1c 1s", "Puts the rows of a key in order, the newest first."),
    Rule("snapshot", "2s 1s", "Makes one row per key, column by column.", (), lambda f: f.ctx.combines),
    Rule("snapshot", "2s 1s", "Keeps one row per key."),
    Rule("stored", "2s", "The stored versions that are open, or ended no earlier than {bound}; the newest of a key "
         "first."),
    Rule("compared", "2s", "Holds the snapshot against the newest stored version of each key, keeps the keys that "
         "differ, and tells what each needs: close, open, both, or correct."),
    Rule("versions", "2s", "Makes, for each key that differs, the versions to close, open and correct. A snapshot that "
         "would close too much or too early stops here.", (), lambda f: f.ctx.max_deleted is not None),
    Rule("versions", "2s", "Makes, for each key that differs, the versions to close, open and correct. A snapshot that "
         "would close a version at or before its start stops here."),
    Rule("lives", "2s", "All stored versions of keys of which a NULL becomes known."),
    Rule("filled", "2s", "Writes what became known into their versions since the last delete."),
    Rule("staged", "2s", "Writes the versions with their history columns."),
    # scd1
    Rule("latest", "1c", "Makes one row per key, column by column.", (), lambda f: f.ctx.combines),
    Rule("latest", "1c", "Keeps the newest row of each key."),
    Rule("compared", "1s", "Holds the snapshot against the table, keeps the keys that differ, and tells what each "
         "needs: insert, update or delete.", (), lambda f: f.spec.deletes == "remove"),
    Rule("compared", "1s", "Holds the snapshot against the table, keeps the keys that differ, and tells what each "
         "needs: insert or update."),
    Rule("staged", "1s", "Passes them on. A snapshot that would remove too much or too early stops here.", (),
         lambda f: f.ctx.early or f.ctx.max_deleted is not None),
    Rule("staged", "1s", "Passes them on."),
)  # fmt: skip


@dataclass(frozen=True)
class Clause:
    """What a WHEN does, where ``fits`` holds for it and the facts."""

    kinds: str
    fits: Callable[[When, SimpleNamespace], object]
    words: str


def _does(what: str, word: str = "") -> Callable[[When, SimpleNamespace], object]:
    return lambda when, f: when.does == what and not when.by_source and (not word or word in when.words)


_fold = _does("DELETE", "fold")
WHENS = (
    Clause("2c", lambda w, f: _fold(w, f) and not f.ctx.keeps and f.has_deletes and not f.marks, "Removes a stored "
           "version that opens nothing any more: it equals the state before it now, or a delete has come at its "
           "start."),
    Clause("2c", lambda w, f: _fold(w, f) and not f.ctx.keeps, "Removes a stored version that opens nothing any "
           "more: it equals the state before it now."),
    Clause("2c", lambda w, f: _fold(w, f) and f.has_deletes and not f.marks, "Removes a stored version at whose "
           "start a delete has come. No other version is folded (`unchanged: keep`)."),
    Clause("2c", _fold, "Removes nothing in this spec: with `unchanged: keep` no version is folded."),
    Clause("2s", _does("UPDATE", "close"), "Writes the end of the open version of a key that is missing or has "
           "changed; its values stay."),
    Clause("2c", _does("UPDATE"), "Writes anew a stored version that ends otherwise, or holds other values; its "
           "start stays."),
    Clause("2s", _does("UPDATE"), "Writes anew a stored version that holds other values, or is open again; its start "
           "stays."),
    Clause("2c 2s", _does("INSERT"), "Adds a version that the table does not have."),
    Clause("2c 2s", lambda w, f: w.by_source, "Writes the time of this run as the end of every other open version."),
    Clause("1c", _does("DELETE"), "Removes the row of a key whose newest row is a delete."),
    Clause("1s", _does("DELETE"), "Removes the row of a key that is missing from the snapshot."),
    Clause("1c", _does("UPDATE", "_scd_anew"), "After a delete, puts the batch's row in the place of the stored one."),
    Clause("1c 1s", lambda w, f: w.does == "UPDATE" and f.combines and not f.spec.is_snapshot, "Writes what the "
           "stored row and the batch's make together, where that differs from what is stored."),
    Clause("1c", lambda w, f: w.does == "UPDATE" and f.spec.updated_at, "Writes the batch's row in the place of the "
           "stored one, where it is not older and holds other values."),
    Clause("1c", _does("UPDATE"), "Writes the batch's row in the place of the stored one, where it holds other "
           "values."),
    Clause("1s", _does("UPDATE"), "Writes the new values of a key that has changed."),
    Clause("1c 1s", _does("INSERT"), "Adds the row of a key that the table does not have."),
)  # fmt: skip
