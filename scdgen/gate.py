"""The gate: everything that is written or sent to Spark is judged here first, in both dialects that have to read it.

sqlglot reads and never prints. Parsing alone lets much through (an empty ON, stray commas, a left-over ``{{ a }}``,
unknown statements as a bare command), so the tree is looked at too.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from scdgen import sql
from scdgen.columns import target_columns
from scdgen.errors import Problem, SpecError
from scdgen.rules import sql_texts
from scdgen.source import SOURCE_VIEW, TAKEN_AT, batch_variables
from scdgen.spec import Spec
from scdgen.times import LAST_RUN
from scdgen.tokens import DIALECT, first_line, stray_comma, tokens

DIALECTS = ("databricks", "spark")
_TARGET = "_scd_target"
_QUERY = (exp.Select, exp.Union)
_SETTING = (exp.Declare, exp.Set)
# File -> the kinds of statements it may hold, and the kind that it must end with.
ALLOWED: dict[str, tuple[tuple[type[exp.Expression], ...], tuple[type[exp.Expression], ...]]] = {
    "create.sql": ((exp.Create,), (exp.Create,)),
    "merge.sql": ((*_SETTING, exp.Create, exp.Merge), (exp.Merge,)),
    "plan.sql": ((*_SETTING, exp.Create, *_QUERY), _QUERY),
    "checks.sql": (_QUERY, _QUERY),
    "check_all.sql": (_QUERY, _QUERY),
    "views.sql": ((exp.Create,), (exp.Create,)),
    "evolve.sql": ((exp.Alter,), (exp.Alter,)),
}

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it warns of is refused here anyway


def judge(spec: Spec, files: dict[str, str]) -> None:
    """Raise :class:`SpecError` with every objection to the texts (file name -> SQL)."""
    problems = [
        Problem(spec.origin, 0, 0, f"{name}: the SQL is refused: {objection}")
        for name, text in files.items()
        for objection in objections(spec, name, text)
    ]
    if problems:
        raise SpecError(problems)


def objections(spec: Spec, name: str, text: str) -> Iterator[str]:
    """What is wrong with one file's text, each in one line."""
    if not text.endswith("\n") or not text.strip():
        yield "it is empty or does not end in a newline"
        return
    if "{{" in text or "{%" in text or "{#" in text:
        yield "a piece of the template is left over"
    try:
        if comma := stray_comma(tokens(text)):
            yield f"a stray comma in line {comma}"
        for dialect in DIALECTS:
            trees = sqlglot.parse(text, dialect=dialect)
            yield from _kinds(name, [tree for tree in trees if isinstance(tree, exp.Expression)])
    except (SqlglotError, ValueError, RecursionError) as error:
        yield f"it cannot be read ({first_line(error)})"
        return
    # After the last semicolon nothing may stand but a comment.
    for tree in sqlglot.parse(text, dialect=DIALECT):
        if isinstance(tree, exp.Merge):
            yield from _merge(spec, tree)
        elif isinstance(tree, _QUERY) and name == "plan.sql":
            yield from _unresolved(spec, tree)


def _kinds(name: str, trees: list[exp.Expression]) -> Iterator[str]:
    allowed, last = ALLOWED[name]
    if not trees:
        yield "it holds no statement"
        return
    for tree in trees:
        if not isinstance(tree, allowed):
            yield f"a {type(tree).__name__.upper()} statement has no place in {name}"
        if any(True for _ in tree.find_all(exp.Command)):
            yield "a statement that sqlglot does not know"
        if any(True for _ in tree.find_all(exp.Placeholder)):
            yield "a placeholder that nobody fills"
    if not isinstance(trees[-1], last):
        yield f"it must end with {' or '.join(kind.__name__.upper() for kind in last)}"
    if sum(isinstance(tree, exp.Merge) for tree in trees) > 1:
        yield "there is more than one MERGE"


def _merge(spec: Spec, tree: exp.Merge) -> Iterator[str]:
    """The MERGE's own parts: an ON, the spec's columns in each list, no column that is not there."""
    if tree.args.get("on") is None:
        yield "the MERGE has no ON"
        return
    using = tree.args["using"]
    target = [sql.unquote(column.name) for column in target_columns(spec)]
    query = using.this if isinstance(using, exp.Subquery) else None
    if query is None or using.alias != "s" or tree.this.alias != "t":
        yield "the MERGE must be MERGE INTO … AS t USING (…) AS s"
        return
    try:
        given = {name.lower() for name in _resolve(spec, query).named_selects}
    except SqlglotError as error:
        yield _unresolved_text(error)
        return
    for when in tree.args["whens"].expressions:
        then = when.args["then"]
        if isinstance(then, exp.Insert):
            listed = [column.name for column in then.this.expressions]
            if listed != target:
                yield f"the INSERT lists {listed}, the table has {target}"
            if len(then.expression.expressions) != len(listed):
                yield "the INSERT's columns and values differ in number"
        elif isinstance(then, exp.Update):
            for assignment in then.expressions:
                if assignment.this.name not in target:
                    yield f"the UPDATE sets {assignment.this.name}, which the table does not have"
    known = {"t": {name.lower() for name in target}, "s": given}
    places = [tree.args["on"], *(when for when in tree.args["whens"].expressions)]
    for column in (column for place in places for column in place.find_all(exp.Column)):
        names = known.get(column.table)
        if names is not None and column.name.lower() not in names:
            yield f"{column.table}.{column.name} is not there"
    conditions = [tree.args["on"], *(when.args.get("condition") for when in tree.args["whens"].expressions)]
    for column in (column for part in conditions if part is not None for column in part.find_all(exp.Column)):
        if not column.table and column.name not in _variables(spec):
            yield f"{column.name} is not there"


def _unresolved(spec: Spec, query: exp.Expression) -> Iterator[str]:
    try:
        _resolve(spec, query)
    except SqlglotError as error:
        yield _unresolved_text(error)


def _unresolved_text(error: SqlglotError) -> str:
    return f"a name does not resolve ({first_line(error)})"


def _resolve(spec: Spec, query: exp.Expression) -> exp.Query:
    """The query with every name resolved against the target's columns and what the spec reads of the source."""
    tree = query.copy()
    read = sorted({name for place, how, text in sql_texts(spec) if place[0] != "checks" for name in how(text).columns}
                  | {name.lower() for name, column in spec.columns.items() if column.from_ is None})  # fmt: skip
    for column in list(tree.find_all(exp.Column)):
        if column.table.lower() == "session" or (not column.table and column.name in _variables(spec)):
            column.replace(exp.Null())
    for cte in tree.find_all(exp.CTE):
        if cte.alias == "source":  # the user's own query: its insides are between the user and Spark
            cte.set("this", exp.select(*(exp.column(name, quoted=True) for name in read)).from_(SOURCE_VIEW))
    # Names are lowered here, because sqlglot would parse each to do so, and stumble over a semicolon in one.
    listed: dict[str, object] = {
        _TARGET: {sql.unquote(column.name).lower(): column.type for column in target_columns(spec)},
        SOURCE_VIEW: dict.fromkeys(read, "STRING"),
    }
    schema = MappingSchema(listed, dialect=DIALECT, normalize=False)
    # One name for each of the two: a schema with names of different lengths is ambiguous to sqlglot.
    names = {spec.target_parts: _TARGET, _source_parts(spec): SOURCE_VIEW}
    for table in list(tree.find_all(exp.Table)):
        name = names.get(tuple(part.name for part in table.parts))
        if name is not None:
            alias = exp.to_identifier(table.alias or table.name, quoted=True)
            table.replace(exp.table_(name, alias=alias))
    resolved = qualify(tree, dialect=DIALECT, schema=schema, quote_identifiers=False, validate_qualify_columns=True)
    assert isinstance(resolved, exp.Query)
    return resolved


def _source_parts(spec: Spec) -> tuple[str, ...]:
    """What FROM names where rows come from, in parts."""
    source = spec.source
    if source.table is not None:
        return sql.split_name(source.table)
    return (source.format or "", source.path or "")


def _variables(spec: Spec) -> set[str]:
    return {TAKEN_AT, LAST_RUN, *(variable.name for variable in batch_variables(spec))}
