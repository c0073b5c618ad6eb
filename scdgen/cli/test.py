"""``scdgen test``: plays the cases that users write for their specs, and prints what a test runner would."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen import paths
from scdgen.cli import junit, options, output
from scdgen.cli.junit import Outcome, Result, Suite
from scdgen.errors import UsageError
from scdgen.escape import escape_control

if TYPE_CHECKING:
    from scdgen.cases.suite import File, Played

_GAP = "    "  # between the rows that are missing and those that are too many


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="PATH...", shell_complete=options.complete_path)
@click.option(
    "--engine", type=click.Choice(["duckdb", "spark", "both"]), default="duckdb", show_default=True,
    help="DuckDB is fast and needs no Java.",
)  # fmt: skip
@click.option("-k", "--keyword", "text", metavar="TEXT", help="Only cases whose name or file contains TEXT.")
@junit.junit_option
@options.json_option("table")
@options.common_options
def test(
    files: tuple[str, ...], engine: str, text: str | None, xml: str | None, as_json: bool
) -> None:  # fmt: skip
    """Run the cases of specs, each with rows in and rows out; exit 1 if one fails.

    PATH is a NAME.test.yml file or a folder of them.

    \b
    Examples:  scdgen test specs
               scdgen test specs/customer.test.yml -k late
               scdgen test specs --engine both --junit cases.xml
    """
    from scdgen.cases.suite import duck_worlds, find_case_files, play_file, read_files, spark_worlds

    begun = time.monotonic()
    read = read_files(find_case_files(files), text)
    if not read:
        raise UsageError("no case has this in its name; give another text, or leave it out", option="-k", value=text)
    wrong = [line for file in read for line in file.mistakes]
    read = [file for file in read if file.cases]
    if wrong and not read:
        raise UsageError(wrong)
    for line in wrong:
        output.echo(line, err=True)
    if xml is not None:  # before the cases are played, which may take long
        paths.exists(Path(xml))  # refuses a link
        Path(xml).parent.mkdir(parents=True, exist_ok=True)
    engines = ["duckdb", "spark"] if engine == "both" else [engine]
    reports: list[Report] = []
    # Open each engine once for all files, because Spark takes seconds to start.
    for name in engines:
        with duck_worlds() if name == "duckdb" else spark_worlds(read) as open_world:
            for file in read:
                report = Report(file, name)
                with output.progress(f"playing {file.path} on {name}"):
                    for played in play_file(file, open_world):
                        report.played.append(played)
                reports.append(report)
                for played in report.played if as_json else ():
                    click.echo(output.format_json(_as_json(report, played)))
                if not as_json:
                    click.echo(_format_line(report, len(engines) > 1))
    if not as_json:
        click.echo("\n".join(_format_end(reports, len(engines) > 1, time.monotonic() - begun)))
    if xml is not None:
        paths.write_text(Path(xml), junit.render(map(_as_suite, reports)))
    if wrong:
        raise click.exceptions.Exit(UsageError.exit_status)
    if any(report.failed for report in reports):
        raise click.exceptions.Exit(1)


@dataclass
class Report:
    """The cases of a file as an engine played them; ``started`` is in UTC."""

    file: File
    engine: str
    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.timezone.utc))
    played: list[Played] = field(default_factory=list)

    @property
    def failed(self) -> list[Played]:
        """The cases that fail."""
        return [played for played in self.played if played.message]

    @property
    def seconds(self) -> float:
        """How long the cases took."""
        return sum(played.seconds for played in self.played)


def _format_line(report: Report, names_engine: bool) -> str:
    """A line as pytest prints it: a dot for a case that passes, F for one that fails."""
    marks = "".join("F" if played.message else "." for played in report.played)
    style = "red" if report.failed else "green"
    engine = f" [{report.engine}]" if names_engine else ""
    return f"{escape_control(report.file.path.as_posix())}{engine} {output.paint(marks, style)}"


def _format_end(reports: Sequence[Report], names_engine: bool, seconds: float) -> Iterable[str]:
    """The failures, then a line with the counts."""
    for report in reports:
        for played in report.failed:
            engine = f" [{report.engine}]" if names_engine else ""
            yield ""
            name = escape_control(f"{report.file.path.as_posix()}: {played.case.name}")
            yield output.paint(f"FAILED {name}{engine}", "red", bold=True)
            if played.case.why:
                yield f"  why: {escape_control(' '.join(played.case.why.split()))}"
            yield f"  {escape_control(played.message)}"
            if played.missing or played.extra:
                yield from (f"  {line}".rstrip() for line in _format_rows(played.missing, played.extra))
    failed = sum(len(report.failed) for report in reports)
    passed = sum(len(report.played) for report in reports) - failed
    counts = [*([f"{failed} failed"] if failed else []), *([f"{passed} passed"] if passed else [])]
    yield ""
    yield output.paint(f"{', '.join(counts)} in {seconds:.1f} s", "red" if failed else "green")


def _format_rows(missing: str, extra: str) -> list[str]:
    """The rows that are missing, and those that are too many, side by side; below each other if they are too wide."""
    from rich.cells import cell_len

    left = ["- missing:", *(escape_control(line) for line in missing.splitlines())]
    right = ["+ unexpected:", *(escape_control(line) for line in extra.splitlines())]
    # Measure in cells of the terminal: some characters take two.
    width = max(map(cell_len, left))
    if 2 + width + len(_GAP) + max(map(cell_len, right)) > shutil.get_terminal_size((120, 0)).columns:
        return [*_paint(left, "green"), *_paint(right, "red")]
    count = max(len(left), len(right))
    left += [""] * (count - len(left))
    right += [""] * (count - len(right))
    painted = zip(left, _paint(left, "green"), right, _paint(right, "red"), strict=True)
    return [
        f"{shown}{' ' * (width - cell_len(line))}{_GAP}{other}" if some else shown
        for line, shown, some, other in painted
    ]


def _paint(lines: list[str], style: str) -> list[str]:
    """Colour the rows, below a title and a line of names."""
    return [*lines[:2], *(output.paint(line, style) if line else "" for line in lines[2:])]


def _as_json(report: Report, played: Played) -> dict[str, object]:
    found: dict[str, object] = {
        "file": report.file.path.as_posix(), "case": played.case.name, "engine": report.engine,
        "result": "failed" if played.message else "passed", "seconds": round(played.seconds, 3),
    }  # fmt: skip
    if played.message:
        found |= {"message": played.message, "missing": _as_rows(played.missing), "too_many": _as_rows(played.extra)}
    return found


def _as_rows(text: str) -> list[dict[str, str | None]]:
    """Return the rows of a table of a case file, each as column -> text."""
    from scdgen.cases.block import parse_block

    block = parse_block(text) if text else None
    return [dict(zip(block.columns, row, strict=True)) for row in block.rows] if block else []


def _as_suite(report: Report) -> Suite:
    name = f"{report.file.path.as_posix()} on {report.engine}"
    return Suite(name, report.started, report.seconds, tuple(map(_as_result, report.played)))


def _as_result(played: Played) -> Result:
    outcome = None
    if played.message:
        rows = f"missing:\n{played.missing}\nunexpected:\n{played.extra}"
        shown = [rows] if played.missing or played.extra else []
        outcome = Outcome("failure", "case", played.message, "\n".join([played.message, *shown]))
    return Result(played.case.name, played.seconds, outcome)
