"""What each option of a spec means, in one line: for the JSON Schema that editors read, and for the README.

A place is written with dots; ``*`` stands for a name that the user chooses, and for each entry of a list.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from scdgen.spec import model as spec
from scdgen.spec.model import Spec

MEANINGS = {
    "target": "The table to keep, in one to three parts.",
    "description": "A comment on the table.",
    "pattern": "`scd2`: a row per version; `scd1`: a row per key.",
    "source": "Where rows come from, and what they say. Exactly one of `table`, `query`, `path`.",
    "source.table": "The table to read, in one to three parts.",
    "source.query": "A SELECT to read.",
    "source.path": "A file or folder to read, relative to the folder that scdgen is run in; goes with `format`.",
    "source.format": "Of the files at `path`.",
    "source.options": "Options of Spark's reader, for `path`.",
    "source.feed": "`changes`: rows that changed; `snapshot`: the whole truth at one time, a missing key is a delete.",
    "source.effective_at": "When a row became true. scd2 changes need it; in a snapshot it is `taken_at` by default.",
    "source.sequence_by": "Of rows of one key and time the greatest wins.",
    "source.delete_when": "Which rows are deletes; changes only.",
    "source.where": "Which rows are read.",
    "keys": "The natural key: one or more target columns.",
    "columns": "Target columns in order, the history columns aside; `name: type`, or `name: {type: …, …}`.",
    "columns.*.type": "The type of the column; the source's value is cast to it.",
    "columns.*.from": "What the column holds, over a row of the source.",
    "columns.*.comment": "A comment on the column.",
    "columns.*.nullable": "`false`: the column is NOT NULL in the table.",
    "columns.*.track": "scd2; `false`: a change of only such columns opens no version; the newest value counts.",
    "columns.*.nulls": "scd2; `ignore`: NULL means \"not given\", the value before it stays; "
    "`fill`: and the first known value fills what is before it.",
    "columns.*.merge": "scd1: how a key's rows, in the batch and in the table, become one value.",
    "history": "scd2: the columns that make versions of rows.",
    "history.type": "The type of `valid_from` and `valid_to`; `bigint` is a sequence number.",
    "history.valid_from": "The column with the start of a version, inclusive.",
    "history.valid_to": "The column with its end.",
    "history.open_end": "What the end of an open version holds: null, a literal such as `'9999-12-31'`, or `last_run`.",
    "history.gap": "null: an end is the next start; or that much before it: `1 microsecond`, `1 day`, a number.",
    "history.is_current": "The column that says which version is open; null for no such column.",
    "history.is_current.name": "Its name.",
    "history.is_current.type": "Its type.",
    "history.is_current.open": "Its value in an open version.",
    "history.is_current.closed": "Its value in a closed version.",
    "history.row_hash": "A column with the SHA-256 of the tracked columns; NULL, '' and moved separators differ.",
    "history.surrogate_key": "A column with the SHA-256 of keys and `valid_from`; never changes for a version.",
    "history.action": "A column with `I` first version of a key or after a delete, `U` a later one, `D` deleted.",
    "history.deleted": "A boolean column, with `on_delete: mark`: whether a delete opened the version.",
    "table": "How the target is stored.",
    "table.format": "Of the target.",
    "table.partition_by": "Target columns; one that derives from the key bounds the MERGE.",
    "table.cluster_by": "Target columns of liquid clustering; not with `partition_by`.",
    "table.properties": "Delta table properties.",
    "table.location": "Where the files of the table are, when the catalog does not choose.",
    "updated_at": "scd1: a target column that keeps the order of changes across batches.",
    "schema_evolution": "`add_columns`: a column new in the spec is added to the table.",
    "on_delete": "scd2: `close`, `ignore`, or `mark`: a delete is a version of its own with the last known values; "
    "scd1: `remove`, `ignore`.",
    "unchanged": "`skip`: a change that changes nothing opens no version; `keep`: every change is a version, so that "
    "the table is the same whatever the order in which changes arrive.",
    "late_arriving": "scd2; `apply`: late rows split, shorten or extend versions (changes only); `ignore` drops them; "
    "`fail` stops.",
    "bad_rows": "Rows with a NULL in a key or in `effective_at`: stop, or leave them out.",
    "conflicts": "Different rows of one key and time that `sequence_by` does not order: stop, or take any, "
    "a delete before a row.",
    "snapshot": "Goes with `feed: snapshot`: what it speaks for, and when it is not to be believed.",
    "snapshot.taken_at": "When the snapshot was taken.",
    "snapshot.scope": "Over target columns: the part of the table that the snapshot speaks for; null for all of it.",
    "snapshot.allow_empty": "`false`: an empty snapshot is an error, nothing is closed.",
    "snapshot.max_deleted": "The share of current keys that one snapshot may close; more is an error.",
    "params": "Values given at run time, written `:name` in any expression; session variables in SQL. "
    "`name: type`, or `name: {type: …, default: …}`.",
    "params.*.type": "The type of the param.",
    "params.*.default": "Its value where `--param` gives none: a literal, an expression or a SELECT.",
    "checks": "Integrity checks of your own, beside the built-in ones.",
    "checks.*.name": "The name of the check.",
    "checks.*.query": "Returns the rows that break it.",
    "views": "Views to create.",
    "views.current": "A view of the open versions.",
    "views.as_of": "scd2: a table function of a time, the versions valid then.",
    "stream": "For `scdgen stream`.",
    "stream.options": "Options of the stream's reader.",
    "stream.checkpoint": "The folder in which the stream keeps its place.",
}  # fmt: skip

# Defaults that the models cannot hold, because they depend on other options.
DEFAULTS = {
    "source.effective_at": "",
    "columns.*.from": "the same name",
    "history.is_current": "`is_current`",
    "table.properties": "deletion vectors on",
    "on_delete": "`close`; scd1 `remove`",
    "late_arriving": "`apply`; snapshots `fail`",
}

_KINDS: dict[Any, str] = {
    spec.Name: "a name",
    spec.Names: "a name, or a list",
    spec.TableName: "a table name",
    spec.Expression: "SQL expression",
    spec.Expressions: "SQL expression, or a list",
    spec.Query: "one SELECT",
    spec.DataType: "a Spark type",
    spec.Properties: "name: value",
    spec.Scalar: "a literal",
    bool: "`true`, `false`",
    int: "a number",
    float: "a number",
    str: "text",
}


@dataclass(frozen=True)
class Option:
    """One option of a spec: its place, what it may hold, what it holds where it is not given (Markdown)."""

    place: str
    allowed: str
    default: str


def options(model: type[BaseModel] = Spec, above: str = "") -> Iterator[Option]:
    """Every option of a model and of the models in it, in the order of the models."""
    hints = typing.get_type_hints(model, include_extras=True)
    for name, field in model.model_fields.items():
        place = f"{above}{field.alias or name}"
        inner, many = _inner(field.annotation)
        default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
        yield Option(place, _allowed(hints[name], inner, many), DEFAULTS.get(place, default))
        if inner is not None:
            yield from options(inner, f"{place}.*." if many else f"{place}.")


def _inner(kind: Any) -> tuple[type[BaseModel] | None, bool]:
    """(the model that an option holds, whether it holds many of them)."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind, False
    for part in get_args(kind):
        found, _ = _inner(part)
        if found is not None:
            return found, get_origin(kind) in (dict, tuple)
    return None, False


def _allowed(kind: Any, inner: type[BaseModel] | None, many: bool) -> str:
    if inner is not None and many:
        return "a list" if get_origin(kind) is tuple else "a mapping"
    if inner is not None:
        return "a name, a mapping, null" if hasattr(inner, "_short_form") else "a mapping"
    if kind in _KINDS:
        return _KINDS[kind]
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if get_origin(kind) is typing.Annotated:
        return _allowed(get_args(kind)[0], None, False)
    if get_origin(kind) in (typing.Union, types.UnionType):
        parts = [_allowed(part, None, False) for part in get_args(kind) if part is not type(None)]
        return ", ".join(dict.fromkeys(parts))
    return "text"


def _default(value: object) -> str:
    if value is None:
        return "`null`"
    if isinstance(value, BaseModel | dict | tuple):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def table() -> str:
    """The options as a Markdown table, a line each."""
    lines = ["| option | allowed | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{o.place}` | {o.allowed} | {o.default} | {MEANINGS[o.place]} |" for o in options()]
    return "\n".join(lines)
