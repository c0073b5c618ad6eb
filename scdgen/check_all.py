"""The built-in checks as one query, which scans the table once; ``checks.sql`` has a query for each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.checks import Check
from scdgen.columns import Target, struct, target_columns
from scdgen.context import build
from scdgen.errors import DataError
from scdgen.gate import judge
from scdgen.render import render_template
from scdgen.spec import Spec
from scdgen.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import Row

# Failing rows are numbered in as many parts, so that millions of them are sorted by several tasks.
PARTS = 64


@dataclass(frozen=True)
class CheckAll:
    """The query of a spec's built-in checks, and how its rows are read."""

    text: str
    checks: tuple[Check, ...]
    row: tuple[str, ...]

    def found(self, rows: Iterable[Row]) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
        """(name, failures, sample) of each check, from the rows of the query, of which each failing check has one."""
        failing = {row["_scd_check"]: row for row in rows}
        for check in self.checks:
            row = failing.get(check.name)
            if row is None:
                yield check.name, 0, []
                continue
            sample = sorted(
                (each.asDict(recursive=True) for each in row["sample"]), key=lambda each: each["_scd_place"]
            )
            yield check.name, int(row["failures"]), [self._shown(check, each) for each in sample]

    def _shown(self, check: Check, row: dict[str, Any]) -> dict[str, Any]:
        """The columns that say it: of a group what it has in common and its size, of a version also the next start."""
        if check.shape == "repeated":
            names = [sql.unquote(column) for column in check.columns]
            return {**{name: row[name] for name in names}, "row_count": row[_count(self.checks.index(check))]}
        beside = ("_scd_next",) if check.shape == "neighbours" else ()
        return {name: row[name] for name in (*self.row, *beside)}


def check_all(spec: Spec, stored: Collection[str], limit: int = 5, templates: str | None = None) -> CheckAll:
    """The query, for a table with the columns ``stored`` (names, quoted or not as the catalog gives them).

    Args:
        spec: the table's spec.
        stored: the columns that the table has. A column of the spec that it lacks counts as NULL, as it will after
            the next run; a key or a history column that it lacks is a :class:`DataError`.
        limit: how many rows of each check to bring along.
        templates: a folder with templates that replace single ones of the package.
    """
    ctx = build(spec)
    built_in = tuple(check for check in ctx.checks if check.shape != "query")
    columns = target_columns(spec)
    present = {name.lower() for name in stored}
    missing = [column for column in columns if sql.unquote(column.name).lower() not in present]
    _refuse(spec, missing)
    groups = [(number, check) for number, check in enumerate(built_in) if check.shape == "repeated"]
    counted = [_count(number) for number, _ in groups]
    beside = ["_scd_next"] if spec.is_scd2 else []
    ctx.beside = [*_neighbours(ctx, built_in), *(text for each in groups for text in _group(ctx, *each))]
    ctx.missing = [f"CAST(NULL AS {column.type}) AS {column.name}" for column in missing]
    ctx.broken = [f"CASE WHEN {_test(number, check)} THEN '{check.name}' END" for number, check in enumerate(built_in)]
    ctx.part = f"PMOD(XXHASH64({ctx.key_list}), {PARTS})"
    ctx.limit, ctx.kept = limit, max(limit, 1)
    ctx.sampled = struct(["_scd_place", *(column.name for column in columns), *beside, *counted])
    text = render_template("check_all.sql.j2", ctx, templates)
    judge(spec, {"check_all.sql": text})
    return CheckAll(split_statements(text)[0], built_in, tuple(sql.unquote(column.name) for column in columns))


def _refuse(spec: Spec, missing: Iterable[Target]) -> None:
    needed = [sql.unquote(column.name) for column in missing]
    needed = [name for name in needed if name not in spec.columns or name in spec.keys]
    if needed:
        listed = ", ".join(f"'{name}'" for name in needed)
        raise DataError(
            f"{spec.target}: cannot be checked, the table has no column {listed}; was it made from another spec?"
        )


def _count(number: int) -> str:
    return f"_scd_count_{number}"


def _neighbours(ctx: SimpleNamespace, built_in: Iterable[Check]) -> Iterator[str]:
    """The columns that a version has from the next of its key."""
    if not ctx.spec.is_scd2:
        return
    yield f"{ctx.until} AS _scd_until"
    for same in {check.same for check in built_in if check.same}:
        yield f"LEAD({same}) OVER w <=> {same} AS _scd_same"
    yield f"LEAD(t.{ctx.start}) OVER w AS _scd_next"


def _group(ctx: SimpleNamespace, number: int, check: Check) -> Iterator[str]:
    """How many rows the group of a row has, and which of them it is."""
    counted = f"COUNT_IF({check.condition})" if check.condition else "COUNT(*)"
    place = ctx.version_place if ctx.spec.is_scd2 else f"t.{check.columns[0]}"
    window = f"PARTITION BY t.{', t.'.join(check.columns)} ORDER BY {place} ROWS"
    yield f"{counted} OVER ({window} BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS {_count(number)}"
    yield f"{counted} OVER ({window} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS _scd_number_{number}"


def _test(number: int, check: Check) -> str:
    """Whether a row breaks a check; a group breaks it once, at its last row."""
    if check.shape != "repeated":
        return str(check.condition)
    last = f"_scd_number_{number} = {_count(number)}"
    return " AND ".join([*([f"({check.condition})"] if check.condition else []), f"{_count(number)} > 1", last])
