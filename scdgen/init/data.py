"""Drafts a spec from a file, a Delta folder or a table: reads columns and types, and guesses the rest in comments."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.session import PARTITIONS_AS_TEXT, set_while
from scdgen.errors import UsageError, describe_one_name, nearest, quoted
from scdgen.facts.columns import cast
from scdgen.files import find as files
from scdgen.files.dialect import guess_encoding, open_text
from scdgen.files.errors import find_mistake
from scdgen.init.draft import WHOLE, Draft, is_load_time, quote_column, set_option, to_option, warn_of_load_time
from scdgen.sql.dates import find_epoch, find_order, find_patterns, read_by, require_reads
from scdgen.sql.types import data_type, read_json_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 50_000  # maximum number of rows to guess from
CORRUPT = "_corrupt_record"  # Spark's column with the lines that it cannot read
MONEY = "DECIMAL(18, 2)"  # of numbers that all have two digits behind the point
CENTS = r"^[+-]?[0-9]{1,16}[.][0-9][0-9]$"
_RENAMED = {"valid_from": "version_from", "valid_to": "version_to", "is_current": "is_open_version"}
_CHANGED = re.compile(r"updat|modif|chang", re.IGNORECASE)
_EFFECTIVE = re.compile(r"^(effective|valid_?from|as_?of|event|commit)|^(ts|at|date|time|timestamp)$", re.IGNORECASE)
_TIMELY = re.compile(r"_(at|ts|on|time|date|datetime|timestamp)$|(At|Date|Time|Timestamp)$")
_PERIODS = (("from", "to"), ("from", "until"), ("start", "end"), ("begin", "end"), ("since", "until"))
_VALIDITY = re.compile("valid|effective", re.IGNORECASE)
_CURRENT = re.compile(r"^_*(is_?)?(current|latest)(_?(flag|row|version))?$", re.IGNORECASE)
_ANOTHER_TIME = re.compile(
    r"birth|dob|creat|delet|expir|end|_to$|due|insert|load|ingest|order|ship|hire", re.IGNORECASE
)
_CLOCK = re.compile(
    r"(^|_)(ts|at|on|time|date|day|datetime|timestamp)(_(s|ms|us|sec|millis|micros))?$|(At|Date|Time|Timestamp)$"
)
_SEQUENCE = re.compile(
    r"^_*(lsn|scn|offset|version|revision|ts_ms|(seq|sequence|change|event|row|commit|kafka|log|binlog)_?"
    r"(no|nr|num|number|id|version|offset|position|pos)?)$",
    re.IGNORECASE,
)
_OF_ROW = re.compile("row|version|revision|ts_ms", re.IGNORECASE)  # its version; the others are a place in a log
_OPERATION = re.compile(
    r"^_*(cdc_?|dml_?|change_?|row_?)?(op|operation|action|change|type|kind|oper)(_?type|_?code)?$", re.IGNORECASE
)
_DELETED = re.compile(r"^_*(is_?)?(deleted|removed)(_?flag)?$", re.IGNORECASE)
# A name that says of what kind the row's own subject may be, too.
_KIND = re.compile(r"^_*(type|kind|oper)$", re.IGNORECASE)
_DELETES = {"d", "del", "delete", "deleted", "remove", "removed", "-d"}
_TRUNCATES = {"t", "truncate"}
_BEFORE = {"update_preimage", "-u"}  # of the row before an update, which is not a change
_OPERATIONS = _DELETES | {
    "i", "u", "c", "r", "ins", "upd", "insert", "update", "create", "read", "upsert", "inserted", "updated", "created",
    "update_preimage", "update_postimage", "+i", "-u", "+u",
}  # fmt: skip
# What a flag says of a row that is not deleted -> of one that is.
_FLAGS = {"0": "1", "n": "y", "no": "yes", "f": "t", "false": "true"}
_KEY = re.compile(r"(^|_)(id|key|no|nr|num|number|code|uuid|guid|pk)$|[a-z](Id|ID|Key|No|Code)$", re.IGNORECASE)
_MOMENT = ("TIMESTAMP", "DATE")
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.]\d{3})+)(,\d+)?")
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")


@dataclass(frozen=True)
class Seen:
    """A column of a source, with the values that were read."""

    name: str
    type: str  # Spark's, in upper case
    values: tuple[Any, ...] = ()
    read: str | None = None  # what gives the column in this type, if it is not the column itself
    moments: tuple[str, ...] = ()  # what reads it as a timestamp: two expressions if day and month are ambiguous
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sample:
    """The columns and first rows of a source. ``format`` is ``None`` for a table; ``whole``: all rows were read."""

    origin: str
    format: str | None
    columns: tuple[Seen, ...]
    rows: int
    whole: bool
    left_out: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # of Spark's reader
    shape: tuple[tuple[str, str], ...] = ()  # the columns of JSON with nested types, as Spark reads them

    def types(self) -> dict[str, str]:
        """Column name -> type, as written in a spec."""
        return {c.name: to_option(c.type) for c in self.columns}


def read_sample(
    spark: SparkSession, path: str | None, table: str | None, options: Mapping[str, str] | None = None
) -> Sample:  # fmt: skip
    """Read the columns, types and first rows of a path or a table. Raises :class:`UsageError` if it does not exist."""
    if table is not None:
        name = sql.quote_parts(sql.split_name(table))
        if not spark.catalog.tableExists(name):
            raise UsageError("no such table; check its name, --warehouse and --remote", option="--table", value=table)
        return _read_rows(spark.table(name), table, None, {})
    assert path is not None
    found = replace(files.find(path), given=options or {})
    where = path if "://" in path else files.spark_path(Path(path))
    with set_while(spark, PARTITIONS_AS_TEXT):
        if found.kind == "json":
            return _read_json(spark, path, found, where)
        if found.kind != "csv":
            return _read_rows(spark.read.format(found.kind).load(where), path, found.kind, {})
        # Options of the command line win over those that were found.
        dialect = {**find_options(found), **found.given}
        reader = spark.read.options(**{"header": "true", "escape": '"', "multiLine": "true", **dialect})
        # Values stay text, as a run reads them; a second read only finds the types.
        text = reader.csv(where)
    if len(text.columns) == 1 and (likely := describe_one_name(text.columns[0])):
        raise UsageError(f"{path}: {likely}")
    sample = _read_rows(text, path, found.kind, _infer_csv_types(text, reader.csv(where, inferSchema=True)))
    return replace(sample, options=tuple(dialect.items()))


def _read_json(spark: SparkSession, path: str, found: files.Files, where: str) -> Sample:
    """Read JSON lines, without ``null``. Raises :class:`DataError` for other lines."""
    rows = spark.read.json(where)
    if CORRUPT in rows.columns and (mistake := find_mistake("json", found.local)):
        raise mistake
    rows = rows.drop(CORRUPT)
    if rows.columns:  # a line null is a row of NULLs
        rows = rows.dropna(how="all")
    listed = rows.limit(ROWS + 1).collect() if rows.columns else []
    fields = [(field.name, type_of(field.dataType)) for field in rows.schema.fields]
    sample = build_sample(fields, listed, path, "json")
    known = {column.name for column in sample.columns}
    shape = tuple((name, data_type(kind)) for name, kind in fields if name in known)
    return replace(sample, shape=shape if any("<" in kind for _, kind in shape) else ())


def type_of(kind: Any) -> str:
    """Return the text of a type of Spark's; the text that Spark gives has no backticks around a field such as zh-CN."""
    nested = kind.jsonValue()
    return read_json_type(nested).render() if isinstance(nested, dict) else str(kind.simpleString())


def find_options(found: files.Files) -> dict[str, str]:
    """Return the separator and the encoding of the first CSV file, if they are not a comma and UTF-8."""
    if not found.local:
        return {}
    encoding = found.given.get("encoding") or guess_encoding(found.local[0])
    given = {**found.given, **({"encoding": encoding} if encoding else {})}
    dialect = replace(found, given=given).dialect(found.local[0])
    options = dialect.options()
    with open_text(found.local[0], dialect.encoding) as text:
        if any(cell != cell.strip(" ") for cell in next(filter(None, dialect.cells(text)), [])):
            options |= {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
    return {**options, **({"encoding": encoding} if encoding else {})}


def _infer_csv_types(text: DataFrame, typed: DataFrame) -> dict[str, str]:
    """The types that Spark infers, except of digits after a zero or a plus, such as postal codes, and of amounts."""
    from pyspark.sql import functions as f

    columns = {x.name: x.dataType.simpleString().upper() for x in typed.schema.fields}
    if not columns:
        return {}
    tests = [
        test(f.col(sql.quote(name)).rlike(form))
        for name in columns
        for test, form in ((f.max, "^[+-]?0[0-9]|^[+][0-9]+$"), (f.min, CENTS))
    ]
    found = text.select(f.lit(1), *tests).first()
    assert found is not None
    return {
        name: "STRING" if padded else MONEY if cents else kind
        for (name, kind), padded, cents in zip(columns.items(), found[1::2], found[2::2], strict=True)
    }


def _read_rows(frame: DataFrame, origin: str, kind: str | None, types: Mapping[str, str]) -> Sample:
    rows = frame.limit(ROWS + 1).collect() if frame.columns else []
    fields = [(field.name, types.get(field.name) or type_of(field.dataType)) for field in frame.schema.fields]
    return build_sample(fields, rows, origin, kind)


def build_sample(
    fields: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]], origin: str, kind: str | None
) -> Sample:  # fmt: skip
    """Build a sample from names and types, and up to ``ROWS`` + 1 rows. Raises :class:`UsageError` without names."""
    if not fields:
        raise UsageError(f"{origin}: is empty; give one whose columns have names")
    seen, left_out = [], []
    for place, (name, given) in enumerate(fields):
        values = tuple(row[place] for row in rows[:ROWS])
        # A column of NULLs alone has no type; text takes any value.
        written = "STRING" if given.upper() in {"VOID", "NULL"} else given
        try:
            sql_type = data_type(written)
            # JSON and some tables hold times as text.
            if sql_type == "STRING" and kind != "csv":
                sql_type = guess_type_of_text(values) or sql_type
            if name != name.strip() or not name or name.lower().startswith("_scd_"):
                raise ValueError("its name cannot be a column of a spec")
            seen.append(Seen(name, sql_type, values))
        except ValueError:
            # Leave out what a spec cannot have, and say so in the draft.
            left_out.append(f"the column '{name}' of type {written}: give it a name and a type that a spec has")
    return Sample(origin, kind, tuple(seen), min(len(rows), ROWS), len(rows) <= ROWS, tuple(left_out))


def find_forms(columns: Sequence[Seen], pattern: str | None = None, time: str | None = None) -> list[Seen]:
    """Return the columns with the expressions that read their texts and numbers as times, or as numbers.

    ``pattern`` is that of ``--date-format``; without it, dates that can be read in two ways are read as the others of
    the source. Raises :class:`UsageError` for a wrong one. ``time`` is the column of ``--effective-at``.
    """
    given, order = [], ""
    texts = {
        c.name: [v if isinstance(v, str) else str(v) for v in c.values if v is not None]
        for c in columns
        if c.type == "STRING" or c.type in WHOLE
    }
    # A pattern that is given also tells the order of day and month for the other columns.
    if pattern is not None:
        given, order = require_reads(pattern, texts, "--date-format"), find_order(pattern)
    found = {n: (pattern,) if n in given and pattern else find_patterns(values, order) for n, values in texts.items()}
    # If all clear dates have one order, read the unclear ones in it.
    orders = {find_order(listed[0]) for listed in found.values() if len(listed) == 1} - {""}
    if len(orders) == 1:
        found = {
            name: tuple(p for p in listed if len(listed) == 1 or find_order(p) in orders)
            for name, listed in found.items()
        }
    return [_with_form(c, found.get(c.name, ()), c.name in given, c.name == time) for c in columns]


def _with_form(column: Seen, patterns: tuple[str, ...], is_given: bool, is_time: bool) -> Seen:
    """Return a column with the expressions for its patterns, its seconds since 1970 or its decimal commas."""
    is_time = is_time or any(form.search(column.name) for form in (_CLOCK, _CHANGED, _EFFECTIVE, _VALIDITY))
    text, is_text = quote_column(column.name), all(isinstance(v, str | None) for v in column.values)
    # A pattern without separators fits many numbers, so it counts only if something else says time.
    if patterns and (not patterns[0].isalpha() or is_given or is_time):
        source = text if is_text else cast(text, "STRING")
        call = "to_timestamp" if is_text or re.search("[Hh]", patterns[0]) else "to_date"
        moments = tuple(f"{call}({source}, {sql.text_literal(pattern)})" for pattern in patterns)
        column = replace(column, moments=moments, patterns=patterns)
        is_date = not re.search("[Hh]", re.sub("'.*?'", "", patterns[0]))
        if column.type != "STRING" or len(patterns) > 1 or (is_date and "yyyy" not in patterns[0] and not is_given):
            return column
        read = moments[0].replace("to_timestamp", "to_date") if is_date else moments[0]
        return replace(column, type="DATE" if is_date else "TIMESTAMP", read=read)
    # So do seconds since 1970.
    if column.type in WHOLE and is_time and (epoch := find_epoch(column.values)):
        number = cast(text, "BIGINT") if is_text else text
        return replace(column, moments=(f"{epoch}({number})",))
    if column.type == "STRING" and _has_decimal_commas(column.values):
        point = f"replace({text}, '.', '')" if any("." in v for v in column.values if v is not None) else text
        cents = all(re.search(r"^[^,]{1,20},\d\d$", v) for v in column.values if v is not None)
        return replace(column, type=MONEY if cents else "DOUBLE", read=f"replace({point}, ',', '.')")
    return column


def _has_decimal_commas(values: Iterable[Any]) -> bool:
    """Whether texts are numbers with a decimal comma. A comma before three digits may also separate thousands.

    >>> [_has_decimal_commas(texts) for texts in (["12,5", "1.200,00", None], ["1,200"], ["1,5 kg"], [1])]
    [True, False, False, False]
    """
    texts = [value for value in values if value is not None]
    if not all(isinstance(text, str) and _DECIMAL_COMMA.fullmatch(text) for text in texts):
        return False
    return any(re.search(r",(\d\d?|\d{4,})$", text) for text in texts)


def draft_from_sample(
    sample: Sample, target: str | None, pattern: str, feed: str | None, keys: Sequence[str], given: Mapping[str, str],
    date_format: str | None = None, effective_at: str | None = None,
) -> Draft:  # fmt: skip
    """Draft a spec. ``feed``, ``keys`` and the column ``effective_at`` are guessed if not given.

    ``given`` are types that override the sample's. Raises :class:`UsageError` if a column does not exist, or with a
    line for each question that is open.
    """
    columns = find_forms(sample.columns, date_format, effective_at)
    for name in [*keys, *given, *([effective_at] if effective_at else [])]:
        if name not in {c.name for c in columns}:
            hint = nearest(name, [c.name for c in columns]) or f"; there are {', '.join(c.name for c in columns)}"
            raise UsageError(f"{sample.origin}: has no column '{name}'{hint}")
    draft, entity = begin_draft(sample, target, pattern)
    # 1. What a row means: a change, a snapshot or a version.
    free = [c for c in columns if c.name not in keys]
    time = find_time(free, effective_at) if effective_at else guess_time(free, feed)
    period = None if effective_at else guess_period(free)
    is_valid = period is not None and (
        _VALIDITY.search(period[0].name) or time is None or not _CHANGED.search(time.name)
    )
    if feed is None and pattern == "scd2" and period is not None and is_valid:
        meant, said = "versions", f"{period[0].name} and {period[1].name} say when a row was valid"
    else:
        meant = feed or _guess_feed(draft, sample, free, time, pattern)
        said = "a column marks deletes" if time is None else f"{time.name} says when a row changed"
    draft.put("source.feed", meant, f"Guessed: {said}." if feed is None else None)
    # 2. The options that take columns, which are then no columns of the table.
    if meant == "versions":
        beside = _put_period(draft, sample, free, period)
    else:
        beside = _put_meanings(draft, sample, free, time, meant, pattern, "" if effective_at else "the name")
    # 3. The keys, and all open questions at once.
    put_likely_keys(draft, sample, [c for c in columns if c not in beside], beside, keys, entity)
    if draft.questions:
        raise UsageError(f"{sample.origin}: {question}" for question in draft.questions)
    # 4. The other columns.
    own = [c for c in columns if c not in beside]
    draft.put("columns", {c.name: given.get(c.name) or to_option(c.type) for c in own})
    for c in own:
        if c.read is not None and c.name not in given:
            set_option(draft, c.name, "from", c.read)
            form = f"dates by {c.patterns[0]}" if c.patterns else "a decimal comma"
            draft.note(f"Guessed from the values: {form}.{_describe_century(c, c.read)}", "columns", c.name)
        elif len(c.patterns) > 1:
            draft.note(f"{_describe_order(c)}; choose with --date-format.", "columns", c.name)
    if pattern == "scd2" and meant != "versions":
        leave_load_times_untracked(draft, own)
    put_history(draft, pattern)
    return draft


def leave_load_times_untracked(draft: Draft, columns: Sequence[Seen]) -> None:
    """Keep the time of a load from opening a version: it changes with every load, whatever happened to the row."""
    for c in columns:
        if is_load_time(c.name) and _is_moment(c) and c.name not in draft.options["keys"]:
            set_option(draft, c.name, "track", False)
            draft.note("Guessed from the name: the time of a load, which does not change the row.", "columns", c.name)


def _guess_feed(draft: Draft, sample: Sample, columns: Sequence[Seen], time: Seen | None, pattern: str) -> str:
    """Return ``changes`` if a column says so, else ask: changes that run as a snapshot would close all other keys."""
    if time is not None or guess_deletes(columns) is not None:
        return "changes"
    what = "give --feed changes if each row is a change, or --feed snapshot if a missing key means a delete"
    asked = f"nothing says whether rows are changes or a full extract; {what}"
    draft.questions.append(_ask_for_time(columns) if pattern == "scd2" else asked)
    return "snapshot"


def _ask_for_time(columns: Sequence[Seen]) -> str:
    dates = [c.name for c in columns if _is_moment(c)]
    if not dates:
        hint = "give --feed snapshot if this is a full extract, otherwise --effective-at COLUMN --date-format PATTERN"
        return f"no column looks like a date or a time; {hint}"
    hint = f"give --effective-at COLUMN (dates: {', '.join(dates)}), or --feed snapshot if this is a full extract"
    return f"cannot tell which column has the time of a change; {hint}"


def _describe_order(column: Seen) -> str:
    shown = next(value for value in column.values if value is not None)
    return f"{quoted(shown)} is a date by {' and by '.join(column.patterns)}"


def _describe_century(column: Seen, read: str) -> str:
    """Say which century a year of two digits gets, and how to get another; empty for other columns."""
    if not any(re.search("(?<!y)yy(?!y)", re.sub("'.*?'", "", pattern)) for pattern in column.patterns):
        return ""
    shown = next((quoted(str(value)) for value in column.values if value is not None), "85")
    other = f"{read} - MAKE_YM_INTERVAL(IF(YEAR({read}) > 2030, 100, 0))"
    return f" Spark reads yy as 2000 to 2099, also in {shown}; for 1931 to 2030 write {other}"


def begin_draft(sample: Sample, target: str | None, pattern: str) -> tuple[Draft, str]:
    """Begin a draft with its target and source; return it with the name of what a row describes."""
    kind = "table" if sample.format is None else "from"
    draft = Draft(header=[f"Drafted by scdgen init --{kind} {sample.origin}; check each comment that says Guessed."])
    draft.left_out, draft.left_title = list(sample.left_out), "Left out:"
    parts = sql.split_name(sample.origin) if sample.format is None else ("default", Path(sample.origin).stem)
    entity = re.sub(r"\W+", "_", parts[-1])
    last = entity if sample.format else f"{parts[-1]}_{'history' if pattern == 'scd2' else 'current'}"
    note = "Guessed from the source; --target gives another." if target is None else None
    draft.put("target", target or sql.join_name((*parts[:-1], last)), note)
    draft.put("pattern", pattern)
    if sample.format is None:
        draft.put("source.table", sample.origin)
        return draft, entity
    draft.put("source.path", sample.origin)
    draft.put("source.format", sample.format)
    if sample.shape:
        listed = ", ".join(f"{sql.quote(name)} {to_option(kind)}" for name, kind in sample.shape)
        draft.put("source.schema", listed, "As found: a file whose rows lack a field has the same columns.")
    if sample.format == "csv":
        given = dict(sample.options)
        guessed = "Guessed from the bytes; check letters such as é." if "encoding" in given else None
        options = {"escape": '"', "multiLine": True}
        draft.put("source.options", {**given, **{k: v for k, v in options.items() if k not in given}}, guessed)
    return draft, entity


def _put_meanings(
    draft: Draft, sample: Sample, free: Sequence[Seen], time: Seen | None, feed: str, pattern: str, why: str
) -> list[Seen]:
    """Write effective_at, sequence_by and delete_when, and return the columns that are used only for these."""
    used = []
    # 1. The time at which a row became true.
    if time is not None:
        stays = "history.valid_from" if pattern == "scd2" else "updated_at"
        guessed = [why] if why else []
        guessed += [f"the values, {time.patterns[0]}"] if time.patterns else []
        said = f"Guessed from {' and '.join(guessed)}; " if guessed else ""
        read = _read_moment(draft, time)
        note = f"{said}{stays} stores it, so it is not listed under columns.{_describe_century(time, read)}"
        draft.put("source.effective_at", read, note)
        used.append(time)
        warn_of_load_time(draft, "effective_at", time.name)
        if pattern == "scd1":
            draft.put("updated_at", time.name, "The order of changes across batches.")
        elif time.type == "DATE" and not time.moments and feed == "changes":
            draft.put("history.type", "date", f"{time.name} is a date.")
    elif feed == "changes" and pattern == "scd2":
        draft.questions.append(_ask_for_time(free))
    # 2. Rows of a snapshot have no order, and none of them is a delete.
    if feed == "snapshot":
        if pattern == "scd2" or time is not None:
            draft.put("snapshot.taken_at", ":taken")
            draft.put("params", {"taken": "timestamp"}, "When the extract was taken: --param taken=2024-05-01.")
        draft.put("snapshot.max_deleted", 0.1)
        draft.note(
            "An extract that would close more than this share of the keys is refused: it may be cut off.", "snapshot"
        )
        return used
    # 3. The order of rows of one time.
    sequence = guess_sequence([c for c in free if c not in used])
    if sequence is not None:
        text = quote_column(sequence.name)
        number = cast(text, "BIGINT") if sample.format == "csv" else text
        also = "; the values of a CSV are text" if number != text else ""
        draft.put("source.sequence_by", [number], f"Guessed from the name{also}.")
        used.append(sequence)
        # A feed may deliver a place in a log again.
        if time is not None and not _OF_ROW.search(sequence.name):
            kept = "history.sequence" if pattern == "scd2" else "sequence"
            draft.put(kept, sequence.name, "Keeps the order: of rows with equal times, an older one is left out.")
    # 4. Deletes, and rows that are no changes.
    marked = guess_deletes([c for c in free if c not in used])
    if marked is not None:
        column, marks = marked
        is_number = column.type in WHOLE and sample.format != "csv"
        listed = ", ".join(mark if is_number else sql.text_literal(mark) for mark in marks)
        text = quote_column(column.name)
        flag = cast(text, "BOOLEAN") if sample.format == "csv" else text
        when = flag if not marks else f"{text} = {listed}" if len(marks) == 1 else f"{text} IN ({listed})"
        draft.put("source.delete_when", when, "Guessed from the name and the values.")
        if sequence is not None and column.name.lower() == "_change_type":  # of Delta's change data feed
            draft.options["source"]["sequence_by"].append(text)
            draft.note("In a commit, the delete of a key comes before its insert.", "source", "sequence_by")
        used.append(column)
        before, emptied = find_no_changes(column)
        if before or emptied:
            listed = ", ".join(map(sql.text_literal, before + emptied))
            notes = ["Rows as they were before an update are not changes."] if before else []
            notes += ["A TRUNCATE is not a change of one row."] if emptied else []
            draft.put("source.where", f"{text} NOT IN ({listed})", " ".join(notes))
        if emptied:
            warn_of_truncates(draft, column.values, pattern)
    return used


def _put_period(draft: Draft, sample: Sample, free: Sequence[Seen], period: tuple[Seen, Seen] | None) -> list[Seen]:
    """Write the start and the end of versions, and return the columns that are used only for these, the start first."""
    if period is None:
        hint = "name them as in valid_from and valid_to, or give --feed changes"
        draft.questions.append(f"no two columns say from when to when a row was valid; {hint}")
        return []
    start, end = period
    begins, until = _read_moment(draft, start), _read_moment(draft, end)
    note = "Guessed from the name; history.valid_from keeps it."
    draft.put("source.effective_at", begins, note + _describe_century(start, begins))
    note = "Guessed from the name: the start of the next version; if it is earlier, history.gap says by how much."
    draft.put("source.effective_until", until, note + _describe_century(end, until))
    if start.type == end.type == "DATE" and not start.moments and not end.moments:
        draft.put("history.type", "date", f"{start.name} and {end.name} are dates.")
    # An open version ends in NULL, or in a year that is far away.
    if last := _find_open_end(end):
        draft.put("history.open_end", last, f"{end.name} of open versions.")
    flags = [c for c in free if _CURRENT.search(c.name)]
    draft.left_out += [f"the column '{c.name}': history.is_current says the same" for c in flags]
    return [start, end, *flags]


def _find_open_end(end: Seen) -> str | None:
    """Return the end in the year 9999 that open versions have, as a spec writes it; ``None`` if none has it."""
    texts = dict.fromkeys(str(value) for value in end.values if "9999" in str(value))
    # Text of another form is read by its pattern, whose zone, if it has one, is not kept.
    read = (read_by(end.patterns[0], text) if len(end.patterns) == 1 else text for text in texts)
    return next((text for text in read if text.startswith("9999-")), None)


def _read_moment(draft: Draft, column: Seen) -> str:
    """Return the expression that reads a column as a time; the first, and a question, if there are several."""
    if len(column.moments) > 1:
        choices = " or ".join(column.patterns)
        draft.questions.append(f"{column.name}: {_describe_order(column)}; give --date-format {choices}")
    return next(iter(column.moments), quote_column(column.name))


def put_likely_keys(
    draft: Draft, sample: Sample, columns: Sequence[Seen], beside: Sequence[Seen], keys: Sequence[str], entity: str
) -> None:
    """Write the keys; guessed ones have a comment on whether they are unique in the rows that were read."""
    if keys:
        draft.put("keys", list(keys))
        return
    feed = draft.options["source"]["feed"]
    # In changes and versions, a key is unique only together with its time.
    timed = [] if feed == "snapshot" else list(beside[:1] if feed == "versions" else beside)
    marks = guess_deletes(timed)
    # Deletes may lack values, and rows that the draft leaves out are no changes.
    skipped = {*marks[1], *itertools.chain(*find_no_changes(marks[0]))} if marks else set()
    gone = [i for i, v in enumerate(marks[0].values) if str(v) in skipped or v is True] if marks else []
    timed = [c for c in timed if marks is None or c != marks[0]]
    read = f"in all {sample.rows} rows" if sample.whole else f"in the first {sample.rows} rows"
    together = f" together with {' and '.join(c.name for c in timed)}" if timed else ""
    found = guess_keys(columns, timed, gone, entity)
    if found is None:
        rows_read = f"{sample.rows} row{'' if sample.rows == 1 else 's'}"
        draft.questions.append(f"cannot guess the keys from {rows_read}; give --keys A,B")
    if found is None or draft.questions:
        return
    why = f"unique{together} {read}" if found.tested else f"the name; {timed[-1].name} differs in all rows by itself"
    draft.put("keys", list(found.names), f"Guessed: {why}.")


def put_history(draft: Draft, pattern: str) -> None:
    """Rename the history columns whose names the source has too."""
    taken = {name.lower() for name in draft.options["columns"]}
    for name, other in _RENAMED.items() if pattern == "scd2" else ():
        if name in taken:
            draft.put(f"history.{name}", other, f"The source has a column {name}.")


def guess_type_of_text(values: Iterable[Any]) -> str | None:
    """Guess the type of dates or times in text; ``None`` if a value is neither, or no day of the calendar.

    >>> [guess_type_of_text([text]) for text in ("2024-05-01", "2024-05-01T10:00:00Z", "x", "0000-00-00 00:00:00")]
    ['DATE', 'TIMESTAMP', None, None]
    """
    given = [value for value in values if value is not None]
    if not given or not all(isinstance(value, str) and _is_time(value) for value in given):
        return None
    return "DATE" if all(len(value) == 10 for value in given) else "TIMESTAMP"


def _is_time(text: str) -> bool:
    with suppress(ValueError):
        # Seconds and zones have no gaps.
        return bool(_TIME_TEXT.fullmatch(text) and dt.datetime.fromisoformat(text[:16]))
    return False


def guess_time(columns: Sequence[Seen], feed: str | None) -> Seen | None:
    """Guess the column with the time of a change; ``None`` without evidence, as an attribute may be a time too.

    Evidence is a name, such as ``updated_at``; in a snapshot only the name of the last change. A time of the last
    change that is NULL in some rows leaves only a name that says when a row holds.
    """
    times = [c for c in columns if _is_moment(c) and not _ANOTHER_TIME.search(c.name) and not is_load_time(c.name)]
    whole = [c for c in times if None not in c.values]
    for form in (_CHANGED,) if feed == "snapshot" else (_CHANGED, _EFFECTIVE):
        if found := next((c for c in whole if form.search(c.name)), None):
            return found
    # Rows that are said or marked to be changes have a time.
    is_change = feed == "changes" or (feed != "snapshot" and guess_deletes(columns) is not None)
    if not is_change or any(_CHANGED.search(c.name) for c in times):
        return None
    return next((c for c in whole if _TIMELY.search(c.name)), None)


def find_time(columns: Sequence[Seen], name: str) -> Seen:
    """Return the column of ``--effective-at``. Raises :class:`UsageError` if its values are not known as times."""
    column = next((c for c in columns if c.name == name), None)
    if column is None:
        raise UsageError("is one of --keys too; choose another column", option="--effective-at", value=name)
    if not _is_moment(column):
        shown = next((f"holds {quoted(str(v))}" for v in column.values if v is not None), "is empty")
        raise UsageError(
            f"{shown}, not a known form of a date; give --date-format PATTERN", option="--effective-at", value=name
        )
    return column


def _is_moment(column: Seen) -> bool:
    return bool(column.moments) or column.type.startswith(_MOMENT)


def guess_period(columns: Sequence[Seen]) -> tuple[Seen, Seen] | None:
    """Guess the columns with the start and the end of a version: times whose names differ only in that."""
    moments = {c.name.lower(): c for c in columns if _is_moment(c)}
    for name, start in moments.items():
        for begins, ends in _PERIODS:
            end = moments.get(name.replace(begins, ends))
            if end is not None and end != start and None not in start.values:
                return start, end
    return None


def guess_sequence(columns: Sequence[Seen]) -> Seen | None:
    """Guess the column that orders rows of one key and time: an integer with a name such as lsn."""
    return next((c for c in columns if c.type in WHOLE and _SEQUENCE.search(c.name) and None not in c.values), None)


def guess_deletes(columns: Sequence[Seen]) -> tuple[Seen, tuple[str, ...]] | None:
    """Guess the column that marks deletes, and the values that do (none for a boolean)."""
    for column in columns:
        if column.type == "BOOLEAN" and _DELETED.search(column.name):
            return column, ()
        given = {str(value) for value in column.values if value is not None}
        if _DELETED.search(column.name) and (flag := _find_flag(given)):
            return column, (flag,)
        # If one value is not a word for an operation, the column means something else.
        known = {value for value in given if value.lower() in _OPERATIONS | _TRUNCATES}
        if column.type != "STRING" or not _OPERATION.search(column.name) or not given or known != given:
            continue
        marks = sorted(value for value in known if value.lower() in _DELETES)
        if not marks and _KIND.search(column.name):
            continue
        return column, tuple(marks or [_guess_mark(given)])
    return None


def _find_flag(given: set[str]) -> str | None:
    """Return the value of a flag that says yes, as the data writes it; ``None`` if the values are not of one flag.

    >>> _find_flag({"0"}), _find_flag({"N", "Y"}), _find_flag({"0", "2"})
    ('1', 'Y', None)
    """
    for no, yes in _FLAGS.items():
        if given and {value.lower() for value in given} <= {no, yes}:
            return next((v for v in sorted(given) if v.lower() == yes), yes.upper() if max(given).isupper() else yes)
    return None


def _guess_mark(given: set[str]) -> str:
    """Return the mark of a delete in the form of the other operations, if the data has no delete so far.

    >>> _guess_mark({"I", "U"}), _guess_mark({"+I", "+U"}), _guess_mark({"ins"}), _guess_mark({"updated"})
    ('D', '-D', 'del', 'deleted')
    """
    words = {value.lower() for value in given}
    forms = (("-d", {"+i", "-u", "+u"}), ("del", {"ins", "upd"}), ("deleted", {"inserted", "updated", "created"}))
    short = "d" if all(len(word) == 1 for word in words) else "delete"
    mark = next((mark for mark, others in forms if words & others), short)
    return mark.upper() if all(value.isupper() for value in given) else mark


def find_no_changes(column: Seen) -> tuple[list[str], list[str]]:
    """The values that mark the row before an update, and those that mark a TRUNCATE, which has no row."""
    given = sorted({str(value) for value in column.values})
    emptied = _TRUNCATES if _OPERATION.search(column.name) else ()  # the t of a flag means true
    return [v for v in given if v.lower() in _BEFORE], [v for v in given if v.lower() in emptied]


def warn_of_truncates(draft: Draft, operations: Iterable[Any], pattern: str) -> None:
    """Warn that the rows of a TRUNCATE are left out, if there are any."""
    if count := sum(str(value).lower() in _TRUNCATES for value in operations):
        stays = "versions before them stay open" if pattern == "scd2" else "rows before them stay"
        what = f"left out: rows of a TRUNCATE ({count}); the {stays}"
        draft.warnings.append(f"where: {what}. Delete rows at the source instead")


@dataclass(frozen=True)
class Key:
    """Guessed keys; ``tested``: they are unique in the rows, rather than guessed from the name only."""

    names: tuple[str, ...]
    tested: bool


def guess_keys(columns: Sequence[Seen], beside: Sequence[Seen], skip: Iterable[int], entity: str) -> Key | None:
    """Find the smallest set of columns that, together with those ``beside``, is unique among distinct rows.

    ``skip`` are the indexes of rows to ignore, such as deletes, ``entity`` is the name of what a row describes. Columns
    with the name of a key are tried first. If the columns in ``beside`` are unique alone, the values prove nothing, and
    the key is guessed from the name.
    """
    out = set(skip)
    every = [*columns, *beside]
    values = zip(*(make_hashable(c.values) for c in every), strict=True)
    # A batch may have a row twice, so count equal rows once.
    rows = dict.fromkeys(row for place, row in enumerate(values) if place not in out)
    if not rows:
        return None
    fit = [c for c in columns if c.type == "STRING" or c.type in WHOLE or re.match(r"DECIMAL\(\d+, 0", c.type)]
    fit = [c for c in fit if all(v is not None or place in out for place, v in enumerate(c.values))]
    names = {entity.lower(), entity.lower().removesuffix("s"), "id"}
    likely = {c.name: 2 * (c.name.lower().removesuffix("_id") in names) + bool(_KEY.search(c.name)) for c in fit}
    place = {c.name: index for index, c in enumerate(every)}
    timed = [place[c.name] for c in beside]
    named = sorted((c for c in fit if likely[c.name]), key=lambda c: (-likely[c.name], place[c.name]))
    if timed and _are_unique(rows, timed):
        return Key((named[0].name,), False) if named else None
    # Try the columns with such names alone, then all; at most eight, because the number of sets grows quickly.
    for some in (named, [*named, *(c for c in fit if c not in named)]):
        for group in itertools.chain.from_iterable(itertools.combinations(some[:8], size) for size in (1, 2, 3)):
            if _are_unique(rows, [*(place[c.name] for c in group), *timed]):
                return Key(tuple(c.name for c in sorted(group, key=lambda c: place[c.name])), True)
    return None


def _are_unique(rows: Iterable[tuple[Any, ...]], places: Sequence[int]) -> bool:
    """Whether no two of the rows have the same values at ``places``."""
    seen = set()
    for row in rows:
        part = tuple(row[place] for place in places)
        if part in seen:
            return False
        seen.add(part)
    return True


def make_hashable(values: Iterable[Any]) -> list[Any]:
    """Convert values so that they can be members of a set."""
    return [value if isinstance(value, str | int | float | None) else repr(value) for value in values]
