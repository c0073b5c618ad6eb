"""The names of the tables that specs read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scdgen import sql
from scdgen.spec.model import Spec
from scdgen.spec.rules import sql_texts


def table_names(specs: Iterable[Spec]) -> Iterator[tuple[str, ...]]:
    """Targets, views, and every table that is read, checks included, in one to three parts."""
    for spec in specs:
        yield from written_names(spec)
        yield from read_names(spec)
        for check in spec.checks:
            yield from _named_in(sql.query(check.query))


def written_names(spec: Spec) -> Iterator[tuple[str, ...]]:
    """The target, and the views of it."""
    yield spec.target_parts
    for name in (spec.views.current, spec.views.as_of):
        if name is not None:
            yield sql.split_name(name)


def read_names(spec: Spec) -> Iterator[tuple[str, ...]]:
    """What a run reads: the source, and the tables named in the query, in expressions and in params' defaults.

    A table function, such as ``crm.customer_as_of(…)``, counts as a table. Checks are not part of a run.
    """
    if spec.source.table is not None:
        yield sql.split_name(spec.source.table)
    for place, read, text in sql_texts(spec):
        if place[0] != "checks":
            yield from _named_in(read(text))
    for param in spec.params.values():
        if param.default is not None:
            yield from _named_in(sql.expression(sql.param_value(param.default, param.type)))


def _named_in(read: sql.Fragment) -> list[tuple[str, ...]]:
    return sorted(parts for parts in read.tables if all(parts))  # a built-in table function has an empty name
