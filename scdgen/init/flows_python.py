"""Reads AUTO CDC in Python: the calls that create flows and their tables, as syntax. Nothing of the file is run."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlglot.errors import SqlglotError

from scdgen import sql
from scdgen.errors import Problem, SpecError, nearest
from scdgen.init.flows import Clause, Flow, Pipeline, Place, TargetTable, plain_name
from scdgen.init.flows_sql import read_columns

_CHANGES = ("create_auto_cdc_flow", "apply_changes")
_SNAPSHOTS = ("create_auto_cdc_from_snapshot_flow", "apply_changes_from_snapshot")
_TABLES = ("create_streaming_table", "create_target_table", "create_streaming_live_table")
# The order of arguments that may be given without a name.
_FIRST = ("target", "source", "keys", "sequence_by")
# Argument -> the clause with one expression that it stands for.
_EXPRESSIONS = {
    "sequence_by": Clause.SEQUENCE,
    "system_sequence_by": Clause.SYSTEM_SEQUENCE,
    "apply_as_deletes": Clause.DELETES,
    "apply_as_truncates": Clause.TRUNCATES,
    "columns_to_update": Clause.SETS,
}
# Argument -> the clause that lists its columns, and the argument that lists all others instead.
_LISTS = {
    "column_list": (Clause.COLUMNS, "except_column_list"),
    "track_history_column_list": (Clause.TRACKED, "track_history_except_column_list"),
    "ignore_null_updates_column_list": (Clause.NULLS, "ignore_null_updates_except_column_list"),
}
# Clause -> the argument to name if it is missing.
_NAMES = {
    Clause.KEYS: "keys",
    Clause.STORED: "stored_as_scd_type",
    Clause.ONCE: "once",
    **{clause: argument for argument, clause in _EXPRESSIONS.items()},
    **{clause: argument for argument, (clause, _) in _LISTS.items()},
}
_OF_BOTH = (
    "target", "source", "keys", "stored_as_scd_type", "track_history_column_list", "track_history_except_column_list",
    "name", "once",
)  # fmt: skip
_OF_CHANGES = (*_OF_BOTH, *_EXPRESSIONS, *_LISTS, *(other for _, other in _LISTS.values()), "ignore_null_updates")
_GIVE = "write dp.create_auto_cdc_flow(…) or dp.create_auto_cdc_from_snapshot_flow(…)"
_TEXT = "is not text that can be read without running the file; write it as text"
_T = TypeVar("_T")


class _UnknownError(Exception):
    """A value that only a run of the file would know."""


class _File:
    """A file of Python, with what its names stand for."""

    def __init__(self, path: Path, text: str):
        """Parse the file. Raises :class:`SpecError`."""
        self.path = str(path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the syntax of their file
                self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
            message = f"is not Python: {getattr(error, 'msg', error)}; correct it, or call it .sql if it is SQL"
            raise SpecError([Problem(self.path, line, column, message)]) from error
        # Only names that are assigned once have a value that is known without running the file.
        stored = Counter(filter(None, map(_changed_name, ast.walk(self.tree))))
        self.constants: dict[str, ast.expr] = {
            node.targets[0].id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and len(node.targets) == 1
            and stored[node.targets[0].id] == 1
        }
        self._values: dict[str, Any] = {}
        self.functions = {
            node.name: node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }

    def wrong(self, node: ast.expr | ast.keyword, message: str) -> SpecError:
        """Return the error for a mistake at a node."""
        return SpecError([Problem(self.path, node.lineno, node.col_offset + 1, message)])

    def calls(self, names: tuple[str, ...]) -> Iterator[tuple[ast.Call, str]]:
        """Yield the calls of functions with these names, whatever module they are of, in the order of the file."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and _name_of(node.func) in names]
        yield from ((node, _name_of(node.func)) for node in sorted(found, key=lambda node: node.lineno))

    def known(self, node: ast.expr) -> Any:
        """Return a literal, or what the names of constants in it stand for; ``None`` if only a run would know."""
        try:
            return self._value(node)
        except (_UnknownError, RecursionError):
            return None

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name) if name in self.constants:
                if name not in self._values:
                    self._values[name] = self._value(self.constants[name])
                return self._values[name]
            case ast.List(items) | ast.Tuple(items):
                return [self._value(item) for item in items]
            case ast.JoinedStr(parts):
                return "".join(str(self._value(part)) for part in parts)
            case ast.FormattedValue(inner, -1, None):
                return self._value(inner)
        raise _UnknownError

    def read(self, node: ast.expr, kind: type[_T] | tuple[type[_T], ...], argument: str, instead: str) -> _T:
        """Return the value of an argument, of a type. Raises :class:`SpecError`."""
        value = self.known(node)
        if not isinstance(value, kind):
            raise self.wrong(node, f"{argument}: {instead}")
        return value

    def resolve(self, node: ast.expr) -> ast.expr:
        """Return what the name of a constant stands for."""
        passed: set[str] = set()
        while isinstance(node, ast.Name) and node.id in self.constants and node.id not in passed:
            passed.add(node.id)
            node = self.constants[node.id]
        return node

    def expression(self, node: ast.expr, argument: str) -> str:
        """Return a column or an expression of Spark as SQL: text, ``col``, ``expr`` or ``struct``."""
        node = self.resolve(node)
        if isinstance(node, ast.Call) and not node.keywords:
            name = _name_of(node.func)
            if name == "struct":
                only = self.resolve(node.args[0]) if len(node.args) == 1 else None
                parts = only.elts if isinstance(only, ast.List | ast.Tuple) else node.args
                return f"STRUCT({', '.join(self.expression(part, argument) for part in parts)})"
            if name in ("col", "column", "expr") and len(node.args) == 1:
                text = self.read(node.args[0], str, argument, _TEXT)
                return text if name == "expr" else _column(text)
        hint = "is not text, col(), expr() or struct(); write a condition as expr(\"operation = 'DELETE'\")"
        text = self.read(node, str, argument, hint)
        return _column(text) if argument in ("sequence_by", "system_sequence_by", "columns_to_update") else text

    def columns(self, node: ast.expr, argument: str) -> str:
        """Return a list of columns as SQL, with brackets."""
        node = self.resolve(node)
        if not isinstance(node, ast.List | ast.Tuple):
            raise self.wrong(node, f"{argument}: is not a list of columns; write one, such as ['a', 'b']")
        names = []
        for item in map(self.resolve, node.elts):
            named = isinstance(item, ast.Call) and _name_of(item.func) in ("col", "column") and len(item.args) == 1
            inner = item.args[0] if isinstance(item, ast.Call) and named else item
            names.append(_column(self.read(inner, str, argument, "is not a list of names and of col(); write one")))
        return f"({', '.join(names)})"


def _changed_name(node: ast.AST) -> str | None:
    """Return the name that a node sets, or whose list or dictionary it changes."""
    match node:
        case ast.Name(name, ast.Store()) | ast.Subscript(ast.Name(name), _, ast.Store()):
            return name
        case ast.Call(ast.Attribute(ast.Name(name), "append" | "extend" | "insert" | "remove" | "pop" | "update")):
            return name
    return None


def _name_of(node: ast.AST) -> str:
    """Return the last part of a name, such as ``col`` of ``F.col``; empty for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _column(name: str) -> str:
    """Return a column in SQL, quoted only if needed."""
    return name if all(part.isidentifier() for part in name.split(".")) else sql.quote(name)


def read_python(path: Path, text: str) -> Pipeline:
    """Read the flows of a file of Python, and the calls that create their tables. Raises :class:`SpecError`."""
    file = _File(path, text)
    pipeline = Pipeline(str(path))
    for call, _ in file.calls(_TABLES):
        _add_table(pipeline, file, call)
    for call, name in file.calls((*_CHANGES, *_SNAPSHOTS)):
        pipeline.flows.append(_read_flow(file, call, name))
    if not pipeline.flows:
        raise SpecError([Problem(str(path), 1, 1, f"holds no call that creates a flow of AUTO CDC; {_GIVE}")])
    return pipeline


def _arguments(file: _File, call: ast.Call, first: tuple[str, ...], known: tuple[str, ...]) -> dict[str, ast.expr]:
    """Return the arguments of a call by name, without those that are None. Raises :class:`SpecError`."""
    given: dict[str, ast.expr] = {}
    for place, node in enumerate(call.args):
        if isinstance(node, ast.Starred) or place >= len(first):
            raise file.wrong(node, f"{_name_of(call.func)}: takes this argument by its name; write name=value")
        given[first[place]] = node
    for keyword in call.keywords:
        if keyword.arg is None:
            message = f"{_name_of(call.func)}: ** is not known without running the file; write name=value"
            raise file.wrong(keyword, message)
        if keyword.arg not in known:
            hint = nearest(keyword.arg, known) or "; remove it"
            raise file.wrong(keyword, f"{keyword.arg}: is not an argument of {_name_of(call.func)}{hint}")
        given[keyword.arg] = keyword.value
    return {name: node for name, node in given.items() if not (isinstance(node, ast.Constant) and node.value is None)}


def _read_flow(file: _File, call: ast.Call, function: str) -> Flow:
    """Read a call that creates a flow as the clauses of the SQL statement. Raises :class:`SpecError`."""
    snapshot = function in _SNAPSHOTS
    known, first = (_OF_BOTH, _FIRST[:3]) if snapshot else (_OF_CHANGES, _FIRST)
    given = _arguments(file, call, first, known)
    clauses: dict[Clause, str] = {}
    places: dict[Clause, Place] = {}

    def put(clause: Clause, argument: str, text: str | None) -> None:
        places[clause] = _place_of(given[argument], argument)
        if text is not None:
            clauses[clause] = text

    for argument in ("target", "source", "keys"):
        if argument not in given:
            raise file.wrong(call, f"{function}: has no {argument}; AUTO CDC needs it, and so does a spec")
    target = file.read(given["target"], str, "target", _TEXT)
    # A snapshot may come from a function, whose table is not known without running it.
    made_by = _find_function(file, given["source"]) if snapshot else None
    source = file.read(given["source"], str, "source", f"{_TEXT}, the name of a table") if made_by is None else None
    put(Clause.SNAPSHOT if snapshot else Clause.FROM, "source", source)
    put(Clause.KEYS, "keys", file.columns(given["keys"], "keys"))
    for argument, clause in _EXPRESSIONS.items():
        if argument in given:
            put(clause, argument, file.expression(given[argument], argument))
    for argument, (clause, other) in _LISTS.items():
        if argument in given and other in given:
            raise file.wrong(given[other], f"{other}: does not go with {argument}; leave one")
        if argument in given:
            put(clause, argument, file.columns(given[argument], argument))
        elif other in given:
            put(clause, other, f"* EXCEPT {file.columns(given[other], other)}")
    flags = ("ignore_null_updates", "once")
    wrong = "is not True or False; write one of them"
    ignores, once = (name in given and file.read(given[name], bool, name, wrong) for name in flags)
    if ignores and Clause.NULLS not in clauses:
        put(Clause.NULLS, "ignore_null_updates", "")
    if "stored_as_scd_type" in given:
        stored = file.read(given["stored_as_scd_type"], (int, str), "stored_as_scd_type", "is not 1 or 2; write one")
        text = str(stored).upper()
        put(Clause.STORED, "stored_as_scd_type", f"SCD TYPE {text}" if text.isdigit() else text)
    name = file.read(given["name"], str, "name", _TEXT) if "name" in given else None
    if "once" in given:
        put(Clause.ONCE, "once", None)
    place = _place_of(call, function)
    return Flow(file.path, name, plain_name(target), clauses, places, place, _NAMES, made_by, once)


def _place_of(node: ast.expr, label: str) -> Place:
    return Place(node.lineno, node.col_offset + 1, label)


def _find_function(file: _File, node: ast.expr) -> str | None:
    """Return the name of the function that gives the snapshots; ``None`` if the source is something else."""
    resolved = file.resolve(node)
    # It may be in a lambda, or an argument of functools.partial.
    named = [name for part in ast.walk(resolved) if (name := _name_of(part)) in file.functions]
    return next(iter(named), "snapshots" if isinstance(resolved, ast.Lambda | ast.Call) else None)


def _add_table(pipeline: Pipeline, file: _File, call: ast.Call) -> None:
    """Read a call that creates a streaming table. What it is given in another form is left out."""
    given = _arguments(file, call, ("name",), tuple(keyword.arg for keyword in call.keywords if keyword.arg))
    name = file.known(given["name"]) if "name" in given else None
    if not isinstance(name, str):
        return  # a table that no flow here can name either
    table = pipeline.tables.setdefault(plain_name(name).lower(), TargetTable())
    for argument, node in given.items():
        value = file.known(node)
        if argument == "comment" and isinstance(value, str):
            table.description = value
        elif argument == "schema" and isinstance(value, str):
            try:
                read_columns(table, value)
            except (SqlglotError, ValueError) as error:
                message = f"schema: {str(error).splitlines()[0].rstrip('. ')}; write name type, …"
                raise file.wrong(node, message) from error
        elif argument != "name":
            table.left_out.append(argument)
