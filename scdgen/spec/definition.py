"""What the stored rows of a table depend on, as table properties: a spec that has changed since is noticed by them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scdgen.spec.model import Spec

PATTERN, KEYS, HISTORY, TRACKED = "scdgen.pattern", "scdgen.keys", "scdgen.history", "scdgen.tracked"


def definition(spec: Spec) -> dict[str, str]:
    """The table properties that say what the stored rows stand for."""
    return {PATTERN: spec.pattern, KEYS: names_as_json(spec.keys), **spec.rules.definition(spec)}


def names_as_json(names: Iterable[str]) -> str:
    """A list of columns as the value of a table property."""
    return json.dumps(list(names), ensure_ascii=False)
