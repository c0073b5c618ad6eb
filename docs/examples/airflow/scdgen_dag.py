"""A DAG that keeps the tables of all specs: for each, a task that plans, guards and saves, then the run of that plan.

The tasks run in the order of ``scdgen graph``. Airflow needs no scdgen of its own, only the path of the command.
"""

import json
import os
import shlex
import subprocess

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import TaskGroup, dag

PROJECT = os.environ.get("SCDGEN_PROJECT", "/opt/shop")  # the folder with specs/ and scdgen.toml
SCDGEN = os.environ.get("SCDGEN", "scdgen")
TARGET = os.environ.get("SCDGEN_TARGET") or "prod"  # of scdgen.toml: where the tables are
GATE = "--fail-on 'deleted>10%'"


def list_steps() -> list[dict]:
    """The targets in the order of a run: target, spec, the targets before it, and the other tables that it reads."""
    command = [SCDGEN, "graph", "specs", "--target", TARGET, "--format", "json"]
    done = subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def scdgen(task_id: str, arguments: str, **options: object) -> BashOperator:
    """A task that calls the command in the folder of the project."""
    command = f"{shlex.quote(SCDGEN)} {arguments}"
    return BashOperator(task_id=task_id, bash_command=command, cwd=PROJECT, append_env=True, **options)


# A run of one day that is late must not overtake the next one.
@dag(schedule="@daily", start_date=pendulum.datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def shop_history() -> None:
    """A plan and a run of each spec."""
    runs = {}
    for step in list_steps():
        spec = shlex.quote(step["spec"])
        with TaskGroup(step["target"].replace(".", "__")):
            file = shlex.quote(f"plans/{step['target']}.json")
            plan = scdgen("plan", f"plan {spec} --target {shlex.quote(TARGET)} {GATE} --out {file}")
            # For errors of the engine: the same run again adds nothing twice. Bad data fails again with the same line.
            runs[step["target"]] = scdgen("run", f"run --plan {file}", retries=2)
        [runs[target] for target in step["after"]] >> plan >> runs[step["target"]]


shop_history()
