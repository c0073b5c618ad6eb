"""The integrity checks of a table: what each says, and what its query in ``checks.sql.j2`` is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from scdgen import sql
from scdgen.patterns import source
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Check:
    """One check: its name, a line of why, and a query of the rows that break it.

    ``shape`` is the form of the query: ``rows`` (that meet the condition), ``repeated`` (groups of ``columns`` with
    more than one row), ``neighbours`` (versions beside the next of their key: ``_scd_until``,
    ``_scd_next`` and, where given, ``same`` as ``_scd_same``) or ``query`` (the condition is a whole query).
    """

    name: str
    why: str
    shape: str
    condition: str | None = None
    columns: tuple[str, ...] = ()
    same: str | None = None


def checks(ctx: SimpleNamespace, spec: Spec) -> list[Check]:
    """The built-in checks that apply to a spec, then its own. Rules: section 3 of the format's description."""
    built_in = _scd2(ctx, spec) if spec.is_scd2 else _scd1(ctx)
    own = [
        Check(check.name, "a check of the spec's own.", "query", sql.query(check.query).text) for check in spec.checks
    ]
    return [*built_in, *own]


def _scd1(ctx: SimpleNamespace) -> Iterator[Check]:
    yield Check("unique_key", "one row per key.", "repeated", columns=tuple(ctx.keys))
    yield _no_nulls(ctx.keys, "no key is NULL.")


def _scd2(ctx: SimpleNamespace, spec: Spec) -> Iterator[Check]:
    history, start, until = spec.history, ctx.start, ctx.until
    overlap = "_scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until)"
    yield Check("one_current", "at most one open version per key.", "repeated", ctx.is_open, tuple(ctx.keys))
    yield Check("no_overlap", "no version begins before the one before it has ended.", "neighbours", overlap)
    if gap := _gap(spec):
        yield Check("contiguous", "a version ends where the next begins, a delete aside.", "neighbours", gap)
    yield Check("unique_start", "no two versions of a key begin at one time.", "repeated", None, (*ctx.keys, start))
    yield Check("end_after_start", "a version ends after it begins.", "rows", _ends(ctx, f"{until} <= t.{start}"))
    if spec.unchanged == "skip":
        same = ctx.tracked_struct if ctx.tracked or ctx.marks else None
        equal = "_scd_next = _scd_until AND _scd_same" if same else "_scd_next = _scd_until"
        yield Check("no_repeat", "no two adjoining versions are equal.", "neighbours", equal, same=same)
    if history.is_current:
        yield _flag(ctx, sql.quote(history.is_current.name))
    needed = [*ctx.keys, start, *(ctx.quoted[option] for option in ("action", "deleted") if option in ctx.quoted)]
    why = "no key and no start is NULL" if len(needed) == len(ctx.keys) + 1 else "what each version has is not NULL"
    yield _no_nulls(needed, f"{why}.")
    if history.row_hash:
        wrong = f"NOT (t.{sql.quote(history.row_hash)} <=> {ctx.hash})"
        yield Check("hash_matches", "the stored hash is that of the tracked columns.", "rows", wrong)


def _gap(spec: Spec) -> str | None:
    """When the end of a version is wrong: it is not the start of the next, and no delete explains it.

    Where deletes are possible and no column tells of them, any gap may be a delete: then nothing can be said.
    """
    broken = "_scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next)"
    if spec.history.action and spec.deletes != "mark":  # there a delete opens a version, which begins where this ends
        action = sql.quote(spec.history.action)
        return f"{broken} AND {action} <> 'D'\n    OR _scd_until IS NULL AND {action} = 'D'"
    may_delete = spec.deletes == "close" and (source.flags_deletes(spec) or spec.is_snapshot)
    return None if may_delete else broken


def _ends(ctx: SimpleNamespace, backwards: str) -> str:
    """When an end is none: not after the start, missing where an open version has one too, or beyond the open end."""
    start, end, last = f"t.{ctx.start}", f"t.{ctx.times.end}", ctx.times.open_end
    found = [backwards]
    if last or ctx.times.by_run:
        found.append(f"{end} IS NULL")
    if last:
        found += [f"{end} > {last}", f"{start} >= {last}"]
    return "\n    OR ".join(found)


def _flag(ctx: SimpleNamespace, name: str) -> Check:
    """The flag against the end; where only the flag tells which version is open, that it does tell."""
    is_open, is_closed = ctx.times.flag_of(True), ctx.times.flag_of(False)
    if ctx.times.by_run:
        wrong = f"NOT COALESCE(t.{name} IN ({is_open}, {is_closed}), FALSE)"
        return Check("flag_matches_end", "the flag has one of its two values.", "rows", wrong)
    right = f"CASE WHEN {ctx.is_open} THEN {is_open} ELSE {is_closed} END"
    if (is_open, is_closed) == ("TRUE", "FALSE"):
        right = f"({ctx.is_open})"
    return Check("flag_matches_end", "the flag says what the end says.", "rows", f"NOT (t.{name} <=> {right})")


def _no_nulls(names: list[str], why: str) -> Check:
    return Check("key_not_null", why, "rows", "\n    OR ".join(f"t.{name} IS NULL" for name in names))
