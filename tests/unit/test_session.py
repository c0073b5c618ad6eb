"""The JARs of the embedded session, which Ivy looks for only once. No Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from scdgen.engine.session import _JarList


@pytest.fixture
def found(tmp_path: Path) -> list[Path]:
    """JARs as Ivy names them, and a folder with those that Spark ships."""
    jars = [
        tmp_path / name
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
    jars = _JarList.of_environment()
    assert jars.read() == []
    jars.write(",".join(jar.as_uri() for jar in found), tmp_path / "shipped")
    assert jars.read() == [str(found[0])], "Spark has the others"
    assert [file.name for file in jars.file.parent.iterdir()] == [jars.file.name]
    found[0].unlink()
    assert jars.read() == [], "Ivy has to look again"


def test_list_that_cannot_be_kept_is_no_error(tmp_path: Path, found: list[Path]) -> None:
    (tmp_path / "file").touch()
    jars = _JarList(tmp_path / "file" / "jars.txt")
    jars.write(found[0].as_uri(), tmp_path / "shipped")
    assert jars.read() == []
    kept = _JarList(tmp_path / "jars.txt")
    for text in ("", "s3://bucket/io.delta_delta-spark-4.4.0.jar"):
        kept.write(text, tmp_path / "shipped")
        assert not kept.file.exists(), text
