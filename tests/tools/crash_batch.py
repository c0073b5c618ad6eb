"""Kills `scdgen run` on a folder of specs at random moments, for tests/tools/crash.py ``--what batch``.

Four batches go through three tables that read each other: the first creates them, the third adds a column. After each
kill every table must be as before the batch or as after it; a run without a kill must complete the
batch; and at the end every table must equal that of an undisturbed warehouse.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen import Runner, load_spec_text
from scdgen.engine.session import local_session, register_tables
from tests.conftest import SETTINGS
from tests.support.killable import Killable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 150
PEOPLE = """target: crash.people
pattern: scd2
schema_evolution: add_columns
source: {{path: {folder}/people.json, format: json, effective_at: CAST(at AS TIMESTAMP), delete_when: gone}}
keys: [id]
columns: {{id: int, name: string, city: string{more}}}
"""
CITIES = """target: crash.cities
pattern: scd1
source:
  query: SELECT city, COUNT(*) AS people FROM crash.people WHERE is_current GROUP BY city
  feed: snapshot
keys: [city]
columns: {city: string, people: bigint}
"""
SIZES = """target: crash.sizes
pattern: scd2
source: {table: crash.cities, feed: snapshot}
snapshot: {taken_at: ":taken"}
params: {taken: timestamp}
keys: [city]
columns: {city: string, people: bigint}
"""
NAMES = ("people", "cities", "sizes")
State = dict[str, Counter[str]]


def texts(folder: Path, batch: int) -> dict[str, str]:
    """The specs of a batch."""
    people = PEOPLE.format(folder=folder, more=", email: string" if batch >= 2 else "")
    return {"people": people, "cities": CITIES, "sizes": SIZES}


def land(folder: Path, batch: int, seed: int) -> None:
    """Write the specs and the rows of a batch; some rows arrive late."""
    rng = random.Random(f"{seed} {batch}")
    for name, text in texts(folder, batch).items():
        (folder / "specs" / f"{name}.yml").write_text(text)
    rows = {}
    for _ in range(KEYS):
        row = {
            "id": rng.randrange(KEYS), "name": rng.choice("abcdef"), "city": rng.choice(["Oslo", "Rome", "Bonn"]),
            "email": rng.choice(["x@a", "y@b", None]), "gone": rng.random() < 0.1,
            "at": f"2024-0{max(1, batch + 1 - (rng.random() < 0.2))}-{rng.randint(1, 28):02d} 00:00:00",
        }  # fmt: skip
        rows[row["id"], row["at"]] = row
    (folder / "people.json").write_text("".join(json.dumps(row) + "\n" for row in rows.values()))


def run(folder: Path, warehouse: str, batch: int) -> Killable:
    """One `scdgen run` of the folder."""
    # Few threads and little compilation; otherwise starting Spark takes nearly all of the time.
    settings = {**SETTINGS, "spark.driver.memory": "1g"}
    return Killable(
        folder, "run", "specs", "--warehouse", warehouse, "--param", f"taken=2024-0{batch + 2}-01 00:00:00",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
    )  # fmt: skip


def states(spark: SparkSession, warehouse: Path) -> State:
    """Table -> its rows without NULLs, so a new column makes no difference. A missing table equals an empty one."""
    register_tables(spark, warehouse)
    found: State = {}
    for name in NAMES:
        place = warehouse / "crash.db" / name
        there = (place / "_delta_log" / f"{0:020}.json").exists()
        rows = spark.read.format("delta").load(str(place)).collect() if there else []
        found[name] = Counter(str({k: v for k, v in row.asDict().items() if v is not None}) for row in rows)
    return found


def broken(spark: SparkSession, folder: Path, batch: int, named: str) -> Iterator[str]:
    """The checks that fail, by the spec of the batch if the table has its columns."""
    for name in NAMES:
        if not spark.catalog.tableExists(f"crash.{name}"):
            continue
        new = "email" in spark.table(f"crash.{name}").columns
        spec = load_spec_text(texts(folder, 2 if new else min(batch, 1))[name])
        yield from (f"{named}: crash.{name}: {c.name} fails" for c in Runner(spark).check(spec) if c.failures)


def forgotten(spark: SparkSession, warehouse: Path) -> None:
    """Forget the tables of another warehouse, and empty this one."""
    spark.sql("DROP SCHEMA IF EXISTS crash CASCADE")
    warehouse.mkdir()


def killed_batches(folder: Path, times: int, seed: int, batches: int = 4, each: int = 3) -> list[str]:
    """Kill runs and let them complete; return the problems found. Prints a line per kill.

    ``each`` is the maximum number of kills per batch.
    """
    (folder / "specs").mkdir()
    spark = local_session(folder / "inspector", {**SETTINGS, "spark.driver.memory": "1g"})
    try:
        return _killed(spark, folder, times, random.Random(seed), seed, batches, each)
    finally:
        spark.stop()


def _killed(
    spark: SparkSession, folder: Path, times: int, rng: random.Random, seed: int, batches: int, each: int
) -> list[str]:
    calm = folder / "calm"
    after: list[State] = [{name: Counter() for name in NAMES}]
    seconds: list[float] = []
    forgotten(spark, calm)
    for batch in range(batches):
        land(folder, batch, seed)
        seconds.append(run(folder, "calm", batch).ended() or 0)
        after.append(states(spark, calm))
        if not all(after[-1].values()) or after[-1]["people"] == after[-2]["people"]:
            return [f"batch {batch} changes nothing, and its kills show nothing"]
    print(f"undisturbed: {', '.join(f'{s:.1f}' for s in seconds)} s per batch after the start of Spark", flush=True)
    wrong: list[str] = []
    kills, seen = 0, Counter[str]()
    while kills < times and not wrong:
        warehouse = folder / f"killed-{kills}"  # Delta caches what was at a path
        forgotten(spark, warehouse)
        for batch in range(batches):
            land(folder, batch, seed)
            for _ in range(min(each, times - kills)):
                kills += 1
                wait = rng.uniform(0, seconds[batch])
                done = run(folder, warehouse.name, batch).ended(wait) is not None
                found = states(spark, warehouse)
                words = {
                    name: "new" if found[name] == after[batch + 1][name]
                    else "old" if found[name] == after[batch][name] else "torn"
                    for name in NAMES
                }  # fmt: skip
                what = "it had ended" if done else f"killed after {wait:.1f} s"
                print(f"{kills}: batch {batch}, {what}: {', '.join(f'{n} {w}' for n, w in words.items())}", flush=True)
                wrong += [f"kill {kills}: crash.{name} is neither" for name, word in words.items() if word == "torn"]
                wrong += broken(spark, folder, batch, f"kill {kills}")
                seen["ended" if done else "killed"] += 1
                seen["between the tables"] += len(set(words.values())) > 1
            run(folder, warehouse.name, batch).ended()
            found = states(spark, warehouse)
            wrong += [f"batch {batch}, completed: crash.{n} differs" for n in NAMES if found[n] != after[batch + 1][n]]
            wrong += broken(spark, folder, batch, f"batch {batch}, completed")
    print(", ".join(f"{number} {what}" for what, number in seen.items()), flush=True)
    return wrong
