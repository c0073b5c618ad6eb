"""Cases on DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scdgen.cases.block import Row
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
        self.database.put_text(name, given.types, given.block.columns, given.block.rows)

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
        return {name: _KINDS.get(kind.split("(")[0], kind.lower()) for name, kind in types.items()}, rows

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
