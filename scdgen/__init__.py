"""Slowly changing dimensions on Spark and Delta Lake, from a YAML spec to one MERGE.

The chain is in :mod:`scdgen.patterns.compile`. ``Runner`` is imported on first use, because it alone needs pyspark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scdgen.errors import DataError, EngineError, ScdgenError, SpecError
from scdgen.patterns.compile import Scripts, render
from scdgen.patterns.pattern import Pattern
from scdgen.run.results import CheckResult, RunResult
from scdgen.spec.load import load_spec, load_spec_text
from scdgen.spec.model import Spec
from scdgen.version import __version__

if TYPE_CHECKING:
    from scdgen.run.runner import Runner

__all__ = [
    "CheckResult",
    "DataError",
    "EngineError",
    "Pattern",
    "RunResult",
    "Runner",
    "ScdgenError",
    "Scripts",
    "Spec",
    "SpecError",
    "__version__",
    "load_spec",
    "load_spec_text",
    "render",
]


def __getattr__(name: str) -> Any:
    if name == "Runner":
        from scdgen.run.runner import Runner

        return Runner
    raise AttributeError(f"module 'scdgen' has no attribute {name!r}")
