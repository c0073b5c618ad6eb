"""What the options of a spec mean for rows, a sentence each, and where in the generated files it happens.

A rule holds for some kinds of specs (``2c``: scd2 with changes, ``2s``: with snapshots, ``1c`` and ``1s``: scd1)
and under a condition. ``{name}`` in its words and marks is a fact (:mod:`scdgen.cli.explain_facts`). A mark says
where to look: ``step NAME`` a CTE of the MERGE; ``in NAME SQL`` SQL in it; ``find SQL`` SQL anywhere; ``on``;
``when DOES WORD`` a WHEN by what it does and a word of its condition; ``stop RULE TEXT`` a refusal;
``var NAME`` a variable; ``comment TEXT``; ``create SQL``, ``views SQL`` and ``checks# TEXT`` in the other files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

ALL = "2c 2s 1c 1s"
Condition = Callable[[SimpleNamespace], object]


@dataclass(frozen=True)
class Rule:
    """One sentence: the option it is about (dots; ``*`` for each entry), the kinds of specs, its words and marks."""

    option: str
    kinds: str
    words: str
    marks: tuple[str, ...] = ()
    when: Condition = lambda f: True


def given(option: str) -> Condition:
    """Whether a field of the source is there."""
    return lambda f: getattr(f.spec.source, option)


TABLE = (
    Rule("target", ALL, "A run keeps {target}: it makes the table where there is none and changes it in one MERGE. A "
         "run that fails leaves the table as it was.", ("find MERGE INTO {ctx.target}",)),
    Rule("description", ALL, "It is described as {description}.",
         ("comment {spec.description}", "create COMMENT {ctx.description_literal}"), lambda f: f.spec.description),
    Rule("pattern", "2c 2s", "One row per version: a row says what a key was from {valid_from}, inclusive, up to the "
         "next version or delete of the key.", ("step {ending}",)),
    Rule("pattern", "1c 1s", "One row per key and no versions: what a row held before is gone once it is changed.",
         ("on",)),
    Rule("keys", "2c 2s", "The key is {keys}. The MERGE knows a stored version by its key and {valid_from}.", ("on",)),
    Rule("keys", "1c 1s", "The key is {keys}. The MERGE knows a stored row by it.", ("on",)),
)  # fmt: skip

SOURCE = (
    Rule("source.table", ALL, "Rows come from the table {table}.", ("find FROM {ctx.rows.relation}",), given("table")),
    Rule("source.query", ALL, "Rows come from this SELECT: {query}.", ("step source",), given("query")),
    Rule("source.path", ALL, "Rows come from the files at {path}.", ("find FROM {ctx.rows.relation}",), given("path")),
    Rule("source.format", ALL, "The files are read as {format}.", ("find {ctx.rows.view}",),
         lambda f: f.spec.source.path and f.ctx.rows.view),
    Rule("source.format", ALL, "The files are read as {format}.", ("find FROM {ctx.rows.relation}",),
         lambda f: f.spec.source.path and not f.ctx.rows.view),
    Rule("source.options", ALL, "Spark's reader gets the options {options}.", ("find {ctx.rows.view}",),
         given("options")),
    Rule("source.where", ALL, "Only rows for which {where} is true are read; FALSE and NULL leave a row out.",
         ("find {where_sql}",), given("where")),
    Rule("source.delete_when", "2c 1c", "Rows for which {delete} is true are deletes, and are left out.",
         ("find NOT {deleted_sql}",), lambda f: f.drops_deletes),
    Rule("bad_rows", ALL, "A row with a NULL in {keys} is left out.", ("in {first} {keys_sql}",),
         lambda f: f.spec.bad_rows == "skip"),
    Rule("bad_rows", ALL, "A row with a NULL in `effective_at` is left out.", ("in {first} {at_sql} IS NOT NULL",),
         lambda f: f.spec.bad_rows == "skip" and f.has_time),
    Rule("source.feed", "2c", "Each row is a change: what its key was from a time on. A batch may hold any number of "
         "changes of a key, in any order. Keys that are not in the batch are not touched.", ("step {first}",),
         lambda f: not f.by_run),
    Rule("source.feed", "2c", "Each row is a change: what its key was from a time on. A batch may hold any number of "
         "changes of a key, in any order. Keys that are not in the batch are not touched, but for the end that an "
         "open version is written with.", ("step {first}",), lambda f: f.by_run),
    Rule("source.feed", "2s", "The rows are a snapshot: all that is true at one time{whole}. A new key opens a "
         "version.",
         ("step compared",)),
    Rule("source.feed", "1s", "The rows are a snapshot: all that is true at one time{whole}. A new key gets a row, a "
         "key that has changed its new values.", ("step compared",)),
    Rule("source.feed", "1c", "Each row is a change of its key. Keys that are not in the batch are not touched.",
         ("step {first}",)),
    Rule("snapshot.taken_at", "2s 1s", "The snapshot was taken at {taken}, read once per run, as {time}.",
         ("var _scd_taken_at",), lambda f: f.ctx.taken_at),
    Rule("snapshot.taken_at", "1s", "{taken} has no part in the MERGE: without `updated_at` the table has no time to "
         "hold it against.", (), lambda f: not f.ctx.taken_at and "taken_at" in f.snapshot.model_fields_set),
    Rule("source.effective_at", "2c", "A row is true from {at} on, as {time}.", ("in {first} {at_sql}",)),
    Rule("source.effective_at", "2s", "A version starts at the time of its row, {at}, as {time}.",
         ("in {first} {at_sql}",), given("effective_at")),
    Rule("source.effective_at", "2s", "Rows have no time of their own: a version starts when the snapshot was taken.",
         ("in compared _scd_taken_at AS _scd_at",), lambda f: not f.has_time),
    Rule("source.effective_at", "1c 1s", "Of the rows of a key the one with the greatest {at}, as {time}, is the "
         "newest.", ("in {first} {at_sql}",), given("effective_at")),
    Rule("source.effective_at", "1c 1s", "Rows have no time of their own.", (), lambda f: not f.has_time),
    Rule("source.sequence_by", "2c 2s", "Of the rows of one {moment} the one with the greatest {sequence} counts; "
         "NULL is the least.", ("in {first} AS _scd_sequence_1", "in ranked _scd_sequence_1 DESC"),
         given("sequence_by")),
    Rule("source.sequence_by", "1c 1s", "Of the rows of one {moment} the one with the greatest {sequence} is the "
         "newest; NULL is the least.", ("in {first} AS _scd_sequence_1", "in ranked _scd_sequence_1 DESC"),
         given("sequence_by")),
)  # fmt: skip

# For each column and param.
COLUMNS = (
    Rule("columns.*", ALL, "{named} is {told}, as {item.type}.",
         ("in {first} {cast_sql}", "create {quoted_name} {item.type}"), lambda f: not f.from_start),
    Rule("columns.*.from", "2c 2s", "{named} is worked out from the start of its version: {told}, as {item.type}.",
         ("in staged AS {quoted_name}", "create {quoted_name} {item.type}"), lambda f: f.from_start),
)  # fmt: skip
PARAMS = (
    Rule("params.*.default", ALL, "`:{name}` is a value of the run, as {item.type}; without `--param {name}=…` it is "
         "{default}.", ("var {name}",), lambda f: f.item.default is not None),
    Rule("params.*", ALL, "`:{name}` is a value of the run, as {item.type}; it must be given: `--param {name}=…`.",
         ("comment Set before this runs: DECLARE OR REPLACE VARIABLE {name} ",),
         lambda f: f.item.default is None and (f.name, f.item.type) in f.ctx.needed),
    Rule("params.*", ALL, "`:{name}` ({item.type}) is read by nothing.", (),
         lambda f: f.item.default is None and (f.name, f.item.type) not in f.ctx.needed),
)  # fmt: skip
