"""Random specs whose values have other types, and whose columns have odd names.

The reference compares the plain values of :mod:`random_specs`. Each of them stands for a value of the drawn type, in
the same order; the rows of a source hold these, and what the table holds is translated back.
"""

from __future__ import annotations

import copy
import datetime as dt
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from tests.support.random_specs import Case, make_case
from tests.support.reference import Change

# The plain values of each column, in their order.
PLAIN: dict[str, tuple[Any, ...]] = {"a": ("", "x", "y"), "b": (1, 2), "c": ("p", "q"), "region": ("r0", "r1")}


@dataclass(frozen=True)
class Kind:
    """A type of Spark."""

    type: str
    """Its name in a spec."""
    values: tuple[tuple[Any, ...], ...]
    """Values in the order of Spark, each in all its forms: Spark compares those of one value as equal."""
    ordered: bool = True
    """Whether Spark can order its values."""
    key: bool = True
    """Whether it may be the type of a key."""


KINDS = (
    Kind("boolean", ((False,), (True,))),
    Kind("tinyint", ((-128,), (0,), (127,))),
    Kind("smallint", ((-32768,), (0,), (32767,))),
    Kind("bigint", ((-(2**63),), (0,), (2**63 - 1,))),
    Kind("float", ((-math.inf,), (0.0, -0.0), (math.nan,))),
    Kind("double", ((-math.inf,), (0.0, -0.0), (math.nan,))),
    Kind("decimal(20,4)", ((Decimal("-9999999999999999.9999"),), (Decimal("0.1"), Decimal("0.1000")), (Decimal(7),))),
    Kind("decimal(38,0)", ((Decimal(-(10**38 - 1)),), (Decimal(0),), (Decimal(10**38 - 1),))),
    Kind("date", ((dt.date(1, 1, 1),), (dt.date(2024, 2, 29),), (dt.date(9999, 12, 31),))),
    Kind(
        "timestamp",
        (
            (dt.datetime(1900, 1, 1),),
            (dt.datetime(2024, 3, 10, 2, 30),),
            (dt.datetime(9999, 12, 31, 23, 59, 59, 999999),),
        ),
    ),
    Kind(
        "timestamp_ntz",
        ((dt.datetime(1, 1, 1),), (dt.datetime(2024, 3, 10, 2, 30),), (dt.datetime(9999, 12, 31, 23, 59, 59, 999999),)),
    ),
    Kind("string", (("",), (" ",), ('Zoë\'s \\ "ß" 😀\n',))),
    Kind("varchar(5)", (("",), ("NULL",), ("null",))),
    Kind("binary", ((b"",), (b"\x00",), (b"\xff\x00",))),
    Kind("array<int>", (([],), ([None],), ([None, 1],)), key=False),
    Kind("array<double>", (([],), ([0.0], [-0.0]), ([math.nan],)), key=False),
    Kind("struct<x: int, `odd y`: string>", (((None, None),), ((None, ""),), ((1, None),)), key=False),
    Kind("array<struct<x: double, y: date>>", (([],), ([None],), ([(None, dt.date(2024, 2, 29))],)), key=False),
    Kind(
        "struct<z: struct<t: boolean>, l: array<string>>",
        (((None, []),), (((None,), None),), (((True,), [None, ""]),)),
        key=False,
    ),
    Kind("map<string, int>", (({},), ({"k": None},), ({"k": 1, "l": 2}, {"l": 2, "k": 1})), ordered=False, key=False),
    Kind("array<map<string, int>>", (([],), ([{}],), ([{"k": 1, "l": 2}, None],)), ordered=False, key=False),
)
NAMES = (
    "odd name", "select", "url_token", "_a", "größe", "a.b", "x`y", "it's", 'say "x"', "2024", "a-b", "current_date"
)  # fmt: skip


@dataclass
class TypedCase(Case):
    """A random case with other types and names."""

    drawn: dict[str, Kind] = field(default_factory=dict)
    """The types of the columns."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of a, b and c in the table, and in the source."""

    @property
    def source_types(self) -> dict[str, str]:
        plain = {"src_a": "a"}
        given = ((plain.get(name, name), kind) for name, kind in super().source_types.items())
        # Spark keeps lengths of text in tables alone.
        return {
            self.names.get(name, name): self.drawn[name].type.replace("varchar(5)", "string")
            if name in self.drawn
            else kind
            for name, kind in given
        }

    def rows(self, changes: list[Change]) -> list[tuple[Any, ...]]:
        return super().rows(
            [
                replace(
                    change,
                    key=tuple(self._typed(name, value) for name, value in zip(self.how.keys, change.key, strict=False)),
                    values={name: self._typed(name, value) for name, value in change.values.items()},
                )
                for change in changes
            ]
        )

    def _typed(self, name: str, plain: Any) -> Any:
        if name not in self.drawn or plain is None:
            return plain
        forms = self.drawn[name].values[PLAIN[name].index(plain)]
        return self.random.choice(forms)

    def read_back(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        columns = self.how.columns
        return (*(self._plain(name, value) for name, value in zip(columns, row, strict=False)), *row[len(columns) :])

    def _plain(self, name: str, typed: Any) -> Any:
        if name not in self.drawn or typed is None:
            return typed
        for plain, forms in zip(PLAIN[name], self.drawn[name].values, strict=False):
            if _text(typed) in {_text(form) for form in forms}:
                return plain
        raise AssertionError(f"{name}: {typed!r} is not a value of {self.drawn[name].type}")


# What looks into values, or gives a column that is computed from them.
WITHOUT = (
    "views", "overlays", "checks", "schema_evolution", "source.where", "params.least", "snapshot.scope",
    "table.partition_by", "columns.bucket", "history.row_hash", "history.surrogate_key",
)  # fmt: skip


def make_typed_case(seed: int, target: str, folder: str) -> TypedCase:
    """The random spec of a seed with types and names drawn for its columns, without what looks into values."""
    plain = make_case(seed, target, folder)
    drawn = random.Random(f"{seed} types")
    document = copy.deepcopy(plain.document)
    for group, _, name in (path.rpartition(".") for path in WITHOUT):
        (document.get(group, {}) if group else document).pop(name, None)
    document["params"] = document.get("params", {})
    kinds = {name: drawn.choice(_kinds(plain, name)) for name in PLAIN if name in document["columns"]}
    names = dict(zip("abc", drawn.sample(NAMES, 3), strict=True))
    document["columns"] = {
        names.get(name, name): {
            **{option: value for option, value in column.items() if option not in {"from", "compare"}},
            **({"type": kinds[name].type} if name in kinds else {}),
        }
        for name, column in document["columns"].items()
    }
    columns = [name for name in plain.how.columns if name != "bucket"]
    changed = {
        "document": document,
        "how": replace(plain.how, columns=columns, row_hash=False, surrogate_key=False),
        "meaning": replace(plain.meaning, compare={}, scope=lambda key: True),
        "merges": {name: merge for name, merge in plain.merges.items() if name != "bucket"},
        "least": None,
        "grows": False,
    }
    return TypedCase(**{**vars(plain), **changed}, drawn=kinds, names=names)


def find_order(case: TypedCase) -> str | None:
    """The order of nested values that a spec asks for and DuckDB does not have; in it NULL is greatest."""
    nested = {name for name, kind in case.drawn.items() if "<" in kind.type}
    ordered = (
        nested
        if case.meaning.conflicts == "any"
        else nested & {name for name, merge in case.merges.items() if merge in {"min", "max"}}
    )
    return "an order of values of" if ordered else None


def _kinds(case: Case, name: str) -> list[Kind]:
    """The types that a column may have."""
    unordered = case.merges.get(name, "last") in {"first", "last"}
    return [
        kind
        for kind in KINDS
        if (kind.ordered or unordered) and (kind.key or name != "region") and len(kind.values) >= len(PLAIN[name])
    ]


def _text(value: Any) -> str:
    """A value as text: the same for a row and a tuple, for 1.0 and 1.00, and for maps in another order."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(sorted(f"{_text(name)}: {_text(item)}" for name, item in value.items())) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return repr(value)
