"""Reads the page of scdgen show, and runs their script if Chromium is on the PATH."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Read(HTMLParser):
    """The elements of a page, with their attributes, and the text of its data."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        tag, attributes = self.elements[-1] if self.elements else ("", {})
        name = attributes.get("id") or tag
        self.texts[name] = self.texts.get(name, "") + data


def data_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Read(text).texts["data"])
    return found


def require_self_contained(text: str) -> None:
    """Assert that a page loads and sends nothing."""
    fetching = {"src", "href", "srcset", "action", "data", "poster", "background", "formaction", "ping", "manifest"}
    for tag, attributes in Read(text).elements:
        assert not fetching & set(attributes), (tag, attributes)
        assert tag not in {"link", "iframe", "object", "embed", "img", "base", "form"}
    bare = re.sub(r"sha256-[\w+/]+=", "", text)
    assert not re.search(r"\w+://|//\w|\burl\(|@import|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\b", bare)
    policy = next(attributes for _, attributes in Read(text).elements if "http-equiv" in attributes)
    (style,), (script,) = ([hash_of(found) for found in inline(text, tag)] for tag in ("style", 'script type="module"'))
    rules = f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
    assert policy["content"] == rules


def inline(text: str, tag: str) -> list[str]:
    """The text of each element of a page that begins with a tag."""
    return re.findall(f"<{tag}>(.*?)</{tag.split()[0]}>", text, re.DOTALL)


def hash_of(text: str) -> str:
    """A style or a script in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_ERRORS = "<script>const errors = []; addEventListener('error', event => errors.push(event.message));</script></head>"
_FOUND = """
found.hacked = typeof hacked;
found.errors = errors;
found.requests = performance.getEntriesByType("resource").length;
document.body.append(Object.assign(document.createElement("pre"), { id: "found", textContent: JSON.stringify(found) }));
"""


def find_chromium() -> str | None:
    """The path of Chromium; None if it is not installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def with_script(text: str, script: str) -> str:
    """A page that also runs ``script``, at its end."""
    added = f'<script type="module">{script}</script></body>'
    scripts = [*inline(_ERRORS, "script"), script]
    allowed = " ".join(map(hash_of, scripts))
    assert text.count("script-src ") == 1
    text = text.replace("script-src ", f"script-src {allowed} ")
    return added.join(text.replace("</head>", _ERRORS, 1).rsplit("</body>", 1))


def read_in_browser(text: str, reader: str, folder: Path) -> dict[str, Any] | None:
    """Run the script ``reader`` in the page, and return its object ``found``.

    None, and a warning, if Chromium is not installed.
    """
    chromium = find_chromium()
    if chromium is None:
        warnings.warn("no chromium on the PATH: the page was read, but its script was not run", stacklevel=2)
        return None
    file = folder / "page.html"
    file.write_text(with_script(text, reader + _FOUND), encoding="utf-8")
    done = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
         "--window-size=1200,800", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(Read(done.stdout).texts["found"])
    return found
