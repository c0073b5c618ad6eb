"""The models of a dbt project that have ``materialized: scdgen``, as specs.

A model's SELECT is the source, ``meta.scdgen`` of its config has the other options of a spec. The names of the table
and of the source are known only when dbt runs: the specs have :data:`~scdgen.compile.macro.THIS` and
:data:`~scdgen.compile.macro.ROWS` instead.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from scdgen.compile.macro import ROWS, THIS, Model
from scdgen.dbt.manifest import Node, parse_manifest
from scdgen.errors import Problem, SpecError, UsageError
from scdgen.model.load import load_spec_text

_MATERIALIZED = "scdgen"
_QUERY = "is the query of the model; leave it out"
_OWN_MODEL = "is not created by dbt; write a model that reads this one"
# Options of a spec that a model does not have -> why, or what to write instead.
_LEFT_OUT = {
    "target": "is the table of the model; leave it out, and set schema and alias in the config",
    "description": "is the description of the model; write it there",
    **{f"source.{option}": _QUERY for option in ("table", "query", "path", "format", "options", "join")},
    "sources": "are feeds of a spec, and a model has one source; use `scdgen run`",
    "source.changed_since": "goes with source.join; leave it out",
    "params": "are not set by dbt; write {{ var('name') }} in the query",
    "checks": "are not run by dbt; write data tests",
    "views": _OWN_MODEL,
    "overlays": _OWN_MODEL,
    "lookups": _OWN_MODEL,
    "quarantine": "is not filled by dbt; write on_violation: skip, and a model of the rows that break the rule",
    "members.inferred": "needs `scdgen run --infer`; leave it out",
    "stream": "needs `scdgen stream`; leave it out",
    "schema_evolution": "needs `scdgen run`; leave it out, and add columns by hand",
}

# dbt parses a plain config() itself, without Jinja, and gives the keys of a mapping in any order.
_CONFIG, _META = re.compile(r"\{\{\s*config\("), re.compile(r"\bmeta\s*=")


def read_models(path: Path, text: str) -> list[Model]:
    """Read the models of the manifest at ``path``, sorted by name.

    Raises :class:`SpecError` with the mistakes of all models, :class:`UsageError` if the manifest has no such model.
    """
    manifest = parse_manifest(path, text)
    nodes = {
        key: node
        for key, node in sorted(manifest.nodes.items(), key=itemgetter(0))
        if key.startswith("model.") and node.config.get("materialized") == _MATERIALIZED
    }
    if not nodes:
        raise UsageError(f"{path}: no model has materialized: {_MATERIALIZED}; set it, and run dbt parse again")
    models, problems = [], list[Problem]()
    for key, node in nodes.items():
        name = _name_of(key)
        try:
            models.append(_read_model(name, node))
        except SpecError as error:
            # The positions are those of the text that is made here.
            file = node.config_file() or str(path)
            problems += [Problem(file, 0, 0, f"meta.scdgen of {name}: {p.message}") for p in error.problems]
    if problems:
        raise SpecError(problems)
    return models


def _name_of(key: str) -> str:
    """The name of a node's macros, also of a versioned model: model.shop.customer.v2 gives customer_v2."""
    return "_".join(key.split(".")[2:])


def _read_model(name: str, node: Node) -> Model:
    options = (node.config.get("meta") or {}).get(_MATERIALIZED)
    if not isinstance(options, Mapping):
        raise SpecError("is missing; write the options of a spec there: pattern, source, keys, columns")
    if _has_meta(node.raw_code or ""):
        raise SpecError("is in config() of the query, where dbt loses the order of columns; move it to a YAML file")
    if not name.isidentifier():
        raise SpecError(f"the name of a macro cannot be made of '{name}'; name the model with letters, digits and _")
    written = json.dumps(options, sort_keys=True)  # as dbt's tojson writes it
    if THIS in written or ROWS in written:
        raise SpecError(f"holds {THIS} or {ROWS}, which scdgen keeps for itself; name it otherwise")
    if problems := [Problem("", 0, 0, f"{option}: {why}") for option, why in _find_left_out(options)]:
        raise SpecError(problems)
    # The rows of the model's own query are its source, under a name for them.
    source = options.get("source") or {}
    source = {"table": ROWS, **source} if isinstance(source, Mapping) else source
    described = {"description": " ".join(node.description.split())} if node.description else {}
    # Read it as the text of a spec, so that all rules apply.
    text = json.dumps({"target": THIS, **described, **options, "source": source})
    spec = load_spec_text(text).placed_at(node.config_file())
    return Model(name, spec, hashlib.md5(written.encode(), usedforsecurity=False).hexdigest())


def _has_meta(query: str) -> bool:
    """Whether a config() in a query has ``meta``; in linear time, for any text.

    >>> _has_meta("{{ config(meta = {}) }}"), _has_meta("{{ config(x = 1) }} meta = 2")
    (True, False)
    """
    parts = query.split("}}")
    begins = map(_CONFIG.search, parts)
    return any(begin and _META.search(part, begin.end()) for begin, part in zip(begins, parts, strict=True))


def _find_left_out(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the options that a model does not have, and why."""
    for option, why in _LEFT_OUT.items():
        first, _, second = option.partition(".")
        value = options.get(first)
        if first in options and (not second or (isinstance(value, Mapping) and second in value)):
            yield option, why
