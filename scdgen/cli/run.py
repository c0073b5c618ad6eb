"""``scdgen run``: merges specs in the order of their dependencies, and skips those that read a table that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from scdgen import log
from scdgen.cli import output
from scdgen.cli.options import (
    EngineOptions,
    bind_params,
    engine_options,
    input_options,
    json_option,
    load_specs,
    merge_options,
    open_metrics,
    open_runner,
    open_source,
    report_error,
    specs_argument,
)
from scdgen.errors import line_and_status
from scdgen.spec import graph
from scdgen.spec.graph import Step
from scdgen.spec.model import Spec

Counts = dict[str, Any]


@click.command()
@specs_argument
@engine_options
@input_options
@merge_options
@json_option("table")
@click.option("--adopt", is_flag=True, help="Take over a table that was not created from the spec, if all checks pass.")
def run(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], engine: EngineOptions, retries: int,
    metrics: str | None, as_json: bool, adopt: bool, debug: bool,
) -> None:  # fmt: skip
    """Merge: create the table if it does not exist, merge the source, print what was done.

    Several specs run in the order of their dependencies.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
               scdgen run specs
    """
    loaded = load_specs(specs)
    params = bind_params(loaded, source, param)
    measured = open_metrics(metrics, loaded)
    steps = graph.steps(loaded)
    several, outcomes = len(steps) > 1, []
    with open_runner(loaded, engine, retries, measured) as runner:

        def merge(spec: Spec) -> Counts:
            values = params[spec.target]
            log.event("run begins", run=runner.run_id, target=spec.target, spec=spec.origin)
            with (
                output.progress(f"merging into {spec.target}"),
                open_source(runner.spark, spec, source, values) as rows,
            ):
                counts = runner.run_counted(spec, rows, values, adopt)
            log.event("run done", **counts)
            return counts

        for outcome in run_steps(steps, merge):
            if outcome.error is not None and not several:
                raise outcome.error
            outcomes.append(outcome)
            if as_json:
                click.echo(output.format_json(outcome.as_object() if several else outcome.counts))
            elif outcome.counts is not None:
                click.echo(output.describe_run(outcome.target, outcome.counts))
            if outcome.error is not None:
                report_error(outcome.error, debug, target=outcome.target)
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        log.note(summarize(outcomes))
        raise click.exceptions.Exit(line_and_status(failures[0])[1])


@dataclass(frozen=True)
class Outcome:
    """The ``counts`` of a table's run, its ``error``, or the failed tables ``because`` of which it was skipped."""

    target: str
    counts: Counts | None = None
    error: Exception | None = None
    because: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """The outcome as ``run --json`` prints it for one table of several."""
        if self.counts is not None:
            return {**self.counts, "status": "done"}
        if self.error is not None:
            return {"target": self.target, "status": "failed", "error": line_and_status(self.error)[0]}
        return {"target": self.target, "status": "skipped", "because": list(self.because)}


def run_steps(steps: Sequence[Step], run: Callable[[Spec], Counts]) -> Iterator[Outcome]:
    """Run the steps in the given order, and yield each outcome as soon as it is known."""
    causes: dict[str, tuple[str, ...]] = {}  # table that failed or was skipped -> the tables that caused it
    for step in steps:
        target = step.spec.target
        because = tuple(dict.fromkeys(cause for need in step.needs for cause in causes.get(need, ())))
        if because:
            causes[target] = because
            yield Outcome(target, because=because)
            continue
        try:
            outcome = Outcome(target, counts=run(step.spec))
        except Exception as error:  # go on with the tables that do not depend on it
            causes[target] = (target,)
            outcome = Outcome(target, error=error)
        yield outcome


def summarize(outcomes: Sequence[Outcome]) -> str:
    """List the tables that are done, that failed, and that were skipped because of these, a line each."""
    done = [outcome.target for outcome in outcomes if outcome.counts is not None]
    failed = [outcome.target for outcome in outcomes if outcome.error is not None]
    left = [f"{outcome.target} (because of {', '.join(outcome.because)})" for outcome in outcomes if outcome.because]
    lines = [f"{len(names)} {what}: {', '.join(names)}" if names else f"0 {what}"
             for names, what in ((done, "done"), (failed, "failed"), (left, "not run"))]  # fmt: skip
    return "\n".join([*lines, "fix the cause and run again; what is done is not done twice"])


COMMANDS = (run,)
