"""The second axis of time: when the table held a row. The option ``history.recorded``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scdgen import sql
from scdgen.facts.base import SOURCE_CHANGED, refusal
from scdgen.facts.columns import Target
from scdgen.facts.source import SourceRow
from scdgen.facts.variables import REACHES_CLOSED, RECORDED_AT, param_cast
from scdgen.model.spec import CLOCK, Spec
from scdgen.sql.zones import timestamp_literal

AFTER_ALL = timestamp_literal("9999-12-31", "UTC")
"""A time that is later than every recorded one, at which the rows of now are held."""
_COMMENTS = {
    "from": "Time of the run that wrote the row",
    "to": "Time of the run that superseded the row; NULL in the rows of now",
}
_CHANGED = "another run wrote to the table during this run"


def rows_of_now(recorded: Recorded | None, table: str) -> str:
    """Return what the rows of now are read from, given the quoted name of a table: itself without the option."""
    return recorded.now(table) if recorded else table


def recorded_columns(spec: Spec) -> tuple[Target, ...]:
    """Return the columns of a spec's table; none without the option."""
    return tuple(
        Target(sql.quote(name), "TIMESTAMP", _COMMENTS[option], made_of=("recorded",))
        for option, name in spec.recorded_columns
    )


@dataclass(frozen=True)
class Recorded:
    """What a MERGE writes of the second axis.

    No step reads these columns but by :attr:`Source.now`, so that a row of now that is right is not written.
    """

    start: str
    """The quoted name of the column with the time of the run that wrote a row."""
    end: str
    """The quoted name of the column with the time of the run that superseded it."""
    time: str | None
    """The expression for the time of a run; ``None`` for that of the clock."""
    no_time: str
    """The refusal of a time that is NULL."""
    late: str
    """The refusal of a time that is not later than those of all rows."""
    changed: str
    """The refusal of a row to end that was written after the time of the run was set."""
    closed: str | None
    """The assignment that takes the flag of open versions from a row; ``None`` without such a column."""
    open: str | None
    """The condition that a row (``t``) has that flag."""
    at: ClassVar[str] = RECORDED_AT
    """The session variable with the time of a run."""

    @classmethod
    def of(cls, source: SourceRow) -> Recorded | None:
        """Return the columns of a spec; ``None`` without the option."""
        spec, times = source.spec, source.times
        option, flag = spec.recorded, spec.history.is_current
        if option is None or times is None:
            return None
        start, end = (sql.quote(name) for _, name in option.names())
        sample = f"TO_JSON(STRUCT(MAX(t.{start}) AS {start}))"
        return cls(
            start=start,
            end=end,
            time=None if option.at == CLOCK else param_cast(spec, sql.expression(option.at).text, "TIMESTAMP"),
            no_time=refusal(spec, "null_time", "history.recorded.at is NULL"),
            late=refusal(spec, "recorded_order", "a row is recorded at the time of this run or later", [sample]),
            changed=refusal(spec, SOURCE_CHANGED, _CHANGED),
            closed=f"{sql.quote(flag.name)} = {times.flag_of(False)}" if flag else None,
            open=f"t.{times.flagged}" if flag else None,
        )

    def now(self, table: str) -> str:
        """Return what the rows of now are read from, given the quoted name of the table."""
        return f"(SELECT * FROM {table} WHERE {self.end} IS NULL)"

    def held(self, table: str, at: str | None) -> str:
        """Return what the rows are read from that the table held at a time; of now, if ``at`` is ``None``."""
        if at is None:
            return self.now(table)
        until = f"({self.end} IS NULL OR {self.end} > {at})"
        return f"(\n    SELECT *\n    FROM {table}\n    WHERE {self.start} <= {at}\n        AND {until}\n)"

    @property
    def names(self) -> list[str]:
        """Return the names of the columns, for an INSERT."""
        return [self.start, self.end]

    @property
    def values(self) -> list[str]:
        """Return their values in a new row."""
        return [self.at, "NULL"]


@dataclass(frozen=True)
class Reached:
    """The rows of now that a batch can affect, in a table whose files the flag places.

    The files of closed versions also hold rows that were superseded while they were open, so that no statistics of an
    end tell them from those of open ones. Only the partition does, and Delta skips no file by an OR of a partition and
    a column: the steps ask for open and closed rows apart, and the MERGE asks a variable.
    """

    table: str
    """The quoted name of the table."""
    flagged: str
    """The condition that a row (``t``) has the flag of open versions."""
    is_open: str
    """The condition that it has the end of one."""
    ends: str
    """The condition that it ended no earlier than the batch begins."""
    recorded_to: str
    """The quoted name of the column that says that it is superseded."""
    asks_order: bool
    """Whether one query asks for it and for the order of runs. With members, a run has rows of its own before that."""
    changed: str
    """The refusal of a closed one that came after the variable was set."""
    variable: ClassVar[str] = REACHES_CLOSED
    """The session variable with the answer whether there is a closed one."""

    @classmethod
    def of(cls, source: SourceRow, table: str, bound: str) -> Reached | None:
        """Return the rows of a spec; ``None`` if the flag places no files, or if a batch reads all of them anyway."""
        spec, times = source.spec, source.times
        if times is None or spec.recorded is None or times.open_flag is None or times.open_end is not None:
            return None
        if spec.reads_versions or source.fills or spec.history.action is not None:
            return None
        return cls(
            table=table,
            flagged=f"t.{times.open_flag}",
            is_open=times.is_open(),
            ends=f"t.{times.end} >= {bound}",
            recorded_to=sql.quote(spec.recorded.to),
            asks_order=spec.members.inferred is None and spec.members.unknown is None,
            changed=refusal(spec, SOURCE_CHANGED, _CHANGED),
        )
