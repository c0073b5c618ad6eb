"""Slowly changing dimensions on Spark and Delta Lake, from a YAML spec to one MERGE.

The chain is in :mod:`scdgen.compile.compile`. Each name is imported on first use, so that a command loads only what it
needs, and only ``Runner`` needs pyspark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scdgen.compile.compile import render
    from scdgen.compile.statements import Scripts
    from scdgen.errors import DataError, EngineError, ScdgenError, SpecError
    from scdgen.model.load import load_spec, load_spec_text
    from scdgen.model.spec import Spec
    from scdgen.patterns.pattern import Pattern
    from scdgen.run.results import CheckResult, RunResult
    from scdgen.run.runner import Runner
    from scdgen.version import __version__

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

_MODULES = {
    "compile.compile": ("render",),
    "compile.statements": ("Scripts",),
    "errors": ("DataError", "EngineError", "ScdgenError", "SpecError"),
    "model.load": ("load_spec", "load_spec_text"),
    "model.spec": ("Spec",),
    "patterns.pattern": ("Pattern",),
    "run.results": ("CheckResult", "RunResult"),
    "run.runner": ("Runner",),
    "version": ("__version__",),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module 'scdgen' has no attribute {name!r}")
    return getattr(import_module(f"scdgen.{module}"), name)
