"""The built-in checks of a table: which apply, and the facts of templates/checks.sql.j2 and check_all.sql.j2."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen import sql
from scdgen.patterns.facts import Head
from scdgen.patterns.history import Times
from scdgen.spec.model import Spec


@dataclass(frozen=True)
class Check:
    """A built-in check. What a row must look like to break it is said in templates/_checks.sql.j2.

    ``shape`` is the form of its query: ``rows`` (that meet the condition), ``repeated`` (groups of ``columns`` with
    more than one row) or ``neighbours`` (versions next to the following one of their key).
    """

    name: str
    shape: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checks:
    """The checks of a table.

    ``times`` is ``None`` for a table without versions. ``required`` are the columns that may not be NULL, ``state``
    those that tell two versions apart (empty if equal neighbours are allowed), ``gap_action`` the column that tells a
    delete from a gap, ``own`` the spec's own checks: name and query.
    """

    head: Head
    target: str
    keys: tuple[str, ...]
    built_in: tuple[Check, ...]
    own: tuple[tuple[str, str], ...]
    required: tuple[str, ...]
    times: Times | None = None
    state: tuple[str, ...] = ()
    gap_action: str | None = None
    flag: str | None = None
    hash_column: str | None = None
    row_hash: str | None = None


def own_checks(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Name and query of the checks that a spec brings."""
    return tuple((check.name, sql.query(check.query).text) for check in spec.checks)


def row_checks(spec: Spec) -> Checks:
    """The checks of a table with one row per key. Rules: section 3 of the format's description."""
    keys = tuple(map(sql.quote, spec.keys))
    built_in = (Check("unique_key", "repeated", keys), Check("key_not_null", "rows"))
    return Checks(Head.of(spec), sql.quote_parts(spec.target_parts), keys, built_in, own_checks(spec), required=keys)
