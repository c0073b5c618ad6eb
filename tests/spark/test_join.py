"""source.join: random histories of three tables through Spark and the reference; the tables must be equal."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import DataError, Runner, load_spec_text, render
from scdgen.compile.statements import cut
from tests.conftest import rows_of
from tests.support.random_specs import GAPS, LAST_RUN, OPEN_ENDS, TYPES, Case, history, key, make_case
from tests.support.reference import (
    Change,
    History,
    Key,
    Period,
    RefusedError,
    join_histories,
    replace_histories,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 40
# Half of them specs of versions, the others of changes with the same options; no scd1, which keeps no versions.
SEEDS = [seed for seed in range(6, 110) if seed % 4 != 3 and seed % 8 != 2][:52]
ALIASES = {"c": "a", "p": "b", "q": "c"}  # alias -> the column of the spec that comes from it
Tables = dict[str, dict[Key, list[Period]]]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", SEEDS)
def test_joined_histories_equal_the_reference(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    joined = _Joined(spark, seed, tmp_path)
    tables, state = joined.tables("first"), History()
    state = joined.check(tables, state)
    for table in tables.values():  # every fourth key changes in one table, later than all before
        for name in [name for number, name in enumerate(table) if number % 4 == 0]:
            last = table[name][-1]
            if last.end is None and joined.drawn.random() < 0.5:
                table[name][-1] = replace(last, end=joined.case.time(20))
                table[name].append(
                    Period(joined.case.time(20), None, {n: "new" for n in last.values if n != "b"} or {"b": 2})
                )
    state = joined.check(tables, state, since=joined.case.time(20))
    state = joined.check(joined.tables("again"), state)
    both = [name for name in tables["c"].keys() & tables["q"].keys() if tables["c"][name][-1].end is None]
    name = next(name for name in sorted(both) if tables["q"][name][-1].end is None)
    tables["q"][name].append(Period(joined.case.time(21), None, {"c": "other"}))
    joined.check(tables, state)
    joined.drop()


PLANNED = """
target: joined.planned
pattern: scd2
source:
  feed: versions
  join:
    c: {table: joined_planned, keys: {id: id}}
    a: {table: joined_planned, keys: {id: other}}
  changed_since: :since
params: {since: {type: timestamp, default: "NULL"}}
keys: [id]
columns: {id: {type: int, from: c.id}, name: {type: string, from: c.name}, city: {type: string, from: a.name}}
"""


@pytest.mark.verify
def test_merge_of_join_compares_keys_by_hash(spark: SparkSession) -> None:
    # Of one row, Spark knows the key.
    source = _source_of_join(spark, [(1, 2, "a", "2024-01-01", None), (2, 1, "b", "2024-01-01", None)])
    plan = spark.sql(f"EXPLAIN {source}").collect()[0][0]
    assert "HashJoin" in plan or "SortMergeJoin" in plan, plan
    assert "NestedLoop" not in plan and "Cartesian" not in plan, plan
    source = _source_of_join(spark, [(1, 1, "a", "2024-01-01", None), (None, 2, "b", "2024-01-01", None)])
    with pytest.raises(Exception, match="SCDGEN_NULL_KEY"):  # an inner join would drop it before its rule
        spark.sql(source).collect()
    spark.sql("DROP TABLE joined.planned")


def _source_of_join(spark: SparkSession, rows: list[tuple[object, ...]]) -> str:
    """Put rows into the table that a spec joins with itself, and return the query that its MERGE reads."""
    schema = "id int, other int, name string, valid_from string, valid_to string"
    spark.createDataFrame(rows, schema).createOrReplaceTempView("joined_planned")
    scripts = render(load_spec_text(PLANNED))
    *before, merge = cut(scripts.merge).texts
    for statement in [*cut(scripts.create).texts, *before]:
        spark.sql(statement)
    return merge.partition(" USING (\n")[2].rpartition("\n) AS s\n")[0]


class _Joined:
    """A random spec that joins three tables, each with keys, times and ends in a form of its own."""

    def __init__(self, spark: SparkSession, seed: int, folder: Path):
        self.spark, self.drawn = spark, random.Random(f"{seed} join")
        self.case = case = _case_of(seed, str(folder))
        fit = [form for form in OPEN_ENDS[case.kind] if form[0] != LAST_RUN]
        self.forms = {alias: (self.drawn.choice(GAPS[case.kind]), self.drawn.choice(fit)) for alias in ALIASES}
        join: dict[str, Any] = {}
        for alias, (gap, open_end) in self.forms.items():
            join[alias] = {
                "table": f"joined_{alias}_{seed}",
                "keys": {name: f"{name}_of_{alias}" for name in case.how.keys},
                "valid_from": "began", "valid_to": "ended", "gap": gap[0], "open_end": open_end[0],
            }  # fmt: skip
        source, document = {"feed": "versions", "changed_since": ":since", "join": join}, case.document
        if case.least is not None:
            source["where"] = "p.value IS NULL OR p.value >= :least"
        document["source"] = source
        document["params"] = {**document.get("params", {}), "since": {"type": case.kind, "default": "NULL"}}
        document |= {"bad_rows": "fail", "conflicts": "fail", "columns": self._columns()}
        for option in ("late_arriving", "schema_evolution"):
            document.pop(option, None)
        self.spec = load_spec_text(case.text, name=f"seed {seed}")
        self.runner = Runner(spark)

    def _columns(self) -> dict[str, Any]:
        columns = self.case.document["columns"]
        of = {column: f"{alias}.value" for alias, column in ALIASES.items()}
        of |= {name: f"c.{name}_of_c" for name in self.case.how.keys} | {"bucket": "c.id_of_c % 3"}
        kept = ("type", "track", "comment", "nullable")
        return {
            name: {**{option: column[option] for option in kept if option in column}, "from": of[name]}
            for name, column in columns.items()
        }

    def tables(self, what: str) -> Tables:
        """Histories of most keys in each table; those of two tables lack some."""
        found: Tables = {}
        for alias, column in ALIASES.items():
            found[alias] = {}
            for name in [key(self.case, n) for n in range(KEYS) if self.drawn.random() < 0.8]:
                like = "first" if self.drawn.random() < 0.3 else what
                rows = history(replace(self.case, random=random.Random(f"{name} {alias} {like}")), name)
                found[alias][name] = [Period(row.at, row.until, {column: row.values[column]}) for row in rows]
        return found

    def check(self, tables: Tables, state: History, since: Any = None) -> History:
        """Join the tables by Spark and by the reference, and again."""
        for alias, table in tables.items():
            self._write(alias, table)
        params = {"since": since, **self.case.params(self.case.time(100))}
        try:
            rows = join_histories(list(tables.values()), since)
            expected = replace_histories(state, self._read(rows), self.case.meaning)
        except RefusedError as refused:
            with pytest.raises(DataError) as stopped:
                self.runner.run(self.spec, params=params)
            assert stopped.value.rule == str(refused), self.case.text
            return state
        planned = None if state else self.runner.plan(self.spec, params=params, rows=False).counts
        result = self.runner.run(self.spec, params=params)
        assert self.stored() == written(expected, self._how()), self.case.text
        assert planned is None or planned.versions["opened"] == result.inserted
        again = self.runner.run(self.spec, params=params)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0), self.case.text
        failed = [check for check in self.runner.check(self.spec) if check.failures and check.name != "known_b"]
        assert not failed, f"{failed}\n{self.case.text}"
        return expected

    def stored(self) -> list[tuple[Any, ...]]:
        return rows_of(self.spark, self.spec.target)

    def _how(self) -> Any:
        how = self.case.how
        return replace(how, open_end=self.case.time(100)) if how.open_end == LAST_RUN else how

    def _read(self, rows: list[Change]) -> list[Change]:
        """The rows that source.where leaves, with the column that is computed from the key."""
        if "bucket" in self.case.how.columns:
            rows = [replace(row, values={**row.values, "bucket": row.key[0] % 3}) for row in rows]
        return self.case.read(rows)

    def _write(self, alias: str, table: dict[Key, list[Period]]) -> None:
        (gap, open_end), column = self.forms[alias], ALIASES[alias]
        kind = TYPES[self.case.kind]
        kinds = ["int" if number == 0 else "string" for number in range(len(self.case.how.keys))]
        listed = [f"{name}_of_{alias} {kind}" for name, kind in zip(self.case.how.keys, kinds, strict=True)]
        value = "int" if column == "b" else "string"
        shift: Callable[[Any], Any] = lambda end: end if gap[1] is None else end - gap[1]  # noqa: E731
        rows = [
            (*name, p.values[column], p.start, open_end[1] if p.end is None else shift(p.end))
            for name, periods in table.items()
            for p in periods
        ]
        self.drawn.shuffle(rows)
        frame = self.spark.createDataFrame(rows, f"{', '.join(listed)}, value {value}, began {kind}, ended {kind}")
        frame.coalesce(1).createOrReplaceTempView(f"joined_{alias}_{self.case.seed}")

    def drop(self) -> None:
        """Drop the table and what reads it."""
        views = self.spec.views
        for kind, name in (("VIEW", views.current), ("VIEW", views.overlay), ("FUNCTION", views.as_of)):
            if name:
                self.spark.sql(f"DROP {kind} IF EXISTS {name}")
        self.spark.sql(f"DROP TABLE {self.spec.target}")


def _case_of(seed: int, folder: str) -> Case:
    """The random spec of a seed with the options that a join has: NULL is a value, nothing compares or has an order."""
    case = make_case(seed, f"joined.t{seed}", folder)
    case.document.get("history", {}).pop("sequence", None)
    meaning = replace(case.meaning, nulls={}, compare={}, bad_rows="fail", conflicts="fail", keeps_sequence=False)
    return replace(case, meaning=meaning, how=replace(case.how, sequence=False))
