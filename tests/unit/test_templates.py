"""Templates and their facts: every attribute that a template reads is a field of its dataclass."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from jinja2 import nodes

import scdgen.compile
import scdgen.facts
import scdgen.patterns
import scdgen.stored
from scdgen import SpecError, load_spec_text
from scdgen.cli.timeline import Page
from scdgen.compile import queries
from scdgen.compile.render import environment
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Session, Source
from scdgen.facts.checks import Checks
from scdgen.facts.columns import Field
from scdgen.facts.history import Times
from scdgen.facts.plan import PlanShape
from scdgen.facts.recorded import Reached, Recorded
from scdgen.facts.row_rules import Environment, Rows
from scdgen.facts.source import SourceCast
from scdgen.facts.state import State
from scdgen.facts.views import Read
from scdgen.model.registry import options_of
from scdgen.model.rules import JOIN_STEPS, RECORDED_STEPS, STEPS
from scdgen.patterns.one_row import OneRow
from scdgen.patterns.pattern import pattern_of
from scdgen.patterns.scd2 import Ending, Scd2Merge
from scdgen.patterns.scd2_changes import Scd2Changes
from scdgen.patterns.scd2_rewind import RewindSteps
from scdgen.patterns.scd2_snapshot import Scd2Snapshot
from tests.conftest import ROOT
from tests.support.spec_variations import BASES, VARIATIONS, changed, load
from tests.unit.test_parents import COVERED

TEMPLATES = sorted((ROOT / "templates").rglob("*.sql.j2"))


def _is_kept_in_line(node: nodes.Node) -> bool:
    """Whether an expression of a template cannot end the comment that it is in."""
    if isinstance(node, nodes.Filter):
        return node.name in ("remark", "commented")
    if isinstance(node, nodes.CondExpr):
        return all(map(_is_kept_in_line, filter(None, (node.expr1, node.expr2))))
    if isinstance(node, nodes.Concat):
        return all(map(_is_kept_in_line, node.nodes))
    return isinstance(node, nodes.Const)


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.relative_to(ROOT).as_posix() for path in TEMPLATES])
def test_values_in_comments_are_kept_in_their_line(path: Any) -> None:
    """Each value after -- goes through ``remark``: what follows a line break in it would run."""
    for line in path.read_text().splitlines():
        for value in re.findall(r"\{\{-?(.*?)-?\}\}", line.partition("--")[2]) if "--" in line else ():
            (output,) = environment().parse("{{" + value + "}}").body
            assert isinstance(output, nodes.Output) and _is_kept_in_line(output.nodes[0]), line.strip()


def kinds_of_facts(base: type[Facts] = Facts) -> Iterator[type[Facts]]:
    """The classes of this package that name their template."""
    for kind in base.__subclasses__():
        if "template" in vars(kind) and kind.__module__.startswith("scdgen."):
            yield kind
        yield from kinds_of_facts(kind)


for _package in (scdgen.facts, scdgen.patterns, scdgen.compile, scdgen.stored):
    for _module in pkgutil.iter_modules(_package.__path__):
        importlib.import_module(f"{_package.__name__}.{_module.name}")
KINDS = list(kinds_of_facts())  # with those of the pages of show and diff
# Template -> the class of its `ctx`.
CONTEXTS: dict[str, type[Facts]] = {kind.template: kind for kind in KINDS}
# Types of macro parameters by name, in every file.
PARAMETERS: dict[str, Any] = {
    "head": Head, "session": Session, "rows": Rows, "environment": Environment, "read": Read, "checks": Checks,
    "shape": PlanShape, "batch": OneRow, "field": Field, "cast": SourceCast, "changes": Scd2Changes,
    "merge": Scd2Merge, "extract": Scd2Snapshot, "version": queries.TableVersion, "times": Times, "page": Page,
    "ending": Ending, "recorded": Recorded, "reached": Reached, "state": State, "rewind": RewindSteps,
}  # fmt: skip
MACRO_FILES = {
    "_check_steps.sql.j2", "_checks.sql.j2", "_macros.sql.j2", "_plan.sql.j2", "scd1/_order.sql.j2",
    "scd2/_recorded.sql.j2", "scd2/join/_read.sql.j2", "scd2/join/boundaries.sql.j2", "scd2/join/changed.sql.j2",
    "scd2/join/chosen.sql.j2", "scd2/join/periods.sql.j2", "scd2/join/spans.sql.j2", "scd2/join/steps.sql.j2",
    "scd2/join/tables.sql.j2", "scd2/join/times.sql.j2",
}  # fmt: skip
SAME_TYPE = {"list", "rejectattr", "selectattr"}  # filters that return elements of their input
Kinds = dict[str, Any]


def templates() -> list[str]:
    found = [path.relative_to(ROOT / "templates").as_posix() for path in (ROOT / "templates").rglob("*.j2")]
    return sorted(found)


def alternatives(kind: Any) -> list[type]:
    """The classes that a value may have, except None."""
    if get_origin(kind) in (typing.Union, types.UnionType):
        return [inner for part in get_args(kind) if part is not type(None) for inner in alternatives(part)]
    return [kind] if isinstance(kind, type) else []


def attribute(kind: type, name: str) -> Any:
    """The type of a field, property or method of one of our classes; fails if the name does not exist."""
    hints = typing.get_type_hints(kind)
    if name in hints:
        return hints[name]
    found = getattr(kind, name, None)
    if isinstance(found, functools.cached_property):
        return typing.get_type_hints(found.func).get("return")
    if isinstance(found, property):
        return typing.get_type_hints(found.fget).get("return")
    return found


def element(kind: Any) -> Any:
    """The element type of a loop over a value of this type."""
    if get_origin(kind) in (tuple, list):
        parts = [part for part in get_args(kind) if part is not Ellipsis]
        return parts[0] if len(parts) == 1 else None
    return None


class Reader:
    """Walk a template and record every attribute that one of our classes does not have."""

    def __init__(self, template: str):
        self.template = template
        self.problems: list[str] = []
        self.known = 0
        self.seen: set[tuple[str, str]] = set()  # (class, attribute)
        self.parts: dict[str, Any] = {}  # a template that is read with this one's context -> the class of its `ctx`

    def type_of(self, node: nodes.Node, kinds: Kinds) -> Any:
        if isinstance(node, nodes.Name):
            return kinds.get(node.name)
        if isinstance(node, nodes.Getattr):
            return self._getattr(node, kinds)
        if isinstance(node, nodes.Filter) and node.node is not None and node.name in SAME_TYPE:
            return self.type_of(node.node, kinds)
        return None

    def _getattr(self, node: nodes.Getattr, kinds: Kinds) -> Any:
        found = []
        for kind in alternatives(self.type_of(node.node, kinds)):
            if not dataclasses.is_dataclass(kind) and not kind.__module__.startswith("scdgen."):
                continue
            self.known += 1
            self.seen.add((kind.__name__, node.attr))
            if not hasattr(kind, node.attr) and node.attr not in typing.get_type_hints(kind):
                self.problems.append(f"{self.template}:{node.lineno}: {kind.__name__} has no {node.attr}")
            else:
                found.append(attribute(kind, node.attr))
        return found[0] if found else None

    def walk(self, node: nodes.Node, kinds: Kinds) -> None:
        """Visit in order, so that names of ``set``, ``with`` and ``for`` have their type in later nodes."""
        if isinstance(node, nodes.Assign):
            self.walk(node.node, kinds)
            for name, value in self._pairs(node):
                kinds[name] = self.type_of(value, kinds)
            return
        if isinstance(node, nodes.For):
            self.walk(node.iter, kinds)
            inner = dict(kinds)
            if isinstance(node.target, nodes.Name):
                inner[node.target.name] = element(self.type_of(node.iter, kinds))
            for child in [*node.body, *node.else_, *([node.test] if node.test else [])]:
                self.walk(child, inner)
            return
        if isinstance(node, nodes.With):
            for value in node.values:
                self.walk(value, kinds)
            inner = dict(kinds)
            for target, value in zip(node.targets, node.values, strict=True):
                if isinstance(target, nodes.Name):
                    inner[target.name] = self.type_of(value, kinds)
            for child in node.body:
                self.walk(child, inner)
            return
        if isinstance(node, nodes.Macro):
            inner = {**kinds, **{arg.name: PARAMETERS.get(arg.name) for arg in node.args}}
            for child in node.body:
                self.walk(child, inner)
            return
        if isinstance(node, nodes.Getattr):
            self._getattr(node, kinds)
        if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport) and node.with_context:
            for name in self._named(node.template):
                self.parts[name] = kinds.get("ctx")
        for child in node.iter_child_nodes():
            self.walk(child, kinds)

    @staticmethod
    def _named(template: nodes.Node) -> list[str]:
        """The templates that an expression may name: one, or all of a folder, as the steps of a statement."""
        if isinstance(template, nodes.Const):
            return [template.value]
        if isinstance(template, nodes.Concat) and isinstance(template.nodes[0], nodes.Const):
            return [name for name in templates() if name.startswith(template.nodes[0].value) and "/steps." not in name]
        return []

    @staticmethod
    def _pairs(node: nodes.Assign) -> Iterator[tuple[str, nodes.Node]]:
        if isinstance(node.target, nodes.Name):
            yield node.target.name, node.node
        elif isinstance(node.target, nodes.Tuple) and isinstance(node.node, nodes.Tuple):
            for target, value in zip(node.target.items, node.node.items, strict=True):
                if isinstance(target, nodes.Name):
                    yield target.name, value


def read(template: str, context: Any, source: str | None = None) -> Reader:
    text = source if source is not None else (ROOT / "templates" / template).read_text()
    kinds: Mapping[str, Any] = {"ctx": context, "state": State} if context else {}
    reader = Reader(template)
    reader.walk(environment().parse(text), dict(kinds))
    return reader


@functools.cache
def find_contexts() -> dict[str, Any]:
    """Template -> the type of its `ctx`, also of a part that others include or import with their context."""
    found: dict[str, Any] = dict(CONTEXTS)
    for steps in [
        name for name in CONTEXTS if name.endswith("/steps.sql.j2")
    ]:  # it includes those of its folder by name
        folder = steps.removesuffix("steps.sql.j2")
        found |= {name: CONTEXTS[steps] for name in templates() if name.startswith(folder) and name not in MACRO_FILES}
    todo = list(found)
    while todo:
        name = todo.pop()
        for part, kind in read(name, found[name]).parts.items():
            for one in alternatives(kind):
                if part in CONTEXTS:
                    assert issubclass(one, CONTEXTS[part]), f"{name} reads {part} with {one.__name__}"
                elif one not in alternatives(found.get(part)):
                    found[part] = found[part] | one if part in found else one
                    todo.append(part)
    return found


def test_every_template_has_a_context_class() -> None:
    assert len(KINDS) == len(CONTEXTS), "one class per template"
    assert templates() == sorted([*find_contexts(), *MACRO_FILES])
    for context in CONTEXTS.values():
        assert dataclasses.is_dataclass(context) and context.__dataclass_params__.frozen, context  # type: ignore[attr-defined]


@pytest.mark.parametrize("template", templates())
def test_every_attribute_in_a_template_is_a_field(template: str) -> None:
    reader = read(template, find_contexts().get(template))
    assert reader.problems == []
    is_empty = "ctx" not in (ROOT / "templates" / template).read_text()
    assert reader.known > 0 or is_empty, "nothing of the context was recognised: the test would prove nothing"


@pytest.mark.parametrize(
    "text",
    [
        "{{ ctx.targett }}",
        "{% for field in ctx.values %}{{ field.nme }}{% endfor %}",
        "{% macro f(head) %}{{ head.origins }}{% endmacro %}",
        "{{ ctx.history.times.untill() }}",
    ],
)
def test_unknown_attribute_is_found(text: str) -> None:
    assert len(read("wrong", Scd2Changes, text).problems) == 1


@pytest.mark.verify
def test_every_field_is_read() -> None:
    """A fact that no template reads is dead, unless a property of its class uses it."""
    contexts = find_contexts()
    seen = {place for name in templates() for place in read(name, contexts.get(name)).seen}
    leaves = {SourceCast, Field, Times}  # Python reads their other fields
    kinds = {kind for found in (*CONTEXTS.values(), *PARAMETERS.values()) for kind in alternatives(found)}
    for kind in kinds - leaves:
        # Facts that are the same for several templates are read by any of them.
        alike = [other for other in kinds - leaves if dataclasses.fields(other) == dataclasses.fields(kind)]
        bases = {base for other in alike for base in other.__mro__ if dataclasses.is_dataclass(base)}
        source = "".join(map(inspect.getsource, bases))
        for field in dataclasses.fields(kind):
            read_by = any((other.__name__, field.name) in seen for other in alike)
            assert read_by or f"self.{field.name}" in source, f"{kind.__name__}.{field.name}"


def test_step_names_are_reserved() -> None:
    """A step would hide a table with the same one-part name."""
    texts = [(ROOT / "templates" / name).read_text() for name in templates()]
    steps = {name for text in texts for name in re.findall(r"^(?:WITH )?(\w+) AS \($", text, re.MULTILINE)}
    steps |= {name.rsplit("/", 1)[1].partition(".")[0] for name in find_contexts() if "one_row/" in name}
    assert steps - {"w", "life", "whole", "run", "ties", "steps", "_pick"} <= STEPS | JOIN_STEPS | RECORDED_STEPS


@pytest.mark.verify
def test_built_in_check_names_are_reserved() -> None:
    """Every check of a table is listed by its pattern, and each listed name is used by some spec."""
    listed = [changed(BASES[base], *option) for base, options in VARIATIONS.items() for option in options]
    used: dict[str, set[str]] = {}
    specs = [load_spec_text(COVERED)]
    for text in [*BASES.values(), *listed]:
        with contextlib.suppress(SpecError):
            specs.append(load(text))
    for spec in specs:
        used.setdefault(spec.pattern, set()).update(
            check.name for check in pattern_of(spec).checks(Source(spec)).built_in
        )
    assert used == {name: set(options_of(name).check_names) for name in used} and len(used) > 1


def test_compiled_templates_are_kept_where_only_the_user_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_create(cache: Path) -> list[str]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        environment.cache_clear()
        environment().get_template("scd2/merge.sql.j2")
        environment.cache_clear()
        folder = cache / "scdgen" / "templates"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    names = compile_create(tmp_path / "new")
    assert names and (tmp_path / "new" / "scdgen" / "templates").stat().st_mode & 0o777 == 0o700
    # A damaged file is written anew.
    damaged = tmp_path / "new" / "scdgen" / "templates" / names[0]
    damaged.write_bytes(damaged.read_bytes()[:40])
    assert compile_create(tmp_path / "new") == names and damaged.stat().st_size > 40
    # A folder that others can write is not used, nor is a link or what cannot be made.
    (tmp_path / "shared" / "scdgen" / "templates").mkdir(parents=True)
    (tmp_path / "shared" / "scdgen" / "templates").chmod(0o777)
    (tmp_path / "link" / "scdgen").mkdir(parents=True, mode=0o700)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link" / "scdgen" / "templates").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("")
    assert [compile_create(tmp_path / name) for name in ("shared", "link", "file")] == [[], [], []]
