"""YAML text as the nodes that a spec may have, checked while they are composed and before any value is made of them.

YAML lets a few lines stand for more values than fit into memory (aliases, merges), names be lists of lists, and a tag
hide that a name is there twice. What is made of the nodes afterwards is small, flat, and has texts for names.
"""

from __future__ import annotations

import re
from typing import Any

from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.events import AliasEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.nodes import CollectionNode, MappingNode, ScalarNode

from scdgen.sql import LINE_ENDS

MOST_VALUES, MOST_LEVELS = 50_000, 32
"""The values of a file, with its aliases written out, and the levels of lists and mappings in one another."""
MOST_PROBLEMS = 100
"""The mistakes of a file that are reported at once."""

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
# Kinds of plain names: a text, and << which takes over the names of another mapping.
_OF_NAMES = (f"{_STANDARD}str", f"{_STANDARD}merge")


class RefusedError(Exception):
    """Nodes that no spec has: (line, column, what), counted from 0."""

    def __init__(self, problems: list[tuple[int, int, str]]):
        self.problems = problems
        super().__init__(problems)


class CheckedComposer(Composer):
    """A composer that counts and checks each node where it is read; no node is looked at again for each alias of it."""

    def __init__(self, loader: Any = None):
        super().__init__(loader=loader)
        self.warn_double_anchors = False
        self.problems: list[tuple[int, int, str]] = []
        self._level = self._written = 0
        # id of a list or mapping that is composed to its end -> its values with aliases written out, and its levels.
        self._sizes: dict[int, tuple[int, int]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; ``index`` is the name of a value, the number of an entry, and ``None`` for a name."""
        event = self.parser.peek_event()
        mark = getattr(index, "start_mark", None) or event.start_mark
        is_name = isinstance(parent, MappingNode) and index is None
        self._check(event, mark)
        self._written += not is_name
        if self._written > MOST_VALUES:
            self._stop(mark, f"more than {MOST_VALUES:,} values are written up to here; write fewer")
        self._level += 1
        if self._level > MOST_LEVELS and isinstance(event, CollectionStartEvent):
            self._stop(mark, f"more than {MOST_LEVELS} lists and mappings are in one another here; write fewer")
        node = super().compose_node(parent, index)
        self._level -= 1
        if is_name:
            self._check_name(event, node, mark)
        elif isinstance(node, CollectionNode):
            self._measure(event, node, mark)
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
        """Refuse a tag, which would be ignored or make another value, and characters that mislead who reads them."""
        tag = str(getattr(event, "ctag", None) or "")
        if tag:
            self._add(mark, f"the tag {tag.replace(_STANDARD, '!!')} has no meaning here; write the value itself")
        elif isinstance(event, ScalarEvent):
            found = ((pattern.search(event.value), why) for pattern, why in _REFUSED)
            what = next((f"holds {match[0]!a}, {why}" for match, why in found if match), None)
            if what is not None:
                self._add(mark, what)

    def _check_name(self, event: Any, node: Any, mark: Any) -> None:
        if isinstance(event, AliasEvent):
            self._add(mark, f"the alias *{event.anchor} stands for a name; write the name itself")
        elif not isinstance(node, ScalarNode):
            self._add(mark, "a list or a mapping stands for a name; write a text, and one with brackets in quotes")
        elif event.ctag is None and str(node.tag) not in _OF_NAMES:
            what = f"the name '{node.value}' is not a text but another value of YAML; put it in quotes"
            self._add(mark, what if node.value else "a colon has no name before it; write one")

    def _measure(self, event: Any, node: Any, mark: Any) -> None:
        """Count the values and levels of a list or a mapping, those of its aliases as often as they are there."""
        if not isinstance(event, AliasEvent):
            inner = [value for _, value in node.value] if isinstance(node, MappingNode) else node.value
            sizes = [self._sizes.get(id(value), (1, 0)) for value in inner]
            levels = max((level for _, level in sizes), default=0)
            self._sizes[id(node)] = 1 + sum(size for size, _ in sizes), 1 + levels
        elif id(node) not in self._sizes:
            self._stop(mark, f"the alias *{event.anchor} is inside of what it stands for; write the values out")
        size, levels = self._sizes[id(node)]
        if size > MOST_VALUES:
            self._stop(mark, f"its aliases (*name) expand to more than {MOST_VALUES:,} values; write the values out")
        if self._level + levels > MOST_LEVELS:
            what = f"with its aliases (*name), more than {MOST_LEVELS} lists and mappings are in one another"
            self._stop(mark, f"{what}; write the values out")

    def _add(self, mark: Any, what: str) -> None:
        self.problems.append((mark.line, mark.column, what))
        if len(self.problems) >= MOST_PROBLEMS:
            raise RefusedError(self.problems)

    def _stop(self, mark: Any, what: str) -> None:
        raise RefusedError([*self.problems, (mark.line, mark.column, what)])


class CheckedConstructor(RoundTripConstructor):
    """A constructor that makes values of nodes only if all of them passed."""

    def construct_document(self, node: Any) -> Any:
        """Make the values of a document. Raises :class:`RefusedError` with all its problems."""
        if self.composer.problems:
            raise RefusedError(self.composer.problems)
        return super().construct_document(node)
