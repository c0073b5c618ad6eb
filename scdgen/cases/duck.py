"""Cases on DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scdgen.cases.block import Row, read_cell
from scdgen.cases.nested import canonical, is_nested
from scdgen.cases.play import STORED, Given, stored_statements
from scdgen.duck.database import Database, Merged
from scdgen.model.spec import Spec

_SOURCE = "_scd_source_1"
# DuckDB's type -> the type of a cell.
_KINDS = {
    "VARCHAR": "string", "INTEGER": "int", "BIGINT": "bigint", "TINYINT": "tinyint", "SMALLINT": "smallint",
    "HUGEINT": "bigint", "DOUBLE": "double", "FLOAT": "double", "DECIMAL": "decimal", "DATE": "date",
    "TIMESTAMP": "timestamp", "BOOLEAN": "boolean",
}  # fmt: skip


class DuckWorld:
    """A database with the tables of one case."""

    def __init__(self) -> None:
        self.database = Database()

    def put(self, name: str, given: Given) -> None:
        """See :class:`scdgen.cases.play.World`."""
        columns, rows = given.block.columns, given.block.rows
        nested = {name: given.types[name] for name in columns if is_nested(given.types[name])}
        typed = [
            tuple(
                read_cell(cell, nested[name], name) if name in nested and cell is not None else cell
                for name, cell in zip(columns, row, strict=True)
            )
            for row in rows
        ]
        self.database.put_text(name, given.types, columns, typed, nested)

    def store(self, spec: Spec, given: Given) -> None:
        """See :class:`scdgen.cases.play.World`."""
        self.put(STORED, given)
        self.database.execute(stored_statements(spec, given))

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> Merged:
        """See :class:`scdgen.cases.play.World`."""
        if source is not None:
            self.put(_SOURCE, source)
        return self.database.run(spec, _SOURCE if source is not None else None, params, infer)

    def plan(self, spec: Spec, source: Given | None, params: Mapping[str, Any]) -> Mapping[str, int]:
        """See :class:`scdgen.cases.play.World`."""
        if source is not None:
            self.put(_SOURCE, source)
        return self.database.plan(spec, _SOURCE if source is not None else None, params)

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        """See :class:`scdgen.cases.play.World`."""
        types, rows = self.database.query(query)
        kinds = {name: _kind_of(kind) for name, kind in types.items()}
        nested = [is_nested(kind) for kind in kinds.values()]
        if any(nested):
            rows = [
                tuple(
                    canonical(value) if inside and value is not None else value
                    for value, inside in zip(row, nested, strict=True)
                )
                for row in rows
            ]
        return kinds, rows

    def columns(self, name: str) -> list[str]:
        """See :class:`scdgen.cases.play.World`."""
        return list(self.database.columns(name))

    def find_failures(self, spec: Spec) -> list[str]:
        """See :class:`scdgen.cases.play.World`."""
        return self.database.find_failures(spec)

    def execute(self, statements: Iterable[str]) -> None:
        """See :class:`scdgen.cases.play.World`."""
        self.database.execute(statements)

    def clear(self) -> None:
        """See :class:`scdgen.cases.play.World`."""
        self.database.clear()


def _kind_of(kind: str) -> str:
    """Return the type of a cell for DuckDB's type of a column."""
    if kind.endswith("]"):
        return "array"
    bare = kind.split("(")[0]
    return bare.lower() if is_nested(bare) else _KINDS.get(bare, kind.lower())
