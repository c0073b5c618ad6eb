"""The Spark that all methods of the bench share, as ``scdgen run`` starts it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scdgen.session import local_session
from tests.bench.data import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parent.parent.parent / ".build" / "bench"
MACK = "mack==0.5.0"


@contextmanager
def bench_session() -> Iterator[SparkSession]:
    """A session with an empty warehouse below the bench's folder, and mack to import."""
    libraries = FOLDER / "mack"
    if not libraries.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(libraries), MACK]
        subprocess.run(install, check=True)
    sys.path.append(str(libraries))
    with tempfile.TemporaryDirectory(dir=FOLDER) as warehouse:
        # A clone of a table shares its files, and the files' clean-up is no part of what is measured.
        spark = local_session(warehouse, {"spark.driver.memory": "6g"})
        spark.sql(f"CREATE SCHEMA {SCHEMA}")
        try:
            yield spark
        finally:
            spark.stop()
