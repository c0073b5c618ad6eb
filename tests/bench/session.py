"""The Spark that all methods of the bench share, as ``scdgen run`` starts it."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen.engine.session import local_session
from tests.bench.data import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".build" / "bench"


@contextmanager
def bench_session() -> Iterator[SparkSession]:
    """A session with an empty warehouse below the bench's folder; prints its versions."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as warehouse:
        spark = local_session(warehouse, {"spark.driver.memory": "6g"})
        spark.sql(f"CREATE SCHEMA {SCHEMA}")
        delta = version("delta-spark")
        print(f"{os.cpu_count()} cores, {platform.system()}, Spark {spark.version}, Delta {delta}", flush=True)
        try:
            yield spark
        finally:
            spark.stop()
