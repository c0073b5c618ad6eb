"""table.primary_key and table.create_schema: what create.sql says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from scdgen import render
from scdgen.compile.statements import cut
from scdgen.duck.database import Database
from tests.support.spec_variations import BASES, changed, load


def created(kind: str, *options: tuple[str, Any]) -> str:
    """create.sql of a base with options."""
    document = changed(BASES[kind], "table.primary_key", True)
    for option, value in options:
        document = changed(document, option, value)
    return render(load(document)).create


@pytest.mark.parametrize(
    ("kind", "options", "key"),
    [
        ("2c", [], "id, region, valid_from"),
        ("2c", [("history.surrogate_key", "sk")], "sk"),
        ("2c", [("history.surrogate_key", {"name": "sk", "type": "bigint"})], "sk"),
        ("2c", [("history.surrogate_key", "sk"), ("history.recorded", True)], "id, region, valid_from, recorded_from"),
        ("1c", [], "id, region"),
    ],
)
def test_primary_key_identifies_a_row(kind: str, options: list[tuple[str, Any]], key: str) -> None:
    text = created(kind, *options)
    assert f"\n    PRIMARY KEY ({key})\n)\nUSING DELTA\n" in text
    columns = key.replace(", recorded_from", "").split(", ")
    assert all(re.search(rf"^    {column} \S+ NOT NULL", text, re.MULTILINE) for column in columns), text
    assert "PRIMARY KEY" not in render(load(BASES[kind])).create


def test_primary_key_is_not_enforced() -> None:
    database = Database()
    database.execute(cut(created("1c")).texts)
    names = list(database.columns(load(BASES["1c"]).target))
    assert names[:2] == ["id", "region"]


@pytest.mark.parametrize("kind", ["2c", "1c"])
def test_schema_is_left_to_others(kind: str) -> None:
    with_schema = render(load(BASES[kind])).create
    without = render(load(changed(BASES[kind], "table.create_schema", False))).create
    (line,) = set(with_schema.splitlines()) - set(without.splitlines())
    assert line.startswith("CREATE SCHEMA IF NOT EXISTS ")
    elsewhere = changed(changed(BASES[kind], "views.current", "mart.now"), "table.create_schema", True)
    assert "\nCREATE SCHEMA IF NOT EXISTS mart;\n" in render(load(elsewhere)).create
