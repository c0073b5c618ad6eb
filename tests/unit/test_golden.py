"""The SQL of several hundred specs as one hash, so that no text changes by accident."""

from __future__ import annotations

from tests.tools.golden import digest, rendered

# Printed by `python -m tests.tools.golden FOLDER`. A commit that changes it says which texts change, and why.
EXPECTED = "65d702aacc3fa8bd"


def test_rendered_texts_are_unchanged() -> None:
    found = rendered()
    assert digest(found) == EXPECTED, "the SQL changed: compare two folders of `python -m tests.tools.golden FOLDER`"
