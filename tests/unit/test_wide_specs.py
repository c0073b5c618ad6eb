"""What the generator does for a spec with many columns grows with their number, and no faster."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from sqlglot.dialects.dialect import Dialect

from scdgen import render
from scdgen.facts.columns import Field
from tests.support import wide

pytestmark = pytest.mark.verify

COLUMNS = 40


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Text -> how often sqlglot parses it as an expression or a type."""
    found: Counter[str] = Counter()

    def counting(name: str) -> Any:
        of = getattr(Dialect, name)

        def parse(self: Any, *args: Any, **options: Any) -> Any:
            found[str(args[-1])] += 1
            return of(self, *args, **options)

        return parse

    for name in ("parse", "parse_into"):
        monkeypatch.setattr(Dialect, name, counting(name))
    return found


@pytest.mark.parametrize("kind", wide.KINDS)
def test_no_expression_is_parsed_for_each_use(kind: str, parsed: Counter[str]) -> None:
    render(wide.load(kind, COLUMNS, renamed=True))
    # Once to check it, and once to find where it mentions its column.
    own = {text: times for text, times in parsed.items() if text not in ("char", "varchar")}  # of sqlglot's own casts
    assert {text: times for text, times in own.items() if times > 2} == {}


@pytest.mark.parametrize("kind", wide.KINDS)
def test_fields_are_not_searched_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = wide.load(kind, COLUMNS)
    compared = 0

    def same(self: Field, other: object) -> bool:
        nonlocal compared
        compared += 1
        return self is other

    monkeypatch.setattr(Field, "__eq__", same)
    render(spec)
    assert compared == 0, "`field in fields` compares each with each"
