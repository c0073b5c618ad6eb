"""The commands that need Spark."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scdgen import log
from scdgen.cli.options import engine_options, input_options, merge_options, pairs, specs_argument
from scdgen.errors import UsageError, line_and_status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.run.metrics import Metrics
    from scdgen.run.runner import Runner
    from scdgen.spec.model import Spec


@contextlib.contextmanager
def runner_on(
    specs: Sequence[Spec],
    templates: str | None,
    remote: str | None,
    warehouse: str,
    conf: Sequence[str],
    retries: int = 5,
    metrics: Metrics | None = None,
) -> Iterator[Runner]:
    """A runner on the embedded session or on a remote one; the embedded one ends with the command."""
    from scdgen.cli import output
    from scdgen.engine import session
    from scdgen.run.delta import new_run_id
    from scdgen.run.runner import Runner
    from scdgen.spec.tables import table_names

    settings = pairs(conf, "--conf")
    if not remote and not Path(warehouse).exists():  # perhaps the wrong folder
        output.hint(f"there is no {Path(warehouse).absolute()} yet; --warehouse names the folder of earlier runs")
    with output.progress("starting Spark"):
        spark: SparkSession = (
            session.remote_session(remote, settings) if remote else session.local_session(warehouse, settings)
        )
    try:
        if not remote:
            session.know_catalogs(spark, [*table_names(specs), *([metrics.parts] if metrics else [])])
        if metrics is not None:
            metrics.prepare(spark)
        yield Runner(spark, templates, retries, new_run_id(), metrics)
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


@click.command()
@specs_argument
@engine_options
@input_options
@merge_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per table.")
@click.option("--adopt", is_flag=True, help="Take over a table that the spec did not make, once all checks pass.")
def run(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], remote: str | None, warehouse: str,
    conf: tuple[str, ...], templates: str | None, retries: int, metrics: str | None, as_json: bool, adopt: bool,
    debug: bool,
) -> None:  # fmt: skip
    """Merge: create the table where there is none, merge the source, print what was done.

    Several specs run in the order in which they read one another's tables.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
               scdgen run specs
    """
    from scdgen.cli import output
    from scdgen.cli.inputs import load_specs, source_rows
    from scdgen.run import chain
    from scdgen.spec import graph

    loaded = load_specs(specs)
    params = _given(loaded, source, param)
    measured = metrics_of(metrics, loaded)
    steps = graph.steps(loaded)
    several, outcomes = len(steps) > 1, []
    with runner_on(loaded, templates, remote, warehouse, conf, retries, measured) as runner:

        def merge(spec: Spec) -> dict[str, Any]:
            values = params[spec.target]
            log.event("run begins", run=runner.run_id, target=spec.target, spec=spec.origin)
            with (
                output.progress(f"merging into {spec.target}"),
                source_rows(runner.spark, spec, source, values) as rows,
            ):
                counts = runner.run_counted(spec, rows, values, adopt)
            log.event("run done", **counts)
            return counts

        for outcome in chain.walk(steps, merge):
            if outcome.error is not None and not several:
                raise outcome.error
            outcomes.append(outcome)
            if as_json:
                click.echo(output.as_json(outcome.as_object() if several else outcome.counts))
            elif outcome.counts is not None:
                click.echo(output.counts_line(outcome.target, outcome.counts))
            if outcome.error is not None:
                _say(outcome.error, debug, target=outcome.target)
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        log.note(chain.summary(outcomes))
        raise click.exceptions.Exit(line_and_status(failures[0])[1])


def _given(loaded: Sequence[Spec], source: str | None, param: Sequence[str]) -> dict[str, dict[str, str]]:
    """Target -> values of its params; raises :class:`UsageError` for what cannot be meant, before Spark starts."""
    from scdgen.files.errors import find_files
    from scdgen.patterns.bind import bind_each

    if source is not None and len(loaded) > 1:
        raise UsageError(
            f"--source {source}: takes the place of one spec's source, and {len(loaded)} specs are given; "
            "give one spec, or name the files in the specs"
        )
    if source is not None:
        find_files(source)
    return bind_each(loaded, pairs(param, "--param"))


def metrics_of(table: str | None, loaded: Sequence[Spec]) -> Metrics | None:
    """The table of --metrics; raises :class:`UsageError` for one that cannot be meant, before Spark starts."""
    from scdgen.run.metrics import Metrics

    if table is None:
        return None
    metrics = Metrics(table)
    metrics.apart_from(loaded)
    return metrics


def _say(error: Exception, debug: bool, **fields: str) -> None:
    """One line on an error that does not end the command."""
    if debug:
        traceback.print_exception(error)
    log.error(line_and_status(error)[0], None, **fields)


@click.command()
@specs_argument
@engine_options
@input_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per table.")
@click.option(
    "--sample", type=click.IntRange(min=0), default=5, show_default=True, metavar="N", help="Rows to show per action."
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CONDITION",
    help="Exit 1 where the plan does this, such as 'close>10%' (of the current keys) or 'delete>0'; may be repeated.",
)
def plan(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], remote: str | None, warehouse: str,
    conf: tuple[str, ...], templates: str | None, as_json: bool, sample: int, fail_on: tuple[str, ...], debug: bool,
) -> None:  # fmt: skip
    """Show what a run would do: counts, and per action some rows, old and new side by side. Writes nothing.

    \b
    Examples:  scdgen plan specs/customer.yml --source changes.csv
               scdgen plan specs --fail-on 'close>10%' --fail-on 'delete>0'
    """
    from scdgen.cli import output
    from scdgen.cli import plan as plan_output
    from scdgen.cli.inputs import load_specs, source_rows
    from scdgen.run import plan_limits

    loaded = load_specs(specs)
    limits = plan_limits.read_limits(fail_on, loaded)
    params = _given(loaded, source, param)
    failures = []
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            values = params[spec.target]
            with (
                output.progress(f"planning {spec.target}"),
                source_rows(runner.spark, spec, source, values) as given,
            ):
                planned = runner.plan_counted(spec, given, values, sample)
            click.echo(output.as_json(plan_output.as_object(planned)) if as_json else plan_output.text(planned))
            failures += [said for limit in limits if (said := limit.broken(planned)) is not None]
    for failure in failures:
        click.echo(failure, err=True)
    if failures:
        raise click.exceptions.Exit(1)


@click.command()
@specs_argument
@engine_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per check.")
@click.option("--junit", type=click.Path(dir_okay=False), metavar="FILE", help="Write JUnit XML for CI to FILE too.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Rows to show of each check that fails.",
)
def check(
    specs: tuple[str, ...], remote: str | None, warehouse: str, conf: tuple[str, ...], templates: str | None,
    as_json: bool, junit: str | None, limit: int, debug: bool,
) -> None:  # fmt: skip
    """Check the integrity of the tables; exit 1 where a check fails.

    A table that is not there, or a check that cannot be worked out, is an error on stderr (exit 1; 3 where the
    engine failed); the tables of the other specs are still checked.

    \b
    Examples:  scdgen check specs
               scdgen check specs/customer.yml --limit 20 --junit checks.xml
    """
    from scdgen.cli import check as check_report
    from scdgen.cli import output
    from scdgen.cli.inputs import load_specs

    loaded, reports = load_specs(specs), []
    if junit is not None:
        Path(junit).parent.mkdir(parents=True, exist_ok=True)
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"checking {spec.target}"):
                report = check_report.made(runner, spec, limit)
            reports.append(report)
            if report.error is not None:
                _say(report.error, debug)
            for result in report.results if as_json else ():
                click.echo(output.as_json({"target": spec.target, **vars(result)}))
    if not as_json and (text := check_report.text(reports)):
        click.echo(text)
    if junit is not None:
        Path(junit).write_text(check_report.junit(reports), encoding="utf-8")
    if status := check_report.exit_status(reports):
        raise click.exceptions.Exit(status)


COMMANDS = (run, plan, check)
