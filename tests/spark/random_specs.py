"""Random specs and batches. A case is made from its seed alone, so that a failure can be run again by it."""

from __future__ import annotations

import datetime as dt
import json
import random
from dataclasses import dataclass
from typing import Any

from tests.reference import Change, Key, Meaning, Values, Written

EPOCH = dt.datetime(2024, 1, 1)
TYPES = {"timestamp": "timestamp", "date": "date", "bigint": "bigint"}
GAPS: dict[str, list[tuple[Any, Any]]] = {
    "timestamp": [
        (None, None),
        ("1 microsecond", dt.timedelta(microseconds=1)),
        ("1 millisecond", dt.timedelta(milliseconds=1)),
        ("1 day", dt.timedelta(days=1)),
    ],
    "date": [(None, None), ("1 day", dt.timedelta(days=1))],
    "bigint": [(None, None), (1, 1), (10, 10)],
}
OPEN_ENDS: dict[str, list[tuple[Any, Any]]] = {
    "timestamp": [(None, None), ("9999-12-31 23:59:59.999", dt.datetime(9999, 12, 31, 23, 59, 59, 999000))],
    "date": [(None, None), ("9999-12-31", dt.date(9999, 12, 31))],
    "bigint": [(None, None), (9999999999, 9999999999)],
}
FLAGS: list[tuple[Any, tuple[Any, Any] | None]] = [
    ("is_current", (True, False)),
    ({"name": "current_flag", "type": "string", "open": "Y", "closed": "N"}, ("Y", "N")),
    ({"name": "is_current", "type": "int", "open": 1, "closed": 0}, (1, 0)),
    (None, None),
]


@dataclass
class Case:
    """One random spec with what it means and how it is written."""

    seed: int
    document: dict[str, Any]
    meaning: Meaning
    how: Written
    kind: str
    snapshot: bool
    random: random.Random
    deletes: bool
    sequenced: bool

    @property
    def text(self) -> str:
        return json.dumps(self.document, indent=1)  # JSON is YAML, and keeps the order of the columns

    def time(self, tick: int) -> Any:
        if self.kind == "bigint":
            return tick
        return (EPOCH + dt.timedelta(days=tick)).date() if self.kind == "date" else EPOCH + dt.timedelta(days=tick)

    @property
    def source_schema(self) -> str:
        keys = ", ".join(f"{key} {'int' if i == 0 else 'string'}" for i, key in enumerate(self.how.keys))
        return f"{keys}, src_a string, b int, c string, happened {TYPES[self.kind]}, lsn int, op string"

    def rows(self, changes: list[Change]) -> list[tuple[Any, ...]]:
        return [
            (*c.key, *(c.values[name] for name in "abc"), c.at, c.sequence[0] if c.sequence else None,
             "D" if c.deleted else None)
            for c in changes
        ]  # fmt: skip


def make_case(seed: int, target: str, snapshot: bool = False) -> Case:
    """A random scd2 spec."""
    rng = random.Random(seed)
    kind = rng.choice(list(TYPES))
    gap, open_end, flag = rng.choice(GAPS[kind]), rng.choice(OPEN_ENDS[kind]), rng.choice(FLAGS)
    keys = ["id", "region"] if rng.random() < 0.5 else ["id"]
    untracked = [name for name in "abc" if rng.random() < 0.3]
    if len(untracked) == 3:
        untracked = untracked[1:]
    extras = {name: rng.random() < 0.4 for name in ("row_hash", "surrogate_key", "action")}
    on_delete = rng.choice(["close", "mark", "mark", "ignore"])
    unchanged = rng.choice(["skip", "keep"])
    modes = ["", "", "ignore", "fill"]
    nulls = {name: mode for name in "abc" if (mode := rng.choice(modes))}
    sequenced, deletes = rng.random() < 0.6, rng.random() < 0.7
    late = rng.choice(["apply", "apply", "apply", "ignore"])
    columns: dict[str, Any] = {key: "int" if i == 0 else "string" for i, key in enumerate(keys)}
    for name, kind_of in (("a", "string"), ("b", "int"), ("c", "string")):
        columns[name] = {"type": kind_of, **({"track": False} if name in untracked else {})}
    columns["a"]["from"] = "src_a"
    for name, mode in nulls.items():
        columns[name]["nulls"] = mode
    source: dict[str, Any] = {"table": "nowhere", "effective_at": "happened"}
    document: dict[str, Any] = {
        "target": target, "pattern": "scd2", "source": source, "keys": keys, "columns": columns,
        "history": {
            "type": kind, "valid_from": "begins", "valid_to": "ends", "gap": gap[0], "open_end": open_end[0],
            "is_current": flag[0], **{name: f"the_{name}" for name, wanted in extras.items() if wanted},
        },
        "on_delete": on_delete,
        "unchanged": unchanged,
        "bad_rows": rng.choice(["fail", "skip"]),
    }  # fmt: skip
    if on_delete == "mark":
        document["history"]["deleted"] = "is_deleted"
    if snapshot:
        source["feed"] = "snapshot"
        document["params"] = {"taken": kind}
        document["snapshot"] = {"taken_at": ":taken", "max_deleted": rng.choice([0.9, 1.0])}
        own_time = rng.random() < 0.5
        if own_time:
            document["late_arriving"] = rng.choice(["ignore", "fail"])
        else:
            del source["effective_at"]
        late = document.get("late_arriving", "fail")
    else:
        own_time = False
        document["late_arriving"] = late
        if deletes:
            source["delete_when"] = "op = 'D'"
    if sequenced:
        source["sequence_by"] = ["lsn"]
    if keys[0] == "id" and rng.random() < 0.3:
        document["table"] = {"partition_by": ["bucket"]} if not snapshot else {"cluster_by": ["id"]}
        if not snapshot:
            columns["bucket"] = {"type": "int", "from": "id % 3", "track": False}
    tracked = [name for name in "abc" if name not in untracked]
    meaning = Meaning(
        tracked, on_delete, late, document["bad_rows"], unchanged=unchanged, nulls=nulls, own_time=own_time,
        max_deleted=document.get("snapshot", {}).get("max_deleted", 1.0),
    )  # fmt: skip
    how = Written(
        keys, list(columns), tracked, gap[1], open_end[1], flag[1], extras["row_hash"], extras["surrogate_key"],
        extras["action"], on_delete == "mark",
    )  # fmt: skip
    return Case(seed, document, meaning, how, kind, snapshot, rng, deletes and not snapshot, sequenced)


def values(case: Case, key: Key) -> Values:
    rng = case.random
    found: Values = {
        "a": rng.choice(["x", "y", "", None]), "b": rng.choice([1, 2, None]), "c": rng.choice(["p", "q", None])
    }  # fmt: skip
    if "bucket" in case.how.columns:
        found["bucket"] = key[0] % 3
    return found


def key(case: Case, number: int) -> Key:
    return (number, f"r{number % 2}") if len(case.how.keys) == 2 else (number,)


def changes(case: Case, keys: int, ticks: range) -> list[Change]:
    """A batch: several changes per key, in any order, with duplicates, no-ops, deletes and rows to skip."""
    rng = case.random
    found: list[Change] = []
    for number in range(keys):
        if rng.random() < 0.2:
            continue
        name = key(case, number)
        for tick in rng.sample(ticks, min(rng.choice([1, 1, 2, 3, 5]), len(ticks))):
            deleted = case.deletes and rng.random() < 0.25
            state = values(case, name)
            sequence = (rng.randint(1, 3),) if case.sequenced else ()
            found.append(Change(name, case.time(tick), state, sequence, deleted))
            if sequence and rng.random() < 0.3:  # an earlier row of the same time, which loses
                lower = rng.choice([sequence[0] - 1, None])
                gone = case.deletes and rng.random() < 0.5
                found.append(Change(name, case.time(tick), values(case, name), (lower,), gone))
            if rng.random() < 0.1:
                found.append(found[-1])
    if case.meaning.bad_rows == "skip":
        found.append(Change((None, *key(case, 1)[1:]), case.time(ticks[0]), values(case, (0,))))
        found.append(Change(key(case, 1), None, values(case, key(case, 1))))
    rng.shuffle(found)
    return found


def extract(case: Case, keys: int, taken: int) -> list[Change]:
    """A snapshot: most keys, each once, some repeated exactly."""
    rng = case.random
    found = []
    for number in range(keys):
        if rng.random() < 0.3:
            continue
        name = key(case, number)
        tick = taken
        if case.meaning.own_time:
            tick = taken - (rng.randint(0, 12) if case.meaning.late_arriving == "ignore" else 0)
        found.append(Change(name, case.time(tick), values(case, name), (1,) if case.sequenced else ()))
        if rng.random() < 0.1:
            found.append(found[-1])
    rng.shuffle(found)
    return found
