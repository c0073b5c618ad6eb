"""Recognizes the change feeds of Debezium, DMS and Delta in a sample, and drafts a spec from their columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scdgen import sql
from scdgen.errors import UsageError
from scdgen.facts.columns import cast
from scdgen.init.data import (
    Sample,
    Seen,
    begin_draft,
    draft_from_sample,
    find_forms,
    find_time,
    guess_sequence,
    guess_time,
    leave_load_times_untracked,
    put_history,
    put_likely_keys,
    warn_of_truncates,
)
from scdgen.init.draft import WHOLE, Draft, quote_column, to_option
from scdgen.sql.dates import find_epoch
from scdgen.sql.types import struct_fields, struct_type

_AVRO = {"boolean", "int", "long", "float", "double", "bytes", "string"}  # names of the branches of a union in JSON
_DIGITS = "DECIMAL(38, 0)"
_CHANGES = ("c", "r", "u", "d")  # of Debezium's operations
_NO_CHANGES = "Leaves out tombstones, truncates and messages."
# A position in the log of a database, by the fields that Debezium has: Postgres, SQL Server, MySQL, Oracle.
_POSITIONS = (("lsn",), ("commit_lsn", "change_lsn", "event_serial_no"), ("file", "pos", "row"), ("scn", "ssn"))
_DMS_TIME = re.compile(r"^(ar_h_timestamp|(dms|cdc|commit|transact\w*?|replication)_*(ts|time|timestamp))$", re.I)
_DMS_ORDER = re.compile(r"^(ar_h_change_seq|(dms|cdc|change|transact\w*?)_*(seq|sequence))$", re.I)


@dataclass(frozen=True)
class Value:
    """A value of a row: the expression that reads it, its type, and the values of the sample."""

    text: str
    type: str
    values: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The last part of the expression."""
        return self.text.rpartition(".")[2].strip("`")

    def fields(self) -> dict[str, Value]:
        """Return the fields of a struct by their names; none of another type."""
        parts = struct_fields(self.type) or ()
        return {
            name: Value(f"{self.text}.{quote_column(name)}", kind, tuple(_get(v, name) for v in self.values))
            for name, kind in parts
        }

    def branch(self) -> Value:
        """Return the value in a union of Avro's JSON, such as ``{"string": "x"}``, or the value itself."""
        inner = list(self.fields().items())
        if len(inner) == 1 and (inner[0][0] in _AVRO or inner[0][0].endswith((".Value", ".Envelope"))):
            return inner[0][1].branch()
        return self

    def as_number(self, from_text: bool) -> Value:
        """Return the value as a number, if it is text with digits alone or ``from_text`` a cell of a CSV."""
        if self.type == "STRING" and all(str(v).isdigit() and len(str(v)) <= 38 for v in self.values if v is not None):
            return replace(self, text=cast(self.text, _DIGITS), type=_DIGITS)
        if from_text and self.type in WHOLE:
            return replace(self, text=cast(self.text, "BIGINT"), type="BIGINT")
        return self


def _get(value: Any, name: str) -> Any:
    return None if value is None else value.get(name) if isinstance(value, Mapping) else value[name]


@dataclass(frozen=True)
class Feed:
    """What the columns of a feed mean."""

    writer: str
    operation: Value
    read: tuple[str, ...]  # the operations that are changes; all are, if it is empty
    deletes: str
    time: Value | None
    order: tuple[Value, ...]
    columns: tuple[Seen, ...]  # of the row that changed, with the values after the change, or before a delete
    before: Mapping[str, str] = field(default_factory=dict)  # column -> what reads it in a delete, if that is another
    shape: tuple[tuple[str, str], ...] = ()  # the columns of the source, if the sample alone does not show them
    left_out: tuple[str, ...] = ()
    where_note: str = ""
    keeps_order: bool = True  # whether the order is also one across batches, so that the target can keep it


def draft_from_data(
    sample: Sample, target: str | None, pattern: str, feed: str | None, keys: Sequence[str], given: Mapping[str, str],
    date_format: str | None = None, effective_at: str | None = None,
) -> Draft:  # fmt: skip
    """Draft a spec from the feed of a known writer, or from other data; ``feed`` and ``effective_at`` may be given."""
    found = find_feed(sample, date_format) if feed in (None, "changes") else None
    if found is not None and not found.before and (effective_at or found.time is None):
        found = _with_time(found, keys, effective_at)
    elif effective_at:
        found = None
    if found is None or found.time is None or not {c.name for c in found.columns}.issuperset([*keys, *given]):
        return draft_from_sample(sample, target, pattern, feed, keys, given, date_format, effective_at)
    draft, entity = begin_draft(replace(sample, shape=found.shape), target, pattern)
    draft.left_out += found.left_out
    if found.before and found.shape:
        note = "before and after have the same shape, even in a file where one of them is NULL."
        draft.notes["source", "schema"] = [note]
    draft.put("source.feed", "changes", f"Guessed from the columns: a change feed of {found.writer}.")
    _put_meanings(draft, sample, found, pattern)
    # Find the keys among the rows that are changes.
    kept = [i for i, v in enumerate(found.operation.values) if not found.read or v in found.read]
    columns = [replace(c, values=tuple(c.values[i] for i in kept)) for c in found.columns]
    beside = [
        Seen(v.name, v.type, tuple(v.values[i] for i in kept)) for v in (found.time, *found.order, found.operation)
    ]
    beside = list({c.name: c for c in beside}.values())
    put_likely_keys(draft, replace(sample, rows=len(kept)), columns, beside, keys, entity)
    if draft.questions:
        raise UsageError(f"{sample.origin}: {question}" for question in draft.questions)
    _put_columns(draft, columns, found, given)
    if pattern == "scd2":
        leave_load_times_untracked(draft, columns)
    put_history(draft, pattern)
    return draft


def _with_time(found: Feed, keys: Sequence[str], name: str | None) -> Feed:
    """Take the time of a change from a column of the row: the one of ``--effective-at``, or the likely one."""
    free = [c for c in found.columns if c.name not in keys]
    if name is not None and name not in {c.name for c in found.columns}:
        return replace(found, time=None)
    column = find_time(free, name) if name is not None else guess_time(free, "changes")
    if column is None or len(column.moments) > 1:
        return replace(found, time=None)
    moment = column.moments[0] if column.moments else quote_column(column.name)
    time = Value(moment, "TIMESTAMP", column.values)
    return replace(found, time=time, columns=tuple(c for c in found.columns if c != column))


def _put_meanings(draft: Draft, sample: Sample, found: Feed, pattern: str) -> None:
    """Write the time, the order, the deletes and what is not a change."""
    assert found.time is not None
    time = found.time.text
    if found.time.type in WHOLE:
        number = cast(time, "BIGINT") if sample.format == "csv" else time
        time = f"{find_epoch(found.time.values) or 'timestamp_millis'}({number})"
    draft.put("source.effective_at", time, f"Guessed: the time of the change in {found.time.text}.")
    order = [value.as_number(sample.format == "csv") for value in found.order]
    if order:
        named = ", ".join(value.text for value in found.order)
        draft.put("source.sequence_by", [value.text for value in order], f"Guessed: {named} orders rows of equal time.")
    else:
        what = "no column has the position of a change in the log; two rows of one key and time stop the run"
        draft.warnings.append(f"sequence_by: {what}. Let the writer add the position")
    # The target keeps the order, because these writers deliver a row at least once.
    if order and found.keeps_order:
        name = "feed_position" if len(order) > 1 else found.order[0].name.strip("_")
        fields = [(found.order[place].name, value.type) for place, value in enumerate(order)]
        kind = struct_type(fields) if len(order) > 1 else fields[0][1]
        while name.lower() in {c.name.lower() for c in found.columns}:
            name = f"feed_{name}"
        kept = {"name": name, "type": kind.lower()} if kind not in WHOLE else name
        place = "history.sequence" if pattern == "scd2" else "sequence"
        draft.put(place, kept, "Keeps the order: of rows with equal times, an older one is left out.")
    operation, truncates = found.operation.text, found.writer.startswith("Debezium") and pattern == "scd1"
    if found.read and found.operation.type == "STRING":
        read = [*found.read, *(["t"] if truncates else [])]
        draft.put("source.where", f"{operation} IN ({', '.join(map(sql.text_literal, read))})", found.where_note)
    elif found.where_note:
        draft.put("source.where", f"{operation} <> 'update_preimage'", found.where_note)
    draft.put("source.delete_when", found.deletes)
    if truncates and "IN" in draft.options["source"].get("where", ""):
        draft.put("source.truncate_when", f"{operation} = 't'")
    if pattern == "scd2":
        warn_of_truncates(draft, found.operation.values, pattern)
    else:
        name = "updated_at" if "updated_at" not in {c.name.lower() for c in found.columns} else "changed_at"
        draft.put("updated_at", name, "The order of changes across batches.")


def _put_columns(draft: Draft, columns: Sequence[Seen], found: Feed, given: Mapping[str, str]) -> None:
    """Write the columns; a delete has only the values before it, of which the keys are all that counts."""
    listed: dict[str, Any] = {}
    for c in columns:
        kind, read = given.get(c.name) or to_option(c.type), c.read
        if c.name in draft.options["keys"] and c.name in found.before:
            read = f"coalesce({c.read}, {found.before[c.name]})"
        listed[c.name] = {"type": kind, "from": read} if read is not None else kind
        # Debezium writes dates and times as numbers.
        if found.before and c.type in WHOLE and (epoch := find_epoch(c.values)):
            draft.note(f"If these are times: type timestamp, from {epoch}({c.read}).", "columns", c.name)
    draft.put("columns", listed)
    if found.before:
        draft.note("In a delete, after is NULL, and only the keys count: these come from before.", "columns")


def find_feed(sample: Sample, date_format: str | None = None) -> Feed | None:
    """Return the feed of a known writer; ``None`` for other data. Raises :class:`UsageError` if its rows are text."""
    known = {c.name.lower(): Value(quote_column(c.name), c.type, c.values) for c in sample.columns}
    if "op" in known and {"before", "after"} & known.keys() and {"ts_ms", "source"} & known.keys():
        return _read_envelope(sample, known)
    # The other feeds have the row's own columns next to those of the writer.
    columns = find_forms(sample.columns, date_format)
    if {"_change_type", "_commit_version", "_commit_timestamp"} <= known.keys():
        return _of_delta(columns, known)
    if {"__op", "__deleted"} & known.keys():
        return _of_flat_debezium(columns, known, sample.format == "csv")
    if any(c.name == "Op" and {v for v in c.values if v is not None} <= {"I", "U", "D"} for c in columns):
        time = next((c for c in columns if _DMS_TIME.search(c.name)), None)
        guessed = guess_sequence([c for c in columns if c != time])
        order = tuple(name for name in known if _DMS_ORDER.search(name)) or ((guessed.name.lower(),) if guessed else ())
        if time is None:
            return _flat(columns, known, "DMS", "op", "D", None, order, ())
        is_text = time.type not in WHOLE and len(time.moments) == 1
        when = Value(time.moments[0] if is_text else quote_column(time.name), time.type, time.values)
        return _flat(columns, known, "DMS", "op", "D", when, order, (time.name.lower(),))
    return None


def _flat(
    columns: Sequence[Seen], known: Mapping[str, Value], writer: str, operation: str, delete: str, time: Value | None,
    order: tuple[str, ...], extra: tuple[str, ...], read: tuple[str, ...] = (), note: str = "",
) -> Feed:  # fmt: skip
    mark, taken = known[operation], {operation, *order, *extra}
    return Feed(writer, mark, read, f"{mark.text} = {sql.text_literal(delete)}", time,
                tuple(known[name] for name in order if name in known),
                tuple(c for c in columns if c.name.lower() not in taken), where_note=note)  # fmt: skip


def _of_delta(columns: Sequence[Seen], known: Mapping[str, Value]) -> Feed:
    """In a commit, the delete of a key comes before its insert, as the words of ``_change_type`` sort."""
    order = ("_commit_version", "_change_type")
    found = _flat(columns, known, "Delta", "_change_type", "delete", known["_commit_timestamp"], order,
                  ("_commit_timestamp",), note="Rows as they were before an update are not changes.")  # fmt: skip
    return replace(found, keeps_order=False)


def _of_flat_debezium(columns: Sequence[Seen], known: Mapping[str, Value], from_text: bool) -> Feed:
    """Columns of ExtractNewRecordState begin with ``__``; ``__deleted`` is text, and so is every cell of a CSV."""
    time = next((known[n] for n in ("__source_ts_ms", "__ts_ms") if n in known), None)
    order = next((tuple(f"{p}{n}" for n in names if f"{p}{n}" in known)
                  for names in _POSITIONS for p in ("__", "__source_") if f"{p}{names[0]}" in known), ())  # fmt: skip
    operation, read, note = ("__op", _CHANGES, _NO_CHANGES) if "__op" in known else ("__deleted", (), "")
    extra = tuple(name for name in known if name.startswith("__"))
    found = _flat(columns, known, "Debezium, flattened", operation, "d", time, order, extra, read, note)
    if "__deleted" in known:
        mark = known["__deleted"]
        is_flag = mark.type == "BOOLEAN" and not from_text
        found = replace(found, deletes=mark.text if is_flag else f"{mark.text} = 'true'")
    used = {v.text for v in (found.operation, *found.order, *filter(None, [time]))} | {"__deleted"}
    left = tuple(f"the column '{known[n].text}' of Debezium" for n in extra if known[n].text not in used)
    return replace(found, left_out=left)


def _read_envelope(sample: Sample, known: Mapping[str, Value]) -> Feed | None:
    """Read rows with the values before and after a change in two structs of one shape."""
    images = {name: known[name] for name in ("after", "before") if name in known}
    structs = [v for v in images.values() if v.type.startswith("STRUCT")]
    if not structs:
        if any(isinstance(v, str) for image in images.values() for v in image.values):
            what = "after and before are text, as those of MongoDB; read their fields with from_json in source.query"
            raise UsageError(f"{sample.origin}: {what}, and draft from its result")
        return None
    # A file may have no delete, and so no value before; other files of the feed have both.
    shape = structs[0].type if len(structs) == 1 else merge_shapes(structs[0].type, structs[1].type)
    nothing = (None,) * len(next(iter(known.values())).values)
    after, before = (
        replace(v, type=shape, values=v.values if v.type.startswith("STRUCT") else nothing).branch()
        for v in (images.get(name, Value(name, shape, nothing)) for name in ("after", "before"))
    )
    new, old = ({n: v.branch() for n, v in image.fields().items()} for image in (after, before))
    # A row has the values after its change, or else those before.
    gone = [a is None for a in after.values]
    columns = tuple(
        Seen(n, v.type, tuple(old[n].values[i] if is_gone else v.values[i] for i, is_gone in enumerate(gone)), v.text)
        for n, v in new.items()
    )
    source = {n: v.branch() for n, v in known["source"].fields().items()} if "source" in known else {}
    time, order = _find_order(known, source)
    used = {v.text.split(".")[1].strip("`") for v in (*order, *filter(None, [time])) if v.text.startswith("source.")}
    types = {"before": shape, "after": shape, "op": known["op"].type}
    types |= {v.text.split(".")[0]: known[v.text.split(".")[0].lower()].type for v in (*order, *filter(None, [time]))}
    if used:
        types["source"] = struct_type((n, t) for n, t in struct_fields(known["source"].type) or () if n in used)
    op = known["op"].branch()
    left = tuple(f"the column '{n}' of Debezium" for n in known if n not in types)
    return Feed("Debezium", op, _CHANGES, f"{op.text} = 'd'", time, order, columns,
                {n: v.text for n, v in old.items()}, tuple(types.items()) if sample.format == "json" else (), left,
                _NO_CHANGES)  # fmt: skip


def _find_order(known: Mapping[str, Value], source: Mapping[str, Value]) -> tuple[Value | None, tuple[Value, ...]]:
    """Return the time of a change and its position in the log; without one, Debezium's own clock orders rows."""
    clock = known["ts_ms"].branch() if "ts_ms" in known else None
    time = source.get("ts_ms") or clock
    order = next((tuple(source[n] for n in names if n in source) for names in _POSITIONS if names[0] in source), ())
    if not order and clock is not None and clock != time:
        order = (clock,)
    return time, order


def merge_shapes(one: str, other: str) -> str:
    """Return the type with the fields of two structs; a field without values is text, and gets the type of the other.

    >>> merge_shapes("STRUCT<a: STRING, b: STRUCT<c: INT>>", "STRUCT<a: INT, d: INT>")
    'STRUCT<a: INT, b: STRUCT<c: INT>, d: INT>'
    """
    first, second = struct_fields(one), struct_fields(other)
    if first is None or second is None:
        return other if one == "STRING" else one
    fields = dict(first)
    for name, kind in second:
        fields[name] = merge_shapes(fields[name], kind) if name in fields else kind
    return struct_type(fields.items())
