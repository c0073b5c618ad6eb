"""Renders the pages of ``show`` and ``diff``, whose policy lets a browser use the template's style and script alone."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any

from scdgen.compile.render import Compiler
from scdgen.facts.base import Facts


@dataclass(frozen=True)
class PageFacts(Facts):
    """The facts of a page."""

    policy: str = field(default="", kw_only=True)
    """What a browser may use in the page; :func:`render` sets it."""


def render(page: PageFacts, compiler: Compiler) -> str:
    """Render a page with its policy. Raises :class:`UsageError` if a custom template is broken."""
    # Without any text of the table, so that none can be a style or a script that the policy allows.
    blank: dict[str, Any] = {name: _blank(value) for name, value in vars(page).items()}
    bare = compiler.render(replace(page, **blank))
    return compiler.render(replace(page, policy=_policy(bare)))


def _policy(page: str) -> str:
    """Return the content security policy of a page: nothing is loaded or sent, and only what it holds now is used."""
    rules = ["default-src 'none'"]
    for tag in ("style", "script"):
        found = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found)
        rules.append(" ".join([f"{tag}-src", *(f"'sha256-{digest}'" for digest in digests)]))
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _blank(value: Any) -> Any:
    """Return a value with empty texts in it."""
    if isinstance(value, dict):
        return {key: _blank(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_blank(inside) for inside in value]
    return "" if isinstance(value, str) else value
