"""A project with two specs for the orchestrators of docs/examples: what its days bring, and the tables after each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

FILES = {
    "scdgen.toml": 'warehouse = "warehouse"\n[targets.prod.schemas]\n"*" = "prod_{schema}"\n',
    "specs/customer.yml": (
        "target: crm.customer\npattern: scd2\n"
        "source: {path: changes.csv, format: csv, effective_at: day, delete_when: op = 'D'}\n"
        "keys: [id]\ncolumns: {id: int, city: string}\nhistory: {type: date}\n"
    ),
    "specs/a_first.yml": (  # by name it would come first
        "target: crm.last_change\npattern: scd1\n"
        'source: {query: "SELECT id, MAX(valid_from) AS day FROM crm.customer GROUP BY id"}\n'
        "keys: [id]\ncolumns: {id: int, day: date}\n"
    ),
}
HEADER = "id,city,op,day\n"
# Three customers; one moves; one is deleted, which is more than 10% of them.
DAYS = ("1,Oslo,U,2026-01-01\n2,Rome,U,2026-01-01\n3,Bonn,U,2026-01-01\n", "1,Bern,U,2026-01-02\n", "2,,D,2026-01-03\n")
REFUSED = 2  # the day of DAYS whose plan fails
CUSTOMERS = (
    [(1, "Oslo", "2026-01-01", None), (2, "Rome", "2026-01-01", None), (3, "Bonn", "2026-01-01", None)],
    [
        (1, "Oslo", "2026-01-01", "2026-01-02"),
        (1, "Bern", "2026-01-02", None),
        (2, "Rome", "2026-01-01", None),
        (3, "Bonn", "2026-01-01", None),
    ],
)
CHANGES = (
    [(1, "2026-01-01"), (2, "2026-01-01"), (3, "2026-01-01")],
    [(1, "2026-01-02"), (2, "2026-01-01"), (3, "2026-01-01")],
)


class Project:
    """The project in a folder. ``SCDGEN`` in the environment is the command, with Spark."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.command = os.environ["SCDGEN"]
        os.environ["SCDGEN_PROJECT"] = str(folder)
        (folder / "specs").mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def bring(self, day: int) -> None:
        """Write the source of a day."""
        (self.folder / "changes.csv").write_text(HEADER + DAYS[day])

    def require_tables(self, day: int) -> None:
        """Fail unless the tables are those after a day."""
        assert self._show("customer", "id", "city", "valid_from", "valid_to") == CUSTOMERS[day]
        assert self._show("a_first", "id", "day") == CHANGES[day]

    def _show(self, spec: str, *columns: str) -> list[tuple[object, ...]]:
        command = [self.command, "show", f"specs/{spec}.yml", "--target", "prod", "--format", "json"]
        done = subprocess.run(command, cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [tuple(row[name] for name in columns) for row in rows]
