"""merge.sql, statement by statement, and merge.script.sql, one block with local variables, side by side.

``run`` is ``Runner.run``, which sends the statements of merge.sql and does more. A small batch shows what the
statements cost by themselves, a larger one whether files are skipped alike.

    python -m tests.bench.script [--keys N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from scdgen import Runner, render
from scdgen.compile.render import Compiler
from scdgen.compile.script import render_script
from scdgen.compile.statements import cut
from scdgen.sql.tokens import split_statements
from tests.bench.data import SCHEMA, Size, make_batch, make_history, spec_of
from tests.bench.history import Measured, clone, same
from tests.bench.methods import BATCH, OLD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def measure(spark: SparkSession, size: Size, rounds: int) -> dict[str, Measured]:
    """The three ways, on clones of one table, in interleaved rounds after one that warms up."""
    make_history(spark, size, OLD)
    make_batch(spark, size, BATCH)
    ways = ("statements", "script", "run")
    specs = {way: spec_of(size, f"t_{way}", f"{SCHEMA}.{BATCH}") for way in ways}
    texts = {
        "statements": split_statements(render(specs["statements"]).merge),
        "script": [render_script(cut(render(specs["script"]).merge), Compiler())],
    }
    found = {way: Measured() for way in ways}
    for number in range(rounds + 1):
        for way in ways[number % 3 :] + ways[: number % 3]:
            clone(spark, f"t_{way}")
            begin = time.monotonic()
            if way == "run":
                Runner(spark).run(specs[way])
            else:
                for statement in texts[way]:
                    spark.sql(statement).collect()
            if number:
                found[way].seconds.append(time.monotonic() - begin)
    for way in ways[1:]:
        assert same(spark, "t_statements", f"t_{way}"), f"{way} wrote other rows"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", default="10000,1000000", help="of each table, with commas")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    from tests.bench.session import bench_session

    with bench_session() as spark:
        for keys in map(int, given.keys.split(",")):
            size = Size(keys=keys)
            found = measure(spark, size, given.rounds)
            print(f"{size.rows:,} rows of {size.versions} versions, {size.batch_rows:,} changes:")
            for way, one in found.items():
                taken = " ".join(f"{seconds:.1f}" for seconds in one.seconds)
                print(
                    f"  {way:<10} {one.median:6.2f} s  {one.ratio(found['statements']):5.2f} of statements  [{taken}]"
                )


if __name__ == "__main__":
    main()
