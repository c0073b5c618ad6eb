"""Texts of values of a type: whether Spark's CAST can read them, and an example of a valid one."""

from __future__ import annotations

import datetime as dt
import re

_DATE = r"\+?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d{0,9})?)?)?"
_ZONE = r"\s?[A-Za-z+-][\w:+/-]*"
DAY_WORDS = {"epoch", "now", "today", "tomorrow", "yesterday"}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TRUE_OR_FALSE = {"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"}


def value_text(value: object) -> str:
    """Return a value of a spec as the text that Spark casts.

    >>> value_text(True), value_text(-1)
    ('true', '-1')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


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

    >>> find_form("monday", "DATE"), find_form("2026-02-16", "DATE"), find_form("202401", "DATE")
    ('2026-02-16', None, '2026-02-16')
    >>> find_form("2026-02-30", "TIMESTAMP")
    '2026-02-16 08:30:00'
    >>> find_form("3000000000", "INT"), find_form("1,5", "DECIMAL(9, 2)")
    ('a whole number such as 42', 'a number such as 12.50')
    """
    text = text.strip()
    if kind in _BITS:
        most = 1 << (_BITS[kind] - 1)
        fits = re.fullmatch(r"[+-]?\d+", text) and -most <= int(text) < most
        return None if fits else "a whole number such as 42"
    if kind == "DATE":
        found = re.fullmatch(rf"{_DATE}(?:[ T].*)?", text)
        is_date = text.lower() in DAY_WORDS or (found is not None and _is_day(*found.groups()))
        return None if is_date else "2026-02-16"
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
