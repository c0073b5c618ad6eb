"""What the stored rows of a table depend on, read off its generated files: those on disk tell the spec they come from.

The files and not the spec, because the spec of before is gone; new files are read in the same way, so that the two can
be held against each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from scdgen.spec.definition import HISTORY, KEYS, PATTERN, TRACKED
from scdgen.sql.tokens import DIALECT, split_statements

# The history columns tell their option by their comment.
_COMMENTS = {
    "SHA-256 of the key and the start; one per version": "surrogate_key",
    "Start of the version, inclusive": "valid_from",
    "Whether the version is the open one": "is_current",
    "SHA-256 of the tracked columns": "row_hash",
    "I first version, or first after a delete; U a later one; D closed by a delete": "action",
    "I first version, U a later one, D closed by a delete": "action",  # as it was written once
    "Whether the version is a delete": "deleted",
    "Effective time of the newest change": "updated_at",
}


@dataclass(frozen=True)
class Stored:
    """One version of the files. SQL is as sqlglot writes it; ``history`` is option -> column name."""

    pattern: str
    keys: tuple[str, ...]
    tracked: tuple[str, ...]
    time: str
    gap: str | None
    open_end: str | None
    columns: Mapping[str, tuple[str, bool]]  # name -> type, NOT NULL
    history: Mapping[str, str]
    flag: tuple[str, str] | None  # what it is in an open version, and in a closed one
    values: Mapping[str, str]  # column, or _scd_at and _scd_deleted -> expression over a source row
    source: str
    where: str
    keeps: bool  # unchanged: keep
    snapshot: bool
    nulls: Mapping[str, str]
    merge: Mapping[str, str]
    table: Mapping[str, str]  # option -> value


def stored(files: Mapping[str, str]) -> Stored | None:
    """What the files of a spec say; ``None`` where they are not there, or are not as scdgen writes them."""
    try:
        create = sqlglot.parse_one(split_statements(files["create.sql"])[-1], dialect=DIALECT)
        merges = [text for text in split_statements(files["merge.sql"]) if "MERGE INTO" in text]
        merge = sqlglot.parse_one(merges[-1], dialect=DIALECT)
        return _read(create, {cte.alias: cte.this for cte in merge.args["using"].find_all(exp.CTE)}, files)
    except (SqlglotError, ValueError, LookupError, AttributeError):
        return None


def _read(create: exp.Expr, steps: dict[str, exp.Expr], files: Mapping[str, str]) -> Stored:
    properties = dict(_properties(create))
    columns, history = {}, {}
    for column in create.this.expressions:
        comment = next((c.this.name for c in column.find_all(exp.CommentColumnConstraint)), "")
        ends = comment.startswith("Start of the next version") or comment.endswith(" before the next version")
        option = "valid_to" if ends else _COMMENTS.get(comment)
        if option:
            history[option] = column.name
        else:
            required = column.find(exp.NotNullColumnConstraint) is not None
            columns[column.name] = (column.kind.sql(dialect=DIALECT), required)
    keys, parts = tuple(json.loads(properties[KEYS])), properties.get(HISTORY, "").split(", ")
    rows = _select(steps["changes" if "changes" in steps else "extract"])
    return Stored(
        properties[PATTERN], keys, tuple(json.loads(properties.get(TRACKED, "[]"))), parts[0],
        _part(parts, "gap"), _part(parts, "open_end"), columns, history, _flag(steps, history.get("is_current")),
        {select.alias_or_name: _value(select.unalias()) for select in rows.selects},
        _sql(steps["source"]) if "source" in steps else _sql(rows.args["from_"].this),
        _where(rows, keys),
        "-- no_repeat:" not in files.get("checks.sql", "-- no_repeat:"), "extract" in steps,
        {name: _nulls(name, steps) for name in columns if name not in keys},
        {name: _merge(name, steps) for name in columns if name not in keys},
        dict(_table(create, properties)),
    )  # fmt: skip


def _properties(create: exp.Expr) -> Iterator[tuple[str, str]]:
    for found in create.find_all(exp.Property):
        if type(found) is exp.Property:
            yield found.name, found.args["value"].name


def _table(create: exp.Expr, properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What only a new table gets."""
    options = (
        (exp.PartitionedByProperty, "partition_by"), (exp.ClusterProperty, "cluster_by"),
        (exp.LocationProperty, "location"),
    )  # fmt: skip
    for kind, option in options:
        if found := create.find(kind):
            names = [name.name for name in found.find_all(exp.Identifier)]
            yield option, ", ".join(names) if names else found.this.name
    yield from ((f"properties.{name}", value) for name, value in properties.items() if not name.startswith("scdgen."))


def _part(parts: list[str], name: str) -> str | None:
    return next((part.removeprefix(f"{name} ") for part in parts if part.startswith(f"{name} ")), None)


def _select(step: exp.Expr) -> exp.Select:
    found = step.find(exp.Select)
    if found is None:
        raise ValueError("a step without a SELECT")
    return found


def _sql(tree: exp.Expr) -> str:
    return tree.sql(dialect=DIALECT, comments=False)


def _value(tree: exp.Expr) -> str:
    """The spec's expression without the guards (NULL, the open end, odd gaps, a source that grew) and the cast."""
    if isinstance(tree, exp.Case) and "[SCDGEN_SOURCE_CHANGED]" in _sql(tree):
        tree = tree.args["ifs"][0].args["true"]
    if isinstance(tree, exp.Case) and "[SCDGEN_GAP]" in _sql(tree):
        made = [*(found.args["true"] for found in tree.args["ifs"]), tree.args["default"]]
        (tree,) = (value for value in made if "[SCDGEN_" not in _sql(value))
    if isinstance(tree, exp.Coalesce) and "[SCDGEN_" in _sql(tree):
        tree = tree.this
    if isinstance(tree, exp.Case) and len(ifs := tree.args["ifs"]) == 1 and isinstance(ifs[0].this, exp.LT):
        made = ifs[0].args["true"]
        other = tree.args.get("default")
        tree = made if made == ifs[0].this.this and (other is None or "[SCDGEN_" in _sql(other)) else tree
    return _sql(tree.this if isinstance(tree, exp.Cast) else tree)


def _where(rows: exp.Select, keys: tuple[str, ...]) -> str:
    """The predicates on source rows, without those of bad_rows: skip."""
    where = rows.args.get("where")
    if where is None:
        return ""
    parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    skipped = {_value(s.unalias()) for s in rows.selects if s.alias_or_name in (*keys, "_scd_at")}
    kept = (p for p in parts if not (_is_not_null(p) and _value(p.this.this) in skipped))
    return " AND ".join(map(_sql, kept))


def _is_not_null(part: exp.Expr) -> bool:
    return isinstance(part, exp.Not) and isinstance(part.this, exp.Is) and isinstance(part.this.expression, exp.Null)


def _column(steps: Mapping[str, exp.Expr], step: str, name: str | None) -> exp.Expr | None:
    """What a step makes of a column."""
    if step not in steps:
        return None
    return next((found.unalias() for found in _select(steps[step]).selects if found.alias_or_name == name), None)


def _flag(steps: Mapping[str, exp.Expr], name: str | None) -> tuple[str, str] | None:
    made = _column(steps, "staged", name)
    if isinstance(made, exp.Case) and len(made.args["ifs"]) == 1:
        return _sql(made.args["ifs"][0].args["true"]), _sql(made.args["default"])
    return ("TRUE", "FALSE") if made is not None else None


def _nulls(name: str, steps: Mapping[str, exp.Expr]) -> str:
    made, filled = _column(steps, "given", name), _column(steps, "filled", name)
    if made is None and "compared" in steps:
        made = _column(steps, "compared", name)
    if made is None or not made.find(exp.Coalesce, exp.LastValue):
        return "value"
    fills = made.find(exp.FirstValue) or (filled is not None and not isinstance(filled, exp.Column))
    return "fill" if fills else "ignore"


def _merge(name: str, steps: Mapping[str, exp.Expr]) -> str:
    made = _column(steps, "latest" if "latest" in steps else "snapshot", name)
    kinds = {exp.ArgMin: "first", exp.Min: "min", exp.Max: "max"}
    return next((word for kind, word in kinds.items() if isinstance(made, kind)), "last")
