"""Another name in the place of one, inside of a user's SQL; everything else stays as it was written."""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import exp

from scdgen.spec.model import Spec
from scdgen.sql.tokens import DIALECT


def with_table(text: str, table: tuple[str, ...], name: str) -> str:
    """The text with each mention of a table (its parts) replaced.

    >>> with_table("SELECT max(a) FROM crm.`t` AS t WHERE 'crm.t' = b", ("crm", "t"), "v")
    "SELECT max(a) FROM v AS t WHERE 'crm.t' = b"
    """
    wanted = [part.lower() for part in table]
    found = [node.parts for node in sqlglot.parse_one(text, dialect=DIALECT).find_all(exp.Table)]
    return _replaced(text, [parts for parts in found if [part.name.lower() for part in parts] == wanted], name)


def with_column(text: str, column: str, value: str) -> str:
    """The text with each mention of a column replaced by an expression.

    >>> with_column("date_format(valid_from, 'yyyy')", "valid_from", "_scd_at")
    "date_format(_scd_at, 'yyyy')"
    """
    found = sqlglot.parse_one(text, dialect=DIALECT).find_all(exp.Column)
    return _replaced(text, [node.parts for node in found if node.name.lower() == column.lower()], value)


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


def _replaced(text: str, names: Iterable[list[exp.Expr]], value: str) -> str:
    spans = sorted((parts[0].meta["start"], parts[-1].meta["end"] + 1) for parts in names)
    for start, end in reversed(spans):
        text = text[:start] + value + text[end:]
    return text
