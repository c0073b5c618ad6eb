"""The command line. Each command says what it takes, does it through the same functions as Python code, and prints."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scdgen import log
from scdgen.cli import check as cli_check
from scdgen.cli import explain as cli_explain
from scdgen.cli import history as cli_history
from scdgen.cli import init as cli_init
from scdgen.cli import plan as cli_plan
from scdgen.cli import run as cli_run
from scdgen.cli import show as cli_show
from scdgen.cli import stream as cli_stream
from scdgen.cli.options import jobs_option, specs_argument, templates_option
from scdgen.errors import line_and_status, nearest, printable

if TYPE_CHECKING:
    from scdgen.spec.model import Spec


def main(args: Sequence[str] | None = None) -> None:
    """Run a command, and turn every error into a line on stderr and an exit status, in this one place."""
    given = sys.argv[1:] if args is None else list(args)
    debug = "--debug" in given
    try:
        status = cli.main(args=given, prog_name="scdgen", standalone_mode=False)
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = 2
    except click.ClickException as error:
        status = 2
        log.error(printable(_usage_line(error)), status)
    except (KeyboardInterrupt, click.Abort):
        status = 130
        log.error("scdgen: stopped; every table is as the last finished run left it", status)
    except _ReaderGoneError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away: nothing to say, and nobody to say it to
        status = 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        from scdgen.engine.failures import of_engine

        line, status = line_and_status(of_engine(error))
        log.error(line, status)
    finally:
        log.choose("text")
    sys.exit(status if isinstance(status, int) else 0)


def _usage_line(error: click.ClickException) -> str:
    """A wrong call in one line, with the command and a way out."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "scdgen"
    see = f"; see: {command} --help"
    if isinstance(error, click.NoSuchOption) and context is not None:
        names = [name for param in context.command.params for name in param.opts if name.startswith("--")]
        return f"{command}: there is no option {error.option_name}{nearest(error.option_name, names) or see}"
    if isinstance(error, click.MissingParameter) and error.param is not None and context is not None:
        return f"{command}: {error.param.make_metavar(context)} is missing{see}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{command}: {error.param.opts[0]}: {error.message.rstrip('.')}{see}"
    unknown = re.match(r"No such command '(.*?)'", error.format_message())
    if unknown:
        return f"{command}: there is no command '{unknown[1]}'{nearest(unknown[1], cli.commands) or see}"
    what = error.format_message().rstrip(".")
    return f"{command}: {what[:1].lower()}{what[1:]}{see}"


class _ReaderGoneError(Exception):
    """Whoever read stdout has ended."""


class _Commands(click.Group):
    """Keeps a broken pipe from click, which would call it a failure."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="scdgen")
def cli() -> None:
    """From a short YAML spec to a MERGE that keeps the history of a table, on Spark and Delta Lake.

    \b
    scdgen validate specs              say what is wrong in the specs
    scdgen generate specs              write the SQL to generated/
    scdgen explain specs/customer.yml  what that SQL does, in words
    scdgen plan specs/customer.yml     show what a run would do
    scdgen run specs/customer.yml      merge
    """


@cli.command()
@specs_argument
@templates_option
@jobs_option
def validate(specs: tuple[str, ...], templates: str | None, jobs: int | None, debug: bool) -> None:
    """Say what is wrong in the specs, all of it in one go. Needs no Spark and no Java.

    \b
    Example:  scdgen validate specs
    """
    from scdgen.cli.options import find_specs, load_specs, map_specs
    from scdgen.patterns.compile import render

    paths = find_specs(specs)
    with map_specs(len(paths), jobs) as each:
        loaded = load_specs(paths, each)
        for spec, _ in zip(loaded, each(partial(render, templates=templates), loaded), strict=True):
            click.echo(f"{spec.origin}: ok ({spec.target})")


@cli.command()
@specs_argument
@templates_option
@jobs_option
@click.option("--out", default="generated", show_default=True, metavar="DIR", help="Where the folders go.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["sql", "notebook"]),
    default="sql",
    show_default=True,
    help="notebook: a notebook.sql for Databricks beside the files. One that is there is kept current by both.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff where the files differ.")
@click.option("--diff", is_flag=True, help="The same, and what the changed options mean for rows already stored.")
def generate(
    specs: tuple[str, ...],
    templates: str | None,
    jobs: int | None,
    out: str,
    kind: str,
    check: bool,
    diff: bool,
    debug: bool,
) -> None:
    """Write the SQL of each spec to DIR/<target>/. Needs no Spark and no Java.

    \b
    Examples:  scdgen generate specs
               scdgen generate --format notebook specs      and a notebook per table for Databricks
               scdgen generate --check specs      in CI
               scdgen generate --diff specs       before a changed spec meets its table
    """
    from scdgen.cli.notebook import NOTEBOOK, rendered_files
    from scdgen.cli.options import find_specs, load_specs, map_specs
    from scdgen.patterns.compile import Scripts
    from scdgen.spec.resolved import SPEC_JSON

    changed, dry, paths = 0, check or diff, find_specs(specs)
    with map_specs(len(paths), jobs) as each:
        loaded = load_specs(paths, each)
        # The header names the spec as seen from beside the output, wherever the command was called.
        beside = Path(out).absolute().parent
        shown = [spec.placed_at(Path(os.path.relpath(spec.origin, beside)).as_posix()) for spec in loaded]
        # A notebook that is there is kept up without being asked for: one of before would be wrong and look right.
        notebooks = frozenset(
            spec.folder for spec in shown if kind == "notebook" or Path(out, spec.folder, NOTEBOOK).is_file()
        )
        made = each(partial(rendered_files, templates=templates, notebooks=notebooks), shown)
        for spec, files in zip(shown, made, strict=True):
            differ = 0
            for name in (*(f"{script}.sql" for script in Scripts.__dataclass_fields__), NOTEBOOK, SPEC_JSON):
                differ += _write(Path(out, spec.folder, name), files.get(name), dry)
            if diff and differ:
                _tell_stored(spec, Path(out, spec.folder))
            changed += differ
    if dry and changed:
        what = "generated files differ" if changed > 1 else "generated file differs"
        given = shlex.join(
            [*specs, *(["--out", out] if out != "generated" else []), *(["--format", kind] if kind != "sql" else [])]
        )
        click.echo(f"{changed} {what}; run: scdgen generate {given}", err=True)
        raise click.exceptions.Exit(1)


@cli.command()
@specs_argument
@click.option("--format", "kind", type=click.Choice(["text", "mermaid"]), default="text", show_default=True)
def graph(specs: tuple[str, ...], kind: str, debug: bool) -> None:
    """Show the order in which `run` takes the specs, and what each reads. Needs no Spark and no Java.

    \b
    Examples:  scdgen graph specs
               scdgen graph specs --format mermaid      a flowchart
    """
    from scdgen.cli.charts import graph_mermaid, graph_text
    from scdgen.cli.options import load_specs
    from scdgen.spec.graph import steps

    found = steps(load_specs(specs))
    click.echo(graph_mermaid(found) if kind == "mermaid" else graph_text(found))


def _tell_stored(spec: Spec, place: Path) -> None:
    """What the difference between the ``spec.json`` on disk and the spec means for the rows of the table."""
    from scdgen.spec.diff import meanings
    from scdgen.spec.resolved import SPEC_JSON, from_json

    file = place / SPEC_JSON
    old = from_json(file.read_bytes().decode("utf-8", "replace")) if file.is_file() else None
    unknown = "what the difference means for stored rows is not known"
    if old is not None:
        lines = meanings(old, spec) or ["no option that stored rows depend on has changed"]
    elif file.is_file():
        lines = [f"{file} is not as scdgen writes it; {unknown}"]
    elif place.is_dir():
        lines = [f"there is no {file} to compare with; {unknown}"]
    else:
        lines = ["nothing was generated before, so that there is nothing to compare with"]
    for line in lines:
        click.echo(f"{spec.target}: {line}")


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
        # A whole file or none, and in the place of a link instead of through it.
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_bytes(text.encode())
            beside.replace(path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            error.filename = str(path)  # the file that the user knows
            raise
        click.echo(f"wrote {path}")
    return 1


for module in (cli_explain, cli_init, cli_show, cli_run, cli_plan, cli_check, cli_stream, cli_history):
    for command in module.COMMANDS:
        cli.add_command(command)


if __name__ == "__main__":
    main()
