"""A draft from a dbt snapshot. Every option of its config is mapped, or named as not mapped, in a comment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.init.columns import (
    Given,
    column_named,
    dotted,
    put_columns,
    put_keys,
    selected,
    set_option,
    spark_type,
    track_only,
    without_comments,
)
from scdgen.init.dbt_history import put_history, put_open_end, put_type_of_time
from scdgen.init.dbt_read import DbtSnapshot, Jinja, read_snapshots
from scdgen.init.draft import Draft

_META = ("dbt_valid_from", "dbt_valid_to", "dbt_scd_id", "dbt_updated_at", "dbt_is_deleted")
_SHAPES: dict[str, tuple[type, ...]] = {
    "unique_key": (str, list),
    "check_cols": (str, list),
    "partition_by": (str, list),
    "liquid_clustered_by": (str, list),
    "snapshot_meta_column_names": (dict,),
    "tblproperties": (dict,),
}
# Options that have no counterpart: why, or what to do instead.
_LEFT = {
    "tags": "a label of the dbt project",
    "meta": "a label of the dbt project",
    "docs": "a setting of dbt's documentation",
    "group": "a label of the dbt project",
    "enabled": "scdgen runs the specs that it is given",
    "grants": "GRANT once on the table; a run never replaces it",
    "persist_docs": "comments are always written: description, columns.*.comment",
    "pre_hook": "run it before scdgen",
    "pre-hook": "run it before scdgen",
    "post_hook": "run it after scdgen",
    "post-hook": "run it after scdgen",
    "event_time": "the snapshot is read as a whole",
    "quote_columns": "names are always quoted",
    "materialized": "the target is always a table",
    "full_refresh": "a run never rebuilds the history",
    "static_analysis": "scdgen checks the SQL itself",
    "unique_tmp_table_suffix": "there is no temporary table",
    "zorder": "cluster_by takes its place",
    "auto_liquid_cluster": "name the columns in table.cluster_by",
    "tests": "the built-in checks, and checks: of your own",
    "data_tests": "the built-in checks, and checks: of your own",
    "databricks_tags": "tag the table once; a run never replaces it",
}


def draft_from_dbt(path: Path, text: str, name: str | None, target: str | None, given: Given) -> Draft:
    """The draft of one snapshot of a file; ``given`` are types from elsewhere.

    Raises :class:`SpecError` where the file cannot be read, :class:`UsageError` where something must be given.
    """
    found = _chosen(path, read_snapshots(path, text), name)
    config = dict(found.config)
    draft = Draft(header=[f"Begun by scdgen init from the dbt snapshot {found.name}; read it before the first run."])
    _target(draft, found, config, target)
    if found.description:
        draft.put("description", " ".join(found.description.split()))
    draft.put("pattern", "scd2")
    option, renamed = _take(found, config, "snapshot_meta_column_names")
    names = {name: str((renamed or {}).get(name) or name) for name in _META}
    _source(draft, found, given, names)
    _keys_and_strategy(draft, found, config)
    _deletes(draft, found, config)
    note = f"{option}: the names of dbt's columns." if option else "The names of dbt's columns."
    put_history(draft, names, note)
    draft.left_out += [f"{option}.{name}: no column of dbt" for name in renamed or () if name not in _META]
    put_open_end(draft, *_take(found, config, "dbt_valid_to_current"))
    _storage(draft, found, config)
    draft.left_out += [f"{option}: {_LEFT.get(option, 'scdgen has nothing like it')}" for option in config]
    draft.left_out += [f"{option}: {_LEFT.get(option, 'a property of the dbt project')}" for option in found.properties]
    return draft


def _chosen(path: Path, found: list[DbtSnapshot], name: str | None) -> DbtSnapshot:
    names = [snapshot.name for snapshot in found]
    if not found:
        raise UsageError(f"{path}: holds no dbt snapshot; give a file with 'snapshots:' or a {{% snapshot %}} block")
    if name is None and len(found) > 1:
        raise UsageError(f"{path}: holds {len(found)} snapshots ({', '.join(names)}); choose one with --name")
    if name is not None and name not in names:
        raise UsageError(f"--name {name}: {path} holds {', '.join(names)}{nearest(name, names)}")
    return found[names.index(name)] if name is not None else found[0]


def _take(found: DbtSnapshot, config: dict[str, Any], *options: str) -> tuple[str | None, Any]:
    """(option, value) of the first of ``options`` that the config has, taken out of it."""
    for option in options:
        if option in config:
            value = config.pop(option)
            if _has_jinja(value):
                raise found.wrong(f"{option}: is Jinja, which is not run here; write its value in its place")
            if not isinstance(value, _SHAPES.get(option, (str, bool, int, type(None)))):
                raise found.wrong(f"{option}: cannot be a {type(value).__name__} in dbt; write it as dbt takes it")
            if value is not None:
                return option, value
    return None, None


def _has_jinja(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_jinja, value.values()))
    return any(map(_has_jinja, value)) if isinstance(value, list) else isinstance(value, Jinja)


def _target(draft: Draft, found: DbtSnapshot, config: dict[str, Any], target: str | None) -> None:
    groups = (("database", "target_database"), ("schema", "target_schema"), ("alias",))
    if target is not None:
        named = [option for group in groups for option in group if config.pop(option, None) is not None]
        also = f" in place of {', '.join(named)}" if named else ""
        draft.put("target", target, f"Given with --target{also}.")
        return
    taken = [_take(found, config, *group) for group in groups]
    parts = [str(value) for _, value in taken if value is not None]
    parts += [found.name] if taken[2][1] is None else []
    named = [option for option, _ in taken if option is not None]
    named += ["the snapshot's name"] if taken[2][1] is None else []
    draft.put("target", dotted(parts), f"From {', '.join(named)}.")
    if taken[1][0] == "schema":
        draft.note("dbt may put the schema of the profile before 'schema'; write the schema as it is.", "target")
    if taken[0][1] is not None and taken[1][1] is None:
        raise UsageError(f"{found.file}: {found.name} has a database and no schema; give --target with all its parts")


def _source(draft: Draft, found: DbtSnapshot, given: Given, meta: dict[str, str]) -> None:
    listed: dict[str, str | None] = {}
    rule = "source('a', 'b') is read as a.b, ref('x') as x: write the schema before it where it needs one."
    if found.query is not None:
        try:
            query = without_comments(found.query)
        except ValueError as error:
            raise found.wrong(f"{found.name}: {error}") from error
        listed, table = selected(query)
        draft.put("source.table" if table else "source.query", table or query, rule)
    else:
        draft.put("source.table", found.table, f"relation: {rule}")
    draft.put("source.feed", "snapshot", "dbt compares the whole source with the table at each run.")
    # dbt lets its own columns be described too; they are no columns of the source.
    own = {name.lower() for name in meta.values()}
    draft.left_out += [f"columns: {name}: the text on a column of dbt" for name in found.types if name.lower() in own]
    typed = {column: kind for column, kind in found.types.items() if column.lower() not in own}
    listed.update({column: kind for column, kind in typed.items() if kind or column not in listed})
    for column, kind in listed.items():
        if kind and column not in given.columns:
            listed[column] = spark_type(kind, f"{found.file}: {column}")
    put_columns(draft, listed, given, "the snapshot")
    for column, comment in found.comments.items():
        if column not in typed:
            continue
        set_option(draft, column_named(draft, column, "columns"), "comment", " ".join(comment.split()))


def _keys_and_strategy(draft: Draft, found: DbtSnapshot, config: dict[str, Any]) -> None:
    _, key = _take(found, config, "unique_key")
    _, strategy = _take(found, config, "strategy")
    _, updated_at = _take(found, config, "updated_at")
    _, checked = _take(found, config, "check_cols")
    if key is None:
        raise found.wrong(f"{found.name}: has no unique_key; a snapshot needs one")
    if strategy not in ("timestamp", "check"):
        what = "is missing" if strategy is None else f"'{strategy}' is a macro, which is not run here"
        raise found.wrong(f"{found.name}: strategy: {what}; timestamp and check can be read")
    put_keys(draft, [str(part) for part in key] if isinstance(key, list) else [str(key)], "unique_key")
    draft.note(f"unique_key: {', '.join(key) if isinstance(key, list) else key}.", "keys")
    if strategy == "timestamp":
        if updated_at is None:
            raise found.wrong(f"{found.name}: strategy: timestamp needs updated_at")
        _by_time(draft, found, str(updated_at))
        if checked is not None:
            draft.left_out.append("check_cols: dbt does not read it with strategy: timestamp")
        return
    draft.note("strategy: check.", "source", "feed")
    if updated_at is not None:
        note = "updated_at: a version starts at this time. dbt lets an earlier one end before it starts; here it stops."
        draft.put("source.effective_at", str(updated_at), note)
        _type_of_time(draft, found, str(updated_at))
    else:
        draft.note("A version starts when the run does; snapshot.taken_at sets another time.", "source", "feed")
    if checked is None:
        raise found.wrong(f"{found.name}: strategy: check needs check_cols")
    if checked == "all":
        draft.note("check_cols: all; a change of any column opens a version.", "columns")
        return
    names = [
        column_named(draft, str(part), "check_cols") for part in ([checked] if isinstance(checked, str) else checked)
    ]
    others = track_only(draft, names)
    also = "; the open version takes the newest value of the others, where dbt leaves the old one" if others else ""
    draft.note(f"check_cols: {', '.join(names)}{also}.", "columns")


def _by_time(draft: Draft, found: DbtSnapshot, updated_at: str) -> None:
    draft.put("source.effective_at", updated_at, f"strategy: timestamp, updated_at: {updated_at}.")
    draft.put("late_arriving", "ignore", "dbt passes over a row that is older than the open version; fail reports it.")
    column = _type_of_time(draft, found, updated_at)
    if column is not None:
        note = "dbt opens a version whenever updated_at moves; without this column, only where another value changes."
        draft.note(note, "columns", column)
    else:
        draft.put(
            "unchanged", "keep", "dbt opens a version whenever updated_at moves; skip opens one where a value changes."
        )


def _type_of_time(draft: Draft, found: DbtSnapshot, updated_at: str) -> str | None:
    try:
        return put_type_of_time(draft, updated_at)
    except ValueError as error:
        raise found.wrong(f"updated_at: {error}") from error


def _deletes(draft: Draft, found: DbtSnapshot, config: dict[str, Any]) -> None:
    _, deletes = _take(found, config, "hard_deletes")
    legacy, invalidate = _take(found, config, "invalidate_hard_deletes")
    if deletes is None:
        deletes = "invalidate" if invalidate else "ignore"
        named = f"{legacy}: {str(invalidate).lower()}" if legacy else "hard_deletes: ignore, dbt's default"
    else:
        named = f"hard_deletes: {deletes}"
        if legacy:
            draft.left_out.append("invalidate_hard_deletes: hard_deletes counts")
    meanings = {"ignore": "ignore", "invalidate": "close", "new_record": "mark"}
    if deletes not in meanings:
        raise found.wrong(f"hard_deletes: '{deletes}' is not one of {', '.join(meanings)}")
    draft.put("on_delete", meanings[deletes], f"{named}.")
    if deletes == "ignore":
        return
    draft.note("An empty source stops the run, where dbt takes every key for deleted; see snapshot.", "on_delete")
    kind = draft.options.get("history", {}).get("type")
    if kind == "date":
        draft.note(
            "A key that is gone on the day of its change stops the run; dbt ends it where it began.", "on_delete"
        )
    elif kind == "bigint":
        draft.put("snapshot.taken_at", "unix_timestamp()", "Of a deleted key, in the unit of updated_at: seconds?")


def _storage(draft: Draft, found: DbtSnapshot, config: dict[str, Any]) -> None:
    option, kind = _take(found, config, "file_format", "table_format")
    if option and kind == "delta":
        draft.put("table.format", "delta", f"From {option}.")
    elif option:
        draft.left_out.append(f"{option}: {kind}; the target is Delta")
    for option_, place in (("partition_by", "table.partition_by"), ("liquid_clustered_by", "table.cluster_by")):
        option, columns = _take(found, config, option_)
        if option:
            listed = [columns] if isinstance(columns, str) else columns
            draft.put(place, [column_named(draft, str(column), option) for column in listed], f"From {option}.")
    option, properties = _take(found, config, "tblproperties")
    if option:
        draft.put("table.properties", {str(key): str(value) for key, value in properties.items()}, f"From {option}.")
    option, root = _take(found, config, "location_root")
    if option:
        folder = sql.split_name(draft.options["target"])[-1]
        draft.put("table.location", f"{str(root).rstrip('/')}/{folder}", f"From {option}.")
