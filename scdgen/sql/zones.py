"""Time zones, and the literal of a time that means the same in a session of any zone."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from scdgen.sql.expression import text_literal

UTC_NAMES = ("UTC", "Etc/UTC", "GMT")
"""Names of UTC that sessions have: of scdgen's own, of clusters of Databricks, and of machines without a time zone."""
_TIME = re.compile(r"[+-]?\d{4,7}-\d{1,2}-\d{1,2}([ T]\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d{0,9})?)?)?)?")


def timestamp_literal(text: str, zone: str) -> str:
    """Return a time as a TIMESTAMP literal that is the same in every session: in ``zone``, unless it names its own.

    >>> timestamp_literal("9999-12-31", "UTC"), timestamp_literal("2024-01-01 12:00:00Z", "Europe/Oslo")
    ("TIMESTAMP '9999-12-31 00:00:00 UTC'", "TIMESTAMP '2024-01-01 12:00:00Z'")
    """
    if found := _TIME.fullmatch(text):
        text = f"{text} {zone}" if found[1] else f"{text} 00:00:00 {zone}"
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
