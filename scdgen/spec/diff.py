"""What a change of a spec means for the rows that its table holds already, and how to bring them along."""

from __future__ import annotations

from collections.abc import Iterator

from scdgen import sql
from scdgen.spec.stored import Stored

_ANEW = "make the table anew from the whole source"
_TAKE = "take the table over with `scdgen run --adopt`"
_ADOPT = f"then {_TAKE}"
_NEW_TABLES = "create.sql says so to new tables only; a table that is there stays as it is"


def meanings(target: str, old: Stored, new: Stored) -> list[str]:
    """A line for each option that has changed and that stored rows depend on; none where nothing has."""
    if old.pattern != new.pattern:
        what = "stored rows have no versions" if new.pattern == "scd2" else "stored rows are versions, many of a key"
        return [_line("pattern", old.pattern, new.pattern, f"{what}; every run stops; {_ANEW}")]
    change = _Changes(sql.quote_parts(sql.split_name(target)), old, new)
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
    return "none" if value is None or value == "" else str(value)


class _Changes:
    """The lines on one table; ``target`` is quoted."""

    def __init__(self, target: str, old: Stored, new: Stored):
        self.target, self.old, self.new = target, old, new
        self.start, self.end = (sql.quote(old.history.get(option, option)) for option in ("valid_from", "valid_to"))

    def keys(self) -> Iterator[str]:
        """Other keys: other rows belong together."""
        old, new = self.old.keys, self.new.keys
        if set(old) != set(new):
            yield _line("keys", old, new, "stored rows belong together by the old key; every run stops; " + _ANEW)
        elif old != new and "surrogate_key" in self.new.history:
            why = f"the order is part of {self.new.history['surrogate_key']}, which stored rows have of the old one"
            yield _line("keys", old, new, f"{why}; {_ANEW}")

    def times(self) -> Iterator[str]:
        """How starts and ends are written."""
        old, new = self.old, self.new
        if old.time != new.time:
            why = f"stored starts and ends are of the old type; every run stops; {_ANEW}"
            yield _line("history.type", old.time, new.time, why)
            return
        if old.gap != new.gap:
            shifted = f"{self.end}{self._interval('+', old.gap)}{self._interval('-', new.gap)}"
            mend = f"UPDATE {self.target} SET {self.end} = {shifted} WHERE NOT ({self._open()})"
            why = f"stored ends are written with the old one; every run stops; bring them along: {mend}; {_ADOPT}"
            yield _line("history.gap", old.gap, new.gap, why)
        if old.open_end != new.open_end:
            value = {None: "NULL", "last_run": "current_timestamp()"}.get(new.open_end) or self._literal(new.open_end)
            mend = f"UPDATE {self.target} SET {self.end} = {value} WHERE {self._open()}"
            if new.open_end is None:
                mend = f"ALTER TABLE {self.target} ALTER COLUMN {self.end} DROP NOT NULL; {mend}"
            why = f"stored open versions end with the old one; every run stops; bring them along: {mend}; {_ADOPT}"
            yield _line("history.open_end", old.open_end, new.open_end, why)

    def _literal(self, value: object) -> str:
        return str(value) if self.old.time == "bigint" else f"{self.old.time.upper()} {sql.text_literal(str(value))}"

    def _interval(self, sign: str, gap: str | None) -> str:
        if gap is None:
            return ""
        amount, _, unit = gap.partition(" ")
        return f" {sign} INTERVAL '{amount}' {unit.rstrip('s').upper()}" if unit else f" {sign} {amount}"

    def _open(self, mended: bool = True) -> str:
        """Whether a version is open, as it is stored; ``mended``: with the new values of the flag."""
        if self.old.open_end == "last_run" and self.old.flag:
            flag = self.new.flag if mended and self.new.flag else self.old.flag
            return f"{sql.quote(self.old.history['is_current'])} = {flag[0]}"
        return (
            f"{self.end} IS NULL" if self.old.open_end is None else f"{self.end} = {self._literal(self.old.open_end)}"
        )

    def flag(self) -> Iterator[str]:
        """Other values of the flag."""
        old, new = self.old, self.new
        if old.flag and new.flag and old.flag != new.flag and "is_current" in old.history:
            name = sql.quote(old.history["is_current"])
            mend = f"UPDATE {self.target} SET {name} = CASE WHEN {self._open(False)} "
            mend += f"THEN {new.flag[0]} ELSE {new.flag[1]} END"
            why = "stored versions of keys that no batch touches keep the old values (the check flag_matches_end fails)"
            yield _line("history.is_current", old.flag, new.flag, f"{why}; bring them along: {mend}")

    def tracked(self) -> Iterator[str]:
        """Columns whose changes open versions now, or no more; those that came or went are told as columns."""
        both = [name for name in self.new.columns if name in self.old.columns and name not in self.new.keys]
        for name in both:
            was, now = name in self.old.tracked, name in self.new.tracked
            if was == now or name in self.old.keys:
                continue
            if self.new.keeps:
                why = f"stored versions stay; every run stops; {_TAKE}"
            elif now:
                why = f"a stored version holds its newest value alone; every run stops; {_TAKE}, or {_ANEW}"
            else:
                why = f"stored versions that differ in it alone are one now (see no_repeat); every run stops; {_ANEW}"
            yield _line(f"columns.{name}.track", was, now, why)

    def history(self) -> Iterator[str]:
        """Columns that scdgen fills: renamed, new, gone."""
        old, new = self.old.history, self.new.history
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            place = option if option == "updated_at" else f"history.{option}"
            if was == now:
                continue
            if was and now:
                mend = f"ALTER TABLE {self.target} RENAME COLUMN {sql.quote(was)} TO {sql.quote(now)}"
                why = f"the stored column has the old name; every run stops; {mend} "
                why += "(needs delta.columnMapping.mode = name)"
            elif now:
                why = f"stored rows have no such column; every run stops; add and fill it, or {_ANEW}"
            else:
                mend = f"ALTER TABLE {self.target} ALTER COLUMN {sql.quote(was or '')} DROP NOT NULL"
                why = "stored rows keep the column, rows to come have NULL in it"
                why += "" if option == "updated_at" else f", which it does not take; every run stops; {mend}"
            yield _line(place, was, now, why)
        if "row_hash" in old and "row_hash" in new and set(self.old.tracked) != set(self.new.tracked):
            why = f"{old['row_hash']} of stored rows is of the old tracked columns (the check hash_matches tells)"
            yield f"history.row_hash: {why}; UPDATE it with the expression in checks.sql"

    def columns(self) -> Iterator[str]:
        """The spec's columns."""
        old, new = self.old.columns, self.new.columns
        for name in dict.fromkeys([*old, *new]):
            if name not in old:
                opens = name in self.new.tracked and self.new.pattern == "scd2"
                why = "stored rows have NULL in it, once schema_evolution: add_columns has added it"
                why += "; the first value that comes for a key opens a version" if opens else ""
                yield _line(f"columns.{name}", None, new[name][0], why)
            elif name not in new:
                why = "stored rows keep it, rows to come have NULL in it"
                if old[name][1]:
                    mend = f"ALTER TABLE {self.target} ALTER COLUMN {sql.quote(name)} DROP NOT NULL"
                    why += f", which it does not take; every run stops; {mend}"
                if name in self.old.tracked:
                    why += f"; it opens no versions any more; every run stops; {_TAKE}"
                yield _line(f"columns.{name}", old[name][0], None, why)
            elif old[name][0] != new[name][0]:
                why = f"stored values are of the old type; every run stops; {_ANEW}"
                yield _line(f"columns.{name}.type", old[name][0], new[name][0], why)
            elif old[name][1] != new[name][1] and (name in self.new.keys) == (name in self.old.keys):
                yield _line(f"columns.{name}.nullable", not old[name][1], not new[name][1], _NEW_TABLES)

    def rows(self) -> Iterator[str]:
        """Which rows come, and what they are."""
        old, new = self.old, self.new
        if old.snapshot != new.snapshot:
            feeds = [("changes", "snapshot")[files.snapshot] for files in (old, new)]
            why = (
                "the first snapshot ends every key that it lacks"
                if new.snapshot
                else "a missing key is no delete any more"
            )
            yield _line("source.feed", feeds[0], feeds[1], f"stored rows stay; {why}")
        gone = "; a stored key that is not in the next snapshot any more goes by on_delete" if new.snapshot else ""
        for option, was, now in (("source", old.source, new.source), ("source.where", old.where, new.where)):
            if was != now:
                drops = "NOT COALESCE("  # deletes that on_delete: ignore leaves out
                if option == "source.where" and was.count(drops) != now.count(drops):
                    option = "on_delete"
                yield _line(option, was, now, f"stored rows stay, and rows of before are not read again{gone}")
        options = (("_scd_at", "source.effective_at"), ("_scd_deleted", "source.delete_when"))
        for name, option in options:
            before, after = old.values.get(name), new.values.get(name)
            if before != after:
                what = "deletes of before are not looked at again"
                if name == "_scd_at":
                    what = "stored times are of the old one, so that a row of before that comes again is another change"
                yield _line(option, before, after, f"{what}; to bring stored rows along, {_ANEW}")
        if old.keeps != new.keeps and new.pattern == "scd2":
            words = [("skip", "keep")[files.keeps] for files in (old, new)]
            why = "equal neighbours stay until a batch touches their key (until then the check no_repeat fails)"
            if new.keeps:
                why = f"changes of before that changed nothing were not stored; for them too, {_ANEW}"
            yield _line("unchanged", words[0], words[1], why)

    def values(self) -> Iterator[str]:
        """How the values of a column come about."""
        old, new = self.old, self.new
        for name in (name for name in new.columns if name in old.columns):
            was, now = old.values.get(name), new.values.get(name)
            if was != now and old.columns[name][0] == new.columns[name][0]:
                why = f"stored values are made by the old one; to bring them along, {_ANEW}"
                yield _line(f"columns.{name}.from", was, now, why)
            was, now = old.nulls.get(name), new.nulls.get(name)
            if was != now and name not in old.keys:
                if now == "value":
                    why = "stored values that took the place of a NULL stay"
                else:
                    why = 'a NULL that is stored means "not given" from now on, where a batch touches its key'
                    why += f"; else {_ANEW}"
                yield _line(f"columns.{name}.nulls", was, now, why)
            was, now = old.merge.get(name), new.merge.get(name)
            if was != now and name not in old.keys:
                why = f"what is stored came about by the old one, and goes into the new one as one value; else {_ANEW}"
                yield _line(f"columns.{name}.merge", was, now, why)

    def table(self) -> Iterator[str]:
        """What only a new table gets, with the statement that brings one along that is there."""
        old, new = self.old.table, self.new.table
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            if was == now:
                continue
            mend = _ANEW
            if option == "cluster_by":
                names = ", ".join(map(sql.quote, (now or "").split(", ")))
                mend = f"ALTER TABLE {self.target} CLUSTER BY {f'({names})' if now else 'NONE'}"
            elif option.startswith("properties."):
                name = sql.text_literal(option.removeprefix("properties."))
                does = (
                    f"SET TBLPROPERTIES ({name} = {sql.text_literal(now)})" if now else f"UNSET TBLPROPERTIES ({name})"
                )
                mend = f"ALTER TABLE {self.target} {does}"
            yield _line(f"table.{option}", was, now, f"{_NEW_TABLES}; {mend}")
