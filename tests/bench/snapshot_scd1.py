"""Two ways to make an scd1 table equal to a full extract, measured in one run in interleaved rounds.

``staged``: what scdgen generates, a full outer join in the staging, so that only keys that differ reach the MERGE.
``by source``: the whole extract into the MERGE, with WHEN NOT MATCHED BY SOURCE THEN DELETE, after the same rules for
NULL keys, an empty extract and two rows of a key. ``bare``: the same without any rule.

    python -m tests.bench.snapshot_scd1 [keys] [rounds]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

from scdgen import Runner, load_spec_text, render
from scdgen.engine.session import local_session

SPEC = """
target: bench.TABLE
pattern: scd1
source: {table: bench.extract, feed: snapshot}
keys: [id]
columns: {id: bigint, name: string, amount: double, city: string}
"""
BY_SOURCE = """
MERGE INTO bench.TABLE AS t
USING (SOURCE) AS s
ON t.id = s.id
WHEN MATCHED AND NOT (STRUCT(t.name, t.amount, t.city) <=> STRUCT(s.name, s.amount, s.city)) THEN
    UPDATE SET name = s.name, amount = s.amount, city = s.city
WHEN NOT MATCHED THEN INSERT (id, name, amount, city) VALUES (s.id, s.name, s.amount, s.city)
WHEN NOT MATCHED BY SOURCE THEN DELETE
"""


def extract(keys: int, turn: int) -> str:
    """1 % of the keys changed, 0.1 % missing and 0.1 % new, different ones in each round."""
    return f"""
        SELECT id, CONCAT('name ', id, CASE WHEN id % 100 = {turn % 100} THEN ' {turn}' ELSE '' END) AS name,
            CAST(id % 1000 AS DOUBLE) AS amount, CONCAT('city ', id % 50) AS city
        FROM RANGE({keys // 1000 * turn}, {keys + keys // 1000 * turn})
    """


def main() -> None:
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        spark = local_session(folder)
        spark.sql("CREATE SCHEMA bench")
        runner, spec = Runner(spark), load_spec_text(SPEC.replace("TABLE", "staged"))
        spark.sql(f"CREATE TABLE bench.extract USING DELTA AS {extract(keys, 0)}")
        runner.run(spec)
        spark.sql(
            "CREATE TABLE bench.by_source USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
            "AS SELECT * FROM bench.extract"
        )
        spark.sql(
            "CREATE TABLE bench.bare USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
            "AS SELECT * FROM bench.extract"
        )
        merge = render(spec).merge
        ruled = merge[merge.index("WITH extract") : merge.index("    compared AS")].rstrip().rstrip(",")
        statements = {
            "by source": BY_SOURCE.replace("TABLE", "by_source").replace("SOURCE)", f"{ruled} SELECT * FROM snapshot)"),
            "bare": BY_SOURCE.replace("TABLE", "bare").replace("SOURCE)", "SELECT * FROM bench.extract)"),
        }
        times: dict[str, list[float]] = {"staged": [], "by source": [], "bare": []}
        for turn in range(1, rounds + 2):
            spark.sql(f"INSERT OVERWRITE bench.extract {extract(keys, turn)}")
            for name in sorted(times, reverse=turn % 2 == 0):
                begin = time.monotonic()
                if name == "staged":
                    runner.run(spec)
                else:
                    spark.sql(statements[name]).collect()
                if turn > 1:  # the first round warms up
                    times[name].append(time.monotonic() - begin)
            left, right = (spark.table(f"bench.{name}") for name in ("staged", "by_source"))
            assert left.exceptAll(right).isEmpty() and right.exceptAll(left).isEmpty(), "the tables differ"
        print(f"{keys} keys, {rounds} rounds, medians in seconds:")
        for name, found in times.items():
            print(f"  {name:<10} {statistics.median(found):6.2f}   {' '.join(f'{t:.2f}' for t in found)}")
        for name in ("by source", "bare"):
            ratios = [other / staged for other, staged in zip(times[name], times["staged"], strict=True)]
            print(f"  {name} / staged, round by round: {statistics.median(ratios):.2f}")
        spark.stop()


if __name__ == "__main__":
    main()
