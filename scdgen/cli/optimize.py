"""``scdgen optimize``: rewrites the files of a table; nothing else does so unasked."""

from __future__ import annotations

import dataclasses

import click

from scdgen.cli import output
from scdgen.cli.options import EngineOptions, engine_options, json_option, load_specs, open_runner, specs_argument


@click.command()
@specs_argument
@engine_options
@json_option("table")
@click.option(
    "--vacuum",
    type=click.IntRange(min=0),
    metavar="HOURS",
    help="Also delete files that no version of the last HOURS needs; older ones can no longer be read or undone.",
)
def optimize(specs: tuple[str, ...], engine: EngineOptions, as_json: bool, vacuum: int | None, debug: bool) -> None:
    """Compact the files of the tables, and remove deleted rows from them.

    Small files become large ones, by the layout of the table (OPTIMIZE), and files with deleted rows are written again
    without these (REORG TABLE ... APPLY (PURGE)). No row changes.

    \b
    Examples:  scdgen optimize specs
               scdgen optimize specs/customer.yml --vacuum 168
    """
    loaded = load_specs(specs)
    with open_runner(loaded, engine, needs_tables=True) as runner:
        for spec in loaded:
            with output.progress(f"optimizing {spec.target}"):
                done = runner.optimize(spec, vacuum)
            if as_json:
                click.echo(output.format_json(dataclasses.asdict(done)))
            else:
                before, after = map(_size, (done.bytes_before, done.bytes_after))
                output.say(f"{spec.target}: {done.files_before} files ({before}) -> {done.files_after} ({after})")


def _size(count: int) -> str:
    """A number of bytes.

    >>> _size(41_234), _size(2_400_000)
    ('41 kB', '2.4 MB')
    """
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


COMMANDS = (optimize,)
