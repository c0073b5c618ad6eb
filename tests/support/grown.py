"""Tables that grow batch by batch: the changes, the upsert to compare with, and the files that a batch opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

from scdgen import Spec, load_spec_text
from scdgen.facts.built import Source
from scdgen.facts.history import Times
from scdgen.facts.recorded import Reached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VALUES = ("a", "b", "c", "d", "e")
SOURCE = f"id BIGINT, {', '.join(f'{name} STRING' for name in VALUES)}, at TIMESTAMP"


@dataclass(frozen=True)
class Feed:
    """Batches of changes, one per day: a change of each of a random ``share`` of the ``keys``."""

    keys: int
    share: float = 0.1

    def rows(self, spark: SparkSession, number: int) -> DataFrame:
        """Select the changes of one batch; the same number gives the same rows."""
        values = ", ".join(f"CONCAT('{name} ', id, ' ', HASH(id, {number})) AS {name}" for name in VALUES)
        at = f"TIMESTAMPADD(SECOND, PMOD(HASH(id, {number}), 80000), {start_of(number)})"
        chosen = f"PMOD(XXHASH64(id, {number}), 10000) < {round(10_000 * self.share)}"
        return spark.sql(f"SELECT id, {values}, {at} AS at FROM RANGE({self.keys}) WHERE {chosen}")


def start_of(number: int) -> str:
    """SQL of the time at which a batch begins; none of its changes is earlier."""
    return f"TIMESTAMPADD(DAY, {number}, TIMESTAMP '2020-01-01')"


def spec_of(table: str, options: str = "", values: Sequence[str] = VALUES, extract: bool = False) -> Spec:
    """What a user would write for such a feed, or for some of its values; ``options`` are more lines of the spec.

    ``extract``: the source is a full extract.
    """
    columns = ", ".join(f"{name}: string" for name in values)
    feed = "feed: snapshot" if extract else "effective_at: at"
    return load_spec_text(
        f"target: {table}\npattern: scd2\nsource: {{table: nowhere, {feed}}}\nkeys: [id]\n"
        f"columns: {{id: bigint, {columns}}}\n{options}\n"
    )


def create_upserted(spark: SparkSession, table: str) -> None:
    """Create the table of :func:`upsert`, with deletion vectors like a table of scdgen's."""
    spark.sql(f"CREATE TABLE {table} ({SOURCE}) USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")


def upsert(table: str, rows: DataFrame) -> None:
    """Merge a batch into a table without history, by key."""
    rows.createOrReplaceTempView("upserted_rows")
    rows.sparkSession.sql(
        f"MERGE INTO {table} AS t USING upserted_rows AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()


def all_files(spark: SparkSession, table: str) -> dict[Path, int]:
    """List the data files of a table, which an upsert by key opens: path -> bytes."""
    return _sizes(spark.table(table))


def opened_files(spark: SparkSession, spec: Spec, bound: str) -> dict[Path, int]:
    """List the data files that Delta does not skip in a MERGE whose earliest change is at ``bound``: path -> bytes."""
    versions, times = spark.table(spec.target).alias("t"), Times(spec)
    reached = Reached.of(Source(spec), spec.target, bound)
    if reached is None:
        versions = versions.where(times.reachable(bound))
        return _sizes(versions.where(f"t.{spec.recorded.to} IS NULL") if spec.recorded else versions)
    now = versions.where(f"t.{reached.recorded_to} IS NULL")
    closed = now.where(reached.ends)
    reads = [versions.where(reached.flagged), closed]
    # The ON; a variable is a constant to it.
    merged = now.where(f"{reached.is_open} OR {reached.ends}")
    reads.append(merged.where(f"{reached.flagged} OR {not closed.isEmpty()}"))
    return {path: size for read in reads for path, size in _sizes(read).items()}


def _sizes(frame: DataFrame) -> dict[Path, int]:
    found = [Path(unquote(urlparse(name).path)) for name in frame.inputFiles()]
    return {path: path.stat().st_size for path in found}
