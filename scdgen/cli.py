"""The command line. Each command says what it takes, does it through the same functions as Python code, and prints."""

from __future__ import annotations

import contextlib
import difflib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scdgen.errors import EngineError, ScdgenError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.runner import Runner
    from scdgen.spec import Spec

F = TypeVar("F", bound=Callable[..., Any])


def main(args: Sequence[str] | None = None) -> None:
    """Run a command, and turn every error into a line on stderr and an exit status, in this one place."""
    given = sys.argv[1:] if args is None else list(args)
    debug = "--debug" in given
    try:
        status = cli.main(args=given, prog_name="scdgen", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("scdgen: stopped; every table is as the last finished run left it", err=True)
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away: nothing to say, and nobody to say it to
        status = 0
    except ScdgenError as error:
        if debug:
            traceback.print_exc()
        click.echo(str(error), err=True)
        status = error.exit_status
    except Exception as error:
        if debug:
            traceback.print_exc()
        text = (str(error).splitlines() or [type(error).__name__])[0]
        click.echo(f"scdgen: {type(error).__name__}: {text}; run again with --debug for all of it", err=True)
        status = EngineError.exit_status
    sys.exit(status if isinstance(status, int) else 0)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="scdgen")
def cli() -> None:
    """From a short YAML spec to a MERGE that keeps the history of a table, on Spark and Delta Lake.

    \b
    scdgen validate specs              say what is wrong in the specs
    scdgen generate specs              write the SQL to generated/
    scdgen plan specs/customer.yml     show what a run would do
    scdgen run specs/customer.yml      merge
    """


def _specs(command: F) -> F:
    command = click.option("--debug", is_flag=True, help="Show Python's and Spark's own errors in full.")(command)
    return click.argument("specs", nargs=-1, required=True, metavar="SPEC...")(command)


def _templates(command: F) -> F:
    text = "A folder with templates that replace single ones of scdgen's."
    return click.option("--templates", type=click.Path(exists=True, file_okay=False), help=text)(command)


def _engine(command: F) -> F:
    for option in (
        click.option("--conf", multiple=True, metavar="K=V", help="A Spark setting; may be given several times."),
        click.option("--warehouse", default="warehouse", show_default=True, metavar="DIR",
                     help="Where the embedded Spark keeps its tables."),
        click.option("--remote", metavar="URL", help="A Spark Connect server, sc://host:port, in place of it."),
    ):  # fmt: skip
        command = option(command)
    return _templates(command)


def _input(command: F) -> F:
    source = click.option("--source", metavar="PATH",
                          help="A CSV, JSON lines, Parquet or Delta path to read in place of the spec's source.")  # fmt: skip
    param = click.option("--param", multiple=True, metavar="NAME=VALUE", help="A value for a param of the spec.")
    return source(param(command))


@cli.command()
@_specs
@_templates
def validate(specs: tuple[str, ...], templates: str | None, debug: bool) -> None:
    """Say what is wrong in the specs, all of it in one go. Needs no Spark and no Java.

    \b
    Example:  scdgen validate specs
    """
    from scdgen.inputs import load_specs
    from scdgen.pipeline import render

    for spec in load_specs(specs):
        render(spec, templates)
        click.echo(f"{spec.origin}: ok ({spec.target})")


@cli.command()
@_specs
@_templates
@click.option("--out", default="generated", show_default=True, metavar="DIR", help="Where the folders go.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff where the files differ.")
def generate(specs: tuple[str, ...], templates: str | None, out: str, check: bool, debug: bool) -> None:
    """Write the SQL of each spec to DIR/<target>/. Needs no Spark and no Java.

    \b
    Examples:  scdgen generate specs
               scdgen generate --check specs      in CI
    """
    from scdgen.inputs import load_specs
    from scdgen.pipeline import Scripts, folder, render

    changed = 0
    for spec in load_specs(specs):
        # The header names the spec as seen from beside the output, wherever the command was called.
        shown = spec.placed_at(Path(os.path.relpath(spec.origin, Path(out).absolute().parent)).as_posix())
        files = render(shown, templates).files()
        for name in (f"{script}.sql" for script in Scripts.__dataclass_fields__):
            changed += _write(Path(out, folder(spec), name), files.get(name), check)
    if check and changed:
        click.echo(f"{changed} generated files differ; run: scdgen generate {' '.join(specs)}", err=True)
        raise click.exceptions.Exit(1)


def _write(path: Path, text: str | None, check: bool) -> int:
    """Bring one file to ``text`` (``None``: no file), or show the difference; 1 where there was one."""
    before = path.read_bytes().decode("utf-8", "replace") if path.is_file() else None
    if before == text:
        return 0
    if check:
        lines = difflib.unified_diff(
            (before or "").splitlines(), (text or "").splitlines(), f"{path} (on disk)", f"{path} (of the spec)",
            lineterm="",
        )  # fmt: skip
        click.echo("\n".join(lines))
    elif text is None:
        path.unlink()
        click.echo(f"removed {path}")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        click.echo(f"wrote {path}")
    return 1


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    pairs = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {item}: write it as NAME=VALUE")
        pairs[name] = value
    return pairs


@contextlib.contextmanager
def _runner(
    specs: Sequence[Spec], templates: str | None, remote: str | None, warehouse: str, conf: Sequence[str]
) -> Iterator[Runner]:
    """A runner on the embedded session or on a remote one; the embedded one ends with the command."""
    from scdgen import output, session
    from scdgen.runner import Runner
    from scdgen.tables import table_names

    settings = _pairs(conf, "--conf")
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


@cli.command()
@_specs
@_engine
@_input
@click.option("--json", "as_json", is_flag=True, help="One JSON object per table.")
def run(
    specs: tuple[str, ...], source: str | None, param: tuple[str, ...], remote: str | None, warehouse: str,
    conf: tuple[str, ...], templates: str | None, as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Merge: create the table where there is none, merge the source, print what was done.

    \b
    Examples:  scdgen run specs/customer.yml --source changes.csv
               scdgen run specs/extract.yml --param taken=2024-05-01
    """
    from scdgen import output
    from scdgen.inputs import load_specs, read_source

    loaded, params = load_specs(specs), _pairs(param, "--param")
    with _runner(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"merging into {spec.target}"):
                rows = read_source(runner.spark, spec, source) if source else None
                counts = runner.run_counted(spec, rows, params)
            click.echo(output.as_json(counts) if as_json else output.counts_line(spec.target, counts))


@cli.command()
@_specs
@_engine
@_input
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
    from scdgen.inputs import load_specs, read_source

    loaded, params = load_specs(specs), _pairs(param, "--param")
    with _runner(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"planning {spec.target}"):
                rows = runner.plan(spec, read_source(runner.spark, spec, source) if source else None, params)
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


@cli.command()
@_specs
@_engine
@click.option("--json", "as_json", is_flag=True, help="One JSON object per check.")
def check(
    specs: tuple[str, ...], remote: str | None, warehouse: str, conf: tuple[str, ...], templates: str | None,
    as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Check the integrity of the tables; exit 1 where a check fails.

    \b
    Example:  scdgen check specs
    """
    from scdgen import output
    from scdgen.inputs import load_specs

    loaded, failed = load_specs(specs), 0
    with _runner(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"checking {spec.target}"):
                results = runner.check(spec)
            failed += sum(result.failures > 0 for result in results)
            for result in results:
                if as_json:
                    click.echo(output.as_json({"target": spec.target, **vars(result)}))
                else:
                    click.echo(f"{spec.target}  {result.name:<17} {output.verdict(result.failures, result.sample)}")
    if failed:
        raise click.exceptions.Exit(1)


@cli.command()
@_specs
@_engine
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

    loaded, keys = load_specs(specs), _pairs(key, "--key")
    with _runner(loaded, templates, remote, warehouse, conf) as runner:
        for spec in loaded:
            with output.progress(f"reading {spec.target}"):
                frame = runner.versions(spec, keys, as_of, current)
                rows = (frame.limit(limit + 1) if limit else frame).collect()
            shown = rows[:limit] if limit else rows
            click.echo(output.formatted(kind, frame.columns, [tuple(row) for row in shown]))
            if len(shown) < len(rows):
                click.echo(f"… more than {limit} rows: narrow it with --key, or give --limit", err=True)


if __name__ == "__main__":
    main()
