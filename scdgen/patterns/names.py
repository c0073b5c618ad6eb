"""Whether every name in a generated query resolves, by one walk over its tree.

This knows the forms that generated SQL is made of and no more. What it finds right, sqlglot's ``qualify`` finds right
too, at many times the cost; of everything else it says nothing (:class:`UnsureError`), and ``qualify`` is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

Parts = tuple[str, ...]
Columns = Sequence[str]  # lower-case names of what a query gives; "" for a value without one
Steps = Mapping[str, Columns]  # CTEs in reach, by lower-case name

_SELECT = {
    "with_", "expressions", "distinct", "from_", "joins", "laterals", "where", "group", "windows",
    "distribute", "sort", "order", "limit",
}  # fmt: skip
_ORDERS = ("distribute", "sort", "order")
_OTHER_CLAUSES = ("where", "group", "windows", "limit")


class UnsureError(Exception):
    """A name that is not found, or a form of SQL that this does not know."""


@dataclass(frozen=True)
class Sources:
    """What the columns in one place can come from: columns by alias, and the names that stand there without one.

    ``fields``: whether fields of structs are looked for there.
    """

    columns: Mapping[str, Columns]
    unique: frozenset[str] = frozenset()
    fields: bool = False


@dataclass(frozen=True)
class Names:
    """What a spec's queries may name.

    ``tables`` are its tables' columns by the parts of their names, ``variables`` the session variables written without
    ``session.``, ``given`` the columns of the CTE ``source``, whose insides are the user's own.
    """

    tables: Mapping[Parts, Columns]
    variables: Collection[str]
    given: Columns

    def outputs(self, tree: exp.Expr, steps: Steps, nested: bool = False) -> Columns:
        """The columns that a query gives, every name in it resolved; raises :class:`UnsureError`."""
        return self.body(tree, self.steps(tree, steps), nested)

    def body(self, tree: exp.Expr, steps: Steps, nested: bool = False) -> Columns:
        """:meth:`outputs` for a query whose own CTEs are among ``steps``."""
        if type(tree) is exp.Select:
            return self._select(tree, steps, nested)
        if type(tree) is exp.Union:
            _only(tree, {"with_", "this", "expression", "distinct", *_ORDERS})
            left = self.outputs(tree.this, steps, nested)
            self.outputs(tree.expression, steps, nested)
            for clause in _ORDERS:
                self._order(tree.args.get(clause), Sources({"": left}, frozenset(left)), steps, ())
            return left
        if type(tree) is exp.Subquery:
            _only(tree, {"this"})
            return self.outputs(tree.this, steps, nested)
        raise UnsureError(type(tree).__name__)

    def steps(self, tree: exp.Expr, steps: Steps) -> Steps:
        """The CTEs of a query beside those in reach, each with its columns."""
        begun = tree.args.get("with_")
        if begun is None:
            return steps
        _only(begun, {"expressions"})
        own: dict[str, Columns] = {}
        for cte in begun.expressions:
            _only(cte, {"this", "alias"})
            name = _alias(cte)
            if name in own:
                raise UnsureError(name)
            own[name] = self.given if cte.alias == "source" else self.outputs(cte.this, {**steps, **own})
        return {**steps, **own}

    def _select(self, tree: exp.Select, steps: Steps, nested: bool) -> Columns:
        _only(tree, _SELECT)
        args = tree.args
        here = self._sources(args, steps, nested)
        for clause in _OTHER_CLAUSES:
            for part in _listed(args.get(clause)):
                if isinstance(part, exp.Group):
                    _only(part, {"expressions"})
                    _no_positions(part.expressions)
                self._names_in(part, here, steps)
        outputs: list[str] = []
        within = here
        for part in tree.expressions:
            outputs += self._projection(part, within, steps)
            if type(part) is exp.Alias:  # what comes after it in the list may name it
                within = replace(within, unique=within.unique | {part.alias.lower()})
        if any(count > 1 for name, count in Counter(outputs).items() if name):
            raise UnsureError("two columns of one name")
        if args.get("distinct") is not None:
            _only(args["distinct"], set())
        named = {part.alias.lower() for part in tree.expressions if type(part) is exp.Alias}
        for clause in _ORDERS:
            self._order(args.get(clause), here, steps, named)
        return outputs

    def _sources(self, args: Mapping[str, Any], steps: Steps, nested: bool) -> Sources:
        """What a SELECT reads: FROM, the joins with their conditions, the lateral views."""
        own: dict[str, Columns] = {}  # by alias
        partners: list[tuple[exp.Join, str, Columns]] = []  # of semi and anti joins: seen in their ON alone
        joins: list[exp.Join] = args.get("joins") or []
        if args.get("from_") is not None:
            _only(args["from_"], {"this"})
            _add(own, *self._source(args["from_"].this, steps))
        for join in joins:
            _only(join, {"this", "on", "side", "kind"})
            found = self._source(join.this, steps)
            if join.kind in {"SEMI", "ANTI"}:
                partners.append((join, *found))
            else:
                _add(own, *found)
        joined = Sources(dict(own), _unique(own))
        for lateral in args.get("laterals") or ():
            _only(lateral, {"this", "view", "alias"})
            alias = lateral.args.get("alias")
            if not lateral.args.get("view") or not isinstance(alias, exp.TableAlias):
                raise UnsureError("LATERAL")
            for part in _children(lateral.this):
                stored = (name for names in self.tables.values() for name in names)
                if isinstance(lateral.this, exp.Explode) and part.name.lower() in stored:
                    raise UnsureError(part.name)  # an array of structs would give their fields besides
                self._names_in(part, joined, steps)
            _add(own, alias.name.lower(), [column.name.lower() for column in alias.columns])
        here = Sources(own, _unique(own), fields=not nested)
        for join, name, columns in partners:
            seen = dict(own)
            _add(seen, name, columns)
            self._names_in(join.args.get("on"), Sources(seen), steps)
        for join in joins:
            if join.kind not in {"SEMI", "ANTI"}:
                self._names_in(join.args.get("on"), here, steps)
        return here

    def _order(self, node: exp.Expr | None, here: Sources, steps: Steps, named: Collection[str]) -> None:
        """ORDER BY and its like, which may name what the select list gives."""
        if node is not None:
            _only(node, {"expressions"})
            _no_positions([part.this if isinstance(part, exp.Ordered) else part for part in node.expressions])
            self._names_in(node, here, steps, named)

    def _source(self, node: exp.Expr, steps: Steps) -> tuple[str, Columns]:
        """What stands in FROM or after JOIN: its alias and its columns."""
        if type(node) is exp.Subquery:
            _only(node, {"this", "alias"})
            name = _alias(node) if node.args.get("alias") is not None else f" {id(node)}"  # one that nobody can write
            return name, self.outputs(node.this, steps)
        if type(node) is not exp.Table or not isinstance(node.this, exp.Identifier):
            raise UnsureError(type(node).__name__)
        _only(node, {"this", "db", "catalog", "alias"})
        parts = tuple(part.name for part in node.parts)
        columns = self.tables.get(parts)
        step = steps.get(parts[0].lower()) if len(parts) == 1 else None
        if (columns is None) == (step is None):
            raise UnsureError(".".join(parts))
        return (_alias(node) if node.args.get("alias") is not None else parts[-1].lower()), columns or step or ()

    def _projection(self, node: exp.Expr, sources: Sources, steps: Steps) -> Columns:
        """The names of one item of a select list."""
        if type(node) is exp.Star:
            _only(node, set())
            return [name for columns in sources.columns.values() for name in columns]
        if type(node) is exp.Column and type(node.this) is exp.Star:
            _only(node, {"this", "table"})
            _only(node.this, set())
            if node.table.lower() not in sources.columns:
                raise UnsureError(node.table)
            return sources.columns[node.table.lower()]
        self._names_in(node, sources, steps)
        if type(node) is exp.Alias or type(node) is exp.Column:
            return [node.alias_or_name.lower()]
        return [""]

    def _names_in(self, node: exp.Expr | None, sources: Sources, steps: Steps, named: Collection[str] = ()) -> None:
        """Every column in an expression; ``named`` are those of the select list, where an order may name them."""
        pending: list[tuple[exp.Expr, Collection[str]]] = [(node, named)] if node is not None else []
        while pending:
            node, named = pending.pop()
            if isinstance(node, exp.Column):
                self._column(node, sources, named)
                continue
            if isinstance(node, exp.Query):
                self.outputs(node, steps, nested=True)
                continue
            if isinstance(node, exp.UDTF | exp.Table):
                raise UnsureError(type(node).__name__)
            if isinstance(node, exp.Star):
                _only(node, set())
            elif isinstance(node, exp.Window | exp.WithinGroup):
                named = ()
            pending += [(child, named) for child in _children(node)]

    def _column(self, column: exp.Column, sources: Sources, named: Collection[str]) -> None:
        _only(column, {"this", "table", "db", "catalog"})
        table = column.text("table")
        if table.lower() == "session" or (not table and column.name in self.variables):
            return
        if type(column.this) is not exp.Identifier:
            raise UnsureError(column.name)
        name, *rest = [part.name.lower() for part in column.parts]
        fields = rest
        if not rest:
            right = name in sources.unique or name in named
        elif name in sources.columns:
            right, fields = rest[0] in sources.columns[name], rest[1:]
        else:
            right = name in sources.unique
        # A path into a struct that goes over the alias of a source may be read in two ways.
        right = right and (not fields or (sources.fields and not any(part in sources.columns for part in rest[:-1])))
        if not right:
            raise UnsureError(column.name)


def node_types(tree: exp.Expr) -> set[type[exp.Expr]]:
    """The kinds of nodes in a tree."""
    found: set[type[exp.Expr]] = set()
    pending = [tree]
    while pending:
        node = pending.pop()
        found.add(type(node))
        pending += _children(node)
    return found


def _children(node: exp.Expr) -> list[exp.Expr]:
    """The nodes right below one; the class's own way to them is several times slower."""
    found = []
    for value in node.args.values():
        if type(value) is list:
            found += [item for item in value if isinstance(item, exp.Expr)]
        elif isinstance(value, exp.Expr):
            found.append(value)
    return found


def _only(node: exp.Expr, known: Collection[str]) -> None:
    """A node has nothing but what is known here."""
    for name, value in node.args.items():
        if value and name not in known:
            raise UnsureError(f"{type(node).__name__}.{name}")


def _alias(node: exp.Expr) -> str:
    """The alias of a source or a CTE, which gives no names to columns."""
    alias = node.args.get("alias")
    if not isinstance(alias, exp.TableAlias) or not alias.name:
        raise UnsureError("alias")
    _only(alias, {"this"})
    return alias.name.lower()


def _add(sources: dict[str, Columns], name: str, columns: Columns) -> None:
    if name in sources or not columns:
        raise UnsureError(name)
    sources[name] = columns


def _unique(sources: Mapping[str, Columns]) -> frozenset[str]:
    counts = Counter(name for columns in sources.values() for name in set(columns))
    return frozenset(name for name, count in counts.items() if count == 1 and name)


def _listed(value: object) -> list[exp.Expr]:
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, exp.Expr)]


def _no_positions(items: Sequence[exp.Expr]) -> None:
    if any(isinstance(item, exp.Literal | exp.Neg) for item in items):
        raise UnsureError("a position")
