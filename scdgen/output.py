"""What the commands print. Tables are drawn with rich on a terminal, and stay plain text elsewhere."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scdgen.streams import BatchResult


def shown(value: object) -> str:
    """A value as the tables print it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)


def as_json(value: object) -> str:
    """JSON on one line; times and decimals as text."""
    return json.dumps(value, default=shown, ensure_ascii=False)


def _style(value: object) -> str:
    return "dim" if value is None else ""


Styles = Mapping[int, Callable[[object], str]]


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], styles: Styles | None = None) -> str:
    """Rows as aligned text; on a terminal in a frame, cells of a column (by its place) in the style of their value."""
    if not sys.stdout.isatty():
        cells = [list(columns), *([shown(value) for value in row] for row in rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(line.rstrip() for line in lines)
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(header_style="bold")
    for column in columns:
        drawn.add_column(column)
    chosen = [(styles or {}).get(place, _style) for place in range(len(columns))]
    for row in rows:
        drawn.add_row(*(Text(shown(value), style=style(value)) for value, style in zip(row, chosen, strict=True)))
    console = Console()
    with console.capture() as captured:
        console.print(drawn)
    return captured.get().rstrip("\n")


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV with a header; NULL is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([["" if value is None else shown(value) for value in row] for row in rows])
    return out.getvalue().rstrip("\n")


def formatted(kind: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as ``table``, ``csv`` or ``json`` (one object per line)."""
    if kind == "csv":
        return as_csv(columns, rows)
    if kind == "json":
        return "\n".join(as_json(dict(zip(columns, row, strict=True))) for row in rows)
    return table(columns, rows) if rows else "no rows"


def counts_line(target: str, counts: Mapping[str, Any]) -> str:
    """One line on what a run did."""
    refreshed = f"{counts['refreshed']} refreshed, " if "refreshed" in counts else ""
    skipped = f", {counts['skipped']} rows skipped" if counts.get("skipped") else ""
    lost = counts.get("retries", 0)
    again = f", begun again {lost} {'time' if lost == 1 else 'times'} after other writers" if lost else ""
    return (
        f"{target}: {counts['inserted']} inserted, {counts['updated']} updated ({counts['closed']} closed), "
        f"{counts['removed']} removed, {refreshed}{counts['unchanged']} unchanged{skipped}{again} "
        f"in {counts['seconds']:.1f} s"
    )


def batch_line(done: BatchResult) -> str:
    """One line on a micro-batch of a stream."""
    parts = []
    for result in done.results:
        removed = f", {result.deleted} removed" if result.deleted else ""
        refreshed = f", {result.refreshed} refreshed" if result.refreshed else ""
        parts.append(f"{result.target} {result.inserted} inserted, {result.updated} updated{removed}{refreshed}")
    return f"batch {done.batch}: {done.rows} rows; {'; '.join(parts)} in {done.seconds:.1f} s"


@contextmanager
def progress(what: str) -> Iterator[None]:
    """A line on stderr while Spark works; nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
