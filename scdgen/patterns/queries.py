"""Queries that the commands ask beside the generated files."""

from __future__ import annotations

from collections.abc import Mapping

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.patterns import source
from scdgen.patterns.context import build
from scdgen.patterns.render import render_template
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements


def incoming(spec: Spec) -> str:
    """``WITH … incoming AS (…)``: the typed rows of the source, without the rules that stop a statement."""
    rows = source.rows(spec, "incoming", guarded=False)
    given = f"source AS ({rows.query}),\n" if rows.query else ""
    listed = ",\n        ".join(rows.select)
    where = f"\n    WHERE {' AND '.join(rows.where)}" if rows.where else ""
    return f"WITH {given}incoming AS (\n    SELECT\n        {listed}\n    FROM {rows.relation}{where}\n)\n"


def source_rows(spec: Spec) -> str:
    """The rows of :func:`incoming`."""
    return f"{incoming(spec)}SELECT * FROM incoming"


def source_counts(spec: Spec, wanted: bool = False) -> str:
    """How many rows the source has, and how many of them ``bad_rows: skip`` leaves out.

    '' where no row is skipped, unless the number is ``wanted``: then a query of the spec's own alone is not worked out
    once more for it. Runs where the statements before a MERGE have set their variables.
    """
    if spec.bad_rows != "skip":
        counted = wanted and spec.source.query is None
        return f"{incoming(spec)}SELECT COUNT(*), 0 FROM incoming" if counted else ""
    names = [*map(sql.quote, spec.keys), *(["_scd_at"] if spec.source.effective_at is not None else [])]
    bad = " OR ".join(f"{name} IS NULL" for name in names)
    return f"{incoming(spec)}SELECT COUNT(*), COUNT_IF({bad}) FROM incoming"


def run_counts(spec: Spec, late: bool = False) -> str | None:
    """How many rows of each action a MERGE has, and how many keys need nothing; ``None`` where only plan.sql tells.

    So it does of ``late`` rows. Runs where the statements before a MERGE have set their variables.
    """
    ctx = build(spec)
    if ctx.plan.run_counts is None or (late and ctx.plan.late):
        return None
    return split_statements(render_template("counts.sql.j2", ctx))[0]


def plan_rows(spec: Spec) -> str:
    """The rows of a plan but for the keys that need nothing: action, and the columns as they become (or were).

    Runs where plan.sql has made its view, as :func:`plan_sample` does.
    """
    ctx = build(spec)
    listed = ", ".join(f"COALESCE(_scd_new, _scd_old).{name} AS {name}" for name in ctx.all_columns)
    rows = f"SELECT _scd_action AS action, {listed} FROM {ctx.plan.view} WHERE _scd_action <> 'unchanged'"
    return f"{rows} ORDER BY {', '.join(ctx.plan.order)}"


def plan_sample(spec: Spec, limit: int) -> str:
    """Up to ``limit`` rows of each action, those that plan.sql itself shows first, with all that it knows of them."""
    plan = build(spec).plan
    numbered = f"SELECT *, ROW_NUMBER() OVER ({plan.sampled}) AS _scd_row FROM {plan.view}"
    rows = f"SELECT * FROM ({numbered} WHERE _scd_action <> 'unchanged') WHERE _scd_row <= {limit}"
    return f"{rows} ORDER BY {', '.join(plan.order)}"


def versions_query(
    spec: Spec,
    keys: Mapping[str, object],
    as_of: object,
    current: bool,
    deleted: bool = False,
    templates: str | None = None,
) -> str:
    """The versions of a table in order, those that are deletes only where ``deleted`` says so.

    Raises :class:`UsageError` for what the spec does not have.
    """
    ctx = build(spec)
    conditions = []
    for name, value in keys.items():
        if name not in spec.keys:
            hint = nearest(name, spec.keys) or f"; its keys are {', '.join(spec.keys)}"
            raise UsageError(f"--key {name}: is not a key of {spec.target}{hint}")
        conditions.append(f"t.{sql.quote(name)} = CAST({sql.text_literal(str(value))} AS {spec.columns[name].type})")
    if as_of is not None:
        if not spec.is_scd2:
            raise UsageError(f"--as-of: {spec.target} is scd1, which keeps no history; leave --as-of out")
        at = f"CAST({sql.text_literal(str(as_of))} AS {ctx.times.type})"
        conditions += ctx.valid_at(at)
    if current and spec.is_scd2:
        conditions.append(ctx.is_open)
    ctx.asked = [*conditions, *(ctx.not_deleted if spec.is_scd2 and not deleted else [])]
    return split_statements(render_template("show.sql.j2", ctx, templates))[0]
