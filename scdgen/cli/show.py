"""``scdgen show``: the versions of a table as rows, as a timeline, or as a page to look at."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen.cli.options import engine_options, pairs, specs_argument
from scdgen.cli.run import runner_on
from scdgen.errors import UsageError

if TYPE_CHECKING:
    from scdgen.cli.timeline import Timeline
    from scdgen.run.versions import Asked, Found
    from scdgen.spec.model import Spec

# Wide enough for most, and the same wherever the output goes but to a terminal.
_WIDTH = 100


@click.command()
@specs_argument
@engine_options
@click.option("--key", multiple=True, metavar="K=V", help="Only this key; once per key column.")
@click.option("--as-of", metavar="TIME", help="Only the versions valid at a time.")
@click.option("--current", is_flag=True, help="Only the open versions.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "timeline", "csv", "json"]),
    help="Rows as a table, as CSV or as JSON lines; or a timeline per key.  [default: table]",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write timelines to a page that opens in a browser, in place of printing.",
)
@click.option(
    "--limit", type=click.IntRange(min=0), default=1000, show_default=True, metavar="N", help="Rows at most; 0 for all."
)
def show(
    specs: tuple[str, ...], key: tuple[str, ...], as_of: str | None, current: bool, kind: str | None,
    html: str | None, limit: int, remote: str | None, warehouse: str, conf: tuple[str, ...], templates: str | None,
    debug: bool,
) -> None:  # fmt: skip
    """Show the versions of a table in order.

    \b
    Examples:  scdgen show specs/customer.yml --key id=1
               scdgen show specs/customer.yml --key id=1 --format timeline
               scdgen show specs/customer.yml --as-of 2024-05-01 --format csv
               scdgen show specs/customer.yml --html customer.html
    """
    from scdgen.cli import output
    from scdgen.cli.inputs import load_specs
    from scdgen.cli.timeline import require_history
    from scdgen.run import versions

    loaded = load_specs(specs)
    kind = _kind(loaded, kind, html)
    drawn = kind in {"timeline", "html"}
    for spec in loaded if drawn else ():
        require_history(spec, "--html" if html else "--format timeline")
    # A delete is something to see on a timeline; among rows it is none.
    asked = versions.Asked(_keys(key), as_of, current, deleted=drawn and as_of is None and not current)
    for spec in loaded:
        asked.query(spec, templates)  # what cannot be asked of a spec is said before Spark starts
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:
        for place, spec in enumerate(loaded):
            with output.progress(f"reading {spec.target}"):
                found = versions.read(runner, spec, asked, limit)
            if kind == "html":
                _write(Path(str(html)), spec, asked, found, templates)
            elif kind == "timeline":
                click.echo(("\n" if place else "") + _timeline(spec, asked, found))
            elif text := output.formatted(kind, found.columns, found.tuples):
                click.echo(text)
            if found.following is not None:
                click.echo(f"… more than {limit} rows: narrow it with --key, or give --limit", err=True)


def _kind(loaded: list[Spec], kind: str | None, html: str | None) -> str:
    """What to make of the rows; raises :class:`UsageError` for what does not go together."""
    if html is None:
        return kind or "table"
    if kind is not None:
        raise UsageError(f"--html {html}: writes a page in place of printing; leave out --format {kind}")
    if len(loaded) > 1:
        raise UsageError(f"--html {html}: a page shows one table, and {len(loaded)} specs are given; give one spec")
    return "html"


def _keys(given: tuple[str, ...]) -> dict[str, str]:
    keys = pairs(given, "--key")
    if len(keys) < len(given):
        twice = next(name for name in keys if sum(item.startswith(f"{name}=") for item in given) > 1)
        raise UsageError(f"--key {twice}: is given twice; give one value, or leave it out to see every key")
    return keys


def _timeline(spec: Spec, asked: Asked, found: Found) -> str:
    """The chart as this terminal, or the file in its place, takes it."""
    from rich.console import Console

    from scdgen.cli import output
    from scdgen.cli.timeline import timeline
    from scdgen.cli.timeline_text import drawn, glyphs_for

    encoding, is_terminal = sys.stdout.encoding, sys.stdout.isatty()
    width = Console().width if is_terminal else _WIDTH
    text = drawn(timeline(spec, asked, found), width, glyphs_for(encoding))
    printed = output.for_terminal(text, wrap=False) if is_terminal else text.plain
    return printed.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")


def _write(file: Path, spec: Spec, asked: Asked, found: Found, templates: str | None) -> None:
    from scdgen.cli.timeline import timeline
    from scdgen.cli.timeline_page import page

    drawn: Timeline = timeline(spec, asked, found)
    text = page(drawn, spec.description, templates)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"--html {file}: cannot be written: {error.strerror}; name another file") from error
    click.echo(f"wrote {file}: {spec.target}, {drawn.counted}")


COMMANDS = (show,)
