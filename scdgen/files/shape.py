"""The columns and fields that a spec reads of JSON, and the types in which Spark reads them.

JSON has no types, and a batch may lack a field or have NULL in all of its rows. What the spec says decides, not what
Spark infers from the batch: a value that the spec takes as it is, or passes on in COALESCE, IF or CASE, is read as
text, and then cast to the column's type. A field that the spec reads and the batch lacks is NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.errors import DataError, nearest
from scdgen.facts.source import SourceRow
from scdgen.model.rules import source_texts
from scdgen.model.spec import Spec
from scdgen.sql.expression import find_paths
from scdgen.sql.types import NESTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@dataclass
class Wanted:
    """A column or field that specs read: its name, the fields that are read of it (by lower-case name).

    ``kinds`` are the types of the columns that take its value as it is; ``computed``: it is also read in another way.
    """

    name: str
    inside: dict[str, Wanted] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    computed: bool = False

    @property
    def kind(self) -> str | None:
        """The one type that its value is cast to, if it is only taken as it is."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 and not self.computed else None


def find_wanted(specs: Iterable[Spec]) -> dict[str, Wanted]:
    """The columns that specs read, by lower-case name."""
    found: dict[str, Wanted] = {}
    for spec in specs:
        for option, text in source_texts(spec):
            reads, kind = find_paths(text), _kind_of(spec, option)
            for path in reads.paths:
                inside, node = found, Wanted("")
                for name in path:
                    node = inside.setdefault(name.lower(), Wanted(name))
                    inside = node.inside
                if kind is not None and path in reads.passed:
                    node.kinds.add(kind)
                else:
                    node.computed = node.computed or path in reads.computed | reads.passed
    return found


def taken_types(*specs: Spec) -> dict[str, set[str]]:
    """Lower-case name of each source column that specs take unchanged -> the types that it is cast to."""
    found: dict[str, set[str]] = {}
    for spec in specs:
        taken = [(spec.column_source(name), column.type) for name, column in spec.columns.items()]
        row = SourceRow(spec)
        taken += [(text, row.time_type or "TIMESTAMP") for _, text in row.time_texts]  # texts have another order
        taken += [(read.text, kind) for _, read, kind in row.sequence_casts]
        for text, kind in taken:
            bare = sql.expression(text).bare
            if bare is not None and kind:
                found.setdefault(bare.lower(), set()).add(kind)
    return found


def _kind_of(spec: Spec, option: str) -> str | None:
    """The type that the value of an expression of the source is cast to, if it is."""
    if option in {"source.effective_at", "source.effective_until"}:
        return SourceRow(spec).time_type or "TIMESTAMP"
    if option == "source.sets":
        return "ARRAY<STRING>"
    name = option.removeprefix("columns.")
    return spec.columns[name].type if option.startswith("columns.") else None


def build_shape(spark: SparkSession, found: StructType | None, specs: Sequence[Spec], shown: str) -> StructType:
    """The columns of JSON as Spark reads them: those that it has ``found``, and those that the specs read.

    ``source.schema`` decides for the columns that it names. Raises :class:`DataError`, with the path as ``shown``, if a
    key or a time is missing, or if a name that is missing is there in another spelling.
    """
    from pyspark.sql.types import StructField, StructType

    wanted, taken = find_wanted(specs), taken_types(*specs)
    declared = {name: kind for spec in specs for name, kind in spec.source.columns.items()}
    kinds = {kind for node in _walk(wanted.values()) for kind in node.kinds if kind.startswith(NESTED)}
    parsed = parse_types(spark, {*kinds, *declared.values()})
    given = {name.lower(): parsed[kind] for name, kind in declared.items()}
    fields = list(found.fields) if found is not None else []
    known = {f.name.lower() for f in fields}
    if found is not None:
        _require_columns([f.name for f in fields], wanted, specs, {*given}, shown)
    fields += [StructField(name, given[name.lower()]) for name in declared if name.lower() not in known]
    known |= {*given}
    fields += [StructField(node.name, _resolve(None, node, parsed)) for key, node in wanted.items() if key not in known]
    made = []
    for f in fields:
        node, kind = wanted.get(f.name.lower()), given.get(f.name.lower())
        if kind is not None and f.name.lower() not in taken:
            made.append(StructField(f.name, kind))
        elif node is None:
            made.append(f)
        else:
            _require_spelling(f.name, f.dataType, node, parsed, shown)
            made.append(StructField(f.name, _resolve(f.dataType, node, parsed, taken.get(f.name.lower()))))
    return StructType(made)


def _walk(nodes: Iterable[Wanted]) -> Iterable[Wanted]:
    for node in nodes:
        yield node
        yield from _walk(node.inside.values())


def _resolve(found: Any, node: Wanted, parsed: dict[str, Any], taken: set[str] | None = None) -> Any:
    """The type in which a column or field is read, from the one that Spark has ``found`` (``None``: none).

    A column that is ``taken`` unchanged becomes text even if it is also read in another way: it is cast before that.
    """
    from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

    # A column that is taken in one type is read in it; in several types it is text, and cast later.
    kind = node.kind if not taken else next(iter(taken)) if len(taken) == 1 else "STRING"
    if kind is not None and kind.startswith(NESTED):
        found = as_text_type(parsed[kind])
    if not node.inside:
        return StringType() if (kind and not kind.startswith(NESTED)) or found is None else found
    if isinstance(found, ArrayType):
        return ArrayType(_resolve(found.elementType, node, parsed))
    if isinstance(found, MapType):
        return found
    fields = list(found.fields) if isinstance(found, StructType) else []
    known = {f.name.lower() for f in fields}
    inner = [
        StructField(f.name, _resolve(f.dataType, node.inside[f.name.lower()], parsed))
        if f.name.lower() in node.inside else f
        for f in fields
    ]  # fmt: skip
    inner += [StructField(n.name, _resolve(None, n, parsed)) for key, n in node.inside.items() if key not in known]
    return StructType(inner)


def _require_columns(
    names: list[str], wanted: dict[str, Wanted], specs: Sequence[Spec], given: set[str], shown: str
) -> None:
    """Raise :class:`DataError` if a key or the time of a row is missing, or another column is spelled differently."""
    known = {name.lower() for name in names}
    needed = {name.lower() for spec in specs for name in _needed(spec)}
    free = [name for name in names if name.lower() not in wanted]
    for key, node in wanted.items():
        if key in known or key in given:
            continue
        if similar := _spelled(node.name, free):
            raise DataError(f"{shown}: no column {node.name}; did you mean '{similar}'?")
        if key in needed:
            hint = nearest(node.name, free) or f"; its columns are {', '.join(names)}"
            raise DataError(f"{shown}: no column {node.name}{hint}")


def _needed(spec: Spec) -> Iterable[str]:
    """The columns without which no row has a key or a time."""
    for option, text in source_texts(spec):
        if option.removeprefix("columns.") in spec.keys or option == "source.effective_at":
            passed = find_paths(text).passed
            yield from (path[0] for path in passed if len(passed) == 1 and len(path) == 1)


def _require_spelling(place: str, found: Any, node: Wanted, parsed: dict[str, Any], shown: str) -> None:
    """Raise :class:`DataError` if the objects have a field that the type of the column spells differently."""
    for kind in (parsed[kind] for kind in sorted(node.kinds) if kind.startswith(NESTED)):
        for at, given, needed in walk_structs(place, found, kind):
            free = [name for name in given.names if name not in needed.names]
            for name in needed.names:
                if name not in given.names and (similar := _spelled(name, free)):
                    raise DataError(f"{shown}: column {at}: the objects have no {name}; did you mean '{similar}'?")


def walk_structs(place: str, found: Any, wanted: Any) -> Iterator[tuple[str, StructType, StructType]]:
    """Yield (place, struct, struct) wherever both types have one, the outer ones first, by their fields' names."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        yield from walk_structs(place, found.elementType, wanted.elementType)
    elif isinstance(found, MapType) and isinstance(wanted, MapType):
        yield from walk_structs(place, found.valueType, wanted.valueType)
    elif isinstance(found, StructType) and isinstance(wanted, StructType):
        yield place, found, wanted
        inside = {field.name.lower(): field for field in found.fields}
        for field in wanted.fields:
            if same := inside.get(field.name.lower()):
                yield from walk_structs(f"{place}.{same.name}", same.dataType, field.dataType)


def _spelled(name: str, others: Iterable[str]) -> str | None:
    """The one of ``others`` that is the same name with other capitals or underscores, or with letters swapped.

    >>> _spelled("zip", ["Zip"]), _spelled("age", ["aeg"]), _spelled("line_2", ["line_1"]), _spelled("no", ["on"])
    ('Zip', 'aeg', None, None)
    """

    def form(text: str) -> tuple[str, list[str]]:
        letters = re.sub(r"\W|_", "", text.lower())
        return letters[:1], sorted(letters)

    return next((other for other in others if form(other) == form(name)), None)


def parse_types(spark: SparkSession, types: Iterable[str]) -> dict[str, Any]:
    """Type in SQL -> Spark's type. Spark parses them, without running a job."""
    listed = sorted(set(types))
    if not listed:
        return {}
    nulls = ", ".join(f"CAST(NULL AS {text}) AS _{place}" for place, text in enumerate(listed))
    return dict(zip(listed, (f.dataType for f in spark.sql(f"SELECT {nulls}").schema.fields), strict=True))


def as_text_type(kind: Any) -> Any:
    """A type of Spark's with text instead of every type that is not nested."""
    from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(f.name, as_text_type(f.dataType)) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(as_text_type(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(StringType(), as_text_type(kind.valueType))
    return kind if kind.typeName() == "variant" else StringType()
