"""The stored versions of a table: asked for, read from Spark, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scdgen import sql
from scdgen.engine.failures import translate
from scdgen.errors import DataError, ScdgenError, UsageError, quoted
from scdgen.patterns.compile import versions_query
from scdgen.patterns.history import Times
from scdgen.run.json_rows import row_as_json
from scdgen.spec.model import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from scdgen.run.runner import Runner

UNTIL, OPEN = "_scd_until", "_scd_open"


@dataclass(frozen=True)
class Asked:
    """Which versions: of one key, valid at a time, the open ones; with those that are deletes or without."""

    keys: Mapping[str, object] = field(default_factory=dict)
    as_of: object = None
    current: bool = False
    deleted: bool = False

    @property
    def whole(self) -> bool:
        """Whether the history of a key comes without holes."""
        return self.as_of is None and not self.current

    def query(self, spec: Spec, templates: str | None = None) -> str:
        """The SQL. Raises :class:`UsageError` for a key or time that the spec does not have."""
        return versions_query(spec, self.keys, self.as_of, self.current, self.deleted, templates)


@dataclass(frozen=True)
class Found:
    """Rows in the order of keys and starts, each column -> value.

    Values are of the types of JSON: times, decimals and binary (hex) are text. A row of scd2 also has ``_scd_until``,
    the start of what comes next, NULL while the version is open, and ``_scd_open``. ``following`` is the row after
    the last one, where a limit left some out.
    """

    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    following: Mapping[str, Any] | None = None

    @property
    def tuples(self) -> list[tuple[Any, ...]]:
        """The rows, their columns alone."""
        return [tuple(row[name] for name in self.columns) for row in self.rows]


def require(runner: Runner, spec: Spec) -> None:
    """Raise :class:`DataError` where the target is not there."""
    if not runner.exists(spec):
        raise DataError(f"{spec.target}: there is no such table; run the spec first")


def frame(spark: SparkSession, spec: Spec, asked: Asked, templates: str | None = None) -> DataFrame:
    """The rows in order. Raises :class:`UsageError` for a key or time that the spec does not have or cannot read."""
    query = asked.query(spec, templates)
    given = [(f"--key {name}", str(value), spec.columns[name].type) for name, value in asked.keys.items()]
    if asked.as_of is not None:
        given.append(("--as-of", str(asked.as_of), spec.history.type.upper()))
    # The CAST of the query would fail with an error of Spark's, or find nothing, as the session's ANSI mode has it.
    tried = [f"TRY_CAST({sql.text_literal(text)} AS {kind}) IS NULL" for _, text, kind in given]
    failed = spark.sql(f"SELECT {', '.join(tried)}").collect()[0] if tried else ()
    for (option, text, kind), is_null in zip(given, failed, strict=True):
        if is_null:
            raise UsageError(f"{option}: {quoted(text)} is no {kind}; write it as `scdgen show` prints it")
    return spark.sql(query)


def read(runner: Runner, spec: Spec, asked: Asked, limit: int = 0) -> Found:
    """The rows themselves, ``limit`` at most (0: all). Raises what :meth:`Runner.versions` does."""
    require(runner, spec)
    try:
        rows = frame(runner.spark, spec, asked, runner.templates)
        times = Times(spec)
        more = (
            [f"CAST({times.until()} AS STRING) AS {UNTIL}", f"{times.is_open()} AS {OPEN}"]
            if spec.keeps_history
            else []
        )
        limited = rows.limit(limit + 1) if limit else rows
        collected = limited.alias("t").selectExpr(row_as_json(rows.schema.jsonValue(), more)).collect()
    except ScdgenError:
        raise
    except Exception as error:
        raise translate(spec, error) from error
    values = [json.loads(row[0]) for row in collected]
    cut = bool(limit) and len(values) > limit
    return Found(tuple(rows.columns), values[:limit] if cut else values, values[limit] if cut else None)
