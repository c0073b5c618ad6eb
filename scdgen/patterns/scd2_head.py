"""What the head of merge.sql says, for scd2."""

from __future__ import annotations

from collections.abc import Iterator

from scdgen.facts.base import headline
from scdgen.facts.headlines import BY_RUN, CONFLICTS, DELETES, LATE, RECORDED, UNCHANGED, stops, too_many
from scdgen.model.spec import Spec
from scdgen.patterns.scd2_changes import Scd2Changes
from scdgen.patterns.scd2_snapshot import Scd2Snapshot
from scdgen.patterns.scd2_versions import Scd2Versions

Steps = Scd2Changes | Scd2Snapshot | Scd2Versions


def summary(steps: Steps) -> str:
    """Return what the statement does, in a sentence."""
    if isinstance(steps, Scd2Changes):
        return "Merges a batch of changes into the history of their keys; other keys stay as they are."
    if isinstance(steps, Scd2Snapshot):
        return "Compares a full extract with the current versions: a new, returning or changed key opens a version."
    if steps.rows.join:
        return "Joins the histories of several tables: a version holds from one change of any of them to the next."
    return "Replaces the history of each key in the source with that of the source; other keys stay as they are."


def headlines(spec: Spec, steps: Steps, recorded: bool) -> Iterator[str]:
    """Yield the lines of a head."""
    feed = spec.source.feed
    if steps.rows.join:
        yield headline("Tables", ", ".join(table.table for table in steps.rows.join.tables))
    yield from _times(steps)
    yield headline("Rows that change nothing", UNCHANGED[feed]["keep" if steps.keeps else "skip"])
    closes = steps.source.flags_deletes if isinstance(steps, Scd2Changes) else steps.closes_missing
    what = "Missing keys" if feed == "snapshot" else "Deletes"
    yield headline(what, DELETES[feed]["mark" if closes and steps.marks else "close" if closes else "none"])
    if steps.inferred and feed != "versions":
        never = "; a missing one stays" if feed == "snapshot" else ""
        yield headline("Inferred members", f"are completed by their first row{never}")
    if steps.history.times.by_run:
        yield headline("Open versions that stay open", BY_RUN)
    if spec.conflicts == "any" and feed != "versions":
        first = "a delete, or else " if isinstance(steps, Scd2Changes) and steps.source.flags_deletes else ""
        yield headline("Conflicts", f"of rows that contradict each other {first}the one with the least values counts")
    if recorded:
        yield headline("Overwritten values", RECORDED)
    tie = CONFLICTS[feed][bool(steps.rows.sequence)] if steps.conflict else ""
    yield from stops(steps.rows, tie, _stops(steps, recorded))
    if again := _again(steps):
        yield headline("The same rows again", again)


def _times(steps: Steps) -> Iterator[str]:
    if isinstance(steps, Scd2Changes):
        late = "sequence" if steps.late == "apply" and steps.sequence else steps.late
        yield headline("Late changes", LATE[late])
    elif isinstance(steps, Scd2Versions):
        yield headline("Stored versions", "are removed if the source has no version with their start")
    else:
        yield headline("Extracts", "must be loaded in the order of their times")
        if steps.source.has_time:
            late = "are left out" if steps.late == "ignore" else "stop the statement if they differ from it"
            yield headline("Rows older than the open version of their key", late)
            gone = "is missing or has another time" if steps.closes_missing else "has another time"
            yield headline("Versions that begin after the extract", f"are withdrawn if their key {gone}")


def _stops(steps: Steps, recorded: bool) -> Iterator[str]:
    if steps.history.times.open_end is not None:
        yield "a time is not before the open end"
    if isinstance(steps, Scd2Snapshot):
        yield from too_many(steps.guards)
        if not steps.source.has_time:
            yield "a version is newer than the extract"
        yield "a version to close is not older than the extract"
    elif isinstance(steps, Scd2Versions) and steps.rows.join:
        yield "a version has no key, no start or no time between its start and its end"
        yield f"two versions of a table are valid at a time{'' if steps.overlap else ' and differ'}"
    elif isinstance(steps, Scd2Versions):
        gap = steps.history.times.history.gap
        yield f"a row {'ends before its start' if gap else 'does not end after its start'}"
        yield "two rows of one key overlap"
    if recorded:
        yield "the time of the run is not later than those of all runs before it"


def _again(steps: Steps) -> str:
    nothing = "change nothing but the time of the run" if steps.history.times.by_run else "change nothing"
    plain = nothing if steps.history.times.by_run else ""
    if not isinstance(steps, Scd2Changes) or steps.late == "ignore":
        return plain
    if steps.late == "fail":
        return f"{nothing}, or stop because they are late by then"
    unless = (
        ("a late row sets its untracked columns again", bool(steps.untracked)),
        (
            "a row at the time of a version that was removed as redundant counts again",
            bool(steps.sequence) and not steps.keeps,
        ),
        (
            "a delete from before the change that completed an inferred member ends it",
            bool(steps.inferred) and steps.source.flags_deletes,
        ),
    )
    found = [text for text, holds in unless if holds]
    return f"{nothing}, except that {' and '.join(found)}" if found else plain
