"""``scdgen run``: merges specs in the order of their dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scdgen import log
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

if TYPE_CHECKING:
    from scdgen.spec.model import Spec


@click.command()
@specs_argument
@engine_options
@input_options
@merge_options
@json_option("table")
@click.option("--adopt", is_flag=True, help="Take over a table that the spec did not make, once all checks pass.")
def run(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], engine: EngineOptions, retries: int,
    metrics: str | None, as_json: bool, adopt: bool, debug: bool,
) -> None:  # fmt: skip
    """Merge: create the table where there is none, merge the source, print what was done.

    Several specs run in the order in which they read one another's tables.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
               scdgen run specs
    """
    from scdgen.cli import output
    from scdgen.run import chain
    from scdgen.spec import graph

    loaded = load_specs(specs)
    params = bind_params(loaded, source, param)
    measured = open_metrics(metrics, loaded)
    steps = graph.steps(loaded)
    several, outcomes = len(steps) > 1, []
    with open_runner(loaded, engine, retries, measured) as runner:

        def merge(spec: Spec) -> dict[str, Any]:
            values = params[spec.target]
            log.event("run begins", run=runner.run_id, target=spec.target, spec=spec.origin)
            with (
                output.progress(f"merging into {spec.target}"),
                open_source(runner.spark, spec, source, values) as rows,
            ):
                counts = runner.run_counted(spec, rows, values, adopt)
            log.event("run done", **counts)
            return counts

        for outcome in chain.run_steps(steps, merge):
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
        log.note(chain.summarize(outcomes))
        raise click.exceptions.Exit(line_and_status(failures[0])[1])


COMMANDS = (run,)
