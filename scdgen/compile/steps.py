"""The order of a run: its statements as a list of steps, which every engine plays from the first to the last."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from enum import Enum

from scdgen import sql
from scdgen.compile.compile import Compiled
from scdgen.compile.queries import evolve_script, required_rows, source_counts
from scdgen.compile.render import render_query
from scdgen.compile.statements import Script, Statement
from scdgen.facts.columns import Target
from scdgen.facts.variables import OF_RUN, RECORDED_ORDER, RUN_ID


class Part(Enum):
    """What the statements of a step do."""

    RUN = "set the variables of the run"  # and not of one of its files
    TABLE = "create the table, or change its columns"
    MEMBERS = "infer members from facts"
    VARIABLES = "set the variables of the merge"
    PLAN = "count what the merge will do"  # if that is wanted
    VIEWS = "create the views"  # first, so that nothing is merged if one cannot be created
    COUNTS = "count the rows that the merge leaves out"
    REJECTS = "keep the rows that are rejected"
    MERGE = "merge"
    NEW_COLUMNS = "create the views with the columns that the run added"


@dataclass(frozen=True)
class Step:
    """The statements of one part of a run, in order."""

    part: Part
    """What they do."""
    statements: tuple[str, ...] = ()
    """Texts without semicolons; none for a plan, of which an engine reads what it wants."""


@dataclass(frozen=True)
class Existing:
    """A target that exists."""

    additions: tuple[Target, ...]
    """The columns of the spec that it lacks."""
    lacks: Callable[[str], bool]
    """Whether none of its rows meets a condition."""
    adopt: bool = False
    """Whether the run takes it over from another tool."""


def list_steps(
    compiled: Compiled,
    existing: Existing | None,
    infer: bool = False,
    counts_source: bool = False,
    run_id: str | None = None,
) -> list[Step]:
    """Return the steps of a run, in the only order in which engines play them.

    ``existing`` is the target, if it exists; ``counts_source`` counts the rows of the source even if the MERGE leaves
    none out; without a ``run_id`` the statements make one. The views of ``lookups`` are in none of the steps:
    lookups.sql creates them, because they read facts that a run does not know.
    """
    steps: list[Step] = []
    spec, files = compiled.spec, compiled.files
    of_run = {*OF_RUN, *(sql.expression(spec.recorded.at).params if spec.recorded else ())}
    shared: dict[tuple[str, str], Statement] = {}  # each once: a file that is pasted sets its own

    def own(script: Script) -> tuple[str, ...]:
        return tuple(statement.text for statement in script.statements if not _is_of_run(statement, of_run))

    for script in (files.create, files.infer, files.merge, files.rejects):
        shared |= {(found.kind, found.name): found for found in script.statements if _is_of_run(found, of_run)}
    of_table = (found for found in shared.values() if existing or found.name != RECORDED_ORDER)
    if variables := tuple(_with_id(found, run_id, found.body) for found in of_table):
        steps.append(Step(Part.RUN, variables))
    if existing is None:
        steps.append(Step(Part.TABLE, own(files.create)))
    else:
        # Add the columns first: a row that the spec requires has values for them.
        changes = evolve_script(spec, existing.additions, existing.adopt).texts
        added = map(render_query, required_rows(spec, existing.lacks))
        steps.append(Step(Part.TABLE, (*changes, *added)))
    if infer:
        steps.append(Step(Part.MEMBERS, own(files.infer)))
    *before, merge = own(files.merge)
    steps.append(Step(Part.VARIABLES, tuple(before)))
    steps.append(Step(Part.PLAN))
    views = files.views.texts
    if views:
        steps.append(Step(Part.VIEWS, views))
    if query := source_counts(spec, wanted=counts_source):
        steps.append(Step(Part.COUNTS, (render_query(query),)))
    # Write rejected rows before the MERGE, so that they are kept if it fails.
    if files.rejects.statements:
        steps.append(Step(Part.REJECTS, own(files.rejects)))
    steps.append(Step(Part.MERGE, (merge,)))
    if views and existing is not None and existing.additions:  # afterwards, because a failure drops the columns again
        steps.append(Step(Part.NEW_COLUMNS, views))
    return steps


def list_own(script: Script, run_id: str | None = None) -> tuple[str, ...]:
    """Return the statements of a file that a run does not play, such as rewind.sql, with the id of its run."""
    return tuple(_with_id(statement, run_id, statement.text) for statement in script.statements)


def _is_of_run(statement: Statement, names: Container[str]) -> bool:
    """Whether a statement declares or sets a variable that all files of a run share."""
    return (statement.declares or statement.sets) and statement.name in names


def _with_id(statement: Statement, run_id: str | None, text: str) -> str:
    """Return the text of a statement; one that sets the id of the run sets the given one."""
    given = statement.sets and statement.name == RUN_ID and run_id is not None
    return f"{statement.kind} {statement.name} = {sql.text_literal(run_id or '')}" if given else text
