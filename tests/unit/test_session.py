"""What the embedded session keeps in the user's cache: the list of its JARs, and its classes. No Spark."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scdgen import load_spec_text
from scdgen.cli.options import EngineOptions, find_size, open_runner
from scdgen.engine.doctor import check_jars
from scdgen.engine.jvm import FEW_ROWS, JAVA_OPTIONS, QUICK, JarList, ivy_folder
from scdgen.engine.session import register_tables
from scdgen.paths import cache_folder


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """JARs as Ivy names them, and a folder with those that Spark ships."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = ivy_folder(version("pyspark")) / "jars"
    folder.mkdir(parents=True)
    jars = [
        folder / name
        for name in (
            "io.delta_delta-spark_4.2_2.13-4.4.0.jar",
            "com.fasterxml.jackson.core_jackson-core-2.13.5.jar",
            "commons-logging_commons-logging-1.3.0.jar",
        )
    ]
    for jar in jars:
        jar.touch()
    (tmp_path / "shipped").mkdir()
    for name in ("jackson-core-2.18.2.jar", "jcl-over-slf4j-2.0.17.jar"):
        (tmp_path / "shipped" / name).touch()
    return jars


def test_jars_are_listed_once(tmp_path: Path, found: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jars = JarList.of_environment()
    assert jars.read() == []
    jars.write(",".join(jar.as_uri() for jar in found), tmp_path / "shipped")
    assert jars.read() == [str(found[0])], "Spark has the others"
    assert [file.name for file in jars.file.parent.iterdir()] == [jars.file.name]
    found[0].unlink()
    assert jars.read() == [], "Ivy has to look again"


def test_cache_is_private_and_names_jars_of_ivy_only(
    tmp_path: Path, found: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java runs what the files of the cache name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jars = JarList.of_environment()
    before = os.umask(0)
    try:
        jars.write(found[0].as_uri(), tmp_path / "shipped")
    finally:
        os.umask(before)
    assert jars.file.parent.stat().st_mode & 0o777 == 0o700
    foreign = tmp_path / found[0].name
    foreign.touch()
    jars.file.write_text(f"{found[0]}\n{foreign}")
    assert jars.read() == [], "one of them is not of Ivy"
    (found[0].parent / "link.jar").symlink_to(foreign)
    jars.file.write_text(f"{found[0].parent}/link.jar")
    assert jars.read() == [], "a link leads out of Ivy's folder"
    jars.file.write_text(str(found[0]))
    assert jars.read() == [str(found[0])]
    jars.file.parent.chmod(0o770)
    assert jars.read() == [], "others can write it"
    jars.file.parent.rename(tmp_path / "own")
    (tmp_path / "own").chmod(0o700)
    jars.file.parent.symlink_to(tmp_path / "own")
    assert jars.read() == [], "it is a link"


def test_list_that_cannot_be_kept_is_no_error(tmp_path: Path, found: list[Path]) -> None:
    (tmp_path / "file").touch()
    jars = JarList(tmp_path / "file" / "jars.txt")
    jars.write(found[0].as_uri(), tmp_path / "shipped")
    assert jars.read() == []
    kept = JarList(tmp_path / "jars.txt")
    for text in ("", "s3://bucket/io.delta_delta-spark-4.4.0.jar"):
        kept.write(text, tmp_path / "shipped")
        assert not kept.file.exists(), text


def test_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch, found: list[Path], tmp_path: Path) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    jars = JarList.of_environment()
    jars.write(found[0].as_uri(), tmp_path / "shipped")
    assert jars.read() == []
    assert not check_jars({}).ok


def test_relative_cache_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == Path.home() / ".cache" / "scdgen"


def test_little_data_is_local_and_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.cli.options._SMALL", 10)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(bytes(6))
    (tmp_path / "rows.csv").write_bytes(bytes(4))
    assert find_size([str(tmp_path / "a"), str(tmp_path / "rows.csv"), str(tmp_path / "missing")]) == 10
    assert find_size([str(tmp_path / "a"), *3 * [str(tmp_path / "rows.csv")]]) == 14, "it stops to count"
    assert find_size(["s3://bucket/rows.csv"]) == math.inf


@pytest.mark.parametrize(("size", "settings"), [(6, FEW_ROWS), (7, QUICK), (10, QUICK), (11, {})])
def test_settings_follow_the_size_of_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, settings: dict[str, str]
) -> None:
    monkeypatch.setattr("scdgen.cli.options._SMALL", 10)
    monkeypatch.setattr("scdgen.cli.options._TINY", 6)
    used: list[EngineOptions] = []

    @contextlib.contextmanager
    def opened(options: EngineOptions, *_: object) -> Iterator[type]:
        used.append(options)
        yield type("Session", (), {"version": "4.2.0"})

    monkeypatch.setattr("scdgen.cli.options.open_session", opened)
    (tmp_path / "rows.csv").write_bytes(bytes(size))
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "part").write_bytes(bytes(size))
    spec = load_spec_text(
        "target: a.t\npattern: scd1\nsource: {table: a.s}\nkeys: [id]\ncolumns: {id: int}\n"
        f"table: {{location: {tmp_path}/t}}"
    )
    options = EngineOptions(None, str(tmp_path / "w"), ())
    for specs, files in (([], [str(tmp_path / "rows.csv")]), ([spec], [])):
        with open_runner(specs, options, files=files):
            assert dict(text.split("=", 1) for text in used.pop().conf) == settings


def test_settings_of_the_user_override_those_of_a_quick_start() -> None:
    given = EngineOptions(None, "warehouse", (f"{JAVA_OPTIONS}=-Xmx1g",)).with_settings(QUICK).conf
    assert dict(text.split("=", 1) for text in given) == {JAVA_OPTIONS: "-Xmx1g"}


def test_folder_that_is_not_a_table_name_is_passed_over(tmp_path: Path) -> None:
    """Spark refuses such a name, in the words of its parser, and every command on the warehouse would fail."""
    for name in ("plain", "my-data", "${env:HOME}", "crm.db/customer", "crm.db/über", "c-d.db/t"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
        (tmp_path / name / "_delta_log" / "00000000000000000000.json").touch()
    sent: list[str] = []
    register_tables(cast(Any, SimpleNamespace(sql=sent.append)), tmp_path)
    made = [text.split()[5] for text in sent if text.startswith("CREATE TABLE")]
    assert made == ["crm.customer", "`default`.plain"]
