"""One day of work with the commands that need Spark, as separate processes, which find the tables by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SPEC = """target: main.crm.customer
description: Customers
pattern: scd2
source: {table: nowhere, effective_at: at, sequence_by: [lsn], delete_when: op = 'D'}
keys: [no]
columns: {no: string, name: string, age: int}
"""
ROWS = """no,name,age,at,lsn,op
0001,Ann,30,2024-01-01,9,I
0001,Anna,30,2024-02-01,10,U
0001,Hanna,30,2024-02-01,9,U
0002,"",,2024-01-01,11,I
0003,Cid,7,2024-01-01,12,I
0003,,"",2024-03-01,13,D
"""


def scdgen(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scdgen", *args]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_day_of_work_in_separate_processes(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "customer.yml").write_text(SPEC)
    (folder / "rows.csv").write_text(ROWS)
    planned = scdgen(folder, "plan", "customer.yml", "--source", "rows.csv")
    assert (planned.returncode, planned.stderr) == (0, "")
    first = planned.stdout.splitlines()[0]
    assert first.startswith("main.crm.customer: keys: ")
    assert first.endswith("; versions: 4 opened, 0 closed, 0 corrected, 0 folded")
    assert not (folder / "warehouse" / "crm.db").exists(), "a plan makes no table"

    ran = scdgen(folder, "run", "customer.yml", "--source", "rows.csv", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    counts = json.loads(ran.stdout)
    assert {k: counts[k] for k in ("inserted", "updated", "closed", "removed", "unchanged", "created")} == {
        "inserted": 4, "updated": 0, "closed": 0, "removed": 0, "unchanged": 0, "created": True
    }  # fmt: skip

    (folder / "rows.json").write_text(
        '{"no": "0002", "name": "Bob", "age": 5, "at": "2024-04-01", "lsn": 14, "op": "U"}\n'
    )
    ran = scdgen(folder, "run", "customer.yml", "--source", "rows.json")
    assert ran.stdout.startswith(
        "main.crm.customer: keys: 0 new, 1 changed, 0 deleted, 0 returned, 0 unchanged; "
        "versions: 1 opened, 1 closed, 0 corrected, 0 folded in "
    )

    shown = scdgen(folder, "show", "customer.yml", "--format", "csv")
    assert shown.stdout == (
        "no,name,age,valid_from,valid_to,is_current\n"
        "0001,Ann,30,2024-01-01 00:00:00,2024-02-01 00:00:00,false\n"
        "0001,Anna,30,2024-02-01 00:00:00,,true\n"  # the greater of 9 and 10 as numbers
        '0002,"",,2024-01-01 00:00:00,2024-04-01 00:00:00,false\n'  # empty text and NULL
        "0002,Bob,5,2024-04-01 00:00:00,,true\n"
        "0003,Cid,7,2024-01-01 00:00:00,2024-03-01 00:00:00,false\n"
    )
