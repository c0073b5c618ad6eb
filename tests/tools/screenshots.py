"""Pictures of the page of ``scdgen show --html``, of a table with two axes of time; needs Chromium on the PATH.

Run: python -m tests.tools.screenshots FOLDER [WIDTH...]

Writes ``known-light-WIDTH.png`` and ``known-dark-WIDTH.png`` for each width in pixels. docs/images has one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from scdgen.cli.timeline import render_page
from tests.support.html_pages import find_chromium, with_script
from tests.support.timelines import RECORDED, STORY, made, spec_of

_SCHEMES = {"dark": 0, "light": 1}  # as Chromium numbers them
# The run that learns of Rome, with that version in view.
_LOOK = """
const known = document.getElementById("known");
known.value = 4;
known.dispatchEvent(new Event("input"));
document.querySelectorAll(".track .version")[1].click();
"""


def shoot(text: str, file: Path, width: int, scheme: str) -> None:
    """Write a picture of a page."""
    chromium = find_chromium()
    assert chromium is not None, "no chromium on the PATH"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(text, encoding="utf-8")
        subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             f"--user-data-dir={folder}/profile", f"--window-size={width},460",
             f"--blink-settings=preferredColorScheme={_SCHEMES[scheme]}", f"--screenshot={file}", page.as_uri()],
            capture_output=True, check=True, timeout=120,
        )  # fmt: skip


def main(folder: str, *widths: str) -> None:
    """Write the pictures."""
    page = made(STORY, spec_of(RECORDED, "description: Where customers lived\n"), superseded=True)
    text = with_script(render_page(page), _LOOK)
    for width in map(int, widths or ("900",)):
        for scheme in _SCHEMES:
            shoot(text, Path(folder, f"known-{scheme}-{width}.png").absolute(), width, scheme)


if __name__ == "__main__":
    main(*sys.argv[1:])
