"""SQL fragments that cast, compare and hash columns.

Hashes are injective: NULL, '' and moved separators differ. Each value is converted to a text that is unique in its
type, the texts are kept apart in JSON, and SHA-256 is taken of that.

A cast takes the fields of a struct by their position, and feeds do not promise an order. So a struct is built again
from its fields by name, at every depth; a field that the type does not name is left out, and one that the source does
not have is an error of Spark's analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scdgen import sql
from scdgen.model.spec import Spec
from scdgen.sql.comparison import comparable
from scdgen.sql.expression import is_path
from scdgen.sql.tokens import with_column
from scdgen.sql.types import NESTED, Type, parse_type


@dataclass(frozen=True)
class Field:
    """A column of the target that comes from a source row, for the templates."""

    name: str
    """Its quoted name."""
    type: str
    """Its type, as Spark writes it."""
    is_key: bool
    """Whether it is one of the keys."""
    tracked: bool
    """Whether a change of it opens a version."""
    nulls: str
    """What NULL means: ``value``, ``ignore`` or ``fill``."""
    merge: str
    """How the rows of a key become one value in scd1: ``last``, ``first``, ``min`` or ``max``."""
    compare: str | None = None
    """An expression over the column: values for which it gives the same are no change; ``None`` without one."""
    partial: bool = False
    """Whether a row may leave the column as it is (``source.sets``)."""

    @property
    def comparable(self) -> str:
        """Return the column in a form that ``<=>`` accepts."""
        return comparable(self.name, self.type)

    def comparable_form(self, value: str) -> str:
        """Return a value of this column in a form that ``<=>`` accepts."""
        return comparable(value, self.type)

    def counted_as(self, value: str) -> str:
        """Return what of a value counts for changes: the result of ``compare``, or the value as ``<=>`` accepts it."""
        if self.compare is None:
            return self.comparable_form(value)
        return with_column(self.compare, sql.unquote(self.name), value)

    def state_of(self, value: str) -> str:
        """Return :meth:`counted_as` with the column's name, for a struct."""
        return self.comparable_form(value) if self.compare is None else f"{self.counted_as(value)} AS {self.name}"

    def called(self, value: str) -> str:
        """Return a value with the column's name, unless it is a column of that name."""
        return _called(self.name, value)

    @property
    def label(self) -> str:
        """Return the column's name as a text literal in lower case, to find it in the array of ``source.sets``."""
        return sql.text_literal(sql.unquote(self.name).lower())

    @property
    def is_set(self) -> str:
        """Return the condition that a row sets the column, where rows say which columns they set."""
        return f"ARRAY_CONTAINS(_scd_sets, {self.label}) IS NOT FALSE"

    @property
    def named(self) -> str:
        """Return :attr:`comparable` with the column's name, for a struct of which the column is read again."""
        return f"{self.comparable} AS {self.name}" if self.is_converted else self.name

    @property
    def given(self) -> str:
        """Return what unordered rows must agree in, in a form ``<=>`` accepts: whether they set it, and to what."""
        return self.given_in(self.name)

    def given_in(self, value: str) -> str:
        """Return :attr:`given` of a value of this column."""
        form = self.comparable_form(value)
        return f"IF({self.is_set}, STRUCT({form}), NULL)" if self.partial else form

    @property
    def is_given(self) -> bool:
        """Whether every row gives the column: none leaves it out, and a NULL is a value."""
        return self.nulls == "value" and not self.partial

    @property
    def is_converted(self) -> bool:
        """Whether two values of the column are compared in another form, which does not give the value back."""
        return self.comparable != self.name


def names_of(fields: Iterable[Field]) -> list[str]:
    """Return the quoted names."""
    return [field.name for field in fields]


def aliased(names: Iterable[str], alias: str) -> list[str]:
    """Qualify names with an alias.

    >>> aliased(["a"], "t")
    ['t.a']
    """
    return [f"{alias}.{name}" for name in names]


def equal(
    names: Sequence[str], left: str, right: str, operator: str = "=", others: Sequence[str] | None = None
) -> list[str]:
    """Compare two aliases column by column; ``others`` are the names of ``right``, if it has others.

    >>> equal(["a"], "t", "s"), equal(["a", "b"], "t", "s", others=["x", "y"])
    (['t.a = s.a'], ['t.a = s.x', 't.b = s.y'])
    """
    pairs = zip(names, names if others is None else others, strict=True)
    return [f"{left}.{name} {operator} {right}.{other}" for name, other in pairs]


Inputs = Literal["keys", "time", "until", "tracked", "changes", "deletes", "run", "sequence", "now", "id", "recorded"]
"""Inputs of a column: the keys, the effective time, the end of a row, the tracked columns, all that opens or ends a
version, the flag of deletes, the time of the run, the order of rows of one time; when the run was, and its id; its time
by ``history.recorded``."""


@dataclass(frozen=True)
class Target:
    """A column of the target, for the templates."""

    name: str
    """Its quoted name."""
    type: str
    """Its type, as Spark writes it."""
    comment: str | None = None
    """Its comment; ``None`` without one."""
    required: bool = False
    """Whether it is NOT NULL."""
    made_of: tuple[Inputs, ...] = ()
    """The inputs that a column of the pattern is computed from; empty for a column of the spec."""
    decided_by: tuple[Inputs, ...] = ()
    """The inputs that only decide its value."""

    @staticmethod
    def of(spec: Spec) -> tuple[Target, ...]:
        """Return the columns of a spec, without those that its pattern adds."""
        return tuple(
            Target(sql.quote(name), column.type, column.comment, name in spec.keys or not column.nullable)
            for name, column in spec.columns.items()
        )

    def comparable_form(self, value: str) -> str:
        """Convert a value of this column to a type that ``<=>`` supports."""
        return comparable(value, self.type)

    def text(self, value: str) -> str:
        """Return a value of this column as readable text."""
        if self.type.startswith(NESTED):
            return f"TO_JSON({value})"
        if self.type == "BINARY":
            return f"HEX({value})"
        return value if self.type == "STRING" else f"CAST({value} AS STRING)"


def cast(expression: str, to: str) -> str:
    """Cast an expression to a type. In ANSI mode a value that does not fit is an error.

    >>> cast("addr", "STRING")
    'CAST(addr AS STRING)'
    """
    if to == "TIMESTAMP" and expression.lower() == "current_timestamp()":
        return expression
    if to.startswith("CHAR("):  # stored padded with blanks; a value that is too long is refused when written
        text = f"CAST({expression} AS STRING)"
        return f"RPAD({text}, GREATEST({to[5:-1]}, LENGTH({text})))"
    return f"CAST({expression} AS {to})"


def struct(parts: str | Iterable[str]) -> str:
    """Combine several values, or a list of them as SQL, into one, for a single NULL-safe comparison."""
    return apply("STRUCT", parts)


def named(fields: Iterable[tuple[str, str]]) -> str:
    """Return a :func:`struct` of (name, value): before 4.0 Spark compares only structs with the same names.

    >>> named([("a", "t.a"), ("b", "LEAST(t.b, s.b)")])
    'STRUCT(t.a, LEAST(t.b, s.b) AS b)'
    """
    return struct(_called(name, text) for name, text in fields)


def _called(name: str, text: str) -> str:
    return text if text in (name, f"{text[:1]}.{name}") else f"{text} AS {name}"


def apply(function: str, parts: str | Iterable[str]) -> str:
    """Return a call with arguments, or with a list of them as SQL.

    >>> apply("F", ["a", "b"]), apply("F", "a, b")
    ('F(a, b)', 'F(a, b)')
    """
    return f"{function}({parts if isinstance(parts, str) else ', '.join(parts)})"


def key_hash(columns: Iterable[tuple[str, str]], kind: str) -> str:
    """Return the surrogate key of a version, of type ``string`` or ``bigint``, from columns given as (name, type).

    >>> print(key_hash([("a", "STRING"), ("b", "INT")], "bigint"))
    XXHASH64(TO_JSON(ARRAY(a, CAST(b AS STRING))))
    """
    return f"XXHASH64(TO_JSON({_texts(columns)}))" if kind == "bigint" else hash_of(columns)


def hash_of(columns: Iterable[tuple[str, str]]) -> str:
    """Return the SHA-256, as hex text, of columns given as (name, type).

    >>> print(hash_of([("a", "STRING"), ("b", "INT")]))
    SHA2(TO_JSON(ARRAY(a, CAST(b AS STRING))), 256)

    A value has one text in every session: the same for 0.0 and -0.0, in every time zone, with ANSI mode or without it.

    >>> print(hash_of([("x", "DOUBLE"), ("d", "DECIMAL(9, 2)"), ("at", "TIMESTAMP"), ("raw", "BINARY")]))
    SHA2(TO_JSON(ARRAY(CAST(x + 0 AS STRING), FORMAT_NUMBER(d, 2), CAST(UNIX_MICROS(at) AS STRING), HEX(raw))), 256)
    """
    return _sha2_of_json(_texts(columns))


def _texts(columns: Iterable[tuple[str, str]]) -> str:
    return apply("ARRAY", (_hash_text(name, kind) for name, kind in columns))


def row_hash(columns: Iterable[tuple[str, str]], of: str = "") -> str:
    """Return the SHA-256, as hex text, of columns given as (name, type), with their names.

    ``of`` is the value that holds them, with a dot.

    NULL is left out, so that adding a column, which is NULL in stored rows, changes no stored hash.

    >>> print(row_hash([("b", "STRING"), ("a", "INT")]))
    SHA2(TO_JSON(STRUCT(CAST(a AS STRING) AS a, b), MAP('ignoreNullFields', 'true')), 256)
    """
    # Stored hashes were made in the order of the names in backticks: "a_b" before "a".
    ordered = sorted(columns, key=lambda column: sql.unquote(column[0]).replace("`", "``") + "`")
    texts = ((name, _hash_text(f"{of}{name}", kind)) for name, kind in ordered)
    fields = struct(text if text == f"{of}{name}" else f"{text} AS {name}" for name, text in texts)
    return _sha2_of_json(f"{fields}, MAP('ignoreNullFields', 'true')")


def _sha2_of_json(values: str) -> str:
    return f"SHA2(TO_JSON({values}), 256)"


def _hash_text(name: str, kind: str) -> str:
    if kind == "STRING" or kind.startswith(("VARCHAR", "CHAR")):
        return name
    if kind == "TIMESTAMP":
        return f"CAST(UNIX_MICROS({name}) AS STRING)"  # the same in every time zone
    if kind in {"DOUBLE", "FLOAT"}:
        return f"CAST({name} + 0 AS STRING)"  # -0.0 equals 0.0
    if kind.startswith("DECIMAL"):
        scale = kind.rstrip(")").partition(",")[2].strip() or "0"
        return f"FORMAT_NUMBER({name}, {scale})"  # a cast returns 1E-10 or 0.0000000001, depending on ANSI mode
    if kind == "BINARY":
        return f"HEX({name})"
    # Spark writes only milliseconds by default. Other types keep the options, and so the hashes, that they have.
    local = ", 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'" if "TIMESTAMP_NTZ" in kind else ""
    options = f"MAP('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'{local}, 'timeZone', 'UTC')"
    if kind.startswith(("STRUCT", "ARRAY", "MAP")):
        return f"TO_JSON({comparable(name, kind, options)}, {options})"
    if kind == "VARIANT":
        return comparable(name, kind, options)
    return f"CAST({name} AS STRING)"


def convert(read: sql.Fragment, to: str) -> str:
    """Return the value of an expression as a type. In ANSI mode a value that does not fit is an error.

    >>> convert(sql.expression("name"), "STRING")
    'CAST(name AS STRING)'
    >>> print(convert(sql.expression("addr"), "STRUCT<zip: INT>"))
    CASE WHEN addr IS NOT NULL THEN STRUCT(CAST(addr.zip AS INT) AS zip) END
    >>> print(convert(sql.expression("f(a)"), "STRUCT<b: INT>"))
    TRANSFORM(ARRAY(f(a)), _scd_1 -> CASE WHEN _scd_1 IS NOT NULL THEN STRUCT(CAST(_scd_1.b AS INT) AS b) END)[0]
    """
    if "STRUCT<" not in to or read.text.upper() == "NULL":
        return cast(read.text, to)
    kind = parse_type(to)
    # Its text is written once per field, so that anything but a name is written as the variable of a lambda.
    if kind.name != "STRUCT" or is_path(read.text):
        return _by_name(read.text, kind, 0)
    return f"{_each(f'ARRAY({read.text})', kind, 0)}[0]"


def _by_name(value: str, kind: Type, depth: int) -> str:
    if "STRUCT<" not in kind.render():
        return cast(value, kind.render())
    if kind.name == "STRUCT":
        return _struct(value, kind, depth)
    if kind.name == "ARRAY":
        return _each(value, kind.inside[0][1], depth)
    key, item = (inside for _, inside in kind.inside)
    entry = f"_scd_{depth + 1}"
    parts = (_by_name(f"{entry}.key", key, depth + 1), _by_name(f"{entry}.value", item, depth + 1))
    return apply("MAP_FROM_ENTRIES", [_lambda(f"MAP_ENTRIES({value})", entry, apply("STRUCT", parts))])


def _struct(value: str, kind: Type, depth: int) -> str:
    fields = []
    for field, inside in kind.inside:
        name = sql.quote(field)
        fields.append(f"{_by_name(f'{value}.{name}', inside, depth)} AS {name}")
    built = apply("STRUCT", fields)
    line = f"CASE WHEN {value} IS NOT NULL THEN {built} END"
    if "\n" not in line and len(line) <= 90:
        return line
    built = built.replace("\n", "\n        ")
    return f"CASE\n    WHEN {value} IS NOT NULL\n        THEN {built}\nEND"


def _each(value: str, kind: Type, depth: int) -> str:
    item = f"_scd_{depth + 1}"
    return _lambda(value, item, _by_name(item, kind, depth + 1))


def _lambda(array: str, item: str, result: str) -> str:
    return apply("TRANSFORM", [array, f"{item} -> {result}"])
