"""The commands that need Spark."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli_options import engine_options, input_options, pairs, specs_argument
from scdgen.errors import UsageError, line_and_status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.runner import Runner
    from scdgen.spec import Spec


@contextlib.contextmanager
def runner_on(
    specs: Sequence[Spec], templates: str | None, remote: str | None, warehouse: str, conf: Sequence[str]
) -> Iterator[Runner]:
    """A runner on the embedded session or on a remote one; the embedded one ends with the command."""
    from scdgen import output, session
    from scdgen.runner import Runner
    from scdgen.tables import table_names

    settings = pairs(conf, "--conf")
    with output.progress("starting Spark"):
        spark: SparkSession = (
            session.remote_session(remote, settings) if remote else session.local_session(warehouse, settings)
        )
    try:
        if not remote:
            session.know_catalogs(spark, table_names(specs))
        yield Runner(spark, templates)
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


@click.command()
@specs_argument
@engine_options
@input_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per table.")
@click.option("--adopt", is_flag=True, help="Take over a table that the spec did not make, once all checks pass.")
def run(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], remote: str | None, warehouse: str,
    conf: tuple[str, ...], templates: str | None, as_json: bool, adopt: bool, debug: bool,
) -> None:  # fmt: skip
    """Merge: create the table where there is none, merge the source, print what was done.

    Several specs run in the order in which they read one another's tables.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
               scdgen run specs
    """
    from scdgen import chain, graph, output
    from scdgen.inputs import load_specs, source_rows

    loaded = load_specs(specs)
    params = _given(loaded, source, param)
    steps = graph.steps(loaded)
    several, outcomes = len(steps) > 1, []
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:

        def merge(spec: Spec) -> dict[str, Any]:
            values = params[spec.target]
            with (
                output.progress(f"merging into {spec.target}"),
                source_rows(runner.spark, spec, source, values) as rows,
            ):
                return runner.run_counted(spec, rows, values, adopt)

        for outcome in chain.walk(steps, merge):
            if outcome.error is not None and not several:
                raise outcome.error
            outcomes.append(outcome)
            if as_json:
                click.echo(output.as_json(outcome.as_object() if several else outcome.counts))
            elif outcome.counts is not None:
                click.echo(output.counts_line(outcome.target, outcome.counts))
            if outcome.error is not None:
                _say(outcome.error, debug)
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        click.echo(chain.summary(outcomes), err=True)
        raise click.exceptions.Exit(line_and_status(failures[0])[1])


def _given(loaded: Sequence[Spec], source: str | None, param: Sequence[str]) -> dict[str, dict[str, str]]:
    """Target -> values of its params; raises :class:`UsageError` for what cannot be meant, before Spark starts."""
    from scdgen.bind import bind_each
    from scdgen.files_errors import find_files

    if source is not None and len(loaded) > 1:
        raise UsageError(
            f"--source {source}: takes the place of one spec's source, and {len(loaded)} specs are given; "
            "give one spec, or name the files in the specs"
        )
    if source is not None:
        find_files(source)
    return bind_each(loaded, pairs(param, "--param"))


def _say(error: Exception, debug: bool) -> None:
    """One line on an error that does not end the command."""
    if debug:
        traceback.print_exception(error)
    click.echo(line_and_status(error)[0], err=True)


@click.command()
@specs_argument
@engine_options
@input_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@click.option("--sample", default=5, show_default=True, metavar="N", help="Rows to show per action.")
def plan(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], remote: str | None, warehouse: str,
    conf: tuple[str, ...], templates: str | None, as_json: bool, sample: int, debug: bool,
) -> None:  # fmt: skip
    """Show what a run would do, counts and a sample per action. Writes nothing.

    \b
    Example:  scdgen plan specs/customer.yml --source changes.csv
    """
    from scdgen import output
    from scdgen.inputs import load_specs, source_rows

    loaded = load_specs(specs)
    params = _given(loaded, source, param)
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            values = params[spec.target]
            with (
                output.progress(f"planning {spec.target}"),
                source_rows(runner.spark, spec, source, values) as given,
            ):
                rows = runner.plan(spec, given, values)
            if as_json:
                for row in rows:
                    click.echo(output.as_json(row.asDict(recursive=True)))
                continue
            actions: dict[str, list[Any]] = {}
            for row in rows:
                actions.setdefault(row["action"], []).append(row)
            listed = ", ".join(f"{len(found)} {action}" for action, found in sorted(actions.items()))
            click.echo(f"{spec.target}: {listed or 'nothing to do'}")
            sampled = [tuple(row) for _, found in sorted(actions.items()) for row in found[:sample]]
            if sampled:
                click.echo(output.table(rows[0].__fields__, sampled))


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
    from scdgen import check_report, output
    from scdgen.inputs import load_specs

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


@click.command()
@specs_argument
@engine_options
@click.option("--key", multiple=True, metavar="K=V", help="Only this key; once per key column.")
@click.option("--as-of", metavar="TIME", help="Only the versions valid at a time.")
@click.option("--current", is_flag=True, help="Only the open versions.")
@click.option("--format", "kind", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
@click.option("--limit", default=1000, show_default=True, metavar="N", help="Rows at most; 0 for all.")
def show(
    specs: tuple[str, ...], key: tuple[str, ...], as_of: str | None, current: bool, kind: str, limit: int,
    remote: str | None, warehouse: str, conf: tuple[str, ...], templates: str | None, debug: bool,
) -> None:  # fmt: skip
    """Print the versions of a table in order.

    \b
    Examples:  scdgen show specs/customer.yml --key id=1
               scdgen show specs/customer.yml --as-of 2024-05-01 --format csv
    """
    from scdgen import output
    from scdgen.inputs import load_specs

    loaded, keys = load_specs(specs), pairs(key, "--key")
    with runner_on(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"reading {spec.target}"):
                frame = runner.versions(spec, keys, as_of, current)
                rows = (frame.limit(limit + 1) if limit else frame).collect()
            shown = rows[:limit] if limit else rows
            click.echo(output.formatted(kind, frame.columns, [tuple(row) for row in shown]))
            if len(shown) < len(rows):
                click.echo(f"… more than {limit} rows: narrow it with --key, or give --limit", err=True)


COMMANDS = (run, plan, check, show)
