"""The SQL of this checkout and of an earlier commit, side by side: what a change of the templates costs.

``changes`` and ``wide`` (100 tracked columns) merge a batch of changes, ``snapshot`` a full extract. In each round both
texts get a clone of the same table, in turns; the results are compared once.

    python -m tests.bench.before --commit REF [--keys N] [--rounds N] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import render
from scdgen.sql.tokens import split_statements
from tests.bench.data import SCHEMA, Size, make_batch, make_history, spec_of
from tests.bench.history import Measured, clone, same
from tests.bench.methods import BATCH, OLD
from tests.bench.session import ROOT
from tests.bench.snapshot import EXTRACT, make_extract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = {
    "changes": (Size(), False),
    "snapshot": (Size(), True),
    "wide": (Size(keys=200_000, columns=100), False),
}
_RENDER = """
import sys
from tests.bench.data import Size, spec_of
from scdgen import render
table, source, snapshot, keys, columns = sys.argv[1:]
print(render(spec_of(Size(keys=int(keys), columns=int(columns)), table, source, snapshot == "True")).merge)
"""


def earlier_merge(checkout: Path, size: Size, table: str, source: str, snapshot: bool) -> str:
    """merge.sql as the other checkout renders it."""
    arguments = [table, source, str(snapshot), str(size.keys), str(size.columns)]
    found = subprocess.run(
        [sys.executable, "-c", _RENDER, *arguments],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


def measure(spark: SparkSession, checkout: Path, size: Size, snapshot: bool, rounds: int) -> tuple[Measured, Measured]:
    """The earlier SQL and this one, on interleaved rounds after one that warms up."""
    make_history(spark, size, OLD)
    if snapshot:
        make_extract(spark, size)
    else:
        make_batch(spark, size, BATCH)
    source = f"{SCHEMA}.{EXTRACT if snapshot else BATCH}"
    texts = {
        "t_before": earlier_merge(checkout, size, "t_before", source, snapshot),
        "t_now": render(spec_of(size, "t_now", source, snapshot)).merge,
    }
    found = {table: Measured() for table in texts}
    for number in range(rounds + 1):
        for table in sorted(texts, reverse=number % 2 == 0):
            clone(spark, table)
            statements = split_statements(texts[table])
            begin = time.monotonic()
            for statement in statements:
                spark.sql(statement).collect()
            if number:
                found[table].seconds.append(time.monotonic() - begin)
        if not number:
            assert same(spark, "t_before", "t_now"), "the two texts wrote different rows"
    return found["t_before"], found["t_now"]


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
            size, snapshot = CASES[name]
            size = size.but(keys=given.keys) if given.keys else size
            before, now = measure(spark, Path(checkout), size, snapshot, given.rounds)
            ratios = [one / other for one, other in zip(now.seconds, before.seconds, strict=True)]
            print(f"{name}: {size.rows:,} rows, {size.columns} columns; {given.commit} {before.median:.2f} s, ", end="")
            print(
                f"now {now.median:.2f} s, ratio {now.ratio(before):.3f} [{min(ratios):.2f} to {max(ratios):.2f}]",
                flush=True,
            )


if __name__ == "__main__":
    main()
