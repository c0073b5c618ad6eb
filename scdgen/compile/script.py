"""merge.script.sql and rejects.script.sql: a file's statements as one ``BEGIN … END`` block.

For clients that send one statement at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from scdgen.compile.render import Compiler
from scdgen.facts.base import Facts
from scdgen.sql.tokens import tokens

_PARAM = "_scd_param_"  # a local variable has no qualifier, so that a column would hide one with the name of the param


@dataclass(frozen=True)
class Script(Facts, template="script.sql.j2"):
    """A file: its name, its head (comments), its variables (name and type), its statements without semicolons."""

    file: str
    head: str
    variables: tuple[str, ...]
    statements: tuple[str, ...]


def render_script(text: str, compiler: Compiler, file: str = "merge.sql") -> str:
    """Render the script of the SQL ``text``, which is in ``file``.

    Spark declares local variables before any other statement of a block. A param without a default stays a session
    variable, which the caller declares.
    """
    split = list(_split(text))
    declared = {found[place].text for _, found in split if (place := _named(found, TokenType.DECLARE)) is not None}
    params = {name for name in declared if not name.startswith("_scd_")}
    variables, statements = [], []
    head, _, comments = text[: split[0][1][0].start].strip().partition("\n\n")
    for number, (start, found) in enumerate(split):
        # The comments of a declaration are those of the statement that sets the variable.
        comments += text[start : found[0].start].strip("\n") if number else ""
        place = _named(found, TokenType.DECLARE)
        if place is None:
            statements.append(f"{comments}\n{_localized(text, found, params)}".lstrip("\n"))
            comments = ""
        else:
            declaration = text[found[place].start : found[-1].end + 1]
            variables.append(f"{_PARAM}{declaration}" if found[place].text in params else declaration)
    return compiler.render(Script(file, head, tuple(variables), tuple(statements)))


def _split(script: str) -> Iterator[tuple[int, list[Token]]]:
    """Yield the tokens of each statement, and where the text before it begins."""
    start, found = 0, list[Token]()
    for token in tokens(script):
        if token.token_type is TokenType.SEMICOLON:
            yield start, found
            start, found = token.end + 1, []
        else:
            found.append(token)
    if found:
        yield start, found


def _named(found: Sequence[Token], kind: TokenType) -> int | None:
    """Return the place of the variable's name in a statement of the kind DECLARE or SET, ``None`` in any other."""
    words = [token.text.upper() for token in found[:4]]
    ends = [place for place, word in enumerate(words) if word in ("VAR", "VARIABLE")]
    return ends[0] + 1 if ends and found[0].token_type is kind else None


def _localized(script: str, found: Sequence[Token], params: Collection[str]) -> str:
    """Return the text of tokens with SET for SET VARIABLE, and with the local names of params.

    A param is named where it is set, and after ``session.``
    """
    pieces, at, named = [], found[0].start, _named(found, TokenType.SET)
    if named is not None:  # in a block Spark allows neither VAR nor VARIABLE
        pieces, at = [f"{found[0].text} "], found[named].start
    for place, token in enumerate(found):
        before = [other.text.lower() for other in found[max(0, place - 3) : place]]
        qualified = before[-2:] == ["session", "."] and before[:-2] != ["."]  # no field of a struct
        if token.text in params and (qualified or place == named):
            pieces += [script[at : found[place - 2].start if qualified else token.start], _PARAM, token.text]
            at = token.end + 1
    return "".join([*pieces, script[at : found[-1].end + 1]])
