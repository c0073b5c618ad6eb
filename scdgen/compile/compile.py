"""The whole chain: spec and values -> pattern -> facts -> templates -> checked SQL.

:func:`render` returns the files of a spec. For a run, :func:`~scdgen.model.bind.bind` puts its source and params into
the spec, and :func:`compile_spec` renders and checks all of its SQL once.
"""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.compile.render import render_facts, render_query
from scdgen.compile.statements import Script, Scripts
from scdgen.compile.verify import judge
from scdgen.errors import Problem, SpecError
from scdgen.facts.base import Facts
from scdgen.facts.built import Source
from scdgen.facts.table import Create, Infer, Rejects
from scdgen.facts.views import Lookups, Views
from scdgen.model.bind import with_target
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import pattern_of


def render(spec: Spec) -> Scripts[str]:
    """Render the SQL of a spec. Raises :class:`SpecError` if the gate refuses it."""
    return _render_checked(Source(spec))


def render_statements(spec: Spec) -> Scripts[Script]:
    """Render the SQL of a spec as statements. Raises :class:`SpecError` if the gate refuses it."""
    return _render_checked(Source(spec)).cut()


def render_feeds(spec: Spec) -> list[tuple[Spec, Scripts[str]]]:
    """Render the SQL for each source of a spec, the default first. Raises :class:`SpecError` as :func:`render` does.

    Only ``merge``, ``plan`` and ``rejects`` differ: it is one table, which a pattern must not make dependent on the
    source.
    """
    found = [(feed, _render_checked(Source(feed))) for feed in spec.feeds]
    (first, own), *others = found
    for feed, texts in others:
        if texts.create != own.create:
            message = f"sources: the table would have other columns or properties by {feed.feed} than by {first.feed}"
            raise SpecError([Problem(spec.origin, 0, 0, f"{message}; give each its own target")])
    return found


def compile_spec(spec: Spec) -> Compiled:
    """Compile all SQL of a run. Raises :class:`SpecError` if the gate refuses it."""
    source = Source(spec)
    return Compiled.of(source, _render_checked(source))


def _render_checked(source: Source) -> Scripts[str]:
    texts = _render_texts(source)
    judge(source, texts.files())
    return texts


def _render_texts(source: Source) -> Scripts[str]:
    spec, pattern = source.spec, pattern_of(source.spec)
    columns = pattern.columns(spec)
    views = Views.of(source, pattern.read(source))

    def text(facts: Facts | None) -> str:
        return render_facts(facts) if facts else ""

    return Scripts(
        create=text(Create.of(source, columns)),
        merge=text(pattern.merge(source)),
        plan=text(pattern.plan(source)),
        checks=text(pattern.checks(source)),
        views=text(views if views.current or views.as_of or views.overlay else None),
        lookups=text(Lookups.of(source, views.read) if spec.lookups else None),
        rejects=text(Rejects.of(source) if spec.quarantine else None),
        infer=text(Infer.of(source, columns)),
    )


@dataclass(frozen=True)
class Compiled:
    """A spec and its checked SQL."""

    spec: Spec
    """The spec, with its source and params filled in."""
    files: Scripts[Script]
    """The statements of each file."""
    counts: str | None
    """The query that counts what the MERGE does; ``None`` if only plan.sql can count it.

    It counts the rows of each action, and the unchanged keys, after the statements before the MERGE, in the same
    session.
    """

    @classmethod
    def of(cls, source: Source, texts: Scripts[str]) -> Compiled:
        """Cut texts, and render the query of the counts."""
        counts = pattern_of(source.spec).counts(source)
        return cls(source.spec, texts.cut(), render_query(counts) if counts else None)

    def with_target(self, name: str) -> Compiled:
        """Render the SQL for another relation than the target; it was checked with the target's name."""
        source = Source(with_target(self.spec, name))
        return self.of(source, _render_texts(source))
