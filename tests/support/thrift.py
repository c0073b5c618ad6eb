"""A Thrift server in the JVM of a local session, for clients such as dbt-spark."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def serve(spark: Any) -> int:
    """Start a Thrift server; return its port. Each connection is a session of its own, with the tables of ``spark``."""
    jvm = spark._jvm
    jvm.java.lang.System.setProperty("hive.server2.thrift.port", "0")
    jvm.java.lang.System.setProperty("hive.server2.thrift.bind.host", "localhost")
    server = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
    started = server.startWithContext(spark._jsparkSession.sqlContext())
    _client, service = started.getServices()
    return int(service.getPortNumber())
