"""What is refused of a user's SQL: what is not on the list, and values of which Spark would cast one unasked."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError

from scdgen import sql
from scdgen.duck.known import FORMS, FUNCTIONS, JSON_PATH, UNITS, WORDS, UnknownError
from scdgen.facts.source import SourceRow
from scdgen.model.option import Rows, sql_texts
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.tokens import DIALECT
from scdgen.sql.types import NESTED
from scdgen.sql.zones import UTC_NAMES

_MARK = "_f_"
# The types whose values are the same on both engines -> the kind of these values. The kind of others is not known.
_KINDS = {
    **dict.fromkeys(exp.DataType.TEXT_TYPES, "STRING"),
    **dict.fromkeys((exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT), "BIGINT"),
    exp.DType.DECIMAL: "DECIMAL",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.DATE: "DATE",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP",  # DuckDB has it for a TIMESTAMP, too
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ), "TIMESTAMP_LTZ"),
    exp.DType.BOOLEAN: "BOOLEAN",
    **dict.fromkeys((exp.DType.ARRAY, exp.DType.LIST), "ARRAY"),
}
_NULL = "NULL"  # the kind that fits every other
# Kind -> the word of the list for values that are compared with each other; a later kind is that of the result.
_WORDS = {
    "STRING": "text",
    **dict.fromkeys(("BIGINT", "DECIMAL", "DOUBLE"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_LTZ"), "time"),
    "BOOLEAN": "boolean",
    "ARRAY": "array",
}
_ORDER = list(_WORDS)
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
_NO_VALUES = (exp.TableAlias, exp.Identifier, exp.WindowSpec, exp.Star)


def require_known_spec(
    spec: Spec,
    describe: Callable[[str], Mapping[str, exp.DataType]],
    view: str | None,
    translate: Callable[[str], object],
) -> None:
    """Raise :class:`UnknownError` for an option or an expression of a spec whose translation is not known.

    ``describe`` returns the name and type of each column of a query; none if one of its tables does not exist. ``view``
    is the table that replaces the spec's source. ``translate`` refuses what only some arguments make unknown.
    """
    if spec.time_zone not in UTC_NAMES:
        raise UnknownError(f"{spec.origin}: table.time_zone: {spec.time_zone}")
    if spec.source.path is not None and view is None:
        raise UnknownError(f"{spec.origin}: source.path: reading files")
    _require_order(spec)
    describe = functools.cache(describe)  # each text may name the same tables
    for found in sql_texts(spec):
        bound = found.fragment.text
        try:
            named = [] if found.option.over is Rows.TARGET else _sources(spec, view)
            require_known_text(bound, functools.partial(_find_kinds, spec, describe, named))
            translate(bound)
        except UnknownError as error:
            raise UnknownError(f"{spec.origin}: {'.'.join(map(str, found.place))}: {error.what}") from error


def _require_order(spec: Spec) -> None:
    """Refuse nested values that put rows in an order: NULL there is the least in Spark, here the greatest.

    Where any row may be taken, it is the one with the least values.
    """
    kinds = [c.type for c in spec.columns.values() if spec.conflicts == "any" or c.merge in ("min", "max")]
    for kind in [*kinds, SourceRow(spec).sequence_type]:
        if kind.upper().startswith(NESTED):
            raise UnknownError(f"{spec.origin}: an order of values of {kind}")


def require_known_query(spec: Spec, describe: Callable[[str], Mapping[str, exp.DataType]], query: str) -> None:
    """Raise :class:`UnknownError` for a query of a case; the arguments are those of :func:`require_known_spec`."""
    require_known_text(query, functools.partial(_find_kinds, spec, functools.cache(describe), []))


def require_known_text(text: str, kinds: Callable[[exp.Expr], Mapping[str, str | None]]) -> None:
    """Raise :class:`UnknownError` for an expression or query of a user that may not be translated.

    ``kinds`` returns those of the columns that a tree may name, by the name in lower case.
    """
    sqlglot.parse_one(text, read=DIALECT)
    try:
        tree = sqlglot.parse_one(_mark(text), read=DIALECT)
    except ParseError as error:
        raise UnknownError("a call in this form") from error
    _Judge(tree, kinds(tree)).visit(tree)


def _rows_of(tables: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"SELECT * FROM {sql.quote_parts(parts)}" for parts in tables]


def _sources(spec: Spec, view: str | None) -> list[str]:
    """Return the queries of the source's rows."""
    named = [*filter(None, [view or spec.source.table]), *(joined.table for joined in spec.source.join.values())]
    return [*_rows_of(map(sql.split_name, named)), *([spec.source.query] if spec.source.query and view is None else [])]


def _find_kinds(
    spec: Spec, describe: Callable[[str], Mapping[str, exp.DataType]], sources: Sequence[str], tree: exp.Expr
) -> dict[str, str | None]:
    """Return the kind of each column that a text may name; a name with several is left out.

    ``sources`` are the queries over whose rows an expression is; none if it is over those of the target.
    """
    tables = [tuple(part.name for part in table.parts) for table in tree.find_all(exp.Table)]
    queries = [*([] if isinstance(tree, exp.Query) else sources), *_rows_of(tables)]
    listed = [(name, kind) for query in queries for name, kind in describe(query).items()]
    if not isinstance(tree, exp.Query) or not all(map(describe, queries)):  # the target, or a view, is made later
        known = {name.lower() for name, _ in listed}
        own = {sql.unquote(column.name): column.type for column in pattern_of(spec).columns(spec)}
        listed += [(name, _build(kind)) for name, kind in own.items() if name.lower() not in known]
    listed += [(f"session.{name}", _build(param.type)) for name, param in spec.params.items()]
    found: dict[str, set[str | None]] = {}
    for name, kind in itertools.chain.from_iterable(itertools.starmap(list_kinds, listed)):
        found.setdefault(name, set()).add(kind)
    return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}


def list_kinds(name: str, kind: exp.DataType) -> Iterator[tuple[str, str | None]]:
    """Yield the name and the kind of a column, and of the fields of a struct.

    >>> list(list_kinds("A", exp.DataType.build("struct<b: int>", dialect="databricks")))
    [('a', None), ('a.b', 'BIGINT')]
    """
    yield name.lower(), _KINDS.get(kind.this)
    for field in kind.expressions if kind.this == exp.DType.STRUCT else ():
        yield from list_kinds(f"{name}.{field.name}", field.args["kind"])


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


class _Judge:
    """Refuses what is not known to be the same on both engines; ``kinds`` are those of the columns.

    Known are the kinds of columns, literals, casts, and of calls and operators whose result has a fixed one.
    """

    def __init__(self, tree: exp.Expr, kinds: Mapping[str, str | None]):
        # The values to which a query gives a name, which are also columns.
        self._given: dict[str, list[exp.Expr]] = {}
        for alias in tree.find_all(exp.Alias):
            if not (isinstance(alias.this, exp.Column) and alias.this.name.lower() == alias.alias.lower()):
                self._given.setdefault(alias.alias.lower(), []).append(alias.this)
        # The fields of a struct of such a name may be of another one.
        self._kinds = {n: kind for n, kind in kinds.items() if "." not in n or n.split(".")[0] not in self._given}

    def visit(self, node: exp.Expr) -> None:
        """Judge a query, a part of it, or a value."""
        match node:
            case exp.Where() | exp.Having():
                self._require("a condition", ["boolean"], [node.this])
            case exp.Join():
                if condition := node.args.get("on"):
                    self._require("a condition", ["boolean"], [condition])
                self.visit(node.this)
            case exp.Ordered():
                self._require("an order", ["plain"], [node.this])
            case exp.Table():  # a function in its place is refused by the translation
                for part in (*getattr(node.this, "expressions", ()), *node.iter_expressions()):
                    if part is not node.this:
                        self.visit(part)
            case exp.Hint():  # which the translation leaves out
                pass
            case exp.TableAlias() if node.columns:
                raise UnknownError("names of columns after a table")
            case _ if isinstance(node, _CLAUSES):
                for part in node.iter_expressions():
                    self.visit(part)
            case _ if not isinstance(node, _NO_VALUES) and not (
                isinstance(node, exp.Distinct) and not node.expressions
            ):
                self._kind(node)

    def _kind(self, node: exp.Expr) -> str | None:
        """Return the kind of a value, None if it is not known."""
        match node:
            case exp.Literal(is_string=True):
                return "STRING"
            case exp.Literal() if node.is_int and len(node.name) < 19:
                return "BIGINT"
            case exp.Literal():
                return "DOUBLE" if re.search("[eE]", node.name) else "DECIMAL"
            case exp.Null():
                return _NULL
            case exp.Boolean():
                return "BOOLEAN"
            case exp.CurrentDate(this=None):
                return "DATE"
            case exp.CurrentTimestamp(this=None):
                return "TIMESTAMP_LTZ"
            case exp.Star() | exp.Column(this=exp.Star()) | exp.Identifier():
                return None
            case exp.Column():
                return self._kind_of_column(node)
            case exp.Paren() | exp.Alias():
                return self._kind(node.this)
            case exp.Cast():
                self._kind(node.this)
                return _KINDS.get(node.to.this)
            case exp.Dot() | exp.Bracket(expressions=[exp.Literal()]):
                self._kind(node.this)
                return None
            case exp.Add(expression=exp.Interval() as length) | exp.Sub(expression=exp.Interval() as length):
                if not length.find(exp.Literal) or str(length.unit).upper().rstrip("S") not in UNITS:
                    raise UnknownError("an interval in this form")
                self._require("an interval", ["time"], [node.this])
                return self._kind(node.this)
            case exp.Anonymous():
                return self._kind_of_call(node)
            case exp.Case():
                return self._kind_of_case(node)
            case exp.Is(expression=exp.Null() | exp.Boolean() as wanted):
                self._require("a condition", ["any" if isinstance(wanted, exp.Null) else "boolean"], [node.this])
                return "BOOLEAN"
            case exp.Exists(this=exp.Query()):
                self.visit(node.this)
                return "BOOLEAN"
            case exp.In() if node.args.get("query"):  # whose NULL is FALSE in some places in Spark
                raise UnknownError("IN of a query, instead of EXISTS")
            case exp.Between() | exp.In():
                others = [node.args["low"], node.args["high"]] if isinstance(node, exp.Between) else node.expressions
                self._require("a comparison", ["plain"] * (1 + len(others)), [node.this, *others])
                return "BOOLEAN"
            case exp.Query() | exp.Window() | exp.Filter() | exp.Distinct():
                for part in node.iter_expressions():
                    self.visit(part)
                if isinstance(node, exp.SetOperation):
                    for pair in zip(node.left.selects, node.right.selects, strict=False):
                        self._require("UNION", ["same", "same"], pair)
                return self._kind(node.selects[0] if isinstance(node, exp.Query) else node.this or node.expressions[0])
            case _ if type(node) in _OPERATORS:
                return self._kind_of_operator(node)
        raise UnknownError(node.sql_name() if isinstance(node, exp.Func) else type(node).__name__)

    def _kind_of_column(self, node: exp.Column) -> str | None:
        """The kind of a column or of a field of it; before them may stand names of tables."""
        parts = [part.name.lower() for part in node.parts]
        names = [".".join(parts[place:]) for place in range(len(parts))]
        name = next((name for name in names if name in self._kinds), parts[-1])
        if values := self._given.pop(name, []):  # known if all have one kind, as has a column of that name
            found = {*map(self._kind, values)} - {_NULL} | ({self._kinds[name]} if name in self._kinds else set())
            self._kinds[name] = found.pop() if len(found) == 1 else None
        return self._kinds.get(name)

    def _kind_of_call(self, node: exp.Anonymous) -> str | None:
        name, given = node.name.removeprefix(_MARK), node.expressions
        if name.upper() not in FUNCTIONS:
            raise UnknownError(f"the function {name}")
        fitting = [(one.result, one.fit(len(given))) for one in FUNCTIONS[name.upper()]]
        result, words = next((each for each in fitting if each[1] is not None), ("", None))
        if words is None:
            raise UnknownError(f"{name.upper()} of {len(given)} values")
        found = self._require(name.upper(), words, given)
        return found if result == "same" else None if result == "any" else result

    def _kind_of_case(self, node: exp.Case) -> str | None:
        tests = [branch.this for branch in node.args["ifs"]]
        if node.this is None:
            self._require("a condition", ["boolean"] * len(tests), tests)
        else:
            self._require("a comparison", ["plain"] * (1 + len(tests)), [node.this, *tests])
        results = [*(branch.args["true"] for branch in node.args["ifs"]), *filter(None, [node.args.get("default")])]
        return self._require("CASE", ["same"] * len(results), results)

    def _kind_of_operator(self, node: exp.Expr) -> str | None:
        name, words = _OPERATORS[type(node)]
        sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
        found = self._require(name, words, sides)
        if "number" not in words:
            return "STRING" if isinstance(node, exp.DPipe) else "BOOLEAN"
        if "DECIMAL" in map(self._kind, sides):  # of which the digits of the result differ
            raise UnknownError("arithmetic with DECIMAL")
        return "DOUBLE" if isinstance(node, exp.Div) else found

    def _require(self, name: str, words: Sequence[str], given: Sequence[exp.Expr]) -> str | None:
        """Refuse values that are not what the words of the list say, and return the kind of those that are alike."""
        alike: list[tuple[exp.Expr, str | None]] = []
        for word, value in zip(words, given, strict=True):
            if word in _LITERALS:
                wanted, test = _LITERALS[word]
                if not isinstance(value, exp.Literal) or not test(value):
                    raise UnknownError(f"the pattern {value.name}" if word == "form" else f"{name} with other {wanted}")
                continue
            kind = self._kind(value)
            if word == "any" or kind == _NULL:
                continue
            if word != "same":
                known = _known(value, kind)
                if word not in ("plain", known, _WORDS[known]) or (word == "plain" and known == "ARRAY"):
                    raise UnknownError(f"{name} of {known}")
            if word in ("same", "plain", "number"):
                alike.append((value, kind))
        if len(alike) == 1:
            return alike[0][1]
        kinds = [_known(value, kind) for value, kind in alike]
        for kind in kinds:
            if _WORDS[kind] != _WORDS[kinds[0]]:
                raise UnknownError(f"a cast between {kinds[0]} and {kind} that is not written")
        return max(kinds, key=_ORDER.index, default=_NULL)


def _known(value: exp.Expr, kind: str | None) -> str:
    if kind is None:
        named = f"{value.sql(DIALECT)}, " if isinstance(value, exp.Column) else ""
        raise UnknownError(f"{named}a value whose type is not known")
    return kind
