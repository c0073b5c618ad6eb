"""The words of a result, the same in plan, run, metrics, diff and messages: what happens to keys, and to versions.

A key is *new* if the table has no version of it, *deleted* if it is current before a run and not after, *returned* if
it is current after and not before, *changed* if anything else is written of it, and *unchanged* if the source has it
and nothing is. A version is *opened*, *closed* (it was open), *corrected* (any other change of it) or *folded* (made
redundant and removed). With ``history.recorded``, the stored row of a version that is closed, corrected or folded is
*superseded*; what the first two become is written as a new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CHANGES = ("new", "changed", "deleted", "returned")
KEYS = (*CHANGES, "unchanged")
VERSIONS = ("opened", "closed", "corrected", "folded")
ROW_CHANGES = ("new", "changed", "deleted")  # of a table that remembers no deleted keys
SUPERSEDED = "superseded"  # rows that a run ended on the second axis of time
REFRESHED = "refreshed"  # versions of which only the end was set to the time of the run


@dataclass(frozen=True)
class Counts:
    """What happens to keys and to versions, in words and numbers."""

    keys: Mapping[str, int]
    """Word -> number of keys."""
    versions: Mapping[str, int]
    """Word -> number of versions; empty for a table without history."""

    def describe(self) -> str:
        """Describe the counts in one line.

        >>> Counts({"new": 2, "unchanged": 1}, {"opened": 2, "closed": 0}).describe()
        'keys: 2 new, 1 unchanged; versions: 2 opened, 0 closed'
        """
        groups = {"keys": self.keys, "versions": self.versions}
        return "; ".join(
            f"{name}: {', '.join(f'{number} {word}' for word, number in counts.items())}"
            for name, counts in groups.items()
            if counts
        )


def describe_deleted(count: int, current: int, limit: float | None = None) -> str:
    """Describe how many of the current keys are deleted, and the share that may be.

    >>> describe_deleted(338, 4883, 0.2), describe_deleted(1, 4), describe_deleted(0, 0)
    ('338 keys deleted (6.9 %; limit 20 %)', '1 key deleted (25.0 %)', '0 keys deleted')
    """
    share = [f"{100 * count / current:.1f} %"] if current else []
    share += [describe_limit(limit)] if limit is not None else []
    what = f"{count} key{'s' * (count != 1)} deleted"
    return f"{what} ({'; '.join(share)})" if share else what


def describe_newer(taken: str) -> str:
    """Describe a snapshot that the table has and that was taken after the one of a run or a plan."""
    return f"a snapshot taken later, {taken}, is already in the table; keys that it deleted may come back"


def describe_limit(limit: float) -> str:
    """Describe the share of keys that may be deleted.

    >>> describe_limit(0.125)
    'limit 12.5 %'
    """
    return f"limit {100 * limit:.6g} %"
