"""Reads YAML, and says in words of the file what is wrong where it is none."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import TaggedScalar
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from scdgen.errors import Problem, SpecError
from scdgen.sql import LINE_ENDS

_QUOTES = "put the whole text in quotes"
# What the reader says -> what it means for a file, whether it is about the place where the construct begins, and what
# to do. The pattern is looked for in "context: problem".
_MEANINGS: tuple[tuple[str, bool, str], ...] = (
    (r'found duplicate key "([^"]*)"', False, "'{0}' is written twice; keep one"),
    (r"found character '\\t'", False, "a tab indents this line; YAML takes spaces alone"),
    (r"found character '(.)' that cannot start", False,
     f"a text cannot begin with {{0}} where it has no quotes; {_QUOTES}"),
    (r"mapping values are not allowed here", False,
     f"a colon follows a text that has ended, or the line is indented too far; {_QUOTES}, or line it up with the "
     "options around it"),
    (r"while (?:scanning a quoted scalar).*unexpected end of stream", True,
     "a quote that opens here is never closed; close it"),
    (r"while parsing a flow (sequence|mapping|node)", True,
     "a bracket that opens here is not closed where it should be; close it, and put texts with , : [ ] {{ }} in "
     "quotes"),
    (r"expected <block end>, but found '(?:<scalar>|\{|\[|<alias>)'", False,
     f"something follows a value that has ended; {_QUOTES}"),
    (r"expected <block end>", False,
     "the line does not line up with those before it; give options of one level the same indentation"),
    (r"could not find expected ':'", False,
     "a line without a colon stands among options; write option: value"),
    (r"found undefined alias '?([^']*)'?", False,
     f"the anchor *{{0}} is not defined; define it with &{{0}}, or {_QUOTES}"),
    (r"expected a mapping or list of mappings for merging", False, "<<: takes a mapping, such as *anchor; give one"),
    (r"but found another document", False, "a second document begins here, after ---; write one spec per file"),
)  # fmt: skip
# A table has some thousand columns at most, each with some options.
_MOST_VALUES = 1_000_000

# Characters that no text may hold, and why.
_REFUSED = (
    # Embeddings, overrides and isolates: they show SQL in another order than the one in which it runs (CVE-2021-42574).
    (re.compile("[\u202a-\u202e\u2066-\u2069]"),
     "which turns text around for who reads it; leave it out, or escape it in SQL"),
    (LINE_ENDS, "a line break for some readers; write a plain line break, or escape it in SQL"),
    # It fits into no file and no database.
    (re.compile("[\ud800-\udfff]"), "half of a character; write the whole character, or \\U and its eight digits"),
)  # fmt: skip


def parse(text: str, name: str) -> Any:
    """The tree of a YAML text, with the places of its nodes; ``name`` is the file's. Raises :class:`SpecError`."""
    try:
        tree = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        raise SpecError([_marked(error, name)]) from error
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        what = f"holds the control character 0x{ord(text[error.position]):02X}; take it out"
        raise SpecError([Problem(name, line, column, what)]) from error
    except RecursionError as error:
        raise SpecError([Problem(name, 0, 0, "not valid YAML: it is nested too deeply; close its brackets")]) from error
    except (YAMLError, ValueError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise SpecError([Problem(name, 0, 0, f"not valid YAML: {reason}; mend or quote the value")]) from error
    if _size(tree, {}) > _MOST_VALUES:
        raise SpecError([Problem(name, 0, 0, "its aliases (*name) stand for too many values; write out what is meant")])
    problems = [Problem(name, line + 1, column + 1, what) for line, column, what in _odd(tree)]
    if problems:
        raise SpecError(problems)
    return tree


def _marked(error: MarkedYAMLError, name: str) -> Problem:
    said = " ".join(str(part) for part in (error.context, error.problem) if part)
    for pattern, at_begin, meaning in _MEANINGS:
        found = re.search(pattern, said, re.DOTALL)
        if found:
            mark = (error.context_mark if at_begin else None) or error.problem_mark or error.context_mark
            what = meaning.format(*found.groups())
            if not meaning.endswith("keep one"):
                what = f"not valid YAML: {what}"
            return _problem(name, mark, what)
    mark = error.problem_mark or error.context_mark
    what = str(error.problem or error.context or "cannot be read").splitlines()[0]
    return _problem(name, mark, f"not valid YAML: {what}; mend the line, or put its text in quotes")


def _problem(name: str, mark: Any, what: str) -> Problem:
    return Problem(name, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0, what)


def _size(node: Any, known: dict[int, float]) -> float:
    """How many values a document has with each alias written out; endless where an anchor holds its own alias."""
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if not inner:
        return 1
    if id(node) not in known:
        known[id(node)] = math.inf  # while it is looked at: who meets it inside of itself
        known[id(node)] = 1 + sum(_size(value, known) for value in inner)
    return known[id(node)]


def _odd(node: Any, place: tuple[int, int] = (0, 0)) -> Iterator[tuple[int, int, str]]:
    """Names and values that YAML allows and a spec cannot hold, with their places.

    A tag such as ``!env`` would lose its meaning without a word.
    """
    tag = getattr(getattr(node, "tag", None), "value", None)
    if tag and (isinstance(node, TaggedScalar) or not str(tag).startswith("tag:yaml.org")):
        shown = str(tag).replace("tag:yaml.org,2002:", "!!")
        yield *place, f"the tag {shown} has no meaning here; write the value itself"
    elif isinstance(node, dict):
        for key, value in node.items():
            at = node.lc.key(key) if key in (node.lc.data or {}) else place  # type: ignore[attr-defined]
            yield from _odd(str(key), at)
            yield from _odd(value, at)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _odd(value, node.lc.item(index))  # type: ignore[attr-defined]
    elif isinstance(node, str):
        found = ((pattern.search(node), why) for pattern, why in _REFUSED)
        what = next((f"holds {match[0]!a}, {why}" for match, why in found if match), None)
        if what is not None:
            yield *place, what
