"""The render context of plan.sql: what the MERGE would do, told from the steps that both share.

A row of the plan is a version that the MERGE would write or remove (scd1: a row), or a key of the source that needs
nothing. It holds what is stored (``t``) beside what it becomes, as the clauses of the MERGE assign it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import SimpleNamespace

from scdgen.patterns.columns import struct, target_columns
from scdgen.patterns.parts import equal
from scdgen.spec.model import Spec

VIEW = "_scd_plan"
SAMPLE = 5  # rows that plan.sql itself shows of each action
_SCD2, _SCD1 = ("open", "close", "correct", "fold"), ("insert", "update", "delete")


def plan_actions(spec: Spec) -> tuple[str, ...]:
    """What a plan counts, in order: versions (scd1: rows) by action; of keys ``unchanged``, and scd2's ``delete``."""
    if not spec.is_scd2:
        return (*_SCD1, "unchanged")
    return (*_SCD2, "delete", "unchanged", *(["refresh"] if spec.history.open_end == "last_run" else []))


def written_actions(spec: Spec) -> tuple[str, ...]:
    """Those of :func:`plan_actions` whose counts are rows that the MERGE's source has, each once."""
    return _SCD2 if spec.is_scd2 else _SCD1


def add_plan(ctx: SimpleNamespace, spec: Spec) -> None:
    """The pieces of templates/scd1_plan.sql.j2 and scd2_plan.sql.j2, below ``ctx.plan``."""
    ctx.plan = plan = SimpleNamespace(view=VIEW, sample=SAMPLE)
    plan.keys = [f"COALESCE(s.{key}, n.{key}) AS {key}" if spec.is_snapshot else f"s.{key}" for key in ctx.keys]
    plan.key = ", ".join(f"COALESCE(s.{key}, n.{key})" if spec.is_snapshot else f"s.{key}" for key in ctx.keys)
    plan.extract_on = equal(ctx.keys, "n", "s") if spec.is_snapshot else None
    plan.change_on = equal(ctx.keys, "c", "s")
    plan.known = f"t.{ctx.keys[0]} IS NOT NULL"
    plan.old = _where(plan.known, struct(f"t.{name}" for name in ctx.all_columns))
    plan.late, plan.stale, plan.first_change = None, None, False
    (_add_versions if spec.is_scd2 else _add_rows)(ctx, spec, plan)
    _add_run_counts(ctx, spec, plan)
    place = [*ctx.keys, *(["_scd_start"] if spec.is_scd2 else [])]
    groups = ["_scd_action", *(["_scd_deletes"] if spec.is_scd2 else [])]
    plan.sampled = f"PARTITION BY {', '.join(groups)} ORDER BY {', '.join(place)}"
    plan.order = [*place, "_scd_action"]
    plan.kept = [*groups, *(["_scd_late"] if plan.late else []), *place[len(ctx.keys) :]]
    plan.shown = _shown(ctx, spec)


def _add_versions(ctx: SimpleNamespace, spec: Spec, plan: SimpleNamespace) -> None:
    """scd2: a row per version."""
    stored, then = (
        " AND ".join([ctx.times.is_open(alias), *([f"NOT {alias}.{ctx.deleted_column}"] if ctx.marks else [])])
        for alias in "ts"
    )
    plan.current = f"{plan.known} AND {stored}"  # where nothing is stored, its end is NULL too
    new = struct(_version(ctx, name) for name in ctx.all_columns)
    if ctx.folds:  # the versions that stay as they are stand there too
        cases = [f"    WHEN s._scd_action IS NULL THEN {plan.current}", f"    WHEN s._scd_action <> 'fold' THEN {then}"]
        plan.stays = "\n".join(["CASE", *cases, "END"])
        plan.new = _where("s._scd_action <> 'fold'", new)
    else:
        plan.stays, plan.new = then, new
    plan.action_of = "s._scd_action"
    if not ctx.folds and ctx.fills:  # values are written back by the same UPDATE that closes the version
        closes = f"{ctx.times.is_open('t')} AND NOT ({ctx.times.is_open('s')})"
        plan.action_of = f"CASE WHEN {closes} THEN 'close' ELSE s._scd_action END AS _scd_action"
    if ctx.folds and ctx.late == "apply":
        plan.newest = f"MAX(GREATEST(t.{ctx.start}, {ctx.until})) OVER k"
        # A value that becomes known fills versions that lie back too: no change is late by that.
        plan.first_change = ctx.fills
        late = "_scd_start < _scd_newest" + (" AND _scd_first < _scd_newest" if ctx.fills else "")
        plan.late = f"COALESCE({late}, FALSE)"
    if ctx.last_run:
        plan.stale = f"{ctx.is_open} AND t.{ctx.quoted['valid_to']} <> {ctx.last_run.name}"
    plan.current_where = [ctx.is_open, *ctx.not_deleted]
    plan.counted = "versions per action, keys that would be gone (delete) or need nothing, and keys that are current."
    plan.counts = [*_of_actions(_SCD2), "COUNT_IF(_scd_deletes) AS `delete`", *_of_actions(["unchanged"])]
    if plan.stale:
        all_stale = f"SELECT COUNT(*)\n    FROM {ctx.target} AS t\n    WHERE {plan.stale}"
        plan.counts.append(f"(\n    {all_stale}\n) - COUNT_IF(_scd_stale) AS `refresh`")
    plan.counts += _totals(plan, "_scd_closes")


def _add_run_counts(ctx: SimpleNamespace, spec: Spec, plan: SimpleNamespace) -> None:
    """What counts.sql.j2 counts: the rows of each action, and the keys that need nothing.

    ``None`` where only the rows of the plan tell: changes of scd1, of which the MERGE itself finds what is stored; and
    a snapshot that fills, of which one UPDATE may close a version and write a value back.
    """
    plan.run_counts, plan.per_key = None, None
    if spec.is_scd2 and ctx.folds:
        plan.per_key = [f"COUNT_IF(_scd_action = '{action}') AS _scd_{action}" for action in _SCD2]
        plan.run_counts = [f"SUM(_scd_{action}) AS `{action}`" for action in _SCD2]
        written = " + ".join(f"_scd_{action}" for action in _SCD2)
        plan.run_counts.append(f"COUNT_IF({written} = 0) AS `unchanged`")
    elif spec.is_snapshot and not (spec.is_scd2 and ctx.fills):
        test = "ARRAY_CONTAINS(_scd_actions, '{}')" if spec.is_scd2 else "_scd_action = '{}'"
        plan.run_from = "compared" if spec.is_scd2 else "staged"
        plan.run_counts = [f"COUNT_IF({test.format(action)}) AS `{action}`" for action in written_actions(spec)]
        keys = f"SELECT COUNT(DISTINCT {', '.join(ctx.keys)}) FROM {ctx.rows.name}"
        there = "NOT _scd_gone" if spec.is_scd2 else "_scd_action <> 'delete'"
        plan.run_counts.append(f"({keys}) - COUNT_IF({there}) AS `unchanged`")


def _version(ctx: SimpleNamespace, name: str) -> str:
    """What the MERGE leaves in a column of a version."""
    if name in ctx.closed or name in ctx.keys or name == ctx.start:
        return f"s.{name}"
    if name not in ctx.updated:
        return f"CASE WHEN t.{ctx.keys[0]} IS NULL THEN s.{name} ELSE t.{name} END AS {name}"
    return f"CASE WHEN s._scd_action = 'close' THEN t.{name} ELSE s.{name} END AS {name}"


def _add_rows(ctx: SimpleNamespace, spec: Spec, plan: SimpleNamespace) -> None:
    """scd1: a row per key."""
    if spec.is_snapshot:
        plan.action_of = "COALESCE(s._scd_action, 'unchanged')"
    else:
        cases = [
            f"    WHEN {_opened(clause.test)} THEN '{clause.does}'".replace("\n", "\n    ") for clause in ctx.clauses
        ]
        plan.action_of = "\n".join(["CASE", *cases, "    ELSE 'unchanged'", "END"])
    begins = f"t.{ctx.keys[0]} IS NULL{f' OR ({ctx.anew})' if ctx.anew else ''}"

    def value(name: str) -> str:
        merged = ctx.merged.get(name, f"s.{name}")
        return merged if merged == f"s.{name}" else f"CASE WHEN {begins} THEN s.{name} ELSE {merged} END AS {name}"

    kept = "s._scd_action <> 'delete'" if spec.is_snapshot else "NOT s._scd_deleted" if ctx.deletes else None
    new = struct(map(value, ctx.all_columns))
    plan.new = _where(kept, new) if kept else new
    if ctx.combines and ctx.updated_at and not spec.is_snapshot:
        plan.late = f"COALESCE(s._scd_time < t.{ctx.updated_at}, FALSE)"
    plan.current_where = []
    plan.counted = "rows per action, keys of the source that need nothing, and keys that are there."
    plan.counts = [*_of_actions([*_SCD1, "unchanged"]), *_totals(plan, "_scd_action = 'delete'")]


def _of_actions(actions: Iterable[str]) -> list[str]:
    return [f"COUNT_IF(_scd_action = '{action}') AS `{action}`" for action in actions]


def _totals(plan: SimpleNamespace, closes: str) -> list[str]:
    late = "_scd_late AND _scd_action <> 'unchanged'"
    return [*([f"COUNT_IF({late}) AS late"] if plan.late else []), f"COUNT_IF({closes}) AS closed_keys"]


def _shown(ctx: SimpleNamespace, spec: Spec) -> list[str]:
    """What a sample shows: the action, what is to be said of the row, and its columns."""
    kept = [note for note in ("late", "deletes") if f"_scd_{note}" in ctx.plan.kept]
    notes = ", ".join(f"CASE WHEN _scd_{note} THEN '{note}' END" for note in kept)
    # A column of the user's may have the name that ours would have.
    taken = {name.casefold() for name in ctx.all_columns}
    action, note = (name if f"`{name}`" not in taken else f"_scd_{name}" for name in ("action", "note"))
    found = [
        "_scd_action" if action == "_scd_action" else f"_scd_action AS {action}",
        *([f"CONCAT_WS(', ', {notes}) AS {note}"] if notes else []),
    ]
    changing = ctx.updated if spec.is_scd2 else ctx.stored
    for column in target_columns(spec):
        name = column.name
        if name in changing:
            both = ", ".join(_text(f"{of}.{name}", column.type) for of in ("_scd_old", "_scd_new"))
            found.append(f"ARRAY_JOIN(ARRAY_DISTINCT(ARRAY({both})), ' -> ', 'NULL') AS {name}")
        else:
            found.append(name if name in ctx.keys else f"_scd_new.{name}")
    return found


def _where(test: str, value: str) -> str:
    """A value that is there where ``test`` holds."""
    if "\n" not in value:
        return f"CASE WHEN {test} THEN {value} END"
    inner = value.replace("\n", "\n    ")
    return f"IF(\n    {test},\n    {inner},\n    NULL\n)"


def _opened(test: str) -> str:
    """A test whose last part is ``NOT (…)`` over several lines, with that on lines of its own."""
    found = re.fullmatch(r"(.*)NOT \((STRUCT.*)\)", test, re.DOTALL)
    if found is None or "\n" not in found[2]:
        return test
    by = " " * (len(found[1].splitlines()[-1]) - len(found[1].splitlines()[-1].lstrip()) if found[1] else 0)
    inner = found[2].replace("\n", "\n    ")
    return f"{found[1]}NOT (\n{by}    {inner}\n{by})"


def _text(value: str, kind: str) -> str:
    if kind.startswith(("STRUCT", "ARRAY", "MAP")):
        return f"TO_JSON({value})"
    if kind == "BINARY":
        return f"HEX({value})"
    return value if kind == "STRING" else f"CAST({value} AS STRING)"
