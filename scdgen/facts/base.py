"""The base of all facts, and what most templates need: the header of a file, and the columns of a source row.

Each template has a frozen dataclass of facts, which names it: names, types, flags and fragments of SQL, never whole
clauses. A macro's parameter is named after the dataclass that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

from scdgen import sql
from scdgen.errors import printable
from scdgen.facts.columns import Field
from scdgen.model.spec import Spec

F = TypeVar("F", bound="Facts")


@dataclass(frozen=True)
class Facts:
    """What a template reads as ``ctx``: the base of a frozen dataclass, which names its template.

    ``class Create(Facts, template="create.sql.j2")``. Without a template it is a base of others, or has that of its
    own base.
    """

    template: ClassVar[str]
    """The file, below the folder of templates."""

    def __init_subclass__(cls, template: str | None = None) -> None:
        """Bind the class to its template."""
        if template is not None:
            cls.template = template

    @classmethod
    def like(cls: type[F], other: Facts) -> F:
        """Return the facts of another template for the one of this class; ``other`` has all of its fields."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(cls)})


@dataclass(frozen=True)
class Head:
    """The header of a file: its table and its spec."""

    target: str
    """The quoted name of the table."""
    description: str | None
    """The description of the table; ``None`` without one."""
    origin: str
    """The file of the spec, on one line."""
    feed: str = ""
    """The name of the source that the file reads; empty if the spec has only one."""
    merge: str = "merge.sql"
    """The name of the merge.sql that reads this source."""
    rejects: str = ""
    """The name of its rejects.sql; empty without a quarantine."""

    @classmethod
    def of(cls, spec: Spec) -> Head:
        """Return the header of a spec's files."""
        # The origin is printed in a comment, which a line break in a file's name would end.
        return cls(sql.quote_parts(spec.target_parts), spec.description, printable(spec.origin))

    @classmethod
    def of_feed(cls, spec: Spec) -> Head:
        """Return the header of a file that reads the source."""
        rejects = spec.file_name("rejects.sql") if spec.quarantine else ""
        return replace(cls.of(spec), feed=spec.feed, merge=spec.file_name("merge.sql"), rejects=rejects)


def values_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the columns that are not keys."""
    return tuple(field for field in fields if not field.is_key)


def literals(properties: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Convert table properties to pairs of SQL literals."""
    return tuple((sql.text_literal(name), sql.text_literal(value)) for name, value in properties.items())
