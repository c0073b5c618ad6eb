"""Dagster assets for the tables of all specs, with what each reads: a run is guarded by its plan.

Dagster needs no scdgen of its own, only the path of the command.
"""

import json
import os
import subprocess

from dagster import AssetsDefinition, Definitions, Failure, MaterializeResult, RetryPolicy, asset

PROJECT = os.environ.get("SCDGEN_PROJECT", "/opt/shop")  # the folder with specs/ and scdgen.toml
SCDGEN = os.environ.get("SCDGEN", "scdgen")
TARGET = os.environ.get("SCDGEN_TARGET") or "prod"  # of scdgen.toml: where the tables are
GATE = "deleted>10%"


def call(*arguments: str) -> str:
    """What the command prints, in the folder of the project."""
    done = subprocess.run([SCDGEN, *arguments], cwd=PROJECT, capture_output=True, text=True)
    if done.returncode:
        # A retry helps against errors of the engine (3) only, not against bad data or a failed gate (1, 2).
        raise Failure(done.stderr.strip(), allow_retries=done.returncode == 3)
    return done.stdout


def make_asset(step: dict) -> AssetsDefinition:
    """The asset of a target, which depends on all tables that its spec reads."""
    reads = [name.split(".") for name in (*step["after"], *step["reads"])]

    @asset(key=step["target"].split("."), deps=reads, group_name="history", retry_policy=RetryPolicy(max_retries=2))
    def table() -> MaterializeResult:
        file = f"plans/{step['target']}.json"
        call("plan", step["spec"], "--target", TARGET, "--fail-on", GATE, "--out", file)
        return MaterializeResult(metadata=json.loads(call("run", "--plan", file, "--format", "json")))

    return table


steps = map(json.loads, call("graph", "specs", "--target", TARGET, "--format", "json").splitlines())
defs = Definitions(assets=[make_asset(step) for step in steps])
