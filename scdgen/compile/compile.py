"""The whole chain: spec and values -> pattern -> facts -> templates -> checked SQL.

:func:`render` returns the files of a spec. For a run, :func:`bind` puts its source and params into the spec, and
:func:`compile_spec` renders and checks all of its SQL once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

from scdgen import sql
from scdgen.compile.render import Compiler
from scdgen.compile.statements import Script, cut
from scdgen.compile.verify import judge, way_out
from scdgen.errors import Problem, SpecError, UsageError, nearest, quoted
from scdgen.facts.base import Facts
from scdgen.facts.built import Source
from scdgen.facts.table import Create, Infer, Rejects
from scdgen.facts.variables import param_variables
from scdgen.facts.views import Lookups, Views
from scdgen.model.spec import TAKEN, Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.literal import find_form, value_text
from scdgen.sql.tokens import with_table

V = TypeVar("V")


@dataclass(frozen=True)
class Scripts:
    """The SQL of one spec: a text per file, empty if the spec needs none."""

    create: str
    """The statements that create the table, and its unknown member."""
    merge: str
    """The MERGE of the source into the table, after the variables that it needs."""
    plan: str
    """The view of what the MERGE would do, and queries that show it."""
    checks: str
    """A query per check, of the rows that break it."""
    views: str
    """The views ``current`` and ``overlay``, and the table function ``as_of``."""
    lookups: str = ""
    """The views of facts, each with the version of its key."""
    rejects: str = ""
    """The MERGE of rows that break an expectation into the quarantine."""
    infer: str = ""
    """The MERGE that adds inferred members."""

    def files(self) -> dict[str, str]:
        """Return file name -> text, without the empty ones."""
        texts = {f"{field.name}.sql": getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text}


@dataclass(frozen=True)
class Files:
    """The SQL of one spec as statements: a script per file, without statements if the spec needs none."""

    create: Script
    """create.sql, which creates the table."""
    merge: Script
    """merge.sql, which merges the source into it."""
    plan: Script
    """plan.sql, which shows what that would do."""
    checks: Script
    """checks.sql, which finds rows that break a rule."""
    views: Script
    """views.sql, which creates the views of the table."""
    lookups: Script
    """lookups.sql, which creates the views of facts."""
    rejects: Script
    """rejects.sql, which keeps the rows that break an expectation."""
    infer: Script
    """infer.sql, which adds inferred members."""

    @classmethod
    def of(cls, texts: Scripts) -> Files:
        """Cut the texts into statements."""
        return cls(**{field.name: cut(getattr(texts, field.name)) for field in fields(cls)})

    def scripts(self) -> dict[str, Script]:
        """Return file name -> script, without the empty ones."""
        found: dict[str, Script] = {f"{field.name}.sql": getattr(self, field.name) for field in fields(self)}
        return {name: script for name, script in found.items() if script.statements}


FILES = tuple(f"{field.name}.sql" for field in fields(Files))


@dataclass(frozen=True)
class Compiled:
    """A spec and its checked SQL."""

    spec: Spec
    """The spec, with its source and params filled in."""
    files: Files
    """The statements of each file."""
    counts: str | None
    """The query that counts what the MERGE does; ``None`` if only plan.sql can count it.

    It counts the rows of each action, and the unchanged keys, after the statements before the MERGE, in the same
    session.
    """
    compiler: Compiler
    """What has rendered the SQL."""

    def with_target(self, name: str) -> Compiled:
        """Render the SQL for another relation than the target; it was checked with the target's name."""
        source = Source.of(with_target(self.spec, name))
        files = Files.of(_render_texts(source, self.compiler))
        return Compiled(source.spec, files, _render_counts(source, self.compiler), self.compiler)


def render(spec: Spec, templates: str | None = None) -> Scripts:
    """Render the SQL of a spec. Raises :class:`SpecError` if the gate refuses it.

    ``templates`` is a folder with templates that replace single ones of the package.
    """
    return _render_checked(Source.of(spec), Compiler(templates))


def render_statements(spec: Spec, compiler: Compiler) -> Files:
    """Render the SQL of a spec as statements. Raises :class:`SpecError` if the gate refuses it."""
    return Files.of(_render_checked(Source.of(spec), compiler))


def render_feeds(spec: Spec, compiler: Compiler) -> list[tuple[Spec, Scripts]]:
    """Render the SQL for each source of a spec, the default first. Raises :class:`SpecError` as :func:`render` does.

    Only ``merge``, ``plan`` and ``rejects`` differ: it is one table, which a pattern must not make dependent on the
    source.
    """
    found = [(feed, _render_checked(Source.of(feed), compiler)) for feed in spec.feeds]
    (first, own), *others = found
    for feed, texts in others:
        if texts.create != own.create:
            message = f"sources: the table would have other columns or properties by {feed.feed} than by {first.feed}"
            raise SpecError([Problem(spec.origin, 0, 0, f"{message}; give each its own target")])
    return found


def compile_spec(spec: Spec, compiler: Compiler) -> Compiled:
    """Compile all SQL of a run. Raises :class:`SpecError` if the gate refuses it."""
    source = Source.of(spec)
    return Compiled(spec, Files.of(_render_checked(source, compiler)), _render_counts(source, compiler), compiler)


def _render_checked(source: Source, compiler: Compiler) -> Scripts:
    texts = _render_texts(source, compiler)
    with way_out(compiler.is_custom):
        judge(source.spec, texts.files())
    return texts


def _render_counts(source: Source, compiler: Compiler) -> str | None:
    counts = pattern_of(source.spec).counts(source)
    return compiler.render_query(counts) if counts else None


def _render_texts(source: Source, compiler: Compiler) -> Scripts:
    spec, pattern = source.spec, pattern_of(source.spec)
    columns = pattern.columns(spec)
    views = Views.of(source, pattern.read(source))

    def text(facts: Facts | None) -> str:
        return compiler.render(facts) if facts else ""

    return Scripts(
        create=text(Create.of(source, columns)),
        merge=text(pattern.merge(source)),
        plan=text(pattern.plan(source)),
        checks=text(pattern.checks(source)),
        views=text(views if views.any else None),
        lookups=text(Lookups.of(source, views.read) if spec.lookups else None),
        rejects=text(Rejects.of(source) if spec.quarantine else None),
        infer=text(Infer.of(source, columns)),
    )


def param_texts(params: Mapping[str, object]) -> dict[str, str]:
    """Return the values that are given as the texts that the SQL casts; ``None`` is none."""
    return {name: value_text(value) for name, value in params.items() if value is not None}


def bind(spec: Spec, view: str | None, params: Mapping[str, object], finds_dates: bool = False) -> Spec:
    """Replace the source with a view, and the params' defaults with values.

    A value becomes a text literal that is cast to the param's type; no value can become SQL. Raises
    :class:`UsageError` for a view instead of a join, for a param that the spec does not have, for a value that is not
    valid for its type, and for params without value or default. With ``finds_dates``, the param of ``snapshot.each``
    needs none: a run looks for the dates.
    """
    if view is not None and spec.source.join:
        what = "source.join reads its tables, which no other source replaces"
        raise UsageError(what, place=spec.origin, fix="leave out --source")
    for name in params:
        if name not in spec.params:
            raise UsageError(f"{spec.origin}: no param '{name}'{_known(name, spec.params)}")
    # Only values that are given replace defaults; SQL writes booleans in lower case.
    texts = param_texts(params)
    # Check the forms here, because a cast that fails in the SQL would not name the param.
    for name, text in texts.items():
        kind = spec.params[name].type
        if form := find_form(text, kind):
            message = f"{quoted(text)} is not a valid {kind}; write it as {form}"
            raise UsageError(f"{spec.origin}: the param '{name}': {message}")
    given = {
        name: spec.params[name].model_copy(update={"default": sql.text_literal(text)}) for name, text in texts.items()
    }
    changed: dict[str, object] = {"params": {**spec.params, **given}}
    # Clear what else names rows, because a source has exactly one.
    if view is not None:
        plain: dict[str, object] = {"table": view, "query": None, "path": None, "format": None, "options": {}}
        changed["source"] = spec.source.model_copy(update=plain)
    bound = spec.model_copy(update=changed)
    # Report all params without a value at once.
    needed = [each for each in param_variables(bound)[1] if not (finds_dates and spec.each and each[0] == TAKEN)]
    if needed:
        line = "{}: the param '{}' ({}) has no value; pass --param {}=..."
        raise UsageError(line.format(spec.origin, name, kind, name) for name, kind in needed)
    return bound


def bind_each(specs: Sequence[Spec], given: Mapping[str, V], source: str | None = None) -> dict[str, dict[str, V]]:
    """Return target -> the values among ``given`` for the params that its spec declares.

    ``source`` is the path that replaces the source of a single spec. Raises :class:`UsageError` if it cannot, for a
    value that no spec declares, or with all values that are missing.
    """
    # A single spec takes all values, and says which of them it does not know.
    if len(specs) == 1:
        bind(specs[0], source, given, finds_dates=True)
    declared = dict.fromkeys(name for spec in specs for name in spec.params)
    for name in given:
        if name not in declared:
            what = f"none of the specs has this param{_known(name, declared)}"
            raise UsageError(what, option=f"--param {name}")
    own = {spec.target: {n: value for n, value in given.items() if n in spec.params} for spec in specs}
    # Report the values that are missing for all specs at once.
    missing: list[str] = []
    for spec in specs:
        try:
            bind(spec, None, own[spec.target], finds_dates=True)
        except UsageError as error:
            missing += error.lines
    if missing:
        raise UsageError(missing)
    return own


def _known(name: str, params: Iterable[str]) -> str:
    """Suggest a fix for a param that is not declared."""
    names = list(params)
    listed = f"the params are {', '.join(names)}" if names else "declare it under 'params:', or leave it out"
    return nearest(name, names) or f"; {listed}"


def with_target(spec: Spec, name: str) -> Spec:
    """Replace the target of a spec with another relation, also in its queries (a watermark reads it)."""
    parts = spec.target_parts
    query = spec.source.query
    params = {
        key: param.model_copy(update={"default": with_table(param.default, parts, name)})
        if isinstance(param.default, str) and param.default.lstrip(" \n(").upper().startswith(("SELECT", "WITH"))
        else param
        for key, param in spec.params.items()
    }
    source = spec.source.model_copy(update={"query": with_table(query, parts, name)}) if query else spec.source
    return spec.model_copy(update={"target": name, "params": params, "source": source})
