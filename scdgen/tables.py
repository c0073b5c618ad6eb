"""The names of the tables that specs read and write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scdgen import sql
from scdgen.rules import sql_texts
from scdgen.spec import Spec


def table_names(specs: Iterable[Spec]) -> Iterator[tuple[str, ...]]:
    """Targets, sources, views, and the tables named in queries, each in one to three parts."""
    for spec in specs:
        yield spec.target_parts
        for name in (spec.source.table, spec.views.current, spec.views.as_of):
            if name is not None:
                yield sql.split_name(name)
        for _, read, text in sql_texts(spec):
            yield from read(text).tables
