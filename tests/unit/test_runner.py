"""The order of a run's steps on a session that only takes notes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from unittest.mock import MagicMock

import pytest

from scdgen import Runner, load_spec_text
from scdgen.facts.counts import KEYS, VERSIONS
from scdgen.run import delta, runner

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
    monkeypatch.setattr(runner, "TargetTable", lambda spark, spec: table)
    monkeypatch.setattr(runner, "find_additions", lambda *given: ())
    monkeypatch.setattr(delta, "note_run", lambda *given, **more: nullcontext("r1"))
    spark = Session(sent=[])
    counts = Runner(spark).run_counted(load_spec_text(SPEC), infer=infer)
    known = {"FROM crm.f\n": "infer", " AS folded\n": "plan", "MERGE INTO crm.t AS t USING": "merge"}
    steps = [next((step for part, step in known.items() if part in text), "") for text in spark.sent]
    assert [step for step in steps if step] == (["infer", "plan", "merge"] if infer else ["plan", "merge"])
    assert counts["versions"]["corrected"] == 1
