"""``scdgen plan``: counts what a run would do, and shows rows with old and new values side by side."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli import options, output
from scdgen.cli.show import flag_of, key_and_times
from scdgen.errors import UsageError, hides_values
from scdgen.facts.plan import WITHDRAWN, describe_deleted, describe_newer
from scdgen.model import graph
from scdgen.model.spec import Spec, choose_feeds

if TYPE_CHECKING:
    from scdgen.patterns.pattern import Pattern
    from scdgen.run.results import PlanResult, PlanRow


@click.command()
@options.specs_argument
@options.session_options
@options.input_options
@options.feed_option
@options.csv_options
@options.json_option()
@options.limit_option(5, "Rows to show per kind of change.")
@options.values_option
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CONDITION",
    help="Exit 1 if this holds, such as 'deleted>10%' or 'folded>0'; repeatable.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Save the plan for `run --plan`."
)
def plan(
    specs: tuple[str, ...], source: str | None, feed: str | None, source_option: tuple[str, ...],
    param: tuple[str, ...], engine: options.EngineOptions, as_json: bool, limit: int, fail_on: tuple[str, ...],
    out: Path | None
) -> None:  # fmt: skip
    """Show what a run would do: counts and sample rows, old and new. Writes no table.

    \b
    Examples:  scdgen plan specs/customer.yml --source changes.csv
               scdgen plan specs --fail-on 'deleted>10%' --fail-on 'folded>0'
               scdgen plan specs/customer.yml --out plan.json
    """
    from scdgen.run.plan import parse_limits
    from scdgen.run.saved import PlannedRun, SavedPlan, make_planned

    loaded = choose_feeds(options.load_specs(specs), feed)
    # Refuse wrong options before Spark starts, which takes seconds.
    conditions = parse_limits(fail_on, loaded)
    first, *more = options.bind_inputs(loaded, source, param)
    if more:
        what = f"matches {1 + len(more)} files, and what the later ones do depends on the runs before them"
        raise UsageError(what, fix=f"plan one, such as {first.source}", option="--source", value=source)
    csv = options.parse_source_options(source_option, [first.source])
    unused = options.check_headers(loaded[0], [first], csv)
    if out is not None:
        loaded = order_alone(loaded)
    failures: list[str] = []
    saved: list[PlannedRun] = []
    with options.open_runner(loaded, engine, files=[first.source]) as runner:
        for number, spec in enumerate(loaded, 1):
            place = f"{number} of {len(loaded)}: " if loaded[1:] else ""
            values = first.params[spec.target]
            # Before the plan, so that the run finds what changes while it counts.
            state = runner.read_state(spec, first.source) if out is not None else None
            with (
                output.progress(f"{place}planning {spec.target}"),
                options.open_source(runner, spec, first.source, values, csv) as given,
            ):
                shown = 0 if hides_values() else limit
                planned = runner.plan(spec, given, values, sample=shown, rows=False)
            click.echo(output.format_json(as_object(planned)) if as_json else format_plan(planned, unused, spec))
            failures += [breach for one in conditions if (breach := one.describe_breach(planned)) is not None]
            if state is not None:
                saved.append(make_planned(spec, state, planned, first.source, csv))
    if out is not None:
        SavedPlan(runs=tuple(saved)).write(out)
        output.print_hint(f"saved {out}; run it by: scdgen run --plan {out}")
    # Fail at the end, so that all plans are shown.
    for failure in failures:
        output.echo(failure, err=True)
    if failures:
        raise click.exceptions.Exit(1)


def order_alone(specs: Sequence[Spec]) -> list[Spec]:
    """Order the specs of a saved plan as a run does. Raises :class:`UsageError` if one reads the table of another."""
    steps = graph.steps(specs)
    for step in steps:
        if step.needs:
            what = f"{step.spec.target} reads {step.needs[0]}, which its own run changes before"
            raise UsageError(f"{what}; plan and run {step.needs[0]} first", option="--out")
    return [step.spec for step in steps]


def format_plan(plan: PlanResult, unused: Sequence[str] = (), spec: Spec | None = None) -> str:
    """Format a plan as text: a line of counts, one about deleted keys and late rows, and a table of rows.

    ``unused`` are columns of the source that the spec does not read. With the spec, a terminal wraps no key or time.
    """
    lines = [output.describe_counts(plan.target, plan.counts)]
    more = ", ".join(_describe_more(plan))
    lines += [f"  {more}"] if more else []
    lines += [f"  columns not used: {', '.join(unused)}"] if unused else []
    if plan.dates:
        more = f", the first of {len(plan.dates)} dates: the others depend on it" if plan.dates[1:] else ""
        lines.append(f"  the snapshot of {plan.dates[0]}{more}")
    lines += [f"  {describe_newer(plan.newer_snapshot)}"] if plan.newer_snapshot else []
    lines += [
        f"  column {name} is new: stored versions have NULL in it, so each key with a value changes"
        for name in plan.added
    ]
    if plan.sample:
        columns = list(plan.sample[0].new or plan.sample[0].old or {})
        rows = [
            [output.style_word(row.action), _describe_marks(row, plan.pattern), *output.compare_cells(row)]
            for row in plan.sample
        ]
        whole = {place for place, name in enumerate(columns, 2) if spec and name in key_and_times(spec)}
        implied = flag_of(spec) if spec else None
        lines += ["", output.format_table(["change", "note", *columns], rows, whole, implied)]
        shown = Counter(row.action for row in plan.sample)
        total = plan.counts.versions or plan.counts.keys
        left = [f"{total[a] - n} more of {a}" for a, n in shown.items() if total.get(a, 0) > n]
        lines += [f"({', '.join(left)}; --limit N shows more)"] if left else []
    return "\n".join(lines)


def _describe_more(plan: PlanResult) -> Iterator[str]:
    # A terminal shows no zeros.
    if plan.counts.keys.get("deleted") or ("deleted" in plan.counts.keys and not sys.stdout.isatty()):
        yield describe_deleted(plan.counts.keys["deleted"], plan.current_keys, plan.limit)
    counts = [
        (plan.late, "late version" if plan.pattern.keeps_history else "late row", ""),
        (plan.skipped, "row", " of the source skipped"),
        *((number, "row", f" rejected by {name}") for name, number in plan.rejected.items()),
    ]
    yield from (f"{number} {what}{'s' * (number != 1)}{how}" for number, what, how in counts if number)


def _describe_marks(row: PlanRow, pattern: Pattern) -> output.Styled:
    deletes = row.deletes and row.action != pattern.deleting_action
    marks = {"late": row.late, "deletes": deletes, WITHDRAWN: row.withdrawn}
    return output.style_word(", ".join(mark for mark, holds in marks.items() if holds))


def as_object(plan: PlanResult) -> dict[str, Any]:
    """The plan as ``--format json`` prints it."""
    return {
        "target": plan.target,
        "keys": plan.counts.keys,
        "versions": plan.counts.versions,
        "late": plan.late,
        "current_keys": plan.current_keys,
        "deleted_share": plan.share(plan.counts.keys.get("deleted", 0)),
        "max_deleted": plan.limit,
        "skipped": plan.skipped,
        **({"rejected": dict(plan.rejected)} if plan.rejected else {}),
        **({"dates": list(plan.dates)} if plan.dates else {}),
        **({"newer_snapshot": plan.newer_snapshot} if plan.newer_snapshot else {}),
        "sample": [
            {
                "change": row.action, "late": row.late, "deletes": row.deletes, "key": row.key,
                "old": row.old, "new": row.new, "changed": list(row.changed),
                **({WITHDRAWN: row.withdrawn} if WITHDRAWN in plan.counts.versions else {}),
            }
            for row in plan.sample
        ],
    }  # fmt: skip
