"""dbt's ``target/manifest.json``: the parts that are read, for drafts from snapshots and for macros of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from scdgen import sql
from scdgen.errors import UsageError

GIVE = "run dbt parse (or dbt compile) and give target/manifest.json"


class Column(BaseModel):
    """A column that a node documents."""

    name: str
    data_type: str | None = None
    description: str | None = None


class Node(BaseModel):
    """A node or a source of the manifest."""

    name: str
    database: str | None = None
    schema_: str | None = Field(None, alias="schema")
    identifier: str | None = None
    alias: str | None = None
    description: str | None = None
    columns: dict[str, Column] = {}
    config: dict[str, Any] = {}
    depends_on: dict[str, list[Any]] = {}
    original_file_path: str = ""
    patch_path: str | None = None
    raw_code: str | None = None
    compiled_code: str | None = None

    def table(self) -> str:
        """The name of its table, as written in a spec."""
        return sql.join_name(p for p in (self.database, self.schema_, self.identifier or self.alias or self.name) if p)

    def config_file(self) -> str:
        """The YAML file with its config, relative to the project; the file of the node itself if it has none."""
        return (self.patch_path or "").partition("://")[2] or self.original_file_path

    def parents(self) -> list[str]:
        """The nodes and sources that it reads."""
        return self.depends_on.get("nodes", [])


class Manifest(BaseModel):
    """The file."""

    metadata: dict[str, Any] = {}
    nodes: dict[str, Node]
    sources: dict[str, Node] = {}


def find_manifest(path: Path) -> Path:
    """Find the manifest at a path, which may be the folder of a dbt project. Raises :class:`UsageError`."""
    if path.suffix.lower() in {".sql", ".yml", ".yaml"}:
        raise UsageError(f"{path}: the files of a dbt project are not read; {GIVE}")
    if not path.is_dir():
        return path
    if not (path / "target" / "manifest.json").exists():
        raise UsageError(f"{path}: has no target/manifest.json; run dbt parse (or dbt compile) in the project's folder")
    return path / "target" / "manifest.json"


def parse_manifest(path: Path, text: str) -> Manifest:
    """Parse the text of the manifest at ``path``. Raises :class:`UsageError` if it is not one."""
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: is not a manifest of dbt; {GIVE}") from error
