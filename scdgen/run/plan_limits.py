"""``plan --fail-on``: conditions on what a plan counts, such as ``close>10%``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from scdgen.errors import UsageError, nearest
from scdgen.patterns.pattern import pattern_of
from scdgen.run.results import PlanResult
from scdgen.spec.model import Spec

_FORM = re.compile(r"\s*([a-z]+)\s*(>=|<=|!=|==|=|>|<)\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*", re.IGNORECASE)
_TESTS: dict[str, Callable[[Decimal, Decimal], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_HOW = "write an action, a comparison and a number or a percentage of the current keys, in quotes: 'close>10%'"


@dataclass(frozen=True)
class Limit:
    """What a plan may not do. With ``percent``, ``number`` is a percentage of the keys that are current."""

    text: str
    action: str
    comparison: str
    number: Decimal
    percent: bool

    def broken(self, plan: PlanResult) -> str | None:
        """What is to be said of a plan that goes over the limit; ``None`` for one that keeps it."""
        counts = {**plan.counts, "late": plan.late}
        if self.action not in counts:
            return None
        # Of the keys a version of which is closed, those count that are current: a mark of a delete is none.
        count = plan.closed_keys if self.percent and self.action == "close" else counts[self.action]
        bound = self.number * plan.current_keys / 100 if self.percent else self.number
        if not _TESTS[self.comparison](Decimal(count), bound):
            return None
        told = f"{count} {self.action}"
        if self.percent:
            share = f", {100 * count / plan.current_keys:.1f}%" if plan.current_keys else ""
            told += f" against {plan.current_keys} current keys{share}"
        return f"{plan.target}: the plan fails on {self.text}: {told}"


def read_limits(given: Sequence[str], specs: Sequence[Spec]) -> list[Limit]:
    """The limits of a command line; raises :class:`UsageError` for one that cannot be meant."""
    known = list(dict.fromkeys([action for spec in specs for action in pattern_of(spec).actions(spec)] + ["late"]))
    return [_limit(text, known) for text in given]


def _limit(text: str, known: Sequence[str]) -> Limit:
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(f"--fail-on {text}: {_HOW}")
    action, comparison, number, percent = found[1].lower(), found[2], found[3], bool(found[4])
    if action not in known:
        listed = ", ".join(known)
        raise UsageError(f"--fail-on {text}: there is no action '{action}'{nearest(action, known)} (one of {listed})")
    if not percent and "." in number:
        raise UsageError(f"--fail-on {text}: {number} is no number of rows; write a whole number, or {number}%")
    return Limit("".join(text.split()), action, comparison, Decimal(number), percent)
