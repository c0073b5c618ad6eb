"""Targets (environments): the same spec with the names of another place, as ``scdgen.toml`` says.

:func:`place` takes specs and gives them other names; nothing after it knows of targets.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin

import sqlglot
from pydantic import BaseModel
from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.model.option import Location, find_sql
from scdgen.model.spec import Param, Spec, TableName
from scdgen.settings import read_targets
from scdgen.sql.literal import find_form, value_text
from scdgen.sql.tokens import DIALECT, tokens

Parts = tuple[str, ...]
M = TypeVar("M", bound=BaseModel)
_ANY = ("*",)
_OF_ENGINE = {"information_schema", "global_temp", "system"}  # schemas and catalogs that ``*`` leaves alone
_READS_NAME = {"TABLE_CHANGES", "IDENTIFIER"}  # functions whose first argument is a text with the name of a table


@dataclass(frozen=True)
class Target:
    """One target of the settings."""

    name: str
    place: str
    """Its table in the settings, for messages."""
    schemas: Mapping[Parts, Parts]
    """Schema, or catalog and schema, in lower case -> those of the target."""
    params: Mapping[str, Any]

    def rename(self, parts: Parts) -> Parts:
        """Return the name that a table has in the target. Raises :class:`ValueError` if it needs a schema for that."""
        *above, name = parts
        if "/" in name:  # a folder, as in delta.`/data/x`
            return parts
        lower = [part.lower() for part in above] or ["default"]
        found = self.schemas.get(tuple(lower)) or self.schemas.get((lower[-1],))
        if found is None and not _OF_ENGINE & {*lower}:
            found = self.schemas.get(_ANY)
        if found is None:
            return parts
        if not above:
            raise ValueError(f"'{name}' has no schema, which the target {self.name} needs; write it, as in crm.{name}")
        new = [part.replace("{schema}", above[-1]) for part in found]
        return (*above[: -len(new)], *new, name)


def read_target(name: str) -> Target:
    """Read a target of the settings. Raises :class:`UsageError`."""
    above, found = read_targets()
    if name not in found:
        known = nearest(name, found) or f"; the targets are {', '.join(found)}"
        fix = known if found else "; write [targets.NAME.schemas] in scdgen.toml"
        raise UsageError(f"there is no target '{name}'{fix}", option="--target")
    place, options = f"{above}.{name}", found[name]
    for key in options:
        if key not in ("schemas", "params") or not isinstance(options[key], dict):
            raise UsageError(f"'{key}' is not one of the tables schemas and params", place=place, fix="correct it")
    at, given = f"{place}.schemas", options.get("schemas", {})
    schemas = {_lower(_read_name(at, key, key)): _read_name(at, key, value) for key, value in given.items()}
    if len(schemas) < len(given):
        raise UsageError("names one schema twice, because case does not matter", place=at, fix="keep one")
    return Target(name, place, schemas, options.get("params", {}))


def _read_name(place: str, key: str, text: object) -> Parts:
    """Read a schema, or catalog and schema."""
    fix = f'write "{key}" = "schema", or "catalog.schema", in quotes'
    try:
        parts = sql.split_name(text) if isinstance(text, str) else ()
    except ValueError as error:
        raise UsageError(f"{key}: {error}", place=place, fix=fix) from error
    if not 0 < len(parts) < 3 or any(re.search("[{}]", part.replace("{schema}", "")) for part in parts):
        raise UsageError(
            f"{key}: '{text}' is not a schema; beside names it knows {{schema}} alone", place=place, fix=fix
        )
    return parts


def place(specs: Iterable[Spec], target: Target) -> tuple[list[Spec], list[tuple[Spec, Location, str]]]:
    """Give specs the names and the params of a target, and return the mistakes, such as two names that become one."""
    names = _Names(target)
    return [names.place(spec) for spec in specs], names.found


class _Names:
    """The names of specs in a target, and what is wrong with them."""

    def __init__(self, target: Target):
        self.found: list[tuple[Spec, Location, str]] = []
        self._target = target
        self._known: dict[Parts, Parts] = {}  # a name in the target, in lower case -> the name as a spec has it
        self._spec: Spec

    def place(self, spec: Spec) -> Spec:
        whole = self._spec = spec.whole
        renamed = self._rename(whole, ())
        changed: dict[str, Any] = {"params": {**renamed.params, **dict(self._params(renamed))}}
        if renamed.target != whole.target:
            if whole.table.location:
                what = "location: would be the folder of two tables, because a target renames no folder; leave it out"
                self._refuse(("table", "location"), what)
            if stream := renamed.stream:
                checkpoint = stream.checkpoint and f"{stream.checkpoint.rstrip('/')}.{self._target.name}"
                changed["stream"] = stream.model_copy(update={"checkpoint": checkpoint})
        given = {name: value for name, value in changed.items() if name in whole.model_fields_set}
        return renamed.model_copy(update=given).in_environment(self._target.name, whole.folder).for_feed()

    def _refuse(self, at: Location, message: str) -> None:
        self.found.append((self._spec, at, message))

    def _params(self, spec: Spec) -> Iterator[tuple[str, Param]]:
        for name, param in spec.params.items():
            if name in self._target.params:
                text = value_text(self._target.params[name])
                if form := find_form(text, param.type):
                    where = f"{self._target.place}.params.{name}"
                    raise UsageError(f"'{text}' is not a valid {param.type}", place=where, fix=f"write it as {form}")
                yield name, param.model_copy(update={"default": sql.text_literal(text)})

    def _rename(self, model: M, above: Location) -> M:
        changed: dict[str, Any] = {}
        for name, key, convert in _fields(type(model)):
            value = getattr(model, name)
            # The default of a param may also be a plain text.
            if isinstance(model, Param) and not (model.read and model.read.tables):
                continue
            if (new := self._convert(value, convert, (*above, key))) != value:
                changed[name] = new
        return model.model_copy(update=changed) if changed else model

    def _convert(self, value: Any, kind: str, at: Location) -> Any:
        if isinstance(value, BaseModel):
            return self._rename(value, at)
        if isinstance(value, dict):
            read = self._name if kind == "key" else lambda key, _: key
            return {read(key, (*at, key)): self._convert(inner, kind, (*at, key)) for key, inner in value.items()}
        if isinstance(value, tuple):
            return tuple(self._convert(inner, kind, (*at, number)) for number, inner in enumerate(value))
        if not isinstance(value, str) or kind not in ("name", "sql"):
            return value
        return self._name(value, at) if kind == "name" else self._sql(value, at)

    def _name(self, text: str, at: Location) -> str:
        parts = sql.split_name(text)
        new = self._new(parts, at)
        return text if new == parts else sql.join_name(new)

    def _sql(self, text: str, at: Location) -> str:
        if not re.search(r"\bFROM\b", text, re.IGNORECASE):
            return text
        try:
            return with_schemas(text, lambda parts: self._new(parts, at))
        except ValueError as error:
            self._refuse(at, f"{at[-1]}: {error}")
            return text

    def _new(self, parts: Parts, at: Location) -> Parts:
        """Return the new name, and keep it, so that it is that of no other table."""
        try:
            new = self._target.rename(parts)
        except ValueError as error:
            self._refuse(at, str(error))
            return parts
        old, key = tuple(part.lower() for part in parts), tuple(part.lower() for part in new)
        other = self._known.setdefault(key, old)
        # A name without the catalog may be that of the other.
        if other != old and (len(other) == len(old) or other[-2:] != old[-2:]):
            both = f"{sql.quote_parts(other)} and {sql.quote_parts(old)} would both be {sql.quote_parts(new)}"
            self._refuse(at, f"{both} in the target {self._target.name}; map their schemas to two")
        return new


@functools.cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str, str], ...]:
    """Return (field, option, kind) of what may name tables: ``name``, ``key``, ``sql``, or ``in`` for other options."""
    found = []
    for name, field in model.model_fields.items():
        kinds = get_args(field.annotation)
        if issubclass(model, Param):
            kind = "sql" if name == "default" else ""
        elif find_sql(field):
            kind = "sql"
        elif get_origin(field.annotation) is dict and _is_name(kinds[0]):
            kind = "key"
        else:
            kind = "name" if _is_name(field.annotation) or _NAME in field.metadata else "in"
        found += [(name, field.alias or name, kind)] if kind else []
    return tuple(found)


_NAME = TableName.__metadata__[0]  # type: ignore[attr-defined]


def _is_name(kind: Any) -> bool:
    return any(part == _NAME or _is_name(part) for part in get_args(kind))


def with_schemas(text: str, rename: Callable[[Parts], Parts]) -> str:
    """Rename the tables of an expression or a query; raises ``ValueError`` for a name that is computed.

    CTEs keep their names, and so do columns, but for the name of a table before them.

    >>> with_schemas("WITH t AS (SELECT crm.t.a FROM crm.t) SELECT 'crm.t' FROM t", lambda parts: ("dev", *parts[-1:]))
    "WITH t AS (SELECT dev.t.a FROM dev.t) SELECT 'crm.t' FROM t"
    """
    tree = sqlglot.parse_one(text, dialect=DIALECT)
    spans: dict[tuple[int, int], str] = {}
    renamed: dict[Parts, Parts] = {}
    for table in tree.find_all(exp.Table):
        parts = tuple(part.name for part in table.parts)
        if isinstance(table.this, exp.Anonymous) and len(parts) == 1:
            if parts[0].upper() in _READS_NAME:
                spans.update(_rename_text(text, table.this, rename))
        elif (len(parts) > 1 or _is_table(tree, table)) and all(parts) and (new := rename(parts)) != parts:
            spans[_span(table.parts[:-1])] = sql.quote_parts(new[:-1])
            renamed |= {} if table.alias else {_lower(parts): new, _lower(parts)[-2:]: new}
    for column in tree.find_all(exp.Column):
        listed = _lower(part.name for part in column.parts)
        for old, new in renamed.items():
            if len(listed) > len(old) and listed[: len(old)] == old:
                spans[_span(column.parts[: len(old) - 1])] = sql.quote_parts(new[:-1])
    for (start, end), value in sorted(spans.items(), reverse=True):
        text = text[:start] + value + text[end:]
    return text


def _lower(parts: Iterable[str]) -> Parts:
    return tuple(part.lower() for part in parts)


def _span(parts: Sequence[exp.Expr]) -> tuple[int, int]:
    return parts[0].meta["start"], parts[-1].meta["end"] + 1


def _is_table(tree: exp.Expr, table: exp.Table) -> bool:
    """Whether a name of one part is that of a table, and not of a CTE."""
    # Spark ignores the case of names, and a scope does not; only the places of the nodes are used after this.
    for node in tree.find_all(exp.CTE, exp.Table):
        name = node.args["alias"].this if isinstance(node, exp.CTE) else node.this
        if isinstance(name, exp.Identifier) and len(getattr(node, "parts", ())) < 2:
            name.set("this", name.name.lower())
    roots = [query for query in tree.find_all(exp.Query) if not query.find_ancestor(exp.Query)]
    scopes = (scope for root in roots for scope in traverse_scope(root))
    return any(source is table for scope in scopes for source in scope.sources.values())


def _rename_text(
    text: str, call: exp.Anonymous, rename: Callable[[Parts], Parts]
) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the span and the new text of the name that a function takes as a text."""
    first = call.expressions[0] if call.expressions else None
    if not isinstance(first, exp.Literal) or not first.is_string:
        raise ValueError(
            f"{call.name} computes the name of its table, which no target can rename; write the name itself"
        )
    token = next(t for t in tokens(text) if t.token_type is TokenType.STRING and t.start > call.meta["start"])
    parts = sql.split_name(first.name)
    if (new := rename(parts)) != parts:
        yield (token.start, token.end + 1), sql.text_literal(sql.join_name(new))
