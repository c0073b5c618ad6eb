"""JUnit XML for CI, and the option that writes it."""

from __future__ import annotations

import datetime as dt
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import click

_FILE = click.Path(dir_okay=False)
junit_option = click.option("--junit", "xml", type=_FILE, metavar="FILE", help="Also write JUnit XML.")


@dataclass(frozen=True)
class Outcome:
    """Why a test did not pass: a failure, or an error because of which it could not run."""

    kind: Literal["failure", "error"]
    type: str
    message: str
    text: str | None = None


@dataclass(frozen=True)
class Result:
    """A testcase, which passes without an outcome."""

    name: str
    seconds: float
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Suite:
    """A testsuite; ``started`` is in UTC."""

    name: str
    started: dt.datetime
    seconds: float
    tests: tuple[Result, ...]


def render(suites: Iterable[Suite]) -> str:
    """Render JUnit XML that fits the schemas of Ant and Jenkins."""
    root = ET.Element("testsuites")
    for number, suite in enumerate(suites):
        root.append(_render_suite(number, suite))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _render_suite(number: int, suite: Suite) -> ET.Element:
    kinds = [test.outcome.kind for test in suite.tests if test.outcome is not None]
    drawn = ET.Element(
        "testsuite", name=_escape_xml(suite.name), package="scdgen", id=str(number), hostname="localhost",
        timestamp=suite.started.strftime("%Y-%m-%dT%H:%M:%S"), time=f"{suite.seconds:.3f}",
        tests=str(len(suite.tests)), failures=str(kinds.count("failure")), errors=str(kinds.count("error")),
        skipped="0",
    )  # fmt: skip
    drawn.append(ET.Element("properties"))
    drawn.extend(_render_test(suite.name, test) for test in suite.tests)
    drawn.extend([ET.Element("system-out"), ET.Element("system-err")])
    return drawn


def _render_test(suite: str, test: Result) -> ET.Element:
    drawn = ET.Element(
        "testcase", name=_escape_xml(test.name), classname=_escape_xml(suite), time=f"{test.seconds:.3f}"
    )
    if (outcome := test.outcome) is not None:
        inner = ET.SubElement(drawn, outcome.kind, type=outcome.type, message=_escape_xml(outcome.message))
        inner.text = None if outcome.text is None else _escape_xml(outcome.text)
    return drawn


def _escape_xml(given: str) -> str:
    r"""Escape control characters and others that XML 1.0 does not allow.

    >>> _escape_xml("a\x00\tb\ud800")
    'a\\u0000\tb\\ud800'
    """
    forbidden = "[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    return re.sub(forbidden, lambda found: f"\\u{ord(found[0]):04x}", given)
