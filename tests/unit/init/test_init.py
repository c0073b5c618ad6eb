"""scdgen init: its options, where it writes, and the text of a draft."""

from __future__ import annotations

import io
from pathlib import Path
from unittest.mock import patch

import pytest
from ruamel.yaml import YAML

from scdgen import load_spec_text, render
from scdgen.init.draft import Draft
from tests.unit.test_cli import run


def test_out_overwrites_only_with_force(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data, out = tmp_path / "orders.csv", tmp_path / "specs" / "orders.yml"
    data.write_text("id,name\n1,a\n2,b\n")
    call: list[str | Path] = ["init", "--from", data, "--feed", "snapshot", "--out", out]
    assert run(capsys, *call) == (0, f"wrote {out}\n", "")
    assert load_spec_text(out.read_text()).keys == ("id",)
    out.write_text("mine\n")
    assert run(capsys, *call) == (2, "", f"{out}: is there already; give --force to overwrite it, or another name\n")
    assert out.read_text() == "mine\n"
    with patch("sys.stderr.isatty", return_value=True):
        assert run(capsys, *call, "--force") == (0, f"wrote {out}\n", f"next: scdgen validate {out}\n")
    assert out.read_text() != "mine\n"


def test_comments_do_not_change_the_spec() -> None:
    """A draft with comments loads as the same spec; a long line stays one value."""
    draft = Draft(header=["word " * 60])
    for place, value in {
        "target": "a.b", "pattern": "scd2", "source.query": "SELECT *\nFROM t",
        "source.effective_at": "at " + "+ 1" * 90,
        "keys": ["id"], "columns": {"id": "int", "a: b": {"type": "string", "track": False}},
        "history.open_end": "9999-12-31", "history.is_current": None,
    }.items():  # fmt: skip
        draft.put(place, value, "why " * 50)
    draft.note("about a column", "columns", "a: b")
    text = draft.text()
    assert "  # about a column\n  'a: b': {type: string, track: false}\n" in text
    assert max(len(line) for line in text.splitlines() if "#" in line) <= 112
    plain = io.StringIO()
    YAML().dump(YAML(typ="safe", pure=True).load(text), plain)
    assert render(load_spec_text(plain.getvalue())) == render(load_spec_text(text))
