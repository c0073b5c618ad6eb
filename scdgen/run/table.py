"""The target of a spec: whether it exists, its columns and versions, and how it is put back if a run fails."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scdgen import sql
from scdgen.patterns.columns import Target
from scdgen.patterns.evolve import Existing
from scdgen.run.delta import Commit, read_format, read_log, render_restore
from scdgen.spec.model import Spec
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_numbers = itertools.count(1)
_FOLLOWING = 50  # commits of other writers that may lie between a run's own commit and its reading of the log


class TargetTable:
    """One spec's table on one session."""

    def __init__(self, spark: SparkSession, spec: Spec):
        self.spark = spark
        self.name = sql.quote_parts(spec.target_parts)

    def exists(self) -> bool:
        """Whether the table exists."""
        return bool(self.spark.catalog.tableExists(self.name))

    def read_version(self) -> int:
        """The newest Delta version."""
        return read_log(self.spark, self.name, 1)[0].version

    def find_commit(self, run_id: str) -> tuple[int, Commit | None]:
        """The newest Delta version, and the run's own newest commit, which other writers' may follow.

        With an empty ``run_id`` there is no own commit: the run wrote nothing, or could not write its name.
        """
        newest = read_log(self.spark, self.name, 1)
        if not run_id:
            return newest[0].version, None
        found = newest if newest[0].run == run_id else read_log(self.spark, self.name, _FOLLOWING)
        return newest[0].version, next((commit for commit in found if commit.run == run_id), None)

    def create_views(self, current: str | None, script: str, created: bool) -> None:
        """Create the views if the run ``created`` the table, or if the view of the open versions does not exist."""
        name = sql.quote_parts(sql.split_name(current)) if current else ""
        if script and (created or (name and not self.spark.catalog.tableExists(name))):
            for statement in split_statements(script):
                self.spark.sql(statement).collect()

    def read_existing(self) -> Existing:
        """Its columns and properties."""
        fields = self.spark.table(self.name).schema.fields
        properties = self.spark.sql(f"SHOW TBLPROPERTIES {self.name}").collect()
        found = Existing(
            {field.name: (field.dataType.simpleString(), field.nullable) for field in fields},
            {row["key"]: row["value"] for row in properties},
        )
        return found if found.adopted else replace(found, kind=self._read_kind())

    def _read_kind(self) -> str:
        """``view``, or the format of the table's files; ``delta`` if the catalog does not know it."""
        with suppress(Exception):
            if self.spark.catalog.getTable(self.name).tableType in {"VIEW", "TEMPORARY"}:
                return "view"
            return read_format(self.spark, self.name)
        return "delta"

    @contextmanager
    def view_with_columns(self, missing: Sequence[Target]) -> Iterator[str | None]:
        """The name of a view of the table with more columns, all NULL; ``None`` if no column is missing.

        If the table does not exist the view is empty, and ``missing`` are all its columns.
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
    def restore_on_failure(self, created: bool, steps: int, run_id: str) -> Iterator[None]:
        """Undo a CREATE, or up to ``steps`` versions that change columns, if this block fails.

        ``run_id`` is what the commits of the run name. The data needs no such care, because it changes in one MERGE.
        """
        before = 0 if created or not steps else self.read_version()
        try:
            yield
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                # Another run may have created it at the same time: each commit names its run.
                if created and self.exists() and [c.run for c in read_log(self.spark, self.name, 2)] == [run_id]:
                    self.spark.sql(f"DROP TABLE {self.name}").collect()
                # If another writer has committed since, an additional column does no harm.
                elif not created and steps and before < self.read_version() <= before + steps:
                    self.spark.sql(render_restore(self.name, before)).collect()
            raise
