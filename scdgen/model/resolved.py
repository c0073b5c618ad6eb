"""``spec.json``: the spec with its defaults filled in, without the options that do not apply to it."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from scdgen.model.option import Given, Location, walk
from scdgen.model.rules import rule_problems
from scdgen.model.spec import DEFAULT_PROPERTIES, Snapshot, Spec

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
    # 1. Fill in the defaults that depend on other options.
    properties = {**DEFAULT_PROPERTIES, **spec.table.properties}
    table = spec.table.model_copy(update={"properties": properties, "time_zone": spec.time_zone})
    snapshot = spec.snapshot or Snapshot()
    defaults = {"on_delete": spec.deletes, "late_arriving": spec.late, "table": table, "snapshot": snapshot}
    filled = spec.model_copy(update=defaults)
    found: dict[str, Any] = filled.model_dump(mode="json", by_alias=True)
    for name, column in found["columns"].items():
        column |= {"from": spec.column_source(name), "nullable": column["nullable"] and name not in spec.keys}
    for alias, joined in spec.source.join.items():
        found["source"]["join"][alias] = joined.options
    # 2. Take out what does not apply.
    del found["sources"]
    if spec.table.is_laid_out and "layout" not in spec.table.model_fields_set:
        _take_out(found, ("table", "layout"))
    # Without it, scd1 has no time, unless it flags the rows of missing keys.
    if not spec.keeps_history and spec.deletes != "mark" and "taken_at" not in snapshot.model_fields_set:
        _take_out(found, ("snapshot", "taken_at"))
    for given in walk(filled):
        if not _is_written(spec, given):
            _take_out(found, given.place)
    return found


def _is_written(spec: Spec, given: Given) -> bool:
    """Whether ``spec.json`` has an option."""
    option = given.option
    if spec.rules.refuse(given.path, option) is not None:
        return False
    if option.on_key != "kept" and given.place[1] in spec.keys:
        return False
    if option.in_json == "if_applies":
        return option.applies(spec.source.traits, given.value)
    return option.in_json == "always" or given.differs


def _take_out(found: dict[str, Any], place: Location) -> None:
    """Take out an option, if the part of the spec that has it is still there."""
    holder: Any = found
    for step in place[:-1]:
        if isinstance(holder, dict) and step not in holder:
            return
        holder = holder[step]
    if isinstance(holder, dict):  # not the short form of a part
        holder.pop(place[-1], None)


def from_json(text: str) -> Spec | None:
    """Read ``spec.json``; ``None`` if the text is not a valid spec."""
    try:
        spec = Spec.model_validate_json(text)
    except ValidationError:
        return None
    return None if rule_problems(spec) else spec.for_feed()
