"""The data types of a spec, each with one text, whatever the way it was written in.

sqlglot does not read them: it takes names of other systems for the nearest type (``number`` for ``decimal(10,0)``), and
drops what it does not know.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from scdgen.sql.expression import CONTROL, no_variable, quote, shorten, unquote
from scdgen.sql.tokens import DEPTH

# Spark's names -> the name that it shows.
_PLAIN = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "byte": "TINYINT", "smallint": "SMALLINT", "short": "SMALLINT",
    "int": "INT", "integer": "INT", "bigint": "BIGINT", "long": "BIGINT", "float": "FLOAT", "real": "FLOAT",
    "double": "DOUBLE", "string": "STRING", "binary": "BINARY", "date": "DATE", "timestamp": "TIMESTAMP",
    "timestamp_ltz": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ", "variant": "VARIANT",
}  # fmt: skip
_DECIMAL = ("decimal", "dec", "numeric")
_SIZED = {"varchar": "VARCHAR", "char": "CHAR", "character": "CHAR"}
_NESTED = {"array": 1, "map": 2}  # and the number of types inside
NESTED = ("ARRAY", "STRUCT", "MAP", "VARIANT")
"""How the types begin that hold other values."""
TYPE_NAMES = (*_PLAIN, *_DECIMAL, *_SIZED, *_NESTED, "struct")
"""All names that a spec may write, in lower case."""

# Names of other systems -> what to write instead; ``{}`` stands for their parameters.
_FOREIGN = {
    **dict.fromkeys(
        ("text", "clob", "nclob", "ntext", "tinytext", "mediumtext", "longtext", "citext", "bpchar", "uuid",
         "uniqueidentifier", "xml", "enum", "time", "geography", "geometry", "str"), "string"),
    **dict.fromkeys(("varchar2", "nvarchar", "nvarchar2", "string", "character varying"), "varchar{}"),
    **dict.fromkeys(("json", "jsonb"), "string, or variant"),
    "nchar": "char{}",
    "number": "decimal{}",
    **dict.fromkeys(("bignumeric", "bigdecimal"), "decimal(38,18)"),
    **dict.fromkeys(("money", "smallmoney"), "decimal(19,4)"),
    **dict.fromkeys(("hugeint", "int128"), "decimal(38,0)"),
    **dict.fromkeys(("uint64", "ubigint"), "decimal(20,0)"),
    "int8": "bigint (tinyint, if it has 8 bits)",
    **dict.fromkeys(("int64", "bigserial", "uint32", "uinteger"), "bigint"),
    **dict.fromkeys(("int4", "int32", "mediumint", "serial", "uint16", "usmallint", "year"), "int"),
    **dict.fromkeys(("int2", "int16", "smallserial", "uint8", "utinyint"), "smallint"),
    **dict.fromkeys(("int1", "tinyint unsigned"), "tinyint"),
    **dict.fromkeys(("float8", "float64", "double precision", "binary_double"), "double"),
    **dict.fromkeys(("float4", "float32", "binary_float"), "float"),
    **dict.fromkeys(("bool", "bit"), "boolean"),
    **dict.fromkeys(("bytea", "blob", "longblob", "varbinary", "raw", "image", "bytes"), "binary"),
    **dict.fromkeys(
        ("timestamptz", "timestampltz", "timestamp_tz", "timestamp with time zone", "timestamp with local time zone",
         "datetimeoffset"), "timestamp"),
    **dict.fromkeys(
        ("datetime", "datetime2", "smalldatetime"), "timestamp, or timestamp_ntz for times without a zone"),
    **dict.fromkeys(("timestampntz", "timestamp without time zone"), "timestamp_ntz"),
    **dict.fromkeys(("list", "row", "record", "object", "hstore", "super"), "array<string>, map<string,string> or "
                    "struct<a:int> with the types inside"),
}  # fmt: skip
_LONGEST_FOREIGN = 200  # characters; a name of another system with its parameters is shorter
_UNSTORED = ("interval", "void", "null")  # Spark has them, Delta does not
_EXAMPLES = (
    "string, int, bigint, double, decimal(10,2), boolean, date, timestamp, binary, array<string> or struct<a:int>"
)


@dataclass(frozen=True)
class Type:
    """A type of Spark: its ``name`` in upper case, its ``numbers``, and the types ``inside`` with their names.

    The names are those of the fields of a struct, and empty for arrays and maps.
    """

    name: str
    numbers: tuple[int, ...] = ()
    inside: tuple[tuple[str, Type], ...] = field(default=())

    def render(self) -> str:
        """Return the type as SQL."""
        if self.numbers:
            return f"{self.name}({', '.join(map(str, self.numbers))})"
        if not self.inside:
            return self.name
        fields = (f"{quote(name)}: {kind.render()}" if name else kind.render() for name, kind in self.inside)
        return f"{self.name}<{', '.join(fields)}>"

    def as_stored(self) -> Type:
        """Return the type as Spark's schemas have it: text of any length is STRING, and names have no case."""
        if self.name in _SIZED.values():
            return Type("STRING")
        inside = tuple((name.lower(), kind.as_stored()) for name, kind in self.inside)
        return Type(self.name, self.numbers, inside)

    def names(self) -> Iterator[str]:
        """Yield the names of all fields in the type."""
        for name, kind in self.inside:
            yield from ([name] if name else [])
            yield from kind.names()

    @property
    def width(self) -> int:
        """How many columns Delta has for a column of the type: each field of a struct is one."""
        return sum(kind.width for _, kind in self.inside) if self.name == "STRUCT" else 1

    @property
    def has_order(self) -> bool:
        """Whether Spark compares two values of the type."""
        return not self.holds("MAP") and not self.holds("VARIANT")

    def holds(self, name: str) -> bool:
        """Whether the type is the one of this name, or has it inside."""
        return self.name == name or any(kind.holds(name) for _, kind in self.inside)


@functools.lru_cache(maxsize=1024)
def data_type(text: str) -> str:
    """Return a Spark data type as SQL in one way of writing, without comments; raises ``ValueError``.

    >>> data_type("decimal(12)"), data_type("long"), data_type("struct<a dec(10), `b c`: timestamp_ltz COMMENT 'x'>")
    ('DECIMAL(12, 0)', 'BIGINT', 'STRUCT<a: DECIMAL(10, 0), `b c`: TIMESTAMP>')
    """
    found = parse_type(no_variable(text))
    if any(map(CONTROL.search, found.names())):
        raise ValueError(f"'{shorten(text)}': the name of a field holds a control character; take it out")
    return found.render()


@functools.lru_cache(maxsize=1024)
def parse_type(text: str) -> Type:
    """Parse a data type as Spark does; raises ``ValueError`` that says what is wrong, and what to write.

    >>> parse_type("map<string, array<varchar(5)>>").as_stored().render()
    'MAP<STRING, ARRAY<STRING>>'
    >>> parse_type("number(10,2)")
    Traceback (most recent call last):
    ValueError: 'number(10,2)' is not a Spark data type; write decimal(10,2)
    """
    return _Reader(text).read_all()


@functools.lru_cache(maxsize=1024)
def column_types(text: str) -> dict[str, str]:
    """Parse a list of columns as in CREATE TABLE: name -> type, as :func:`data_type` writes it; raises ``ValueError``.

    >>> column_types("before struct<id int>, `a b` decimal(9,2)")
    {'before': 'STRUCT<id: INT>', 'a b': 'DECIMAL(9, 2)'}
    >>> column_types("id")
    Traceback (most recent call last):
    ValueError: 'id' is not a list of columns and types; write for example: id int, after struct<id int, name string>
    """
    found: dict[str, str] = {}
    for part in split_at_commas(no_variable(text)):
        given = re.fullmatch(r"(`(?:[^`]|``)+`|\w+)(?:\s*:\s*|\s+)(\S.*)", part.strip(), re.DOTALL)
        if given is None:
            hint = "write for example: id int, after struct<id int, name string>"
            raise ValueError(f"'{shorten(text)}' is not a list of columns and types; {hint}")
        name = unquote(given[1])
        if CONTROL.search(name):
            raise ValueError(f"'{shorten(text)}': the name of a column holds a control character; take it out")
        if name.lower() in map(str.lower, found):
            raise ValueError(f"'{name}' is named twice; keep one, upper and lower case are the same")
        after = re.split("[<>]", given[2])[-1]
        if more := re.search(r"\b(NOT\s+NULL|COMMENT|DEFAULT|COLLATE)\b", after, re.IGNORECASE):
            raise ValueError(f"'{shorten(part.strip())}' has {more[1].upper()}; write a name and a type alone")
        found[name] = data_type(given[2])
    return found


def split_at_commas(text: str) -> list[str]:
    """Split at the commas outside of brackets, backticks and texts; one part if a bracket is not closed, or not open.

    >>> split_at_commas("a decimal(10,2) COMMENT 'x, y', b map<int,int>, CONSTRAINT c EXPECT (a < 5)")
    ["a decimal(10,2) COMMENT 'x, y'", ' b map<int,int>', ' CONSTRAINT c EXPECT (a < 5)']
    """
    parts, opened = [""], ""
    for piece in re.findall(r"""`(?:[^`]|``)*`|'[^']*'|"[^"]*"|.""", text, re.DOTALL):
        if piece == "(" or (piece == "<" and "(" not in opened):
            opened += piece
        elif piece == ")" or (piece == ">" and "(" not in opened):
            if not opened:
                return [""]
            opened = opened[:-1]
        if piece == "," and not opened:
            parts.append("")
        else:
            parts[-1] += piece
    return [""] if opened else parts


def struct_fields(kind: str) -> tuple[tuple[str, str], ...] | None:
    """Return (name, type) of each field of a STRUCT, as :func:`data_type` writes them; ``None`` for another type.

    >>> struct_fields("STRUCT<`a b`: INT, c: ARRAY<STRING>>"), struct_fields("INT")
    ((('a b', 'INT'), ('c', 'ARRAY<STRING>')), None)
    """
    parsed = parse_type(kind)
    return tuple((name, inside.render()) for name, inside in parsed.inside) if parsed.name == "STRUCT" else None


def struct_type(fields: Iterable[tuple[str, str]]) -> str:
    """Return the type of a struct of (name, type).

    >>> struct_type([("a b", "INT"), ("c", "STRING")])
    'STRUCT<`a b`: INT, c: STRING>'
    """
    return Type("STRUCT", (), tuple((name, parse_type(kind)) for name, kind in fields)).render()


def read_json_type(kind: object) -> Type:
    """Return the type that Spark has as ``kind`` in the JSON of a schema; in its text, names have no quotes.

    >>> read_json_type("decimal(12,0)"), read_json_type({"type": "array", "elementType": "integer"}).render()
    (Type(name='DECIMAL', numbers=(12, 0), inside=()), 'ARRAY<INT>')
    """
    if not isinstance(kind, dict):
        try:
            return parse_type(str(kind))
        except ValueError:  # a type that a spec cannot have
            return Type(str(kind).upper())
    if kind["type"] == "struct":
        fields = tuple((str(part["name"]), read_json_type(part["type"])) for part in kind["fields"])
        return Type("STRUCT", (), fields)
    parts = (kind[part] for part in ("keyType", "valueType", "elementType") if part in kind)
    return Type(str(kind["type"]).upper(), (), tuple(("", read_json_type(part)) for part in parts))


def to_spark(text: str) -> str:
    """Return Spark's type for one of another system; the text itself if Spark has none.

    >>> to_spark("TEXT"), to_spark("NUMBER(10,2)"), to_spark("datetime"), to_spark("decimal(5)")
    ('string', 'decimal(10,2)', 'timestamp', 'decimal(5)')
    """
    try:
        parse_type(text)
    except ValueError:
        found = _find_foreign(text)
        return re.split(r"[,\s](?!\d)", found)[0] if found else text
    return text


def _find_foreign(text: str) -> str | None:
    """Return what to write instead of the name of another system's type, with its parameters."""
    if len(text) > _LONGEST_FOREIGN:
        return None
    named = re.fullmatch(
        r"\s*([a-z_][\w\s]*?)\s*(\([\d\s,]*\)|\(max\))?\s*((?:with|without)[\w\s]*)?", text, re.IGNORECASE
    )
    if named is None:
        return None
    name = " ".join(filter(None, [named[1], named[3]])).lower()
    name, given = " ".join(name.split()), (named[2] or "").replace(" ", "")
    instead = name if name in _PLAIN and name != "string" and given else _FOREIGN.get(name)  # int(11) of MySQL
    if instead is None or "{}" not in instead:
        return instead if name != "string" or given else None
    if re.fullmatch(r"\(\d+(,\d+)?\)", given):
        return instead.format(given)
    return "decimal(38,10), or as many digits as it has" if name == "number" else "string"


# A quote that is not closed ends at the end of the text: to search for each once more would take quadratic time. So
# would a pattern that begins with blanks, where no token follows them.
_TOKEN = re.compile(
    r"(?:(`(?:[^`]|``)+(?:`|\Z))|([^\W\d]\w*)|(\d+)"
    r"|('(?:[^'\\]|\\.|'')*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z))|(\S))",
    re.DOTALL,
)


_NESTING = {"<": 1, ">": -1}
# What follows a type in CREATE TABLE -> why it is refused.
_AFTER = {
    "not null": "NOT NULL is not part of a type; write nullable: false for the column, or leave it out",
    "collate": "COLLATE is not kept; leave it out, and compare with lower(…) where case does not count",
    "comment": "a comment is not part of a type; write comment: for the column",
    "default": "DEFAULT is not part of a type; leave it out, and write coalesce(…) in from",
}


class _Reader:
    """Reads one type from its text."""

    def __init__(self, text: str):
        self._text, self._at = text, 0
        self._tokens = [match[0] for match in _TOKEN.finditer(text)]
        if max(accumulate((_NESTING.get(token, 0) for token in self._tokens), initial=0)) > DEPTH:
            raise self._wrong(f"has more than {DEPTH} types in one another; keep it as a text or a variant")

    def read_all(self) -> Type:
        found = self._read()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return found

    def _peek(self, ahead: int = 0) -> str:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def _take(self, wanted: str) -> bool:
        if self._peek().lower() != wanted:
            return False
        self._at += 1
        return True

    def _read(self) -> Type:
        name = self._peek().lower()
        self._at += 1
        if name in _PLAIN and self._peek() != "(":
            return Type(_PLAIN[name])
        if name in _DECIMAL:
            return self._read_decimal()
        if name in _SIZED:
            return self._read_sized(name)
        if name in _NESTED or name == "struct":
            return self._read_nested(name)
        raise self._unknown(name)

    def _read_numbers(self) -> tuple[int, ...]:
        numbers = []
        if self._take("("):
            while self._peek().isdigit():
                numbers.append(int(self._peek()))
                self._at += 1
                if not self._take(","):
                    break
            if not numbers or not self._take(")"):
                raise self._invalid()
        return tuple(numbers)

    def _read_decimal(self) -> Type:
        numbers = self._read_numbers()
        if len(numbers) > 2:
            raise self._invalid()
        if not numbers:
            what = "the digits are missing, and Spark takes decimal(10,0), in which 49.90 is 50"
            raise self._wrong(f"{what}; write for example decimal(18,2)")
        digits, scale = (*numbers, 0)[:2]
        if not (1 <= digits <= 38 and scale <= digits):
            what = "a decimal has 1 to 38 digits, not more of them after the point"
            raise self._wrong(f"{what}; write for example decimal(38,10)")
        return Type("DECIMAL", (digits, scale))

    def _read_sized(self, name: str) -> Type:
        numbers = self._read_numbers()
        if name == "character" and not numbers and self._peek():
            raise self._invalid()  # character varying
        if len(numbers) != 1 or not numbers[0]:
            raise self._wrong("the length is missing; write for example varchar(20), or string for any length")
        return Type(_SIZED[name], numbers)

    def _read_nested(self, name: str) -> Type:
        missing = "the types inside are missing; write for example array<int>, map<string,int> or struct<a:int>"
        if not self._take("<"):
            raise self._wrong(missing)
        inside: list[tuple[str, Type]] = []
        while self._peek() not in {">", ""}:
            inside.append(self._read_field() if name == "struct" else ("", self._read()))
            if not self._take(","):
                break
        if len(inside) != _NESTED.get(name, max(1, len(inside))):
            raise self._wrong(missing)
        if not self._take(">"):
            raise self._unexpected()
        if name == "map" and inside[0][1].holds("MAP"):
            raise self._wrong("a map is the key of another, which Spark does not have; write another type for the key")
        names = [known.lower() for known, _ in inside if known]
        if len(set(names)) < len(names):
            twice = next(known for known, count in Counter(names).items() if count > 1)
            raise self._wrong(f"two fields are named {twice}, and Spark ignores case; rename one")
        return Type(name.upper(), (), tuple(inside))

    def _read_field(self) -> tuple[str, Type]:
        name = self._peek()
        if not re.match(r"[`\w]", name) or not self._peek(1):
            raise self._invalid()
        self._at += 1
        self._take(":")
        kind = self._read()
        if self._peek().lower() == "comment" and self._peek(1)[:1] in {"'", '"'}:
            self._at += 2  # a comment of a field is not kept
        return unquote(name), kind

    def _invalid(self) -> ValueError:
        foreign = _find_foreign(self._text)
        return ValueError(f"'{self._text}' is not a Spark data type; write {foreign or f'for example {_EXAMPLES}'}")

    def _unknown(self, name: str) -> ValueError:
        """Return the error of a name that Spark does not have."""
        if name in _UNSTORED:
            return self._wrong(f"{name} is a type that Delta does not store; write for example string or bigint")
        own = name if self._peek() != "(" else f"{name}({','.join(map(str, self._read_numbers()))})"
        inner = "".join(self._text.lower().split()) != own and _find_foreign(own)
        return self._wrong(f"{name} is not a Spark data type; write {inner}") if inner else self._invalid()

    def _unexpected(self) -> ValueError:
        """Return the error of what follows a type, which Spark or Delta would drop or refuse."""
        word = self._peek().lower()
        found = _AFTER.get(word if word != "not" else f"not {self._peek(1).lower()}")
        return self._wrong(found) if found else self._invalid()

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"'{self._text}': {what}")
