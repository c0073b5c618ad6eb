"""``scdgen run``: merges specs in the order of their dependencies, and skips those that read a table that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli import log, options, output
from scdgen.cli.config import is_typed
from scdgen.cli.options import Input
from scdgen.compile.dates import runs_of
from scdgen.errors import DataError, UsageError, line_and_status, nearest
from scdgen.files.find import is_pattern
from scdgen.model import graph
from scdgen.model.graph import Step
from scdgen.model.load import in_target
from scdgen.model.spec import Spec, choose_feeds
from scdgen.run.delta import new_run_id
from scdgen.run.openlineage import OpenLineage, report_run
from scdgen.url import Url, hide_secrets

if TYPE_CHECKING:
    from scdgen.run.runner import Runner
    from scdgen.run.saved import PlannedRun

Counts = dict[str, Any]
# Parameter -> its option.
_NOT_WITH_PLAN = {
    "target": "--target", "source": "--source", "feed": "--feed", "source_option": "--source-option",
    "param": "--param", "from_file": "--from", "infer": "--infer",
}  # fmt: skip


@click.command()
@options.optional_specs_argument
@options.session_options
@options.input_options
@options.feed_option
@options.csv_options
@options.merge_options
@options.json_option()
@click.option("--openlineage", type=Url, metavar="FILE|URL", help="A file or server for OpenLineage events.")
@click.option("--from", "from_file", metavar="PATH", help="Resume at this file of a --source pattern.")
@click.option("--infer", is_flag=True, help="First add members inferred from facts.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Run a plan saved by `plan --out`, unless anything has changed.",
)
@click.option("--adopt", is_flag=True, help="Take over a table that this spec did not create, if all checks pass.")
def run(
    specs: tuple[str, ...], source: str | None, feed: str | None, source_option: tuple[str, ...],
    param: tuple[str, ...], engine: options.EngineOptions, retries: int | None, retry_for: float, metrics: str | None,
    as_json: bool, openlineage: Url | None, from_file: str | None, infer: bool, plan_file: Path | None, adopt: bool
) -> None:  # fmt: skip
    """Create the table if needed, merge the source, print what was done.

    Several specs run in the order of their dependencies. With * in --source, each match is a run, in the order of
    names; {1} in a --param is what the first * matched.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
               scdgen run specs/extract.yml --source 'data/sub-*.csv' --param 'taken={1}'
               scdgen run specs
               scdgen run --plan plan.json
    """
    plans: dict[str, PlannedRun] = {}
    by_file = plan_file is None and source is not None and is_pattern(source)
    # Refuse wrong inputs before Spark starts, which takes seconds.
    if plan_file is not None:
        if specs:
            raise UsageError(f"{specs[0]}: the plan names its specs; leave this out, or leave --plan out")
        if given := next(filter(is_typed, _NOT_WITH_PLAN), None):
            raise UsageError("goes without --plan, which says what to run; leave it out", option=_NOT_WITH_PLAN[given])
        loaded, plans, inputs, csv = read_plan(plan_file)
    else:
        if not specs:
            raise UsageError("scdgen run: SPEC... is missing; see: scdgen run --help")
        loaded = choose_feeds(options.load_specs(specs), feed)
        inputs = options.bind_inputs(loaded, source, param)
        if from_file is not None:
            inputs = skip_inputs(inputs, from_file, source if by_file else None)
        csv = options.parse_source_options(source_option, [given.source for given in inputs])
        options.check_headers(loaded[0], inputs, csv)
    measured = options.open_metrics(metrics, loaded)
    events = None if openlineage is None else OpenLineage(openlineage)
    if infer and not any(spec.members.inferred for spec in loaded):
        raise UsageError("no spec has members.inferred; add it to a spec, or leave --infer out", option="--infer")
    steps = graph.steps(loaded, infer)
    several, outcomes = by_file or len(steps) > 1, []
    places = {step.spec.target: f"{n} of {len(steps)}: " for n, step in enumerate(steps, 1)} if steps[1:] else {}
    files = [given.source for given in inputs]
    with options.open_runner(loaded, engine, measured, files=files, retries=retries, retry_for=retry_for) as runner:
        # Before the first of several runs: of a plan, all is written or nothing is. A single one looks by itself.
        for spec in loaded if len(plans) > 1 else ():
            runner.require_fresh(spec, plans[spec.target])
        merging = Merging(
            runner, csv, plans, events, infer=infer, adopt=adopt, by_file=by_file, as_json=as_json, several=several,
            places=places,
        )  # fmt: skip
        # Files stop at the first failure, because their order matters; tables go on that do not need a failed one.
        if by_file:
            begun = run_inputs(loaded[0], inputs, merging.merge)
        else:
            begun = run_steps(steps, partial(merging.merge, given=inputs[0]))
        for outcome in begun:
            # The error of a single run is that of the command.
            if outcome.error is not None and not several:
                raise outcome.error
            outcomes.append(outcome)
            merging.show(outcome)
            if outcome.error is not None:
                options.report_error(outcome.error, target=outcome.target)
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        log.note(*([summarize_inputs(outcomes, inputs)] if by_file else summarize(outcomes).split("\n")))
        # The first failure decides the exit status.
        raise click.exceptions.Exit(line_and_status(failures[0])[1])


def read_plan(file: Path) -> tuple[list[Spec], dict[str, PlannedRun], list[Input], dict[str, str]]:
    """Return the specs of a saved plan, its runs by target, their input, and the options of a CSV.

    Raises :class:`DataError` if a spec is gone, and :class:`UsageError` for another file than a plan.
    """
    from scdgen.run.saved import SavedPlan, stale

    runs = SavedPlan.read(file).runs
    first = runs[0]
    if gone := next((run.origin for run in runs if not Path(run.origin).is_file()), None):
        raise stale(gone, "the spec of the plan is gone")
    loaded = in_target(options.load_written(run.origin for run in runs), first.environment or None)
    found, chosen = {spec.target: spec for spec in loaded}, list[Spec]()
    for run in runs:
        if run.target not in found:
            raise stale(run.origin, f"the target of the plan was {run.target}, and this spec has another one")
        if run.feed and run.feed not in found[run.target].whole.sources:
            raise stale(run.origin, f"the feed '{run.feed}' of the plan is gone")
        chosen.append(found[run.target].for_feed(run.feed or None))
    inputs = [Input(first.source, {run.target: dict(run.params) for run in runs})]
    return chosen, {run.target: run for run in runs}, inputs, dict(first.source_options)


@dataclass(frozen=True)
class Outcome:
    """The ``counts`` of a table's run, its ``error``, or the failed tables ``because`` of which it was skipped.

    ``source`` is the file that was merged, if a run merges several.
    """

    target: str
    counts: Counts | None = None
    error: Exception | None = None
    because: tuple[str, ...] = ()
    source: str | None = None

    def as_object(self) -> dict[str, Any]:
        """The outcome as ``run --format json`` prints it for one table or file of several."""
        named = {"source": hide_secrets(self.source)} if self.source is not None else {}
        if self.counts is not None:
            return {**self.counts, **named, "status": "done"}
        if self.error is not None:
            return {"target": self.target, **named, "status": "failed", "error": line_and_status(self.error)[0]}
        return {"target": self.target, "status": "skipped", "because": list(self.because)}


@dataclass(frozen=True)
class Merging:
    """Merges specs as the options of a command say."""

    runner: Runner
    csv: Mapping[str, str]
    """The options of a CSV."""
    plans: Mapping[str, PlannedRun]
    """Target -> its saved plan."""
    events: OpenLineage | None
    infer: bool
    adopt: bool
    by_file: bool
    """Whether each input is a run, so that each can be undone by itself."""
    as_json: bool
    several: bool
    """Whether the command has more runs than one."""
    places: Mapping[str, str]
    """Target -> its place among several, as in ``2 of 5: ``."""

    def show(self, outcome: Outcome) -> None:
        """Print the outcome of a table or a file."""
        if self.as_json:
            click.echo(output.format_json(outcome.as_object() if self.several else outcome.counts))
        elif outcome.counts is not None:
            output.say(output.describe_run(outcome.target, outcome.counts), escape=False)

    def merge(self, spec: Spec, given: Input) -> Counts:
        """Merge an input, each date of snapshots by a run that can be undone; return the counts of the last run."""
        planned, values = self.plans.get(spec.target), given.params[spec.target]
        run_id = new_run_id() if self.by_file else str(self.runner.run_id)
        if not spec.needs_dates(planned.params if planned else values):
            return self._merge(spec, given, values, run_id)
        with options.open_source(self.runner, spec, given.source, values, self.csv) as rows:
            runs = runs_of(spec, values, partial(self.runner.find_dates, spec, rows, values))
        if not runs:
            log.step(f"{spec.target} has seen every date of the source")
            return self._merge(spec, given, values, run_id)
        counts: Counts = {}
        for number, (date, of_date) in enumerate(runs, 1):
            if counts:
                self.show(Outcome(spec.target, counts=counts))
            log.step(f"{number} of {len(runs)}: {spec.target}, {date}")
            counts = {"taken_at": date, **self._merge(spec, given, of_date, new_run_id())}
        return counts

    def _merge(self, spec: Spec, given: Input, values: Mapping[str, object], run_id: str) -> Counts:
        named = {"feed": spec.feed} if spec.feed else {}
        place = self.places.get(spec.target, "")
        named |= {"source": str(given.source)} if self.by_file else {}
        log.event("run begins", run=run_id, target=spec.target, spec=spec.origin, **named)
        with (
            report_run(self.events, spec, run_id, given.source, self.infer) as reported,
            output.progress(" ".join([f"{place}merging", *named.values(), f"into {spec.target}"])),
            options.open_source(self.runner, spec, given.source, values, self.csv) as rows,
        ):
            infers = self.infer and spec.members.inferred is not None
            result = self.runner.run(
                spec, rows, values, self.adopt, infers, count=True, plan=self.plans.get(spec.target), run_id=run_id
            )
            reported.counts = counts = result.as_counts(spec)
        log.event("run done", **counts)
        return counts


def run_steps(steps: Sequence[Step], run: Callable[[Spec], Counts]) -> Iterator[Outcome]:
    """Run the steps in the given order, and yield each outcome as soon as it is known."""
    causes: dict[str, tuple[str, ...]] = {}  # table that failed or was skipped -> the tables that caused it
    for step in steps:
        target = step.spec.target
        because = tuple(dict.fromkeys(cause for need in step.needs for cause in causes.get(need, ())))
        try:
            # Skip a table that reads a failed one: it would merge old rows.
            outcome = Outcome(target, because=because) if because else Outcome(target, counts=run(step.spec))
        except Exception as error:  # go on with the tables that do not depend on it
            outcome = Outcome(target, error=error)
        if outcome.counts is None:
            causes[target] = because or (target,)
        yield outcome


def skip_inputs(inputs: Sequence[Input], first: str, pattern: str | None) -> list[Input]:
    """The inputs from a file on; raises :class:`UsageError` if it is not among those that ``pattern`` matches."""
    if pattern is None:
        what = "goes with a --source with *, whose files it continues; leave it out"
        raise UsageError(what, option="--from", value=first)
    names = [str(given.source) for given in inputs]
    if first not in names:
        raise UsageError(f"--source {pattern} does not match it{nearest(first, names)}", option="--from", value=first)
    return list(inputs[names.index(first) :])


def run_inputs(spec: Spec, inputs: Sequence[Input], run: Callable[[Spec, Input], Counts]) -> Iterator[Outcome]:
    """Run a spec with each input, and yield each outcome at once; the first failure is the last outcome."""
    for number, given in enumerate(inputs, 1):
        log.step(f"{number} of {len(inputs)}: {given.source}")
        try:
            outcome = Outcome(spec.target, counts=run(spec, given), source=given.source)
        except KeyboardInterrupt:
            log.note(f"{number - 1} of {len(inputs)} files done; continue with --from {given.source}")
            raise
        except Exception as error:
            # A later file needs what the earlier ones have merged.
            yield Outcome(spec.target, error=error, source=given.source)
            return
        yield outcome


def summarize_inputs(outcomes: Sequence[Outcome], inputs: Sequence[Input]) -> str:
    """How many files are done, and the one to continue with: the next one, if the last may have been merged before."""
    last, left = outcomes[-1], inputs[len(outcomes) :]
    again = f"fix the cause and continue with --from {last.source}"
    if isinstance(last.error, DataError) and last.error.rule == "taken_at" and left:
        again = f"if {last.source} was merged before, continue with --from {left[0].source}"
    return f"{len(outcomes) - 1} of {len(inputs)} files done; {again}"


def summarize(outcomes: Sequence[Outcome]) -> str:
    """List the tables that are done, that failed, and that were skipped because of these, a line each."""
    done = [outcome.target for outcome in outcomes if outcome.counts is not None]
    failed = [outcome.target for outcome in outcomes if outcome.error is not None]
    left = [f"{outcome.target} (because of {', '.join(outcome.because)})" for outcome in outcomes if outcome.because]
    lines = [f"{len(names)} {what}: {', '.join(names)}" if names else f"0 {what}"
             for names, what in ((done, "done"), (failed, "failed"), (left, "not run"))]  # fmt: skip
    return "\n".join([*lines, "fix the cause and run again; what is done is not done twice"])
