"""The built-in checks in one pass: one query counts what breaks each; only where a check fails are rows read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from types import SimpleNamespace

from scdgen import sql
from scdgen.errors import DataError, UsageError
from scdgen.patterns.checks import Check
from scdgen.patterns.columns import Target, target_columns
from scdgen.patterns.context import build
from scdgen.patterns.gate import judge, way_out
from scdgen.patterns.render import render_template
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements


@dataclass(frozen=True)
class CheckAll:
    """The query of one row with a count per built-in check, in their order, and a query per check of what breaks it.

    ``order`` is what to order the rows of a check's query by, for a sample that is the same each time.
    """

    counts: str
    names: tuple[str, ...]
    rows: tuple[str, ...]
    order: tuple[tuple[str, ...], ...]


def check_all(spec: Spec, stored: Collection[str], templates: str | None = None) -> CheckAll:
    """The queries for a table that has the columns ``stored``.

    A column of the spec that the table lacks counts as NULL, as it will after the next run. Raises
    :class:`DataError` where it lacks a key or a history column. ``templates`` is a folder with templates that
    replace single ones of the package; :class:`UsageError` where these make another number of queries.
    """
    ctx = build(spec)
    ctx.target = _relation(spec, ctx.target, stored)
    built_in = [check for check in ctx.checks if check.shape != "query"]
    same = next((check.same for check in built_in if check.same), None)
    ctx.judged = [f"{check.condition} AS {_place(check)}" for check in built_in if check.shape == "rows"]
    ctx.judged += [f"{ctx.until} AS _scd_until"] if spec.is_scd2 else []
    ctx.judged += [f"{same} AS _scd_state"] if same else []
    ctx.beside = [f"LEAD(t.{ctx.start}) OVER w AS _scd_next"] if spec.is_scd2 else []
    ctx.beside += ["LEAD(t._scd_state) OVER w <=> t._scd_state AS _scd_same"] if same else []
    ctx.beside += [f"{_second(ctx, check)} AS {_place(check)}" for check in built_in if check.shape == "repeated"]
    ctx.counted = [
        f"COUNT_IF({check.condition if check.shape == 'neighbours' else _place(check)}) AS {check.name}"
        for check in built_in
    ]
    scripts = {f"{name}.sql": render_template(f"{name}.sql.j2", ctx, templates) for name in ("check_all", "checks")}
    with way_out(templates):
        judge(spec, scripts)
    rows = split_statements(scripts["checks.sql"])
    if len(rows) != len(ctx.checks):
        raise UsageError(
            f"{spec.target}: the number of queries in checks.sql.j2 is {len(rows)}, not {len(ctx.checks)}; "
            "let it hold one per check, in their order, or leave out --templates"
        )
    place = (*ctx.version_order, *([ctx.times.end] if spec.is_scd2 else []))
    return CheckAll(
        split_statements(scripts["check_all.sql"])[0],
        tuple(check.name for check in built_in),
        tuple(rows[: len(built_in)]),
        tuple(check.columns or place for check in built_in),
    )


def _relation(spec: Spec, target: str, stored: Collection[str]) -> str:
    """What stands behind FROM: the table, with the columns that it lacks."""
    present = {name.lower() for name in stored}
    missing = [column for column in target_columns(spec) if sql.unquote(column.name).lower() not in present]
    _refuse(spec, missing)
    nulls = [f"CAST(NULL AS {column.type}) AS {column.name}" for column in missing]
    return f"(SELECT *, {', '.join(nulls)} FROM {target})" if nulls else target


def _refuse(spec: Spec, missing: Iterable[Target]) -> None:
    names = (sql.unquote(column.name) for column in missing)
    if needed := [f"'{name}'" for name in names if name not in spec.columns or name in spec.keys]:
        raise DataError(
            f"{spec.target}: cannot be checked, the table has no column {', '.join(needed)}; "
            "was it made from another spec?"
        )


def _place(check: Check) -> str:
    """The column that says whether a row breaks a check."""
    return f"_scd_{check.name}"


def _second(ctx: SimpleNamespace, check: Check) -> str:
    """Whether a row is the second of a group that should have one: each such group has one of those."""
    order = ctx.version_place if ctx.spec.is_scd2 else f"t.{check.columns[0]}"
    window = f"PARTITION BY t.{', t.'.join(check.columns)} ORDER BY {order}"
    if check.condition is None:
        return f"ROW_NUMBER() OVER ({window}) = 2"
    so_far = f"{window} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    return f"({check.condition}) AND COUNT_IF({check.condition}) OVER ({so_far}) = 2"
