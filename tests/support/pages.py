"""The blocks of a Markdown page, in order, and their kinds.

- after ``<!-- file: path -->``: the file of the repository, written by ``python -m tests.tools.readme``
- after ``<!-- excerpt: path from: text -->``: the end of such a file, from the first line that starts with the text;
  with ``to: text``, up to the line that starts with it
- after ``<!-- write: path -->``: a file to write into the folder of the commands
- ``console``: commands after ``$``, each with its output
- ``sql`` and ``python``: run as written, on the session of the commands
- ``sh``: commands that cannot run here; only the arguments of make and pip are checked against the repository

``<!-- run: path -->`` runs a file as if pasted: its statements, or its Python. ``<!-- copy: path -->`` copies
a folder of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

_FOLDERS = ("docs", "docs/how-to", "docs/compare", "docs/agents", "docs/agents/scdgen")
PAGES = [ROOT / "README.md", *(page for folder in _FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]
_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>file|excerpt|write): (?P<path>\S+)[^\n]*? -->\n)?^```(?P<language>\S*)\n(?P<text>.*?)^```$"
    r"|^<!-- (?P<act>run|copy): (?P<of>\S+) -->$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One block: its path if it has one, and its text.

    The kind is ``file``, ``excerpt``, ``write``, ``run``, ``copy`` or the fence's language. ``start`` and ``end`` are
    the offsets of the text in the page.
    """

    kind: str
    path: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and its output on the page."""

    line: str
    output: str


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page."""
    for found in _BLOCK.finditer(page):
        if found["act"]:
            yield Block(found["act"], found["of"], "", found.end(), found.end())
        else:
            kind = found["mark"] or found["language"]
            yield Block(kind, found["path"] or "", found["text"], *found.span("text"))


def commands(text: str) -> list[Command]:
    """The commands of a console block."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [Command(*part.partition("\n")[::2]) for part in parts]


def name_of(page: Path) -> str:
    """The path of a page relative to the root of the repository."""
    return page.relative_to(ROOT).as_posix()
