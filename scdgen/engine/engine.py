"""A SparkSession as the runner uses it: one run at a time, each statement as it is written, errors in our words."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scdgen.engine.diagnose import cause, explained
from scdgen.engine.session import ansi
from scdgen.engine.spark3 import session_of
from scdgen.errors import ScdgenError
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# pyspark logs every failed query as a page of JSON; the error itself says all of it.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)

_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_locks_guard = threading.Lock()


class Engine:
    """One session. ``lock`` is held by what sets its variables, and is the same for every engine on the session."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        with _locks_guard:
            self.lock = _locks.setdefault(session_of(spark), threading.RLock())

    @contextmanager
    def ready(self, bound: Spec, source: DataFrame | None) -> Iterator[None]:
        """Let this thread alone use the session, with ``source`` as the view that a spec reads.

        ``bound`` is a spec whose source and params are put in.
        """
        view = bound.source.table if source is not None else None
        with self.lock, ansi(self.spark):
            if source is not None and view is not None:
                # Spark forgets the rows kept of a plan with a view of just that plan: this one is of its own.
                source.where(f"'{view}' IS NOT NULL").createOrReplaceTempView(view)
            try:
                with self.translated(bound):
                    yield
            finally:
                if view is not None:
                    self.spark.catalog.dropTempView(view)

    def execute(self, script: str | Iterable[str]) -> None:
        """Run statements in order."""
        for statement in split_statements(script) if isinstance(script, str) else script:
            self.spark.sql(statement).collect()

    def rows_and_skipped(self, query: str) -> tuple[int | None, int]:
        """The numbers of :func:`scdgen.patterns.queries.source_counts`; where there is no query, none is skipped."""
        if not query:
            return None, 0
        rows, skipped = self.spark.sql(query).collect()[0]
        return int(rows), int(skipped)

    def frame(self, script: str) -> DataFrame:
        """The result of a script's last statement."""
        *before, last = split_statements(script)
        self.execute(before)
        return self.spark.sql(last)

    @contextmanager
    def translated(self, spec: Spec) -> Iterator[None]:
        """Inside of this an error of the engine is one of ours."""
        try:
            yield
        except ScdgenError:
            raise
        except Exception as error:
            known = cause(self.spark, spec, error)
            raise explained(self.spark, spec, known) from known
