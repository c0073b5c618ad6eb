"""Random histories of tables that point to one another, joined by an engine and by the reference."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from scdgen import DataError, Spec, load_spec_text
from tests.support.random_specs import GAPS, LAST_RUN, OPEN_ENDS
from tests.support.reference import (
    History,
    Joined,
    Key,
    Meaning,
    Period,
    RefusedError,
    Written,
    follow_pointers,
    replace_histories,
    written,
)

Rows = list[tuple[Any, ...]]
KEYS, TIMES, BATCHES = 6, 14, 3
# The table that each one points from; the first has the key of the result, as one does that has no other name here.
SHAPES: list[dict[str, str | None]] = [
    {"account": None, "customer": "account"},
    {"account": None, "customer": "account", "region": "customer"},
    {"account": None, "customer": "account", "broker": "account"},
    {"account": None, "profile": None, "region": "profile"},
    {"account": None, "customer": "account", "profile": None},
    {"account": None, "profile": None, "address": None},
]


class Side(Protocol):
    """An engine that holds tables and merges a join of them."""

    def put(self, name: str, types: Mapping[str, str], rows: Rows) -> None: ...
    def merge(self, spec: Spec, params: Mapping[str, Any]) -> tuple[int, int, int]: ...
    def opens(self, spec: Spec, params: Mapping[str, Any]) -> int: ...
    def read(self, table: str) -> Rows: ...
    def find_failures(self, spec: Spec) -> list[str]: ...


@dataclass
class Drawn:
    """One random table: how it stores its versions, and the rows by its key."""

    of: str | None
    gap: tuple[Any, Any]
    open_end: tuple[Any, Any]
    has_history: bool
    required: bool
    rows: dict[Key, list[Period]]


class Parents:
    """A random spec, and the histories of its tables."""

    def __init__(self, seed: int, shape: Mapping[str, str | None] | None = None):
        self.seed, self.random = seed, random.Random(f"{seed} parents")
        draw = self.random
        self.kind = draw.choice(["timestamp", "date", "bigint"])
        self.pairs = draw.random() < 0.3  # keys of two columns
        ends = [form for form in OPEN_ENDS[self.kind] if form[0] != LAST_RUN]
        self.tables: dict[str, Drawn] = {}
        for name, of in (shape or draw.choice(SHAPES)).items():
            first = not self.tables
            self.tables[name] = Drawn(
                of=of,
                gap=draw.choice(GAPS[self.kind]),
                open_end=draw.choice(ends),
                has_history=first or draw.random() < 0.85,
                required=not first and draw.random() < 0.25,
                rows={},
            )
        self.gap = draw.choice(GAPS[self.kind])
        self.open_end = draw.choice(ends)
        on_delete, unchanged = draw.choice(["close", "mark", "ignore"]), draw.choice(["skip", "keep"])
        values = [f"v_{name}" for name in self.tables]
        tracked = [name for name in values if draw.random() < 0.8] or values[:1]
        self.meaning = Meaning(tracked, on_delete=on_delete, unchanged=unchanged)
        keys = ["id", "area"] if self.pairs else ["id"]
        marks = on_delete == "mark"
        names, gap, end = [*keys, *values], self.gap[1], self.open_end[1]
        self.only = draw.choice(values) if draw.random() < 0.2 else None  # of the rows, those with more than 1 here
        self.how = Written(keys, names, tracked, gap, end, action=True, deleted=marks)
        self.text = json.dumps(self._document(keys, values))
        self.spec = load_spec_text(self.text, f"seed {seed}")

    def _document(self, keys: list[str], values: list[str]) -> dict[str, Any]:
        join: dict[str, Any] = {}
        first = next(iter(self.tables))
        for name, table in self.tables.items():
            given: dict[str, Any] = {"table": f"joined.{name}_{self.seed}"}
            if table.of is None:
                given["keys"] = {key: f"{key}_of_{name}" for key in keys}
            else:
                given["on"] = {f"{key}_of_{name}": f"{table.of}.to_{key}_of_{name}" for key in keys}
            if table.required:
                given["required"] = True
            if table.has_history:
                given |= {"valid_from": "began", "valid_to": "ended"}
                given |= {"gap": table.gap[0], "open_end": table.open_end[0]}
            else:
                given["history"] = "none"
            join[name] = given
        columns: dict[str, Any] = {
            key: {"type": "int" if key == "id" else "string", "from": f"{first}.{key}_of_{first}"} for key in keys
        }
        columns |= {
            name: {"type": "int", "from": f"{name[2:]}.v", "track": name in self.meaning.tracked} for name in values
        }
        history = {"type": self.kind, "gap": self.gap[0], "open_end": self.open_end[0], "action": "action"}
        if self.meaning.on_delete == "mark":
            history["deleted"] = "is_deleted"
        where = {"where": f"{self.only[2:]}.v > 1"} if self.only else {}
        return {
            "target": f"joined.t{self.seed}", "pattern": "scd2", "keys": keys, "columns": columns, "history": history,
            "source": {"feed": "versions", "join": join, "changed_since": ":since"} | where,
            "table": {"partition_by": ["area"]} if self.pairs else {},
            "on_delete": self.meaning.on_delete, "unchanged": self.meaning.unchanged,
            "params": {"since": {"type": self.kind, "default": "NULL"}},
        }  # fmt: skip

    def time(self, number: int) -> Any:
        if self.kind == "bigint":
            return number
        at = dt.datetime(2024, 1, 1) + dt.timedelta(days=number)
        return at.date() if self.kind == "date" else at

    def key(self, number: int) -> Key:
        return (number, "ns"[number % 2]) if self.pairs else (number,)

    def fill(self, share: float) -> None:
        """Draw the rows of this share of the keys of each table anew."""
        for name, table in self.tables.items():
            for number in range(KEYS):
                if self.random.random() < share:
                    table.rows.pop(self.key(number), None)
                    if rows := self._history(name, table):
                        table.rows[self.key(number)] = rows

    def _history(self, name: str, table: Drawn) -> list[Period]:
        draw = self.random
        if not table.has_history:
            return [Period(None, None, self._values(name))] if draw.random() < 0.8 else []
        rows: list[Period] = []
        at = draw.randrange(TIMES)
        while at < TIMES and len(rows) < 4:
            end = at + draw.randint(1, 5)
            values = self._values(name)
            if rows and draw.random() < 0.2:  # nothing but its version changes
                values = rows[-1].values
            is_open = draw.random() < 0.3 or end > TIMES
            rows.append(Period(self.time(at), None if is_open else self.time(end), values))
            if is_open:
                break
            at = end if draw.random() < 0.7 else end + draw.randint(1, 3)
        if rows and draw.random() < 0.03:  # two versions at a time: the same, or a conflict
            rows.append(replace(rows[0], values=rows[0].values if draw.random() < 0.5 else self._values(name)))
        return rows

    def _values(self, name: str) -> dict[str, Any]:
        """A value, and the keys of the tables that it points to: NULL, one that is not there, or one that may be."""
        found: dict[str, Any] = {f"v_{name}": self.random.choice([None, 1, 2, 3])}
        for other, table in self.tables.items():
            if table.of == name:
                number = self.random.choice([None, 99, *range(KEYS)])
                key = (None,) * len(self.key(0)) if number is None else self.key(number)
                if number is not None and self.pairs and self.random.random() < 0.1:
                    key = (number, None)
                found[f"to_{other}"] = key
        return found

    def joined(self) -> dict[str, Joined]:
        """The tables as the reference takes them."""

        def point(name: str) -> Callable[[Mapping[str, Any]], Key]:
            return lambda values: values[f"to_{name}"]

        return {
            name: Joined(table.rows, table.of, point(name), table.has_history, table.required)
            for name, table in self.tables.items()
        }

    def expected(self, history: History, since: Any = None) -> History:
        """The history after a run; raises :class:`RefusedError`."""
        rows, read = follow_pointers(self.joined(), since)
        values = [name for name in self.how.columns if name not in self.how.keys]
        rows = [replace(row, values={name: row.values.get(name) for name in values}) for row in rows]
        if self.only:  # a key without a row that is read stays as it is
            rows = [row for row in rows if (row.values[self.only] or 0) > 1]
            read = {row.key for row in rows}
        left = {key: versions for key, versions in history.items() if key not in read}
        try:
            return replace_histories(left, rows, self.meaning)
        except RefusedError as refused:  # rows of a join overlap where two versions of a table do
            raise RefusedError("conflict" if str(refused) == "overlap" else str(refused)) from None

    def put(self, side: Side) -> None:
        """Write the tables."""
        for name, table in self.tables.items():
            own = [f"{key}_of_{name}" for key in self.how.keys]
            to = [(other, key) for other, t in self.tables.items() if t.of == name for key in self.how.keys]
            names = [*own, "v", *(f"to_{key}_of_{other}" for other, key in to)]
            kinds = {n: "string" if "area" in n else "int" for n in names}
            kinds |= dict.fromkeys(["began", "ended"] * table.has_history, self.kind)
            rows: Rows = []
            for key, periods in table.rows.items():
                for period in periods:
                    row = [*key, period.values[f"v_{name}"]]
                    row += [period.values[f"to_{other}"][self.how.keys.index(part)] for other, part in to]
                    end = period.end if period.end is None or table.gap[1] is None else period.end - table.gap[1]
                    row += [period.start, table.open_end[1] if end is None else end] * table.has_history
                    rows.append(tuple(row))
            self.random.shuffle(rows)
            side.put(f"joined.{name}_{self.seed}", kinds, rows)

    def play(self, side: Side) -> None:
        """Draw, join and compare, batch by batch; the last one with a time."""
        history: History = {}
        for batch in range(BATCHES):
            self.fill(0.9 if batch == 0 else 0.3)
            self.put(side)
            since = self.time(self.random.randrange(TIMES)) if batch == BATCHES - 1 else None
            history = self.check(side, history, since)

    def check(self, side: Side, history: History, since: Any = None) -> History:
        params = {"since": since}
        try:
            expected = self.expected(history, since)
        except RefusedError as refused:
            try:
                side.merge(self.spec, params)
            except DataError as stopped:
                assert stopped.rule == str(refused)
                return history
            raise AssertionError(f"not refused: {refused}") from None
        opens = side.opens(self.spec, params)
        done = side.merge(self.spec, params)
        assert side.read(self.spec.target) == written(expected, self.how), self.seed
        assert opens == done[0]
        assert side.merge(self.spec, params) == (0, 0, 0), "the same again"
        assert side.find_failures(self.spec) == []
        return expected
