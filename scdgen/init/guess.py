"""What the name of a column says about it, for drafts from data and from other tools."""

from __future__ import annotations

import re

WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LOADED = re.compile(
    r"_*((dw|dwh|etl|meta|stg|last|airbyte|dlt)_)*"
    r"(ingest(ed|ion)?|load(ed|ing)?|sync(ed|hronized)?|extract(ed|ion)?|replicat(ed|ion)|import(ed)?|refresh(ed)?|"
    r"process(ed|ing)|arriv(ed|al))"
    r"_(at|on|ts|time|date|datetime|timestamp|dt)"
    r"|_?fivetran_synced",
    re.IGNORECASE,
)


def is_load_time(name: str) -> bool:
    """Whether a column has the name of the time at which a row was loaded, which says nothing about the row.

    >>> [is_load_time(name) for name in ("ingested_at", "lastSyncedAt", "_fivetran_synced", "dw_load_ts")]
    [True, True, True, True]
    >>> [is_load_time(name) for name in ("updated_at", "loading_dock", "process", "order_date", "import_price")]
    [False, False, False, False, False]
    """
    return _LOADED.fullmatch(_WORDS.sub("_", name.strip("`"))) is not None
