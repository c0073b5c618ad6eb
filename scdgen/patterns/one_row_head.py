"""What the head of merge.sql says, for scd1 and scd0."""

from __future__ import annotations

from collections.abc import Iterator

from scdgen.facts.base import headline
from scdgen.facts.headlines import CONFLICTS, stops, too_many
from scdgen.facts.row_rules import Guards
from scdgen.model.spec import Spec
from scdgen.patterns.one_row import OneRow

FIRST = "Keeps the first row of each key: new keys are inserted, a stored row never changes."
_KINDS = {"last": "last", "first": "first", "min": "least", "max": "greatest"}
_MISSING = {
    "stays": "stay as they are",
    "removed": "are removed",
    "flagged": "are flagged, and their rows keep their values",
}
_MARKED = "flag the row of their key, which keeps its values; a row from before one changes nothing"


def summary(spec: Spec, batch: OneRow) -> str:
    """Return what a MERGE of scd1 does, in a sentence."""
    if spec.reads_snapshot:
        return "Takes the rows of a full extract: one row per key."
    if _kinds(batch) != ["last"]:
        return "Keeps one row per key."
    if batch.updated_at:
        return "Keeps one row per key, with the values of its newest change."
    newest = "the values of its newest change" if batch.place else "its values"
    return f"Keeps one row per key, with {newest} in the last batch that has the key."


def headlines(spec: Spec, batch: OneRow, guards: Guards, removes: bool, early: bool) -> Iterator[str]:
    """Yield the lines of a head of scd1; ``removes``: missing keys are; ``early``: an old extract is refused."""
    kinds = _kinds(batch)
    if kinds != ["last"]:
        yield headline("Values", f"each column keeps the {' or '.join(_KINDS[kind] for kind in kinds)} one of its key")
    if batch.source.is_partial:
        yield headline("Columns that a change does not set", "keep their values")
    if batch.combines and batch.ordered and not batch.updated_at:
        yield headline("A batch", "counts as newer than the table")
    if spec.reads_snapshot:
        if batch.updated_at and not batch.combines:
            yield headline("Rows older than the stored one", "change nothing")
        yield headline("Missing keys", _MISSING[("flagged" if batch.deleted else "removed") if removes else "stays"])
        if removes and any(rule.name == "outside_scope" for rule in batch.rows.rules):
            yield headline("Keys outside of snapshot.scope", "are never missing")
    elif batch.marks:
        yield headline("Deletes", _MARKED)
    elif batch.source.flags_deletes:
        yield headline("Deletes", "remove the row of their key")
        if batch.source.truncates:
            yield headline("A row that empties the table", "deletes every key")
        if batch.updated_at:
            yield headline("Rows from before a delete that come in a later batch", "bring the key back")
    others = too_many(guards) if spec.reads_snapshot else []
    others += [f"a row to {'flag' if batch.deleted else 'remove'} is not older than the extract"] if early else []
    yield from stops(batch.rows, CONFLICTS["newest"][bool(batch.place)] if batch.refuses else "", others)


def first_headlines(batch: OneRow) -> Iterator[str]:
    """Yield the lines of a head of scd0."""
    yield from stops(batch.rows, CONFLICTS["oldest"][bool(batch.place)] if batch.refuses else "")


def _kinds(batch: OneRow) -> list[str]:
    merges = {field.merge for field in batch.values if field.name != batch.updated_at}
    return [kind for kind in _KINDS if kind in merges] or ["last"]
