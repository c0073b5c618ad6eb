"""The gate: checks all SQL before it is written or sent to Spark, in the dialect of Databricks.

sqlglot parses but never prints. The parser accepts too much (an empty ON, stray commas, a left-over ``{{ a }}``,
unknown statements as a command), so the tree is checked too, every name is resolved, and
a statement may only create, change or set what the spec names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.dialects import Databricks
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from scdgen import sql
from scdgen.errors import Problem, SpecError
from scdgen.facts.built import Source
from scdgen.facts.history import LAST_RUN, REWIND_TO
from scdgen.facts.plan import VIEW
from scdgen.facts.row_rules import SOURCE_VIEW
from scdgen.facts.source import TAKEN_AT
from scdgen.facts.state import WHOLES
from scdgen.facts.variables import OF_RUN, REACHES_CLOSED, RECORDED_AT, batch_variables
from scdgen.model.graph import find_written
from scdgen.model.option import Rows, sql_texts
from scdgen.model.spec import QUERY, Spec
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.tokens import DIALECT, first_line, stray_comma, tokens

_TARGET = "_scd_target"
_TEXT = exp.DataType.build("STRING", dialect=DIALECT)
_ANY = exp.DataType.build("STRUCT<_scd_any STRING>", dialect=DIALECT)
_QUERY = (exp.Select, exp.Union)
_SETTING = (exp.Declare, exp.Set)
_LONG_CHAIN = 20  # operators
_FIX = "fix the spec's expression at that place"
# File -> the kinds of statements it may contain, and those that it must end with.
ALLOWED: dict[str, tuple[tuple[type[exp.Expression], ...], tuple[type[exp.Expression], ...]]] = {
    "create.sql": ((*_SETTING, *_QUERY, exp.Create, exp.Merge), (exp.Create, exp.Merge)),
    "merge.sql": ((*_SETTING, exp.Create, exp.Merge), (exp.Merge,)),
    "plan.sql": ((*_SETTING, exp.Create, *_QUERY), _QUERY),
    **dict.fromkeys(("checks.sql", "check_all.sql", "check_rows.sql", "checks.job.sql"), (_QUERY, _QUERY)),
    **dict.fromkeys(("views.sql", "lookups.sql"), ((*_QUERY, exp.Create), (exp.Create,))),
    **dict.fromkeys(("infer.sql", "rewind.sql"), ((*_SETTING, exp.Merge), (exp.Merge,))),
    "rejects.sql": ((*_SETTING, *_QUERY, exp.Create, exp.Merge), (exp.Merge,)),
    "evolve.sql": ((exp.Alter,), (exp.Alter,)),
}

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings are errors here anyway


def judge(source: Source, files: dict[str, str]) -> None:
    """Check texts of a source (file name -> SQL). Raises :class:`SpecError` with all objections, and the fix."""
    gate, spec = _Gate(source), source.spec
    problems = [
        Problem(spec.origin, 0, 0, f"{spec.file_name(name)}: the SQL is refused: {objection}; {_FIX}")
        for name, text in files.items()
        for objection in gate.objections(name, text)
    ]
    if problems:
        raise SpecError(problems)


class _Gate:
    """Checks the files of one spec."""

    def __init__(self, source: Source):
        spec = source.spec
        own = pattern_of(spec).columns(spec)
        # Types are parsed here, each once: given as text, sqlglot would parse them per column and query.
        types = {text: exp.DataType.build(text, dialect=DIALECT) for text in {column.type for column in own}}
        self.target = {sql.unquote(column.name): types[column.type] for column in own}
        of_batch = {variable.name for variable in batch_variables(source, source.partitions)}
        self.variables = {TAKEN_AT, LAST_RUN, REWIND_TO, RECORDED_AT, REACHES_CLOSED, *of_batch}
        # The columns of a source row: those without an expression, and those that expressions read.
        fragments = [(found.option, found.fragment) for found in sql_texts(spec)]
        bare = {name.lower() for name, column in spec.columns.items() if column.from_ is None}
        of_rows = (read.columns for option, read in fragments if option.over in (Rows.SOURCE, Rows.JOINED))
        self.read = sorted(bare.union(*of_rows))
        read = spec.source
        after_from = sql.split_name(read.table) if read.table is not None else (read.format or "", read.path or "")
        self.tables = {spec.target_parts: _TARGET, after_from: SOURCE_VIEW, (SOURCE_VIEW,): SOURCE_VIEW}
        # Joined tables get a name of one part, and the columns that the spec reads of them.
        self.joined: dict[str, set[str]] = {}
        for parts, columns in _joined_columns(spec):
            name = self.tables.setdefault(parts, f"_scd_joined_{len(self.joined) + 1}")
            self.joined[name] = self.joined.get(name, set()) | columns
        # Tables that the user's expressions read in subqueries: their columns are not known here.
        self.others = {parts for _, read in fragments for parts in read.tables} - self.tables.keys()
        self.made = _list_made(spec, self.variables)
        self.facts = {sql.split_name(spec.members.inferred.fact)} if spec.members.inferred else set()

    def objections(self, name: str, text: str) -> Iterator[str]:
        """Yield what is wrong with a file's text, one line each."""
        if not text.endswith("\n") or not text.strip():
            yield "it is empty or does not end in a newline"
            return
        if "{{" in text or "{%" in text or "{#" in text:
            yield "a piece of the template is left over"
        try:
            found = tokens(text)
            if comma := stray_comma(found):
                yield f"a stray comma in line {comma}"
            # A comment after the last semicolon is not a statement.
            trees = [tree for tree in Databricks().parser().parse(found, text) if isinstance(tree, exp.Expression)]
            yield from _kinds(name, trees)
            yield from self._names(name, trees)
        except Exception as error:  # over some wrong texts sqlglot stumbles with errors of Python's own
            yield f"it cannot be read ({first_line(error)})"
            return
        if name == "plan.sql":
            yield from self._plan(trees)
        for tree in trees:
            if isinstance(tree, exp.Merge):
                yield from self._merge(tree, own_columns=name != "rejects.sql")

    def _names(self, file: str, trees: Sequence[exp.Expression]) -> Iterator[str]:
        """Check that statements create, change and set only what the spec names."""
        for tree in trees:
            for kind, parts in _list_changed(tree):
                if (kind, parts) not in self.made.get(file, ()):
                    yield f"{kind.upper()} {sql.quote_parts(parts)} has no place in {file}: the spec does not name it"

    def _merge(self, tree: exp.Merge, own_columns: bool) -> Iterator[str]:
        """Check the ON, the lists and the columns of a MERGE; without ``own_columns`` it is not into the target."""
        if tree.args.get("on") is None:
            yield "the MERGE has no ON"
            return
        using = tree.args["using"]
        query = using.this if isinstance(using, exp.Subquery) else None
        if query is None or using.alias != "s" or tree.this.alias != "t":
            yield "the MERGE must be MERGE INTO … AS t USING (…) AS s"
            return
        try:
            given = self._columns_of(query)
        except Exception as error:
            yield _unresolved_text(error)
            return
        # The list of columns is that of the target alone.
        if not own_columns:
            return
        yield from self._whens(tree)
        yield from self._places(tree, {"t": {name.lower() for name in self.target}, "s": set(given)})

    def _whens(self, tree: exp.Merge) -> Iterator[str]:
        target = list(self.target)
        for when in tree.args["whens"].expressions:
            then = when.args["then"]
            if isinstance(then, exp.Insert):
                if not isinstance(then.this, exp.Tuple) or not isinstance(then.expression, exp.Tuple):
                    yield "the INSERT must list its columns and their values"
                    continue
                listed = [column.name for column in then.this.expressions]
                if listed != target:
                    yield f"the INSERT lists {listed}, the table has {target}"
                if len(then.expression.expressions) != len(listed):
                    yield "the INSERT's columns and values differ in number"
            elif isinstance(then, exp.Update):
                if not all(isinstance(assignment, exp.EQ) for assignment in then.expressions or [None]):
                    yield "the UPDATE must list its columns and their values"
                    continue
                for assignment in then.expressions:
                    if assignment.this.name not in self.target:
                        yield f"the UPDATE sets {assignment.this.name}, which the table does not have"

    def _places(self, tree: exp.Merge, known: dict[str, set[str]]) -> Iterator[str]:
        """Check the columns outside the MERGE's source."""
        whens = tree.args["whens"].expressions
        for column in (column for place in (tree.args["on"], *whens) for column in place.find_all(exp.Column)):
            names = known.get(column.table)
            if names is not None and column.name.lower() not in names:
                yield f"{column.table}.{column.name} is not there"
        conditions = [tree.args["on"], *(when.args.get("condition") for when in whens)]
        for column in (column for part in conditions if part is not None for column in part.find_all(exp.Column)):
            if not column.table and column.name not in self.variables:
                yield f"{column.name} is not there"

    def _plan(self, trees: Sequence[exp.Expression]) -> Iterator[str]:
        """Check the plan's view and the queries that read it."""
        # A query reads the views that the statements before it create.
        views: dict[str, list[str]] = {}
        for tree in trees:
            query = tree.expression if isinstance(tree, exp.Create) else tree
            if not isinstance(query, _QUERY):
                continue
            try:
                columns = self._columns_of(query, views)
            except Exception as error:
                yield _unresolved_text(error)
                return
            if isinstance(tree, exp.Create):
                views[tree.this.name.lower()] = columns

    def _columns_of(self, query: exp.Expression, views: Mapping[str, Sequence[str]] | None = None) -> list[str]:
        """Return the column names of a query, in lower case; the query is removed from its tree.

        Every name in it is resolved against the target, the views and the columns that the spec reads of the source;
        raises sqlglot's errors if one does not resolve.
        """
        tree = query.pop()
        _shorten_chains(tree)
        _expand_states(tree)
        # Variables are no columns; NULL takes their place.
        for column in list(tree.find_all(exp.Column)):
            if column.table.lower() == "session" or (not column.table and column.name in self.variables):
                column.replace(exp.Null())
        # Nor can the columns of tables in subqueries be resolved.
        for table in list(tree.find_all(exp.Table)):
            select = table.find_ancestor(exp.Select)
            parts = tuple(part.name for part in table.parts)
            if select is not None and parts in self.others | self.facts:
                for column in list(select.find_all(exp.Column)):
                    if not column.table or parts in self.facts:  # of this table, or of the source around it
                        column.replace(exp.Null())
        for cte in tree.find_all(exp.CTE):
            if cte.alias == QUERY:  # the user's query: its tables are not known here
                given = (exp.column(name, quoted=True) for name in self.read)
                cte.set("this", exp.select(*given).from_(SOURCE_VIEW))
        # Names are lowered here: sqlglot would parse each of them, and fail at a semicolon.
        listed: dict[str, object] = {
            _TARGET: {name.lower(): kind for name, kind in self.target.items()},
            SOURCE_VIEW: dict.fromkeys(self.read, _TEXT),
            **{name: dict.fromkeys(sorted(columns), _TEXT) for name, columns in self.joined.items()},
            **{view: dict.fromkeys(columns, _ANY) for view, columns in (views or {}).items()},
        }
        schema = MappingSchema(listed, dialect=DIALECT, normalize=False)
        # Both get names of one part: a schema with names of different lengths is ambiguous to sqlglot.
        for table in list(tree.find_all(exp.Table)):
            name = self.tables.get(tuple(part.name for part in table.parts))
            if name is not None:
                alias = exp.to_identifier(table.alias or table.name, quoted=True)
                table.replace(exp.table_(name, alias=alias))
        resolved = qualify(tree, dialect=DIALECT, schema=schema, quote_identifiers=False, validate_qualify_columns=True)
        assert isinstance(resolved, exp.Query)
        return [name.lower() for name in resolved.named_selects]


def _expand_states(tree: exp.Expression) -> None:
    """Replace ``_scd_state.*`` by the fields that the first step gives it, which sqlglot does not do."""
    stars = [node for node in tree.find_all(exp.Column) if isinstance(node.this, exp.Star) and node.table in WHOLES]
    if not stars:
        return
    built = {node.alias: node.this for node in tree.find_all(exp.Alias) if isinstance(node.this, exp.Struct)}
    for star in stars:
        fields = [field.name for field in built[star.table].expressions]
        listed = (exp.alias_(exp.column(name, table=star.table, quoted=True), name, quoted=True) for name in fields)
        select = star.find_ancestor(exp.Select)
        assert select is not None
        place = select.expressions.index(star)
        select.set("expressions", [*select.expressions[:place], *listed, *select.expressions[place + 1 :]])


def _shorten_chains(tree: exp.Expression) -> None:
    """Replace each long chain of operators, which takes quadratic time to resolve, by one call with its columns."""
    for node in list(tree.find_all(exp.Binary)):
        if isinstance(node.parent, exp.Binary) or sum(1 for _ in node.find_all(exp.Binary)) < _LONG_CHAIN:
            continue
        if node.find(exp.Query) is None:
            columns = {tuple(part.name for part in column.parts): column for column in node.find_all(exp.Column)}
            node.replace(exp.Anonymous(this="_scd_any", expressions=[column.copy() for column in columns.values()]))


def _kinds(name: str, trees: Sequence[exp.Expression]) -> Iterator[str]:
    allowed, last = ALLOWED[name]
    if not trees:
        yield "it holds no statement"
        return
    for tree in trees:
        if not isinstance(tree, allowed):
            yield f"a {type(tree).__name__.upper()} statement has no place in {name}"
        kinds = {type(node) for node in tree.walk()}
        if exp.Command in kinds:
            yield "a statement that sqlglot does not know"
        if exp.Placeholder in kinds:
            yield "a placeholder that nobody fills"
    if not isinstance(trees[-1], last):
        yield f"it must end with {' or '.join(kind.__name__.upper() for kind in last)}"
    if sum(isinstance(tree, exp.Merge) for tree in trees) > 1:
        yield "there is more than one MERGE"


_Change = tuple[str, tuple[str, ...]]  # the kind of a statement, and the name of what it changes, in parts


def _list_made(spec: Spec, variables: set[str]) -> dict[str, set[_Change]]:
    """Return file -> what its statements may create, change and set."""
    target, quarantine = spec.target_parts, sql.split_name(spec.quarantine) if spec.quarantine else ()
    schemas = {("schema", parts[:-1]) for place, parts in find_written(spec) if place[0] != "lookups"}
    of_run = {("variable", (name,)) for name in OF_RUN}
    known = {("variable", (name,)) for name in (*variables, *spec.params)} | {("temporary view", (SOURCE_VIEW,))}
    views = [("view", spec.views.current), ("function", spec.views.as_of), ("view", spec.views.overlay)]
    return {
        "create.sql": {("table", target), *schemas, ("merge", target), *of_run},
        "infer.sql": {("merge", target), *of_run},
        "merge.sql": {("merge", target), *known, *of_run},
        "plan.sql": {("temporary view", (VIEW,)), *known},
        "views.sql": {(kind, sql.split_name(name)) for kind, name in views if name is not None},
        "lookups.sql": {("view", sql.split_name(name)) for name in spec.lookups},
        "rejects.sql": {
            ("table", quarantine), ("schema", quarantine[:-1]), ("merge", quarantine), *known, *of_run
        },
        "rewind.sql": {("merge", target), *known, *of_run},
        "evolve.sql": {("alter", target)},
    }  # fmt: skip


def _list_changed(tree: exp.Expression) -> Iterator[_Change]:
    """Yield what a statement creates, changes or sets; nothing for a query."""
    if isinstance(tree, exp.Declare):
        for item in tree.expressions:
            yield from (("variable", (name.name,)) for name in item.this)
    elif isinstance(tree, exp.Set):
        for item in tree.expressions:
            named = item.this.this if isinstance(item.this, exp.EQ) else item.this
            names = named.expressions if isinstance(named, exp.Tuple) else [named]
            yield from ((str(item.args.get("kind") or "setting").lower(), _parts(name)) for name in names)
    elif isinstance(tree, exp.Create):
        properties = tree.args.get("properties")
        is_temporary = properties is not None and properties.find(exp.TemporaryProperty) is not None
        yield f"{'temporary ' if is_temporary else ''}{tree.kind}".lower(), _parts(tree.this)
    elif isinstance(tree, exp.Merge | exp.Alter):
        yield type(tree).__name__.lower(), _parts(tree.this)


def _parts(node: exp.Expression | None) -> tuple[str, ...]:
    """Return the name of a table, view, function or variable, in parts; its text if it is not a name."""
    while isinstance(node, exp.Schema | exp.UserDefinedFunction):
        node = node.this
    if isinstance(node, exp.Table | exp.Column):
        return tuple(part.name for part in node.parts)
    return (node.name or node.sql() if node is not None else "",)


def _unresolved_text(error: Exception) -> str:
    return f"a name does not resolve ({first_line(error)})"


def _joined_columns(spec: Spec) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yield (table in parts, its columns that the spec reads, in lower case) for each table of a join."""
    of_source = [found.fragment for found in sql_texts(spec) if found.option.over is Rows.SOURCE]
    for alias, joined in spec.source.join.items():
        columns = {name.lower() for name in [*joined.keys.values(), *joined.on, joined.surrogate_key] if name}
        of_rows = [found.text for found in sql_texts(joined) if found.option.over is Rows.JOINED]
        for read in map(sql.expression, [*of_rows, joined.start, joined.end]):
            columns |= {parts[-1] if parts[0] == alias.lower() else parts[0] for parts in read.names}
        for read in of_source:
            columns |= {parts[1] for parts in read.names if parts[0] == alias.lower() and len(parts) > 1}
        yield sql.split_name(joined.table), columns
