"""The first steps of a join: from tables with versions to the rows of one history."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts import variables
from scdgen.facts.base import refusal, refuse_rows
from scdgen.facts.columns import apply, cast, equal, struct
from scdgen.facts.history import Times
from scdgen.model.option import Rows, sql_texts
from scdgen.model.rules import times_of
from scdgen.model.spec import JoinedTable as Given
from scdgen.model.spec import Spec
from scdgen.sql.words import all_true

_RULES = (
    ("null_key", "a joined version has no key"),
    ("null_time", "a joined version has no start"),
    ("end_before_start", "a joined version does not end after its start"),
)


@dataclass(frozen=True)
class JoinedTable:
    """A table of a join."""

    alias: str
    """Its quoted alias."""
    table: str
    """Its quoted name."""
    keys: tuple[str, ...]
    """The expressions for the keys of the spec, in the target's types; of a parent, the columns of its own key."""
    start: str
    """The expression for the start of a version."""
    until: str
    """The expression for the exclusive end of a version, NULL while it is open."""
    where: tuple[str, ...]
    """The conditions on a row."""
    named: bool
    """Whether the start, the end or a condition uses the alias."""
    has_history: bool
    """Whether its rows are versions; if not, they hold at all times."""
    required: bool
    """Whether there is no row without one of it."""
    pointers: tuple[str, ...] = ()
    """Of a parent, what its keys are equal to: expressions over the last table of ``path``."""
    surrogate_key: str | None = None
    """The quoted column with the surrogate key of a version; ``None`` if it is not known."""
    path: tuple[JoinedTable, ...] = ()
    """Of a parent, the tables that lead to it: the first has the keys of the spec, and each points to the next."""
    columns: tuple[str, ...] = ()
    """Of a parent, its quoted columns that the spec reads, in lower case."""
    refusals: tuple[str, ...] = ()
    """The refusals of a version without a key, without a start, and of one that does not end after its start."""

    @property
    def label(self) -> str:
        """Return the alias as a text literal."""
        return sql.text_literal(sql.unquote(self.alias))

    @property
    def stored(self) -> tuple[str, ...]:
        """Return the names of the keys in the step of the table, whose columns may have any other name."""
        return tuple(f"_scd_key_{number}" for number in range(1, len(self.keys) + 1))

    @property
    def way(self) -> tuple[JoinedTable, ...]:
        """Return the parents that lead from the first table of ``path`` to it, itself included."""
        return (*self.path[1:], self)

    @property
    def points(self) -> tuple[str, ...]:
        """Return the conditions that a row of the table before it points to one of it."""
        return tuple(f"{on} = {self.alias}.{key}" for on, key in zip(self.pointers, self.stored, strict=True))

    @property
    def times(self) -> str | None:
        """Return the step with its versions and the times without one; ``None`` if no row has such a time."""
        is_split = self.path and self.has_history and not self.required
        return sql.quote(times_of(sql.unquote(self.alias))) if is_split else None

    @property
    def shown(self) -> str:
        """Return a column that no row of it lacks."""
        return f"{self.alias}.{'_scd_from' if self.has_history else self.stored[0]}"


@dataclass(frozen=True)
class Join:
    """The steps from several tables with versions to the rows of one history."""

    tables: tuple[JoinedTable, ...]
    """The joined tables, in the order of the spec."""
    keys: tuple[str, ...]
    """The quoted keys of the target; the tables that have them name them as ``stored``."""
    since: str | None
    """The time from which a version must start or end for its key to be read; ``None`` to read every key."""
    refusals: tuple[str, ...]
    """The refusals of a version without a key, without a start, and of one that does not end after its start."""

    @classmethod
    def of(cls, spec: Spec, times: Times) -> Join:
        """Return the join of a spec, whose versions have these times."""
        tables = dict[str, JoinedTable]()
        for alias, joined in spec.source.join.items():
            tables[alias.lower()] = _table(spec, times, alias, joined, tables)
        since, shown = spec.source.changed_since, ("_scd_table", "_scd_from", "_scd_to")
        return cls(
            tables=tuple(tables.values()),
            keys=tuple(map(sql.quote, spec.keys)),
            since=variables.param_cast(spec, sql.expression(since).text, times.type) if since else None,
            refusals=tuple(refuse_rows(spec, rule, what, shown) for rule, what in _RULES),
        )

    @property
    def stored(self) -> tuple[str, ...]:
        """Return the names of the keys in the step of a table that has those of the spec."""
        return self.tables[0].stored

    @property
    def siblings(self) -> tuple[JoinedTable, ...]:
        """Return the tables with versions of the keys of the spec."""
        return tuple(table for table in self.tables if table.has_history and not table.path)

    @property
    def parents(self) -> tuple[JoinedTable, ...]:
        """Return the tables with versions that other tables point to."""
        return tuple(table for table in self.tables if table.has_history and table.path)

    def named_by(self, spec: Spec) -> tuple[tuple[str, JoinedTable], ...]:
        """Return the columns that name the version of a parent which holds in each version, and the parent."""
        if spec.deletes == "ignore":  # then a version goes on where the first table has a gap
            return ()
        known = {f"{t.alias}.{t.surrogate_key}".lower(): t for t in self.parents if t.surrogate_key}
        texts = {name: sql.expression(spec.column_source(name)).text.lower() for name in spec.tracked}
        return tuple((sql.quote(name), known[text]) for name, text in texts.items() if text in known)

    @property
    def spanned(self) -> bool:
        """Whether several tables have versions of the keys of the spec, so that spans of time are joined with each."""
        return len(self.siblings) > 1

    @property
    def base(self) -> str:
        """Return the alias of the step with the times that the versions of parents split."""
        return "spans" if self.spanned else self.tables[0].alias

    @property
    def base_keys(self) -> tuple[str, ...]:
        """Return the names of the keys in the step ``base``."""
        return self.keys if self.spanned else self.stored

    @property
    def overlapping(self) -> bool:
        """Whether rows of a key overlap where two versions of a table do; spans do not."""
        return bool(self.parents) or not self.spanned

    def same_key(self, table: JoinedTable) -> list[str]:
        """Return the conditions that a row of a table has the key of the step ``base``."""
        return equal(self.base_keys, self.base, table.alias, others=table.stored)

    def common(self, last: JoinedTable | None = None) -> tuple[str, str]:
        """Return from when on, and until when, versions of the first table and of the parents up to ``last`` hold."""
        parents = self.parents[: self.parents.index(last) + 1] if last else self.parents
        start = f"{self.base}.{'_scd_at' if self.spanned else '_scd_from'}"
        starts = [start, *(f"{table.alias}._scd_from" for table in parents)]
        ends = [f"{self.base}._scd_to", *(f"{table.alias}._scd_to" for table in parents)]
        return (apply("GREATEST", starts), apply("LEAST", ends)) if parents else (start, ends[0])

    @property
    def exists(self) -> str | None:
        """Return the condition that there is a row: each table that it needs has a version; ``None`` without one."""
        needed = [t for t in self.tables if t.required or (self.spanned and t is self.tables[0])]
        return all_true(f"{t.shown} IS NOT NULL" for t in needed) if needed else None

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the steps, in order; each has a file of its name."""
        changed, spanned = self.since is not None, self.spanned
        names = {
            "tables": True,
            "periods": spanned,
            "changed": changed,
            "chosen": changed and not spanned,
            "boundaries": spanned,
            "spans": spanned,
            "times": any(table.times for table in self.parents),
        }
        return tuple(name for name, wanted in names.items() if wanted)


def _table(spec: Spec, of_spec: Times, alias: str, joined: Given, before: dict[str, JoinedTable]) -> JoinedTable:
    """Return a table of the join of a spec, of which these come before it."""
    texts = [joined.start, joined.end, *([joined.where] if joined.where else [])]
    form = {"gap": joined.gap, "open_end": joined.open_end}
    stored = spec.model_copy(update={"history": spec.history.model_copy(update=form)})
    pointers = [sql.expression(text) for text in joined.on.values()]
    child = next((before[parts[0]] for read in pointers for parts in read.names if parts[0] in before), None)
    keys = [cast(sql.quote(joined.keys[key]), spec.columns[key].type) for key in spec.keys if not child]
    table = JoinedTable(
        alias=sql.quote(alias),
        table=sql.quote_parts(sql.split_name(joined.table)),
        keys=tuple(keys or map(sql.quote, joined.on)),
        start=cast(sql.expression(joined.start).text, of_spec.type),
        until=Times(stored).until_of(sql.expression(joined.end).text),
        where=(sql.expression(joined.where).condition,) if joined.where else (),
        named=any((alias.lower(),) == name[:-1] for text in texts for name in sql.expression(text).names),
        has_history=joined.history is None,
        required=joined.required,
        surrogate_key=sql.quote(joined.surrogate_key) if joined.surrogate_key else None,
        pointers=tuple(read.text for read in pointers),
        path=(*child.path, child) if child else (),
        columns=_read_of(spec, alias.lower()) if child else (),
    )
    # A refusal in the step of the table shows its own columns.
    ends = {"_scd_from": sql.expression(joined.start), "_scd_to": sql.expression(joined.end)}
    times = [read.text if read.bare else f"{read.text} AS {name}" for name, read in ends.items()]
    row = [
        f"{table.label} AS _scd_table",
        *map(sql.quote, joined.on or joined.keys.values()),
        *times * table.has_history,
    ]
    return replace(
        table, refusals=tuple(refusal(spec, rule, what, [f"TO_JSON({struct(row)})"]) for rule, what in _RULES)
    )


def _read_of(spec: Spec, alias: str) -> tuple[str, ...]:
    """Return the columns of a joined table that the rows of the source are made of, in lower case."""
    read = [sorted(found.fragment.names) for found in sql_texts(spec) if found.option.over is Rows.SOURCE]
    names = dict.fromkeys(parts[1] for names in read for parts in names if parts[0] == alias and parts[1:])
    return tuple(map(sql.quote, names))
