"""The options and arguments that several commands share, and the specs, sessions and files that they open."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from scdgen import sql
from scdgen.cli import log
from scdgen.errors import Problem, ScdgenError, SpecError, UsageError, choose_values, line_and_status
from scdgen.files import errors as files_errors
from scdgen.files.dialect import check_options
from scdgen.files.find import FORMATS, PACKED, Match, find_matches, is_pattern
from scdgen.model import graph
from scdgen.model.defaults import is_defaults_file
from scdgen.model.load import Lines, Loaded, fill_joins, find_useless, in_target, is_case_file, is_spec_file, read_spec
from scdgen.model.option import Location
from scdgen.model.spec import Spec
from scdgen.url import Url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from scdgen.run.metrics import Metrics
    from scdgen.run.runner import Runner
    from scdgen.run.versions import Tables

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Read = Callable[["Spec", "Callable[[Tables], Any]"], Any]
_SMALL = 64_000_000  # bytes of a warehouse and of the sources
_TINY = 4_000_000
_TARGETS = "scdgen.targets"  # in the context
_OF_ROWS = {*FORMATS, PACKED} - {".json"}  # which may be a spec


def complete_path(_: click.Context, __: click.Parameter, start: str) -> list[CompletionItem]:
    """Let the shell complete the names of files."""
    return [CompletionItem(start, type="file")]


def _together(*options: Decorator) -> Decorator:
    """Return one decorator with several options, in the order of --help."""
    return lambda command: functools.reduce(lambda done, option: option(done), reversed(options), command)


common_options = _together(
    click.option("-q", "--quiet", is_flag=True, help="Print only errors, warnings and results.", is_eager=True,
                 expose_value=False, callback=lambda _, __, yes: log.chosen.update(quiet=yes)),
    click.option("--debug", is_flag=True, help="Show full Python and Spark errors.", is_eager=True,
                 expose_value=False, callback=lambda _, __, yes: log.chosen.update(debug=yes)),
)  # fmt: skip
_target_option = click.option(  # which `load_specs` reads
    "--target", multiple=True, metavar="NAME", help="A target of scdgen.toml; generate takes several.",
    expose_value=False, callback=lambda context, _, names: context.meta.update({_TARGETS: names}),
)  # fmt: skip
_specs = functools.partial(click.argument, "specs", nargs=-1, shell_complete=complete_path)
specs_argument = _together(_specs(required=True, metavar="SPEC..."), _target_option, common_options)
optional_specs_argument = _together(_specs(metavar="[SPEC...]"), _target_option, common_options)


def chosen_targets() -> tuple[str, ...]:
    """Return the targets of --target, of the current command."""
    context = click.get_current_context(silent=True)
    return context.meta.get(_TARGETS, ()) if context else ()


@dataclass(frozen=True)
class EngineOptions:
    """The Spark to use, and its settings."""

    remote: Url | None
    warehouse: str
    conf: tuple[str, ...]

    def with_settings(self, settings: Mapping[str, str]) -> EngineOptions:
        """Return the options with settings that those of the user override."""
        return replace(self, conf=(*(f"{name}={value}" for name, value in settings.items()), *self.conf))


def session_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--remote, --warehouse and --conf as one argument ``engine``."""

    @functools.wraps(command)
    def call(remote: Url | None, warehouse: str, conf: tuple[str, ...], **given: object) -> object:
        return command(engine=EngineOptions(remote, warehouse, conf), **given)

    return _together(
        click.option("--remote", type=Url, metavar="URL", help="A Spark Connect server, sc://host:port."),
        click.option("--warehouse", default="warehouse", show_default=True, metavar="DIR",
                     help="The folder of the embedded Spark's tables."),
        click.option("--conf", multiple=True, metavar="K=V", help="A Spark setting; repeatable."),
    )(call)  # fmt: skip


values_option = click.option(
    "--values", type=click.Choice(["hide", "show"]), is_eager=True, expose_value=False,
    help="Show or hide row values.  [default: show; hide in metrics and events]",
    callback=lambda _, __, kind: choose_values(kind),
)  # fmt: skip
merge_options = _together(
    click.option("--retry-for", default="10m", show_default=True, metavar="TIME",
                 help="How long to retry after write conflicts.",
                 callback=lambda _, __, time: parse_seconds("--retry-for", time)),
    click.option("--retries", type=click.IntRange(min=0), metavar="N", help="Maximum retries.  [default: no limit]"),
    click.option("--metrics", metavar="TABLE", help="A Delta table that gets a row per run and table."),
    values_option,
    click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                 help="The format of the log on stderr.", is_eager=True, expose_value=False,
                 callback=lambda _, __, kind: log.chosen.update(json=kind == "json")),
)  # fmt: skip
input_options = _together(
    click.option("--source", metavar="PATH", shell_complete=complete_path,
                 help="CSV, JSON lines, Parquet or Delta files to read as the source."),
    click.option("--param", multiple=True, metavar="NAME=VALUE", help="A param of the spec; repeatable."),
)  # fmt: skip
feed_option = click.option("--feed", metavar="NAME", help="The entry of `sources` to read.  [default: the first]")
csv_options = click.option(
    "--source-option", multiple=True, metavar="K=V", help="An option of Spark's CSV reader, such as sep=';'."
)


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_time(option: str, what: str, text: str, least: int = 0) -> tuple[int, str]:
    """The number and the unit of a length of time; raises :class:`UsageError` for a text of another form.

    >>> parse_time("--interval", "interval", "10m")
    (10, 'minutes')
    """
    found = re.fullmatch(r"([0-9]{1,6})\s*([smhd])", text)
    if not found or int(found[1]) < least:
        fix = "write a number and s, m, h or d, such as 10m"
        raise UsageError(f"is not a valid {what}", fix=fix, option=option, value=text)
    return int(found[1]), _UNITS[found[2]]


def parse_seconds(option: str, text: str) -> float:
    """A length of time such as 10m, in seconds."""
    number, unit = parse_time(option, "time", text)
    return dt.timedelta(**{unit: number}).total_seconds()


def parse_source_options(
    given: Sequence[str], sources: Sequence[str | None], named_by: str = "--source"
) -> dict[str, str]:  # fmt: skip
    """Parse options of Spark's CSV reader. Raises :class:`UsageError` for a wrong one, and if a source is not a CSV."""
    option = "--source-option"
    found = check_options(parse_pairs(given, option), option)
    for source in sources if found else []:
        if source is None or files_errors.find_files(source).kind != "csv":
            what = f"{named_by} is not given" if source is None else f"{source} is not a CSV"
            raise UsageError(f"is an option for a CSV, and {what}; leave it out", option=option, value=given[0])
    return found


def check_headers(spec: Spec, inputs: Sequence[Input], options: Mapping[str, str]) -> list[str]:
    """Return the columns of CSV inputs that the spec does not read. Raises :class:`ScdgenError` if one is missing."""
    sources = [given.source for given in inputs if given.source is not None]
    return [name for source in sources for name in files_errors.check_source(spec, source, options)]


def json_option(other: str = "text") -> Decorator:
    """--format, as the argument ``as_json``: ``other``, or JSON objects, one a line; --json is short for it."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(kind: str, as_json: bool, **given: object) -> object:
            return command(as_json=as_json or kind == "json", **given)

        return _together(
            click.option("--format", "kind", type=click.Choice([other, "json"]), default=other, show_default=True,
                         help="json: one object per line."),
            click.option("--json", "as_json", is_flag=True, hidden=True),
        )(call)  # fmt: skip

    return add


def limit_option(default: int, text: str, least: int = 0) -> Decorator:
    """--limit, a maximum number of rows."""
    number = click.IntRange(min=least)
    return click.option("--limit", type=number, default=default, show_default=True, metavar="N", help=text)


def parse_pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """Parse the NAME=VALUE pairs of an option. Raises :class:`UsageError` for any other text."""
    pairs = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name:
            known = re.sub(r"[^\w.{}-].*", "…", item, flags=re.DOTALL)  # the rest may be a secret
            raise UsageError("is not a name and value; write it as NAME=VALUE", option=option, value=known)
        pairs[name] = value
    return pairs


@dataclass(frozen=True)
class Input:
    """The input of a run: a path instead of the spec's source, if given, and per target the values of its params."""

    source: str | None
    params: dict[str, dict[str, str]]


def bind_inputs(loaded: Sequence[Spec], source: str | None, param: Sequence[str]) -> list[Input]:
    """Return the inputs of --source and --param: one, or one per path of a pattern. Raises :class:`UsageError`."""
    from scdgen.model.bind import bind_each

    given = parse_pairs(param, "--param")
    if source is None:
        return [Input(None, bind_each(loaded, given))]
    if len(loaded) > 1:
        what = f"takes the place of one spec's source, and {len(loaded)} specs are given"
        fix = "give one spec, or name the files in the specs"
        raise UsageError(what, fix=fix, option="--source", value=source)
    # Find the files now, so that a missing one fails before Spark starts.
    if not is_pattern(source):
        files_errors.find_files(source)
        return [Input(source, bind_each(loaded, given, source))]
    inputs = []
    for match in find_matches(source):
        files_errors.find_files(match.path)
        values = {name: fill_stars(name, value, match, source) for name, value in given.items()}
        inputs.append(Input(match.path, bind_each(loaded, values, match.path)))
    return inputs


def fill_stars(name: str, value: str, match: Match, pattern: str) -> str:
    """A value of --param with what the stars of the pattern matched, instead of ``{1}``, ``{2}``, ...

    >>> fill_stars("taken", "{2}-01", Match("us-2024.csv", ("us", "2024")), "*-*.csv")
    '2024-01'
    """

    def fill(found: re.Match[str]) -> str:
        number = int(found[1])
        if 1 <= number <= len(match.stars):
            return match.stars[number - 1]
        known = " or ".join(f"{{{place}}}" for place in range(1, len(match.stars) + 1))
        what = f"no {found[0]}, because --source {pattern} has {len(match.stars)} *"
        raise UsageError(what, fix=f"write {known}", option="--param", value=f"{name}={value}")

    return re.sub(r"\{([0-9]+)\}", fill, value)


def open_metrics(table: str | None, loaded: Sequence[Spec]) -> Metrics | None:
    """The table of --metrics, if given. Raises :class:`UsageError` for an invalid name, before Spark starts."""
    from scdgen.run.metrics import Metrics

    metrics = None if table is None else Metrics(table)
    if metrics is not None:
        metrics.require_not_target(loaded)
    return metrics


@contextlib.contextmanager
def open_session(
    options: EngineOptions, tables: Iterable[tuple[str, ...]], needs_tables: bool = False
) -> Iterator[SparkSession]:
    """Open a remote session, or an embedded one that has the catalogs of ``tables``, until the end of the block."""
    from scdgen.cli import output
    from scdgen.engine import session

    settings, begun = parse_pairs(options.conf, "--conf"), log.elapsed()
    with output.progress("starting Spark"):
        if options.remote:
            spark: SparkSession = session.remote_session(options.remote, settings)
        else:
            spark = session.local_session(options.warehouse, settings, needs_tables)
    started = log.elapsed() - begun
    try:
        if not options.remote:
            session.know_catalogs(spark, tables)
        yield spark
    finally:
        # A session that does not stop must not hide an error of the block.
        with contextlib.suppress(Exception):
            spark.stop()
    output.print_hint(f"{log.elapsed():.0f} s in all, {started:.0f} s of them to start Spark")


@contextlib.contextmanager
def open_runner(
    specs: Sequence[Spec], options: EngineOptions, metrics: Metrics | None = None, needs_tables: bool = False,
    files: Iterable[str | None] | None = (), **limits: Any,
) -> Iterator[Runner]:  # fmt: skip
    """Open a session as :func:`open_session` does, and yield a runner on it.

    ``files`` are the sources of the command line; ``None`` if the command goes on without end. ``limits`` are
    ``retries`` and ``retry_for`` of :class:`Runner`.
    """
    from scdgen.cli import output
    from scdgen.engine.jvm import FEW_ROWS, QUICK
    from scdgen.run.delta import new_run_id
    from scdgen.run.runner import Runner

    folder = Path(options.warehouse)
    if not options.remote and not needs_tables and not folder.exists():  # the user may have another folder in mind
        output.print_hint(f"new tables go to {folder}; --warehouse names another folder")
    names = [*graph.find_table_names(specs), *([metrics.parts] if metrics else [])]
    # A quick start makes long work slower, so use it only if all files are small.
    places = [place for spec in specs for place in (spec.source.path, spec.table.location)]
    read = [options.warehouse, *filter(None, [*places, *(files or ())])]
    if files is not None and not options.remote and not options.conf:
        size = find_size(read)
        options = options.with_settings(FEW_ROWS if size <= _TINY else QUICK if size <= _SMALL else {})
    with open_session(options, names, needs_tables) as spark:
        if metrics is not None:
            metrics.prepare(spark)
        yield Runner(spark, run_id=new_run_id(), metrics=metrics, **limits)


def find_size(paths: Iterable[str]) -> float:
    """Count the bytes of files and folders, until they are too many for a quick start; infinite if one is not local."""
    size = 0
    for path in paths:
        if "://" in path:
            return math.inf
        for file in Path(path).rglob("*") if Path(path).is_dir() else [Path(path)]:
            with contextlib.suppress(OSError):  # such as a file that has just been removed
                size += file.stat().st_size if file.is_file() else 0
            if size > _SMALL:
                return size
    return size


@contextlib.contextmanager
def open_tables(specs: Sequence[Spec], options: EngineOptions) -> Iterator[Read]:
    """Yield a function that reads a table: without Spark if it is in the embedded warehouse, or else with Spark.

    Spark starts when the first table needs it, and with settings of the user for all of them. The folder of the
    embedded session's tables must exist.
    """
    from scdgen.cli import output
    from scdgen.engine.jvm import QUICK
    from scdgen.run.local import LocalTables
    from scdgen.run.versions import SparkTables

    with contextlib.ExitStack() as stack:
        started: list[SparkTables] = []

        def read(spec: Spec, ask: Callable[[Tables], Any]) -> Any:
            if not (options.remote or options.conf or started):
                try:
                    return ask(LocalTables(options.warehouse))
                except ScdgenError:
                    raise
                except Exception as error:
                    # Spark reads what the reader without it cannot.
                    logging.getLogger(__name__).debug("%s: Spark reads it: %s", spec.target, error)
            if not started:
                looking = options if options.remote else options.with_settings(QUICK)
                runner = stack.enter_context(open_runner(specs, looking, needs_tables=True))
                started.append(SparkTables(runner.spark))
            with output.progress(f"reading {spec.target}"):
                return ask(started[0])

        yield read


def report_error(error: Exception, **fields: str) -> None:
    """Print one line about an error that does not end the command."""
    log.trace(error)
    log.error(line_and_status(error)[0], **fields)


def find_specs(given: Iterable[str | Path]) -> list[Path]:
    """Find spec files: the given files, and those in folders that end in ``.yml`` or ``.yaml``, sorted by name.

    Files with cases and with defaults, which a folder and a pattern of the shell may name as well, are left out.
    """
    found: list[Path] = []
    items = [Path(item) for item in given]
    for item in items:
        if item.is_dir():
            inside = sorted(filter(is_spec_file, item.rglob("*")))
            if not inside:
                raise UsageError(f"{item}: there is no .yml or .yaml file in this folder; give one that holds specs")
            found += inside
        elif item.suffix.lower() in _OF_ROWS and item.is_file():  # or a pattern of --source that the shell has expanded
            fix = f"write --source, with a pattern in quotes, or draft a spec with `scdgen init --from {item}`"
            raise UsageError(f"{item}: has rows and is not a spec; {fix}")
        elif item.is_file() and (is_case_file(item) or is_defaults_file(item)):
            if len(items) == 1 and is_case_file(item):
                raise UsageError(f"{item}: has cases of a spec and is not one; run: scdgen test {item}")
            if len(items) == 1:
                raise UsageError(f"{item}: has the defaults of specs and is not one; give the folder, or a spec")
        elif item.is_file() or item.is_symlink():  # a link is refused when it is read
            found.append(item)
        else:
            what = "is neither a file nor a folder" if item.exists() else "no such file or folder"
            raise UsageError(f"{item}: {what}; give the path of a spec")
    # A file may be given by itself, and in a folder as well.
    return list(dict.fromkeys(found))


def load_one(given: Iterable[str | Path], command: str) -> Spec:
    """Load the one spec of a ``command``. Raises :class:`UsageError` for another number."""
    loaded = load_specs(given)
    if len(loaded) != 1:
        raise UsageError(f"{command} takes one spec, and {len(loaded)} are given; give one")
    return loaded[0]


def load_specs(given: Iterable[str | Path]) -> list[Spec]:
    """Load all specs in the target of the command, or raise :class:`SpecError` with the mistakes of all of them."""
    chosen = chosen_targets()
    if len(chosen) > 1:
        raise UsageError("takes one target; only generate takes several", option="--target", value=chosen[1])
    return in_target(load_written(given), next(iter(chosen), None))


def load_written(given: Iterable[str | Path]) -> list[Spec]:
    """Load all specs as :func:`load_specs` does, with the names that they are written with."""
    loaded, errors = list[Loaded](), list[SpecError]()
    for path in find_specs(given):
        try:
            loaded.append(read_spec(path))
        except SpecError as error:
            errors.append(error)
    written = [found.spec for found in loaded]
    # A spec with mistakes may be the one that takes a default.
    problems = [*([] if errors else find_useless(loaded)), *_find_shared(written)]
    # Fill in joins last, because they read the other specs.
    specs: list[Spec] = []
    for spec in written:
        try:
            specs.append(fill_joins(spec, written))
        except SpecError as error:
            errors.append(error)
    problems += (problem for error in errors for problem in error.problems)
    if problems:
        raise SpecError(problems) from next(iter(errors), None)
    return specs


def _find_shared(specs: Sequence[Spec]) -> Iterator[Problem]:
    """Yield the tables, views and locations that two specs would write."""
    written: list[tuple[Spec, Location, str, object, str]] = []
    for spec in specs:
        for place, parts in graph.find_written(spec):
            what = "the target" if place == ("target",) else "a view"
            written.append((spec, place, what, graph.full_name(parts), sql.join_name(parts)))
        if path := spec.table.location:
            written.append((spec, ("table", "location"), "the location", path.rstrip("/"), path))
    owners: dict[object, tuple[Spec, str]] = {}
    for spec, place, what, key, shown in sorted(written, key=lambda found: found[2] != "the target"):
        owner, of_owner = owners.setdefault(key, (spec, what))
        if owner is not spec:
            both = "each table has one spec: name both sources in it, under 'sources:'"
            fix = both if what == "the target" else "give each its own"
            message = f"{place[-1]}: {shown} is {of_owner} of {owner.origin} too; {fix}"
            yield Lines.of_file(spec.origin).problem(place, message)


@contextlib.contextmanager
def open_source(
    runner: Runner, spec: Spec, path: str | None, params: Mapping[str, object], options: Mapping[str, str]
) -> Iterator[DataFrame | None]:
    """Yield the rows of a CSV (header), JSON lines, Parquet or Delta path, or ``None`` without a path.

    ``options`` are those of a CSV. An error in the block that the files have caused becomes a :class:`DataError` with
    the file, the line if it is known, the column and the value.
    """
    if path is None:
        yield None
        return
    from scdgen.engine.engine import Engine
    from scdgen.run.table import table_zone

    engine = Engine(runner.spark)
    with table_zone(engine, spec):  # in which texts become times
        source = files_errors.open_files(runner.spark, spec, path, options)
    try:
        yield source.rows
    except ScdgenError as error:
        located = files_errors.explained(engine, spec, source, params, error)
        if located is None:
            raise
        raise located from error
