"""Sessions that refuse settings, as serverless compute does: what works without them and what fails. No Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from scdgen import EngineError, Runner, load_spec_text
from scdgen.engine.session import refuses, require_primary_keys, set_while, strict
from scdgen.engine.spark3 import Substituting, with_variables
from scdgen.run.delta import note_run, skip_known_batch
from scdgen.run.stream import build_micro_batch

SPEC = load_spec_text(
    "target: a.b\npattern: scd1\nsource: {table: landed}\nkeys: [id]\ncolumns: {id: int}\nstream: {checkpoint: c}\n"
)
ANSI = "spark.sql.ansi.enabled"
NOTE = "spark.databricks.delta.commitInfo.userMetadata"
SUBSTITUTE = "spark.sql.variable.substitute"
READING = (
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.parser.quotedRegexColumnNames",
)
APP, VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"


class FakeConf:
    """Settings of which some cannot be set, and perhaps not be read."""

    def __init__(self, refused: Iterable[str] = (), unread: bool = False, ansi: str | None = None):
        self.refused, self.unread, self.values = set(refused), unread, {} if ansi is None else {ANSI: ansi}

    def get(self, name: str, default: Any = "none") -> Any:
        if self.unread and name in self.refused:
            self.refuse(name)
        return self.values.get(name, default)

    def set(self, name: str, value: str) -> None:
        if name in self.refused:
            self.refuse(name)
        self.values[name] = value

    def unset(self, name: str) -> None:
        del self.values[name]

    def refuse(self, name: str) -> None:
        raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available. SQLSTATE: 42K0I")


def session(conf: FakeConf, cast: str = "") -> Any:
    """A session; ``cast`` is its error for text that is not a number, or empty if the cast gives NULL."""

    def collect() -> list[tuple[None]]:
        if cast:
            raise RuntimeError(cast)
        return [(None,)]

    return SimpleNamespace(conf=conf, sql=lambda _: SimpleNamespace(collect=collect))


@pytest.mark.parametrize("unread", [False, True])
def test_run_continues_without_its_note(unread: bool) -> None:
    spark = session(FakeConf({NOTE}, unread))
    with note_run(spark, SPEC, "r1") as named:
        assert (named, spark.conf.values) == ("", {})


def test_note_is_set_and_the_old_value_restored() -> None:
    spark = session(FakeConf())
    with note_run(spark, SPEC, "r1") as named:
        assert (named, json.loads(spark.conf.values[NOTE])["run"]) == ("r1", "r1")
    assert spark.conf.values == {}
    spark.conf.values[NOTE] = "mine"
    with pytest.raises(ZeroDivisionError), note_run(spark, SPEC, "r1"):
        raise ZeroDivisionError
    assert spark.conf.values == {NOTE: "mine"}


@pytest.mark.parametrize("unread", [False, True])
@pytest.mark.parametrize("refused", [{APP, VERSION}, {VERSION}])
def test_stream_fails_without_its_batch_settings(refused: set[str], unread: bool) -> None:
    spark = session(FakeConf(refused, unread))
    with pytest.raises(EngineError) as caught, skip_known_batch(spark, SPEC, "app", 7):
        pytest.fail("the batch could be merged twice")
    assert str(caught.value) == (
        f"a.b: this session does not let {APP} be set, by which Delta passes over a batch that it has taken in; "
        "stream on compute that does, which serverless does not, or schedule `scdgen run`"
    )
    assert spark.conf.values == {}, "all settings are restored"
    frame: Any = SimpleNamespace(sparkSession=spark)  # has no writeStream: no stream is started
    with pytest.raises(EngineError, match=r"^a\.b: this session does not let"):
        build_micro_batch([SPEC], Runner).start(frame, None)


def test_batch_settings_are_set_and_removed() -> None:
    spark = session(FakeConf())
    with skip_known_batch(spark, SPEC, "app", 7):
        assert spark.conf.values == {APP: "app", VERSION: "7"}
    assert spark.conf.values == {}


def test_ansi_is_set_and_restored() -> None:
    spark = session(FakeConf(ansi="false"))
    with strict(spark):
        assert spark.conf.values == {ANSI: "true", SUBSTITUTE: "false"}
    assert spark.conf.values == {ANSI: "false"}


def test_ansi_already_on_needs_no_permission() -> None:
    with strict(session(FakeConf({ANSI}, ansi="true"))):
        pass
    with strict(session(FakeConf({ANSI}, unread=True), "[CAST_INVALID_INPUT] The value 'a'")):
        pass


@pytest.mark.parametrize("unread", [False, True])
def test_ansi_that_cannot_be_set_is_refused(unread: bool) -> None:
    with pytest.raises(EngineError) as caught, strict(session(FakeConf({ANSI}, unread, ansi="false"))):
        pytest.fail("values that do not convert would become NULL")
    assert str(caught.value) == (
        f"Spark: {ANSI} is false here and may not be changed, so that a value which does not convert would become "
        "NULL; set it to true for this compute"
    )


@pytest.mark.parametrize("name", READING)
def test_statements_are_read_as_they_are_written(name: str) -> None:
    spark = session(FakeConf(ansi="true"))
    spark.conf.values |= {name: "true", SUBSTITUTE: "true"}
    with strict(spark):
        assert spark.conf.values == {ANSI: "true", name: "false", SUBSTITUTE: "false"}
    assert spark.conf.values == {ANSI: "true", name: "true", SUBSTITUTE: "true"}


def test_reading_that_cannot_be_set_is_refused() -> None:
    refusing = FakeConf(READING, ansi="true")
    refusing.values[READING[0]] = "true"
    with pytest.raises(EngineError) as caught, strict(session(refusing)):
        pytest.fail("the texts in the SQL would mean others")
    assert str(caught.value) == (
        f"Spark: {READING[0]} is true here and may not be changed, so that texts and names in the SQL would mean "
        "something else; set it to false for this compute"
    )
    with strict(session(FakeConf({*READING, SUBSTITUTE}, unread=True, ansi="true"))):
        pass  # serverless compute: each has its default, and specs hold no ${name}


def test_spark_3_is_probed_for_variables() -> None:
    """Databricks runtimes report 3.5 and have variables; Apache Spark 3.5, in tests/spark/test_spark_3.py, does not."""
    four: Any = SimpleNamespace(version="4.0.1")
    assert with_variables(four) is four, "is not probed"
    old = session(FakeConf(), "[PARSE_SYNTAX_ERROR] Syntax error at or near 'DECLARE'")
    new, broken = session(FakeConf()), session(FakeConf(), "the server is gone")
    for spark in (old, new, broken):
        spark.version = "3.5.0"
    assert with_variables(new) is new
    assert isinstance(with_variables(old), Substituting)
    with pytest.raises(RuntimeError, match="gone"):
        with_variables(broken)


def test_primary_key_is_refused_where_the_engine_has_none() -> None:
    text = "target: a.b\npattern: scd1\nsource: {table: landed}\nkeys: [id]\ncolumns: {id: int}\n"
    spec = load_spec_text(f"{text}table: {{primary_key: true}}\n")
    other = session(FakeConf(), "[UNRESOLVED_ROUTINE] Cannot resolve routine `current_version`")
    require_primary_keys(session(FakeConf()), spec)  # Databricks has the function
    require_primary_keys(other, load_spec_text(text))
    with pytest.raises(EngineError, match=r"^a\.b: table\.primary_key: this engine has no primary keys"):
        require_primary_keys(other, spec)


def test_other_errors_are_raised() -> None:
    class Broken(FakeConf):
        def set(self, name: str, value: str) -> None:
            raise ConnectionError("the server is gone")

    with pytest.raises(ConnectionError), set_while(session(Broken()), {"a": "b"}):
        pass
    with pytest.raises(RuntimeError, match="another"), strict(session(FakeConf({ANSI}, unread=True), "another")):
        pass


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("[CONFIG_NOT_AVAILABLE] Configuration spark.x is not available. SQLSTATE: 42K0I", True),
        ('[CANNOT_MODIFY_STATIC_CONFIG] Cannot modify the value of the static Spark config: "spark.x".', True),
        ('[CANNOT_MODIFY_CONFIG] Cannot modify the value of the Spark config: "spark.x".', True),
        ("Cannot modify the value of a static config: spark.x", True),
        ("[INVALID_CONF_VALUE.TYPE_MISMATCH] The value 'x' in the config is invalid", False),
        ("", False),
    ],
)
def test_refusal_is_recognised(text: str, is_one: bool) -> None:
    assert refuses(RuntimeError(text)) is is_one
