"""Facts for the templates of several patterns: names, types, flags and fragments of SQL, never whole clauses.

Each template has a frozen dataclass, which names it. Those here are for the templates that every pattern has, and for
macros; a macro's parameter is named after the dataclass that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

from scdgen import sql
from scdgen.errors import printable
from scdgen.patterns import source, variables
from scdgen.patterns.columns import Field, Target, names_of
from scdgen.patterns.history import History
from scdgen.patterns.refusals import refusal, refuse_rows
from scdgen.patterns.rows import Expected, Rows, read_rows
from scdgen.patterns.variables import Variable
from scdgen.patterns.words import describe_limit
from scdgen.spec.model import DEFAULT_PROPERTIES, Snapshot, Spec
from scdgen.spec.pattern import definition
from scdgen.sql.layout import all_true, named_as, negated
from scdgen.sql.types import parse_type

F = TypeVar("F", bound="Facts")


@dataclass(frozen=True)
class Facts:
    """What a template reads as ``ctx``: the base of a frozen dataclass, which names its template.

    ``class Create(Facts, template="create.sql.j2")``. Without a template it is a base of others, or has that of its
    own base.
    """

    template: ClassVar[str]
    """The file, below the folder of templates."""

    def __init_subclass__(cls, template: str | None = None) -> None:
        """Bind the class to its template."""
        if template is not None:
            cls.template = template

    @classmethod
    def like(cls: type[F], other: Facts) -> F:
        """Return the facts of another template for the one of this class; ``other`` has all of its fields."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(cls)})


@dataclass(frozen=True)
class Head:
    """The header of a file: its table and its spec.

    ``feed`` is the one of several sources that the file reads, ``merge`` the name of its merge.sql, and ``rejects``
    that of its rejects.sql, empty without a quarantine.
    """

    target: str
    description: str | None
    origin: str
    feed: str = ""
    merge: str = "merge.sql"
    rejects: str = ""

    @classmethod
    def of(cls, spec: Spec) -> Head:
        """Return the header of a spec's files."""
        # The origin is printed in a comment, which a line break in a file's name would end.
        return cls(sql.quote_parts(spec.target_parts), spec.description, printable(spec.origin))

    @classmethod
    def of_feed(cls, spec: Spec) -> Head:
        """Return the header of a file that reads the source."""
        rejects = spec.file_name("rejects.sql") if spec.quarantine else ""
        return replace(cls.of(spec), feed=spec.feed, merge=spec.file_name("merge.sql"), rejects=rejects)


@dataclass(frozen=True)
class Session:
    """The session variables that a MERGE or a plan sets first.

    ``needed`` are (name, type) of params without a default, which the session must declare.
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
        """Return the variables of a spec; the batch's are computed from ``rows``."""
        params, needed = variables.param_variables(spec)
        # The keys of a join are those of its first table.
        where = rows.join.tables[0].where if rows.join else tuple(source.predicates(spec))
        taken_at, last_run = variables.taken_at(spec), variables.last_run(spec)
        return cls(
            tuple(needed), tuple(params), taken_at, last_run, tuple(variables.batch_variables(spec)), where, rows
        )


@dataclass(frozen=True)
class Guards:
    """Limits of a full extract: the part of the table that it covers, and the share of keys that it may delete.

    ``max_deleted`` is ``None`` if it may delete all of them; ``too_many`` is the refusal of more.
    """

    scope: str | None
    max_deleted: float | None
    too_many: str

    @property
    def allowed(self) -> str:
        """Return ``max_deleted`` as a percentage."""
        return f"{100 * (self.max_deleted or 0):.6g} %"

    @classmethod
    def of(cls, spec: Spec) -> Guards:
        """Return the guards of a spec."""
        snapshot = spec.snapshot or Snapshot()
        return cls(
            scope=_scope(spec, snapshot),
            max_deleted=snapshot.max_deleted if snapshot.max_deleted < 1 else None,
            too_many=refuse_deleted(spec, snapshot.max_deleted),
        )


def _scope(spec: Spec, snapshot: Snapshot) -> str | None:
    """Return the condition on a stored version that a full extract covers: no member comes from the source."""
    members = (source.unknown_key(spec), source.inferred_flag(spec))
    parts = [sql.expression(snapshot.scope).condition] if snapshot.scope else []
    return all_true([*parts, *(negated(member) for member in members if member)]) or None


@dataclass(frozen=True)
class VersionSteps(Facts):
    """Facts that the steps of scd2 share, for changes and for snapshots."""

    target: str
    rows: Rows
    keys: tuple[str, ...]
    fields: tuple[Field, ...]
    history: History

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that come from a source row."""
        return tuple(names_of(self.fields))

    @property
    def compared(self) -> tuple[str, ...]:
        """Return the columns that are not keys, in a form that ``<=>`` accepts."""
        return tuple(field.comparable for field in self.values)

    @property
    def action(self) -> str | None:
        """Return the column with the action of a version, if the spec has it."""
        return self.history.columns.get("action")

    @property
    def deleted(self) -> str | None:
        """Return the column that marks a delete, if the spec has it."""
        return self.history.columns.get("deleted")

    @property
    def inferred(self) -> str | None:
        """Return the column that flags inferred members, if the spec has it."""
        return self.history.columns.get("inferred")

    @property
    def sequence(self) -> str | None:
        """Return the column that keeps the sequence of a version's row, if the spec has it."""
        return self.history.columns.get("sequence")

    @property
    def marks(self) -> bool:
        """Whether a delete is a separate version."""
        return self.deleted is not None

    @property
    def values(self) -> tuple[Field, ...]:
        """Return the columns that are not keys."""
        return values_of(self.fields)

    @property
    def current(self) -> tuple[str, ...]:
        """Return the conditions on a current version (``t``): it is open, and not the mark of a delete."""
        return (self.history.times.is_open(), *([f"NOT t.{self.deleted}"] if self.marks else []))

    @property
    def judged(self) -> tuple[Field, ...]:
        """Return the columns of which an expression, not the value itself, shows whether they change."""
        return tuple(field for field in self.fields if field.compare is not None)

    @property
    def fills(self) -> bool:
        """Whether a first known value is written into earlier versions."""
        return any(field.nulls == "fill" for field in self.fields)


@dataclass(frozen=True)
class Unknown(Facts, template="unknown.sql.j2"):
    """unknown.sql: ``key`` are the names of the member's key, ``values`` its columns, each with its name.

    ``columns`` are the names of all columns of the table, ``version`` those of the steps' rows and of the history,
    computed from ``values``.
    """

    target: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[str, ...]
    version: tuple[str, ...]

    @classmethod
    def of(cls, spec: Spec, history: History, columns: tuple[Target, ...]) -> Unknown | None:
        """Return the unknown member of a spec, if it has one."""
        unknown = spec.members.unknown
        if unknown is None:
            return None
        fields = fields_of(spec)
        given = {sql.quote(name): value for name, value in unknown.items()}
        return cls(
            target=sql.quote_parts(spec.target_parts),
            key=tuple(names_of(history.keys)),
            columns=tuple(column.name for column in columns),
            values=(
                *(named_as(source.literal(given.get(field.name), field.type), field.name) for field in fields),
                named_as(history.times.beginning, "_scd_at"),
                history.times.no_next,
            ),
            version=(*names_of(fields), *history.opened("_scd_at", "_scd_next", inferred=False)),
        )


@dataclass(frozen=True)
class Create(Facts, template="create.sql.j2"):
    """create.sql: the table, and the unknown member if the spec has one.

    ``separates_open``: the partitions are those of ``table.layout``.
    """

    head: Head
    target: str
    schema: str | None
    columns: tuple[Target, ...]
    partition_by: tuple[str, ...]
    separates_open: bool
    cluster_by: tuple[str, ...]
    location: str | None
    description: str | None
    properties: tuple[tuple[str, str], ...]
    unknown: Unknown | None

    @classmethod
    def of(cls, spec: Spec, columns: tuple[Target, ...], history: History | None = None) -> Create:
        """Return the facts of a spec whose table has these columns, and this history if it has one."""
        parts, table = spec.target_parts, spec.table
        return cls(
            head=Head.of(spec),
            target=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 else None,
            columns=columns,
            partition_by=tuple(map(sql.quote, spec.partitions)),
            separates_open=spec.separates_open,
            cluster_by=tuple(map(sql.quote, table.cluster_by)),
            location=sql.text_literal(table.location) if table.location else None,
            description=sql.text_literal(spec.description) if spec.description else None,
            properties=literals(_table_properties(spec, columns)),
            unknown=Unknown.of(spec, history, columns) if history else None,
        )


def literals(properties: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Convert table properties to pairs of SQL literals."""
    return tuple((sql.text_literal(name), sql.text_literal(value)) for name, value in properties.items())


def _table_properties(spec: Spec, columns: tuple[Target, ...]) -> dict[str, str]:
    """Return all properties of the table: the defaults, those of the spec, and what the stored rows depend on."""
    # Delta accepts these characters in a column's name only with column mapping.
    names = (name for column in columns for name in (column.name, *parse_type(column.type).names()))
    odd = any(character in " ,;{}()\n\t=" for name in names for character in name)
    mapped = {"delta.columnMapping.mode": "name"} if odd else {}
    properties = {**DEFAULT_PROPERTIES, **mapped, **spec.table.properties, **definition(spec)}
    wanted = "delta.dataSkippingStatsColumns"
    if len(spec.columns) <= 26 or wanted in properties or not spec.rules.keeps_history:
        return properties
    # Delta keeps minimum and maximum of 32 columns only: in a wide table, name those that files are skipped by.
    skipped_by = [*spec.keys, spec.history.valid_from, spec.history.valid_to, *spec.table.cluster_by]
    return {**properties, wanted: ",".join(dict.fromkeys(map(sql.quote, skipped_by)))}


@dataclass(frozen=True)
class Rejects(Facts, template="rejects.sql.j2"):
    """rejects.sql: the rows that break the expectations ``rules``, whose columns are ``content``."""

    head: Head
    session: Session
    target: str
    quarantine: str
    schema: str | None
    rules: tuple[Expected, ...]
    content: tuple[str, ...]

    @classmethod
    def of(cls, spec: Spec) -> Rejects:
        """Return the facts of a spec with a quarantine; only params are variables of the statement."""
        rows, parts = read_rows(spec, "changes"), sql.split_name(spec.quarantine or "")
        session = replace(Session.of(spec, rows), taken_at=None, last_run=None, batch=())
        return cls(
            head=Head.of_feed(spec),
            session=session,
            target=".".join(spec.target_parts),
            quarantine=sql.quote_parts(parts),
            schema=sql.quote_parts(parts[:-1]) if len(parts) > 1 else None,
            rules=tuple(rule for rule in rows.expected if rule.quarantined),
            content=(*names_of(fields_of(spec)), *source.own_time(spec), *(["_scd_sets"] if spec.source.sets else [])),
        )


@dataclass(frozen=True)
class Evolve(Facts, template="evolve.sql.j2"):
    """evolve.sql: the columns to add to a table, and the properties to set."""

    target: str
    additions: tuple[Target, ...]
    properties: tuple[tuple[str, str], ...]


def fields_of(spec: Spec) -> tuple[Field, ...]:
    """Return the columns that come from a source row, in the table's order."""
    return tuple(source.field_of(spec, name) for name in source.source_columns(spec))


def keys_of(spec: Spec) -> tuple[Field, ...]:
    """Return the key columns, in the order of ``keys``."""
    return tuple(source.field_of(spec, name) for name in spec.keys)


def values_of(fields: Iterable[Field]) -> tuple[Field, ...]:
    """Return the columns that are not keys."""
    return tuple(field for field in fields if not field.is_key)


def refuse_conflict(spec: Spec, what: str, at: Iterable[str]) -> str | None:
    """Return the refusal of different, unordered rows of one ``what``; ``None`` if any of them may be taken."""
    return refuse_rows(spec, "conflict", f"two different rows of one {what}", at) if spec.conflicts == "fail" else None


def refuse_empty(spec: Spec) -> str | None:
    """Return the refusal of an empty extract; ``None`` if the spec allows one."""
    if (spec.snapshot or Snapshot()).allow_empty:
        return None
    return refusal(spec, "empty_snapshot", "the snapshot is empty")


def refuse_deleted(spec: Spec, limit: float) -> str:
    """Return the refusal of a snapshot that deletes more of the current keys, in the words of a plan."""
    count = ["_scd_closing", "IF(_scd_closing = 1, ' key', ' keys')"]
    share = ["ROUND(100 * _scd_closing / _scd_current, 1)", sql.text_literal(f" %; {describe_limit(limit)})")]
    return refusal(spec, "max_deleted", "", [*count, sql.text_literal(" deleted ("), *share])


def refuse_early(spec: Spec, what: str, at: str) -> str:
    """Return the refusal of a snapshot that is older than a version or row that it would close or remove."""
    return refuse_rows(spec, "taken_at", f"the snapshot is not newer than a {what}", [at])


VIEW = "_scd_plan"
SAMPLE = 5  # rows per action that plan.sql shows


@dataclass(frozen=True)
class PlanShape(Facts):
    """The view of a plan.

    ``on`` joins the stored rows (``t``) to the staged ones (``s``), ``current`` are the conditions on a current row,
    ``changing`` the columns that may change, ``groups`` and ``place`` order the rows. ``late``: the plan counts late
    rows; ``inferred`` is the column of inferred members, of which no row is late. ``finds_first_change``: a row needs
    the first change of its key in the batch. ``finds_returned``: the steps do not read versions closed long ago, by
    which a key that returns differs from a new one. ``joins_extract``: the staged rows lack the keys of the extract
    that need nothing. ``scope``: the part of the table that the extract covers.
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
    inferred: str | None = None
    finds_first_change: bool = False
    finds_returned: bool = False
    joins_extract: bool = False
    scope: str | None = None
    view: str = VIEW
    sample: int = SAMPLE

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the columns of the plan that a sample needs, besides the keys."""
        late = ("_scd_late",) if self.late else ()
        return (*self.groups, *late, *(name for name in self.place if name not in self.keys))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of a sample: whether a row is late, and whether it deletes a key."""
        return tuple(note for note in ("late", "deletes") if f"_scd_{note}" in self.kept)

    @property
    def action_label(self) -> str:
        """Return the name of the action in a sample, which no column of the table may have."""
        return self._label("change")

    @property
    def note_label(self) -> str:
        """Return the name of the note in a sample."""
        return self._label("note")

    def _label(self, name: str) -> str:
        taken = {sql.unquote(column.name).casefold() for column in self.columns}
        return f"_scd_{name}" if name in taken else name

    def sampling(self, limit: int) -> PlanShape:
        """Return the plan with up to ``limit`` sample rows per action."""
        return replace(self, sample=limit)


@dataclass(frozen=True)
class PlanRows(PlanShape, template="plan_rows.sql.j2"):
    """The query of the rows of a plan, without the unchanged keys."""


@dataclass(frozen=True)
class PlanSample(PlanShape, template="plan_sample.sql.j2"):
    """The query of up to ``sample`` rows per action of a plan."""


@dataclass(frozen=True)
class PlanFacts(Facts):
    """plan.sql; a pattern adds the facts of its MERGE."""

    shape: PlanShape
