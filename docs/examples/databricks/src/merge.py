"""Merges the specs that are given as arguments, in that order, and fails where a check of a table does."""

import sys

from pyspark.sql import SparkSession

from scdgen import Runner, load_spec

runner = Runner(SparkSession.builder.getOrCreate())
failed = []
for path in sys.argv[1:]:
    spec = load_spec(path)
    result = runner.run(spec)
    print(f"{spec.target}: {result.inserted} inserted, {result.updated} updated, {result.deleted} removed")
    failed += [f"{spec.target}: {check.name}" for check in runner.check(spec) if check.failures]
if failed:
    raise RuntimeError(f"checks failed: {', '.join(failed)}")
