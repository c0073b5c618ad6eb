"""The whole chain on one page: spec file -> Spec -> context -> statements -> judged statements -> files or Spark."""

from __future__ import annotations

from dataclasses import dataclass, fields

from scdgen.patterns.context import build
from scdgen.patterns.gate import judge, way_out
from scdgen.patterns.render import render_template
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Scripts:
    """The SQL of one spec: a text per file, empty where the spec asks for none."""

    create: str
    merge: str
    plan: str
    checks: str
    views: str

    def files(self) -> dict[str, str]:
        """File name -> text, without the empty ones."""
        texts = {f"{field.name}.sql": getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text}


def render(spec: Spec, templates: str | None = None) -> Scripts:
    """The SQL of a spec. Raises :class:`SpecError` where the gate refuses it.

    ``templates`` is a folder with templates that replace single ones of the package.
    """
    ctx = build(spec)
    pattern = spec.pattern
    scripts = Scripts(
        create=render_template("create.sql.j2", ctx, templates),
        merge=render_template(f"{pattern}_merge.sql.j2", ctx, templates),
        plan=render_template(f"{pattern}_plan.sql.j2", ctx, templates),
        checks=render_template("checks.sql.j2", ctx, templates),
        views=render_template("views.sql.j2", ctx, templates) if spec.views.current or spec.views.as_of else "",
    )
    with way_out(templates):
        judge(spec, scripts.files())
    return scripts
