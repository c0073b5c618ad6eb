"""``scdgen init``: a first draft of a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen import paths
from scdgen.cli import options, output
from scdgen.errors import NO_UTF8, UsageError, of_system

if TYPE_CHECKING:
    from scdgen.init.data import Sample
    from scdgen.init.draft import Draft, Given


@click.command()
@click.option("--from", "path", metavar="PATH", help="CSV, JSON lines, Parquet or Delta files to draft from.")
@click.option("--table", metavar="NAME", help="A table to draft from.")
@click.option("--dbt", metavar="FILE", help="A dbt project, or its target/manifest.json.")
@click.option("--auto-cdc", metavar="FILE", help="A .sql or .py file with AUTO CDC flows.")
@click.option("--name", metavar="NAME", help="The dbt snapshot, or the target of the flows.")
@click.option("--target", metavar="NAME", help="The table to write.")
@click.option("--pattern", type=click.Choice(["scd2", "scd1"]), help="For data: scd2 by default.")
@click.option("--feed", type=click.Choice(["changes", "snapshot", "versions"]),
              help="For data: guessed if possible.")  # fmt: skip
@click.option("--keys", metavar="A,B", help="For data: guessed by default.")
@click.option("--effective-at", metavar="COLUMN", help="For data: the time of a change; guessed by default.")
@click.option("--date-format", metavar="PATTERN", help="For data: the format of dates, such as dd/MM/yyyy.")
@click.option("--columns", metavar="NAME:TYPE,...", help="Columns that the file lacks.")
@click.option("--out", metavar="FILE", help="The spec to write.  [default: stdout]")
@click.option("--test", "cases", metavar="FILE", help="First cases for `scdgen test` to write; needs --out.")
@click.option("--force", is_flag=True, help="Overwrite files.")
@options.csv_options
@options.session_options
@options.common_options
def init(
    path: str | None, table: str | None, dbt: str | None, auto_cdc: str | None, name: str | None, target: str | None,
    pattern: str | None, feed: str | None, keys: str | None, effective_at: str | None, date_format: str | None,
    columns: str | None, source_option: tuple[str, ...], out: str | None, cases: str | None, force: bool,
    engine: options.EngineOptions
) -> None:  # fmt: skip
    """Draft a spec from data, a dbt snapshot or AUTO CDC flows.

    Comments mark guesses and what a spec cannot express. Local CSV and flat JSON files need no Spark.

    \b
    Examples:  scdgen init --from customers.csv --target crm.customer --out specs/customer.yml
               scdgen init --from customers.csv --out specs/customer.yml --test specs/customer.test.yml
               scdgen init --from people.csv --feed snapshot --date-format dd/MM/yyyy
               scdgen init --table crm.orders --feed snapshot --keys order_id
               scdgen init --dbt target/manifest.json --name orders_snapshot
               scdgen init --auto-cdc users.sql --columns userId:int,name:string,sequenceNum:bigint
               scdgen init --auto-cdc pipeline.py --name main.crm.users
    """
    from scdgen.init.draft import Given, parse_columns, split_columns
    from scdgen.sql.dates import check_pattern

    # Refuse options that do not go together before a file is read or Spark starts.
    _require_one(path=path, table=table, dbt=dbt, auto_cdc=auto_cdc)
    for option, value in (
        ("--pattern", pattern), ("--feed", feed), ("--keys", keys), ("--effective-at", effective_at),
        ("--date-format", date_format),
    ):  # fmt: skip
        if value is not None and (dbt or auto_cdc):
            what = "a dbt snapshot" if dbt else "a flow of AUTO CDC"
            raise UsageError(f"goes with data alone; {what} says it itself", option=option)
    if feed == "versions" and pattern == "scd1":
        raise UsageError("goes with --pattern scd2; scd1 keeps no versions", option="--feed", value="versions")
    if feed == "versions" and effective_at is not None:
        raise UsageError("goes with changes and snapshots; versions have a start and an end", option="--effective-at")
    if name is not None and dbt is None and auto_cdc is None:
        what = "chooses a snapshot of a dbt project, or a target of flows; give --dbt or --auto-cdc"
        raise UsageError(what, option="--name")
    if date_format is not None:
        check_pattern(date_format, "--date-format")
    if target is not None:
        _require_table_name(target, "--target")
    if cases is not None:
        _require_case_file(cases, out)
    # Do not overwrite a draft that may have been edited.
    for file in filter(None, (out, cases)):
        if Path(file).exists() and not force:
            raise UsageError(f"{file}: is there already; give --force to overwrite it, or another name")
    given = parse_columns(columns)
    csv = options.parse_source_options(source_option, [path], "--from")

    # With --dbt and --auto-cdc, data can give the types that these do not have.
    sample = _read_data(path, table, engine, csv) if path or table else None
    known = Given(given, sample.types() if sample else {})
    if dbt is not None:
        draft = _draft_from_dbt(dbt, name, target, known)
    elif auto_cdc is not None:
        draft = _draft_from_flows(auto_cdc, name, target, known)
    else:
        from scdgen.init.feeds import draft_from_data

        assert sample is not None
        listed = split_columns(keys or "")
        draft = draft_from_data(sample, target, pattern or "scd2", feed, listed, given, date_format, effective_at)
    # The draft may go to stdout, so remarks go to stderr.
    for line in draft.warnings:
        output.echo(f"{auto_cdc or path or table}: check: {line}", err=True)
    text = draft.text(Path(out) if out else None)
    if out is None:
        click.echo(text, nl=False)
        return
    paths.write_text(Path(out), text)
    output.say(f"wrote {out}")
    output.print_hint(f"next: scdgen validate {out}")
    # The cases play the spec from its file, which is written by now.
    if cases is not None:
        paths.write_text(Path(cases), _draft_cases(Path(out), Path(cases), sample))
        output.say(f"wrote {cases}; run: scdgen test {cases}")


def _require_case_file(cases: str, out: str | None) -> None:
    from scdgen.model.load import CASES, is_case_file

    if not is_case_file(Path(cases)):
        raise UsageError(f"is not the name of a file of cases; end it in {CASES[0]}", option="--test", value=cases)
    if out is None:
        raise UsageError("names the file of the spec; give --out FILE too", option="--test", value=cases)


def _draft_cases(spec: Path, file: Path, sample: Sample | None) -> str:
    from scdgen.cases.draft import Rows, draft_cases
    from scdgen.model.load import load_spec

    data = Rows.of_values((c.name, c.type, c.values) for c in sample.columns) if sample is not None else None
    return draft_cases(load_spec(spec), file, data)


def _require_one(path: str | None, table: str | None, dbt: str | None, auto_cdc: str | None) -> None:
    if dbt and auto_cdc:
        raise UsageError("--dbt and --auto-cdc exclude each other; give one", option="--dbt", place="")
    if path and table:
        raise UsageError("--from and --table exclude each other; give one", option="--from", place="")
    if not (path or table or dbt or auto_cdc):
        raise UsageError("nothing to begin from; give --from PATH, --table NAME, --dbt FILE or --auto-cdc FILE")


def _require_table_name(name: str, option: str) -> None:
    from scdgen.sql import split_name

    try:
        split_name(name)
    except ValueError as error:
        raise UsageError(str(error), option=option) from error


def _draft_from_dbt(project: str, name: str | None, target: str | None, given: Given) -> Draft:
    from scdgen.init.dbt import draft_from_dbt, find_manifest

    path = find_manifest(Path(project))
    return draft_from_dbt(path, read_text(path), name, target, given)


def _draft_from_flows(file: str, name: str | None, target: str | None, given: Given) -> Draft:
    """Draft from the flows into one table, and name on stderr what is not mapped."""
    from scdgen.init.auto_cdc import draft_from_auto_cdc

    draft = draft_from_auto_cdc(Path(file), read_text(Path(file)), name, target, given)
    for line in draft.left_out:
        output.echo(f"{file}: not mapped: {line}", err=True)
    return draft


def read_text(path: Path) -> str:
    """Read a file that an option names. Raises :class:`UsageError`."""
    try:
        return paths.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and path.exists():
            raise UsageError(of_system(error, path)) from error
        what = "no such file; give the path of one" if isinstance(error, OSError) else NO_UTF8
        raise UsageError(f"{path}: {what}") from error


def _read_data(path: str | None, table: str | None, engine: options.EngineOptions, csv: dict[str, str]) -> Sample:
    """Read the columns, types and first rows of the data: without Spark, or in a session that ends with the command."""
    from scdgen.init.data import read_sample
    from scdgen.init.sample import read_local
    from scdgen.sql import split_name

    if table is not None:
        _require_table_name(table, "--table")
    if path is not None and (sample := read_local(path, csv)) is not None:
        return sample
    tables = [split_name(table)] if table is not None else []
    with (
        options.open_session(engine, tables, needs_tables=path is None) as spark,
        output.progress(f"reading {path or table}"),
    ):
        return read_sample(spark, path, table, csv)
