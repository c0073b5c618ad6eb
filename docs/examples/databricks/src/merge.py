"""Merges specs and fails where a check of a table does: merge.py FOLDER TARGET SPEC..., in the order of the specs."""

import os
import sys

from pyspark.sql import SparkSession

from scdgen import Runner, load_spec

folder, target, *paths = sys.argv[1:]
os.chdir(folder)
runner = Runner(SparkSession.builder.getOrCreate())
failed = []
for path in paths:
    spec = load_spec(path, target)
    result = runner.run(spec)
    print(f"{spec.target}: {result.inserted} inserted, {result.updated} updated, {result.deleted} removed")
    failed += [f"{spec.target}: {check.name}" for check in runner.check(spec) if check.failures]
if failed:
    raise RuntimeError(f"checks failed: {', '.join(failed)}")
