"""Options from environment variables and from ``scdgen.toml`` or ``pyproject.toml``; click looks them up.

The command line comes first, then variables, then the file. Both name an option as the command line does.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click
from click.core import ParameterSource

from scdgen.errors import UsageError, nearest
from scdgen.settings import TARGETS, read_settings

_LAST = ("remote", "warehouse", "conf", "quiet", "debug")  # in each --help
OWN = frozenset(
    {"check", "diff", "feed", "format", "from", "infer", "limit", "out", "param", "plan", "run", "test", "to"}
)
"""Options that mean something else in another command, or have the name of one; no others have a variable for all."""
_OTHER = ("init", "target")  # a command, and its option with the name of one that all others share
_PLACES = "scdgen.places"  # in the context: (command, parameter) -> the file and the key that set it

Commands = Mapping[str, click.Command]
Defaults = dict[str, dict[str, Any]]  # command -> parameter -> value


def prepare(name: str, command: click.Command) -> None:
    """Name the variables of every option, list shared options last, and let errors name the variable or the key."""
    command.params.sort(key=lambda param: _LAST.index(param.name) + 1 if param.name in _LAST else 0)
    command.callback = _locate_errors(command.callback)
    for option in _list_options(command):
        key = _name(option)
        shared = key not in OWN and (name, key) != _OTHER
        option.envvar = [_name_variable(name, key), *([_name_variable(key)] if shared else [])]
        option.callback = _locate_errors(option.callback)


def load(context: click.Context, commands: Commands) -> None:
    """Read the file of the working directory, if there is one, into the default values of the commands.

    Raises :class:`UsageError` for text that is not TOML, for unknown keys, and for values of another kind.
    """
    file, tables, settings = read_settings()
    settings = {key: value for key, value in settings.items() if key != TARGETS}
    if not settings:
        return
    shared = {_name(option) for command in commands.values() for option in _list_options(command)} - OWN
    defaults: Defaults = {name: {} for name in commands}
    # Remember where each default comes from, for messages.
    places: dict[tuple[str, str | None], str] = {}

    def keep(name: str, option: click.Option, place: str, value: object) -> None:
        defaults[name][str(option.name)] = _convert(option, place, value)
        places[name, option.name] = place

    for key, value in settings.items():  # those for all commands first, because those for one replace them
        place = f"{file}: {'.'.join((*tables, key))}"
        if key in shared:
            for name, command in commands.items():
                for option in _list_options(command):
                    if _name(option) == key and (name, key) != _OTHER:
                        keep(name, option, place, value)
        elif key not in commands:
            raise UsageError(f"{place}: {_explain_unknown(key, commands, shared, tables)}")
        elif not isinstance(value, dict):
            raise UsageError(f"{place}: is a command; write its options below [{'.'.join((*tables, key))}]")
    for name, command in commands.items():
        options = {_name(option): option for option in _list_options(command)}
        for key, value in settings.get(name, {}).items():
            place = f"{file}: {'.'.join((*tables, name, key))}"
            if key not in options:
                see = nearest(key, options) or f"; see: scdgen {name} --help"
                raise UsageError(f"{place}: is not an option of {name}{see}")
            keep(name, options[key], place, value)
    context.default_map = defaults
    context.meta[_PLACES] = places


def find_origin(context: click.Context, option: str) -> str:
    """The variable, or the file and the key, that gave an option its value; else an empty text."""
    for known in _list_options(context.command):
        if option in known.opts:
            source = context.get_parameter_source(str(known.name))
            if source is ParameterSource.DEFAULT_MAP:
                return str(context.meta[_PLACES].get((context.info_name, known.name), ""))
            if source is ParameterSource.ENVIRONMENT:
                names = [known.envvar] if isinstance(known.envvar, str) else known.envvar or ()
                return next((name for name in names if os.environ.get(name)), "")
    return ""


def is_typed(parameter: str) -> bool:
    """Whether the command line gives a parameter of the current command."""
    context = click.get_current_context(silent=True)
    return context is None or context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE


def _list_options(command: click.Command) -> Iterator[click.Option]:
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            yield param


def _name(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--"))[2:]


def _name_variable(*words: str) -> str:
    return "_".join(("SCDGEN", *words)).replace("-", "_").upper()


def _explain_unknown(key: str, commands: Commands, shared: set[str], tables: tuple[str, ...]) -> str:
    owners = [name for name, command in commands.items() if key in map(_name, _list_options(command))]
    if owners:
        below = " or ".join(f"[{'.'.join((*tables, name))}]" for name in owners)
        return f"does not mean the same in all commands; write it below {below}"
    return f"is neither a command nor an option{nearest(key, [*commands, *shared]) or '; see: scdgen --help'}"


def _convert(option: click.Option, place: str, value: object) -> object:
    """The value as click expects it: texts, which it parses, and true or false for a flag."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{place}: --{_name(option)} takes no value; write true or false")
        return value
    values = value if isinstance(value, list) and option.multiple else [value]
    if any(isinstance(item, bool | dict | list) for item in values):
        form = 'a list such as ["a=1", "b=2"]' if option.multiple else "one text or number"
        raise UsageError(f"{place}: is not a value of --{_name(option)}; write {form}")
    texts = [str(item) for item in values]
    return texts if option.multiple else texts[0]


def _locate_errors(call: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Let an error about an option name the variable or the key that gave it."""
    if call is None:
        return None

    @functools.wraps(call)
    def located(*args: object, **given: object) -> object:
        try:
            return call(*args, **given)
        except UsageError as error:
            place = find_origin(click.get_current_context(), error.option) if error.option else ""
            if not place:
                raise
            raise UsageError(error.lines, place=place) from error

    return located
