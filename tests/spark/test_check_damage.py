"""Tables damaged on purpose: a key per kind of damage, and exactly the checks that must fail for it."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from scdgen import CheckResult, Runner, Spec, load_spec_text, render
from scdgen.compile.statements import cut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]
Damage = tuple[Callable[[Rows], Rows], str]
EPOCH = dt.datetime(2024, 1, 1)
OPEN = dt.datetime(9999, 12, 31, 23, 59, 59, 999000)


def at(number: int) -> dt.datetime:
    return EPOCH + dt.timedelta(days=number)


def until(number: int) -> dt.datetime:
    """The stored end of the version before the one of a day, with a gap of a microsecond."""
    return at(number) - dt.timedelta(microseconds=1)


def day(number: int) -> dt.date:
    return at(number).date()


def edit(*indices: int, **values: Any) -> Callable[[Rows], Rows]:
    """Change values in the versions at some places of a key."""
    return lambda rows: [{**row, **values} if i in indices else row for i, row in enumerate(rows)]


def repeat(index: int, **values: Any) -> Callable[[Rows], Rows]:
    """Insert a version again, with the same or other values."""
    return lambda rows: [*rows, {**rows[index], **values}]


def like(index: int, other: int, *names: str) -> Callable[[Rows], Rows]:
    """Copy values of one version into another."""
    return lambda rows: edit(index, **{name: rows[other][name] for name in names})(rows)


@dataclass(frozen=True)
class Case:
    """A spec, the changes of each key (time, name, is a delete), and the damages with the checks that fail."""

    spec: str
    changes: tuple[tuple[Any, str | None, bool], ...]
    damages: dict[str, Damage]


LITERAL = Case(
    """
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: string}
history: {gap: 1 microsecond, open_end: '9999-12-31 23:59:59.999', row_hash: hash, action: action,
          is_current: {name: flag, type: string, open: 'Y', closed: 'N'}}
""",
    # [10, 20) a, [20, 30) b and deleted, [50, 60) c, [60, …) d
    ((at(10), "a", False), (at(20), "b", False), (at(30), None, True), (at(50), "c", False), (at(60), "d", False)),
    {
        "nothing": (edit(0), ""),
        "two open versions": (edit(2, valid_to=OPEN, flag="Y"), "one_current no_overlap"),
        "three open versions": (edit(1, 2, valid_to=OPEN, flag="Y", action="U"), "one_current no_overlap*2"),
        "overlap": (edit(0, valid_to=until(25)), "no_overlap"),
        "gap without a delete": (edit(0, valid_to=until(15)), "contiguous"),
        "gap without a delete action": (edit(1, action="U"), "contiguous"),
        "closed without a delete": (edit(3, valid_to=until(70), flag="N"), "contiguous"),
        "deleted without an end": (edit(3, action="D"), "contiguous"),
        "double start": (
            lambda rows: repeat(0, valid_to=until(12), name="d", hash=rows[3]["hash"])(rows),
            "no_overlap unique_start",
        ),
        "end before start": (edit(0, valid_to=until(5)), "end_after_start contiguous"),
        "end equal to start": (edit(0, valid_to=until(10)), "end_after_start contiguous"),
        "equal neighbours": (like(3, 2, "name", "hash"), "no_repeat"),
        "equal after a delete": (like(2, 1, "name", "hash"), ""),
        "open version flagged closed": (edit(3, flag="N"), "flag_matches_end"),
        "closed version flagged open": (edit(0, flag="Y"), "flag_matches_end"),
        "flag NULL": (edit(1, flag=None), "flag_matches_end"),
        "flag of another value": (edit(1, flag="n"), "flag_matches_end"),
        "key NULL": (edit(0, 1, 2, 3, id=None), "key_not_null*4"),
        "start NULL": (edit(0, valid_from=None), "key_not_null"),
        "action NULL": (edit(0, action=None), "key_not_null"),
        "wrong hash": (edit(1, hash="0" * 64), "hash_matches"),
        "hash NULL": (edit(1, 2, hash=None), "hash_matches*2"),
        "name changed by hand": (edit(1, name="z"), "hash_matches"),
        "open row twice": (repeat(3), "one_current no_overlap unique_start"),
        "closed row twice": (repeat(0), "no_overlap unique_start"),
        "closed row three times": (lambda rows: repeat(0)(repeat(0)(rows)), "no_overlap*2 unique_start"),
        "end NULL": (edit(3, valid_to=None, flag="N"), "end_after_start"),
        "end NULL in the middle": (edit(0, valid_to=None), "end_after_start no_overlap"),
        "end beyond the open end": (
            edit(3, valid_to=OPEN + dt.timedelta(microseconds=999), flag="N"), "end_after_start contiguous"
        ),
        "start at the open end": (edit(3, valid_from=OPEN), "end_after_start contiguous"),
    },
)  # fmt: skip

KEEP_AND_MARK = Case(
    """
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: string}
unchanged: keep
on_delete: mark
history: {deleted: deleted, action: action}
""",
    # [10, 20) a, [20, 30) b, [30, 50) b deleted, [50, 60) c, [60, …) c
    ((at(10), "a", False), (at(20), "b", False), (at(30), None, True), (at(50), "c", False), (at(60), "c", False)),
    {
        "nothing": (edit(0), ""),
        "equal neighbours": (edit(1, name="a"), ""),
        "two open versions": (edit(3, valid_to=None, is_current=True), "one_current no_overlap"),
        "gap": (edit(0, valid_to=at(15)), "contiguous"),
        "gap that a delete does not explain": (edit(1, valid_to=at(25)), "contiguous"),
        "no version of the delete": (lambda rows: rows[:2], "contiguous"),
        "deleted NULL": (edit(2, deleted=None), "key_not_null"),
        "flag and end NULL": (edit(4, is_current=None), "flag_matches_end"),
        "open end is a literal of others": (edit(4, valid_to=OPEN), "flag_matches_end contiguous"),
        "end before start": (edit(4, valid_to=at(55), is_current=False), "end_after_start contiguous"),
    },
)  # fmt: skip

LAST_RUN = Case(
    """
pattern: scd2
source: {table: nowhere, effective_at: at}
keys: [id]
columns: {id: int, name: string}
history: {gap: 1 microsecond, open_end: last_run}
""",
    # [10, 20) a, [20, …) b
    ((at(10), "a", False), (at(20), "b", False)),
    {
        "nothing": (edit(0), ""),
        "flag NULL": (edit(1, is_current=None), "flag_matches_end"),
        "flag NULL in the middle": (edit(0, is_current=None), "flag_matches_end no_overlap"),
        "two open versions": (edit(0, is_current=True), "one_current no_overlap"),
        "no open version": (edit(1, is_current=False), "contiguous"),
        "end NULL": (edit(1, valid_to=None), "end_after_start"),
        "end NULL in the middle": (edit(0, valid_to=None), "end_after_start no_overlap"),
        "end before start": (edit(0, valid_to=until(5)), "end_after_start contiguous"),
        "equal neighbours": (edit(1, name="a"), "no_repeat"),
    },
)

DATES = Case(
    """
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: string}
on_delete: mark
history: {type: date, gap: 1 day, is_current: null, deleted: deleted}
""",
    # [10, 20) a, [20, 30) b, [30, 50) b deleted, [50, …) c
    ((at(10), "a", False), (at(20), "b", False), (at(30), None, True), (at(50), "c", False)),
    {
        "nothing": (edit(0), ""),
        "equal neighbours": (edit(1, name="a"), "no_repeat"),
        "mark of the delete lost": (edit(2, deleted=False), "no_repeat"),
        "mark of the delete NULL": (edit(2, deleted=None), "key_not_null"),
        "ends on its first day": (edit(0, valid_to=day(10)), "contiguous"),
        "ends the day before it starts": (edit(0, valid_to=day(9)), "end_after_start contiguous"),
        "half-open ends": (edit(0, valid_to=day(20)), "no_overlap"),
        "open in the middle": (edit(1, valid_to=None), "one_current no_overlap"),
        "last version lost": (lambda rows: rows[:3], "contiguous"),
    },
)

NUMBERS = Case(
    """
pattern: scd2
source: {table: nowhere, effective_at: at, delete_when: gone}
keys: [id]
columns: {id: int, name: {type: string, track: false}}
history: {type: bigint, open_end: 999, is_current: {name: flag, type: int, open: 1, closed: 0}}
""",
    # No column is tracked: [10, 30), deleted, [50, …)
    ((10, "a", False), (30, None, True), (50, "c", False), (60, "d", False)),
    {
        "nothing": (edit(0), ""),
        "a gap may be a delete": (edit(0, valid_to=20), ""),
        "equal neighbours": (lambda rows: edit(0, valid_to=20)(repeat(0, valid_from=20)(rows)), "no_repeat"),
        "flag of another value": (edit(1, flag=2), "flag_matches_end"),
        "end NULL": (edit(1, valid_to=None, flag=0), "end_after_start"),
        "beyond the open end": (edit(1, valid_to=1000, flag=0), "end_after_start"),
        "end equal to start": (edit(0, valid_to=10), "end_after_start"),
        "overlap": (edit(0, valid_to=51), "no_overlap"),
    },
)

SCD1 = Case(
    """
pattern: scd1
source: {table: nowhere, effective_at: at}
keys: [id, part]
columns: {id: int, part: {type: string, from: "'x'"}, name: string}
""",
    ((at(10), "a", False), (at(20), "b", False)),
    {
        "nothing": (edit(0), ""),
        "key twice": (repeat(0, name="z"), "unique_key"),
        "key three times": (lambda rows: repeat(0)(repeat(0)(rows)), "unique_key"),
        "part of the key NULL": (edit(0, part=None), "key_not_null"),
        "key NULL, twice": (lambda rows: repeat(0)(edit(0, id=None)(rows)), "unique_key key_not_null*2"),
    },
)

CASES = {
    "literal": LITERAL, "keep_and_mark": KEEP_AND_MARK, "last_run": LAST_RUN, "dates": DATES, "numbers": NUMBERS,
    "scd1": SCD1,
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_each_damage_fails_its_checks(spark: SparkSession, name: str) -> None:
    case, runner = CASES[name], Runner(spark)
    sound = load_spec_text(f"target: damage.{name}_sound\n{case.spec}")
    kind = {"dates": "date", "numbers": "bigint"}.get(name, "timestamp")
    source = spark.createDataFrame(
        [
            (number, state, time.date() if kind == "date" else time, gone)
            for number in range(len(case.damages))
            for time, state, gone in case.changes
        ],
        f"id int, name string, at {kind}, gone boolean",
    ).coalesce(1)
    for _ in range(2):
        runner.run(sound, source=source)
    assert [result.name for result in runner.check(sound) if result.failures] == []

    table = spark.table(sound.target)
    lives: dict[int, Rows] = {}
    for row in table.orderBy("id", *(["valid_from"] if sound.keeps_history else [])).collect():
        lives.setdefault(row["id"], []).append(row.asDict())
    rows, expected = [], {}
    for number, (what, (damage, checks)) in enumerate(case.damages.items()):
        damaged = damage(lives[number])
        rows += [tuple(row.values()) for row in damaged]
        found: Counter[str] = Counter()
        for check in checks.split():
            said, _, times = check.partition("*")
            found[said] = int(times or 1)
        expected[damaged[0]["id"]] = (what, dict(found))
    spec = load_spec_text(f"target: damage.{name}\n{case.spec}")
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in table.schema.fields)
    spark.createDataFrame(rows, columns).write.format("delta").saveAsTable(spec.target)

    results = runner.check(spec, limit=1000)
    got = {key: (what, dict[str, int]()) for key, (what, _) in expected.items()}
    for result in results:
        assert len(result.sample) == result.failures, f"{result.name}: no sample is cut short"
        for sampled in result.sample:
            counts = got[sampled["id"]][1]
            counts[result.name] = counts.get(result.name, 0) + 1
    assert got == expected

    (query,) = cut(render(spec).checks).texts
    broken = {row["check_name"]: row["broken_rows"] for row in spark.sql(query).collect()}
    assert broken == {result.name: result.failures for result in results if result.failures}

    if name == "literal":
        _check_the_limit(runner, spec, results)


def _check_the_limit(runner: Runner, spec: Spec, results: list[CheckResult]) -> None:
    short = runner.check(spec, limit=2)
    assert [(r.name, r.failures) for r in short] == [(r.name, r.failures) for r in results]
    assert [r.sample for r in short] == [r.sample[:2] for r in results], "the sample is the first by key and time"
