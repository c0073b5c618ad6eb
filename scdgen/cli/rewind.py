"""``scdgen rewind``: takes a table back to a time, after showing what that removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scdgen.cli import options, output
from scdgen.compile.queries import require_rewindable
from scdgen.errors import hides_values

if TYPE_CHECKING:
    from scdgen.model.spec import Spec
    from scdgen.run.rewind import RewindResult


@click.command()
@options.specs_argument
@options.session_options
@click.option("--to", required=True, metavar="TIME", help="What starts or ends at this time stays.")
@click.option("--param", multiple=True, metavar="NAME=VALUE", help="The param of `history.recorded.at`.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.limit_option(5, "Versions to show.")
@options.values_option
@options.json_option()
def rewind(
    specs: tuple[str, ...], engine: options.EngineOptions, to: str, param: tuple[str, ...], yes: bool, limit: int,
    as_json: bool
) -> None:  # fmt: skip
    """Take a table back to a time, after showing what that changes.

    Versions that start after it are removed, those that end after it are reopened. `scdgen undo` reverts it.

    \b
    Example:  scdgen rewind specs/customer.yml --to 2024-05-01
    """
    spec = options.load_one(specs, "rewind")
    require_rewindable(spec)
    params = options.parse_pairs(param, "--param")
    with options.open_runner([spec], engine, needs_tables=True) as runner:
        shown = 0 if hides_values() or yes else limit
        planned = runner.plan_rewind(spec, to, params, shown)
        if not (planned.is_needless or yes):
            for line in format_plan(spec, planned).split("\n"):
                output.echo(line, err=as_json)
            output.require_yes("nothing was rewound", err=as_json)
        done = runner.rewind(spec, to, params)
    if as_json:
        click.echo(output.format_json({name: value for name, value in vars(done).items() if name != "sample"}))
    elif done.run_id:
        output.say(f"{describe(done)}; run {done.run_id}")
    else:
        output.say(f"{done.target}: nothing starts or ends after {done.to}")


def describe(result: RewindResult) -> str:
    """Describe what a rewind does, or did, in one line."""
    keys = f"{result.keys} key{'s' * (result.keys != 1)}"
    superseded = "" if result.superseded is None else f"; {result.superseded} superseded"
    done = f"{result.removed} removed, {result.reopened} open again, of {keys}{superseded}"
    return f"{result.target}: back to {result.to}: {done}"


def format_plan(spec: Spec, planned: RewindResult) -> str:
    """Format a plan as text: a line of counts, what it cannot restore, and some of the versions."""
    lines = [describe(planned)]
    if spec.members.inferred is not None:
        lines.append(
            "  members that were inferred and then completed keep their values: that they were inferred is gone"
        )
    if planned.sample:
        columns = list(planned.sample[0])
        rows = [list(row.values()) for row in planned.sample]
        lines += ["", output.format_table(columns, rows)]
        left = planned.removed + planned.reopened - len(rows)
        lines += [f"({left} more; --limit N shows more)"] if left else []
    return "\n".join(lines)
