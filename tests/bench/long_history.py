"""The same batch into histories of different length: the cost of more versions per key, for scdgen and the floor.

The floor finds the rows of the batch in every file of the table; scdgen's MERGE leaves out the files that hold nothing
but versions which ended before the batch. All histories are measured in the same rounds.

    python -m tests.bench.long_history [--keys N] [--versions N,N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time

from tests.bench.data import Size, make_batch, make_history, make_result
from tests.bench.history import Measured, clone
from tests.bench.methods import floor, scdgen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--versions", default="4,20,50")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    sizes = [Size(keys=given.keys, versions=int(versions)) for versions in given.versions.split(",")]
    found: dict[tuple[int, str], Measured] = {}
    with bench_session() as spark:
        for size in sizes:
            old, batch, result = (f"{name}_{size.versions}" for name in ("old", "batch", "result"))
            make_history(spark, size, old)
            make_batch(spark, size, batch)
            clone(spark, "t_first", old)
            scdgen(spark, size, "t_first", batch)
            make_result(spark, old, "t_first", result)
        turns = [(size, name) for size in sizes for name in ("scdgen", "floor")]
        for number in range(given.rounds + 1):
            for size, name in turns[:: (-1) ** number]:
                clone(spark, "t_long", f"old_{size.versions}")
                begin = time.monotonic()
                if name == "scdgen":
                    scdgen(spark, size, "t_long", f"batch_{size.versions}")
                else:
                    floor(spark, size, "t_long", f"result_{size.versions}")
                if number:
                    found.setdefault((size.versions, name), Measured()).seconds.append(time.monotonic() - begin)
    for size in sizes:
        ours, least = found[size.versions, "scdgen"], found[size.versions, "floor"]
        print(f"{size.rows:,} rows of {size.versions} versions, {size.batch_rows:,} changes:")
        for name, one in (("scdgen", ours), ("floor", least)):
            print(f"  {name:<8} {one.median:6.2f} s  [{' '.join(f'{taken:.1f}' for taken in one.seconds)}]")
        print(f"  scdgen is {ours.ratio(least):.2f} of the floor")
    for size in sizes[1:]:
        grown = found[size.versions, "scdgen"].ratio(found[sizes[0].versions, "scdgen"])
        print(f"from {sizes[0].versions} to {size.versions} versions: {grown:.2f} of the time", flush=True)


if __name__ == "__main__":
    main()
