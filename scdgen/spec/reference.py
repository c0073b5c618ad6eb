"""The options of a spec, read from the models: for the reference in the docs and for ``scdgen explain``.

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
from scdgen.spec.pattern import pattern_names, rules_of

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
    """One option of a spec: its place, what it may hold, its default, its meaning in one line (Markdown)."""

    place: str
    allowed: str
    default: str
    meaning: str


def options(model: type[BaseModel] = Spec, above: str = "") -> Iterator[Option]:
    """Every option of a model and of the models in it, in the order of the models."""
    hints = typing.get_type_hints(model, include_extras=True)
    for name, field in model.model_fields.items():
        place = f"{above}{field.alias or name}"
        inner, many = _inner(field.annotation)
        default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
        allowed = _allowed(hints[name], inner, many)
        yield Option(place, allowed, DEFAULTS.get(place, default), field.description or "")
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
    if kind == spec.Pattern:
        return ", ".join(f"`{name}` ({rules_of(name).summary})" for name in pattern_names())
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
    lines += [f"| `{o.place}` | {o.allowed} | {o.default} | {o.meaning} |" for o in options()]
    return "\n".join(lines)
