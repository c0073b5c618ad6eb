"""What is refused of a user's expression, by its text and its types; the allow list alone would let it pass."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from scdgen import sql
from scdgen.duck.known import EPOCHS, JSON_PATH, NAMES, TIME_TEXT, USERS, WORDS, UnknownError, require_known
from scdgen.model.option import Rows, sql_texts
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.tokens import DIALECT
from scdgen.sql.zones import UTC_NAMES

_TEXT, _NUMBER, _TIME, _TRUTH, _NOTHING = "text", "a number", "a time", "a boolean", "NULL"
_ARRAY = "an array"
_KINDS = {
    **dict.fromkeys(exp.DataType.TEXT_TYPES, _TEXT),
    **dict.fromkeys(exp.DataType.NUMERIC_TYPES, _NUMBER),
    **dict.fromkeys(exp.DataType.TEMPORAL_TYPES, _TIME),
    exp.DType.BOOLEAN: _TRUTH,
    exp.DType.NULL: _NOTHING,
    exp.DType.INTERVAL: "an interval",
    exp.DType.BINARY: "bytes",
    exp.DType.VARBINARY: "bytes",
    exp.DType.ARRAY: _ARRAY,
    exp.DType.LIST: _ARRAY,
    exp.DType.STRUCT: "a struct",
    exp.DType.MAP: "a map",
}
_NESTED = {_ARRAY, "a struct", "a map"}
_ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.Greatest, exp.Least, exp.Max, exp.Min, exp.Ordered)
_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Nullif)
_OF_TEXT = (
    *(exp.Length, exp.Contains, exp.StartsWith, exp.EndsWith, exp.Upper, exp.Lower, exp.Trim, exp.Substring, exp.Pad),
    *(exp.Replace, exp.Left, exp.Right, exp.Translate, exp.RegexpReplace, exp.RegexpExtract, exp.RegexpLike),
    *(exp.RegexpSplit, exp.SplitPart, exp.StrPosition, exp.Like, exp.ILike, exp.StrToMap, exp.JSONExtractScalar),
    *(exp.StrToDate, exp.StrToTime),
)
_SMALL = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT}
_INSTANTS = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ}
_READS_TEXT = (*_COMPARED, exp.Between, exp.In, exp.Coalesce, exp.Case, exp.If)
_UNITS = {"YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
_OF_ONE_TYPE = (exp.Coalesce, exp.Greatest, exp.Least, exp.Array)
# DuckDB keeps decimals of up to so many digits in a whole number; the rules for the results differ above.
_DIGITS = 18


def require_known_spec(
    spec: Spec,
    describe: Callable[[str], Mapping[str, exp.DataType]],
    view: str | None,
    translate: Callable[[str], object],
) -> None:
    """Raise :class:`UnknownError` for an option or an expression of a spec whose translation is not known.

    Args:
        spec: the spec.
        describe: returns the name and type of each column of a query; none if one of its tables does not exist.
        view: the table that replaces the spec's source.
        translate: translates a text, and refuses what only some arguments make unknown.
    """
    if spec.time_zone not in UTC_NAMES:
        raise UnknownError(f"{spec.origin}: table.time_zone: {spec.time_zone}")
    if spec.source.path is not None and view is None:
        raise UnknownError(f"{spec.origin}: source.path: reading files")
    describe = functools.cache(describe)  # each text may name the same tables
    for found in sql_texts(spec):
        bound = found.fragment.text
        try:
            selects = found.place[-1] in {"where", "delete_when", "truncate_when"}
            named = [] if found.option.over is Rows.TARGET else _sources(spec, view)
            require_known_text(bound, functools.partial(_find_types, spec, describe, named), selects)
            translate(bound)
        except UnknownError as error:
            raise UnknownError(f"{spec.origin}: {'.'.join(map(str, found.place))}: {error.what}") from error


def require_known_text(
    text: str, types: Callable[[exp.Expr], Mapping[str, exp.DataType]], selects: bool = False
) -> None:
    """Raise :class:`UnknownError` for an expression or query of a user that may not be translated.

    ``types`` returns the type of each column that a tree may name, by the name in lower case; with ``selects`` the text
    is a condition for which NULL is FALSE.
    """
    tree = sqlglot.parse_one(text, read=DIALECT)
    # First by the names as they are written: the tree has sqlglot's own, such as ARRAY_SORT for sort_array.
    if unknown := sorted(find_calls(text, tree) - NAMES):
        written = re.search(rf"\b{unknown[0]}\b", text, re.IGNORECASE)
        raise UnknownError(f"the function {written[0] if written else unknown[0]}")
    for node in tree.walk():
        require_known(node, USERS)
        _require_spelling(text, node)
    _require_types(tree, types(tree))
    for node in tree.find_all(exp.In):
        if node.args.get("query") and not _selects(node, selects):
            raise UnknownError("IN of a query that is not a condition for rows")


def find_calls(text: str, tree: exp.Expr) -> set[str]:
    """Return the functions that an expression calls, as they are written, in upper case.

    >>> text = "IF(a IN (1), CharIndex('b', c), (SELECT MAX(x) FROM VALUES (1) AS t(x)))"
    >>> sorted(find_calls(text, sqlglot.parse_one(text, read=DIALECT)))
    ['CHARINDEX', 'IF', 'MAX']
    """
    tables = {alias.name.upper() for alias in tree.find_all(exp.TableAlias)}
    tables |= {table.this.name.upper() for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Anonymous)}
    tokens = sqlglot.tokenize(text, read=DIALECT)
    followed = (one for one, after in itertools.pairwise(tokens) if after.token_type == sqlglot.TokenType.L_PAREN)
    names = {one.text.upper() for one in followed if re.fullmatch(r"[A-Za-z_]\w*", one.text)}
    return names - tables - WORDS


def _require_spelling(text: str, node: exp.Expr) -> None:
    """Refuse what sqlglot reads, and Spark does not or otherwise; the tree does not show it."""
    if isinstance(node, exp.Func) and "start" in node.meta:
        name, given = text[node.meta["start"] : node.meta["end"] + 1].upper(), _split_call(text[node.meta["end"] + 1 :])
        literals = [
            one[0].text if len(one) == 1 and one[0].token_type == sqlglot.TokenType.STRING else "" for one in given
        ]
        if isinstance(node, exp.DateDiff) and len(given) > 2:
            raise UnknownError(f"{name} of a unit")
        if isinstance(node, exp.TimestampTrunc) and not literals[0]:
            raise UnknownError(f"{name} to a unit that is not a literal")
        if name in {"NVL", "IFNULL"} and len(given) != 2:
            raise UnknownError(f"{name} of other than two values")
        if isinstance(node, exp.JSONExtractScalar) and not JSON_PATH.fullmatch(literals[-1]):
            raise UnknownError(f"{name} of this path")
    # Without a call, sqlglot has joined two literals that stand side by side.
    if isinstance(node, exp.Concat) and "start" not in node.meta:
        raise UnknownError("two texts side by side")
    if isinstance(node, exp.Interval):
        amount = node.this.this if isinstance(node.this, exp.Neg) else node.this
        if not isinstance(amount, exp.Literal) or str(node.unit).upper().rstrip("S") not in _UNITS:
            raise UnknownError("an interval of this form")


def _split_call(text: str) -> list[list[sqlglot.Token]]:
    """Return the tokens of each argument of a call, whose text begins with the parenthesis.

    >>> [[token.text for token in argument] for argument in _split_call("(a, f(b, c)) + g(d)")]
    [['a'], ['f', '(', 'b', ',', 'c', ')']]
    """
    depth, found = 0, [list[sqlglot.Token]()]
    for token in sqlglot.tokenize(text, read=DIALECT):
        depth -= token.token_type == sqlglot.TokenType.R_PAREN
        if depth == 0 and token.token_type == sqlglot.TokenType.R_PAREN:
            break
        if depth == 1 and token.token_type == sqlglot.TokenType.COMMA:
            found.append([])
        elif depth:
            found[-1].append(token)
        depth += token.token_type == sqlglot.TokenType.L_PAREN
    return found


def _rows_of(tables: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"SELECT * FROM {sql.quote_parts(parts)}" for parts in tables]


def _sources(spec: Spec, view: str | None) -> list[str]:
    """Return the queries of the source's rows."""
    named = [*filter(None, [view or spec.source.table]), *(joined.table for joined in spec.source.join.values())]
    return [*_rows_of(map(sql.split_name, named)), *([spec.source.query] if spec.source.query and view is None else [])]


def _find_types(
    spec: Spec, describe: Callable[[str], Mapping[str, exp.DataType]], sources: Sequence[str], tree: exp.Expr
) -> dict[str, exp.DataType]:
    """Return the type of each column that a text may name; a name with several types is left out.

    ``sources`` are the queries over whose rows an expression is; none if it is over those of the target.
    """
    # List the tables and queries that the text may read.
    tables = [tuple(part.name for part in table.parts) for table in tree.find_all(exp.Table)]
    queries = [] if isinstance(tree, exp.Query) else [*sources]
    queries += _rows_of(tables)
    listed = [(name, kind) for query in queries for name, kind in describe(query).items()]
    if not isinstance(tree, exp.Query) or not all(map(describe, queries)):  # the target, or a view, is made later
        known = {name.lower() for name, _ in listed}
        own = {sql.unquote(column.name): column.type for column in pattern_of(spec).columns(spec)}
        listed += [(name, _build(kind)) for name, kind in own.items() if name.lower() not in known]
    listed += [(f"session.{name}", _build(param.type)) for name, param in spec.params.items()]
    # Bring types that are alike here to one, so that only real differences leave a name out.
    found: dict[str, exp.DataType] = {}
    several: set[str] = set()
    for name, kind in listed:
        built = kind
        if kind.this in exp.DataType.TEXT_TYPES:
            built = exp.DataType.build("text")
        elif kind.this in _INSTANTS:
            built = exp.DataType.build("timestamp")
        if found.setdefault(name.lower(), built) != built:
            several.add(name.lower())
    return {name: kind for name, kind in found.items() if name not in several}


def _build(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect=DIALECT)


def _require_types(tree: exp.Expr, types: Mapping[str, exp.DataType]) -> None:
    """Raise :class:`UnknownError` for what has another meaning by its types, where they show it.

    Such as a cast that Spark adds, or an order of values in which NULL is first.
    """
    for node in _annotate(tree, types).walk():
        for one, other in _pairs(node):
            _require_pair(one, other, isinstance(node, _READS_TEXT))
        _require_arguments(node)
        _require_order(node)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg):
            _require_arithmetic(node)
        if isinstance(node, exp.Concat | exp.DPipe | exp.ConcatWs):
            parts = [*node.expressions, *filter(None, [node.args.get("this"), node.args.get("expression")])]
            if any(_kind(part) and _type(part) in {exp.DType.DOUBLE, exp.DType.FLOAT} for part in parts):
                raise UnknownError("a cast of a fraction to text")
            if any(_kind(part) == _TIME and not isinstance(part, exp.Cast) for part in parts):
                raise UnknownError("a cast of a computed time to text that is not written")
        nothing = set() if isinstance(node, exp.Where | exp.Having | exp.Join) else {_NOTHING}
        if any(_kind(condition) not in {_TRUTH} | nothing for condition in _conditions(node)):
            raise UnknownError("a condition that is not a boolean")


def _annotate(tree: exp.Expr, types: Mapping[str, exp.DataType]) -> exp.Expr:
    """Return a tree with the type of each value that is known.

    A name that a query gives to a value is known if every value of that name in the query has one type, as has a column
    of that name.
    """
    given = {alias.alias.lower() for alias in tree.find_all(exp.Alias)}
    given |= {name.name.lower() for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
    known = {name: kind for name, kind in types.items() if name not in given}
    while True:
        typed = annotate_types(_put_types(tree, known), dialect=DIALECT)
        found: dict[str, set[exp.DataType | None]] = {}
        for name, value in _list_named(typed):
            found.setdefault(name, {types[name]} if name in types else set()).add(value.type if value else None)
        alone = {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1 and name not in known}
        new = {name: kind for name, kind in alone.items() if kind is not None and kind.this in _KINDS}
        if not new:
            return typed
        known |= new


def _list_named(tree: exp.Expr) -> Iterator[tuple[str, exp.Expr | None]]:
    """Yield the names that a query gives to values; without a value where it is not known."""
    for value in tree.find_all(exp.Alias):
        yield value.alias.lower(), value.this
    for table in tree.find_all(exp.TableAlias):
        for place, name in enumerate(table.columns):
            rows = table.parent.expressions if isinstance(table.parent, exp.Values) else []
            cells = [row.expressions[place] if isinstance(row, exp.Tuple) else row for row in rows]
            yield from ((name.name.lower(), cell) for cell in cells if not isinstance(cell, exp.Null))
            if not rows:
                yield name.name.lower(), None


def _put_types(tree: exp.Expr, known: Mapping[str, exp.DataType]) -> exp.Expr:
    """Return a copy in which columns of a known type are NULL of that type."""
    typed = exp.Paren(this=tree.copy())
    for column in list(typed.find_all(exp.Column)):
        name = f"session.{column.name}" if column.table.lower() == "session" else column.name
        struct, kind = known.get(column.table.lower()), known.get(name.lower())
        if struct is not None and struct.this == exp.DType.STRUCT:
            column.replace(exp.Dot(this=exp.Cast(this=exp.Null(), to=struct.copy()), expression=column.this.copy()))
        elif kind is not None and kind.this == exp.DType.MAP and isinstance(column.parent, exp.Bracket):
            # sqlglot does not find the type of a value in a map
            column.parent.replace(exp.Cast(this=exp.Null(), to=kind.expressions[1].copy()))
        elif kind is not None:
            column.replace(exp.Cast(this=exp.Null(), to=kind.copy()))
    return typed


def _selects(node: exp.Expr, of_text: bool) -> bool:
    """Whether a condition is one of several that rows must meet: NULL, which Spark makes FALSE, is the same there."""
    while isinstance(node.parent, exp.And | exp.Paren):
        node = node.parent
    return of_text if node.parent is None else isinstance(node.parent, exp.Where)


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    match node:
        case exp.And() | exp.Or():
            return [node.left, node.right]
        case exp.LogicalAnd() | exp.LogicalOr() | exp.CountIf():
            return [node.this]
        case exp.Join() if node.args.get("on"):
            return [node.args["on"]]
        case exp.Not() | exp.Where() | exp.Having() | exp.Is(expression=exp.Boolean()):
            return [node.this]
        case exp.If() if not (isinstance(node.parent, exp.Case) and node.parent.this):
            return [node.this]
    return []


def _require_arithmetic(node: exp.Expr) -> None:
    sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
    if any(_kind(side) in {_TEXT, _TRUTH} for side in sides):
        raise UnknownError("arithmetic with text")
    if isinstance(node, exp.Sub) and all(_kind(side) == _TIME for side in sides):
        raise UnknownError("a difference of times")
    if any(_type(side) == exp.DType.FLOAT for side in sides):
        raise UnknownError("arithmetic with FLOAT")
    if any(_type(side) == exp.DType.DECIMAL and not 0 < _precision(side) <= _DIGITS for side in sides):
        raise UnknownError(f"arithmetic with a DECIMAL of more than {_DIGITS} digits")


def _require_order(node: exp.Expr) -> None:
    """In Spark NULL comes first in nested values, structs are compared by position, and maps not at all."""
    values = [*filter(None, [node.args.get("this"), node.args.get("expression")]), *node.expressions]
    if isinstance(node, _ORDERED) and any(_kind(value) in _NESTED for value in values):
        raise UnknownError("an order of arrays or structs")
    if not isinstance(node, exp.In | exp.Nullif | exp.Greatest | exp.Least | exp.Predicate):
        return
    if any(_type(value) == exp.DType.MAP for value in values) and not isinstance(node, exp.Is):
        raise UnknownError("a comparison of maps")
    structs = {tuple(field.name for field in v.expressions) if isinstance(v, exp.Struct) else () for v in values}
    types = {value.type for value in values if value.type and re.search("STRUCT", value.type.sql(DIALECT))}
    if len(structs) > 1 or len(types) > 1:
        raise UnknownError("a comparison of structs that may have other names")
    if any(_type(value) == exp.DType.FLOAT for value in values) and not isinstance(node, exp.Is):
        raise UnknownError("a comparison with FLOAT")


def _pairs(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the values that Spark brings to one type."""
    if isinstance(node, _COMPARED):
        yield node.this, node.expression
    elif isinstance(node, exp.Between):
        yield node.this, node.args["low"]
        yield node.this, node.args["high"]
    elif isinstance(node, exp.In):
        query = node.args.get("query")
        yield from ((node.this, value) for value in (_list_values(query) if query else node.expressions))
    elif isinstance(node, _OF_ONE_TYPE):
        yield from itertools.combinations([*filter(None, [node.args.get("this")]), *node.expressions], 2)
    elif isinstance(node, exp.SetOperation):
        yield from zip(_list_values(node.left), _list_values(node.right), strict=False)
    elif isinstance(node, exp.Values):
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        for column in zip(*rows, strict=False):
            yield from itertools.combinations(column, 2)
    elif isinstance(node, exp.ArrayContains) and _kind(node.this) == _ARRAY and node.this.type:
        element: exp.Expr = exp.Null()
        element.type = node.this.type.expressions[0]
        yield element, node.expression
    elif isinstance(node, exp.Case | exp.If):
        # All results of a CASE get one type, and so do its value and what that is compared with.
        ifs = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        values = [branch.args["true"] for branch in ifs]
        rest = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        yield from itertools.combinations([*values, *filter(None, [rest])], 2)
        if isinstance(node, exp.Case) and node.this is not None:
            yield from ((node.this, branch.this) for branch in ifs)


def _list_values(query: exp.Expr) -> list[exp.Expr]:
    """The values of the first SELECT of a query, without the names."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return [value.this if isinstance(value, exp.Alias) else value for value in query.expressions]


def _require_arguments(node: exp.Expr) -> None:
    """Refuse arguments of a type that Spark does not take, or casts; a function of DuckDB may take them."""
    given, kinds = [node.args.get("this")], {_TEXT}
    match node:
        case exp.Sum():
            given, kinds = node.this.expressions if isinstance(node.this, exp.Distinct) else given, {_NUMBER}
        case exp.ArgMax() | exp.ArgMin():
            by = node.expression
            given, kinds = by.expressions if isinstance(by, exp.Struct) else [by], set(_KINDS.values()) - _NESTED
        case exp.UnixMicros() if _type(node.this) not in _INSTANTS:
            raise UnknownError("UNIX_MICROS of another type than TIMESTAMP")
        case exp.Anonymous() if node.name.upper() in EPOCHS:
            if [_type(value) in {*_SMALL, exp.DType.BIGINT} for value in node.expressions] != [True]:
                raise UnknownError(f"{node.name.upper()} of another type than BIGINT")
            return
        case exp.UnixDate() if _type(node.this) != exp.DType.DATE:
            raise UnknownError("UNIX_DATE of another type than DATE")
        case exp.TsOrDsAdd() | exp.AddMonths() if _type(node.expression) not in {*_SMALL, exp.DType.NULL}:
            raise UnknownError(f"{node.sql_name()} of other numbers than INT")
        case _ if not isinstance(node, _OF_TEXT):
            return
    for value in given:
        if value is not None and _kind(value) not in {*kinds, _NOTHING}:
            name = node.sql_name() if isinstance(node, exp.Func) else type(node).__name__.upper()
            raise UnknownError(f"{name} of {_kind(value)}")


def _require_pair(one: exp.Expr, other: exp.Expr, reads_text: bool) -> None:
    first, second = _kind(one), _kind(other)
    # NULL fits every type.
    if _NOTHING in (first, second):
        return
    if first == second == _ARRAY and _list_kinds(one) == _list_kinds(other):
        return
    if first in _NESTED and one.type != other.type:
        raise UnknownError("a cast of an array, a struct or a map that is not written")
    if first == second:
        return
    # Only a literal shows that it is a time in a form that both read.
    if reads_text and {first, second} == {_TEXT, _TIME}:
        text = one if first == _TEXT else other
        if isinstance(text, exp.Literal) and TIME_TEXT.fullmatch(text.name):
            return
    raise UnknownError(f"a cast between {first} and {second} that is not written")


def _list_kinds(array: exp.Expr) -> list[str | None]:
    return [_KINDS.get(part.this) for part in (array.type.expressions if array.type else [])]


def _type(node: exp.Expr) -> exp.DType | None:
    return node.type.this if isinstance(node.type, exp.DataType) and isinstance(node.type.this, exp.DType) else None


def _precision(node: exp.Expr) -> int:
    """The number of digits of a DECIMAL, or 0 where it is not known."""
    size = node.type.expressions if node.type is not None else []
    return int(size[0].name) if size else 0


def _kind(node: exp.Expr) -> str:
    kind = _type(node)
    if kind not in _KINDS:
        named = f"{node.sql(DIALECT)}, " if isinstance(node, exp.Column) else ""
        raise UnknownError(f"{named}a value whose type is not known")
    return _KINDS[kind]
