"""From a spec to what the templates print: names quoted, predicates whole, lists in order. Logic ends here."""

from __future__ import annotations

from types import SimpleNamespace

from scdgen import sql
from scdgen.errors import printable
from scdgen.patterns import source
from scdgen.patterns.checks import checks
from scdgen.patterns.columns import target_columns
from scdgen.patterns.parts import equal
from scdgen.patterns.plan import add_plan
from scdgen.patterns.scd1 import add_current
from scdgen.patterns.scd2 import add_changes, add_history, add_snapshot
from scdgen.spec.definition import definition
from scdgen.spec.model import DEFAULT_PROPERTIES, Spec


def build(spec: Spec) -> SimpleNamespace:
    """The whole context of one spec, for every template of its pattern."""
    ctx = _common(spec)
    if spec.is_scd2:
        add_history(ctx, spec)
        (add_snapshot if spec.is_snapshot else add_changes)(ctx, spec)
    else:
        add_current(ctx, spec)
    _add_views(ctx, spec)
    add_plan(ctx, spec)
    ctx.checks = checks(ctx, spec)
    return ctx


def _common(spec: Spec) -> SimpleNamespace:
    """Names and settings that every statement of a spec uses."""
    params, needed = source.param_variables(spec)
    keys = [sql.quote(key) for key in spec.keys]
    given = source.source_columns(spec)
    values = [sql.quote(name) for name in given if name not in spec.keys]
    mapped = {"delta.columnMapping.mode": "name"} if _has_odd_names(spec) else {}
    properties = {**DEFAULT_PROPERTIES, **mapped, **spec.table.properties, **definition(spec)}
    batch = source.batch_variables(spec)
    names = [variable.name for variable in batch]
    return SimpleNamespace(
        spec=spec,
        target=sql.quote_parts(spec.target_parts),
        schema=sql.quote_parts(spec.target_parts[:-1]) if len(spec.target_parts) > 1 else None,
        description=spec.description,
        description_literal=sql.text_literal(spec.description) if spec.description else None,
        origin=printable(spec.origin),  # in a comment, where a file's name must not begin a line
        params=params,
        needed=needed,
        batch=batch,
        batch_names=f"({', '.join(names)})" if len(names) > 1 else "".join(names),
        taken_at=source.taken_at(spec),
        last_run=source.last_run(spec),
        batch_where=source.predicates(spec, skip_bad=False),
        rows=source.rows(spec, "extract" if spec.is_snapshot else "changes"),
        keys=keys,
        values=values,
        columns=[sql.quote(name) for name in given],
        table_columns=target_columns(spec),
        key_list=", ".join(keys),
        same_key=equal(keys, "t", "c"),
        empty=None,
        combines=False,
        early=None,
        in_partitions=source.in_partitions(spec),
        partitioned_by=", ".join(map(sql.quote, spec.table.partition_by)),
        clustered_by=", ".join(map(sql.quote, spec.table.cluster_by)),
        location=sql.text_literal(spec.table.location) if spec.table.location else None,
        properties=[(sql.text_literal(k), sql.text_literal(v)) for k, v in _with_stats(spec, properties).items()],
        comment=lambda text: f" COMMENT {sql.text_literal(text)}" if text else "",
    )


def _has_odd_names(spec: Spec) -> bool:
    """Whether a column's name holds what Delta takes only where names are mapped to files' own."""
    return any(character in " ,;{}()\n\t=" for column in target_columns(spec) for character in column.name)


def _with_stats(spec: Spec, properties: dict[str, str]) -> dict[str, str]:
    """Delta keeps the least and greatest value of 32 columns: in a wide table, name those that files are skipped by."""
    wanted = "delta.dataSkippingStatsColumns"
    if len(spec.columns) <= 26 or wanted in properties or not spec.is_scd2:
        return properties
    names = [*spec.keys, spec.history.valid_from, spec.history.valid_to, *spec.table.cluster_by]
    return {**properties, wanted: ",".join(dict.fromkeys(map(sql.quote, names)))}


def _add_views(ctx: SimpleNamespace, spec: Spec) -> None:
    """The views and the table function, where the spec names them."""
    current, as_of = spec.views.current, spec.views.as_of
    ctx.view_current = sql.quote_parts(sql.split_name(current)) if current else None
    # With unchanged: keep a reader sees equal neighbours as one version; a deleted version is none to see.
    ctx.folds_reads = spec.is_scd2 and ctx.keeps
    ctx.readable = "folded" if ctx.folds_reads else ctx.target
    ctx.current_where = [ctx.is_open, *ctx.not_deleted] if spec.is_scd2 else []
    ctx.version_order = [*ctx.keys, *([ctx.start] if spec.is_scd2 else [])]
    # Two versions that begin at one time are in an order too: a check finds the same each time.
    ctx.version_place = f"t.{ctx.start}, t.{ctx.times.end}" if spec.is_scd2 else ""
    ctx.view_as_of = None
    if as_of:
        ctx.view_as_of = sql.quote_parts(sql.split_name(as_of))
        # A column hides a parameter of its name, and one of the function's name hides `function.parameter`.
        ctx.as_of_at = "_scd_at" if "`at`" in map(str.casefold, ctx.all_columns) else "at"
        ctx.as_of_where = [*ctx.times.valid_at(ctx.as_of_at), *ctx.not_deleted]
        ctx.example_time = {"BIGINT": "1"}.get(ctx.times.type, f"{ctx.times.type} '2024-01-01'")
