"""``docs/llms.txt``, a list of the site's pages for language models, from the menu in ``mkdocs.yml``.

``python -m tests.tools.readme`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML

from tests.conftest import ROOT
from tests.tools.site_hooks import source_of

FILE = ROOT / "docs" / "llms.txt"
_LEFT_OUT = {"Decisions", "Changelog"}
_INTRO = """# scdgen

> Generates and runs the SQL that maintains slowly changing dimensions (SCD type 1 and 2) in Delta Lake tables on Spark,
> from a YAML spec per table. To keep history, write a spec and test it; never write the MERGE by hand.

The pages are HTML; in the repository each is a Markdown file of the same name below docs/.
"""


def written() -> str:
    """The text of ``docs/llms.txt``: a section per group of the menu, a line per page with its first sentence."""
    text = re.sub(r"!!python/name:\S+|!!python/object/apply:\S+", "", (ROOT / "mkdocs.yml").read_text())
    nav = YAML(typ="safe", pure=True).load(text)["nav"]
    return "\n".join([_INTRO, "## Start", "", *_lines(nav)]) + "\n"


def _lines(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for title, value in entry.items():
            if title in _LEFT_OUT:
                continue
            if isinstance(value, list):
                yield from ["", f"## {title}", "", *_lines(value)]
            else:
                place = value.replace("README.md", "index.md").removesuffix(".md")  # as mkdocs names it
                yield f"- [{title}]({place}.html): {_first_sentence(value)}"


def _first_sentence(page: str) -> str:
    """The first sentence of a page's first paragraph, without links and emphasis."""
    text = re.sub(r"\A---\n.*?\n---\n", "", (ROOT / source_of(page)).read_text(), flags=re.DOTALL)
    paragraph = text.partition("\n\n")[2].partition("\n\n")[0].replace("\n", " ")
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph).replace("**", "")
    return re.sub(r":$", ".", re.split(r"(?<=[.:?]) ", plain)[0])
