"""Dates and times that are text or numbers, and Spark's patterns that read them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from scdgen.errors import UsageError, quoted
from scdgen.sql.expression import text_literal
from scdgen.sql.tokens import tokens

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_LONG_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
# Letters of a pattern -> the texts that Spark reads by them.
_LETTERS = {
    "yyyy": r"\d{4}", "yy": r"\d\d", "MMMM": f"(?:{_LONG_MONTHS})", "MMM": f"(?:{_MONTHS})",
    "MM": r"(?:0[1-9]|1[0-2])", "M": r"(?:0?[1-9]|1[0-2])", "dd": r"(?:0[1-9]|[12]\d|3[01])",
    "d": r"(?:0?[1-9]|[12]\d|3[01])", "HH": r"(?:[01]\d|2[0-3])", "H": r"(?:[01]?\d|2[0-3])",
    "hh": r"(?:0[1-9]|1[0-2])", "h": r"(?:0?[1-9]|1[0-2])", "mm": r"[0-5]\d", "ss": r"[0-5]\d", "a": "[AP]M",
    "XXX": r"(?:Z|[+-]\d\d:\d\d)", "X": r"(?:Z|[+-]\d\d(?:\d\d)?)", "Z": r"[+-]\d{4}",
}  # fmt: skip
_DATES = (
    *(form.replace("/", sep) for sep in "/-" for form in ("dd/MM/yyyy", "MM/dd/yyyy", "d/M/yyyy", "M/d/yyyy")),
    "dd.MM.yyyy", "d.M.yyyy", "yyyy/MM/dd", "yyyy/M/d", "yyyy.MM.dd", "yyyy-MM-dd", "yyyy-M-d",
    "dd/MM/yy", "MM/dd/yy", "d/M/yy", "M/d/yy", "dd.MM.yy", "d.M.yy",
    *(f"{day}{sep}MMM{sep}{year}" for day in ("dd", "d") for sep in " -" for year in ("yyyy", "yy")),
    "d MMMM yyyy", "MMM d, yyyy", "MMMM d, yyyy", "yyyyMMdd",
)  # fmt: skip
_TIMES = (
    "", " HH:mm", " HH:mm:ss", " HH:mm:ss.SSSSSS", " HH:mm:ss,SSSSSS", " H:mm", " H:mm:ss", " hh:mm a", " h:mm a",
    " hh:mm:ss a", " h:mm:ss a", "'T'HH:mm", "'T'HH:mm:ss", "'T'HH:mm:ss.SSSSSS",
)  # fmt: skip
_PATTERNS = (
    *(date + time for time, date in product(_TIMES, _DATES)),
    *(date + time + zone for zone, time, date in product(("XXX", " XXX"), _TIMES[1:], _DATES)),
    "yyyyMMddHHmmss",
)
# The least and the greatest number of seconds that is taken for a time: of the years 2001 and 2096.
_SECONDS = (10**9, 4 * 10**9)
_UNITS = (("timestamp_seconds", 1), ("timestamp_millis", 10**3), ("timestamp_micros", 10**6))


_READS = re.compile(r"(try_)?to_(date|timestamp)(_ntz|_ltz)?|(to_)?unix_timestamp", re.IGNORECASE)
_PART = re.compile(r"'(?P<quoted>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL)


def to_regex(pattern: str, named: bool = False) -> str:
    r"""Return a regular expression of the texts that a Spark pattern reads. Raises :class:`ValueError`.

    With ``named``, the letter of a part of a date or a time is the name of its group.

    >>> to_regex("yyyy'T'ss.SSS")
    '\\d{4}T[0-5]\\d\\.\\d{1,3}'
    """
    found = ""
    for part in _PART.finditer(pattern):
        letters = part["letters"]
        if letters is None:
            found += re.escape(part["quoted"] or part["other"] or "")
        elif set(letters) == {"S"}:
            found += rf"\d{{1,{len(letters)}}}"
        elif letters in _LETTERS:
            found += f"(?P<{letters[0]}>{_LETTERS[letters]})" if named else _LETTERS[letters]
        else:
            raise ValueError(f"'{letters}' is not a known part of a date")
    return found


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(to_regex(pattern), re.IGNORECASE)


def read_by(pattern: str, text: str) -> str:
    """Return the date or the time that a pattern reads, as a literal has it; empty if it does not read a day.

    >>> read_by("dd.MM.yyyy", "31.12.9999"), read_by("MMM d, yyyy h:mm a", "Dec 31, 9999 11:59 PM")
    ('9999-12-31', '9999-12-31 23:59:00')
    """
    read = re.fullmatch(to_regex(pattern, named=True), text, re.IGNORECASE)
    parts = read.groupdict() if read else {}
    if not parts.keys() >= {"y", "M", "d"}:
        return ""
    month = parts["M"].title()[:3]
    number = int(month) if month.isdigit() else _MONTHS.split("|").index(month) + 1
    day = f"{int(parts['y']):04}-{number:02}-{int(parts['d']):02}"
    if not {"H", "h"} & parts.keys():
        return day
    hour = int(parts["H"]) if "H" in parts else int(parts["h"]) % 12 + 12 * (parts["a"].upper() == "PM")
    return f"{day} {hour:02}:{parts['m']}:{parts.get('s', '00')}"


_MISTAKEN = {"m": "minutes", "Y": "the week-based year", "D": "the day of the year"}


def find_mistake(pattern: str) -> str | None:
    """Describe letters that mean something else than a month, a year or a day, and the pattern to write instead.

    >>> find_mistake("dd/mm/yyyy"), find_mistake("DD.MM.yyyy HH:mm")
    ('mm is minutes; write dd/MM/yyyy', 'DD is the day of the year; write dd.MM.yyyy HH:mm')
    >>> [find_mistake(right) for right in ("HH:mm dd.MM.yyyy", "yyyyMMddHHmmss", "yyyy-DDD", "mm:ss")]
    [None, None, None, None]
    """
    parts = [part[0] for part in _PART.finditer(pattern)]
    places = [place for place, part in enumerate(parts) if part[0].isalpha()]
    letters = "".join(parts[place][0] for place in places)
    said: dict[str, None] = {}
    for index, (place, letter) in enumerate(zip(places, letters, strict=True)):
        sides = {*letters[max(index - 1, 0) : index], *letters[index + 1 : index + 2]}
        is_month = letter == "m" and bool(sides & set("dDyY")) and not sides & set("HhKks")
        is_day = letter == "D" and ("M" in letters or "m" in sides)
        if is_month or is_day or letter == "Y":
            said[f"{parts[place]} is {_MISTAKEN[letter]}"] = None
            parts[place] = parts[place].swapcase()
    return f"{' and '.join(said)}; write {''.join(parts)}" if said else None


def find_literal_patterns(text: str) -> list[str]:
    """Return the patterns in calls that read times, if they are literals.

    >>> find_literal_patterns("coalesce(to_date(trim(a), 'dd/MM/yyyy'), try_to_timestamp(a, 'yyyy'))")
    ['dd/MM/yyyy', 'yyyy']
    """
    found, calls = [], []  # calls: whether each open bracket is that of such a call
    listed = tokens(text) if _READS.search(text) else []
    for place, token in enumerate(listed):
        if token.token_type is TokenType.L_PAREN:
            calls.append(place > 0 and bool(_READS.fullmatch(listed[place - 1].text)))
        elif token.token_type is TokenType.R_PAREN and calls and calls.pop():
            comma, last = listed[place - 2 : place]
            if comma.token_type is TokenType.COMMA and last.token_type is TokenType.STRING:
                found.append(last.text)
    return found


def find_order(pattern: str) -> str:
    """``d`` if the number of the day comes before that of the month, ``M`` if it comes after; otherwise empty.

    >>> find_order("dd/MM/yyyy"), find_order("M/d/yyyy HH:mm"), find_order("d MMM yyyy"), find_order("dd.MM.yyyy")
    ('d', 'M', '', '')
    """
    found = re.match(r"(d|M)(?!MM)\1?[/-](?!MMM)[dM]", pattern)
    return found[1] if found else ""


def find_patterns(values: Iterable[str], order: str = "") -> tuple[str, ...]:
    """Find the patterns that read all texts: none, one, or two if day and month are ambiguous.

    ``order`` is the result of :func:`find_order` for the dates of the same source, if it is known.
    """
    texts = set(values)
    if not texts:
        return ()
    first = next(iter(texts))
    found: dict[str, str] = {}
    for pattern in _PATTERNS:
        read = _compile(pattern).fullmatch
        if find_order(pattern) not in found and read(first) and all(map(read, texts)):
            found[find_order(pattern)] = pattern
    chosen = found.get("") or found.get(order)
    return (chosen,) if chosen else tuple(found.values())


def check_pattern(pattern: str, option: str) -> None:
    """Raise :class:`UsageError` if a pattern is not one of a date, or its letters mean something else."""
    if mistake := find_mistake(pattern):
        raise UsageError(mistake, option=option, value=pattern)
    try:
        _compile(pattern)
    except ValueError as error:
        fix = "write it as dd/MM/yyyy or yyyy-MM-dd HH:mm:ss"
        raise UsageError(str(error), fix=fix, option=option, value=pattern) from error


def require_reads(pattern: str, columns: Mapping[str, Sequence[str]], option: str) -> list[str]:
    """Return the columns whose texts a pattern reads. Raises :class:`UsageError` if it is invalid, or reads none."""
    check_pattern(pattern, option)
    read = _compile(pattern).fullmatch
    fits = [name for name, texts in columns.items() if texts and all(map(read, texts))]
    if not fits:
        like = re.compile(r"\d{1,4}[-/. ]\w{1,3}[-/. ]\d.*")
        first = ((name, texts[0]) for name, texts in columns.items() if texts)
        shown = (f"{name} holds {quoted(text)}" for name, text in first if like.match(text))
        fix = next(shown, "leave it out")
        raise UsageError("no column has dates in this format", fix=fix, option=option, value=pattern)
    return fits


def ways_to_time(value: str, kind: str) -> list[str]:
    """Return the expressions that make a DATE or a TIMESTAMP of a number.

    >>> ways_to_time("day", "DATE")
    ["to_date(CAST(day AS STRING), 'yyyyMMdd')", 'to_date(timestamp_millis(day))']
    """
    text = f"CAST({value} AS STRING), 'yyyyMMdd'"
    if kind == "DATE":
        return [f"to_date({text})", f"to_date(timestamp_millis({value}))"]
    return [f"timestamp_millis({value})", f"timestamp_seconds({value})", f"to_timestamp({text})"]


def ways_to_number(value: str, is_time: bool) -> list[str]:
    """Return the expressions that make a whole number, of which the order is kept, of a time or a fraction.

    >>> ways_to_number("lsn", False)
    ['CAST(lsn * 1000 AS BIGINT)', 'floor(lsn)']
    """
    if is_time:
        return [f"unix_micros(CAST({value} AS TIMESTAMP))"]
    return [f"CAST({value} * 1000 AS BIGINT)", f"floor({value})"]


def ways_to_read(text: str, value: str, kind: str) -> list[str]:
    """Return the expressions that make a DATE or a TIMESTAMP of a ``value``, whose ``text`` a cast does not read.

    >>> ways_to_read("202401", "period", "DATE"), ways_to_read("1704067200000", "ms", "TIMESTAMP")
    (["to_date(period, 'yyyyMM')"], ['timestamp_millis(CAST(ms AS BIGINT))'])
    >>> ways_to_read("1.2.2024", "at", "TIMESTAMP"), ways_to_read("0000-01-01", "at", "TIMESTAMP")
    (["to_timestamp(at, 'd.M.yyyy')"], [])
    """
    is_month = re.fullmatch(r"(19|20)\d\d(0[1-9]|1[0-2])", text)
    found = ("yyyyMM",) if is_month else find_patterns([text])
    if not found and (function := find_epoch([text])):
        time = f"{function}(CAST({value} AS BIGINT))"
        return [f"to_date({time})" if kind == "DATE" else time]
    patterns = (pattern for pattern in found if not pattern.startswith("yyyy-MM-dd"))  # a cast reads these
    return [f"to_{kind.lower()}({value}, {text_literal(pattern)})" for pattern in patterns]


def find_epoch(values: Iterable[Any]) -> str | None:
    """Return the Spark function that reads whole numbers as times since 1970; ``None`` if they do not look like it.

    >>> find_epoch(["1704067200"]), find_epoch([1704067200000]), find_epoch([7])
    ('timestamp_seconds', 'timestamp_millis', None)
    """
    texts = [str(value) for value in values if value is not None]
    if not texts or not all(re.fullmatch(r"\d{10,17}", text) for text in texts):
        return None
    least, most = min(map(int, texts)), max(map(int, texts))
    return next((f for f, unit in _UNITS if _SECONDS[0] <= least // unit and most // unit <= _SECONDS[1]), None)
