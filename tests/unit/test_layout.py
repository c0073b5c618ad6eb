"""``table.layout``: what create.sql says, and what a change of it means for a table that exists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from scdgen import Spec, SpecError, load_spec_text, render

ONE_KEY = MappingProxyType({"id": "int"})


def spec_of(options: str = "", keys: Mapping[str, str] = ONE_KEY, name: str = "string") -> Spec:
    columns = json.dumps({**keys, "name": name})
    return load_spec_text(
        "target: crm.customer\npattern: scd2\nsource: {table: crm.changes, effective_at: at}\n"
        f"keys: [{', '.join(keys)}]\ncolumns: {columns}\n{options}\n"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "PARTITIONED BY (is_current)"),
        ("table: {layout: split}", "PARTITIONED BY (is_current)"),
        ("table: {layout: split, location: /data}", "PARTITIONED BY (is_current)"),
        ("table: {location: /data}", None),
        ("table: {layout: none}", None),
        ("table: {partition_by: [name]}", "PARTITIONED BY (name)"),
        ("history: {is_current: {name: flag, type: string, open: 'Y', closed: 'N'}}", "PARTITIONED BY (flag)"),
        ("history: {is_current: {name: flag, type: string, open: 'X', closed: ''}}", None),
        ("history: {is_current: null}", None),
        ("history: {is_current: null}\ntable: {layout: cluster}", "CLUSTER BY (valid_to, id)"),
        ("table: {layout: cluster, location: /data}", "CLUSTER BY (valid_to, id)"),
        ("history: {valid_to: until, open_end: '9999-12-31'}\ntable: {layout: cluster}", "CLUSTER BY (until, id)"),
        ("history: {recorded: true}\ntable: {layout: cluster}", "CLUSTER BY (recorded_to, valid_to, id)"),
        ("table: {layout: auto, cluster_by: [name]}", "CLUSTER BY (name)"),
    ],
)
def test_what_create_says(options: str, expected: str | None) -> None:
    lines = render(spec_of(options)).create.splitlines()
    assert [line for line in lines if line.startswith(("PARTITIONED", "CLUSTER"))] == [expected] * bool(expected)
    reasons = [line for line in lines if line.startswith("-- table.layout: ")]
    assert len(reasons) == (expected is not None and "name" not in expected)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"ok": "boolean", "id": "string"}, "valid_to, id"),
        ({"raw": "binary"}, "valid_to"),
        ({"a": "int", "b": "varchar(3)", "c": "decimal(5, 2)", "d": "date"}, "valid_to, a, b, c"),
    ],
)
def test_columns_without_minimum_and_maximum_do_not_cluster(keys: dict[str, str], expected: str) -> None:
    """Nor do more than four."""
    assert f"CLUSTER BY ({expected})\n" in render(spec_of("table: {layout: cluster}", keys=keys)).create


@pytest.mark.parametrize("layout", ["auto", "cluster", "none"])
@pytest.mark.parametrize(("fields", "is_wide"), [(25, False), (28, False), (29, True)])
def test_keys_and_times_have_statistics(fields: int, is_wide: bool, layout: str) -> None:
    """Delta has them for the first 32 columns, of which each field of a struct is one."""
    shape = ", ".join(f"f{number}: int" for number in range(fields))
    create = render(spec_of(f"table: {{layout: {layout}}}", name=f"struct<{shape}>")).create
    assert ("'delta.dataSkippingStatsColumns' = 'id,valid_from,valid_to'" in create) == is_wide


def test_layout_needs_versions() -> None:
    """The other refusals are in tests/cases/errors/specs.yml."""
    text = "target: crm.t\npattern: scd0\nsource: {table: crm.s, effective_at: at}\nkeys: [id]\ncolumns: {id: int}\n"
    with pytest.raises(SpecError, match=r"layout: is not for scd0, where a stored row never changes"):
        load_spec_text(f"{text}table: {{layout: cluster}}\n")
