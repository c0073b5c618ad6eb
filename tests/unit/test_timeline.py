"""The page of scdgen show --html: self-contained, safe with any value, and what its script draws.

The script runs if Chromium is on the PATH; otherwise a warning says that it did not run.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scdgen import load_spec_text
from scdgen.cli import timeline
from scdgen.cli.timeline import Page, parse_time, require_history
from scdgen.errors import UsageError
from tests.support.html_pages import Read, data_of, read_in_browser, require_self_contained
from tests.support.timelines import RECORDED, STORY, made, row, spec_of

pytestmark = pytest.mark.verify  # of a page, which few changes touch

NASTY = "</script><script>hacked = 1</script><!--<img onerror='hacked = 1'> \" & ' \u2028 \u202e {{ 7 * 7 }} ]]>"
ROWS = [
    row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-02-01 00:00:00"),
    row(1, "Ann", "", "2024-02-01 00:00:00", "2024-03-01 00:00:00"),
    row(1, "Ann", "Rome", "2024-04-01 00:00:00", None),
    row(2, NASTY, None, "2024-01-15 00:00:00", "2024-03-01 00:00:00"),
    row(2, "Bob", None, "2024-03-01 00:00:00", None),
]


def render_page(page: Page, description: str | None = None) -> str:
    return timeline.render_page(replace(page, description=description))


def test_page_loads_nothing_and_keeps_any_value() -> None:
    require_self_contained(render_page(made(ROWS), "Customers"))
    text = render_page(made([{**found, "id": NASTY} for found in ROWS[3:]]), NASTY)
    assert [tag for tag, _ in Read(text).elements].count("script") == 2
    assert "\u2028" not in re.findall(r'id="data">(.*?)</script>', text)[0]
    (lane,) = data_of(text)["lanes"]
    assert [version["row"][:3] for version in lane["versions"]] == [[NASTY, NASTY, None], [NASTY, "Bob", None]]
    assert "{{ 7 * 7 }}" in Read(text).texts["p"], "a value is not a template"


def test_policy_allows_no_script_of_the_data() -> None:
    """Even if a value came into a page as markup, a browser would not run it."""
    policies = [
        next(attributes["content"] for _, attributes in Read(text).elements if "http-equiv" in attributes)
        for text in (render_page(made(ROWS[:3]), "x"), render_page(made(ROWS), NASTY))
    ]
    assert policies[0] == policies[1]


def test_numbers_and_long_values_are_text() -> None:
    """Scripts round numbers; a cut value still differs from another one."""
    rows = [
        row(1, "é" * 1_000_000, "Oslo", 9007199254740993, 9007199254740995),
        row(1, "x", "Oslo", 9007199254740995, None),
    ]
    found = data_of(render_page(made(rows, spec_of("{type: bigint}"))))
    version = found["lanes"][0]["versions"][0]
    assert (version["start"], version["until"]) == ("9007199254740993", "9007199254740995")
    assert re.fullmatch("1|é{10000}… \\(1,000,000 characters, MD5 [0-9a-f]{6}\\)", version["row"][1])
    assert (found["lo"], found["hi"]) == ("9007199254740993", "9007199254740996")


@pytest.mark.parametrize(
    ("history", "times", "lo", "hi"),
    [
        ("{type: date, gap: 1 day, open_end: '9999-12-31'}", ["1900-01-01", "2024-01-10", "2024-02-10", None],
         "2024-01-06 03:00:00", "2024-02-12 21:45:00"),
        ("{}", ["2024-01-01 00:00:00", None], "2024-01-01", "2024-01-02"),
        ("{}", ["-0044-03-15 00:00:00", "+12024-01-01 00:00:00"], "0001-01-01", "9999-12-31 23:59:59.999999"),
        ("{}", [], "1970-01-01", "1970-01-02"),
    ],
)  # fmt: skip
def test_axis_has_room_for_the_times(history: str, times: list[str], lo: str, hi: str) -> None:
    rows = [row(1, "Ann", "Oslo", start, end) for start, end in itertools.pairwise(times)]
    found = made(rows, spec_of(history)).data
    assert (int(found["lo"]), int(found["hi"])) == (parse_time(lo, "timestamp"), parse_time(hi, "timestamp"))


def test_axis_ends_after_the_last_run() -> None:
    """It last saw the open versions."""
    spec = spec_of("{open_end: last_run, gap: 1 microsecond}", "params: {last_run: timestamp}\n")
    rows = [row(1, "Ann", "Oslo", "2024-02-01 00:00:00", "2024-07-01 00:00:00", None)]
    assert int(made(rows, spec).data["hi"]) > (parse_time("2024-07-01", "timestamp") or 0)


def test_scd1_has_no_timeline() -> None:
    spec = load_spec_text(
        "target: crm.t\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int, name: string}\n"
    )
    with pytest.raises(UsageError, match=r"^--html: crm\.t is scd1, which keeps no history; use --format table"):
        require_history(spec)


def test_page_says_what_it_omits() -> None:
    text = render_page(made(ROWS, limit=4))
    assert "Only the first 4 rows are shown" in text and "and the history of id=2 goes on" in text
    text = render_page(made(ROWS, limit=3))
    assert "Only the first 3 rows" in text and "goes on. Write" not in text and "<code>--limit 0</code>" in text
    assert "Only the " not in render_page(made(ROWS))
    assert "a gap is not a delete" in render_page(made(ROWS[:1], as_of="2024-01-01"))


# The actions of a reader, run in the page; the results are written into the page as JSON.
_READER = """
const all = selector => [...document.querySelectorAll(selector)];
const bars = () => all(".track .version").map(bar => bar.getAttribute("aria-label"));
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const set = (id, value) => {
  document.getElementById(id).value = value;
  document.getElementById(id).dispatchEvent(new Event("input"));
};
const details = () => document.getElementById("details").innerText.replace(/\\s+/g, " ");
const valid = () => all(".track .version:not(.out)").map(bar => bar.getAttribute("aria-label").split(",", 2).join());
const found = { bars: bars() };
found.none = all(".track .none").map(none => none.textContent);
all(".track .version[tabindex='0']")[0].focus();
press("ArrowRight"); found.second = details();
press("ArrowRight"); press("ArrowDown"); found.next = details();
press("Home"); found.first = document.activeElement.getAttribute("aria-label").split(",", 2).join();
press("ArrowLeft"); found.stays = document.activeElement.getAttribute("aria-label").split(",", 2).join();
document.getElementById("as-of-before").click();
found.at = [document.getElementById("as-of-told").textContent, valid()];
document.getElementById("as-of-before").click();
found.before = [document.getElementById("as-of-told").textContent, valid()];
set("as-of", 0); found.start = [document.getElementById("as-of-told").textContent, valid()];
document.getElementById("rows").open = true;
const lanes = () => all(".lane:not([hidden])").map(lane => lane.querySelector(".name").textContent);
set("search", "ID=2"); found.lanes = lanes();
set("search", "rome"); found.value = [lanes(), all(".version.hit").map(bar => bar.textContent)];
set("search", "nobody"); found.nothing = document.getElementById("nothing").innerText;
set("search", "");
const between = (from, to) => { set("from", from); set("to", to); return lanes(); };
found.between = [["2024-01-02", "2024-01-31"], ["", "2024-01-14"], ["2024-03-02", ""], ["2025-01-01", ""]].map(
  ends => between(...ends));
between("", "");
document.getElementById("changed").click(); found.changed = [lanes(), between("", "2024-01-31")];
found.corner = document.querySelector("#axis .name").innerText;
found.colours = all(".track .version").slice(0, 5).map(bar => bar.classList.contains("fresh"));
"""


def test_search_and_keyboard_navigation(tmp_path: Path) -> None:
    found = read_in_browser(render_page(made(ROWS)), _READER, tmp_path)
    if found is None:
        return
    assert (found["errors"], found["hacked"], found["requests"]) == ([], "undefined", 0)
    assert found["bars"][:3] == [
        "1, version 1 of 3, 2024-01-01 → 2024-02-01: Ann · Oslo",
        "1, version 2 of 3, 2024-02-01 → 2024-03-01: city → ''",
        "1, version 3 of 3, 2024-04-01 → open: Ann · Rome",
    ]
    assert found["bars"][3].endswith(f": {NASTY}") and found["none"] == ["deleted"]
    assert found["second"] == (
        "id 1 version 2 of 3: 2024-02-01 → 2024-03-01 deleted at its end name Ann city Oslo → empty text"
        " Key and history id 1 valid_from 2024-02-01 00:00:00 valid_to 2024-03-01 00:00:00 is_current false"
    )
    assert found["next"].startswith("id 2 version 2 of 2: 2024-03-01 → open open name </script>")
    assert (found["first"], found["stays"]) == ("2, version 1 of 2", "2, version 1 of 2")
    assert found["at"] == ["2024-04-01", ["1, version 3 of 3", "2, version 2 of 2"]]
    assert found["before"] == ["2024-03-01", ["2, version 2 of 2"]], "id=1 is deleted at this time"
    assert found["start"] == ["2024-01-01", ["1, version 1 of 3"]]
    assert (found["lanes"], found["nothing"]) == (["2"], "No key here fits.")
    assert found["value"] == [["1"], ["Ann · Rome"]], "a search finds values, and marks the versions that have them"
    assert found["between"] == [["2"], ["1"], ["1"], []], "opened, changed or deleted from the first day to the last"
    assert found["changed"] == [["1", "2"], []], "a key that is only new has not changed"
    assert (found["corner"], found["colours"]) == ("id", [True, False, True, True, False])


_LANES = """
const all = selector => [...document.querySelectorAll(selector)];
const marks = bar => ["fresh", "early", "gone", "overlaps"].filter(name => bar.classList.contains(name));
const found = {
  lanes: all(".track > *").map(bar => bar.matches(".none") ? "- " + bar.textContent
    : [bar.getAttribute("aria-label").replace(/version (\\d+) of \\d+, /, "$1, "), ...marks(bar)].join(" ")),
  axis: all("#axis span").filter(label => label.style.visibility === "").map(label => label.textContent),
};
"""
JAN, FEB, MAR = "2024-01-01", "2024-02-01", "2024-03-01"
OSLO, ROME, BONN = row(1, "Ann", "Oslo", JAN, FEB), row(1, "Ann", "Rome", FEB, MAR), row(1, "Ann", "Bonn", MAR, None)
MARKED = [{**OSLO, "gone": False}, {**ROME, "gone": True}, {**BONN, "gone": False}]
DAMAGED = [row(1, "Ann", None, JAN, FEB), row(1, None, "Oslo", FEB, "2024-01-15"), row(1, None, "Oslo", None, None)]


@pytest.mark.parametrize(
    ("page", "lanes"),
    [
        (made(MARKED, spec_of("{deleted: gone}", "on_delete: mark\n")), [
            "1, 1, 2024-01-01 → 2024-02-01: Ann · Oslo fresh", "1, 2, 2024-02-01 → 2024-03-01: deleted gone",
            "1, 3, 2024-03-01 → open: Ann · Bonn fresh"]),
        (made(DAMAGED), [
            "1, 1, 2024-01-01 → 2024-02-01: Ann fresh", "1, 2, 2024-02-01 → 2024-01-15: no name, city → Oslo",
            "1, 3, NULL → open: as before overlaps"]),
        (made([OSLO, ROME, BONN], limit=2), [
            "1, 1, 2024-01-01 → 2024-02-01: Ann · Oslo fresh", "- … goes on: cut by --limit",
            "1, 2, 2024-02-01 → 2024-03-01: city → Rome"]),
        (made([OSLO, {**ROME, "id": 2}], as_of="2024-02-01"), [
            "1, 1, 2024-01-01 → 2024-02-01: Ann · Oslo", "2, 1, 2024-02-01 → 2024-03-01: Ann · Rome"]),
    ],
    ids=["tombstones", "a damaged table", "a limit", "a filter"],
)  # fmt: skip
def test_lanes(page: Page, lanes: list[str], tmp_path: Path) -> None:
    found = read_in_browser(render_page(page), _LANES, tmp_path)
    assert found is None or (found["errors"], found["lanes"]) == ([], lanes)


@pytest.mark.parametrize(
    ("lo", "hi", "labels"),
    [
        ("2024-01-01", "2024-05-03", "2024-01|2024-02|2024-03|2024-04"),
        ("2021-02-01", "2024-05-03", "2021-02|2021-07|2022-01|2022-07|2023-01|2023-07|2024-01"),
        ("2024-01-01 23:50:00", "2024-01-02 00:10:00", "2024-01-01 23:50|23:55|2024-01-02 00:00|00:05"),
        ("2024-01-01 00:00:00.25", "2024-01-01 00:00:00.45", "2024-01-01 00:00:00.300000|00:00:00.400000"),
        ("0001-01-01", "9999-12-31", "0001|1000|2000|3000|4000|5000|6000|7000|8000|9000"),
        (9007199254740993, 9007199254740995, "9007199254740993|9007199254740994"),
    ],
)  # fmt: skip
def test_ticks_are_at_round_times(lo: Any, hi: Any, labels: str, tmp_path: Path) -> None:
    spec = spec_of("{type: bigint}") if isinstance(lo, int) else spec_of()
    found = read_in_browser(render_page(made([row(1, "Ann", "Oslo", lo, hi)], spec)), _LANES, tmp_path)
    assert found is None or "|".join(found["axis"]) == labels


_KNOWN = """
const all = selector => [...document.querySelectorAll(selector)];
const get = id => document.getElementById(id);
const shown = () => all(".lane:not([hidden])").map(lane => lane.querySelector(".name").textContent + ": "
  + [...lane.querySelectorAll(".track .version")].map(bar => bar.textContent + (bar.matches(".arrived") ? "*" : "")));
const state = () => [get("known-told").textContent, shown()];
const found = { now: state(), states: [] };
while (!get("known-before").disabled) { get("known-before").click(); found.states.unshift(state()); }
get("known-after").click(); get("known-after").click(); get("known-after").click();
found.third = get("known-told").textContent;
all(".track .version")[1].focus();
get("known").value = get("known").max; get("known").dispatchEvent(new Event("input"));
found.reads = get("known").getAttribute("aria-valuetext");
found.tabs = all(".track .version[tabindex='0']").map(bar => bar.getAttribute("aria-label"));
get("rows").open = true; found.rows = get("rows").firstElementChild.textContent;
get("known-reset").click(); found.again = shown(); found.label = get("known-told").textContent;
"""


def test_slider_shows_what_was_known(tmp_path: Path) -> None:
    """Of a table with two axes of time, run by run; what a run wrote is marked."""
    text = render_page(made(STORY, spec_of(RECORDED), superseded=True))
    require_self_contained(text)
    assert "3 keys, 6 versions" in Read(text).texts["small"]
    for plain in (made(STORY, spec_of(RECORDED), superseded=True, known_at="2024-03-10"), made(ROWS)):
        assert 'id="known"' not in render_page(plain)
    found = read_in_browser(text, _KNOWN, tmp_path)
    if found is None:
        return
    assert (found["errors"], found["requests"]) == ([], 0)
    now = ["1: Ann · Oslo,city → Rome,city → Paris", "2: Bob · Bonn", "3: Eva · Kyiv,city → Lviv"]
    assert found["now"] == ["now", now] and found["again"] == now and found["label"] == "now"
    assert found["states"] == [
        ["2024-01-05: wrote 1 version", ["1: Ann · Oslo*"]],
        ["2024-01-12: wrote 1 version", ["1: Ann · Oslo", "2: Bob · Bonn*"]],
        ["2024-02-10: wrote 1 version", ["1: Ann · Oslo", "2: Bob · Bonn*"]],
        ["2024-03-02: wrote 3 versions", ["1: Ann · Oslo*,city → Paris*", "2: Bob · Bonn", "3: Eve · Kyiv*"]],
        [
            "2024-03-20: wrote 2 versions",
            ["1: Ann · Oslo*,city → Rome*,city → Paris", "2: Bob · Bonn", "3: Eve · Kyiv"],
        ],
        ["2024-04-02: wrote 2 versions", [*now[:2], "3: Eva · Kyiv*,city → Lviv*"]],
    ]
    assert found["third"].startswith("2024-03-02") and found["reads"] == "2024-04-02: wrote 2 versions"
    assert found["tabs"] == ["1, version 3 of 3, 2024-03-01 → open: city → Paris"], (
        "the same place in what is known now"
    )
    assert found["rows"] == "Open versions, as known at 2024-04-02 00:00:00: 2"


_MANY = """
const all = selector => [...document.querySelectorAll(selector)];
const found = { drawn: all(".track .version").length };
document.getElementById("search").value = "n5999";
document.getElementById("search").dispatchEvent(new Event("input"));
found.lanes = all(".lane:not([hidden])").length;
all(".lane:not([hidden]) .version")[0].focus();
found.reads = document.getElementById("details").innerText.split("\\n")[0];
document.getElementById("search").value = "";
document.getElementById("search").dispatchEvent(new Event("input"));
document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
found.above = document.activeElement.getAttribute("aria-label");
dispatchEvent(new Event("beforeprint")); found.printed = all(".track .version").length;
"""


def test_many_keys_are_drawn_as_they_come_into_view(tmp_path: Path) -> None:
    """But a search, the keyboard and a printer reach all of them."""
    rows = [row(i // 2, f"n{i}", "Oslo", i % 2, 1 if i % 2 == 0 else None) for i in range(6000)]
    found = read_in_browser(render_page(made(rows, spec_of("{type: bigint}"))), _MANY, tmp_path)
    if found is None:
        return
    assert found["errors"] == [] and found["drawn"] < 100
    assert (found["lanes"], found["reads"]) == (1, "id 2999")
    assert found["above"].startswith("2998, version 1 of 2") and found["printed"] == 6000
