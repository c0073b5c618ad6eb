"""The group of all commands, and the only place that turns an error into a line on stderr and an exit status."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from scdgen.cli import config, log, output
from scdgen.errors import choose_values, line_and_status, nearest, printable


def main(args: Sequence[str] | None = None) -> None:
    """Run a command, print its error as one line on stderr, and exit with its status."""
    given = sys.argv[1:] if args is None else list(args)
    gc.set_threshold(20_000, 20, 50)  # syntax trees are large: by default a tenth of the time goes into finding cycles
    output.escape_what_stdout_lacks()
    try:
        with log.printed():
            status = _call(given)
    finally:
        choose_values(None)
    sys.exit(status if isinstance(status, int) else 0)


def _call(args: list[str]) -> object:
    """Run a command, and return its exit status; an error of it is logged."""
    try:
        # In its standalone mode click would print errors itself, and exit.
        return cli.main(args=args, prog_name="scdgen", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    # A subclass of ClickException, so it comes first.
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        log.error(printable(_usage_line(error)), status=2)
        return 2
    except (KeyboardInterrupt, click.Abort):
        log.error("scdgen: stopped; every table is as the last finished run left it", status=130)
        return 130
    except _ReaderGoneError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would report the broken pipe when it exits
        return 0
    except Exception as error:
        log.trace(error)
        from scdgen.engine.failures import translate_without_spec

        line, status = line_and_status(translate_without_spec(error))
        log.error(line, status=status)
        return status


def _usage_line(error: click.ClickException) -> str:
    """Describe a usage error in one line, with the command and a hint."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "scdgen"
    see = f"; see: {command} --help"
    if isinstance(error, click.NoSuchOption) and context is not None:
        names = [name for param in context.command.params for name in param.opts if name.startswith("--")]
        if error.option_name == "--no-config":
            see = f"; write it before the command: scdgen --no-config {context.info_name}"
        return f"{command}: no option {error.option_name}{nearest(error.option_name, names) or see}"
    if isinstance(error, click.MissingParameter) and error.param is not None and context is not None:
        option = f"{_long_name(error.param)} " if isinstance(error.param, click.Option) else ""
        return f"{command}: {option}{error.param.make_metavar(context)} is missing{see}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        option = _long_name(error.param)
        place = config.find_origin(context, option) if context is not None else ""
        return f"{place or f'{command}: {option}'}: {error.message.rstrip('.')}{see}"
    # Older versions of click have no class for an unknown command.
    unknown = re.match(r"No such command '(.*?)'", error.format_message())
    if unknown:
        return f"{command}: no command '{unknown[1]}'{nearest(unknown[1], cli.commands) or see}"
    what = error.format_message().rstrip(".")
    return f"{command}: {what[:1].lower()}{what[1:]}{see}"


def _long_name(param: click.Parameter) -> str:
    return next((name for name in param.opts if name.startswith("--")), param.opts[0])


class _ReaderGoneError(Exception):
    """The reader of stdout has closed it."""


# Command -> its module, and a summary; in the groups and the order of --help and of the reference.
_GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Write": {
        "init": ("init", "Draft a spec from data, a dbt snapshot or AUTO CDC."),
        "validate": ("generate", "Report all errors of the specs at once."),
        "generate": ("generate", "Write the SQL of each spec, a folder per table."),
        "test": ("test", "Run the cases of specs, each with rows in and rows out."),
        "explain": ("explain", "Explain a spec for a review."),
    },
    "Run": {
        "plan": ("plan", "Show what a run would do, old and new side by side."),
        "run": ("run", "Merge: create the table if needed, merge the source."),
        "stream": ("stream", "Merge a stream, one MERGE per micro-batch and table."),
        "check": ("check", "Check the integrity of the tables."),
    },
    "Look": {
        "show": ("show", "Show the versions of a table in order."),
        "diff": ("diff", "Show what changed between two times, or by a run."),
        "history": ("history", "List the versions of a table, with their runs."),
    },
    "Repair": {
        "undo": ("history", "Restore a table to the version before a run."),
        "rewind": ("rewind", "Take a table back to a time."),
    },
    "More": {
        "graph": ("graph", "Show the order of the specs, and what each reads."),
        "schema": ("schema", "Print the JSON Schema of a spec, for editors."),
        "doctor": ("doctor", "Check Python, Java, Spark, Delta and the warehouse."),
    },
}
_COMMANDS = {name: found for group in _GROUPS.values() for name, found in group.items()}


class _Loaded(Mapping[str, click.Command]):
    """The commands by name; each is imported when it is used, because --help and the other commands do not need it."""

    def __init__(self) -> None:
        self._known: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._known:
            command = self._known[name] = getattr(import_module(f"scdgen.cli.{_COMMANDS[name][0]}"), name)
            config.prepare(name, command)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Commands(click.Group):
    """Reads the options in files, lists commands without loading them, and catches a broken pipe before click does."""

    def __init__(self, **given: Any):
        super().__init__(**given)
        self.commands = _Loaded()  # type: ignore[assignment]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and the summaries, in groups with one width."""
        width = max(map(len, _COMMANDS))
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, (_, summary) in group.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        if not ctx.params["no_config"]:
            config.load(ctx, self.commands)
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            # The reader of the output has ended, as head does.
            raise _ReaderGoneError from error


_EPILOG = """\b
Options can also be set by variables and by a file:
  SCDGEN_RUN_LOG_FORMAT=json  for one command: --log-format of run
  SCDGEN_WAREHOUSE=tables     for every command that has --warehouse
  NO_COLOR=1                  no colors
  scdgen.toml                 or [tool.scdgen] in pyproject.toml, in the folder where scdgen is run:
                              warehouse = "tables"

\b
For completion in bash (zsh_source and fish_source likewise):
  eval "$(_SCDGEN_COMPLETE=bash_source scdgen)"
"""


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=_Commands, context_settings=_SETTINGS, epilog=_EPILOG)
@click.version_option(package_name="scdgen")
@click.option(
    "--no-config",
    is_flag=True,
    envvar="SCDGEN_NO_CONFIG",
    help="Read no options from scdgen.toml or pyproject.toml: scdgen --no-config validate specs.",
)
def cli(no_config: bool) -> None:
    """From a short YAML spec to a MERGE that keeps the history of a table, on Spark and Delta Lake.

    \b
    scdgen validate specs              report the errors of the specs
    scdgen generate specs              write the SQL to generated/
    scdgen explain specs/customer.yml  explain what the SQL does
    scdgen plan specs/customer.yml     show what a run would do
    scdgen run specs/customer.yml      merge
    """


if __name__ == "__main__":
    main()
