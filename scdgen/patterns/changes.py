"""Explain what a change of a spec means for stored rows, and how to migrate them.

The old spec is read from ``spec.json`` next to the generated SQL.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot

from scdgen import sql
from scdgen.patterns.history import Times
from scdgen.spec.model import DEFAULT_PROPERTIES, Source, Spec
from scdgen.sql.tokens import DIALECT

_RECREATE = "recreate the table from the whole source"
_TAKE = "take the table over with `scdgen run --adopt`"
_ADOPT = f"then {_TAKE}"
_REWRITE = "to move its rows over, see docs/how-to/layout.md"
_NEW_TABLES = "create.sql says so to new tables only; a table that is there stays as it is"


def explain_changes(old: Spec, new: Spec) -> list[str]:
    """Return a line for each changed option that stored rows depend on."""
    if old.pattern != new.pattern:
        what = "stored rows have no versions" if new.keeps_history else "stored rows are versions, many of a key"
        return [_line("pattern", old.pattern, new.pattern, f"{what}; every run stops; {_RECREATE}")]
    change = _Changes(old, new)
    parts = (change.keys, change.flag, change.times, change.tracked, change.history, change.columns, change.rows,
             change.values, change.table)  # fmt: skip
    return [line for part in parts for line in part()]


def _line(option: str, was: object, now: object, means: str) -> str:
    return f"{option}: {_shown(was)} -> {_shown(now)}: {means}"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == "" else " ".join(str(value).split())


class _Changes:
    """The lines for one table, whose specs have the same pattern."""

    def __init__(self, old: Spec, new: Spec):
        self.target, self.old, self.new = sql.quote_parts(new.target_parts), old, new
        self.stored, self.wanted = Times(old), Times(new)
        # If a column has become a key, or is no longer one, the line about keys covers its options.
        names = dict.fromkeys([*old.columns, *new.columns])
        self.names = [name for name in names if (name in old.keys) == (name in new.keys)]
        self.both = [name for name in self.names if name in old.columns and name in new.columns]

    def keys(self) -> Iterator[str]:
        """Yield lines about keys: with other keys, other rows belong together."""
        old, new = self.old.keys, self.new.keys
        if set(old) != set(new):
            yield _line("keys", old, new, "stored rows belong together by the old key; every run stops; " + _RECREATE)
        elif old != new and self.new.keeps_history and self.new.history.surrogate_key:
            why = f"the order is part of {self.new.history.surrogate_key}, which stored rows have of the old one"
            yield _line("keys", old, new, f"{why}; {_RECREATE}")

    def times(self) -> Iterator[str]:
        """Yield lines about how starts and ends are written."""
        old, new = self.old.history, self.new.history
        if not self.new.keeps_history:
            return
        end, is_open = self.stored.end, self._with_new_flag().is_open("")
        if old.type != new.type:
            why = f"stored starts and ends are of the old type; every run stops; {_RECREATE}"
            yield _line("history.type", old.type, new.type, why)
            return
        if old.gap != new.gap:
            shifted = self.wanted.before(self.stored.after(end))
            fix = f"UPDATE {self.target} SET {end} = {shifted} WHERE NOT ({is_open})"
            why = f"stored ends are written with the old one; every run stops; bring them along: {fix}; {_ADOPT}"
            yield _line("history.gap", old.gap, new.gap, why)
        if old.open_end != new.open_end:
            value = "current_timestamp()" if self.wanted.by_run else self.wanted.open_end or "NULL"
            fix = f"UPDATE {self.target} SET {end} = {value} WHERE {is_open}"
            if new.open_end is None:
                fix = f"ALTER TABLE {self.target} ALTER COLUMN {end} DROP NOT NULL; {fix}"
            why = f"stored open versions end with the old one; every run stops; bring them along: {fix}; {_ADOPT}"
            yield _line("history.open_end", old.open_end, new.open_end, why)

    def _with_new_flag(self) -> Times:
        """Return the stored times with the new values of the flag, which is migrated first."""
        was, now = self.old.history.is_current, self.new.history.is_current
        if was is None or now is None:
            return self.stored
        history = self.old.history.model_copy(update={"is_current": now.model_copy(update={"name": was.name})})
        return Times(self.old.model_copy(update={"history": history}))

    def flag(self) -> Iterator[str]:
        """Yield a line if the flag has other values."""
        was, now = self.old.history.is_current, self.new.history.is_current
        if not self.new.keeps_history or was is None or now is None:
            return
        before, after = ((times.flag_of(True), times.flag_of(False)) for times in (self.stored, self.wanted))
        if before != after:
            fix = f"UPDATE {self.target} SET {sql.quote(was.name)} = CASE WHEN {self.stored.is_open('')} "
            fix += f"THEN {after[0]} ELSE {after[1]} END"
            why = "stored versions of keys that no batch touches keep the old values (the check flag_matches_end fails)"
            yield _line("history.is_current", before, after, f"{why}; bring them along: {fix}")

    def tracked(self) -> Iterator[str]:
        """Yield lines about columns whose ``track`` changed; :meth:`columns` covers new and removed ones."""
        if not self.new.keeps_history:
            return
        for name in self.both:
            was, now = self.old.columns[name].track, self.new.columns[name].track
            if was == now:
                continue
            if self.new.unchanged == "keep":
                why = f"stored versions stay; every run stops; {_TAKE}"
            elif now:
                why = f"a stored version holds its newest value alone; every run stops; {_TAKE}, or {_RECREATE}"
            else:
                why = (
                    f"stored versions that differ in it alone are one now (see no_repeat); every run stops; {_RECREATE}"
                )
            yield _line(f"columns.{name}.track", was, now, why)

    def history(self) -> Iterator[str]:
        """Yield lines about history columns that were renamed, added or removed."""
        old, new = _added_columns(self.old), _added_columns(self.new)
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            place = option if option == "updated_at" else f"history.{option}"
            if was == now:
                continue
            if was and now:
                fix = f"ALTER TABLE {self.target} RENAME COLUMN {sql.quote(was)} TO {sql.quote(now)}"
                why = f"the stored column has the old name; every run stops; {fix} "
                why += "(needs delta.columnMapping.mode = name)"
            elif now:
                why = f"stored rows have no such column; every run stops; add and fill it, or {_RECREATE}"
            else:
                fix = f"ALTER TABLE {self.target} ALTER COLUMN {sql.quote(was or '')} DROP NOT NULL"
                why = "stored rows keep the column, rows to come have NULL in it"
                why += "" if option == "updated_at" else f", which it does not take; every run stops; {fix}"
            yield _line(place, was, now, why)
        if "row_hash" in old and "row_hash" in new and set(self.old.tracked) != set(self.new.tracked):
            why = f"{old['row_hash']} of stored rows is of the old tracked columns (see the check hash_matches)"
            yield f"history.row_hash: {why}; UPDATE it with the expression in checks.sql"

    def columns(self) -> Iterator[str]:
        """Yield lines about the spec's columns."""
        old, new = self.old.columns, self.new.columns
        for name in self.names:
            if name not in old:
                opens = new[name].track and self.new.keeps_history
                why = "stored rows have NULL in it, once schema_evolution: add_columns has added it"
                why += "; the first value that comes for a key opens a version" if opens else ""
                yield _line(f"columns.{name}", None, new[name].type, why)
            elif name not in new:
                why = "stored rows keep it, rows to come have NULL in it"
                if not old[name].nullable:
                    fix = f"ALTER TABLE {self.target} ALTER COLUMN {sql.quote(name)} DROP NOT NULL"
                    why += f", which it does not take; every run stops; {fix}"
                if old[name].track and self.old.keeps_history:
                    why += f"; it opens no versions any more; every run stops; {_TAKE}"
                yield _line(f"columns.{name}", old[name].type, None, why)
            elif old[name].type != new[name].type:
                why = f"stored values are of the old type; every run stops; {_RECREATE}"
                yield _line(f"columns.{name}.type", old[name].type, new[name].type, why)
            elif old[name].nullable != new[name].nullable and name not in self.new.keys:
                yield _line(f"columns.{name}.nullable", old[name].nullable, new[name].nullable, _NEW_TABLES)

    def rows(self) -> Iterator[str]:
        """Yield lines about which rows are read, and their meaning."""
        old, new = self.old, self.new
        if old.source.feed != new.source.feed:
            why = {
                "snapshot": "the first snapshot ends every key that it lacks",
                "versions": "each key that the source names gets the source's history instead",
            }.get(new.source.feed, f"a missing {'period' if old.reads_versions else 'key'} is not a delete any more")
            yield _line("source.feed", old.source.feed, new.source.feed, f"stored rows stay; {why}")
        gone = (
            "; a stored key that is not in the next snapshot any more goes by on_delete" if new.reads_snapshot else ""
        )
        stay = f"stored rows stay, and rows of before are not read again{gone}"
        if _place(old.source) != _place(new.source) or not _same(old.source.query, new.source.query):
            yield _line("source", _rows_from(old.source), _rows_from(new.source), stay)
        if not _same(old.source.where, new.source.where):
            yield _line("source.where", old.source.where, new.source.where, stay)
        deletes = any(spec.source.feed != "changes" or spec.source.delete_when for spec in (old, new))
        if deletes and old.deletes != new.deletes and "mark" not in (old.deletes, new.deletes):
            yield _line("on_delete", old.deletes, new.deletes, stay)  # mark has a line about its column
        options = (
            ("source.effective_at", old.source.effective_at, new.source.effective_at,
             "stored times are of the old one, so that a row of before that comes again is another change"),
            ("source.delete_when", old.source.delete_when, new.source.delete_when,
             "deletes of before are not looked at again"),
        )  # fmt: skip
        for option, before, after, what in options:
            if not _same(before, after):
                yield _line(option, before, after, f"{what}; to bring stored rows along, {_RECREATE}")
        ends = old.source.effective_until, new.source.effective_until
        if old.reads_versions and new.reads_versions and not _same(*ends):
            why = "stored ends are of the old one, until the source names their key again"
            yield _line("source.effective_until", *ends, why)
        if old.unchanged != new.unchanged and new.keeps_history:
            why = "equal neighbours stay until a batch touches their key (until then the check no_repeat fails)"
            if new.unchanged == "keep":
                why = f"changes of before that changed nothing were not stored; for them too, {_RECREATE}"
            yield _line("unchanged", old.unchanged, new.unchanged, why)

    def values(self) -> Iterator[str]:
        """Yield lines about how the values of a column are computed."""
        old, new = self.old, self.new
        for name in self.both:
            before, after = old.column_source(name), new.column_source(name)
            if not _same(before, after) and old.columns[name].type == new.columns[name].type:
                why = f"stored values are made by the old one; to bring them along, {_RECREATE}"
                yield _line(f"columns.{name}.from", before, after, why)
            if name in new.keys:
                continue
            was, now = old.columns[name].nulls, new.columns[name].nulls
            if was != now and new.keeps_history:
                if now == "value":
                    why = "stored values that took the place of a NULL stay"
                else:
                    why = 'a NULL that is stored means "not given" from now on, where a batch touches its key'
                    why += f"; else {_RECREATE}"
                yield _line(f"columns.{name}.nulls", was, now, why)
            merged, merges = old.columns[name].merge, new.columns[name].merge
            if merged != merges and not new.keeps_history:
                why = "what is stored came about by the old one, and goes into the new one as one value; "
                why += f"else {_RECREATE}"
                yield _line(f"columns.{name}.merge", merged, merges, why)

    def table(self) -> Iterator[str]:
        """Yield lines about what only a new table gets, with the statement for an existing one."""
        old, new = _table_options(self.old), _table_options(self.new)
        if not {"partition_by", "cluster_by"} & {*old, *new} and self.old.separates_open != self.new.separates_open:
            old["layout"], new["layout"] = ("auto" if spec.separates_open else "none" for spec in (self.old, self.new))
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            if was == now:
                continue
            fix = _RECREATE
            if option == "layout":
                fix = _REWRITE
            elif option == "cluster_by" and not self.old.partitions:
                names = ", ".join(map(sql.quote, (now or "").split(", ")))
                fix = f"ALTER TABLE {self.target} CLUSTER BY {f'({names})' if now else 'NONE'}"
            elif option.startswith("properties."):
                name = sql.text_literal(option.removeprefix("properties."))
                does = (
                    f"SET TBLPROPERTIES ({name} = {sql.text_literal(now)})" if now else f"UNSET TBLPROPERTIES ({name})"
                )
                fix = f"ALTER TABLE {self.target} {does}"
            yield _line(f"table.{option}", was, now, f"{_NEW_TABLES}; {fix}")


def _same(one: str | None, other: str | None) -> bool:
    """Whether two expressions or queries are equal, ignoring white space and the case of words."""
    if one is None or other is None:
        return one == other
    return sqlglot.parse_one(one, dialect=DIALECT) == sqlglot.parse_one(other, dialect=DIALECT)


def _place(source: Source) -> tuple[object, ...]:
    return source.table, source.path, source.format, source.options


def _rows_from(source: Source) -> str | None:
    """Describe where rows come from."""
    if source.path is not None:
        options = (f", {name}: {value}" for name, value in source.options.items())
        return f"{source.path} ({source.format}{''.join(options)})"
    return source.table or source.query


def _added_columns(spec: Spec) -> dict[str, str]:
    """Return option -> the column that it adds to those of the spec."""
    if spec.keeps_history:
        return dict(spec.history.names())
    return {"updated_at": spec.updated_at} if spec.updated_at and spec.updated_at not in spec.columns else {}


def _table_options(spec: Spec) -> dict[str, str]:
    table = spec.table
    found = {"partition_by": ", ".join(table.partition_by), "cluster_by": ", ".join(table.cluster_by)}
    found |= {f"properties.{name}": value for name, value in {**DEFAULT_PROPERTIES, **table.properties}.items()}
    return {name: value for name, value in {**found, "location": table.location}.items() if value}
