"""Quotes, splits and reads SQL text. sqlglot reads; it never prints what a user or a template wrote."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.sql.tokens import DEPTH, DIALECT, is_deep, put, stray_comma, tokens
from scdgen.sql.volatile import find_volatile

# Not allowed in an expression over one row: would change the number of rows, or the kind of statement.
_SEVERAL_ROWS = (exp.UDTF, exp.Explode, exp.Posexplode, exp.Inline, exp.Stack)
_NOT_A_ROW_EXPRESSION = (exp.AggFunc, exp.Window, exp.Star, *_SEVERAL_ROWS)
_STATEMENTS = (exp.Query, exp.DDL, exp.DML, exp.Command, exp.Set, exp.Drop, exp.Alter, exp.Alias)
_ALONE = "write one expression, which gives one value"
_OPERAND_ENDS = {
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING, TokenType.NUMBER,
}  # fmt: skip
# Words that need backticks to be names: those that Spark or Databricks reserves in ANSI mode (tests/spark/test_types.py
# reads them from Spark), values and functions without parentheses, and words that sqlglot misreads.
_NOT_NAMES = """
    all alter analyze and anti any as authorization begin between both builtin cache call case cast check collate
    collation collations column comment commit connect_by_root constraint copy create cross cube curdate
    current_catalog current_database current_date current_path current_schema current_time current_timestamp
    current_user declare default delete desc describe distinct drop else end escape except exclude execute explain
    false fetch filter for foreign from full glob grant group having identifier if ilike in information_schema inner
    insert intersect interval into is join kill lateral leading left like limit load localtime localtimestamp lock
    match_recognize merge minus natural not notnull null offset on only optimize or order outer overlaps
    partitioned_by pivot pragma prepare primary qualify range recursive references refresh regexp rename returning
    revoke right rlike rollback rollup rows select semi serdeproperties session session_user set show some sql stream
    sys table tablesample then time to trailing true truncate uncache union unique unknown unpivot update use user using
    vacuum values when where while window with within xor
"""
_RESERVED = frozenset(_NOT_NAMES.split())


def quote(name: str) -> str:
    """Write a name as SQL: bare, or in backticks if Spark or Databricks needs them, inner backticks doubled.

    >>> quote("name"), quote("rows"), quote("a`b")
    ('name', '`rows`', '`a``b`')
    """
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() not in _RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def unquote(name: str) -> str:
    """Return the name that :func:`quote` wrote.

    >>> unquote("`a``b`"), unquote("a")
    ('a`b', 'a')
    """
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def quote_parts(parts: Sequence[str]) -> str:
    """A qualified name.

    >>> quote_parts(("crm", "dim customer"))
    'crm.`dim customer`'
    """
    return ".".join(map(quote, parts))


def join_name(parts: Iterable[str]) -> str:
    """Join a table name for a spec, with quotes only if needed.

    >>> join_name(["crm", "dim customer"])
    'crm.`dim customer`'
    """
    return ".".join(part if part.isidentifier() else quote(part) for part in parts)


_ESCAPED = (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\0", "\\0"), ("${", "$\\{"))
# Line ends to some readers, such as Python's splitlines, but not to others.
LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# No name and no text of a spec may hold one: after a line break, the rest of a comment would run.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def text_literal(value: str) -> str:
    r"""Write a string literal of Spark SQL; nothing in the text can end it early.

    ``${name}`` is escaped too, because Spark replaces it with a setting or an environment variable before it parses a
    statement (``spark.sql.variable.substitute``).

    >>> print(text_literal("it's a \\ and a new\nline of ${env:HOME}"))
    'it\'s a \\ and a new\nline of $\{env:HOME}'
    """
    for plain, escaped in _ESCAPED:
        value = value.replace(plain, escaped)
    value = LINE_ENDS.sub(lambda end: f"\\u{ord(end[0]):04x}", value)
    return f"'{value}'"


def no_variable(text: str, instead: str = "name it otherwise") -> str:
    """Return a text that holds no ``${name}``; raises ``ValueError`` that says what to write ``instead``.

    Spark replaces it in names and strings, too, and in a pasted file nothing switches that off.

    >>> no_variable("$1")
    '$1'
    >>> no_variable("${env:HOME}")
    Traceback (most recent call last):
    ValueError: '${env:HOME}' holds a ${…}, which Spark replaces with a setting of its own; name it otherwise
    """
    if "${" in text:
        raise ValueError(f"'{shorten(text)}' holds a ${{…}}, which Spark replaces with a setting of its own; {instead}")
    return text


_PATH = re.compile(r"(\w+|`([^`]|``)+`)(\.(\w+|`([^`]|``)+`))*")


def is_path(text: str) -> bool:
    """Whether an expression is a name, or names with dots between them.

    >>> is_path("a.`b c`"), is_path("f(a)"), is_path("a + b")
    (True, False, False)
    """
    return _PATH.fullmatch(text) is not None


def split_name(text: str) -> tuple[str, ...]:
    """Split a qualified name into its parts; raises ``ValueError`` that says what is wrong.

    >>> split_name("crm.dim_customer")
    ('crm', 'dim_customer')
    >>> split_name("crm.`dim.customer`")
    ('crm', 'dim.customer')
    """
    pattern = r"`((?:[^`]|``)+)`|([^.`]+)"
    whole = re.fullmatch(rf"(?:{pattern})(?:\.(?:{pattern}))*", text)
    found = re.findall(pattern, text)
    parts = tuple(a.replace("``", "`") or b for a, b in found)
    if not whole or any(not part.strip() for part in parts):
        raise ValueError(f"'{text}' is not a table name; write table, schema.table or catalog.schema.table")
    if any(b != b.strip() or '"' in b for _, b in found):
        raise ValueError(f"'{text}' holds a quote, or a space next to a dot; remove it, or use backticks")
    if len(parts) > 3:
        raise ValueError(f"'{text}' has {len(parts)} parts; write one to three: catalog.schema.table")
    for part in parts:
        if re.search(r"[/\\]", part) or CONTROL.search(part) or part in {".", ".."}:
            if parts[0].lower() in ("delta", "parquet", "csv", "json") and len(parts) == 2:
                given = f"path: {part} and format: {parts[0].lower()}"
                what = f"is a folder and no table; write {given} for a source, table.location for the target"
                raise ValueError(f"'{text}' {what}")
            what = "holds a slash or a control character, which no table name may"
            raise ValueError(f"'{text}' {what}; write the table's name")
        no_variable(part)
    return parts


@dataclass(frozen=True)
class Fragment:
    """A user's expression or query: its text for the generated SQL, and what it reads.

    ``columns`` are the lower-case names of the columns it refers to, ``params`` the names after a colon. ``names`` are
    the columns with their qualifiers, up to two parts each, in lower case. ``volatile`` is a function in it that gives
    another value each time, as it is written.
    """

    text: str
    columns: frozenset[str]
    params: frozenset[str]
    bare: str | None = None  # the column's name if the expression is just a column
    loose: bool = False  # an OR at the top level: needs parentheses next to an AND
    tables: frozenset[tuple[str, ...]] = frozenset()
    names: frozenset[tuple[str, ...]] = frozenset()
    volatile: str | None = None

    @property
    def condition(self) -> str:
        """Return the text as a condition that AND joins with others."""
        return f"({self.text})" if self.loose else self.text


@functools.lru_cache(maxsize=4096)
def expression(text: str) -> Fragment:
    """Parse exactly one SQL expression over a row; raises ``ValueError`` that says what is wrong.

    >>> expression("op = 'D' OR x").loose
    True
    >>> sorted(expression("coalesce(a, :since)").params)
    ['since']
    >>> expression("a, b")
    Traceback (most recent call last):
    ValueError: 'a, b' is not exactly one SQL expression, it fails at ','; write one SQL expression
    """
    tree = _one(text, "one SQL expression")
    if isinstance(tree, _STATEMENTS) and not isinstance(tree, exp.Subquery):
        if isinstance(tree, exp.Alias) and tree.alias.upper() in {"ASC", "DESC"}:
            hint = "the greatest value wins; turn values around in the expression, as in -number"
            raise ValueError(f"'{shorten(text)}' has a sort order, and {hint}")
        if isinstance(tree, exp.Alias):
            raise ValueError(f"'{shorten(text)}' gives its value a name; {_ALONE}")
        raise ValueError(f"'{shorten(text)}' is a statement and no expression over a row; {_ALONE}")
    if isinstance(tree, exp.PropertyEQ | exp.Tuple):
        what = "an assignment" if isinstance(tree, exp.PropertyEQ) else "several values in brackets"
        raise ValueError(f"'{shorten(text)}' is {what}; {_ALONE}")
    inside = (node for node in tree.walk() if isinstance(node, _NOT_A_ROW_EXPRESSION))
    bad = next((node for node in inside if not node.find_ancestor(exp.Select)), None)
    if bad is not None:
        kind = "a *" if isinstance(bad, exp.Star) else "an aggregate or window function"
        kind = "a function that makes several rows of one" if isinstance(bad, _SEVERAL_ROWS) else kind
        hint = "an expression is computed for each row alone; put other work into source.query"
        raise ValueError(f"'{shorten(text)}' holds {kind}; {hint}")
    bare = tree.name if isinstance(tree, exp.Column) and not tree.table else None
    return _fragment(text, tree, bare=bare, loose=isinstance(tree, exp.Or | exp.Xor))


@functools.lru_cache(maxsize=1024)
def query(text: str) -> Fragment:
    """Parse exactly one SELECT; raises ``ValueError`` that says what is wrong.

    >>> query("FROM t |> WHERE a > 1 |> SELECT /*+ REPARTITION(2) */ a").tables
    frozenset({('t',)})
    """
    tree = _one(text, "one SELECT")
    if not isinstance(tree, exp.Query):
        raise ValueError(f"'{shorten(text)}' is not a SELECT; write one SELECT")
    kinds = [token.token_type for token in tokens(text)]
    if kinds[0] is TokenType.FROM and not {TokenType.SELECT, TokenType.PIPE_GT} & set(kinds):
        raise ValueError(f"'{shorten(text)}' begins with FROM and has no SELECT; write SELECT * before it")
    if tree.find(exp.Into):
        raise ValueError(f"'{shorten(text)}' writes INTO a table; write a SELECT that only reads")
    return _fragment(text, tree)


def is_query(default: object) -> bool:
    """Whether the default of a param is a SELECT.

    >>> is_query(" SELECT 1"), is_query("selected")
    (True, False)
    """
    return isinstance(default, str) and bool(re.match(r"\s*(SELECT|WITH)\b", default, re.IGNORECASE))


def param_value(default: str | int | float | bool, kind: str) -> str:
    """Return the SQL of a param's value: a scalar query, an expression, or a text or time written without quotes.

    >>> param_value("SELECT max(a) FROM t", "DATE")
    '(SELECT max(a) FROM t)'
    >>> param_value("2024-05-01", "DATE"), param_value("EU", "STRING")
    ("CAST('2024-05-01' AS DATE)", "CAST('EU' AS STRING)")
    >>> param_value("007", "STRING"), param_value("'007'", "STRING"), param_value("upper('a')", "STRING")
    ("CAST('007' AS STRING)", "CAST('007' AS STRING)", "CAST(upper('a') AS STRING)")
    >>> param_value("current_date() - 1", "DATE")
    'CAST(current_date() - 1 AS DATE)'
    """
    if kind.startswith(("DATE", "TIMESTAMP")) and re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", str(default)):
        hint = "write a time such as 2024-05-01, or an expression such as timestamp_millis(1704067200000)"
        raise ValueError(f"'{default}' is a number, and no {kind}; {hint}")
    if not isinstance(default, str):
        return f"CAST({str(default).upper()} AS {kind})"
    if is_query(default):
        return f"({query(default).text})"
    if re.fullmatch(r"\d{4}-\d\d-\d\d([ T]\d\d:.*)?", default):
        return f"CAST({text_literal(default)} AS {kind})"
    try:
        read = expression(default)
    except ValueError:
        if kind != "STRING":
            hint = "write an expression, a SELECT, or a time such as 2024-05-01"
            raise ValueError(f"'{shorten(default)}' is not a value for {kind}; {hint}") from None
        return f"CAST({text_literal(default)} AS {kind})"
    if kind == "TIMESTAMP" and read.text.lower() == "current_timestamp()":
        return read.text
    if read.tables:  # a query in parentheses
        return f"CAST({read.text} AS {kind})"
    # Text is text, as it is on the command line: 007 keeps its zeros, and 2024-01 is not 2023.
    if kind == "STRING" and (read.columns or not (read.params or re.search(r"['\"(]|^current_\w+$", default, re.I))):
        return f"CAST({text_literal(default)} AS {kind})"
    if read.columns:
        hint = "write a value or a SELECT"
        raise ValueError(f"'{shorten(default)}' names a column, and a param is set before any row is read; {hint}")
    return f"CAST({read.text} AS {kind})"


def is_never_null(value: str) -> bool:
    """Whether the :func:`param_value` of a param is the clock, or a text or a number that is cast.

    >>> is_never_null("current_timestamp()"), is_never_null("CAST('2024-05-01' AS DATE)"), is_never_null("(SELECT 1)")
    (True, True, False)
    """
    return bool(re.fullmatch(r"current_timestamp\(\)|CAST\(('[^']*'|-?\d+) AS \w+\)", value, re.IGNORECASE))


@dataclass(frozen=True)
class Reads:
    """The columns and fields that an expression reads, as paths such as ``("after", "id")``.

    ``passed`` are those whose value may be the value of the expression, if that is nothing but such values.
    ``computed`` are those whose type matters: neither passed on, nor just tested for NULL.
    """

    paths: frozenset[tuple[str, ...]]
    passed: frozenset[tuple[str, ...]]
    computed: frozenset[tuple[str, ...]]


@functools.lru_cache(maxsize=4096)
def find_paths(text: str) -> Reads:
    """Find the columns and fields of an expression that :func:`expression` reads.

    >>> found = find_paths("coalesce(after.id, IF(op = 'd', before.id))")
    >>> sorted(found.paths), sorted(found.passed)
    ([('after', 'id'), ('before', 'id'), ('op',)], [('after', 'id'), ('before', 'id')])
    >>> sorted(find_paths("after.x.y + 1").computed), find_paths("coalesce(a, 0)").passed
    ([('after', 'x', 'y')], frozenset())
    >>> find_paths("after.id IS NULL").computed
    frozenset()
    """
    tree = sqlglot.parse_one(text, dialect=DIALECT)
    columns = [node for node in tree.find_all(exp.Column) if not node.find_ancestor(exp.Query)]
    paths = {id(node): _path(node) for node in columns}
    passed = {id(node) for node in _passed(tree) or ()}
    tested = {id(node) for node in columns if _is_tested_for_null(node)}
    computed = frozenset(path for key, path in paths.items() if key not in passed | tested)
    values = frozenset(path for key, path in paths.items() if key in passed)
    return Reads(frozenset(paths.values()), values - computed, computed)


def _whole(column: exp.Expression) -> exp.Expression:
    """Return the node of a column with the fields that are read of it."""
    node = column
    while isinstance(node.parent, exp.Dot) and node.parent.this is node:
        node = node.parent
    return node


def _path(column: exp.Expression) -> tuple[str, ...]:
    """Return the names of a column and of the fields that are read of it."""
    return tuple(part.name for part in _whole(column).parts)  # type: ignore[attr-defined]


def _is_tested_for_null(column: exp.Expression) -> bool:
    parent = _whole(column).parent
    return isinstance(parent, exp.Is) and isinstance(parent.expression, exp.Null)


def _passed(node: Any) -> list[exp.Expression] | None:
    """Return the columns whose values an expression passes on as they are; ``None`` if it does more than that."""
    if node is None or isinstance(node, exp.Null):
        return []
    if isinstance(node, exp.Column):
        return [node]
    if isinstance(node, exp.Dot):
        return _passed(node.this) if isinstance(node.this, exp.Column | exp.Dot) else None
    if isinstance(node, exp.Paren):
        return _passed(node.this)
    if isinstance(node, exp.Coalesce):
        parts = [node.this, *node.expressions]
    elif isinstance(node, exp.If):
        parts = [node.args["true"], node.args.get("false")]
    elif isinstance(node, exp.Case):
        parts = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    else:
        return None
    found = [_passed(part) for part in parts]
    return None if None in found else [column for listed in found for column in listed or ()]


def _one(text: str, what: str) -> exp.Expression:
    """Parse a text to one tree."""
    if not text.strip():
        raise ValueError(f"is empty; write {what}, or leave the option out")
    found = tokens(text)
    if is_deep(found):  # which ends Python's stack, or the process where sqlglot is compiled
        what = f"has more than {DEPTH} brackets in one another; take out some, or compute a part in a view"
        raise ValueError(f"'{shorten(text)}' {what}")
    # The text of a hint is its first comment.
    has_comment = any(token.comments[token.token_type is TokenType.HINT :] for token in found)
    if has_comment or "--" in _outside_strings(text, found):
        raise ValueError(f"'{shorten(text)}' holds a comment; comments belong in the YAML, after a #")
    for token in found:
        control = CONTROL.search(text, token.start, token.end + 1)
        if control and control[0] == "\n" and token.token_type is TokenType.STRING:
            raise ValueError(f"'{shorten(text)}' holds a string over several lines; write \\n in it")
        if control:
            what = f"holds the control character {control[0]!a}; leave it out, or escape it in a string"
            raise ValueError(f"'{shorten(text)}' {what}")
    no_variable(text, "write a param as :name, and in a string $\\{")
    if stray_comma(found):
        raise ValueError(f"'{shorten(text)}' has a stray comma; take it out")
    if any(token.token_type is TokenType.SEMICOLON for token in found):
        raise ValueError(f"'{shorten(text)}' holds a semicolon; write {what} and no more")
    try:
        trees = sqlglot.parse(text, dialect=DIALECT)
    except Exception as error:  # over some wrong texts sqlglot stumbles with errors of Python's own
        near = next((part.get("highlight") for part in getattr(error, "errors", ())), None)
        place = f", it fails at '{near}'" if near else ""
        raise ValueError(f"'{shorten(text)}' is not exactly {what}{place}; write {what}") from error
    tree = trees[0] if trees else None
    if len(trees) != 1 or not isinstance(tree, exp.Expression):
        raise ValueError(f"'{shorten(text)}' is not exactly {what}; write {what}")
    for node in tree.walk():
        if isinstance(node, exp.Parameter):
            raise ValueError(f"'{shorten(text)}' holds a variable that is not a param; write a param as :name")
        if isinstance(node, exp.In) and not any(node.args.get(part) for part in ("expressions", "query", "unnest")):
            raise ValueError(f"'{shorten(text)}' holds an IN without values; list them in its brackets")
    return tree


def _outside_strings(text: str, found: Sequence[Token]) -> str:
    """Return the text between the tokens: white space and comments."""
    starts, ends = [*(token.start for token in found), len(text)], [0, *(token.end + 1 for token in found)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _fragment(text: str, tree: exp.Expression, bare: str | None = None, loose: bool = False) -> Fragment:
    written, names = _bind_params(text.strip())
    placeholders = {node.name for node in tree.find_all(exp.Placeholder)}
    if placeholders != names:
        hint = "write a param as :name, with a space before it"
        raise ValueError(f"'{shorten(text)}' holds a placeholder that is not a param; {hint}")
    ctes = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    tables = {
        tuple(part.name for part in table.parts)
        for table in tree.find_all(exp.Table)
        if len(table.parts) > 1 or table.name.lower() not in ctes
    }
    read = [tuple(part.name.lower() for part in column.parts) for column in tree.find_all(exp.Column)]
    columns, qualified = frozenset(parts[0] for parts in read), frozenset(parts[:2] for parts in read)
    volatile = find_volatile(tree, tokens(text))
    return Fragment(written, columns, frozenset(names), bare, loose, frozenset(tables), qualified, volatile)


def _bind_params(text: str) -> tuple[str, set[str]]:
    """Replace :name by the session variable; ``a:b`` is a path into a JSON column and stays."""
    found = tokens(text)
    values, names = [], set()
    for before, token, after in zip([None, *found], found, [*found[1:], None], strict=False):
        opens = before is None or before.token_type not in _OPERAND_ENDS or before.end + 1 < token.start
        if token.token_type is TokenType.COLON and opens and after and after.start == token.end + 1:
            values.append((token.start, after.end + 1, variable(after.text)))
            names.add(after.text)
    return put(text, values), names


def variable(name: str) -> str:
    """Return the name of a param in SQL, qualified so that no column of the same name hides it."""
    return f"session.{name}"


def shorten(text: str) -> str:
    """Return a text on one line, of 60 characters at most."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
