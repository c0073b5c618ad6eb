"""scdgen doctor --spark: starts Spark, and writes and reads a Delta table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Called


@pytest.mark.verify
def test_spark_writes_and_reads_a_table(spark: Any, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scdgen.engine.doctor.local_session", lambda *_: spark)
    status, out, err = called("doctor", "--spark")
    last = out.splitlines()[-1]
    assert last.startswith(f"ok      Spark {spark.version} writes and reads a Delta table ("), out
    assert err == "" and status in (0, 3)
