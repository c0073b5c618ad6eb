"""What the head of a merge.sql says: a line for each option that decides what the statement does.

A text is the value of an option in words; none is put together from several options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scdgen.facts.base import YEAR, headline
from scdgen.facts.row_rules import Guards, Rows

_APPLY = "split or shorten the version that they fall into; one at the start of a version replaces its values"
LATE = {
    "apply": _APPLY,
    "sequence": f"{_APPLY} if its sequence is greater",
    "ignore": "are left out: what is not newer than all that is stored of its key",
    "fail": "stop the statement: what is not newer than all that is stored of its key",
}
UNCHANGED = {
    "changes": {"skip": "open no version", "keep": "open a version, too"},
    "snapshot": {"skip": "open no version", "keep": "open a version, too"},
    "versions": {"skip": "equal neighbours are one version", "keep": "are versions of their own"},
}
DELETES = {
    "changes": {"mark": "are versions, too", "close": "end the version of their key", "none": "the source has none"},
    "snapshot": {
        "mark": "are marked as deleted by a version",
        "close": "are deleted, so that their version ends",
        "none": "stay as they are",
    },
    "versions": {
        "mark": "a gap after a row is a delete, and a delete is a version, too",
        "close": "a gap after a row is a delete",
        "none": "a gap is none: a version lasts until the next one of its key",
    },
}
# Without and with an order of rows.
CONFLICTS = {
    "snapshot": ("rows of one key", "rows tie for the greatest sequence of a key but"),
    "changes": ("rows of one key and time", "rows tie for the greatest sequence of a key and time but"),
    "versions": ("rows of one key and time",),
    "newest": ("rows of one key", "rows tie as the newest of a key but"),
    "oldest": ("rows of one key", "rows tie as the oldest of a key but"),
}
# Without and with ``nulls: fill``.
GIVEN = ("keep the value that they had", "take the value stored at that time, or the one before or after it")
INFERRED = {
    "changes": "are completed by their first row",
    "deletes": "are completed by their first row; a delete before that is left out",
    "snapshot": "are completed by their first row; a missing one stays",
    "versions": "are replaced by the versions of their key",
}
BY_RUN = "have the time of the run as their end"
RECORDED = "are none: a row that changes is ended at the time of the run, and what it becomes is inserted"
_RULES = {
    YEAR: "a year is not in 1 to 9999",
    "reserved_key": "a row has the key of the unknown member",
    "outside_scope": "a row is outside of the scope",
    "unknown_column": "a row sets a column that the spec does not have",
}


def stops(rows: Rows, conflict: str, others: Iterable[str] = ()) -> Iterator[str]:
    """Yield what stops the statement: rows that differ, in the words of ``conflict``, and ``others``, as for joins."""
    names, found = {rule.name for rule in rows.rules}, list[str]()
    if names and not rows.skipped and not rows.join:
        found += ["a key or time is NULL" if "null_time" in names else "a key is NULL"]
    found += [text for name, text in _RULES.items() if name in names and (not rows.join or name == "reserved_key")]
    if not rows.join:
        found += ["a row breaks an expectation"] if any(rule.refusal for rule in rows.expected) else []
        found += [f"{conflict} differ"] if conflict else []
        found += ["the extract is empty"] if rows.empty else []
    if rows.known:
        others_known = len(rows.known) > rows.from_time
        which = ["a row before the batch's first"] * rows.from_time + ["a row of another partition"] * others_known
        found.append(f"{' or '.join(which)} arrives during the run")
    *first, last = (*found, *others, "the session's settings change the result")
    yield headline("Stops if", f"{', '.join(first)}{', or ' if first else ''}{last}")


def too_many(guards: Guards) -> list[str]:
    """Return the limit of the keys that an extract deletes, if it has one."""
    limit = guards.max_deleted
    return [] if limit is None else [f"over {100 * limit:.6g}% of the current keys would be deleted"]
