"""``scdgen explain``: what the MERGE of a spec does, the options of the spec, where its columns come from.

The meanings of options are the descriptions in the models, those of the MERGE and its steps the comments in the SQL.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from scdgen.cli.options import feed_option, load_specs, specs_argument
from scdgen.compile.compile import render_statements
from scdgen.compile.lineage import Lineage, lineage
from scdgen.compile.statements import Script
from scdgen.escape import escape_control
from scdgen.model.load import Lines
from scdgen.model.reference import options
from scdgen.model.resolved import resolve
from scdgen.model.rules import place_of_feed
from scdgen.model.spec import TAKEN, Spec, choose_feeds
from scdgen.sql import quote_parts
from scdgen.sql.words import join_lines

_WIDTH, _COLUMN = 110, 36  # maximum width of the text, and of the first column of its lists

_IN_TITLE = ("target", "description")
_IN_SPEC = ("columns.*.type", "columns.*.comment", "params.*.type")  # need no explanation


@dataclass(frozen=True)
class Setting:
    """An option that applies to a spec. ``given``: the spec sets it; ``choice``: it has several fixed values."""

    place: str
    value: str
    meaning: str
    given: bool
    choice: bool
    entries: tuple[str, ...] = ()
    """What stands for the * in the place, for each value that is given."""

    @property
    def shown(self) -> str:
        """The option and its value."""
        return f"{self.place}: {self.value}"


@click.command()
@specs_argument
@click.option("--verbose", is_flag=True, help="Also explain each default and step.")
@feed_option
def explain(specs: tuple[str, ...], verbose: bool, feed: str | None) -> None:
    """Explain a spec for review: its MERGE, options and column lineage. Needs no Spark.

    \b
    Examples:  scdgen explain specs/customer.yml
               scdgen explain specs/customer.yml --verbose
    """
    loaded = choose_feeds(load_specs(specs), feed)
    for number, spec in enumerate(loaded):
        shown = as_text if verbose else as_summary
        click.echo(("\n" if number else "") + shown(spec, render_statements(spec).merge))


def settings(spec: Spec) -> list[Setting]:
    """List the options that a spec sets, and the defaults that apply to it, in the order of the models."""
    set_by_spec = spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if spec.each is not None:  # it declares a param and takes it for the time of the snapshot
        set_by_spec["params"].pop(TAKEN, None)
        set_by_spec["snapshot"].pop("taken_at", None)
    applied = json.loads(json.dumps(resolve(spec)))
    listed = list(options())
    found = []
    for option in listed:
        steps = option.place.split(".")
        given = list(_values(set_by_spec, steps))
        defaults = list(_values(applied, steps))
        if any(other.place.startswith(f"{option.place}.") for other in listed):  # a mapping with options
            # Without options of its own, it is on.
            given = [(entry, True) if value == {} and option.is_switched else (entry, value) for entry, value in given]
            # Any other value than a mapping says it all: a short form, true, or null.
            given = [pair for pair in given if not isinstance(pair[1], dict | list)]
            defaults = []
        text = "; ".join(_text(value) if entry in ("", value) else f"{entry}: {_text(value)}" for entry, value in given)
        if not given and defaults:
            resolved = option.place in ("on_delete", "late_arriving")  # the pattern and the feed decide
            text = defaults[0][1] if resolved else option.default.replace("`", "").replace("null", "")
        if given or text:
            choice = option.allowed.startswith("`") and ", " in option.allowed
            entries = tuple(entry for entry, _ in given)
            meaning = f"The table holds {spec.rules.summary}." if option.place == "pattern" else option.meaning
            found.append(Setting(option.place, text, meaning, bool(given), choice, entries))
    return found


def _values(holder: Any, steps: Sequence[str], entry: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (entry of a mapping or list, value) for each option at a place in the JSON of a spec."""
    step, *rest = steps
    if step == "*":
        for key, inner in holder.items() if isinstance(holder, dict) else ((check["name"], check) for check in holder):
            yield from _values(inner, rest, key)
    elif isinstance(holder, dict) and step in holder:
        yield from _values(holder[step], rest, entry) if rest else [(entry, holder[step])]


def _text(value: object) -> str:
    """Format a value as a spec has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return join_lines(value if isinstance(value, str) else json.dumps(value))


def as_summary(spec: Spec, script: Script) -> str:
    """Format what fits on a screen for a short spec; ``script`` is the spec's merge.sql."""
    page = _begin_page(spec)
    if what := describe_merge(spec, script):
        page.write_paragraph()
        page.write_text(escape_control(what))
    found = settings(spec)
    given = [setting for setting in found if setting.given and setting.place not in (*_IN_TITLE, *_IN_SPEC)]
    default = [setting.shown for setting in found if not setting.given and setting.choice]
    if spec.feed:
        with page.section("Feeds, explained by --feed"):
            page.write_dl([(name, escape_control(text)) for name, text in _list_feeds(spec)], _COLUMN)
    with page.section("Options set"):
        page.write_dl([(_fill(escape_control(each.shown)), escape_control(each.meaning)) for each in given], _COLUMN)
    with page.section("Defaults, explained by --verbose"):
        page.write_text(escape_control(f"{', '.join(default)}."))
    _write_columns(page, spec)
    return page.getvalue().rstrip("\n")


def _write_columns(page: click.HelpFormatter, spec: Spec) -> None:
    with page.section("Columns"):
        page.write_dl([(escape_control(name), escape_control(of)) for name, of in _list_inputs(lineage(spec))], _COLUMN)


def describe_merge(spec: Spec, script: Script) -> str:
    """Return what the header of a merge.sql says about it, without the table and the file."""
    lines = script.head.splitlines()[bool(spec.description) :]
    says = itertools.takewhile(lambda line: line.startswith("-- ") and not line.startswith("-- Generated from "), lines)
    return " ".join(line.removeprefix("-- ") for line in says).removeprefix(f"{quote_parts(spec.target_parts)}: ")


def _list_inputs(found: Lineage) -> Iterator[tuple[str, str]]:
    """Yield (column, its inputs); columns that are read as they are share a line, as do those decided alike."""
    same = [made.name for made in found.made if not made.by and [of.name for of in made.of] == [made.name]]
    if same:
        yield ", ".join(same), f"the same columns of {found.source}"
    alike: dict[tuple[str, ...], list[str]] = {}
    for made in found.made:
        if made.name not in same or made.rule:
            decides = [item.name for item in made.by]
            # Do not list the columns again that share the first line.
            if {*same} <= {*decides} and len(same) > 1:
                decides = [*(name for name in decides if name not in same), "the columns above"]
            parts = [", ".join(item.name for item in made.of)] if made.of else []
            parts += [f"depends on {', '.join(decides)}"] if decides else []
            alike.setdefault(tuple(parts), []).append(f"({made.name})" if made.rule else made.name)
    for inputs, names in alike.items():
        yield ", ".join(names), "; ".join(inputs)


def _list_feeds(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (name, kind, source and file) of each source; the one that is explained is marked."""
    for feed in spec.feeds:
        source = feed.source
        tables = ", ".join(joined.table for joined in source.join.values())
        rows = source.table or source.path or (f"join of {tables}" if tables else "a query")
        here = ", which this explains" if feed.feed == spec.feed else ""
        yield feed.feed, f"{source.feed} of {rows}, by {feed.file_name('merge.sql')}{here}"


def _begin_page(spec: Spec) -> click.HelpFormatter:
    page = click.HelpFormatter(width=_width())
    page.write(escape_control(f"{spec.target} ({spec.origin})") + "\n")
    if spec.description:
        page.write_text(escape_control(spec.description))
    return page


def as_text(spec: Spec, script: Script) -> str:
    """Format the whole explanation for a terminal; ``script`` is the spec's merge.sql."""
    page = _begin_page(spec)
    for title, rows, rest in _lists(spec, script):
        with page.section(title):
            if rows:
                page.write_dl([(_fill(escape_control(name)), escape_control(text)) for name, text in rows], _COLUMN)
            if rest:
                page.write_text(escape_control(f"Also {', '.join(rest)}."))
    _write_columns(page, spec)
    return page.getvalue().rstrip("\n")


def _lists(spec: Spec, script: Script) -> Iterator[tuple[str, list[tuple[str, str]], list[str]]]:
    """Yield (title, names with their descriptions, further names)."""
    found = [setting for setting in settings(spec) if setting.place not in _IN_TITLE]
    if spec.feed:
        yield "Feeds", list(_list_feeds(spec)), []
    given = [setting for setting in found if setting.given]
    default = [setting for setting in found if not setting.given]
    lines = Lines.of_spec(spec)
    yield "Options set", [(each.shown, each.meaning + _list_files(each, spec, lines)) for each in given], []
    # Choices decide what happens to rows; the other defaults are names, types and limits, which explain themselves.
    choices = [(setting.shown, setting.meaning) for setting in default if setting.choice]
    yield "Defaults", choices, [setting.shown for setting in default if not setting.choice]
    yield f"Steps of {spec.file_name('merge.sql')}", [(step.name, step.comment) for step in script.steps()], []


def _list_files(setting: Setting, spec: Spec, lines: Lines) -> str:
    """Say which files set an option, if there are several."""
    if not lines.has_defaults:
        return ""
    steps = place_of_feed(tuple(setting.place.split(".")), spec.feed)
    places = [tuple(entry if step == "*" else step for step in steps) for entry in setting.entries]
    return f" Set by {', '.join(dict.fromkeys(lines.position(place)[0] for place in places))}."


def _width() -> int:
    return min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH


def _fill(text: str) -> str:
    return textwrap.fill(text, _width() - 2, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)
