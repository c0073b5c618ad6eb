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
from scdgen.facts.plan import KEYS, VERSIONS, Counts
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
    counts=Counts(
        {"new": 4, "changed": 3, "deleted": 2, "returned": 1, "unchanged": 3},
        {"opened": 7, "closed": 5, "corrected": 0, "folded": 1},
    ),
    late=1,
    current_keys=40,
    closed_keys=4,
    skipped=0,
    sample=(
        PlanRow("closed", False, True, {"id": 1}, OLD, NEW),
        PlanRow("opened", True, False, {"id": 1}, None, OTHER),
        PlanRow("folded", False, False, {"id": 1}, OTHER, None),
    ),
)
NOTHING = Counts({**dict.fromkeys(KEYS, 0), "new": 7}, {**dict.fromkeys(VERSIONS, 0), "opened": 7})
EMPTY = replace(PLAN, current_keys=0, closed_keys=0, counts=NOTHING, late=0)


def test_text_output() -> None:
    assert format_plan(PLAN) == (
        "crm.t: keys: 4 new, 3 changed, 2 deleted, 1 returned, 3 unchanged; "
        "versions: 7 opened, 5 closed, 0 corrected, 1 folded\n"
        "  2 keys deleted (5.0%), 1 late version\n"
        "\n"
        "change  note     id  name  valid_from           valid_to                     is_current\n"
        "------  -------  --  ----  -------------------  ---------------------------  -------------\n"
        "closed  deletes  1   Ann   2024-05-01 00:00:00  NULL -> 2024-06-01 00:00:00  true -> false\n"
        "opened  late     1   NULL  2024-06-01 00:00:00  NULL                         true\n"
        "folded           1   NULL  2024-06-01 00:00:00  NULL                         true\n"
        "(4 more of closed, 6 more of opened; --limit N shows more)"
    )
    assert format_plan(PLAN, ["age", "zip"]).splitlines()[1:4] == [
        "  2 keys deleted (5.0%), 1 late version",
        "  columns not used: age, zip",
        "",
    ]
    assert format_plan(replace(EMPTY, sample=(), skipped=2)) == (
        "crm.t: keys: 7 new, 0 changed, 0 deleted, 0 returned, 0 unchanged; "
        "versions: 7 opened, 0 closed, 0 corrected, 0 folded\n"
        "  0 keys deleted, 2 rows of the source skipped"
    )


def test_withdrawn_versions_are_named() -> None:
    versions = {**PLAN.counts.versions, "withdrawn": 1}
    gone = PlanRow("folded", False, True, {"id": 1}, OTHER, None, withdrawn=True)
    plan = replace(PLAN, counts=Counts(PLAN.counts.keys, versions), sample=(gone,))
    lines = format_plan(plan).splitlines()
    assert lines[0].endswith("; versions: 7 opened, 5 closed, 0 corrected, 1 folded, 1 withdrawn")
    assert lines[5].startswith("folded  deletes, withdrawn  1   NULL")
    assert as_object(plan)["sample"][0]["withdrawn"] and "withdrawn" not in as_object(PLAN)["sample"][0]


def test_deleted_keys_are_shown_with_their_limit() -> None:
    """The guard counts deleted keys, and no others: 4 of 40 have a version that closes, 2 of them are deleted."""
    line = format_plan(replace(PLAN, sample=(), late=0, limit=0.2)).splitlines()[1]
    assert line == "  2 keys deleted (5.0%; limit 20%)"


def test_new_column_explains_that_keys_change() -> None:
    says = "  column aisle is new: stored versions have NULL in it, so each key with a value changes"
    assert says in format_plan(replace(PLAN, added=("aisle",))).splitlines()
    assert "is new" not in format_plan(PLAN)


def test_newer_snapshot_is_named() -> None:
    plan = replace(PLAN, newer_snapshot="2024-06-01 00:00:00")
    says = "a snapshot taken later, 2024-06-01 00:00:00, is already in the table; this one may undo what it changed"
    assert format_plan(plan).splitlines()[2] == f"  {says}"
    assert as_object(plan)["newer_snapshot"] == "2024-06-01 00:00:00"


def test_text_with_actions_of_a_custom_pattern() -> None:
    """The meaning of an action comes from the pattern, not from its name."""

    class Ledger(Scd0):
        name = "ledger"
        keeps_history = True
        written_actions = ("add", "end", "drop")
        closing_action, deleting_action = "end", "drop"

    counted = {"add": 1, "end": 5, "drop": 1, "unchanged": 2}
    counts = Ledger().split_counts(SCD2, counted)
    assert counts == Counts({"unchanged": 2}, {"add": 1, "end": 5, "drop": 1})
    gone = PlanRow("drop", True, True, {"id": 1}, {"id": 1}, None)
    plan = replace(PLAN, pattern=Ledger(), counts=counts, sample=(gone, replace(gone, action="end", late=False)))
    assert format_plan(plan) == (
        "crm.t: keys: 2 unchanged; versions: 1 add, 5 end, 1 drop\n"
        "  1 late version\n"
        "\n"
        "change  note     id\n"
        "------  -------  --\n"
        "drop    late     1\n"
        "end     deletes  1\n"
        "(4 more of end; --limit N shows more)"
    )
    assert Limit("end>=10%", "end", ">=", Decimal(10), percent=True).describe_breach(plan) == (
        "crm.t: the plan fails on end>=10%: 4 end, 10.0% of 40 current keys"
    )


def test_json_output() -> None:
    read = json.loads(output.format_json(as_object(PLAN)))
    assert {name: value for name, value in read.items() if name != "sample"} == {
        "target": "crm.t", "keys": PLAN.counts.keys, "versions": PLAN.counts.versions, "late": 1, "current_keys": 40,
        "deleted_share": 0.05, "max_deleted": None, "skipped": 0,
    }  # fmt: skip
    assert read["sample"][0] == {
        "change": "closed", "late": False, "deletes": True, "key": {"id": 1},
        "old": {**OLD, "valid_from": str(MAY)}, "new": {**NEW, "valid_from": str(MAY), "valid_to": str(JUNE)},
        "changed": ["valid_to", "is_current"],
    }  # fmt: skip
    assert [(row["old"] is None, row["new"] is None, row["changed"]) for row in read["sample"][1:]] == [
        (True, False, []), (False, True, []),
    ]  # fmt: skip


def test_nan_is_not_a_change() -> None:
    nan = float("nan")
    assert PlanRow("changed", False, False, {}, {"a": nan, "b": 1}, {"a": nan, "b": 2}).changed == ("b",)


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("opened>=7", "7 opened"),
        ("opened>=8", None),
        ("opened>7", None),
        ("OPENED = 7", "7 opened"),
        ("opened==7", "7 opened"),
        ("opened!=7", None),
        ("unchanged<4", "3 unchanged"),
        ("unchanged<3", None),
        ("unchanged<=3", "3 unchanged"),
        ("late>0", "1 late"),
        ("new>3", "4 new"),
        ("returned=1", "1 returned"),
        ("closed>4", "5 closed"),
        # Closed versions of current keys: one of the five is a tombstone.
        ("closed>=10%", "4 closed, 10.0% of 40 current keys"),
        ("closed>10%", None),
        ("deleted>4.9%", "2 deleted, 5.0% of 40 current keys"),
        ("deleted>5%", None),
        ("opened>17.5%", None),
        ("opened>17.4%", "7 opened, 17.5% of 40 current keys"),
    ],
)
def test_breached_limit_is_described(condition: str, says: str | None) -> None:
    (limit,) = parse_limits([condition], [SCD2])
    text = "".join(condition.split())
    assert limit.describe_breach(PLAN) == (f"crm.t: the plan fails on {text}: {says}" if says else None)


def test_percentage_limits_on_empty_table() -> None:
    close, opens = parse_limits(["closed>10%", "opened>10%"], [SCD2])
    assert close.describe_breach(EMPTY) is None
    assert opens.describe_breach(EMPTY) == "crm.t: the plan fails on opened>10%: 7 opened, with no current keys"


def test_limit_applies_to_tables_with_its_action() -> None:
    (limit,) = parse_limits(["returned>0"], [SCD2, SCD1])
    assert limit.describe_breach(PLAN) == "crm.t: the plan fails on returned>0: 1 returned"
    counts = pattern_of(SCD1).split_counts(SCD1, {"changed": 1})
    assert counts == Counts({"new": 0, "changed": 1, "deleted": 0, "unchanged": 0}, {})
    rows = replace(PLAN, target="crm.one", pattern=pattern_of(SCD1), counts=counts)
    assert limit.describe_breach(rows) is None


HOW = "write a count, a comparison and a number or a percentage of the current keys, in quotes: 'deleted>10%'"


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
        ("closes>1", f"no count 'closes'; did you mean 'closed'? (one of {', '.join((*KEYS, *VERSIONS))}, late)"),
        ("refreshed>1", f"no count 'refreshed' (one of {', '.join((*KEYS, *VERSIONS))}, late)"),
        ("closed>0.1", "0.1 is not a valid number of rows; write a whole number, or 0.1%"),
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


@pytest.mark.parametrize("width", ["80", "120"])
def test_a_terminal_shows_no_zeros_and_wraps_no_time(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("NO_COLOR", "1")
    text = format_plan(replace(PLAN, counts=replace(NOTHING, keys={"new": 7000}), late=0), spec=SCD2)
    assert text.startswith("crm.t: keys: 7,000 new\n  versions: 7 opened\n\n")
    assert text.count("NULL -> 2024-06-01 ") == 1 and "00:00:00" not in text and "is_current" not in text
    assert max(map(len, text.splitlines()[2:-1])) <= int(width)
