"""Puts the values of a run into a spec: its params, a view instead of its source, another name of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from scdgen import sql
from scdgen.errors import UsageError, nearest, quoted
from scdgen.model.option import sql_texts
from scdgen.model.spec import TAKEN, Spec
from scdgen.sql.literal import find_form, value_text
from scdgen.sql.tokens import with_table

V = TypeVar("V")


def param_texts(params: Mapping[str, object]) -> dict[str, str]:
    """Return the values that are given as the texts that the SQL casts; ``None`` is none."""
    return {name: value_text(value) for name, value in params.items() if value is not None}


def needed_params(spec: Spec) -> list[tuple[str, str]]:
    """Return (name, type) of the params without a default that the SQL of a spec reads."""
    used = {name for found in sql_texts(spec) for name in found.fragment.params}
    used |= {name for name in spec.params if any(name.lower() in param.read_params for param in spec.params.values())}
    used |= {"last_run"} if spec.history.open_end == "last_run" else set()
    return [(name, param.type) for name, param in spec.params.items() if param.default is None and name in used]


def bind(spec: Spec, view: str | None, params: Mapping[str, object], finds_dates: bool = False) -> Spec:
    """Replace the source with a view, and the params' defaults with values.

    A value becomes a text literal that is cast to the param's type; no value can become SQL. Raises
    :class:`UsageError` for a view instead of a join, for a param that the spec does not have, for a value that is not
    valid for its type, and for params without value or default. With ``finds_dates``, the param of ``snapshot.each``
    needs none: a run looks for the dates.
    """
    if view is not None and spec.source.join:
        what = "source.join reads its tables, which no other source replaces"
        raise UsageError(what, place=spec.origin, fix="leave out --source")
    for name in params:
        if name not in spec.params:
            raise UsageError(f"{spec.origin}: no param '{name}'{_known(name, spec.params)}")
    # Only values that are given replace defaults; SQL writes booleans in lower case.
    texts = param_texts(params)
    # Check the forms here, because a cast that fails in the SQL would not name the param.
    for name, text in texts.items():
        kind = spec.params[name].type
        if form := find_form(text, kind):
            message = f"{quoted(text)} is not a valid {kind}; write it as {form}"
            raise UsageError(f"{spec.origin}: the param '{name}': {message}")
    given = {
        name: spec.params[name].model_copy(update={"default": sql.text_literal(text)}) for name, text in texts.items()
    }
    changed: dict[str, object] = {"params": {**spec.params, **given}}
    # Clear what else names rows, because a source has exactly one.
    if view is not None:
        plain: dict[str, object] = {"table": view, "query": None, "path": None, "format": None, "options": {}}
        changed["source"] = spec.source.model_copy(update=plain)
    bound = spec.model_copy(update=changed)
    # Report all params without a value at once.
    needed = [each for each in needed_params(bound) if not (finds_dates and spec.each and each[0] == TAKEN)]
    if needed:
        line = "{}: the param '{}' ({}) has no value; pass --param {}=..."
        raise UsageError(line.format(spec.origin, name, kind, name) for name, kind in needed)
    return bound


def bind_each(specs: Sequence[Spec], given: Mapping[str, V], source: str | None = None) -> dict[str, dict[str, V]]:
    """Return target -> the values among ``given`` for the params that its spec declares.

    ``source`` is the path that replaces the source of a single spec. Raises :class:`UsageError` if it cannot, for a
    value that no spec declares, or with all values that are missing.
    """
    # A single spec takes all values, and says which of them it does not know.
    if len(specs) == 1:
        bind(specs[0], source, given, finds_dates=True)
    declared = dict.fromkeys(name for spec in specs for name in spec.params)
    for name in given:
        if name not in declared:
            what = f"none of the specs has this param{_known(name, declared)}"
            raise UsageError(what, option=f"--param {name}")
    own = {spec.target: {n: value for n, value in given.items() if n in spec.params} for spec in specs}
    # Report the values that are missing for all specs at once.
    missing: list[str] = []
    for spec in specs:
        try:
            bind(spec, None, own[spec.target], finds_dates=True)
        except UsageError as error:
            missing += error.lines
    if missing:
        raise UsageError(missing)
    return own


def _known(name: str, params: Iterable[str]) -> str:
    """Suggest a fix for a param that is not declared."""
    names = list(params)
    listed = f"the params are {', '.join(names)}" if names else "declare it under 'params:', or leave it out"
    return nearest(name, names) or f"; {listed}"


def with_target(spec: Spec, name: str) -> Spec:
    """Replace the target of a spec with another relation, also in its queries (a watermark reads it)."""
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
