"""A spec with a run's own source and values put in; the SQL is rendered from the result."""

from __future__ import annotations

from collections.abc import Mapping

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.source import param_variables
from scdgen.spec import Spec


def bind(spec: Spec, view: str | None, params: Mapping[str, object]) -> Spec:
    """Put a view in the place of the source, and values in the place of the params' defaults.

    A value becomes a text literal cast to the param's type; no value can become SQL. Raises :class:`UsageError` for
    a param that the spec does not have, and for one without value and default.
    """
    for name in params:
        if name not in spec.params:
            known = ", ".join(spec.params) or "none"
            raise UsageError(
                f"{spec.origin}: there is no param '{name}'{nearest(name, spec.params)} (the spec's params: {known})"
            )
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
    for name, kind in param_variables(bound)[1]:
        raise UsageError(f"{spec.origin}: the param '{name}' ({kind}) has no value; pass --param {name}=...")
    return bound


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
