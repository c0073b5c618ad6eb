"""The tables that specs read and write: which spec reads whose table, and the order of a run.

Two names are the same table if they are equal, ignoring case. A name without a schema is in the schema ``default``, as
in the embedded session. A name without a catalog matches one with a catalog if the rest is equal and only one of the
given specs has such a table; if several have, the catalog must be written.
"""

from __future__ import annotations

import graphlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.errors import Problem, SpecError
from scdgen.model.option import Location, sql_texts
from scdgen.model.spec import Spec

Name = tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """A table that a spec reads: its name as written, and the spec that writes it, if one of them does.

    ``feed`` names the source that reads it, if that is another one than the source of the run.
    """

    name: str
    writer: Spec | None = None
    feed: str = ""


@dataclass(frozen=True)
class Step:
    """One spec of a run, and what it reads."""

    spec: Spec
    reads: tuple[Read, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the targets of the other specs that must run before this one."""
        writers = (read.writer for read in self.reads if not read.feed)
        return tuple(dict.fromkeys(w.target for w in writers if w is not None and w is not self.spec))


def steps(specs: Sequence[Spec], infer: bool = False) -> list[Step]:
    """Order the specs, each after those whose target or view it reads; ties keep the given order.

    With ``infer``, a spec also reads the facts of its ``members.inferred``.

    Raises :class:`SpecError` if specs read each other in a circle, or if a name could be the table of two specs.
    A spec may read its own target, as a watermark does.
    """
    writers = [(full_name(parts), spec) for spec in specs for _, parts in find_written(spec)]
    found = [Step(spec, _reads(spec, writers, infer)) for spec in specs]
    place = {spec.target: index for index, spec in enumerate(specs)}
    sorter = graphlib.TopologicalSorter(
        {index: [place[target] for target in step.needs] for index, step in enumerate(found)}
    )
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        raise _circle(specs, error.args[1]) from error
    ready: list[int] = []
    done: list[Step] = []
    while sorter.is_active():
        for index in sorter.get_ready():
            heapq.heappush(ready, index)
        first = heapq.heappop(ready)
        done.append(found[first])
        sorter.done(first)
    return done


def find_table_names(specs: Iterable[Spec]) -> Iterator[Name]:
    """Yield what is written or read, by checks, lookups and members too, each name in one to three parts."""
    for spec in specs:
        yield from (parts for _, parts in find_written(spec))
        yield from [sql.split_name(spec.quarantine)] if spec.quarantine else []
        yield from find_read_names(spec)
        for found in sql_texts(spec):
            if found.option.file != "merge.sql":
                yield from _named_in(found.fragment)
        yield from (sql.split_name(lookup.fact) for lookup in spec.lookups.values() if lookup.fact is not None)
        yield from find_fact_names(spec)


def find_written(spec: Spec) -> Iterator[tuple[Location, Name]]:
    """Yield the places and the names of the target, its views and its lookups."""
    yield ("target",), spec.target_parts
    yield from ((("views", option), sql.split_name(name)) for option, name in spec.views if name)
    yield from ((("lookups", name), sql.split_name(name)) for name in spec.lookups)


def find_read_names(spec: Spec) -> Iterator[Name]:
    """Yield what a run reads: the source, and the tables named in the query, in expressions and in params' defaults.

    A table function, such as ``crm.customer_as_of(…)``, counts as a table. Checks, lookups and members are not part of
    a run; facts are read by ``run --infer``.
    """
    if spec.source.table is not None:
        yield sql.split_name(spec.source.table)
    for joined in spec.source.join.values():
        yield sql.split_name(joined.table)
    for found in sql_texts(spec):
        if found.option.file == "merge.sql":
            yield from _named_in(found.fragment)
    for param in spec.params.values():
        if param.read:
            yield from _named_in(param.read)


def find_fact_names(spec: Spec) -> Iterator[Name]:
    """Yield the tables that ``run --infer`` reads before the MERGE."""
    if inferred := spec.members.inferred:
        yield sql.split_name(inferred.fact)
        for found in sql_texts(inferred):
            yield from _named_in(found.fragment)


def _named_in(read: sql.Fragment) -> list[Name]:
    return sorted(parts for parts in read.tables if all(parts))  # a built-in table function has an empty name


def full_name(parts: Name) -> Name:
    """Return a name in its form for comparisons: lower case, with a schema.

    >>> full_name(("Customer",)), full_name(("main", "CRM", "customer"))
    (('default', 'customer'), ('main', 'crm', 'customer'))
    """
    lower = tuple(part.lower() for part in parts)
    return lower if len(lower) > 1 else ("default", *lower)


def _reads(spec: Spec, writers: Sequence[tuple[Name, Spec]], infer: bool) -> tuple[Read, ...]:
    found = _reads_of_feed(spec, writers, infer)
    for feed in spec.feeds:
        known = {read.name for read in found}
        found += [replace(r, feed=feed.feed) for r in _reads_of_feed(feed, writers, infer) if r.name not in known]
    return tuple(found)


def _reads_of_feed(spec: Spec, writers: Sequence[tuple[Name, Spec]], infer: bool) -> list[Read]:
    names: dict[Name, Name] = {}
    for parts in (*find_read_names(spec), *(find_fact_names(spec) if infer else ())):
        names.setdefault(full_name(parts), parts)
    found = [Read(sql.quote_parts(parts), find_writer(spec, name, parts, writers)) for name, parts in names.items()]
    if spec.source.path is not None:
        found.insert(0, Read(spec.source.path))
    return found


def find_writer(spec: Spec, name: Name, parts: Name, writers: Sequence[tuple[Name, Spec]]) -> Spec | None:
    """Find the spec that writes a table; raises :class:`SpecError` if it could be several."""
    same = [(other, writer) for other, writer in writers if other == name]
    if not same:
        same = [(other, writer) for other, writer in writers if len(other) != len(name) and other[-2:] == name[-2:]]
    if len(same) > 1:
        listed = " or ".join(f"{'.'.join(other)} of {writer.origin}" for other, writer in same)
        shown = sql.quote_parts(parts)
        message = f"reads {shown}, which can be {listed}; write the catalog, or give each another name"
        raise SpecError([Problem(spec.origin, 0, 0, message)])
    return same[0][1] if same else None


def _circle(specs: Sequence[Spec], circle: Sequence[int]) -> SpecError:
    """Return the error of specs in a circle, whose first index is repeated at its end."""
    start = circle.index(min(circle))  # begin with the spec that was given first
    turned = [specs[index] for index in (*circle[start:-1], *circle[:start])]
    path = " -> ".join([*(f"{spec.target} ({spec.origin})" for spec in turned), turned[0].target])
    message = f"the specs read one another in a circle, so that none can be first: {path}; take out one of the reads"
    return SpecError([Problem(turned[0].origin, 0, 0, message)])
