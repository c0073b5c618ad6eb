"""The spec as a tree of frozen models: one YAML file, one target table.

Field names, defaults and meanings are those of the spec format, version 1. The models check each field alone; what
spans fields is in :mod:`scdgen.spec.rules`. Text that is SQL is read on the way in, so that a spec in memory holds
nothing but single expressions, single SELECTs and known types.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)

from scdgen import sql
from scdgen.sql.types import data_type

RESERVED_PREFIX = "_scd_"
DEFAULT_PROPERTIES = {"delta.enableDeletionVectors": "true"}  # of the table, unless table.properties says otherwise


class Model(BaseModel):
    """Frozen, and strict about keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _reads_as(read: Callable[[str], object]) -> AfterValidator:
    def check(text: str) -> str:
        read(text)
        return text

    return AfterValidator(check)


def _plain(value: object) -> object:
    """YAML reads an unquoted date or true as more than text; a literal wants the text."""
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, dt.date) else value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _no_control(text: str) -> str:
    text = text.rstrip("\n")  # as | and > leave it
    if text.splitlines() not in ([], [text]):  # in a comment of the SQL, what some reader takes for the next line runs
        raise ValueError("holds a line break; write it on one line, or after > so that YAML joins the lines")
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError("holds a control character; write plain text")
    return text


def _as_text(value: object) -> object:
    """A value of a property: YAML reads an unquoted number or true as more than text."""
    if isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return _plain(value)


def _name(text: str) -> str:
    if not text.strip() or text != text.strip():
        raise ValueError(f"'{text}' is not a name; write one without spaces around it")
    if text.lower().startswith(RESERVED_PREFIX):
        told = f"begins with {RESERVED_PREFIX}, which the generated SQL keeps for itself"
        raise ValueError(f"'{text}' {told}; name it otherwise")
    return _no_control(text)


Name = Annotated[str, AfterValidator(_name)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_listed)]
TableName = Annotated[str, _reads_as(sql.split_name)]
Expression = Annotated[str, _reads_as(sql.expression)]
Expressions = Annotated[tuple[Expression, ...], BeforeValidator(_listed)]
Query = Annotated[str, _reads_as(sql.query)]
DataType = Annotated[str, AfterValidator(data_type)]
Text = Annotated[str, AfterValidator(_no_control)]
Scalar = Annotated[str | int | bool | None, BeforeValidator(_plain)]
Properties = dict[Text, Annotated[Text, BeforeValidator(_as_text)]]


class Source(Model):
    """Where rows come from: a table, a SELECT or a path."""

    table: TableName | None = None
    query: Query | None = None
    path: Text | None = None
    format: Literal["csv", "json", "parquet", "delta"] | None = None
    options: Properties = Field(default_factory=dict)
    feed: Literal["changes", "snapshot"] = "changes"
    effective_at: Expression | None = None
    sequence_by: Expressions = ()
    delete_when: Expression | None = None
    where: Expression | None = None


class Column(Model):
    """One column of the target."""

    type: DataType
    from_: Expression | None = Field(default=None, alias="from")
    comment: Text | None = None
    nullable: bool = True
    track: bool = True
    nulls: Literal["value", "ignore", "fill"] = "value"
    merge: Literal["last", "first", "min", "max"] = "last"

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"type": value} if isinstance(value, str) else value


class Flag(Model):
    """The column that says whether a version is the open one."""

    name: Name = "is_current"
    type: DataType = "BOOLEAN"
    open: Scalar = True
    closed: Scalar = False

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value


class History(Model):
    """The columns that make versions of rows (scd2)."""

    type: Literal["timestamp", "date", "bigint"] = "timestamp"
    valid_from: Name = "valid_from"
    valid_to: Name = "valid_to"
    open_end: Scalar = None
    gap: Annotated[str | int | None, BeforeValidator(_plain)] = None
    is_current: Flag | None = Flag()
    row_hash: Name | None = None
    surrogate_key: Name | None = None
    action: Name | None = None
    deleted: Name | None = None

    def names(self) -> tuple[tuple[str, str], ...]:
        """(option, column name) of each history column, in the order in which the table has them."""
        flag = self.is_current.name if self.is_current else None
        listed = (
            ("surrogate_key", self.surrogate_key),
            ("valid_from", self.valid_from),
            ("valid_to", self.valid_to),
            ("is_current", flag),
            ("row_hash", self.row_hash),
            ("action", self.action),
            ("deleted", self.deleted),
        )
        return tuple((option, name) for option, name in listed if name is not None)


class Table(Model):
    """How the target is stored."""

    format: Literal["delta"] = "delta"
    partition_by: Names = ()
    cluster_by: Names = ()
    properties: Properties = Field(default_factory=dict)
    location: Text | None = None


class Snapshot(Model):
    """What a full extract speaks for, and when it is not to be believed."""

    taken_at: Expression = "current_timestamp()"
    scope: Expression | None = None
    allow_empty: bool = False
    max_deleted: Annotated[float, Field(ge=0, le=1)] = 1.0


class Param(Model):
    """A value given at run time, a session variable in SQL."""

    type: DataType
    default: Annotated[str | int | float | bool | None, BeforeValidator(_plain)] = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"type": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Param:
        if self.default is not None:
            sql.param_value(self.default, self.type)
        return self


class Check(Model):
    """An integrity check of the spec's own: a query of the rows that break it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    query: Query


class Views(Model):
    """Names of the views to create."""

    current: TableName | None = None
    as_of: TableName | None = None


class Stream(Model):
    """What ``scdgen stream`` reads with, and where it keeps its place."""

    options: Properties = Field(default_factory=dict)
    checkpoint: Text | None = None


class Spec(Model):
    """One target table: where its rows come from, what they mean, how they are stored."""

    target: TableName
    description: Text | None = None
    pattern: Literal["scd2", "scd1"]
    source: Source
    keys: Names
    columns: dict[Name, Column]
    history: History = History()
    table: Table = Table()
    updated_at: Name | None = None
    schema_evolution: Literal["fail", "add_columns"] = "fail"
    on_delete: Literal["close", "mark", "ignore", "remove"] | None = None
    unchanged: Literal["skip", "keep"] = "skip"
    late_arriving: Literal["apply", "ignore", "fail"] | None = None
    bad_rows: Literal["fail", "skip"] = "fail"
    conflicts: Literal["fail", "any"] = "fail"
    snapshot: Snapshot | None = None
    params: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")], Param] = Field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    views: Views = Views()
    stream: Stream | None = None

    # Where the spec was read, as given; for the header of the files and for messages.
    _origin: str = PrivateAttr(default="inline")

    @property
    def origin(self) -> str:
        """Where the spec was read: a path, or ``inline``."""
        return self._origin

    def placed_at(self, origin: str) -> Spec:
        """The same spec, said to come from ``origin``."""
        self._origin = origin
        return self

    @property
    def is_scd2(self) -> bool:
        """Whether rows have versions."""
        return self.pattern == "scd2"

    @property
    def is_snapshot(self) -> bool:
        """Whether the source is the whole truth at one time."""
        return self.source.feed == "snapshot"

    @property
    def deletes(self) -> str:
        """What a delete does, the pattern's default filled in."""
        return self.on_delete or ("close" if self.is_scd2 else "remove")

    @property
    def late(self) -> str:
        """What happens to late-arriving rows, the feed's default filled in."""
        return self.late_arriving or ("fail" if self.is_snapshot else "apply")

    @property
    def target_parts(self) -> tuple[str, ...]:
        """The target's name in one to three parts."""
        return sql.split_name(self.target)

    @property
    def folder(self) -> str:
        """The folder of the spec's files below ``generated/``: the target's name without quotes."""
        return ".".join(self.target_parts)

    def column_source(self, name: str) -> str:
        """The SQL expression over a source row that gives a column."""
        return self.columns[name].from_ or sql.quote(name)
