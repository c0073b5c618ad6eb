"""The SQL of several hundred specs: its hash, so that no text changes by accident, and its statements."""

from __future__ import annotations

import pytest

from scdgen.compile.compile import FILES
from scdgen.compile.statements import cut
from tests.tools.golden import digest, rendered

# Printed by `python -m tests.tools.golden FOLDER`. A commit that changes it says which texts change, and why.
EXPECTED = "50d649ceedf72107"


@pytest.fixture(scope="module")
def texts() -> dict[str, dict[str, str]]:
    return rendered()


def test_rendered_texts_are_unchanged(texts: dict[str, dict[str, str]]) -> None:
    assert digest(texts) == EXPECTED, "the SQL changed: compare two folders of `python -m tests.tools.golden FOLDER`"


def test_statements_join_to_the_texts_and_steps_have_comments(texts: dict[str, dict[str, str]]) -> None:
    for spec, files in texts.items():
        scripts = {name: cut(text) for name, text in files.items() if name in FILES}
        for name, script in scripts.items():
            cells = [statement.written.strip("\n") for statement in script.statements]
            assert script.text == files[name] == "\n\n".join(cells) + "\n", (spec, name, "a blank line between two")
        for step in scripts["merge.sql"].steps():  # the rows of the source and the params are the spec's own words
            own = step.name == "source" or step.name.startswith(("SET VARIABLE", "CREATE"))
            assert step.comment or own, (spec, step.name, "each step says why it is there")
