"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from scdgen import log
from scdgen.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def specs_argument(command: F) -> F:
    """Spec files and folders, and --debug."""
    command = click.option("--debug", is_flag=True, help="Show Python's and Spark's own errors in full.")(command)
    return click.argument("specs", nargs=-1, required=True, metavar="SPEC...")(command)


def templates_option(command: F) -> F:
    """--templates."""
    text = "A folder with templates that replace single ones of scdgen's."
    return click.option("--templates", type=click.Path(exists=True, file_okay=False), help=text)(command)


def jobs_option(command: F) -> F:
    """--jobs."""
    text = "Processes to use where there are more than 50 specs.  [default: one per core]"
    return click.option("--jobs", type=click.IntRange(min=1), metavar="N", help=text)(command)


def engine_options(command: F) -> F:
    """Where Spark is: embedded or remote, and its settings."""
    for option in (
        click.option("--conf", multiple=True, metavar="K=V", help="A Spark setting; may be given several times."),
        click.option("--warehouse", default="warehouse", show_default=True, metavar="DIR",
                     help="Where the embedded Spark keeps its tables."),
        click.option("--remote", metavar="URL", help="A Spark Connect server, sc://host:port, in place of it."),
    ):  # fmt: skip
        command = option(command)
    return templates_option(command)


def merge_options(command: F) -> F:
    """What a command that merges takes beside its input: --retries, --metrics and --log-format."""
    metrics = "A Delta table that gets a row per run and table; made where there is none."
    retries = "How often a run begins again where another writer was first, or its source grew."
    for option in (
        log_option,
        click.option("--metrics", metavar="TABLE", help=metrics),
        click.option("--retries", type=click.IntRange(min=0), default=5, show_default=True, metavar="N", help=retries),
    ):
        command = option(command)
    return command


def log_option(command: F) -> F:
    """--log-format."""
    text = "What happens, on stderr: lines for people, or one JSON object per event."
    return click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help=text,
        expose_value=False, callback=lambda _, __, value: log.choose(value), is_eager=True,
    )(command)  # fmt: skip


def input_options(command: F) -> F:
    """--source and --param."""
    text = "A CSV, JSON lines, Parquet or Delta path to read in place of the spec's source."
    source = click.option("--source", metavar="PATH", help=text)
    param = click.option("--param", multiple=True, metavar="NAME=VALUE", help="A value for a param of the spec.")
    return source(param(command))


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE, as given to an option several times; raises :class:`UsageError` for what is not of that form."""
    pairs = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {item}: is no name and value; write it as NAME=VALUE")
        pairs[name] = value
    return pairs
