"""A draft from a SQLMesh model of kind SCD_TYPE_2. Every property is mapped, or named as not mapped, in a comment."""

from __future__ import annotations

from scdgen import sql
from scdgen.errors import UsageError
from scdgen.init.columns import (
    Given,
    column_named,
    dotted,
    put_columns,
    put_keys,
    selected,
    set_option,
    spark_type,
    split_list,
    track_only,
)
from scdgen.init.draft import Draft
from scdgen.init.sqlmesh_read import SqlmeshModel, bare, listed, pairs, read_model

_KINDS = ("SCD_TYPE_2", "SCD_TYPE_2_BY_TIME", "SCD_TYPE_2_BY_COLUMN")
_LEFT = {
    "cron": "schedule scdgen run yourself",
    "start": "schedule scdgen run yourself",
    "end": "schedule scdgen run yourself",
    "interval_unit": "schedule scdgen run yourself",
    "audits": "the built-in checks, and checks: of your own",
    "assertions": "the built-in checks, and checks: of your own",
    "batch_size": "a run reads the whole source",
    "batch_concurrency": "a run reads the whole source",
    "lookback": "a run reads the whole source",
    "disable_restatement": "a run never rebuilds the history",
    "forward_only": "a run never rebuilds the history",
    "auto_restatement_cron": "a run never rebuilds the history",
    "auto_restatement_intervals": "a run never rebuilds the history",
    "on_destructive_change": "a column that leaves the spec is never dropped from the table",
    "on_additive_change": "the nearest is schema_evolution",
    "grants": "GRANT once on the table; a run never replaces it",
    "optimize_query": "the SELECT is used as it is written",
    "validate_query": "scdgen checks the SQL itself",
}  # fmt: skip


def draft_from_sqlmesh(file: str, text: str, target: str | None, given: Given) -> Draft:
    """The draft of one model; ``given`` are types from elsewhere.

    Raises :class:`SpecError` where the file cannot be read, :class:`UsageError` where something must be given.
    """
    model = read_model(file, text)
    if model.kind not in _KINDS:
        raise model.wrong(f"kind: '{model.kind or 'none'}' keeps no versions; {', '.join(_KINDS)} can be read")
    draft = Draft(header=["Begun by scdgen init from a SQLMesh model; read it before the first run."])
    name = model.properties.pop("name", None)
    if target is None and name is None:
        raise UsageError(f"{file}: the model has no name; give --target")
    parts = [bare(part) for part in (name or "").split(".")]
    note = f"Given with --target in place of name: {name}." if target else "From name."
    draft.put("target", target or dotted(parts), note)
    if "description" in model.properties:
        draft.put("description", bare(model.properties.pop("description")), "From description.")
    draft.put("pattern", "scd2", f"kind: {model.kind}.")
    _source(draft, model, given)
    _versions(draft, model)
    _history(draft, model)
    _storage(draft, model)
    for properties in (model.kind_properties, model.properties):
        draft.left_out += [f"{option}: {_LEFT.get(option, 'scdgen has nothing like it')}" for option in properties]
    draft.left_out += [f"the statement '{' '.join(s.split())[:60]}': run it beside scdgen" for s in model.statements]
    return draft


def _source(draft: Draft, model: SqlmeshModel, given: Given) -> None:
    names, table = selected(model.query)
    draft.put("source.table" if table else "source.query", table or model.query)
    draft.put("source.feed", "snapshot", "SQLMesh compares the whole source with the table at each run.")
    dialect = bare(model.properties.pop("dialect", ""))
    if dialect.lower() in {"spark", "databricks"}:
        draft.note(f"dialect: {dialect}.", "source")
    elif dialect:
        draft.note(f"dialect: {dialect}; the SQL is used as it is, and read as Spark's: look at it.", "source")
    own = {_name(model, option).lower() for option in ("valid_from_name", "valid_to_name")}
    columns: dict[str, str | None] = {**names}
    for part in split_list(model.properties.pop("columns", "()")[1:-1]):
        name, _, kind = part.partition(" ")
        if bare(name).lower() not in own:
            columns[bare(name)] = kind.strip()
    for name, written in columns.items():
        if written and name not in given.columns:
            columns[name] = spark_type(written, f"{model.file}: {name}")
    put_columns(draft, {name: kind for name, kind in columns.items() if name.lower() not in own}, given, "the model")
    comments = pairs(model.properties.pop("column_descriptions", ""))
    if comments:
        draft.note("Comments from column_descriptions.", "columns")
    for name, comment in comments.items():
        set_option(draft, column_named(draft, name, "column_descriptions"), "comment", comment)


def _name(model: SqlmeshModel, option: str) -> str:
    return bare(model.kind_properties.get(option, option.removesuffix("_name")))


def _flag(model: SqlmeshModel, option: str) -> bool:
    value = bare(model.kind_properties.pop(option, "false")).lower()
    if value not in {"true", "false"}:
        raise model.wrong(f"{option}: '{value}' is not one of true, false")
    return value == "true"


def _versions(draft: Draft, model: SqlmeshModel) -> None:
    """Keys, what opens a version, when it starts, and what a missing key means."""
    properties = model.kind_properties
    if "unique_key" not in properties:
        raise model.wrong("the kind has no unique_key; a model of this kind needs one")
    keys = listed(properties.pop("unique_key"))
    put_keys(draft, keys, "unique_key")
    draft.note(f"unique_key: {', '.join(keys)}.", "keys")
    by_column = model.kind == "SCD_TYPE_2_BY_COLUMN"
    time = bare(properties.pop("updated_at_name", "" if by_column else "updated_at"))
    if by_column:
        _tracked(draft, model)
        at_execution = _flag(model, "execution_time_as_valid_from")
        if time:
            draft.put("source.effective_at", _reference(draft, time), f"updated_at_name: {time}.")
        if not at_execution:
            start = "at their time" if time else "when the snapshot was taken"
            note = "execution_time_as_valid_from: false lets the versions of the first run start in 1970"
            draft.note(f"{note}; here they start {start}.", "source", "feed")
        else:
            draft.note("execution_time_as_valid_from: true.", "source", "feed")
    else:
        draft.put("source.effective_at", _reference(draft, time), f"updated_at_name: {time}.")
        if not _flag(model, "updated_at_as_valid_from"):
            note = "updated_at_as_valid_from: false lets the first version of a key start in 1970"
            draft.note(f"{note}; here it starts at its time.", "source", "effective_at")
        else:
            draft.note("updated_at_as_valid_from: true.", "source", "effective_at")
        note = "SQLMesh passes over a row that is older than the open version; fail reports it."
        draft.put("late_arriving", "ignore", note)
        note = f"SQLMesh opens a version whenever {time} moves; without this column, only where another value changes."
        draft.note(note, "columns", column_named(draft, time, "updated_at_name"))
    closes = _flag(model, "invalidate_hard_deletes")
    draft.put("on_delete", "close" if closes else "ignore", f"invalidate_hard_deletes: {str(closes).lower()}.")


def _reference(draft: Draft, name: str) -> str:
    column = column_named(draft, name, "updated_at_name")
    return column if column.isidentifier() else sql.quote(column)


def _tracked(draft: Draft, model: SqlmeshModel) -> None:
    if "columns" not in model.kind_properties:
        raise model.wrong("the kind has no columns; SCD_TYPE_2_BY_COLUMN needs them, or *")
    given = listed(model.kind_properties.pop("columns"))
    if given == ["*"]:
        draft.note("columns: *; a change of any column opens a version.", "columns")
        return
    tracked: list[str] = []
    for text in given:
        try:
            read = sql.expression(text)
        except ValueError as error:
            raise model.wrong(f"columns: {error}") from error
        tracked += [column_named(draft, name, "columns") for name in sorted(read.columns)]
        if read.bare is None:
            draft.note(f"columns: {text} is an expression; here the columns in it are compared.", "columns")
    others = track_only(draft, tracked)
    also = "; of the others the open version takes the newest value" if others else ""
    draft.note(f"columns: {', '.join(given)}{also}.", "columns")


def _history(draft: Draft, model: SqlmeshModel) -> None:
    for option in ("valid_from_name", "valid_to_name"):
        note = f"From {option}." if option in model.kind_properties else None
        draft.put(f"history.{option.removesuffix('_name')}", _name(model, option), note)
        model.kind_properties.pop(option, None)
    kind = bare(model.kind_properties.pop("time_data_type", ""))
    if kind:
        draft.put("history.type", "date" if kind.upper() == "DATE" else "timestamp", f"time_data_type: {kind}.")
    draft.put("history.is_current", None, "SQLMesh has no such column.")


def _storage(draft: Draft, model: SqlmeshModel) -> None:
    for option, place in (("partitioned_by", "table.partition_by"), ("clustered_by", "table.cluster_by")):
        if option not in model.properties:
            continue
        names = listed(model.properties[option])
        known = {name.lower(): name for name in draft.options["columns"]}
        if all(name.lower() in known for name in names):
            draft.put(place, [known[name.lower()] for name in names], f"From {option}.")
        else:
            draft.left_out.append(f"{option}: {model.properties[option]} names no columns of the target alone")
        del model.properties[option]
    for option in ("table_format", "storage_format"):
        if bare(model.properties.get(option, "")).lower() == "delta":
            draft.put("table.format", "delta", f"From {option}.")
            del model.properties[option]
    properties = pairs(model.properties.get("physical_properties", ""))
    if properties and all(name.startswith("delta.") for name in properties):
        draft.put("table.properties", properties, "From physical_properties.")
        del model.properties["physical_properties"]
