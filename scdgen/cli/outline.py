"""Where things stand in a generated file: statements, steps, WHEN clauses, refusals, pieces of SQL; by its tokens.

Tokens and not text, so that a template may break and indent lines as it likes.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.sql.tokens import tokens

_OPENS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


@dataclass(frozen=True)
class Place:
    """Lines ``first`` to ``last`` of a file (from 1), and the piece of SQL or comment that they hold."""

    file: str
    first: int
    last: int
    holds: str


@dataclass(frozen=True)
class Step:
    """One CTE of the MERGE: its name, its tokens (from, until) and its first comment."""

    name: str
    start: int
    end: int
    why: str


@dataclass(frozen=True)
class When:
    """One WHEN of the MERGE: its head as written, what it does, the words in its condition."""

    head: str
    does: str
    matched: bool
    by_source: bool
    words: frozenset[str]
    start: int
    end: int


class Outline:
    """One generated file, read once."""

    def __init__(self, file: str, text: str):
        self.file, self.text = file, text
        self.tokens = tokens(text)
        self._breaks = [index for index, character in enumerate(text) if character == "\n"]

    def place(self, start: int, end: int, holds: str) -> Place:
        """The lines of the tokens from ``start`` to ``end``, both included."""
        return Place(self.file, self._line(self.tokens[start].start), self._line(self.tokens[end].end), holds)

    def _line(self, at: int) -> int:
        return bisect.bisect_left(self._breaks, at) + 1

    def find(self, piece: str, within: tuple[int, int] | None = None) -> list[Place]:
        """Every place of a piece of SQL, token by token."""
        wanted = _keys(piece)
        first, last = within or (0, len(self.tokens) - 1)
        starts = (i for i in range(first, last + 2 - len(wanted)) if self._matches(i, wanted))
        return [self.place(i, i + len(wanted) - 1, piece) for i in starts] if wanted else []

    def _matches(self, start: int, wanted: tuple[tuple[TokenType, str], ...]) -> bool:
        return all(
            (token.token_type, token.text) == key
            for token, key in zip(self.tokens[start : start + len(wanted)], wanted, strict=True)
        )

    def comments(self, words: str) -> list[Place]:
        """Every comment line that holds the words."""
        return [
            Place(self.file, number, number, words)
            for number, line in enumerate(self.text.split("\n"), 1)
            if line.lstrip().startswith("--") and words in line
        ]

    def refusals(self, rule: str, words: str = "") -> list[Place]:
        """Every place that stops the statement by a rule, with a message that begins with the words."""
        mark = f"[SCDGEN_{rule.upper()}] {words}"
        return [
            self.place(index, index, mark)
            for index, token in enumerate(self.tokens)
            if token.token_type is TokenType.STRING and token.text.startswith(mark)
        ]

    @functools.cached_property
    def rules(self) -> list[str]:
        """The rules by which the statement can stop, each once, in order of the text."""
        marks = (re.match(r"\[SCDGEN_(\w+)\]", t.text) for t in self.tokens if t.token_type is TokenType.STRING)
        return list(dict.fromkeys(mark[1].lower() for mark in marks if mark))

    def variable(self, name: str) -> list[Place]:
        """The statements that declare and set a session variable."""
        found = []
        for start, end in self._statements:
            kind = self.tokens[start].text.upper()
            if kind not in {"DECLARE", "SET"}:
                continue
            equals = (i for i in range(start, end) if self.tokens[i].token_type is TokenType.EQ)
            last = start + 4 if kind == "DECLARE" else next(equals, end) - 1  # DECLARE OR REPLACE VARIABLE name
            if name in [token.text for token in self.tokens[start : last + 1]][2:]:
                found.append(self.place(start, end, self.text[self.tokens[start].start : self.tokens[last].end + 1]))
        return found

    @functools.cached_property
    def _statements(self) -> list[tuple[int, int]]:
        ends = [i for i, token in enumerate(self.tokens) if token.token_type is TokenType.SEMICOLON]
        return list(zip([0, *(end + 1 for end in ends)], ends, strict=False))

    @functools.cached_property
    def _merge(self) -> tuple[int, int, int]:
        """Tokens: MERGE, the parenthesis after USING, the one that closes it."""
        start = next(first for first, _ in self._statements if self.tokens[first].token_type is TokenType.MERGE)
        using = next(i for i in range(start, len(self.tokens)) if self.tokens[i].token_type is TokenType.USING)
        return start, using + 1, self._closing(using + 1)

    def _closing(self, opening: int) -> int:
        depth = 0
        for index in range(opening, len(self.tokens)):
            depth += _OPENS.get(self.tokens[index].token_type, 0)
            if depth == 0:
                return index
        raise ValueError("a parenthesis is not closed")

    @functools.cached_property
    def steps(self) -> list[Step]:
        """The CTEs of the MERGE, in order."""
        _, opening, closing = self._merge
        found, index = [], opening + 1
        while index < closing - 3 and self.tokens[index].token_type in {TokenType.WITH, TokenType.COMMA}:
            name, paren = self.tokens[index + 1], index + 3
            end = self._closing(paren)
            inside = self.text[self.tokens[paren].end + 1 : self.tokens[paren + 1].start]
            why = " ".join(line.strip().removeprefix("--").strip() for line in inside.strip().splitlines())
            found.append(Step(name.text, index + 1, end, why))
            index = end + 1
        return found

    def step(self, name: str) -> Step | None:
        """The CTE of a name."""
        return next((step for step in self.steps if step.name == name), None)

    def place_of_step(self, step: Step) -> Place:
        """The lines of a CTE, from its name to its closing parenthesis."""
        return self.place(step.start, step.end, f"{step.name} AS (")

    @functools.cached_property
    def whens(self) -> list[When]:
        """The WHEN clauses of the MERGE, in order."""
        starts = list(self._heads())
        ends = [start - 1 for start in starts[1:]] + [self._statements[-1][1]]
        return [self._when(start, end) for start, end in zip(starts, ends, strict=True)]

    def _heads(self) -> Iterator[int]:
        depth = 0
        for index in range(self._merge[2] + 1, len(self.tokens)):
            kind = self.tokens[index].token_type
            depth += _OPENS.get(kind, 0) + {TokenType.CASE: 1, TokenType.END: -1}.get(kind, 0)
            if kind is TokenType.WHEN and depth == 0:
                yield index

    def _when(self, start: int, end: int) -> When:
        depth, then = 0, start
        for then in range(start, end):
            kind = self.tokens[then].token_type
            depth += {TokenType.CASE: 1, TokenType.END: -1}.get(kind, 0)
            if kind is TokenType.THEN and depth == 0:
                break
        head = self.tokens[start:then]
        words = [token.text for token in head]
        written = self.text[head[0].start : self.tokens[then].end + 1]
        return When(
            written, self.tokens[then + 1].text.upper(), words[1].upper() != "NOT",
            [word.upper() for word in words[3:5]] == ["BY", "SOURCE"], frozenset(words), start, end,
        )  # fmt: skip

    def place_of_when(self, when: When) -> Place:
        """The lines of a WHEN clause, without the comment before it."""
        return self.place(when.start, when.end, when.head)

    def on(self) -> Place:
        """The MERGE's ON."""
        start = next(i for i in range(self._merge[2], len(self.tokens)) if self.tokens[i].token_type is TokenType.ON)
        return self.place(start, self.whens[0].start - 1, "ON")


@functools.lru_cache(maxsize=512)
def _keys(piece: str) -> tuple[tuple[TokenType, str], ...]:
    return tuple(_key(token) for token in tokens(piece))


def _key(token: Token) -> tuple[TokenType, str]:
    return token.token_type, token.text
