"""The page of scdgen show --html: self-contained, safe with any value, and the behaviour of its script.

The script runs if Chromium is on the PATH; otherwise a warning says that it did not run.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scdgen.cli import timeline_page
from scdgen.cli.timeline import Timeline
from scdgen.compile.render import Compiler
from scdgen.errors import UsageError
from tests.support.html_pages import Read, data_of, hash_of, read_in_browser, require_self_contained
from tests.support.timelines import RECORDED, STORY, made, row, spec_of

pytestmark = pytest.mark.verify

NASTY = "</script><script>hacked = 1</script><!--<img onerror='hacked = 1'> \" & ' \u2028 \u202e {{ 7 * 7 }} ]]>"
ROWS = [
    row(1, "Ann", "Oslo", "2024-01-01 00:00:00", "2024-02-01 00:00:00"),
    row(1, "Ann", "", "2024-02-01 00:00:00", "2024-03-01 00:00:00"),
    row(1, "Ann", "Rome", "2024-04-01 00:00:00", None),
    row(2, NASTY, None, "2024-01-15 00:00:00", "2024-03-01 00:00:00"),
    row(2, "Bob", None, "2024-03-01 00:00:00", None),
]


def render_page(timeline: Timeline, description: str | None = None, templates: str | None = None) -> str:
    return timeline_page.render_page(timeline, description, Compiler(templates))


def test_page_loads_nothing() -> None:
    require_self_contained(render_page(made(ROWS), "Customers"))


def test_any_value_is_kept_and_escaped() -> None:
    rows = [{**found, "id": NASTY} for found in ROWS[3:]]
    text = render_page(made(rows), NASTY)
    assert [tag for tag, _ in Read(text).elements].count("script") == 2
    assert "\u2028" not in re.findall(r'id="data">(.*?)</script>', text)[0]
    found = data_of(text)
    assert [version["row"][:3] for version in found["lanes"][0]["versions"]] == [
        [NASTY, NASTY, None],
        [NASTY, "Bob", None],
    ]
    assert found["lanes"][0]["versions"][1]["old"] == {"1": NASTY}
    assert "{{ 7 * 7 }}" in Read(text).texts["p"], "a value is not a template"


def test_policy_allows_no_script_of_the_data(tmp_path: Path) -> None:
    """Even if a value came into a page as markup, a browser would not run it."""
    policies = [
        next(attributes["content"] for _, attributes in Read(text).elements if "http-equiv" in attributes)
        for text in (render_page(made(ROWS[:3]), "x"), render_page(made(ROWS), NASTY))
    ]
    assert policies[0] == policies[1]
    careless = "<style>a</style><script>{{ ctx.description | safe }}</script>{{ ctx.policy | safe }}"
    (tmp_path / "show.html.j2").write_text(careless)
    text = render_page(made(ROWS), "hacked = 1", str(tmp_path))
    assert hash_of("a") in text and hash_of("hacked = 1") not in text


def test_long_value_is_cut() -> None:
    found = data_of(render_page(made([{**ROWS[0], "name": "é" * 1_000_000}])))
    assert found["lanes"][0]["versions"][0]["row"][1] == "é" * 10_000 + "… (1,000,000 characters)"


def test_numbers_are_text_so_scripts_do_not_round_them() -> None:
    found = data_of(render_page(made([row(1, "Ann", "Oslo", 9007199254740993, None)], spec_of("{type: bigint}"))))
    version = found["lanes"][0]["versions"][0]
    assert (version["start"], version["until"], version["row"][0]) == ("9007199254740993", None, "1")
    assert (found["lo"], found["hi"]) == ("9007199254740993", "9007199254741003")


def test_page_says_what_it_omits() -> None:
    text = render_page(made(ROWS, limit=4))
    assert "Only the first 4 rows are shown" in text and "and the history of id=2 goes on" in text
    text = render_page(made(ROWS, limit=3))
    assert (
        "Only the first 3 rows are shown" in text and "goes on. Write" not in text and "<code>--limit 0</code>" in text
    )
    assert "Only the " not in render_page(made(ROWS))
    assert "a gap is not a delete" in render_page(made(ROWS[:1], as_of="2024-01-01"))


def test_custom_template(tmp_path: Path) -> None:
    (tmp_path / "show.html.j2").write_text("<p>{{ ctx.target }}: {{ ctx.description }}</p>")
    assert render_page(made(ROWS), "<b>", str(tmp_path)) == "<p>crm.customer: &lt;b&gt;</p>\n"
    (tmp_path / "show.html.j2").write_text("{{ ctx.nothing }}")
    with pytest.raises(UsageError, match=r"show\.html\.j2:1: no attribute 'nothing'; fix the template"):
        render_page(made(ROWS), None, str(tmp_path))


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
const found = { count: bars().length, bars: bars().slice(0, 5) };
found.none = all(".track .none").map(none => none.textContent);
if (found.count < 100) {
  all(".track .version[tabindex='0']")[0].focus();
  press("ArrowRight"); found.second = details();
  press("ArrowRight"); press("ArrowDown"); found.next = details();
  press("Home"); found.first = document.activeElement.getAttribute("aria-label").split(",", 2).join();
  press("ArrowLeft"); found.stays = document.activeElement.getAttribute("aria-label").split(",", 2).join();
  document.getElementById("earlier").click();
  found.at = [document.getElementById("at").textContent, valid()];
  document.getElementById("earlier").click();
  found.before = [document.getElementById("at").textContent, valid()];
  set("slider", 0); found.start = [document.getElementById("at").textContent, valid()];
  document.getElementById("rows").open = true;
}
const lanes = () => all(".lane:not([hidden])").map(lane => lane.querySelector(".name").textContent);
set("search", "ID=2"); found.lanes = lanes();
set("search", "rome"); found.value = [lanes(), all(".version.hit").map(bar => bar.textContent)];
set("search", "nobody"); found.nothing = document.getElementById("nothing").innerText;
set("search", "");
if (document.getElementById("from").type === "date") {
  const between = (from, to) => { set("from", from); set("to", to); return lanes(); };
  found.between = [["2024-01-02", "2024-01-31"], ["", "2024-01-14"], ["2024-03-02", ""], ["2025-01-01", ""]].map(
    ends => between(...ends));
  between("", "");
  document.getElementById("changed").click(); found.changed = [lanes(), between("", "2024-01-31")];
}
found.corner = document.querySelector(".corner").innerText;
found.colours = all(".track .version").slice(0, 5).map(bar => bar.classList.contains("fresh"));
"""


def test_search_and_keyboard_navigation(tmp_path: Path) -> None:
    timeline = made(ROWS)
    assert len(data_of(render_page(timeline))["lanes"]) == 2
    found = read_in_browser(render_page(timeline), _READER, tmp_path)
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
        "1 version 2 of 3: 2024-02-01 → 2024-03-01 deleted at its end name Ann city Oslo → empty text"
        " Key and history id 1 valid_from 2024-02-01 00:00:00 valid_to 2024-03-01 00:00:00 is_current false"
    )
    assert found["next"].startswith("2 version 2 of 2: 2024-03-01 → open open name </script>")
    assert (found["first"], found["stays"]) == ("2, version 1 of 2", "2, version 1 of 2")
    assert found["at"] == ["2024-04-01", ["1, version 3 of 3", "2, version 2 of 2"]]
    assert found["before"] == ["2024-03-01", ["2, version 2 of 2"]], "id=1 is deleted at this time"
    assert found["start"] == ["2024-01-01", ["1, version 1 of 3"]]
    assert (found["lanes"], found["nothing"]) == (["2"], "No key here fits.")
    assert found["value"] == [["1"], ["Ann · Rome"]], "a search finds values, and marks the versions that have them"
    assert found["between"] == [["2"], ["1"], ["1"], []], "opened, changed or deleted from the first day to the last"
    assert found["changed"] == [["1", "2"], []], "a key that is only new has not changed"
    assert (found["corner"], found["colours"]) == ("id", [True, False, True, True, False])


def test_bars_show_no_null(tmp_path: Path) -> None:
    rows = [
        row(1, "Ann", None, "2024-01-01", "2024-02-01"),
        row(1, None, "Oslo", "2024-02-01", None),
        row(2, "Bob", None, "2024-01-01", None),
    ]
    found = read_in_browser(render_page(made(rows)), _READER, tmp_path)
    if found is None:
        return
    assert [bar.split(": ")[1] for bar in found["bars"]] == ["Ann", "no name, city → Oslo", "Bob"]
    assert found["changed"][0] == ["1"]


_KNOWN = """
const all = selector => [...document.querySelectorAll(selector)];
const get = id => document.getElementById(id);
const shown = () => all(".lane:not([hidden])").map(lane => lane.querySelector(".name").textContent + ": "
  + [...lane.querySelectorAll(".track .version")].map(bar => bar.textContent + (bar.matches(".arrived") ? "*" : "")));
const found = { now: [get("told").textContent, shown()], states: [] };
while (!get("sooner").disabled) { get("sooner").click(); found.states.unshift([get("told").textContent, shown()]); }
get("after").click(); get("after").click(); get("after").click();
found.third = get("told").textContent;
all(".track .version")[1].focus();
get("known").value = get("known").max; get("known").dispatchEvent(new Event("input"));
found.reads = get("known").getAttribute("aria-valuetext");
found.tabs = all(".track .version[tabindex='0']").map(bar => bar.getAttribute("aria-label"));
get("rows").open = true; found.rows = get("rows").firstElementChild.textContent;
get("now").click(); found.again = shown(); found.label = get("told").textContent;
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
    assert (found["lanes"], found["reads"]) == (1, "2999")
    assert found["above"].startswith("2998, version 1 of 2") and found["printed"] == 6000


def test_page_with_two_thousand_versions(tmp_path: Path) -> None:
    rows = [row(i // 5, f"n{i}", "Oslo", i % 5, i % 5 + 1 if i % 5 < 4 else None) for i in range(2000)]
    timeline = made(rows, spec_of("{type: bigint}"))
    assert len(render_page(timeline)) < 1_000_000
    found = read_in_browser(render_page(timeline), _READER, tmp_path)
    if found is None:
        return
    assert (found["count"], found["errors"], found["nothing"]) == (2000, [], "No key here fits.")
