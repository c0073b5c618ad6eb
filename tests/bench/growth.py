"""How the time of a run grows with the table and the batch: one number of a size changes, the others are fixed.

The floor finds the rows of the batch in every file of the table; scdgen's MERGE leaves out the files that hold nothing
but versions which ended before the batch. All sizes of an axis are measured in the same rounds.

    python -m tests.bench.growth [--keys N] [--rounds N] [AXIS…]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from tests.bench.data import Size, make_batch, make_history, make_result
from tests.bench.history import Measured, clone
from tests.bench.methods import floor, scdgen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def axes(keys: int) -> dict[str, dict[Any, Size]]:
    """Axis -> value -> size."""
    large, base = Size(keys=5 * keys), Size(keys=keys)
    return {
        "versions per key": {n: large.but(versions=n) for n in (4, 20)},
        "changed keys, %": {100 * share: base.but(changed=share) for share in (0.0001, 0.1)},
        "late changes, %": {100 * share: base.but(late=share) for share in (0.0, 0.05)},
        "columns": {n: base.but(columns=n) for n in (5, 100)},
    }


def measure(spark: SparkSession, sizes: dict[Any, Size], rounds: int) -> dict[Any, dict[str, Measured]]:
    """Value of the axis -> the times of scdgen and of the floor, in interleaved rounds after a warm-up round."""
    found = {value: {"scdgen": Measured(), "floor": Measured()} for value in sizes}
    for place, size in enumerate(sizes.values()):
        make_history(spark, size, f"old_{place}")
        make_batch(spark, size, f"batch_{place}")
        clone(spark, "t_first", f"old_{place}")
        scdgen(spark, size, "t_first", f"batch_{place}")
        make_result(spark, f"old_{place}", "t_first", f"result_{place}")
    turns = [(place, value, name) for place, value in enumerate(sizes) for name in ("scdgen", "floor")]
    for number in range(rounds + 1):
        for place, value, name in turns[:: (-1) ** number]:
            clone(spark, "t_round", f"old_{place}")
            begin = time.monotonic()
            if name == "scdgen":
                scdgen(spark, sizes[value], "t_round", f"batch_{place}")
            else:
                floor(spark, sizes[value], "t_round", f"result_{place}")
            if number:
                found[value][name].seconds.append(time.monotonic() - begin)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("axes", nargs="*")
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        for axis, sizes in axes(given.keys).items():
            if given.axes and axis not in given.axes:
                continue
            found = measure(spark, sizes, given.rounds)
            first = next(iter(found.values()))
            for value, one in found.items():
                size = sizes[value]
                times = ", ".join(f"{name} {measured.median:.2f} s" for name, measured in one.items())
                grown = ", ".join(f"{name} {one[name].ratio(first[name]):.2f}" for name in one)
                print(
                    f"{axis} {value:g}: {size.rows:,} rows, {size.batch_rows:,} changes: {times}, "
                    f"ratio {one['scdgen'].ratio(one['floor']):.2f}; of the first: {grown}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
