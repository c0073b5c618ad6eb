"""How long the tests took, by file, as a table of Markdown: python -m tests.tools.times REPORT.xml [...]

The reports are those of `pytest --junit-xml`. The seconds are those of a worker, with the fixtures of each test.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator

BIGGEST = 25


def table(reports: Iterable[str], biggest: int = BIGGEST) -> Iterator[str]:
    """The lines of the table: the files that took longest, the others together, and the sum."""
    seconds, number = Counter[str](), Counter[str]()
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):
            file = str(case.get("classname")).removeprefix("tests.").replace(".", "/")
            seconds[file] += float(case.get("time", 0))  # type: ignore[assignment]
            number[file] += 1
    listed = [(f"`{file}`", taken, number[file]) for file, taken in seconds.most_common()]
    rest = listed[biggest:]
    sums = [(f"{len(rest)} others", rest), ("all", listed)]
    yield "| file | seconds | tests |"
    yield "|---|---:|---:|"
    for name, taken, count in listed[:biggest] + [(n, sum(s for _, s, _ in f), sum(c for *_, c in f)) for n, f in sums]:
        yield f"| {name} | {taken:.0f} | {count} |"


if __name__ == "__main__":
    print("\n".join(table(sys.argv[1:])))
