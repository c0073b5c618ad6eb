"""Specs to vary in tests: one of each kind, its possible changes, and random mixtures."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from scdgen import Spec, SpecError, load_spec_text

Document = dict[str, Any]
Change = tuple[str, Any]  # (option, value); None takes the option out

_COLUMNS: Document = {
    "id": "int", "region": "string", "name": {"type": "string"}, "city": {"type": "string", "from": "town"},
    "bucket": {"type": "int", "from": "id % 3"},
}  # fmt: skip


def _base(pattern: str, feed: str) -> Document:
    source: Document = {"table": "raw.rows", "feed": feed}
    if pattern == "scd2" and feed != "snapshot":
        source["effective_at"] = "happened"
    if feed == "versions":
        source["effective_until"] = "ended"
    document = {
        "target": "crm.customer", "pattern": pattern, "source": source, "keys": ["id", "region"],
        "columns": copy.deepcopy(_COLUMNS),
    }  # fmt: skip
    return document


_SHAPE = (
    "id int, region string, name string, town string, full_name string, happened timestamp, started timestamp, "
    "ended timestamp, until timestamp, updated timestamp, lsn bigint, part int, parts string, op string, gone boolean, "
    "a int, b boolean, place: struct<zip: string, lines: array<string>>"
)

BASES = {
    f"{pattern[-1]}{feed[0]}": _base(pattern, feed)
    for pattern, feeds in (("scd2", ("changes", "snapshot", "versions")), ("scd1", ("changes", "snapshot")))
    for feed in feeds
}

_JOINED: Document = {
    "c": {"table": "raw.customer", "keys": {"id": "id", "region": "area"}},
    "a": {"table": "raw.address", "keys": {"region": "region", "id": "customer_id"}},
}
BASES["2j"] = {
    **BASES["2v"],
    "source": {"feed": "versions", "join": _JOINED},
    "columns": {
        "id": {"type": "int", "from": "c.id"}, "region": {"type": "string", "from": "c.area"},
        "name": {"type": "string", "from": "c.name"}, "city": {"type": "string", "from": "a.town"},
        "bucket": {"type": "int", "from": "c.id % 3"},
    },
}  # fmt: skip

EVERYWHERE: list[Change] = [
    ("target", "crm.`odd ``name`"),
    ("description", 'What {they} are: it\'s "so"'),
    ("description", "Other"),
    ("source.table", "raw.other"),
    ("source.query", "SELECT *\nFROM raw.rows\nWHERE x > 1"),
    ("source.query", "SELECT *\nFROM raw.rows\nWHERE x > 2"),
    ("source.path", {"path": "in/x", "format": "csv"}),
    ("source.path", {"path": "in/y", "format": "csv"}),
    ("source.format", {"path": "in/x", "format": "parquet"}),
    ("source.options", {"path": "in/x", "format": "json", "options": {"multiLine": True}}),
    ("source.options", {"path": "in/x", "format": "json", "options": {"multiLine": False}}),
    ("source.schema", {"path": "in/x", "format": "json", "schema": _SHAPE}),
    ("source.schema", {"path": "in/x", "format": "parquet", "schema": f"{_SHAPE}, extra map<string, int>"}),
    ("source.where", "a = 1 OR b\n  = 2"),
    ("source.effective_at", "started"),
    ("source.effective_at", "coalesce(started, happened)"),
    ("source.sequence_by", ["lsn", "part"]),
    ("source.sequence_by", ["lsn"]),
    ("keys", ["id"]),
    ("columns.name.type", "int"),
    ("columns.name.type", "char(3)"),
    ("columns.name.from", "upper(full_name)"),
    ("columns.name.comment", "As it is written"),
    ("columns.name.nullable", False),
    ("table.partition_by", ["bucket"]),
    ("table.partition_by", ["region", "city"]),
    ("table.cluster_by", ["city"]),
    ("table.properties", {"delta.appendOnly": False}),
    ("table.location", "/data/x"),
    ("table.time_zone", "Europe/Oslo"),
    ("schema_evolution", "add_columns"),
    ("bad_rows", "skip"),
    ("conflicts", "any"),
    ("params", {"since": "date"}),
    ("params", {"since": {"type": "date", "default": "SELECT max(d) FROM crm.days"}}),
    ("params", {"since": {"type": "date", "default": "2024-05-01"}}),
    ("source.where", "happened > :since"),
    ("checks", [{"name": "own", "query": "SELECT * FROM crm.customer WHERE name IS NULL"}]),
    ("views.current", "crm.customer_now"),
    ("stream", {"checkpoint": "x", "options": {"maxFilesPerTrigger": 3}}),
]
_FACT_TYPES = {"fact_schema": "customer string, area string, t timestamp", "before_first": "first"}
_FACT_KEYS = {"id": "customer", "region": "area"}
SCD2: list[Change] = [
    ("columns.name.track", False),
    ("columns.bucket", {"type": "int", "from": "year(valid_from)", "track": False}),
    ("columns.name.nulls", "ignore"),
    ("columns.name.nulls", "fill"),
    ("columns.city.nulls", "fill"),
    ("columns.name.compare", "lower(trim(name))"),
    ("columns.city.compare", "coalesce(city, '')"),
    ("history.type", "date"),
    ("history.type", "bigint"),
    ("history.valid_from", "begins"),
    ("history.valid_from", "starts"),
    ("history.valid_to", "ends"),
    ("history.valid_to", "until"),
    ("history.open_end", "9999-12-31"),
    ("history.open_end", "2999-12-31"),
    ("history.open_end", "last_run"),
    ("history.gap", "1 day"),
    ("history.gap", "2 seconds"),
    ("history.is_current", "open_now"),
    ("history.is_current", {"name": "flag", "type": "string", "open": "Y", "closed": "N"}),
    ("history.is_current", {"name": "flag", "type": "int", "open": 1, "closed": 0}),
    ("history.is_current", "null"),
    ("history.row_hash", "hash"),
    ("history.row_hash", "digest"),
    ("history.surrogate_key", "sk"),
    ("history.surrogate_key", "version_key"),
    ("history.surrogate_key", {"name": "sk", "type": "bigint"}),
    ("table.primary_key", True),
    ("table.create_schema", False),
    ("history.action", "action"),
    ("history.action", "what"),
    ("history.sequence", "seq"),
    ("history.sequence", {"name": "place", "type": "struct<file: string, `a pos`: bigint>"}),
    ("on_delete", "mark"),
    ("on_delete", "ignore"),
    ("unchanged", "keep"),
    ("late_arriving", "ignore"),
    ("views.as_of", "crm.customer_at"),
    ("overlays", {"first_name": {"first": "name"}, "city_since": {"since": "city"}}),
    ("overlays", {"old_name": {"previous": "name"}, "name_now": {"current": "name"}, "since": {"since": "name"}}),
    ("params", {"last_run": "timestamp"}),
    ("table.layout", "none"),
    ("table.layout", "cluster"),
    ("lookups", {"sales.f": {"fact": "raw.f", "at": "t", "keys": _FACT_KEYS, "columns": ["name", "city"]}}),
    ("lookups", {"sales.f": {"fact": "raw.f", "at": "t", "keys": _FACT_KEYS, "columns": ["name"], **_FACT_TYPES}}),
    ("members.unknown", {"id": 0, "region": "none", "name": "Unknown"}),
    ("members.unknown", {"id": 0, "region": "none"}),
    ("members.unknown", {"id": -1, "region": "none"}),
    ("members.inferred", {"fact": "raw.f", "keys": _FACT_KEYS, "at": "t", "flag": "guessed"}),
    ("members.inferred", {"fact": "raw.g", "keys": _FACT_KEYS, "at": "t + 1", "flag": "guess"}),
    (
        "lookups",
        {
            "sales.f": {
                "query": "SELECT * FROM raw.f",
                "version": "current",
                "keys": _FACT_KEYS,
                "columns": {"valid_from": "since"},
            }
        },
    ),
    (
        "lookups",
        {
            "sales.f": {
                "fact": "raw.f",
                "at": "t + 1",
                "keys": {"id": "a + 1", "region": "area"},
                "columns": {"name": "who"},
                "before_first": "first",
            }
        },
    ),
]
SCD1: list[Change] = [
    ("columns.name.merge", "first"),
    ("columns.name.merge", "max"),
    ("columns.city.merge", "min"),
    ("columns.bucket.merge", "max"),
    ("updated_at", "updated"),
    ("updated_at", "changed_at"),
    ("deleted", "is_deleted"),
    ("deleted", "gone"),
    ("sequence", "seq"),
    ("sequence", {"name": "seq", "type": "decimal(38, 0)"}),
    ("on_delete", "ignore"),
]
CHANGES: list[Change] = [("source.delete_when", "op = 'D'"), ("source.delete_when", "gone")]
SNAPSHOT: list[Change] = [
    ("snapshot.taken_at", ":since"),
    ("snapshot.taken_at", "current_date()"),
    ("snapshot.each", "taken_on"),
    ("snapshot.scope", "city = 'x'"),
    ("snapshot.scope", "city = 'y' OR city IS NULL"),
    ("snapshot.allow_empty", True),
    ("snapshot.max_deleted", 0.25),
    ("snapshot.max_deleted", 0.5),
]
VERSIONS: list[Change] = [("source.effective_until", "until"), ("source.effective_until", "nullif(until, happened)")]
# Options that feed: versions refuses.
_NOT_OF_VERSIONS = {
    "source.sequence_by", "conflicts", "late_arriving", "stream", "columns.name.nulls", "columns.city.nulls",
    "columns.name.compare", "columns.city.compare", "history.sequence",
}  # fmt: skip
JOIN: list[Change] = [
    ("source.join.a.table", "raw.place"),
    ("source.join.a.keys", {"region": "zone", "id": "customer_id"}),
    ("source.join.a.valid_from", "begins"),
    ("source.join.a.valid_from", "coalesce(a.begins, :since)"),
    ("source.join.a.valid_to", "ends"),
    ("source.join.c.open_end", "9999-12-31"),
    ("source.join.a.open_end", "2999-12-31"),
    ("source.join.a.gap", "1 day"),
    ("source.join.c.where", "c.kind = 1 OR kind = 2"),
    ("source.join.other", {"table": "raw.other", "keys": {"id": "id", "region": "r g"}}),
    ("source.join", {"c": _JOINED["c"], "a": {"table": "raw.a", "on": {"id": "c.place"}, "surrogate_key": "town"}}),
    ("source.join.o", {"table": "raw.other", "on": {"id": "c.other", "k": "c.kind"}, "required": True}),
    ("source.join.o", {"table": "raw.rate", "on": {"rid": "a.rate"}, "history": "none", "where": "o.kind = 1"}),
    ("source.changed_since", ":since"),
    ("source.changed_since", "current_date() - 3"),
    ("source.where", "c.a = 1 OR a.b\n  = 2"),
    ("columns.name.from", "upper(c.full_name)"),
    ("columns.city.from", "a.place.town"),
    ("table.partition_by", ["region"]),
]
# Options that a join refuses, besides those that name its columns or their source in another way.
_NOT_OF_JOIN = {"source", "keys", "bad_rows", "columns.name.from"}
_RUN_COLUMNS = {"inserted_at": "dw_inserted_at", "updated_at": "dw_updated_at", "run_id": "dw_run_id"}
AUDIT: list[Change] = [
    ("audit", _RUN_COLUMNS),
    ("audit.run_id", "run"),
    ("audit.run_id", "job"),
    ("audit.updated_at", "Last change"),
    ("audit", {"inserted_at": "loaded_at", "updated_at": "touched_at"}),
]
RECORDED: list[Change] = [
    ("history.recorded", True),
    ("history.recorded", {"from": "Held from", "to": "held_until", "at": ":since"}),
    ("history.recorded", {"from": "held_from", "to": "held_until"}),
]
VARIATIONS: dict[str, list[Change]] = {
    "2c": [*EVERYWHERE, *SCD2, *CHANGES, ("late_arriving", "fail"), *AUDIT, *RECORDED],
    "2s": [*EVERYWHERE, *SCD2, *SNAPSHOT, *AUDIT, *RECORDED],
    "2v": [
        *(change for change in [*EVERYWHERE, *SCD2] if change[0] not in _NOT_OF_VERSIONS),
        *VERSIONS,
        *AUDIT,
        *RECORDED,
    ],
    "2j": [
        *(
            change
            for change in [*EVERYWHERE, *SCD2]
            if change[0] not in _NOT_OF_VERSIONS | _NOT_OF_JOIN and change[0].split(".")[0] not in _NOT_OF_JOIN
        ),
        *JOIN,
        *AUDIT,
        *RECORDED,
    ],
    "1c": [*EVERYWHERE, *SCD1, *CHANGES, *AUDIT],
    "1s": [*EVERYWHERE, *SCD1, *SNAPSHOT, *AUDIT],
}
# The kinds of VARIATIONS as parameters of a test: those that are not changes in the last tier.
KINDS = [pytest.param(kind, marks=() if kind in {"1c", "2c"} else pytest.mark.nightly) for kind in VARIATIONS]

_UNTRACKED: list[Change] = [(f"columns.{name}.track", False) for name in ("name", "city", "bucket")]
_VALUES = ("columns.name.merge", "columns.city.merge", "columns.bucket.merge")
_COMPARED: Change = ("columns.name.compare", "lower(trim(name))")
_PARTIAL: list[tuple[str, list[Change]]] = [
    ("2c", []),
    ("2c", [_COMPARED, ("columns.city.nulls", "fill"), ("columns.bucket.track", False), ("on_delete", "mark")]),
    ("2c", [_COMPARED, ("columns.city.nulls", "ignore"), ("unchanged", "keep"), ("conflicts", "any")]),
    ("1c", []),
    ("1c", [("updated_at", "updated"), ("columns.name.merge", "first"), ("columns.city.merge", "min")]),
]
_RULES = [
    {"name": "short", "expect": "length(name) < 100", "on_violation": "quarantine"},
    {"name": "known", "expect": "id IS NOT NULL AND region <> ''", "on_violation": "skip"},
    {"name": "named", "expect": "name <> city OR id = 0"},
]
_EXPECTED: list[tuple[str, list[Change]]] = [
    ("2c", [CHANGES[0], ("bad_rows", "skip"), ("source.sets", "parts")]),
    ("2s", [("on_delete", "ignore")]),
    ("2v", [("on_delete", "ignore")]),
    ("1c", [("source.truncate_when", "op = 'T'"), ("source.sequence_by", ["lsn"])]),
    ("1c", [("source.query", "SELECT * FROM raw.rows"), ("params", {"since": "date"}), ("bad_rows", "skip")]),
]
_TRUNCATED: list[list[Change]] = [
    [("table.partition_by", ["bucket"])],
    [("updated_at", "updated"), ("columns.name.merge", "first"), ("source.sets", "parts"), ("conflicts", "any")],
]
_SEEN = {"type": "timestamp", "from": "happened"}
_TAGS = {"type": "map<string,int>", "track": False, "nulls": "fill"}
_INFERRED = next(change for change in SCD2 if change[0] == "members.inferred")
# Combinations of options that random mixtures rarely have.
# What reads a table.
_SHOWN: list[Change] = [
    ("views.current", "crm.customer_now"),
    ("views.as_of", "crm.customer_at"),
    ("overlays", {"old_name": {"previous": "name"}, "name_now": {"current": "name"}}),
]
COMBINED: list[tuple[str, list[Change]]] = [
    *(
        (kind, [("history.sequence", "seq"), ("columns.name.nulls", "fill"), *more, *deletes])
        for kind, deletes in (("2c", CHANGES[:1]), ("2s", [("source.effective_at", "happened")]))
        for more in (
            [],
            [("columns.city.compare", "lower(city)"), ("on_delete", "mark"), ("history.action", "action")],
            [("unchanged", "keep"), ("conflicts", "any")],
            [("columns.bucket.track", False), _INFERRED],
        )
    ),
    *(
        (kind, [("sequence", "seq"), *more])
        for kind, more in (
            ("1c", CHANGES[:1]),
            ("1c", [("source.sets", "parts"), ("columns.city.merge", "first"), ("columns.bucket.merge", "max")]),
            ("1c", [*((option, "first") for option in _VALUES), CHANGES[0]]),
            ("1s", [("columns.city.merge", "min")]),
        )
    ),
    ("2c", [CHANGES[0], ("on_delete", "mark"), ("unchanged", "keep")]),
    ("2c", [CHANGES[0], ("on_delete", "mark"), ("history.action", "action")]),
    *((kind, _UNTRACKED) for kind in ("2c", "2s", "2v")),
    ("2v", [("on_delete", "mark"), ("history.action", "action"), ("history.gap", "1 day")]),
    ("2v", [("on_delete", "ignore"), ("history.action", "action"), *_UNTRACKED]),
    ("2v", [("on_delete", "ignore"), ("unchanged", "keep")]),
    ("2j", [("source.changed_since", ":since"), ("table.partition_by", ["region"]), ("on_delete", "mark")]),
    ("2c", [*_UNTRACKED, ("history.row_hash", "hash")]),
    *(
        (kind, [_COMPARED, ("columns.name.nulls", nulls), *more])
        for kind in ("2c", "2s")
        for nulls in ("ignore", "fill")
        for more in ([], [("on_delete", "mark")])
    ),
    *((kind, [_COMPARED, ("unchanged", "keep"), ("views.current", "crm.customer_now")]) for kind in ("2c", "2s")),
    ("1c", [*((option, "first") for option in _VALUES), ("updated_at", "updated")]),
    ("1c", [*((option, "first") for option in _VALUES), ("columns.seen", _SEEN), ("updated_at", "seen")]),
    ("1c", [(option, "max") for option in _VALUES]),
    ("2c", [("columns.tags", _TAGS), CHANGES[0], ("on_delete", "mark"), _COMPARED]),
    ("2s", [("columns.tags", _TAGS), *((f"columns.{name}.nulls", "fill") for name in ("name", "city"))]),
    *((kind, [("source.sets", "split(parts, ',')"), CHANGES[0], *more]) for kind, more in _PARTIAL),
    *(("1c", [("source.truncate_when", "op = 'T'"), ("source.sequence_by", ["lsn"]), *more]) for more in _TRUNCATED),
    *((kind, [("expectations", _RULES), ("quarantine", "crm.rejected"), *more]) for kind, more in _EXPECTED),
    *(
        (kind, [AUDIT[0], *more])
        for kind, more in (
            ("2c", [_INFERRED, ("members.unknown", {"id": 0, "region": "none"}), ("history.open_end", "last_run")]),
            ("2s", [("source.effective_at", "happened"), ("columns.name.nulls", "fill"), _INFERRED]),
            ("1c", [("columns.name.merge", "first"), CHANGES[0]]),
            ("1c", [("expectations", _RULES), ("quarantine", "crm.rejected")]),
        )
    ),
    *(
        (kind, [RECORDED[0], *more])
        for kind, more in (
            (
                "2c",
                [_INFERRED, ("members.unknown", {"id": 0, "region": "none"}), AUDIT[0], ("unchanged", "keep"), *_SHOWN],
            ),
            ("2s", [("source.effective_at", "happened"), ("columns.name.nulls", "fill"), ("history.sequence", "seq")]),
            ("2s", [("history.is_current", "null"), ("on_delete", "mark"), ("history.open_end", "9999-12-31")]),
            ("2v", [("on_delete", "mark"), ("history.action", "action"), ("history.gap", "1 day")]),
        )
    ),
]


def combined(kind: str, changes: list[Change]) -> Document:
    """The document of a kind with several options set."""
    document = BASES[kind]
    for option, value in changes:
        document = changed(document, option, value)
    return document


def changed(document: Document, option: str, value: Any) -> Document:
    """The document with one option set, and with the options that it requires."""
    found = copy.deepcopy(document)
    if option in {"source.query", "source.path", "source.format", "source.options", "source.schema"}:
        kept = {
            name: v
            for name, v in found["source"].items()
            if name not in {"table", "query", "path", "format", "options", "schema"}
        }
        found["source"] = {**kept, **(value if isinstance(value, dict) else {"query": value})}
        return found
    *above, last = option.split(".")
    holder = found
    for step in above:
        if isinstance(holder.get(step), str):
            holder[step] = {"type": holder[step]}
        holder = holder.setdefault(step, {})
    if isinstance(value, dict) and isinstance(holder.get(last), dict):
        value = {**holder[last], **value}
    holder[last] = None if value == "null" else value
    if option == "on_delete":
        found["history"] = {**found.get("history", {}), "deleted": "is_deleted" if value == "mark" else None}
        if found["pattern"] == "scd1":
            del found["history"]
    if option == "deleted":
        found["on_delete"] = "mark"
        found.setdefault("updated_at", "updated")
    if option == "overlays":
        found["views"] = {**found.get("views", {}), "overlay": "crm.customer_all"}
    if ":since" in str(value):
        found.setdefault("params", {}).setdefault("since", "date")
    if option in {"history.sequence", "sequence"}:
        several = isinstance(value, dict) and "struct" in value["type"]
        found["source"]["sequence_by"] = ["file", "pos + 1"] if several else ["lsn"]
        if option == "sequence":
            found.setdefault("updated_at", "updated")
    if option in {"updated_at", "deleted", "sequence"} or (
        option == "late_arriving" and found["source"]["feed"] == "snapshot"
    ):
        found["source"].setdefault("effective_at", "happened")
    return found


def load(document: Document) -> Spec:
    """The spec of a document."""
    return load_spec_text(text_of(document))


def text_of(document: Document) -> str:
    """JSON is YAML, and keeps the order of the columns."""
    return json.dumps(document, indent=1, ensure_ascii=False)


def mixture(seed: int) -> tuple[Spec, Spec, Change]:
    """A random spec, the same with one more option, and that option; the same for every run of a seed."""
    rng = random.Random(seed)
    while True:
        kind = rng.choice(list(BASES))
        document = BASES[kind]
        deletes = CHANGES[:1] if kind.endswith("c") and rng.random() < 0.5 else []
        for option, value in [*deletes, *rng.sample(VARIATIONS[kind], rng.randint(1, 14))]:
            document = changed(document, option, value)
        change = rng.choice(VARIATIONS[kind])
        try:
            return load(document), load(changed(document, *change)), change
        except SpecError:
            continue
