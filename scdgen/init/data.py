"""Drafts a spec from a file, a Delta folder or a table: reads columns and types, and guesses the rest in comments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.files import find as files
from scdgen.init.draft import Draft, join_name
from scdgen.sql.expression import data_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 50_000  # maximum number of rows to guess from
_RENAMED = {"valid_from": "version_from", "valid_to": "version_to", "is_current": "is_open_version"}
_CHANGED = re.compile(r"updat|modif|chang", re.IGNORECASE)
_EFFECTIVE = re.compile(
    r"^(effective|valid_?from|start|as_?of|event|commit)|^(ts|at|date|time|timestamp)$", re.IGNORECASE
)
_TIMELY = re.compile(r"_(at|ts|on|time|date|datetime|timestamp)$|(At|Date|Time|Timestamp)$")
_ANOTHER_TIME = re.compile(
    r"birth|dob|creat|delet|expir|end|_to$|due|insert|load|ingest|order|ship|hire", re.IGNORECASE
)
_SEQUENCE = re.compile(
    r"^_*(lsn|scn|offset|version|revision|ts_ms|(seq|sequence|change|event|row|commit|kafka|log)_?"
    r"(no|nr|num|number|id|version|offset|position)?)$",
    re.IGNORECASE,
)
_OPERATION = re.compile(
    r"^_*(cdc_?|dml_?|change_?|row_?)?(op|operation|action|change|type|kind|oper)(_?type|_?code)?$", re.IGNORECASE
)
_DELETED = re.compile(r"^_*(is_?)?(deleted|removed)(_?flag)?$", re.IGNORECASE)
_DELETES = {"d", "del", "delete", "deleted", "remove", "removed", "-d"}
_OPERATIONS = _DELETES | {
    "i", "u", "c", "r", "ins", "upd", "insert", "update", "create", "read", "upsert", "update_preimage",
    "update_postimage", "+i", "-u", "+u",
}  # fmt: skip
_KEY = re.compile(r"(^|_)(id|key|no|nr|num|number|code|uuid|guid|pk)$|[a-z](Id|ID|Key|No|Code)$", re.IGNORECASE)
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MOMENT = ("TIMESTAMP", "DATE")
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Seen:
    """A column of a source: its name, its Spark type in upper case, and the values that were read."""

    name: str
    type: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Sample:
    """The columns and first rows of a source. ``format`` is ``None`` for a table; ``whole``: all rows were read."""

    origin: str
    format: str | None
    columns: tuple[Seen, ...]
    rows: int
    whole: bool
    left_out: tuple[str, ...] = ()

    def types(self) -> dict[str, str]:
        """Column name -> type, as written in a spec."""
        return {c.name: c.type if "<" in c.type else c.type.lower() for c in self.columns}


def read_sample(spark: SparkSession, path: str | None, table: str | None) -> Sample:
    """Read the columns, types and first rows of a path or a table. Raises :class:`UsageError` if it does not exist."""
    if table is not None:
        name = sql.quote_parts(sql.split_name(table))
        if not spark.catalog.tableExists(name):
            raise UsageError(f"--table {table}: no such table; check its name, --warehouse and --remote")
        return _read_rows(spark.table(name), table, None, {})
    assert path is not None
    kind = files.find(path).kind
    where = path if "://" in path else Path(path).absolute().as_uri()
    if kind != "csv":
        return _read_rows(spark.read.format(kind).load(where), path, kind, {})
    reader = spark.read.options(header="true", escape='"', multiLine="true")
    text = reader.csv(where)
    return _read_rows(text, path, kind, _infer_csv_types(text, reader.csv(where, inferSchema=True)))


def _infer_csv_types(text: DataFrame, typed: DataFrame) -> dict[str, str]:
    """The types that Spark infers, except that numbers with a leading zero, such as postal codes, stay text."""
    from pyspark.sql import functions as f

    columns = {x.name: x.dataType.simpleString().upper() for x in typed.schema.fields}
    if not columns:
        return {}
    tests = [f.max(f.col(sql.quote(name)).rlike("^[+-]?0[0-9]")).alias(name) for name in columns]
    padded = text.select(f.lit(1), *tests).first()
    assert padded is not None
    return {name: "STRING" if padded[name] else kind for name, kind in columns.items()}


def _read_rows(frame: DataFrame, origin: str, kind: str | None, types: Mapping[str, str]) -> Sample:
    if not frame.columns:
        raise UsageError(f"{origin}: is empty; give one whose columns have names")
    rows = frame.limit(ROWS + 1).collect()
    seen, left_out = [], []
    for place, field in enumerate(frame.schema.fields):
        values = tuple(row[place] for row in rows[:ROWS])
        written = types.get(field.name, field.dataType.simpleString())
        if written.upper() in {"VOID", "NULL"}:
            written = "STRING"
        try:
            sql_type = data_type(written)
            if sql_type == "STRING" and kind == "json":
                sql_type = guess_type_of_text(values) or sql_type
            if field.name != field.name.strip() or not field.name or field.name.lower().startswith("_scd_"):
                raise ValueError("its name cannot be a column of a spec")
            seen.append(Seen(field.name, sql_type, values))
        except ValueError:
            left_out.append(f"the column '{field.name}' of type {written}: give it a name and a type that a spec has")
    return Sample(origin, kind, tuple(seen), min(len(rows), ROWS), len(rows) <= ROWS, tuple(left_out))


def draft_from_sample(
    sample: Sample, target: str | None, pattern: str, feed: str | None, keys: Sequence[str], given: Mapping[str, str]
) -> Draft:
    """Draft a spec. ``feed`` and ``keys`` are guessed if not given; ``given`` are types that override the sample's.

    Raises :class:`UsageError` if no key can be guessed or a column does not exist.
    """
    columns = list(sample.columns)
    for name in [*keys, *given]:
        if name not in {c.name for c in columns}:
            hint = nearest(name, [c.name for c in columns]) or f"; there are {', '.join(c.name for c in columns)}"
            raise UsageError(f"{sample.origin}: has no column '{name}'{hint}")
    kind = "table" if sample.format is None else "from"
    draft = Draft(header=[f"Begun by scdgen init --{kind} {sample.origin}; what is guessed says so: look at it."])
    draft.left_out, draft.left_title = list(sample.left_out), "Left out:"
    entity = re.sub(r"\W+", "_", Path(sample.origin).stem if kind == "from" else sql.split_name(sample.origin)[-1])
    _put_target(draft, sample, target, pattern, entity)
    draft.put("pattern", pattern)
    _put_relation(draft, sample)
    free = [c for c in columns if c.name not in keys]
    time = guess_time(free, feed == "snapshot")
    meant = feed or ("snapshot" if time is None and pattern == "scd2" else "changes")
    note = "no column says when a row changed" if time is None else f"{time.name} says when a row changed"
    draft.put("source.feed", meant, f"Guessed: {note}." if feed is None else None)
    beside = _put_meanings(draft, sample, free, time, meant, pattern)
    _put_keys(draft, sample, [c for c in columns if c not in beside], beside, keys, entity)
    types = {**sample.types(), **given}
    draft.put("columns", {c.name: types[c.name] for c in columns if c not in beside})
    for c in columns:
        if c not in beside and pattern == "scd2" and "MAP<" in c.type:
            draft.options["columns"][c.name] = {"type": types[c.name], "track": False}
            draft.note("Spark cannot compare maps, so a change of it opens no version.", "columns", c.name)
    _put_history(draft, pattern)
    return draft


def _put_target(draft: Draft, sample: Sample, target: str | None, pattern: str, entity: str) -> None:
    if target is not None:
        draft.put("target", target)
        return
    if sample.format is None:
        parts = sql.split_name(sample.origin)
        guess = (*parts[:-1], f"{parts[-1]}_{'history' if pattern == 'scd2' else 'current'}")
    else:
        guess = ("default", entity)
    draft.put("target", join_name(guess), "Guessed from the source; --target gives another.")


def _put_relation(draft: Draft, sample: Sample) -> None:
    if sample.format is None:
        draft.put("source.table", sample.origin)
        return
    draft.put("source.path", sample.origin)
    draft.put("source.format", sample.format)
    if sample.format == "csv":
        draft.put("source.options", {"escape": '"', "multiLine": True})


def _put_meanings(
    draft: Draft, sample: Sample, free: Sequence[Seen], time: Seen | None, feed: str, pattern: str
) -> list[Seen]:
    """Write effective_at, sequence_by and delete_when, and return the columns that are used only for these."""
    used = []
    if time is not None:
        stays = "history.valid_from" if pattern == "scd2" else "updated_at"
        note = f"Guessed from the name; {stays} keeps it, so it is not among the columns."
        draft.put("source.effective_at", _quote_column(time.name), note)
        used.append(time)
        if pattern == "scd1":
            draft.put("updated_at", time.name, "The order of changes across batches.")
        elif time.type == "DATE" and feed == "changes":
            draft.put("history.type", "date", f"{time.name} is a date.")
    elif feed == "changes" and pattern == "scd2":
        hint = "give --feed snapshot for a full extract, or add such a column"
        raise UsageError(f"{sample.origin}: no column says when a row changed, which changes need; {hint}")
    if feed == "snapshot":
        return used
    sequence = guess_sequence([c for c in free if c not in used])
    if sequence is not None:
        text = _quote_column(sequence.name)
        cast = f"CAST({text} AS BIGINT)" if sample.format == "csv" else text
        also = "; the values of a CSV are text" if cast != text else ""
        draft.put("source.sequence_by", [cast], f"Guessed from the name{also}.")
        used.append(sequence)
    marked = guess_deletes([c for c in free if c not in used])
    if marked is not None:
        column, marks = marked
        text, listed = _quote_column(column.name), ", ".join(sql.text_literal(mark) for mark in marks)
        flag = f"CAST({text} AS BOOLEAN)" if sample.format == "csv" else text
        when = flag if not marks else f"{text} = {listed}" if len(marks) == 1 else f"{text} IN ({listed})"
        draft.put("source.delete_when", when, "Guessed from the name and the values.")
        used.append(column)
        if before := find_before_images(column):
            listed = ", ".join(sql.text_literal(mark) for mark in before)
            draft.put(
                "source.where", f"{text} NOT IN ({listed})", "Rows as they were before an update are not changes."
            )
    return used


def _put_keys(
    draft: Draft, sample: Sample, columns: Sequence[Seen], beside: Sequence[Seen], keys: Sequence[str], entity: str
) -> None:
    """Write the keys, with a comment on whether they are unique in the rows that were read."""
    snapshot = draft.options["source"]["feed"] == "snapshot"
    timed = [] if snapshot else list(beside)
    marks = guess_deletes(timed)
    gone = [i for i, v in enumerate(marks[0].values) if str(v) in marks[1] or v is True] if marks else []
    timed = [c for c in timed if marks is None or c != marks[0]]
    read = f"in all {sample.rows} rows" if sample.whole else f"in the first {sample.rows} rows"
    together = f" together with {' and '.join(c.name for c in timed)}" if timed else ""
    if keys:
        places = [c.name for c in [*columns, *beside]]
        rows = list(zip(*(make_hashable(c.values) for c in [*columns, *beside]), strict=True))
        rows = [row for place, row in enumerate(rows) if place not in set(gone)]
        twice = count_shared(rows, [places.index(name) for name in [*keys, *(c.name for c in timed)]])
        note = f"Look at it: not unique{together}; {twice} rows share it {read}." if twice else None
        draft.put("keys", list(keys), note)
        return
    found = guess_keys(columns, timed, gone, entity)
    if found is None:
        why = f"no columns stand out as unique{together} {read}" if sample.rows else "there are no rows"
        raise UsageError(f"{sample.origin}: no key can be guessed, because {why}; give --keys")
    why = f"unique{together} {read}" if found.tested else f"the name; {timed[-1].name} differs in all rows by itself"
    draft.put("keys", list(found.names), f"Guessed: {why}.")


def _put_history(draft: Draft, pattern: str) -> None:
    """Rename the history columns whose names the source has too."""
    taken = {name.lower() for name in draft.options["columns"]}
    for name, other in _RENAMED.items() if pattern == "scd2" else ():
        if name in taken:
            draft.put(f"history.{name}", other, f"The source has a column {name}.")


def _quote_column(name: str) -> str:
    """A column in an expression, quoted only if needed."""
    try:
        return name if sql.expression(name).bare == name else sql.quote(name)
    except ValueError:
        return sql.quote(name)


def guess_type_of_text(values: Iterable[Any]) -> str | None:
    """Guess the type of dates or times in text; ``None`` if a value is neither.

    >>> [guess_type_of_text([text]) for text in ("2024-05-01", "2024-05-01T10:00:00Z", "x")]
    ['DATE', 'TIMESTAMP', None]
    """
    given = [value for value in values if value is not None]
    if not given or not all(isinstance(value, str) and _TIME_TEXT.fullmatch(value) for value in given):
        return None
    return "DATE" if all(len(value) == 10 for value in given) else "TIMESTAMP"


def guess_time(columns: Sequence[Seen], snapshot: bool) -> Seen | None:
    """Guess the column with the effective time; for a snapshot only a column with the time of the last change."""

    def likely(column: Seen) -> int:
        if not column.type.startswith(_MOMENT) or None in column.values or _ANOTHER_TIME.search(column.name):
            return 0
        if _CHANGED.search(column.name):
            return 3
        return 0 if snapshot else 2 if _EFFECTIVE.search(column.name) else 1 if _TIMELY.search(column.name) else 0

    best = max(columns, key=likely, default=None)
    return best if best is not None and likely(best) else None


def guess_sequence(columns: Sequence[Seen]) -> Seen | None:
    """Guess the column that orders rows of one key and time: an integer with a name such as lsn."""
    return next((c for c in columns if c.type in _WHOLE and _SEQUENCE.search(c.name) and None not in c.values), None)


def guess_deletes(columns: Sequence[Seen]) -> tuple[Seen, tuple[str, ...]] | None:
    """Guess the column that marks deletes, and the values that do (none for a boolean)."""
    for column in columns:
        if column.type == "BOOLEAN" and _DELETED.search(column.name):
            return column, ()
        given = {str(value) for value in column.values if value is not None}
        known = {value for value in given if value.lower() in _OPERATIONS}
        if column.type != "STRING" or not _OPERATION.search(column.name) or not given or known != given:
            continue
        marks = sorted(value for value in known if value.lower() in _DELETES)
        if not marks:  # no delete so far: guess the mark from the form of the other values
            short, upper = all(len(value) == 1 for value in given), all(value.isupper() for value in given)
            mark = "d" if short else "delete"
            marks = [mark.upper() if upper else mark]
        return column, tuple(marks)
    return None


def find_before_images(column: Seen) -> tuple[str, ...]:
    """The values that mark the row before an update, which is not a change."""
    return tuple(sorted({str(v) for v in column.values if str(v).lower() in {"update_preimage", "-u"}}))


def count_shared(rows: Sequence[tuple[Any, ...]], places: Sequence[int]) -> int:
    """Count the distinct rows beyond the first of each combination of values at ``places``."""
    different = set(rows)
    return len(different) - len({tuple(row[place] for place in places) for row in different})


@dataclass(frozen=True)
class Key:
    """Guessed keys; ``tested``: they are unique in the rows, rather than guessed from the name only."""

    names: tuple[str, ...]
    tested: bool


def guess_keys(columns: Sequence[Seen], beside: Sequence[Seen], skip: Iterable[int], entity: str) -> Key | None:
    """Find the smallest set of columns that, together with those ``beside``, is unique among distinct rows.

    ``skip`` are the indexes of rows to ignore (deletes), ``entity`` is the name of what a row describes. Columns with
    the name of a key are tried first. If the columns in ``beside`` are unique alone, the values prove nothing, and the
    key is guessed from the name.
    """
    out = set(skip)
    every = [*columns, *beside]
    values = zip(*(make_hashable(c.values) for c in every), strict=True)
    rows = [row for place, row in enumerate(values) if place not in out]
    if not rows:
        return None
    fit = [c for c in columns if c.type == "STRING" or c.type in _WHOLE or c.type.startswith("DECIMAL")]
    fit = [c for c in fit if None not in c.values]
    names = {entity.lower(), entity.lower().removesuffix("s"), "id"}
    likely = {c.name: 2 * (c.name.lower().removesuffix("_id") in names) + bool(_KEY.search(c.name)) for c in fit}
    place = {c.name: index for index, c in enumerate(every)}
    timed = [place[c.name] for c in beside]
    named = sorted((c for c in fit if likely[c.name]), key=lambda c: (-likely[c.name], place[c.name]))
    if timed and count_shared(rows, timed) == 0:
        return Key((named[0].name,), False) if named else None
    for some in (named, [*named, *(c for c in fit if c not in named)]):
        for group in _combine(some[:8]):
            if count_shared(rows, [*(place[c.name] for c in group), *timed]) == 0:
                return Key(tuple(c.name for c in sorted(group, key=lambda c: place[c.name])), True)
    return None


def _combine(columns: Sequence[Seen]) -> Iterator[tuple[Seen, ...]]:
    for size in (1, 2, 3):
        yield from itertools.combinations(columns, size)


def make_hashable(values: Iterable[Any]) -> list[Any]:
    """Convert values so that they can be members of a set."""
    return [value if isinstance(value, str | int | float | None) else repr(value) for value in values]
