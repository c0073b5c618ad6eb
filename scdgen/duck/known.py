"""What may be translated: the nodes of the syntax tree whose results were compared with Spark's.

Everything else is refused by default, because what DuckDB computes instead may look right.
"""

from __future__ import annotations

import re

from sqlglot import exp

from scdgen.errors import UsageError

# The names of sqlglot's classes. Some have a rule in rules.py that refuses certain arguments.
_VALUES = """
    Abs Add AddMonths And Array ArrayCompact ArrayContains ArraySize Between Boolean Bracket Case Cast Ceil Coalesce
    Column Concat ConcatWs Contains CurrentDate CurrentTimestamp DPipe DataType DataTypeParam DateDiff Day DayOfYear
    Div Dot EQ EndsWith Floor GT GTE Greatest Hour ILike Identifier If In Interval Is JSONExtractScalar JSONPath
    JSONPathKey JSONPathRoot JSONPathSubscript LT LTE LastDay Least Left Length Like Literal Lower MD5 Minute Mod
    Month Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Nullif Nvl2 Or Pad Paren PropertyEQ Quarter RegexpExtract
    RegexpLike RegexpReplace RegexpSplit Replace Right Round SHA SHA2 Second SplitPart StartsWith StrPosition
    StrToMap StrToTime Struct Sub Substring TimeStrToTime TimeToStr TimestampTrunc Translate Trim TryCast
    TsOrDsAdd TsOrDsToDate UnixDate UnixMicros Upper Var VarMap WeekOfYear Year
"""
_QUERIES = """
    Alias AnyValue ArgMax ArgMin CTE Count CountIf Distinct Exists Explode Filter FirstValue From Group Having
    IgnoreNulls Join Lag LastValue Lateral Lead Limit LogicalAnd LogicalOr Max Min Order Ordered Rank
    RowNumber Select Star Subquery Sum Table TableAlias Tuple Union Values Where Window WindowSpec With
"""
_TEMPLATES = """
    ArrayDistinct ArrayExcept ArraySort ArrayToString ArrayUniqueAgg CheckColumnConstraint ColumnConstraint ColumnDef
    Create CurrentTimezone Distribute Insert JSONFormat Lambda MapFromEntries MapKeys Merge NotNullColumnConstraint
    OptionsProperty Properties Property Posexplode Return Schema SortArray Stack StrToDate TemporaryProperty Transform
    Typeof Update UserDefinedFunction Uuid When Whens
"""
USERS = frozenset((_VALUES + _QUERIES).split())
"""What a user's expression may have."""
GENERATED = USERS | frozenset(_TEMPLATES.split())
"""What the templates write besides."""
_CALLED = {"RAISE_ERROR", "MAP_ENTRIES", "XXHASH64"}
EPOCHS = {"TIMESTAMP_SECONDS": 1_000_000, "TIMESTAMP_MILLIS": 1_000}
"""Functions of a number since 1970, which sqlglot does not know -> microseconds per unit."""
# As Spark spells them: sqlglot also reads functions of other engines, such as IFF.
_CALLS = """
    ABS ADD_MONTHS ARRAY ARRAY_COMPACT ARRAY_CONTAINS ARRAY_SIZE BOOLEAN CAST CEIL CEILING CHARACTER_LENGTH
    CHAR_LENGTH COALESCE CONCAT CONCAT_WS CONTAINS CURRENT_DATE CURRENT_TIMESTAMP DATE DATEDIFF DATE_ADD DATE_DIFF
    DATE_FORMAT DATE_SUB DATE_TRUNC DAY DAYOFYEAR DOUBLE ENDSWITH FLOAT FLOOR GET_JSON_OBJECT GREATEST HOUR IF
    IFNULL INSTR INT LAST_DAY LCASE LEAST LEFT LEN LENGTH LOCATE LOWER LPAD LTRIM MAP MD5 MINUTE MOD MONTH
    NAMED_STRUCT NOW NULLIF NVL NVL2 POSITION QUARTER REGEXP_EXTRACT REGEXP_LIKE REGEXP_REPLACE REPLACE RIGHT ROUND
    RPAD RTRIM SECOND SHA SHA1 SHA2 SIZE SPLIT SPLIT_PART STARTSWITH STRING STRUCT STR_TO_MAP SUBSTR SUBSTRING
    TIMESTAMP TIMESTAMP_MILLIS TIMESTAMP_SECONDS TO_DATE TO_TIMESTAMP TRANSLATE TRIM TRY_CAST UCASE UNIX_DATE
    UNIX_MICROS UPPER WEEKOFYEAR YEAR
"""
_CALLS_OF_QUERIES = """
    ANY_VALUE BOOL_AND BOOL_OR COUNT COUNT_IF EXPLODE FIRST_VALUE LAG LAST_VALUE LEAD MAX MAX_BY MIN MIN_BY RANK
    ROW_NUMBER SUM
"""
_WORDS = """
    ALL AND AS BETWEEN BY CASE CHAR DEC DECIMAL DISTINCT DIV ELSE EXCEPT EXISTS FILTER FROM HAVING IN INTERVAL IS JOIN
    LATERAL LIKE LIMIT NOT NUMERIC ON OR OVER RLIKE SELECT THEN UNION USING VALUES VARCHAR WHEN WHERE
"""
NAMES = frozenset((_CALLS + _CALLS_OF_QUERIES).split())
"""The functions that a user's expression may call."""
WORDS = frozenset(_WORDS.split())
"""What may stand before a parenthesis without being a call."""
TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
"""A date or a time that both engines read alike."""
JSON_PATH = re.compile(r"\$(\.\w+|\[\d+\])+")
"""The path of a field of JSON that both read alike."""


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
        known = EPOCHS.keys() if names is USERS else _CALLED | EPOCHS.keys()
        if not is_table and node.name.upper() not in known:
            raise UnknownError(f"the function {node.name}")
    elif type(node).__name__ not in names:
        raise UnknownError(node.sql_name() if isinstance(node, exp.Func) else type(node).__name__)
