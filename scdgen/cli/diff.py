"""``scdgen diff``: shows what changed between two times, or by a run, as a table, CSV or JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from scdgen.cli import options, output
from scdgen.cli.show import flag_of, key_and_times, parse_keys
from scdgen.escape import escape_control

if TYPE_CHECKING:
    from scdgen.model.spec import Spec
    from scdgen.run.results import DiffResult


@click.command()
@options.specs_argument
@options.session_options
@click.option("--from", "from_time", metavar="TIME", help="The first time.")
@click.option("--to", "to_time", metavar="TIME", help="The second time.  [default: the open versions]")
@click.option("--run", "run_id", metavar="ID", help="Show what this run changed; `scdgen history` lists runs.")
@click.option("--known-from", metavar="TIME", help="Compare what was recorded at this time.")
@click.option("--known-to", metavar="TIME", help="The second such time.  [default: now]")
@click.option("--key", multiple=True, metavar="K=V", help="Only this key; once per key column.")
@click.option("--format", "kind", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
              help="json: one object, with counts.")  # fmt: skip
@options.limit_option(1000, "Maximum changes to list; 0 for all.")
def diff(
    specs: tuple[str, ...], from_time: str | None, to_time: str | None, run_id: str | None,
    known_from: str | None, known_to: str | None, key: tuple[str, ...],
    kind: str, limit: int, engine: options.EngineOptions
) -> None:  # fmt: skip
    """Show what changed between two times, by a run, or in what was recorded.

    \b
    Examples:  scdgen diff specs/customer.yml --from 2024-01-31 --to 2024-02-29
               scdgen diff specs/customer.yml --run 20240501T060000-3fa9c1 --format json
               scdgen diff specs/customer.yml --known-from 2024-03-31
    """
    from scdgen.run.diff import DiffFilter, read_diff

    spec = options.load_one(specs, "diff")
    wanted = DiffFilter(from_time, to_time, run_id, known_from, known_to, parse_keys(key))
    wanted.query(spec)  # refuses invalid options before Spark starts
    with options.open_tables([spec], engine) as read:
        found = read(spec, partial(read_diff, spec=spec, wanted=wanted, limit=limit))
    click.echo(format_diff(found, spec, kind))
    if found.is_cut:
        output.note_cut(limit, "change")


def _describe_sides(found: DiffResult) -> str:
    if found.versions is not None:
        return f"run {found.run_id}, version {found.versions[0]} to {found.versions[1]}"
    if found.known_from is not None:
        return f"known at {found.known_from} and {'now' if found.known_to is None else f'at {found.known_to}'}"
    return f"since {found.from_time}" if found.to_time is None else f"{found.from_time} to {found.to_time}"


def format_diff(found: DiffResult, spec: Spec, kind: str) -> str:
    """Format the changes as ``table``, ``csv`` or ``json``."""
    if kind == "json":
        return output.format_json(as_object(found))
    if kind == "csv":
        return _format_csv(found)
    counts = ", ".join(f"{count} {word}" for word, count in found.counts.items())
    title = escape_control(f"{found.target}, {_describe_sides(found)}: {counts}")
    return "\n".join([title, *(["", _format_table(found, spec)] if found.rows else [])])


def _format_table(found: DiffResult, spec: Spec) -> str:
    columns = ["change", *found.columns, *([] if found.by_version else ["since"])]
    rows = [
        [output.style_word(row.change), *output.compare_cells(row), *([] if found.by_version else [row.since])]
        for row in found.rows
    ]
    values = [place for place, name in enumerate(found.columns, 1) if name not in key_and_times(spec)]
    return output.format_table(columns, rows, {*range(len(columns))} - {*values}, flag_of(spec))


def _format_csv(found: DiffResult) -> str:
    values = [name for name in found.columns if name not in found.keys]
    columns = ["change", *found.keys, "since", *(f"{side}.{name}" for name in values for side in ("old", "new"))]
    rows = []
    for row in found.rows:
        sides = (row.old or {}, row.new or {})
        rows.append([row.change, *row.key.values(), row.since, *(side.get(name) for name in values for side in sides)])
    return output.format_csv(columns, rows)


def as_object(found: DiffResult) -> dict[str, Any]:
    """The changes as ``--format json`` prints them."""
    sides = {"from": found.from_time, "to": found.to_time}
    if found.known_from is not None:
        sides = {"known_from": found.known_from, "known_to": found.known_to}
    return {
        "target": found.target,
        **(sides if found.versions is None else {"run": found.run_id, "versions": list(found.versions)}),
        "counts": found.counts,
        "rows": [
            {
                "change": row.change, "key": row.key, "since": row.since,
                "old": row.old, "new": row.new, "changed": list(row.changed),
            }
            for row in found.rows
        ],
    }  # fmt: skip
