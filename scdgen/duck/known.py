"""What may be translated: the nodes of the syntax tree whose results were compared with Spark's.

Everything else is refused by default, because what DuckDB computes instead may look right.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from scdgen.errors import UsageError
from scdgen.spec.model import Spec
from scdgen.spec.rules import sql_texts
from scdgen.sql.tokens import DIALECT
from scdgen.sql.zones import UTC_NAMES

# The names of sqlglot's classes. Some have a rule in rules.py that refuses certain arguments.
_VALUES = """
    Abs Add AddMonths And Array ArrayCompact ArrayContains ArraySize Between Boolean Bracket Case Cast Ceil Coalesce
    Column Concat ConcatWs Contains CurrentDate CurrentTimestamp DPipe DataType DataTypeParam DateDiff Day DayOfYear
    Div Dot EQ EndsWith Floor GT GTE Greatest Hour ILike Identifier If In Interval Is JSONExtractScalar JSONPath
    JSONPathKey JSONPathRoot JSONPathSubscript LT LTE LastDay Least Left Length Like Literal Lower MD5 Minute Mod
    Month Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Nullif Nvl2 Or Pad Paren PropertyEQ Quarter RegexpExtract
    RegexpLike RegexpReplace RegexpSplit Replace Right Round SHA SHA2 Second SplitPart StartsWith StrPosition
    StrToDate StrToMap StrToTime Struct Sub Substring TimeStrToTime TimeToStr TimestampTrunc Translate Trim TryCast
    TsOrDsAdd TsOrDsToDate UnixDate UnixMicros Upper Var VarMap WeekOfYear Year
"""
_QUERIES = """
    Alias AnyValue ArgMax ArgMin CTE Count CountIf Distinct Exists Explode Filter FirstValue From Group Having
    IgnoreNulls Join Lag LastValue Lateral Lead Limit LogicalAnd LogicalOr Max Min Order Ordered Posexplode Rank
    RowNumber Select Star Subquery Sum Table TableAlias Tuple Union Values Where Window WindowSpec With
"""
_TEMPLATES = """
    ArrayDistinct ArrayExcept ArraySort ArrayToString ArrayUniqueAgg CheckColumnConstraint ColumnConstraint ColumnDef
    Create CurrentTimezone Distribute Insert JSONFormat Lambda MapFromEntries MapKeys Merge NotNullColumnConstraint
    OptionsProperty Properties Property Return Schema SortArray Stack TemporaryProperty Transform Typeof Update
    UserDefinedFunction Uuid When Whens
"""
USERS = frozenset((_VALUES + _QUERIES).split())
"""What a user's expression may have."""
GENERATED = USERS | frozenset(_TEMPLATES.split())
"""What the templates write besides."""
_CALLED = {"RAISE_ERROR", "MAP_ENTRIES"}

_TEXT, _NUMBER, _TIME, _TRUTH = "text", "a number", "a time", "a boolean"
_KINDS = {
    **dict.fromkeys(exp.DataType.TEXT_TYPES, _TEXT),
    **dict.fromkeys(exp.DataType.NUMERIC_TYPES, _NUMBER),
    **dict.fromkeys(exp.DataType.TEMPORAL_TYPES, _TIME),
    exp.DType.BOOLEAN: _TRUTH,
}
_COMPARED = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Nullif)
_OF_ONE_TYPE = (exp.Coalesce, exp.Greatest, exp.Least, exp.Array)
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")


class UnknownError(UsageError):
    """SQL without a known counterpart in DuckDB; the message names it, and says to use Spark.

    >>> str(UnknownError("the function f"))
    'the function f: use --engine spark'
    """

    def __init__(self, what: str):
        super().__init__(f"{what}: use --engine spark")
        self.what = what


def require_known(node: exp.Expr, names: frozenset[str] = GENERATED) -> None:
    """Raise :class:`UnknownError` for a node that may not be translated; ``names`` are those that may be."""
    if isinstance(node, exp.Anonymous):
        is_table = isinstance(node.parent, exp.Table)  # views.as_of is a macro
        if not is_table and (names is USERS or node.name.upper() not in _CALLED):
            raise UnknownError(f"the function {node.name}")
    elif type(node).__name__ not in names:
        raise UnknownError(node.sql_name() if isinstance(node, exp.Func) else type(node).__name__)


def require_known_spec(
    spec: Spec, columns: Callable[[str], Mapping[str, str]], view: str | None, translate: Callable[[str], object]
) -> None:
    """Raise :class:`UnknownError` for an option or an expression of a spec whose translation is not known.

    Args:
        spec: the spec.
        columns: returns the name and DuckDB type of each column of a table; none if it does not exist.
        view: the table that replaces the spec's source.
        translate: translates a text, and refuses what only some arguments make unknown.
    """
    if spec.time_zone not in UTC_NAMES:
        raise UnknownError(f"{spec.origin}: table.time_zone: {spec.time_zone}")
    if spec.source.path is not None and view is None:
        raise UnknownError(f"{spec.origin}: source.path: reading files")
    columns = functools.cache(columns)  # each text may name the same tables
    for place, read, text in sql_texts(spec):
        bound = read(text).text
        tree = sqlglot.parse_one(bound, read=DIALECT)
        try:
            for node in tree.walk():
                require_known(node, USERS)
            require_written_casts(tree, _find_types(spec, tree, columns, view))
            translate(bound)
        except UnknownError as error:
            raise UnknownError(f"{spec.origin}: {'.'.join(map(str, place))}: {error.what}") from error


def _find_types(
    spec: Spec, tree: exp.Expr, columns: Callable[[str], Mapping[str, str]], view: str | None
) -> dict[str, exp.DataType]:
    """Return the type of each column that a text may name; a name with several types is left out."""
    tables = [".".join(part.name for part in table.parts) for table in tree.find_all(exp.Table)]
    if not tables:
        tables = [*filter(None, [view or spec.source.table]), *(joined.table for joined in spec.source.join.values())]
    found: dict[str, exp.DataType] = {}
    several: set[str] = set()
    listed = [(name, kind, "duckdb") for table in tables for name, kind in columns(table).items()]
    if not isinstance(tree, exp.Query):
        known = {name.lower() for name, *_ in listed}
        listed += [(n, column.type, DIALECT) for n, column in spec.columns.items() if n.lower() not in known]
    listed += [(f"session.{name}", param.type, DIALECT) for name, param in spec.params.items()]
    for name, kind, dialect in listed:
        built = exp.DataType.build(kind, dialect=dialect)
        if found.setdefault(name.lower(), built) != built:
            several.add(name.lower())
    return {name: kind for name, kind in found.items() if name not in several}


def require_written_casts(tree: exp.Expr, types: Mapping[str, exp.DataType]) -> None:
    """Raise :class:`UnknownError` for a cast that Spark adds, where the types show it."""
    typed = tree.copy()
    for column in list(typed.find_all(exp.Column)):
        name = f"session.{column.name}" if column.table.lower() == "session" else column.name
        if (kind := types.get(name.lower())) and column is not typed:
            column.replace(exp.Cast(this=exp.Null(), to=kind.copy()))
    for node in annotate_types(typed, dialect=DIALECT).walk():
        for one, other in _pairs(node):
            _require_pair(one, other)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.Neg):
            sides = [side for side in (node.this, node.args.get("expression")) if side is not None]
            if any(_kind(side) in {_TEXT, _TRUTH} for side in sides):
                raise UnknownError("arithmetic with text")
            if isinstance(node, exp.Sub) and all(_kind(side) == _TIME for side in sides):
                raise UnknownError("a difference of times")
        if isinstance(node, exp.Concat | exp.DPipe | exp.ConcatWs):
            parts = [*node.expressions, *filter(None, [node.args.get("this"), node.args.get("expression")])]
            if any(part.type and part.type.this in {exp.DType.DOUBLE, exp.DType.FLOAT} for part in parts):
                raise UnknownError("a cast of a fraction to text")
        if isinstance(node, exp.And | exp.Or) and any(_kind(s) not in {_TRUTH, None} for s in (node.left, node.right)):
            raise UnknownError("a condition that is not a boolean")


def _pairs(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield the values that Spark brings to one type."""
    if isinstance(node, _COMPARED):
        yield node.this, node.expression
    elif isinstance(node, exp.Between):
        yield node.this, node.args["low"]
        yield node.this, node.args["high"]
    elif isinstance(node, exp.In):
        yield from ((node.this, value) for value in node.expressions)
    elif isinstance(node, _OF_ONE_TYPE):
        first, *others = [*filter(None, [node.args.get("this")]), *node.expressions] or [node]
        yield from ((first, other) for other in others)
    elif isinstance(node, exp.Case | exp.If):
        ifs = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        values = [branch.args["true"] for branch in ifs]
        rest = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        yield from ((values[0], value) for value in [*values[1:], *filter(None, [rest])])
        if isinstance(node, exp.Case) and node.this is not None:
            yield from ((node.this, branch.this) for branch in ifs)


def _require_pair(one: exp.Expr, other: exp.Expr) -> None:
    first, second = _kind(one), _kind(other)
    if first is None or second is None or first == second:
        return
    if {first, second} == {_TEXT, _TIME}:
        text = one if first == _TEXT else other
        if isinstance(text, exp.Literal) and _TIME_TEXT.fullmatch(text.name):
            return
    raise UnknownError(f"a cast between {first} and {second} that is not written")


def _kind(node: exp.Expr) -> str | None:
    return _KINDS.get(node.type.this) if node.type is not None else None
