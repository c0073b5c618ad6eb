"""The spec as a tree of frozen models: one YAML file, one target table.

The models check each field by itself; rules across fields are in :mod:`scdgen.model.rules`. SQL is parsed on the way
in, so that a spec in memory holds only single expressions, single SELECTs and known types.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    Tag,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.model.option import Need, Option, Refusal, Rows, Sql, Trait, not_with, only_with, option_of
from scdgen.model.registry import PatternOptions, options_of, pattern_names
from scdgen.paths import folder_name
from scdgen.sql.tokens import find_cast
from scdgen.sql.types import NESTED, column_types, data_type
from scdgen.sql.zones import time_zone

RESERVED_PREFIX = "_scd_"
TYPE_FORMAT = "spark-type"  # in the JSON Schema, where one definition replaces each Spark type
CLOCK = "current_timestamp()"
QUERY = "source_query"  # the step of the generated SQL that is `source.query`
TAKEN = "taken_at"  # the param that `snapshot.each` declares: the date of one snapshot
STATISTICS = "delta.dataSkippingStatsColumns"  # the property: columns whose minimum and maximum Delta keeps
MOST_CLUSTERED = 4  # columns that Delta clusters a table by
UNCLUSTERED = (*NESTED, "BINARY", "BOOLEAN")  # types of which Delta keeps no minimum and maximum
DEFAULT_PROPERTIES = {"delta.enableDeletionVectors": "true"}  # of the table, unless table.properties says otherwise


def _pattern(name: str) -> str:
    if name not in pattern_names():
        raise PydanticCustomError("literal_error", "is not a pattern")
    return name


class Model(BaseModel):
    """Frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ShortForm(Model):
    """A model that a spec can write as a plain text, the value of the option ``given_as``."""

    given_as: ClassVar[str] = "type"

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        return {cls.given_as: value} if isinstance(value, str) else value


class Switched(Model):
    """A model that a spec can write as ``true``, for its defaults."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: object) -> object:
        return {} if value is True else value


def _reads_as(read: Callable[[str], object]) -> AfterValidator:
    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


def _plain(value: object) -> object:
    """Convert a date, which YAML makes of unquoted text, back to text."""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, dt.date) else value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _off_is_none(value: object) -> object:
    return None if value is False else value


def _one_or_each(value: object) -> str:
    """Return the tag of an expression: one for all sources, or one for each."""
    return "dict" if isinstance(value, dict) else "str"


def _no_control(text: str) -> str:
    text = text.rstrip("\n")  # | and > in YAML leave one
    if text.splitlines() not in ([], [text]):  # in a comment of the SQL, a new line would run
        raise ValueError("holds a line break; write it on one line, or after > so that YAML joins the lines")
    if sql.CONTROL.search(text):
        tab = " for a tab, write \\t without quotes or in single ones" if "\t" in text else ""
        raise ValueError(f"holds a control character;{tab or ' write plain text'}")
    return text


def _share(value: object) -> object:
    """Convert a percentage, such as ``5%``, to a share."""
    text = value.strip().removesuffix("%") if isinstance(value, str) and value.strip().endswith("%") else ""
    return float(text) / 100 if re.fullmatch(r"\d+(\.\d+)? ?", text) else value


def _as_text(value: object) -> object:
    """Convert the value of a property to text: YAML makes numbers and booleans of unquoted ones."""
    if isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return _plain(value)


def _name(text: str) -> str:
    if not text.strip() or text != text.strip():
        raise ValueError(f"'{text}' is not a name; write one without spaces around it")
    if text.lower().startswith(RESERVED_PREFIX):
        what = f"begins with {RESERVED_PREFIX}, which the generated SQL keeps for itself"
        raise ValueError(f"'{text}' {what}; name it otherwise")
    return sql.no_variable(_no_control(text))


# What the JSON Schema says of types whose validators accept more, or less, than pydantic sees.
_NAME = {"pattern": r"^(?!_[sS][cC][dD]_)\S(.*\S)?$", "type": "string"}
_SQL = {"type": "string"}
_TYPE = {"type": "string", "format": TYPE_FORMAT}
_SHARE = {"anyOf": [{"maximum": 1, "minimum": 0, "type": "number"}, {"pattern": "%$", "type": "string"}]}
_VALUE = {"type": ["string", "number", "boolean"]}


def _one_or_list(item: dict[str, object]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"items": item, "type": "array"}]})


Name = Annotated[str, AfterValidator(_name), WithJsonSchema(_NAME)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed), _one_or_list(_NAME)]
TableName = Annotated[str, _reads_as(sql.split_name)]
Expression = Annotated[str, Sql(sql.expression)]
Expressions = Annotated[tuple[Expression, ...], BeforeValidator(_listed), _one_or_list(_SQL)]
Query = Annotated[str, Sql(sql.query)]
DataType = Annotated[str, AfterValidator(data_type), WithJsonSchema(_TYPE)]
ColumnList = Annotated[str, _reads_as(column_types)]
Text = Annotated[str, AfterValidator(_no_control)]
Place = Annotated[Text, AfterValidator(sql.no_variable)]
Scalar = Annotated[str | int | bool | None, BeforeValidator(_plain)]
Value = Annotated[str | int | float | bool | None, BeforeValidator(_plain)]
Properties = dict[Text, Annotated[Text, BeforeValidator(_as_text), WithJsonSchema(_VALUE)]]
Word = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,254}$")]
Gap = Annotated[str | int | None, BeforeValidator(_plain)]
# The tags are the names that pydantic gives to the members of other unions, in the places of errors.
OneOrEach = Annotated[
    Annotated[Expression, Tag("str")] | Annotated[dict[Word, Expression], Tag("dict")], Discriminator(_one_or_each)
]


class JoinedTable(Model):
    """A table with versions, whose history is joined with those of others."""

    table: TableName = Field(
        description="A table with a row per version. If it is the target of a spec, the defaults below come from it."
    )
    keys: Annotated[dict[Name, Name], Option(in_json="if_set")] = Field(
        default_factory=dict, description="Each key of the spec: the column of the table that has it. Not with `on`."
    )
    on: Annotated[dict[Name, Expression], Option(over=Rows.SOURCE, in_json="if_set")] = Field(
        default_factory=dict,
        description="Instead of `keys`, for a parent of an earlier table: each column of its key: an expression over "
        "that table, such as `account.customer_id`, compared by `=`.",
    )
    required: Annotated[bool, Option(in_json="if_set")] = Field(
        default=False, description="Whether times without a version are gaps, as in the first table."
    )
    surrogate_key: Annotated[Name | None, Option(in_json="if_set")] = Field(
        default=None,
        description="The column with the surrogate key of a version. If a column of this spec is it, a check finds "
        "versions that are not within the one that they name.",
    )
    history: Annotated[Literal["none"] | None, Option(in_json="if_set")] = Field(
        default=None, description="`none`: the table has one row per key, valid at all times."
    )
    valid_from: Annotated[Expression | None, Option(over=Rows.JOINED)] = Field(
        default=None, description="When a version starts."
    )
    valid_to: Annotated[Expression | None, Option(over=Rows.JOINED)] = Field(
        default=None, description="When a version ends."
    )
    open_end: Scalar = Field(default=None, description="The end of an open version.")
    gap: Gap = Field(default=None, description="null: an end is the next start; else how much earlier it is.")
    where: Annotated[Expression | None, Option(over=Rows.JOINED)] = Field(
        default=None, description="Which rows of the table to read."
    )

    @property
    def start(self) -> str:
        """Return the expression of the start of a version."""
        return self.valid_from or "valid_from"

    @property
    def end(self) -> str:
        """Return the expression of the end of a version, as it is stored."""
        return self.valid_to or "valid_to"

    @property
    def options(self) -> dict[str, object]:
        """Return all options by name, with the default times of a version filled in."""
        times = {} if self.history else {"valid_from": self.start, "valid_to": self.end}
        return {**self.model_dump(), **times}


_OF_PATH = Option(refused=(only_with("path", "'path:' only; remove it or read a path"),))


class Source(Model):
    """Where rows come from: a table, a SELECT, a path, or several tables with versions."""

    table: TableName | None = Field(default=None, description="The table to read, in one to three parts.")
    query: Annotated[Query | None, Option(over=Rows.NONE, may_vary=True)] = Field(
        default=None, description="A SELECT to read."
    )
    path: Place | None = Field(
        default=None, description="A file or folder to read, relative to the working folder; requires `format`."
    )
    format: Annotated[Literal["csv", "json", "parquet", "delta"] | None, _OF_PATH] = Field(
        default=None, description="The format of the files at `path`."
    )
    options: Annotated[Properties, _OF_PATH] = Field(
        default_factory=dict, description="Options of Spark's reader, for `path`."
    )
    schema_: Annotated[ColumnList | None, Option(in_json="if_set")] = Field(
        default=None,
        alias="schema",
        description="The columns of JSON or Parquet to read, with types, such as `before struct<id int>, op string`, "
        "if the files differ. Missing columns are NULL.",
    )
    join: Annotated[dict[Name, JoinedTable], Option(in_json="if_set")] = Field(
        default_factory=dict,
        description="With `feed: versions`: alias -> a table with versions. Combines their histories; the first "
        "table decides which keys exist, and when.",
    )
    changed_since: Annotated[
        Expression | None,
        Option(
            over=Rows.NONE,
            may_vary=True,
            refused=(only_with("join", "'join:' only; remove it, or write where"),),
            in_json="if_applies",
        ),
    ] = Field(
        default=None,
        description="For `join`: read only keys with a version, or a parent of one, that starts or ends at or after "
        "this time; all keys if NULL.",
    )
    feed: Literal["changes", "snapshot", "versions"] = Field(
        default="changes",
        description="`changes`: rows that changed; `snapshot`: a full extract, in which a missing key is a delete; "
        "`versions` (scd2): all versions of each key in the source; a gap is a delete.",
    )
    effective_at: Annotated[
        Expression | None,
        Option(over=Rows.SOURCE, refused=(not_with("join", "each table has its valid_from; remove it"),)),
    ] = Field(
        default=None,
        description="When a row became valid. scd2 changes need it; in a snapshot, the default is `taken_at`. If "
        "scd1 or scd0 stores no time, it only orders rows, and may be a number.",
    )
    effective_until: Annotated[
        Expression | None,
        Option(
            over=Rows.SOURCE,
            refused=(
                only_with("versions", "'feed: versions' only; remove it or change the feed"),
                not_with("join", "each table has its valid_to; remove it"),
            ),
            in_json="if_applies",
        ),
    ] = Field(
        default=None,
        description="For `feed: versions`: when a version ends, in the form of `valid_to`, with `history.gap`; NULL "
        "or the open end while it is open.",
    )
    sequence_by: Annotated[
        Expressions, Option(over=Rows.SOURCE, refused=(not_with("versions", "every row is a version; remove it"),))
    ] = Field(default=(), description="Breaks ties between rows with the same key and time: the greatest value wins.")
    delete_when: Annotated[
        Expression | None,
        Option(
            over=Rows.SOURCE,
            refused=(
                not_with("snapshot", "a missing key is the delete; use feed: changes"),
                not_with("versions", "a gap between two rows is the delete; remove it"),
            ),
        ),
    ] = Field(default=None, description="Which rows are deletes; changes only.")
    truncate_when: Annotated[
        Expression | None,
        Option(
            over=Rows.SOURCE,
            needs=Need.ONE_ROW,
            otherwise="which keeps what was removed; remove it or write pattern: scd1",
            refused=(not_with("snapshot", "a missing key is the delete; remove it"),),
            in_json="if_set",
        ),
    ] = Field(default=None, description="scd1 changes: which rows truncate the table; they need no key.")
    sets: Annotated[
        Expression | None,
        Option(
            over=Rows.SOURCE,
            needs=Need.UPDATES,
            refused=(
                not_with("snapshot", "every row has all columns; remove it"),
                not_with("versions", "every row has all columns; remove it"),
            ),
            in_json="if_set",
        ),
    ] = Field(
        default=None,
        description="scd2 and scd1 changes: an array of the columns that a row sets (NULL: all); the others keep their "
        "values. A stored version sets all of its columns, so the order of arrival matters.",
    )
    where: Annotated[Expression | None, Option(over=Rows.SOURCE)] = Field(
        default=None, description="Which rows to read."
    )

    @property
    def kind(self) -> str:
        """Where rows come from: ``table``, ``path``, ``query`` or ``join``."""
        return next(name for name in ("table", "path", "query", "join") if getattr(self, name))

    @property
    def traits(self) -> frozenset[Trait]:
        """Return what the options of the spec may depend on."""
        kinds: tuple[Trait, ...] = ("table", "query", "path", "join")
        given = (kind for kind in kinds if getattr(self, kind) not in (None, {}))
        untimed: tuple[Trait, ...] = () if self.effective_at is not None else ("untimed",)
        return frozenset((self.feed, *given, *untimed))

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns of ``schema`` with their types; none without it."""
        return column_types(self.schema_) if self.schema_ is not None else {}

    @property
    def is_stored(self) -> bool:
        """Whether the rows are those of a table or of files, and not computed from others."""
        return self.kind in ("table", "path")


class Column(ShortForm):
    """One column of the target."""

    type: DataType = Field(description="The type of the column, to which values are cast.")
    from_: Annotated[OneOrEach | None, Option(over=Rows.SOURCE)] = Field(
        default=None, alias="from", description="The value of the column, an expression over a source row."
    )
    comment: Text | None = Field(default=None, description="A comment on the column.")
    nullable: bool = Field(default=True, description="`false`: the column is NOT NULL in the table.")
    track: Annotated[bool, Option(needs=Need.VERSIONS, on_key="refused")] = Field(
        default=True, description="scd2: `false`: a change of only such columns updates the version and opens none."
    )
    nulls: Annotated[
        Literal["value", "ignore", "fill"],
        Option(needs=Need.VERSIONS, on_key="refused", refused=(not_with("versions", "NULL is a value; remove it"),)),
    ] = Field(
        default="value",
        description='scd2: `ignore`: NULL means "not given", and the previous value stays; `fill`: the first known '
        "value also fills earlier versions.",
    )
    compare: Annotated[
        Expression | None,
        Option(
            over=Rows.TARGET,
            needs=Need.VERSIONS,
            on_key="refused",
            refused=(not_with("versions", "only equal values are no change; remove it"),),
            in_json="if_set",
        ),
    ] = Field(
        default=None,
        description="scd2: an expression over the column, such as `round(lat, 3)`; values with the same result are "
        "equal, and a version keeps its first.",
    )
    merge: Annotated[
        Literal["last", "first", "min", "max"],
        Option(needs=Need.ONE_ROW, otherwise="where rows are versions; use nulls, track or compare", on_key="ignored"),
    ] = Field(default="last", description="scd1: how the rows of a key, in batch and table, become one value.")

    @property
    def expression(self) -> str | None:
        """Return ``from`` in a spec of one source."""
        return self.from_ if isinstance(self.from_, str) else None

    def for_feed(self, name: str) -> Column:
        """Return the column as it is computed from one of several sources."""
        return self.model_copy(update={"from_": self.from_.get(name)}) if isinstance(self.from_, dict) else self


class Flag(ShortForm):
    """The column that flags the open version of a key."""

    given_as: ClassVar[str] = "name"
    name: Name = Field(default="is_current", description="The name of the flag.")
    type: DataType = Field(default="BOOLEAN", description="The type of the flag.")
    open: Scalar = Field(default=True, description="The value of the flag in an open version.")
    closed: Scalar = Field(default=False, description="The value of the flag in a closed version.")


class Sequence(ShortForm):
    """The column that keeps the order of rows of one key and time across batches."""

    given_as: ClassVar[str] = "name"
    name: Name = Field(description="The name of the column.")
    type: DataType = Field(
        default="BIGINT",
        description="The type of `sequence_by`; for several expressions, that of each, or a struct such as "
        "`struct<file: string, pos: bigint>`.",
    )


class SurrogateKey(ShortForm):
    """The column with one value per version, for facts to refer to."""

    given_as: ClassVar[str] = "name"
    name: Name = Field(description="The name of the column.")
    type: Annotated[Literal["string", "bigint"], Option(in_json="if_set")] = Field(
        default="string",
        description="`string`: SHA-256 in hex. `bigint`: xxhash64, which joins faster; among a billion versions, two "
        "collide with a probability of 3%, which a check finds.",
    )

    @model_serializer(mode="wrap")
    def _shorten(self, write: SerializerFunctionWrapHandler) -> object:
        """Write the short form if that says it all, as the files of specs have it."""
        return self.name if self.type == "string" else write(self)


class Recorded(Switched):
    """The second axis of time: from when until when the table held a row."""

    from_: Name = Field(
        default="recorded_from",
        alias="from",
        description="The timestamp column with the time of the run that wrote the row.",
    )
    to: Name = Field(
        default="recorded_to",
        description="The timestamp column with the time of the run that superseded the row; NULL in current rows.",
    )
    at: Annotated[Expression, Option(over=Rows.NONE, may_vary=True)] = Field(
        default=CLOCK, description="The time of a run, evaluated once; it must be later than every stored one."
    )

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return (option, column name) of each column, in the table's order."""
        return (("from", self.from_), ("to", self.to))


class History(Model):
    """The history columns (scd2)."""

    type: Literal["timestamp", "date", "bigint"] = Field(
        default="timestamp", description="The type of `valid_from` and `valid_to`; `bigint` is a sequence number."
    )
    valid_from: Name = Field(default="valid_from", description="The column with the start of a version, inclusive.")
    valid_to: Name = Field(default="valid_to", description="The column with the end of a version.")
    open_end: Scalar = Field(
        default=None, description="The end of an open version: null, a literal such as `'9999-12-31'`, or `last_run`."
    )
    gap: Gap = Field(
        default=None,
        description="null: an end is the next start; else how much earlier it is: `1 microsecond`, `1 day`, a number.",
    )
    is_current: Flag | None = Field(default=Flag(), description="The column that flags the open version; null: none.")
    row_hash: Name | None = Field(
        default=None,
        description="A column with the SHA-256 of the tracked columns; NULL, '' and moved separators differ.",
    )
    surrogate_key: SurrogateKey | None = Field(
        default=None, description="A column with a hash of keys and `valid_from`; never changes for a version."
    )
    action: Name | None = Field(
        default=None,
        description="A column with `I` (first version of a key or after a delete), `U` (a later one) or `D` (deleted).",
    )
    deleted: Name | None = Field(
        default=None, description="A boolean column, with `on_delete: mark`: whether a delete opened the version."
    )
    sequence: Annotated[Sequence | None, Option(in_json="if_set")] = Field(
        default=None,
        description="A column with the `sequence_by` of the row that opened the version: a later row with the same "
        "key and time counts only if its own is greater. NULL is less than any.",
    )
    recorded: Annotated[Recorded | None, BeforeValidator(_off_is_none), Option(in_json="if_set")] = Field(
        default=None,
        description="A second time axis: a run ends a row that it changes at the run's time, and inserts the new one. "
        "Rows without a `recorded_to` are the table as it would be without this option.",
    )

    @property
    def surrogate_type(self) -> str:
        """Return the type of the surrogate key; ``string`` without one, too."""
        return self.surrogate_key.type if self.surrogate_key else "string"

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return (option, column name) of each history column, in the table's order."""
        flag = self.is_current.name if self.is_current else None
        listed = (
            ("surrogate_key", self.surrogate_key.name if self.surrogate_key else None),
            ("valid_from", self.valid_from),
            ("valid_to", self.valid_to),
            ("is_current", flag),
            ("row_hash", self.row_hash),
            ("action", self.action),
            ("deleted", self.deleted),
            ("sequence", self.sequence.name if self.sequence else None),
        )
        return tuple((option, name) for option, name in listed if name is not None)


class Audit(Model):
    """Columns that say when a row was written, and by which run. No comparison reads them."""

    inserted_at: Name | None = Field(
        default=None, description="A timestamp column with the time of the run that first wrote the row."
    )
    updated_at: Name | None = Field(
        default=None, description="A timestamp column with the time of the run that last wrote the row."
    )
    run_id: Name | None = Field(
        default=None, description="A string column with the id of the run that last wrote the row."
    )

    def names(self) -> tuple[tuple[str, str], ...]:
        """Return (option, column name) of each column, in the table's order."""
        listed = (("inserted_at", self.inserted_at), ("updated_at", self.updated_at), ("run_id", self.run_id))
        return tuple((option, name) for option, name in listed if name is not None)


class Table(Model):
    """The storage of the target: format, layout, properties and location."""

    format: Literal["delta"] = Field(default="delta", description="The format of the target.")
    partition_by: Names = Field(
        default=(),
        description="Target columns, in which empty text is NULL; a column computed from the keys, in their types, "
        "lets the MERGE skip other partitions.",
    )
    cluster_by: Names = Field(default=(), description="Target columns for liquid clustering; not with `partition_by`.")
    layout: Annotated[Literal["auto", "split", "cluster", "none"], Option(needs=Need.VERSIONS)] = Field(
        default="auto",
        description="scd2: how a new table separates open and closed versions. `split`: partitions by "
        "`history.is_current`. `cluster`: liquid clustering by `history.valid_to` and the keys. `auto`: `split`, "
        "unless `partition_by`, `cluster_by` or `location` is set, or no column can be the partition.",
    )
    properties: Properties = Field(default_factory=dict, description="Delta table properties.")
    time_zone: TimeZone | None = Field(
        default=None,
        description="The time zone in which dates, strings and `history.open_end` become timestamps. By default, "
        "files say UTC, and a run that creates the table stores the session's.",
    )
    location: Place | None = Field(
        default=None, description="The folder of the table's files; by default, the catalog chooses it."
    )
    create_schema: Annotated[bool, Option(in_json="if_set")] = Field(
        default=True, description="`false`: `create.sql` does not create the schemas, which needs a separate right."
    )
    primary_key: Annotated[bool, Option(in_json="if_set")] = Field(
        default=False,
        description="`true`: a new table declares a primary key, not enforced: the surrogate key, or the keys and the "
        "start of a version. Unity Catalog only.",
    )

    @property
    def is_laid_out(self) -> bool:
        """Whether other options than ``layout`` place the files of the table, so that it means nothing."""
        return bool(self.partition_by or self.cluster_by or self.location)


class Snapshot(Model):
    """What a full extract covers, and when to refuse it."""

    taken_at: Annotated[Expression, Option(over=Rows.NONE, may_vary=True, needs=Need.DELETES)] = Field(
        default="current_timestamp()", description="When the snapshot was taken."
    )
    each: Annotated[Expression | None, Option(over=Rows.SOURCE, needs=Need.DELETES, in_json="if_set")] = Field(
        default=None,
        description="The date column of a source with several snapshots: a run merges those that the table has not "
        "seen, in order. It declares the param `taken_at`, which chooses one.",
    )
    scope: Annotated[Expression | None, Option(over=Rows.TARGET, may_vary=True, needs=Need.DELETES)] = Field(
        default=None,
        description="Over target columns: the part of the table that the snapshot covers; a row outside it is an "
        "error.",
    )
    allow_empty: bool = Field(default=False, description="`false`: an empty snapshot is an error.")
    max_deleted: Annotated[
        float, Field(ge=0, le=1), BeforeValidator(_share), WithJsonSchema(_SHARE), Option(needs=Need.DELETES)
    ] = Field(
        default=1.0,
        description="The share of current keys that one snapshot may delete, such as 0.05 or `5%`; more is an error.",
    )


class Param(ShortForm):
    """A value that is passed at run time, a session variable in SQL."""

    type: DataType = Field(description="The type of the param.")
    default: Value = Field(
        default=None, description="The value without `--param`: a literal, an expression or a SELECT."
    )

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Param:
        if self.default is not None:
            sql.param_value(self.default, self.type)
        return self

    @property
    def read(self) -> sql.Fragment | None:
        """The SQL of the default; ``None`` without one."""
        return None if self.default is None else sql.expression(sql.param_value(self.default, self.type))

    @property
    def read_params(self) -> set[str]:
        """The params, in lower case, that the default reads; its SQL has them as variables."""
        return {parts[1] for parts in (self.read.names if self.read else ()) if parts[0] == "session" and parts[1:]}


class Check(Model):
    """A custom integrity check: a query that returns the rows that break it."""

    name: Word = Field(description="The name of the check.")
    query: Annotated[Query, Option(over=Rows.NONE, file="checks.sql", may_vary=True)] = Field(
        description="Returns the rows that break it."
    )


class Expectation(Model):
    """A rule that each row of the source is to meet, in the names and types of the target; NULL meets it."""

    name: Word = Field(description="The name of the rule.")
    expect: Annotated[Expression, Option(over=Rows.TARGET)] = Field(
        description="A condition over the columns of the spec; deletes are not tested."
    )
    on_violation: Literal["fail", "skip", "quarantine"] = Field(
        default="fail",
        description="`fail`: the run stops; `skip`: the row is dropped and counted; `quarantine`: it is also kept in "
        "the table `quarantine`.",
    )


class Views(Model):
    """Names of the views to create."""

    current: TableName | None = Field(
        default=None,
        description="A view of the open versions, which may start in the future; `views.as_of` at "
        "`current_timestamp()` has those valid now.",
    )
    as_of: Annotated[TableName | None, Option(needs=Need.PAST)] = Field(
        default=None, description="scd2: a table function that takes a time and returns the versions valid then."
    )
    overlay: Annotated[TableName | None, Option(needs=Need.PAST, in_json="if_set")] = Field(
        default=None, description="scd2: a view of all versions, with the columns of `overlays`."
    )


class Overlay(Model):
    """A column of the view ``views.overlay``: exactly one of the options, each with a column of the spec."""

    first: Name | None = Field(default=None, description="Type 0: the value in the first version of the key.")
    previous: Name | None = Field(
        default=None, description="Type 3: the last different value before the version; otherwise NULL."
    )
    current: Name | None = Field(
        default=None, description="Type 6: the value in the open version of the key; NULL if the key is deleted."
    )
    since: Name | None = Field(
        default=None, description="The start of the run of versions with this value; a gap in time ends a run."
    )

    @property
    def given(self) -> list[tuple[str, str]]:
        """Return (option, column) of the options that are set."""
        return [(option, name) for option in type(self).model_fields if (name := getattr(self, option)) is not None]


class Lookup(Model):
    """A view of facts, each once, with the version of its key."""

    fact: TableName | None = Field(default=None, description="The fact table; or `query`.")
    query: Annotated[Query | None, Option(over=Rows.NONE, file="lookups.sql", may_vary=True)] = Field(
        default=None, description="A query for the facts; or `fact`."
    )
    fact_schema: Annotated[ColumnList | None, Option(in_json="if_set")] = Field(
        default=None,
        description="The types of fact columns, such as `customer_id int, ordered_at timestamp`. They make the view "
        "shorter.",
    )
    at: Annotated[Expression | None, Option(over=Rows.FACTS, file="lookups.sql", may_vary=True)] = Field(
        default=None,
        description="An expression over the fact: the time for which to find the version; or use `version`.",
    )
    version: Literal["current"] | None = Field(
        default=None, description="`current`: the open version of the key, whatever the time of the fact; or `at`."
    )
    known: Annotated[
        Expression | None, Option(over=Rows.FACTS, file="lookups.sql", may_vary=True, in_json="if_set")
    ] = Field(
        default=None,
        description="With `history.recorded`, an expression over the fact: use the version as recorded at that time.",
    )
    keys: Annotated[dict[Name, Expression], Option(over=Rows.FACTS, file="lookups.sql", may_vary=True)] = Field(
        description="Each key of the spec: an expression over the fact."
    )
    columns: dict[Name, Name] | tuple[Name, ...] = Field(
        description="Columns of the table, including history columns, and their names in the view; or a list."
    )
    before_first: Literal["none", "first"] = Field(
        default="none", description="With `at`, `first`: a fact before the first version of its key gets that version."
    )
    missing: Annotated[Literal["none", "unknown"], Option(in_json="if_set")] = Field(
        default="none",
        description="For a fact without a version: `none` gives NULL, `unknown` the values of `members.unknown`.",
    )

    @property
    def shown(self) -> dict[str, str]:
        """Return the columns of the table with their names in the view."""
        return self.columns if isinstance(self.columns, dict) else {name: name for name in self.columns}

    def type_of(self, text: str) -> str | None:
        """Return the type of an expression over the fact, if it is a cast or a column of ``fact_schema``."""
        declared = column_types(self.fact_schema) if self.fact_schema else {}
        types = {name.lower(): kind for name, kind in declared.items()}
        found = find_cast(text) or types.get((sql.expression(text).bare or "").lower())
        try:
            return data_type(found) if found else None
        except ValueError:  # the engine may know a type that a column of a spec cannot have
            return None


class Inferred(Model):
    """Keys that facts name before the dimension has them."""

    fact: TableName = Field(description="The fact table.")
    keys: Annotated[dict[Name, Expression], Option(over=Rows.FACTS, file="infer.sql")] = Field(
        description="Each key of the spec: an expression over the fact."
    )
    at: Annotated[Expression, Option(over=Rows.FACTS, file="infer.sql")] = Field(
        description="An expression over the fact: its time. The member begins at the earliest."
    )
    flag: Name = Field(
        description="A boolean history column: true until the source has the key; then the version gets the source's "
        "values."
    )


class Members(Model):
    """Members of a dimension that do not come from its source."""

    unknown: Annotated[dict[Name, Value] | None, Option(in_json="if_set")] = Field(
        default=None,
        description="An open version from 1900-01-01 (bigint: from the least number), for facts without a member: "
        "all keys, and values of some columns; the others are NULL. `create.sql` writes it.",
    )
    inferred: Annotated[Inferred | None, Option(in_json="if_set")] = Field(
        default=None,
        description="A version for each key that only facts have, NULL except for the key, written by `infer.sql` "
        "and `scdgen run --infer`.",
    )


def locate_history_column(option: str) -> tuple[str, ...]:
    """Return the place in a spec that names a history column, for an option of :attr:`Spec.history_columns`."""
    return ("members", option, "flag") if option == "inferred" else ("history", option)


class Stream(Model):
    """Options of ``scdgen stream``: its reader and its checkpoint."""

    options: Properties = Field(default_factory=dict, description="Options of the stream's reader.")
    checkpoint: Text | None = Field(
        default=None, description="The stream's checkpoint folder; with `--feed NAME`, plus `.NAME`."
    )


class _PatternNames:
    """In the type of an option: its values are the names of the patterns, which other packages may add."""

    def __get_pydantic_json_schema__(self, schema: object, handler: object) -> dict[str, object]:
        return {"enum": list(pattern_names()), "type": "string"}


Pattern = Annotated[str, AfterValidator(_pattern), _PatternNames()]


class Spec(Model):
    """One target table: where its rows come from, what they mean, how they are stored."""

    target: TableName = Field(description="The table to maintain, in one to three parts.")
    description: Text | None = Field(default=None, description="A comment on the table.")
    pattern: Pattern = Field(description="What the table keeps of each key.")
    source: Source = Field(
        default=Source(), description="Where rows come from: exactly one of `table`, `query`, `path`, `join`."
    )
    sources: dict[Word, Source] = Field(
        default_factory=dict,
        description="Instead of `source`: name -> a source with the same options. The first is the default, `--feed` "
        "chooses another; a column's `from` may map these names to expressions.",
    )
    keys: Names = Field(description="The natural key: one or more target columns.")
    columns: dict[Name, Column] = Field(
        description="Target columns in order, except the history columns; `name: type`, or `name: {type: …, …}`."
    )
    history: Annotated[History, Option(needs=Need.VERSIONS)] = Field(
        default=History(), description="scd2: the history columns."
    )
    table: Table = Field(default=Table(), description="How the target is stored.")
    updated_at: Annotated[
        Name | None, Option(needs=Need.ONE_ROW, otherwise="which keeps the time in history.valid_from; remove it")
    ] = Field(
        default=None, description="scd1: a target column with the time of a row, to order changes across batches."
    )
    deleted: Annotated[
        Name | None,
        Option(
            needs=Need.ONE_ROW, otherwise="where it is a history column; write it as history.deleted", in_json="if_set"
        ),
    ] = Field(default=None, description="scd1: a boolean column, with `on_delete: mark`: whether the key is deleted.")
    sequence: Annotated[
        Sequence | None,
        Option(
            needs=Need.ONE_ROW, otherwise="where it is a history column; write it as history.sequence", in_json="if_set"
        ),
    ] = Field(
        default=None,
        description="scd1: a column with the `sequence_by` of the row of `updated_at`, as `history.sequence`.",
    )
    audit: Annotated[Audit, Option(in_json="if_set")] = Field(
        default=Audit(),
        description="Columns at the end that say when a row was written, and by which run. They are not compared.",
    )
    schema_evolution: Literal["fail", "add_columns"] = Field(
        default="fail", description="`add_columns`: a run adds new columns of the spec to the table."
    )
    on_delete: Literal["close", "mark", "ignore", "remove"] | None = Field(
        default=None,
        description="scd2: `close`, `ignore`, or `mark`: a delete is a version with the last values; scd1: `remove`, "
        "`ignore`, or `mark`: a delete flags the row.",
    )
    unchanged: Annotated[Literal["skip", "keep"], Option(needs=Need.VERSIONS)] = Field(
        default="skip",
        description="`skip`: a change that repeats the values opens no version; `keep`: every change is a version, so "
        "changes of different times may arrive in any order (deletes need `on_delete: mark`; not with `nulls` or "
        "`source.sets`).",
    )
    late_arriving: Annotated[
        Literal["apply", "ignore", "fail"] | None,
        Option(
            needs=Need.VERSIONS,
            refused=(
                Refusal(
                    when=("snapshot",), values=("apply",), message="apply is not for snapshots; write fail or ignore"
                ),
                Refusal(
                    when=("snapshot", "untimed"),
                    values=("ignore", "fail"),
                    message="a snapshot without effective_at has no late rows; remove it or add effective_at",
                ),
                not_with("versions", "no row is late; remove it"),
            ),
            in_json="if_applies",
        ),
    ] = Field(
        default=None,
        description="scd2: `apply`: late rows split, shorten or extend versions (changes only); `ignore` drops them; "
        "`fail` stops.",
    )
    bad_rows: Annotated[
        Literal["fail", "skip"],
        Option(
            refused=(
                Refusal(
                    when=("join",),
                    values=("skip",),
                    message="skip is not for join; leave rows out by the where of their table",
                ),
            )
        ),
    ] = Field(
        default="fail",
        description="Rows with a NULL key or `effective_at`: stop, or skip them. In a snapshot or whole histories, "
        "the key of a skipped row stays as it is.",
    )
    conflicts: Annotated[
        Literal["fail", "any"], Option(refused=(not_with("versions", "every row is a version; remove it"),))
    ] = Field(
        default="fail",
        description="Different rows with the same key and time that `sequence_by` does not order: stop, or take any, "
        "preferring a delete.",
    )
    snapshot: Annotated[
        Snapshot | None,
        Option(
            refused=(only_with("snapshot", "'feed: snapshot' in the source; remove it or change the feed"),),
            in_json="if_applies",
        ),
    ] = Field(default=None, description="With `feed: snapshot`: what the snapshot covers, and when to refuse it.")
    params: dict[Word, Param] = Field(
        default_factory=dict,
        description="Values passed at run time, written `:name` in expressions; session variables in SQL. `name: "
        "type`, or `name: {type: …, default: …}`.",
    )
    checks: tuple[Check, ...] = Field(default=(), description="Custom integrity checks, besides the built-in ones.")
    views: Views = Field(default=Views(), description="Views to create.")
    overlays: Annotated[dict[Name, Overlay], Option(needs=Need.PAST, in_json="if_set")] = Field(
        default_factory=dict,
        description="scd2: columns that the view `views.overlay` computes from the versions of a key.",
    )
    lookups: Annotated[dict[TableName, Lookup], Option(needs=Need.PAST, in_json="if_set")] = Field(
        default_factory=dict,
        description="scd2: views of facts with the version of their key, in `lookups.sql`. The key is the view's name.",
    )
    expectations: Annotated[tuple[Expectation, ...], Option(in_json="if_set")] = Field(
        default=(), description="Rules for source rows, tested before the merge."
    )
    quarantine: Annotated[TableName | None, Option(in_json="if_set")] = Field(
        default=None, description="The table of the rows that rules with `on_violation: quarantine` reject."
    )
    members: Annotated[Members, Option(needs=Need.PAST, in_json="if_set")] = Field(
        default=Members(), description="scd2: members for facts whose key the source lacks, or does not have yet."
    )
    stream: Annotated[
        Stream | None,
        Option(
            refused=(not_with("versions", "a micro-batch has only a part of the rows; remove it and use scdgen run"),)
        ),
    ] = Field(default=None, description="For `scdgen stream`.")

    @model_validator(mode="before")
    @classmethod
    def _date_each(cls, data: object) -> object:
        """Declare the param of ``snapshot.each``, and take it for the time of the snapshot."""
        snapshot = data.get("snapshot") if isinstance(data, dict) else None
        each = snapshot.get("each") if isinstance(snapshot, dict) else getattr(snapshot, "each", None)
        if not isinstance(data, dict) or each is None:
            return data
        history = data.get("history") if data.get("pattern") == "scd2" else None
        kind = history.get("type") if isinstance(history, dict) else getattr(history, "type", None)
        if isinstance(snapshot, dict):
            snapshot = {"taken_at": f":{TAKEN}", **snapshot}
        params = data.get("params") or {}
        declared = {TAKEN: kind or "timestamp", **params} if isinstance(params, dict) else params
        return {**data, "snapshot": snapshot, "params": declared}

    # The file of the spec, as given; for the header of generated files and for messages.
    _origin: str = PrivateAttr(default="inline")
    # Of a spec of one of several sources: the name of that source, and the spec with all of them.
    _feed: str = PrivateAttr(default="")
    _whole: Spec | None = PrivateAttr(default=None)
    # Of a spec in a target (environment): its name, and the folder of the table's name as the file has it.
    _environment: tuple[str, str] = PrivateAttr(default=("", ""))

    @property
    def origin(self) -> str:
        """Return where the spec was read from: a path, or ``inline``."""
        return self._origin

    def placed_at(self, origin: str) -> Spec:
        """Return a copy of the spec that was read from there: a path, or ``inline``."""
        return self._placed(origin, self._feed, self._whole)

    def _placed(self, origin: str, feed: str, whole: Spec | None) -> Spec:
        placed = self.model_copy()
        placed._origin, placed._feed, placed._whole = origin, feed, whole
        return placed

    @property
    def feed(self) -> str:
        """Return the name of the source among ``sources``; empty for a spec with one ``source``."""
        return self._feed

    @property
    def whole(self) -> Spec:
        """Return the spec as it is written, with all its sources."""
        return self._whole or self

    @property
    def feeds(self) -> tuple[Spec, ...]:
        """Return a spec of one source for each of ``sources``, the default first; only this one without them."""
        return tuple(self.for_feed(name) for name in self.whole.sources) or (self,)

    def for_feed(self, name: str | None = None) -> Spec:
        """Return the spec with one of its sources, as if it were the only one; by default the one that it has.

        Of a spec that has none yet, as it is written, the default is the first. Raises :class:`UsageError` for an
        unknown name.
        """
        names = list(self.whole.sources)
        if name is None:
            return self if self._whole is not None or not names else self._of_feed(names[0])
        if name == self.feed:
            return self
        if name not in names:
            what = f"{self.target} has one source; leave it out, or write 'sources:' in the spec"
            if names:
                hint = nearest(name, names) or f"; the feeds are {', '.join(names)}"
                what = f"{self.target} has no feed '{name}'{hint}"
            raise UsageError(what, option="--feed", value=name)
        return self._of_feed(name)

    def _of_feed(self, name: str) -> Spec:
        whole, source = self.whole, self.whole.sources[name]
        # 1. What does not depend on the source is that of this spec, which may be a changed copy.
        given = {field: getattr(self, field) for field in self.model_fields_set - {"source", "sources"}}
        # 2. An option that only some sources take is theirs. One that no source takes stays in all of them, so that the
        # rules refuse it.
        for choice, field in type(self).model_fields.items():
            if not option_of(field).refused:
                continue
            given.pop(choice, None)
            value = getattr(whole, choice)
            takes = {feed for feed, other in whole.sources.items() if option_of(field).applies(other.traits, value)}
            if choice in whole.model_fields_set and (name in takes or not takes):
                given[choice] = value
        # 3. A column, and the checkpoint of a stream, may be another one for each source.
        written = {column: whole.columns.get(column, options) for column, options in self.columns.items()}
        given["columns"] = {
            column: written[column].for_feed(name) if isinstance(written[column].from_, dict) else options
            for column, options in self.columns.items()
        }
        if (stream := given.get("stream")) and stream.checkpoint and name != next(iter(whole.sources)):
            given["stream"] = stream.model_copy(update={"checkpoint": f"{stream.checkpoint}.{name}"})
        return Spec.model_validate({"source": source, **given})._placed(self.origin, name, whole)

    def with_sources(self, sources: Mapping[str, Source]) -> Spec:
        """Return the spec with other options of its sources; the name of the only ``source`` is empty."""
        if not self.whole.sources:
            return self.model_copy(update={"source": sources[""]})
        return self.whole.model_copy(update={"sources": {**self.whole.sources, **sources}})._of_feed(self.feed)

    def file_name(self, name: str) -> str:
        """Return the name of a file that each source has: ``merge.sql`` of the default, ``merge.NAME.sql``."""
        if self.feed in ("", next(iter(self.whole.sources), "")):
            return name
        stem, _, rest = name.partition(".")
        return f"{stem}.{self.feed}.{rest}"

    @property
    def time_zone(self) -> str:
        """Return the time zone in which the SQL reads dates and texts as times; UTC if none is set."""
        return self.table.time_zone or "UTC"

    def in_zone(self, zone: str) -> Spec:
        """Return the spec with a time zone: that of its table, or of a session that creates it."""
        return self.model_copy(update={"table": self.table.model_copy(update={"time_zone": zone})})

    @property
    def rules(self) -> PatternOptions:
        """Return the rules of the spec's pattern."""
        return options_of(self.pattern)

    @property
    def keeps_history(self) -> bool:
        """Whether the table has versions."""
        return self.rules.keeps_history

    @property
    def reads_snapshot(self) -> bool:
        """Whether the source is a full extract."""
        return self.source.feed == "snapshot"

    @property
    def each(self) -> str | None:
        """Return the expression of the date of a row, if the source has several snapshots."""
        return self.snapshot.each if self.snapshot and self.reads_snapshot else None

    def needs_dates(self, params: Iterable[str]) -> bool:
        """Whether a run with these params looks for the dates of its snapshots."""
        return self.each is not None and TAKEN not in params

    @property
    def reads_versions(self) -> bool:
        """Whether the source has the whole history of each of its keys."""
        return self.source.feed == "versions"

    @property
    def deletes(self) -> str:
        """Return ``on_delete``, by default that of the pattern."""
        return self.on_delete or self.rules.deletes[0]

    @property
    def late(self) -> str:
        """Return ``late_arriving``, by default that of the feed."""
        return self.late_arriving or ("fail" if self.reads_snapshot else "apply")

    def loses_empty_text(self, column: str) -> bool:
        """Return whether the table gives empty text of a column back as NULL, as Delta does in a partition."""
        return column in self.table.partition_by and self.columns[column].type.startswith(("STRING", "VARCHAR"))

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return the columns that create.sql partitions the table by: ``partition_by``, or the flag by ``layout``."""
        flag = self.history.is_current
        return (flag.name,) if flag and self.layout == "split" else self.table.partition_by

    @property
    def clustering(self) -> tuple[str, ...]:
        """Return the columns that create.sql clusters the table by: ``cluster_by``, or those of ``layout: cluster``.

        Files are skipped by the minimum and maximum of a column, which Delta does not have for every type of a key.
        """
        if self.layout != "cluster":
            return self.table.cluster_by
        ends = [self.recorded.to] if self.recorded else []
        listed = {name: self.columns[name].type for name in self.keys if name in self.columns}
        keys = [name for name, kind in listed.items() if not kind.startswith(UNCLUSTERED)]
        return (*ends, self.history.valid_to, *keys)[:MOST_CLUSTERED]

    @property
    def layout(self) -> Literal["split", "cluster", "none"]:
        """Return what ``table.layout`` means for the table.

        ``auto`` is not for a ``location``: a table without the partitions may be there that no catalog knows, and
        CREATE refuses to register it with them.
        """
        table = self.table
        if not self.keeps_history or table.layout == "none":
            return "none"
        if table.layout == "auto":
            return "split" if self.flag_splits and not table.is_laid_out else "none"
        return table.layout

    @property
    def flag_splits(self) -> bool:
        """Whether the flag of open versions can be a partition, which reads empty text back as NULL."""
        flag = self.history.is_current
        has_flag = self.keeps_history and "history.is_current" not in self.rules.without
        return has_flag and flag is not None and "" not in (flag.open, flag.closed)

    @property
    def tracked(self) -> list[str]:
        """Return the columns whose changes open a version."""
        return [name for name, column in self.columns.items() if column.track and name not in self.keys]

    @property
    def derived(self) -> dict[str, str]:
        """Return column -> expression, for the columns that are computed from a version's start, not from a source row.

        These are untracked columns whose expression reads only ``history.valid_from``: a row in the middle of a version
        would give another value than its start.
        """
        start = self.history.valid_from.lower()
        return {
            name: column.expression
            for name, column in self.columns.items()
            if self.keeps_history and not column.track and column.expression
            if (read := sql.expression(column.expression)).columns == {start} and read.bare is None
        }

    @property
    def history_columns(self) -> tuple[tuple[str, str], ...]:
        """Return (option, column name) of each history column, in the table's order; none without history."""
        if not self.keeps_history:
            return ()
        inferred = self.members.inferred
        return (*self.history.names(), *((("inferred", inferred.flag),) if inferred else ()))

    @property
    def recorded(self) -> Recorded | None:
        """Return the columns of the second axis of time; ``None`` without one, or without history."""
        return self.history.recorded if self.keeps_history else None

    @property
    def recorded_columns(self) -> tuple[tuple[str, str], ...]:
        """Return (option, column name) of each of them, in the table's order; none without them."""
        return self.recorded.names() if self.recorded else ()

    @property
    def stored_sequence(self) -> Sequence | None:
        """Return the column that keeps ``sequence_by``, if the spec has one."""
        return self.history.sequence if self.keeps_history else self.sequence

    @property
    def target_parts(self) -> tuple[str, ...]:
        """Return the target's name in one to three parts."""
        return sql.split_name(self.target)

    @property
    def environment(self) -> str:
        """Return the target (environment) whose names the spec has; empty for a spec with its own."""
        return self.whole._environment[0]

    def in_environment(self, name: str, folder: str) -> Spec:
        """Return the spec, which has the names of a target, with the folder that it has without one."""
        placed = self.model_copy()
        placed._environment = name, folder
        return placed

    @property
    def folder(self) -> str:
        """Return the folder of the spec's files below ``generated/``, as :func:`~scdgen.paths.folder_name` names it."""
        return self.whole._environment[1] or folder_name(self.target_parts)

    def column_source(self, name: str) -> str:
        """Return the SQL expression over a source row for a column."""
        return self.columns[name].expression or sql.quote(name)


def choose_feeds(specs: Iterable[Spec], feed: str | None) -> list[Spec]:
    """Return the specs with the source of this name, if given; a spec with one source keeps it.

    Raises :class:`UsageError` if no spec has several sources, or one that has them lacks the name.
    """
    listed = list(specs)
    if feed is None:
        return listed
    if not any(spec.feed for spec in listed):
        return [spec.for_feed(feed) for spec in listed]  # raises the error
    return [spec.for_feed(feed) if spec.feed else spec for spec in listed]
