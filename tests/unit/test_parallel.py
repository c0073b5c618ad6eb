"""Many specs over several processes: the same output, files, errors and exit status as in one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from scdgen.cli.options import map_specs
from scdgen.errors import line_and_status
from tests.conftest import ROOT

pytestmark = pytest.mark.verify

COUNT = 60
SPEC = """target: crm.t_{number}
pattern: scd1
source: {{table: crm.s}}
keys: [{key}]
columns: {{id: int, name: string}}
"""


def write(folder: Path, wrong: tuple[int, ...] = ()) -> Path:
    """A folder of specs; those with the numbers in ``wrong`` have a key that is not a column."""
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
    """Check that a command gives the same in one process and in two; return its status, output and errors."""
    one, two = run(*args, "--jobs", "1"), run(*args, "--jobs", "2")
    assert one == two
    return one


def ok(specs: Path, number: int) -> str:
    return f"{specs}/t_{number:02}.yml: ok (crm.t_{number})\n"


def test_output_and_files_are_the_same(tmp_path: Path) -> None:
    specs = write(tmp_path / "specs")
    assert both("validate", specs) == (0, "".join(ok(specs, number) for number in range(COUNT)), "")
    for jobs in ("1", "2"):
        status, out, _ = run("generate", specs, "--out", tmp_path / "generated", "--jobs", jobs)
        assert status == 0
        assert len(out.splitlines()) == (4 * COUNT if jobs == "1" else 0), "the second one finds nothing to change"


def test_mistakes_are_in_the_order_of_the_specs(tmp_path: Path) -> None:
    specs = write(tmp_path / "specs", wrong=(7, 8, 33, 59))
    status, out, err = both("validate", specs)
    assert (status, out) == (1, "")
    says = "4:8: keys: 'no' is not among the columns; the columns are id, name"
    assert err.splitlines() == [f"{specs}/t_{number:02}.yml:{says}" for number in (7, 8, 33, 59)]
    alone = run("validate", specs / "t_33.yml")
    assert alone == (1, "", err.splitlines()[2] + "\n"), "the same message as for this spec alone"


REFUSED = "t_41.yml: create.sql: the SQL is refused: a DROP statement has no place"


@pytest.mark.parametrize(
    ("command", "template", "status", "says"),
    [
        ("generate", "DROP TABLE {{ ctx.target }};", 1, REFUSED),
        *(
            pytest.param(*given, marks=pytest.mark.nightly)
            for given in (
                ("validate", "DROP TABLE {{ ctx.target }};", 1, REFUSED),
                ("validate", "{{ ctx.nothing }}", 2, "no attribute 'nothing'"),
                ("generate", "{{ 1 // 0 }}", 2, "integer division or modulo by zero"),
            )
        ),
    ],
)
def test_first_refused_spec_stops_the_command(
    command: str, template: str, status: int, says: str, tmp_path: Path
) -> None:
    """Earlier specs are done, the refused one is reported in one line, and later ones are not started."""
    specs, ours = write(tmp_path / "specs"), tmp_path / "templates"
    ours.mkdir()
    at = "{% if 't_41' in ctx.target or 't_55' in ctx.target %}"
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


def test_few_specs_or_one_job_use_no_processes() -> None:
    for count, jobs in ((50, 2), (1000, 1)):
        with map_specs(count, jobs) as each:
            assert each is map


def test_no_process_is_left_after_an_error() -> None:
    with pytest.raises(BrokenPipeError), map_specs(1000, 2) as each:
        for result in each(abs, range(-1000, 0)):
            assert result == 1000
            raise BrokenPipeError
    assert not multiprocessing.active_children()


def test_killed_process_is_reported_in_one_line() -> None:
    with pytest.raises(BrokenProcessPool) as caught, map_specs(100, 2) as each:
        list(each(is_killed, range(100)))
    line, status = line_and_status(caught.value)
    assert status == 3 and line.startswith("scdgen: BrokenProcessPool: ") and "\n" not in line


def is_killed(item: int) -> int:
    if item == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    return -item
