"""The group of all commands, and the only place that turns an error into a line on stderr and an exit status."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence

import click

from scdgen import log
from scdgen.cli import charts as cli_charts
from scdgen.cli import check as cli_check
from scdgen.cli import diff as cli_diff
from scdgen.cli import explain as cli_explain
from scdgen.cli import generate as cli_generate
from scdgen.cli import history as cli_history
from scdgen.cli import init as cli_init
from scdgen.cli import optimize as cli_optimize
from scdgen.cli import plan as cli_plan
from scdgen.cli import run as cli_run
from scdgen.cli import show as cli_show
from scdgen.cli import stream as cli_stream
from scdgen.errors import line_and_status, name_options, nearest, printable


def main(args: Sequence[str] | None = None) -> None:
    """Run a command, print its error as one line on stderr, and exit with its status."""
    given = sys.argv[1:] if args is None else list(args)
    debug = "--debug" in given
    name_options(True)
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else Python would report the broken pipe when it exits
        status = 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        from scdgen.engine.failures import translate_without_spec

        line, status = line_and_status(translate_without_spec(error))
        log.error(line, status)
    finally:
        log.choose("text")
        name_options(False)
    sys.exit(status if isinstance(status, int) else 0)


def _usage_line(error: click.ClickException) -> str:
    """Describe a usage error in one line, with the command and a hint."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "scdgen"
    see = f"; see: {command} --help"
    if isinstance(error, click.NoSuchOption) and context is not None:
        names = [name for param in context.command.params for name in param.opts if name.startswith("--")]
        return f"{command}: no option {error.option_name}{nearest(error.option_name, names) or see}"
    if isinstance(error, click.MissingParameter) and error.param is not None and context is not None:
        return f"{command}: {error.param.make_metavar(context)} is missing{see}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{command}: {error.param.opts[0]}: {error.message.rstrip('.')}{see}"
    unknown = re.match(r"No such command '(.*?)'", error.format_message())
    if unknown:
        return f"{command}: no command '{unknown[1]}'{nearest(unknown[1], cli.commands) or see}"
    what = error.format_message().rstrip(".")
    return f"{command}: {what[:1].lower()}{what[1:]}{see}"


class _ReaderGoneError(Exception):
    """The reader of stdout has closed it."""


class _Commands(click.Group):
    """Catches a broken pipe before click does, which would exit with a failure."""

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
    scdgen validate specs              report the errors of the specs
    scdgen generate specs              write the SQL to generated/
    scdgen explain specs/customer.yml  explain what the SQL does
    scdgen plan specs/customer.yml     show what a run would do
    scdgen run specs/customer.yml      merge
    """


_MODULES = (  # in the order of the reference
    cli_generate, cli_charts, cli_explain, cli_init, cli_show, cli_diff, cli_run, cli_plan, cli_check, cli_stream,
    cli_history, cli_optimize,
)  # fmt: skip
for module in _MODULES:
    for command in module.COMMANDS:
        cli.add_command(command)


if __name__ == "__main__":
    main()
