"""A table that was made from another spec: every difference is a line of one refusal. Without Spark."""

from __future__ import annotations

import json

import pytest

from scdgen import DataError, load_spec_text
from scdgen.compile.render import Compiler
from scdgen.model.registry import definition
from scdgen.run.table import Existing, find_additions

HISTORIES: dict[str, dict[str, object]] = {
    "date": {"type": "date", "gap": "1 day", "open_end": "9999-12-31"},
    "timestamp": {"type": "timestamp", "gap": "1 microsecond", "open_end": "9999-12-31 00:00:00"},
    "bigint": {"type": "bigint", "gap": 1, "open_end": 99},
    "plain": {"type": "bigint"},
    "last_run": {"type": "date", "open_end": "last_run"},
}


def spec_of(history: dict[str, object]) -> str:
    return json.dumps(
        {
            "target": "a.t", "pattern": "scd2", "source": {"table": "a.s", "effective_at": "at"},
            "keys": ["id"], "columns": {"id": "int"}, "history": history,
        }
    )  # fmt: skip


@pytest.mark.parametrize("now", HISTORIES)
@pytest.mark.parametrize("was", HISTORIES)
def test_other_history_is_refused_with_every_difference(was: str, now: str) -> None:
    """The old gap and open end are of the old type: '1 day' is not a number, and 1 has no unit."""
    old, new = load_spec_text(spec_of(HISTORIES[was])), load_spec_text(spec_of(HISTORIES[now]))
    kind = old.history.type
    columns = {
        "id": ("int", True),
        "valid_from": (kind, False),
        "valid_to": (kind, True),
        "is_current": ("boolean", False),
    }
    table = Existing(columns, definition(old))
    if was == now:
        assert find_additions(new, table, Compiler()) == ()
        return
    with pytest.raises(DataError) as refused:
        find_additions(new, table, Compiler())
    lines = [line for line in str(refused.value).splitlines() if not line.startswith("    ")]
    if kind != new.history.type:
        for name, line in zip(("valid_from", "valid_to"), lines[:2], strict=True):
            assert (
                f"the column '{name}' is {kind.upper()} in the table and {new.history.type.upper()} in the spec" in line
            )
    assert "the table was made with history: " in lines[-1]
    assert len(lines) == (1 if kind == new.history.type else 3)
