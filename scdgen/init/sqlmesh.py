"""A draft from a SQLMesh model of kind SCD_TYPE_2. Every property is mapped, or named as not mapped, in a comment.

The ``MODEL (…)`` of its file and its SELECT are read; no macro and no Jinja is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen import sql
from scdgen.errors import Problem, SpecError, UsageError
from scdgen.init.draft import (
    Draft,
    Given,
    find_column,
    join_name,
    put_columns,
    put_keys,
    read_select,
    set_option,
    split_list,
    strip_comments,
    to_spark_type,
    track_only,
)
from scdgen.sql.tokens import split_statements, tokens

_OPENS = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSES = {TokenType.R_PAREN, TokenType.R_BRACKET}
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


@dataclass
class SqlmeshModel:
    """One model: its properties as text (``kind_properties`` those of its kind), its query, its other statements."""

    file: str
    line: int
    kind: str = ""
    query: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    kind_properties: dict[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)

    def wrong(self, message: str, line: int | None = None) -> SpecError:
        """A mistake in this model, at its line."""
        return SpecError([Problem(self.file, line or self.line, 1, message)])


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
    parts = [unquote(part) for part in (name or "").split(".")]
    note = f"Given with --target in place of name: {name}." if target else "From name."
    draft.put("target", target or join_name(parts), note)
    if "description" in model.properties:
        draft.put("description", unquote(model.properties.pop("description")), "From description.")
    draft.put("pattern", "scd2", f"kind: {model.kind}.")
    _put_source(draft, model, given)
    _put_versions(draft, model)
    _put_history(draft, model)
    _put_storage(draft, model)
    for properties in (model.kind_properties, model.properties):
        draft.left_out += [f"{option}: {_LEFT.get(option, 'scdgen has nothing like it')}" for option in properties]
    draft.left_out += [f"the statement '{' '.join(s.split())[:60]}': run it beside scdgen" for s in model.statements]
    return draft


def _put_source(draft: Draft, model: SqlmeshModel, given: Given) -> None:
    names, table = read_select(model.query)
    draft.put("source.table" if table else "source.query", table or model.query)
    draft.put("source.feed", "snapshot", "SQLMesh compares the whole source with the table at each run.")
    dialect = unquote(model.properties.pop("dialect", ""))
    if dialect.lower() in {"spark", "databricks"}:
        draft.note(f"dialect: {dialect}.", "source")
    elif dialect:
        draft.note(f"dialect: {dialect}; the SQL is used as it is, and read as Spark's: look at it.", "source")
    own = {_read_name(model, option).lower() for option in ("valid_from_name", "valid_to_name")}
    columns: dict[str, str | None] = {**names}
    for part in split_list(model.properties.pop("columns", "()")[1:-1]):
        name, _, kind = part.partition(" ")
        if unquote(name).lower() not in own:
            columns[unquote(name)] = kind.strip()
    for name, written in columns.items():
        if written and name not in given.columns:
            columns[name] = to_spark_type(written, f"{model.file}: {name}")
    put_columns(draft, {name: kind for name, kind in columns.items() if name.lower() not in own}, given, "the model")
    comments = parse_pairs(model.properties.pop("column_descriptions", ""))
    if comments:
        draft.note("Comments from column_descriptions.", "columns")
    for name, comment in comments.items():
        set_option(draft, find_column(draft, name, "column_descriptions"), "comment", comment)


def _read_name(model: SqlmeshModel, option: str) -> str:
    return unquote(model.kind_properties.get(option, option.removesuffix("_name")))


def _read_flag(model: SqlmeshModel, option: str) -> bool:
    value = unquote(model.kind_properties.pop(option, "false")).lower()
    if value not in {"true", "false"}:
        raise model.wrong(f"{option}: '{value}' is not one of true, false")
    return value == "true"


def _put_versions(draft: Draft, model: SqlmeshModel) -> None:
    """Keys, what opens a version, when it starts, and what a missing key means."""
    properties = model.kind_properties
    if "unique_key" not in properties:
        raise model.wrong("the kind has no unique_key; a model of this kind needs one")
    keys = split_entries(properties.pop("unique_key"))
    put_keys(draft, keys, "unique_key")
    draft.note(f"unique_key: {', '.join(keys)}.", "keys")
    by_column = model.kind == "SCD_TYPE_2_BY_COLUMN"
    time = unquote(properties.pop("updated_at_name", "" if by_column else "updated_at"))
    if by_column:
        _put_tracked(draft, model)
        at_execution = _read_flag(model, "execution_time_as_valid_from")
        if time:
            draft.put("source.effective_at", _quote_column(draft, time), f"updated_at_name: {time}.")
        if not at_execution:
            start = "at their time" if time else "when the snapshot was taken"
            note = "execution_time_as_valid_from: false lets the versions of the first run start in 1970"
            draft.note(f"{note}; here they start {start}.", "source", "feed")
        else:
            draft.note("execution_time_as_valid_from: true.", "source", "feed")
    else:
        draft.put("source.effective_at", _quote_column(draft, time), f"updated_at_name: {time}.")
        if not _read_flag(model, "updated_at_as_valid_from"):
            note = "updated_at_as_valid_from: false lets the first version of a key start in 1970"
            draft.note(f"{note}; here it starts at its time.", "source", "effective_at")
        else:
            draft.note("updated_at_as_valid_from: true.", "source", "effective_at")
        note = "SQLMesh passes over a row that is older than the open version; fail reports it."
        draft.put("late_arriving", "ignore", note)
        note = f"SQLMesh opens a version whenever {time} moves; without this column, only where another value changes."
        draft.note(note, "columns", find_column(draft, time, "updated_at_name"))
    closes = _read_flag(model, "invalidate_hard_deletes")
    draft.put("on_delete", "close" if closes else "ignore", f"invalidate_hard_deletes: {str(closes).lower()}.")


def _quote_column(draft: Draft, name: str) -> str:
    column = find_column(draft, name, "updated_at_name")
    return column if column.isidentifier() else sql.quote(column)


def _put_tracked(draft: Draft, model: SqlmeshModel) -> None:
    if "columns" not in model.kind_properties:
        raise model.wrong("the kind has no columns; SCD_TYPE_2_BY_COLUMN needs them, or *")
    given = split_entries(model.kind_properties.pop("columns"))
    if given == ["*"]:
        draft.note("columns: *; a change of any column opens a version.", "columns")
        return
    tracked: list[str] = []
    for text in given:
        try:
            read = sql.expression(text)
        except ValueError as error:
            raise model.wrong(f"columns: {error}") from error
        tracked += [find_column(draft, name, "columns") for name in sorted(read.columns)]
        if read.bare is None:
            draft.note(f"columns: {text} is an expression; here the columns in it are compared.", "columns")
    others = track_only(draft, tracked)
    also = "; of the others the open version takes the newest value" if others else ""
    draft.note(f"columns: {', '.join(given)}{also}.", "columns")


def _put_history(draft: Draft, model: SqlmeshModel) -> None:
    for option in ("valid_from_name", "valid_to_name"):
        note = f"From {option}." if option in model.kind_properties else None
        draft.put(f"history.{option.removesuffix('_name')}", _read_name(model, option), note)
        model.kind_properties.pop(option, None)
    kind = unquote(model.kind_properties.pop("time_data_type", ""))
    if kind:
        draft.put("history.type", "date" if kind.upper() == "DATE" else "timestamp", f"time_data_type: {kind}.")
    draft.put("history.is_current", None, "SQLMesh has no such column.")


def _put_storage(draft: Draft, model: SqlmeshModel) -> None:
    for option, place in (("partitioned_by", "table.partition_by"), ("clustered_by", "table.cluster_by")):
        if option not in model.properties:
            continue
        names = split_entries(model.properties[option])
        known = {name.lower(): name for name in draft.options["columns"]}
        if all(name.lower() in known for name in names):
            draft.put(place, [known[name.lower()] for name in names], f"From {option}.")
        else:
            draft.left_out.append(f"{option}: {model.properties[option]} names no columns of the target alone")
        del model.properties[option]
    for option in ("table_format", "storage_format"):
        if unquote(model.properties.get(option, "")).lower() == "delta":
            draft.put("table.format", "delta", f"From {option}.")
            del model.properties[option]
    properties = parse_pairs(model.properties.get("physical_properties", ""))
    if properties and all(name.startswith("delta.") for name in properties):
        draft.put("table.properties", properties, "From physical_properties.")
        del model.properties["physical_properties"]


def read_model(file: str, text: str) -> SqlmeshModel:
    """The model of a SQLMesh file; raises :class:`SpecError` where it cannot be read."""
    begin = re.search(r"\bMODEL\s*\(", text, re.IGNORECASE)
    model = SqlmeshModel(file, text.count("\n", 0, begin.start()) + 1 if begin else 1)
    jinja = re.search(r"\{\{|\{%|\bJINJA_QUERY_BEGIN\b", text)
    if jinja:
        raise model.wrong("holds Jinja, which is not run here; write its SQL in its place", _line(text, jinja.start()))
    try:
        statements = split_statements(strip_comments(text))
    except ValueError as error:
        raise model.wrong(str(error)) from error
    heads = [s for s in statements if re.match(r"MODEL\s*\(", s, re.IGNORECASE)]
    queries = [s for s in statements if re.match(r"(SELECT|WITH)\b", s, re.IGNORECASE)]
    if len(heads) != 1 or len(queries) != 1:
        raise model.wrong("holds no SQLMesh model; give one with one 'MODEL (…);' and one SELECT after it")
    model.query = queries[0]
    model.statements = [statement for statement in statements if statement not in (heads[0], queries[0])]
    model.properties = _read_properties(model, heads[0][heads[0].index("(") :])
    kind = model.properties.pop("kind", "")
    model.kind, bracket, rest = kind.partition("(")
    model.kind = model.kind.strip().upper()
    model.kind_properties = _read_properties(model, f"({rest}") if bracket else {}
    _refuse_macros(model, text)
    return model


def _refuse_macros(model: SqlmeshModel, text: str) -> None:
    values = [model.query, *model.properties.values(), *model.kind_properties.values()]
    for value in values:
        found = re.search(r"@\w+", re.sub(r"'[^']*'", "", value))
        if found:
            message = f"{found[0]} is a macro, which is not run here; write its SQL in its place"
            raise model.wrong(message, _line(text, text.index(found[0])))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _read_properties(model: SqlmeshModel, text: str) -> dict[str, str]:
    """Name and value of ``(name value, name value, …)``."""
    found = tokens(text)
    pieces = _split_properties(model, found)
    named = [(piece[0].text.lower(), text[piece[0].end + 1 : piece[-1].end + 1].strip()) for piece in pieces]
    twice = next((name for name, _ in named if [other for other, _ in named].count(name) > 1), None)
    if twice:
        raise model.wrong(f"'{twice}' is written twice; keep one")
    return dict(named)


def _split_properties(model: SqlmeshModel, found: Sequence[Token]) -> list[list[Token]]:
    pieces: list[list[Token]] = [[]]
    depth = 0
    for place, token in enumerate(found):
        depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
        if depth == 0:
            if place != len(found) - 1:
                raise model.wrong("the brackets of MODEL (…) do not match; close each")
            return [piece for piece in pieces if piece]
        if depth == 1 and token.token_type is TokenType.COMMA:
            pieces.append([])
        elif place:
            pieces[-1].append(token)
    raise model.wrong("the brackets of MODEL (…) do not match; close each")


def split_entries(value: str) -> list[str]:
    """The entries of ``a``, ``(a, b)`` or ``[a, b]``; names without their quotes.

    >>> split_entries("(id, COALESCE(region, ''))"), split_entries("[a]"), split_entries("COALESCE(id, -1)")
    (['id', "COALESCE(region, '')"], ['a'], ['COALESCE(id, -1)'])
    """
    whole = (value.startswith("(") and value.endswith(")")) or (value.startswith("[") and value.endswith("]"))
    return [unquote(part) for part in (split_list(value[1:-1]) if whole else [value])]


def unquote(value: str) -> str:
    """A name or a text without the quotes around it.

    >>> unquote("'dim'"), unquote('"a b"'), unquote("a || 'x'")
    ('dim', 'a b', "a || 'x'")
    """
    return value[1:-1] if re.fullmatch(r"'[^']*'|\"[^\"]*\"|`[^`]*`", value) else value


def parse_pairs(value: str) -> dict[str, str]:
    """The entries of ``('a' = 'b', c = d)``.

    >>> parse_pairs("('delta.x' = 'true', id = 'The key')")
    {'delta.x': 'true', 'id': 'The key'}
    """
    parts = (part.partition("=") for part in split_entries(value))
    return {unquote(name.strip()): unquote(text.strip()) for name, equals, text in parts if equals}
