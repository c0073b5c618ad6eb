"""lookups.sql: random facts and histories through Spark and the reference; each fact exactly once."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import Spec, load_spec_text, render
from scdgen.cases.spark import collect
from scdgen.compile.statements import cut
from tests.conftest import by_tier
from tests.support.random_specs import BEGINNING, LAST_RUN, Case, history, key, make_case
from tests.support.reference import History, Version, look_up, read_versions, replace_histories, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, FACTS = 60, 300
SCD2 = [seed for seed in range(1, 68) if seed % 4 != 3]  # fifty
LOOKUPS: dict[str, dict[str, Any]] = {
    "as_was": {"at": "ordered"},
    "as_first": {"at": "ordered", "before_first": "first"},
    "as_now": {"version": "current"},
    "as_known": {"at": "ordered", "missing": "unknown"},
}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SCD2)
def test_each_fact_has_its_version(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = make_case(seed, f"looked.t{seed}", str(tmp_path))
    spec = load_spec_text(_document(case))
    state = replace_histories({}, [row for n in range(KEYS) for row in history(case, key(case, n))], case.meaning)
    _create(spark, case, spec, state)
    facts = list(_facts(case))
    kinds = ", ".join(f"who_{name} {'int' if i == 0 else 'string'}" for i, name in enumerate(case.how.keys))
    spark.createDataFrame(facts, f"fact int, {kinds}, ordered {case.kind}").createOrReplaceTempView("fact_rows")
    spark.sql("CREATE OR REPLACE TABLE looked.facts USING DELTA AS SELECT * FROM fact_rows")
    for statement in cut(render(spec).lookups).texts:
        spark.sql(statement)
    for name in LOOKUPS:
        found = spark.sql(f"SELECT fact, dim_a, since FROM looked.{name}_{seed}")
        expected = [(fact[0], *_expected(case, state, name, fact)) for fact in facts]
        assert sorted(collect(found), key=repr) == sorted(expected, key=repr), f"{name}\n{case.text}"
        plan = spark.sql(f"EXPLAIN SELECT * FROM looked.{name}_{seed}").collect()[0][0]
        assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
        # The unknown member is one row, which every fact meets.
        assert plan.count("NestedLoop") == (name == "as_known") and "Cartesian" not in plan, plan
        spark.sql(f"DROP VIEW looked.{name}_{seed}")
    spark.sql(f"DROP TABLE {spec.target}")


KEY_TYPES: dict[str, tuple[str, list[tuple[str, str, list[str]]]]] = {
    # type of the key -> keys of the dimension; then a type of facts, their keys as text, and those that match
    "int": (
        "1, 2",
        [
            ("string", "'1', '01', ' 1', '1.0', 'C-7', '', '9999999999', NULL", ["1"]),
            ("bigint", "1, 9, 9999999999, NULL", ["1"]),
            ("decimal(38, 10)", "1, 1.5", ["1.0000000000"]),
        ],
    ),
    "decimal(38, 0)": (
        "1, 9007199254740993",  # as DOUBLE, this one equals its neighbour
        [
            ("string", "'9007199254740993', '9007199254740992', '1.0', 'C-7'", ["9007199254740993"]),
            ("int", "1, 2", ["1"]),
        ],
    ),
    "string": ("'1', '01', 'C-7'", [("string", "'1', 'C-7', 'c'", ["1", "C-7"]), ("int", "1, 7", ["1"])]),
    "date": ("'2024-01-01'", [("string", "'2024-01-01', '2024-1-1', 'x'", ["2024-01-01"])]),
    "binary": ("'a'", [("string", "'a', 'b'", ["a"]), ("binary", "'a', 'b'", ["a"])]),
}  # fmt: skip


@pytest.mark.parametrize("kind", by_tier(KEY_TYPES, [], ["int"]))
def test_text_matches_only_key_written_alike(spark: SparkSession, kind: str) -> None:
    keys, facts = KEY_TYPES[kind]
    lookups = {
        f"looked.typed_{number}": {
            "query": f"SELECT CAST(k AS {given}) AS k FROM (SELECT EXPLODE(ARRAY({values})) AS k)",
            "version": "current", "keys": {"id": "k"}, "columns": {"id": "found"},
        }
        for number, (given, values, _) in enumerate(facts)
    }  # fmt: skip
    document = {
        "target": "looked.typed", "pattern": "scd2", "source": {"table": "nowhere", "effective_at": "at"},
        "keys": ["id"], "columns": {"id": kind}, "lookups": lookups,
    }  # fmt: skip
    scripts = render(load_spec_text(json.dumps(document)))
    for statement in cut(scripts.create).texts:
        spark.sql(statement)
    rows = f"SELECT CAST(k AS {kind}), TIMESTAMP '2024-01-01', NULL, TRUE FROM (SELECT EXPLODE(ARRAY({keys})) AS k)"
    spark.sql(f"INSERT INTO looked.typed {rows}")
    for statement in cut(scripts.lookups).texts:
        spark.sql(statement)
    for view, (_, values, expected) in zip(lookups, facts, strict=True):
        found = collect(spark.sql(f"SELECT CAST(k AS STRING), found IS NULL FROM {view}"))
        assert [row[0] for row in found if not row[1]] == expected, view
        assert len(found) == values.count(",") + 1, view
        plan = spark.sql(f"EXPLAIN SELECT * FROM {view}").collect()[0][0]
        assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
        spark.sql(f"DROP VIEW {view}")
    spark.sql("DROP TABLE looked.typed")


def _document(case: Case) -> str:
    """The spec with lookups, without what only a run needs."""
    document = {name: value for name, value in case.document.items() if name not in {"views", "overlays", "checks"}}
    document["table"] = {}
    keys = {name: f"who_{name}" for name in case.how.keys}
    document["members"] = {"unknown": {**dict(zip(case.how.keys, (-1, "none"), strict=False)), "a": "?"}}
    document["lookups"] = {
        f"looked.{name}_{case.seed}": {
            "fact": "looked.facts", "keys": keys, "columns": {"a": "dim_a", "begins": "since"}, **options
        }
        for name, options in LOOKUPS.items()
    }  # fmt: skip
    return json.dumps(document)


def _create(spark: SparkSession, case: Case, spec: Spec, state: History) -> None:
    """Create the table with the versions of a history."""
    for statement in cut(render(spec).create).texts:
        spark.sql(statement)
    how = replace(case.how, open_end=case.time(100)) if case.how.open_end == LAST_RUN else case.how
    rows = spark.createDataFrame(written(state, how), spark.table(spec.target).schema)
    rows.write.format("delta").mode("append").saveAsTable(spec.target)


def _facts(case: Case) -> Iterator[tuple[Any, ...]]:
    """Facts of keys with and without versions, before, in and after them; some have no key or no time, some copies."""
    rng = random.Random(f"{case.seed} facts")
    for number in range(FACTS):
        who: tuple[Any, ...] = key(case, rng.randrange(KEYS + 5))
        if rng.random() < 0.1:
            who = (None, *who[1:])
        fact = (number, *who, None if rng.random() < 0.1 else case.time(rng.randint(-2, 16)))
        yield fact
        if rng.random() < 0.05:
            yield fact


def _expected(case: Case, state: History, name: str, fact: tuple[Any, ...]) -> tuple[Any, Any]:
    versions = read_versions(state.get(fact[1:-1], []), case.meaning)
    found: Version | None
    if name == "as_now":
        found = versions[-1] if versions and versions[-1].end is None else None
    else:
        found = look_up(versions, fact[-1], before_first=name == "as_first")
    if found is None:
        return ("?", BEGINNING[case.kind]) if name == "as_known" else (None, None)
    return found.values["a"], found.start
