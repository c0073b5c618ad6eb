"""Generated SQL as a list of statements: the text of a template is cut here once, and nothing cuts it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.sql.tokens import split_tokens, tokens
from scdgen.sql.words import join_lines

_MAKES = {TokenType.CREATE, TokenType.DECLARE, TokenType.SET, TokenType.MERGE, TokenType.ALTER}
_BEFORE_NAME = {"INTO", "TABLE", "VIEW", "FUNCTION", "SCHEMA", "VARIABLE", "VAR"}
_LONGEST_KIND = 6  # words before the name, without IF NOT EXISTS: CREATE OR REPLACE GLOBAL TEMPORARY VIEW
_ACTIONS = {TokenType.UPDATE, TokenType.DELETE, TokenType.INSERT}


@dataclass(frozen=True)
class Step:
    """A step of merge.sql: a statement before the MERGE, or a CTE, the ON or a WHEN of it."""

    name: str
    """The kind and the name of the statement, the name of the CTE, ``ON``, or the condition with its action."""
    comment: str
    """The comment above it, or of a CTE inside its parentheses, on one line."""


@dataclass(frozen=True)
class Statement:
    """A statement as its file has it."""

    kind: str
    """The words before the name, in upper case: ``SET VARIABLE``, ``CREATE TABLE IF NOT EXISTS``, ``SELECT``."""
    name: str
    """What it makes or changes, as written: a table, or ``(a, b)`` for two variables; empty for a query."""
    above: str
    """The blank lines and comments before it."""
    body: str
    """From its first word to its last one, without the semicolon."""
    rest: str
    """The end of the body, after the name; all of it without a name."""
    written: str
    """Everything after the statement before it, with its own semicolon."""

    @property
    def text(self) -> str:
        """Return the statement as an engine takes it: with its comments, without its semicolon."""
        return f"{self.above}{self.body}".strip()

    @property
    def comment(self) -> str:
        """Return the comment directly above it on one line; empty if a blank line separates them."""
        return _last_comment(self.above)

    @property
    def declares(self) -> bool:
        """Whether it declares a variable."""
        return self.kind.startswith("DECLARE")

    @property
    def sets(self) -> bool:
        """Whether it sets variables."""
        return self.kind.startswith("SET VAR")

    @property
    def merges(self) -> bool:
        """Whether it is a MERGE."""
        return self.kind.startswith("MERGE")


@dataclass(frozen=True)
class Script:
    """The statements of a file."""

    statements: tuple[Statement, ...] = ()
    """The statements, in order; none if a spec does not need the file."""
    end: str = ""
    """What follows the last statement."""

    def __bool__(self) -> bool:
        """Whether the file has statements."""
        return bool(self.statements)

    @property
    def text(self) -> str:
        """Return the text of the file."""
        return "".join(statement.written for statement in self.statements) + self.end

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the statements as an engine takes them: with their comments, without their semicolons."""
        return tuple(statement.text for statement in self.statements)

    @property
    def head(self) -> str:
        """Return the comment with which the file begins: its first paragraph."""
        return self.statements[0].above.strip().partition("\n\n")[0] if self.statements else ""

    def steps(self) -> Iterator[Step]:
        """Yield the variables, CTEs and clauses of a merge.sql, in order, each with its comment."""
        declared = ""  # describes the SET that follows
        for statement in self.statements:
            if statement.declares:
                declared = f"{declared} {statement.comment}".strip()
            elif statement.merges:
                yield from _list_clauses(statement.body)
            else:
                yield Step(f"{statement.kind} {statement.name}".strip(), statement.comment or declared)
                declared = ""

    def declares(self, variable: str) -> bool:
        """Whether a statement declares a variable."""
        return any(statement.declares and statement.name == variable for statement in self.statements)


T = TypeVar("T", str, Script)


@dataclass(frozen=True)
class Scripts(Generic[T]):
    """The SQL of one spec: a text per file, or its statements; empty if the spec needs none."""

    create: T
    """The statements that create the table, and its unknown member."""
    merge: T
    """The MERGE of the source into the table, after the variables that it needs."""
    plan: T
    """The view of what the MERGE would do, and queries that show it."""
    checks: T
    """A query with a row for each check that finds rows; then the spec's own checks, each a query."""
    views: T
    """The views ``current`` and ``overlay``, and the table function ``as_of``."""
    lookups: T
    """The views of facts, each with the version of its key."""
    rejects: T
    """The MERGE of rows that break an expectation into the quarantine."""
    infer: T
    """The MERGE that adds inferred members."""

    def files(self) -> dict[str, T]:
        """Return file name -> script, without the empty ones."""
        found: dict[str, T] = {f"{field.name}.sql": getattr(self, field.name) for field in fields(self)}
        return {name: script for name, script in found.items() if script}

    def cut(self: Scripts[str]) -> Scripts[Script]:
        """Cut the texts into statements."""
        return Scripts(**{field.name: cut(getattr(self, field.name)) for field in fields(self)})


FILES = tuple(f"{field.name}.sql" for field in fields(Scripts))


def cut(text: str) -> Script:
    """Cut the text of a file into its statements, which join to the same text.

    Raises ``ValueError`` if it cannot be read as SQL.

    >>> script = cut("-- A table.\\n\\n-- Why.\\nSET VARIABLE a = 1;\\n\\nMERGE INTO x.t AS t USING s ON a;\\n")
    >>> [(statement.kind, statement.name, statement.comment) for statement in script.statements]
    [('SET VARIABLE', 'a', 'Why.'), ('MERGE INTO', 'x.t', '')]
    >>> script.head, script.texts[1]
    ('-- A table.', 'MERGE INTO x.t AS t USING s ON a')
    """
    statements, at, start = [], 0, 0
    for found, end in split_tokens(tokens(text)):
        if found:
            statements.append(_read(text, found, text[start : found[0].start], text[at:end]))
            at = end
        start = end
    return Script(tuple(statements), text[at:])


def _read(text: str, found: Sequence[Token], above: str, written: str) -> Statement:
    first, last = _find_name(found)
    start, end = found[0].start, found[-1].end + 1
    kind = " ".join(token.text.upper() for token in found[:first])
    name = join_lines(text[found[first].start : found[last - 1].end + 1]) if first < last else ""
    rest = text[found[last - 1].end + 1 if name else start : end]
    return Statement(kind, name, above, text[start:end], rest, written)


def _find_name(found: Sequence[Token]) -> tuple[int, int]:
    """Return where the name of what a statement makes begins and ends; the same place for a query."""
    words = [token.text.upper() for token in found[: _LONGEST_KIND + 3]]
    places = (place for place, word in enumerate(words[:_LONGEST_KIND]) if word in _BEFORE_NAME)
    first = next(places, None) if found[0].token_type in _MAKES else None
    if first is None:
        return 1, 1
    first += 4 if words[first + 1 : first + 4] == ["IF", "NOT", "EXISTS"] else 1
    last = min(first + 1, len(found))
    if found[0].token_type is TokenType.SET:
        last = next((place for place, token in enumerate(found) if token.token_type is TokenType.EQ), len(found))
    else:
        while last + 1 < len(found) and found[last].token_type is TokenType.DOT:
            last += 2
    return first, last


def _list_clauses(body: str) -> Iterator[Step]:
    found = tokens(body)
    kinds = [token.token_type for token in found]
    # At depth 1 are the CTEs inside of USING, at depth 0 the clauses of the MERGE itself.
    depth = 0
    for index, kind in enumerate(kinds):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(kind, 0)
        if depth == 1 and kinds[index + 1 : index + 3] == [TokenType.ALIAS, TokenType.L_PAREN]:
            yield Step(found[index].text, _comment_above(body, found, index + 3))
        elif depth == 0 and kind is TokenType.ON:
            yield Step("ON", _comment_above(body, found, index))
        elif depth == 0 and kind is TokenType.WHEN:
            head = [token.text.upper() for token in found[index + 1 : index + 3]]
            if "MATCHED" in (head[0], head[-1] if head[0] == "NOT" else ""):  # and not the WHEN of a CASE
                then = (i for i in range(index, len(kinds)) if kinds[i] in _ACTIONS and kinds[i - 1] is TokenType.THEN)
                name = body[found[index].start : found[next(then, index)].end + 1]
                yield Step(join_lines(name), _comment_above(body, found, index))


def _comment_above(body: str, found: Sequence[Token], index: int) -> str:
    return _last_comment(body[found[index - 1].end + 1 : found[index].start])


def _last_comment(gap: str) -> str:
    """Return the comment at the end of what is between two tokens, on one line.

    >>> _last_comment("\\n-- A table.\\n\\n-- One line\\n-- and another.\\n")
    'One line and another.'
    """
    lines = [line.strip() for line in gap.rsplit("\n\n", 1)[-1].splitlines()]
    return " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
