"""Fills the README's blocks from the files they show, and its table of options: python -m tests.readme."""

from __future__ import annotations

import re

from scdgen.reference import table
from tests.conftest import ROOT

LANGUAGES = {".yml": "yaml", ".sql": "sql", ".txt": ""}


def filled(text: str) -> str:
    def block(found: re.Match[str]) -> str:
        file = ROOT / found[1]
        return f"<!-- file: {found[1]} -->\n```{LANGUAGES[file.suffix]}\n{file.read_text().rstrip()}\n```\n<!-- end -->"

    text = re.sub(r"<!-- file: (\S+) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)
    return re.sub(r"(<!-- options -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{table()}\n{m[2]}", text, flags=re.DOTALL)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text()))
