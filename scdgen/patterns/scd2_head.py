"""What the head of merge.sql says, for scd2."""

from __future__ import annotations

from collections.abc import Iterator

from scdgen.facts import headlines as texts
from scdgen.facts.base import headline
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
    feed, changes = spec.source.feed, steps if isinstance(steps, Scd2Changes) else None
    if steps.rows.join:
        yield headline("Tables", ", ".join(table.table for table in steps.rows.join.tables))
    yield from _times(steps)
    yield headline("Rows that change nothing", texts.UNCHANGED[feed]["keep" if steps.keeps else "skip"])
    closes = changes.source.flags_deletes if changes else steps.closes_missing
    what = "Missing keys" if feed == "snapshot" else "Deletes"
    yield headline(what, texts.DELETES[feed]["mark" if closes and steps.marks else "close" if closes else "none"])
    if changes and changes.has_lives:
        yield headline("Columns that a change does not give", texts.GIVEN[steps.source.fills])
    if changes and changes.untracked:
        yield headline("Untracked columns", "open no version; a row sets them in the version that it falls into")
    if steps.inferred:
        yield headline("Inferred members", texts.INFERRED["deletes" if changes and changes.ignores_deletes else feed])
    if steps.history.times.by_run:
        yield headline("Open versions", texts.BY_RUN)
    if spec.conflicts == "any" and feed != "versions":
        first = "a delete, or else " if changes and changes.source.flags_deletes else ""
        yield headline("Conflicts", f"of rows that contradict each other {first}the one with the least values counts")
    if recorded:
        yield headline("Overwritten values", texts.RECORDED)
    tie = texts.CONFLICTS[feed][bool(steps.rows.sequence)] if steps.conflict else ""
    yield from texts.stops(steps.rows, tie, _stops(steps, recorded))
    if again := _again(steps):
        yield headline("The same rows again", again)


def _times(steps: Steps) -> Iterator[str]:
    if isinstance(steps, Scd2Changes):
        late = "sequence" if steps.late == "apply" and steps.sequence else steps.late
        yield headline("Late changes", texts.LATE[late])
    elif isinstance(steps, Scd2Versions):
        source = "first table" if steps.rows.join else "source"
        yield headline("Stored versions", f"are removed if the {source} has their key, and no such start")
    else:
        unchecked = ", which is not checked: an older one withdraws a newer version" if steps.source.has_time else ""
        yield headline("Extracts", f"must be loaded in the order of their times{unchecked}")
        if steps.source.has_time:
            late = "are left out" if steps.late == "ignore" else "stop the statement if they differ from it"
            yield headline("Rows older than the open version of their key", late)
            gone = "is missing or has another time" if steps.closes_missing else "has another time"
            yield headline("The open version, if it begins after the extract", f"is withdrawn if its key {gone}")


def _stops(steps: Steps, recorded: bool) -> Iterator[str]:
    if steps.history.times.open_end is not None:
        yield f"a time is not before {steps.history.times.open_end}, the end of open versions"
    if isinstance(steps, Scd2Snapshot):
        yield from texts.too_many(steps.guards)
        if not steps.source.has_time:
            yield "a version starts or ends after the extract, or this has no time"
        yield "a version would end at its start or before"
    elif isinstance(steps, Scd2Versions) and steps.rows.join:
        yield "a version has no key, no start or no time between its start and its end"
        yield f"two versions of a table overlap {'and are no copies' if steps.overlap else 'and differ'}"
    elif isinstance(steps, Scd2Versions):
        yield f"a row {'ends before its start' if steps.history.times.history.gap else 'does not end after its start'}"
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
        ("a row at the time of a removed redundant version counts again", bool(steps.sequence) and not steps.keeps),
        ("a delete before a member's first row leaves a gap", bool(steps.inferred) and steps.source.flags_deletes),
    )
    found = [text for text, holds in unless if holds]
    return f"{nothing}, except that {' and '.join(found)}" if found else plain
