"""A model of a table's files, without Spark: the rows that one more batch opens in each layout, and a look at a key.

A file is opened if it has an open version or one that ended since. Delta keeps the statistics of rows that are marked
as deleted, so they count. OPTIMIZE makes files of a number of rows: in order of size without clusters, or sorted by one
column, or along a Hilbert curve through two.

    python -m tests.bench.files [--keys N] [--batches N] [--every N] [--rows N]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any  # of numpy
DAY = 80_000
OPEN = -1  # the end of an open version: as NULL, it comes first
LATE = 50  # batches before
KINDS = {"split": "", "none": "", "by valid_to": "end", "by valid_to, key": "both", "by key": "key"}


def hilbert(x: Array, y: Array, bits: int = 10) -> Array:
    """Return the place of each point on the curve."""
    x, y, place, size = x.copy(), y.copy(), np.zeros_like(x), 1 << (bits - 1)
    while size:
        right, up = (x & size) > 0, (y & size) > 0
        place += size * size * ((3 * right) ^ up)
        x, y = x & (size - 1), y & (size - 1)
        turned = ~up & right
        x, y = np.where(turned, size - 1 - x, x), np.where(turned, size - 1 - y, y)
        x, y = np.where(up, x, y), np.where(up, y, x)
        size >>= 1
    return place


def cells(values: Array) -> Array:
    """Return the range of each value, of a thousand ranges with as many rows; equal values are in one."""
    bounds = np.unique(np.sort(values)[np.linspace(0, len(values) - 1, 1000).astype(int)])
    return np.searchsorted(bounds, values)


@dataclass
class Files:
    """A table: of each row the key, the end, the number of its file, and whether it is live."""

    kind: str
    size: int
    rows: dict[str, Array] = field(
        default_factory=lambda: {n: np.empty(0, int) for n in ("key", "end", "file", "live")}
    )
    files: int = 0
    rewritten: int = 0

    def parts(self) -> list[Array]:
        """Return the partitions."""
        is_open = self.rows["end"] == OPEN
        return [is_open, ~is_open] if self.kind == "split" else [np.ones(len(is_open), bool)]

    def keep(self, which: Array) -> None:
        """Leave other rows out."""
        self.rows = {name: values[which] for name, values in self.rows.items()}

    def merge(self, opened: Array, closed: Array, ends: Array) -> None:
        """Mark the open versions of ``closed`` keys; write them with their ends, and the ``opened`` ones, in a file."""
        rows = self.rows
        rows["live"][(rows["end"] == OPEN) & np.isin(rows["key"], closed)] = 0
        new = [(opened, np.full(len(opened), OPEN)), (closed, ends)]
        split = self.kind == "split"
        for place, (keys, until) in enumerate(new):
            number = np.full(len(keys), self.files + (place if split else 0))
            added = {"key": keys, "end": until, "file": number, "live": np.ones(len(keys), int)}
            self.rows = {name: np.concatenate([self.rows[name], added[name]]) for name in added}
        self.files += 2 if split else 1
        self.keep(np.isin(self.rows["file"], self.rows["file"][self.rows["live"] == 1]))

    def optimize(self) -> None:
        """Rewrite clusters whole, and else small files and those of which a twentieth is marked."""
        for number in range(len(self.parts())):
            rows, part = self.rows, self.parts()[number]
            sizes = np.bincount(rows["file"], minlength=self.files)
            marked = np.bincount(rows["file"][rows["live"] == 0], minlength=self.files)
            again = part & ((sizes < 0.9 * self.size) | (marked > 0.05 * sizes))[rows["file"]]
            column = {"": sizes[rows["file"]] * self.files + rows["file"], "end": rows["end"], "key": rows["key"]}
            by = KINDS[self.kind]
            again = part if by else again
            moved = np.flatnonzero(again & (rows["live"] == 1))
            if not len(moved):
                continue
            order = hilbert(cells(rows["end"][moved]), cells(rows["key"][moved])) if by == "both" else column[by][moved]
            moved = moved[np.argsort(order, kind="stable")]
            count = max(1, round(len(moved) / self.size))
            self.rewritten += int(again.sum())
            rows["file"][moved] = self.files + np.arange(len(moved)) * count // len(moved)
            self.files += count
            self.keep(~(again & (rows["live"] == 0)))

    def opened(self, since: int) -> int:
        """Count the rows in files with a version that is open or ended since."""
        rows = self.rows
        hit = (rows["end"] == OPEN) | (rows["end"] >= since)
        return int(np.isin(rows["file"], rows["file"][hit]).sum())

    def looked(self, keys: int) -> int:
        """Count the rows in files that may have a key, on average of twenty keys."""
        low, high = np.full(self.files, keys), np.full(self.files, -1)
        np.minimum.at(low, self.rows["file"], self.rows["key"])
        np.maximum.at(high, self.rows["file"], self.rows["key"])
        found = [((low <= key) & (key <= high))[self.rows["file"]].sum() for key in range(0, keys, keys // 20)]
        return int(np.mean(found))


def grow(table: Files, keys: int, batches: int, every: int) -> None:
    """Bring the batches: a change of a random tenth of the keys, and OPTIMIZE; the last one is half a turn ago."""
    random, known = np.random.default_rng(1), np.zeros(keys, bool)
    for number in range(batches):
        changed = np.flatnonzero(random.random(keys) < 0.1)
        at = number * DAY + random.integers(0, DAY, len(changed))
        table.merge(changed, changed[known[changed]], at[known[changed]])
        known[changed] = True
        if every and number % every == every // 2:
            table.optimize()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--every", type=int, default=20, help="batches between two OPTIMIZE")
    parser.add_argument("--rows", type=int, default=7_000, help="of a file that OPTIMIZE makes")
    given = parser.parse_args()
    names = ("rows", "batch", "late", "a key", "rewritten", "then batch", "then late")
    print(f"{'rows that are opened':<26}" + "".join(f"{name:>12}" for name in names))
    for every in (0, given.every):
        for kind in KINDS if every else ("split", "none"):
            table = Files(kind, given.rows)
            grow(table, given.keys, given.batches, every)
            now, before = given.batches * DAY, (given.batches - LATE) * DAY
            found = [len(table.rows["key"]), table.opened(now), table.opened(before), table.looked(given.keys)]
            if every:
                found.append(table.rewritten)
                table.optimize()
                found += [table.opened(now), table.opened(before)]
            print(
                f"{kind + (', OPTIMIZE' if every else ''):<26}" + "".join(f"{number:>12,}" for number in found),
                flush=True,
            )


if __name__ == "__main__":
    main()
