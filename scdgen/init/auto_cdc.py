"""Drafts a spec from a statement of Databricks: ``CREATE FLOW … AS AUTO CDC INTO``, or ``APPLY CHANGES INTO``.

Each clause is mapped, or listed as not mapped in a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen import sql
from scdgen.errors import Problem, SpecError, UsageError, quoted
from scdgen.init.draft import Draft, Given, find_column, put_columns, set_option, split_list, strip_comments
from scdgen.sql.tokens import split_statements, tokens
from scdgen.sql.types import data_type

# A longer clause comes before one that it begins with.
_CLAUSES = (
    "FROM", "KEYS", "IGNORE NULL UPDATES", "APPLY AS DELETE WHEN", "APPLY AS TRUNCATE WHEN", "SYSTEM SEQUENCE BY",
    "SEQUENCE BY", "COLUMNS TO UPDATE", "COLUMNS", "STORED AS", "TRACK HISTORY ON",
)  # fmt: skip
_PART = r"(?:`[^`]+`|[\w-]+)"
_NAME = rf"{_PART}(?:\.{_PART})*"
_BEGIN = re.compile(
    rf"(?:CREATE FLOW {_NAME}(?P<comment> COMMENT (?:'[^']*'|\"[^\"]*\"))? AS AUTO CDC(?P<once> ONCE)?|APPLY CHANGES)"
    rf" INTO (?P<target>{_NAME})",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    rf"(?:STREAM\s*\(\s*({_NAME})\s*\)|(?:STREAM\s+)?({_NAME}))(?:\s+(WITH\b.*))?", re.IGNORECASE | re.DOTALL
)
_EXCEPT = re.compile(r"\*\s*EXCEPT\b\s*(.+)", re.IGNORECASE | re.DOTALL)
_STRUCT = re.compile(r"STRUCT\s*\((.+)\)", re.IGNORECASE | re.DOTALL)
_CONDITIONS = {
    "APPLY AS DELETE WHEN": "delete_when",
    "APPLY AS TRUNCATE WHEN": "truncate_when",
    "COLUMNS TO UPDATE": "sets",
}
_HISTORY_TYPES = {"DATE": "date", **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "bigint")}
_GIVE = "write CREATE FLOW name AS AUTO CDC INTO target FROM stream(source) …, or APPLY CHANGES INTO target FROM …"
_TWO_LISTS = "write a list of columns, or * EXCEPT (columns)"


@dataclass(frozen=True)
class _Columns:
    """A list of columns, or all but those in the list."""

    names: tuple[str, ...]
    all_but: bool

    def choose(self, draft: Draft, option: str) -> list[str]:
        """The columns of the draft that are meant, keys left out."""
        named = {find_column(draft, name, option) for name in self.names}
        keys = draft.options["keys"]
        return [name for name in draft.options["columns"] if (name in named) != self.all_but and name not in keys]


@dataclass(frozen=True)
class _Statement:
    """The clauses of one statement: the text of each without comments, and the line where it begins."""

    file: str
    begin: re.Match[str]
    clauses: dict[str, str]
    lines: dict[str, int]

    def wrong(self, clause: str, message: str) -> SpecError:
        """The error for a mistake in a clause, or at the first line if the clause is missing."""
        return SpecError([Problem(self.file, self.lines.get(clause, self.lines[""]), 1, f"{clause}: {message}")])

    def expression(self, clause: str, text: str) -> str:
        """The text, if it is one expression. Raises :class:`SpecError`."""
        try:
            sql.expression(text)
        except ValueError as error:
            raise self.wrong(clause, str(error)) from error
        return text

    def columns(self, clause: str) -> _Columns | None:
        """The columns that a clause lists; ``None`` without the clause, and for ``*``. Raises :class:`SpecError`."""
        text = re.sub(r"^ON\b\s*", "", self.clauses.get(clause, ""), flags=re.IGNORECASE)
        if text in ("", "*"):
            return None
        but = _EXCEPT.fullmatch(text)
        listed = but[1] if but else text
        inner = listed[1:-1] if listed.startswith("(") and listed.endswith(")") else listed
        names = []
        for part in split_list(inner):
            bare = sql.expression(self.expression(clause, part)).bare
            if bare is None:
                raise self.wrong(clause, f"'{part}' is not a column; {_TWO_LISTS}")
            names.append(bare)
        if not names:
            raise self.wrong(clause, f"lists no column; {_TWO_LISTS}")
        return _Columns(tuple(names), but is not None)


def draft_from_auto_cdc(path: Path, text: str, target: str | None, given: Given) -> Draft:
    """Draft a spec from the one statement of a file; ``given`` are types from elsewhere.

    Raises :class:`SpecError` if the statement cannot be read, :class:`UsageError` if an option does not fit it.
    """
    found = _read(path, text)
    draft = Draft(header=[f"Drafted by scdgen init from {path.name}; read it before the first run."])
    own = _drop_live(found.begin["target"])
    draft.put("target", target or own, f"Given with --target instead of {own}." if target else None)
    stored = " ".join(found.clauses.get("STORED AS", "SCD TYPE 1").upper().split())
    if stored not in ("SCD TYPE 1", "SCD TYPE 2", "BITEMPORAL"):
        raise found.wrong("STORED AS", f"'{stored}' is not a type; write SCD TYPE 1 or SCD TYPE 2")
    draft.put("pattern", "scd1" if stored == "SCD TYPE 1" else "scd2")
    if "STORED AS" not in found.clauses:
        draft.note("The default of STORED AS.", "pattern")
    _put_source(draft, found)
    sequence = sql.expression(draft.options["source"]["effective_at"]).bare
    kind = _put_columns(draft, found, given, sequence)
    if stored == "SCD TYPE 1":
        draft.put("updated_at", sequence or "updated_at", "Orders changes across batches; AUTO CDC hides it.")
    else:
        note = None if kind else "A guess: the statement has no type of SEQUENCE BY; timestamp, date or bigint."
        draft.put("history.type", _HISTORY_TYPES.get(data_type(kind), "timestamp") if kind else "timestamp", note)
        draft.put("history.valid_from", "__START_AT", "The columns of AUTO CDC.")
        draft.put("history.valid_to", "__END_AT")
        draft.put("history.is_current", None)
    _put_rules(draft, found, stored)
    return draft


def _read(path: Path, text: str) -> _Statement:
    """Split the statement of a file into clauses. Raises :class:`SpecError`."""

    def wrong(line: int, message: str) -> SpecError:
        return SpecError([Problem(str(path), line, 1, message)])

    try:
        statements = [part for part in split_statements(text) if strip_comments(part)]
        read = [token for token in tokens(text) if token.token_type is not TokenType.SEMICOLON]
    except ValueError as error:
        raise wrong(1, str(error)) from error
    if len(statements) != 1:
        line = read[0].line if read else 1
        raise wrong(line, f"holds {len(statements)} statements; leave the one AUTO CDC statement in it")
    starts = _find_clauses(read)
    head = strip_comments(text[: read[starts[0][1]].start if starts else len(text)])
    begin = _BEGIN.fullmatch(" ".join(head.split()))
    if begin is None or not starts or starts[0][0] != "FROM":
        raise wrong(read[0].line, f"is neither AUTO CDC INTO nor APPLY CHANGES INTO; {_GIVE}")
    lines = {"": read[0].line, **{name: read[at].line for name, at in starts}}
    clauses: dict[str, str] = {}
    ends = [at for _, at in starts[1:]] + [len(read)]
    for (name, at), end in zip(starts, ends, strict=True):
        if name in clauses:
            raise wrong(read[at].line, f"{name}: is there twice; leave one")
        inside = read[at + len(name.split()) : end]
        clauses[name] = strip_comments(text[inside[0].start : inside[-1].end + 1]) if inside else ""
        if not clauses[name] and name != "IGNORE NULL UPDATES":
            raise wrong(read[at].line, f"{name}: is empty; write what it stands for, or remove it")
    statement = _Statement(str(path), begin, clauses, lines)
    for name in ("KEYS", "SEQUENCE BY"):
        if name not in clauses:
            raise statement.wrong(name, "is missing; AUTO CDC needs it, and so does a spec")
    return statement


def _find_clauses(read: list[Token]) -> list[tuple[str, int]]:
    """The clauses outside brackets, each with the place of its first token. A second FROM is that of an expression."""
    words = ["" if t.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else t.text.upper() for t in read]
    found: list[tuple[str, int]] = []
    depth = after = 0
    for at, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        names = (name for name in _CLAUSES if words[at : at + len(name.split())] == name.split())
        name = next(names, None) if depth == 0 and at >= after else None
        if name is not None and not (name == "FROM" and found):
            found.append((name, at))
            after = at + len(name.split())
    return found


def _drop_live(name: str) -> str:
    return re.sub(r"^live\.", "", name, flags=re.IGNORECASE)


def _put_source(draft: Draft, found: _Statement) -> None:
    source = _SOURCE.fullmatch(found.clauses["FROM"])
    if source is None:
        raise found.wrong("FROM", f"{quoted(found.clauses['FROM'])} is not a table; write stream(catalog.schema.table)")
    draft.put("source.table", _drop_live(source[1] or source[2]))
    if source[3]:
        draft.left_out.append(f"FROM … {source[3]}: an option of the stream; scdgen reads the table")
    struct = _STRUCT.fullmatch(found.clauses["SEQUENCE BY"])
    parts = split_list(struct[1] if struct else "") or [found.clauses["SEQUENCE BY"]]
    first, *others = [found.expression("SEQUENCE BY", part) for part in parts]
    draft.put("source.effective_at", first, "From SEQUENCE BY.")
    if others:
        draft.put("source.sequence_by", others)
    for clause, option in _CONDITIONS.items():
        if clause in found.clauses:
            draft.put(f"source.{option}", found.expression(clause, found.clauses[clause]), f"From {clause}.")


def _put_columns(draft: Draft, found: _Statement, given: Given, sequence: str | None) -> str | None:
    """Write columns and keys, and return the type of the column ``sequence`` if it is known."""
    types = {name.lower(): kind for name, kind in {**given.data, **given.columns}.items()}
    keys = found.columns("KEYS")
    if keys is None or keys.all_but:
        raise found.wrong("KEYS", "is not a list of columns; write KEYS (a, b)")
    chosen = found.columns("COLUMNS")
    others = [found.columns(clause) for clause in ("TRACK HISTORY ON", "IGNORE NULL UPDATES")]
    if chosen and not chosen.all_but:
        names: Iterable[str] = chosen.names
    else:
        named = [name for listed in (keys, *others) if listed for name in listed.names]
        names = [*given.data, *given.columns, *named]
    left = {name.lower() for name in chosen.names} if chosen and chosen.all_but else set()
    if draft.options["pattern"] == "scd1" and sequence:
        names, left = [*names, sequence], left - {sequence.lower()}
    first = {name.lower(): name for name in reversed([*keys.names, *names])}
    order = dict.fromkeys(name.lower() for name in [*keys.names, *names] if name.lower() not in left)
    extra = [n for n in given.columns if n.lower() not in {*order, *left, (sequence or "").lower()}]
    if extra:
        raise UsageError(
            "the statement's COLUMNS does not list it; add it there or remove it", option="--columns", value=extra[0]
        )
    put_columns(draft, {first[name]: types.get(name, "string") for name in order}, Given())
    guessed = [first[name] for name in order if name not in types]
    if guessed:
        draft.note(f"The statement has no types: string is a guess for {', '.join(guessed)}.", "columns")
    if not (chosen and not chosen.all_but) and not given.data:
        but = f" except {', '.join(chosen.names)}" if chosen else ""
        draft.note(f"COLUMNS * stands for all of the source{but}: add those that are missing.", "columns")
    draft.put("keys", [find_column(draft, name, "KEYS") for name in keys.names])
    return types.get((sequence or "").lower())


def _put_rules(draft: Draft, found: _Statement, stored: str) -> None:
    """Write the options of single columns, and list the clauses that are not mapped."""
    tracked = found.columns("TRACK HISTORY ON")
    if stored == "SCD TYPE 1" and "TRACK HISTORY ON" in found.clauses:
        draft.left_out.append("TRACK HISTORY ON: a table of type 1 has no history")
    elif tracked is not None:
        keys = draft.options["keys"]
        kept = tracked.choose(draft, "TRACK HISTORY ON")
        for name in [name for name in draft.options["columns"] if name not in kept and name not in keys]:
            set_option(draft, name, "track", False)
    if stored == "SCD TYPE 1" and "IGNORE NULL UPDATES" in found.clauses:
        draft.left_out.append("IGNORE NULL UPDATES: nulls: is for scd2; source.sets can name the columns of each row")
    elif "IGNORE NULL UPDATES" in found.clauses:
        draft.note("IGNORE NULL UPDATES: nulls: ignore in each column that it means.", "columns")
        ignored = found.columns("IGNORE NULL UPDATES") or _Columns((), all_but=True)
        for name in ignored.choose(draft, "IGNORE NULL UPDATES"):
            set_option(draft, name, "nulls", "ignore")
    unmapped = {
        "COMMENT": (found.begin["comment"], "the text on a flow; a table has description"),
        "ONCE": (found.begin["once"], "each run is a batch"),
        "STORED AS BITEMPORAL": (stored == "BITEMPORAL", "scdgen keeps no system time; drafted as scd2"),
        "SYSTEM SEQUENCE BY": ("SYSTEM SEQUENCE BY" in found.clauses, "scdgen keeps no system time"),
    }
    draft.left_out += [f"{clause}: {why}" for clause, (there, why) in unmapped.items() if there]
