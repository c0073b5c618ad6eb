"""The order of specs and the lineage of columns, as ``scdgen graph`` and ``explain`` print them: text or Mermaid."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scdgen.patterns.lineage import Input, Lineage, Made
from scdgen.spec.graph import Read, Step, full_name
from scdgen.sql import split_name

_LEGEND = "─ the value is made of it, ┄ it decides"


def graph_text(steps: Sequence[Step]) -> str:
    """A line per table in the order of a run: the table, its spec, what it reads."""
    widths = [max(len(text) for text in column) for column in (_targets(steps), [s.spec.origin for s in steps])]
    lines = []
    for step in steps:
        listed = ", ".join(_read(step, read) for read in step.reads) or "no table"
        lines.append(f"{step.spec.target.ljust(widths[0])}  {step.spec.origin.ljust(widths[1])}  reads {listed}")
    return "\n".join(lines)


def graph_mermaid(steps: Sequence[Step]) -> str:
    """A Mermaid flowchart: a box per table, a cylinder per external one, arrows from what is read."""
    boxes = {target: f"t{index}" for index, target in enumerate(_targets(steps), 1)}
    outside = dict.fromkeys(read.name for step in steps for read in step.reads if read.writer is None)
    cylinders = {name: f"x{index}" for index, name in enumerate(outside, 1)}
    lines = ["flowchart LR"]
    lines += [f"    {box}[{_label(target)}]" for target, box in boxes.items()]
    lines += [f"    {cylinder}[({_label(name)})]" for name, cylinder in cylinders.items()]
    for step in steps:
        for read in step.reads:
            start = cylinders[read.name] if read.writer is None else boxes[read.writer.target]
            by = f"|{_label(read.name)}|" if _is_view(read) else ""
            lines.append(f"    {start} -->{by} {boxes[step.spec.target]}")
    return "\n".join(lines)


def _targets(steps: Sequence[Step]) -> list[str]:
    return [step.spec.target for step in steps]


def _is_view(read: Read) -> bool:
    return read.writer is not None and full_name(read.writer.target_parts)[-2:] != full_name(split_name(read.name))[-2:]


def _read(step: Step, read: Read) -> str:
    if read.writer is None:
        return f"{read.name} (external)"
    owner = "itself" if read.writer is step.spec else read.writer.target
    return f"{read.name} (view of {owner})" if _is_view(read) else owner


def lineage_text(lineage: Lineage) -> str:
    """Each column of the target with its inputs on the left, one a line, joined to one arrow."""
    width = max((len(_input(item)) for made in lineage.made for item in (*made.of, *made.by)), default=0)
    over = f" over {', '.join(lineage.tables)}" if lineage.tables else ""
    lines = [f"{lineage.source}{over} -> {lineage.target} ({_LEGEND})"]
    for made in lineage.made:
        lines += _arrow(made, width)
    return "\n".join(lines)


def _arrow(made: Made, width: int) -> list[str]:
    items = [(item, "─") for item in made.of] + [(item, "┄") for item in made.by]
    name = f"({made.name})" if made.rule else made.name
    lines = []
    for number, (item, line) in enumerate(items):
        last = number == len(items) - 1
        joint = (line if len(items) == 1 else "┴") if last else "┐" if number == 0 else "┤"
        shown = _input(item)
        reach = line * (width - len(shown) + 2)
        lines.append(f"{shown} {reach}{joint}{f'{line}> {name}' if last else ''}")
    return lines


def _input(item: Input) -> str:
    return f"{item.name} (table)" if item.kind == "table" else item.name


def lineage_mermaid(lineage: Lineage) -> str:
    """A Mermaid flowchart from the source's columns to the target's, with dotted arrows for what only decides."""
    inputs = list(dict.fromkeys(item for made in lineage.made for item in (*made.of, *made.by)))
    boxes = {item: f"s{number}" for number, item in enumerate(inputs, 1)}
    lines = ["flowchart LR"]
    lines += [f"    x{number}[({_label(name)})]" for number, name in enumerate(lineage.tables, 1)]
    lines += [f"    subgraph source[{_label(lineage.source)}]"]
    lines += [f"        {boxes[item]}[{_label(item.name)}]" for item in inputs if item.kind == "column"]
    lines += ["    end", f"    subgraph target[{_label(lineage.target)}]"]
    lines += [f"        t{n}[{_label(made.name)}]" for n, made in enumerate(lineage.made, 1) if not made.rule]
    lines += ["    end"]
    shapes = {"param": ("([", "])"), "table": ("[(", ")]"), "value": ("[/", "/]")}
    for item in inputs:
        if item.kind != "column":
            opens, closes = shapes[item.kind]
            lines.append(f"    {boxes[item]}{opens}{_label(item.name)}{closes}")
    lines += [f"    t{n}{{{{{_label(made.name)}}}}}" for n, made in enumerate(lineage.made, 1) if made.rule]
    lines += [f"    x{number} --> source" for number in range(1, len(lineage.tables) + 1)]
    for number, made in enumerate(lineage.made, 1):
        lines += [f"    {boxes[item]} --> t{number}" for item in made.of]
        lines += [f"    {boxes[item]} -.-> t{number}" for item in made.by]
    return "\n".join(lines)


def _label(text: str) -> str:
    """A text in a Mermaid chart, with a code for each character that could end it or stand for something else.

    >>> _label('crm.a"b')
    '"crm.a#34;b"'
    """
    return '"' + re.sub(r"[^\w ./:-]", lambda found: f"#{ord(found[0])};", text) + '"'
