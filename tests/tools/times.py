"""How long the tests took, by file, as a table of Markdown: python -m tests.tools.times REPORT.xml [...]

The reports are those of `pytest --junit-xml`. The seconds are those of a worker, with the fixtures of each test.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator

BIGGEST = 25


def table(reports: Iterable[str]) -> Iterator[str]:
    """The lines of the table: the files that took longest, the others together, and the sum."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):
            found[str(case.get("classname")).removeprefix("tests.").replace(".", "/")].append(
                float(case.get("time", 0))
            )
    files = sorted(found.items(), key=lambda file: -sum(file[1]))
    rest, every = ([time for _, times in some for time in times] for some in (files[BIGGEST:], files))
    yield "| file | seconds | tests |"
    yield "|---|---:|---:|"
    rows = [(f"`{name}`", times) for name, times in files[:BIGGEST]]
    for name, times in (*rows, (f"{len(files) - len(rows)} others", rest), ("all", every)):
        yield f"| {name} | {sum(times):.0f} | {len(times)} |"


if __name__ == "__main__":
    print("\n".join(table(sys.argv[1:])))
