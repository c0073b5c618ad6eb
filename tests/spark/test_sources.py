"""Several sources of one table: random batches of each compared with the reference, and the commands that name them."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, Spec, load_spec_text
from tests.conftest import Called, rows_of, seeds
from tests.support.reference import (
    Change,
    History,
    Meaning,
    RefusedError,
    Written,
    merge_changes,
    merge_snapshot,
    replace_histories,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = dt.datetime(2024, 1, 1)
KEYS, BATCHES = 25, 4
SCHEMA = "id int, nm string, label string, name string, phone int, at timestamp, until timestamp, lsn int, gone boolean"
VALUE = {"changes": "nm", "initial": "label", "corrections": "name"}  # feed -> the column that it has the name in


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, range(1, 36)))


class Story:
    """A random spec with three sources, and what their batches mean."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"sources {seed}")
        self.deletes = self.rng.choice(["close", "mark", "ignore"])
        self.unchanged = self.rng.choice(["skip", "keep"])
        self.untracked = self.rng.random() < 0.5
        self.late = self.rng.choice([None, None, "ignore"])
        self.own_time = self.late == "ignore" and self.rng.random() < 0.5
        action, hashed = self.rng.random() < 0.5, self.rng.random() < 0.3
        tracked = ["name"] if self.untracked else ["name", "phone"]
        self.how = Written(
            keys=["id"],
            columns=["id", "name", "phone"],
            tracked=tracked,
            row_hash=hashed,
            action=action,
            deleted=self.deletes == "mark",
        )
        history = {"row_hash": "hash"} if hashed else {}
        history |= {"action": "action"} if action else {}
        history |= {"deleted": "is_deleted"} if self.deletes == "mark" else {}
        self.text = json.dumps({
            "target": f"feeds.t{seed}",
            "pattern": "scd2",
            "sources": {
                "changes": {"table": "nowhere", "effective_at": "at", "sequence_by": "lsn", "delete_when": "gone"},
                "initial": {"table": "nowhere", "feed": "snapshot", "effective_at": "at" if self.own_time else None},
                "corrections": {
                    "table": "nowhere", "feed": "versions", "effective_at": "at", "effective_until": "until",
                },
            },
            "snapshot": {"taken_at": ":taken"},
            "params": {"taken": "timestamp"},
            "keys": ["id"],
            "columns": {
                "id": "int",
                "name": {"type": "string", "from": VALUE},
                "phone": {"type": "int", "track": not self.untracked},
            },
            "history": history,
            "on_delete": self.deletes,
            "unchanged": self.unchanged,
            **({"late_arriving": self.late} if self.late else {}),
        })  # fmt: skip
        self.meaning = Meaning(
            tracked=tracked, on_delete=self.deletes, unchanged=self.unchanged, own_time=self.own_time,
            late_arriving=self.late or "apply",
        )  # fmt: skip

    def feeds(self) -> list[str]:
        """The feed of each batch: an extract, then each of them at least once."""
        more = ["changes", "corrections", *self.rng.choices([*VALUE], k=BATCHES - 3)]
        self.rng.shuffle(more)
        return ["initial", *more]

    def batch(self, feed: str, number: int) -> tuple[list[Change], dt.datetime]:
        """Rows of a feed, and the time at which an extract was taken; the days of batches overlap."""
        rng, days = self.rng, 10 * number + 10
        taken = START + dt.timedelta(days=days if rng.random() < 0.8 else days // 2)
        rows: list[Change] = []
        for key in rng.sample(range(1, KEYS + 1), KEYS - 4 if feed == "initial" else rng.randint(3, KEYS // 2)):
            if feed == "initial":
                at = START + dt.timedelta(days=rng.randint(0, days - 1)) if self.own_time else taken
                rows.append(Change((key,), at, self.values()))
                continue
            places = sorted(rng.sample(range(days + 1), rng.randint(2, 5)))
            times = [START + dt.timedelta(days=place) for place in places]
            if feed == "changes":
                rows += [
                    Change((key,), at, self.values(), (lsn,), deleted=rng.random() < 0.2)
                    for at in times
                    for lsn in range(rng.choice([1, 1, 2]))
                ]
                continue
            ends = itertools.pairwise(times)
            spans: list[tuple[Any, Any]] = [span for span in ends if rng.random() < 0.8]
            spans += [(times[-1], None)] if rng.random() < 0.5 or not spans else []
            rows += [Change((key,), at, self.values(), until=until) for at, until in spans]
        return rows, taken

    def values(self) -> dict[str, Any]:
        return {"name": self.rng.choice(["a", "b", "", None]), "phone": self.rng.choice([1, 2, None])}

    def meant(self, feed: str, state: History, rows: list[Change], taken: dt.datetime) -> History:
        if feed == "initial":
            return merge_snapshot(state, rows, taken, self.meaning)
        merge = merge_changes if feed == "changes" else replace_histories
        return merge(state, rows, self.meaning)


def frame_of(spark: SparkSession, feed: str, rows: list[Change]) -> DataFrame:
    """The rows with their name in the column of the feed, and a wrong one in the columns of the others."""
    data = []
    for row in rows:
        names = [row.values["name"] if VALUE[feed] == column else "wrong" for column in ("nm", "label", "name")]
        lsn = row.sequence[0] if row.sequence else None
        data.append((*row.key, *names, row.values["phone"], row.at, row.until, lsn, row.deleted))
    return spark.createDataFrame(data, SCHEMA)


def stored(spark: SparkSession, spec: Spec) -> list[tuple[Any, ...]]:
    names = [*spec.columns, *(name for _, name in spec.history.names())]
    return sorted((tuple(row) for row in spark.table(spec.target).select(*names).collect()), key=repr)


@pytest.mark.nightly
def test_random_feeds_equal_the_reference(spark: SparkSession, seed: int) -> None:
    """Each batch is planned, and loaded twice."""
    story = Story(seed)
    spec, runner, state = load_spec_text(story.text), Runner(spark), History()
    spark.sql(f"DROP TABLE IF EXISTS {spec.target}")
    for number, feed in enumerate(story.feeds()):
        rows, taken = story.batch(feed, number)
        source, params = frame_of(spark, feed, rows), {"taken": taken}
        for turn in ("first", "again"):
            label = f"seed {seed}, batch {number} ({feed}), {turn}\n{story.text}"
            try:
                after = story.meant(feed, state, rows, taken)
            except RefusedError as refused:
                with pytest.raises(DataError) as stopped:
                    runner.run(spec, source, params, feed=feed)
                assert stopped.value.rule == str(refused), label
                after = state
            else:
                plan = runner.plan(spec, source, params, feed=feed, rows=False)
                result = runner.run(spec, source, params, feed=feed)
                assert plan.counts.versions["opened"] == result.inserted, label
                if after == state:
                    assert (result.inserted, result.updated, result.deleted) == (0, 0, 0), label
            if number or after:
                assert stored(spark, spec) == written(after, story.how), label
            state = after
    assert not [check for check in runner.check(spec) if check.failures], story.text
    spark.sql(f"DROP TABLE {spec.target}")


SPEC = """target: feeds.customer
pattern: scd2
sources:
  changes: {table: feeds.changes, effective_at: changed_at}
  initial: {table: feeds.export, feed: snapshot}
snapshot: {taken_at: "TIMESTAMP '2024-02-01'"}
keys: [id]
columns:
  id: int
  city: {type: string, from: {changes: town, initial: city}}
stream: {checkpoint: HERE/customer}
"""


@pytest.fixture
def here(spark: Any, called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    """The tables of ``SPEC``, and its file in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("customer.yml").write_text(SPEC.replace("HERE", str(tmp_path)))
    spark.sql("CREATE SCHEMA IF NOT EXISTS feeds")
    for table in ("customer", "runs"):
        spark.sql(f"DROP TABLE IF EXISTS feeds.{table}")
    spark.sql("CREATE OR REPLACE TABLE feeds.export USING DELTA AS VALUES (1, 'Rome'), (2, 'Oslo') AS v (id, city)")
    spark.sql(
        "CREATE OR REPLACE TABLE feeds.changes USING DELTA AS "
        "VALUES (1, 'Bonn', TIMESTAMP '2024-03-01') AS v (id, town, changed_at)"
    )
    return called


@pytest.mark.verify
def test_commands_choose_and_show_the_feed(spark: Any, here: Called) -> None:
    status, out, err = here("plan", "customer.yml", "--feed", "initial", "--json")
    assert (status, err) == (0, "") and json.loads(out)["versions"]["opened"] == 2
    status, out, err = here("run", "customer.yml", "--feed", "initial", "--metrics", "feeds.runs", "--json")
    assert (status, err) == (0, "") and (json.loads(out)["feed"], json.loads(out)["inserted"]) == ("initial", 2)
    status, out, err = here("run", "customer.yml", "--metrics", "feeds.runs", "--json")
    assert (status, err) == (0, "") and (json.loads(out)["feed"], json.loads(out)["inserted"]) == ("changes", 1)
    assert [row[:2] for row in rows_of(spark, "feeds.customer")] == [(1, "Bonn"), (1, "Rome"), (2, "Oslo")]
    runs = spark.table("feeds.runs").orderBy("started_at").collect()
    assert [row.feed for row in runs] == ["initial", "changes"]
    assert len({row.spec_hash for row in runs}) == 1, "one spec, whatever its feed"
    status, out, err = here("history", "customer.yml", "--json")
    assert status == 0
    assert [json.loads(line)["feed"] for line in out.splitlines()] == ["changes", "initial", "initial"]
    status, out, err = here("history", "customer.yml")
    assert status == 0 and out.splitlines()[1].split()[:6] == ["version", "at", "operation", "run", "feed", "taken"]
    newest = json.loads(here("history", "customer.yml", "--json", "--limit", "1")[1])
    assert here("undo", "customer.yml", "--run", newest["run"], "--yes")[0] == 0
    undone = json.loads(here("history", "customer.yml", "--json", "--limit", "1")[1])
    assert (undone["undoes"], undone["feed"]) == (newest["run"], ""), "an undo reads no source"


@pytest.mark.nightly
def test_stream_reads_one_feed(spark: Any, here: Called, tmp_path: Path) -> None:
    """Each feed has its own checkpoint, so that two streams of one table do not share one."""
    for feed, rows in ((["--feed", "initial"], 2), ([], 1)):
        status, out, err = here("stream", "customer.yml", *feed, "--json")
        assert (status, err) == (0, "") and json.loads(out)["rows"] == rows
    assert {path.name for path in tmp_path.iterdir()} >= {"customer", "customer.initial"}
    assert [row[:2] for row in rows_of(spark, "feeds.customer")] == [(1, "Bonn"), (1, "Rome"), (2, "Oslo")]
