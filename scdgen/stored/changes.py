"""Explain what a change of a spec means for stored rows, and how to migrate them.

The old spec is read from ``spec.json`` next to the generated SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import sqlglot

from scdgen import sql
from scdgen.compile.render import Compiler
from scdgen.facts.history import Times
from scdgen.facts.sequence import sequence_type
from scdgen.model.option import walk
from scdgen.model.registry import TIME_ZONE
from scdgen.model.spec import DEFAULT_PROPERTIES, Model, Source, Spec, locate_history_column
from scdgen.sql.tokens import DIALECT
from scdgen.sql.zones import same_zone
from scdgen.stored.migrate import (
    ADOPT,
    Line,
    Step,
    add_history_column,
    begin_history,
    rehash,
    rename_column,
    retype_column,
    retype_times,
    rewrite_ends,
    set_tracked,
    with_statements,
    write_lines,
)

_TAKE = f"take the table over with {ADOPT}"
_FOLDS = "become one when a batch touches their key, or when the table is run into itself with feed: versions"
_COPY = "to change it, run the table into another target with feed: versions"
_REWRITE = "to move its rows over, see docs/how-to/layout.md"
_NEW_TABLES = "create.sql says so to new tables only; a table that is there stays as it is"


def explain_changes(old: Spec, new: Spec, compiler: Compiler) -> list[str]:
    """Return a line for each changed option that stored rows depend on."""
    return write_lines(_explain_changes(old, new), compiler)


def _explain_changes(old: Spec, new: Spec) -> list[Line]:
    if old.pattern != new.pattern:
        if new.keeps_history and not old.keeps_history:
            line = _line("pattern", old.pattern, new.pattern, "stored rows have no versions; every run stops")
            return [with_statements(line, new, begin_history(new), adopt=True)]
        what = "stored rows are versions, many of a key" if old.keeps_history else "stored rows mean something else"
        return [_line("pattern", old.pattern, new.pattern, f"{what}; every run stops; name another target")]
    change = _Changes(old, new)
    parts: tuple[Callable[[], Iterator[Line]], ...] = (
        change.keys, change.flag, change.times, change.tracked, change.history, change.columns, change.rows,
        change.values, change.members, change.table,
    )  # fmt: skip
    lines = [line for part in parts for line in part()]
    return [*lines, *_explain_feeds(old, new, lines)]


def _explain_feeds(old: Spec, new: Spec, known: Sequence[Line]) -> Iterator[str]:
    """Yield lines about the sources that were added or removed, and those about another than the default.

    ``known`` are the lines about the default one.
    """
    was, now = ({feed.feed: feed for feed in spec.feeds if feed.feed} for spec in (old, new))
    for name in dict.fromkeys([*was, *now]):
        before, after = was.get(name), now.get(name)
        if before is None or after is None:
            if {old.feed, new.feed} != {"", name}:  # else it was the only source, or is now
                shown, wanted = (_rows_from(spec.source) if spec is not None else None for spec in (before, after))
                yield _line(f"sources.{name}", shown, wanted, "stored rows stay")
            continue
        change = _Changes(before, after)
        for line in (*change.rows(), *change.values()):
            if line not in known:
                yield f"feed {name}: {line}"


def _line(option: str, was: object, now: object, means: str) -> str:
    return f"{option}: {_shown(was)} -> {_shown(now)}: {means}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}: {_shown(entry)}" for name, entry in value.items())
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == "" else " ".join(str(value).split())


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
        self.stored, self.wanted = Times(old), Times(new)
        # If a column has become a key, or is not one any more, the line about keys covers its options.
        names = dict.fromkeys([*old.columns, *new.columns])
        self.names = [name for name in names if (name in old.keys) == (name in new.keys)]
        self.both = [name for name in self.names if name in old.columns and name in new.columns]

    def keys(self) -> Iterator[Line]:
        """Yield lines about keys: with other keys, other rows belong together."""
        old, new = self.old.keys, self.new.keys
        if set(old) != set(new):
            what = "stored rows belong together by the old key; every run stops"
            gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
            known, kinds = self.old.columns, {name: self.new.columns[name].type for name in come}
            if (
                len(gone) == len(come) == 1
                and gone[0] not in self.new.columns
                and known[gone[0]].type in kinds.values()
            ):
                steps = [rename_column(gone[0], come[0]), *rehash(self.new, "surrogate_key")]
                yield with_statements(_line("keys", old, new, f"{what}; renamed?"), self.new, steps, adopt=True)
                return
            steps = [Step("add", sql.quote(name), type=kinds[name]) for name in come if name not in known]
            fill = "; fill the new columns for stored rows" if steps else ""
            hint = f"name another target, or use {ADOPT} if stored versions are valid by the new keys too{fill}"
            steps += rehash(self.new, "surrogate_key")
            yield with_statements(_line("keys", old, new, f"{what}; {hint}"), self.new, steps)
        elif old != new and self.new.keeps_history and self.new.history.surrogate_key:
            why = f"the order is part of {self.new.history.surrogate_key}, which stored rows have of the old one"
            yield with_statements(_line("keys", old, new, why), self.new, rehash(self.new, "surrogate_key"))

    def times(self) -> Iterator[Line]:
        """Yield lines about how starts and ends are written."""
        old, new = self.old.history, self.new.history
        if not self.new.keeps_history:
            return
        if old.type != new.type:
            line = _line(
                "history.type", old.type, new.type, "stored starts and ends are of the old type; every run stops"
            )
            yield with_statements(line, self.new, retype_times(self.new, old.type), adopt=True)
            return
        before = self._with_new_flag()
        if old.gap != new.gap:
            why = "stored ends are written with the old one; every run stops"
            steps = rewrite_ends(before, _with_history(self.new, open_end=old.open_end))
            yield with_statements(_line("history.gap", old.gap, new.gap, why), self.new, steps, adopt=True)
        if old.open_end != new.open_end:
            why = "stored open versions end with the old one; every run stops"
            steps = rewrite_ends(_with_history(before, gap=new.gap), self.new)
            yield with_statements(
                _line("history.open_end", old.open_end, new.open_end, why), self.new, steps, adopt=True
            )

    def _with_new_flag(self) -> Spec:
        """Return the old spec with the new values of the flag, which is migrated first."""
        was, now = self.old.history.is_current, self.new.history.is_current
        if was is None or now is None:
            return self.old
        return _with_history(self.old, is_current=now.model_copy(update={"name": was.name}))

    def flag(self) -> Iterator[Line]:
        """Yield a line if the flag has other values."""
        was, now = self.old.history.is_current, self.new.history.is_current
        if not self.new.keeps_history or was is None or now is None:
            return
        before, after = ((times.flag_of(True), times.flag_of(False)) for times in (self.stored, self.wanted))
        if before != after:
            value = f"CASE WHEN {self.stored.is_open('')} THEN {after[0]} ELSE {after[1]} END"
            why = "stored versions of keys that no batch touches keep the old values (the check flag_matches_end fails)"
            line = _line("history.is_current", before, after, why)
            yield with_statements(line, self.new, [Step("update", sql.quote(was.name), value)])

    def tracked(self) -> Iterator[Line]:
        """Yield lines about columns whose ``track`` changed; :meth:`columns` covers new and removed ones."""
        if not self.new.keeps_history:
            return
        for name in self.both:
            was, now = self.old.columns[name].track, self.new.columns[name].track
            if was == now:
                continue
            if self.new.unchanged == "keep":
                why = "stored versions stay; every run stops"
            elif now:
                why = "a stored version has only its newest value; every run stops"
            else:
                why = f"stored versions that differ only in it {_FOLDS}; every run stops"
            yield with_statements(_line(f"columns.{name}.track", was, now, why), self.new, [set_tracked(self.new)])

    def history(self) -> Iterator[Line]:
        """Yield lines about history columns that were renamed, added or removed."""
        old, new = _added_columns(self.old), _added_columns(self.new)
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            nullable = option in ("updated_at", "sequence")
            place = ".".join(locate_history_column(option)) if self.new.keeps_history else option
            if was == now:
                continue
            if was and now:
                line = _line(place, was, now, "the stored column has the old name; every run stops")
                yield with_statements(line, self.new, [rename_column(was, now)])
            elif now:
                line = _line(place, was, now, "stored rows have no such column; every run stops")
                steps = [Step("add", sql.quote(now), type="TIMESTAMP")]
                steps = steps if option == "updated_at" else list(add_history_column(self.new, option, now))
                yield with_statements(line if steps else f"{line}; add and fill it", self.new, steps)
            else:
                why = "stored rows keep the column, rows to come have NULL in it"
                why += "" if nullable else ", which it does not take; every run stops"
                steps = [] if nullable else [Step("nullable", sql.quote(was or ""))]
                yield with_statements(_line(place, was, now, why), self.new, steps)
        yield from self._sequence()
        renamed = self._find_renamed()
        tracked = {renamed.get(name, name) for name in self.old.tracked}
        if "row_hash" in old and "row_hash" in new and tracked != set(self.new.tracked):
            why = f"{old['row_hash']} of stored rows is of the old tracked columns (see the check hash_matches)"
            yield with_statements(f"history.row_hash: {why}", self.new, rehash(self.new))

    def _sequence(self) -> Iterator[Line]:
        """Yield lines about the column that keeps ``sequence_by``, if both specs have it."""
        old, new = self.old.stored_sequence, self.new.stored_sequence
        if old is None or new is None:
            return
        place = "history.sequence" if self.new.keeps_history else "sequence"
        was, now = sequence_type(self.old), sequence_type(self.new)
        if was == now:
            if self.old.source.sequence_by != self.new.source.sequence_by:
                given = self.old.source.sequence_by, self.new.source.sequence_by
                why = f"{new.name} of stored rows is of the old one, and is compared with what rows to come have"
                yield _line("source.sequence_by", *given, why)
            return
        line = _line(f"{place}.type", was, now, "stored values are of the old type; every run stops")
        if "<" in was + now:
            yield f"{line}; name another column in {place}"
            return
        yield with_statements(line, self.new, [retype_column(new.name, was, now)])

    def columns(self) -> Iterator[Line]:
        """Yield lines about the spec's columns."""
        old, new = self.old.columns, self.new.columns
        renamed = self._find_renamed()
        for name in self.names:
            if name in renamed.values():
                continue
            if name in renamed:
                line = _line(
                    f"columns.{name}", old[name].type, renamed[name], "stored rows keep the old name; renamed?"
                )
                steps = [rename_column(name, renamed[name]), *rehash(self.new)]
                yield with_statements(line, self.new, steps, adopt=True)
            elif name not in old:
                opens = new[name].track and self.new.keeps_history
                why = "stored rows have NULL in it, once schema_evolution: add_columns has added it"
                why += "; the first value that comes for a key opens a version" if opens else ""
                yield _line(f"columns.{name}", None, new[name].type, why)
            elif name not in new:
                why, steps = "stored rows keep it, rows to come have NULL in it", []
                if not old[name].nullable:
                    why += ", which it does not take; every run stops"
                    steps.append(Step("nullable", sql.quote(name)))
                if old[name].track and self.old.keeps_history:
                    why += "; it no longer opens versions; every run stops"
                    steps.append(set_tracked(self.new))
                yield with_statements(_line(f"columns.{name}", old[name].type, None, why), self.new, steps)
            elif old[name].type != new[name].type:
                why = "stored values are of the old type; every run stops"
                line = _line(f"columns.{name}.type", old[name].type, new[name].type, why)
                hashed = rehash(self.new) if name in self.new.tracked else ()
                steps = [retype_column(name, old[name].type, new[name].type), *hashed]
                yield with_statements(line, self.new, steps)
            elif old[name].nullable != new[name].nullable and name not in self.new.keys:
                yield _line(f"columns.{name}.nullable", old[name].nullable, new[name].nullable, _NEW_TABLES)

    def _find_renamed(self) -> dict[str, str]:
        """Map each removed column to the added one, if it is the only one of its type."""
        gone = [name for name in self.names if name not in self.new.columns]
        come = [name for name in self.names if name not in self.old.columns]
        found = {}
        for name in gone:
            kind = self.old.columns[name].type
            fits = [other for other in come if self.new.columns[other].type == kind]
            alike = [other for other in gone if self.old.columns[other].type == kind]
            if len(fits) == len(alike) == 1:
                found[name] = fits[0]
        return found

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
            "; a stored key that is not in the next snapshot any more is handled by on_delete"
            if new.reads_snapshot
            else ""
        )
        stay = f"stored rows stay, and rows of before are not read again{gone}"
        if _place(old.source) != _place(new.source) or not _same(old.source.query, new.source.query):
            yield _line("source", _rows_from(old.source), _rows_from(new.source), stay)
        if old.source.join and new.source.join:
            yield from self._joined()
        if not _same(old.source.where, new.source.where):
            yield _line("source.where", old.source.where, new.source.where, stay)
        deletes = any(spec.source.feed != "changes" or spec.source.delete_when for spec in (old, new))
        if deletes and old.deletes != new.deletes and "mark" not in (old.deletes, new.deletes):
            yield _line("on_delete", old.deletes, new.deletes, stay)  # mark has a line about its column
        yield from self._declared(old.source, new.source, "source")
        ends = old.source.effective_until, new.source.effective_until
        if old.reads_versions and new.reads_versions and not _same(*ends):
            why = "stored ends are of the old one, until the source names their key again"
            yield _line("source.effective_until", *ends, why)
        if old.unchanged != new.unchanged and new.keeps_history:
            why = f"equal neighbours {_FOLDS} (until then the check no_repeat fails)"
            if new.unchanged == "keep":
                why = f"changes of before that changed nothing were not stored; {self.from_source}"
            yield _line("unchanged", old.unchanged, new.unchanged, why)

    def _joined(self) -> Iterator[str]:
        """Yield lines about the tables of a join."""
        old, new = self.old.source.join, self.new.source.join
        why = "stored versions are of the old one until their key is read again"
        if self.new.source.changed_since:
            why += ", so let changed_since be NULL in the next run"
        for alias in dict.fromkeys([*old, *new]):
            if alias not in old or alias not in new:
                was, now = (join[alias].table if alias in join else None for join in (old, new))
                yield _line(f"source.join.{alias}", was, now, why)
                continue
            options = new[alias].options
            for option, value in old[alias].options.items():
                if value != options[option]:
                    yield _line(f"source.join.{alias}.{option}", value, options[option], why)

    def _declared(self, old: Model, new: Model, *place: str) -> Iterator[str]:
        """Yield lines about the options of a part of the spec that have the text themselves."""
        again = "" if self.new.reads_versions else ", so that a row of before that comes again is another change"
        before = {given.place: given.value for given in walk(old, place)}
        for given in walk(new, place):
            option, was, now = given.option, before.get(given.place), given.value
            if option.stored and not (_same(was, now) if option.over else was == now):
                why = option.stored.format(again=again, whole=self.from_source)
                yield _line(".".join(map(str, given.place)), was, now, why)

    def values(self) -> Iterator[str]:
        """Yield lines about how the values of a column are computed."""
        old, new = self.old, self.new
        for name in self.both:
            before, after = old.column_source(name), new.column_source(name)
            if not _same(before, after) and old.columns[name].type == new.columns[name].type:
                why = f"stored values are made by the old one; {self.from_source}"
                yield _line(f"columns.{name}.from", before, after, why)
            if name in new.keys:
                continue
            was, now = old.columns[name].nulls, new.columns[name].nulls
            if was != now and new.keeps_history:
                if now == "value":
                    why = "stored values that took the place of a NULL stay"
                else:
                    why = 'a NULL that is stored means "not given" from now on, where a batch touches its key'
                yield _line(f"columns.{name}.nulls", was, now, why)
            judged, judges = old.columns[name].compare, new.columns[name].compare
            if not _same(judged, judges) and old.columns[name].track and new.columns[name].track:
                why = "stored versions that only differ in what it ignores stay until a batch of changes touches their "
                why += "key (until then the check no_repeat fails)"
                if judges is None:
                    why = "stored versions stay; what the old one ignored is a change from now on"
                yield _line(f"columns.{name}.compare", judged, judges, why)
            yield from self._declared(old.columns[name], new.columns[name], "columns", name)

    def members(self) -> Iterator[str]:
        """Yield lines about members that are stored already."""
        was, now = self.old.members.unknown, self.new.members.unknown
        if was != now:
            if was is None:
                why = "the next run adds it, unless a stored version has its key"
            elif now is not None and all(was[key] == now.get(key) for key in self.old.keys):
                why = "the stored one stays as it is; delete it, and the next run adds the new one"
            else:
                why = "the one with the old key stays; delete it"
            yield _line("members.unknown", was, now, why)
        before, after = self.old.members.inferred, self.new.members.inferred
        if before is None or after is None:
            return  # the flag has a line
        yield from self._declared(before, after, "members", "inferred")

    def table(self) -> Iterator[Line]:
        """Yield lines about what only a new table gets, with the statement for an existing one."""
        if not same_zone(self.old.time_zone, self.new.time_zone):
            why = "stored times were read in the old one; every run stops; name another target, or if no value depends "
            line = _line("table.time_zone", self.old.time_zone, self.new.time_zone, f"{why}on it, set the property")
            step = Step("set", sql.text_literal(TIME_ZONE), sql.text_literal(self.new.time_zone))
            yield with_statements(line, self.new, [step])
        old, new = _table_options(self.old), _table_options(self.new)
        if not {"partition_by", "cluster_by"} & {*old, *new} and self.old.separates_open != self.new.separates_open:
            old["layout"], new["layout"] = ("auto" if spec.separates_open else "none" for spec in (self.old, self.new))
        for option in dict.fromkeys([*old, *new]):
            was, now = old.get(option), new.get(option)
            if was == now:
                continue
            steps: list[Step] = []
            if option == "cluster_by" and not self.old.partitions:
                names = ", ".join(map(sql.quote, (now or "").split(", ")))
                steps = [Step("cluster", "", f"({names})" if now else "NONE")]
            elif option.startswith("properties."):
                name = sql.text_literal(option.removeprefix("properties."))
                steps = [Step("set", name, sql.text_literal(now)) if now else Step("unset", name)]
            why = _NEW_TABLES
            if option == "layout":
                why = f"{_NEW_TABLES}; {_REWRITE}"
            elif not steps and self.new.keeps_history:
                why = f"{_NEW_TABLES}; {_COPY}"
            yield with_statements(_line(f"table.{option}", was, now, why), self.new, steps)


def _with_history(spec: Spec, **options: object) -> Spec:
    return spec.model_copy(update={"history": spec.history.model_copy(update=options)})


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


def _added_columns(spec: Spec) -> dict[str, str]:
    """Return option -> the column that it adds to those of the spec."""
    if spec.keeps_history:
        return dict(spec.history_columns)
    time = {"updated_at": spec.updated_at} if spec.updated_at and spec.updated_at not in spec.columns else {}
    return {**time, "sequence": spec.sequence.name} if spec.sequence else time


def _table_options(spec: Spec) -> dict[str, str]:
    table = spec.table
    found = {"partition_by": ", ".join(table.partition_by), "cluster_by": ", ".join(table.cluster_by)}
    found |= {f"properties.{name}": value for name, value in {**DEFAULT_PROPERTIES, **table.properties}.items()}
    return {name: value for name, value in {**found, "location": table.location}.items() if value}
