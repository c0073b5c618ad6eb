"""Formats the output of the commands. Tables are drawn with rich on a terminal, and as plain text elsewhere."""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli import log
from scdgen.escape import escape_control, escape_json
from scdgen.url import hide_secrets

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from scdgen.facts.plan import Counts
    from scdgen.run.results import DiffRow, PlanRow
    from scdgen.run.stream import BatchResult


def format_value(value: object) -> str:
    """Format a value as the tables print it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list):
        return format_json(value)
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


_TIME = re.compile(r"(?<=\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)")
_COLORS = {"new": "green", "opened": "green", "returned": "green", "deleted": "red", "deletes": "red"}
_LEAST_WIDTH = 8  # of a cell that may wrap, if the terminal has room for it
_LONGEST_WORD = 20  # which a cell does not break
# What breaks a line, for one program or another.
_BREAK = r"[\x09-\x0d\x1c-\x1f\x85\u2028\u2029]"


def escape_what_stdout_lacks() -> None:
    r"""Let stdout write characters that its encoding does not have as JSON does: ``\u2014``, in all formats."""
    codecs.register_error("scdgen", _escape_character)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="scdgen")


def _escape_character(error: Any) -> tuple[str, int]:
    return json.dumps(error.object[error.start])[1:-1], error.start + 1


def code(text: str) -> str:
    """Format a text as Markdown code: on one line, in more backticks than it contains.

    >>> code("a +\\n  b"), code("a`b")
    ('`a + b`', '``a`b``')
    """
    line = escape_control(re.sub(rf"(?<!\s)\s*{_BREAK}\s*", " ", text.strip()))
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def format_json(value: object) -> str:
    """Format a value as JSON on one line; times and decimals as text."""
    return escape_json(json.dumps(value, default=format_value, ensure_ascii=False))


class Styled(str):
    """The text of a cell, with the style in which a terminal shows it."""

    style = ""


def styled(text: str, style: str) -> Styled:
    """Give a cell a style of rich."""
    cell = Styled(text)
    cell.style = style
    return cell


def style_word(word: str) -> Styled:
    """Give the word for a change its style, as the page of ``show`` has it."""
    return styled(word, _COLORS.get(word, ""))


def compare_cells(row: PlanRow | DiffRow) -> list[object]:
    """The values of a row; changed ones as ``old -> new``."""
    values, old = row.new or row.old or {}, row.old or {}
    return [
        styled(f"{format_value(old[name])} -> {format_value(value)}", "bold yellow") if name in row.changed else value
        for name, value in values.items()
    ]


def format_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    whole: Collection[int] = (),
    implied: str | None = None,
) -> str:
    """Format rows as aligned text; on a terminal with a frame, and with the styles of :class:`Styled` cells.

    Cells of the columns with the indexes ``whole`` are not wrapped. A terminal leaves out the column ``implied``, which
    follows from others, and the clock of ``whole`` columns if it is midnight in all rows. If it is too narrow, there is
    no frame, and then each row is a paragraph of lines ``column: value``.
    """
    if not sys.stdout.isatty():
        cells = [[escape_control(format_value(value)) for value in row] for row in (columns, *rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(line.rstrip() for line in lines)
    kept = [place for place, name in enumerate(columns) if name != implied]
    drawn = _draw_table(
        [columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        {new for new, old in enumerate(kept) if old in whole},
    )
    console = _open_console()
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip("\n")


def _draw_table(columns: Sequence[str], rows: Sequence[Sequence[object]], whole: Collection[int]) -> Table:
    """Draw a table in a frame, or if the terminal is too narrow for it, each row as lines of a column and its value."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    clocks = {at for row in rows for place in whole for at in _TIME.findall(format_value(row[place]))}
    midnight = " 00:00:00" if clocks == {"00:00:00"} else ""
    header = [escape_control(column) for column in columns]

    def draw_cell(place: int, value: object) -> Text:
        style = value.style if isinstance(value, Styled) else "dim" if value is None else ""
        return Text(escape_control(format_value(value).replace(midnight if place in whole else "", "")), style)

    cells = [[draw_cell(place, value) for place, value in enumerate(row)] for row in rows]
    # Find the width that each column has, and the least that it needs; a cell breaks no word but a very long one.
    texts = [[name, *(row[place].plain for row in cells)] for place, name in enumerate(header)]
    widths = [max(map(cell_len, column)) for column in texts]
    words = [[min(cell_len(word), _LEAST_WIDTH if cell_len(word) > _LONGEST_WORD else _LONGEST_WORD)
              for text in column for word in text.split()] for column in texts]  # fmt: skip
    least = [
        width if place in whole else min(width, max([*words[place], _LEAST_WIDTH]))
        for place, width in enumerate(widths)
    ]
    room = _open_console().width - sum(least)
    if room >= 2 * len(least):  # with padding, and if there is room with rules
        framed = box.HEAVY_HEAD if room >= 3 * len(least) + 1 else None
        drawn = Table(header_style="bold", box=framed, padding=(0, 1) if framed else (0, 2, 0, 0))
        for place, name in enumerate(header):
            drawn.add_column(Text(name), overflow="fold", no_wrap=place in whole, min_width=least[place])
        for row in cells:
            drawn.add_row(*row)
        return drawn
    drawn = Table.grid(padding=(0, 2, 0, 0))
    drawn.add_column(style="bold", overflow="fold")
    drawn.add_column(overflow="fold", min_width=max((widths[place] for place in whole), default=_LEAST_WIDTH))
    for number, row in enumerate(cells):
        if number:
            drawn.add_row()
        for name, cell in zip(header, row, strict=True):
            drawn.add_row(f"{name}:", cell)
    return drawn


def _open_console() -> Console:
    """Open a console with the colors that this terminal supports; without colors if NO_COLOR is set."""
    from rich.console import Console

    return Console(color_system=None) if os.environ.get("NO_COLOR") else Console()


def format_csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format rows as CSV with a header. NULL is an empty field and empty text is ``""``, as Spark reads them."""
    lines = [columns, *rows]
    fields = (["" if value is None else _quote_csv(format_value(value)) for value in row] for row in lines)
    return "\n".join(map(",".join, fields))


def _quote_csv(text: str) -> str:
    """Quote a field if it needs quotes.

    >>> print(_quote_csv('a "b" c'), _quote_csv("a b"), _quote_csv(""))
    "a ""b"" c" a b ""
    """
    if text and not re.search(r'[",\n\r]', text):
        return text
    return '"' + text.replace('"', '""') + '"'


def format_rows(
    kind: str, columns: Sequence[str], rows: Sequence[Sequence[object]], whole: Collection[str] = (),
    implied: str | None = None,
) -> str:  # fmt: skip
    """Format rows as ``csv``, as ``json`` (one object per line), or as the ``table`` of :func:`format_table`."""
    if kind == "csv":
        return format_csv(columns, rows)
    if kind == "json":
        return "\n".join(format_json(dict(zip(columns, row, strict=True))) for row in rows)
    places = {place for place, name in enumerate(columns) if name in whole}
    return format_table(columns, rows, whole=places, implied=implied) if rows else "no rows"


def describe_counts(target: str, counts: Counts) -> str:
    """Describe the counts of a run or a plan: on a terminal in two lines, without zeros, else in one."""
    if not sys.stdout.isatty():
        return escape_control(f"{target}: {counts.describe()}")
    groups = ({word: n for word, n in group.items() if n} for group in (counts.keys, counts.versions))
    done = replace(counts, **dict(zip(("keys", "versions"), groups, strict=True))).describe(",") or "nothing changes"
    return f"{paint(escape_control(target), bold=True)}: {done.replace('; ', f'{chr(10)}  ')}"


def paint(text: str, style: str | None = None, bold: bool = False) -> str:
    """Color a text, unless NO_COLOR is set; click takes the colors out if the output is not a terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, style, bold=bold)


def describe_run(target: str, counts: Mapping[str, Any]) -> str:
    """Describe the result of a run, as :func:`describe_counts` does."""
    from scdgen.facts.plan import Counts

    inferred = f", {counts['inferred']} inferred" if counts.get("inferred") else ""
    skipped = f", {counts['skipped']} rows skipped" if counts.get("skipped") else ""
    for name, number in counts.get("rejected", {}).items():
        skipped += f", {number} rejected by {name}" if number else ""
    lost = counts.get("retries", 0)
    again = f", begun again {lost} {'time' if lost == 1 else 'times'} after other writers" if lost else ""
    done = describe_counts(target, Counts(counts["keys"], counts["versions"]))
    return f"{done}{escape_control(f'{inferred}{skipped}{again}')} in {counts['seconds']:.1f} s"


def describe_batch(done: BatchResult) -> str:
    """Describe the result of a micro-batch in one line."""
    parts = []
    for result in done.results:
        also = ((result.deleted, "removed"), (result.refreshed, "refreshed"))
        counts = f"{result.inserted} inserted, {result.updated} updated" + "".join(f", {n} {w}" for n, w in also if n)
        known = "has merged this batch before (a new --checkpoint merges its rows again)"
        parts.append(f"{result.target} {known if result.known else counts}")
    return f"batch {done.batch}: {done.rows} rows; {'; '.join(parts)} in {done.seconds:.1f} s"


def say(line: str, escape: bool = True) -> None:
    """Print a line on what was done, unless --quiet is given."""
    if not log.chosen["quiet"]:
        click.echo(escape_control(line) if escape else line)


def echo(line: str, err: bool = False) -> None:
    """Print one line, whatever its names and texts hold, on stdout or with ``err`` on stderr."""
    click.echo(escape_control(line), err=err)


def note_cut(limit: int, what: str) -> None:
    """Say on stderr that there are more than ``limit`` of them; ``what`` names one."""
    click.echo(f"… more than {limit} {what}{'s' * (limit != 1)}: narrow it with --key, or give --limit", err=True)


def require_yes(otherwise: str, err: bool) -> None:
    """Ask whether to go on, with ``err`` on stderr; if not, print what did not happen and exit with status 1."""
    if not click.confirm("Go on?", err=err):
        click.echo(otherwise, err=True)
        raise click.exceptions.Exit(1)


def print_hint(what: str) -> None:
    """Print a line on stderr if it is a terminal, and --quiet is not given."""
    if sys.stderr.isatty() and not log.chosen["quiet"]:
        sys.stderr.write(f"{escape_control(what)}\n")


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show a line, the step of a run, and the seconds while Spark works, on a terminal and without --quiet."""
    if not sys.stderr.isatty() or log.chosen["quiet"]:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    # While Spark starts, what is written to stderr is captured, so this line has a stream of its own.
    with (
        os.fdopen(os.dup(sys.stderr.fileno()), "w") as stream,
        Progress(
            SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(),
            console=Console(file=stream), transient=True,
        ) as shown,
    ):  # fmt: skip
        line = hide_secrets(escape_control(what))
        task = shown.add_task(line, total=None)
        log.progress.append(lambda step: shown.update(task, description=f"{line}: {step}"))
        try:
            yield
        finally:
            log.progress.pop()
