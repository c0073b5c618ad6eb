"""Fill in the parts of the pages that need no Spark (files, options, commands), and write docs/llms.txt.

Run: python -m tests.tools.readme
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from scdgen.cli.main import cli
from scdgen.model.reference import Entry, options
from scdgen.run.metrics import COLUMNS
from tests.conftest import ROOT
from tests.support.pages import PAGES
from tests.tools import llms

LANGUAGES = {".yml": "yaml", ".sql": "sql", ".txt": ""}


def render_options() -> str:
    """The options as a Markdown table, a line each."""
    lines, places = ["| option | value | meaning |", "|---|---|---|"], dict[str, str]()
    for option in options():
        first = places.setdefault(option.meaning, option.place)
        is_again = first != option.place and len(option.meaning) > 60  # a short one is said again
        lines.append(f"| `{option.place}` | {_value(option)} | {f'As `{first}`.' if is_again else option.meaning} |")
    return "\n".join(lines)


def _value(option: Entry) -> str:
    """The values of an option and its default, which is left out if it is ``null``."""
    if option.default.startswith("required"):
        return f"{option.default}: {option.allowed}"
    return option.allowed if option.default in {"", "`null`"} else f"{option.allowed}; default {option.default}"


def filled(text: str) -> str:
    """A page with its current files, options and commands."""

    def block(found: re.Match[str]) -> str:
        file = ROOT / found[1]
        return f"<!-- file: {found[1]} -->\n```{LANGUAGES[file.suffix]}\n{file.read_text().rstrip()}\n```\n<!-- end -->"

    def excerpt(found: re.Match[str]) -> str:
        file = ROOT / found[2]
        lines = file.read_text().rstrip().splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith(found[3]))
        end = next((at for at, line in enumerate(lines) if found[4] and line.startswith(found[4])), None)
        shown = "\n".join(["# …" if file.suffix == ".yml" else "-- …", *lines[start:end]])
        return f"{found[1]}\n```{LANGUAGES[file.suffix]}\n{shown}\n```\n<!-- end -->"

    text = re.sub(r"<!-- file: (\S+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)
    text = re.sub(
        r"(<!-- excerpt: (\S+) from: (.+?)(?: to: (.+?))? -->)\n.*?<!-- end -->", excerpt, text, flags=re.DOTALL
    )
    for name, made in (("options", render_options()), ("commands", commands()), ("metrics", metrics())):
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        if mark:
            text = f"{before}{mark}{made}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    return text


SHARED = 2  # options of so many commands are listed once


def commands() -> str:
    """Each command with its help and options, read from click; first the options that several of them have."""
    owners: dict[str, list[str]] = {}
    for name, command in cli.commands.items():
        for row in _options(name, command):
            owners.setdefault(row, []).append(name)
    groups: dict[str, list[str]] = {}
    for row, names in owners.items():
        if len(names) >= SHARED:
            groups.setdefault(_described(names), []).append(row)
    parts = ["### Shared options"]
    for heading, rows in sorted(groups.items(), key=lambda group: -len(owners[group[1][0]])):
        parts += ["", f"{heading}:", "", *rows]
    for name, command in cli.commands.items():
        parts += ["", *_command(name, command, [row for row, names in owners.items() if names == [name]])]
    return "\n".join(parts)


def _described(names: list[str]) -> str:
    """The commands of a group of options; if they are most of all, the others."""
    others = [f"`{name}`" for name in cli.commands if name not in names]
    if len(others) < len(names):
        return f"All commands but {', '.join(others)}" if others else "All commands"
    return ", ".join(f"`{name}`" for name in names)


def metrics() -> str:
    """The columns of the --metrics table."""
    rows = [f"| `{name}` | `{kind}` | {meaning} |" for name, kind, meaning in COLUMNS]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


def _command(name: str, command: click.Command, own: list[str]) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    places = " ".join(param.make_metavar(context) for param in command.params if isinstance(param, click.Argument))
    yield f"### `scdgen {name}{f' {places}' if places else ''}`\n"
    words = inspect.cleandoc(command.help or "").partition("\n\n\b\n")[0]  # its examples come after
    yield re.sub(r"(?<!\n)\n(?!\n)", " ", words)
    yield from ["", *own] if own else []


def _options(name: str, command: click.Command) -> Iterator[str]:
    """Yield a line for each option of a command."""
    context = click.Context(command, info_name=name)
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            yield f"- `{_written(option, context)}`{_default(option)}: {option.help}"


def _written(option: click.Option, context: click.Context) -> str:
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    return f"{', '.join(option.opts)}{value}"


def _default(option: click.Option) -> str:
    if option.is_flag or not isinstance(option.default, str | int):
        return f" ({option.show_default})" if isinstance(option.show_default, str) else ""
    return f" (`{option.default}`)"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))
    llms.FILE.write_text(llms.written())
