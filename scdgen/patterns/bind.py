"""A spec with a run's own source and values put in; the SQL is rendered from the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.patterns.source import param_variables
from scdgen.spec.model import Spec
from scdgen.sql.tokens import with_table

V = TypeVar("V")


def bind(spec: Spec, view: str | None, params: Mapping[str, object]) -> Spec:
    """Put a view in the place of the source, and values in the place of the params' defaults.

    A value becomes a text literal cast to the param's type; no value can become SQL. Raises :class:`UsageError` for
    a param that the spec does not have, and for those without value and default.
    """
    for name in params:
        if name not in spec.params:
            raise UsageError(f"{spec.origin}: there is no param '{name}'{_known(name, spec.params)}")
    given = {
        name: spec.params[name].model_copy(update={"default": sql.text_literal(_text(value))})
        for name, value in params.items()
        if value is not None
    }
    changed: dict[str, object] = {"params": {**spec.params, **given}}
    if view is not None:
        plain: dict[str, object] = {"table": view, "query": None, "path": None, "format": None, "options": {}}
        changed["source"] = spec.source.model_copy(update=plain)
    bound = spec.model_copy(update=changed)
    needed = param_variables(bound)[1]
    if needed:
        line = "{}: the param '{}' ({}) has no value; pass --param {}=..."
        raise UsageError("\n".join(line.format(spec.origin, name, kind, name) for name, kind in needed))
    return bound


def bind_each(specs: Sequence[Spec], given: Mapping[str, V]) -> dict[str, dict[str, V]]:
    """Target -> the values among ``given`` for the params that its spec declares.

    Raises :class:`UsageError` for a value that no spec declares, and for all values that are missing in one go.
    """
    if len(specs) == 1:
        bind(specs[0], None, given)
    declared = dict.fromkeys(name for spec in specs for name in spec.params)
    for name in given:
        if name not in declared:
            raise UsageError(f"--param {name}: none of the specs has this param{_known(name, declared)}")
    own = {spec.target: {n: value for n, value in given.items() if n in spec.params} for spec in specs}
    missing = []
    for spec in specs:
        try:
            bind(spec, None, own[spec.target])
        except UsageError as error:
            missing.append(str(error))
    if missing:
        raise UsageError("\n".join(missing))
    return own


def _known(name: str, params: Iterable[str]) -> str:
    """The way out for a param that is not declared."""
    names = list(params)
    listed = f"the params are {', '.join(names)}" if names else "declare it under 'params:', or leave it out"
    return nearest(name, names) or f"; {listed}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_target(spec: Spec, name: str) -> Spec:
    """The spec with another relation in the place of its target, in its own queries too (a watermark reads it)."""
    parts = spec.target_parts
    query = spec.source.query
    params = {
        key: param.model_copy(update={"default": with_table(param.default, parts, name)})
        if isinstance(param.default, str) and param.default.lstrip(" \n(").upper().startswith(("SELECT", "WITH"))
        else param
        for key, param in spec.params.items()
    }
    source = spec.source.model_copy(update={"query": with_table(query, parts, name)}) if query else spec.source
    return spec.model_copy(update={"target": name, "params": params, "source": source})
