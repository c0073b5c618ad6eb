"""Explain what a change of a spec means for stored rows: what the comparison with their table says, and the rest.

The old spec is read from ``spec.json`` next to the generated SQL. Only two specs say which rows were read, how their
values were made, and what ``create.sql`` says that a run does not look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import sqlglot

from scdgen import sql
from scdgen.facts.history import Times
from scdgen.facts.source import SourceRow
from scdgen.model.option import walk
from scdgen.model.spec import DEFAULT_PROPERTIES, Model, Source, Spec
from scdgen.sql.tokens import DIALECT
from scdgen.stored.migrate import Line, Step, flag_value
from scdgen.stored.state import FOLDS, NEW_TABLES, Stored, as_stored, compare, with_history

_COPY = "to change it, run the table into another target with feed: versions"
_REWRITE = "to move its rows over, see docs/how-to/layout.md"


def explain_changes(old: Spec, new: Spec) -> list[Line]:
    """Return a line for each changed option that stored rows depend on, in the order of their statements."""
    lines = compare(Stored.of_spec(old), new)
    if old.pattern != new.pattern:
        return lines
    change = _Changes(old, new)
    parts = (change.flag, change.sequence, change.lengths, change.rows, change.values, change.members, change.table)
    lines += [line for part in parts for line in part()]
    return [*lines, *_explain_feeds(old, new, lines)]


def _explain_feeds(old: Spec, new: Spec, known: Sequence[Line]) -> Iterator[Line]:
    """Yield lines about the sources that were added or removed, and those about another than the default.

    ``known`` are the lines about the default one.
    """
    was, now = ({feed.feed: feed for feed in spec.feeds if feed.feed} for spec in (old, new))
    for name in dict.fromkeys([*was, *now]):
        before, after = was.get(name), now.get(name)
        if before is None or after is None:
            if {old.feed, new.feed} != {"", name}:  # else it was the only source, or is now
                shown, wanted = (_rows_from(spec.source) if spec is not None else None for spec in (before, after))
                yield Line(f"sources.{name}", shown, wanted, "stored rows stay")
            continue
        change = _Changes(before, after)
        for line in (*change.rows(), *change.values()):
            if line not in known:
                yield replace(line, option=f"feed {name}: {line.option}")


class _Changes:
    """The lines for one table, whose specs have the same pattern."""

    def __init__(self, old: Spec, new: Spec):
        self.old, self.new = old, new
        # If only the source has what stored rows should be. A snapshot has nothing of the past.
        self.from_source = "to bring them along, run the whole source into another target"
        if new.reads_versions:
            self.from_source = "to bring them along, run the whole source again"
        elif old.reads_snapshot or new.reads_snapshot:
            self.from_source = "only this table has their history"
        # If a column has become a key, or is not one any more, the line about keys covers its options.
        names = dict.fromkeys([*old.columns, *new.columns])
        self.names = [name for name in names if (name in old.keys) == (name in new.keys)]
        self.both = [name for name in self.names if name in old.columns and name in new.columns]

    def flag(self) -> Iterator[Line]:
        """Yield a line if the flag has other values of the same type."""
        was, now = self.old.history.is_current, self.new.history.is_current
        if not self.new.keeps_history or was is None or now is None or as_stored(was.type) != as_stored(now.type):
            return
        before, after = ((times.flag_of(True), times.flag_of(False)) for times in map(Times, (self.old, self.new)))
        if before != after:
            why = "stored versions of keys that no batch touches keep the old values (the check flag_matches_end fails)"
            # If no end says which version is open, the old flag does.
            times = Times(with_history(self.old, is_current=was.model_copy(update={"name": now.name})))
            by_flag = f"CASE WHEN {times.is_open('')} THEN {after[0]} ELSE {after[1]} END"
            value = by_flag if self.new.history.open_end == "last_run" else flag_value(self.new)
            yield Line("history.is_current", before, after, why, steps=(Step("update", sql.quote(now.name), value),))

    def sequence(self) -> Iterator[Line]:
        """Yield a line if the column that keeps ``sequence_by`` gets other values of the same type."""
        if self.old.stored_sequence is None or self.new.stored_sequence is None:
            return
        was, now = self.old.source.sequence_by, self.new.source.sequence_by
        if was != now and SourceRow(self.old).sequence_type == SourceRow(self.new).sequence_type:
            name = self.new.stored_sequence.name
            why = f"{name} of stored rows is of the old one, and is compared with what rows to come have"
            yield Line("source.sequence_by", was, now, why)

    def lengths(self) -> Iterator[Line]:
        """Yield lines about text of another length, which Spark's schema of a table does not have."""
        for name in self.both:
            was, now = self.old.columns[name].type, self.new.columns[name].type
            if was != now and as_stored(was) == as_stored(now):
                yield Line(f"columns.{name}.type", was, now, NEW_TABLES)

    def rows(self) -> Iterator[Line]:
        """Yield lines about which rows are read, and their meaning."""
        old, new = self.old, self.new
        # With another feed, a row that is missing means something else.
        if old.source.feed != new.source.feed:
            why = {
                "snapshot": "the first snapshot ends every key that it lacks",
                "versions": "each key that the source names gets the source's history instead",
            }.get(new.source.feed, f"a missing {'period' if old.reads_versions else 'key'} is not a delete any more")
            yield Line("source.feed", old.source.feed, new.source.feed, f"stored rows stay; {why}")
        gone = (
            "; a stored key that is not in the next snapshot any more is handled by on_delete"
            if new.reads_snapshot
            else ""
        )
        # A run does not read old rows again, so another source or condition changes only what comes.
        stay = f"stored rows stay, and rows of before are not read again{gone}"
        if _place(old.source) != _place(new.source) or not _same(old.source.query, new.source.query):
            yield Line("source", _rows_from(old.source), _rows_from(new.source), stay)
        if old.source.join and new.source.join:
            yield from self._joined()
        if not _same(old.source.where, new.source.where):
            yield Line("source.where", old.source.where, new.source.where, stay)
        deletes = any(spec.source.feed != "changes" or spec.source.delete_when for spec in (old, new))
        if deletes and old.deletes != new.deletes and "mark" not in (old.deletes, new.deletes):
            yield Line("on_delete", old.deletes, new.deletes, stay)  # mark has a line about its column
        if old.deleted and not new.deleted:
            why = f"rows that {old.deleted} flags stay, and count as those of keys that are there; delete them first"
            yield Line("on_delete", old.deletes, new.deletes, why)
        yield from self._declared(old.source, new.source, "source")
        ends = old.source.effective_until, new.source.effective_until
        if old.reads_versions and new.reads_versions and not _same(*ends):
            why = "stored ends are of the old one, until the source names their key again"
            yield Line("source.effective_until", *ends, why)
        if old.unchanged != new.unchanged and new.keeps_history:
            why = f"equal neighbours {FOLDS} (until then the check no_repeat fails)"
            if new.unchanged == "keep":
                why = f"changes of before that changed nothing were not stored; {self.from_source}"
            yield Line("unchanged", old.unchanged, new.unchanged, why)

    def _joined(self) -> Iterator[Line]:
        """Yield lines about the tables of a join."""
        old, new = self.old.source.join, self.new.source.join
        why = "stored versions are of the old one until their key is read again"
        if self.new.source.changed_since:
            why += ", so let changed_since be NULL in the next run"
        for alias in dict.fromkeys([*old, *new]):
            if alias not in old or alias not in new:
                was, now = (join[alias].table if alias in join else None for join in (old, new))
                yield Line(f"source.join.{alias}", was, now, why)
                continue
            options = new[alias].options
            for option, value in old[alias].options.items():
                if value != options[option]:
                    yield Line(f"source.join.{alias}.{option}", value, options[option], why)

    def _declared(self, old: Model, new: Model, *place: str) -> Iterator[Line]:
        """Yield lines about the options of a part of the spec that have the text themselves."""
        again = "" if self.new.reads_versions else ", so that a row of before that comes again is another change"
        before = {given.place: given.value for given in walk(old, place)}
        for given in walk(new, place):
            option, was, now = given.option, before.get(given.place), given.value
            if option.stored and not (_same(was, now) if option.over else was == now):
                why = option.stored.format(again=again, whole=self.from_source)
                yield Line(".".join(map(str, given.place)), was, now, why)

    def values(self) -> Iterator[Line]:
        """Yield lines about how the values of a column are computed."""
        old, new = self.old, self.new
        for name in self.both:
            before, after = old.column_source(name), new.column_source(name)
            # A change of the type has a line of its own.
            if not _same(before, after) and old.columns[name].type == new.columns[name].type:
                why = f"stored values are made by the old one; {self.from_source}"
                yield Line(f"columns.{name}.from", before, after, why)
            if name in new.keys:
                continue
            was, now = old.columns[name].nulls, new.columns[name].nulls
            if was != now and new.keeps_history:
                if now == "value":
                    why = "stored values that took the place of a NULL stay"
                else:
                    why = 'a NULL that is stored means "not given" from now on, where a batch touches its key'
                yield Line(f"columns.{name}.nulls", was, now, why)
            yield from self._compare(name)
            yield from self._declared(old.columns[name], new.columns[name], "columns", name)

    def _compare(self, name: str) -> Iterator[Line]:
        """Yield a line if other values of a column count as equal."""
        before, after = self.old.columns[name], self.new.columns[name]
        was, now = before.compare, after.compare
        if _same(was, now) or not (before.track and after.track):
            return
        differ = "stored versions that differ only in what it ignores"
        if now is None:
            why = "stored versions stay; what the old one ignored is a change from now on"
        elif self.new.unchanged == "keep":  # every change stays a version; the views print equal ones as one
            why = "stored versions stay; those that differ only in what it ignores are read as one"
        elif self.new.reads_snapshot:  # a run compares only open versions with it
            why = f"{differ} stay (the check no_repeat fails); {self.from_source}"
        else:
            why = f"{differ} stay until a batch of changes touches their key (until then the check no_repeat fails)"
        yield Line(f"columns.{name}.compare", was, now, why)

    def members(self) -> Iterator[Line]:
        """Yield lines about members that are stored already."""
        was, now = self.old.members.unknown, self.new.members.unknown
        if was != now:
            if was is None:
                why = "the next run adds it, unless a stored version has its key"
            elif now is not None and all(was[key] == now.get(key) for key in self.old.keys):
                why = "the stored one stays as it is; delete it, and the next run adds the new one"
            else:
                why = "the one with the old key stays; delete it"
            yield Line("members.unknown", was, now, why)
        before, after = self.old.members.inferred, self.new.members.inferred
        if before is None or after is None:
            return  # the flag has a line
        yield from self._declared(before, after, "members", "inferred")

    def table(self) -> Iterator[Line]:
        """Yield lines about what only a new table gets, with the statement for an existing one."""
        old, new = _table_options(self.old), _table_options(self.new)
        # If nothing else places the rows, the layout does.
        if not {"partition_by", "cluster_by"} & {*old, *new} and self.old.layout != self.new.layout:
            old["layout"], new["layout"] = map(_layout, (self.old, self.new))
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            if was == now:
                continue
            steps: list[Step] = []
            # Delta does not cluster a table that has partitions.
            moves = option == "layout" and "split" not in (self.old.layout, self.new.layout)
            if moves or (option == "cluster_by" and not self.old.partitions):
                names = ", ".join(map(sql.quote, self.new.clustering))
                steps = [Step("cluster", "", f"({names})" if names else "NONE")]
            elif option.startswith("properties."):
                name = sql.text_literal(option.removeprefix("properties."))
                steps = [Step("set", name, sql.text_literal(now)) if now else Step("unset", name)]
            why = NEW_TABLES
            if option == "layout" and not steps:
                why = f"{NEW_TABLES}; {_REWRITE}"
            elif not steps and self.new.keeps_history and option not in {"primary_key", "create_schema"}:
                why = f"{NEW_TABLES}; {_COPY}"
            yield Line(f"table.{option}", was, now, why, steps=tuple(steps))


def _same(one: object, other: object) -> bool:
    """Whether two expressions or queries are equal, ignoring white space and the case of words."""
    if not isinstance(one, str) or not isinstance(other, str):
        return one == other
    return sqlglot.parse_one(one, dialect=DIALECT) == sqlglot.parse_one(other, dialect=DIALECT)


def _place(source: Source) -> tuple[object, ...]:
    return source.table, source.path, source.format, source.options, not source.join


def _rows_from(source: Source) -> str | None:
    """Describe where rows come from."""
    if source.path is not None:
        options = (f", {name}: {value}" for name, value in source.options.items())
        return f"{source.path} ({source.format}{''.join(options)})"
    if source.join:
        return f"join of {', '.join(joined.table for joined in source.join.values())}"
    return source.table or source.query


def _layout(spec: Spec) -> str:
    return spec.table.layout if spec.layout != "none" else "none"


def _table_options(spec: Spec) -> dict[str, str]:
    table = spec.table
    found = {"partition_by": ", ".join(table.partition_by), "cluster_by": ", ".join(table.cluster_by)}
    found |= {"primary_key": "true"} if table.primary_key else {}
    found |= {"create_schema": "false"} if not table.create_schema else {}
    found |= {f"properties.{name}": value for name, value in {**DEFAULT_PROPERTIES, **table.properties}.items()}
    return {name: value for name, value in {**found, "location": table.location}.items() if value}
