"""Saved plans (``plan --out``, ``run --plan``): what a plan was made from, and whether it is still so.

A plan keeps the :class:`State` in which it was made, and a run compares it with the one that it finds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from scdgen import paths, sql
from scdgen.engine.engine import Engine
from scdgen.errors import DataError, UsageError
from scdgen.facts.plan import REFRESHED, Counts
from scdgen.files.find import list_data
from scdgen.model import graph
from scdgen.model.resolved import to_json
from scdgen.model.spec import Spec
from scdgen.run.delta import read_detail, read_log
from scdgen.run.results import PlanResult
from scdgen.run.table import TargetTable, table_zone
from scdgen.sql.literal import value_text
from scdgen.url import hide_secrets
from scdgen.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STALE = "stale_plan"
"""The rule of the :class:`DataError` that refuses a plan."""

_AGAIN = "plan again"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Table(_Part):
    """A table that a run reads or writes, in one of its versions."""

    name: str
    """Its name in SQL."""
    kind: str
    """``delta``; ``view`` or another format, which have no version; empty if it does not exist."""
    id: str | None = None
    """Delta's id of it, which a table of the same name that is created later does not have."""
    version: int | None = None
    """Its newest Delta version."""


class State(_Part):
    """All that the result of a run depends on."""

    around: dict[str, str]
    """What a run is made with and where, as messages name it -> its value."""
    spec: str
    """The SHA-256 of the spec with its defaults filled in, in hex digits."""
    target: Table
    """The table that the run writes."""
    reads: tuple[Table, ...]
    """The other tables that it reads."""
    files: dict[str, str]
    """The path of each file that it reads, as the spec or ``--source`` leads to it -> its size and its SHA-256."""

    def describe_changes(self, found: State) -> Iterator[str]:
        """Describe the differences of a later state, in one line each."""
        # The tools and places come first: tables of another place are other tables.
        for what, value in self.around.items():
            if value != found.around.get(what):
                yield f"{what} was {value} and is {found.around.get(what)}"
        if self.spec != found.spec:
            yield "the spec has changed"
        tables, now = ({one.name: one for one in (state.target, *state.reads)} for state in (self, found))
        for name in dict.fromkeys([*tables, *now]):
            yield from _describe_table(name, tables.get(name), now.get(name))
        for path in dict.fromkeys([*self.files, *found.files]):
            before, after = self.files.get(path), found.files.get(path)
            if before != after:
                yield f"{path} {'is gone' if after is None else 'is new' if before is None else 'has other content'}"

    def require_versions(self, path: str | None) -> None:
        """Raise :class:`UsageError` if a table that is read has no version, so that a change could not be found.

        ``path`` is the one that is read, which has to be a Delta table or files of this machine.
        """
        if path is not None and not self.files and not any(table.name.startswith("delta.`") for table in self.reads):
            what = f"{hide_secrets(path)} has no files on this machine whose checksums would show that they changed"
            raise UsageError(f"{what}; read a Delta table, or plan without it", option="--out")
        for table in self.reads:
            if table.version is None:
                is_what = f"is a {table.kind}" if table.kind else "is not a table"
                what = f"{table.name} {is_what} and has no Delta version, so that nothing would show that it changed"
                raise UsageError(f"{what}; read Delta tables, or plan without it", option="--out")


def _describe_table(name: str, before: Table | None, now: Table | None) -> Iterator[str]:
    if before is None or now is None:
        yield f"{name} is {'not read any more' if now is None else 'now read'}"
    elif before.version is None and now.version is not None:
        yield f"{name} did not exist and is at version {now.version}"
    elif before.version is not None and now.version is None:
        yield f"{name} was at version {before.version} and {f'is a {now.kind}' if now.kind else 'is gone'}"
    elif before.id != now.id:
        yield f"{name} is another table of that name, created since the plan"
    elif before != now:
        yield f"{name} was at version {before.version} and is at version {now.version}"


class PlannedRun(_Part):
    """The plan of one table: its input, the state in which it was made, and what the run will do."""

    target: str
    """The name of the table."""
    origin: str
    """The file of the spec."""
    environment: str = ""
    """The target (environment) whose names the spec has; empty for its own."""
    feed: str = ""
    """The name of the source that is read; empty if the spec has only one."""
    source: str | None = None
    """The path that is read instead of the spec's source."""
    source_options: dict[str, str] = {}
    """The options of that path, if it is a CSV."""
    params: dict[str, str]
    """The value of each param that has one, as text."""
    state: State
    """What the counts are counted from."""
    keys: dict[str, int]
    """Word -> number of keys."""
    versions: dict[str, int]
    """Word -> number of versions; empty for a table without history."""

    def require_params(self, given: Mapping[str, object]) -> dict[str, str]:
        """Return the params of the plan. Raises :class:`DataError` if one is given with another value."""
        for name, value in given.items():
            text = value_text(value)
            if name not in self.params:
                raise stale(self.target, f"the param '{name}' is not in the plan", "leave it out, or plan with it")
            if self.params[name] != text:
                what = f"the param '{name}' was {self.params[name]} and is {text}"
                raise stale(self.target, what, "leave it out, or plan with it")
        return dict(self.params)

    def require_counts(self, counts: Counts) -> None:
        """Raise :class:`DataError` if a run would do something else."""
        for planned, found in ((self.keys, counts.keys), (self.versions, counts.versions)):
            for word, number in planned.items():
                if found.get(word) != number:
                    what = f"{number} {word} were planned, and the run would have {found.get(word, 0)}, although no"
                    raise stale(self.target, f"{what} table or file has changed", f"read no clock, and {_AGAIN}")


class SavedPlan(_Part):
    """The file of a plan."""

    format: int = 1
    """The version of this form."""
    runs: tuple[PlannedRun, ...]
    """The plan of each table, in the order of a run."""

    def write(self, path: Path) -> None:
        """Write the file, with a hash of what is in it."""
        content = self.model_dump(mode="json")
        paths.write_text(path, json.dumps({**content, "sha256": _hash_content(content)}, indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> SavedPlan:
        """Read a file. Raises :class:`UsageError` if it is not one, and :class:`DataError` if it was edited."""
        place = f"--plan {path}"
        if not path.is_file():
            raise UsageError("no such file; write one by `scdgen plan SPEC... --out FILE`", option="--plan", value=path)
        try:
            content: Any = json.loads(paths.read_text(path))
        except ValueError:  # of UTF-8 as well
            content = None
        known = content.pop("sha256", None) if isinstance(content, dict) else None
        if known is None:
            raise UsageError("is not a plan of scdgen; write one by `scdgen plan SPEC... --out FILE`", place=place)
        if _hash_content(content) != known:
            raise stale(place, "was edited after it was planned", _AGAIN)
        try:
            return cls.model_validate(content)
        except ValidationError:
            raise stale(place, f"was made by another scdgen than this, {__version__}", _AGAIN) from None


def _hash_content(content: Mapping[str, Any]) -> str:
    return _hash(json.dumps(content, sort_keys=True, separators=(",", ":")))


def stale(place: str, what: str, fix: str = _AGAIN) -> DataError:
    """Return the error of a plan that no longer holds."""
    return DataError(what, rule=STALE, place=place, fix=f"nothing was written; {fix}")


def read_state(engine: Engine, spec: Spec, source: str | None) -> State:
    """Read the state that a run of a spec would find now; ``source`` is the path that is read instead of its own."""
    spark, read = engine.spark, _with_path(spec, source)
    with engine.lock, engine.translated(spec), table_zone(engine, spec) as zoned:
        names = dict.fromkeys(map(sql.quote_parts, graph.find_read_names(read)))
        target = TargetTable(spark, spec).name
        tables, files = find_path(read.source.path, read.source.format)
        return State(
            around={
                "the version of scdgen": __version__,
                "the warehouse": hide_secrets(str(spark.conf.get("spark.sql.warehouse.dir"))),
                "the catalog": spark.catalog.currentCatalog(),
                "the schema": spark.catalog.currentDatabase(),
                "the time zone": zoned.time_zone,
            },
            spec=_hash(to_json(spec)),
            target=_read_table(spark, target),
            reads=tuple(_read_table(spark, name) for name in (*tables, *names) if name != target),
            files={path.as_posix(): _describe_file(path) for path in files},
        )


def make_planned(
    spec: Spec, state: State, planned: PlanResult, source: str | None, options: Mapping[str, str]
) -> PlannedRun:
    """Return what a file keeps of a plan; ``source`` and ``options`` are those of a path read instead of the source.

    The ``state`` was read before the plan, so that the run finds what has changed while it counted. Raises
    :class:`UsageError` if nothing would show that the run reads other rows than the plan.
    """
    read = _with_path(spec, source).source
    if read.query and (found := sql.query(read.query).volatile):
        what = f"source.query of {spec.origin} calls {found}, which gives other rows in the run than in the plan"
        raise UsageError(f"{what}; make it a param with that default, whose value a plan keeps", option="--out")
    state.require_versions(read.path)
    return PlannedRun(
        target=spec.target,
        origin=spec.origin,
        environment=spec.environment,
        feed=spec.feed,
        source=source,
        source_options=dict(options),
        params=dict(planned.params),
        state=state,
        keys=dict(planned.counts.keys),
        versions={word: number for word, number in planned.counts.versions.items() if word != REFRESHED},
    )


@dataclass(frozen=True)
class Watch:
    """A plan that a run keeps to, and how to read the state that the run finds."""

    planned: PlannedRun
    """The plan."""
    read: Callable[[], State]
    """Reads the state now."""

    def require_fresh(self) -> None:
        """Raise :class:`DataError` if anything has changed since the plan."""
        if change := next(self.planned.state.describe_changes(self.read()), None):
            raise stale(self.planned.target, f"the plan is stale: {change}")

    def find_late_change(self, others: Sequence[int]) -> str | None:
        """Find what has changed while the MERGE ran, which it may have read; ``None`` if nothing did.

        ``others`` are the versions of the target that another writer has committed between the plan and the MERGE.
        """
        before = self.planned.state
        if others:
            return f"{before.target.name} got version {others[0]} by another writer"
        return next(before.describe_changes(self.read().model_copy(update={"target": before.target})), None)


def _with_path(spec: Spec, path: str | None) -> Spec:
    if path is None:
        return spec
    instead = {"table": None, "query": None, "path": path, "format": None}
    return spec.model_copy(update={"source": spec.source.model_copy(update=instead)})


def find_path(path: str | None, kind: str | None) -> tuple[list[str], list[Path]]:
    """Find the Delta table, by its name in SQL, or the files of this machine at a path; neither at another one."""
    if path is None:
        return [], []
    local = Path(path.removeprefix("file://").removeprefix("file:"))
    away = "://" in path and not path.startswith("file://")
    if kind == "delta":
        return [f"delta.{sql.quote(path)}"], []
    if kind is None and (away or (local / "_delta_log").is_dir()):
        return [f"delta.{sql.quote(path if away else str(local.absolute()))}"], []
    return [], [] if away else list_data(local)


def _read_table(spark: SparkSession, name: str) -> Table:
    try:
        detail = read_detail(spark, name)
        kind = str(detail["format"] or "").lower()
        if kind != "delta":
            return Table(name=name, kind=f"{kind} table")
        return Table(name=name, kind=kind, id=detail["id"], version=read_log(spark, name, 1)[0].version)
    except Exception:  # the plan fails if it is not there; here it is one without a version
        with suppress(Exception):
            return Table(name=name, kind="view" if spark.catalog.tableExists(name) else "")
        return Table(name=name, kind="")


def _describe_file(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size} bytes, {_hash_file(path, found.st_size, found.st_mtime_ns, found.st_ino)}"


@lru_cache(maxsize=4096)
def _hash_file(path: Path, _size: int, _modified: int, _inode: int) -> str:
    """Hash a file once for each of its states: a run asks before it reads it, and after the MERGE."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
