"""``scdgen run`` of this checkout and of an earlier commit, from the shell: all that a user waits for, the start too.

Each case runs one command in turns on copies of one warehouse, and both have to print the same counts. ``three rows``
merges a file into a small table, ``changes`` 10,000 changes into 4,000,000 rows, ``again`` the same batch without a
change in it, and ``half`` a full extract in which half of the rows have changed. The first round warms up.

    python -m tests.bench.command --commit REF [--keys N] [--rounds N] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench.data import SCHEMA, Size, make_batch, make_history, names, spec_text
from tests.bench.history import Measured
from tests.bench.methods import BATCH, OLD
from tests.bench.session import FOLDER, ROOT
from tests.bench.snapshot import EXTRACT, make_extract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_RUN = ("run", "seconds")  # what each run prints of itself


@dataclass(frozen=True)
class Case:
    """A table and what a command merges into it: a table of its warehouse, or three rows in a file."""

    make: Callable[[SparkSession, Size], None]
    """Makes the source in a session that has the table."""
    size: Size
    """The size of the table and of the source."""
    source: str = BATCH
    """The name of the source; one that ends in ``.csv`` is a file."""

    @property
    def is_file(self) -> bool:
        """Whether the source is a file."""
        return self.source.endswith(".csv")

    def prepare(self, warehouse: Path) -> None:
        """Make the tables in an empty warehouse, and next to it the spec and the file."""
        from scdgen.engine.session import local_session

        spark = local_session(warehouse, {"spark.driver.memory": "6g"})
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        make_history(spark, self.size, OLD)
        self.make(spark, self.size)
        spark.stop()
        table = "nowhere" if self.is_file else f"{SCHEMA}.{self.source}"
        text = spec_text(self.size, OLD, table, snapshot=self.source == EXTRACT)
        (warehouse.parent / "spec.yml").write_text(text)
        if self.is_file:
            header = ["id", "part", *names(self.size), "changed_at"]
            rows = [[str(key), str(key), *("new" for _ in names(self.size)), "2026-01-01"] for key in range(3)]
            (warehouse.parent / self.source).write_text("\n".join(map(",".join, [header, *rows])) + "\n")

    def run(self, checkout: Path, warehouse: Path) -> tuple[float, dict[str, Any]]:
        """Run the command of a checkout on a copy of the warehouse; return its seconds and its counts."""
        folder = warehouse.parent
        copy = folder / "copy"
        # Files of data never change, those of the log may.
        shutil.copytree(
            warehouse, copy, copy_function=lambda old, new: (os.link if _is_data(old) else shutil.copy2)(old, new)
        )
        command = [sys.executable, "-m", "scdgen", "run", "spec.yml", "--warehouse", str(copy), "--format", "json"]
        command += ["--source", self.source] if self.is_file else []
        begin = time.monotonic()
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - begin
        if done.returncode:
            raise SystemExit(done.stderr)
        shutil.rmtree(copy)
        return seconds, {name: count for name, count in json.loads(done.stdout).items() if name not in _OF_RUN}


def _is_data(path: str) -> bool:
    return path.endswith(".parquet") and "_delta_log" not in path


def _make_changes(spark: SparkSession, size: Size) -> None:
    make_batch(spark, size, BATCH)


CASES = {
    "three rows": Case(lambda *_: None, Size(keys=10, versions=1), "changes.csv"),
    "changes": Case(_make_changes, Size()),
    "again": Case(_make_changes, Size(same=True)),
    "half": Case(make_extract, Size(keys=500_000, changed=0.5), EXTRACT),
}


def measure(case: Case, before: Path, rounds: int) -> tuple[Measured, Measured]:
    """The earlier command and this one, in interleaved rounds after one that warms up."""
    checkouts = {before: Measured(), ROOT: Measured()}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        warehouse = Path(folder) / "warehouse"
        case.prepare(warehouse)
        for number in range(rounds + 1):
            found = []
            for checkout in list(checkouts)[:: 1 if number % 2 else -1]:
                seconds, counts = case.run(checkout, warehouse)
                found.append(counts)
                if number:
                    checkouts[checkout].seconds.append(seconds)
            assert found[0] == found[1], f"the two commands count differently: {found}"
    return checkouts[before], checkouts[ROOT]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--commit", required=True)
    parser.add_argument("--keys", type=int, help="another number of keys")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(CASES))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder)
        archive = subprocess.run(["git", "archive", given.commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        for name in given.only.split(","):
            case = CASES[name]
            case = replace(case, size=case.size.but(keys=given.keys)) if given.keys else case
            before, now = measure(case, checkout, given.rounds)
            ratios = [one / other for one, other in zip(now.seconds, before.seconds, strict=True)]
            print(
                f"{name}: {given.commit} {before.median:.2f} s, now {now.median:.2f} s, ratio {now.ratio(before):.3f} "
                f"[{min(ratios):.2f} to {max(ratios):.2f}]",
                flush=True,
            )


if __name__ == "__main__":
    main()
