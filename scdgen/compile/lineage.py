"""Column lineage of a spec: the inputs that each column of the target is computed from, and those that decide it.

The inputs of an expression are found in its syntax tree. A column of a nested SELECT is represented by the tables of
that SELECT.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from scdgen import sql
from scdgen.facts.columns import Inputs
from scdgen.facts.source import SourceRow
from scdgen.model.spec import QUERY, Snapshot, Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.tokens import DIALECT


@dataclass(frozen=True)
class Input:
    """An input of a column or of a decision."""

    kind: str
    """``column`` of the source, ``fact``, ``param``, ``table``, or ``value``.

    ``fact`` is a column of the facts of a lookup or of inferred members, and ``value`` a constant expression.
    """
    name: str
    """Its name, of a param with a colon; of a ``value`` the text of the expression."""


@dataclass(frozen=True)
class Made:
    """A column of the target or of a view, or a decision on whole rows."""

    name: str
    """The name of the column, after that of its view and a dot; or what is decided, such as ``which rows are read``."""
    of: tuple[Input, ...]
    """The inputs that the column is computed from; none for a decision."""
    by: tuple[Input, ...] = ()
    """The inputs that only decide."""
    rule: bool = False
    """Whether it is a decision on whole rows."""


@dataclass(frozen=True)
class Lineage:
    """The lineage of one spec."""

    source: str
    """The table or path that the spec reads, or words for its SELECT or join."""
    made: tuple[Made, ...]
    """The columns of the target, then those of views, then the decisions."""


def lineage(spec: Spec) -> Lineage:
    """Return the lineage of every column of the target, in order, and of the decisions on rows."""
    given, seen = spec.source, _Names(spec)
    # 1. The columns of the spec: from an expression, or from the start of the version.
    columns = {name: seen.inputs(spec.column_source(name)) for name in spec.columns}
    own = seen.inputs(given.effective_at) if given.effective_at else seen.times_of_join()
    # A key that returns, or is missing, has the time of the snapshot.
    taken = seen.inputs((spec.snapshot or Snapshot()).taken_at) if spec.reads_snapshot and spec.keeps_history else ()
    time = _all([own, taken])
    for name in spec.derived:
        columns[name] = time
    made = [Made(name, of) for name, of in columns.items()]
    # 2. What the pattern names as the inputs of its own columns, in its words.
    keys = _all(columns[name] for name in spec.keys)
    sequence = _all(map(seen.inputs, given.sequence_by))
    deletes = seen.inputs(given.delete_when) if SourceRow(spec).flags_deletes else ()
    tracked = _all(seen.inputs(spec.column_source(name)) for name in spec.tracked)
    run = (Input("param", ":last_run") if "last_run" in spec.params else Input("value", "current_timestamp()"),)
    differs = tracked if spec.unchanged == "skip" else ()
    inputs: dict[Inputs, tuple[Input, ...]] = {
        "keys": keys, "time": time, "until": seen.inputs(given.effective_until), "tracked": tracked,
        "changes": _all([keys, differs, deletes]), "deletes": deletes, "run": run, "sequence": sequence,
        "now": (Input("value", "current_timestamp()"),), "id": (Input("value", "uuid()"),),
        "recorded": seen.inputs(spec.recorded.at) or (Input("value", spec.recorded.at),) if spec.recorded else (),
    }  # fmt: skip
    # 3. The columns that the pattern adds after those of the spec.
    for column in pattern_of(spec).columns(spec)[len(spec.columns) :]:
        of = _all(inputs[name] for name in column.made_of)
        by = _all(inputs[name] for name in column.decided_by)
        made.append(Made(sql.unquote(column.name), of, tuple(item for item in by if item not in of)))
    # 4. The columns of views: overlays, then lookups.
    for name, overlay in spec.overlays.items():
        for kind, shown in overlay.given:
            of, by = (time, columns[shown]) if kind == "since" else (columns[shown], time)
            made.append(Made(f"{spec.views.overlay}.{name}", of, tuple(item for item in by if item not in of)))
    of_columns = {each.name: each.of for each in made}
    for view, lookup in spec.lookups.items():
        by = _over_facts(spec, lookup.fact, [*lookup.keys.values(), lookup.at])
        made += [Made(f"{view}.{shown}", of_columns[name], by) for name, shown in lookup.shown.items()]
    # 5. The decisions about whole rows.
    inferred = spec.members.inferred
    of_facts = _over_facts(spec, inferred.fact, [*inferred.keys.values(), inferred.at]) if inferred else ()
    left_out = seen.inputs(given.delete_when) if spec.deletes == "ignore" else ()
    read = _all([seen.inputs(given.where), seen.inputs(spec.each), left_out, seen.conditions_of_join()])
    rules = (
        ("which rows are read", read),
        ("which rows are deletes", deletes),
        ("which rows empty the table", seen.inputs(given.truncate_when)),
        ("which columns a row sets", seen.inputs(given.sets)),
        ("which members are inferred", of_facts),
        ("which row counts", _all([() if spec.keeps_history or not given.effective_at else time, sequence])),
    )
    made += [Made(name, (), by, rule=True) for name, by in rules if by]
    # 6. Where the rows come from.
    called = given.table or given.path or ("the join of the spec" if given.join else "the SELECT of the spec")
    return Lineage(called, tuple(made))


def _over_facts(spec: Spec, fact: str | None, texts: Iterable[str | None]) -> tuple[Input, ...]:
    """Return the inputs of expressions over facts, whose columns are named with the table, if they are one."""
    return _all(map(_Names(spec, fact or "facts").inputs, texts))


def _all(groups: Iterable[Iterable[Input]]) -> tuple[Input, ...]:
    """Merge the inputs of several groups, each once."""
    return tuple(dict.fromkeys(item for group in groups for item in group))


class _Names:
    """Finds inputs in expressions over the source, or the table ``facts``; a column keeps its first spelling."""

    def __init__(self, spec: Spec, facts: str | None = None):
        given = spec.source
        table = facts or given.table
        self._relation = sql.split_name(table)[-1].lower() if table else QUERY if given.query else ""
        self._facts = facts
        self._join = {} if facts else {alias.lower(): joined for alias, joined in given.join.items()}
        self._since = given.changed_since
        self._spelled: dict[str, str] = {}

    def times_of_join(self) -> tuple[Input, ...]:
        """Return the inputs of the boundaries of a join: each start and each end of a version of its tables."""
        dated = ((alias, joined) for alias, joined in self._join.items() if joined.history is None)
        texts = ((alias, text) for alias, joined in dated for text in (joined.start, joined.end))
        return _all(self.inputs(text, alias) for alias, text in texts)

    def conditions_of_join(self) -> tuple[Input, ...]:
        """Return the inputs of what decides which rows of the joined tables are read, and which of them go together."""
        texts = [(alias, joined.where) for alias, joined in self._join.items()]
        texts += [("", text) for joined in self._join.values() for text in joined.on.values()]
        return _all(self.inputs(text, alias) for alias, text in (*texts, ("", self._since)))

    def inputs(self, text: str | None, alias: str = "") -> tuple[Input, ...]:
        """Return the inputs of an expression, in the order of its text; the expression itself if it has none.

        Of ``None`` there are none. ``alias`` is the joined table that it is over, if it need not say so.
        """
        if text is None:
            return ()
        tree = sqlglot.parse_one(text, dialect=DIALECT)
        found = [read for node in tree.find_all(exp.Column, exp.Placeholder, exp.Table, bfs=False)
                 if (read := self._input(node, alias))]  # fmt: skip
        return tuple(dict.fromkeys(found)) or (Input("value", " ".join(text.split())),)

    def _input(self, node: exp.Expression, alias: str) -> Input | None:
        if isinstance(node, exp.Placeholder):
            return Input("param", f":{node.name}")
        if isinstance(node, exp.Table):
            return Input("table", ".".join(part.name for part in node.parts))
        assert isinstance(node, exp.Column)
        parts = [part.name for part in node.parts]
        # The alias may be left out only outside of a subquery.
        if alias and parts[0].lower() != alias and not node.find_ancestor(exp.Select):
            parts.insert(0, alias)
        if joined := self._join.get(parts[0].lower()):
            name = f"{joined.table}.{parts[1]}"
            return Input("column", self._spelled.setdefault(name.lower(), name))
        qualified = len(parts) > 1 and parts[0].lower() == self._relation
        # In a subquery, a column without a table is most likely of the subquery's own.
        if node.find_ancestor(exp.Select) and not qualified:
            return None
        if len(parts) > 1 and parts[0].lower() == "session":
            return Input("param", f":{parts[1]}")
        name = parts[1] if qualified else parts[0]  # the column of a path into a struct
        # Show each name in the spelling that was found first.
        name = self._spelled.setdefault(name.lower(), name)
        return Input("fact", f"{self._facts}.{name}") if self._facts else Input("column", name)
