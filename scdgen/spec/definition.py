"""What the stored rows of a table depend on, as table properties: a spec that has changed since is noticed by them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scdgen.spec.model import Spec

PATTERN, KEYS, HISTORY, TRACKED = "scdgen.pattern", "scdgen.keys", "scdgen.history", "scdgen.tracked"


def definition(spec: Spec) -> dict[str, str]:
    """The table properties that say what the stored rows stand for."""
    found = {PATTERN: spec.pattern, KEYS: _names(spec.keys)}
    if spec.is_scd2:
        history = spec.history
        parts: list[str] = [history.type]
        parts += [f"gap {history.gap}"] if history.gap is not None else []
        parts += [f"open_end {history.open_end}"] if history.open_end is not None else []
        found[HISTORY] = ", ".join(parts)
        found[TRACKED] = _names(tracked(spec))
    return found


def tracked(spec: Spec) -> list[str]:
    """The columns of which a change opens a version."""
    return [name for name, column in spec.columns.items() if column.track and name not in spec.keys]


def _names(names: Iterable[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)
