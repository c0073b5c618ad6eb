"""The guess which columns of a table have another name in its spec."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple

TIMES = ("valid_from", "valid_to")
_MOST = 50  # names to compare with: among more, the guess is slow and poor
# Their values follow from stored rows: to add them is right, whatever the table has instead.
_COMPUTED = ("surrogate_key", "row_hash", "action")


class Sort(NamedTuple):
    """What two columns must have in common to be the same one."""

    type: str
    """The type, as a table has it."""
    role: str
    """``key``, ``tracked`` or ``other``; empty if the table does not say it."""


def guess_renames(gone: Mapping[str, Sort], come: Mapping[str, Sort], options: Mapping[str, str]) -> dict[str, str]:
    """Map columns that a table lacks, which ``come``, to those that its spec lacks, where they may be the same.

    ``options`` has the option of each history column of the spec, which is its default name too.

    >>> text, number = Sort("STRING", "tracked"), Sort("INT", "tracked")
    >>> guess_renames({"first_name": text, "city": text, "n": number}, {"given_name": text, "size": number}, {})
    {'given_name': 'first_name', 'size': 'n'}
    >>> guess_renames({"city": text}, {"town": text, "street": text}, {})
    {}
    """
    found: dict[str, str] = {}
    # Only columns of one type and one role can be the same.
    for sort in dict.fromkeys(come.values()):
        free = [name for name, other in gone.items() if other == sort]
        left = [name for name, other in come.items() if other == sort]
        # 1. A similar name, or the default name of a history column.
        for name in tuple(left):
            like = difflib.get_close_matches(name, free, n=1) if len(free) <= _MOST else []
            like = like or [old for old in free if old == options.get(name)]
            if like:
                found[name] = like[0]
                free.remove(like[0])
                left.remove(name)
        # 2. The only one of its sort, or the start and the end, which stand in this order.
        names = [name for name in left if options.get(name) not in _COMPUTED]
        if len(names) == len(free) and (len(names) == 1 or all(options.get(name) in TIMES for name in names)):
            found |= dict(zip(names, free, strict=True))
    return {name: found[name] for name in come if name in found}
