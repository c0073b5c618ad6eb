"""``spec.json``: the spec with its defaults filled in, without the options that do not apply to it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from scdgen.spec.model import DEFAULT_PROPERTIES, Snapshot, Spec
from scdgen.spec.rules import rule_problems

SPEC_JSON = "spec.json"


def to_json(spec: Spec) -> str:
    """Write ``spec.json``: every option that applies to this spec, in the order of the model."""
    found = resolve(spec)
    if spec.feed:
        found = _resolve_feeds(spec.whole, {feed.feed: resolve(feed) for feed in spec.feeds})
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _resolve_feeds(whole: Spec, feeds: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the options of a spec with several sources, from those of a spec for each of them."""
    first = next(iter(feeds.values()))
    found = {option: value for feed in feeds.values() for option, value in feed.items()} | first
    found["sources"] = {name: feed["source"] for name, feed in feeds.items()}
    for name, column in whole.columns.items():
        if isinstance(column.from_, dict):
            found["columns"][name]["from"] = column.from_
    if whole.late_arriving is None:  # the default depends on the feed
        found.pop("late_arriving", None)
    return {option: found[option] for option in type(whole).model_fields if option in found and option != "source"}


def resolve(spec: Spec) -> dict[str, Any]:
    """Return every option that applies to a spec of one source, with its value."""
    found: dict[str, Any] = spec.model_dump(mode="json", by_alias=True)
    del found["sources"]
    found |= {"on_delete": spec.deletes, "late_arriving": spec.late}
    found["table"]["properties"] = {**DEFAULT_PROPERTIES, **found["table"]["properties"]}
    found["table"]["time_zone"] = spec.time_zone
    if spec.table.is_laid_out and "layout" not in spec.table.model_fields_set:
        del found["table"]["layout"]
    for name, column in found["columns"].items():
        column |= {"from": spec.column_source(name), "nullable": column["nullable"] and name not in spec.keys}
        for option in ("track", "nulls", "merge"):
            if name in spec.keys or f"columns.*.{option}" in spec.rules.without:
                del column[option]
        if column["compare"] is None:
            del column["compare"]
    if spec.reads_snapshot:
        snapshot = spec.snapshot or Snapshot()
        found["snapshot"] = snapshot.model_dump(mode="json")
        if not spec.keeps_history and "taken_at" not in snapshot.model_fields_set:  # without it scd1 has no time
            del found["snapshot"]["taken_at"]
    else:
        del found["snapshot"]
    if not spec.source.join:
        del found["source"]["join"], found["source"]["changed_since"]
    for alias, joined in spec.source.join.items():
        found["source"]["join"][alias] = joined.options
    if not spec.reads_versions or spec.source.join:
        del found["source"]["effective_until"]
    for option in ("truncate_when", "sets"):
        if getattr(spec.source, option) is None:
            del found["source"][option]
    for holder in (found, found["history"]):
        if holder["sequence"] is None:
            del holder["sequence"]
    if spec.source.schema_ is None:
        del found["source"]["schema"]
    if spec.reads_versions or (spec.reads_snapshot and spec.source.effective_at is None):  # they have no late rows
        del found["late_arriving"]
    if not spec.overlays:
        del found["overlays"], found["views"]["overlay"]
    for option in ("expectations", "quarantine"):
        if not getattr(spec, option):
            del found[option]
    if not spec.lookups:
        del found["lookups"]
    for lookup in found.get("lookups", {}).values():
        if lookup["missing"] == "none":
            del lookup["missing"]
    found["members"] = {option: value for option, value in found["members"].items() if value is not None}
    if not found["members"]:
        del found["members"]
    for option in spec.rules.without:
        above, _, name = option.rpartition(".")
        if not option.startswith("columns."):
            (found.get(above, {}) if above else found).pop(name, None)
    return found


def from_json(text: str) -> Spec | None:
    """Read ``spec.json``; ``None`` if the text is not a valid spec.

    A version before ``table.layout`` wrote it without that option, and created the table without a layout.
    """
    try:
        spec = Spec.model_validate_json(text)
    except ValidationError:
        return None
    if "layout" not in spec.table.model_fields_set and spec.keeps_history and not spec.table.is_laid_out:
        spec = spec.model_copy(update={"table": spec.table.model_copy(update={"layout": "none"})})
    return None if rule_problems(spec) else spec.for_feed()
