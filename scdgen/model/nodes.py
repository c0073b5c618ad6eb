"""YAML text as the nodes that a spec may have, checked while they are composed and before any value is made of them.

YAML lets an alias or a merge stand for what is written elsewhere, names be lists of lists, and a tag hide that a name
is there twice. All of these are refused: what a spec says stands where it is read.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode

from scdgen.sql import LINE_ENDS

# Characters that no text may hold, and why.
_REFUSED = (
    # Marks, embeddings, overrides and isolates: SQL would be shown in another order than it runs in (CVE-2021-42574).
    (re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"),
     "which turns text around for who reads it; leave it out, or escape it in SQL"),
    (LINE_ENDS, "a line break for some readers; write a plain line break, or escape it in SQL"),
    # Surrogates cannot be encoded in UTF-8.
    (re.compile("[\ud800-\udfff]"), "half of a character; write the whole character, or \\U and its eight digits"),
)  # fmt: skip
_STANDARD = "tag:yaml.org,2002:"
_TEXT, _MERGE = f"{_STANDARD}str", f"{_STANDARD}merge"


class RefusedError(Exception):
    """Nodes that no spec has: (line, column, what), counted from 0."""

    def __init__(self, problems: list[tuple[int, int, str]]):
        self.problems = problems
        super().__init__(problems)


class CheckedComposer(Composer):
    """A composer that checks each node where it is read, and makes neither an anchor nor what an alias stands for."""

    def __init__(self, loader: Any = None):
        super().__init__(loader=loader)
        self.problems: list[tuple[int, int, str]] = []

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; ``index`` is the name of a value, the number of an entry, and ``None`` for a name."""
        event = self.parser.peek_event()
        mark = getattr(index, "start_mark", None) or event.start_mark
        if isinstance(event, AliasEvent):
            fix = "write the value itself, or put a text with * in quotes"
            self._add(mark, f"the alias *{event.anchor} has no meaning here; {fix}")
            self.parser.get_event()
            return ScalarNode(_TEXT, f"*{event.anchor}", event.start_mark, event.end_mark)
        self._check(event, mark)
        node = super().compose_node(parent, index)
        if isinstance(parent, MappingNode) and index is None:
            self._check_name(event, node, mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        """Compose a mapping, in which no two names have one text, whatever YAML makes of them."""
        node = super().compose_mapping_node(anchor)
        known = set()
        for name, _ in node.value:
            if isinstance(name, ScalarNode):
                if name.value in known:
                    self._add(name.start_mark, f"'{name.value}' is written twice; keep one")
                known.add(name.value)
        return node

    def _check(self, event: Any, mark: Any) -> None:
        """Refuse an anchor, a tag, which would be ignored or make another value, and characters that mislead."""
        if event.anchor:
            fix = "leave it out, or put a text with & in quotes"
            self._add(mark, f"the anchor &{event.anchor} has no meaning here; {fix}")
            event.anchor = None
        tag = str(getattr(event, "ctag", None) or "")
        if tag:
            self._add(mark, f"the tag {tag.replace(_STANDARD, '!!')} has no meaning here; write the value itself")
        elif isinstance(event, ScalarEvent):
            found = ((pattern.search(event.value), why) for pattern, why in _REFUSED)
            what = next((f"holds {match[0]!a}, {why}" for match, why in found if match), None)
            if what is not None:
                self._add(mark, what)

    def _check_name(self, event: Any, node: Any, mark: Any) -> None:
        if not isinstance(node, ScalarNode):
            self._add(mark, "a list or a mapping stands for a name; write a text, and one with brackets in quotes")
        elif event.ctag is None and str(node.tag) == _MERGE:
            self._add(mark, "<< has no meaning here; write the options of the other mapping themselves")
        elif event.ctag is None and str(node.tag) != _TEXT:
            what = f"the name '{node.value}' is not a text but another value of YAML; put it in quotes"
            self._add(mark, what if node.value else "a colon has no name before it; write one")

    def _add(self, mark: Any, what: str) -> None:
        self.problems.append((mark.line, mark.column, what))


class CheckedConstructor(RoundTripConstructor):
    """A constructor that makes values of nodes only if all of them passed."""

    def construct_document(self, node: Any) -> Any:
        """Make the values of a document. Raises :class:`RefusedError` with all its problems."""
        if self.composer.problems:
            raise RefusedError(self.composer.problems)
        return super().construct_document(node)
