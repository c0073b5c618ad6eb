"""The order of a run's steps on a session that only takes notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import MagicMock

import pytest

from scdgen import Runner, load_spec_text
from scdgen.compile.compile import compile_spec
from scdgen.engine.engine import Engine
from scdgen.errors import DataError
from scdgen.facts.plan import KEYS, VERSIONS, Counts
from scdgen.model.bind import bind
from scdgen.model.spec import Spec
from scdgen.run import delta, merge, plan
from scdgen.run.metrics import RunRecord
from scdgen.run.results import PlanResult
from scdgen.run.source import Prepared

SPEC = """
target: crm.t
pattern: scd2
source: {table: crm.s, effective_at: at}
keys: [id]
columns: {id: int, name: string}
members:
  inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}
"""


class Session(MagicMock):
    """Takes statements; inferring changes two rows, and a plan finds a version that the source corrects."""

    version = "4.2.0"

    def sql(self, text: str) -> Any:
        self.sent.append(text)
        row = MagicMock(**{"__getitem__.return_value": 2})
        counts = {**dict.fromkeys((*KEYS, *VERSIONS), 0), "corrected": 1}
        row.asDict.return_value = {} if text.startswith("MERGE") else counts
        return MagicMock(**{"collect.return_value": [row]})


@pytest.mark.parametrize("infer", [True, False])
def test_members_are_inferred_before_the_plan(monkeypatch: pytest.MonkeyPatch, infer: bool) -> None:
    table = MagicMock(**{"find_commit.return_value": (3, None), "view_with_columns.return_value": nullcontext("")})
    table.restore_on_failure.return_value = nullcontext()
    for module in (merge, plan):
        monkeypatch.setattr(module, "TargetTable", lambda spark, spec: table)
        monkeypatch.setattr(module, "find_additions", lambda *given: ())
    monkeypatch.setattr(delta, "note_run", lambda *given, **more: nullcontext("r1"))
    spark = Session(sent=[])
    spec = load_spec_text(SPEC)
    counts = Runner(spark).run(spec, infer=infer, count=True).as_counts(spec)
    known = {"FROM crm.f AS f\n": "infer", " AS folded\n": "plan", "MERGE INTO crm.t AS t USING": "merge"}
    steps = [next((step for part, step in known.items() if part in text), "") for text in spark.sent]
    assert [step for step in steps if step] == (["infer", "plan", "merge"] if infer else ["plan", "merge"])
    # The plan reads the variables of the MERGE, and what Spark stores of the table once.
    assert sum("SET VARIABLE" in text for text in spark.sent) == 1
    assert sum("DECLARE OR REPLACE VARIABLE" in text for text in spark.sent) == 1, "a second one would make it NULL"
    assert table.read_stored.call_count == 1
    assert counts["versions"]["corrected"] == 1
    # A table that does not exist is created after the plan, which may refuse the run.
    spark.sent, table.exists.return_value = [], False
    assert Runner(spark).run(spec, count=True).created
    plan_at, create_at = (
        next(i for i, text in enumerate(spark.sent) if part in text) for part in (" AS folded\n", "CREATE TABLE")
    )
    assert plan_at < create_at


def attempt(spark: Any, monkeypatch: pytest.MonkeyPatch, exists: bool, **planned: int) -> merge.Attempt:
    """An attempt on a session that takes notes; ``planned`` are the counts of a plan that came before."""
    table = MagicMock(**{"exists.return_value": exists})
    table.restore_on_failure.return_value = nullcontext()
    monkeypatch.setattr(merge, "TargetTable", lambda spark, spec: table)
    monkeypatch.setattr(merge, "find_additions", lambda *given: ())
    monkeypatch.setattr(delta, "note_run", lambda *given, **more: nullcontext("r1"))
    spec: Spec = load_spec_text(SPEC)
    record = RunRecord(spec, "r1", planned={**dict.fromkeys((*KEYS, *VERSIONS), 0), **planned} if planned else {})
    compiled = compile_spec(bind(spec, None, {}))
    return merge.Attempt(Engine(spark), merge.Job(record, Prepared(compiled, None)), "r1")


def test_attempt_creates_then_merges(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    spark = Session(sent=[])
    caplog.set_level("DEBUG", "scdgen")
    made = attempt(spark, monkeypatch, exists=False)
    result = made.run()
    known = ("CREATE TABLE", "SET VAR", "MERGE INTO")
    assert [*dict.fromkeys(step for text in spark.sent for step in known if step in text)] == [*known]
    assert result.created and made.created and result.inferred is None
    assert [vars(record)["step"] for record in caplog.records][::4] == ["read the table", "merge"]


@pytest.mark.parametrize(("planned", "merges"), [({}, True), ({"unchanged": 3}, False), ({"opened": 1}, True)])
def test_merge_without_changes_in_its_plan_is_skipped(
    monkeypatch: pytest.MonkeyPatch, planned: dict[str, int], merges: bool
) -> None:
    spark = Session(sent=[])
    made = attempt(spark, monkeypatch, exists=True, **planned)
    result = made.run()
    assert any("MERGE INTO" in text for text in spark.sent) is merges
    assert made.needless is not merges and result.planned == made.job.record.planned


def test_failed_attempt_restores_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    made = attempt(Session(sent=[]), monkeypatch, exists=True)
    kept: list[str] = []
    monkeypatch.setattr(made.table, "restore_on_failure", lambda *given: notes(kept))
    monkeypatch.setattr(made, "play", MagicMock(side_effect=DataError("crm.t: id is NULL; fix the source")))
    with pytest.raises(DataError):
        made.run()
    assert kept == ["begins", "DataError"]


@contextmanager
def notes(kept: list[str]) -> Iterator[None]:
    kept.append("begins")
    try:
        yield
    except DataError as error:
        kept.append(type(error).__name__)
        raise


def test_plan_is_a_sequence_of_rows() -> None:
    rows: Any = ("first", "second")
    plan: Any = PlanResult("crm.t", MagicMock(), Counts({}, {}), 0, 0, 0, 0, (), rows=rows)
    assert (list(plan), len(plan), plan[0], plan[1:], bool(plan)) == ([*rows], 2, "first", ("second",), True)
    assert not PlanResult("crm.t", MagicMock(), Counts({}, {}), 0, 0, 0, 0, ())
