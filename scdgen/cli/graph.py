"""The order of specs as ``scdgen graph`` prints it: lines of text, or a Mermaid flowchart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scdgen.spec.graph import Read, Step, full_name
from scdgen.sql import split_name


def as_text(steps: Sequence[Step]) -> str:
    """A line per table in the order of a run: the table, its spec, what it reads."""
    widths = [max(len(text) for text in column) for column in (_targets(steps), [s.spec.origin for s in steps])]
    lines = []
    for step in steps:
        listed = ", ".join(_shown(step, read) for read in step.reads) or "no table"
        lines.append(f"{step.spec.target.ljust(widths[0])}  {step.spec.origin.ljust(widths[1])}  reads {listed}")
    return "\n".join(lines)


def as_mermaid(steps: Sequence[Step]) -> str:
    """A Mermaid flowchart: a box per table, a cylinder per external one, arrows from what is read."""
    boxes = {target: f"t{index}" for index, target in enumerate(_targets(steps), 1)}
    outside = dict.fromkeys(read.name for step in steps for read in step.reads if read.writer is None)
    cylinders = {name: f"x{index}" for index, name in enumerate(outside, 1)}
    lines = ["flowchart LR"]
    lines += [f"    {box}[{label(target)}]" for target, box in boxes.items()]
    lines += [f"    {cylinder}[({label(name)})]" for name, cylinder in cylinders.items()]
    for step in steps:
        for read in step.reads:
            start = cylinders[read.name] if read.writer is None else boxes[read.writer.target]
            by = f"|{label(read.name)}|" if _is_view(read) else ""
            lines.append(f"    {start} -->{by} {boxes[step.spec.target]}")
    return "\n".join(lines)


def label(text: str) -> str:
    """A text in a Mermaid chart, with a code for each character that could end it or stand for something else.

    >>> label('crm.a"b')
    '"crm.a#34;b"'
    """
    return '"' + re.sub(r"[^\w ./:-]", lambda found: f"#{ord(found[0])};", text) + '"'


def _targets(steps: Sequence[Step]) -> list[str]:
    return [step.spec.target for step in steps]


def _is_view(read: Read) -> bool:
    return read.writer is not None and full_name(read.writer.target_parts)[-2:] != full_name(split_name(read.name))[-2:]


def _shown(step: Step, read: Read) -> str:
    if read.writer is None:
        return f"{read.name} (external)"
    owner = "itself" if read.writer is step.spec else read.writer.target
    return f"{read.name} (view of {owner})" if _is_view(read) else owner
