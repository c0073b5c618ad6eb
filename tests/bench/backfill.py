"""A history loaded whole by ``feed: versions``, beside its changes loaded step by step, and all of them at once.

The source is a table of versions; a step brings the changes of one time, in the order in which they happened, as the
runs of that time would have. All tables must come out with the same rows.

    python -m tests.bench.backfill [--keys N] [--versions N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from scdgen import Runner, load_spec_text
from scdgen.model.spec import Spec
from tests.bench.data import SCHEMA, Size, make_history, names
from tests.bench.history import Measured, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORY = "given"


def spec_of(size: Size, table: str, feed: str) -> Spec:
    """The spec of a table in the default layout, with the history as its source."""
    columns = ", ".join(["id: bigint", "part: int", *(f"{name}: string" for name in names(size))])
    return load_spec_text(
        f"target: {SCHEMA}.{table}\npattern: scd2\n"
        f"source: {{table: {SCHEMA}.{HISTORY}, effective_at: valid_from, {feed}}}\n"
        f"keys: [id]\ncolumns: {{{columns}}}\n"
    )


def load_versions(spark: SparkSession, size: Size, table: str) -> None:
    """Merge the versions in one run."""
    Runner(spark).run(spec_of(size, table, "feed: versions, effective_until: valid_to"))


def load_changes(spark: SparkSession, size: Size, table: str) -> None:
    """Merge the starts of all versions as changes, in one run."""
    Runner(spark).run(spec_of(size, table, "feed: changes"))


def load_steps(spark: SparkSession, size: Size, table: str) -> None:
    """Merge the changes of one time after the other, in a run each."""
    runner, spec, history = Runner(spark), spec_of(size, table, "feed: changes"), spark.table(f"{SCHEMA}.{HISTORY}")
    for (at,) in history.select("valid_from").distinct().orderBy("valid_from").collect():
        runner.run(spec, source=history.where(history.valid_from == at))


LOADS: dict[str, Callable[[SparkSession, Size, str], None]] = {
    "versions": load_versions,
    "changes": load_changes,
    "steps": load_steps,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--versions", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    size = Size(keys=given.keys, versions=given.versions)
    found = {name: Measured() for name in LOADS}
    with bench_session() as spark:
        make_history(spark, size, HISTORY)
        load_versions(spark, size.but(keys=1), "t_warm")
        for number in range(given.rounds):
            for name in list(LOADS)[:: 1 if number % 2 else -1]:
                spark.sql(f"DROP TABLE IF EXISTS {SCHEMA}.t_{name}")
                begin = time.monotonic()
                LOADS[name](spark, size, f"t_{name}")
                found[name].seconds.append(time.monotonic() - begin)
            for name in LOADS:
                assert same(spark, f"t_{name}", HISTORY), f"{name} loaded other rows"
    print(f"{size.rows:,} rows of {size.versions} versions:")
    for name, one in found.items():
        rounds = " ".join(f"{taken:.1f}" for taken in one.seconds)
        print(f"  {name:<10} {one.median:6.2f} s  {one.ratio(found['versions']):5.2f} of versions  [{rounds}]")


if __name__ == "__main__":
    main()
