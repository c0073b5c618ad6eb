"""Which branches of the templates are taken while specs are rendered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from jinja2 import nodes

from scdgen.compile import render

TOOK = "_took"


@contextmanager
def recorded() -> Iterator[tuple[set[str], set[str]]]:
    """Render with templates that tell which branches they take: (all branches, those taken).

    A branch is a body of ``if``, ``elif``, ``else`` (also one that is not written), ``for``, a macro, and a side of an
    inline ``if``. Its name is the template, the begin of the line, and what it is.
    """
    known: set[str] = set()
    taken: set[str] = set()
    environment = render.environment.__wrapped__()
    environment.bytecode_cache = None  # what is marked is for this test alone
    parse = environment._parse

    def parse_and_mark(source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = parse(source, name, filename)
        _Marker(name or "", source, known).mark(tree)
        tree.set_environment(environment)
        return tree

    def took(branch: str, value: object = None) -> object:
        taken.add(branch)
        return value

    environment.globals[TOOK] = took
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "_parse", parse_and_mark)
        patch.setattr(render, "environment", lambda: environment)
        for name in environment.list_templates(filter_func=lambda name: name.endswith(".sql.j2")):
            environment.get_template(name)
        yield known, taken


class _Marker:
    """Adds a call to each branch of a template."""

    def __init__(self, template: str, source: str, known: set[str]):
        self.template, self.lines, self.known = template, source.splitlines(), known

    def mark(self, node: nodes.Node) -> None:
        """Mark the branches in a node."""
        for child in node.iter_child_nodes(exclude=("elif_",)):
            self.mark(child)
        if isinstance(node, nodes.If):
            for branch in (node, *node.elif_):
                if branch is not node:
                    self._mark_all([branch.test, *branch.body])
                branch.body = self._begin(branch, "if", branch.body)
            node.else_ = self._begin(node.elif_[-1] if node.elif_ else node, "else", node.else_)
        elif isinstance(node, nodes.For | nodes.Macro):
            kind = f"macro {node.name}" if isinstance(node, nodes.Macro) else "for"
            node.body = self._begin(node, kind, node.body)
        elif isinstance(node, nodes.CondExpr):
            node.expr1 = self._call(node, "inline if", node.expr1)
            node.expr2 = self._call(node, "inline else", node.expr2 or nodes.Const(""))

    def _mark_all(self, found: Iterable[nodes.Node]) -> None:
        for node in found:
            self.mark(node)

    def _begin(self, node: nodes.Node, kind: str, body: list[nodes.Node]) -> list[nodes.Node]:
        return [nodes.ExprStmt(self._call(node, kind)), *body]

    def _call(self, node: nodes.Node, kind: str, *value: nodes.Expr) -> nodes.Call:
        name = f"{self.template}: {self.lines[node.lineno - 1].strip()[:60]} ({kind})"
        while name in self.known:  # a second one of the same text
            name += "'"
        self.known.add(name)
        return nodes.Call(nodes.Name(TOOK, "load"), [nodes.Const(name), *value], [], None, None)
