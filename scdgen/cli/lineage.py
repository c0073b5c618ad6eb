"""Lineage as ``scdgen explain`` prints it: lines of text, or a Mermaid flowchart."""

from __future__ import annotations

from scdgen.cli.graph import label
from scdgen.patterns.lineage import Input, Lineage, Made

_LEGEND = "─ the value is made of it, ┄ it decides"


def as_text(lineage: Lineage) -> str:
    """Each column of the target with its inputs on the left, one a line, joined to one arrow."""
    width = max((len(_shown(item)) for made in lineage.made for item in (*made.of, *made.by)), default=0)
    over = f" over {', '.join(lineage.tables)}" if lineage.tables else ""
    lines = [f"{lineage.source}{over} -> {lineage.target} ({_LEGEND})"]
    for made in lineage.made:
        lines += _drawn(made, width)
    return "\n".join(lines)


def _drawn(made: Made, width: int) -> list[str]:
    items = [(item, "─") for item in made.of] + [(item, "┄") for item in made.by]
    name = f"({made.name})" if made.rule else made.name
    lines = []
    for number, (item, line) in enumerate(items):
        last = number == len(items) - 1
        joint = (line if len(items) == 1 else "┴") if last else "┐" if number == 0 else "┤"
        shown = _shown(item)
        reach = line * (width - len(shown) + 2)
        lines.append(f"{shown} {reach}{joint}{f'{line}> {name}' if last else ''}")
    return lines


def _shown(item: Input) -> str:
    return f"{item.name} (table)" if item.kind == "table" else item.name


def as_mermaid(lineage: Lineage) -> str:
    """A Mermaid flowchart from the source's columns to the target's, with dotted arrows for what only decides."""
    inputs = list(dict.fromkeys(item for made in lineage.made for item in (*made.of, *made.by)))
    boxes = {item: f"s{number}" for number, item in enumerate(inputs, 1)}
    lines = ["flowchart LR"]
    lines += [f"    x{number}[({label(name)})]" for number, name in enumerate(lineage.tables, 1)]
    lines += [f"    subgraph source[{label(lineage.source)}]"]
    lines += [f"        {boxes[item]}[{label(item.name)}]" for item in inputs if item.kind == "column"]
    lines += ["    end", f"    subgraph target[{label(lineage.target)}]"]
    lines += [f"        t{n}[{label(made.name)}]" for n, made in enumerate(lineage.made, 1) if not made.rule]
    lines += ["    end"]
    shapes = {"param": ("([", "])"), "table": ("[(", ")]"), "value": ("[/", "/]")}
    for item in inputs:
        if item.kind != "column":
            opens, closes = shapes[item.kind]
            lines.append(f"    {boxes[item]}{opens}{label(item.name)}{closes}")
    lines += [f"    t{n}{{{{{label(made.name)}}}}}" for n, made in enumerate(lineage.made, 1) if made.rule]
    lines += [f"    x{number} --> source" for number in range(1, len(lineage.tables) + 1)]
    for number, made in enumerate(lineage.made, 1):
        lines += [f"    {boxes[item]} --> t{number}" for item in made.of]
        lines += [f"    {boxes[item]} -.-> t{number}" for item in made.by]
    return "\n".join(lines)
