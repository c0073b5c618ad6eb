"""The MERGE of scd2 updates exactly the columns whose value can change in a stored version."""

from __future__ import annotations

import pytest

from scdgen import load_spec_text
from scdgen.facts.built import Source
from scdgen.facts.source import SEQUENCE
from scdgen.model.spec import History
from scdgen.patterns.scd2 import Scd2

SPEC = """
target: crm.t
pattern: scd2
FEED
keys: [id]
columns: {id: int, name: string, note: {type: string, track: false},
          year: {type: int, from: year(starts), track: false}}
history: {surrogate_key: sk, valid_from: starts, valid_to: ends, is_current: open, row_hash: hash, action: did,
          deleted: gone, sequence: lsn}
on_delete: mark
"""
FEEDS = {
    "snapshot": "source: {table: crm.s, feed: snapshot, sequence_by: lsn}",
    "changes": "source: {table: crm.s, effective_at: at, delete_when: op = 'D', sequence_by: lsn}",
    "versions": "sources: {past: {table: crm.s, feed: versions, effective_at: at, effective_until: until}, "
    "changes: {table: crm.c, effective_at: at, sequence_by: lsn}}",
}


@pytest.mark.parametrize("feed", FEEDS)
def test_update_sets_each_column_that_can_change(feed: str) -> None:
    spec = load_spec_text(SPEC.replace("FEED", FEEDS[feed]))
    options = {option for option, _ in spec.history.names()}
    assert options == set(History.model_fields) - {"type", "open_end", "gap", "recorded"}, (
        "switch on each history column in SPEC"
    )
    merge = Scd2().merge(Source(spec))
    texts = merge.staging.history.written("START", "NEXT", "ACTION", "DELETED")
    values = {name: text for text, _, name in (text.rpartition(" AS ") for text in texts)}
    assert set(values) == {"year", "sk", "starts", "ends", "open", "hash", "did", "gone", "lsn"}
    # Key and start identify a version, so a column computed from these alone never changes.
    closing = {name for name, text in values.items() if "NEXT" in text or "ACTION" in text}
    corrected = {name for name, text in values.items() if "name" in text or "DELETED" in text or SEQUENCE in text}
    assert closing and corrected
    assert set(merge.updated) == {"name", "note"} | closing | corrected
    # In a snapshot, the row that closes a version holds the values of the next version, or of the delete.
    assert set(merge.closed) == (closing if feed == "snapshot" else set(merge.updated))
    assert set(merge.columns) == {"id", "name", "note"} | set(values)


@pytest.mark.parametrize("feed", FEEDS)
def test_first_change_of_an_inferred_member_can_move_its_start(feed: str) -> None:
    members = "members: {inferred: {fact: crm.f, keys: {id: id}, at: at, flag: guessed}}\n"
    merge = Scd2().merge(Source(load_spec_text(SPEC.replace("FEED", FEEDS[feed]) + members)))
    moved = {"year", "sk", "starts"} & set(merge.updated)
    assert moved == (set() if feed == "versions" else {"year", "sk", "starts"}), "a history replaces the member"
    assert "guessed" in merge.updated
