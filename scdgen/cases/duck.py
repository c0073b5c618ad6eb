"""Cases on DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scdgen.cases.block import Row, read_cell
from scdgen.cases.nested import canonical_rows, is_nested
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
    """A :class:`scdgen.cases.play.World`: a database with the tables of one case."""

    def __init__(self) -> None:
        self.database = Database()

    def put(self, name: str, given: Given) -> None:
        columns = given.block.columns
        nested = {column: given.types[column] for column in columns if is_nested(given.types[column])}

        def value(cell: str | None, column: str) -> Any:
            return cell if cell is None or column not in nested else read_cell(cell, nested[column], column)

        rows = [tuple(map(value, row, columns)) for row in given.block.rows]
        self.database.put_text(name, given.types, columns, rows, nested)

    def store(self, spec: Spec, given: Given) -> None:
        self.put(STORED, given)
        self.database.execute(stored_statements(spec, given))

    def run(self, spec: Spec, source: Given | None, params: Mapping[str, Any], infer: bool) -> Merged:
        return self.database.run(spec, self._put_source(source), params, infer)

    def plan(self, spec: Spec, source: Given | None, params: Mapping[str, Any]) -> Mapping[str, int]:
        return self.database.plan(spec, self._put_source(source), params)

    def _put_source(self, source: Given | None) -> str | None:
        if source is not None:
            self.put(_SOURCE, source)
        return None if source is None else _SOURCE

    def read(self, query: str) -> tuple[dict[str, str], list[Row]]:
        types, rows = self.database.query(query)
        kinds = {name: _kind_of(kind) for name, kind in types.items()}
        return kinds, canonical_rows(rows, kinds.values())

    def require_known(self, spec: Spec, query: str) -> None:
        """See :class:`scdgen.cases.play.World`."""
        self.database.require_known(spec, query)

    def columns(self, name: str) -> list[str]:
        return list(self.database.columns(name))

    def find_failures(self, spec: Spec) -> list[str]:
        return self.database.find_failures(spec)

    def execute(self, statements: Iterable[str]) -> None:
        self.database.execute(statements)

    def clear(self) -> None:
        self.database.clear()


def _kind_of(kind: str) -> str:
    """Return the type of a cell for DuckDB's type of a column."""
    if kind.endswith("]"):
        return "array"
    bare = kind.split("(")[0]
    return bare.lower() if is_nested(bare) else _KINDS.get(bare, kind.lower())
