"""What may be translated: the nodes of the syntax tree whose results were compared with Spark's.

Everything else is refused by default, because what DuckDB computes instead may look right.
"""

from __future__ import annotations

from sqlglot import exp

from scdgen.errors import UsageError
from scdgen.spec.model import Spec


class UnknownError(UsageError):
    """SQL without a known counterpart in DuckDB; the message names it."""


def require_known(node: exp.Expr) -> None:
    """Raise :class:`UnknownError` for a node that may not be translated."""


def require_known_spec(spec: Spec) -> None:
    """Raise :class:`UnknownError` for a node that may not be translated."""
