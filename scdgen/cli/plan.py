"""``scdgen plan``: counts what a run would do, and shows rows with old and new values side by side."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli import output
from scdgen.cli.options import (
    EngineOptions,
    bind_inputs,
    engine_options,
    input_options,
    json_option,
    limit_option,
    load_specs,
    open_runner,
    open_source,
    specs_argument,
)
from scdgen.errors import UsageError

if TYPE_CHECKING:
    from scdgen.patterns.pattern import Pattern
    from scdgen.run.results import PlanResult, PlanRow


@click.command()
@specs_argument
@engine_options
@input_options
@json_option("table")
@limit_option(5, "Rows to show per action.", 0, "--sample", "sample")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CONDITION",
    help="Exit 1 if the plan does this, such as 'close>10%' (of the current keys) or 'delete>0'; may be repeated.",
)
def plan(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], engine: EngineOptions, as_json: bool,
    sample: int, fail_on: tuple[str, ...], debug: bool,
) -> None:  # fmt: skip
    """Show what a run would do: counts, and some rows per action, old and new side by side. Writes nothing.

    \b
    Examples:  scdgen plan specs/customer.yml --source changes.csv
               scdgen plan specs --fail-on 'close>10%' --fail-on 'delete>0'
    """
    from scdgen.run.plan import parse_limits

    loaded = load_specs(specs)
    limits = parse_limits(fail_on, loaded)
    first, *more = bind_inputs(loaded, source, param)
    if more:
        raise UsageError(
            f"--source {source}: matches {1 + len(more)} files, and what the later ones do depends on the runs before "
            f"them; plan one, such as {first.source}"
        )
    failures = []
    with open_runner(loaded, engine) as runner:
        for spec in loaded:
            values = first.params[spec.target]
            with (
                output.progress(f"planning {spec.target}"),
                open_source(runner.spark, spec, first.source, values) as given,
            ):
                planned = runner.plan_counted(spec, given, values, sample)
            click.echo(output.format_json(as_object(planned)) if as_json else format_plan(planned))
            failures += [breach for limit in limits if (breach := limit.describe_breach(planned)) is not None]
    for failure in failures:
        click.echo(failure, err=True)
    if failures:
        raise click.exceptions.Exit(1)


def format_plan(plan: PlanResult) -> str:
    """Format a plan as text: a line of counts, one about the current keys, and a table of rows."""
    lines = [f"{plan.target}: {', '.join(f'{count} {action}' for action, count in plan.counts.items())}"]
    lines.append(f"  {_describe_closed(plan)}{_describe_late(plan)}")
    if plan.sample:
        columns = list(plan.sample[0].new or plan.sample[0].old or {})
        rows = [[row.action, _describe_marks(row, plan.pattern), *output.compare_cells(row)] for row in plan.sample]
        marked = {place: output.style_changed for place in range(2, 2 + len(columns))}
        lines += ["", output.format_table(["action", "note", *columns], rows, marked)]
        shown = Counter(row.action for row in plan.sample)
        left = [f"{plan.counts[a] - n} more of {a}" for a, n in shown.items() if plan.counts.get(a, 0) > n]
        lines += [f"({', '.join(left)}; --limit N shows more)"] if left else []
    return "\n".join(lines)


def _describe_closed(plan: PlanResult) -> str:
    share = f" ({100 * plan.closed_share:.1f}%)" if plan.closed_share is not None else ""
    does = "closed" if plan.pattern.closing_action else "deleted"
    return f"{plan.closed_keys} of {plan.current_keys} current keys would be {does}{share}"


def _describe_late(plan: PlanResult) -> str:
    what = "versions" if plan.pattern.keeps_history else "rows"
    late = f", {plan.late} of these {what} {'are' if plan.late > 1 else 'is'} late" if plan.late else ""
    return late + (f", {plan.skipped} rows of the source skipped" if plan.skipped else "")


def _describe_marks(row: PlanRow, pattern: Pattern) -> str:
    marks = {"late": row.late, "deletes": row.deletes and row.action != pattern.deleting_action}
    return ", ".join(mark for mark, holds in marks.items() if holds)


def as_object(plan: PlanResult) -> dict[str, Any]:
    """The plan as ``--format json`` prints it."""
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


COMMANDS = (plan,)
