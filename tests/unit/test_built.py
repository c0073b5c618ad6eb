"""The facts that statements share are built once per compile."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from scdgen import load_spec, load_spec_text, render
from scdgen.compile.compile import compile_spec
from scdgen.facts.built import Source
from scdgen.facts.columns import Field
from scdgen.facts.history import History, Times
from tests.conftest import ROOT
from tests.support.spec_variations import BASES, load

SPECS = {
    "scd2": load_spec(ROOT / "specs/customer.yml"),
    "snapshot": load_spec(ROOT / "specs/customer_full.yml"),
    "versions": load(BASES["2v"]),
    "scd1": load_spec(ROOT / "specs/product_price.yml"),
}


@pytest.mark.parametrize("kind", SPECS)
def test_compile_builds_shared_facts_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, built = SPECS[kind], Counter[str]()
    for counted in (Source, Times, History, Field):
        init: Any = counted.__init__

        def count(self: object, *args: Any, _init: Any = init, **named: Any) -> None:
            built[type(self).__name__] += 1
            _init(self, *args, **named)

        monkeypatch.setattr(counted, "__init__", count)
    compile_spec(spec)
    of_history = {"Times": 1, "History": 1} if spec.keeps_history else {}
    if not spec.keeps_history:
        del built["Field"]  # the MERGE of scd1 has some of its own
    assert built == {"Source": 1, **of_history, **({"Field": len(spec.columns)} if of_history else {})}


CLOCK, NONE = "{type: timestamp, default: current_timestamp()}", "{type: timestamp, default: 'NULL'}"
DAY, CAST = "{type: date, default: current_date()}", "CAST(session.last_run AS TIMESTAMP)"


@pytest.mark.parametrize(
    ("param", "sets", "end"),
    [
        (CLOCK, "last_run = current_timestamp();", "session.last_run"),
        (NONE, "last_run = COALESCE(CAST(NULL AS TIMESTAMP), RAISE_ERROR(", "session.last_run"),
        ("timestamp", "_scd_last_run = COALESCE(session.last_run, RAISE_ERROR(", "_scd_last_run"),
        (DAY, f"_scd_last_run = COALESCE({CAST}, RAISE_ERROR(", "_scd_last_run"),
    ],
)
def test_param_with_a_default_is_the_variable_with_the_time_of_a_run(param: str, sets: str, end: str) -> None:
    """Unless it has another type; and where a pasted file does not set it, another variable is never NULL."""
    text = f"""
        target: web.lookup
        pattern: scd2
        source: {{table: web.views, effective_at: at}}
        keys: [id]
        columns: {{id: int, name: string}}
        history: {{open_end: last_run, gap: 1 microsecond}}
        params: {{last_run: {param}}}
    """
    merge = render(load_spec_text(text)).merge
    assert f"SET VARIABLE {sets}" in " ".join(merge.split()).replace("( ", "(")
    assert f"UPDATE SET valid_to = {end};" in " ".join(merge.split())
    assert ("_scd_last_run" in merge) == (end == "_scd_last_run")
