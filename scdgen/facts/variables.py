"""Session variables that a statement sets first: params, times, and the bounds of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts import source
from scdgen.facts.columns import cast, wrapped
from scdgen.facts.history import BATCH_FROM, LAST_RUN, Times
from scdgen.facts.refusals import refusal
from scdgen.model.option import sql_texts
from scdgen.model.spec import Spec


@dataclass(frozen=True)
class Variable:
    """A session variable, set to ``value`` (an expression or a scalar query in parentheses)."""

    name: str
    type: str
    value: str | None


def param_variables(spec: Spec) -> tuple[list[Variable], list[tuple[str, str]]]:
    """Return the params with a default as variables, and (name, type) of those that the session must declare."""
    used = {name for found in sql_texts(spec) for name in found.fragment.params}
    used |= {"last_run"} if spec.history.open_end == "last_run" else set()
    variables, needed = [], []
    for name, param in spec.params.items():
        if param.default is None:
            if name in used:
                needed.append((name, param.type))
        else:
            variables.append(Variable(name, param.type, sql.param_value(param.default, param.type)))
    return variables, needed


def batch_bound(spec: Spec) -> str:
    """Return the bound that stored ends are compared with: the batch cannot affect versions that ended before it."""
    if spec.reads_snapshot and spec.source.effective_at is None:
        return Times(spec).before(source.TAKEN_AT)
    return BATCH_FROM


def fills(spec: Spec) -> bool:
    """Whether the batch may write a value into versions that ended before it."""
    return any(spec.columns[name].nulls == "fill" for name in source.source_columns(spec))


def _bounds_times(spec: Spec) -> bool:
    """Whether the batch's earliest time bounds the read of the target; a whole history has versions of any age."""
    return (
        not spec.reads_versions
        and spec.keeps_history
        and batch_bound(spec) == BATCH_FROM
        and not (fills(spec) and not spec.reads_snapshot)
    )


def batch_variables(spec: Spec) -> list[Variable]:
    """Return the variables that one aggregate over the source sets: the batch's earliest time, and its partitions."""
    found = []
    if _bounds_times(spec):
        oldest = f"MIN({source.time_expression(spec)})"
        if spec.reads_snapshot:  # without rows it still closes open versions
            oldest = f"COALESCE({oldest}, {source.TAKEN_AT})"
        first = Times(spec).before(oldest)
        found.append(Variable(BATCH_FROM, source.time_type(spec), first))
    for name in source.partition_keys(spec):
        value = f"COLLECT_SET({cast(source.fragment(spec, name).text, spec.columns[name].type)})"
        found.append(Variable(partition_variable(name, spec), f"ARRAY<{spec.columns[name].type}>", value))
    return found


def known(spec: Spec) -> list[str]:
    """Return the conditions that hold for all rows that the batch's variables were set from, in names of the table.

    The MERGE reads the source again. A row that was added meanwhile stops it, if it may need a part of the target that
    these variables exclude from the read.
    """
    since = [f"{Times(spec).before('_scd_at')} >= {BATCH_FROM}"] if _bounds_times(spec) else []
    return [*since, *in_partitions(spec, "")]


def taken_at(spec: Spec) -> Variable | None:
    """Return the variable with the time of a snapshot, so that all rows of a run have the same."""
    given = spec.snapshot is not None and "taken_at" in spec.snapshot.model_fields_set
    if not spec.reads_snapshot or not (spec.keeps_history or (spec.updated_at and given)):
        return None
    text = spec.snapshot.taken_at if spec.snapshot else "current_timestamp()"
    time = cast(sql.expression(text).text, source.time_type(spec))
    return Variable(source.TAKEN_AT, source.time_type(spec), _storable(spec, time, "snapshot.taken_at"))


def last_run(spec: Spec) -> Variable | None:
    """Return the variable with the time of this run, the end of open versions: the param ``last_run``, or now."""
    if not (spec.keeps_history and Times(spec).by_run):
        return None
    given = sql.variable("last_run") if "last_run" in spec.params else "current_timestamp()"
    stop = refusal(spec, "null_time", "the param last_run is NULL; give it a value")
    value = cast(given, source.time_type(spec))
    return Variable(
        LAST_RUN, source.time_type(spec), wrapped("COALESCE", [value, stop]) if "last_run" in spec.params else value
    )


def _storable(spec: Spec, time: str, option: str) -> str:
    """Return a time of the whole run, checked: one that no version can start at stops the statement.

    That is NULL, a time not before the open end, and a time that the end before it is not read back as.
    """
    times = Times(spec) if spec.keeps_history else None
    end, misread = (times.open_end, times.misread(time)) if times else (None, None)
    stop = refusal(spec, "null_time", f"{option} is NULL{' or not before the open end' if end else ''}")
    if end is None and misread is None:
        return wrapped("COALESCE", [time, stop])
    whens = []
    if misread is not None:
        what = f"{option} comes {spec.history.gap} after a change of the clock"
        whens.append(f"WHEN {misread}\n    THEN {refusal(spec, 'gap', what)}")
    whens.append(f"WHEN {time} {f'< {end}' if end else 'IS NOT NULL'}\n    THEN {time}")
    lines = "\n".join([*whens, f"ELSE {stop}"]).replace("\n", "\n    ")
    return f"CASE\n    {lines}\nEND"


def partition_variable(name: str, spec: Spec) -> str:
    """Return the session variable with the partition values of a batch."""
    return f"_scd_partitions_{source.partition_keys(spec).index(name) + 1}"


def in_partitions(spec: Spec, alias: str = "t.") -> list[str]:
    """Return conditions on the target that skip the partitions of other keys."""
    found = []
    for name in source.partition_keys(spec):
        column = f"{alias}{sql.quote(name)}"
        test = f"ARRAY_CONTAINS({partition_variable(name, spec)}, {column})"
        found.append(test if name in spec.keys else f"({column} IS NULL OR {test})")
    return found
