"""Runs specs in order, except those that read a table that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scdgen.errors import line_and_status
from scdgen.spec.graph import Step
from scdgen.spec.model import Spec

Counts = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The ``counts`` of one table's run, its ``error``, or the failed tables because of which it was left out."""

    target: str
    counts: Counts | None = None
    error: Exception | None = None
    because: tuple[str, ...] = ()

    def as_object(self) -> dict[str, Any]:
        """The outcome as ``run --json`` prints it for one table of several."""
        if self.counts is not None:
            return {**self.counts, "status": "done"}
        if self.error is not None:
            return {"target": self.target, "status": "failed", "error": line_and_status(self.error)[0]}
        return {"target": self.target, "status": "skipped", "because": list(self.because)}


def run_steps(steps: Sequence[Step], run: Callable[[Spec], Counts]) -> Iterator[Outcome]:
    """Run the steps in the order given, and yield each outcome at once."""
    causes: dict[str, tuple[str, ...]] = {}  # table that is not done -> the tables that failed before it
    for step in steps:
        target = step.spec.target
        because = tuple(dict.fromkeys(cause for need in step.needs for cause in causes.get(need, ())))
        if because:
            causes[target] = because
            yield Outcome(target, because=because)
            continue
        try:
            outcome = Outcome(target, counts=run(step.spec))
        except Exception as error:  # the other tables do not depend on it
            causes[target] = (target,)
            outcome = Outcome(target, error=error)
        yield outcome


def summarize(outcomes: Sequence[Outcome]) -> str:
    """A line each: what was done, what failed, and what was not run because of it."""
    done = [outcome.target for outcome in outcomes if outcome.counts is not None]
    failed = [outcome.target for outcome in outcomes if outcome.error is not None]
    left = [f"{outcome.target} (because of {', '.join(outcome.because)})" for outcome in outcomes if outcome.because]
    lines = [f"{len(names)} {what}: {', '.join(names)}" if names else f"0 {what}"
             for names, what in ((done, "done"), (failed, "failed"), (left, "not run"))]  # fmt: skip
    return "\n".join([*lines, "mend the cause and run again; what is done is not done twice"])
