"""What is refused of a user's SQL: what is not on the list, and values of which Spark would cast one unasked."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError

from scdgen import sql
from scdgen.duck.known import FORMS, FUNCTIONS, JSON_PATH, TIME_TEXT, UNITS, WORDS, UnknownError
from scdgen.model.option import Rows, sql_texts
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.tokens import DIALECT
from scdgen.sql.zones import UTC_NAMES

_MARK = "_f_"
_KINDS = {
    **dict.fromkeys(exp.DataType.TEXT_TYPES, "text"),
    **dict.fromkeys(exp.DataType.NUMERIC_TYPES, "a number"),
    **dict.fromkeys(exp.DataType.TEMPORAL_TYPES, "a time"),
    **dict.fromkeys((exp.DType.ARRAY, exp.DType.LIST), "an array"),
    **dict.fromkeys((exp.DType.BINARY, exp.DType.VARBINARY), "bytes"),
    exp.DType.BOOLEAN: "a boolean",
    exp.DType.NULL: "NULL",
    exp.DType.INTERVAL: "an interval",
    exp.DType.STRUCT: "a struct",
    exp.DType.MAP: "a map",
}
_NESTED = {"an array", "a struct", "a map"}
# The words of the list -> the kind, types or literals that they mean.
_WORDS = {"text": "text", "number": "a number", "time": "a time", "boolean": "a boolean", "array": "an array"}
_SMALL = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT}
_INSTANTS = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ}
_EXACT = {"INT": _SMALL, "BIGINT": {*_SMALL, exp.DType.BIGINT}, "TIMESTAMP": _INSTANTS}
_LITERALS: dict[str, tuple[str, Callable[[exp.Literal], bool]]] = {
    "'...'": ("texts than literals", lambda given: given.is_string and given.name != ""),
    "pattern": ("patterns than literals without a backslash", lambda given: given.is_string and "\\" not in given.name),
    "form": ("patterns", lambda given: given.name in FORMS),
    "0..": ("numbers than literals from 0 on", lambda given: given.is_int),
    "1..": ("numbers than literals from 1 on", lambda given: given.is_int and given.name != "0"),
    "0..12": ("places than 0 to 12", lambda given: given.is_int and int(given.name) <= 12),
    "sign": ("separators than , ; : =", lambda given: re.fullmatch("[,;:=]", given.name) is not None),
    "unit": (f"units than {', '.join(UNITS)}", lambda given: given.name.upper() in UNITS),
    "path": ("paths than those of a field", lambda given: JSON_PATH.fullmatch(given.name) is not None),
}
# Operators -> how messages name them, and what they take.
_OPERATORS: dict[type[exp.Expr], tuple[str, list[str]]] = {
    **dict.fromkeys((exp.And, exp.Or), ("a condition", ["boolean", "boolean"])),
    exp.Not: ("a condition", ["boolean"]),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), ("a comparison", ["plain", "plain"])),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), ("a comparison", ["plain", "plain"])),
    **dict.fromkeys((exp.Like, exp.ILike), ("LIKE", ["text", "pattern"])),
    exp.RegexpLike: ("RLIKE", ["text", "'...'"]),
    exp.DPipe: ("||", ["text", "text"]),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod), ("arithmetic", ["number", "number"])),
    exp.Neg: ("arithmetic", ["number"]),
}
_CLAUSES = (exp.From, exp.With, exp.CTE, exp.Group, exp.Order, exp.Limit)
_NAMES = (exp.TableAlias, exp.Identifier, exp.WindowSpec, exp.Star)
_TEXT, _INT, _BIGINT, _FLOAT, _DOUBLE, _DECIMAL, _DATE, _TIMESTAMP, _BOOLEAN, _NULL, _INTERVAL = map(
    exp.DataType.build,
    ("text", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "boolean", "null", "interval"),
)
_WIDTHS = [exp.DType.BIGINT, exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.TIMESTAMP]
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


def require_known_query(spec: Spec, describe: Callable[[str], Mapping[str, exp.DataType]], query: str) -> None:
    """Raise :class:`UnknownError` for a query of a case; the arguments are those of :func:`require_known_spec`."""
    require_known_text(query, functools.partial(_find_types, spec, functools.cache(describe), []))


def require_known_text(
    text: str, types: Callable[[exp.Expr], Mapping[str, exp.DataType]], selects: bool = False
) -> None:
    """Raise :class:`UnknownError` for an expression or query of a user that may not be translated.

    ``types`` returns the type of each column that a tree may name, by the name in lower case; with ``selects`` the text
    is a condition for which NULL is FALSE.
    """
    sqlglot.parse_one(text, read=DIALECT)
    try:
        tree = sqlglot.parse_one(_mark(text), read=DIALECT)
    except ParseError as error:
        raise UnknownError("a call in this form") from error
    _Types(tree, types(tree)).visit(tree)
    for node in tree.find_all(exp.In):
        if node.args.get("query") and not _selects(node, selects):
            raise UnknownError("IN of a query that is not a condition for rows")


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


def _mark(text: str) -> str:
    """Put a mark before each name that is called, so that sqlglot knows no function, and the tree has what is written.

    >>> _mark("IF(a IN (1), CharIndex('b', c), CAST(d AS INT))")
    "_f_IF(a IN (1), _f_CharIndex('b', c), CAST(d AS INT))"
    """
    for one, after in reversed(list(itertools.pairwise(sqlglot.tokenize(text, read=DIALECT)))):
        is_call = after.token_type == TokenType.L_PAREN and re.fullmatch(r"[A-Za-z_]\w*", one.text)
        if is_call and one.text.upper() not in WORDS and text[one.start].isidentifier():  # and not in quotes
            text = f"{text[: one.start]}{_MARK}{text[one.start :]}"
    return text


class _Types:
    """Finds the types of the values of a tree, and refuses what is not known to be the same on both engines."""

    def __init__(self, tree: exp.Expr, types: Mapping[str, exp.DataType]):
        self._types: dict[str, exp.DataType | None] = {**types}
        # The values to which a query gives a name, which are also columns.
        self._given: dict[str, list[exp.Expr]] = {}
        for alias in tree.find_all(exp.Alias):
            if not (isinstance(alias.this, exp.Column) and alias.this.name.lower() == alias.alias.lower()):
                self._given.setdefault(alias.alias.lower(), []).append(alias.this)
        for table in tree.find_all(exp.TableAlias):
            rows = list(map(_cells, table.parent.expressions)) if isinstance(table.parent, exp.Values) else []
            for place, name in enumerate(table.columns):
                self._given.setdefault(name.name.lower(), []).extend([row[place] for row in rows] or [exp.Star()])

    def visit(self, node: exp.Expr) -> None:
        """Judge a query, a part of it, or a value."""
        match node:
            case exp.Where() | exp.Having() | exp.Join():
                condition = node.args.get("on") if isinstance(node, exp.Join) else node.this
                if condition is not None and self._require("a condition", ["boolean"], [condition]) == _NULL:
                    raise UnknownError("a condition that is not a boolean")
                if isinstance(node, exp.Join):
                    self.visit(node.this)
            case exp.Ordered():
                self._require("an order", ["plain"], [node.this])
            case exp.Values():
                for column in zip(*map(_cells, node.expressions), strict=False):
                    self._require("VALUES", ["same"] * len(column), column)
            case exp.Table():
                for part in (*getattr(node.this, "expressions", ()), *node.iter_expressions()):
                    if part is not node.this:
                        self.visit(part)
            case _ if isinstance(node, _CLAUSES):
                for part in node.iter_expressions():
                    self.visit(part)
            case _ if not isinstance(node, _NAMES) and not (isinstance(node, exp.Distinct) and not node.expressions):
                self._type(node)

    def _type(self, node: exp.Expr) -> exp.DataType | None:
        """Return the type of a value, None if it is not known."""
        match node:
            case exp.Literal():
                return _type_of_literal(node)
            case exp.Null():
                return _NULL
            case exp.Boolean():
                return _BOOLEAN
            case exp.CurrentDate(this=None):
                return _DATE
            case exp.CurrentTimestamp(this=None):
                return _TIMESTAMP
            case exp.Star() | exp.Column(this=exp.Star()) | exp.Identifier():
                return None
            case exp.Column():
                return self._type_of_column(node)
            case exp.Paren() | exp.Alias():
                return self._type(node.this)
            case exp.Cast():
                self._type(node.this)
                return node.to
            case exp.Dot():
                return _field(self._type(node.this), node.name)
            case exp.Bracket(expressions=[exp.Literal() as place]) if place.is_string or place.is_int:
                found = self._type(node.this)
                return found.expressions[-1] if found and _KINDS.get(found.this) in ("an array", "a map") else None
            case exp.Interval(this=exp.Literal() | exp.Neg(this=exp.Literal())):
                if str(node.unit).upper().rstrip("S") in {*UNITS} - {"QUARTER"}:
                    return _INTERVAL
            case exp.Add(expression=exp.Interval()) | exp.Sub(expression=exp.Interval()):
                self._type(node.expression)
                return self._require("an interval", ["time"], [node.this])
            case exp.Anonymous():
                return self._type_of_call(node)
            case exp.Case():
                return self._type_of_case(node)
            case exp.Is(expression=exp.Null() | exp.Boolean() as wanted):
                self._require("a condition", ["any" if isinstance(wanted, exp.Null) else "boolean"], [node.this])
                return _BOOLEAN
            case exp.Exists(this=exp.Query()):
                self.visit(node.this)
                return _BOOLEAN
            case exp.Between() | exp.In():
                query = node.args.get("query")
                others = [node.args["low"], node.args["high"]] if isinstance(node, exp.Between) else node.expressions
                for other in [query] if query else others:
                    self._require(node.key.upper(), ["plain", "plain"], [node.this, other])
                return _BOOLEAN
            case exp.Query() | exp.Window() | exp.Filter() | exp.Distinct():
                return self._type_of_query(node)
            case _ if type(node) in _OPERATORS:
                return self._type_of_operator(node)
        raise UnknownError(node.sql_name() if isinstance(node, exp.Func) else type(node).__name__)

    def _type_of_column(self, node: exp.Column) -> exp.DataType | None:
        parts = [part.name.lower() for part in node.parts]
        if parts[0] == "session":
            return self._type_of_name(".".join(parts))
        # Before a field stands the column; before a column there are only names of tables.
        for place, part in enumerate(parts[:-1]):
            found = self._type_of_name(part)
            if found is not None and found.this == exp.DType.STRUCT:
                for name in parts[place + 1 :]:
                    found = _field(found, name)
                return found
        return self._type_of_name(parts[-1])

    def _type_of_name(self, name: str) -> exp.DataType | None:
        """A name with several values is known if all have one type, as has a column of that name."""
        if values := self._given.pop(name, []):
            found = [self._types[name]] if name in self._types else []
            found += [self._type(value) for value in values if not isinstance(value, exp.Null)]
            self._types[name] = found[0] if found and all(kind == found[0] for kind in found) else None
        return self._types.get(name)

    def _type_of_query(self, node: exp.Expr) -> exp.DataType | None:
        for part in node.iter_expressions():
            self.visit(part)
        if not isinstance(node, exp.Query):
            return self._type(node.this or node.expressions[0])
        if isinstance(node, exp.SetOperation):
            for pair in zip(_list_values(node.left), _list_values(node.right), strict=False):
                self._require("UNION", ["same", "same"], pair)
        return self._type(_list_values(node)[0])

    def _type_of_call(self, node: exp.Anonymous) -> exp.DataType | None:
        name, given = node.name.removeprefix(_MARK), node.expressions
        if name.upper() not in FUNCTIONS:
            raise UnknownError(f"the function {name}")
        fitting = [(one.result, one.fit(len(given))) for one in FUNCTIONS[name.upper()]]
        result, words = next((each for each in fitting if each[1] is not None), ("", None))
        if words is None:
            raise UnknownError(f"{name.upper()} of {len(given)} values")
        found = self._require(name.upper(), words, given)
        match result:
            case "any":
                return None
            case "same":
                return found
            case "array":
                return exp.DataType(this=exp.DType.ARRAY, expressions=[found] if found else [], nested=True)
            case "sum":
                return _join([_BIGINT, found or _NULL])
        return exp.DataType.build(result, dialect=DIALECT)

    def _type_of_case(self, node: exp.Case) -> exp.DataType | None:
        for branch in node.args["ifs"]:
            if node.this is not None:
                self._require("CASE", ["plain", "plain"], [node.this, branch.this])
            else:
                self._require("a condition", ["boolean"], [branch.this])
        results = [*(branch.args["true"] for branch in node.args["ifs"]), *filter(None, [node.args.get("default")])]
        return self._require("CASE", ["same"] * len(results), results)

    def _type_of_operator(self, node: exp.Expr) -> exp.DataType | None:
        name, words = _OPERATORS[type(node)]
        sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
        found = self._require(name, words, sides)
        if "number" not in words:
            return _TEXT if isinstance(node, exp.DPipe) else _BOOLEAN
        kinds = list(filter(None, map(self._type, sides)))
        if _FLOAT in kinds:
            raise UnknownError("arithmetic with FLOAT")
        if any(kind.this == exp.DType.DECIMAL and not 0 < _precision(kind) <= _DIGITS for kind in kinds):
            raise UnknownError(f"arithmetic with a DECIMAL of more than {_DIGITS} digits")
        if any(kind.this == exp.DType.DECIMAL for kind in kinds):
            return _DOUBLE if _DOUBLE in kinds else _DECIMAL
        return _DOUBLE if isinstance(node, exp.Div) else found

    def _require(self, name: str, words: Sequence[str], given: Sequence[exp.Expr]) -> exp.DataType | None:
        """Refuse values that are not what the words say, and return the type of those that are alike, or of the first.

        Raises :class:`UnknownError`.
        """
        found: list[exp.DataType | None] = []
        alike: list[tuple[exp.Expr, exp.DataType | None]] = []
        for word, value in zip(words, given, strict=True):
            if word in _LITERALS:
                wanted, test = _LITERALS[word]
                if not isinstance(value, exp.Literal) or not test(value):
                    if word == "form":
                        raise UnknownError(f"the pattern {value.name}")
                    raise UnknownError(f"{name} with other {wanted}")
                continue
            kind = self._type(value)
            if word not in ("any", "same"):
                _require_kind(name, word, _known(value, kind))
            if word in ("same", "plain"):
                alike.append((value, kind))
            found.append(kind)
        for one, other in itertools.combinations(alike, 2):
            _require_alike(one, other, reads_time=name not in {"GREATEST", "LEAST", "UNION", "VALUES", "ARRAY"})
        return _join([kind for _, kind in alike]) if len(alike) > 1 else found[0] if found else None


def _known(value: exp.Expr, kind: exp.DataType | None) -> exp.DataType:
    if kind is None or kind.this not in _KINDS:
        named = f"{value.sql(DIALECT)}, " if isinstance(value, exp.Column) else ""
        raise UnknownError(f"{named}a value whose type is not known")
    return kind


def _require_kind(name: str, word: str, found: exp.DataType) -> None:
    kind = _KINDS[found.this]
    if kind == "NULL":
        return
    if word == "plain" and (kind in _NESTED or found == _FLOAT):
        raise UnknownError("a comparison with FLOAT" if found == _FLOAT else "a comparison of arrays, structs or maps")
    if word in _EXACT and found.this not in _EXACT[word]:
        raise UnknownError(f"{name} of another type than {word}")
    if word in _WORDS and kind != _WORDS[word]:
        raise UnknownError(f"{name} that is not a boolean" if word == "boolean" else f"{name} of {kind}")


def _require_alike(
    one: tuple[exp.Expr, exp.DataType | None], other: tuple[exp.Expr, exp.DataType | None], reads_time: bool
) -> None:
    """Refuse two values that Spark would bring to one type by a cast that is not written."""
    if _NULL in (one[1], other[1]):  # which fits every type
        return
    types = _known(*one), _known(*other)
    first, second = (_KINDS[kind.this] for kind in types)
    if types[0] == types[1] or (first == second and first not in _NESTED):
        return
    if first in _NESTED:
        raise UnknownError("a cast of an array, a struct or a map that is not written")
    # Only a literal shows that it is a time in a form that both read.
    if reads_time and {first, second} == {"text", "a time"}:
        text = one[0] if first == "text" else other[0]
        if isinstance(text, exp.Literal) and TIME_TEXT.fullmatch(text.name):
            return
    raise UnknownError(f"a cast between {first} and {second} that is not written")


def _join(kinds: Sequence[exp.DataType | None]) -> exp.DataType | None:
    """Return the type that Spark gives to values of one kind; a DECIMAL of several without its digits."""
    found = [kind for kind in kinds if kind is not None and kind != _NULL]
    if not found or all(kind == found[0] for kind in found):
        return found[0] if found else _NULL if _NULL in kinds else None
    widest = max(found, key=lambda kind: _WIDTHS.index(kind.this) if kind.this in _WIDTHS else -1)
    return _DECIMAL if widest.this == exp.DType.DECIMAL else widest


def _type_of_literal(node: exp.Literal) -> exp.DataType:
    if node.is_string or re.search("[eE]", node.name):
        return _TEXT if node.is_string else _DOUBLE
    if node.is_int:
        return _INT if int(node.name) < 1 << 31 else _BIGINT if int(node.name) < 1 << 63 else _DECIMAL
    whole, _, rest = node.name.partition(".")
    return exp.DataType.build(f"DECIMAL({max(len(whole.lstrip('0') + rest), 1)}, {len(rest)})")


def _field(struct: exp.DataType | None, name: str) -> exp.DataType | None:
    fields = struct.expressions if struct is not None and struct.this == exp.DType.STRUCT else []
    return next((field.args["kind"] for field in fields if field.name.lower() == name.lower()), None)


def _precision(kind: exp.DataType) -> int:
    """The number of digits of a DECIMAL, or 0 where it is not known."""
    return int(kind.expressions[0].name) if kind.expressions else 0


def _cells(row: exp.Expr) -> list[exp.Expr]:
    return row.expressions if isinstance(row, exp.Tuple) else [row]


def _selects(node: exp.Expr, of_text: bool) -> bool:
    """Whether a condition is one of several that rows must meet: NULL, which Spark makes FALSE, is the same there."""
    while isinstance(node.parent, exp.And | exp.Paren):
        node = node.parent
    return of_text if node.parent is None else isinstance(node.parent, exp.Where)


def _list_values(query: exp.Expr) -> list[exp.Expr]:
    """The values of the first SELECT of a query, without the names."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    return [value.this if isinstance(value, exp.Alias) else value for value in query.expressions]
