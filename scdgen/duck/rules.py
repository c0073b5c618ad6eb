"""Changes of the syntax tree, one per construct that sqlglot prints for DuckDB with another meaning, or not at all.

The doctests show it for what only the generated SQL has; of the rest `tests/cases/expressions` has Spark's values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import ErrorLevel, exp
from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError

from scdgen.duck.known import TIME_TEXT, UnknownError
from scdgen.sql.tokens import DIALECT

_WHOLE = {exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT}
_FRACTIONS = {exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL}
_TEXTS = {exp.DType.TEXT, exp.DType.VARCHAR}
_TIMES = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ, exp.DType.DATE}
_UNKNOWN_TYPES = {exp.DType.VARIANT, exp.DType.OBJECT, exp.DType.INTERVAL}
_SIZED = {exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.NCHAR, exp.DType.BPCHAR}
_WHOLES = {"_scd_state", "_scd_rest"}  # columns that the first step builds as structs
_DAYS = {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
_MICROS = "'yyyy-MM-dd HH:mm:ss.SSSSSS'"
# The options of TO_JSON -> how it writes times.
_JSON_FORMS = {
    "": "%Y-%m-%dT%H:%M:%S.%gZ",
    "MAP('ignoreNullFields', 'true')": "%Y-%m-%dT%H:%M:%S.%gZ",
    **{
        f"MAP('timestampFormat', {_MICROS}{local}{zone})": "%Y-%m-%d %H:%M:%S.%f"
        for local in ("", f", 'timestampNTZFormat', {_MICROS}")
        for zone in ("", ", 'timeZone', 'UTC'")
    },
}
# Functions of a number since 1970, which sqlglot does not know -> microseconds per unit.
_EPOCHS = {"TIMESTAMP_SECONDS": 1_000_000, "TIMESTAMP_MILLIS": 1_000}
# Parts of a pattern of times -> the texts that Spark reads with them.
_READ = {"%Y": "[0-9]{4}", "%-m": "[0-9]{1,2}", "%-d": "[0-9]{1,2}", "%f": "[0-9]{1,6}", "%p": "[AaPp][Mm]"}


class Reader(Databricks):
    """The dialect of the generated SQL, with the letters of the date and time patterns that are known."""

    TIME_MAPPING = {  # noqa: RUF012
        "yyyy": "%Y", "MM": "%m", "M": "%-m", "dd": "%d", "d": "%-d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S",
        "SSSSSS": "%f", "a": "%p",
    }  # fmt: skip


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """Return the call of a function or macro of DuckDB."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def translate_type(kind: exp.DataType) -> exp.DataType:
    """A timestamp is one of UTC, as the session is; DuckDB's with a zone would give other texts and Python values.

    >>> translate_type(exp.DataType.build("ARRAY<TIMESTAMP>", dialect="databricks")).sql("duckdb")
    'TIMESTAMP[]'
    >>> translate_type(exp.DataType.build("DECIMAL", dialect="databricks")).sql("duckdb")
    'DECIMAL(10, 0)'
    """
    for node in list(kind.find_all(exp.DataType)):
        if node.this == exp.DType.DECIMAL and not node.expressions:  # DuckDB's own is DECIMAL(18, 3)
            node.set("expressions", [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (10, 0)])
        if node.this in {exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ}:
            node.set("this", exp.DType.TIMESTAMP)
        if node.this in _UNKNOWN_TYPES:
            raise UnknownError(f"the type {node.sql(DIALECT)}")
    return kind


def _nested_type(node: exp.DataType) -> exp.Expr:
    return node if isinstance(node.parent, exp.DataType | exp.Cast) else translate_type(node)


def _cast(node: exp.Cast) -> exp.Expr:
    """A cast to a whole number cuts, a text is a number or a time only in Spark's forms, and its zone counts.

    >>> show("SELECT CAST(a AS INT), TRY_CAST(a AS DATE), CAST(a AS TIMESTAMP), CAST(a AS STRING), CAST('1' AS INT)")
    SELECT CAST(_SPARK_WHOLE(a, FALSE) AS INT), TRY_CAST(_SPARK_DATE(a, TRUE) AS DATE), CAST(_SPARK_INSTANT(a, FALSE) AS TIMESTAMP), CAST(_SPARK_TEXT(a) AS TEXT), CAST('1' AS INT)
    """  # noqa: E501
    is_local = node.to.this == exp.DType.TIMESTAMPNTZ
    kind, value = translate_type(node.to), node.this
    # Literals in a plain form mean the same in both.
    if isinstance(value, exp.Null) or (isinstance(value, exp.Literal) and _is_plain(value, kind.this)):
        return node
    tries = exp.Boolean(this=isinstance(node, exp.TryCast))
    if kind.this in _TEXTS:
        if not isinstance(value, exp.Anonymous) or value.name.startswith("_spark_"):
            node.set("this", call("_spark_text", value))
    elif kind.this in _WHOLE:
        node.set("this", call("_spark_whole", value, tries))
    elif kind.this in _TIMES:
        wanted = "date" if kind.this == exp.DType.DATE else "local" if is_local else "instant"
        node.set("this", call(f"_spark_{wanted}", value, tries))
    elif kind.this in _FRACTIONS:
        digits = call("_spark_digits", value) if kind.this == exp.DType.DECIMAL else value
        node.set("this", call("_spark_number", digits, tries))
    elif kind.this == exp.DType.BOOLEAN and not tries.this:
        node.set("this", call("_spark_truth", value))
    elif kind.this == exp.DType.BINARY:
        node.set("this", call("_spark_bytes", value))
    elif kind.this in exp.DataType.NESTED_TYPES and not tries.this:
        node.set("this", call("_spark_nested", value, exp.Cast(this=exp.Null(), to=kind.copy())))
    else:
        raise UnknownError(f"a cast to {node.to.sql(DIALECT)}")
    return node


def _is_plain(value: exp.Literal, kind: exp.DType) -> bool:
    """Whether both engines convert a literal in the same way."""
    if not value.is_string:
        digits = r"\d+" if kind in _WHOLE else r"\d+(\.\d+)?"
        return kind not in _TIMES and re.fullmatch(digits, value.name) is not None
    if kind in _TIMES:
        return TIME_TEXT.fullmatch(value.name) is not None
    return kind in _TEXTS or (kind in _WHOLE | _FRACTIONS and re.fullmatch(r"[+-]?\d+", value.name) is not None)


def _add_interval(node: exp.Add | exp.Sub) -> exp.Expr:
    """A date plus days is a date; in DuckDB it is a timestamp, whose text is another one."""
    left, right = node.this, node.expression
    if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
        left, right = right, left
    if not isinstance(right, exp.Interval) or str(right.unit).upper().rstrip("S") not in _DAYS:
        return node
    return call("_spark_plus", left, exp.Neg(this=exp.Paren(this=right)) if isinstance(node, exp.Sub) else right)


def _read_pattern(node: exp.Expr) -> exp.Expr:
    """A pattern of times reads and writes only its own form; which ones are known, the list of functions says."""
    form = node.args.get("format")
    to_date = "Date" in type(node).__name__
    if form is None:
        return _cast(exp.Cast(this=node.this, to=exp.DataType.build("date" if to_date else "timestamp")))
    if isinstance(node, exp.TimeToStr):
        node.set("this", call("_spark_dated", node.this))
        return node
    read = re.sub(r"%-?.|\.", lambda part: _READ.get(part[0], "[0-9]{2}" if part[0] != "." else r"\."), form.name)
    parsed = call("_spark_parse", node.this, form, exp.Literal.string(read))
    return exp.cast(parsed, "date") if to_date else parsed


def _stack(node: exp.Select) -> exp.Expr:
    """``LATERAL VIEW STACK(n, ...)`` is a join with VALUES; sqlglot knows EXPLODE and POSEXPLODE, and drops OUTER.

    >>> show("SELECT p FROM t LATERAL VIEW STACK(2, 1, b, 2, c) s AS p, q")
    SELECT p FROM t CROSS JOIN LATERAL (VALUES (1, b), (2, c)) AS s(p, q)
    """
    for lateral in list(node.args.get("laterals") or ()):
        if lateral.args.get("outer"):
            raise UnknownError("LATERAL VIEW OUTER")
        if isinstance(lateral.this, exp.Stack):
            cells, alias = lateral.this.expressions, lateral.args["alias"]
            width = len(alias.columns)
            rows = [exp.Tuple(expressions=cells[at : at + width]) for at in range(0, len(cells), width)]
            values = exp.Lateral(this=exp.Subquery(this=exp.Values(expressions=rows)), alias=alias.copy())
            node.args["laterals"].remove(lateral)
            node.append("joins", exp.Join(this=values, kind="CROSS"))
    return node


def _json(node: exp.JSONFormat) -> exp.Expr:
    """TO_JSON of a struct leaves NULL out and writes times as ISO, unless the options have another form.

    >>> show("SELECT TO_JSON(STRUCT(a))")
    SELECT CAST(JSON_MERGE_PATCH('{}', TO_JSON({'a': _SPARK_JSON(a, '%Y-%m-%dT%H:%M:%S.%gZ')})) AS TEXT)
    >>> show("SELECT TO_JSON(ARRAY(a, b))")
    SELECT CAST(TO_JSON([_SPARK_JSON(a, '%Y-%m-%dT%H:%M:%S.%gZ'), _SPARK_JSON(b, '%Y-%m-%dT%H:%M:%S.%gZ')]) AS TEXT)
    """
    options = node.args.get("options")
    given = options.sql(DIALECT) if options else ""
    if given not in _JSON_FORMS:
        raise UnknownError(f"TO_JSON with {given}")
    form = exp.Literal.string(_JSON_FORMS[given])
    if isinstance(node.this, exp.Struct):
        for field in node.this.expressions:
            field.set("expression", call("_spark_json", field.expression, form.copy()))
        whole = call("json_merge_patch", exp.Literal.string("{}"), call("to_json", node.this))
    elif isinstance(node.this, exp.Array):
        parts = [call("_spark_json", part, form.copy()) for part in node.this.expressions]
        whole = call("to_json", exp.Array(expressions=parts))
    else:
        raise UnknownError("TO_JSON of another value than STRUCT(...) or ARRAY(...)")
    return exp.Cast(this=whole, to=exp.DataType.build("text"))


def _type_name(node: exp.Typeof) -> exp.Expr:
    """The tests of a session's settings have one answer here; of other values only the name of text is Spark's.

    >>> show("SELECT TYPEOF(COALESCE(1, '')), TYPEOF(CAST(NULL AS TIMESTAMP)), TYPEOF(a) = 'string'")
    SELECT 'bigint', 'timestamp', _SPARK_TYPE(a) = 'string'
    """
    match node.this:
        case exp.Coalesce():
            return exp.Literal.string("bigint")
        case exp.Cast(this=exp.Null()):
            return exp.Literal.string("timestamp")
    if not isinstance(node.parent, exp.EQ | exp.NEQ) or node.parent.expression.name != "string":
        raise UnknownError("TYPEOF")
    return call("_spark_type", node.this)


def _typed_case(node: exp.Case) -> exp.Expr:
    """``CASE WHEN TYPEOF(x) = 'string' THEN TRY_CAST(x AS t) ELSE x END``: branches have one type in DuckDB.

    >>> show("SELECT CASE WHEN TYPEOF(x) = 'string' THEN TRY_CAST(x AS DOUBLE) ELSE x END")
    SELECT TRY_CAST(_SPARK_NUMBER(x, TRUE) AS DOUBLE)
    """
    first, rest = node.args["ifs"][0], node.args.get("default")
    tests_type = any(inside.name == "_spark_type" for inside in first.this.find_all(exp.Anonymous))
    if tests_type and isinstance(first.args["true"], exp.TryCast) and rest is not None:
        return first.args["true"].copy()
    return node


def _called(node: exp.Anonymous) -> exp.Expr:
    """A refusal, a hash of a text, or a time from a whole number since 1970."""
    name = node.name.upper()
    if name in _EPOCHS:
        (number,) = node.expressions
        micros = exp.Mul(this=exp.cast(number.copy(), "bigint"), expression=exp.Literal.number(_EPOCHS[name]))
        return call("make_timestamp", micros)
    if name == "XXHASH64":
        return call("_spark_xxhash64", *node.expressions)
    return call("error", *node.expressions) if name == "RAISE_ERROR" else node


def _count_if(node: exp.CountIf) -> exp.Expr:
    """COUNT_IF of no rows is 0; in DuckDB it is NULL."""
    if isinstance(node.parent, exp.Filter):
        raise UnknownError("COUNT_IF with FILTER")
    return exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=node.this))


def _least_null(struct: exp.Struct) -> exp.Struct:
    """A struct in whose order NULL is least, as in Spark; in DuckDB it is greatest. The fields keep their names."""
    fields = []
    for field in struct.expressions:
        is_known = exp.Not(this=exp.Is(this=field.expression.copy(), expression=exp.Null()))
        value = _ordered(field.expression, struct.root())
        fields += [_field(f"_has_{field.name}", is_known), _field(field.name, value)]
    return exp.Struct(expressions=fields)


def _field(name: str, value: exp.Expr) -> exp.PropertyEQ:
    return exp.PropertyEQ(this=exp.to_identifier(name), expression=value)


def _ordered(value: exp.Expr, root: exp.Expr) -> exp.Expr:
    """A value in whose order NULL is least, if it is a struct, or a column that a step builds as one."""
    if isinstance(value, exp.Struct) and not value.expressions[0].name.startswith("_has_"):
        return _least_null(value)
    if not (isinstance(value, exp.Column) and value.name in _WHOLES):
        return value.copy()
    built = (alias.this for alias in root.find_all(exp.Alias) if alias.alias == value.name)
    struct = next((one for one in built if isinstance(one, exp.Struct)), None)
    parts = []
    for name in (field.name for field in struct.expressions) if struct else ():
        parts.append(_field(name, exp.Dot(this=value.copy(), expression=exp.to_identifier(name, quoted=True))))
    return _least_null(exp.Struct(expressions=parts)) if parts else value.copy()


def _extreme(node: exp.Max | exp.Min) -> exp.Expr:
    """MAX or MIN of a state, in whose order NULL is least."""
    if isinstance(node.this, exp.Column) and node.this.name in _WHOLES:
        name = "arg_max" if isinstance(node, exp.Max) else "arg_min"
        return call(name, node.this.copy(), _ordered(node.this, node.root()))
    return _compared(node)


def _compared(node: exp.Expr) -> exp.Expr:
    """Structs in an order: NULL in a struct is least in Spark, greatest in DuckDB.

    >>> show("SELECT MAX(STRUCT(a))")
    SELECT MAX({'_has_a': NOT a IS NULL, 'a': a})
    """
    for side in (node.this, node.args.get("expression")):
        struct = side.find(exp.Struct) if isinstance(side, exp.Struct | exp.Case) else None
        if struct is not None and not struct.expressions[0].name.startswith("_has_"):
            struct.replace(_least_null(struct))
    return node


def _sum(node: exp.Sum | exp.Filter | exp.Window) -> exp.Expr:
    """SUM of whole numbers stops if it is too large for BIGINT."""
    inner: exp.Expr = node
    while isinstance(inner, exp.Filter | exp.Window):
        inner = inner.this
    is_whole = not (isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this")
    return call("_spark_sum", node.copy()) if isinstance(inner, exp.Sum) and is_whole else node


def _extreme_by(node: exp.ArgMax | exp.ArgMin) -> exp.Expr:
    """MAX_BY may be NULL; DuckDB's arg_max leaves out rows in which the value is."""
    name = "arg_max_null" if isinstance(node, exp.ArgMax) else "arg_min_null"
    return call(name, node.this, _ordered(node.expression, node.root()))


def _order(node: exp.Order) -> exp.Expr:
    """A struct in ORDER BY is its fields, because of the order of NULL in it.

    >>> show("SELECT a FROM t ORDER BY STRUCT(b, c) DESC")
    SELECT a FROM t ORDER BY b DESC, c DESC
    """
    terms = []
    for term in node.expressions:
        fields = [field.expression for field in term.this.expressions] if isinstance(term.this, exp.Struct) else None
        terms += [exp.Ordered(**{**term.args, "this": field}) for field in fields or [term.this]]
    return exp.Order(expressions=terms)


def _as_date(node: exp.Expr) -> exp.Expr:
    """DATE_ADD and ADD_MONTHS give dates; in DuckDB timestamps. A text is one as in a cast."""
    node.set("this", _cast(exp.Cast(this=node.this, to=exp.DataType.build("date"))))
    return exp.cast(node.copy(), "date")


# Regular expressions of a form that both engines read alike.
_REGEX = re.compile(
    r"(?:[^\\\[\](){}*+?|]|\\[dw.\-\\/()\[\]{}*+?|^$]|\[\^?(?:[^\\\[\]&]|\\[dw.\-])+\]|[()|]|[*+?]|\{\d+(?:,\d*)?\})*"
)
_TWO_SIGNS = re.compile(r"(?<!\\)[*+?}][*+?]|\(\?")


def _regex(node: exp.Func) -> exp.Expr:
    """Regular expressions of the forms that both have; line ends differ."""
    pattern = node.expression.name
    if not _REGEX.fullmatch(pattern) or _TWO_SIGNS.search(pattern):
        raise UnknownError(f"the regular expression {pattern}")
    if not isinstance(node, exp.RegexpLike) and re.compile(pattern).fullmatch(""):
        raise UnknownError(f"the regular expression {pattern}, which also finds an empty text,")
    if int(getattr(node.args.get("group"), "name", 0)) > re.compile(pattern).groups:
        raise UnknownError("REGEXP_EXTRACT of a group that the regular expression does not have")
    node.set("this", call("_spark_line", node.this))
    if isinstance(node, exp.RegexpReplace):
        written = node.args["replacement"]
        if not isinstance(written, exp.Literal) or re.search(r"\\|\$(?![0-9])", written.name):
            raise UnknownError("REGEXP_REPLACE with this replacement")
        # Spark writes groups as $1, DuckDB as \1.
        node.set("replacement", exp.Literal.string(re.sub(r"\$([0-9])", r"\\\1", written.name)))
    return node


def _element(node: exp.Bracket) -> exp.Expr:
    """A place that an array does not have is refused when it is met; a map has NULL for a key that it does not have."""
    place = node.expressions[0]
    return call("_spark_at", node.this, exp.Literal.number(int(place.name) + 1)) if place.is_int else node


def _sized(node: exp.ColumnDef) -> exp.Expr:
    """A length is a constraint; DuckDB does not test it. CHAR is filled with blanks.

    >>> show("CREATE TABLE t (a VARCHAR(3))")
    CREATE TABLE t (a TEXT CHECK (LENGTH(a) <= 3))
    """
    kind = node.args["kind"]
    sized = [part for part in kind.find_all(exp.DataType) if part.this in _SIZED and part.expressions]
    if any(part is not kind or part.this != exp.DType.VARCHAR for part in sized):
        raise UnknownError(f"the type {kind.sql(DIALECT)}")
    if sized:
        test = exp.LTE(this=exp.Length(this=exp.column(node.this.copy())), expression=kind.expressions[0].this.copy())
        node.set("kind", exp.DataType.build("text"))
        node.append("constraints", exp.ColumnConstraint(kind=exp.CheckColumnConstraint(this=test)))
    return node


_RULES: dict[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[..., exp.Expr]] = {
    exp.Select: _stack,
    exp.Case: _typed_case,
    exp.DataType: _nested_type,
    exp.Cast: _cast,
    exp.JSONFormat: _json,
    exp.Anonymous: _called,
    (exp.ArgMax, exp.ArgMin): _extreme_by,
    # It may be NULL; DuckDB's looks for another value.
    exp.AnyValue: lambda node: call("first", node.this),
    exp.CountIf: _count_if,
    exp.Order: _order,
    (exp.Sum, exp.Filter, exp.Window): _sum,
    # Of zero these are errors; in DuckDB NULL, or not a number.
    exp.Div: lambda node: call("_spark_divide", node.this, node.expression),
    exp.Mod: lambda node: call("_spark_rest", node.this, node.expression),
    # NULL where a NULL may be the value.
    exp.ArrayContains: lambda node: call("_spark_contains", node.this, node.expression),
    exp.ArrayDistinct: lambda node: call("_spark_distinct", node.this),
    # A text that is not JSON may have a field in Spark.
    exp.JSONExtractScalar: lambda node: call(
        "_spark_field", node.this, exp.Literal.string(node.expression.sql("duckdb").strip("'"))
    ),
    (exp.Add, exp.Sub): _add_interval,
    (exp.AddMonths, exp.TsOrDsAdd): _as_date,
    exp.TimeStrToTime: lambda node: _cast(exp.Cast(this=node.this, to=exp.DataType.build("timestamp"))),
    (exp.TimeToStr, exp.StrToTime, exp.StrToDate, exp.TsOrDsToDate): _read_pattern,
    (exp.RegexpReplace, exp.RegexpLike, exp.RegexpSplit, exp.RegexpExtract): _regex,
    # Blanks, in DuckDB every space of Unicode.
    exp.Trim: lambda node: exp.Trim(**{**node.args, "expression": node.expression or exp.Literal.string(" ")}),
    # Some letters become two.
    exp.Upper: lambda node: call("_spark_upper", node.this),
    exp.Lower: lambda node: call("_spark_lower", node.this),
    exp.Bracket: _element,
    # The digits of a fraction, not the binary number.
    exp.Round: lambda node: call("_spark_round", node.this, node.args.get("decimals") or exp.Literal.number(0)),
    # Whole numbers.
    (exp.Ceil, exp.Floor): lambda node: exp.cast(call("_spark_long", node.this, node.copy()), "bigint"),
    # INT, in DuckDB BIGINT: a sum that is too large stops.
    (exp.Length, exp.ArraySize, exp.Year, exp.Month, exp.Day, exp.Quarter): lambda node: exp.cast(node.copy(), "int"),
    (exp.Max, exp.Min): _extreme,
    (exp.GT, exp.GTE, exp.LT, exp.LTE): _compared,
    exp.Typeof: _type_name,
    exp.StrToMap: lambda node: call("_spark_pairs", node.this, node.args["pair_delim"], node.args["key_value_delim"]),
    exp.ColumnDef: _sized,
    exp.CurrentTimezone: lambda _: exp.Literal.string("UTC"),
    exp.CurrentTimestamp: lambda _: exp.cast(call("get_current_timestamp"), "timestamp"),  # in UTC
}


def translate_tree(tree: exp.Expr, variables: Mapping[str, exp.DataType]) -> exp.Expr:
    """Change a tree of :class:`Reader` into one for DuckDB, with the types of ``variables``. Raises `UnknownError`."""
    columns = {alias.alias.lower() for alias in tree.find_all(exp.Alias)}  # each hides a variable of its name
    for hint in list(tree.find_all(exp.Hint)):
        hint.pop()
    # From the leaves up, so that a node is replaced after those inside of it.
    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Column):
            new = _variable(node, columns, variables)
        else:
            rule = next((rule for kinds, rule in _RULES.items() if isinstance(node, kinds)), None)
            new = rule(node) if rule else node
        if node is tree:  # it has no parent in which it could be replaced
            tree = new
        elif new is not node:
            node.replace(new)
    return tree


def _variable(node: exp.Column, columns: set[str], variables: Mapping[str, exp.DataType]) -> exp.Expr:
    """``session.name``, or a name of scdgen's own, is a variable."""
    name, table = node.name.lower(), node.table.lower()
    is_own = not table and name.startswith("_scd_") and name in variables and name not in columns
    if table != "session" and not is_own:
        return node
    if name not in variables:
        raise UnknownError(f"the variable {name}, which is not declared")
    return exp.Cast(this=call("getvariable", exp.Literal.string(name)), to=variables[name].copy())


def print_tree(tree: exp.Expr) -> str:
    """Return the text of a translated tree. Raises :class:`UnknownError` for what sqlglot cannot print for DuckDB."""
    try:
        return tree.sql("duckdb", unsupported_level=ErrorLevel.RAISE, comments=False)
    except SqlglotError as error:
        raise UnknownError(str(error)) from error


def show(text: str) -> None:
    """Print the translation of a query, for the doctests."""
    print(print_tree(translate_tree(sqlglot.parse_one(text, read=Reader), {})))
