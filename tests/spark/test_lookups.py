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
from scdgen.sql.tokens import split_statements
from tests.support.random_specs import LAST_RUN, Case, history, key, make_case
from tests.support.reference import History, Version, look_up, read_versions, replace_histories, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, FACTS = 60, 300
SCD2 = [seed for seed in range(1, 68) if seed % 4 != 3]  # fifty
LOOKUPS: dict[str, dict[str, Any]] = {
    "as_was": {"at": "ordered"},
    "as_first": {"at": "ordered", "before_first": "first"},
    "as_now": {"version": "current"},
}


@pytest.mark.parametrize("seed", [*SCD2[:2], *(pytest.param(seed, marks=pytest.mark.long) for seed in SCD2[2:])])
def test_each_fact_has_its_version(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    case = make_case(seed, f"looked.t{seed}", str(tmp_path))
    spec = load_spec_text(_document(case))
    state = replace_histories({}, [row for n in range(KEYS) for row in history(case, key(case, n))], case.meaning)
    _create(spark, case, spec, state)
    facts = list(_facts(case))
    kinds = ", ".join(f"who_{name} {'int' if i == 0 else 'string'}" for i, name in enumerate(case.how.keys))
    spark.createDataFrame(facts, f"fact int, {kinds}, ordered {case.kind}").createOrReplaceTempView("fact_rows")
    spark.sql("CREATE OR REPLACE TABLE looked.facts USING DELTA AS SELECT * FROM fact_rows")
    for statement in split_statements(render(spec).lookups):
        spark.sql(statement)
    for name in LOOKUPS:
        found = spark.sql(f"SELECT fact, dim_a, since FROM looked.{name}_{seed}")
        expected = [(fact[0], *_expected(case, state, name, fact)) for fact in facts]
        assert sorted(map(tuple, found.collect()), key=repr) == sorted(expected, key=repr), f"{name}\n{case.text}"
        plan = spark.sql(f"EXPLAIN SELECT * FROM looked.{name}_{seed}").collect()[0][0]
        assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
        assert "NestedLoop" not in plan and "Cartesian" not in plan, plan
        spark.sql(f"DROP VIEW looked.{name}_{seed}")
    spark.sql(f"DROP TABLE {spec.target}")


def _document(case: Case) -> str:
    """The spec with lookups, without what only a run needs."""
    document = {name: value for name, value in case.document.items() if name not in {"views", "overlays", "checks"}}
    document["table"] = {}
    keys = {name: f"who_{name}" for name in case.how.keys}
    document["lookups"] = {
        f"looked.{name}_{case.seed}": {
            "fact": "looked.facts", "keys": keys, "columns": {"a": "dim_a", "begins": "since"}, **options
        }
        for name, options in LOOKUPS.items()
    }  # fmt: skip
    return json.dumps(document)


def _create(spark: SparkSession, case: Case, spec: Spec, state: History) -> None:
    """Create the table with the versions of a history."""
    for statement in split_statements(render(spec).create):
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
    return (found.values["a"], found.start) if found else (None, None)
