"""Escapes what a terminal or a log would not show as text: every name and text of a user is printed through this."""

from __future__ import annotations

import re

# Control characters, and those that change the direction of text.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape_control(text: str) -> str:
    r"""Escape each character that would move the cursor of a terminal, or change the direction of text.

    >>> print(escape_control("a\nb\x1b[31m\u2028"))
    a\nb\x1b[31m\u2028
    """
    return _UNSEEN.sub(lambda found: _NAMED.get(found[0]) or _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def escape_json(text: str) -> str:
    r"""Escape the same characters in JSON of one line, where they can only be in texts; its meaning stays.

    >>> print(escape_json('{"a": "\x9b31m\u202e"}'))
    {"a": "\u009b31m\u202e"}
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
