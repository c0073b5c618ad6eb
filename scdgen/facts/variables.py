"""Session variables that a statement sets first: params, times, the bounds of a batch, and what a run notes of itself.

The last are for the columns of ``audit``, which say when a row was written, and by which run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.base import refusal
from scdgen.facts.columns import Inputs, Target, apply, cast
from scdgen.facts.history import BATCH_FROM, LAST_RUN, Times, is_time_of_run
from scdgen.facts.source import TAKEN_AT, SourceRow
from scdgen.model.spec import Spec

RUN_ID, RUN_AT = "_scd_run_id", "_scd_run_at"
"""The variables with the id of the run, which its commits have, and with its time."""
RECORDED_AT, RECORDED_ORDER = "_scd_recorded_at", "_scd_recorded_order"
"""The variables with its time by ``history.recorded``, and with the test that this is the latest."""
REACHES_CLOSED = "_scd_reaches_closed"
"""The variable with the answer whether a batch can affect a closed row of now: see ``facts.recorded.Reached``."""
OF_RUN = frozenset({RUN_ID, RUN_AT, RECORDED_AT, RECORDED_ORDER})
"""The variables that are of the run, and not of one of its files: a run sets each once."""


@dataclass(frozen=True)
class Variable:
    """A session variable."""

    name: str
    """Its name."""
    type: str
    """Its type."""
    value: str | None
    """The expression that it is set to, or a scalar query in parentheses."""


def param_variables(spec: Spec) -> list[Variable]:
    """Return the params with a default as variables."""
    return [
        Variable(name, param.type, _required(spec, value) if is_time_of_run(spec, name) else value)
        for name, param in spec.params.items()
        if param.default is not None
        for value in (sql.param_value(param.default, param.type),)
    ]


def _required(spec: Spec, value: str) -> str:
    """Return the value of the param ``last_run``; NULL stops the statement."""
    if sql.is_never_null(value):
        return value
    return apply("COALESCE", [value, refusal(spec, "null_time", "the param last_run is NULL; give it a value")])


def param_cast(spec: Spec, text: str, to: str) -> str:
    """Return an expression as a type: a param of the type as it is."""
    is_typed = any(text == sql.variable(name) and param.type == to for name, param in spec.params.items())
    return text if is_typed else cast(text, to)


def params_of_run(spec: Spec) -> set[str]:
    """Return the names of the params that say the time of a run, whatever it reads."""
    recorded = sql.expression(spec.recorded.at).params if spec.recorded else ()
    return {*recorded, *({"last_run"} if spec.history.open_end == "last_run" else ())} & spec.params.keys()


@dataclass(frozen=True)
class Partition:
    """A partition column that follows from the key, and the session variable with its values in a batch."""

    column: str
    """Its quoted name."""
    is_key: bool
    """Whether it is a key, and so never NULL."""
    variable: Variable
    """An array of its values."""

    def holds(self, alias: str) -> str:
        """Return the condition that a row is in a partition of the batch; ``alias`` ends in a dot."""
        test = f"ARRAY_CONTAINS({self.variable.name}, {alias}{self.column})"
        return test if self.is_key else f"({alias}{self.column} IS NULL OR {test})"


def partitions_of(source: SourceRow) -> tuple[Partition, ...]:
    """Return the partition columns by which a batch skips files."""
    spec, found = source.spec, []
    for number, name in enumerate(source.partition_keys, 1):
        kind = spec.columns[name].type
        value = f"COLLECT_SET({cast(source.fragment(name).text, kind)})"
        variable = Variable(f"_scd_partitions_{number}", f"ARRAY<{kind}>", value)
        found.append(Partition(sql.quote(name), name in spec.keys, variable))
    return tuple(found)


def in_partitions(partitions: Iterable[Partition], alias: str = "t.") -> tuple[str, ...]:
    """Return conditions on the target that skip the partitions of other keys."""
    return tuple(partition.holds(alias) for partition in partitions)


def batch_variables(source: SourceRow, partitions: Iterable[Partition]) -> tuple[Variable, ...]:
    """Return the variables that one aggregate over the source sets: the batch's earliest time, and its partitions."""
    values, times = tuple(partition.variable for partition in partitions), source.times
    if times is None or not source.bounds_times:
        return values
    oldest = f"MIN({source.time})"
    if source.spec.reads_snapshot:  # it closes open versions, and opens those that have ended after it
        oldest = f"LEAST({oldest}, {TAKEN_AT})"
    return (Variable(BATCH_FROM, times.type, times.before(oldest)), *values)


def known(source: SourceRow, partitions: Iterable[Partition]) -> tuple[str, ...]:
    """Return the conditions that hold for all rows that the batch's variables were set from, in names of the table.

    The MERGE reads the source again. A row that was added meanwhile stops it, if it may need a part of the target that
    these variables exclude from the read.
    """
    times = source.times
    since = (f"{times.before('_scd_at')} >= {BATCH_FROM}",) if times and source.bounds_times else ()
    return (*since, *in_partitions(partitions, ""))


def taken_at(source: SourceRow) -> Variable | None:
    """Return the variable with the time of a snapshot, if a run sets it."""
    if not source.takes_time:
        return None
    spec, kind = source.spec, source.time_type
    time = sql.expression(spec.snapshot.taken_at if spec.snapshot else "current_timestamp()").text
    time = param_cast(spec, time, kind)
    return Variable(TAKEN_AT, kind, _storable(spec, source.times, time, "snapshot.taken_at"))


def last_run(source: SourceRow) -> Variable | None:
    """Return the variable with the time of this run, the end of open versions: the param ``last_run``, or now."""
    spec, times = source.spec, source.times
    if times is None or not times.by_run:
        return None
    if times.last_run != LAST_RUN:
        return Variable(times.last_run, times.type, None)
    if "last_run" not in spec.params:
        return Variable(LAST_RUN, times.type, cast("current_timestamp()", times.type))
    return Variable(LAST_RUN, times.type, _required(spec, param_cast(spec, sql.variable("last_run"), times.type)))


def _storable(spec: Spec, times: Times | None, time: str, option: str) -> str:
    """Return a time of the whole run, checked: one that no version can start at stops the statement.

    That is NULL, a time not before the open end, and a time that the end before it is not read back as.
    """
    end, misread = (times.open_end, times.misread(time)) if times else (None, None)
    stop = refusal(spec, "null_time", f"{option} is NULL{' or not before the open end' if end else ''}")
    if end is None and misread is None:
        return apply("COALESCE", [time, stop])
    whens = []
    if misread is not None:
        what = f"{option} comes {spec.history.gap} after a change of the clock"
        whens.append(f"WHEN {misread}\n    THEN {refusal(spec, 'gap', what)}")
    whens.append(f"WHEN {time} {f'< {end}' if end else 'IS NOT NULL'}\n    THEN {time}")
    lines = "\n".join([*whens, f"ELSE {stop}"]).replace("\n", "\n    ")
    return f"CASE\n    {lines}\nEND"


# Option -> type, comment, the session variable with its value, and what that is made of.
_COLUMNS: dict[str, tuple[str, str, str, Inputs]] = {
    "inserted_at": ("TIMESTAMP", "Time of the run that first wrote the row", RUN_AT, "now"),
    "updated_at": ("TIMESTAMP", "Time of the run that last wrote the row", RUN_AT, "now"),
    "run_id": ("STRING", "Id of the run that last wrote the row", RUN_ID, "id"),
}


def audit_columns(spec: Spec) -> tuple[Target, ...]:
    """Return the columns of a spec's table. Rows that were stored before the option have NULL in them."""
    named = ((sql.quote(name), _COLUMNS[option]) for option, name in spec.audit.names())
    return tuple(Target(name, kind, comment, made_of=(made_of,)) for name, (kind, comment, _, made_of) in named)


@dataclass(frozen=True)
class Audit:
    """What a MERGE writes besides the values of its rows; nothing without the option.

    No step reads these columns, so that they change no row that is right.
    """

    columns: tuple[tuple[str, str], ...]
    """The option and the quoted name of each column, in the table's order."""

    @classmethod
    def of(cls, spec: Spec) -> Audit:
        """Return the columns of a spec."""
        return cls(tuple((option, sql.quote(name)) for option, name in spec.audit.names()))

    @property
    def names(self) -> list[str]:
        """Return the names, for an INSERT."""
        return [name for _, name in self.columns]

    @property
    def values(self) -> list[str]:
        """Return their values in a new row."""
        return [_COLUMNS[option][2] for option, _ in self.columns]

    @property
    def has_time(self) -> bool:
        """Whether a column has the time of the run."""
        return RUN_AT in self.values

    @property
    def has_id(self) -> bool:
        """Whether a column has the id of the run."""
        return RUN_ID in self.values

    @property
    def assigned(self) -> list[str]:
        """Return what an UPDATE sets, each as ``name = value``."""
        return [f"{name} = {_COLUMNS[option][2]}" for option, name in self.columns if option != "inserted_at"]
