"""Kills a run at random moments and starts it again: python tests/tools/crash.py --what stream --times 10 --seed 1

The tables of a stream must then equal those of an undisturbed one, and each table must have merged each batch
once. For runs of a folder see tests/tools/crash_batch.py.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.killable import Killable  # noqa: E402
from tests.support.visitor import views, write  # noqa: E402
from tests.tools.crash_batch import killed_batches  # noqa: E402

NAMES = ("first_dates", "user_mapping", "visitor_lookup", "visitor_lookup_direct")


def stream(folder: Path, warehouse: str) -> Killable:
    """One `scdgen stream`."""
    return Killable(
        folder, "stream", "visitor", "--source", "in", "--checkpoint", f"{warehouse}-cp", "--warehouse", warehouse,
        "--param", "last_run=2030-01-01 00:00:00",
    )  # fmt: skip


def killed(folder: Path, times: int, seed: int, names: Sequence[str] = NAMES, files: int = 6) -> list[str]:
    """Kill and restart; return the problems found. Prints a line per kill."""
    rng = random.Random(seed)
    write(folder / "in", views(seed, cookies=60, files=files, partitions=3))
    (folder / "visitor").mkdir()
    specs = ROOT / "specs" / "visitor"
    (folder / "visitor" / "defaults.yml").write_text((specs / "defaults.yml").read_text())
    for name in names:
        text = (specs / f"{name}.yml").read_text()
        (folder / "visitor" / f"{name}.yml").write_text(text + "stream: {options: {maxFilesPerTrigger: 1}}\n")
    each = (stream(folder, "calm").ended() or 0) / files
    print(f"undisturbed: {each:.1f} s per batch", flush=True)
    kills, rounds, finished = 0, 0, True
    while kills < times or not finished:
        rounds += finished
        process = stream(folder, f"killed-{rounds}")
        if kills == times:
            finished = process.ended() is not None
            continue
        wait = rng.uniform(0, 2 * each)
        finished = process.ended(wait) is not None
        kills += not finished
        what = "it had ended" if finished else f"kill {kills}"
        print(f"{what} {wait:.1f} s after the start of Spark, {len(process.lines) - 1} batches done", flush=True)
    return _differences(folder, files, rounds, names)


def _differences(folder: Path, files: int, rounds: int, names: Sequence[str]) -> list[str]:
    compare = "from tests.tools.crash import compared; import sys; print('\\n'.join(compared(*sys.argv[1:])))"
    done = subprocess.run(
        [sys.executable, "-c", compare, str(folder), str(files), str(rounds), *names],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


def compared(folder: str, files: str, rounds: str, *names: str) -> list[str]:
    """Compare the undisturbed warehouse with those of the kills, table by table. Runs in a separate process."""
    from scdgen.engine.session import local_session

    found: list[str] = []
    spark = local_session(Path(folder, "calm"), {"spark.sql.shuffle.partitions": "1"})
    for table in names:
        target = f"web.{table}"
        rows: list[Any] = []
        for warehouse in ("calm", *(f"killed-{number}" for number in range(1, int(rounds) + 1))):
            place = Path(folder, warehouse, "web.db", table)
            rows.append(sorted(map(tuple, spark.read.format("delta").load(str(place)).collect()), key=repr))
            merges = spark.sql(f"DESCRIBE HISTORY delta.`{place}`").where("operation = 'MERGE'").count()
            if merges > int(files):
                found.append(f"{target}: {merges} merges of {files} batches in the {warehouse} warehouse")
        for number, other in enumerate(rows[1:], 1):
            if other != rows[0]:
                found.append(f"{target}: {len(rows[0])} rows undisturbed, {len(other)} in killed-{number}, or others")
        if not rows[0]:
            found.append(f"{target}: no rows at all")
    spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Kills a run at random moments and starts it again.")
    parser.add_argument("--what", choices=["stream", "batch"], default="stream")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--batches", type=int, default=4, help="of a folder of specs, the first of which makes the tables"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.what == "batch":
            wrong = killed_batches(Path(folder), given.times, given.seed, given.batches)
        else:
            wrong = killed(Path(folder), given.times, given.seed)
    print("\n".join(wrong) or f"{given.times} kills: every table is as if nothing had happened, each batch once")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
