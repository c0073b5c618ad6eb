"""Many specs over several processes: the same output, files, errors and exit status as in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scdgen.cli.inputs import load_specs
from scdgen.cli.parallel import in_turn, workers
from scdgen.errors import EngineError, SpecError, line_and_status
from tests.conftest import ROOT

COUNT = 60
SPEC = """target: crm.t_{number}
pattern: scd1
source: {{table: crm.s}}
keys: [{key}]
columns: {{id: int, name: string}}
"""


def write(folder: Path, wrong: tuple[int, ...] = ()) -> Path:
    """A folder of specs; the ones of these numbers have a key that is no column."""
    folder.mkdir()
    for number in range(COUNT):
        text = SPEC.format(number=number, key="no" if number in wrong else "id")
        (folder / f"t_{number:02}.yml").write_text(text)
    return folder


def run(*args: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "scdgen", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def both(*args: str | Path) -> tuple[int, str, str]:
    """A command's status, output and errors, which are the same in one process and in two."""
    one, two = run(*args, "--jobs", "1"), run(*args, "--jobs", "2")
    assert one == two
    return one


def ok(specs: Path, number: int) -> str:
    return f"{specs}/t_{number:02}.yml: ok (crm.t_{number})\n"


def test_the_same_output_and_files(tmp_path: Path) -> None:
    specs = write(tmp_path / "specs")
    assert both("validate", specs) == (0, "".join(ok(specs, number) for number in range(COUNT)), "")
    for jobs in ("1", "2"):
        status, out, _ = run("generate", specs, "--out", tmp_path / "generated", "--jobs", jobs)
        assert status == 0
        assert len(out.splitlines()) == (4 * COUNT if jobs == "1" else 0), "the second one finds nothing to change"


def test_mistakes_in_the_order_of_the_specs(tmp_path: Path) -> None:
    specs = write(tmp_path / "specs", wrong=(7, 8, 33, 59))
    status, out, err = both("validate", specs)
    assert (status, out) == (1, "")
    says = "4:8: keys: 'no' is not among the columns; the columns are id, name"
    assert err.splitlines() == [f"{specs}/t_{number:02}.yml:{says}" for number in (7, 8, 33, 59)]
    alone = run("validate", specs / "t_33.yml")
    assert alone == (1, "", err.splitlines()[2] + "\n"), "as where it is the only one"


@pytest.mark.parametrize("command", ["validate", "generate"])
@pytest.mark.parametrize(
    ("template", "status", "says"),
    [
        ("DROP TABLE {{ ctx.target }};", 1, "t_41.yml: create.sql: the SQL is refused: a DROP statement has no place"),
        ("{{ ctx.nothing }}", 2, "there is no attribute 'nothing'"),
        ("{{ 1 // 0 }}", 2, "integer division or modulo by zero"),
    ],
)
def test_the_first_refused_spec_ends_it(command: str, template: str, status: int, says: str, tmp_path: Path) -> None:
    """The specs before it are done, it is named in one line, and the later ones are not begun."""
    specs, ours = write(tmp_path / "specs"), tmp_path / "templates"
    ours.mkdir()
    at = "{% if 't_41`' in ctx.target or 't_55`' in ctx.target %}"
    rest = "{% else %}CREATE TABLE {{ ctx.target }} (a INT);{% endif %}\n"
    (ours / "create.sql.j2").write_text(f"{at}{template}{rest}")
    found = []
    for jobs in ("1", "2"):
        more = ["--out", str(tmp_path / jobs)] if command == "generate" else []
        got, out, err = run(command, specs, "--templates", ours, "--jobs", jobs, *more)
        found.append((got, out.replace(f"{tmp_path}/{jobs}/", ""), err))
    assert found[0] == found[1]
    got, out, err = found[0]
    assert got == status and says in err and "t_55" not in err
    if command == "validate":
        assert out == "".join(ok(specs, number) for number in range(41))
    else:
        assert "crm.t_40/merge.sql" in out and "crm.t_41" not in out


class OddError(Exception):
    """An error that pickle cannot make again."""

    def __init__(self, what: str, place: str):
        super().__init__(f"{what} at {place}")


def stumbles(item: int) -> int:
    if item == 30:
        raise OddError("nothing", "thirty")
    return -item


def is_killed(item: int) -> int:
    if item == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return -item


def test_results_in_order_and_not_all_at_once() -> None:
    taken = []

    def items() -> Iterator[int]:
        for item in range(20, 1000):
            taken.append(item)
            yield item

    with workers(1000, 2) as each:
        assert each is not in_turn
        results = iter(each(abs, items()))
        assert [next(results) for _ in range(100)] == list(range(20, 120))
        assert len(taken) < 200
        assert list(results) == list(range(120, 1000))


def test_few_items_or_one_job_need_no_processes() -> None:
    for items, jobs in ((50, 2), (1000, 1)):
        with workers(items, jobs) as each:
            assert each is in_turn


def test_an_error_in_a_process_is_one_line() -> None:
    with pytest.raises(EngineError) as caught, workers(100, 2) as each:
        list(each(stumbles, range(100)))
    line = "scdgen: OddError: nothing at thirty; run again with --debug for all of it"
    assert line_and_status(caught.value) == (line, 3)
    assert "in stumbles" in str(caught.value.__cause__), "where it came from, for --debug"


def test_a_killed_process_is_one_line() -> None:
    with pytest.raises(EngineError) as caught, workers(100, 2) as each:
        list(each(is_killed, range(100)))
    line = "one of 2 processes was killed by the system; where memory is short, run again with --jobs 1"
    assert line_and_status(caught.value) == (line, 3)


def test_mistakes_come_back_with_their_places(tmp_path: Path) -> None:
    specs = write(tmp_path / "specs", wrong=(3, 50))
    with pytest.raises(SpecError) as alone:
        load_specs([specs])
    with pytest.raises(SpecError) as caught, workers(COUNT, 2) as each:
        load_specs([specs], each)
    assert caught.value.problems == alone.value.problems
    assert [problem.line for problem in caught.value.problems] == [4, 4]
