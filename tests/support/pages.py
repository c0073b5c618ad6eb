"""The blocks of a Markdown page, in order, and what each may be.

- after ``<!-- file: path -->``: the file of the repository, written by ``python -m tests.tools.readme``
- after ``<!-- excerpt: path from: text -->``: the end of such a file, from the first line on that begins with the text
- after ``<!-- write: path -->``: a file that the commands of the page find in their folder
- ``console``: commands after ``$``, each with what it prints
- ``sql`` and ``python``: run as they stand, on the session of the commands
- ``sh``: commands that nobody can run here; only what make and pip are asked for is held against the repository

``<!-- run: path -->`` alone stands for pasting a file: its statements, or its Python, are run. ``<!-- copy: path -->``
brings a folder of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/how-to").glob("*.md"))]
_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>file|excerpt|write): (?P<path>\S+)[^\n]*? -->\n)?^```(?P<language>\S*)\n(?P<text>.*?)^```$"
    r"|^<!-- (?P<act>run|copy): (?P<of>\S+) -->$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One block: its path where it has one, and its text.

    The kind is ``file``, ``excerpt``, ``write``, ``run``, ``copy`` or the fence's language. ``start`` and ``end`` are
    the places of the text in the page.
    """

    kind: str
    path: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what the page says that it prints."""

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
    """The path of a page from the root of the repository."""
    return page.relative_to(ROOT).as_posix()
