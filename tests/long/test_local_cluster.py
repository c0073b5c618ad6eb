"""Executors in separate processes (local-cluster), so that nothing is shared in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from tests.conftest import ROOT
from tests.support.core import SMALL

EXECUTORS = 2


def test_core_on_executors(tmp_path: Path) -> None:
    """The core tests; each load runs twice."""
    home = tmp_path / "spark"  # the workers write below SPARK_HOME
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
        "--setting", f"spark.master=local-cluster[{EXECUTORS},1,1024]",
        "--setting", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        *(f"tests/spark/{test}" for test in SMALL),
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_HOME": str(home)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert done.stdout.count(".") >= len(SMALL)
    started = sorted(path.parent.name for path in home.glob("work/app-*/*/stderr"))
    assert started == [str(number) for number in range(EXECUTORS)], "each had its executors, and none was lost"
