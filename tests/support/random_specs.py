"""Random specs and batches. A case depends on its seed alone, so that a failure can be repeated."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scdgen import SpecError, load_spec_text
from scdgen.sql import quote, unquote
from tests.support.reference import Change, Key, Meaning, Values, Version, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EPOCH = dt.datetime(2024, 1, 1)
TYPES = {"timestamp": "timestamp", "date": "date", "bigint": "bigint"}
BEGINNING: dict[str, Any] = {"timestamp": dt.datetime(1900, 1, 1), "date": dt.date(1900, 1, 1), "bigint": -(1 << 63)}
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
# Column -> expressions that ignore a difference of its values, and the same in Python.
COMPARES: dict[str, list[tuple[str, Callable[[Any], Any]]]] = {
    "a": [("coalesce(a, '')", lambda a: a or ""), ("a = 'x'", lambda a: None if a is None else a == "x")],
    "b": [("least(b, 1)", lambda b: 1), ("b IS NULL", lambda b: b is None)],
    "c": [("c IS NULL", lambda c: c is None), ("nullif(upper(c), 'Q')", lambda c: {"p": "P"}.get(c))],
}
LAST_RUN = "last_run"
OPEN_ENDS: dict[str, list[tuple[Any, Any]]] = {
    "timestamp": [
        (None, None),
        (LAST_RUN, LAST_RUN),
        ("9999-12-31 23:59:59.999", dt.datetime(9999, 12, 31, 23, 59, 59, 999000)),
    ],
    "date": [(None, None), (LAST_RUN, LAST_RUN), ("9999-12-31", dt.date(9999, 12, 31))],
    "bigint": [(None, None), (LAST_RUN, LAST_RUN), (9999999999, 9999999999)],
}
FLAGS: list[tuple[Any, tuple[Any, Any] | None]] = [
    ("is_current", (True, False)),
    ({"name": "current_flag", "type": "string", "open": "Y", "closed": "N"}, ("Y", "N")),
    ({"name": "is_current", "type": "int", "open": 1, "closed": 0}, (1, 0)),
    (None, None),
]


@dataclass
class Case:
    """One random spec, its meaning and the form of its rows."""

    seed: int
    document: dict[str, Any]
    meaning: Meaning
    how: Written
    kind: str
    snapshot: bool
    random: random.Random
    deletes: bool
    sequenced: bool
    merges: dict[str, str] = field(default_factory=dict)  # scd1: column -> how its rows are merged into one value
    least: int | None = None  # the param of source.where: rows with a smaller b are not read
    reads: str = "frame"  # the source: a frame, a table, a query, or files at a path
    grows: bool = False  # the column c is added to the spec after the first batch
    partial: bool = False  # rows say which columns they set
    truncates: bool = False  # some rows empty the table
    rejects: bool = False  # an expectation leaves out rows
    refuses: bool = False  # an expectation stops the run
    infers: bool = False  # each run infers members from facts
    sizes: tuple[int | None, ...] = ()  # how many rows of a batch are kept
    extracted: dict[Key, list[dict[str, Any]]] = field(default_factory=dict)  # the values of a key in each snapshot
    epoch: dt.datetime = EPOCH  # tick 0, in the time zone of the session

    @property
    def scd1(self) -> bool:
        return bool(self.document["pattern"] == "scd1")

    @property
    def versions(self) -> bool:
        return bool(self.document["source"].get("feed") == "versions")

    @property
    def updated_at(self) -> str | None:
        return self.document.get("updated_at")

    @property
    def sequence(self) -> str | None:
        """The column of scd1 that keeps the order of rows of one time."""
        return "order_kept" if self.scd1 and self.how.sequence else None

    @property
    def deleted(self) -> str | None:
        """The column of scd1 that flags deleted keys."""
        return self.document.get("deleted")

    @property
    def values(self) -> list[str]:
        """The columns that are no keys."""
        return [name for name in self.how.columns if name not in self.how.keys]

    def before(self) -> Case:
        """The case of the first batch, before the column c is added."""
        document = copy.deepcopy(self.document)
        del document["columns"]["c"], document["schema_evolution"]
        for name in ("expectations", "quarantine", "audit"):  # the first two read the column
            document.pop(name, None)
        less = [name for name in self.how.tracked if name != "c"]
        nulls = {name: how for name, how in self.meaning.nulls.items() if name != "c"}
        compare = {name: counts for name, counts in self.meaning.compare.items() if name != "c"}
        merges = {name: how for name, how in self.merges.items() if name != "c"}
        return replace(
            self, document=document, meaning=replace(self.meaning, tracked=less, nulls=nulls, compare=compare),
            merges=merges, rejects=False, refuses=False,
            how=replace(self.how, tracked=less, columns=[name for name in self.how.columns if name != "c"]),
        )  # fmt: skip

    @property
    def text(self) -> str:
        return json.dumps(self.document, indent=1)  # JSON is YAML, and keeps the order of the columns

    def time(self, tick: int) -> Any:
        if self.kind == "bigint":
            return tick
        moment = self.epoch + dt.timedelta(days=tick)
        return moment.date() if self.kind == "date" else moment

    @property
    def source_types(self) -> dict[str, str]:
        """``name -> type`` of the source's columns, in the order of :meth:`rows`."""
        keys = {key: "int" if i == 0 else "string" for i, key in enumerate(self.how.keys)}
        kind = TYPES[self.kind]
        values = {"src_a": "string", "b": "int", "c": "string"}
        own = {"happened": kind, "lsn": "int", "op": "string", "ended": kind}
        return {**keys, **values, **own, **({"parts": "array<string>"} if self.partial else {})}

    @property
    def source_schema(self) -> str:
        """:attr:`source_types` as Spark reads a schema."""
        return ", ".join(f"{quote(name)} {kind}" for name, kind in self.source_types.items())

    def written_end(self, until: Any) -> Any:
        """An end as the target has it: of open rows NULL or, every other time, the open end."""
        if until is None:
            return None if self.how.open_end == LAST_RUN else self.random.choice([None, self.how.open_end])
        return until if self.how.gap is None else until - self.how.gap

    def params(self, now: Any) -> dict[str, Any]:
        """The param values of a run at a time."""
        declared = {"taken": now, LAST_RUN: now, "least": self.least}
        return {name: value for name, value in declared.items() if name in self.document.get("params", {})}

    def read(self, changes: list[Change]) -> list[Change]:
        """The rows that source.where selects, without those that the expectation leaves out."""
        return [c for c in self.selected(changes) if not self.is_rejected(c)]

    def selected(self, changes: list[Change]) -> list[Change]:
        """The rows that source.where selects."""
        return [c for c in changes if self.least is None or c.values["b"] is None or c.values["b"] >= self.least]

    def is_rejected(self, row: Change) -> bool:
        """Whether a row is left out, because it breaks the expectation."""
        return self.rejects and self.breaks(row)

    def breaks(self, row: Change) -> bool:
        """Whether a row breaks ``c <> 'q'``. Rows without key or time, deletes and truncates are not tested."""
        tested = not row.deleted and not row.truncates and None not in (row.at, *row.key)
        return tested and row.gives("c") and row.values["c"] == "q"

    def read_back(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row of the table in the values of the reference."""
        return row

    @staticmethod
    def listed(change: Change) -> list[str] | None:
        """The columns that a row sets, as the source has them."""
        return None if change.sets is None else [name.upper() for name in sorted(change.sets)]

    def rows(self, changes: list[Change]) -> list[tuple[Any, ...]]:
        return [
            (*c.key, *(c.values[name] for name in "abc"), c.at, c.sequence[0] if c.sequence else None,
             "T" if c.truncates else "D" if c.deleted else None, self.written_end(c.until),
             *([self.listed(c)] if self.partial else []))
            for c in changes
        ]  # fmt: skip


def make_first(makers: Iterable[Callable[[int, str, str], Case]], seed: int, target: str) -> Case:
    """The case of the first maker whose options the spec of the seed may have; those of make_case it always may."""
    for make in makers:
        case = make(seed, target, "data/x")
        with contextlib.suppress(SpecError):
            load_spec_text(case.text)
            return case
    return make_case(seed, target, "data/x")


def make_case(seed: int, target: str, folder: str) -> Case:
    """A random spec.

    Of eight, four are scd2 with changes, one with a snapshot, one with whole histories; two are scd1, one per feed.
    """
    rng = random.Random(seed)
    make = _scd1 if seed % 4 == 3 else _scd2
    feed = {2: "snapshot", 7: "snapshot", 6: "versions"}.get(seed % 8, "changes")
    case = make(rng, seed, target, feed)
    _add_common(case, rng, f"{folder}/{seed}")
    _add_sequence(case)
    return case


def make_cdc_case(seed: int, target: str, folder: str) -> Case:
    """The random spec of a seed with options of change feeds, apart, so that the spec of the seed stays as it is."""
    case = make_case(seed, target, folder)
    truncates = case.scd1 and case.meaning.on_delete != "ignore"
    case.document.pop("schema_evolution", None)
    case.grows = False
    _add_parts(case, sets=not (truncates and seed % 3 == 0), truncates=True)
    if random.Random(f"{seed} expectations").random() < 0.6:
        _add_expectation(case, "quarantine")
    return case


def make_members_case(seed: int, target: str, folder: str) -> Case:
    """The random spec of a seed with an inferred member and, of three, two with an unknown one."""
    case = make_case(seed, target, folder)
    for name in ("overlays", "checks", "views"):
        case.document.pop(name, None)
    _add_members(case, bool(seed % 3))
    return case


def make_combined_case(seed: int, target: str, folder: str) -> Case:
    """The random spec of a seed with more options at once, drawn apart: those of the cases above, keys of scd1, and
    batches without rows or with a single one."""
    drawn = random.Random(f"{seed} combined")
    case = make_case(seed, target, folder)
    changes = not (case.snapshot or case.versions)
    if case.scd1 and drawn.random() < 0.5:
        _add_key(case)
    if drawn.random() < 0.5 and changes:
        _add_parts(case, sets=drawn.random() < 0.7, truncates=drawn.random() < 0.7)
    violation = drawn.choice(["", "quarantine", "skip", "fail"])
    if violation:
        _add_expectation(case, violation)
    if not case.scd1 and drawn.random() < 0.5:
        _add_members(case, drawn.random() < 0.7)
    if drawn.random() < 0.3:
        case.document.setdefault("table", {})["format"] = "delta"
    _add_audit(case)
    if random.Random(f"{case.seed} recorded").random() < 0.3:
        _add_recorded(case)
    if drawn.random() < 0.5:
        least = 0 if case.meaning.allow_empty or changes else 1
        case.sizes = tuple(drawn.choice([None, None, least, 1]) for _ in range(3))
    return case


def make_recorded_case(seed: int, target: str, folder: str) -> Case:
    """The combined spec of a seed with a second axis of time, if it can have one."""
    case = make_combined_case(seed, target, folder)
    _add_recorded(case)
    return case


def _add_key(case: Case) -> None:
    """A second key of an scd1 spec."""
    document = case.document
    document["keys"] = ["id", "region"]
    listed = document["columns"]
    document["columns"] = {"id": listed["id"], "region": {"type": "string"}, **listed}
    case.how = replace(case.how, keys=["id", "region"], columns=list(document["columns"]))


def _add_parts(case: Case, sets: bool, truncates: bool) -> None:
    """Rows that set some columns, and some that empty an scd1 table. Where scd1 flags deletes, rows set all columns."""
    case.partial = sets and not (case.scd1 and case.meaning.on_delete == "mark")
    if case.partial:
        case.document["source"]["sets"] = "parts"
    if truncates and case.scd1 and case.meaning.on_delete != "ignore":
        case.truncates = True
        case.document["source"]["truncate_when"] = "op = 'T'"


def _add_expectation(case: Case, violation: str) -> None:
    case.rejects, case.refuses = violation != "fail", violation == "fail"
    case.document["expectations"] = [{"name": "not_q", "expect": "c <> 'q'", "on_violation": violation}]
    if violation == "quarantine":
        case.document["quarantine"] = f"{case.document['target']}_rejected"


def _add_members(case: Case, unknown: bool) -> None:
    """Members inferred from facts, and an unknown one."""
    document, reserved = case.document, None
    keys = {name: f"who_{name}" for name in case.how.keys}
    inferred = {"fact": f"members.facts_{case.seed}", "keys": keys, "at": "ordered", "flag": "guessed"}
    document["members"] = {"inferred": inferred}
    if unknown:
        reserved = (-1, "none")[: len(case.how.keys)]
        document["members"]["unknown"] = {**dict(zip(case.how.keys, reserved, strict=True)), "a": "?"}
    case.meaning = replace(case.meaning, reserved=reserved)
    if case.snapshot:
        document["unchanged"], case.meaning = "skip", replace(case.meaning, unchanged="skip")
    case.how, case.infers = replace(case.how, inferred=True), True


def unknown(case: Case) -> Version:
    """The unknown member."""
    return Version(BEGINNING[case.kind], None, {**dict.fromkeys(case.values), "a": "?"}, first=True)


def make_facts(case: Case, keys: int, number: int) -> Iterator[tuple[Any, ...]]:
    """Facts of keys that the table has, that come later, or never; some have no key or no time."""
    rng = random.Random(f"{case.seed} facts {number}")
    for _ in range(keys // 2):
        who: Key = key(case, rng.randrange(keys + 20))
        who = (None, *who[1:]) if rng.random() < 0.05 else who
        yield (*who, None if rng.random() < 0.05 else case.time(rng.randint(-5, 10 * number + 15)))
    if case.meaning.reserved:
        yield (*case.meaning.reserved, case.time(0))


def facts_types(case: Case) -> dict[str, str]:
    """``name -> type`` of the columns of the facts of a case."""
    keys = {f"who_{name}": "int" if i == 0 else "string" for i, name in enumerate(case.how.keys)}
    return {**keys, "ordered": case.kind}


def facts_schema(case: Case) -> str:
    """:func:`facts_types` as Spark reads a schema."""
    return ", ".join(f"{name} {kind}" for name, kind in facts_types(case).items())


def _columns(keys: list[str]) -> dict[str, Any]:
    columns: dict[str, Any] = {key: {"type": "int" if i == 0 else "string"} for i, key in enumerate(keys)}
    columns |= {"a": {"type": "string", "from": "src_a"}, "b": {"type": "int"}, "c": {"type": "string"}}
    return columns


def _scd2(rng: random.Random, seed: int, target: str, feed: str) -> Case:
    kind = rng.choice(list(TYPES))
    gap, open_end, flag = rng.choice(GAPS[kind]), rng.choice(OPEN_ENDS[kind]), rng.choice(FLAGS)
    if open_end[0] == LAST_RUN and flag[0] is None:
        flag = FLAGS[1]
    keys = ["id", "region"] if rng.random() < 0.5 else ["id"]
    untracked = [name for name in "abc" if rng.random() < 0.3]
    if len(untracked) == 3:
        untracked = untracked[1:]
    extras = {name: rng.random() < 0.4 for name in ("row_hash", "surrogate_key", "action")}
    on_delete = rng.choice(["close", "mark", "mark", "ignore"])
    unchanged = rng.choice(["skip", "keep"])
    nulls = {name: mode for name in "abc" if (mode := rng.choice(["", "", "ignore", "fill"]))}
    sequenced, deletes = rng.random() < 0.6, rng.random() < 0.7 and feed == "changes"
    if feed == "versions":
        nulls, sequenced = {}, False
    columns = _columns(keys)
    for name in untracked:
        columns[name]["track"] = False
    for name, mode in nulls.items():
        columns[name]["nulls"] = mode
    # Drawn apart, so that the specs of seeds without it stay as they are.
    drawn, compare = random.Random(f"{seed} compare"), {}
    for name in [name for name in "abc" if name not in untracked and feed != "versions" and drawn.random() < 0.15]:
        columns[name]["compare"], compare[name] = drawn.choice(COMPARES[name])
    source: dict[str, Any] = {"table": "nowhere", "effective_at": "happened"}
    document: dict[str, Any] = {
        "target": target, "pattern": "scd2", "source": source, "keys": keys, "columns": columns,
        "history": {
            "type": kind, "valid_from": "begins", "valid_to": "ends", "gap": gap[0], "open_end": open_end[0],
            "is_current": flag[0], **{name: f"the_{name}" for name, wanted in extras.items() if wanted},
        },
        "on_delete": on_delete,
        "unchanged": unchanged,
    }  # fmt: skip
    surrogate_type = "string"
    if extras["surrogate_key"] and random.Random(f"{seed} surrogate").random() < 0.4:
        surrogate_type = "bigint"
        document["history"]["surrogate_key"] = {"name": "the_surrogate_key", "type": surrogate_type}
    if on_delete == "mark":
        document["history"]["deleted"] = "is_deleted"
    if open_end[0] == LAST_RUN:
        document["params"] = {LAST_RUN: kind}
    late, own_time = "fail", False
    if feed == "versions":
        source |= {"feed": feed, "effective_until": "ended"}
        late = ""
    elif feed == "snapshot":
        _add_snapshot(document, rng, kind)
        own_time = rng.random() < 0.5
        if own_time:
            late = document["late_arriving"] = rng.choice(["ignore", "fail"])
        else:
            del source["effective_at"]
    else:
        late = document["late_arriving"] = rng.choice(["apply", "apply", "apply", "ignore", "fail"])
        if deletes:
            source["delete_when"] = "op = 'D'"
    tracked = [name for name in "abc" if name not in untracked]
    meaning = Meaning(
        tracked, on_delete, late, unchanged=unchanged, nulls=nulls, compare=compare, own_time=own_time,
        **_guards(document),
    )  # fmt: skip
    how = Written(
        keys, list(columns), tracked, gap[1], open_end[1], flag[1], extras["row_hash"], extras["surrogate_key"],
        extras["action"], on_delete == "mark", surrogate_type=surrogate_type,
    )  # fmt: skip
    return Case(seed, document, meaning, how, kind, feed == "snapshot", rng, deletes, sequenced)


def _scd1(rng: random.Random, seed: int, target: str, feed: str) -> Case:
    snapshot = feed == "snapshot"
    merges = {name: rng.choice(["last", "first", "min", "max"]) for name in "abc"}
    if rng.random() < 0.4:
        merges = dict.fromkeys("abc", rng.choice(["last", "last", "first"]))
    columns = _columns(["id"])
    for name, merge in merges.items():
        columns[name]["merge"] = merge
    on_delete, deletes = rng.choice(["remove", "remove", "ignore"]), rng.random() < 0.7
    document: dict[str, Any] = {
        "target": target, "pattern": "scd1",
        "source": {"table": "nowhere", "effective_at": "happened"},
        "keys": ["id"], "columns": columns, "on_delete": on_delete,
    }  # fmt: skip
    if rng.random() < 0.5:
        document["updated_at"] = "changed"
    # Drawn apart, so that the specs of other seeds stay as they are.
    if "updated_at" in document and on_delete == "remove" and random.Random(f"{seed} mark").random() < 0.6:
        on_delete = document["on_delete"] = "mark"
        document["deleted"] = "is_gone"
        for name in merges:  # a row counts as a whole
            columns[name]["merge"] = merges[name] = "last"
    if snapshot:
        _add_snapshot(document, rng, "timestamp")
    elif deletes:
        document["source"]["delete_when"] = "op = 'D'"
    meaning = Meaning([], on_delete, **_guards(document))
    how = Written(["id"], list(columns), [])
    return Case(seed, document, meaning, how, "timestamp", snapshot, rng, deletes and not snapshot, True, merges)


def _add_snapshot(document: dict[str, Any], rng: random.Random, kind: str) -> None:
    document["source"]["feed"] = "snapshot"
    document["params"] = {**document.get("params", {}), "taken": kind}
    document["snapshot"] = {"taken_at": ":taken", "max_deleted": rng.choice([0.9, 1.0])}
    if rng.random() < 0.4:
        document["snapshot"]["scope"] = "id < 70"
    if rng.random() < 0.4:
        document["snapshot"]["allow_empty"] = rng.random() < 0.7


def _guards(document: dict[str, Any]) -> dict[str, Any]:
    snapshot = document.get("snapshot", {})
    scoped = "scope" in snapshot
    return {
        "allow_empty": snapshot.get("allow_empty", False),
        "max_deleted": snapshot.get("max_deleted", 1.0),
        "scope": lambda key: not scoped or key[0] < 70,
    }


def _add_layout(case: Case) -> None:
    """The layouts that a spec names, for some specs."""
    layout = random.Random(f"layout {case.seed}").choice(["cluster", "split", "", ""])
    if layout == "cluster" or (layout and case.document["history"].get("is_current", True)):
        case.document["table"] = {"layout": layout}


def _add_common(case: Case, rng: random.Random, folder: str) -> None:
    """The options that every kind of spec has."""
    document, columns, source = case.document, case.document["columns"], case.document["source"]
    case.meaning = replace(
        case.meaning, bad_rows=rng.choice(["fail", "skip"]), conflicts=rng.choice(["fail", "fail", "any"])
    )
    if case.versions:
        case.meaning = replace(case.meaning, conflicts="fail")
    document |= {"bad_rows": case.meaning.bad_rows, "conflicts": case.meaning.conflicts}
    if case.sequenced:
        source["sequence_by"] = ["lsn"]
    if rng.random() < 0.4:
        document["description"] = f"it's \\ number {case.seed} -- of */ many"
        columns["a"]["comment"] = "the first; 'quoted'"
    columns["id"]["nullable"] = False
    kind = rng.choice(["partition", "cluster", "plain", "plain"])
    if kind == "partition":
        columns["bucket"] = {"type": "int", "from": "id % 3", **({} if case.scd1 else {"track": False})}
        case.how = replace(case.how, columns=list(columns))
        case.merges |= {"bucket": "last"} if case.scd1 else {}
        document["table"] = {"partition_by": ["bucket"]}
    elif kind == "cluster":
        document["table"] = {"cluster_by": ["id"], "format": "delta"}
    elif not case.scd1 and rng.random() < 0.3:
        document["table"] = {"layout": "none"}
    elif not case.scd1:
        _add_layout(case)
    if rng.random() < 0.4:
        document.setdefault("table", {})["properties"] = {"delta.enableDeletionVectors": rng.choice(["true", "false"])}
    if rng.random() < 0.3:
        document.setdefault("table", {})["location"] = f"{folder}/table"
    if rng.random() < 0.3:
        source["where"] = "b IS NULL OR b >= :least"
        document["params"] = {**document.get("params", {}), "least": {"type": "int", "default": 2}}
        case.least = rng.choice([1, 2])
    document["checks"] = [{"name": "known_b", "query": f"SELECT * FROM {document['target']} WHERE b > 2"}]
    if rng.random() < 0.5:
        document["views"] = {"current": f"{document['target']}_now"}
        if not case.scd1:
            document["views"]["as_of"] = f"{document['target']}_at"
    _add_overlays(case)
    # min and max of rows stored without the column come from later rows
    case.grows = rng.random() < 0.25 and (case.scd1 or bool({"a", "b"} & {*case.how.tracked}))
    if case.grows:
        document["schema_evolution"] = "add_columns"
    case.reads = rng.choice(["frame", "table", "query", "path", "path"])
    if case.reads == "table":
        source["table"] = f"incoming_{case.seed}"
    elif case.reads == "query":
        del source["table"]
        source["query"] = f"SELECT * FROM incoming_{case.seed} WHERE 1 = 1"
    elif case.reads == "path":
        del source["table"]
        source |= {"path": f"{folder}/rows", "format": "parquet", "options": {"mergeSchema": "false"}}


def _add_sequence(case: Case) -> None:
    """Whether the table keeps the order of rows of one time, drawn apart as `compare` is."""
    drawn, document = random.Random(f"{case.seed} sequence"), case.document
    if "sequence_by" not in document["source"] or drawn.random() < 0.5 or (case.scd1 and not case.updated_at):
        return
    typed = {"name": "order_kept", "type": "decimal(5, 0)"}
    stored = typed if case.scd1 else drawn.choice(["order_kept", typed])
    (document if case.scd1 else document["history"])["sequence"] = stored
    case.meaning = replace(case.meaning, keeps_sequence=True)
    case.how = replace(case.how, sequence=True)


def _add_audit(case: Case) -> None:
    """Columns with the run that wrote a row, drawn apart; a spec that grows gets them with its column c."""
    drawn = random.Random(f"{case.seed} audit")
    if drawn.random() < 0.4:
        named = {"inserted_at": "first_run_at", "updated_at": "last_run_at", "run_id": "run"}
        case.document["audit"] = {option: name for option, name in named.items() if drawn.random() < 0.7}


def _add_recorded(case: Case) -> None:
    """A second axis of time, of which every other spec names the columns."""
    if case.scd1 or case.how.open_end == LAST_RUN:
        return
    named = {"from": "held_from", "to": "held_until", "at": "current_timestamp()"}
    case.document["history"]["recorded"] = named if case.seed // 8 % 2 else True


def _add_overlays(case: Case) -> None:
    """Some overlays of the columns that a spec has from the start, drawn apart as `compare` is."""
    drawn, document = random.Random(f"{case.seed} overlays"), case.document
    if case.scd1 or drawn.random() < 0.3:
        return
    named = [(kind, name) for kind in ("first", "previous", "current", "since") for name in "ab"]
    document.setdefault("views", {})["overlay"] = f"{document['target']}_all"
    chosen = drawn.sample(named, drawn.randint(1, 6))
    document["overlays"] = {f"{kind}_of_{name}": {kind: name} for kind, name in chosen}


def source_of(spark: SparkSession, case: Case, changes: list[Change]) -> DataFrame | None:
    """Put the rows where the spec reads them; return a frame if the run takes one. Times are in the session's zone."""
    # pyspark would take a time without a zone for one in the zone of this process.
    schema = case.source_schema
    rows = spark.createDataFrame(case.rows(changes), re.sub(r"\btimestamp\b", "timestamp_ntz", schema)).coalesce(1)
    for name in re.findall(r"(`(?:``|[^`])+`|\w+) timestamp\b", schema):
        rows = rows.withColumn(unquote(name), rows[name].cast("timestamp_ltz"))
    if case.reads == "frame":
        return rows
    if case.reads == "path":
        rows.write.mode("overwrite").parquet(case.document["source"]["path"])
    else:
        rows.createOrReplaceTempView(f"incoming_{case.seed}")
    return None


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


def batch_rows(case: Case, keys: int, number: int) -> tuple[list[Change], Any]:
    """The rows of a batch and the time of the run, which is also that of the snapshot and of ``open_end: last_run``.

    An expectation that stops a run stops that of the second batch.
    """
    found, now = _whole_batch(case, keys, number)
    if case.refuses and number != 1:
        found = [row for row in found if not case.breaks(row)]
    return found[: case.sizes[number]] if number < len(case.sizes) else found, now


def _whole_batch(case: Case, keys: int, number: int) -> tuple[list[Change], Any]:
    if case.snapshot:
        taken = 20 * (number + 1)
        empty = number == 1 and "allow_empty" in case.document["snapshot"]
        return [] if empty else _covered(case, extract(case, keys, taken), number), case.time(taken)
    if case.versions:
        return histories(case, keys, number), case.time(100 + number)
    # The batches overlap in time, so the second and third have late rows; if those are refused, only the third.
    overlap = 15 if case.meaning.late_arriving != "fail" or number == 2 or case.scd1 else 9
    found = changes(case, keys, range(10 * number, 10 * number + overlap))
    if case.truncates and number > 0:
        place = case.random.randint(10 * number, 10 * number + 9)
        # Above all others, unless a row of its place is just left out.
        sequence = case.random.randint(1, 3) if case.meaning.conflicts == "any" else 4
        nothing = dict.fromkeys(values(case, (0,)))
        found += [
            Change((None,) * len(case.how.keys), case.time(at), nothing, (sequence,), truncates=True)
            for at in (place - 3, place)
        ]
    return _in_parts(case, found) if case.partial else found, case.time(100 + number)


def _covered(case: Case, rows: list[Change], number: int) -> list[Change]:
    """The rows in the scope of a snapshot, in most batches: one outside of it stops the run."""
    if number == 1 and case.seed % 5 == 0 and case.meaning.bad_rows == "skip":
        return rows
    return [row for row in rows if row.key[0] is None or case.meaning.scope(row.key)]


def _in_parts(case: Case, found: list[Change]) -> list[Change]:
    """Most rows set only some of the columns; copies of a row set the same, and every row has its bucket."""
    drawn = random.Random(f"{case.seed} parts {len(found)}")
    names = [name for name in "abc" if name in case.how.columns]
    chosen = {id(row): None if drawn.random() < 0.3 else drawn.sample(names, drawn.randint(0, 2)) for row in found}
    sets = {row: None if names is None else frozenset(names) for row, names in chosen.items()}
    return [replace(row, sets=sets[id(row)], computed=frozenset({"bucket"})) for row in found]


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
            if sequence and rng.random() < 0.3:  # an earlier row of the same time, which is dropped
                lower = rng.choice([sequence[0] - 1, None])
                gone = case.deletes and rng.random() < 0.5
                found.append(Change(name, case.time(tick), values(case, name), (lower,), gone))
            if rng.random() < 0.1:
                found.append(found[-1])
        if case.meaning.conflicts == "any" and not case.scd1 and rng.random() < 0.3:
            best = max((c for c in found if c.key == name), key=lambda c: c.sequence[0] or 0 if c.sequence else 0)
            found.append(replace(best, values=values(case, name)))
    if case.meaning.bad_rows == "skip":
        found.append(Change((None, *key(case, 1)[1:]), case.time(ticks[0]), values(case, (0,))))
        found.append(Change(key(case, 1), None, values(case, key(case, 1))))
    rng.shuffle(found)
    return found


def histories(case: Case, keys: int, number: int) -> list[Change]:
    """Whole histories of most keys, with gaps and copies; a third are those of the first batch once more.

    If the spec refuses bad rows, a history of the third batch overlaps itself.
    """
    rng, found = case.random, []
    for name in [key(case, n) for n in range(keys) if rng.random() < 0.8]:
        like = 0 if rng.random() < 0.3 else number
        found += history(replace(case, random=random.Random(f"{case.seed} {name} {like}")), name)
    if case.meaning.bad_rows == "skip":
        found.append(Change((None, *key(case, 1)[1:]), case.time(0), values(case, (0,))))
        found.append(Change(key(case, 1), None, values(case, key(case, 1))))
    elif number == 2:
        found.append(replace(next(row for row in found if row.until is None), at=case.time(13)))
    rng.shuffle(found)
    return found


def history(case: Case, name: Key) -> list[Change]:
    """The versions of one key; some follow each other, and some of these are equal."""
    rng, found = case.random, []
    starts = sorted(rng.sample(range(12), rng.randint(1, 6)))
    state = values(case, name)
    for start, following in zip(starts, [*starts[1:], 13], strict=True):
        state = state if rng.random() < 0.3 else values(case, name)
        end = following if rng.random() < 0.7 else rng.randint(start + 1, following)
        is_open = following == 13 and rng.random() < 0.7
        found.append(Change(name, case.time(start), state, until=None if is_open else case.time(end)))
        if rng.random() < 0.1:
            found.append(found[-1])
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
        if case.meaning.own_time or case.scd1:
            # Some are older than the extract before, in which the key may have been missing.
            # If those are refused, a row may still have the time of the last one, which it then corrects in place.
            older = case.meaning.late_arriving == "ignore" or case.scd1
            tick = taken - (rng.randint(0, 30) if older and rng.random() < 0.7 else rng.choice([0, 0, 20]))
        if case.meaning.own_time:
            # Some are announced. The next extract has another time, the same one, or nothing of the key. Of these times
            # only the first is that of a begun version later on, before which rows are late.
            ahead = random.Random(f"{case.seed} {taken} {number} ahead")
            tick = ahead.choice([45 if older else 85, 65, 65, 85]) if ahead.random() < 0.4 else tick
        drawn = random.Random(f"{case.seed} {taken} {number}").randint(1, 3) if case.how.sequence else 1
        row = Change(name, case.time(tick), values(case, name), (drawn,) if case.sequenced else ())
        before = case.extracted.setdefault(name, [])
        if tick == taken - 20 and len(before) > 1 and rng.random() < 0.7:  # it takes the last change back
            row = replace(row, values=dict(before[-2]))
        before.append(dict(row.values))
        found.append(row)
        if rng.random() < 0.1:
            found.append(found[-1])
        if case.meaning.conflicts == "any" and not case.scd1 and rng.random() < 0.1:
            found.append(replace(found[-1], values=values(case, name)))
    if case.meaning.bad_rows == "skip":
        apart = replace(case, random=random.Random(f"{case.seed} {taken} bad"))
        found.append(Change((None, *key(case, 1)[1:]), case.time(taken), values(apart, (0,))))
        if "effective_at" in case.document["source"]:
            found += [Change(key(case, n), None, values(apart, key(case, n))) for n in (1, 2, 3)]
    rng.shuffle(found)
    return found
