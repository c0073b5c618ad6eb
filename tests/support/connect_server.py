"""A Spark Connect server with Delta: python -m tests.support.connect_server WAREHOUSE

Prints its address, and exits when stdin is closed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT, SETTINGS


def serve(warehouse: str) -> None:
    """Start the server and keep it running until stdin is closed."""
    from scdgen.engine.session import local_session

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    plugin = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
    }
    # Stream batches are merged in a Python process of the server.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    spark = local_session(warehouse, {**SETTINGS, **plugin})
    print(f"sc://127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    spark.stop()


@contextlib.contextmanager
def server(warehouse: Path) -> Iterator[str]:
    """Start a server in a separate process; yield its address and stop it at the end of the block."""
    command = [sys.executable, "-m", "tests.support.connect_server", str(warehouse)]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url.startswith("sc://"), f"the server did not start: {url}"
            yield url
        finally:
            process.stdin.close()


if __name__ == "__main__":
    serve(sys.argv[1])
