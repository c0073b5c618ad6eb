"""The output of scdgen plan, and the conditions of --fail-on, without Spark."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal

import pytest

from scdgen import load_spec_text
from scdgen.cli import output
from scdgen.cli.main import main
from scdgen.cli.plan import as_object, format_plan
from scdgen.errors import UsageError
from scdgen.patterns.pattern import pattern_of
from scdgen.patterns.scd0 import Scd0
from scdgen.run.plan import Limit, parse_limits
from scdgen.run.results import PlanResult, PlanRow

REST = "source: {table: a.b, effective_at: at}\nkeys: [id]\ncolumns: {id: int, name: string}\n"
SCD2 = load_spec_text(f"target: crm.t\npattern: scd2\n{REST}")
SCD1 = load_spec_text(f"target: crm.one\npattern: scd1\n{REST}")
MAY, JUNE = dt.datetime(2024, 5, 1), dt.datetime(2024, 6, 1)
OLD = {"id": 1, "name": "Ann", "valid_from": MAY, "valid_to": None, "is_current": True}
NEW = {**OLD, "valid_to": JUNE, "is_current": False}
OTHER = {"id": 1, "name": None, "valid_from": JUNE, "valid_to": None, "is_current": True}
PLAN = PlanResult(
    target="crm.t",
    pattern=pattern_of(SCD2),
    counts={"open": 7, "close": 5, "correct": 0, "fold": 1, "delete": 2, "unchanged": 3},
    late=1,
    current_keys=40,
    closed_keys=4,
    skipped=0,
    sample=(
        PlanRow("close", False, True, {"id": 1}, OLD, NEW),
        PlanRow("open", True, False, {"id": 1}, None, OTHER),
        PlanRow("fold", False, False, {"id": 1}, OTHER, None),
    ),
)
EMPTY = replace(PLAN, current_keys=0, closed_keys=0, counts={**dict.fromkeys(PLAN.counts, 0), "open": 7}, late=0)


def test_text_output() -> None:
    assert format_plan(PLAN) == (
        "crm.t: 7 open, 5 close, 0 correct, 1 fold, 2 delete, 3 unchanged\n"
        "  4 of 40 current keys would be closed (10.0%), 1 of these versions is late\n"
        "\n"
        "action  note     id  name  valid_from           valid_to                     is_current\n"
        "------  -------  --  ----  -------------------  ---------------------------  -------------\n"
        "close   deletes  1   Ann   2024-05-01 00:00:00  NULL -> 2024-06-01 00:00:00  true -> false\n"
        "open    late     1   NULL  2024-06-01 00:00:00  NULL                         true\n"
        "fold             1   NULL  2024-06-01 00:00:00  NULL                         true\n"
        "(4 more of close, 6 more of open; --limit N shows more)"
    )
    assert format_plan(replace(EMPTY, sample=(), skipped=2)) == (
        "crm.t: 7 open, 0 close, 0 correct, 0 fold, 0 delete, 0 unchanged\n"
        "  0 of 0 current keys would be closed, 2 rows of the source skipped"
    )


def test_text_with_actions_of_a_custom_pattern() -> None:
    """The meaning of an action comes from the pattern, not from its name."""

    class Ledger(Scd0):
        name = "ledger"
        keeps_history = True
        written_actions = ("add", "end", "drop")
        closing_action, deleting_action = "end", "drop"

    counts = {"add": 1, "end": 5, "drop": 1, "unchanged": 2}
    gone = PlanRow("drop", True, True, {"id": 1}, {"id": 1}, None)
    plan = replace(PLAN, pattern=Ledger(), counts=counts, sample=(gone, replace(gone, action="end", late=False)))
    assert format_plan(plan) == (
        "crm.t: 1 add, 5 end, 1 drop, 2 unchanged\n"
        "  4 of 40 current keys would be closed (10.0%), 1 of these versions is late\n"
        "\n"
        "action  note     id\n"
        "------  -------  --\n"
        "drop    late     1\n"
        "end     deletes  1\n"
        "(4 more of end; --limit N shows more)"
    )
    assert Limit("end>=10%", "end", ">=", Decimal(10), percent=True).describe_breach(plan) == (
        "crm.t: the plan fails on end>=10%: 4 end against 40 current keys, 10.0%"
    )
    assert Ledger().count_extract(counts) == 3


def test_json_output() -> None:
    read = json.loads(output.format_json(as_object(PLAN)))
    assert {name: value for name, value in read.items() if name != "sample"} == {
        "target": "crm.t", "counts": PLAN.counts, "late": 1, "current_keys": 40, "closed_keys": 4,
        "closed_share": 0.1, "skipped": 0,
    }  # fmt: skip
    assert read["sample"][0] == {
        "action": "close", "late": False, "deletes": True, "key": {"id": 1},
        "old": {**OLD, "valid_from": str(MAY)}, "new": {**NEW, "valid_from": str(MAY), "valid_to": str(JUNE)},
        "changed": ["valid_to", "is_current"],
    }  # fmt: skip
    assert [(row["old"] is None, row["new"] is None, row["changed"]) for row in read["sample"][1:]] == [
        (True, False, []), (False, True, []),
    ]  # fmt: skip


def test_nan_is_not_a_change() -> None:
    nan = float("nan")
    assert PlanRow("update", False, False, {}, {"a": nan, "b": 1}, {"a": nan, "b": 2}).changed == ("b",)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("open>=7", "7 open"),
        ("open>=8", None),
        ("open>7", None),
        ("OPEN = 7", "7 open"),
        ("open==7", "7 open"),
        ("open!=7", None),
        ("unchanged<4", "3 unchanged"),
        ("unchanged<3", None),
        ("unchanged<=3", "3 unchanged"),
        ("late>0", "1 late"),
        ("close>4", "5 close"),
        # Closed versions of current keys: one of the five is a tombstone.
        ("close>=10%", "4 close against 40 current keys, 10.0%"),
        ("close>10%", None),
        ("delete>4.9%", "2 delete against 40 current keys, 5.0%"),
        ("delete>5%", None),
        ("open>17.5%", None),
        ("open>17.4%", "7 open against 40 current keys, 17.5%"),
    ],
)
def test_breached_limit_is_described(condition: str, says: str | None) -> None:
    (limit,) = parse_limits([condition], [SCD2])
    text = "".join(condition.split())
    assert limit.describe_breach(PLAN) == (f"crm.t: the plan fails on {text}: {says}" if says else None)


def test_percentage_limits_on_empty_table() -> None:
    close, opens = parse_limits(["close>10%", "open>10%"], [SCD2])
    assert close.describe_breach(EMPTY) is None
    assert opens.describe_breach(EMPTY) == "crm.t: the plan fails on open>10%: 7 open against 0 current keys"


def test_limit_applies_to_tables_with_its_action() -> None:
    (limit,) = parse_limits(["update>0"], [SCD2, SCD1])
    assert limit.describe_breach(PLAN) is None
    rows = replace(
        PLAN, target="crm.one", pattern=pattern_of(SCD1), counts={"insert": 0, "update": 1, "delete": 0, "unchanged": 0}
    )
    assert limit.describe_breach(rows) == "crm.one: the plan fails on update>0: 1 update"


HOW = "write an action, a comparison and a number or a percentage of the current keys, in quotes: 'close>10%'"


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("close", HOW),
        ("close>", HOW),
        ("close=>1", HOW),
        ("close>-1", HOW),
        ("close>ten", HOW),
        ("10%<close", HOW),
        ("", HOW),
        ("closed>1", "no action 'closed'; did you mean 'close'? (one of open, close, correct, fold, delete, "
                     "unchanged, late)"),
        ("refresh>1", "no action 'refresh' (one of open, close, correct, fold, delete, unchanged, late)"),
        ("close>0.1", "0.1 is not a valid number of rows; write a whole number, or 0.1%"),
    ],
)  # fmt: skip
def test_malformed_limit_is_refused(condition: str, says: str) -> None:
    with pytest.raises(UsageError) as stopped:
        parse_limits([condition], [SCD2])
    assert str(stopped.value) == f"--fail-on {condition}: {says}"


def test_malformed_limit_stops_plan_before_spark(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "specs/customer.yml", "--fail-on", "close"])
    out, err = capsys.readouterr()
    assert (stopped.value.code, out, err) == (2, "", f"--fail-on close: {HOW}\n")
