"""The facts of rewind.sql: the table as if nothing had been effective after a time."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts import variables
from scdgen.facts.base import Facts, Head
from scdgen.facts.built import Source
from scdgen.facts.columns import cast, equal
from scdgen.facts.history import REWIND_TO, Times
from scdgen.facts.variables import Variable, params_of_run
from scdgen.model.bind import needed_params
from scdgen.sql.words import negated


@dataclass(frozen=True)
class RewindSteps(Facts, template="scd2/rewind_steps.sql.j2"):
    """The steps that find the versions to remove or to open again, in the step "staged"."""

    source: Source
    """The source of the spec, of which the statement reads nothing, with the table and the variables of the run."""
    times: Times
    """The times of a version."""
    reserved: str | None
    """The condition that a row is not the unknown member, which stays; ``None`` without one."""
    bounds: tuple[str, ...]
    """Conditions on the table (``t``) by which Delta skips files; none if what ended before the time is needed."""
    action: str | None
    """The column that says how a version began, or that a delete closed it; ``None`` without one."""
    deleted: str | None
    """The column that marks a version as a delete; ``None`` without one."""
    opened: tuple[str, ...]
    """The end and the flag of an open version, each with its name."""
    carried: tuple[str, ...]
    """The other columns of a version, if one that is open again is inserted; none if it is updated."""


@dataclass(frozen=True)
class Rewind(Facts, template="scd2/rewind.sql.j2"):
    """rewind.sql of scd2."""

    head: Head
    """The header of the file."""
    needed: tuple[tuple[str, str], ...]
    """(name, type) of the variables that the session must set: the time, and params that say the time of the run."""
    params: tuple[Variable, ...]
    """Those of these params that have a default."""
    staging: RewindSteps
    """The steps, which end in the step "staged"."""
    on: tuple[str, ...]
    """The conditions that join a stored version (``t``) to the staged one (``s``)."""
    updated: tuple[str, ...]
    """The quoted names of the columns that open a version again."""
    columns: tuple[str, ...]
    """The quoted names of the columns that an insert writes, besides those that are set to variables of the run."""

    @classmethod
    def of(cls, source: Source) -> Rewind:
        """Return the facts of a spec whose table has versions."""
        spec, history = source.spec, source.history
        assert history is not None
        times, columns, unknown = history.times, history.columns, source.unknown_key
        # A version that ended before the time is not written, and has an earlier end.
        bound = times.reachable(times.before(REWIND_TO))
        end = times.last_run if times.by_run else times.open_end or cast("NULL", times.type)
        flag = (f"{times.flag_of(True)} AS {columns['is_current']}",) if "is_current" in columns else ()
        action = columns.get("action")
        # Nothing is read from the source: of the params, only those with the time of the run are set.
        of_run, recorded = params_of_run(spec), source.recorded
        updated = tuple(name for option, name in columns.items() if option in {"valid_to", "is_current", "action"})
        written = (*map(sql.quote, spec.columns), *columns.values())
        steps = RewindSteps(
            source=source,
            times=times,
            reserved=negated(unknown) if unknown else None,
            bounds=() if action else (bound,),
            action=action,
            deleted=columns.get("deleted"),
            opened=(f"{end} AS {times.end}", *flag),
            carried=tuple(name for name in written if name not in (*updated, *source.key_names)) if recorded else (),
        )
        # A row to insert has no such start, and equals none.
        start = "_scd_ended" if recorded else "_scd_start"
        return cls(
            head=Head.of(spec),
            needed=((REWIND_TO, times.type), *(found for found in needed_params(spec) if found[0] in of_run)),
            params=tuple(found for found in variables.param_variables(spec) if found.name in of_run),
            staging=steps,
            on=(*equal(source.key_names, "t", "s"), f"t.{times.start} = s.{start}", bound),
            updated=updated,
            columns=written,
        )
