"""scdgen doctor, without Spark: each check that passes, and each that fails with its way out."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from scdgen.cli.main import main
from scdgen.engine import doctor
from scdgen.errors import EngineError

PIP = "run: pip install delta-spark==4.4.0"
REQUIRES = {
    "scdgen": ["click>=8.1", 'delta-spark!=4.4.1,<5,>=3.3; extra == "spark"', 'pyspark<4.3,>=3.5; extra == "spark"'],
    "delta-spark": ["pyspark<=4.2.0,>=4.0.1", "importlib_metadata>=1.0.0"],
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A machine on which every check passes; the packages are those of the returned mapping."""
    installed = {"scdgen": "0.1.0", "pyspark": "4.2.0", "delta-spark": "4.4.0"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr("scdgen.engine.doctor.metadata.version", version)
    monkeypatch.setattr("scdgen.engine.doctor.metadata.requires", REQUIRES.get)
    monkeypatch.setattr("scdgen.engine.doctor.local_session", lambda *_: pytest.fail("Spark was started"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    put_java(monkeypatch, 17)
    put_jar("4.2", "4.4.0")
    return installed


def put_java(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    java = Path("java/bin/java").absolute()
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{number}.0.2\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))


def put_jar(spark: str, delta: str, ivy: str = ".ivy2.5.2") -> Path:
    jar = Path(ivy, "jars", f"io.delta_delta-spark_{spark}_2.13-{delta}.jar").absolute()
    jar.parent.mkdir(parents=True, exist_ok=True)
    jar.touch()
    return jar


def called(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, list[str]]:
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", *args])
    out, err = capsys.readouterr()
    assert err == ""
    return int(str(stopped.value.code)), out.splitlines()


def test_healthy_machine(machine: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = called(capsys)
    assert (status, lines) == (0, [
        f"ok      Python {sys.version.split()[0]}, scdgen 0.1.0",
        f"ok      Java 17 at {tmp_path}/java/bin/java",
        "ok      pyspark 4.2.0",
        "ok      delta-spark 4.4.0",
        "ok      delta-spark 4.4.0 fits pyspark 4.2.0",
        f"ok      Delta's JARs: {tmp_path}/.ivy2.5.2/jars/io.delta_delta-spark_4.2_2.13-4.4.0.jar",
        f"ok      warehouse {tmp_path}/warehouse, which the first run creates",
    ])  # fmt: skip
    assert not Path("warehouse").exists(), "nothing is written"
    Path("here").mkdir()
    assert called(capsys, "--warehouse", "here")[1][-1] == f"ok      warehouse {tmp_path}/here"


def failures(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    status, lines = called(capsys, *args)
    failed = [line.removeprefix("failed  ") for line in lines if line.startswith("failed  ")]
    assert status == (EngineError.exit_status if failed else 0)
    assert all("; " in line for line in failed), "each has a way out"
    return failed


def test_core_install_says_what_to_install(machine: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    del machine["pyspark"], machine["delta-spark"]
    assert failures(capsys) == [f"pyspark is not installed; {PIP}", f"delta-spark is not installed; {PIP}"]


def test_doctor_does_not_import_pyspark() -> None:
    code = "import sys; from scdgen.cli.main import main; sys.modules['pyspark'] = None; main(['doctor'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("ok      Python ") and done.stderr == ""


@pytest.mark.parametrize("number", [18, 25])
def test_java_that_spark_does_not_support(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    put_java(monkeypatch, number)
    java = Path("java/bin/java").absolute()
    assert failures(capsys) == [f"Java {number} at {java} is not supported by Spark; install Java 17 or 21"]
    put_java(monkeypatch, 21)
    assert failures(capsys) == []
    put_java(monkeypatch, 11)
    assert failures(capsys) == [f"Java 11 at {java} is too old for Spark 4; install Java 17 or 21"]


def test_versions_that_do_not_fit(machine: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    machine["delta-spark"] = "4.4.1"
    put_jar("4.2", "4.4.1")
    assert failures(capsys) == [f"delta-spark 4.4.1 is not supported (scdgen needs !=4.4.1,<5,>=3.3); {PIP}"]
    machine |= {"delta-spark": "4.4.0", "pyspark": "3.5.3"}
    put_jar("3.5", "4.4.0", ".ivy2")
    assert failures(capsys) == [f"delta-spark 4.4.0 needs pyspark <=4.2.0,>=4.0.1, not 3.5.3; {PIP}"]
    machine["pyspark"] = "4.3.0.dev1"
    put_jar("4.3", "4.4.0")
    assert failures(capsys) == [
        f"pyspark 4.3.0.dev1 is not supported (scdgen needs <4.3,>=3.5); {PIP}",
        f"delta-spark 4.4.0 needs pyspark <=4.2.0,>=4.0.1, not 4.3.0.dev1; {PIP}",
    ]


def test_missing_jars(machine: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of another version of Spark or of Delta do not count; --conf names another cache."""
    Path(".ivy2.5.2/jars/io.delta_delta-spark_4.2_2.13-4.4.0.jar").unlink()
    put_jar("4.1", "4.4.0")
    put_jar("4.2", "4.3.0")
    says = "run once with a network: scdgen doctor --spark (about 90 MB)"
    assert failures(capsys) == [
        f"Delta's JARs for delta-spark 4.4.0 and Spark 4.2 are not in {tmp_path}/.ivy2.5.2/jars; {says}"
    ]
    jar = put_jar("4.2", "4.4.0", "other")
    assert f"ok      Delta's JARs: {jar}" in called(capsys, "--conf", f"spark.jars.ivy={tmp_path}/other")[1]


def test_warehouse_that_cannot_be_written(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("taken").touch()
    assert failures(capsys, "--warehouse", "taken/here") == [
        f"--warehouse taken/here: {tmp_path}/taken is a file; remove it, or name another folder"
    ]

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scdgen.engine.doctor.tempfile.TemporaryFile", refuse)
    assert failures(capsys) == [
        f"--warehouse warehouse: {tmp_path} cannot be written (Permission denied); name another folder"
    ]


def test_spark_is_tried_on_request(
    machine: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise EngineError("the package a#b;1 could not be downloaded; check the network")

    monkeypatch.setattr("scdgen.engine.doctor.local_session", fail)
    assert failures(capsys, "--spark") == ["the package a#b;1 could not be downloaded; check the network"]
    monkeypatch.setattr("scdgen.engine.doctor.remote_session", fail)
    status, lines = called(capsys, "--remote", "sc://here:15002")
    assert status == 3 and [line[:8].strip() for line in lines] == ["ok", "ok", "failed"], "neither Java nor JARs"


def test_finding_is_one_line() -> None:
    assert str(doctor.Finding(False, "no; yes")) == "failed  no; yes"
