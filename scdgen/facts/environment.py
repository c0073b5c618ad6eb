"""What a session must be like for the generated SQL to read values as the spec means them.

Without ANSI mode a cast changes a value that does not fit, or makes it NULL; in another time zone, dates and texts are
other times. Spark evaluates these conditions when it plans a statement, so that they cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.facts.refusals import SETTINGS, TIME_ZONE, refusal
from scdgen.facts.source import source_columns, time_type
from scdgen.model.spec import Spec
from scdgen.sql.zones import UTC_NAMES


@dataclass(frozen=True)
class Environment:
    """The rules for the session, tested with the rows, because statements are also pasted one by one."""

    zones: tuple[str, ...]
    """The names of the table's time zone, as literals."""
    has_instants: bool
    """Whether a value is a TIMESTAMP, which a session may take for another type."""
    settings: str
    """The refusal of a session with other settings."""
    other_zone: str
    """The refusal of a session in another time zone."""

    @classmethod
    def of(cls, spec: Spec) -> Environment:
        """Return the rules of a spec."""
        zone = spec.time_zone
        has_instants = "TIMESTAMP" in {time_type(spec), *(spec.columns[name].type for name in source_columns(spec))}
        return cls(
            zones=tuple(map(sql.text_literal, UTC_NAMES if zone in UTC_NAMES else [zone])),
            has_instants=has_instants,
            settings=refusal(spec, SETTINGS, f"needs ANSI mode{' and TIMESTAMP_LTZ' if has_instants else ''}"),
            other_zone=refusal(spec, TIME_ZONE, f"run SET TIME ZONE {sql.text_literal(zone)} first"),
        )
