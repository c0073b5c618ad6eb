"""Slowly changing dimensions on Spark and Delta Lake, from a YAML spec to one MERGE.

The chain is in :mod:`scdgen.pipeline`. ``Runner`` is imported on first use, because it alone needs pyspark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scdgen.errors import DataError, EngineError, ScdgenError, SpecError
from scdgen.load import load_spec, load_spec_text
from scdgen.pipeline import Scripts, render
from scdgen.spec import Spec

if TYPE_CHECKING:
    from scdgen.check_run import CheckResult
    from scdgen.runner import Runner, RunResult

__version__ = "0.1.0"

__all__ = [
    "CheckResult",
    "DataError",
    "EngineError",
    "RunResult",
    "Runner",
    "ScdgenError",
    "Scripts",
    "Spec",
    "SpecError",
    "load_spec",
    "load_spec_text",
    "render",
]


def __getattr__(name: str) -> Any:
    if name in {"Runner", "RunResult", "CheckResult"}:
        from scdgen import runner

        return getattr(runner, name)
    raise AttributeError(f"module 'scdgen' has no attribute {name!r}")
