"""What the options of a spec say of themselves at their fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from scdgen import sql
from scdgen.compile.verify import ALLOWED
from scdgen.model.option import Rows, find_model, find_sql, option_of, sql_texts, walk
from scdgen.model.registry import options_of, pattern_names
from scdgen.model.spec import Spec
from tests.support.spec_variations import BASES, changed, load


def fields(model: type[BaseModel] = Spec, above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        yield f"{above}{field.alias or name}", field
        inner, many = find_model(field.annotation)
        if inner is not None:
            yield from fields(inner, f"{above}{field.alias or name}.{'*.' if many else ''}")


FIELDS = dict(fields())


@pytest.mark.parametrize("place", FIELDS)
def test_option_with_sql_says_over_which_rows(place: str) -> None:
    option = option_of(FIELDS[place])
    assert (option.over is None) == (find_sql(FIELDS[place]) is None)
    assert option.file in ALLOWED


def test_every_text_of_sql_has_its_place_and_its_parser() -> None:
    document = changed(BASES["2c"], "source.query", "SELECT *\nFROM raw.rows")
    document = changed(document, "source.sequence_by", ["a", "b"])
    document = changed(document, "columns.name.compare", "lower(name)")
    facts = {"query": "SELECT 1", "version": "current", "keys": {"id": "k", "region": "r"}, "columns": ["name"]}
    found = list(sql_texts(load(changed(document, "lookups", {"sales.f": facts}))))
    assert [(text.place, text.text, text.option.over) for text in found] == [
        (("source", "query"), "SELECT *\nFROM raw.rows", Rows.NONE),
        (("source", "effective_at"), "happened", Rows.SOURCE),
        (("source", "sequence_by", 0), "a", Rows.SOURCE),
        (("source", "sequence_by", 1), "b", Rows.SOURCE),
        (("columns", "name", "compare"), "lower(name)", Rows.TARGET),
        (("columns", "city", "from"), "town", Rows.SOURCE),
        (("columns", "bucket", "from"), "id % 3", Rows.SOURCE),
        (("lookups", "sales.f", "query"), "SELECT 1", Rows.NONE),
        (("lookups", "sales.f", "keys", "id"), "k", Rows.FACTS),
        (("lookups", "sales.f", "keys", "region"), "r", Rows.FACTS),
    ]
    assert [text.place for text in found if text.read is sql.query] == [found[0].place, found[7].place]
    assert found[3].name == "sequence_by" and found[9].name == "region"


@pytest.mark.parametrize("name", pattern_names())
def test_pattern_or_option_says_why_it_is_refused(name: str) -> None:
    found = {place: options_of(name).refuse(place, option_of(field)) for place, field in FIELDS.items()}
    assert "" not in found.values()
    assert found["keys"] is None and found["source.where"] is None


def test_walk_finds_every_option_at_its_place() -> None:
    given = {found.place: found for found in walk(load(changed(BASES["2c"], "columns.name.track", False)))}
    assert {found.path for found in given.values()} <= FIELDS.keys()
    track = given["columns", "name", "track"]
    assert (track.name, track.path, track.value, track.is_set) == ("track", "columns.*.track", False, True)
    assert not given["columns", "city", "track"].is_set and not given["columns", "city", "track"].differs
    assert given["columns", "city", "from"].differs and given["columns", "city", "from"].value == "town"
    assert given["history", "valid_from"].value == "valid_from"
