"""The SQL of this checkout and of an earlier commit, side by side: what a change of the templates costs.

Each case merges one source, by both texts in turns, into copies of the same table; the results are compared once.
``changes``, ``forty`` and ``wide`` (5, 40 and 100 tracked columns) merge a batch, ``late`` a batch with one row that is
older than all stored versions of its key. ``snapshot 0``, ``1`` and ``50`` merge a full extract in which as many
percent of the rows have changed, ``deleted`` one that lacks 10% of the keys, with ``max_deleted``, and ``first`` the
first such extract. ``joined`` makes one history out of three, and ``joined again`` finds nothing to do. The last
numbers are the exchanges, sorts and scans that EXPLAIN lists for the source of each MERGE.

    python -m tests.bench.before --commit REF [--keys N] [--rounds N] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import load_spec_text, render
from scdgen.compile.statements import cut
from scdgen.engine.session import set_while
from tests.bench import joined
from tests.bench.data import SCHEMA, Size, make_batch, make_history, names, spec_text
from tests.bench.history import Measured, clone, merge_script, same
from tests.bench.methods import BATCH, OLD
from tests.bench.session import ROOT
from tests.bench.snapshot import EXTRACT, make_extract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Case:
    """A table and what is merged into it; ``feed`` is ``changes``, ``snapshot`` or ``join``.

    ``late``: the batch has one old row. ``guarded``: with ``max_deleted``. ``lacks``: one of this many keys is missing
    from the extract; 0 if none is. ``empty``: the table has no rows yet.
    """

    size: Size = field(default_factory=Size)
    feed: str = "changes"
    late: bool = False
    guarded: bool = False
    lacks: int = 0
    empty: bool = False

    def spec_text(self, table: str) -> str:
        """The spec of a table."""
        if self.feed == "join":
            return joined.spec_text(table)
        is_snapshot = self.feed == "snapshot"
        text = spec_text(self.size, table, f"{SCHEMA}.{EXTRACT if is_snapshot else BATCH}", is_snapshot)
        return text.replace("snapshot: {", "snapshot: {max_deleted: 0.5, ") if self.guarded else text

    def prepare(self, spark: SparkSession) -> None:
        """Make the table that is copied for each round, and the source."""
        size = self.size
        if self.feed == "join":
            joined.make_tables(spark, size.keys, size.versions)
            _make_empty(spark, self.spec_text(OLD), OLD)
            if not self.empty:
                merge_script(spark, render(load_spec_text(self.spec_text(OLD))).merge)
            return
        make_history(spark, size, OLD)
        if self.feed == "snapshot":
            make_extract(spark, size)
            if self.lacks:
                spark.sql(f"DELETE FROM {SCHEMA}.{EXTRACT} WHERE id % {self.lacks} = 0")
        else:
            make_batch(spark, size, BATCH)
        if self.late:
            values = ", ".join("'late'" for _ in names(size))
            spark.sql(f"INSERT INTO {SCHEMA}.{BATCH} SELECT 1, 1, {values}, TIMESTAMP '2009-01-01'")
        if self.empty:
            _make_empty(spark, self.spec_text(OLD), OLD)


CASES = {
    "changes": Case(),
    "late": Case(Size(keys=100_000, versions=20, changed=0.5), late=True),
    "forty": Case(Size(keys=500_000, columns=40)),
    "wide": Case(Size(keys=200_000, columns=100)),
    "snapshot 0": Case(Size(changed=0), feed="snapshot"),
    "snapshot 1": Case(feed="snapshot"),
    "snapshot 50": Case(Size(changed=0.5), feed="snapshot"),
    "deleted": Case(feed="snapshot", guarded=True, lacks=10),
    "first": Case(feed="snapshot", guarded=True, empty=True),
    "joined": Case(Size(keys=250_000), feed="join", empty=True),
    "joined again": Case(Size(keys=250_000), feed="join"),
}
NODES = "Exchange", "Sort", "FileScan"
_RENDER = """
import sys
from scdgen import load_spec_text, render
from scdgen.engine.session import set_while
print(render(load_spec_text(sys.stdin.read())).merge)
"""


def earlier_merge(checkout: Path, text: str) -> str:
    """merge.sql as the other checkout renders it."""
    found = subprocess.run(
        [sys.executable, "-c", _RENDER],
        input=text,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


def _make_empty(spark: SparkSession, text: str, table: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.{table}")
    for statement in cut(render(load_spec_text(text)).create).texts:
        spark.sql(statement)


def list_work(spark: SparkSession, script: str) -> str:
    """How many exchanges, sorts and scans the source of a MERGE plans.

    Planned without constraints: as a query of its own, one of 100 columns takes all memory for them, which as a part of
    a MERGE it does not (docs/decisions/0015-plans-of-wide-tables.md).
    """
    found = re.search(r"^MERGE INTO .*? USING \((.*?)^\) AS s$", script, re.DOTALL | re.MULTILINE)
    assert found, script
    with set_while(spark, {"spark.sql.constraintPropagation.enabled": "false"}):
        plan = spark.sql(f"EXPLAIN {found[1]}").collect()[0][0]
    counts = (len(re.findall(rf"^[\s:+|-]*(?:\*?\(\d+\) )?{node}\b", plan, re.MULTILINE)) for node in NODES)
    return " / ".join(map(str, counts))


def measure(spark: SparkSession, checkout: Path, case: Case, rounds: int) -> tuple[Measured, Measured, str]:
    """The earlier SQL and this one, on interleaved rounds after one that warms up, and the work of both."""
    case.prepare(spark)
    texts = {
        "t_before": earlier_merge(checkout, case.spec_text("t_before")),
        "t_now": render(load_spec_text(case.spec_text("t_now"))).merge,
    }
    found = {table: Measured() for table in texts}
    for number in range(rounds + 1):
        for table in sorted(texts, reverse=number % 2 == 0):
            clone(spark, table)
            begin = time.monotonic()
            merge_script(spark, texts[table])
            if number:
                found[table].seconds.append(time.monotonic() - begin)
        if not number:
            assert same(spark, "t_before", "t_now"), "the two texts wrote different rows"
    work = " -> ".join(list_work(spark, text) for text in texts.values())
    return found["t_before"], found["t_now"], work


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", required=True)
    parser.add_argument("--keys", type=int, help="another number of keys")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(CASES))
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with tempfile.TemporaryDirectory() as checkout, bench_session() as spark:
        archive = subprocess.run(["git", "archive", given.commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", checkout], input=archive, check=True)
        for name in given.only.split(","):
            case = CASES[name]
            case = replace(case, size=case.size.but(keys=given.keys)) if given.keys else case
            before, now, work = measure(spark, Path(checkout), case, given.rounds)
            ratios = [one / other for one, other in zip(now.seconds, before.seconds, strict=True)]
            size = case.size
            print(f"{name}: {size.rows:,} rows, {size.columns} columns; {given.commit} {before.median:.2f} s, ", end="")
            span = f"{min(ratios):.2f} to {max(ratios):.2f}"
            print(f"now {now.median:.2f} s, ratio {now.ratio(before):.3f} [{span}], {work}", flush=True)


if __name__ == "__main__":
    main()
