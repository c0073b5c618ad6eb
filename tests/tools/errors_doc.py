"""Writes docs/errors.md, the list of all errors, from the case files: python -m tests.tools.errors_doc."""

from __future__ import annotations

import re

from scdgen.errors import STATEMENT
from tests.conftest import ROOT
from tests.support.error_cases import Group, groups

FILE = ROOT / "docs" / "errors.md"
HEAD = """# Errors

What each message means and what to do about it, made from the cases of `tests/cases/errors`. A message begins with its
place (a file with line and column, a table, an option), which is left out here; `…` stands for what differs from case
to case. Exit status:

| status | |
|---|---|
| 1 | a spec or the data is wrong, a check fails, or files differ (`--check`, `--diff`) |
| 2 | the command cannot be carried out as it was written |
| 3 | Spark, Delta Lake, Java or the system failed |
| 130 | stopped by Ctrl-C |

A run that fails leaves its table as it was. If a command runs several specs, tables that it has already merged keep
the result.

An error of Spark, Delta Lake or Java that is not listed here is its own first line. `--debug` shows Spark's and
Python's own errors in full, before the line.
"""
_PLACE = re.compile(
    r"^(?:HERE/)?(?:[\w./-]+\.(?:ya?ml|toml|sql|csv|json|jsonl|tsv|j2|parquet|gz)(?::\d+){0,2}|err_\w+\.\w+|spec|odd|nowhere|"
    r"[\w.-]+/[\w./-]*): "
)


def shape(line: str) -> str:
    """A message without its place and its names and values.

    >>> shape("spec.yml:6:8: keys: 'nam' is not among the columns; did you mean 'name'?")
    "keys: '…' is not among the columns; did you mean '…'?"
    """
    line = _PLACE.sub("", line)
    line = re.sub(r"(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'", "'…'", line)
    line = re.sub(r"\{\".*?\}(?=[;),]| \(|$)", "{…}", line)
    line = re.sub(r"(allowed here: |its columns: |the columns are |is not one of |templates \()[^)?;]*", r"\1…", line)
    return re.sub(r"HERE(/\S+\b)?", "…", line)


def lines(group: Group) -> list[str]:
    """The rows of a group's table, each message once."""
    found: dict[tuple[int, str], str] = {}
    for case in group.cases:
        for line in case.errors:
            if line and not line.startswith(STATEMENT):
                found.setdefault((case.status, shape(line)), case.name)
    rows = ["| status | message | cause | what to do |", "|---|---|---|---|"]
    for (status, message), cause in found.items():
        what, way_out = [*re.split(r"; (?![^(]*\))", message, maxsplit=1), ""][:2]  # not one in parentheses
        rows.append(f"| {status} | {_cell(what)} | {_cell(cause)} | {_cell(way_out)} |")
    return rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def text() -> str:
    """The text of the whole file."""
    parts = [HEAD.rstrip("\n")]
    for group in groups().values():
        parts += [f"## {group.title}", "\n".join(lines(group))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
