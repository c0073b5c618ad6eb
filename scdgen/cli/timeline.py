"""The page of ``scdgen show --html``: a lane per key, in a single file with its data as JSON, which loads nothing else.

The times of the axis are whole numbers. The script of the page finds out what a version changed, because other versions
beside it were known at other times. The page's policy lets a browser use this script alone.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scdgen.cli.output import format_value
from scdgen.compile.render import read_file, render_facts
from scdgen.errors import UsageError
from scdgen.facts.base import Facts
from scdgen.model.spec import Spec
from scdgen.run.versions import OPEN, UNTIL, VersionFilter, VersionRows

_EPOCH = dt.datetime(1970, 1, 1)
_DAY = 86_400_000_000
_FIRST, _LAST = ((end - _EPOCH) // dt.timedelta(microseconds=1) for end in (dt.datetime.min, dt.datetime.max))
# The length of the axis if all versions begin at one time.
_LEAST_SPAN = {"timestamp": _DAY, "date": 7 * _DAY, "bigint": 10}
# A first time that is further before the others may be a placeholder for "always".
_FAR = {"timestamp": 20 * 365 * _DAY, "date": 20 * 365 * _DAY, "bigint": 100_000}
_LONGEST_VALUE = 10_000  # characters


@dataclass(frozen=True)
class Page(Facts, template="show.html.j2", is_sql=False):
    """The facts that the page's template prints.

    ``counted`` is the number of keys and versions that are known now. ``limit`` is the number of rows at which reading
    stopped, None if it did not, and ``cut`` the key whose history goes on there. ``data`` is what the page's script
    reads: if it is ``whole``, it has every version, so that a gap is a delete; ``moments`` are the times at which a run
    wrote or superseded a row, if the rows are not those of one time. ``policy`` is what a browser may use in the page,
    ``made`` when it was made, of what.
    """

    target: str
    description: str | None
    counted: str
    limit: int | None
    cut: str | None
    data: dict[str, Any]
    policy: str = ""
    made: str = ""


def require_history(spec: Spec) -> None:
    """Raise :class:`UsageError` if the table does not keep history."""
    if not spec.keeps_history:
        what = f"{spec.target} is {spec.pattern}, which keeps no history"
        raise UsageError(what, fix="use --format table, csv or json", option="--html")


def build_page(spec: Spec, wanted: VersionFilter, found: VersionRows) -> Page:
    """Build the page of the rows, with lanes in their order."""
    kind, recorded = spec.history.type, [name for _, name in spec.recorded_columns]
    history = [*(name for _, name in spec.history_columns), *recorded]
    values = [name for name in spec.columns if name not in spec.keys]
    columns = [*spec.keys, *values, *history]
    moments = _list_moments(found.rows, recorded if wanted.superseded and wanted.known_at is None else [])
    # A version without a start begins with the first one that has one.
    starts = [at for row in found.rows if (at := parse_time(row[spec.history.valid_from], kind)) is not None]
    first = min(starts, default=0)
    # Group the rows by key; they come in the order of keys. The first row beyond the limit shows which key is cut.
    cut = _name_key(spec, found.following) if found.following is not None else None
    lanes: list[dict[str, Any]] = []
    for key, rows in itertools.groupby(found.rows, lambda row: _name_key(spec, row)):
        lanes.append(
            {"cut": key == cut, "versions": [_build_version(spec, row, columns, first, moments) for row in rows]}
        )
    versions = [version for lane in lanes for version in lane["versions"]]
    known = {int(at) for version in versions for at in (version["start"], version["until"]) if at is not None}
    goes_on = any(lane["cut"] for lane in lanes) or any(version["until"] is None for version in versions)
    if spec.history.open_end == "last_run":
        ends = (parse_time(row[spec.history.valid_to], kind) for row in found.rows)
        known |= {at for at in ends if at is not None}
    lo, hi = _choose_ends(sorted(known), kind, goes_on)
    now = [sum(version["known"][1] is None for version in lane["versions"]) for lane in lanes]
    counts = {"key": sum(map(bool, now)), "version": sum(now)}
    places = iter(range(len(columns)))
    return Page(
        spec.target, spec.description, ", ".join(f"{n} {what}{'s' * (n != 1)}" for what, n in counts.items()),
        limit=len(found.rows) if found.following is not None else None,
        cut=cut if any(lane["cut"] for lane in lanes) else None,
        data={"kind": kind, "lo": str(lo), "hi": str(hi), "whole": wanted.has_whole_history, "moments": [*moments],
              "columns": columns, "lanes": lanes,
              "places": [[next(places) for _ in names] for names in (spec.keys, values, history)]},
    )  # fmt: skip


def _name_key(spec: Spec, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(row[name])}" for name in spec.keys)


def _list_moments(rows: Sequence[Mapping[str, Any]], axis: Sequence[str]) -> dict[str, int]:
    """List the times in the columns of the second axis as they are stored, each with its place among them."""
    times = {parse_time(row[name], "timestamp"): str(row[name]) for row in rows for name in axis if row[name]}
    return {times[at]: place for place, at in enumerate(sorted(at for at in times if at is not None))}


def _build_version(
    spec: Spec, row: Mapping[str, Any], columns: Sequence[str], first: int, moments: Mapping[str, int]
) -> dict[str, Any]:
    """Build the data of a row; ``known`` are the places of the moments from and to which the table held it."""
    history, kind = spec.history, spec.history.type
    start, until = (parse_time(row[name], kind) for name in (history.valid_from, UNTIL))
    start = first if start is None else start
    # A version without an end that is not open is corrupt; draw it with zero length.
    until = None if row[OPEN] else start if until is None else until
    since, gone = [moments.get(str(row[name])) for _, name in spec.recorded_columns] or (0, None)
    begins, ends = (format_value(row[n]).removesuffix(" 00:00:00") for n in (history.valid_from, history.valid_to))
    return {
        "start": str(start),  # JavaScript's numbers do not hold microseconds
        "until": None if until is None else str(until),
        "period": f"{begins} → {'open' if until is None else ends}",
        "gone": bool(history.deleted and row[history.deleted]),
        "known": [since or 0, gone],
        "row": [_format_text(row[name]) for name in columns],
    }


def _format_text(value: object) -> str | None:
    """Format a value, cut if it is long, with a digest that tells it from others; ``None`` for NULL.

    >>> len(_format_text("x" * 10_000) or ""), (_format_text("x" * 10_001) or "")[-34:]
    (10000, 'x… (10,001 characters, MD5 410bd8)')
    """
    text = None if value is None else format_value(value)
    if text is None or len(text) <= _LONGEST_VALUE:
        return text
    digest = hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters, MD5 {digest[:6]})"


def _choose_ends(known: Sequence[int], kind: str, goes_on: bool) -> tuple[int, int]:
    """Choose the ends of an axis for the known times, with room after the last one for versions that go on.

    A first time far before all others, such as 1900-01-01 for "always", would leave no room for them; the axis then
    begins shortly before the second.
    """
    lo, hi = (known[0], known[-1]) if known else (0, 0)
    if len(known) > 2 and known[1] - lo > max(4 * (hi - known[1]), _FAR[kind]):
        lo = known[1] - max(1, (hi - known[1]) // 8)
    if hi == lo:
        return lo, lo + _LEAST_SPAN[kind]
    return lo, hi + (max(1, (hi - lo) // 12) if goes_on else 0)


def parse_time(stored: object, kind: str) -> int | None:
    """Convert a stored start or end to a number: microseconds since 1970, or the ``bigint`` itself; None for NULL.

    A year that Python's dates do not support becomes their first or last time.

    >>> parse_time("1970-01-02", "date"), parse_time("1970-01-01 00:00:01.5", "timestamp"), parse_time(7, "bigint")
    (86400000000, 1500000, 7)
    """
    if stored is None:
        return None
    text = str(stored)
    if kind == "bigint":
        return int(text)
    if text.startswith(("-", "0000-")):
        return _FIRST
    if text[4] != "-":
        return _LAST
    whole, _, fraction = text.partition(".")
    return (dt.datetime.fromisoformat(whole) - _EPOCH) // dt.timedelta(microseconds=1) + int(f"{fraction:0<6}")


def render_page(page: Page) -> str:
    """Render the page with its policy."""
    rules = ["default-src 'none'"]
    # As the template has them: no text of the table can become a style or a script that the policy allows.
    found = re.findall('<(style|script)(?: type="module")?>(.*?)</', read_file(page.template), re.DOTALL)
    for tag, text in found:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        rules.append(f"{tag}-src 'sha256-{digest}'")
    return render_facts(replace(page, policy="; ".join([*rules, "base-uri 'none'", "form-action 'none'"])))
