"""The SQL of several hundred specs as one hash: code may move, but a text changes on purpose or not at all."""

from __future__ import annotations

from tests.tools.golden import digest, rendered

# Written by `python -m tests.tools.golden FOLDER`. A commit that changes it says which texts change, and why.
EXPECTED = "7e82a258e51881ef"


def test_rendered_texts_are_unchanged() -> None:
    found = rendered()
    assert digest(found) == EXPECTED, "the SQL changed: compare two folders of `python -m tests.tools.golden FOLDER`"
