"""Wrong specs, each with every line of its error, word for word: tests/cases/bad_specs.yml."""

from __future__ import annotations

from typing import Any

import pytest
from ruamel.yaml import YAML

from scdgen import SpecError, load_spec_text
from tests.conftest import ROOT

CASES: list[dict[str, Any]] = YAML(typ="safe").load((ROOT / "tests" / "cases" / "bad_specs.yml").read_text())


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_bad_spec(case: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        load_spec_text(case["spec"], name="spec.yml")
    assert str(caught.value).splitlines() == case["errors"]
