"""Reading SQL in the two dialects that have to read it, once where they read it alike.

sqlglot's Databricks is Spark with a few words and operators more. A text that holds none of them is read by the same
code of sqlglot in both, so that one reading says what two would.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects import Databricks, Spark
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

OTHER_DIALECT = "spark"
# What sqlglot's Databricks has of its own, by how it shows in a text. Whatever else it comes to have in a later release
# is found by _own_marks(), and every text is then read twice.
_BY_KEY = {"FUNCTIONS", "NO_PAREN_FUNCTION_PARSERS", "FUNCTION_PARSERS", "FACTOR", "COLUMN_OPERATORS", "KEYWORDS"}
_BY_TOKEN = {
    "COLON_IS_VARIANT_EXTRACT": TokenType.COLON,
    "COLON_CHAIN_IS_SINGLE_EXTRACT": TokenType.COLON,
    "CAST_COLUMN_OPERATORS": TokenType.QDCOLON,
}
# TO_JSON, which the templates use, takes no path.
_JSON_PATHS = {n for n in (*Spark.Parser.FUNCTIONS, *Spark.Parser.FUNCTION_PARSERS) if "JSON" in n} - {"TO_JSON"}
_BY_WORD: dict[str, set[str]] = {
    "_parse_curdate": {"CURDATE"},
    "_parse_primary_key_part": {"TIMESERIES"},
    "_parse_cluster_property": {"AUTO", "NONE"},
    "JSONPathTokenizer": _JSON_PATHS,
    "jsonpath_tokenizer_class": _JSON_PATHS,
}
# What a cast or a division becomes in the tree, and what writes SQL, infers types or copies files: it refuses nothing.
_UNSEEN = {
    "STRICT_CAST", "SAFE_DIVISION", "COPY_PARAMS_ARE_CSV", "EXPRESSION_METADATA", "COERCES_TO", "text_type",
    "Generator", "generator_class",
}  # fmt: skip
_NESTED_TYPES = {TokenType.STRUCT, TokenType.ARRAY, TokenType.MAP}
_COMPARED = {"Parser", "parser_class", "Tokenizer", "tokenizer_class"}  # by themselves


def readings(text: str, found: list[Token]) -> Iterator[list[exp.Expression]]:
    """The trees of a text (of tokens ``found``), once for each reading that may differ, Databricks first.

    After the last semicolon nothing may stand but a comment, which is no tree. Raises sqlglot's errors.
    """
    yield _expressions(Databricks().parser().parse(found, text))
    if not read_alike(found):
        yield _expressions(sqlglot.parse(text, dialect=OTHER_DIALECT))


def read_alike(found: list[Token]) -> bool:
    """Whether both dialects read a text of these tokens by the same rules."""
    marks = _own_marks()
    if marks is None:
        return False
    words, types = marks
    depth = 0  # within the angle brackets of a type, where a colon is that of a struct's field in both
    for before, token in zip([None, *found], found, strict=False):
        kind = token.token_type
        if kind is TokenType.LT and (depth or (before and before.token_type in _NESTED_TYPES)):
            depth += 1
        elif kind is TokenType.GT and depth:
            depth -= 1
        elif kind in types:
            if not (depth and kind is TokenType.COLON):
                return False
        elif kind is not TokenType.STRING and token.text.upper() in words:
            return False
    return not depth


@functools.lru_cache(maxsize=1)
def _own_marks() -> tuple[frozenset[str], frozenset[TokenType]] | None:
    """The words and the kinds of tokens that the dialects read differently; ``None`` where that cannot be told."""
    words: set[str] = set()
    types: set[TokenType] = set()
    for ours, theirs in (
        (Databricks, Spark), (Databricks.Parser, Spark.Parser), (Databricks.Tokenizer, Spark.Tokenizer),
    ):  # fmt: skip
        if theirs not in ours.__bases__:
            return None
        for name in _differing(ours, theirs):
            if name in _BY_TOKEN:
                types.add(_BY_TOKEN[name])
            elif name in _BY_WORD:
                words |= _BY_WORD[name]
            elif name in _UNSEEN | _COMPARED:
                continue
            elif name in _BY_KEY:
                for key in _differing_keys(getattr(ours, name), getattr(theirs, name)):
                    types.add(key) if isinstance(key, TokenType) else words.add(str(key))
            else:
                return None
    return frozenset(words), frozenset(types)


def _differing(ours: type, theirs: type) -> list[str]:
    """The attributes that a class has otherwise than its base; a tokenizer's tries are made from its KEYWORDS."""
    return [
        name for name in vars(ours)
        if not name.startswith("__") and "TRIE" not in name and getattr(ours, name) != getattr(theirs, name, None)
    ]  # fmt: skip


def _differing_keys(ours: dict[Any, Any], theirs: dict[Any, Any]) -> set[Any]:
    return {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}


def _expressions(trees: list[Any]) -> list[exp.Expression]:
    return [tree for tree in trees if isinstance(tree, exp.Expression)]
