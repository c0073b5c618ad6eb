"""Several sources of one table: how they are read, and the files and commands of each."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from scdgen import Spec, SpecError, load_spec, load_spec_text, render
from scdgen.cli.main import main
from scdgen.compile.compile import render_feeds
from scdgen.errors import UsageError
from scdgen.model.graph import steps
from scdgen.model.resolved import from_json, to_json
from scdgen.model.spec import choose_feeds
from scdgen.patterns.scd2 import Scd2
from scdgen.run.delta import Commit, hash_spec
from scdgen.run.metrics import RunRecord
from scdgen.run.source import _reads_own_target
from scdgen.run.stream import build_micro_batch

DOCUMENT: dict[str, Any] = {
    "target": "crm.customer",
    "pattern": "scd2",
    "sources": {
        "changes": {"table": "crm.customer_changes", "effective_at": "changed_at"},
        "initial": {"table": "crm.customer_export", "feed": "snapshot"},
        "fixes": {"table": "crm.fixes", "feed": "versions", "effective_at": "starts", "effective_until": "ends"},
    },
    "keys": ["id"],
    "columns": {
        "id": "int",
        "city": {"type": "string", "from": {"changes": "town", "initial": "trim(city)", "fixes": "city"}},
        "name": "string",
    },
    "late_arriving": "ignore",
    "conflicts": "any",
    "snapshot": {"taken_at": ":taken", "max_deleted": 0.2},
    "params": {"taken": "timestamp"},
    "stream": {"checkpoint": "checkpoints/customer"},
}


def spec_of(**options: Any) -> Spec:
    return load_spec_text(json.dumps({**copy.deepcopy(DOCUMENT), **options}), name="customer.yml")


def single(feed: str) -> Spec:
    """The spec of one feed as somebody would write it without the others."""
    document = copy.deepcopy(DOCUMENT)
    document["source"] = document.pop("sources")[feed]
    document["columns"]["city"]["from"] = document["columns"]["city"]["from"][feed]
    without = {
        "changes": ["snapshot"],
        "initial": ["late_arriving"],
        "fixes": ["snapshot", "late_arriving", "conflicts", "stream"],
    }
    for option in without[feed]:
        del document[option]
    return load_spec_text(json.dumps(document), name="customer.yml")


@pytest.mark.parametrize("feed", DOCUMENT["sources"])
def test_each_feed_is_the_spec_with_its_source_alone(feed: str) -> None:
    found, alone = spec_of().for_feed(feed), single(feed)
    options = found.model_dump(exclude_unset=True)
    if feed == "initial":
        assert found.stream and found.stream.checkpoint == "checkpoints/customer.initial"
        options["stream"] = DOCUMENT["stream"]
    assert options == alone.model_dump(exclude_unset=True)
    named = f"Generated from customer.yml, feed {feed}."
    texts, wanted = render(found).files(), render(alone).files()
    assert {name for name, text in texts.items() if named in text} == {"merge.sql", "plan.sql"}
    own = found.file_name("merge.sql")
    for name, text in texts.items():
        # These depend on whether any of the feeds deletes: checks, and whether a key of the plan may return.
        if name != "checks.sql" and not (name == "plan.sql" and feed == "changes"):
            text = text.replace(named, "Generated from customer.yml.")
            assert text.replace(own, "merge.sql") == wanted[name], name


def test_first_feed_is_the_default() -> None:
    spec = spec_of()
    assert (spec.feed, spec.source.table) == ("changes", "crm.customer_changes")
    assert [feed.feed for feed in spec.feeds] == ["changes", "initial", "fixes"]
    assert spec.for_feed() is spec and spec.for_feed("initial").for_feed("changes") == spec
    assert [feed.file_name("merge.sql") for feed in spec.feeds] == ["merge.sql", "merge.initial.sql", "merge.fixes.sql"]
    assert pickle.loads(pickle.dumps(spec)).for_feed("initial").source.table == "crm.customer_export"
    alone = single("changes")
    assert (alone.feed, alone.feeds, alone.whole, alone.for_feed()) == ("", (alone,), alone, alone)


def test_changed_copy_keeps_its_changes_for_every_feed() -> None:
    """Otherwise a run of another feed would write to the table of the spec that was copied."""
    spec = spec_of().model_copy(update={"target": "dev.customer"})
    assert spec.for_feed("changes") is spec
    assert {feed.target for feed in spec.feeds} == {"dev.customer"}
    assert spec.for_feed("fixes").late_arriving is None and spec.for_feed("fixes").for_feed("changes") == spec


def test_feed_is_chosen_for_the_specs_that_have_several() -> None:
    one, several = single("changes"), spec_of()
    assert [spec.feed for spec in choose_feeds([one, several], "initial")] == ["", "initial"]
    assert choose_feeds([one, several], None) == [one, several]
    with pytest.raises(UsageError, match=r"--feed initial: crm\.customer has one source; leave it out"):
        choose_feeds([one], "initial")
    with pytest.raises(UsageError, match="no feed 'inital'; did you mean 'initial'"):
        choose_feeds([one, several], "inital")


def test_param_is_needed_only_by_the_feed_that_reads_it() -> None:
    spec = spec_of()
    needed = ["DECLARE OR REPLACE VARIABLE taken" in render(feed).merge for feed in spec.feeds]
    assert needed == [False, True, False]


def test_gap_is_no_broken_check_if_any_feed_deletes() -> None:
    """The default feed never deletes; another one does, and leaves gaps that the check "contiguous" would report."""
    sources = DOCUMENT["sources"]
    assert "contiguous" in render(spec_of(sources={name: sources[name] for name in ("changes",)}, snapshot=None,
                                          params={}, columns={"id": "int"})).checks  # fmt: skip
    assert all("contiguous" not in render(feed).checks for feed in spec_of().feeds)
    assert len({render(feed).checks for feed in spec_of().feeds}) == 1


def test_spec_json_has_all_sources_and_is_read_back() -> None:
    spec = spec_of()
    written = json.loads(to_json(spec))
    assert [*written["sources"]] == ["changes", "initial", "fixes"] and "source" not in written
    assert written["sources"]["fixes"]["effective_until"] == "ends"
    assert written["columns"]["city"]["from"] == DOCUMENT["columns"]["city"]["from"]
    assert (written["snapshot"]["max_deleted"], written["late_arriving"]) == (0.2, "ignore")
    assert to_json(spec.for_feed("fixes")) == to_json(spec)
    read = from_json(to_json(spec))
    assert read is not None and to_json(read) == to_json(spec)
    assert [render(feed).merge for feed in read.placed_at("customer.yml").feeds] == [
        render(f).merge for f in spec.feeds
    ]
    assert "late_arriving" not in json.loads(to_json(spec_of(late_arriving=None))), "it depends on the feed"


def test_hash_is_that_of_the_whole_spec() -> None:
    spec = spec_of()
    assert {hash_spec(feed) for feed in spec.feeds} == {hash_spec(spec)}
    other = copy.deepcopy(DOCUMENT["sources"])
    other["fixes"]["where"] = "city <> ''"
    assert hash_spec(spec_of(sources=other)) != hash_spec(spec)


def test_metrics_and_history_name_the_feed() -> None:
    assert RunRecord(spec_of().for_feed("initial"), "r").as_row()["feed"] == "initial"
    assert RunRecord(single("initial"), "r").as_row()["feed"] is None
    row = {"version": 1, "timestamp": None, "operation": "MERGE"}
    note = json.dumps({"scdgen": "0", "run": "r", "feed": "initial"})
    assert Commit.from_history({**row, "userMetadata": note}).feed == "initial"
    assert Commit.from_history({**row, "userMetadata": json.dumps({"scdgen": "0", "run": "r"})}).feed == ""


def generate(folder: Path, document: dict[str, Any], *options: str) -> int:
    (folder / "customer.yml").write_text(json.dumps(document))
    with pytest.raises(SystemExit) as stopped:
        main(["generate", str(folder / "customer.yml"), "--out", str(folder / "out"), *options])
    return int(stopped.value.code or 0)


def test_files_of_each_feed_are_written_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out" / "crm.customer"
    rule = {"name": "named", "expect": "name <> ''", "on_violation": "quarantine"}
    document = {
        **DOCUMENT,
        "expectations": [rule],
        "quarantine": "crm.rejected",
        "on_delete": "ignore",
        "views": {"current": "crm.now"},
    }
    assert generate(tmp_path, document, "--format", "script", "--plan") == 0
    assert generate(tmp_path, document, "--format", "notebook") == 0
    of_feed = ("merge", "plan", "rejects", "notebook", "merge.script", "rejects.script")
    names = {f"{name}.sql" for name in (*of_feed, "create", "checks", "views")} | {"spec.json"}
    for feed in ("initial", "fixes"):
        names |= {f"{stem}.{feed}{rest}.sql" for stem, _, rest in ((*n.partition("."),) for n in of_feed) if not rest}
        names |= {f"merge.{feed}.script.sql", f"rejects.{feed}.script.sql"}
    assert {path.name for path in folder.iterdir()} == names
    spec = load_spec(tmp_path / "customer.yml")
    merge = (folder / "merge.initial.sql").read_text()
    assert "feed initial. To change it" in merge and "Compares a full extract" in merge
    assert merge.replace("customer.yml", spec.origin) == render(spec.for_feed("initial")).merge
    assert "Shows what merge.fixes.sql would do" in (folder / "plan.fixes.sql").read_text()
    assert "those of merge.fixes.sql." in (folder / "plan.fixes.sql").read_text()
    assert "Run it before merge.initial.sql" in (folder / "rejects.initial.sql").read_text()
    assert "Run rejects.initial.sql first" in merge
    assert "The statements of merge.initial.sql as one" in (folder / "merge.initial.script.sql").read_text()
    assert "The statements of rejects.initial.sql as one" in (folder / "rejects.initial.script.sql").read_text()
    notebook = (folder / "notebook.initial.sql").read_text()
    assert "Generated from `customer.yml`, feed `initial`; do not edit" in notebook
    assert merge.split("\n\n")[-1].strip() in notebook and "CREATE TABLE IF NOT EXISTS crm.customer" in notebook
    assert generate(tmp_path, document, "--check") == 0
    capsys.readouterr()
    # Another default, and one source less: the files of a name change, and those that nobody writes now are removed.
    fewer = copy.deepcopy(document)
    fewer["sources"] = {name: DOCUMENT["sources"][name] for name in ("initial", "changes")}
    del fewer["columns"]["city"]["from"]["fixes"]
    (folder / "merge.mine.sql").write_text("mine")
    assert generate(tmp_path, fewer, "--check") == 1
    assert "merge.fixes.sql (on disk)" in capsys.readouterr().out
    assert generate(tmp_path, fewer) == 0
    left = {path.name for path in folder.iterdir()}
    assert not any("fixes" in name or "initial" in name for name in left) and "merge.changes.script.sql" in left
    assert "merge.mine.sql" in left
    plain = {**DOCUMENT, "source": DOCUMENT["sources"]["changes"], "columns": {"id": "int"}}
    for option in ("sources", "snapshot"):
        del plain[option]
    assert generate(tmp_path, plain) == 0
    assert not any("changes" in path.name for path in folder.iterdir())


def test_pattern_whose_table_depends_on_the_feed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = Scd2.columns
    monkeypatch.setattr(Scd2, "columns", lambda self, spec: columns(self, spec)[: 4 if spec.reads_snapshot else None])
    monkeypatch.setattr("scdgen.compile.compile.judge", lambda *_: None)
    with pytest.raises(SpecError, match="other columns or properties by initial than by changes; give each its own"):
        render_feeds(spec_of())


def test_graph_shows_what_every_feed_reads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    own = {**DOCUMENT["sources"], "fixes": {**DOCUMENT["sources"]["fixes"], "table": "crm.fixed"}}
    (tmp_path / "a.yml").write_text(json.dumps({**DOCUMENT, "sources": own}))
    # The fixes are computed from the table itself: no circle, because a run reads one feed.
    (tmp_path / "b.yml").write_text(json.dumps({
        "target": "crm.fixed", "pattern": "scd1", "source": {"table": "crm.customer"}, "keys": "id",
        "columns": {"id": "int"},
    }))  # fmt: skip
    with pytest.raises(SystemExit):
        main(["graph", str(tmp_path)])
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(
        "reads crm.customer_changes (external), crm.customer_export (external, feed initial), crm.fixed (feed fixes)"
    )
    assert second.endswith("reads crm.customer")
    specs = [load_spec(tmp_path / "a.yml"), load_spec(tmp_path / "b.yml")]
    with pytest.raises(SpecError, match="in a circle"):
        steps(choose_feeds(specs, "fixes"))


def test_query_of_another_feed_does_not_count_as_reading_the_target() -> None:
    sources = copy.deepcopy(DOCUMENT["sources"])
    sources["fixes"] |= {"table": None, "query": "SELECT * FROM crm.customer"}
    spec = spec_of(sources=sources)
    assert [_reads_own_target(feed) for feed in spec.feeds] == [False, False, True]


def test_explain_lists_the_feeds_and_explains_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "customer.yml").write_text(json.dumps(DOCUMENT))

    def explained(*options: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(["explain", str(tmp_path / "customer.yml"), *options])
        assert not stopped.value.code
        return capsys.readouterr().out

    out = explained()
    assert "changes  changes of crm.customer_changes, by merge.sql, which this explains" in out
    assert (
        "initial  snapshot of crm.customer_export, by merge.initial.sql" in out and "Merges a batch of changes" in out
    )
    out = explained("--feed", "initial", "--verbose")
    assert "snapshot of crm.customer_export, by merge.initial.sql, which this explains" in out
    assert "columns.*.from: city: trim(city)" in out and "Steps of merge.initial.sql" in out
    assert "snapshot.max_deleted: 0.2" in out and "late_arriving" not in out


def test_joined_tables_are_filled_in_for_each_feed(tmp_path: Path) -> None:
    (tmp_path / "address.yml").write_text(
        "target: crm.address\npattern: scd2\nsource: {table: crm.a, effective_at: at}\nkeys: [id]\n"
        "columns: {id: int, city: string}\nhistory: {valid_from: begins, valid_to: ends}\n"
    )
    (tmp_path / "customer.yml").write_text(json.dumps({
        "target": "crm.customer", "pattern": "scd2", "keys": ["id"],
        "sources": {
            "changes": {"table": "crm.c", "effective_at": "at"},
            "joined": {"feed": "versions", "join": {"a": {"table": "crm.address", "keys": {"id": "id"}}}},
        },
        "columns": {
            "id": {"type": "int", "from": {"changes": "id", "joined": "a.id"}},
            "city": {"type": "string", "from": {"changes": "city", "joined": "a.city"}},
        },
    }))  # fmt: skip
    spec = load_spec(tmp_path / "customer.yml")
    assert spec.feed == "changes" and spec.for_feed("joined").source.join["a"].start == "begins"
    assert "begins" in render(spec.for_feed("joined")).merge
    (tmp_path / "address.yml").write_text(
        "target: crm.address\npattern: scd1\nsource: {table: crm.a}\nkeys: [id]\ncolumns: {id: int, city: string}\n"
    )
    with pytest.raises(SpecError, match=r"customer.yml:1:\d+: table: crm.address is scd1"):
        load_spec(tmp_path / "customer.yml")


def test_stream_has_the_checkpoint_of_its_feed() -> None:
    spec = spec_of()
    assert build_micro_batch([spec], lambda _: None).checkpoint == "checkpoints/customer"
    with pytest.raises(UsageError, match="feed: versions needs all rows of a key"):
        build_micro_batch([spec.for_feed("fixes")], lambda _: None)
