"""A first draft of a spec: nested options, comments above them, and the YAML text of both."""

from __future__ import annotations

import io
import re
import textwrap
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import sqlglot
from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import LiteralScalarString
from sqlglot import exp
from sqlglot.errors import SqlglotError

from scdgen import sql
from scdgen.compile.compile import render
from scdgen.errors import UsageError, nearest
from scdgen.model.load import load_draft, load_spec_text, read_defaults
from scdgen.model.spec import Source, Spec
from scdgen.sql.tokens import DIALECT, tokens
from scdgen.sql.types import data_type, split_at_commas, to_spark

WIDTH = 110
Place = tuple[str, ...]
WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LOADED = re.compile(
    r"_*((dw|dwh|etl|meta|stg|last|airbyte|dlt)_)*"
    r"(ingest(ed|ion)?|load(ed|ing)?|sync(ed|hronized)?|extract(ed|ion)?|replicat(ed|ion)|import(ed)?|refresh(ed)?|"
    r"process(ed|ing)|arriv(ed|al))"
    r"_(at|on|ts|time|date|datetime|timestamp|dt)"
    r"|_?fivetran_synced",
    re.IGNORECASE,
)


class _Representer(RoundTripRepresenter):
    """Writes null as a word, because an empty value looks like a mistake."""


_Representer.add_representer(type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null"))


@dataclass
class Draft:
    """A draft: ``options`` as in the YAML, ``notes`` by the place of the option that they are written above."""

    options: dict[str, Any] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)
    notes: dict[Place, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # what the draft cannot express
    left_title: str = "Not mapped:"
    questions: list[str] = field(default_factory=list)  # what only the user knows
    warnings: list[str] = field(default_factory=list)  # what is likely to be wrong, and what to write instead

    def put(self, place: str, value: Any, note: str | None = None) -> None:
        """Set the option at a dotted place, with an optional comment above it."""
        steps = tuple(place.split("."))
        inner = self.options
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = value
        if note:
            self.note(note, *steps)

    def note(self, text: str, *place: str) -> None:
        """Add a comment above an option."""
        self.notes.setdefault(place, []).append(text)

    def text(self, file: Path | None = None) -> str:
        """Write the YAML, without what the defaults of its folder say. Raises :class:`SpecError` if it is not valid."""
        options = _left_of(self.options, read_defaults(file) if file else {})
        inner = _build_mapping(options, (), self.notes, Spec)
        out = io.StringIO()
        writer = YAML()
        writer.Representer = _Representer
        writer.width = 4096  # an expression stays on one line
        writer.indent(mapping=2, sequence=4, offset=2)
        writer.dump(inner, out)
        head = [*self.header]
        for title, lines in ((self.left_title, self.left_out), ("Check:", self.warnings)):
            if lines:
                head += ["", title, *(f"- {line}" for line in lines)]
        begin = "".join(f"{line}\n" for part in head for line in _format_comment(part, 0))
        text = f"{begin}\n{out.getvalue()}" if begin else out.getvalue()
        render(load_draft(text, file) if file else load_spec_text(text, name="the draft"))
        return text


def _left_of(options: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """Leave out the options that defaults have with the same value, and mappings of which nothing is left.

    >>> _left_of({"history": {"gap": "1 day", "action": "a"}, "table": {"layout": "none"}},
    ...          {"history": {"gap": "1 day"}, "table": {"layout": "none"}})
    {'history': {'action': 'a'}}
    """
    left = {}
    for name, value in options.items():
        both = isinstance(value, dict) and isinstance(said.get(name), dict)
        rest = _left_of(value, said[name]) if both else value
        if name not in said or rest != ({} if both else said[name]):
            left[name] = rest
    return left


def _build_mapping(options: dict[str, Any], above: Place, notes: dict[Place, list[str]], model: Any) -> CommentedMap:
    made = CommentedMap()
    order = [f.alias or name for name, f in model.model_fields.items()] if model else list(options)
    for name in sorted(options, key=order.index):
        place = (*above, name)
        inner = Source if _is_source(place) else _find_model(model, name)
        made[name] = _build_value(options[name], place, notes, inner)
        if place in notes:
            lines = [line for note in notes[place] for line in _format_comment(note, 2 * len(above), marked=False)]
            made.yaml_set_comment_before_after_key(name, before="\n".join(lines), indent=2 * len(above))
    return made


def _is_source(place: Place) -> bool:
    """Whether an option is one of several sources."""
    return len(place) == 2 and place[0] == "sources"


def _build_value(value: Any, place: Place, notes: dict[Place, list[str]], model: Any) -> Any:
    if isinstance(value, dict):
        inner = _build_mapping(value, place, notes, model)
        if len(place) > 1 and not _is_source(place):
            inner.fa.set_flow_style()
        return inner
    if isinstance(value, list):
        listed = CommentedSeq(value)
        listed.fa.set_flow_style()
        return listed
    return LiteralScalarString(f"{value.strip()}\n") if isinstance(value, str) and "\n" in value else value


def _find_model(model: Any, name: str) -> Any:
    """The model of an option that is a mapping; ``None`` for others."""
    if model is None:
        return None
    kind = next(f.annotation for key, f in model.model_fields.items() if name in (key, f.alias))
    parts = get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)


def _format_comment(text: str, indent: int, marked: bool = True) -> list[str]:
    below = "  " if text.startswith("- ") else ""
    width = WIDTH - indent
    lines = textwrap.wrap(text, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}".rstrip() if marked else line for line in lines or [""]]


def parse_columns(text: str | None) -> dict[str, str]:
    """Parse ``--columns name:type,…``. Raises :class:`UsageError`.

    >>> parse_columns("id:int, price:decimal(10,2)")
    {'id': 'int', 'price': 'decimal(10,2)'}
    """
    found: dict[str, str] = {}
    for part in split_columns(text or "") or filter(None, [text]):
        name, colon, kind = (piece.strip() for piece in part.partition(":"))
        if not colon or not name or not kind:
            raise UsageError(
                "is not a name and type; write it as name:type, such as id:int", option="--columns", value=part
            )
        found[name] = check_type(kind, f"--columns {part}", "--columns")
    return found


def check_type(kind: str, place: str, option: str | None = None) -> str:
    """Return the type as it was written. Raises :class:`UsageError` if Spark does not have it."""
    try:
        data_type(kind)
    except ValueError as error:
        raise UsageError(str(error), place=place, option=option) from error
    return kind


def to_spark_type(kind: str, where: str) -> str:
    """Convert a type to Spark's name, in lower case. Raises :class:`UsageError`.

    >>> to_spark_type("TEXT", "a"), to_spark_type("DECIMAL(10,2)", "a")
    ('string', 'decimal(10, 2)')
    """
    kind = to_spark(kind)
    named = data_type(check_type(kind, where))
    return kind if "<" in named else to_option(named)


def to_option(kind: str) -> str:
    """Return a type as an option has it: in lower case, but for the names of fields."""
    return kind if "<" in kind else kind.lower()


def is_load_time(name: str) -> bool:
    """Whether a column has the name of the time at which a row was loaded, which says nothing about the row.

    >>> [is_load_time(name) for name in ("ingested_at", "lastSyncedAt", "_fivetran_synced", "dw_load_ts")]
    [True, True, True, True]
    >>> [is_load_time(name) for name in ("updated_at", "loading_dock", "process", "order_date", "import_price")]
    [False, False, False, False, False]
    """
    return _LOADED.fullmatch(_WORDS.sub("_", name.strip("`"))) is not None


def warn_of_load_time(draft: Draft, option: str, name: str) -> None:
    """Say that the time that orders rows may be that of their arrival, if it has such a name."""
    if is_load_time(name):
        why = "its name is that of a time of loading; if so, a late row counts as the newest"
        draft.warnings.append(f"{option} {name}: {why}. Order by the time of the source")


def split_columns(text: str) -> list[str]:
    """Split a list of columns, with or without types; none of them is empty."""
    return [part.strip() for part in split_at_commas(text) if part.strip()]


def strip_comments(text: str) -> str:
    """Remove the comments of SQL, and keep its layout.

    >>> strip_comments("SELECT a, -- why\\n  b /* x */ FROM t;")
    'SELECT a,\\n  b FROM t'
    """
    out, last = "", 0
    for token in tokens(text):
        gap = text[last : token.start]
        if gap.strip():  # a comment: keep only the line break and indent of the next token
            indent = gap.rpartition("\n")[2]
            gap = ("\n" if "\n" in gap else " ") + ("" if indent.strip() or "\n" not in gap else indent)
        out += gap + text[token.start : token.end + 1]
        last = token.end + 1
    return out.strip().rstrip(";").rstrip()


def read_select(query: str) -> tuple[dict[str, str | None], str | None]:
    """Read a SELECT: (name -> type of each column, if it is a CAST; the table if it is ``SELECT * FROM table``).

    No columns for a star, or for text that sqlglot cannot read.
    """
    try:
        tree = sqlglot.parse_one(query, dialect=DIALECT)
    except SqlglotError:
        return {}, None
    listed: dict[str, str | None] = {}
    if not isinstance(tree, exp.Query):
        return listed, None
    for item in tree.selects:
        if item.is_star:
            return {}, _find_whole_table(tree)
        inner = item.unalias()
        if isinstance(inner, exp.Cast | exp.TryCast):
            listed[item.output_name or inner.this.name] = inner.to.sql(dialect=DIALECT).lower()
        else:
            listed[item.output_name] = None
    listed.pop("", None)  # it cannot be a column of a spec
    return listed, None


def _find_whole_table(tree: exp.Query) -> str | None:
    table = tree.find(exp.Table)
    if not isinstance(tree, exp.Select) or table is None or len(tree.selects) != 1:
        return None
    plain = exp.select("*").from_(exp.Table(**{part: table.args.get(part) for part in ("this", "db", "catalog")}))
    if tree.sql(dialect=DIALECT) != plain.sql(dialect=DIALECT):
        return None
    return sql.join_name(part.name for part in table.parts)


@dataclass(frozen=True)
class Given:
    """Types from outside a definition: those of ``--columns`` override it, those of data fill in missing ones."""

    columns: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


def put_columns(draft: Draft, listed: Mapping[str, str | None], given: Given) -> None:
    """Write the columns that a definition lists, or those of the data. Raises an error for one without a type."""
    seen = {name.lower(): kind for name, kind in given.data.items()}
    typed = {name: kind or seen.get(name.lower()) for name, kind in listed.items()}
    found: dict[str, str | None] = {**(typed or given.data), **given.columns}
    unknown = [name for name, kind in found.items() if kind is None]
    if not found:
        hint = "give --columns name:type,… or data with these columns: --from PATH or --table NAME"
        raise UsageError(f"{draft.options['target']}: the snapshot does not list its columns and types; {hint}")
    if unknown:
        hint = f"give --columns {','.join(f'{name}:type' for name in unknown)}, or write CASTs in the SELECT"
        raise UsageError(f"{draft.options['target']}: the types of {', '.join(unknown)} are not known; {hint}")
    draft.put("columns", {**found})


def find_column(draft: Draft, name: str, option: str) -> str:
    """Find a column by its name in any case. Raises :class:`UsageError` with the option that names it."""
    columns = draft.options["columns"]
    same: str | None = next((column for column in columns if column.lower() == name.strip('`"').lower()), None)
    if same is None:
        hint = nearest(name, columns) or f"; the columns are {', '.join(columns)}"
        raise UsageError(f"'{name}' is not among the columns{hint}", place=option)
    return same


def quote_column(name: str) -> str:
    """A column in an expression, quoted only if needed."""
    try:
        return name if sql.expression(name).bare == name else sql.quote(name)
    except ValueError:
        return sql.quote(name)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that is not taken in any case: the one that is given, or it with underscores.

    >>> free_name("deleted", ["Deleted", "id"])
    'deleted_'
    """
    others = {other.lower() for other in taken}
    while name.lower() in others:
        name += "_"
    return name


def set_option(draft: Draft, column: str, option: str, value: Any) -> None:
    """Set one option of a column; expands its short form if needed."""
    columns = draft.options["columns"]
    form = columns[column]
    columns[column] = {**(form if isinstance(form, dict) else {"type": form}), option: value}


def put_keys(draft: Draft, expressions: Iterable[str], option: str) -> None:
    """Write the keys from columns or expressions. A key that is an expression becomes a column with that value."""
    keys: list[str] = []
    for text in expressions:
        try:
            read = sql.expression(text)
        except ValueError as error:
            raise UsageError(str(error), place=option) from error
        if read.bare is not None:
            keys.append(find_column(draft, read.bare, option))
            continue
        # The columns that it reads keep their own values, and the expression may have another type.
        name = free_name("unique_key", draft.options["columns"])
        draft.options["columns"] = {name: {"type": "string", "from": text}, **draft.options["columns"]}
        keys.append(name)
        draft.note(f"{option} is an expression; this column holds it, as text.", "columns", name)
    draft.put("keys", list(dict.fromkeys(keys)))
