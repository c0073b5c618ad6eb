"""Kills a stream at random moments and starts it again: python tests/crash.py --times 10 --seed 1

The tables must then equal those of a stream that nobody disturbed, and each table must have taken in each batch once.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.visitor import views, write  # noqa: E402

NAMES = ("first_dates", "user_mapping", "visitor_lookup", "visitor_lookup_direct")


def stream(warehouse: str) -> list[str]:
    return [
        sys.executable, "-m", "scdgen.cli", "stream", "visitor", "--source", "in", "--checkpoint", f"{warehouse}-cp",
        "--warehouse", warehouse, "--param", "last_run=2030-01-01 00:00:00",
    ]  # fmt: skip


def killed(folder: Path, times: int, seed: int, names: Sequence[str] = NAMES, files: int = 6) -> list[str]:
    """What is wrong after the kills: nothing, if all is well. Prints a line per kill."""
    rng = random.Random(seed)
    write(folder / "in", views(seed, cookies=60, files=files, partitions=3))
    (folder / "visitor").mkdir()
    for name in names:
        text = (ROOT / "specs" / "visitor" / f"{name}.yml").read_text()
        (folder / "visitor" / f"{name}.yml").write_text(text + "stream: {options: {maxFilesPerTrigger: 1}}\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begin = time.monotonic()
    subprocess.run(stream("calm"), cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    calm = time.monotonic() - begin
    for number in range(times):
        process = subprocess.Popen(
            stream("killed"), cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        # Most of the time goes into the start of Java; the moments lie where batches are merged.
        wait = rng.uniform(0.35 * calm, 0.35 * calm + 0.65 * calm * min(1.0, 2 / times))
        try:
            out, _ = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # Java with it
            out, _ = process.communicate()
        lines = len((out or "").splitlines())
        print(f"kill {number + 1} after {wait:.1f} s and {lines} finished batches", flush=True)
    subprocess.run(stream("killed"), cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return _differences(folder, files, names)


def _differences(folder: Path, files: int, names: Sequence[str]) -> list[str]:
    compare = "from tests.crash import compared; import sys; print('\\n'.join(compared(*sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", compare, str(folder), str(files), *names],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def compared(folder: str, files: str, *names: str) -> list[str]:
    """Run in a process of its own: the two warehouses, table by table."""
    from scdgen.session import local_session

    found: list[str] = []
    spark = local_session(Path(folder, "calm"), {"spark.sql.shuffle.partitions": "1"})
    for table in names:
        target = f"web.{table}"
        rows: list[Any] = []
        for warehouse in ("calm", "killed"):
            place = Path(folder, warehouse, "web.db", table)
            rows.append(sorted(map(tuple, spark.read.format("delta").load(str(place)).collect()), key=repr))
            merges = spark.sql(f"DESCRIBE HISTORY delta.`{place}`").where("operation = 'MERGE'").count()
            if merges > int(files):
                found.append(f"{target}: {merges} merges of {files} batches in the {warehouse} warehouse")
        if rows[0] != rows[1]:
            found.append(f"{target}: {len(rows[0])} rows undisturbed, {len(rows[1])} rows after the kills, or others")
        if not rows[0]:
            found.append(f"{target}: no rows at all")
    spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Kills a stream at random moments and starts it again.")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = killed(Path(folder), given.times, given.seed)
    print("\n".join(wrong) or f"{given.times} kills: every table is as if nothing had happened, each batch once")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
