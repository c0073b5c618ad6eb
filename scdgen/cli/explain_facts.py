"""What the sentences of ``scdgen explain`` speak of: names, expressions and settings of one spec, ready to print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from scdgen import sql
from scdgen.patterns import source
from scdgen.patterns.columns import cast
from scdgen.patterns.context import build
from scdgen.patterns.times import BATCH_FROM
from scdgen.spec.definition import tracked
from scdgen.spec.model import Snapshot, Spec


def code(text: object) -> str:
    """A name or a piece of SQL as it stands in a sentence: on one line, in more backticks than it holds.

    >>> code("a +\\n  b"), code("a`b")
    ('`a + b`', '``a`b``')
    """
    line = re.sub(r"\s*\n\s*", " ", str(text).strip())
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def listed(names: Iterable[object], join: str = ", ") -> str:
    """Several names in one sentence."""
    return join.join(map(code, names))


def facts(spec: Spec) -> SimpleNamespace:
    """All that the sentences of a spec may name. ``kind`` is ``2c``, ``2s``, ``1c`` or ``1s``: pattern and feed."""
    ctx, given, snapshot = build(spec), spec.source, spec.snapshot or Snapshot()
    derived = source.derived(spec)
    has_time = given.effective_at is not None
    moment = "key and time" if has_time and not (spec.is_scd2 and spec.is_snapshot) else "key"
    predicates = source.predicates(spec, skip_bad=False)
    scoped = snapshot.scope and spec.deletes != "ignore"
    found = SimpleNamespace(
        spec=spec, ctx=ctx, kind=f"{spec.pattern[-1]}{given.feed[0]}", snapshot=snapshot, derived=derived,
        first=ctx.rows.name, moment=moment, time=source.time_type(spec), has_time=has_time,
        has_deletes=source.flags_deletes(spec), drops_deletes=given.delete_when and spec.deletes == "ignore",
        where_sql=predicates[0] if predicates else "", at_sql=source.time_expression(spec),
        deleted_sql=source.deleted_expression(spec), 
        keys_sql=" AND ".join(f"{source.key_expression(spec, key)} IS NOT NULL" for key in spec.keys),
        target=code(spec.target), description=code(spec.description), keys=listed(spec.keys), table=code(given.table),
        query=code(given.query), path=code(given.path), format=given.format, where=code(given.where),
        options=listed(f"{name} = {value}" for name, value in given.options.items()),
        at=code(given.effective_at), sequence=listed(given.sequence_by, ", then "), delete=code(given.delete_when),
        tracked=listed(tracked(spec)), taken=code(snapshot.taken_at), updated_at=code(spec.updated_at),
        within=f" (of the rows where {code(snapshot.scope)} is true)" if scoped else "",
        whole=f", for the rows of the table where {code(snapshot.scope)} is true" if scoped else "",
        scope=code(snapshot.scope), share=f"{snapshot.max_deleted * 100:.6g} %",
        unordered=" that `sequence_by` does not order" if given.sequence_by else "",
        clusters=listed(spec.table.cluster_by), location=code(spec.table.location),
        view_current=code(spec.views.current), view_as_of=code(spec.views.as_of), stream=_stream(spec),
        opening="opening" if source.has_lives(spec) else "points",
        ending="versions" if getattr(ctx, "has_versions", True) else "staged",
        # With unchanged: keep each version has its own values, tracked or not.
        moves=[name for name, c in spec.columns.items() if not c.track and name not in derived and not _keeps(spec)],
    )  # fmt: skip
    (_history if spec.is_scd2 else _current)(found)
    return found


def _stream(spec: Spec) -> str:
    if spec.stream is None:
        return ""
    kept = [f"checkpoint = {spec.stream.checkpoint}"] if spec.stream.checkpoint else []
    return listed([*(f"{name} = {value}" for name, value in spec.stream.options.items()), *kept]) or "nothing"


def _keeps(spec: Spec) -> bool:
    """Whether every change is a version."""
    return spec.unchanged == "keep"


def _history(f: SimpleNamespace) -> None:
    """The names and forms of the history columns."""
    history = f.spec.history
    for option in ("valid_from", "valid_to", "deleted", "row_hash", "surrogate_key", "action", "gap", "open_end"):
        setattr(f, option, code(getattr(history, option)))
    f.flag, f.by_run, f.ends_by_literal = history.is_current, f.ctx.times.by_run, f.ctx.times.open_end is not None
    if f.flag:
        f.flag_name = code(f.flag.name)
        f.flag_open, f.flag_closed = code(f.ctx.times.flag_of(True)), code(f.ctx.times.flag_of(False))
    f.marks, f.quoted, f.gone = f.ctx.marks, f.ctx.quoted, f.ctx.gone if f.spec.is_snapshot else ""
    f.bounded = any(variable.name == BATCH_FROM for variable in f.ctx.batch)
    f.whole_lives, f.lives = history.action and not f.spec.is_snapshot, source.has_lives(f.spec)
    f.bound = "the first time in it" if f.has_time else "this snapshot"
    hidden = ", equal neighbours as one" if f.ctx.keeps else ""
    f.folded = f"{hidden}, without those that are deleted" if f.marks else hidden


def _current(f: SimpleNamespace) -> None:
    """How rows of scd1 become one."""
    merges = {name: column.merge for name, column in f.spec.columns.items() if name not in f.spec.keys}
    f.combines, f.marks, f.by_run, f.ends_by_literal = f.ctx.combines, False, False, False
    f.ordered = any(merge in {"last", "first"} for merge in merges.values()) or f.has_deletes
    f.oldest = "last" not in merges.values() and "first" in merges.values()
    new, old = ("n", "o") if f.spec.is_snapshot else ("s", "t")
    f.one, f.adds_time = ("snapshot" if f.spec.is_snapshot else "latest"), f.spec.updated_at not in f.spec.columns
    f.order_sql = f.ctx.in_order
    if f.combines and f.spec.updated_at:
        name = sql.quote(f.spec.updated_at)
        f.order_sql = f"{'LEAST' if f.oldest else 'GREATEST'}({old}.{name}, {new}._scd_time)"


def each(f: SimpleNamespace, of: str) -> Iterator[tuple[str | int, SimpleNamespace]]:
    """(key in the YAML, facts) of each column, param or other entry; the facts are those of the spec and its own."""
    if of == "table.properties":
        keys = {sql.text_literal(key): key for key in f.spec.table.properties}
        for name, value in f.ctx.properties:
            if not name.startswith("'scdgen."):  # those say what the spec says
                shown = f"{name} = {value}"
                yield keys.get(name, ""), SimpleNamespace(**vars(f), name=shown, shown=code(shown))
        return
    holder: Any = f.spec
    for step in of.split("."):
        holder = getattr(holder, step)
    for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
        name = str(key if isinstance(holder, dict) else getattr(item, "name", item))
        more = {"name": name, "item": item, "named": code(name), "quoted_name": sql.quote(name)}
        yield key, SimpleNamespace(**vars(f), **more, **_OWN[of](f, name, item))


def _column(f: SimpleNamespace, name: str, column: Any) -> dict[str, Any]:
    text = f.spec.column_source(name)
    return {
        "is_key": name in f.spec.keys,
        "from_start": name in f.derived,
        "told": "the source's column of that name" if column.from_ is None else code(column.from_),
        "cast_sql": cast(sql.expression(text).text, column.type),
        "aggregate": {"min": "MIN", "max": "MAX", "last": "MAX_BY", "first": "MIN_BY"}[column.merge],
        "comment": code(column.comment),
        "comment_sql": f"COMMENT {sql.text_literal(column.comment or '')}",
    }


def _partition(f: SimpleNamespace, name: str, _: Any) -> dict[str, Any]:
    bounds = name in source.partition_keys(f.spec)
    variable = source.partition_variable(name, f.spec) if bounds else ""
    test = f"ARRAY_CONTAINS({variable}, t.{sql.quote(name)})" if bounds else ""
    return {"partition_sql": test, "partition_variable": variable}


_OWN: dict[str, Callable[[SimpleNamespace, str, Any], dict[str, Any]]] = {
    "columns": _column,
    "params": lambda f, name, param: {"default": code(param.default)},
    "checks": lambda f, name, check: {"query_of": code(check.query)},
    "table.partition_by": _partition,
}
