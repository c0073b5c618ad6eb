"""A SparkSession as the runner uses it: one run at a time, each statement as it is written, errors in our words."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scdgen import pipeline
from scdgen.bind import bind
from scdgen.diagnose import question, rule_name
from scdgen.diagnose_cast import cast_error
from scdgen.errors import DataError, ScdgenError
from scdgen.failures import translate
from scdgen.session import ansi
from scdgen.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# pyspark logs every failed query as a page of JSON; the error itself says all of it.
for _logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL + 1)

_numbers = itertools.count(1)
_locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_locks_guard = threading.Lock()


class Engine:
    """One session. ``lock`` is held by what sets its variables, and is the same for every engine on the session."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        with _locks_guard:
            self.lock = _locks.setdefault(spark, threading.RLock())

    @contextmanager
    def ready(self, spec: Spec, source: DataFrame | None, params: Mapping[str, object] | None) -> Iterator[Spec]:
        """The spec with its source and params put in, while this thread alone uses the session."""
        view = f"_scd_source_{next(_numbers)}" if source is not None else None
        bound = bind(spec, view, params or {})
        with self.lock, ansi(self.spark):
            if source is not None and view is not None:
                source.createOrReplaceTempView(view)
            try:
                with self.translated(bound):
                    yield bound
            finally:
                if view is not None:
                    self.spark.catalog.dropTempView(view)

    def execute(self, script: str | Iterable[str]) -> None:
        """Run statements in order."""
        for statement in pipeline.statements(script) if isinstance(script, str) else script:
            self.spark.sql(statement).collect()

    def frame(self, script: str) -> DataFrame:
        """The result of a script's last statement."""
        *before, last = pipeline.statements(script)
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
            raise self._explain(spec, error) from error

    def _explain(self, spec: Spec, error: Exception) -> ScdgenError:
        """One of our errors for one of Spark's; for a broken rule, with the count and a sample."""
        broken = rule_name(str(error))
        if broken is None:
            return cast_error(self.spark, spec, error) or translate(spec, error)
        rule, message = broken
        count, sample = None, None
        query = question(spec, rule)
        if query is not None:
            try:
                count, sample = self.spark.sql(query).collect()[0]
                message += f" ({count} in all)" if "such as" in message else f" ({count} in all, such as {sample})"
            except Exception:  # the rule itself has been named; numbers are a courtesy
                count = None
        return DataError(message, rule=rule, count=count, sample=sample)
