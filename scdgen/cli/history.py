"""``scdgen history`` and ``scdgen undo``: list the runs in a table's log, and undo one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from scdgen.cli import options, output

if TYPE_CHECKING:
    from scdgen.run.delta import Commit


@click.command()
@options.specs_argument
@options.session_options
@options.json_option("table")
@options.limit_option(20, "Maximum versions.", least=1)
def history(specs: tuple[str, ...], engine: options.EngineOptions, as_json: bool, limit: int) -> None:
    """List the versions of a table, newest first, with the runs that wrote them.

    In the table, +3 ~2 -1 means 3 rows inserted, 2 updated, 1 removed.

    \b
    Example:  scdgen history specs/customer.yml
    """
    from scdgen.run.versions import read_history

    loaded = options.load_specs(specs)
    with options.open_tables(loaded, engine) as read:
        for spec in loaded:
            found = read(spec, partial(read_history, spec=spec, limit=limit))
            if not as_json:
                output.echo(spec.target)
                click.echo(format_history(found))
                continue
            for commit in found:
                shown = {"target": spec.target, **dataclasses.asdict(commit), "removed": commit.deleted}
                click.echo(output.format_json(shown))


def format_history(found: Sequence[Commit]) -> str:
    """Format the versions as a table, with the source and the time of the snapshot if any run has noted one.

    A terminal leaves out the hash, so that normal runs fit in 80 columns.
    """
    columns = ["version", "at", "operation", "run", "spec_hash", "rows"]
    rows = [_format_cells(commit) for commit in found]
    for name in ("taken", "feed"):
        if any(getattr(commit, name) for commit in found):
            columns.insert(4, name)
            for row, commit in zip(rows, found, strict=True):
                row.insert(4, getattr(commit, name))
    return output.format_table(columns, rows, whole=(1, 3, len(columns) - 1), implied="spec_hash")


def _format_cells(commit: Commit) -> list[object]:
    what = f"undo of {commit.undoes}" if commit.undoes else commit.operation
    what = f"rewind to {commit.rewound}" if commit.rewound else what
    counts = zip("+~-", (commit.inserted, commit.updated, commit.deleted), strict=True)
    changed = " ".join(f"{sign}{n}" for sign, n in counts if n)
    return [commit.version, f"{commit.at:%Y-%m-%d %H:%M:%S}", what, commit.run, commit.spec_hash, changed]


@click.command()
@options.specs_argument
@options.session_options
@click.option("--run", "run_id", required=True, metavar="ID", help="A run listed by `scdgen history`.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.json_option()
def undo(
    specs: tuple[str, ...], engine: options.EngineOptions, run_id: str, yes: bool, as_json: bool
) -> None:  # fmt: skip
    """Restore a table to the version before a run, after showing what that reverts. Undo later runs first.

    \b
    Example:  scdgen undo specs/customer.yml --run 20240501T060000-3fa9c1
    """
    spec = options.load_one(specs, "undo")
    with options.open_runner([spec], engine, needs_tables=True) as runner:
        planned = runner.plan_undo(spec, run_id)
        lines = [f"{spec.target}: from version {planned.newest} back to version {planned.back_to}"]
        lines += [f"  reverts version {commit.version}, {commit.describe()}" for commit in planned.made]
        # The question needs the versions above it; with --yes they are only a note.
        for line in lines:
            if not yes:
                output.echo(line, err=as_json)
            elif not as_json:
                output.say(line)
        if not yes:
            output.require_yes("nothing was undone", err=as_json)
        undone = runner.undo(spec, run_id)
        if as_json:
            click.echo(output.format_json(dataclasses.asdict(undone)))
        else:
            output.say(f"{spec.target}: restored to version {undone.back_to}; you can repeat the run")
