"""mkdocs hooks for ``make site``: README and other pages outside docs/, and links to files of the repository.

Pages link to each other as on a forge. In the site README.md is the start page, and a file that a page links
to, such as a spec, is copied to ``repository/``. A broken link is left unchanged, so that the strict build fails.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
    ".github/SECURITY.md": "report.md",
}  # fmt: skip
# What people search for comes first; records of decisions and changes are read in order.
BOOSTED = {"reference.md", "commands.md", "errors.md"}
_LINK = re.compile(r"\]\((?P<path>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")

_CELL = re.compile(r"<td[^>]*>.*?</td>", re.DOTALL)
_ROW = re.compile(r"(?<=<tr>\n)<td><code>([\w.*]+)</code>")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, and the repository's files that pages link to."""
    for source, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for page in list(files.documentation_pages()):
        for found in _LINK.finditer(page.content_string):
            target = site_path(source_of(page.src_uri), found["path"])
            path = ROOT / target.removeprefix("repository/")
            if target.startswith("repository/") and path.is_file() and target not in files.src_uris:
                copy = File.generated(config, target, abs_src_path=str(path), inclusion=InclusionLevel.INCLUDED)
                files.append(copy)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links changed to the paths in the site."""
    here = page.file.src_uri
    if here in BOOSTED:
        page.meta["search"] = {"boost": 2}
    elif here.startswith("decisions/") or here == "changelog.md":
        page.meta["search"] = {"exclude": True}

    def moved(found: re.Match[str]) -> str:
        target = site_path(source_of(here), found["path"])
        return f"]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{found['anchor'] or ''})"

    return _LINK.sub(moved, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page as a forge shows it: ``\\|`` in code of a table is ``|``. What is looked up has an anchor."""
    html = _CELL.sub(lambda found: found[0].replace("\\|", "|"), html)
    return _ROW.sub(r'<td id="\1"><code>\1</code>', html) if page.file.src_uri in BOOSTED else html


def source_of(place: str) -> str:
    """The repository path of a page of the site.

    >>> source_of("index.md"), source_of("how-to/plan.md")
    ('README.md', 'docs/how-to/plan.md')
    """
    return next((source for source, made in PAGES.items() if made == place), f"docs/{place}")


def site_path(source: str, link: str) -> str:
    """The path in the site of a link in a file of the repository.

    >>> site_path("README.md", "docs/tutorial.md"), site_path("docs/tutorial.md", "../README.md")
    ('tutorial.md', 'index.md')
    >>> site_path("docs/how-to/plan.md", "../../specs/customer.yml")
    'repository/specs/customer.yml'
    """
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link.replace(os.sep, "/")))
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"
