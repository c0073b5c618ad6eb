"""The output and the options of scdgen diff, without Spark."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from scdgen import load_spec_text
from scdgen.cli.diff import format_diff
from scdgen.compile.render import render_query
from scdgen.errors import UsageError
from scdgen.run.diff import DiffFilter
from scdgen.run.results import DiffResult, DiffRow
from tests.support.timelines import spec_of

SPEC = spec_of()


def values(key: int, name: str | None, city: str | None, **more: Any) -> dict[str, Any]:
    return {"id": key, "name": name, "city": city, **more}


OF_TIMES = DiffResult(
    target="crm.customer", keys=("id",), columns=("id", "name", "city"),
    counts={"new": 1, "changed": 1, "deleted": 1, "returned": 0},
    rows=(
        DiffRow("changed", {"id": 1}, "2024-03-01 00:00:00", values(1, "Ann", "Oslo"), values(1, "Ann", None)),
        DiffRow("deleted", {"id": 2}, "2024-02-01 00:00:00", values(2, "Bob", ""), None),
        DiffRow("new", {"id": 10}, "2024-01-20 00:00:00", None, values(10, "Cid", "Oslo")),
    ),
    from_time="2024-01-15",
)  # fmt: skip
ENDS = {"valid_from": "2024-01-01 00:00:00", "is_current": True, "valid_to": None}
OF_RUN = DiffResult(
    target="crm.customer", keys=("id",), columns=("id", "name", "city", "valid_from", "is_current", "valid_to"),
    counts={"opened": 0, "closed": 1, "corrected": 0, "folded": 0},
    rows=(
        DiffRow(
            "closed", {"id": 1}, "2024-01-01 00:00:00", values(1, "Ann", "Oslo", **ENDS),
            values(1, "Ann", "Oslo", **ENDS | {"is_current": False, "valid_to": "2024-03-01 00:00:00"}),
        ),
    ),
    run_id="r2", versions=(3, 4),
)  # fmt: skip


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_table_shows_old_and_new_values() -> None:
    assert format_diff(OF_TIMES, SPEC, "table").splitlines() == [
        "crm.customer, since 2024-01-15: 1 new, 1 changed, 1 deleted, 0 returned",
        "",
        "change   id  name  city          since",
        "-------  --  ----  ------------  -------------------",
        "changed  1   Ann   Oslo -> NULL  2024-03-01 00:00:00",
        "deleted  2   Bob                 2024-02-01 00:00:00",
        "new      10  Cid   Oslo          2024-01-20 00:00:00",
    ]
    assert format_diff(OF_RUN, SPEC, "table").splitlines() == [
        "crm.customer, run r2, version 3 to 4: 0 opened, 1 closed, 0 corrected, 0 folded",
        "",
        "change  id  name  city  valid_from           is_current     valid_to",
        "------  --  ----  ----  -------------------  -------------  ---------------------------",
        "closed  1   Ann   Oslo  2024-01-01 00:00:00  true -> false  NULL -> 2024-03-01 00:00:00",
    ]
    same = replace(OF_TIMES, rows=(), counts=dict.fromkeys(OF_TIMES.counts, 0), to_time="2024-02-01")
    assert format_diff(same, SPEC, "table") == (
        "crm.customer, 2024-01-15 to 2024-02-01: 0 new, 0 changed, 0 deleted, 0 returned"
    )


def test_keys_and_times_are_not_wrapped_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    long = values(1, "Ann Mary Louise of Kent", "the city of the old harbour")
    row = DiffRow("changed", {"id": 1}, "2024-03-01 00:00:00", long, long | {"name": "Ann"})
    for columns, width in (("64", 64), ("70", 70), ("200", 92)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = format_diff(replace(OF_TIMES, rows=(row,)), SPEC, "table").splitlines()[2:]
        assert {len(line) for line in lines} == {width}
        assert lines[3].startswith("│ changed │ 1  │ ") and lines[3].endswith(" │ 2024-03-01 │")
        words = re.findall(r"\w+", " ".join(line.split("│")[3] for line in lines[3:-1]))
        assert words == ["Ann", "Mary", "Louise", "of", "Kent", "Ann"]


def test_changes_become_paragraphs_on_a_narrower_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    long = values(1, "Ann Mary Louise of Kent", "the city of the old harbour")
    row = DiffRow("changed", {"id": 1}, "2024-03-01 00:00:00", long, long | {"name": "Ann"})
    assert [line.rstrip() for line in format_diff(replace(OF_TIMES, rows=(row,)), SPEC, "table").splitlines()[2:]] == [
        "change:  changed",
        "id:      1",
        "name:    Ann Mary Louise of Kent -> Ann",
        "city:    the city of the old harbour",
        "since:   2024-03-01",
    ]
    monkeypatch.setenv("COLUMNS", "50")
    lines = [line.rstrip() for line in format_diff(OF_RUN, SPEC, "table").splitlines()]
    assert lines[-2:] == ["valid_from:  2024-01-01", "valid_to:    NULL -> 2024-03-01"]


def test_json_has_the_counts_and_both_values() -> None:
    assert json.loads(format_diff(OF_TIMES, SPEC, "json")) == {
        "target": "crm.customer", "from": "2024-01-15", "to": None, "counts": OF_TIMES.counts,
        "rows": [
            {
                "change": row.change, "key": row.key, "since": row.since, "old": row.old, "new": row.new,
                "changed": ["city"] if row.change == "changed" else [],
            }
            for row in OF_TIMES.rows
        ],
    }  # fmt: skip
    found = json.loads(format_diff(OF_RUN, SPEC, "json"))
    assert (found["run"], found["versions"], found["rows"][0]["changed"]) == ("r2", [3, 4], ["is_current", "valid_to"])
    assert not {"from", "to"} & set(found)


def test_csv_has_a_column_for_each_side() -> None:
    text = format_diff(OF_TIMES, SPEC, "csv")
    assert text.splitlines()[:3] == [
        "change,id,since,old.name,new.name,old.city,new.city",
        "changed,1,2024-03-01 00:00:00,Ann,Ann,Oslo,",
        'deleted,2,2024-02-01 00:00:00,Bob,,"",',
    ]
    assert [row["new.city"] for row in csv.DictReader(io.StringIO(text))] == ["", "", "Oslo"]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (DiffFilter(to_time=1, run_id="r1"), "--run: goes without --from and --to; give a run"),
        (DiffFilter(known_to="2024-01-01"), "--known-from: is missing; give the first time of what was known"),
        (
            DiffFilter(known_from="2024-01-01", run_id="r1"),
            "--known-from: goes without --from, --to and --run; give either",
        ),
        (
            DiffFilter(known_from="2024-01-01"),
            "--known-from: crm.customer has no second axis of time; leave --known-from out, or add history.recorded to "
            "the spec",
        ),
        (
            DiffFilter("2024-02-01", "2024-01-01"),
            "--from: '2024-02-01' is not before --to '2024-01-01'",
        ),
        (DiffFilter(0, keys={"idd": 1}), "--key idd: is not a key of crm.customer; did you mean 'id'?"),
    ],
)
def test_invalid_options_are_refused(wanted: DiffFilter, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        wanted.query(SPEC)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize("pattern", ["scd1", "scd0"])
def test_table_without_history_compares_only_runs(pattern: str) -> None:
    text = (
        f"target: a.b\npattern: {pattern}\nsource: {{table: c.d, effective_at: at}}\nkeys: [id]\ncolumns: {{id: int}}\n"
    )
    spec = load_spec_text(text)
    assert "FULL OUTER JOIN" in render_query(DiffFilter(run_id="r1").query(spec))
    with pytest.raises(UsageError) as refused:
        DiffFilter("2024-01-01").query(spec)
    assert str(refused.value) == (
        f"--from: a.b is {pattern}, which keeps no history; give a run with --run instead of times"
    )


def test_two_times_aggregate_no_rows() -> None:
    """DataFusion takes time in the square of the keys for a struct in an aggregate: 28 s for 9,000 keys."""
    text = render_query(DiffFilter("2024-01-01", "2024-02-01").query(spec_of()))
    aggregates = [*sqlglot.parse_one(text, read="spark").find_all(exp.AggFunc)]
    assert aggregates and not any(one.find(exp.Struct) for one in aggregates)
