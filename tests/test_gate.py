"""The gate refuses what parsing alone lets through: a right file, changed in one place."""

from __future__ import annotations

import pytest

from scdgen import SpecError, load_spec, load_spec_text, render
from scdgen.gate import judge, objections

SPEC = load_spec("specs/customer_address.yml")
GOOD = render(SPEC).files()

MUTATIONS = [
    # file, what, instead, a piece of the objection
    ("merge.sql", "ON  t.`id` = s.`id`\nAND", "ON", None),
    ("merge.sql", "t.`id` = s.`id`\n", "t.`idd` = s.`id`\n", "t.idd is not there"),
    ("merge.sql", "s.`start_date`\nAND", "s.`strt`\nAND", "s.strt is not there"),
    ("merge.sql", "        _scd_opens,\n", "        _scd_openz,\n", "_scd_openz"),
    ("merge.sql", "FROM versions", "FROM vversions", "does not resolve"),
    ("merge.sql", "_scd_batch_from)\n--", "_scd_batch_fron)\n--", "_scd_batch_fron is not there"),
    ("merge.sql", "WHEN MATCHED THEN", "WHEN MATCHED AND {{ x }} THEN", "left over"),
    ("merge.sql", "WHEN MATCHED THEN", "WHEN MATCHED AND :x THEN", "placeholder"),
    ("merge.sql", "`end_date`,\n        `is_current`\n    )\n", "`is_current`\n    )\n", "the INSERT lists"),
    ("merge.sql", "        s.`end_date`,\n        s.`is", "        s.`is", "differ in number"),
    ("merge.sql", "        `end_date` = s", "        `ende_date` = s", "which the table does not have"),
    ("merge.sql", ") AS s\n", ") AS u\n", "MERGE INTO … AS t USING"),
    ("plan.sql", "    `is_current`\nFROM", "    `is_current`,\nFROM", "stray comma in line"),
    ("plan.sql", "SELECT\n    _scd_action", "SELECT\n    , _scd_action", "stray comma in line"),
    ("plan.sql", "FROM changes\n", "FROM chnges\n", "does not resolve"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS `crm`", "DROP SCHEMA `crm`", "DROP"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS `crm`", "OPTIMIZE `crm`.`x`", "does not know"),
    ("create.sql", "CREATE SCHEMA IF NOT EXISTS `crm`", "VACUUM `crm`.`x`", "does not know"),
    ("checks.sql", "SELECT *\n", "DELETE\n", "DELETE"),
    ("views.sql", "CREATE OR REPLACE VIEW", "CREATE OR VIEW", "does not know"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "before", "after", "says"), MUTATIONS)
def test_mutation(file: str, before: str, after: str, says: str | None) -> None:
    changed = GOOD[file].replace(before, after)
    assert changed != GOOD[file], "the mutation does not apply"
    found = list(objections(SPEC, file, changed))
    if says is None:
        assert not found, "what is still right passes"
    else:
        assert any(says in objection for objection in found), found


def test_empty_on_and_empty_text() -> None:
    merge = GOOD["merge.sql"]
    start, end = merge.index("ON  t."), merge.index("-- A stored version that opens")
    assert any("no ON" in found for found in objections(SPEC, "merge.sql", merge[:start] + "ON\n" + merge[end:]))
    assert list(objections(SPEC, "merge.sql", "\n"))
    assert list(objections(SPEC, "merge.sql", "-- nothing\n"))


def test_two_merges() -> None:
    merge = GOOD["merge.sql"]
    assert any("more than one MERGE" in found for found in objections(SPEC, "merge.sql", merge + merge))


def test_judge_names_the_file() -> None:
    with pytest.raises(SpecError, match=r"checks\.sql: the SQL is refused"):
        judge(SPEC, {"checks.sql": "SELECT a, FROM t;\n"})


@pytest.mark.parametrize("target", ["dim.item", "item2", "main.dim.item"])
@pytest.mark.parametrize(
    "source", ["table: item", "table: crm.item", "path: item, format: delta", "path: a/b.parquet, format: parquet"]
)
def test_names_of_any_length(target: str, source: str) -> None:
    """Target and source may have the same last part, and one to three of them; files have a path for a name."""
    text = (
        f"target: {target}\npattern: scd2\nsource: {{{source}, effective_at: at}}\nkeys: [id]\n"
        "columns: {id: int, name: string}\n"
    )
    merge = render(load_spec_text(text)).files()["merge.sql"]
    with pytest.raises(SpecError, match="could not be resolved"):
        judge(load_spec_text(text), {"merge.sql": merge.replace("AS _scd_at\n", "AS _scd_at, nothing\n", 1)})
