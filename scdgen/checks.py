"""The integrity checks of a table: what each says, and the query that returns the rows which break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from scdgen import source, sql
from scdgen.spec import Spec


@dataclass(frozen=True)
class CheckQuery:
    """One check: its name, a line of why, a SELECT of the offending rows."""

    name: str
    why: str
    query: str


def checks(ctx: SimpleNamespace, spec: Spec) -> list[CheckQuery]:
    """The built-in checks that apply to a spec, then its own. Rules: section 3 of the format's description."""
    built_in = _scd2(ctx, spec) if spec.is_scd2 else _scd1(ctx)
    own = [CheckQuery(check.name, "a check of the spec's own.", sql.query(check.query).text) for check in spec.checks]
    return [*built_in, *own]


def _scd1(ctx: SimpleNamespace) -> Iterator[CheckQuery]:
    yield CheckQuery("unique_key", "one row per key.", _repeated(ctx, ctx.keys, None))
    yield _no_nulls(ctx, ctx.keys)


def _scd2(ctx: SimpleNamespace, spec: Spec) -> Iterator[CheckQuery]:
    history = spec.history
    start, until = ctx.start, ctx.until
    following = f"LEAD(t.{start}) OVER ({_by_key(ctx)})"
    yield CheckQuery("one_current", "at most one open version per key.", _repeated(ctx, ctx.keys, ctx.is_open))
    yield CheckQuery(
        "no_overlap",
        "no version begins before the one before it has ended.",
        _neighbours(ctx, until, following, "_scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until)"),
    )
    gap = _gap(ctx, spec)
    if gap is not None:
        yield CheckQuery("contiguous", "a version ends where the next begins, a delete aside.",
                         _neighbours(ctx, until, following, gap))  # fmt: skip
    yield CheckQuery("unique_start", "no two versions of a key begin at one time.",
                     _repeated(ctx, [*ctx.keys, start], None))  # fmt: skip
    yield CheckQuery("end_after_start", "a version ends after it begins.", _select(ctx, f"{until} <= t.{start}"))
    if spec.unchanged == "skip" and ctx.tracked:
        same = f"LEAD({ctx.tracked_struct}) OVER ({_by_key(ctx)}) <=> {ctx.tracked_struct}"
        query = _neighbours(ctx, until, following, "_scd_next = _scd_until AND _scd_same", f"{same} AS _scd_same")
        yield CheckQuery("no_repeat", "no two adjoining versions are equal.", query)
    if history.is_current:
        flag, is_open = sql.quote(history.is_current.name), ctx.is_open
        right = f"CASE WHEN {is_open} THEN {ctx.times.flag_of(True)} ELSE {ctx.times.flag_of(False)} END"
        yield CheckQuery("flag_matches_end", "the flag says what the end says.",
                         _select(ctx, f"NOT (t.{flag} <=> {right})"))  # fmt: skip
    yield _no_nulls(ctx, [*ctx.keys, start])
    if history.row_hash:
        yield CheckQuery("hash_matches", "the stored hash is that of the tracked columns.",
                         _select(ctx, f"NOT (t.{sql.quote(history.row_hash)} <=> {ctx.hash})"))  # fmt: skip


def _gap(ctx: SimpleNamespace, spec: Spec) -> str | None:
    """When the end of a version is wrong: it is not the start of the next, and no delete explains it.

    Where deletes are possible and no column tells of them, any gap may be a delete: then nothing can be said.
    """
    broken = "_scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next)"
    if spec.history.action:
        return f"{broken} AND {sql.quote(spec.history.action)} <> 'D'"
    may_delete = source.flags_deletes(spec) or (spec.is_snapshot and spec.deletes == "close")
    return None if may_delete else broken


def _by_key(ctx: SimpleNamespace) -> str:
    return f"PARTITION BY {', '.join(f't.{key}' for key in ctx.keys)} ORDER BY t.{ctx.start}"


def _select(ctx: SimpleNamespace, condition: str) -> str:
    return f"SELECT *\nFROM {ctx.target} AS t\nWHERE {condition}"


def _repeated(ctx: SimpleNamespace, names: list[str], condition: str | None) -> str:
    listed = ", ".join(f"t.{name}" for name in names)
    lines = ",\n    ".join(f"t.{name}" for name in names)
    where = f"\nWHERE {condition}" if condition else ""
    return (
        f"SELECT\n    {lines},\n    COUNT(*) AS row_count\nFROM {ctx.target} AS t{where}\n"
        f"GROUP BY {listed}\nHAVING COUNT(*) > 1"
    )


def _neighbours(ctx: SimpleNamespace, until: str, following: str, condition: str, more: str | None = None) -> str:
    extra = f",\n        {more}" if more else ""
    return (
        f"SELECT *\nFROM (\n    SELECT\n        *,\n        {until} AS _scd_until,\n        {following} AS _scd_next{extra}\n"
        f"    FROM {ctx.target} AS t\n)\nWHERE {condition}"
    )


def _no_nulls(ctx: SimpleNamespace, names: list[str]) -> CheckQuery:
    condition = "\n    OR ".join(f"t.{name} IS NULL" for name in names)
    return CheckQuery("key_not_null", "no key and no start is NULL.", _select(ctx, condition))
