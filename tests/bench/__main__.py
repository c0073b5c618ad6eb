"""Run all parts of the bench; their output is kept in .build/bench/results.

It runs in a separate environment with dbt and scdgen, and records SQLMesh's SQL in another one.

    python -m tests.bench [--quick] [PART…]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess

from tests.bench.rivals import DBT, SQLMESH, environment
from tests.bench.session import FOLDER, ROOT

# Part -> module and arguments; then the arguments of --quick, which only shows that the part works.
PARTS = {
    "grown": (["grown"], ["--keys", "2000", "--batches", "3,6", "--rounds", "1"]),
    "recorded": (
        ["grown", "--batches", "100", "--rounds", "9", "--table", "default", "--table", "recorded"],
        ["--keys", "2000", "--batches", "6", "--rounds", "1"],
    ),
    "history": (["history", "--rounds", "3"], ["--keys", "20000", "--rounds", "1"]),
    "replay": (["replay", "--rounds", "3"], ["--keys", "20000", "--rounds", "1"]),
    "growth": (["growth", "--rounds", "2"], ["--keys", "3000", "--rounds", "1"]),
    "snapshot": (["snapshot", "--keys", "500000", "--rounds", "2"], ["--keys", "20000", "--rounds", "1"]),
    "scale": (["scale"], ["--keys", "2000,4000", "--files", "0,10", "--rounds", "1"]),
    "lookups": (["lookups", "--rounds", "2"], ["--facts", "20000", "--keys", "2000", "--rounds", "1"]),
    "joined": (["joined"], ["--keys", "2000"]),
    "backfill": (["backfill"], ["--keys", "500", "--versions", "4"]),
}
RIVALS = ("history",)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small tables: shows that it works, and no more")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is not a part; write some of {', '.join(PARTS)}")
    python = environment(FOLDER, "env", [*DBT, "-e", f"{ROOT}[fast,spark]"])
    sqlmesh = environment(FOLDER, "sqlmesh", [SQLMESH])
    results = FOLDER / "results"
    results.mkdir(parents=True, exist_ok=True)
    failed = 0
    for part in given.parts or PARTS:
        (module, *options), quick = PARTS[part]
        command = [str(python), "-m", f"tests.bench.{module}", *options, *(quick if given.quick else [])]
        if part in RIVALS:
            command += ["--sqlmesh", str(sqlmesh)]
        print(f"{part}: {platform.machine()}, {os.cpu_count()} cores", flush=True)
        with (results / f"{part}.txt").open("w") as file:
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                file.write(line)
            failed += process.wait() != 0
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
