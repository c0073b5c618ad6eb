"""SQL of the history columns: reading and writing ends, and finding the versions that a batch can affect.

Inside the generated SQL an end is always the start of what comes next, NULL while the version is open. ``gap`` and
``open_end`` only define how it is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.columns import Field, apply, cast, key_hash, row_hash
from scdgen.model.spec import History as HistoryOption
from scdgen.model.spec import Spec
from scdgen.sql.tokens import with_column
from scdgen.sql.zones import timestamp_literal

BATCH_FROM = "_scd_batch_from"
LAST_RUN = "_scd_last_run"
REWIND_TO = "_scd_rewind_to"
_FIRST = "'I'"  # the action of the first version of a key
_SECONDS = {"microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def is_time_of_run(spec: Spec, name: str) -> bool:
    """Whether a param is itself the end of open versions: it has their type, and its default is never NULL."""
    param = spec.params.get(name)
    typed = param is not None and param.default is not None and param.type == spec.history.type.upper()
    return spec.history.open_end == "last_run" and name == "last_run" and typed


class Times:
    """The time arithmetic of one spec's history: ``start`` and ``end`` are columns, ``type`` is that of both.

    ``zone`` is the time zone of the table: a literal means the same in a session of any other.
    """

    history: HistoryOption
    type: str
    start: str
    end: str
    zone: str
    last_run: str
    open_flag: str | None
    is_split: bool

    def __init__(self, spec: Spec):
        self.history = spec.history
        self.type = spec.history.type.upper()
        self.start = sql.quote(spec.history.valid_from)
        self.end = sql.quote(spec.history.valid_to)
        self.zone = spec.time_zone
        self.last_run = sql.variable("last_run") if is_time_of_run(spec, "last_run") else LAST_RUN
        self.is_split = spec.layout == "split"
        # Superseded rows are not open, but may have an open end. Where the flag places files, it tells these apart.
        self.open_flag = self.flagged if spec.recorded and self.is_split else None

    @property
    def flagged(self) -> str:
        """Return the condition that the flag of a version says that it is open, to follow an alias and a dot."""
        assert self.history.is_current is not None
        name = sql.quote(self.history.is_current.name)
        return name if self.history.is_current.open is True else f"{name} = {self.flag_of(True)}"

    @property
    def open_end(self) -> str | None:
        """Return the literal end of an open version; ``None`` if it is NULL or not a literal."""
        value = self.history.open_end
        if value is None or self.by_run:
            return None
        return str(value) if self.type == "BIGINT" else self._literal(str(value))

    @property
    def by_run(self) -> bool:
        """Whether open versions store the time of the last run as their end, so that only the flag identifies them."""
        return self.history.open_end == "last_run"

    @property
    def beginning(self) -> str:
        """Return where the unknown member starts: the least number, or a time that every client can read.

        Python has no timestamp of the year 1 that is converted to the machine's time zone, nor has pandas.
        """
        return cast(f"'{-(1 << 63)}'", self.type) if self.type == "BIGINT" else self._literal("1900-01-01")

    def _literal(self, text: str) -> str:
        """Return a date or a time as a literal."""
        if self.type == "TIMESTAMP":
            return timestamp_literal(text, self.zone)
        return f"{self.type} {sql.text_literal(text)}"

    @property
    def no_next(self) -> str:
        """Return the column that is NULL, because nothing follows an open version."""
        return f"{cast('NULL', self.type)} AS _scd_to"

    def _shift(self, value: str, sign: str) -> str:
        gap = self.history.gap
        if gap is None:
            return value
        if self.type == "BIGINT":
            return f"{value} {sign} {gap}"
        amount, unit = str(gap).split()
        return f"{value} {sign} INTERVAL '{amount}' {unit.rstrip('s').upper()}"

    def misread(self, start: str) -> str | None:
        """Return the condition that the end before a start is read back as another time; ``None`` if that cannot be.

        Days are calendar days: if the clock was changed on the day before, it may have no 02:30.
        """
        return f"{self.after(self.before(start))} <> {start}" if self.has_days else None

    @property
    def has_days(self) -> bool:
        """Whether the gap is of days, which are longer or shorter where the session's clock is changed."""
        if self.type != "TIMESTAMP" or self.history.gap is None:
            return False
        amount, unit = str(self.history.gap).split()
        return int(amount) * _SECONDS.get(unit.rstrip("s"), 0) >= _SECONDS["day"]

    def before(self, next_start: str) -> str:
        """Return the stored end of a version before one that starts at ``next_start``."""
        return self._shift(next_start, "-")

    def after(self, end: str) -> str:
        """Return the start of what follows the stored ``end`` of a closed version."""
        return self._shift(end, "+")

    def written_end(self, next_start: str) -> str:
        """Return the stored end, for a ``next_start`` that is NULL while the version is open."""
        end, written = self.before(next_start), self.last_run if self.by_run else self.open_end
        return f"COALESCE({end}, {written})" if written else end

    def until(self, alias: str = "t") -> str:
        """Read a stored end back as the start of what comes next, NULL while open."""
        end = f"{alias}.{self.end}"
        if self.by_run:
            is_open = self.is_open(alias)
            test = f"({is_open})" if " " in is_open else is_open
            return f"CASE WHEN NOT {test} THEN {self.after(end)} END"
        return self.read_end(end)

    def read_end(self, end: str) -> str:
        """Read an ``end`` as the start of what comes next, NULL for the open end."""
        return self.after(apply("NULLIF", [end, self.open_end]) if self.open_end else end)

    def until_of(self, end: str) -> str:
        """Return the start of what follows a row of a source, from its ``end`` as it would be stored; NULL while open.

        A row that ends at the open end or later is open: no version starts there.
        """
        end = cast(end, self.type)
        return self.read_end(f"LEAST({end}, {self.open_end})" if self.open_end else end)

    def is_open(self, alias: str = "t") -> str:
        """Return the condition that a stored version is open; ``alias`` is empty in statements without one."""
        of = f"{alias}." if alias else ""
        if self.by_run:
            return f"{of}{self.flagged}"
        end = f"{of}{self.end}"
        return f"{end} = {self.open_end}" if self.open_end else f"{end} IS NULL"

    def is_current(self, alias: str = "t") -> str:
        """Return the condition that a version of now is open, for readers: by the flag where it places the files."""
        return f"{alias}.{self.flagged}" if self.is_split else self.is_open(alias)

    def valid_at(self, at: str, alias: str = "t") -> list[str]:
        """Return the conditions that a stored version is valid at a time: from its start, until what comes next."""
        ends = f"{alias}.{self.end} > {self.before(at)}"
        return [f"{alias}.{self.start} <= {at}", ends if self.open_end else f"({self.is_open(alias)} OR {ends})"]

    def reachable(self, bound: str, alias: str = "t") -> str:
        """Return the condition that a stored version is open or ended no earlier than ``bound``.

        Delta skips the files of all other versions: it has the minimum and maximum end of each file, and session
        variables are constants when it plans the scan.
        """
        ends = f"{alias}.{self.end} >= {bound}"
        is_open = f"{alias}.{self.open_flag}" if self.open_flag else self.is_open(alias)
        return ends if self.open_end else f"({is_open} OR {ends})"

    def flag(self, next_start: str) -> str:
        """Return the flag for a ``next_start`` that is NULL while the version is open."""
        is_open, is_closed = self.flag_of(True), self.flag_of(False)
        if (is_open, is_closed) == ("TRUE", "FALSE"):
            return f"{next_start} IS NULL"
        return f"CASE WHEN {next_start} IS NULL THEN {is_open} ELSE {is_closed} END"

    def flag_of(self, is_open: bool) -> str:
        """Return the flag's literal for an open or a closed version."""
        flag = self.history.is_current
        assert flag is not None
        return _literal(flag.open if is_open else flag.closed)


def _literal(value: object) -> str:
    return sql.text_literal(value) if isinstance(value, str) else str(value).upper()


@dataclass(frozen=True)
class History:
    """The history columns of one table, and how to write them."""

    times: Times
    """The times of a version."""
    columns: dict[str, str]
    """Option -> quoted name, in the table's order."""
    keys: tuple[Field, ...]
    """The key columns."""
    tracked: tuple[Field, ...]
    """The columns whose changes open a version."""
    derived: dict[str, tuple[str, str]]
    """Quoted name -> (expression, type) of the columns that are computed from a version's start."""
    sequence: str = ""
    """The value of the column that keeps ``sequence_by``; empty without that column."""
    no_sequence: str = ""
    """Its value in a version that no row has opened; empty without that column."""

    def row_hash_of(self, state: str = "") -> str:
        """Return the hash of the tracked columns, inside of a value that ends in a dot."""
        return row_hash(((field.name, field.type) for field in self.tracked), state)

    @property
    def from_start(self) -> tuple[str, ...]:
        """Return the columns that a move of the start changes, with the start."""
        by_start = [name for option, name in self.columns.items() if option in {"valid_from", "surrogate_key"}]
        return (*self.derived, *by_start)

    def written(self, start: str, next_start: str, action: str, deleted: str, state: str = "") -> tuple[str, ...]:
        """Return the columns of a version that depend on its start and on what follows it, each with its name.

        ``next_start`` is NULL while the version is open; ``action`` and ``deleted`` are the values of these columns;
        ``state`` is what holds the tracked ones, with a dot.
        """
        return (
            *self._derived(start),
            *(
                name if value == name else f"{value} AS {name}"
                for option, name in self.columns.items()
                for value in (self._value(option, start, next_start, action, deleted, state),)
            ),
        )

    def opened(self, start: str, next_start: str, inferred: bool) -> Iterator[str]:
        """Yield the same columns of an open version that no row of the source has opened.

        ``next_start`` is a column that is NULL.
        """
        yield from self._derived(start)
        for option, name in self.columns.items():
            if option == "inferred":
                yield f"{str(inferred).upper()} AS {name}"
            elif option == "sequence":
                yield f"{self.no_sequence} AS {name}"
            elif option == "valid_to" and self.times.by_run:  # the MERGE writes the time of its run
                yield f"{start} AS {name}"
            else:
                yield f"{self._value(option, start, next_start, _FIRST, 'FALSE')} AS {name}"

    def _derived(self, start: str) -> Iterator[str]:
        for name, (text, kind) in self.derived.items():
            yield f"{cast(with_column(text, self.times.history.valid_from, start), kind)} AS {name}"

    def _value(self, option: str, start: str, next_start: str, action: str, deleted: str, state: str = "") -> str:
        if option == "surrogate_key":
            return key_hash(
                [*((key.name, key.type) for key in self.keys), (start, self.times.type)],
                self.times.history.surrogate_type,
            )
        if option == "valid_to":
            return self.times.written_end(next_start)
        if option == "is_current":
            return self.times.flag(next_start)
        if option == "row_hash":
            return self.row_hash_of(state)
        if option == "inferred":
            return "FALSE"
        return {"valid_from": start, "action": action, "deleted": deleted, "sequence": self.sequence}[option]
