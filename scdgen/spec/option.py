"""What an option of a spec says of itself, at its field: :class:`Option`, next to its type and its description."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from scdgen import sql

Location = tuple[int | str, ...]


class Rows(Enum):
    """The rows over which the SQL of an option is evaluated."""

    NONE = "none: it is a query, or one value for the whole run"
    SOURCE = "rows of the source, with its columns"
    JOINED = "rows of one table of source.join"
    TARGET = "rows with the columns of the target"
    FACTS = "rows of the facts that name keys of the table"


@dataclass(frozen=True)
class Sql:
    """In the type of an option: its text is SQL, which ``read`` parses; raises ``ValueError`` for another text."""

    read: Callable[[str], sql.Fragment]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, text: str) -> str:
        self.read(text)
        return text


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option says of itself. A field without one holds no SQL."""

    over: Rows | None = None
    """Of SQL: the rows over which it is evaluated. Every option that holds SQL says it."""
    file: str = "merge.sql"
    """Of SQL: the generated file that it is for. Only that of ``merge.sql`` is part of every run."""
    may_vary: bool = False
    """Of SQL: whether it may give another value each time, such as ``current_date()`` does."""


_PLAIN = Option()


def option_of(field: FieldInfo) -> Option:
    """Return what an option says of itself."""
    return next((part for part in field.metadata if isinstance(part, Option)), _PLAIN)


def without_option(kind: Any) -> Any:
    """Return a type without the :class:`Option` that an ``Annotated`` adds to it.

    >>> without_option(Annotated[str, Option()])
    <class 'str'>
    """
    if get_origin(kind) is not Annotated:
        return kind
    base, *parts = get_args(kind)
    kept = [part for part in parts if not isinstance(part, Option)]
    return Annotated[(base, *kept)] if kept else base


class _Field(NamedTuple):
    """A field that holds SQL, or models with such fields: its name in Python and in a spec, its option, its SQL."""

    name: str
    key: str
    option: Option
    sql: Sql | None
    has_many: bool


@functools.cache
def _sql_fields(model: type[BaseModel]) -> tuple[_Field, ...]:
    found = [
        _Field(name, field.alias or name, option_of(field), find_sql(field), _has_many(field.annotation))
        for name, field in model.model_fields.items()
        if find_sql(field) or _nests(field.annotation)
    ]
    return tuple(sorted(found, key=lambda field: field.sql is not None and field.has_many))


def find_sql(field: FieldInfo) -> Sql | None:
    """Return the SQL that an option holds, by its type: as its value, in a list, or in a mapping."""

    def find(kind: Any) -> Iterator[Sql]:
        for part in get_args(kind):
            if isinstance(part, Sql):
                yield part
            yield from find(part)

    own = (part for part in field.metadata if isinstance(part, Sql))
    return next(own, None) or next(find(field.annotation), None)


def _has_many(kind: Any) -> bool:
    return get_origin(kind) in (dict, tuple)


def _nests(kind: Any) -> bool:
    return (isinstance(kind, type) and issubclass(kind, BaseModel)) or any(map(_nests, get_args(kind)))


@dataclass(frozen=True)
class SqlText:
    """One piece of SQL in a spec."""

    place: Location
    """Where it is in the spec, such as ``("columns", "name", "from")``."""
    text: str
    """The SQL as it is written."""
    option: Option
    """What its option says of itself."""
    read: Callable[[str], sql.Fragment]
    """Parses it, as one expression or as one query."""

    @property
    def name(self) -> str:
        """Return the name of its option, or of its entry in a mapping."""
        return next(step for step in reversed(self.place) if isinstance(step, str))

    @property
    def fragment(self) -> sql.Fragment:
        """Return the SQL as it is read: its text in the generated SQL, its columns, its params."""
        return self.read(self.text)


def sql_texts(model: BaseModel, place: Location = ()) -> Iterator[SqlText]:
    """Yield every piece of SQL in a spec, or in a part of it at ``place``.

    They come in the order of the models; in each model, options with one text come before those with several.
    """
    for field in _sql_fields(type(model)):
        for step, value in _entries(getattr(model, field.name)):
            if isinstance(value, BaseModel):
                yield from sql_texts(value, (*place, field.key, *step))
            elif isinstance(value, str) and field.sql is not None:
                yield SqlText((*place, field.key, *step), value, field.option, field.sql.read)


def _entries(value: object) -> Iterator[tuple[Location, object]]:
    """Yield (place, value) of what an option holds: one value, or the entries of a list or of a mapping."""
    if isinstance(value, dict):
        yield from (((key,), entry) for key, entry in value.items())
    elif isinstance(value, tuple):
        yield from (((index,), entry) for index, entry in enumerate(value))
    else:
        yield (), value
