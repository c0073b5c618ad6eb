"""scd2: one row per version of a key, valid from a time until the next version or a delete."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from scdgen import sql
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.checks import VERSION_CHECKS, Checks, own_checks
from scdgen.facts.columns import Field, Inputs, Target, aliased, equal, names_of
from scdgen.facts.history import History
from scdgen.facts.plan import KEYS, REFRESHED, SUPERSEDED, VERSIONS, WITHDRAWN, PlanFacts, PlanShape
from scdgen.facts.row_rules import Guards
from scdgen.facts.source import SEQUENCE, SEQUENCE_COMMENT, SourceRow
from scdgen.facts.views import Read
from scdgen.model.option import Need
from scdgen.model.registry import HISTORY, RECORDED, TRACKED, Found, names_as_json, register
from scdgen.model.spec import Spec
from scdgen.patterns.pattern import Pattern, sequence_problems
from scdgen.patterns.scd2_changes import Scd2Changes
from scdgen.patterns.scd2_head import headlines, summary
from scdgen.patterns.scd2_rewind import Rewind
from scdgen.patterns.scd2_snapshot import Scd2Snapshot
from scdgen.patterns.scd2_versions import Scd2Versions
from scdgen.sql.literal import find_form

GAP_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day")


@dataclass(frozen=True)
class Ending:
    """How a MERGE ends rows instead of changing them: ``history.recorded``."""

    on: tuple[str, ...]
    """The conditions that join a row of now (``t``) to the one that ends it (``s``)."""
    begins: str
    """The column of the step "staged" with the start of the stored version."""
    stored: tuple[str, ...]
    """The columns of which a version that is corrected or closed keeps the stored value; none if the steps have it."""
    closed: tuple[str, ...]
    """Those of which only a version that is closed keeps it."""
    own: tuple[str, ...]
    """The other columns."""
    bounds: tuple[str, ...]
    """Conditions on the rows of now that let Delta skip files; none that ``source.reached`` has."""

    @property
    def reads_stored(self) -> bool:
        """Whether the rows of now are read once more, for values that the steps do not have."""
        return bool(self.stored or self.closed)


@dataclass(frozen=True)
class Scd2Merge(Facts, template="scd2/merge.sql.j2"):
    """merge.sql of scd2."""

    head: Head
    """The header of the file."""
    staging: Scd2Changes | Scd2Snapshot | Scd2Versions
    """The facts of its steps, which end in the step "staged"."""
    on: tuple[str, ...]
    """The conditions that join a stored version (``t``) to the staged one (``s``): key and start identify it."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those of ``audit``."""
    updated: tuple[str, ...]
    """The quoted names of the columns that an update sets."""
    closed: tuple[str, ...]
    """The quoted names of the columns that closing a version sets."""
    ending: Ending | None
    """How rows are ended instead; ``None`` without ``history.recorded``."""
    finds_returned: bool = False
    """Whether a key of an extract that the steps do not know may have versions that ended long ago."""

    @property
    def whole_keys(self) -> bool:
        """Whether the steps have every version of the source's keys: one that is redundant or missing is removed."""
        return not isinstance(self.staging, Scd2Snapshot)

    @property
    def folds(self) -> bool:
        """Whether a stored version may be redundant, and is removed."""
        return not isinstance(self.staging, Scd2Snapshot) or self.staging.source.has_time

    @property
    def withdraws(self) -> bool:
        """Whether a version that has not begun may be gone from the extract, and is removed."""
        return self.extract is not None and self.extract.source.has_time

    @property
    def removes(self) -> str:
        """Return the condition on the action of a version that is removed."""
        return "IN ('fold', 'withdraw')" if self.withdraws else "= 'fold'"

    @property
    def only_end(self) -> str:
        """Return the condition on the action of a version of which only the end is written."""
        extract = self.extract
        return "IN ('close', 'reopen')" if extract and extract.reopens else "= 'close'"

    def values(self, names: Iterable[str]) -> list[str]:
        """Return the values of columns of the table, from the rows to write (``s``)."""
        flat = self.ending is not None and self.ending.reads_stored
        return [f"s.{name if flat else self.staging.place(name)}" for name in names]

    def assigned(self, names: Iterable[str]) -> list[str]:
        """Assign to columns of the table their values."""
        names = list(names)
        return [f"{name} = {value}" for name, value in zip(names, self.values(names), strict=True)]

    def labelled(self, counted: bool = False) -> Scd2Merge:
        """Return the facts with steps that say what happens to each version, and to its key."""
        staging = replace(self.staging, labelled=True)
        if not isinstance(staging, Scd2Snapshot):
            staging = replace(staging, counted=counted)
        return replace(self, staging=staging)

    @property
    def changes(self) -> Scd2Changes | None:
        """Return the facts of the steps, if the source has changes."""
        return self.staging if isinstance(self.staging, Scd2Changes) else None

    @property
    def extract(self) -> Scd2Snapshot | None:
        """Return the facts of the steps, if the source is a full extract."""
        return self.staging if isinstance(self.staging, Scd2Snapshot) else None

    @property
    def versions(self) -> Scd2Versions | None:
        """Return the facts of the steps, if the source has whole histories."""
        return self.staging if isinstance(self.staging, Scd2Versions) else None


@dataclass(frozen=True)
class Scd2Counts(Scd2Merge, template="scd2/counts.sql.j2"):
    """The counts of a run of scd2."""


@dataclass(frozen=True)
class Scd2Plan(PlanFacts, template="scd2/plan.sql.j2"):
    """plan.sql of scd2."""

    merge: Scd2Merge
    """The facts of the MERGE."""
    deleted: str | None
    """The column that marks a delete; ``None`` without one."""
    fills: bool
    """Whether a first known value is written into earlier versions."""


class Scd2(Pattern):
    """Type 2: every change of a tracked column opens a version."""

    name = "scd2"
    summary = "a row per version"
    keeps_history = True
    feeds = ("changes", "snapshot", "versions")
    without = MappingProxyType({Need.ONE_ROW: ""})
    deletes = ("close", "mark", "ignore")
    written_actions = VERSIONS
    closing_action = "closed"
    check_names = tuple(check.name for check in VERSION_CHECKS)

    def needs_time(self, spec: Spec) -> bool:
        """Changes and whole histories need ``effective_at``; a snapshot has the time at which it was taken."""
        return not spec.reads_snapshot

    def takes_parts(self, spec: Spec) -> bool:
        """Not with whole histories: a part of a key's versions would replace all of them."""
        return not spec.reads_versions

    def actions(self, spec: Spec) -> tuple[str, ...]:
        """Return what happens to keys, then to versions, of which some only get the time of the run."""
        refreshed = (REFRESHED,) if spec.history.open_end == "last_run" else ()
        superseded = (SUPERSEDED,) if spec.recorded else ()
        withdrawn = (WITHDRAWN,) if spec.reads_snapshot and spec.source.effective_at is not None else ()
        return (*KEYS, *VERSIONS, *withdrawn, *refreshed, *superseded)

    def added_columns(self, spec: Spec) -> Iterable[str]:
        """Return the history columns."""
        return [name for _, name in spec.history_columns]

    def definition(self, spec: Spec) -> dict[str, str]:
        """Return the form of the history columns, and the tracked columns."""
        history = spec.history
        parts: list[str] = [history.type]
        parts += [f"gap {history.gap}"] if history.gap is not None else []
        parts += [f"open_end {history.open_end}"] if history.open_end is not None else []
        recorded = {RECORDED: names_as_json(name for _, name in spec.recorded_columns)} if spec.recorded else {}
        return {HISTORY: ", ".join(parts), TRACKED: names_as_json(spec.tracked), **recorded}

    def planned_columns(self, spec: Spec) -> tuple[Target, ...]:
        """Return the columns of the spec, then the history columns."""
        history = spec.history
        time, flag = history.type.upper(), history.is_current
        letters = "I first version, or first after a delete; U a later one; D closed by a delete"
        ends = "Start of the next version, or time of the delete"
        ends = ends if history.gap is None else f"{history.gap} before the next version or delete"
        closed = history.open_end is not None
        run: tuple[Inputs, ...] = ("run",) if history.open_end == "last_run" else ()
        until: tuple[Inputs, ...] = ("until",) if spec.reads_versions and spec.deletes != "ignore" else ()
        marked: tuple[tuple[Inputs, ...], tuple[Inputs, ...]] = (
            ((), ("keys",)) if spec.reads_snapshot else ((), until) if until else (("deletes",), ())
        )
        flagged = flag.type if flag else ""
        surrogate, hashes = history.surrogate_type, {"string": "SHA-256", "bigint": "xxhash64"}
        described: dict[str, tuple[str, str, bool, tuple[Inputs, ...], tuple[Inputs, ...]]] = {
            "surrogate_key": (
                surrogate.upper(), f"{hashes[surrogate]} of the key and the start; one per version", True,
                ("keys", "time"), (),
            ),
            "valid_from": (time, "Start of the version, inclusive", True, ("time",), ()),
            "valid_to": (time, ends, closed, ("time", *until, *run), ("changes",)),
            "is_current": (flagged, "Whether the version is the open one", True, (), ("time", *until, "changes")),
            "row_hash": ("STRING", "SHA-256 of the tracked columns", True, ("tracked",), ()),
            "action": ("STRING", letters, True, (), ("time", *until, "changes")),
            "deleted": ("BOOLEAN", "Whether the version is a delete", True, *marked),
            "inferred": ("BOOLEAN", "Whether only facts have named the key so far", True, (), ("changes",)),
            "sequence": (SourceRow(spec).sequence_type, SEQUENCE_COMMENT, False, ("sequence",), ()),
        }  # fmt: skip
        added = [Target(sql.quote(name), *described[option]) for option, name in spec.history_columns]
        return (*Target.of(spec), *added)

    def merge(self, source: Source) -> Scd2Merge:
        """Return a MERGE of the versions to write."""
        spec, history = source.spec, _history(source)
        times, columns = history.times, history.columns
        # With nulls: fill, a first known value fills versions that ended long ago, and a whole history replaces
        # versions of any age, so that they have no bound. Nor have changes with an action: all of a key is replayed.
        unbounded = source.fills if spec.reads_snapshot else spec.reads_versions or source.reads_all_versions
        bounds = () if unbounded else (times.reachable(source.bound),)
        staging: Scd2Changes | Scd2Snapshot | Scd2Versions
        if spec.reads_versions:
            staging = Scd2Versions.of(source, history)
        elif spec.reads_snapshot:
            staging = Scd2Snapshot.of(source, history)
        else:
            staging = Scd2Changes.of(source, history, bounds)
        # A version that is corrected by a row without a sequence keeps its own.
        kept = {"sequence"} if "sequence" in columns and history.sequence != SEQUENCE else set[str]()
        written = {option: name for option, name in columns.items() if option not in kept}
        updated, closed = _assigned(staging.values, written, spec.reads_snapshot)
        if isinstance(staging, Scd2Snapshot) and not staging.corrects_values:
            updated = closed
        # The first change of an inferred member may move its start; a whole history replaces it.
        moves = staging.inferred is not None and not spec.reads_versions
        if moves:
            updated += tuple(name for name in history.from_start if name not in updated)
            closed = closed if spec.reads_snapshot else updated
        name_of_start = "_scd_from" if moves else times.start
        names = (*map(sql.quote, spec.columns), *columns.values())
        ending = _ending(source, staging, bounds, name_of_start, names, updated, closed) if source.recorded else None
        merge = Scd2Merge(
            head=Head.of_feed(spec).saying(summary(staging), headlines(spec, staging, ending is not None)),
            staging=staging,
            on=(*equal(staging.keys, "t", "s"), f"t.{times.start} = s.{name_of_start}", *bounds, *source.in_partitions),
            columns=names,
            updated=updated,
            closed=closed,
            ending=ending,
        )
        return merge.labelled() if ending else merge

    def counts(self, source: Source) -> Scd2Counts | None:
        """Return the counts of a run.

        Only a plan can count a snapshot that fills: one UPDATE may close a version and write a value back.
        """
        if source.spec.reads_snapshot and source.fills:
            return None
        merge = self.merge(source).labelled(counted=True)
        returns = source.spec.reads_snapshot and any(map(_may_delete, source.spec.feeds))
        return Scd2Counts.like(replace(merge, finds_returned=returns))

    def plan(self, source: Source) -> Scd2Plan:
        """Return a view of the versions that would be written, a row per version, identified by key and start."""
        spec, merge = source.spec, self.merge(source).labelled()
        deleted = merge.staging.deleted
        late = isinstance(merge.staging, Scd2Changes) and spec.late == "apply"
        keys = merge.staging.keys
        shape = PlanShape(
            target=source.now,
            keys=keys,
            columns=self.planned_columns(spec),
            on=merge.on,
            place=(*keys, "_scd_start"),
            changing=merge.updated,
            current=merge.staging.current,
            groups=("_scd_action", "_scd_deletes", *(["_scd_withdrawn"] if merge.withdraws else [])),
            late=late,
            inferred=merge.staging.inferred,
            # A first known value also fills earlier versions, which does not make a change late.
            finds_first_change=late and source.fills,
            # If no source has deletes, and where every version of a key is read, the steps know all keys of the table.
            finds_returned=any(_may_delete(feed) for feed in spec.feeds)
            and not spec.reads_versions
            and (spec.reads_snapshot or not source.fills),
            joins_extract=spec.reads_snapshot,
            scope=Guards.of(source).scope,
        )
        return Scd2Plan(shape, merge, deleted, source.fills)

    def rewind(self, source: Source) -> Rewind | None:
        """Return the MERGE that takes the table back to a time."""
        return Rewind.of(source)

    def read(self, source: Source) -> Read:
        """Read versions by key and start; with ``unchanged: keep`` equal neighbours are read as one."""
        found, history = super().read(source), _history(source)
        deleted, start = history.columns.get("deleted"), history.times.start
        judged = names_of(field for field in history.tracked if field.compare)
        of_start = [name for option, name in history.columns.items() if option in {"surrogate_key", "sequence"}]
        written = [sql.quote(name) for option, name in source.spec.audit.names() if option == "inserted_at"]
        firsts = frozenset({start, *of_start, *history.derived, *judged, *written})
        return Read(
            found.target, found.keys, found.columns, (*found.keys, start), history.times, history.tracked, deleted,
            folds=source.spec.unchanged == "keep", firsts=firsts, action=history.columns.get("action"),
            recorded=source.recorded,
        )  # fmt: skip

    def checks(self, source: Source) -> Checks:
        """Return the checks of versions."""
        spec, history = source.spec, _history(source)
        times, columns, keys = history.times, history.columns, source.key_names
        skips = spec.unchanged == "skip"
        deleted = [columns["deleted"]] if "deleted" in columns else []
        # A delete may leave a gap that no column distinguishes from a wrong end: then ends cannot be checked.
        gap_action = spec.deletes != "mark" and columns.get("action")
        may_delete = spec.deletes == "close" and any(map(_may_delete, spec.feeds))
        needed = [columns[option] for option in ("action", "deleted", "inferred") if option in columns]
        join = source.rows.join
        parents = join.named_by(spec) if join and not spec.sources else ()
        wanted = {
            "contiguous": gap_action or not may_delete,
            "unique_surrogate_key": spec.history.surrogate_type == "bigint",
            "no_repeat": skips,
            "flag_matches_end": "is_current" in columns,
            "hash_matches": "row_hash" in columns,
            "parent_covers": parents,
            "recorded_order": spec.recorded,
        }
        nulls = "no column that every version must have is NULL." if needed else "no key and no start is NULL."
        why = {"key_not_null": nulls}
        if may_delete:
            why["contiguous"] = "a version ends where the next begins, unless a delete closed it."
        if times.by_run:
            why["flag_matches_end"] = "the flag has one of its two values."
        groups = {"one_current": keys, "unique_start": (*keys, times.start)}
        if "surrogate_key" in columns:
            groups["unique_surrogate_key"] = (columns["surrogate_key"],)
        listed = (check for check in VERSION_CHECKS if wanted.get(check.name, True))
        built_in = (replace(c, why=why.get(c.name, c.why), columns=groups.get(c.name, ())) for c in listed)
        return Checks(
            head=Head.of(spec),
            target=source.target,
            keys=keys,
            built_in=tuple(built_in),
            own=own_checks(spec),
            required=(*keys, times.start, *needed),
            times=times,
            environment=source.rows.environment if times.has_days else None,
            state=tuple([*(field.state_of(f"t.{field.name}") for field in history.tracked), *aliased(deleted, "t")])
            if skips
            else (),
            gap_action=gap_action or None,
            flag=columns.get("is_current"),
            hash_column=columns.get("row_hash"),
            row_hash=history.row_hash_of() if "row_hash" in columns else None,
            parents=parents,
            deleted=columns.get("deleted"),
            recorded=source.recorded,
        )

    def conflicting(self, source: Source) -> tuple[str, ...]:
        """Return the columns that are not keys; of a snapshot also the time of the row."""
        return self.merge(source).staging.content

    def is_needless(self, spec: Spec, planned: Mapping[str, int]) -> bool:
        """Never with ``open_end: last_run``, where every run writes to every open version."""
        return spec.history.open_end != "last_run" and super().is_needless(spec, planned)

    def problems(self, spec: Spec) -> Found:
        """Yield broken rules of the history columns."""
        if (spec.deletes == "mark") != (spec.history.deleted is not None):
            message = "on_delete: mark and history.deleted go together; write both or neither"
            yield ("history", "deleted") if spec.history.deleted else ("on_delete",), message
        yield from _history_problems(spec)
        yield from sequence_problems(spec, ("history", "sequence"))


def _may_delete(feed: Spec) -> bool:
    """Whether a run on a source may delete a key."""
    return feed.deletes != "ignore" and (SourceRow(feed).flags_deletes or feed.reads_snapshot or feed.reads_versions)


def _history(source: Source) -> History:
    assert source.history is not None
    return source.history


def _ending(
    source: Source,
    staging: Scd2Changes | Scd2Snapshot | Scd2Versions,
    bounds: tuple[str, ...],
    begins: str,
    columns: tuple[str, ...],
    updated: tuple[str, ...],
    closed: tuple[str, ...],
) -> Ending:
    """Return how a MERGE ends rows, from the columns that an update and the end of a version would set."""
    times = staging.history.times
    computed = {*staging.keys, times.start, *staging.history.from_start}
    stored = tuple(name for name in columns if name not in updated and name not in computed)
    of_closed = tuple(name for name in updated if name not in closed and name not in computed)
    taken = {*stored, *of_closed}
    skips = source.beside_reached(*bounds)
    return Ending(
        on=(*equal(staging.keys, "t", "s"), f"t.{times.start} = s._scd_ended", *skips),
        begins=begins,
        stored=stored,
        closed=of_closed,
        own=tuple(name for name in columns if name not in taken),
        bounds=skips,
    )


def _assigned(
    values: tuple[Field, ...], columns: Mapping[str, str], reads_snapshot: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that an update sets, and those that closing a version sets."""
    names = names_of(values)
    if not reads_snapshot:
        written = [name for option, name in columns.items() if option not in {"valid_from", "surrogate_key"}]
        return (*names, *written), (*names, *written)
    closed = [name for option, name in columns.items() if option in {"valid_to", "is_current", "action"}]
    more = [columns[option] for option in ("row_hash", "deleted", "sequence", "inferred") if option in columns]
    return (*names, *closed, *more), tuple(closed)


def _history_problems(spec: Spec) -> Found:
    history = spec.history
    end = None if history.open_end == "last_run" else history.open_end
    for option, message in _end_problems(history.type, history.gap, end):
        yield ("history", option), message
    for alias, joined in spec.source.join.items():
        for option, message in _end_problems(history.type, joined.gap, joined.open_end):
            yield ("source", "join", alias, option), message
    if history.open_end == "last_run" and history.is_current is None:
        message = "needs is_current, which identifies the open version; keep the default of is_current"
        yield ("history", "open_end"), f"open_end: last_run {message}"
    if history.open_end == "last_run" and history.type == "bigint" and "last_run" not in spec.params:
        message = "of type: bigint has no number of a run by itself; declare a param 'last_run'"
        yield ("history", "open_end"), f"open_end: last_run {message}"
    if flag := history.is_current:
        place = ("history", "is_current")
        if flag.open == flag.closed:
            yield place, f"is_current: open and closed are both '{flag.open}'; give each its own"
        kinds = {"BOOLEAN": (bool,), "STRING": (str,)}.get(flag.type, (int,))
        for option, value in (("open", flag.open), ("closed", flag.closed)):
            if not isinstance(value, kinds) or (kinds == (int,) and isinstance(value, bool)):
                yield place, f"is_current: {option}: '{value}' is not a valid {flag.type}; write a value of that type"


def _end_problems(kind: str, gap: str | int | None, open_end: object) -> Iterator[tuple[str, str]]:
    """Yield (option, problem) of how ends are stored."""
    if message := _gap_problem(kind, gap):
        yield "gap", f"gap: '{gap}' {message}"
    if open_end is not None and not _fits(kind, open_end):
        example = {"timestamp": "'9999-12-31 23:59:59.999'", "date": "'9999-12-31'", "bigint": "9223372036854775807"}
        yield "open_end", f"open_end: '{open_end}' is not a valid {kind}; write null or {example[kind]}"


def _gap_problem(kind: str, gap: str | int | None) -> str:
    if gap is None:
        return ""
    if kind == "bigint":
        return "" if isinstance(gap, int) and gap > 0 else "does not fit type: bigint; write a whole number above 0"
    match = re.fullmatch(rf"([1-9]\d*) ({'|'.join(GAP_UNITS)})s?", str(gap))
    if kind == "date":
        return "" if match and match[2] == "day" else "does not fit type: date; write '1 day'"
    return "" if match else "does not fit type: timestamp; write a number and a unit, such as '1 microsecond'"


def _fits(kind: str, value: object) -> bool:
    if kind == "bigint":
        return isinstance(value, int) and not isinstance(value, bool)
    if find_form(str(value), kind.upper()):
        return False
    try:
        if kind == "date":
            return bool(dt.date.fromisoformat(str(value)))
        return bool(dt.datetime.fromisoformat(str(value)[:26])) and "T" not in str(value)
    except ValueError:
        return False


register(Scd2())
