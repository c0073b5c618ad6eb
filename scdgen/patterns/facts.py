"""Facts that the templates of several patterns print: names, types, flags and leaves of SQL, never whole clauses.

Each template has a frozen dataclass of its own. Those here serve the templates that every pattern has, and the macros;
a macro's parameter has the name of the dataclass that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.errors import printable
from scdgen.patterns import source
from scdgen.patterns.columns import Field, Target, field_of, names_of, struct
from scdgen.patterns.history import History
from scdgen.patterns.source import Rows, Variable, refusal
from scdgen.spec.model import DEFAULT_PROPERTIES, Snapshot, Spec
from scdgen.spec.pattern import definition


@dataclass(frozen=True)
class Head:
    """The first lines of a file: what table it is about, and which spec it comes from."""

    target: str
    description: str | None
    origin: str

    @classmethod
    def of(cls, spec: Spec) -> Head:
        """The head of a spec's files."""
        # The origin stands in a comment, which a file's name must not end.
        return cls(sql.quote_parts(spec.target_parts), spec.description, printable(spec.origin))


@dataclass(frozen=True)
class Session:
    """The session variables that a MERGE or a plan sets first.

    ``needed`` are (name, type) of params without a default, which the session must bring.
    """

    needed: tuple[tuple[str, str], ...]
    params: tuple[Variable, ...]
    taken_at: Variable | None
    last_run: Variable | None
    batch: tuple[Variable, ...]
    batch_where: tuple[str, ...]
    rows: Rows

    @classmethod
    def of(cls, spec: Spec, rows: Rows) -> Session:
        """The variables of a spec; ``rows`` is what the batch's variables are computed from."""
        params, needed = source.param_variables(spec)
        where = tuple(source.predicates(spec))
        taken_at, last_run = source.taken_at(spec), source.last_run(spec)
        return cls(tuple(needed), tuple(params), taken_at, last_run, tuple(source.batch_variables(spec)), where, rows)


@dataclass(frozen=True)
class Guards:
    """What a full extract must keep to: the part of the table that it speaks for, and the share that it may close.

    ``max_deleted`` is ``None`` if it may close everything; ``too_many`` is the refusal of more.
    """

    scope: str | None
    max_deleted: float | None
    too_many: str

    @classmethod
    def of(cls, spec: Spec) -> Guards:
        """The guards of a spec."""
        snapshot = spec.snapshot or Snapshot()
        share = f"{snapshot.max_deleted:.6g}"
        what = f"more than {share} of the current keys would close"
        return cls(
            scope=sql.expression(snapshot.scope).text if snapshot.scope else None,
            max_deleted=snapshot.max_deleted if snapshot.max_deleted < 1 else None,
            too_many=refusal(spec, "max_deleted", what),
        )


@dataclass(frozen=True)
class VersionSteps:
    """What the steps of scd2 share, for changes and for snapshots.

    ``action`` and ``deleted`` are the columns of these options, if there are any.
    """

    target: str
    rows: Rows
    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    history: History
    action: str | None
    deleted: str | None

    @property
    def marks(self) -> bool:
        """Whether a delete is a version of its own."""
        return self.deleted is not None

    @property
    def values(self) -> tuple[Field, ...]:
        """The columns that are not keys."""
        return values_of(self.fields)

    @property
    def fills(self) -> bool:
        """Whether a value that becomes known is written into versions that ended before."""
        return any(field.nulls == "fill" for field in self.fields)


@dataclass(frozen=True)
class Create:
    """create.sql: the table."""

    head: Head
    target: str
    schema: str | None
    columns: tuple[Target, ...]
    partition_by: tuple[str, ...]
    cluster_by: tuple[str, ...]
    location: str | None
    description: str | None
    properties: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, spec: Spec, columns: tuple[Target, ...]) -> Create:
        """The facts of a spec whose table has these columns."""
        parts, table = spec.target_parts, spec.table
        return cls(
            head=Head.of(spec),
            target=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 else None,
            columns=columns,
            partition_by=tuple(map(sql.quote, table.partition_by)),
            cluster_by=tuple(map(sql.quote, table.cluster_by)),
            location=sql.text_literal(table.location) if table.location else None,
            description=sql.text_literal(spec.description) if spec.description else None,
            properties=literals(_table_properties(spec, columns)),
        )


def literals(properties: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Table properties as pairs of SQL literals."""
    return tuple((sql.text_literal(name), sql.text_literal(value)) for name, value in properties.items())


def _table_properties(spec: Spec, columns: tuple[Target, ...]) -> dict[str, str]:
    """Every property of the table: the defaults, those of the spec, and what the stored rows depend on."""
    # Delta takes these characters in a column's name only if it maps names to names of its own in the files.
    odd = any(character in " ,;{}()\n\t=" for column in columns for character in column.name)
    mapped = {"delta.columnMapping.mode": "name"} if odd else {}
    properties = {**DEFAULT_PROPERTIES, **mapped, **spec.table.properties, **definition(spec)}
    wanted = "delta.dataSkippingStatsColumns"
    if len(spec.columns) <= 26 or wanted in properties or not spec.rules.keeps_history:
        return properties
    # Delta keeps the least and greatest value of 32 columns: in a wide table, name those that files are skipped by.
    names = [*spec.keys, spec.history.valid_from, spec.history.valid_to, *spec.table.cluster_by]
    return {**properties, wanted: ",".join(dict.fromkeys(map(sql.quote, names)))}


@dataclass(frozen=True)
class Evolve:
    """evolve.sql: the columns that a table lacks, and the properties that it gets."""

    target: str
    additions: tuple[Target, ...]
    properties: tuple[tuple[str, str], ...]


def fields_of(spec: Spec) -> tuple[Field, ...]:
    """The columns that come from a source row, in the table's order."""
    return tuple(field_of(spec, name) for name in source.source_columns(spec))


def keys_of(spec: Spec) -> tuple[Field, ...]:
    """The key columns, in the order of ``keys``."""
    return tuple(field_of(spec, name) for name in spec.keys)


def values_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    """The columns that are not keys."""
    return tuple(field for field in fields if not field.is_key)


def refuse_rows(spec: Spec, rule: str, what: str, at: Iterable[str]) -> str:
    """The refusal of rows of one key; the sample is the key and the columns ``at``."""
    return refusal(spec, rule, what, f"TO_JSON({struct([*names_of(keys_of(spec)), *at])})")


def refuse_conflict(spec: Spec, what: str, at: Iterable[str]) -> str | None:
    """The refusal of different rows of one ``what`` that nothing orders; ``None`` if any of them may be taken."""
    return refuse_rows(spec, "conflict", f"two different rows of one {what}", at) if spec.conflicts == "fail" else None


def refuse_empty(spec: Spec) -> str | None:
    """The refusal of an empty extract; ``None`` if the spec allows one."""
    if (spec.snapshot or Snapshot()).allow_empty:
        return None
    return refusal(spec, "empty_snapshot", "the snapshot is empty")


def refuse_early(spec: Spec, what: str, at: str) -> str:
    """The refusal of a snapshot that is older than what it would close or remove."""
    return refuse_rows(spec, "taken_at", f"the snapshot is not newer than a {what}", [at])


VIEW = "_scd_plan"
SAMPLE = 5  # rows that plan.sql itself shows of each action


@dataclass(frozen=True)
class PlanShape:
    """The view of a plan.

    ``on`` joins the stored rows (``t``) to the staged ones (``s``), ``current`` are the conditions on a current row,
    ``changing`` the columns that may change, ``groups`` and ``place`` order the rows. ``late``: the plan counts late
    rows. ``finds_first_change``: a row needs the first change of its key in the batch.
    ``joins_extract``: the staged rows lack the keys of the extract that need nothing.
    """

    target: str
    keys: tuple[str, ...]
    columns: tuple[Target, ...]
    on: tuple[str, ...]
    place: tuple[str, ...]
    changing: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("_scd_action",)
    late: bool = False
    finds_first_change: bool = False
    joins_extract: bool = False
    view: str = VIEW
    sample: int = SAMPLE

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns of the plan that a sample needs, besides the keys."""
        late = ("_scd_late",) if self.late else ()
        return (*self.groups, *late, *(name for name in self.place if name not in self.keys))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a sample says of a row: whether it is late, and whether it deletes a key."""
        return tuple(note for note in ("late", "deletes") if f"_scd_{note}" in self.kept)

    @property
    def action_label(self) -> str:
        """The name of the action in a sample: a column of the table may have the name that it should have."""
        return self._label("action")

    @property
    def note_label(self) -> str:
        """The name of the note in a sample."""
        return self._label("note")

    def _label(self, name: str) -> str:
        taken = {sql.unquote(column.name).casefold() for column in self.columns}
        return f"_scd_{name}" if name in taken else name

    def sampling(self, limit: int) -> PlanShape:
        """The same plan with up to ``limit`` rows of each action."""
        return replace(self, sample=limit)


@dataclass(frozen=True)
class PlanFacts:
    """plan.sql; a pattern adds the facts of its MERGE."""

    shape: PlanShape
