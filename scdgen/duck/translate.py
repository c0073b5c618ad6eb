"""Translate the SQL that scdgen renders for Spark and Delta into statements of DuckDB.

sqlglot parses with its Databricks dialect and prints with its DuckDB dialect. :mod:`scdgen.duck.rules` changes the tree
where that would print another meaning, ``templates/duckdb/macros.sql`` has what DuckDB lacks, and
:mod:`scdgen.duck.known` and :mod:`scdgen.duck.users` refuse the rest, because most wrong translations do not fail: they
return other values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from scdgen.duck.known import UnknownError
from scdgen.duck.rules import Reader, print_tree, translate_tree, translate_type
from scdgen.errors import quoted
from scdgen.sql.tokens import DIALECT, first_line

# What only Delta has: files, layout, statistics, descriptions.
_DELTA = (
    exp.FileFormatProperty, exp.PartitionedByProperty, exp.ClusterProperty, exp.Cluster, exp.LocationProperty,
    exp.SchemaCommentProperty, exp.Property, exp.ReturnsProperty,
)  # fmt: skip


class Translator:
    """Translates the statements of one session in their order; it keeps the types of the session's variables.

    >>> translator = Translator()
    >>> for text in translator.statements("DECLARE OR REPLACE VARIABLE _scd_a INT; SET VARIABLE _scd_a = 1"):
    ...     print(text)
    SET VARIABLE _scd_a = CAST(NULL AS INT)
    SET VARIABLE _scd_a = CAST(1 AS INT)
    >>> print(*translator.statements("SELECT x + _scd_a FROM t"))
    SELECT x + CAST(GETVARIABLE('_scd_a') AS INT) FROM t
    """

    def __init__(self) -> None:
        self._types: dict[str, exp.DataType] = {}
        self._declared: frozenset[tuple[str, str]] = frozenset()
        self._functions: frozenset[str] = frozenset()
        # Script, variables and functions -> the statements, and the variables and functions that they make.
        self._known: dict[tuple[object, ...], tuple[list[str], dict[str, exp.DataType], frozenset[str]]] = {}

    def forget(self) -> None:
        """Forget the session's variables and functions."""
        self._types.clear()
        self._declared, self._functions = frozenset(), frozenset()

    def statements(self, script: str) -> list[str]:
        """Return the statements for DuckDB, none for one that concerns Delta alone. Raises :class:`UnknownError`."""
        key = (script, self._declared, self._functions)
        if key not in self._known:
            before = dict(self._types)
            with _refused(script):
                listed = list(self._translate_all(script))
            changed = {name: kind for name, kind in self._types.items() if before.get(name) is not kind}
            self._known[key] = (listed, changed, self._functions)
        listed, changed, self._functions = self._known[key]
        if changed:
            self._types.update(changed)
            self._declared = frozenset((name, kind.sql()) for name, kind in self._types.items())
        return listed

    def _translate_all(self, script: str) -> Iterator[str]:
        for tree in sqlglot.parse(script, read=Reader):
            _join_catalogs(tree)
            match tree:
                case exp.Declare():
                    for item in tree.expressions:
                        (name,) = item.this
                        self._types[name.name.lower()] = kind = translate_type(item.args["kind"])
                        yield _set(name.name, exp.Null(), kind)
                case exp.Set():
                    for item in tree.expressions:
                        yield from self._set(item.this.this, item.this.expression)
                case exp.Create():
                    yield self._create(tree)
                case exp.Alter():
                    yield from self._alter(tree)
                case exp.Merge() | exp.Query() | exp.Insert() | exp.Update() | exp.Delete():
                    yield print_tree(self._translate(tree))
                case _:
                    raise UnknownError(tree.sql(DIALECT)[:80] if tree else "an empty statement")

    def translate_expression(self, text: str) -> str:
        """Return an expression or query, in which every ``session.name`` is known. Raises :class:`UnknownError`."""
        with _refused(text):
            tree = sqlglot.parse_one(text, read=Reader)
            _join_catalogs(tree)
            names = {column.name.lower() for column in tree.find_all(exp.Column) if column.table.lower() == "session"}
            return print_tree(translate_tree(tree, dict.fromkeys(names, exp.DataType.build("text"))))

    def _set(self, names: exp.Expr, value: exp.Expr) -> Iterator[str]:
        """``SET VARIABLE a = ...``, or ``(a, b) = (SELECT ...)``, which takes a statement for each."""
        query = self._translate(value)
        if not isinstance(names, exp.Tuple):
            yield _set(names.name, query, self._types[names.name.lower()])
            return
        columns = [f"_c{place}" for place, _ in enumerate(names.expressions)]
        alias = exp.TableAlias(this=exp.to_identifier("_q"), columns=[exp.to_identifier(name) for name in columns])
        for name, column in zip(names.expressions, columns, strict=True):
            relation = exp.Subquery(this=query.copy().unnest(), alias=alias.copy())
            one = exp.Subquery(this=exp.select(exp.column(column)).from_(relation))
            yield _set(name.name, one, self._types[name.name.lower()])

    def _create(self, tree: exp.Create) -> str:
        # Drop what DuckDB has no word for: the format, the properties, and comments of columns.
        if properties := tree.args.get("properties"):
            kept = [part for part in properties.expressions if not isinstance(part, _DELTA)]
            tree.set("properties", exp.Properties(expressions=kept) if kept else None)
        for comment in list(tree.find_all(exp.CommentColumnConstraint)):
            if comment.parent:
                comment.parent.pop()
        for key in list(tree.find_all(exp.PrimaryKey)):  # DuckDB would enforce it
            key.pop()
        if tree.kind == "FUNCTION":  # one that returns a table is a macro; its parameter may have a reserved name
            function = tree.this
            self._functions |= {_path(function.this)}
            for column in function.expressions:
                name, default = exp.to_identifier(column.name, quoted=True), column.find(exp.DefaultColumnConstraint)
                value = default and translate_tree(default.this.copy(), self._types)
                column.replace(exp.PropertyEQ(this=name, expression=value) if value else name)
            body = tree.expression.this if isinstance(tree.expression, exp.Return) else tree.expression
            query = translate_tree(body, self._types)
            returns = exp.ReturnsProperty(this=exp.Schema(this=exp.Var(this="TABLE")), is_table=True)
            made = exp.Properties(expressions=[returns])
            return print_tree(exp.Create(this=function, kind="MACRO", replace=True, expression=query, properties=made))
        return print_tree(self._translate(tree))

    def _alter(self, tree: exp.Alter) -> Iterator[str]:
        """``ADD COLUMNS (a, b)`` takes a statement for each."""
        for action in tree.args["actions"]:
            if isinstance(action, exp.AlterSet):  # TBLPROPERTIES
                continue
            if not isinstance(action, exp.Schema):
                raise UnknownError(tree.sql(DIALECT)[:80])
            for column in action.expressions:
                added = exp.ColumnDef(this=column.this, kind=translate_type(column.args["kind"]))
                yield print_tree(exp.Alter(this=tree.this.copy(), kind="TABLE", actions=[added]))

    def _translate(self, tree: exp.Expr) -> exp.Expr:
        for table in tree.find_all(exp.Table):  # DuckDB has functions that read files and its own state
            called = table.this
            if isinstance(called, exp.Func) and _path(table) not in self._functions:
                name = called.name if isinstance(called, exp.Anonymous) else called.sql_name()
                raise UnknownError(f"the function {name} in place of a table")
        return translate_tree(tree, self._types)


def _join_catalogs(tree: exp.Expr | None) -> None:
    """Make a catalog a part of the schema's name: DuckDB writes to one database in a transaction.

    >>> print(*Translator().statements("SELECT a FROM main.crm.t"))
    SELECT a FROM "main.crm".t
    """
    tables = [table for table in tree.find_all(exp.Table) if table.catalog] if tree else []
    named = {(table.catalog.lower(), table.db.lower(), table.name.lower()) for table in tables}
    columns = tree.find_all(exp.Column) if tree and named else ()  # in a column, such parts may also be fields
    of_named = [c for c in columns if (c.catalog.lower(), c.db.lower(), c.table.lower()) in named]
    for node in (*tables, *of_named):
        node.set("db", exp.to_identifier(f"{node.args['catalog'].name}.{node.args['db'].name}", quoted=True))
        node.set("catalog", None)


@contextmanager
def _refused(text: str) -> Iterator[None]:
    """Raise :class:`UnknownError` in place of the errors of sqlglot, and of Python's own over which it stumbles."""
    try:
        yield
    except (SqlglotError, RecursionError, LookupError, ValueError) as error:
        raise UnknownError(f"{quoted(text)}, which cannot be read ({first_line(error)})") from error


def _path(table: exp.Table) -> str:
    """Return the name of a table or a function with its schema, in lower case."""
    return ".".join(part.name.lower() for part in table.parts)


def _set(name: str, value: exp.Expr, kind: exp.DataType) -> str:
    return f"SET VARIABLE {name} = {print_tree(exp.Cast(this=value.copy(), to=kind.copy()))}"
