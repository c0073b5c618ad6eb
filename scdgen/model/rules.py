"""Rules across the fields of a spec. Each yields the place of a mistake and one line with the fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from scdgen import sql
from scdgen.errors import nearest
from scdgen.model.option import Location, Rows, sql_texts, walk
from scdgen.model.pattern import rules_of
from scdgen.model.registry import PREFIX, Found, options_of, pattern_names
from scdgen.model.spec import (
    MOST_CLUSTERED,
    QUERY,
    RESERVED_PREFIX,
    STATISTICS,
    TAKEN,
    JoinedTable,
    Snapshot,
    Spec,
    locate_history_column,
)
from scdgen.sql.dates import find_literal_patterns, find_mistake
from scdgen.sql.expression import find_paths, is_path
from scdgen.sql.literal import find_form, length_of, value_text
from scdgen.sql.types import NESTED
from scdgen.sql.volatile import is_clock

# Names of the steps (CTEs) of the generated SQL; they would hide a table with a name of one part.
STEPS = {
    QUERY, "source_rows", "changes", "extract", "timeline", "newest", "ranked", "events", "given", "opening",
    "marked", "runs", "states", "starts", "completed", "versions", "staged", "snapshot", "stored", "latest",
    "compared", "lives", "filled", "neighbours", "said", "rejected", "folded", "incoming", "judged", "kept", "emptied",
    "remaining", "per_key", "joined", "counted", "met", "decided", "limited", "t", "s", "c", "n", "o",
}  # fmt: skip
RECORDED_STEPS = {"recorded", "reached"}  # of history.recorded
# Those of source.join, besides its aliases.
JOIN_STEPS = {"periods", "changed", "chosen", "boundaries", "spans"}


def times_of(alias: str) -> str:
    """Return the name of the step with the times of a parent, ``source.join.ALIAS.on``."""
    return f"{alias}_times"


_ITSELF = "table: is the target itself, which cannot be merged into itself; name another table"
_STEP = "is the name of a step of the generated SQL; write its schema before it"


def rule_problems(spec: Spec) -> list[tuple[Location, str]]:
    """Return the broken rules of a spec whose fields are valid by themselves."""
    if "sources" not in spec.model_fields_set:
        return [problem for rule in RULES for problem in rule(spec)]
    of_feeds: dict[tuple[Location, str], list[str]] = {}
    for feed in spec.feeds if spec.sources else ():
        for place, message in rule_problems(feed):
            of_feeds.setdefault((place_of_feed(place, feed.feed), message), []).append(feed.feed)
    found = list(_feeds(spec))
    for (place, message), names in of_feeds.items():
        named = len(names) < len(spec.sources) and place[0] != "sources"
        found.append((place, f"{message} (feed {', '.join(names)})" if named else message))
    return found


def _instead(name: str, known: Iterable[str], what: str = "the columns are") -> str:
    """Return what to write instead of an unknown name: the most similar one of those that are known, or any."""
    listed = list(known)
    return nearest(name, listed) or f"; {what} {', '.join(listed)}"


def place_of_feed(place: Location, feed: str) -> Location:
    """Return the place in the file for one in the spec of a feed; the same for a spec with one source."""
    if not feed:
        return place
    if place[0] == "source":
        return ("sources", feed, *place[1:])
    return (*place, feed) if place[0] == "columns" and place[-1] == "from" else place


def _feeds(spec: Spec) -> Found:
    """Yield broken rules of ``sources``; each source also follows the rules of a spec with only that one."""
    if "source" in spec.model_fields_set:
        yield ("source",), "source and sources exclude each other; move it into sources, under a name"
    if not spec.sources:
        yield ("sources",), "sources: is empty; name at least one, such as changes: {table: crm.changes}"
    # Feeds become names of files, and some systems ignore the case of these.
    seen: dict[str, str] = {}
    for name in spec.sources:
        if name.lower() in seen:
            message = f"'{name}' and '{seen[name.lower()]}' would have the same files; rename one"
            yield ("sources", name), f"sources: {message}"
        seen.setdefault(name.lower(), name)
        if name.lower() == "script":
            yield ("sources", name), f"sources: merge.{name}.sql is the name of another file; rename it"
    for column, options in spec.columns.items():
        place = ("columns", column, "from")
        if isinstance(options.from_, dict):
            for name in options.from_:
                if name not in spec.sources:
                    hint = _instead(name, spec.sources, "the feeds are")
                    yield (*place, name), f"from: '{name}' is not a feed of sources{hint}"
            if missing := [name for name in spec.sources if name not in options.from_]:
                what = f"has no expression for {', '.join(missing)}; write one for each feed"
                yield place, f"from: {what}: 'NULL' if it has none, and in its sets the columns that it gives"
        # Such a column is computed from the stored start, whichever feed has written the row.
        derived = {feed.feed: feed.derived.get(column) for feed in spec.feeds}
        if len(set(derived.values())) > 1:
            other = next(name for name, text in derived.items() if text != derived[next(iter(derived))])
            what = f"'{column}' depends on the start of a version alone, but differs for {next(iter(derived))} and"
            yield place, f"from: {what} {other}; write one expression for all feeds"


def _source(spec: Spec) -> Found:
    source = spec.source
    given = [name for name in ("table", "query", "path", "join") if getattr(source, name) not in (None, {})]
    if len(given) != 1:
        what = f"{' and '.join(given)} are given" if given else "none is given"
        yield ("source",), f"source: exactly one of table, query, path, join names where rows come from; {what}"
    if source.path is not None and not source.path.strip():
        yield ("source", "path"), "path: is empty; name a file or a folder"
    if source.path is not None and source.format is None:
        yield ("source", "path"), "path: has no format; add 'format:' (csv, json, parquet, delta)"
    if source.effective_at is None and not source.join and rules_of(spec).needs_time(spec):
        what = f"{spec.pattern} {source.feed} need 'effective_at:'; write the time at which a row became true"
        yield ("source",), f"source: {what}"
    if spec.reads_versions and spec.rules.accepts("versions") and source.effective_until is None and not source.join:
        what = "feed: versions needs 'effective_until:'; write the time at which a row ends, NULL while open"
        yield ("source",), f"source: {what}"
    if source.table and _folded(source.table) == _folded(spec.target):
        yield ("source", "table"), _ITSELF
    # Without a schema, the name of a step would be taken for the step.
    steps = STEPS | (RECORDED_STEPS if spec.recorded else set())
    for place, name in ((("source", "table"), source.table), (("target",), spec.target)):
        if name and len(parts := sql.split_name(name)) == 1 and parts[0].lower() in steps:
            yield place, f"'{name}' {_STEP}"


def _schema(spec: Spec) -> Found:
    source, place = spec.source, ("source", "schema")
    if source.schema_ is None:
        return
    if source.table is None and source.format not in {"json", "parquet"}:
        what = f"not for format: {source.format}" if source.path is not None else f"not with {source.kind}:"
        yield place, f"schema: {what}, which has columns and types of its own; remove it"
    known = {name.lower() for name in source.columns}
    missing: dict[str, str] = {}
    for option, text in source_texts(spec):
        absent = sorted({path[0].lower() for path in find_paths(text).paths} - known)
        missing.update((name, option) for name in absent if name not in missing)
    if missing:
        listed = ", ".join(f"{name} ({option})" for name, option in missing.items())
        yield place, f"schema: lacks columns that the spec reads: {listed}; add each with its type"


def source_texts(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield (option, expression) of what is read of a source row."""
    derived = spec.derived
    for name in spec.columns:
        if name not in derived:
            yield f"columns.{name}", spec.column_source(name)
    for found in sql_texts(spec.source):
        if found.option.over is Rows.SOURCE:
            yield f"source.{found.name}", found.text


def _refused(spec: Spec) -> Found:
    """Yield options that the source does not take; for those of a key column, see :func:`_keys`."""
    feed, traits = spec.source.feed, spec.source.traits
    accepted = spec.rules.accepts(feed)
    for given in walk(spec):
        option = given.option
        if not option.refused or not given.differs or (option.on_key == "refused" and given.place[1] in spec.keys):
            continue
        for refusal in option.refused:
            # If the pattern does not accept the feed, that alone is the mistake.
            if refusal.holds(traits, given.value) and (accepted or feed not in refusal.when):
                yield given.place, f"{given.name}: {refusal.message}"


def _snapshot(spec: Spec) -> Found:
    if spec.snapshot and spec.snapshot.scope:
        names = _all_columns(spec)
        for name in sorted(sql.expression(spec.snapshot.scope).columns - {name.lower() for name in names}):
            yield ("snapshot", "scope"), f"scope: '{name}' is not a column of the target{_instead(name, names)}"
    if spec.snapshot and spec.snapshot.each is not None and spec.reads_snapshot:
        yield from _each(spec, spec.snapshot)


def _each(spec: Spec, snapshot: Snapshot) -> Found:
    place = ("snapshot", "each")
    if snapshot.taken_at != f":{TAKEN}":
        yield ("snapshot", "taken_at"), "taken_at: not with each, which gives the time of each snapshot; remove one"
    kind = spec.history.type.upper() if spec.keeps_history else "TIMESTAMP"
    if (param := spec.params[TAKEN]).type != kind or param.default is not None:
        what = f"is the param of snapshot.each, a {kind} without default"
        yield ("params", TAKEN), f"'{TAKEN}' {what}; name yours otherwise"
    if snapshot.scope is not None and sql.expression(snapshot.scope).params:
        yield place, "each: not with a scope that reads a param: the table keeps one list of dates; remove one of them"
    if spec.stream is not None:
        yield place, "each: not with stream, where a micro-batch has only a part of a snapshot; remove one of them"


def _join(spec: Spec) -> Found:
    source, place = spec.source, ("source", "join")
    if not source.join:
        return
    if not spec.reads_versions:
        yield place, "join: gives whole histories; write feed: versions"
    yield from _joined_tables(spec)
    yield from _joined_columns(spec)


def _joined_tables(spec: Spec) -> Found:
    first, seen = next(iter(spec.source.join)), set[str]()
    steps = {*STEPS, *JOIN_STEPS, *(times_of(alias.lower()) for alias, joined in spec.source.join.items() if joined.on)}
    for alias, joined in spec.source.join.items():
        place = ("source", "join", alias)
        if alias.lower() in {*steps, "session"} and len(alias) > 1:
            yield place, f"join: '{alias}' is a name of the generated SQL; give the alias another name"
        if alias.lower() in seen:
            yield place, f"join: '{alias}' is there already, ignoring case; give the alias another name"
        seen.add(alias.lower())
        parts = sql.split_name(joined.table)
        if _folded(joined.table) == _folded(spec.target):
            yield (*place, "table"), _ITSELF
        taken = {*steps, *map(str.lower, spec.source.join)}
        if len(parts) == 1 and parts[0].lower() in taken:
            yield (*place, "table"), f"'{joined.table}' {_STEP}"
        yield from _pointers(spec, alias, joined)
        if not joined.keys:
            if not joined.on:
                yield place, f"join: '{alias}' has neither keys nor on; map the keys of the spec to its columns by keys"
            continue
        owner, keys = ("the spec", spec.keys) if alias == first else (first, tuple(spec.source.join[first].keys))
        if keys and set(joined.keys) != set(keys):
            message = f"keys: must be those of {owner}, {', '.join(keys)}; map each to a column of {joined.table}"
            yield (*place, "keys"), message


def _pointers(spec: Spec, alias: str, joined: JoinedTable) -> Found:
    """Yield what is wrong with the options of a table that others point to, and of one without a history."""
    place, aliases = ("source", "join", alias), list(spec.source.join)
    before = aliases[: aliases.index(alias)]
    if not before:
        first = {
            "on": "to which no table before it points; map the keys of the spec to its columns by keys",
            "required": "without which there is no row anyway; remove it",
            "history": "whose versions decide when a key exists; name a table with versions",
        }
        for name in filter(lambda name: getattr(joined, name), first):
            yield (*place, name), f"{name}: not for the first table, {first[name]}"
        return
    if joined.surrogate_key and not joined.on:
        yield (*place, "surrogate_key"), "surrogate_key: goes with on, to check versions by it; remove it"
    if joined.on and joined.keys:
        yield (*place, "on"), "on: keys and on exclude each other; remove one"
    if joined.history:
        for name in ("valid_from", "valid_to", "open_end", "gap", "surrogate_key"):
            if getattr(joined, name) is not None:
                yield (*place, name), f"{name}: not with history: none, where a row holds at all times; remove one"
    read = {column: sql.expression(text) for column, text in joined.on.items()}
    children = dict.fromkeys(parts[0] for on in read.values() for parts in sorted(on.names) if parts[0] != "session")
    known = {name.lower() for name in before}
    for column, on in read.items():
        where = (*place, "on", column)
        names = [parts for parts in sorted(on.names) if parts[0] != "session"]
        if on.tables:
            yield where, f"{column}: reads a table; write an expression over columns of one table before it"
        elif not names or any(len(parts) == 1 for parts in names):
            yield where, f"{column}: names no table before it; write for example {before[-1]}.{column}"
        elif unknown := [parts[0] for parts in names if parts[0] not in known]:
            hint = _instead(unknown[0], before, "those are")
            yield where, f"{column}: '{unknown[0]}' is not an alias of a table before it{hint}"
    if len(children) > 1 and known.issuperset(children):
        yield (*place, "on"), f"on: reads {' and '.join(children)}; write it over columns of one table before it"


def _joined_columns(spec: Spec) -> Found:
    """Yield columns and conditions that do not name their table by its alias."""
    join = spec.source.join
    (first, keyed), *_ = join.items()
    known, derived = {alias.lower() for alias in join}, spec.derived
    # Require the keys to be those of the first table, and collect the other texts.
    texts: list[tuple[Location, str]] = [(("source", "where"), spec.source.where)] if spec.source.where else []
    for name, column in spec.columns.items():
        text = column.expression
        place, read = ("columns", name), sql.expression(text) if text else None
        if name in derived:
            continue
        if name in keyed.keys and name in spec.keys:
            own = f"{sql.quote(first)}.{sql.quote(keyed.keys[name])}"
            if read is None or read.text.replace("`", "").lower() != own.replace("`", "").lower():
                yield place, f"'{name}' is a key, which {first} decides; write from: {own}"
        elif read is None or text is None:
            yield place, f"'{name}' has no from, which names its table; write for example from: {first}.{name}"
        else:
            texts.append(((*place, "from"), text))
    # A column without an alias would be of whichever table has one of the name.
    for where, text in texts:
        found = sql.expression(text)
        if found.tables:
            continue  # a column may be of a table in the subquery
        for parts in sorted(found.names):
            if len(parts) == 1:
                yield where, f"{where[-1]}: '{parts[0]}' has no alias; write for example {first}.{parts[0]}"
            elif parts[0] not in {*known, "session"}:
                hint = _instead(parts[0], join, "the aliases are")
                yield where, f"{where[-1]}: '{parts[0]}' is not an alias of source.join{hint}"


def _pattern(spec: Spec) -> Found:
    rules, feed = rules_of(spec), spec.source.feed
    if not rules.accepts(feed):
        yield ("source", "feed"), f"feed: {feed} is not for {spec.pattern}; it takes {', '.join(rules.feeds)}"
    yield from _not_of_pattern(spec)
    yield from rules.problems(spec)


def _not_of_pattern(spec: Spec) -> Found:
    """Yield options that the pattern does not take."""
    rules = rules_of(spec)
    if spec.deletes not in rules.deletes:
        takes = ", ".join(rules.deletes)
        yield ("on_delete",), f"on_delete: {spec.deletes} is not for {spec.pattern}; it takes {takes}"
    for given in walk(spec):
        if given.is_set and (why := rules.refuse(given.path, given.option)) is not None:
            if given.path == "lookups":  # a view of facts with versions of another table
                why = f"{why.partition(';')[0]}; write it in the spec of the dimension"
            yield given.place, f"{given.name}: is not for {spec.pattern}, {why}"


def find_inapplicable(spec: Spec) -> Found:
    """Yield the options that the pattern or the feed of a spec does not take."""
    for feed in spec.feeds:
        for place, message in (*_not_of_pattern(feed), *_refused(feed)):
            yield place_of_feed(place, feed.feed), message


def _keys(spec: Spec) -> Found:
    if not spec.columns:
        yield ("columns",), "columns: is empty; list the target's columns as name: type"
    if not spec.keys:
        yield ("keys",), "keys: is empty; name at least one column"
    for index, key in enumerate(spec.keys):
        place = ("keys", index)
        column = spec.columns.get(key)
        if key in spec.keys[:index]:
            yield place, f"keys: '{key}' is named twice; keep one"
        if column is None:
            if spec.columns:  # of none, the mistake was reported above
                yield place, f"keys: '{key}' is not among the columns{_instead(key, spec.columns)}"
            continue
        for given in walk(column, ("columns", key)):
            if given.option.on_key == "refused" and given.differs:
                yield given.place, f"{given.name}: '{key}' is a key, which has no changes; remove {given.name}"
        if column.type.startswith(NESTED):
            yield ("columns", key), f"'{key}' is a key of type {column.type}; write a plain type"
        if column.type.startswith("CHAR"):
            what = f"is a key of type {column.type}, which Spark pads with blanks"
            yield ("columns", key), f"'{key}' {what}; write string or varchar"


def _columns(spec: Spec) -> Found:
    seen: dict[str, str] = {}
    for name, column in spec.columns.items():
        if name.lower() in seen:
            message = f"'{name}' and '{seen[name.lower()]}' are one name to Spark, which ignores case; rename one"
            yield ("columns", name), message
        seen[name.lower()] = name
        if isinstance(column.from_, dict):
            yield ("columns", name, "from"), "from: an expression for each feed goes with 'sources:'; write one"
    # Columns of history, of the pattern and of audit come into the same table, so all names must differ.
    of_history = [(locate_history_column(option), name, "history column") for option, name in spec.history_columns]
    others: list[tuple[Location, str, str]] = [
        *((("history", "recorded", option), name, "column of recorded") for option, name in spec.recorded_columns),
        *((("audit", option), name, "audit column") for option, name in spec.audit.names()),
    ]
    taken = set(seen)
    for named, before in ((of_history, ()), (others, rules_of(spec).added_columns(spec))):
        taken.update(map(str.lower, before))
        for place, name, what in named:
            if name.lower() in taken:
                yield place, f"{place[-1]}: '{name}' is already a column; name the {what} otherwise"
            taken.add(name.lower())


def _marked(spec: Spec) -> Found:
    """Yield columns that a version of a delete of an unknown key would leave NULL."""
    if not spec.keeps_history or spec.deletes != "mark" or spec.unchanged != "keep" or not spec.source.delete_when:
        return
    given = frozenset[str]().union(
        *(sql.expression(spec.column_source(key)).columns for key in spec.keys if key in spec.columns)
    )
    for name, column in spec.columns.items():
        follows = name in spec.derived or sql.expression(spec.column_source(name)).columns <= given
        if not column.nullable and name not in spec.keys and not follows:
            what = f"'{name}' is nullable: false, and a delete of a key that the table lacks has NULL"
            yield ("columns", name, "nullable"), f"unchanged: keep: {what}; leave out nullable, or write skip"


def _recorded(spec: Spec) -> Found:
    """Yield options that do not go with ``history.recorded``: they would write rows of which nothing changes."""
    if spec.recorded is None:
        return
    place = ("history", "recorded")
    if spec.history.open_end == "last_run":
        what = "every run writes the end of every open version; write null or a literal"
        yield ("history", "open_end"), f"open_end: last_run does not go with recorded, because {what}"
    if sql.expression(spec.recorded.at).params and (spec.members.inferred or spec.members.unknown):
        what = "reads a param, which create.sql and infer.sql do not set"
        yield (*place, "at"), f"at: {what}; leave it out, or leave out members"


def _compare(spec: Spec) -> Found:
    for name, column in spec.columns.items():
        if column.compare is None or name in spec.keys:
            continue
        place, read = ("columns", name, "compare"), sql.expression(column.compare)
        if not column.track:
            yield place, f"compare: '{name}' is not tracked, so that no change of it counts; remove compare or track"
        if read.tables or read.params:
            what = "reads a table, which" if read.tables else "reads a param, which"
            yield place, f"compare: {what} the check no_repeat does not have; write an expression over {name} alone"
        elif read.columns != {name.lower()}:
            yield place, f"compare: '{read.text}' is not over {name} alone; name only {name} in it"


def _table(spec: Spec) -> Found:
    table = spec.table
    if table.partition_by and table.cluster_by:
        yield ("table", "cluster_by"), "cluster_by and partition_by exclude each other in Delta; keep one"
    if (count := len(table.cluster_by)) > MOST_CLUSTERED:
        yield ("table", "cluster_by"), f"cluster_by: {count} columns are more than Delta takes; name at most four"
    yield from _layout(spec)
    for name in table.properties:
        if name.lower().startswith(PREFIX):
            yield ("table", "properties", name), f"properties: '{name}' is written by scdgen itself; remove it"
    names = _all_columns(spec)
    for option in ("partition_by", "cluster_by"):
        for index, name in enumerate(getattr(table, option)):
            place, kind = ("table", option, index), spec.columns[name].type if name in spec.columns else ""
            if name not in names:
                yield place, f"{option}: '{name}' is not a column of the target{_instead(name, names)}"
            elif kind.startswith(NESTED):
                yield place, f"{option}: '{name}' is {kind}; choose a column of a plain type"


def _layout(spec: Spec) -> Found:
    table, place = spec.table, ("table", "layout")
    if not spec.keeps_history or table.layout not in ("split", "cluster"):
        return
    for option in ("partition_by", "cluster_by"):
        if getattr(table, option):
            yield place, f"layout: {table.layout} and {option} both say where rows go; keep one"
    if table.layout == "cluster":
        listed = table.properties.get(STATISTICS)
        known = [name.strip().strip("`").lower() for name in (listed or "").split(",")]
        unknown = [name for name in spec.clustering if name.lower() not in known]
        if listed is not None and unknown:
            what = f"cluster needs the minimum and maximum of {', '.join(unknown)}"
            yield place, f"layout: {what}; add {'it' if len(unknown) == 1 else 'them'} to {STATISTICS}"
    elif spec.history.is_current is None:
        what = "split needs history.is_current, to partition by"
        yield place, f"layout: {what}; name that column, or write layout: cluster"
    elif not spec.flag_splits:
        what = "split partitions by history.is_current, and a partition reads '' back as NULL"
        yield place, f"layout: {what}; give that column other values, or write layout: cluster"


def _all_columns(spec: Spec) -> list[str]:
    last = [*spec.recorded_columns, *spec.audit.names()]
    return [*spec.columns, *rules_of(spec).added_columns(spec), *(name for _, name in last)]


def _params(spec: Spec) -> Found:
    seen: dict[str, str] = {}
    for name, param in spec.params.items():
        if name.lower() in seen:
            message = f"'{name}' and '{seen[name.lower()]}' are one param to Spark, which ignores case; rename one"
            yield ("params", name), message
        # They are set in this order.
        for read in sorted(param.read_params - seen.keys()):
            what = f"{name}: its default reads :{read}, which has no value yet; write a value, or a param above it"
            yield ("params", name), what
        seen.setdefault(name.lower(), name)
    for found in sql_texts(spec):
        for name in sorted(found.fragment.params - set(spec.params)):
            hint = nearest(name, spec.params) or "; declare it under 'params:' with its type"
            yield found.place, f"{found.name}: the param :{name} is not declared{hint}"


def _rowless(spec: Spec) -> Found:
    """Yield columns in an expression that is one value for the whole run."""
    for found in sql_texts(spec):
        if found.option.over is Rows.NONE and found.read is sql.expression and not found.fragment.tables:
            for name in sorted({".".join(parts) for parts in found.fragment.names if parts[0] != "session"})[:1]:
                instead = f", or each: {found.text}" if found.name == "taken_at" else f", such as :{found.name}"
                what = f"'{name}' is a column, and the option is evaluated once, over no row"
                yield found.place, f"{found.name}: {what}; write a param{instead}"


def _counted(spec: Spec) -> Found:
    """Yield times of history that are numbers by their names, such as ``ts_ms`` of Debezium."""
    for name, text in (("effective_at", spec.source.effective_at), ("effective_until", spec.source.effective_until)):
        found = re.search(r"_(m|u)s`?$", text or "", re.IGNORECASE)
        if text and found and is_path(text) and spec.keeps_history and spec.history.type != "bigint":
            unit = "milli" if found[1].lower() == "m" else "micro"
            ways = f"timestamp_{unit}s({text}), or CAST({text} AS TIMESTAMP) if it is a time"
            yield ("source", name), f"{name}: {text} is a number by its name; write {ways}"


def _dates(spec: Spec) -> Found:
    for found in sql_texts(spec):
        for pattern in find_literal_patterns(found.text):
            if mistake := find_mistake(pattern):
                yield found.place, f"{found.name}: '{pattern}': {mistake}"


def _volatile(spec: Spec) -> Found:
    """Yield expressions that give another value each time: with them, the same batch again would change rows."""
    for found in sql_texts(spec):
        name, place = found.fragment.volatile, found.place
        if name is None or found.option.may_vary:
            continue
        if place[0] == "expectations" and spec.expectations[int(place[1])].on_violation == "fail":
            continue  # stops the run, or changes nothing
        hint = "write a param, which may have it as its default"
        if found.option.over is Rows.FACTS:  # the statements of members read no param
            hint = "write columns of the fact"
        if place[0] == "columns":
            hint = "leave it out; audit adds the time of the run that wrote a row" if is_clock(name) else "leave it out"
        what = f"{name} differs from run to run, so that the same batch again would change rows"
        yield place, f"{found.name}: {what}; {hint}"


def _names(spec: Spec) -> Found:
    seen = {check for name in pattern_names() for check in options_of(name).check_names}
    for index, check in enumerate(spec.checks):
        if check.name in seen:
            yield ("checks", index, "name"), f"the check '{check.name}' is there already; give it another name"
        seen.add(check.name)
    # A view replaces what has its name.
    taken = {_folded(name) for _, name in _read_tables(spec)}
    for option in type(spec.views).model_fields:
        name = getattr(spec.views, option)
        if name and _folded(name) in taken:
            yield ("views", option), f"{option}: '{name}' is already taken; give the view another name"
        taken |= {_folded(name)} if name else set()


def _folded(name: str) -> tuple[str, ...]:
    """Return the parts of a table's name as Spark compares them, without regard to case."""
    return sql.split_name(name.lower())


def _overlays(spec: Spec) -> Found:
    if not spec.keeps_history:
        return
    if spec.overlays and not spec.views.overlay:
        yield ("overlays",), "overlays: are columns of a view; name it in views.overlay"
    if spec.views.overlay and not spec.overlays:
        yield ("views", "overlay"), "overlay: has no columns of its own; list them in overlays, or remove it"
    taken = {name.lower() for name in _all_columns(spec)}
    others = [name for name in spec.columns if name not in spec.keys]
    for name, overlay in spec.overlays.items():
        place = ("overlays", name)
        if name.lower() in taken:
            yield place, f"'{name}' is already a column; name the overlay otherwise"
        taken.add(name.lower())
        options = " and ".join(option for option, _ in overlay.given) or "none"
        if len(overlay.given) != 1:
            yield place, f"'{name}' has {options} of first, previous, current, since; write exactly one, with a column"
        for option, column in overlay.given:
            if column in spec.keys:
                yield (*place, option), f"{option}: '{column}' is a key, which never changes; name another column"
            elif column not in spec.columns:
                yield (*place, option), f"{option}: '{column}' is not a column of the spec{_instead(column, others)}"


def _lookups(spec: Spec) -> Found:
    taken = {_folded(spec.target), *(_folded(name) for _, name in spec.views if name)}
    known = _all_columns(spec)
    for view, lookup in spec.lookups.items():
        place = ("lookups", view)
        if _folded(view) in taken:
            yield place, f"lookups: '{view}' is already taken; give the view another name"
        taken.add(_folded(view))
        if lookup.fact is not None and _folded(lookup.fact) == _folded(view):
            yield (*place, "fact"), "fact: is the view itself; name the table of the facts"
        for one, other in (("fact", "query"), ("at", "version")):
            given = [option for option in (one, other) if getattr(lookup, option) is not None]
            if len(given) != 1:
                what = f"{one} and {other} are given" if given else "none is given"
                yield place, f"lookups: exactly one of {one}, {other} is needed; {what}"
        if lookup.before_first == "first" and lookup.version is not None:
            yield (*place, "before_first"), "before_first: goes with at, which a version: current has not; remove it"
        if lookup.known is not None and spec.recorded is None:
            yield (*place, "known"), "known: needs the second axis of time; add history.recorded, or remove it"
        if lookup.known is not None and lookup.before_first == "first":
            what = "first does not go with known, because the first version depends on the fact; remove one"
            yield (*place, "before_first"), f"before_first: {what}"
        if set(lookup.keys) != set(spec.keys):
            keys = ", ".join(spec.keys)
            yield (*place, "keys"), f"keys: must be those of the spec, {keys}; map each to an expression"
        if not lookup.columns:
            yield (*place, "columns"), "columns: is empty; list columns of the table"
        for name in lookup.columns:
            if name not in known:
                yield (*place, "columns"), f"columns: '{name}' is not a column of the target{_instead(name, known)}"
        if lookup.missing == "unknown" and spec.members.unknown is None:
            yield (*place, "missing"), "missing: unknown needs the values of members.unknown; add it, or write none"
        names = [name.lower() for name in lookup.shown.values()]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield (*place, "columns"), f"columns: two are named '{name}' in the view; give each its own name"
    for found in sql_texts(spec):
        where = {"lookups.sql": "a view cannot", "checks.sql": "checks.sql does not set"}.get(found.option.file)
        if where and found.fragment.params:
            yield found.place, f"{found.name}: reads a param, which {where}; write the value"


def _expectations(spec: Spec) -> Found:
    derived = spec.derived
    # A derived column follows from the start of a version, which a row of the source does not have.
    known = [name for name in spec.columns if name not in derived]
    seen: set[str] = set()
    for index, rule in enumerate(spec.expectations):
        place, read = ("expectations", index), sql.expression(rule.expect)
        if rule.name.lower() in seen:
            yield (*place, "name"), f"the expectation '{rule.name}' is there already; give it another name"
        seen.add(rule.name.lower())
        if read.tables:
            yield (*place, "expect"), "expect: reads a table; write a condition over one row, or a query under checks"
        for name in sorted(read.columns - {name.lower() for name in known}):
            yield (*place, "expect"), f"expect: '{name}' is not a column that a row gives{_instead(name, known)}"
    wanted = any(rule.on_violation == "quarantine" for rule in spec.expectations)
    if wanted and spec.quarantine is None:
        yield ("expectations",), "expectations: rows go to quarantine; name its table in 'quarantine:'"
    if spec.quarantine is not None:
        if not wanted:
            yield ("quarantine",), "quarantine: no expectation has on_violation: quarantine; remove it or write one"
        parts = _folded(spec.quarantine)
        views = ((f"views.{option}", name) for option, name in spec.views if name)
        named = (*_read_tables(spec), *views, *(("a view of lookups", view) for view in spec.lookups))
        if what := next((what for what, name in named if _folded(name) == parts), None):
            yield ("quarantine",), f"quarantine: '{spec.quarantine}' is already {what}; name another table"


def _read_tables(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield the tables that the SQL of a spec reads, and the name of each."""
    yield "the target", spec.target
    if spec.source.table:
        yield "the source", spec.source.table
    yield from (("a table of source.join", joined.table) for joined in spec.source.join.values())
    yield from (("a table of lookups", lookup.fact) for lookup in spec.lookups.values() if lookup.fact)
    if spec.members.inferred:
        yield "the table of members.inferred", spec.members.inferred.fact


def _members(spec: Spec) -> Found:
    if not spec.keeps_history:
        return
    if (unknown := spec.members.unknown) is not None:
        yield from _unknown(spec, unknown)
    if inferred := spec.members.inferred:
        place = ("members", "inferred")
        if set(inferred.keys) != set(spec.keys):
            keys = ", ".join(spec.keys)
            yield (*place, "keys"), f"keys: must be those of the spec, {keys}; map each to an expression"
        if _folded(inferred.fact) == _folded(spec.target):
            yield (*place, "fact"), "fact: is the target itself; name the table of the facts"
        if spec.unchanged == "keep" and spec.reads_snapshot:
            yield place, "inferred: not for snapshots with unchanged: keep, where each row is a version; remove one"
        for name, column in spec.columns.items():
            if not column.nullable and name not in spec.keys:
                message = f"inferred: '{name}' is nullable: false, and an inferred member has NULL; leave out nullable"
                yield ("columns", name, "nullable"), message
        for found in sql_texts(spec):
            if found.option.file == "infer.sql" and found.fragment.params:
                yield found.place, f"{found.name}: reads a param, which infer.sql does not set; write the value"


def _unknown(spec: Spec, unknown: Mapping[str, object]) -> Found:
    place = ("members", "unknown")
    for key in spec.keys:
        if unknown.get(key) is None:
            what = f"'{key}' is NULL" if key in unknown else f"'{key}' is missing"
            yield place, f"unknown: the key {what}; give every key a value that no row of the source has"
    for name, value in unknown.items():
        column = spec.columns.get(name)
        if column is None:
            yield (*place, name), f"unknown: '{name}' is not a column of the spec{_instead(name, spec.columns)}"
        elif value is None:
            continue
        elif value_text(value) == "" and spec.loses_empty_text(name):
            yield (*place, name), f"unknown: '{name}' is in partition_by, where empty text is NULL; write another value"
        elif column.type.startswith((*NESTED, "BINARY")):
            yield (*place, name), f"unknown: '{name}' is {column.type}, which has no literal; leave it out"
        elif form := find_form(value_text(value), column.type):
            yield (*place, name), f"unknown: '{value_text(value)}' is not a valid {column.type}; write {form}"
        elif (size := length_of(column.type)) is not None and len(value_text(value)) > size:
            yield (*place, name), f"unknown: '{value_text(value)}' is longer than {column.type}; write a shorter value"
    for name, column in spec.columns.items():
        if not column.nullable and name not in spec.keys and unknown.get(name) is None:
            yield place, f"unknown: '{name}' is nullable: false and has no value; give it one"


RULES: tuple[Callable[[Spec], Found], ...] = (
    _source, _schema, _refused, _snapshot, _join, _pattern, _keys, _columns, _marked, _recorded, _compare,
    _table, _params, _rowless, _counted, _dates, _volatile, _names, _overlays, _lookups, _expectations, _members,
)  # fmt: skip

assert RESERVED_PREFIX.islower()  # names are compared in lower case
