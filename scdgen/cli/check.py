"""``scdgen check``: runs the checks, and prints a table with hints, JSON, or JUnit XML for CI."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen import paths
from scdgen.cli import junit, options, output
from scdgen.cli.junit import Outcome, Result, Suite
from scdgen.errors import hides_values, line_and_status

if TYPE_CHECKING:
    from scdgen.model.spec import Spec
    from scdgen.run.results import CheckResult
    from scdgen.run.runner import Runner


@click.command()
@options.specs_argument
@options.session_options
@options.json_option("table")
@junit.junit_option
@options.limit_option(5, "Rows to show per failed check.")
@options.values_option
def check(specs: tuple[str, ...], engine: options.EngineOptions, as_json: bool, xml: str | None, limit: int) -> None:
    """Check the integrity of the tables; exit 1 if a check fails.

    \b
    Examples:  scdgen check specs
               scdgen check specs/customer.yml --limit 20 --junit checks.xml
    """
    loaded, reports = options.load_specs(specs), []
    # Create the folder now, so that a wrong path fails before the checks run.
    if xml is not None:
        Path(xml).parent.mkdir(parents=True, exist_ok=True)
    with options.open_runner(loaded, engine, needs_tables=True) as runner:
        for spec in loaded:
            with output.progress(f"checking {spec.target}"):
                report = build_report(runner, spec, 0 if hides_values() else limit)
            reports.append(report)
            if report.error is not None:
                options.report_error(report.error)
            for result in report.results if as_json else ():
                shown = {"target": spec.target, "name": result.name, "failures": result.failures}
                click.echo(output.format_json({**shown, "sample": result.sample}))
        # Before the session ends, and says how long it took.
        if not as_json and (text := format_reports(reports)):
            click.echo(text)
            right = [not result.failures for report in reports for result in report.results]
            output.print_hint(f"{sum(right)} of {len(right)} checks ok")
    if xml is not None:
        paths.write_text(Path(xml), render_junit(reports))
    if status := exit_status(reports):
        raise click.exceptions.Exit(status)


@dataclass(frozen=True)
class Report:
    """The results of the checks of a table, their start (UTC) and duration, and the error if they could not run."""

    target: str
    started: dt.datetime
    seconds: float
    results: tuple[CheckResult, ...] = ()
    error: Exception | None = None

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that fail."""
        return tuple(result for result in self.results if result.failures)


def build_report(runner: Runner, spec: Spec, limit: int) -> Report:
    """Run the checks of a table; an error becomes part of the report, so that the other tables are still checked."""
    started, begin = dt.datetime.now(dt.timezone.utc), time.monotonic()
    results: tuple[CheckResult, ...] = ()
    error: Exception | None = None
    try:
        results = tuple(runner.check(spec, limit))
    except Exception as raised:
        error = raised
    return Report(spec.target, started, time.monotonic() - begin, results, error)


def exit_status(reports: Sequence[Report]) -> int:
    """0 if every check passes, 1 if one fails, or the highest exit status of an error."""
    errors = (line_and_status(report.error)[1] for report in reports if report.error is not None)
    return max([*errors, *(1 for report in reports if report.failed)], default=0)


def format_reports(reports: Sequence[Report]) -> str:
    """Format a line per check and sampled row, then a hint per built-in check that fails; '' without checks."""
    rows = [row for report in reports for result in report.results for row in _format_rows(report.target, result)]
    if not rows:
        return ""
    width = 4 if any(row[3] for row in rows) else 3
    drawn = output.format_table(("target", "check", "result", "sample")[:width], [row[:width] for row in rows])
    found = {result.name: result.hint for report in reports for result in report.failed if result.hint}
    hints = [f"{name}: {hint}" for name, hint in found.items()]
    return "\n".join([drawn, *(["", *hints] if hints else [])])


def _format_rows(target: str, result: CheckResult) -> list[tuple[str, str, str, str]]:
    sample = [output.format_json(row) for row in result.sample]
    found = output.styled(_describe_result(result), "bold red" if result.failures else "green")
    first = (target, result.name, found, sample[0] if sample else "")
    return [first, *(("", "", "", row) for row in sample[1:])]


def _describe_result(result: CheckResult) -> str:
    """The number of failures: rows, or keys for a check of keys.

    >>> from scdgen.run.results import CheckResult
    >>> _describe_result(CheckResult("no_overlap", 2, []))
    '2 failures'
    """
    if not result.failures:
        return "ok"
    return f"{result.failures} failure{'s' if result.failures > 1 else ''}"


def render_junit(reports: Sequence[Report]) -> str:
    """Render JUnit XML: a testsuite per table, a testcase per check."""
    return junit.render(Suite(report.target, report.started, report.seconds, _list_tests(report)) for report in reports)


def _list_tests(report: Report) -> tuple[Result, ...]:
    # The checks of a table run together, so only the testsuite has a time.
    tests = [Result(result.name, 0, _describe_failure(result)) for result in report.results]
    if report.error is not None:
        raised = Outcome("error", type(report.error).__name__, line_and_status(report.error)[0])
        tests.append(Result("can_be_checked", 0, raised))
    return tuple(tests)


def _describe_failure(result: CheckResult) -> Outcome | None:
    if not result.failures:
        return None
    sample = [output.format_json(row) for row in result.sample]
    message = f"{_describe_result(result)}{f', such as {sample[0]}' if sample else ''}"
    return Outcome("failure", "check", message, "\n".join([*sample, *([result.hint] if result.hint else [])]))
