"""A spec of scd0 and random batches for it."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator

from scdgen import Spec, load_spec_text
from tests.support.reference import Change

SCD0_SOURCE = {
    "id": "int", "name": "string", "n": "int", "at": "timestamp", "lsn": "int", "gone": "boolean"
}  # fmt: skip
"""``name -> type`` of the source's columns."""
_START = dt.datetime(2024, 1, 1)


def _batch_of(rng: random.Random) -> list[Change]:
    rows = []
    for lsn in rng.sample(range(100), rng.randint(1, 25)):
        values = {"name": rng.choice(["a", "b", "", None]), "n": rng.choice([1, 2, None])}
        at = _START + dt.timedelta(days=rng.randint(0, 3))
        rows.append(Change((rng.randint(1, 12),), at, values, (lsn,), deleted=rng.random() < 0.2))
    return rows


def scd0_batches(feed: str) -> Iterator[list[Change]]:
    """Three batches; those of an extract have no delete."""
    rng = random.Random(feed)
    for _ in range(3):
        yield [c for c in _batch_of(rng) if feed == "changes" or not c.deleted] or [Change((1,), _START, {}, (1,))]


def scd0_spec(feed: str) -> Spec:
    """The spec of a feed, ``changes`` or ``snapshot``."""
    deletes = ", delete_when: gone" if feed == "changes" else ""
    return load_spec_text(f"""
target: first.{feed}
pattern: scd0
source: {{table: nowhere, feed: {feed}, effective_at: at, sequence_by: lsn{deletes}}}
keys: [id]
columns: {{id: int, name: string, n: int}}
""")
