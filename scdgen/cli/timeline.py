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
from scdgen.compile.render import render_facts
from scdgen.errors import UsageError
from scdgen.facts.base import Facts
from scdgen.model.spec import Spec
from scdgen.run.versions import OPEN, UNTIL, VersionFilter, VersionRows

_EPOCH = dt.datetime(1970, 1, 1)
_TIME = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")
_DAY = 86_400_000_000
_LAST = (dt.datetime.max - _EPOCH) // dt.timedelta(microseconds=1)
_FIRST = (dt.datetime.min - _EPOCH) // dt.timedelta(microseconds=1)
# The length of the axis if all versions begin at one time.
_LEAST_SPAN = {"timestamp": _DAY, "date": 7 * _DAY, "bigint": 10}
# A first time that is further before the others may be a placeholder for "always".
_FAR = {"timestamp": 20 * 365 * _DAY, "date": 20 * 365 * _DAY, "bigint": 100_000}
_LONGEST_VALUE = 10_000  # characters


@dataclass(frozen=True)
class Page(Facts, template="show.html.j2", is_sql=False):
    """The facts that the page's template prints.

    ``counted`` is the number of keys and versions that are known now. ``limit`` is the number of rows at which reading
    stopped, None if it did not, and ``cut`` the key whose history goes on there. ``whole``: the page has every version,
    so that a gap is a delete. ``runs`` is the number of times at which a run wrote or superseded a row, if the rows are
    not those of one time. ``data`` is what the page's script reads, ``policy`` what a browser may use in the page.
    ``made`` is when it was made, of what.
    """

    target: str
    description: str | None
    counted: str
    kind: str
    limit: int | None
    cut: str | None
    whole: bool
    runs: int
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
    kind, whole = spec.history.type, wanted.has_whole_history
    history = [name for _, name in (*spec.history_columns, *spec.recorded_columns)]
    values = [name for name in spec.columns if name not in spec.keys]
    columns = [*spec.keys, *values, *history]
    recorded = [name for _, name in spec.recorded_columns]
    axis = recorded if wanted.superseded and wanted.known_at is None else []
    moments = _list_moments(found.rows, axis)
    # A version without a start begins with the first one that has one.
    starts = [at for row in found.rows if (at := parse_time(row[spec.history.valid_from], kind)) is not None]
    first = min(starts, default=0)
    # Group the rows by key; they come in the order of keys. The first row beyond the limit shows which key is cut.
    cut = _name_key(spec, found.following) if found.following is not None else None
    lanes: list[dict[str, Any]] = []
    known, goes_on, counts = set[int](), False, [0, 0]
    for key, rows in itertools.groupby(found.rows, lambda row: _name_key(spec, row)):
        versions = [_build_version(spec, row, columns, first, [moments.get(str(row[name])) for name in axis])
                    for row in rows]  # fmt: skip
        lanes.append({"cut": key == cut, "versions": versions})
        known |= {at for version in versions for at in (version["start"], version["until"]) if at is not None}
        goes_on |= key == cut or any(version["until"] is None for version in versions)
        now = sum(version["known"][1] is None for version in versions)
        counts = [counts[0] + (now > 0), counts[1] + now]
    if spec.history.open_end == "last_run":
        ends = (parse_time(row[spec.history.valid_to], kind) for row in found.rows)
        known |= {at for at in ends if at is not None}
    lo, hi = _choose_ends(sorted(known), kind, goes_on)
    for version in (version for lane in lanes for version in lane["versions"]):
        # Microseconds do not fit in JavaScript's numbers.
        version |= {name: None if version[name] is None else str(version[name]) for name in ("start", "until")}
    places = iter(range(len(columns)))
    counted = (f"{n} {what}{'s' * (n != 1)}" for n, what in zip(counts, ("key", "version"), strict=True))
    return Page(
        spec.target, spec.description, ", ".join(counted), kind,
        limit=len(found.rows) if found.following is not None else None,
        cut=cut if cut in {_name_key(spec, row) for row in found.rows[-1:]} else None,
        whole=whole, runs=len(moments),
        data={"kind": kind, "lo": str(lo), "hi": str(hi), "whole": whole, "moments": [*moments], "columns": columns,
              "places": [[next(places) for _ in names] for names in (spec.keys, values, history)], "lanes": lanes},
    )  # fmt: skip


def _name_key(spec: Spec, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(row[name])}" for name in spec.keys)


def _list_moments(rows: Sequence[Mapping[str, Any]], axis: Sequence[str]) -> dict[str, int]:
    """List the times in the columns of the second axis as they are stored, each with its place among them."""
    times = {parse_time(row[name], "timestamp"): str(row[name]) for row in rows for name in axis if row[name]}
    return {times[at]: place for place, at in enumerate(sorted(at for at in times if at is not None))}


def _build_version(
    spec: Spec, row: Mapping[str, Any], columns: Sequence[str], first: int, held: Sequence[int | None]
) -> dict[str, Any]:
    """Build the data of a row; ``held`` are the places of the moments from and to which the table held it."""
    history, kind = spec.history, spec.history.type
    start, until = (parse_time(row[name], kind) for name in (history.valid_from, UNTIL))
    start = first if start is None else start
    # A version without an end that is not open is corrupt; draw it with zero length.
    until = None if row[OPEN] else start if until is None else until
    begins, ends = (format_value(row[n]).removesuffix(" 00:00:00") for n in (history.valid_from, history.valid_to))
    return {
        "start": start,
        "until": until,
        "begins": begins,
        "ends": "" if until is None else ends,
        "deleted": bool(history.deleted and row[history.deleted]),
        "known": [held[0] or 0, held[1]] if held else [0, None],
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
    if kind == "bigint":
        return int(str(stored))
    found = _TIME.fullmatch(str(stored))
    if found is None:
        raise ValueError(f"'{stored}' is not a valid {kind}")
    year = int(found[1])
    if not 1 <= year <= 9999:
        return _FIRST if year < 1 else _LAST
    hour, minute, second = (int(found[place] or 0) for place in (4, 5, 6))
    fraction = int((found[7] or "").ljust(6, "0"))
    moment = dt.datetime(year, int(found[2]), int(found[3]), hour, minute, second, fraction)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def render_page(page: Page) -> str:
    """Render the page with its policy."""
    # Without any text of the table, so that none can be a style or a script that the policy allows.
    blank: dict[str, Any] = {name: _blank(value) for name, value in vars(page).items()}
    rules = ["default-src 'none'"]
    for tag in ("style", "script"):
        found = re.findall(f"<{tag}>(.*?)</{tag}>", render_facts(replace(page, **blank)), re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found)
        rules.append(" ".join([f"{tag}-src", *(f"'sha256-{digest}'" for digest in digests)]))
    return render_facts(replace(page, policy="; ".join([*rules, "base-uri 'none'", "form-action 'none'"])))


def _blank(value: Any) -> Any:
    """Return a value with empty texts in it."""
    if isinstance(value, dict):
        return {key: _blank(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_blank(inside) for inside in value]
    return "" if isinstance(value, str) else value
