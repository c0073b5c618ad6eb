"""How the time of a run grows along one axis at a time, as tables and as a picture.

python -m tests.bench.curves [--keys N] [--rounds N] [--out FOLDER] [AXIS…]
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.bench import snapshot
from tests.bench.data import Size, make_history
from tests.bench.history import Measured, measure, prepare
from tests.bench.methods import METHODS, OLD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("scdgen", "floor", "hand-written")
COLOURS = {"scdgen": "C0", "command": "C9", "floor": "C1", "outer join": "C7", "hand-written": "C2"}
Point = tuple[Any, Size]


def axes(keys: int) -> dict[str, list[Point]]:
    """Axis -> (value, size): one number of the base size varies, the others are fixed."""
    base = Size(keys=keys)
    return {
        "keys": [(n, base.but(keys=n)) for n in (keys // 2, keys * 3 // 2, keys * 5, keys * 15)],
        "versions per key": [(n, base.but(versions=n)) for n in (1, 4, 10, 20)],
        "changed keys, %": [(share * 100, base.but(changed=share)) for share in (0.0001, 0.001, 0.01, 0.1)],
        "changes per key": [(n, base.but(per_key=n)) for n in (1, 2, 5)],
        "late changes, %": [(share * 100, base.but(late=share)) for share in (0.0, 0.01, 0.05)],
        "columns": [(n, base.but(columns=n)) for n in (5, 25, 100)],
        "layout": [(name, base.but(layout=name)) for name in ("none", "partitioned", "clustered")],
        "snapshot, changed %": [(share * 100, base.but(changed=share)) for share in (0.0, 0.01, 0.5)],
    }


def point(spark: SparkSession, axis: str, size: Size, rounds: int) -> dict[str, Measured]:
    """The methods at one point of an axis."""
    if axis.startswith("snapshot"):
        make_history(spark, size, OLD)
        return snapshot.measure(spark, size, rounds)
    prepare(spark, size)
    return measure(spark, size, [method for method in METHODS if method.name in NAMES], rounds)


def picture(found: dict[str, list[tuple[Any, dict[str, Measured]]]], path: Path) -> None:
    """A panel per axis; seconds from zero up."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.fonttype"], mpl.rcParams["svg.hashsalt"] = "none", "curves"  # the same numbers, the same file
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, (len(found) + 1) // 2, figsize=(3.6 * ((len(found) + 1) // 2), 6.4))
    for panel, (axis, points) in zip(panels.flat, found.items(), strict=False):
        for name in points[0][1]:
            known = [(str(value), one[name].median) for value, one in points if not one[name].cannot]
            if known:
                style = {"marker": "o", "markersize": 3, "linewidth": 1, "color": COLOURS[name]}
                panel.plot(*zip(*known, strict=True), label=name, **style)
        panel.set_title(axis, fontsize=9)
        panel.set_ylabel("seconds", fontsize=7)
        panel.set_ylim(bottom=0)
        panel.tick_params(labelsize=7)
        panel.legend(fontsize=7)
    for panel in list(panels.flat)[len(found) :]:
        panel.axis("off")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(".build/bench/results"))
    parser.add_argument("axes", nargs="*")
    given = parser.parse_args()
    from tests.bench.session import bench_session

    found: dict[str, list[tuple[Any, dict[str, Measured]]]] = {}
    given.out.mkdir(parents=True, exist_ok=True)
    with bench_session() as spark, (given.out / "curves.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["axis", "value", "method", "seconds", "files added", "files removed", "rounds"])
        for axis, points in axes(given.keys).items():
            if given.axes and axis not in given.axes:
                continue
            for value, size in points:
                one = point(spark, axis, size, given.rounds)
                found.setdefault(axis, []).append((value, one))
                for name, measured in one.items():
                    files = [measured.metrics.get(f"numTargetFiles{what}", "") for what in ("Added", "Removed")]
                    seconds = measured.cannot or f"{measured.median:.2f}"
                    table.writerow([axis, value, name, seconds, *files, " ".join(f"{t:.2f}" for t in measured.seconds)])
                times = ", ".join(f"{name} {m.cannot or f'{m.median:.2f} s'}" for name, m in one.items())
                print(f"{axis} {value}: {times}", flush=True)
    picture(found, given.out / "curves.svg")


if __name__ == "__main__":
    main()
