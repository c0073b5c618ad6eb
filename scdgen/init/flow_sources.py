"""Writes the source of a draft for a flow of AUTO CDC: a table, files, or a snapshot with its version."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from scdgen import sql
from scdgen.errors import quoted
from scdgen.init.draft import Draft, read_select, warn_of_load_time
from scdgen.init.flows import NAME, Clause, Flow, plain_name
from scdgen.sql.tokens import DIALECT

_SOURCE = re.compile(
    rf"(?:STREAM\s*\(\s*({NAME})\s*\)|(?:STREAM\s+)?({NAME}))(?:\s+(WITH\b.*))?", re.IGNORECASE | re.DOTALL
)
_FILES = re.compile(r"STREAM\s*\((.+)\)|(?:STREAM\s+)?(read_files\b.+)", re.IGNORECASE | re.DOTALL)
_CONDITIONS = {Clause.DELETES: "delete_when", Clause.TRUNCATES: "truncate_when", Clause.SETS: "sets"}
_VERSION = re.compile(r"\bcurrent_snapshot_version\s*\(", re.IGNORECASE)
_SELECTED_VERSION = re.compile(
    r"\(\s*SELECT\s+(?:`[^`]+`|\w+)\s+FROM\s+current_snapshot_version\s*\(\s*\)\s*\)", re.IGNORECASE
)
_FORMATS = ("csv", "json", "parquet", "delta")
Put = Callable[..., None]  # sets an option of the source, with a comment above it if there is room for one


def put_source(draft: Draft, place: str, flow: Flow) -> None:
    """Write one source: what it reads, and how."""
    inline = place != "source"  # a source in one line of several has its comments above it

    def put(option: str, value: Any, note: str | None = None) -> None:
        draft.put(f"{place}.{option}", value, None if inline else note)

    if inline:
        draft.note(f"From {flow.place.label} in line {flow.place.line}.", *place.split("."))
    if flow.is_snapshot:
        _put_snapshot(draft, flow, put)
    else:
        _put_relation(draft, flow, put)
        first, *others = flow.sequence
        put("feed", "changes")
        put("effective_at", first, f"From {flow.label(Clause.SEQUENCE)}.")
        warn_of_load_time(draft, flow.label(Clause.SEQUENCE), first)
        if others:
            put("sequence_by", others)
        for clause, option in _CONDITIONS.items():
            if clause in flow.clauses:
                put(option, flow.expression(clause), f"From {flow.label(clause)}.")
    if flow.once:
        again = "each run is a batch" if not inline else f"scdgen run --feed {place.split('.')[1]}, once"
        draft.left_out.append(f"{flow.label(Clause.ONCE)}: {again}")


def _put_relation(draft: Draft, flow: Flow, put: Put, clause: Clause = Clause.FROM) -> None:
    """Write the table or the files that a flow reads."""
    text = flow.clauses[clause]
    files = _FILES.fullmatch(text)
    if files is not None and (found := _read_files(files[1] or files[2])):
        _put_files(draft, flow, clause, found, put)
        return
    source = _SOURCE.fullmatch(text)
    if source is None:
        raise flow.wrong(clause, f"{quoted(text)} is not a table; write stream(catalog.schema.table)")
    put("table", plain_name(source[1] or source[2]))
    if source[3]:
        draft.left_out.append(f"{flow.label(clause)} … {source[3]}: an option of the stream; scdgen reads the table")


def _read_files(text: str) -> exp.Anonymous | None:
    """Return the call of ``read_files`` that a text is, if it is one."""
    try:
        return _find_call(sqlglot.parse_one(f"SELECT * FROM {text}", dialect=DIALECT))
    except SqlglotError:
        return None


def _find_call(tree: exp.Expr) -> exp.Anonymous | None:
    table = tree.find(exp.Table)
    call = table.this if table is not None else None
    return call if isinstance(call, exp.Anonymous) and call.name.lower() == "read_files" else None


def _put_files(draft: Draft, flow: Flow, clause: Clause, call: exp.Anonymous, put: Put) -> None:
    """Write the path and the format of ``read_files``. Raises :class:`SpecError` if they are not literals."""
    first, *options = call.expressions
    named = {o.this.name.lower(): o.expression.name for o in options if isinstance(o, exp.Kwarg)}
    kind = named.pop("format", "").lower()
    if not isinstance(first, exp.Literal) or kind not in _FORMATS:
        hint = f"write read_files('path', format => 'csv'), or another of {', '.join(_FORMATS[1:])}"
        raise flow.wrong(clause, f"does not say the path and the format as text; {hint}")
    put("path", first.name)
    put("format", kind)
    draft.left_out += [f"read_files … {option} => {value}: see source.options" for option, value in named.items()]


def _put_snapshot(draft: Draft, flow: Flow, put: Put) -> None:
    """Write a source that is a full extract, and when it was taken."""
    text = flow.clauses.get(Clause.SNAPSHOT, "")
    if flow.function is not None:
        put("table", flow.function if flow.function.isidentifier() else sql.quote(flow.function))
        version = "" if draft.options["pattern"] == "scd1" else " --param version=…"
        hint = f"write the table that it reads; or run once per snapshot, with --source PATH{version}"
        draft.warnings.append(f"source: the function {flow.function} is not run, and its name is not a table; {hint}")
    elif text.startswith("("):
        _put_query(draft, flow, text[1:-1].strip(), put)
    else:
        _put_relation(draft, flow, put, Clause.SNAPSHOT)
    put("feed", "snapshot")
    if flow.has_version and draft.options["pattern"] != "scd1":
        draft.put("snapshot.taken_at", ":version")
        draft.note("The version of each snapshot: scdgen run SPEC --param version=…, in their order.", "snapshot")
    if Clause.VERSION in flow.clauses:
        draft.left_out.append("WITH VERSION: a run reads one snapshot; run it for each new version, in order")


def _put_query(draft: Draft, flow: Flow, text: str, put: Put) -> None:
    """Write the query of a snapshot, in which ``:version`` stands for the version that the flow selects."""
    if _VERSION.search(text) and not flow.has_version:
        raise flow.wrong(Clause.SNAPSHOT, "current_snapshot_version() has no WITH VERSION; add it, or remove the call")
    try:
        sql.query(text)
    except ValueError as error:
        raise flow.wrong(Clause.SNAPSHOT, str(error)) from error
    if call := _find_files(sqlglot.parse_one(text, dialect=DIALECT)):
        _put_files(draft, flow, Clause.SNAPSHOT, call, put)
        if flow.has_version:
            hint = "give the file of each run: scdgen run SPEC --source PATH"
            draft.warnings.append(f"FROM SNAPSHOT: reads the file that WITH VERSION selects; {hint}")
        return
    # A param takes the place of the version that the query selects.
    query = _SELECTED_VERSION.sub(":version", text)
    if _VERSION.search(query):
        hint = "write the query of one snapshot, with (SELECT column FROM current_snapshot_version()) for its version"
        raise flow.wrong(Clause.SNAPSHOT, f"uses current_snapshot_version() in a way that a param cannot; {hint}")
    table = read_select(query)[1]
    put("table" if table else "query", table or query)
    if query != text:
        draft.put("params", {"version": "timestamp"}, "A guess: the statement has no type of the version.")


def _find_files(tree: exp.Expr) -> exp.Anonymous | None:
    """Return the call of ``read_files`` if a query reads all columns of its files, or of the one of a version."""
    if not isinstance(tree, exp.Select) or [item.sql() for item in tree.selects] != ["*"]:
        return None
    given = {part for part, value in tree.args.items() if value} - {"expressions", "from_", "where"}
    where = tree.args.get("where")
    one_file = where is None or (isinstance(where.this, exp.EQ) and _VERSION.search(where.this.sql()))
    return _find_call(tree) if not given and one_file else None
