"""The order of specs (``scdgen graph``) as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence

import click

from scdgen.cli import options
from scdgen.cli.output import format_json
from scdgen.escape import escape_control
from scdgen.model.graph import Read, Step, full_name, steps
from scdgen.sql import split_name


@click.command()
@options.specs_argument
@click.option("--format", "kind", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="json: one object per line.")  # fmt: skip
@click.option("--infer", is_flag=True, help="The order of `run --infer`, which also reads facts.")
def graph(specs: tuple[str, ...], kind: str, infer: bool) -> None:
    """Show the order in which specs run, and what each reads. Needs no Spark.

    \b
    Examples:  scdgen graph specs
               scdgen graph specs --format json
    """
    write = format_graph if kind == "text" else list_graph
    click.echo(write(steps(options.load_specs(specs), infer)))


def format_graph(steps: Sequence[Step]) -> str:
    """Format a line per table, in the order of a run: the table, its spec, and what it reads."""
    names = [(step.spec.target, escape_control(step.spec.origin)) for step in steps]
    widths = [max(map(len, column)) for column in zip(*names, strict=True)]
    lines = []
    for step, (target, origin) in zip(steps, names, strict=True):
        listed = ", ".join(_describe_read(step, read) for read in step.reads) or "no table"
        lines.append(f"{target.ljust(widths[0])}  {origin.ljust(widths[1])}  reads {listed}")
    return "\n".join(lines)


def list_graph(steps: Sequence[Step]) -> str:
    """Format a JSON object per table, in the order of a run.

    ``after`` names the targets that must run before, ``reads`` the tables that none of the specs writes.
    """
    lines = []
    for step in steps:
        reads = list(dict.fromkeys(read.name for read in step.reads if read.writer is None))
        shown = {"target": step.spec.target, "spec": step.spec.origin, "after": step.needs, "reads": reads}
        lines.append(format_json(shown))
    return "\n".join(lines)


def _describe_read(step: Step, read: Read) -> str:
    shown, notes = read.name, []
    if read.writer is None:
        notes = ["external"]
    else:
        owner = "itself" if read.writer is step.spec else read.writer.target
        if full_name(read.writer.target_parts)[-2:] == full_name(split_name(read.name))[-2:]:
            shown = owner
        else:
            notes = [f"view of {owner}"]
    notes += [f"feed {read.feed}"] if read.feed else []
    return f"{shown} ({', '.join(notes)})" if notes else shown
