"""Texts of values of a type: whether Spark's CAST can read them, and an example of a valid one."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import available_timezones

from scdgen.sql.expression import text_literal

_DATE = r"\+?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d{0,9})?)?)?"
_ZONE = r"\s?[A-Za-z+-][\w:+/-]*"
DAY_WORDS = {"epoch", "now", "today", "tomorrow", "yesterday"}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
UTC_NAMES = ("UTC", "Etc/UTC", "GMT")
"""Names of UTC that sessions have: of scdgen's own, of clusters of Databricks, and of machines without a time zone."""
_TRUE_OR_FALSE = {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"}


def value_text(value: object) -> str:
    """Return a value of a spec as the text that Spark casts.

    >>> value_text(True), value_text(-1)
    ('true', '-1')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def timestamp_literal(text: str, zone: str) -> str:
    """Return a time as a TIMESTAMP literal that is the same in every session: in ``zone``, unless it names its own.

    >>> timestamp_literal("9999-12-31", "UTC"), timestamp_literal("2024-01-01 12:00:00Z", "Europe/Oslo")
    ("TIMESTAMP '9999-12-31 00:00:00 UTC'", "TIMESTAMP '2024-01-01 12:00:00Z'")
    """
    day = r"[+-]?\d{4,7}-\d{1,2}-\d{1,2}"
    if re.fullmatch(day, text):
        text = f"{text} 00:00:00 {zone}"
    elif re.fullmatch(rf"{day}[ T]{_CLOCK}", text):
        text = f"{text} {zone}"
    return f"TIMESTAMP {text_literal(text)}"


def time_zone(text: str) -> str:
    """Return the name of a time zone as it is; raises ``ValueError`` if Spark does not know it.

    >>> time_zone("Europe/Oslo"), time_zone("+05:30")
    ('Europe/Oslo', '+05:30')
    >>> time_zone("Oslo")
    Traceback (most recent call last):
    ValueError: 'Oslo' is not a time zone; write for example UTC, Europe/Oslo or +05:30
    """
    known = available_timezones()  # none on a machine without the database of time zones
    named = text in known if known else re.fullmatch(r"[A-Z]\w+(/[\w+-]+)*", text)
    if not (named or text in UTC_NAMES or re.fullmatch(r"[+-](0\d|1[0-8]):[0-5]\d", text)):
        raise ValueError(f"'{text}' is not a time zone; write for example UTC, Europe/Oslo or +05:30")
    return text


def same_zone(one: str, other: str) -> bool:
    """Whether two names are those of one time zone, as far as names tell.

    >>> same_zone("UTC", "Etc/UTC"), same_zone("UTC", "Europe/Oslo")
    (True, False)
    """
    return one == other or {one, other} <= set(UTC_NAMES)


def length_of(kind: str) -> int | None:
    """Return the maximum number of characters of a type, if it has one.

    >>> length_of("VARCHAR(20)"), length_of("STRING")
    (20, None)
    """
    found = re.fullmatch(r"(?:VAR)?CHAR\((\d+)\)", kind)
    return int(found[1]) if found else None


def find_form(text: str, kind: str) -> str | None:
    """Return how to write a value of a type, if Spark cannot read this text as one; ``None`` if it may.

    Spark also reads years before 1 and after 9999, so that '202401' is one. They are refused.

    >>> find_form("monday", "DATE"), find_form("2026-02-16", "DATE")
    ('2026-02-16', None)
    >>> find_form("2026-02-30", "TIMESTAMP")
    '2026-02-16 08:30:00'
    >>> find_form("202401", "DATE")
    '2026-02-16'
    >>> find_form("3000000000", "INT"), find_form("1,5", "DECIMAL(9, 2)")
    ('a whole number such as 42', 'a number such as 12.50')
    """
    text = text.strip()
    if kind in _BITS:
        most = 1 << (_BITS[kind] - 1)
        fits = re.fullmatch(r"[+-]?\d+", text) and -most <= int(text) < most
        return None if fits else "a whole number such as 42"
    if kind == "DATE":
        return None if _is_date(text) else "2026-02-16"
    if kind.startswith("TIMESTAMP"):
        return None if _is_time(text) else "2026-02-16 08:30:00"
    if kind == "BOOLEAN":
        return None if text.lower() in _TRUE_OR_FALSE else "true or false"
    if kind.startswith("DECIMAL"):
        return None if re.fullmatch(_NUMBER, text) else "a number such as 12.50"
    if kind in {"FLOAT", "DOUBLE"}:
        special = text.lower().lstrip("+-") in {"nan", "inf", "infinity"}
        return None if special or re.fullmatch(f"{_NUMBER}[dDfF]?", text) else "a number such as 12.5"
    return None


def _is_date(text: str) -> bool:
    found = re.fullmatch(rf"{_DATE}(?:[ T].*)?", text)
    return text.lower() in DAY_WORDS or (found is not None and _is_day(*found.groups()))


def _is_time(text: str) -> bool:
    if text.lower() in DAY_WORDS or re.fullmatch(rf"(?:T|(?=\d+:)){_CLOCK}(?:{_ZONE})?", text):
        return True
    found = re.fullmatch(rf"{_DATE}(?:[ T](?:{_CLOCK})?(?:{_ZONE})?)?", text)
    if found is None:
        return False
    year, month, day, *clock = found.groups()
    return _is_day(year, month, day) and all(
        part is None or int(part) < most for part, most in zip(clock, (24, 60, 60), strict=True)
    )


def _is_day(year: str, month: str | None, day: str | None) -> bool:
    try:
        dt.date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return False
    return True
