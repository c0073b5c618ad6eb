"""The part of a pattern that validates specs: what it makes of their options, and its rules across them."""

from __future__ import annotations

from collections.abc import Iterable

from scdgen.model.registry import KEYS, PATTERN, TIME_ZONE, Found, PatternOptions, names_as_json, options_of
from scdgen.model.spec import Spec


class PatternRules(PatternOptions):
    """The part of a pattern that needs only the spec."""

    def needs_time(self, spec: Spec) -> bool:
        """Whether the source needs ``effective_at``."""
        return False

    def takes_parts(self, spec: Spec) -> bool:
        """Whether the rows of a key may arrive in parts, as in micro-batches."""
        return True

    def problems(self, spec: Spec) -> Found:
        """Yield (place in the spec, one line with the fix) for each broken rule of this pattern.

        ``feeds``, ``without`` and ``deletes`` are checked for every pattern; this is for rules across options.
        """
        return iter(())

    def added_columns(self, spec: Spec) -> Iterable[str]:
        """Return the columns that the pattern adds to those of the spec, in order."""
        return ()

    def definition(self, spec: Spec) -> dict[str, str]:
        """Return what the stored rows depend on besides pattern and keys: table property -> value."""
        return {}


def rules_of(spec: Spec) -> PatternRules:
    """Return the rules of the pattern of a spec."""
    found = options_of(spec.pattern)
    assert isinstance(found, PatternRules)
    return found


def definition(spec: Spec) -> dict[str, str]:
    """Return what the stored rows depend on: table property -> value."""
    own = {PATTERN: spec.pattern, KEYS: names_as_json(spec.keys), TIME_ZONE: spec.time_zone}
    return {**own, **rules_of(spec).definition(spec)}
