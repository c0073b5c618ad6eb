"""Specs of hostile size or depth."""

from __future__ import annotations

import pytest

from scdgen.compile.compile import render
from scdgen.errors import SpecError
from scdgen.model.load import load_spec_text

PLAIN = "target: a.b\npattern: scd1\nsource: {table: c.d}\nkeys: [id]\ncolumns: {id: int, v: string}\n"


def test_five_thousand_columns_are_rendered() -> None:
    columns = ", ".join(f"c{number}: string" for number in range(5000))
    merge = render(load_spec_text(PLAIN.replace("v: string", columns))).merge
    assert "s._scd_state.c4999" in merge


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(SpecError, match="inline"):
        load_spec_text(f"{PLAIN}checks: {'[' * 5000}{']' * 5000}\n")
