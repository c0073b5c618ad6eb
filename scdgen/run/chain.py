"""Runs specs in order: what reads a table that failed is left out, everything else is run."""

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
    """What became of one table: ``counts`` of the run, the ``error``, or the failed tables it was left out for."""

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


def walk(steps: Sequence[Step], run: Callable[[Spec], Counts]) -> Iterator[Outcome]:
    """Run each step in the order given, and yield what became of it at once."""
    causes: dict[str, tuple[str, ...]] = {}  # table that is not done -> the failures behind it
    for step in steps:
        target = step.spec.target
        because = tuple(dict.fromkeys(cause for need in step.needs for cause in causes.get(need, ())))
        if because:
            causes[target] = because
            yield Outcome(target, because=because)
            continue
        try:
            outcome = Outcome(target, counts=run(step.spec))
        except Exception as error:  # whatever it is, the other tables do not hang on it
            causes[target] = (target,)
            outcome = Outcome(target, error=error)
        yield outcome


def summary(outcomes: Sequence[Outcome]) -> str:
    """What was done, what failed, and what was not run because of it, a line each."""
    done = [outcome.target for outcome in outcomes if outcome.counts is not None]
    failed = [outcome.target for outcome in outcomes if outcome.error is not None]
    left = [f"{outcome.target} (because of {', '.join(outcome.because)})" for outcome in outcomes if outcome.because]
    lines = [f"{len(names)} {what}: {', '.join(names)}" if names else f"0 {what}"
             for names, what in ((done, "done"), (failed, "failed"), (left, "not run"))]  # fmt: skip
    return "\n".join([*lines, "mend the cause and run again; what is done is not done twice"])
