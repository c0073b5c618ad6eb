"""`make site` builds the pages as they are, and fails for a link or an anchor that leads nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.verify


@pytest.mark.parametrize(("link", "status"), [(None, 0), ("#there", 0), ("gone.md", 1), ("#gone", 1)])
def test_command_of_make_site(link: str | None, status: int, tmp_path: Path) -> None:
    run = [sys.executable, "-m", *re.findall(r"/(mkdocs build .*)", (ROOT / "Makefile").read_text())[0].split()]
    if link:
        rules = re.findall(r"^validation:\n(?:  .*\n)+", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)[0]
        (tmp_path / "docs").mkdir()
        (tmp_path / "mkdocs.yml").write_text(f"site_name: a\n{rules}")
        (tmp_path / "docs/index.md").write_text(f"[a]({link})\n# There\n")
    done = subprocess.run(run, cwd=tmp_path if link else ROOT, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    if not link:
        require_right(ROOT / ".build/site")


def require_right(site: Path) -> None:
    """Check what readers once met: wrong links in the menu, backslashes in code, no search, broken names."""
    pages = {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}
    entry = r'<a href="([^"#]+)" class="md-nav__link">\s*<span class="md-ellipsis">\s*(.*?)\s*<'
    assert dict(re.findall(entry, pages["index.html"]))["examples/databricks/index.html"] == "A bundle for Databricks"
    cells = [cell for text in pages.values() for cell in re.findall(r"<td.*?</td>", text, re.DOTALL)]
    assert [cell for cell in cells if "<code>" in cell and "\\|" in cell] == []
    assert (site / "search/search_index.js").is_file(), "the search works from the disk"
    assert re.findall(r'<script src="(\w+:.*?)"', "".join(pages.values())) == [], "and loads no script from elsewhere"
    places = set(re.findall(r'<td id="([\w.*]+)">', pages["reference.html"]))
    assert {"target", "source.delete_when", "history.sequence"} <= places
    assert "white-space: nowrap" in (site / "site.css").read_text()


def test_no_name_is_taken_for_a_tag() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        plain = re.sub(r"^```.*?^```$|`+[^`]+`+|<!--.*?-->", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        assert re.findall(r"<(?!picture|source|img)\w[^>]*>", plain) == [], page
