"""What ``scdgen plan`` prints: the counts, and the rows with old and new values side by side."""

from __future__ import annotations

from collections import Counter
from typing import Any

from scdgen.cli import output
from scdgen.run.results import PlanResult, PlanRow


class Changed(str):
    """A cell whose value would change."""


def text(plan: PlanResult) -> str:
    """A plan as text: a line of counts, one on the current keys, and a table of rows."""
    lines = [f"{plan.target}: {', '.join(f'{count} {action}' for action, count in plan.counts.items())}"]
    lines.append(f"  {_closed(plan)}{_late(plan)}")
    if plan.sample:
        columns = list(plan.sample[0].new or plan.sample[0].old or {})
        rows = [[row.action, _note(row), *_cells(row)] for row in plan.sample]
        marked = {place: _style for place in range(2, 2 + len(columns))}
        lines += ["", output.table(["action", "note", *columns], rows, marked)]
        shown = Counter(row.action for row in plan.sample)
        left = [f"{plan.counts[a] - n} more of {a}" for a, n in shown.items() if plan.counts.get(a, 0) > n]
        lines += [f"({', '.join(left)}; --sample N shows more)"] if left else []
    return "\n".join(lines)


def _closed(plan: PlanResult) -> str:
    share = f" ({100 * plan.closed_share:.1f}%)" if plan.closed_share is not None else ""
    does = "closed" if "close" in plan.counts else "deleted"
    return f"{plan.closed_keys} of {plan.current_keys} current keys would be {does}{share}"


def _late(plan: PlanResult) -> str:
    what = "versions" if "close" in plan.counts else "rows"
    late = f", {plan.late} of these {what} {'are' if plan.late > 1 else 'is'} late" if plan.late else ""
    return late + (f", {plan.skipped} rows of the source skipped" if plan.skipped else "")


def _note(row: PlanRow) -> str:
    marks = {"late": row.late, "deletes": row.deletes and row.action != "delete"}
    return ", ".join(mark for mark, holds in marks.items() if holds)


def _cells(row: PlanRow) -> list[object]:
    """Values as they are or become; one that changes as ``old -> new``."""
    values: dict[str, Any] = row.new or row.old or {}
    old = row.old or {}
    return [
        Changed(f"{output.shown(old[name])} -> {output.shown(value)}") if name in row.changed else value
        for name, value in values.items()
    ]


def _style(value: object) -> str:
    return "bold yellow" if isinstance(value, Changed) else "dim" if value is None else ""


def as_object(plan: PlanResult) -> dict[str, Any]:
    """A plan as ``--json`` prints it."""
    return {
        "target": plan.target,
        "counts": plan.counts,
        "late": plan.late,
        "current_keys": plan.current_keys,
        "closed_keys": plan.closed_keys,
        "closed_share": plan.closed_share,
        "skipped": plan.skipped,
        "sample": [
            {
                "action": row.action, "late": row.late, "deletes": row.deletes, "key": row.key,
                "old": row.old, "new": row.new, "changed": list(row.changed),
            }
            for row in plan.sample
        ],
    }  # fmt: skip
