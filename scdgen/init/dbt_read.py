"""Reads a dbt snapshot from its YAML or SQL file. Nothing of dbt and none of its Jinja is run.

Names of tables follow one rule: ``source('a', 'b')`` is ``a.b``, ``ref('x')`` and ``ref('package', 'x')`` are ``x``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from ruamel.yaml.comments import CommentedSeq

from scdgen.errors import Problem, SpecError
from scdgen.init.columns import dotted
from scdgen.spec.yaml_text import parse


@dataclass
class DbtSnapshot:
    """One snapshot as its file has it; ``config`` values that are Jinja are :class:`Jinja`."""

    file: str
    line: int
    name: str
    config: dict[str, Any] = field(default_factory=dict)
    table: str | None = None
    query: str | None = None
    description: str | None = None
    types: dict[str, str | None] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    properties: list[str] = field(default_factory=list)  # further properties of the YAML, by name

    def wrong(self, message: str) -> SpecError:
        """A mistake in this snapshot, at its line."""
        return SpecError([Problem(self.file, self.line, 1, message)])


@dataclass(frozen=True)
class Jinja:
    """A value that only dbt could work out."""

    line: int


def read_snapshots(path: Path, text: str) -> list[DbtSnapshot]:
    """Every snapshot of a dbt file; raises :class:`SpecError` where it cannot be read."""
    if path.suffix.lower() in {".yml", ".yaml"}:
        return list(_from_yaml(str(path), text))
    return list(_from_sql(str(path), text))


def _from_yaml(file: str, text: str) -> Iterator[DbtSnapshot]:
    tree = parse(text, file)
    entries = tree.get("snapshots") if isinstance(tree, dict) else None
    if not isinstance(entries, CommentedSeq):
        return
    for place, entry in enumerate(entries):
        found = DbtSnapshot(file, entries.lc.item(place)[0] + 1, "")
        config, columns = (entry.get("config"), entry.get("columns")) if isinstance(entry, dict) else (None, None)
        if not isinstance(entry, dict) or not isinstance(config or {}, dict) or not _are_columns(columns or []):
            raise found.wrong("is not a snapshot of dbt: a mapping of name, relation, config and columns (each a name)")
        found.name = str(entry.get("name") or "")
        if not found.name:
            raise found.wrong("a snapshot without a name; write 'name:'")
        if "relation" not in entry:
            raise found.wrong(f"{found.name}: has no 'relation:'; give the SQL file with its {{% snapshot %}} block")
        found.table = _relation(found, str(entry["relation"]))
        found.description = str(entry.get("description") or "") or None
        found.config = {str(k).lstrip("+"): _value(v, found.line) for k, v in (config or {}).items()}
        for column in columns or []:
            found.types[str(column["name"])] = column.get("data_type")
            if column.get("description"):
                found.comments[str(column["name"])] = str(column["description"]).strip()
        known = {"name", "relation", "description", "config", "columns"}
        found.properties = [str(name) for name in entry if name not in known]
        yield found


def _are_columns(columns: Any) -> bool:
    return isinstance(columns, list) and all(isinstance(column, dict) and "name" in column for column in columns)


def _value(value: Any, line: int) -> Any:
    if isinstance(value, dict):
        return {str(key): _value(inner, line) for key, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner, line) for inner in value]
    return Jinja(line) if isinstance(value, str) and ("{{" in value or "{%" in value) else value


def _relation(found: DbtSnapshot, text: str) -> str:
    """The table of a relation, with or without braces around it."""
    inside = text.strip().removeprefix("{{").removesuffix("}}")
    try:
        body = Environment().parse("{{ " + inside + " }}").body
        node = body[0].nodes[0] if isinstance(body[0], nodes.Output) else None
    except TemplateSyntaxError:
        node = None
    table = _table(node) if isinstance(node, nodes.Call) else None
    if table is None:
        message = f"relation: '{text}' is not ref('…') or source('…', '…'), and Jinja is not run; write one of them"
        raise found.wrong(message)
    return table


class _SnapshotTag(Extension):
    """``{% snapshot name %} … {% endsnapshot %}`` as a block of Jinja."""

    tags = {"snapshot"}  # noqa: RUF012  (the form that Jinja asks for)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        name = parser.stream.expect("name").value
        body = parser.parse_statements(("name:endsnapshot",), drop_needle=True)
        return nodes.Block(name, body, False, False, lineno=line)


def _from_sql(file: str, text: str) -> Iterator[DbtSnapshot]:
    try:
        tree = Environment(extensions=[_SnapshotTag]).parse(text)
    except TemplateSyntaxError as error:
        message = f"the Jinja cannot be read ({error.message}); give a file with {{% snapshot %}} blocks"
        raise SpecError([Problem(file, error.lineno, 1, message)]) from error
    for block in tree.find_all(nodes.Block):
        found = DbtSnapshot(file, block.lineno, block.name)
        parts = []
        for statement in block.body:
            if not isinstance(statement, nodes.Output):
                raise _not_run(found, statement)
            for node in statement.nodes:
                parts.append(_piece(found, node))
        found.query = "".join(parts).strip()
        yield found


def _piece(found: DbtSnapshot, node: nodes.Node) -> str:
    """The SQL that a piece of the block stands for; ``config(…)`` stands for none."""
    if isinstance(node, nodes.TemplateData):
        return node.data
    if isinstance(node, nodes.Call):
        if isinstance(node.node, nodes.Name) and node.node.name == "config" and not (node.args or node.dyn_kwargs):
            found.config.update({argument.key: _constant(argument.value) for argument in node.kwargs})
            return ""
        if table := _table(node):
            return table
    raise _not_run(found, node)


def _not_run(found: DbtSnapshot, node: nodes.Node) -> SpecError:
    called = node.node if isinstance(node, nodes.Call) else None
    what = f"{{{{ {called.name}(…) }}}}" if isinstance(called, nodes.Name) else "a piece of Jinja"
    message = f"{found.name}: {what} is not run here, only config, ref and source are read; write its SQL in its place"
    return SpecError([Problem(found.file, node.lineno, 1, message)])


def _constant(node: nodes.Node) -> Any:
    """A literal of any depth; what is not one stays as :class:`Jinja`."""
    if isinstance(node, nodes.List | nodes.Tuple):
        return [_constant(item) for item in node.items]
    if isinstance(node, nodes.Dict):
        return {str(_constant(pair.key)): _constant(pair.value) for pair in node.items}
    if isinstance(node, nodes.Call):
        return _table(node) or Jinja(node.lineno)
    try:
        return _value(node.as_const(), node.lineno) if isinstance(node, nodes.Expr) else Jinja(node.lineno)
    except nodes.Impossible:
        return Jinja(node.lineno)


def _table(node: nodes.Call) -> str | None:
    """The table that ``ref`` or ``source`` stands for; ``None`` for another call."""
    if not isinstance(node.node, nodes.Name) or node.kwargs or node.dyn_args or node.dyn_kwargs:
        return None
    arguments = [argument.value for argument in node.args if isinstance(argument, nodes.Const)]
    if len(arguments) != len(node.args) or not all(isinstance(argument, str) for argument in arguments):
        return None
    if node.node.name == "source" and len(arguments) == 2:
        return dotted(arguments)
    return dotted(arguments[-1:]) if node.node.name == "ref" and len(arguments) in (1, 2) else None
