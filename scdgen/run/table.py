"""The target as it is: whether it is there, its columns and version, and how a failed run is undone."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.patterns.columns import Target
from scdgen.patterns.evolve import Existing
from scdgen.run.delta import Commit, commits
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_numbers = itertools.count(1)
_SETTLED = 1.0  # seconds in which somebody who makes a table does something
_FOLLOWING = 50  # so many commits may other writers have made between a run's own and its reading of the log


def clear_unfinished(spark: SparkSession, error: BaseException) -> bool:
    """Remove what a CREATE left that was broken off before its first commit, as by a full disk; whether it is gone.

    Only below a local folder of an embedded Spark, and only what Delta makes before that commit: an empty log, and
    files that are still written. ``error`` is Delta's, which names the folder.
    """
    texts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(str(cause))
        cause = cause.__cause__
    named = re.search(r"associated location \('file:(/.*?)'\)", "\n".join(texts))
    if named is None or "connect" in type(spark).__module__:
        return False
    folder = Path("/" + named[1].lstrip("/"))
    found = _unfinished(folder)
    time.sleep(_SETTLED)
    if found is None or _unfinished(folder) != found:  # somebody is at work there
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _unfinished(folder: Path) -> dict[Path, int] | None:
    """What a broken-off CREATE left in a folder, with the times of change; ``None`` where there is more than that."""
    found = {}
    for path in folder.rglob("*"):
        temporary = path.is_dir() or re.fullmatch(r"\..*\.(tmp|crc)", path.name)
        if path.relative_to(folder).parts[0] != "_delta_log" or not temporary:
            return None
        found[path] = path.stat().st_mtime_ns
    return found if folder.is_dir() else None


class TargetTable:
    """One spec's table on one session."""

    def __init__(self, spark: SparkSession, spec: Spec):
        self.spark = spark
        self.name = sql.quote_parts(spec.target_parts)

    def exists(self) -> bool:
        """Whether the table is there."""
        return bool(self.spark.catalog.tableExists(self.name))

    def version(self) -> int:
        """The newest Delta version."""
        return commits(self.spark, self.name, 1)[0].version

    def written(self, run_id: str) -> tuple[int, Commit | None]:
        """The newest Delta version, and the run's own newest commit, which other writers' may follow.

        No commit is known as its own where ``run_id`` is empty: the run wrote none, or could not write its name.
        """
        newest = commits(self.spark, self.name, 1)
        if not run_id:
            return newest[0].version, None
        found = newest if newest[0].run == run_id else commits(self.spark, self.name, _FOLLOWING)
        return newest[0].version, next((commit for commit in found if commit.run == run_id), None)

    def make_views(self, current: str | None, script: str, created: bool) -> None:
        """Make the views with the table, or where the one of the open versions is not there."""
        name = sql.quote_parts(sql.split_name(current)) if current else ""
        if script and (created or (name and not self.spark.catalog.tableExists(name))):
            for statement in split_statements(script):
                self.spark.sql(statement).collect()

    def existing(self) -> Existing:
        """Its columns and properties."""
        fields = self.spark.table(self.name).schema.fields
        properties = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        found = Existing(
            {field.name: (field.dataType.simpleString(), field.nullable) for field in fields},
            {row["key"]: row["value"] for row in properties},
        )
        return found if found.adopted else replace(found, kind=self._kind())

    def _kind(self) -> str:
        """``view``, or the format of the table's files; ``delta`` where the catalog does not tell."""
        with suppress(Exception):
            if self.spark.catalog.getTable(self.name).tableType in {"VIEW", "TEMPORARY"}:
                return "view"
            return str(self.spark.sql(f"DESCRIBE DETAIL {self.name}").collect()[0]["format"] or "delta").lower()
        return "delta"

    @contextmanager
    def with_columns(self, missing: Sequence[Target]) -> Iterator[str | None]:
        """The name of a view of the table with more columns, all NULL; ``None`` where none is missing.

        Where there is no table the view is empty, and ``missing`` are all its columns.
        """
        if not missing:
            yield None
            return
        view = f"_scd_target_{next(_numbers)}"
        columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in missing)
        rows = f"SELECT *, {columns} FROM {self.name}" if self.exists() else f"SELECT {columns} WHERE FALSE"
        self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS {rows}")
        try:
            yield view
        finally:
            self.spark.catalog.dropTempView(view)

    @contextmanager
    def as_it_was_on_failure(self, created: bool, steps: int, named: str) -> Iterator[None]:
        """Around a run that makes the table, or changes its columns in up to ``steps`` versions: no trace of a failure.

        ``named`` is the run that the commits name. The data needs no such care, because it changes in one MERGE.
        """
        before = 0 if created or not steps else self.version()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # the first error is the one to hear
                # Another run may have made it in the same moment: each commit names its run.
                if created and self.exists() and [c.run for c in commits(self.spark, self.name, 2)] == [named]:
                    self.spark.sql(f"DROP TABLE {self.name}").collect()
                # Where somebody else has written since, a column more does no harm.
                elif not created and steps and before < self.version() <= before + steps:
                    self.spark.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {before}").collect()
            raise
