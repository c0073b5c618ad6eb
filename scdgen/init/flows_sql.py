"""Reads AUTO CDC in SQL, for which sqlglot has no grammar: statements are cut at the words that begin their clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen import sql
from scdgen.errors import Problem, SpecError, quoted
from scdgen.init.draft import split_columns, strip_comments, to_option
from scdgen.init.flows import NAME, Clause, Flow, Pipeline, Place, TargetTable, plain_name
from scdgen.sql.tokens import DIALECT, split_tokens, tokens

# A longer clause comes before one that it begins with.
_CLAUSES = sorted((clause for clause in Clause if clause is not Clause.ONCE), key=len, reverse=True)
_TABLE_CLAUSES = (
    "COMMENT", "CLUSTER BY", "PARTITIONED BY", "TBLPROPERTIES", "SCHEDULE", "TRIGGER", "WITH ROW FILTER",
    "DEFAULT COLLATION", "LOCATION",
)  # fmt: skip
_FLOW = re.compile(
    rf"(?:CREATE FLOW (?P<name>{NAME})(?: COMMENT (?:'[^']*'|\"[^\"]*\"))? AS )?"
    rf"(?:AUTO CDC|APPLY CHANGES)(?P<once> ONCE)? INTO (?P<target>{NAME})",
    re.IGNORECASE,
)
_TABLE = re.compile(
    r"CREATE\s+(?:OR\s+REFRESH\s+)?(?:PRIVATE\s+)?STREAMING\s+(?:LIVE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"(?P<target>{NAME})",
    re.IGNORECASE,
)
_CONSTRAINT = re.compile(r"CONSTRAINT\s+(?:`[^`]+`|\w+)|PRIMARY\s+KEY\b|FOREIGN\s+KEY\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\$\{[^}\n]*\}|\bIDENTIFIER\s*\([^)\n]*\)", re.IGNORECASE)
_GIVE = (
    "write CREATE FLOW name AS AUTO CDC INTO target FROM …, APPLY CHANGES INTO target FROM …, or CREATE STREAMING "
    "TABLE target FLOW AUTO CDC FROM …"
)


def read_sql(path: Path, text: str) -> Pipeline:
    """Read the flows of a file of SQL, and the statements of their tables. Raises :class:`SpecError`."""
    pipeline = Pipeline(str(path))
    first: Token | None = None
    try:
        statements = [found for found, _ in split_tokens(tokens(text)) if found]
    except ValueError as error:
        raise SpecError([Problem(str(path), 1, 1, str(error))]) from error
    for read in statements:
        first = first or read[0]
        begin = _find_flow(read)
        # The statement of a table may stand before the flow into it.
        head = text[read[0].start : read[begin].start if begin is not None else read[-1].end + 1]
        table = _TABLE.match(strip_comments(head))
        # Only a flow has to be free of placeholders, because other statements are not read.
        if begin is not None:
            _refuse_placeholders(str(path), text, read)
        if begin is not None and table is not None:
            name = _add_table(pipeline, strip_comments(head), table, read[0].line)
            pipeline.flows.append(_read_own_flow(str(path), text, read, begin, name))
        elif begin is not None:
            pipeline.flows.append(_read_flow(str(path), text, read))
        elif table is not None and "AS" not in _words(read):
            _add_table(pipeline, strip_comments(head), table, read[0].line)
    if not pipeline.flows:
        raise SpecError([Problem(str(path), first.line if first else 1, 1, f"holds no flow of AUTO CDC; {_GIVE}")])
    return pipeline


def _refuse_placeholders(file: str, text: str, read: Sequence[Token]) -> None:
    """Raise :class:`SpecError` for a name that only a run of the pipeline knows."""
    if found := _PLACEHOLDER.search(text, read[0].start, read[-1].end + 1):
        line = text.count("\n", 0, found.start()) + 1
        message = f"{found[0]} is filled in by the pipeline; write the name that it stands for"
        raise SpecError([Problem(file, line, 1, message)])


def _words(read: Sequence[Token]) -> list[str]:
    """Return the tokens in upper case; a text, a quoted name and what is in brackets are empty."""
    words = ["" if t.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else t.text.upper() for t in read]
    depths = list(accumulate((word == "(") - (word == ")") for word in words))
    return [word if depth == 0 else "" for word, depth in zip(words, depths, strict=True)]


def _find_flow(read: Sequence[Token]) -> int | None:
    """Return the place of the word that begins a flow: FLOW of a table's statement, else the first of the flow."""
    words = _words(read)
    for at in range(len(words)):
        if words[at : at + 2] in (["AUTO", "CDC"], ["APPLY", "CHANGES"]):
            return at - 1 if at and words[at - 1] == "FLOW" else at
    return None


def _find_clauses(read: Sequence[Token], clauses: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return the clauses outside brackets, each with the place of its first token and of the first after its name."""
    words = _words(read)
    found: list[tuple[str, int, int]] = []
    at = 0
    while at < len(words):
        # The tokenizer takes some names of two words, such as CLUSTER BY, as one.
        names = ((name, at + size) for name in clauses for size in range(1, 5) if _reads(words[at : at + size], name))
        name, end = next(names, ("", at + 1))
        if name and not (name.startswith(Clause.FROM) and found):  # a second FROM is that of an expression
            found.append((name, at, end))
        at = end
    return found


def _reads(words: Sequence[str], name: str) -> bool:
    return " ".join(" ".join(words).split()) == name and "" not in words


def _read_flow(file: str, text: str, read: Sequence[Token]) -> Flow:
    """Read a statement that is a flow. Raises :class:`SpecError`."""
    starts = _find_clauses(read, _CLAUSES)
    head = strip_comments(text[read[0].start : read[starts[0][1]].start if starts else read[-1].end + 1])
    begin = _FLOW.fullmatch(" ".join(head.split()))
    place = Place(read[0].line, 1, "AUTO CDC")
    if begin is None or not starts or not starts[0][0].startswith(Clause.FROM):
        raise SpecError([Problem(file, place.line, 1, f"is not a flow of AUTO CDC that can be read; {_GIVE}")])
    clauses, places = _read_clauses(file, text, read, starts)
    name = sql.unquote(begin["name"].split(".")[-1]) if begin["name"] else None
    return Flow(file, name, plain_name(begin["target"]), clauses, places, place, once=bool(begin["once"]))


def _read_own_flow(file: str, text: str, read: Sequence[Token], begin: int, target: str) -> Flow:
    """Read the flow that is part of a table's statement, from its word FLOW on. Raises :class:`SpecError`."""
    words = _words(read)
    place = Place(read[begin].line, 1, "FLOW AUTO CDC")
    once = words[begin + 3 : begin + 4] == ["ONCE"]
    rest = read[begin + 3 + once :]
    starts = _find_clauses(rest, _CLAUSES)
    if not starts or starts[0][1] != 0 or not starts[0][0].startswith(Clause.FROM):
        message = "is not followed by FROM; write FLOW AUTO CDC FROM stream(source) …"
        raise SpecError([Problem(file, place.line, 1, f"{place.label}: {message}")])
    clauses, places = _read_clauses(file, text, rest, starts)
    return Flow(file, None, target, clauses, places, place, once=once)


def _read_clauses(
    file: str, text: str, read: Sequence[Token], starts: Sequence[tuple[str, int, int]]
) -> tuple[dict[Clause, str], dict[Clause, Place]]:
    """Return the text and the place of each clause. Raises :class:`SpecError` if one is twice there, or empty."""
    clauses: dict[Clause, str] = {}
    places: dict[Clause, Place] = {}
    ends = [at for _, at, _ in starts[1:]] + [len(read)]
    for (words, at, inner), end in zip(starts, ends, strict=True):
        name = Clause(words)
        if name in clauses:
            raise SpecError([Problem(file, read[at].line, 1, f"{name}: is there twice; leave one")])
        inside = read[inner:end]
        clauses[name] = strip_comments(text[inside[0].start : inside[-1].end + 1]) if inside else ""
        places[name] = Place(read[at].line, 1, name)
        if not clauses[name] and name != Clause.NULLS:
            message = f"{name}: is empty; write what it stands for, or remove it"
            raise SpecError([Problem(file, read[at].line, 1, message)])
    return clauses, places


def _add_table(pipeline: Pipeline, statement: str, begin: re.Match[str], line: int) -> str:
    """Read the statement of a streaming table, without a flow of its own, and return its name."""
    name = plain_name(begin["target"])
    table = pipeline.tables.setdefault(name.lower(), TargetTable())
    rest = statement[begin.end() :].strip()
    try:
        if rest.startswith("("):
            inner = _in_brackets(rest)
            read_columns(table, inner)
            rest = rest[len(inner) + 2 :].strip()
        _read_table_clauses(table, rest)
    except (SqlglotError, ValueError) as error:
        message = f"the statement of {name} cannot be read: {str(error).splitlines()[0].rstrip('. ')}"
        raise SpecError([Problem(pipeline.file, line, 1, f"{message}; correct it, or take it out")]) from error
    return name


def _in_brackets(text: str) -> str:
    """Return what is between the first bracket of a text and the one that closes it."""
    depth = 0
    for token in tokens(text):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            return text[1 : token.start]
    raise ValueError("a bracket is not closed")


def read_columns(table: TargetTable, listed: str) -> None:
    """Read the columns of a table, as in CREATE TABLE. Raises ``ValueError``, or sqlglot's error."""
    for part in split_columns(listed):
        if constraint := _CONSTRAINT.match(part):
            table.left_out.append(constraint[0])
            continue
        # sqlglot does not know MASK, so cut it off.
        shown, _, mask = re.sub(r"\sMASK\s", "\0", part, count=1, flags=re.IGNORECASE).partition("\0")
        made = sqlglot.parse_one(f"CREATE TABLE t ({shown})", dialect=DIALECT)
        column = next(made.find_all(exp.ColumnDef), None)
        if column is None or column.args.get("kind") is None:
            raise ValueError(f"'{part}' is not a column with a type")
        if mask:
            table.left_out.append(f"MASK of {column.name}")
        table.columns[column.name] = _read_column(table, column)


def _read_column(table: TargetTable, column: exp.ColumnDef) -> dict[str, Any]:
    """Return the options of a column, and note what a spec does not have."""
    options: dict[str, Any] = {"type": to_option(column.args["kind"].sql(dialect=DIALECT))}
    for constraint in column.constraints:
        found = constraint.kind
        if isinstance(found, exp.NotNullColumnConstraint) and not found.args.get("allow_null"):
            options["nullable"] = False
        elif isinstance(found, exp.CommentColumnConstraint):
            options["comment"] = found.this.name
        else:
            table.left_out.append(f"{constraint.sql(dialect=DIALECT)} of {column.name}")
    return options


def _read_table_clauses(table: TargetTable, text: str) -> None:
    """Read what comes after the columns of a table: its comment, and the names of what is left out."""
    read = tokens(text)
    starts = _find_clauses(read, _TABLE_CLAUSES)
    if read and (not starts or starts[0][1] != 0):
        raise ValueError(f"{quoted(text)} is not a clause of it")
    for name, _, inner in starts:
        if name == "COMMENT" and inner < len(read):
            table.description = read[inner].text
        else:
            table.left_out.append(name)
