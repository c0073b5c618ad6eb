"""``scdgen optimize``: rewrites the files of a table; nothing else does so unasked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import click

from scdgen.cli import output
from scdgen.cli.options import EngineOptions, engine_options, json_option, load_specs, open_runner, specs_argument
from scdgen.errors import UsageError
from scdgen.model.spec import Spec

_WEEK = 168  # hours
_RETENTION = "delta.deletedFileRetentionDuration"
_UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled=false"


@click.command()
@specs_argument
@engine_options
@json_option("table")
@click.option(
    "--vacuum",
    type=click.IntRange(min=0),
    metavar="HOURS",
    help="Also delete files that no version of the last HOURS needs. Earlier versions can no longer be "
    "read, and earlier runs can no longer be undone.",
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
    if vacuum is not None and vacuum < _WEEK and _UNCHECKED not in engine.conf:
        _require_retention(loaded, vacuum)
    with open_runner(loaded, engine, needs_tables=True) as runner:
        for spec in loaded:
            with output.progress(f"optimizing {spec.target}"):
                done = runner.optimize(spec, vacuum)
            if as_json:
                click.echo(output.format_json(dataclasses.asdict(done)))
            else:
                before, after = map(_size, (done.bytes_before, done.bytes_after))
                output.say(f"{spec.target}: {done.files_before} files ({before}) -> {done.files_after} ({after})")


def _require_retention(specs: Iterable[Spec], hours: int) -> None:
    """Raise :class:`UsageError`, before Spark starts, if Delta would refuse to delete files that are so young."""
    if not all(_RETENTION in spec.table.properties for spec in specs):
        raise UsageError(
            f"Delta keeps the files of the last {_WEEK} hours; write {_WEEK} hours or more, "
            f"set {_RETENTION} in table.properties of the spec, or give --conf {_UNCHECKED}",
            option="--vacuum",
            value=hours,
        )


def _size(count: int) -> str:
    """A number of bytes.

    >>> _size(41_234), _size(2_400_000)
    ('41 kB', '2.4 MB')
    """
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


COMMANDS = (optimize,)
