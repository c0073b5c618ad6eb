"""Inferred members: the facts of templates/infer.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns import source
from scdgen.patterns.columns import Target, cast, names_of
from scdgen.patterns.facts import Head, fields_of, opening_of
from scdgen.patterns.history import History
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Infer:
    """infer.sql: a version for each key that ``facts`` name and the table lacks.

    ``given`` are the keys and the time of a fact, ``wanted`` the conditions on them. ``values`` are the columns of the
    new versions, ``version`` those with the history columns computed from them, each with its name. ``moved`` are the
    columns that depend on ``start``, ``flag`` is the one of inferred members.
    """

    head: Head
    target: str
    facts: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    given: tuple[str, ...]
    wanted: tuple[str, ...]
    values: tuple[str, ...]
    version: tuple[str, ...]
    moved: tuple[str, ...]
    flag: str
    start: str

    @classmethod
    def of(cls, spec: Spec, history: History, columns: tuple[Target, ...]) -> Infer | None:
        """Return the facts of a spec, if it has inferred members."""
        inferred, times = spec.members.inferred, history.times
        if inferred is None:
            return None
        typed = [
            (key, cast(sql.expression(inferred.keys[sql.unquote(key.name)]).text, key.type)) for key in history.keys
        ]
        at = cast(sql.expression(inferred.at).text, times.type)
        keys, unknown = names_of(history.keys), source.unknown_key(spec)
        wanted = [f"{name} IS NOT NULL" for name in [*keys, "_scd_at"]]
        wanted += [f"_scd_at < {times.open_end}"] if times.open_end else []
        wanted += [f"NOT ({unknown})"] if unknown else []
        fields = fields_of(spec)
        return cls(
            head=Head.of(spec),
            target=sql.quote_parts(spec.target_parts),
            facts=sql.quote_parts(sql.split_name(inferred.fact)),
            keys=tuple(keys),
            columns=tuple(column.name for column in columns),
            given=(*(f"{text} AS {key.name}" for key, text in typed), f"{at} AS _scd_at"),
            wanted=tuple(wanted),
            values=(
                *(field.name if field.is_key else f"{cast('NULL', field.type)} AS {field.name}" for field in fields),
                *opening_of(history, "MIN(_scd_at)"),
            ),
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_next", inferred=True)),
            moved=history.from_start,
            flag=sql.quote(inferred.flag),
            start=times.start,
        )
