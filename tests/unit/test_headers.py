"""The head of a MERGE promises what the statement does: each sentence holds for the reference on random histories."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from scdgen import load_spec_text, render
from tests.conftest import by_tier, seeds
from tests.support.random_batches import BATCHES, Batch, widen
from tests.support.random_specs import Case, make_case, unknown
from tests.support.reference import RefusedError

FEW, SPECS, MANY = 3, 60, 1000  # up to each tier


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    listed = range(1, MANY + 1)
    metafunc.parametrize("seed", seeds(metafunc.config, by_tier(listed, listed[:FEW], listed[:SPECS])))


def test_head_holds_on_a_random_history(seed: int) -> None:
    whole = make_case(seed, f"random.t{seed}", "none")
    state: Any = {whole.meaning.reserved: [unknown(whole)]} if whole.meaning.reserved else {}
    for number in range(BATCHES):
        case = whole.before() if whole.grows and number == 0 else whole
        if whole.grows and number == 1:
            widen(whole, state)
        batch, label = Batch(cast(Any, None), case, number, ""), f"seed {seed}, batch {number}\n{case.text}"
        state = _check(batch, head_of(case), state, label)


def head_of(case: Case) -> str:
    """The first comment of merge.sql, a line for each option."""
    text = render(load_spec_text(case.text, name="spec.yml")).merge
    lines = (line.removeprefix("--").strip() for line in text.split("\n-- Generated from")[0].splitlines())
    return re.sub(r"\n(?!.*: )", " ", "\n".join(lines))


def _check(batch: Batch, head: str, state: Any, label: str) -> Any:
    try:
        after = batch.meant(state)
    except RefusedError as refused:
        assert "Stops if: " in head or "stop the statement" in head, f"{refused}, {label}"
        return state
    named = {row.key for row in batch.kept}
    live, still = _live(batch.case, state), _live(batch.case, after)
    if "other keys stay as they are" in head:
        assert {key: rows for key, rows in after.items() if key not in named} == {
            key: rows for key, rows in state.items() if key not in named
        }, label
    if re.search("^(Deletes: none|Missing keys: stay as they are)", head, re.MULTILINE):
        assert live <= still, label
    # Of scd2 a line says so only where something may change.
    if "The same rows again: change nothing" in head or ("again:" not in head and '"scd2"' in batch.case.text):
        try:
            again = batch.meant(after)
        except RefusedError:
            assert head.endswith(", or stop because they are late by then."), label
        else:
            assert again == after or ", except that " in head, label
    return after


def _live(case: Case, state: Any) -> set[Any]:
    if case.scd1:
        return {*state}
    return {key for key, versions in state.items() if versions[-1].end is None and not versions[-1].deleted}
