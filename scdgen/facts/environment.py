"""What a session must be like for the generated SQL to read values as the spec means them.

Without ANSI mode a cast changes a value that does not fit, or makes it NULL; in another time zone, dates and texts are
other times. Spark evaluates these conditions when it plans a statement, so that they cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scdgen import sql
from scdgen.facts.refusals import SETTINGS, TIME_ZONE, refusal
from scdgen.facts.source import source_columns, time_type
from scdgen.model.spec import Spec
from scdgen.sql.zones import UTC_NAMES


@dataclass(frozen=True)
class Environment:
    """The rules for the session, tested with the rows, because statements are also pasted one by one."""

    zones: tuple[str, ...]
    """The names of the table's time zone, as literals; empty if a statement is the same in all zones."""
    has_casts: bool
    """Whether a value is cast, which only ANSI mode does without changing it."""
    has_instants: bool
    """Whether a value is a TIMESTAMP, which a session may take for another type."""
    settings: str
    """The refusal of a session with other settings."""
    other_zone: str
    """The refusal of a session in another time zone."""

    @classmethod
    def of(cls, spec: Spec) -> Environment:
        """Return the rules of a statement that casts values of the source."""
        types = {time_type(spec), *(spec.columns[name].type for name in source_columns(spec))}
        return cls._of(spec, has_casts=True, has_instants="TIMESTAMP" in types)

    @classmethod
    def of_views(cls, spec: Spec) -> Environment:
        """Return the rules of views that cast or compute times: a view keeps the session that created it."""
        return cls._of(spec, has_casts=True, has_instants=True)

    @classmethod
    def of_types(cls, spec: Spec, types: Iterable[str]) -> Environment | None:
        """Return the rule of a statement that names these types; ``None`` if no session takes one for another."""
        if not any(re.search(r"\bTIMESTAMP\b", kind) for kind in types):
            return None
        return replace(cls._of(spec, has_casts=False, has_instants=True), zones=())

    @classmethod
    def _of(cls, spec: Spec, has_casts: bool, has_instants: bool) -> Environment:
        zone = spec.time_zone
        needed = [name for name, needs in (("ANSI mode", has_casts), ("TIMESTAMP_LTZ", has_instants)) if needs]
        return cls(
            zones=tuple(map(sql.text_literal, UTC_NAMES if zone in UTC_NAMES else [zone])),
            has_casts=has_casts,
            has_instants=has_instants,
            settings=refusal(spec, SETTINGS, f"needs {' and '.join(needed)}"),
            other_zone=refusal(spec, TIME_ZONE, f"run SET TIME ZONE {sql.text_literal(zone)} first"),
        )
