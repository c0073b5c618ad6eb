"""The demos: prints commands that can be pasted in the folder of the project, and runs them.

python -m tests.tools.demo airports|visitor

The commands of scdgen and Python run in this process, so that Java starts once for all of them.
"""

from __future__ import annotations

import os
import runpy
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scdgen.cli.main import main
from tests.support.visitor import View, views

ROOT = Path(__file__).resolve().parents[2]
_PREFIX = Path(sys.prefix)
BIN = f"{_PREFIX.relative_to(ROOT) if _PREFIX.is_relative_to(ROOT) else _PREFIX}/bin"
STEPS = 3
SEED = 7
COOKIES = 300


class Command(NamedTuple):
    """A line of the shell, and why it is there."""

    why: str
    line: str


def airports() -> Iterator[Command]:
    """Five releases of a list of airports, each a snapshot."""
    spec, tables = "specs/airports.yml", "--warehouse .build/demo"
    yield Command("Start without tables", "rm -rf .build/demo")
    yield Command(
        "Five releases of a list of airports, from PyPI", f"{BIN}/python tests/tools/airports.py .build/airports"
    )
    source = "--source '.build/airports/airports-*.csv' --param 'taken={1}'"
    yield Command("Merge them, one after the other", f"{BIN}/scdgen run {spec} {source} {tables}")
    why = "Check the table. The spec compares rounded positions: 33,892 versions instead of 70,722"
    yield Command(why, f"{BIN}/scdgen check {spec} {tables}")
    yield Command("The history of one airport", f"{BIN}/scdgen show {spec} {tables} --key icao=UKBB")


AIRPORTS_NEXT = Command(
    "Next: the airports as they were at some day, or your own data with docs/tutorial.md",
    f"{BIN}/scdgen show specs/airports.yml --warehouse .build/demo --as-of 2024-01-01 --limit 5",
)


def visitor() -> Iterator[Command]:
    """Page views in three files, each merged by a stream when it has come."""
    spec, tables = "specs/visitor/visitor_lookup_direct.yml", "--warehouse .build/visitor/tables"
    cookie = choose_cookie(views(SEED, COOKIES, STEPS))
    write = f"tests/support/visitor.py .build/visitor/all --seed {SEED} --cookies {COOKIES} --files {STEPS}"
    stream = f"stream {spec} --source .build/visitor/in --checkpoint .build/visitor/checkpoint {tables}"
    yield Command("Start without tables", "rm -rf .build/visitor")
    yield Command("Page views of some hours, a file per hour", f"{BIN}/python {write}")
    yield Command("The folder that the stream reads", "mkdir .build/visitor/in")
    for number in range(1, STEPS + 1):
        file = f".build/visitor/all/views-{number:04}.json"
        yield Command(f"File {number} of {STEPS} arrives", f"mv {file} .build/visitor/in/")
        yield Command("Merge what is new", f"{BIN}/scdgen {stream}")
        show = f"show {spec} {tables} --key visitor_cookie_id={cookie}"
        yield Command("The users of one cookie", f"{BIN}/scdgen {show}")
    yield Command("Check the table", f"{BIN}/scdgen check {spec} {tables}")


VISITOR_NEXT = Command(
    "Next: what the spec says, step by step, or docs/how-to/streams.md",
    f"{BIN}/scdgen explain specs/visitor/visitor_lookup_direct.yml",
)


def choose_cookie(arrived: list[list[View]]) -> str:
    """A cookie that comes in most files, with two users at best, and starts with a view without a user."""
    users: dict[str, list[int | None]] = {}
    files: dict[str, set[int]] = {}
    for number, file in enumerate(arrived):
        for view in file:
            users.setdefault(view.cookie, []).append(view.user)
            files.setdefault(view.cookie, set()).add(number)
    begun = [cookie for cookie, seen in users.items() if seen[0] is None]
    return max(begun, key=lambda cookie: (len(files[cookie]), -abs(len({*users[cookie]}) - 3), cookie))


def perform(command: Command) -> None:
    """Print a command and run it; the first failure ends the demo."""
    print(f"\n# {command.why}\n{command.line}", flush=True)
    program, *args = shlex.split(command.line)
    if not program.startswith(f"{BIN}/"):
        subprocess.run([program, *args], check=True)
        return
    try:
        if program == f"{BIN}/scdgen":
            main(args)
        else:
            sys.argv = args
            runpy.run_path(args[0], run_name="__main__")
    except SystemExit as stopped:
        if stopped.code:
            raise


DEMOS = {"airports": (airports, AIRPORTS_NEXT), "visitor": (visitor, VISITOR_NEXT)}

if __name__ == "__main__":
    os.chdir(ROOT)
    begun = time.monotonic()
    commands, proposed = DEMOS[sys.argv[1]]
    for each in commands():
        perform(each)
    print(f"\nDone in {time.monotonic() - begun:.0f} s.\n# {proposed.why}\n{proposed.line}")
