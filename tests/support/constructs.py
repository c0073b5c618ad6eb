"""The SQL constructs of a text, by the names used in manuals."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from scdgen.sql.tokens import DIALECT, tokens

# Words before a parenthesis that are not function calls.
_NO_CALL = {
    "ALL", "AND", "AS", "BY", "CASE", "DISTINCT", "ELSE", "EXISTS", "FROM", "IN", "INSERT", "NOT", "ON",
    "OPTIONS", "OR", "OVER", "PROPERTIES", "RETURN", "SELECT", "SET", "TABLE", "TBLPROPERTIES", "THEN", "UNION",
    "USING", "VALUES", "WHEN", "WHERE", "CHAR", "DECIMAL", "VARCHAR",
}  # fmt: skip
# Node types that are not constructs: names, literals, parentheses, and parts of other nodes.
_PARTS = {
    "Alias", "Boolean", "Column", "ColumnConstraint", "ColumnDef", "DataTypeParam", "DeclareItem", "From",
    "Identifier", "IndexParameters", "Insert", "Literal", "Null", "Ordered", "Paren", "Properties", "PropertyEQ",
    "Return", "ReturnsProperty", "Schema", "Select", "SetItem", "Star", "Subquery", "Table", "TableAlias",
    "TemporaryProperty", "Tuple", "Update", "UserDefinedFunction", "Var", "Whens",
}  # fmt: skip
_NAMES = {
    "Add": "+", "And": "AND", "Case": "CASE", "DPipe": "||", "ClusterProperty": "CLUSTER BY",
    "CommentColumnConstraint": "COMMENT", "CTE": "WITH",
    "DefaultColumnConstraint": "DEFAULT of a parameter", "Distinct": "DISTINCT", "Distribute": "DISTRIBUTE BY",
    "Div": "/", "Dot": ". of a value", "EQ": "=", "Exists": "EXISTS", "FileFormatProperty": "USING",
    "Filter": "FILTER", "GT": ">", "GTE": ">=", "Having": "HAVING", "IgnoreNulls": "IGNORE NULLS", "In": "IN",
    "Interval": "INTERVAL", "Is": "IS NULL", "Limit": "LIMIT",
    "LocationProperty": "LOCATION", "PrimaryKey": "PRIMARY KEY", "LT": "<", "LTE": "<=", "Mod": "%",
    "Mul": "*", "Neg": "-", "NEQ": "<>", "Not": "NOT", "NotNullColumnConstraint": "NOT NULL", "NullSafeEQ": "<=>",
    "OptionsProperty": "OPTIONS", "Or": "OR", "Order": "ORDER BY", "PartitionedByProperty": "PARTITIONED BY",
    "SchemaCommentProperty": "COMMENT", "Sub": "-", "Where": "WHERE", "Window": "OVER",
    "WindowSpec": "ROWS BETWEEN", "With": "WITH",
}  # fmt: skip
_FILES = {"csv", "delta", "json", "parquet"}


def constructs(text: str) -> set[str]:
    """The names of all constructs in a script; a node type without a name here keeps its own."""
    found = calls(text)
    for tree in trees(text):
        found.add(statement(tree))
        for node in tree.walk():
            found.update(_clauses(node))
    return found


@functools.cache
def trees(text: str) -> tuple[exp.Expr, ...]:
    """The syntax trees of a script's statements."""
    found = sqlglot.parse(text, dialect=DIALECT)
    assert None not in found
    return tuple(tree for tree in found if tree is not None)


def calls(text: str) -> set[str]:
    """The functions called in a text, by the names written there: ``MAX()``.

    >>> sorted(calls("SELECT max(a), `b`(c) FROM t WHERE d IN (1) AND e = CAST(f AS DECIMAL(3, 2))"))
    ['CAST()', 'MAX()']
    """
    found = tokens(text)
    return {
        f"{token.text.upper()}()"
        for token, after in itertools.pairwise(found)
        if after.token_type is TokenType.L_PAREN
        and token.token_type is not TokenType.IDENTIFIER
        and re.fullmatch(r"\w+", token.text)
        and text[token.start : token.end + 1] == token.text  # not a string
        and after.start == token.end + 1
        and token.text.upper() not in _NO_CALL
    }


def statement(tree: exp.Expr) -> str:
    """The kind of a statement.

    >>> statement(sqlglot.parse_one("CREATE OR REPLACE TEMPORARY VIEW a AS SELECT 1", dialect=DIALECT))
    'CREATE TEMPORARY VIEW'
    """
    if isinstance(tree, exp.Create):
        temporary = "TEMPORARY " if tree.find(exp.TemporaryProperty) else ""
        returns = " RETURNS TABLE" if tree.find(exp.ReturnsProperty) else ""
        return f"CREATE {temporary}{tree.args['kind']}{returns}"
    names: dict[type[exp.Expr], str] = {
        exp.Declare: "DECLARE VARIABLE", exp.Set: "SET VARIABLE", exp.Merge: "MERGE INTO", exp.Select: "SELECT",
        exp.Union: "SELECT",
    }  # fmt: skip
    return names.get(type(tree), type(tree).__name__)


def _parts_of(merge: exp.Merge) -> Iterator[tuple[str, exp.Expr]]:
    """The parts of a MERGE outside of its source, each with the word that begins it."""
    yield "ON", merge.args["on"]
    for when in merge.args["whens"].expressions:
        if condition := when.args.get("condition"):
            yield "WHEN", condition
        then = when.args["then"]
        if isinstance(then, exp.Update):
            yield from (("SET", assignment.expression) for assignment in then.expressions)
        elif isinstance(then, exp.Insert):
            yield "VALUES", then.expression


def _reads_variable(part: exp.Expr) -> bool:
    """Whether a part reads a variable of the session: a name without an alias, or with `session`.

    >>> [_reads_variable(sqlglot.parse_one(text)) for text in ("t.a >= _scd_from", "t.a = s.a", "s.a > session.since")]
    [True, False, True]
    """
    return any(column.table in ("", "session") for column in part.find_all(exp.Column))


def _clauses(node: exp.Expr) -> Iterator[str]:
    kind = type(node).__name__
    if isinstance(node, exp.Select) and node.args.get("windows"):
        yield "WINDOW"
    elif isinstance(node, exp.Table) and node.db in _FILES and node.this.args.get("quoted"):
        yield "format.`path`"
    elif isinstance(node, exp.Join):
        yield " ".join(word for word in (node.side, node.kind, "JOIN") if word)
    elif isinstance(node, exp.Union):
        yield "UNION" if node.args.get("distinct") else "UNION ALL"
    elif isinstance(node, exp.Group):
        yield "GROUP BY ALL" if node.args.get("all") else "GROUP BY"
    elif isinstance(node, exp.Lateral):
        yield "LATERAL VIEW" if node.args.get("view") else "LATERAL"
    elif isinstance(node, exp.Merge):
        yield from (f"variable in {place}" for place, part in _parts_of(node) if _reads_variable(part))
    elif isinstance(node, exp.When):
        then = node.args["then"]
        does = then.name if isinstance(then, exp.Var) else then.key.upper()
        source = " BY SOURCE" if node.args.get("source") else ""
        yield f"WHEN {'' if node.args['matched'] else 'NOT '}MATCHED{source} THEN {does}"
    elif isinstance(node, exp.DataType):
        yield f"type {re.split(r'[(<]', node.sql(dialect=DIALECT))[0]}"
    elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        yield "name.*"
    elif isinstance(node, exp.Max | exp.Min | exp.ArgMax | exp.ArgMin):
        order = node.args.get("expression") or node.this
        if isinstance(order, exp.Struct) or order.name == "_scd_state":
            yield "STRUCT as an order"
    elif isinstance(node, exp.Stack) and any(isinstance(part, exp.Null) for part in node.expressions):
        yield "NULL in STACK"
    elif type(node) is exp.Property:
        yield "OPTIONS" if isinstance(node.parent, exp.OptionsProperty) else "TBLPROPERTIES"
    elif kind in _NAMES:
        yield _NAMES[kind]
    elif kind not in _PARTS and not isinstance(node, exp.Func | exp.Create | exp.Declare | exp.Set | exp.Merge):
        yield kind
