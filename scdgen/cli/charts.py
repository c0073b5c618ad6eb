"""The order of specs (``scdgen graph``) as text, Mermaid or JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from scdgen.cli.options import load_specs, specs_argument
from scdgen.cli.output import format_json
from scdgen.escape import escape_control
from scdgen.model.graph import Read, Step, full_name, steps
from scdgen.sql import split_name


@click.command()
@specs_argument
@click.option("--format", "kind", type=click.Choice(["text", "mermaid", "json"]), default="text", show_default=True)
@click.option("--infer", is_flag=True, help="The order of run --infer, which also reads the facts of members.inferred.")
def graph(specs: tuple[str, ...], kind: str, infer: bool, debug: bool) -> None:
    """Show the order in which `run` executes the specs, and what each reads. Needs no Spark and no Java.

    \b
    Examples:  scdgen graph specs
               scdgen graph specs --format mermaid      a flowchart
               scdgen graph specs --format json         a line per table, for an orchestrator
    """
    write = {"text": format_graph, "mermaid": chart_graph, "json": list_graph}[kind]
    click.echo(write(steps(load_specs(specs), infer)))


def format_graph(steps: Sequence[Step]) -> str:
    """Format a line per table, in the order of a run: the table, its spec, and what it reads."""
    origins = [escape_control(step.spec.origin) for step in steps]
    widths = [max(map(len, column)) for column in (_list_targets(steps), origins)]
    lines = []
    for step, origin in zip(steps, origins, strict=True):
        listed = ", ".join(_describe_read(step, read) for read in step.reads) or "no table"
        lines.append(f"{step.spec.target.ljust(widths[0])}  {origin.ljust(widths[1])}  reads {listed}")
    return "\n".join(lines)


def list_graph(steps: Sequence[Step]) -> str:
    """Format a JSON object per table, in the order of a run.

    ``after`` names the targets that must run before, ``reads`` the tables that none of the specs writes.
    """
    return "\n".join(
        format_json(
            {
                "target": step.spec.target,
                "spec": step.spec.origin,
                "after": step.needs,
                "reads": list(dict.fromkeys(read.name for read in step.reads if read.writer is None)),
            }
        )
        for step in steps
    )


def chart_graph(steps: Sequence[Step]) -> str:
    """Draw a Mermaid flowchart: a box per target, a cylinder per external table, an arrow per read."""
    # Give each box a short id, because Mermaid does not take every name as one.
    boxes = {target: f"t{index}" for index, target in enumerate(_list_targets(steps), 1)}
    outside = dict.fromkeys(read.name for step in steps for read in step.reads if read.writer is None)
    cylinders = {name: f"x{index}" for index, name in enumerate(outside, 1)}
    lines = ["flowchart LR"]
    lines += [f"    {box}[{_quote_label(target)}]" for target, box in boxes.items()]
    lines += [f"    {cylinder}[({_quote_label(name)})]" for name, cylinder in cylinders.items()]
    # Draw an arrow per read, with the view or the feed on it.
    for step in steps:
        for read in step.reads:
            start = cylinders[read.name] if read.writer is None else boxes[read.writer.target]
            labels = [read.name] if _is_view(read) else []
            labels += [f"feed {read.feed}"] if read.feed else []
            by = f"|{_quote_label(', '.join(labels))}|" if labels else ""
            lines.append(f"    {start} -->{by} {boxes[step.spec.target]}")
    return "\n".join(lines)


def _list_targets(steps: Sequence[Step]) -> list[str]:
    return [step.spec.target for step in steps]


def _is_view(read: Read) -> bool:
    return read.writer is not None and full_name(read.writer.target_parts)[-2:] != full_name(split_name(read.name))[-2:]


def _describe_read(step: Step, read: Read) -> str:
    shown, notes = read.name, []
    if read.writer is None:
        notes.append("external")
    else:
        owner = "itself" if read.writer is step.spec else read.writer.target
        if _is_view(read):
            notes.append(f"view of {owner}")
        else:
            shown = owner
    notes += [f"feed {read.feed}"] if read.feed else []
    return f"{shown} ({', '.join(notes)})" if notes else shown


def _quote_label(text: str) -> str:
    """Quote a text for a Mermaid chart, with a character code for everything that could have a meaning there.

    >>> _quote_label('crm.a"b')
    '"crm.a#34;b"'
    """
    return '"' + re.sub(r"[^\w ./:-]", lambda found: f"#{ord(found[0])};", text) + '"'


COMMANDS = (graph,)
