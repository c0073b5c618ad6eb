"""The WITH clause that a MERGE and its plan share, so that it is judged once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

_NAME = "_scd_steps"
_STAND_IN = f"WITH {_NAME} AS (SELECT 1)"


@dataclass(frozen=True)
class WithClause:
    """The text of a WITH clause that was read as such, its lines moved to the left margin."""

    text: str

    @classmethod
    def of_merge(cls, script: str, found: Sequence[Token]) -> WithClause | None:
        """The clause that the source of a script's MERGE begins with; ``None`` where its lines cannot be moved."""
        kinds = [token.token_type for token in found]
        try:
            start = kinds.index(TokenType.WITH, kinds.index(TokenType.USING, kinds.index(TokenType.MERGE)))
        except ValueError:
            return None
        if kinds[start - 1] is not TokenType.L_PAREN:
            return None
        end, depth = start, 0
        for end in range(start, len(found)):
            depth += (kinds[end] is TokenType.L_PAREN) - (kinds[end] is TokenType.R_PAREN)
            if kinds[end] is TokenType.R_PAREN and depth == 0 and kinds[end + 1] is not TokenType.COMMA:
                break
        # White space means nothing between tokens, but it does in one that goes over several lines.
        if any("\n" in script[token.start : token.end + 1] for token in found[start : end + 1]):
            return None
        margin = script[script.rfind("\n", 0, found[start].start) + 1 : found[start].start]
        first, *lines = script[found[start].start : found[end].end + 1].split("\n")
        if margin.strip(" ") or any(line and not line.startswith(margin) for line in lines):
            return None
        return cls("\n".join([first, *(line[len(margin) :] for line in lines)]))

    def taken_from(self, script: str) -> str | None:
        """A script with a short clause in the place of this one; ``None`` where it does not hold this one once."""
        parts = f"\n{script}".split(f"\n{self.text}\n")
        return f"\n{_STAND_IN}\n".join(parts)[1:] if len(parts) == 2 else None


def stands_in(query: exp.Expr) -> bool:
    """Whether a query begins with the short clause, which is taken off."""
    clause = query.args.get("with_")
    if clause is None or [cte.alias for cte in clause.expressions] != [_NAME]:
        return False
    query.set("with_", None)
    return True
