"""`make site` builds the pages as they are, and fails for a link or an anchor that leads nowhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.mark.verify
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
