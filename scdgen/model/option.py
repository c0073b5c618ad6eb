"""What an option of a spec says of itself, at its field: :class:`Option`, next to its type and its description."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from scdgen import sql

Location = tuple[int | str, ...]
Trait = Literal["changes", "snapshot", "versions", "table", "query", "path", "join", "untimed"]
"""What a source is: its feed, where its rows come from, and ``untimed`` if ``effective_at`` is not given."""


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


class Need(Enum):
    """What a pattern must do so that an option means something; see :attr:`PatternOptions.without`."""

    VERSIONS = "open a version for a change"
    PAST = "keep versions to look back on"
    UPDATES = "change stored rows"
    DELETES = "delete keys"
    ONE_ROW = "keep one row per key, which changes overwrite"


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """The sources that an option is not for: those with all traits of ``when`` and without ``unless``."""

    when: tuple[Trait, ...] = ()
    unless: Trait | None = None
    values: tuple[object, ...] = ()
    """The values that are refused; every value if there are none."""
    message: str
    """The message, after the option's name and a colon."""

    def holds(self, traits: frozenset[Trait], value: object) -> bool:
        """Whether a source with these traits refuses a value."""
        of_source = traits.issuperset(self.when) and self.unless not in traits
        return of_source and (not self.values or value in self.values)


def not_with(trait: Trait, why: str) -> Refusal:
    """Refuse an option with a kind of source, where what ``why`` says holds.

    >>> not_with("snapshot", "no row is late; remove it").message
    'not with feed: snapshot, where no row is late; remove it'
    """
    what = f"feed: {trait}" if trait in ("changes", "snapshot", "versions") else trait
    return Refusal(when=(trait,), message=f"not with {what}, where {why}")


def only_with(trait: Trait, what: str) -> Refusal:
    """Refuse an option with any other kind of source; ``what`` is the rest of the message.

    >>> only_with("path", "'path:' only; remove it").message
    "goes with 'path:' only; remove it"
    """
    return Refusal(unless=trait, message=f"goes with {what}")


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option says of itself. A field without one is for every pattern and source, and holds no SQL."""

    needs: Need | None = None
    """What a pattern must do to have the option."""
    otherwise: str = ""
    """The end of the message of a pattern that does not do it, unless the pattern has one for all such options."""
    refused: tuple[Refusal, ...] = ()
    """The sources that the option is not for. With several sources, the others take its value."""
    on_key: Literal["kept", "ignored", "refused"] = "kept"
    """Of a column: what becomes of the option if the column is a key."""
    in_json: Literal["always", "if_set", "if_applies"] = "always"
    """When ``spec.json`` has the option: ``if_set`` to another value than its default, ``if_applies`` to the source. It
    never has one that the pattern lacks, or that a key column ignores."""
    over: Rows | None = None
    """Of SQL: the rows over which it is evaluated. Every option that holds SQL says it."""
    file: str = "merge.sql"
    """Of SQL: the generated file that it is for. Only that of ``merge.sql`` is part of every run."""
    may_vary: bool = False
    """Of SQL: whether it may give another value each time, such as ``current_date()`` does."""

    def applies(self, traits: frozenset[Trait], value: object) -> bool:
        """Whether a source with these traits takes a value of the option."""
        return not any(refusal.holds(traits, value) for refusal in self.refused)


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


def find_model(kind: object) -> tuple[type[BaseModel] | None, bool]:
    """Return the model in an option's type, if any, and whether the option holds many values."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind, False
    found = next(filter(None, (find_model(part)[0] for part in get_args(kind))), None)
    return found, get_origin(kind) in (dict, tuple)


class _Field(NamedTuple):
    """A field of a model: its name in Python and in a spec, its option, and what its type says of its values."""

    name: str
    key: str
    option: Option
    sql: Sql | None
    nests: bool  # holds models
    has_many: bool


@functools.cache
def _fields(model: type[BaseModel]) -> tuple[_Field, ...]:
    return tuple(
        _Field(name, field.alias or name, option_of(field), find_sql(field), nested is not None, has_many)
        for name, field in model.model_fields.items()
        for nested, has_many in [find_model(field.annotation)]
    )


@functools.cache
def _sql_fields(model: type[BaseModel]) -> tuple[_Field, ...]:
    found = (field for field in _fields(model) if field.sql or field.nests)
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


@dataclass(frozen=True)
class Given:
    """An option at its place in a spec, set or not."""

    place: Location
    """Where it is in the spec, such as ``("columns", "name", "merge")``."""
    path: str
    """Where it is in every spec, with ``*`` for any name: ``columns.*.merge``."""
    option: Option
    """What it says of itself."""
    holder: BaseModel
    """The part of the spec that has it."""
    field: str
    """Its name in Python."""

    @property
    def name(self) -> str:
        """Return its name."""
        return str(self.place[-1])

    @property
    def value(self) -> object:
        """Return its value, or its default."""
        return getattr(self.holder, self.field)

    @property
    def differs(self) -> bool:
        """Whether its value is not the default."""
        return bool(self.value != self._default)

    @property
    def is_set(self) -> bool:
        """Whether the spec has it; ``null`` does not count if it is the default."""
        return self.field in self.holder.model_fields_set and not (self.value is None and self._default is None)

    @property
    def _default(self) -> object:
        return type(self.holder).model_fields[self.field].get_default(call_default_factory=True)


def walk(model: BaseModel, place: Location = (), above: str = "") -> Iterator[Given]:
    """Yield every option of a spec, or of a part of it at ``place``, in the order of the models.

    ``above`` is the path of that part, ending in a dot.
    """
    for field in _fields(type(model)):
        path, at = f"{above}{field.key}", (*place, field.key)
        yield Given(at, path, field.option, model, field.name)
        for step, value in _entries(getattr(model, field.name)) if field.nests else ():
            if isinstance(value, BaseModel):
                yield from walk(value, (*at, *step), f"{path}.*." if step else f"{path}.")


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
