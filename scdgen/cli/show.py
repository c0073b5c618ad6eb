"""``scdgen show``: shows the versions of a table as rows, or as timelines on an HTML page."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen import paths
from scdgen.cli import options, output
from scdgen.errors import UsageError

if TYPE_CHECKING:
    from scdgen.model.spec import Spec
    from scdgen.run.versions import VersionFilter, VersionRows


@click.command()
@options.specs_argument
@options.session_options
@click.option("--key", multiple=True, metavar="K=V", help="Only this key; once per key column.")
@click.option("--as-of", metavar="TIME", help="Only versions valid at this time: 2024-05-01, yesterday.")
@click.option("--known-at", metavar="TIME", help="As recorded at this time (history.recorded).")
@click.option("--current", is_flag=True, help="Only open versions.")
@click.option(
    "--format", "kind", type=click.Choice(["table", "csv", "json"]), help="json: one object per line.  [default: table]"
)
@click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write timelines to an HTML page instead."
)
@options.limit_option(1000, "Maximum rows; 0 for all.")
def show(
    specs: tuple[str, ...], key: tuple[str, ...], as_of: str | None, known_at: str | None, current: bool,
    kind: str | None, html: str | None, limit: int, engine: options.EngineOptions
) -> None:  # fmt: skip
    """Show the versions of a table in order.

    \b
    Examples:  scdgen show specs/customer.yml --key id=1
               scdgen show specs/customer.yml --as-of 2024-05-01 --format csv
               scdgen show specs/customer.yml --known-at 2024-05-01
               scdgen show specs/customer.yml --html customer.html
    """
    from scdgen.cli.timeline import require_history
    from scdgen.run.versions import VersionFilter, read_history, read_versions

    loaded = options.load_specs(specs)
    kind = choose_kind(loaded, kind, html)
    drawn = kind == "html"
    for spec in loaded if drawn else ():
        require_history(spec)
    # A timeline shows deletes too; a list of rows does not.
    deletes = drawn and as_of is None and not current
    wanted = VersionFilter(parse_keys(key), as_of, current, deletes, known_at, superseded=drawn)
    for spec in loaded:
        wanted.query(spec)  # refuses unknown keys and times before Spark starts
    with options.open_tables(loaded, engine) as read:
        for spec in loaded:
            found = read(spec, partial(read_versions, spec=spec, wanted=wanted, limit=limit))
            if drawn:
                (newest,) = read(spec, partial(read_history, spec=spec, limit=1))
                _write_timelines(Path(str(html)), spec, wanted, found, newest.version)
            elif text := output.format_rows(kind, found.columns, found.tuples, key_and_times(spec), flag_of(spec)):
                click.echo(text)
            if found.following is not None:
                output.note_cut(limit, "row")


def key_and_times(spec: Spec) -> set[str]:
    """The columns that identify a version of a table."""
    times = {spec.history.valid_from, spec.history.valid_to} if spec.keeps_history else set()
    return {*spec.keys, *times}


def flag_of(spec: Spec) -> str | None:
    """The column that says which versions are open, as their ends do."""
    return spec.history.is_current.name if spec.keeps_history and spec.history.is_current else None


def choose_kind(loaded: list[Spec], kind: str | None, html: str | None) -> str:
    """Choose the output format. Raises :class:`UsageError` for a page of several specs."""
    if html is None:
        return kind or "table"
    if len(loaded) > 1:
        what = f"a page shows one table, and {len(loaded)} specs are given; give one spec"
        raise UsageError(what, option="--html", value=html)
    return "html"


def parse_keys(given: tuple[str, ...]) -> dict[str, str]:
    """Parse the values of --key. Raises :class:`UsageError` for a column that is given twice."""
    keys = options.parse_pairs(given, "--key")
    if len(keys) < len(given):
        twice = next(name for name in keys if sum(item.startswith(f"{name}=") for item in given) > 1)
        what = "is given twice; give one value, or leave it out to see every key"
        raise UsageError(what, option="--key", value=twice)
    return keys


def _write_timelines(file: Path, spec: Spec, wanted: VersionFilter, found: VersionRows, version: int) -> None:
    """Write the page, and create its folder. Raises :class:`UsageError` if that fails."""
    from scdgen.cli.timeline import build_page, render_page

    zoned = f"; times are in {found.zone}" if spec.history.type == "timestamp" else ""
    made = f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d %H:%M} UTC from table version {version}{zoned}"
    page = replace(build_page(spec, wanted, found), made=made)
    try:
        paths.write_text(file, render_page(page))
    except OSError as error:
        what = f"cannot be written: {error.strerror}; name another file"
        raise UsageError(what, option="--html", value=file) from error
    output.say(f"wrote {file}: {spec.target}, {page.counted}")
