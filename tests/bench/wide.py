"""How the time of each command grows with the number of columns: reading the spec, plan, run and check.

The columns have the names of the source's. All numbers of columns are measured in the same rounds, and `run` gets a
clone of the same table each time. The memory is what Spark allocates to plan the queries of `plan.sql`.

    python -m tests.bench.wide [--keys N] [--columns N,N,…] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scdgen import Runner, load_spec_text, render
from tests.bench.data import SCHEMA, Size, make_batch, make_history, spec_of, spec_text
from tests.bench.history import Measured, clone
from tests.support.wide import Planner, create, find_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND = "scd2 changes, fill, mark"  # options that touch each column


def commands(spark: SparkSession, size: Size, place: int) -> dict[str, Callable[[], Any]]:
    """Name -> what is measured. They run in this order, so that `check` sees what `run` wrote."""
    spec, runner = spec_of(size, "t_round", f"{SCHEMA}.batch_{place}"), Runner(spark)
    # A text of its own each time, because what was read once is not read again.
    reads = iter(range(1_000_000))
    text = spec_text(size, "t_round", f"{SCHEMA}.batch_{place}")
    return {
        "generate": lambda: render(load_spec_text(f"# {next(reads)}\n{text}")),
        "plan": lambda: runner.plan(spec),
        "run": lambda: runner.run(spec),
        "check": lambda: runner.check(spec),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--columns", default="5,30,100,500")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    sizes = [Size(keys=given.keys, versions=2, changed=0.05, columns=int(n)) for n in given.columns.split(",")]
    found = {size: {name: Measured() for name in ("generate", "plan", "run", "check")} for size in sizes}
    with bench_session() as spark:
        for place, size in enumerate(sizes):
            make_history(spark, size, f"old_{place}")
            make_batch(spark, size, f"batch_{place}")
        for number in range(given.rounds + 1):
            for place, size in [*enumerate(sizes)][:: (-1) ** number]:
                clone(spark, "t_round", f"old_{place}")
                for name, command in commands(spark, size, place).items():
                    begin = time.monotonic()
                    command()
                    if number:
                        found[size][name].seconds.append(time.monotonic() - begin)
        planner = Planner(spark)
        allocated = {size: sum(planner.allocated(query) for query in plans(spark, size)) for size in sizes}
    first = sizes[0]
    for size in sizes:
        times = ", ".join(f"{name} {one.median:.2f} s" for name, one in found[size].items())
        grown = ", ".join(f"{name} {one.ratio(found[first][name]):.2f}" for name, one in found[size].items())
        print(f"{size.columns} columns: {times}, {allocated[size]} MB to plan; of the first: {grown}", flush=True)


def plans(spark: SparkSession, size: Size) -> list[str]:
    """The queries of plan.sql for a spec with options that touch each column."""
    spec = create(spark, KIND, size.columns)
    return [query for name, query in find_queries(spark, spec) if name.startswith("plan.sql")]


if __name__ == "__main__":
    main()
