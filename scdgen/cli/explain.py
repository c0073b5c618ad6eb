"""What the MERGE of a spec does, in words: each sentence with the lines of the spec and of the SQL that it speaks of.

The sentences are rows of tables (``explain_words``, ``explain_meaning``, ``explain_stored``, ``explain_steps``); here
they are chosen for a spec, and what they speak of is found in the rendered text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace

from scdgen.cli import explain_meaning as meaning
from scdgen.cli import explain_steps as told
from scdgen.cli import explain_stored as stored
from scdgen.cli import explain_words as words
from scdgen.cli.explain_facts import code, each, facts
from scdgen.cli.explain_words import Rule
from scdgen.cli.outline import Outline, Place
from scdgen.patterns.compile import render
from scdgen.spec.model import Spec
from scdgen.spec.rules import Location

LineOf = Callable[[Location], "int | None"]


@dataclass(frozen=True)
class Sentence:
    """A sentence, its option and the line that sets it (``None``: the default holds), and where it happens."""

    words: str
    option: str
    line: int | None
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Section:
    """Sentences about one matter."""

    title: str
    sentences: tuple[Sentence, ...]


class _Teller:
    """One spec, its files, and the facts that its sentences name."""

    def __init__(self, spec: Spec, line_of: LineOf, templates: str | None):
        self.facts, self.line_of = facts(spec), line_of
        self.files = {name: Outline(name, text) for name, text in render(spec, templates).files().items()}
        self.merge = self.files["merge.sql"]

    def tell(self, rules: Iterable[Rule], f: SimpleNamespace | None = None, key: str | int = "") -> Iterator[Sentence]:
        """The sentences of the rules that hold; ``key`` takes the place of the ``*`` in their options."""
        f = f or self.facts
        for rule in rules:
            if f.kind in rule.kinds.split() and rule.when(f):
                place = tuple(key if step == "*" else step for step in rule.option.split("."))
                found = [spot for mark in rule.marks for spot in self.places(mark.format_map(vars(f)))]
                line = self.line_of(place) if rule.option and "" not in place else None
                option = ".".join(map(str, place))
                yield Sentence(rule.words.format_map(vars(f)), option, line, tuple(dict.fromkeys(found)))

    def tell_each(self, rules: Iterable[Rule], of: str) -> Iterator[Sentence]:
        """The sentences of the rules for each column, param or other entry."""
        for key, f in each(self.facts, of):
            yield from self.tell(rules, f, key)

    def places(self, mark: str) -> list[Place]:
        """Where in the files a mark points to; nothing where a template of the user's own has no such thing."""
        verb, _, rest = mark.partition(" ")
        if verb in {"create", "views"}:
            return self.files[f"{verb}.sql"].find(rest)
        if verb == "checks#":
            return self.files["checks.sql"].comments(rest)
        if verb == "on":
            return [self.merge.on()]
        if verb == "when":
            does, _, word = rest.partition(" ")
            fits = (w for w in self.merge.whens if w.does == does and (not word or word in w.words))
            return [self.merge.place_of_when(when) for when in fits]
        first, _, more = rest.partition(" ")
        if verb == "stop":
            return self.merge.refusals(first, f"{self.facts.spec.target}: {more}" if more else "")
        if verb in {"step", "in"}:
            step = self.merge.step(first)
            if step is None:
                return []
            return self.merge.find(more, (step.start, step.end)) if more else [self.merge.place_of_step(step)]
        return self.merge.find(rest) if verb == "find" else self._named(verb, rest)

    def _named(self, verb: str, name: str) -> list[Place]:
        return self.merge.variable(name) if verb == "var" else self.merge.comments(name)

    def steps(self) -> Iterator[Sentence]:
        """What a run does: the variables, the CTEs, the search in the table; in the order of the text."""
        yield from self.tell(told.BEFORE)
        yield from self.tell_each((told.PARTITIONS,), "table.partition_by")
        for step in self.merge.steps:
            fits = (rule for rule in told.STEPS if rule.option == step.name and self.facts.kind in rule.kinds.split())
            rule = next((rule for rule in fits if rule.when(self.facts)), None)
            said = rule.words.format_map(vars(self.facts)) if rule else step.why
            yield Sentence(f"{code(step.name)}: {said}", "", None, (self.merge.place_of_step(step),))
        yield from self.tell(told.AFTER)

    def whens(self) -> Iterator[Sentence]:
        """What each WHEN does."""
        for when in self.merge.whens:
            kind = "NOT MATCHED BY SOURCE" if when.by_source else "MATCHED" if when.matched else "NOT MATCHED"
            fits = (c for c in told.WHENS if self.facts.kind in c.kinds.split() and c.fits(when, self.facts))
            clause = next(fits, None)
            said = clause.words if clause else "A WHEN of your own template."
            yield Sentence(f"`{kind}`, {when.does}: {said}", "", None, (self.merge.place_of_when(when),))


def explain(spec: Spec, line_of: LineOf, templates: str | None = None) -> tuple[Section, ...]:
    """The sections of a spec. Raises :class:`SpecError` where its SQL is refused.

    ``line_of`` gives the line of an option in the spec's file (:class:`scdgen.spec.load.Lines`); ``templates`` is a
    folder with templates that replace single ones of the package.
    """
    teller = _Teller(spec, line_of, templates)
    parts = (
        ("The table", teller.tell(words.TABLE)),
        ("Where rows come from", chain(
            teller.tell(words.SOURCE), teller.tell_each(words.PARAMS, "params"),
            teller.tell_each(words.COLUMNS, "columns"),
        )),
        ("What the rows mean", chain(teller.tell(meaning.MEANING), teller.tell_each(meaning.BY_COLUMN, "columns"))),
        ("What a run does, step by step", teller.steps()),
        ("What each WHEN does", teller.whens()),
        ("What stops a run, before anything is written", teller.tell(stored.REFUSED)),
        ("What is stored", chain(
            teller.tell(stored.STORED), teller.tell_each(stored.PARTITIONS, "table.partition_by"),
            teller.tell_each(stored.PROPERTIES, "table.properties"), teller.tell_each(stored.COLUMNS, "columns"),
            teller.tell_each(stored.CHECKS, "checks"),
        )),
    )  # fmt: skip
    return tuple(Section(title, tuple(sentences)) for title, sentences in parts)
