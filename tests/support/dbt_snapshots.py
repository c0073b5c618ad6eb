"""Snapshots of dbt, as a project writes them, in the manifest that dbt would make of them."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

PLAIN = "select * from {{ source('y', 'z') }}"


def manifest_text(config: dict[str, Any], name: str = "s", adapter: str = "spark", **node: Any) -> str:
    """Return a manifest with one snapshot of the source ``y.z``; ``node`` sets more keys of the snapshot."""
    snapshot = {
        "name": name, "schema": "x", "alias": name, "config": config, "depends_on": {"nodes": ["source.p.y.z"]},
        "raw_code": PLAIN, **node,
    }  # fmt: skip
    return json.dumps(
        {
            "metadata": {"adapter_type": adapter},
            "nodes": {f"snapshot.p.{name}": snapshot},
            "sources": {"source.p.y.z": {"name": "z", "schema": "y", "identifier": "z"}},
        }
    )


def manifest_of(case: dict[str, Any], name: str = "s") -> str:
    """Return the manifest of a case: of its ``yaml``, or of its ``sql``, a ``config()`` and perhaps a SELECT."""
    adapter = case.get("adapter", "spark")
    if "yaml" in case:
        config = dict(case["yaml"])
        columns = {column["name"]: column for column in config.pop("columns", ())}
        return manifest_text(config, name, adapter=adapter, columns=columns)
    block, _, query = case["sql"].partition("}}")
    call = ast.parse(re.sub(r"^\{\{", "", block).strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    config = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    raw = f"{block}}}}}\n{query or PLAIN}"
    schema = config.get("target_schema", "x")
    return manifest_text(
        config, name, adapter=adapter, schema=schema, raw_code=raw, compiled_code=query or "select * from y.z"
    )
