"""Drafts a spec from a dbt snapshot in ``target/manifest.json``: what its options say of history."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from scdgen import sql
from scdgen.errors import Problem, SpecError, UsageError, nearest
from scdgen.init.draft import (
    WHOLE,
    Draft,
    Given,
    find_column,
    put_columns,
    put_keys,
    quote_column,
    read_select,
    set_option,
    strip_comments,
    to_spark_type,
)
from scdgen.sql.types import data_type

_GIVE = "run dbt parse (or dbt compile) and give target/manifest.json"
_META = ("dbt_valid_from", "dbt_valid_to", "dbt_scd_id", "dbt_updated_at", "dbt_is_deleted")
# A snapshot of a whole table, whose ref or source is in the manifest. Any other SELECT has to be compiled.
_PLAIN = re.compile(
    r"(\{\{\s*config\((?:(?!\{\{|\{%).)*?\)\s*}}\s*)?"
    r"select\s+\*\s+from\s+\{\{\s*(ref|source)\s*\([^(){}]*\)\s*}}\s*;?",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile("\"([^\"]+)\"|'([^']+)'|`([^`]+)`|\\[([^]]+)]")
_NAME_OR_TEXT = re.compile('\'[^\']*\'|"((?:[^"]|"")+)"')
_TIMES = re.compile(r"'(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)'")
_NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.(])")


class Node(BaseModel):
    """A node or a source of the manifest."""

    name: str
    database: str | None = None
    schema_: str | None = Field(None, alias="schema")
    identifier: str | None = None
    alias: str | None = None
    columns: dict[str, dict[str, Any]] = {}
    config: dict[str, Any] = {}
    depends_on: dict[str, list[Any]] = {}
    raw_code: str | None = None
    compiled_code: str | None = None

    def table(self) -> str:
        """The name of its table, as written in a spec."""
        return sql.join_name(p for p in (self.database, self.schema_, self.identifier or self.alias or self.name) if p)


class Manifest(BaseModel):
    """The file."""

    metadata: dict[str, Any] = {}
    nodes: dict[str, Node]
    sources: dict[str, Node] = {}


def find_manifest(path: Path) -> Path:
    """Find the manifest at a path, which may be the folder of a dbt project. Raises :class:`UsageError`."""
    file = path / "target" / "manifest.json" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise UsageError(f"{path}: has no target/manifest.json; run dbt parse (or dbt compile) in the project's folder")
    return file


def parse_manifest(path: Path, text: str) -> Manifest:
    """Parse the text of the manifest at ``path``. Raises :class:`UsageError` if it is not one."""
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: is not a manifest of dbt; {_GIVE}") from error


class _Config(BaseModel):
    """The options that are mapped; others are not read."""

    unique_key: str | list[str] | None = None
    strategy: str | None = None
    updated_at: str | None = None
    check_cols: str | list[str] | None = None
    hard_deletes: str | None = None
    invalidate_hard_deletes: bool | None = None
    snapshot_meta_column_names: dict[str, str | None] | None = None
    dbt_valid_to_current: str | int | None = None


@dataclass(frozen=True)
class _Snapshot:
    """One snapshot of a manifest, with the columns that its options name as expressions of Spark."""

    file: str
    node: Node
    config: _Config
    keys: list[str]
    checked: list[str]
    updated_at: str | None
    renamed: dict[str, str]

    def wrong(self, message: str) -> SpecError:
        """The error for a mistake in this snapshot."""
        return SpecError([Problem(self.file, 0, 0, f"{self.node.name}: {message}")])


def draft_from_dbt(path: Path, text: str, name: str | None, target: str | None, given: Given) -> Draft:
    """Draft a spec from one snapshot of a manifest; ``given`` are types from elsewhere.

    Raises :class:`SpecError` if the snapshot cannot be mapped, :class:`UsageError` if an option is missing.
    """
    manifest = parse_manifest(path, text)
    nodes = {**manifest.nodes, **manifest.sources}
    adapter = str(manifest.metadata.get("adapter_type", "spark"))
    key = _choose(path, {node.name: key for key, node in nodes.items() if key.startswith("snapshot.")}, name)
    found = _read_snapshot(str(path), adapter, nodes[key])
    begun = f"Drafted by scdgen init from the dbt snapshot {found.node.name}; read it before the first run."
    draft, note = Draft(header=[begun]), None if target else "As dbt resolved it for one target of its profile."
    draft.put("target", target or found.node.table(), note)
    draft.put("pattern", "scd2")
    names = {column: found.renamed.get(column, column) for column in _META}
    # The columns come first, because the steps after them look names up in the draft.
    _put_relation(draft, found, nodes, adapter)
    _put_columns(draft, found, given, names)
    _put_keys_and_strategy(draft, found)
    _put_deletes(draft, found)
    _put_history(draft, names)
    _put_open_end(draft, found.config.dbt_valid_to_current)
    return draft


def _choose(path: Path, keys: dict[str, str], name: str | None) -> str:
    names = sorted(keys)
    if not names:
        raise UsageError(f"{path}: holds no dbt snapshot; give the manifest of a project that has one")
    if name is None and len(names) > 1:
        raise UsageError(f"{path}: holds {len(names)} snapshots ({', '.join(names)}); choose one with --name")
    if name is not None and name not in names:
        raise UsageError(f"{path} holds {', '.join(names)}{nearest(name, names)}", option="--name", value=name)
    return keys[name or names[0]]


def _read_snapshot(file: str, adapter: str, node: Node) -> _Snapshot:
    try:
        config = _Config.model_validate(node.config)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        what = f"{error['loc'][0]}: cannot be a {type(error['input']).__name__} in dbt; write it as dbt takes it"
        raise SpecError([Problem(file, 0, 0, f"{node.name}: {what}")]) from invalid
    # Every option that names a column may have it in quotes.
    keys, checked, at = (
        [_to_spark(text, adapter) for text in ([value] if isinstance(value, str) else value or [])]
        for value in (config.unique_key, config.check_cols, config.updated_at)
    )
    meta = (config.snapshot_meta_column_names or {}).items()
    renamed = {column: sql.unquote(_to_spark(name, adapter)) for column, name in meta if name}
    return _Snapshot(file, node, config, keys, checked, next(iter(at), None), renamed)


def _to_spark(text: str, adapter: str) -> str:
    """Write a column, or the columns of an expression, in Spark's quotes instead of those of the adapter.

    >>> _to_spark('"REC.ID"', "snowflake"), _to_spark("'id'", "spark"), _to_spark("[id]", "sqlserver")
    ('`REC.ID`', 'id', 'id')
    >>> _to_spark('upper("A b")', "postgres"), _to_spark('upper("A b")', "spark")
    ('upper(`A b`)', 'upper("A b")')
    """
    if whole := _QUOTED.fullmatch(text.strip()):
        return quote_column(next(filter(None, whole.groups())))
    if adapter in ("spark", "databricks", "bigquery"):  # where double quotes are those of a text
        return text
    return _NAME_OR_TEXT.sub(lambda part: quote_column(part[1].replace('""', '"')) if part[1] else part[0], text)


def _put_relation(draft: Draft, found: _Snapshot, nodes: dict[str, Node], adapter: str) -> None:
    """Write the table of the source if the snapshot is of a whole one; otherwise the query, as dbt compiled it."""
    keys = found.node.depends_on.get("nodes", [])
    is_plain = len(keys) == 1 and _PLAIN.fullmatch((found.node.raw_code or "").strip())
    parent = nodes.get(keys[0]) if is_plain else None
    if parent is not None and parent.config.get("materialized") != "ephemeral":
        draft.put("source.table", parent.table(), f"The table of {keys[0]} in dbt.")
        return
    if not found.node.compiled_code:
        hint = "run dbt compile and give target/manifest.json again"
        raise UsageError(f"{found.file}: {found.node.name}: its SELECT is not compiled; {hint}")
    try:
        query = strip_comments(found.node.compiled_code)
    except ValueError as error:
        raise found.wrong(str(error)) from error
    _, table = read_select(query)
    draft.put("source.table" if table else "source.query", table or query, "As dbt compiled it.")
    if adapter not in ("spark", "databricks"):
        draft.note(f"It is SQL of {adapter}, read as Spark SQL: check it.", "source")


def _put_columns(draft: Draft, found: _Snapshot, given: Given, meta: dict[str, str]) -> None:
    """Write the columns of the SELECT, of the data, or those that the snapshot lists."""
    draft.put("source.feed", "snapshot", "dbt compares the whole source with the table at each run.")
    # dbt also allows descriptions of the columns that it adds, which the source does not have.
    added = {name.lower() for name in meta.values()}
    own = {name: column.get("data_type") for name, column in found.node.columns.items() if name.lower() not in added}
    kinds = {name.lower(): kind for name, kind in own.items()}
    listed = read_select(draft.options["source"].get("query", ""))[0] or dict(given.data) or own
    for name, kind in listed.items():
        kind = kinds.get(name.lower()) or kind
        if kind and name not in given.columns:
            listed[name] = to_spark_type(kind, f"{found.file}: {name}")
    put_columns(draft, listed, given)


def _put_keys_and_strategy(draft: Draft, found: _Snapshot) -> None:
    strategy, updated_at = found.config.strategy, found.updated_at
    if not found.keys:
        raise found.wrong("has no unique_key; a snapshot needs one")
    if strategy not in ("timestamp", "check"):
        what = f"'{strategy}' is a macro, which is not run here" if strategy else "is missing"
        raise found.wrong(f"strategy: {what}; timestamp and check can be read")
    if strategy == "timestamp" and updated_at is None:
        raise found.wrong("strategy: timestamp needs updated_at")
    if strategy == "check" and not found.checked:
        raise found.wrong("strategy: check needs check_cols")
    put_keys(draft, found.keys, "unique_key")
    draft.note(f"unique_key: {', '.join(found.keys)}.", "keys")
    if strategy == "timestamp":
        draft.put("source.effective_at", updated_at, f"strategy: timestamp, updated_at: {updated_at}.")
        why = "dbt passes over a row that is older than the open version; fail reports it."
        draft.put("late_arriving", "ignore", why)
        moves = "dbt opens a version whenever updated_at moves"
        if column := _put_type_of_time(draft, found):
            draft.note(f"{moves}; without this column, only where another value changes.", "columns", column)
        else:
            draft.put("unchanged", "keep", f"{moves}; skip opens one where a value changes.")
        return
    draft.note("strategy: check.", "source", "feed")
    if updated_at is not None:
        note = "updated_at: a version starts at this time. dbt lets an earlier one end before it starts; here it stops."
        draft.put("source.effective_at", updated_at, note)
        _put_type_of_time(draft, found)
    else:
        draft.note("A version starts when the run does; snapshot.taken_at sets another time.", "source", "feed")
    if found.checked == ["all"]:
        return
    names = [find_column(draft, column, "check_cols") for column in found.checked]
    kept = {*names, *draft.options["keys"]}
    for name in [name for name in draft.options["columns"] if name not in kept]:
        set_option(draft, name, "track", False)
    draft.note(f"check_cols: {', '.join(names)}.", "columns")


def _put_type_of_time(draft: Draft, found: _Snapshot) -> str | None:
    """Write the type of dbt's times, which is the type of ``updated_at``, and return the column of that name."""
    try:
        bare = sql.expression(found.updated_at or "").bare
    except ValueError as error:
        raise found.wrong(f"updated_at: {error}") from error
    columns = draft.options["columns"]
    column = next((name for name in columns if name.lower() == (bare or "").lower()), None)
    form = columns.get(column)
    kind = data_type(form["type"] if isinstance(form, dict) else form) if form else ""
    if kind == "DATE" or kind in WHOLE:
        chosen, what = ("date", "a date") if kind == "DATE" else ("bigint", "a number")
        draft.put("history.type", chosen, f"{column} is {what}, and dbt's times have its type.")
    return column


def _put_deletes(draft: Draft, found: _Snapshot) -> None:
    # Without hard_deletes, its older form counts.
    deletes = found.config.hard_deletes or ("invalidate" if found.config.invalidate_hard_deletes else "ignore")
    meanings = {"ignore": "ignore", "invalidate": "close", "new_record": "mark"}
    if deletes not in meanings:
        raise found.wrong(f"hard_deletes: '{deletes}' is not one of {', '.join(meanings)}")
    draft.put("on_delete", meanings[deletes], f"hard_deletes: {deletes}.")
    if deletes == "ignore":
        return
    draft.note("An empty source stops the run, where dbt takes every key for deleted; see snapshot.", "on_delete")
    if draft.options.get("history", {}).get("type") == "bigint":
        draft.put("snapshot.taken_at", "unix_timestamp()", "Of a deleted key, in the unit of updated_at: seconds?")


def _put_history(draft: Draft, names: dict[str, str]) -> None:
    """Write the history columns. ``names``: dbt's default name -> name in this snapshot."""
    draft.put("history.valid_from", names["dbt_valid_from"], "The names of dbt's columns.")
    draft.put("history.valid_to", names["dbt_valid_to"])
    draft.put("history.is_current", None, "dbt has no such column.")
    draft.put("history.surrogate_key", names["dbt_scd_id"], "One per version as in dbt, but SHA-256 instead of MD5.")
    if draft.options["on_delete"] == "mark":
        draft.put("history.deleted", names["dbt_is_deleted"], "A boolean, which is text in dbt on Spark.")
    draft.left_out.append(f"the column {names['dbt_updated_at']}: {names['dbt_valid_from']} holds the same time")


def _put_open_end(draft: Draft, end: str | int | None) -> None:
    """Write ``dbt_valid_to_current``, in the type of dbt's times."""
    if end is None:
        return
    kind = draft.options["history"].get("type", "timestamp")
    literals = (_NUMBERS if kind == "bigint" else _TIMES).findall(str(end))
    if len(literals) == 1:
        time = literals[0].replace("T", " ")
        value = int(time) if kind == "bigint" else time[:10] if kind == "date" else time
        draft.put("history.open_end", value, f"dbt_valid_to_current: {end}")
    else:
        draft.left_out.append(f"dbt_valid_to_current: {end} holds no single literal; write it in history.open_end")
