"""--openlineage without Spark: what the events of a run say, and what happens if they cannot be sent."""

from __future__ import annotations

import contextlib
import json
import threading
import uuid
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scdgen import Runner, Spec, load_spec, load_spec_text
from scdgen.cli.main import main
from scdgen.cli.options import find_specs
from scdgen.errors import DataError, UsageError
from scdgen.patterns.pattern import pattern_of
from scdgen.run.delta import hash_spec
from scdgen.run.metrics import Metrics, RunRecord, record_run
from scdgen.run.openlineage import OpenLineage, report_run
from scdgen.run.results import RunResult
from tests.conftest import ROOT

Event = dict[str, Any]
TEXT = """target: crm.Customer
description: One row per version of a customer.
pattern: scd2
source:
  table: CRM.updates
  effective_at: coalesce(changed_at, :since)
  sequence_by: lsn
  delete_when: op = 'D'
  where: region IN (SELECT region FROM crm.regions)
keys: [id]
columns:
  id: {type: int, comment: The key}
  name: {type: string, from: "upper(concat(first, last))"}
params: {since: {type: timestamp, default: "SELECT max(valid_to) FROM crm.customer"}}
"""
SIMPLE = "target: {}\npattern: scd1\nsource: {}\nkeys: [id]\ncolumns: {{id: int}}\n"
COUNTS = {"inserted": 3, "updated": 2, "removed": 1, "refreshed": 4, "inferred": None, "version": 7}


class FakeSpark:
    version = "4.2.0"


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and variables in which the client finds no settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("URL", "API_KEY", "CONFIG", "NAMESPACE", "DISABLED"):
        monkeypatch.delenv(f"OPENLINEAGE_{name}", raising=False)


def read(file: str = "events.jsonl") -> list[Event]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()]


def events_of(spec: Spec, instead: str | None = None, infer: bool = False) -> list[Event]:
    with report_run(OpenLineage("events.jsonl"), spec, "r1", instead, infer) as reported:
        reported.counts = COUNTS
    return read()


def inputs_of(event: Event) -> list[tuple[str, str]]:
    assert all(set(given) == {"namespace", "name", "facets", "inputFacets"} for given in event["inputs"])
    return [(given["namespace"], given["name"]) for given in event["inputs"]]


def lineage_of(event: Event) -> dict[str, list[tuple[str, str, str]]]:
    """Column -> (dataset, field, how) for each of its inputs; "" for those of the whole table."""
    facet = event["outputs"][0]["facets"].get("columnLineage", {"fields": {}})
    listed = {**{name: one["inputFields"] for name, one in facet["fields"].items()}, "": facet.get("dataset", [])}
    return {
        name: [
            (f"{one['namespace']} {one['name']}", one["field"], how.get("description") or how["type"].lower())
            for one in inputs
            for how in one["transformations"]
        ]
        for name, inputs in listed.items()
        if inputs
    }


def test_two_events_describe_a_run() -> None:
    spec = load_spec_text(TEXT)
    start, complete = events_of(spec)
    assert [event["eventType"] for event in (start, complete)] == ["START", "COMPLETE"]
    assert start["eventTime"] <= complete["eventTime"] and start["eventTime"].endswith("+00:00")
    assert start["run"] == complete["run"] and start["inputs"] == complete["inputs"]
    assert start["run"]["runId"] == str(uuid.uuid5(uuid.NAMESPACE_URL, "scdgen:r1:crm.Customer"))
    tags = {tag["key"]: tag["value"] for tag in start["run"]["facets"]["tags"]["tags"]}
    assert (tags["scdgen_run"], tags["scdgen_spec_hash"]) == ("r1", hash_spec(spec))
    job = start["job"]
    assert (job["namespace"], job["name"]) == ("default", "crm.customer")
    assert job["facets"]["documentation"]["description"] == "One row per version of a customer."
    # Names in lower case; the target is not its own input, though the param reads it.
    assert inputs_of(start) == [("default", "crm.updates"), ("default", "crm.regions")]
    for event in (start, complete):
        (output,) = event["outputs"]
        assert (output["namespace"], output["name"]) == ("default", "crm.customer")
        fields = output["facets"]["schema"]["fields"]
        assert [field["name"] for field in fields] == ["id", "name", "valid_from", "valid_to", "is_current"]
        assert (fields[0]["type"], fields[0]["description"]) == (spec.columns["id"].type, "The key")
    assert "version" not in start["outputs"][0]["facets"] and start["outputs"][0]["outputFacets"] == {}
    assert complete["outputs"][0]["facets"]["version"]["datasetVersion"] == "7"
    written = complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"]
    assert written == 9, "inserted, updated and refreshed, but not removed"
    assert complete["producer"].startswith("pkg:pypi/scdgen@")


def test_columns_are_traced_to_the_source() -> None:
    at, key, flag = (("default crm.updates", field) for field in ("changed_at", "id", "op"))
    parts = [("default crm.updates", field) for field in ("first", "last")]
    found = lineage_of(events_of(load_spec_text(TEXT))[0])
    assert found["id"] == [(*key, "direct")]
    assert found["name"] == [(*part, "direct") for part in parts]
    assert found["valid_from"] == [(*at, "direct")], "without the param"
    assert found["valid_to"] == [(*at, "direct"), *((*one, "indirect") for one in (key, *parts, flag))]
    assert found[""] == [
        ("default crm.updates", "region", "which rows are read"),
        (*flag, "which rows are deletes"),
        ("default crm.updates", "lsn", "which row counts"),
    ]


@pytest.mark.parametrize(
    ("source", "instead", "inputs"),
    [
        ("{table: main.crm.a}", None, [("default", "main.crm.a")]),
        ("{table: a}", None, [("default", "default.a")]),
        ("{path: data/in, format: csv}", None, [("file", "HERE/data/in")]),
        ("{path: 's3://landing/crm/day.csv', format: csv}", None, [("s3://landing", "crm/day.csv")]),
        ("{path: 'abfss://c@a.dfs.core.windows.net/x', format: csv}", None,
         [("abfss://c@a.dfs.core.windows.net", "x")]),
        ("{path: 'file:///x/y', format: csv}", None, [("file", "/x/y")]),
        ("{table: crm.a}", "day 1.csv", [("file", "HERE/day 1.csv")]),
        ("{table: crm.a}", "", []),
        ("{query: SELECT id FROM crm.a JOIN crm.b USING (id)}", None, [("default", "crm.a"), ("default", "crm.b")]),
        ("{query: SELECT id FROM crm.a}", "/x.csv", [("file", "/x.csv")]),
    ],
)  # fmt: skip
def test_inputs_are_what_is_read(source: str, instead: str | None, inputs: list[tuple[str, str]]) -> None:
    event = events_of(load_spec_text(SIMPLE.format("crm.t", source)), instead)[0]
    here = str(Path.cwd())
    assert [(space, name.replace(here, "HERE")) for space, name in inputs_of(event)] == inputs
    named = "query" not in source or instead
    traced = [(" ".join(inputs[0]).replace("HERE", here), "id", "direct")] if inputs and named else []
    assert lineage_of(event).get("id", []) == traced, "a column of a SELECT or a DataFrame has no dataset"


def test_joined_tables_and_facts_are_inputs() -> None:
    joined = load_spec_text(
        "target: crm.j\npattern: scd2\nsource:\n  feed: versions\n  join:\n"
        "    c: {table: crm.c, keys: {id: id}}\n    a: {table: crm.C.d, keys: {id: cid}, where: kind = 1}\n"
        "keys: [id]\ncolumns: {id: {type: int, from: c.id}, city: {type: string, from: a.city}}\n"
    )
    event = events_of(joined)[-1]
    assert inputs_of(event) == [("default", "crm.c"), ("default", "crm.c.d")]
    found = lineage_of(event)
    assert found["id"] == [("default crm.c", "id", "direct")]
    assert found["city"] == [("default crm.c.d", "city", "direct")], "not the column d of crm.c"
    assert found[""] == [("default crm.c.d", "kind", "which rows are read")]
    facts = TEXT + "members: {inferred: {fact: sales.orders, keys: {id: cid}, at: ordered_at, flag: guessed}}\n"
    names = [inputs_of(events_of(load_spec_text(facts), infer=infer)[-1]) for infer in (False, True)]
    assert names[1] == [*names[0], ("default", "sales.orders")]


@pytest.mark.parametrize("path", find_specs([ROOT / "specs"]), ids=lambda path: path.stem)
def test_example_specs_have_events(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spec = load_spec(path)
    event = events_of(spec)[-1]
    names = [field["name"] for field in event["outputs"][0]["facets"]["schema"]["fields"]]
    assert len(names) == len(pattern_of(spec).columns(spec)) and set(lineage_of(event)) <= {*names, ""}
    assert event["inputs"] and caplog.messages == []


def test_failed_run_has_the_line_of_its_error() -> None:
    spec = load_spec_text(SIMPLE.format("crm.t", "{table: a}"))
    events = OpenLineage("events.jsonl")
    for error in (DataError("crm.t: id is NULL; fix the source"), KeyboardInterrupt()):
        with pytest.raises(type(error)), report_run(events, spec, "r1"):
            raise error
    first, failed, second, stopped = read()
    assert [first["eventType"], failed["eventType"]] == ["START", "FAIL"]
    assert failed["run"]["facets"]["errorMessage"]["message"] == "crm.t: id is NULL; fix the source"
    assert [second["eventType"], stopped["eventType"]] == ["START", "ABORT"]
    assert "errorMessage" not in stopped["run"]["facets"]


def test_key_in_clear_is_remarked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "S3cretKEY")
    for url in ("http://localhost:5000", "http://127.0.0.1:5000", "https://host"):
        OpenLineage(url)
    assert caplog.messages == []
    OpenLineage("http://host")
    assert caplog.messages == ["--openlineage http://host: sends OPENLINEAGE_API_KEY unencrypted; write https instead"]


def test_python_run_sends_events(monkeypatch: pytest.MonkeyPatch) -> None:
    result = RunResult.from_merge("crm.t", {"num_inserted_rows": 2}, None, False, version=3, created=True)
    spec = load_spec_text(SIMPLE.format("crm.t", "{table: a}"))
    monkeypatch.setattr(Runner, "_prepare", lambda *_: contextlib.nullcontext(None))
    monkeypatch.setattr(Runner, "_run", lambda *_: result)
    spark: Any = FakeSpark()
    runner = Runner(spark, run_id="r9", openlineage="events.jsonl")
    assert runner.run(spec) is result
    assert runner.run(spec, count=True) is result
    frame: Any = SimpleNamespace(sparkSession=FakeSpark())
    runner.run(spec, source=frame)
    found = read()
    assert [event["eventType"] for event in found] == ["START", "COMPLETE"] * 3
    assert [len(event["inputs"]) for event in found] == [1, 1, 1, 1, 0, 0], "a DataFrame has no name"
    assert found[1]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2

    def fail(*_: object) -> None:
        raise DataError("crm.t: broken")

    monkeypatch.setattr(Runner, "_run", fail)
    for counted in (False, True):
        with pytest.raises(DataError):
            runner.run(spec, count=counted)
    assert [event["eventType"] for event in read()[6:]] == ["START", "FAIL"] * 2


@contextlib.contextmanager
def serving(status: int = 201) -> Iterator[tuple[str, list[tuple[str, str, Event]]]]:
    """A server on a free port, and (path, authorization, event) of each request."""
    got: list[tuple[str, str, Event]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            got.append((self.path, self.headers.get("Authorization", ""), body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()


def test_server_gets_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "k1")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "prod")
    with serving() as (url, got), report_run(OpenLineage(url), load_spec_text(TEXT), "r1") as reported:
        reported.counts = COUNTS
    assert [(path, key, event["eventType"]) for path, key, event in got] == [
        ("/api/v1/lineage", "Bearer k1", "START"),
        ("/api/v1/lineage", "Bearer k1", "COMPLETE"),
    ]
    assert got[0][2]["job"]["namespace"] == got[0][2]["inputs"][0]["namespace"] == "prod"


@pytest.mark.verify
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("nowhere/events.jsonl", "No such file or directory"),
        ("http://127.0.0.1:1", "Connection refused"),
        ("REFUSING", "403 Client Error: Forbidden for url: REFUSING/api/v1/lineage"),
    ],
)
def test_lost_events_are_warnings(place: str, why: str, fails: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The run ends as without them."""
    spec = load_spec_text(TEXT)
    with serving(403) as (url, _), contextlib.ExitStack() as stack:
        if fails:
            stack.enter_context(pytest.raises(DataError, match="broken"))
        place, why = place.replace("REFUSING", url), why.replace("REFUSING", url)
        with report_run(OpenLineage(place), spec, "r1") as reported:
            if fails:
                raise DataError("broken")
            reported.counts = COUNTS
    logged = [text for name, _, text in caplog.record_tuples if name.startswith("scdgen")]  # urllib3 logs its retries
    for text, kind in zip(logged, ("START", "FAIL" if fails else "COMPLETE"), strict=True):
        assert text.startswith(f"--openlineage {place}: crm.Customer: ") and why in text
        assert text.endswith(f"; the run is not affected, but its event {kind} is lost")


def test_password_of_a_server_is_hidden(caplog: pytest.LogCaptureFixture) -> None:
    with report_run(OpenLineage("http://user:S3cretPW@127.0.0.1:1/x?api_key=S3cretKEY"), load_spec_text(TEXT), "r1"):
        pass
    said = caplog.messages[-1]
    assert "S3cret" not in caplog.text
    assert said.startswith("--openlineage http://***@127.0.0.1:1/x***: ") and "S3cret" not in said
    with pytest.raises(UsageError) as caught:
        OpenLineage("ftp://user:S3cretPW@host/x?api_key=S3cretKEY")
    assert "S3cret" not in str(caught.value)


def test_keys_of_a_bucket_are_not_sent() -> None:
    (event, _) = events_of(load_spec_text(TEXT), instead="s3a://KEY:SECRET@bucket/day.csv")
    assert inputs_of(event)[0] == ("s3a://bucket", "day.csv") and "SECRET" not in json.dumps(event)


@pytest.mark.parametrize("place", ["", "s3://bucket/events", "http://", "https:///api", "file:///x.jsonl"])
def test_wrong_place_is_refused(place: str) -> None:
    spark: Any = FakeSpark()
    with pytest.raises(UsageError, match="is neither a file nor a server; write a path, or a URL of http or https"):
        Runner(spark, openlineage=place)


def test_wrong_settings_are_refused() -> None:
    line = "--openlineage http://a b: openlineage-python refuses this (.*); correct the URL, or openlineage.yml"
    with pytest.raises(UsageError, match=line):
        OpenLineage("http://a b")
    Path("openlineage.yml").write_text("transport: {auth: {type: api_key}}\n")
    with pytest.raises(UsageError, match=r"--openlineage http://a: .*apiKey is required"):
        OpenLineage("http://a")


SAMPLE = '{"ssn":"123-45-6789"}'
HELD = f"crm.t: id is NULL, such as {SAMPLE}; fix the source"


@pytest.mark.parametrize(
    ("given", "shown", "kept"), [((), True, False), (("hide",), False, False), (("show",), True, True)]
)
def test_values_of_rows_are_hidden_where_others_read_them(
    given: tuple[str, ...], shown: bool, kept: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In events and metrics by default, in what the operator sees with --values hide."""
    Path("a.yml").write_text(SIMPLE.format("crm.t", "{table: crm.raw}"))
    rows: list[Mapping[str, Any]] = []
    engine: Any = SimpleNamespace(spark=None, lock=contextlib.nullcontext())
    monkeypatch.setattr(Metrics, "prepare", lambda *_: None)
    monkeypatch.setattr(Metrics, "append", lambda _, __, row: rows.append(row))

    def run(spec: Spec, *_: object, **__: object) -> None:
        with record_run(Metrics("ops.runs"), engine, RunRecord(spec, "r1")):
            raise DataError(HELD, values=[SAMPLE])

    runner = SimpleNamespace(run_id="r1", spark=None, run=run)
    monkeypatch.setattr("scdgen.cli.options.open_runner", lambda *_, **__: contextlib.nullcontext(runner))
    for log in ([], ["--log-format", "json"]):
        values = ["--values", *given] if given else []
        with pytest.raises(SystemExit):
            main(["run", "a.yml", "--openlineage", "events.jsonl", *values, *log])
        assert ("123-45-6789" in capsys.readouterr().err) == shown
    hidden = "crm.t: id is NULL, such as …; fix the source"
    assert [row["error"] for row in rows] == [HELD if kept else hidden] * 2
    assert read()[1]["run"]["facets"]["errorMessage"]["message"] == (HELD if kept else hidden)


def test_command_sends_events_of_each_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the path of --source, and the error that the user sees; a table that is skipped has no events."""
    for name, source in (("a", "{table: crm.raw}"), ("b", "{table: crm.a}"), ("c", "{table: crm.raw}")):
        Path(f"{name}.yml").write_text(SIMPLE.format(f"crm.{name}", source))
    for name in ("1", "2"):
        Path(f"{name}.csv").write_text("id\n1\n")

    def run(spec: Spec, *_: object, **__: object) -> RunResult:
        if spec.target == "crm.a":
            raise DataError("crm.a: id is NULL; fix the source")
        counts, planned = {"num_inserted_rows": 5}, {"unchanged": 0}
        return RunResult.from_merge(spec.target, counts, None, False, version=1, created=False, planned=planned)

    @contextlib.contextmanager
    def opened(_: object, spec: Spec, path: str | None, *__: object) -> Iterator[None]:
        yield
        if path == "2.csv":
            raise DataError("2.csv:2: id is not a number")

    runner = SimpleNamespace(run_id="r1", spark=None, run=run)
    monkeypatch.setattr("scdgen.cli.options.open_runner", lambda *_, **__: contextlib.nullcontext(runner))
    monkeypatch.setattr("scdgen.cli.options.open_source", opened)
    monkeypatch.setenv("SCDGEN_RUN_OPENLINEAGE", "events.jsonl")
    for words in (["a.yml", "b.yml", "c.yml"], ["c.yml", "--source", "*.csv"]):
        with pytest.raises(SystemExit) as stopped:
            main(["run", *words])
        assert stopped.value.code == 1
    found = read()
    assert [(event["job"]["name"], event["eventType"], inputs_of(event)[0][1]) for event in found] == [
        ("crm.a", "START", "crm.raw"),
        ("crm.a", "FAIL", "crm.raw"),
        ("crm.c", "START", "crm.raw"),
        ("crm.c", "COMPLETE", "crm.raw"),
        *[("crm.c", kind, str(Path("1.csv").absolute())) for kind in ("START", "COMPLETE")],
        *[("crm.c", kind, str(Path("2.csv").absolute())) for kind in ("START", "FAIL")],
    ]
    shown = capsys.readouterr().err
    for event in (found[1], found[7]):
        assert f"{event['run']['facets']['errorMessage']['message']}\n" in shown
    assert found[3]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 5
    assert len({event["run"]["runId"] for event in found}) == 4, "each file is a run"
