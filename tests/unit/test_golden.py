"""The SQL of several hundred specs: its hash, so that no text changes by accident, and its statements."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from scdgen.compile.statements import FILES, cut
from tests.conftest import join_cells
from tests.tools.golden import digest, rendered

# Printed by `python -m tests.tools.golden FOLDER`. A commit that changes it says which texts change, and why.
EXPECTED = "50c99603e5db3bf4"


OF_EVERY_EIGHTH = "72b70d7953bf69f2"
CHANGED = "the SQL changed: compare two folders of `python -m tests.tools.golden FOLDER`"


@pytest.fixture(scope="module")
def texts() -> dict[str, dict[str, str]]:
    return rendered()


def test_texts_of_every_eighth_spec_are_unchanged() -> None:
    assert digest(rendered(every=8)) == OF_EVERY_EIGHTH, CHANGED


@pytest.mark.verify
def test_rendered_texts_are_unchanged(texts: dict[str, dict[str, str]]) -> None:
    assert digest(texts) == EXPECTED, CHANGED


@pytest.mark.verify
def test_statements_join_to_the_texts_and_steps_have_comments(texts: dict[str, dict[str, str]]) -> None:
    for spec, files in texts.items():
        scripts = {name: cut(text) for name, text in files.items() if name in FILES}
        for name, script in scripts.items():
            cells = [statement.written.strip("\n") for statement in script.statements]
            assert script.text == files[name] == join_cells(cells), (spec, name, "a blank line between two")
        for step in scripts["merge.sql"].steps():  # the rows of the source and the params are the spec's own words
            own = step.name == "source_query" or step.name.startswith(("SET VARIABLE", "CREATE"))
            own = own or step.name in {"WHEN MATCHED THEN UPDATE", "WHEN NOT MATCHED THEN INSERT"}  # says it
            assert step.comment or own, (spec, step.name, "each step says why it is there")


@pytest.mark.verify
def test_a_step_that_is_read_twice_names_no_column_of_its_own(texts: dict[str, dict[str, str]]) -> None:
    """Spark ends the analysis of such a MERGE with an INTERNAL_ERROR about a LateralColumnAliasReference."""
    wrong = {spec: found for spec in [*texts][::10] if (found := _named_and_read_twice(texts[spec]["merge.sql"]))}
    assert wrong == {}
    # The test sees one.
    merge = "MERGE INTO t USING ({}) AS s ON t.c = s.c WHEN MATCHED THEN DELETE"
    steps = "a AS (SELECT b AS _scd_b, _scd_b + 1 AS c FROM t), d AS (SELECT * FROM a)"
    for query, found in (("SELECT * FROM d UNION ALL SELECT * FROM d", {"a"}), ("SELECT * FROM d", set())):
        assert _named_and_read_twice(merge.format(f"WITH {steps} {query}")) == found


def _named_and_read_twice(merge: str) -> set[str]:
    """Return the steps in which one column names another of the same SELECT, and that are read more than once."""
    statement = sqlglot.parse(merge, read="databricks")[-1]
    assert isinstance(statement, exp.Merge)
    query = statement.args["using"].this
    # How often the text of a step is in the query if each is put where it is read.
    reads = Counter(table.name for table in query.find_all(exp.Table) if not table.find_ancestor(exp.CTE))
    steps = {step.alias: step.this for step in query.ctes}
    for name, step in reversed(steps.items()):
        for table in step.find_all(exp.Table):
            reads[table.name] += reads[name]
    named = set()
    for scope in traverse_scope(query):
        select = scope.expression
        if not isinstance(select, exp.Select):
            continue
        before: set[str] = set()
        for column in select.selects:
            names = {
                held.name
                for held in column.find_all(exp.Column)
                if not held.table and held.find_ancestor(exp.Select) is select
            }
            step = select.find_ancestor(exp.CTE)
            if (names & before) - _given(scope) and step is not None:
                named.add(step.alias)
            if column.alias.startswith("_scd_"):
                before.add(column.alias)
    return {name for name in named if reads[name] > 1}


def _given(scope: Scope) -> set[str]:
    """Return the names of the columns that a SELECT reads, without those of tables."""
    names = {column.name for view in scope.expression.find_all(exp.Lateral) for column in view.args["alias"].columns}
    return names.union(*(_columns(source) for source in scope.sources.values() if isinstance(source, Scope)))


def _columns(scope: Scope) -> set[str]:
    while isinstance(scope.expression, exp.SetOperation):
        scope = scope.set_operation_scopes[0]
    query = scope.expression
    if not isinstance(query, exp.Query):
        return set()
    names = {column.alias_or_name for column in query.selects}
    return names | _given(scope) if any(column.is_star for column in query.selects) else names
