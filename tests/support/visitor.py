"""Page views in files as they arrive: python tests/support/visitor.py DIR --seed 1 --cookies 1000 --files 10

A cookie never logs in, logs in once, switches users, or returns to an earlier user. Each view has a time of a
microsecond, and some views of a cookie share one; those always come in one file.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

START = dt.datetime(2024, 1, 1)
HOUR = dt.timedelta(hours=1)
MICROSECOND = dt.timedelta(microseconds=1)
MOST_LATE = 3  # the maximum number of files by which a view is late
GAPS = (dt.timedelta(0), MICROSECOND, dt.timedelta(seconds=7, microseconds=5), dt.timedelta(minutes=11))


class View(NamedTuple):
    """One page view: the cookie, its user or none, and the time at which it landed."""

    cookie: str
    user: int | None
    landed: dt.datetime


def views(seed: int, cookies: int, files: int, late: float = 0.0, partitions: int = 8) -> list[list[View]]:
    """The views of each file.

    Args:
        seed: the same seed gives the same views, whatever share of them is late.
        cookies: how many cookies there are; each has at least one view.
        files: how many files there are, one per hour of landing; a file may be empty.
        late: the share of the moments of a cookie whose views arrive in a later file than that of their hour.
        partitions: how many different first two characters the cookies have, at most 256.

    Returns:
        A list per file, in the order of landing. Without late views all of a file is before all of the next.
    """
    rng, delay_rng = random.Random(seed), random.Random(f"late {seed}")
    arrived: list[list[View]] = [[] for _ in range(files)]
    for _ in range(cookies):
        cookie = f"{rng.randrange(partitions):02x}{rng.getrandbits(40):010x}"
        times = _times(rng, files)
        delays: dict[dt.datetime, int] = {}
        for landed, user in zip(times, _users(rng, len(times)), strict=True):
            if landed not in delays:
                delays[landed] = delay_rng.randint(1, MOST_LATE) if delay_rng.random() < late else 0
            file = min((landed - START) // HOUR + delays[landed], files - 1)
            arrived[file].append(View(cookie, user, landed))
    return [sorted(file, key=lambda view: (view.landed, view.cookie)) for file in arrived]


def _times(rng: random.Random, files: int) -> list[dt.datetime]:
    """The times of a cookie's views, in order: a few visits with some views each."""
    found = []
    last = START + files * HOUR - MICROSECOND
    for _ in range(rng.randint(1, 4)):
        landed = START + rng.randrange(files * HOUR // MICROSECOND) * MICROSECOND
        for _ in range(rng.randint(1, 5)):
            found.append(min(landed, last))
            landed += rng.choice(GAPS)
    return sorted(found)


def _users(rng: random.Random, count: int) -> list[int | None]:
    """The users of a cookie's views in order: some views without a user, then changing users."""
    kind = rng.choice(["anonymous", "login", "switch", "return"])
    if kind == "anonymous":
        return [None] * count
    known = [rng.randrange(1, 10**9) for _ in range({"login": 1, "switch": 4, "return": 2}[kind])]
    first, current, found = rng.randrange(count + 1), 0, list[int | None]()
    for index in range(count):
        if index > first and rng.random() < 0.4:
            current = min(current + 1, len(known) - 1) if kind == "switch" else (current + 1) % len(known)
        logged_out = index < first or rng.random() < 0.2
        found.append(None if logged_out else known[current])
    return found


def lines(file: list[View]) -> Iterator[str]:
    """A file as JSON lines, with the names of the source."""
    for view in file:
        landed = view.landed.isoformat(sep=" ", timespec="microseconds")
        yield json.dumps({"visitorCookieId": view.cookie, "userId": view.user, "landed": landed})


def write(folder: Path, arrived: list[list[View]]) -> list[Path]:
    """Write the files, each a second newer than the previous one, because a stream reads files by age."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, file in enumerate(arrived, 1):
        path = folder / f"views-{number:04d}.json"
        path.write_text("".join(f"{line}\n" for line in lines(file)))
        os.utime(path, (START.timestamp() + number,) * 2)
        paths.append(path)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes page views as JSON lines, a file per hour of landing.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cookies", type=int, default=1000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--late", type=float, default=0.0, help="share of the moments that arrive in a later file")
    parser.add_argument("--partitions", type=int, default=8, help="different first two characters, at most 256")
    given = parser.parse_args()
    arrived = views(given.seed, given.cookies, given.files, given.late, given.partitions)
    for path, file in zip(write(given.folder, arrived), arrived, strict=True):
        print(f"{path}: {len(file)} views")


if __name__ == "__main__":
    main()
