"""The files of cases: a list of cases with a spec in each, or a spec's file and a list of its cases. No Spark here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from ruamel.yaml import YAML

from scdgen import sql
from scdgen.cases.block import Block, CaseError, parse_block
from scdgen.cases.nested import is_nested
from scdgen.errors import NO_UTF8, SpecError, UsageError, nearest, of_system, quoted
from scdgen.facts.source import SourceRow
from scdgen.files.read import read_columns
from scdgen.model.bind import bind
from scdgen.model.graph import find_table_names, find_written, full_name
from scdgen.model.load import Lines, load_spec, load_spec_text
from scdgen.model.option import Location, sql_texts
from scdgen.model.spec import Spec
from scdgen.paths import read_text
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.types import column_types, split_at_commas
from scdgen.stored.migrate import store_rows


class Model(BaseModel):
    """A part of a file of cases; a field that it does not have is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Text = Annotated[str, Field(min_length=1)]


class Again(Model):
    """The effect of the second load of a batch if it changes something, and the reason; ``false``: no second load."""

    why: Text
    table: str | None = None
    error: str | None = None
    off: bool = False

    @model_validator(mode="after")
    def _one(self) -> Again:
        if not self.off and (self.table is None) == (self.error is None):
            raise ValueError("takes either 'table' or 'error'")
        return self


class Batch(Model):
    """Rows to load, and the table afterwards. A join has the rows of each of its ``tables`` instead."""

    rows: str | None = None
    tables: dict[str, str] = Field(default_factory=dict)
    feed: str | None = None
    facts: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    table: str | None = Field(default=None, validation_alias=AliasChoices("table", "expect"))
    counts: dict[str, int] | None = None
    error: str | None = None
    again: Annotated[Again | None, BeforeValidator(lambda x: {"why": "off", "off": True} if x is False else x)] = None

    @model_validator(mode="after")
    def _refused(self) -> Batch:
        if self.error and (self.table or self.counts or self.again):
            raise ValueError("'error' says that the table stays as it was; leave out table, counts and again")
        return self


class Query(Model):
    """A query to run after the last batch, and its rows."""

    sql: Text
    rows: str


def run_columns(spec: Spec) -> list[list[str]]:
    """Return the columns that differ with each run, in groups in which a run has one value of a type."""
    recorded = [name for _, name in spec.recorded_columns] if records_now(spec) else []
    return [names for names in (recorded, [name for _, name in spec.audit.names()]) if names]


def records_now(spec: Spec) -> bool:
    """Whether the recorded time of a run is that of a clock, which no case can know."""
    return spec.recorded is not None and not sql.expression(spec.recorded.at).params


class Case(Model):
    """One scenario: with a spec of its own, or one of a file, whose table and sources it then has."""

    name: Text
    why: Text | None = None
    spec: dict[str, Any] | None = None
    schema_: str = Field(default="", validation_alias=AliasChoices("source schema", "schema"))
    schemas: dict[str, Text] = Field(default_factory=dict)
    tables: dict[str, Text] = Field(default_factory=dict)
    facts_schema: Text | None = Field(default=None, alias="facts schema")
    given: str | None = None
    batches: Annotated[list[Batch], Field(min_length=1)]
    table: str | None = None
    facts: str | None = None
    queries: list[Query] = Field(default_factory=list)
    views: dict[str, str] = Field(default_factory=dict)
    _spec: Spec | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _whole(self) -> Case:
        if self.spec is None:
            return self
        good = [batch for batch in self.batches if batch.error is None]
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name):
            raise ValueError("the name is that of a table; write small letters, digits and _")
        if not good:
            raise ValueError("every batch is an error; let one of them be right")
        if self.table is None and good[-1].table is None:
            raise ValueError("has no 'table': the last batch, or the case, says what the table is in the end")
        return self

    def of_file(self, spec: Spec) -> Case:
        """Return the case with the spec of a file."""
        case = self.model_copy()
        case._spec = spec
        return case

    @property
    def target(self) -> str:
        """The table that is compared."""
        return self._spec.target if self._spec else f"cases.{self.name}"

    @property
    def fact_table(self) -> str:
        """The table whose rows are ``facts``."""
        inferred = self._spec.members.inferred if self._spec else None
        return inferred.fact if inferred else f"{self.target}_facts"

    @property
    def types(self) -> dict[str, str]:
        """``name -> type`` of the source's columns; empty for a file's spec without a schema: they are text."""
        field = "source schema" if self.spec is not None else "schema"
        return _types(field, self.schema_) if self.schema_ or self.spec is not None else {}

    def row_types(self, batch: Batch, block: Block) -> dict[str, str]:
        """``name -> type`` of a batch's columns; without a schema, those named or read, of :func:`source_types`."""
        if self.types:
            return self.types
        spec = self.spec_of(batch)
        known, named = source_types(spec), {name.lower() for name in block.columns}
        names = [*block.columns, *sorted(read_columns(spec) - named)]
        if not SourceRow(spec).time_type:  # it is not cast, and texts have another order
            times = {sql.expression(text).bare for _, text in SourceRow(spec).time_texts}
            for number, name in enumerate(block.columns):
                if name in times:
                    numbers = all((row[number] or "0").lstrip("-").isdecimal() for row in block.rows)
                    known.setdefault(name.lower(), "bigint" if numbers else "timestamp")
        return {name: known.get(name.lower(), "string") for name in names}

    def table_types(self, name: str) -> dict[str, str]:
        """``name -> type`` of the columns of another table, by its name, or by its alias in a join."""
        if self.spec is not None:
            return _types(f"tables {name}", self.tables[name])
        return _types(f"schemas {name}", self.schemas[name]) if name in self.schemas else {}

    def text_types(self, name: str, block: Block) -> dict[str, str]:
        """``name -> type`` of the columns of another table without a schema: text, but for those of ``fact_schema``."""
        known: dict[str, str] = {}
        for lookup in self._spec.lookups.values() if self._spec else ():
            if lookup.fact and sql.split_name(lookup.fact.lower()) == sql.split_name(name.lower()):
                known |= {column.lower(): kind for column, kind in column_types(lookup.fact_schema or "_ int").items()}
        return {column: known.get(column.lower(), "string") for column in block.columns}

    def view(self, name: str) -> str:
        """The table of that name; an alias of a join has one that is filled in."""
        return name if self.spec is None else f"case_{self.name}_{name}"

    @property
    def fact_types(self) -> dict[str, str]:
        """``name -> type`` of the facts' columns; empty for a file's spec without a schema: they are text."""
        if self.spec is None and self.facts_schema is None:
            return self.table_types(self.fact_table)
        return _types("facts schema", self.facts_schema or "")

    @property
    def stored_types(self) -> dict[str, str]:
        """``name -> type`` of the columns of a file's target."""
        columns = pattern_of(self._spec).columns(self._spec) if self._spec else ()
        return {sql.unquote(column.name): column.type for column in columns}

    @property
    def expected_types(self) -> dict[str, str]:
        """``name -> type`` of the cells of a file's target after a batch: those of runs are numbers of batches."""
        of_runs = run_columns(self._spec) if self._spec else ()
        return {**self.stored_types, **{name: "int" for names in of_runs for name in names}}

    def _check_rows(self, batch: Batch, spec: Spec) -> None:
        """Raise :class:`CaseError` for a column of a batch that the spec of a file does not read."""
        block = parse_block(batch.rows or "")
        used = read_columns(spec) | {name for found in sql_texts(spec) for name in found.fragment.columns}
        for name in block.columns if not self.types else ():
            if name.lower() not in used:
                listed = ", ".join(sorted(read_columns(spec)))
                raise CaseError(f"the spec reads no column '{name}'{nearest(name, used)} (it reads {listed})")

    def _check_of_file(self, whole: Spec, mistakes: Mistakes) -> None:
        """Add what the spec of a file says is wrong."""
        if self.given is not None and not any(found.field == ("given",) for found in mistakes):
            with mistakes.at("given"):
                # Build the statement that would store the rows, which refuses columns that it cannot fill.
                store_rows(whole, pattern_of(whole).columns(whole), parse_block(self.given).columns, "t")
        written = {parts: ".".join(parts) for _, parts in find_written(whole)}
        for name in self.views:
            with mistakes.at("views", name):
                if sql.split_name(name) not in written:
                    hint, listed = nearest(name, written.values()), ", ".join(written.values())
                    raise CaseError(f"the spec has no view of this name{hint} (it has {listed})")
        read = {full_name(parts): ".".join(parts) for parts in find_table_names(whole.feeds)}
        for i, query in enumerate(self.queries):
            with mistakes.at("queries", i, "sql"):
                read |= {full_name(parts): ".".join(parts) for parts in sql.query(query.sql.strip()).tables}
        named: list[tuple[Location, Iterable[str]]] = [(("tables",), self.tables), (("schemas",), self.schemas)]
        named += [(("batches", i, "tables"), batch.tables) for i, batch in enumerate(self.batches)]
        for place, name in ((place, name) for place, names in named for name in names):
            with mistakes.at(*place, name):
                if full_name(sql.split_name(name)) not in read:
                    hint = nearest(name, read.values()) or f" (they read {', '.join(read.values())})"
                    raise CaseError(f"neither the spec nor a query reads a table of this name{hint}")
        for number, batch in enumerate(self.batches):
            with mistakes.at("batches", number, "feed"):
                spec = self.spec_of(batch)
                with mistakes.at("batches", number, "params"):
                    bind(spec, None, batch.params, finds_dates=True)
                    if batch.rows is not None:
                        with mistakes.at("batches", number, "rows"):
                            bind(spec, "rows", batch.params, finds_dates=True)  # not of a join
                            self._check_rows(batch, spec)

    def spec_of(self, batch: Batch) -> Spec:
        """Return the spec of a batch: that of its feed, with its options. Raises :class:`SpecError`."""
        spec = self._spec or load_spec_text(self.spec_text(batch.options), name=self.name)
        return spec.for_feed(batch.feed)

    def spec_text(self, options: Mapping[str, Any]) -> str:
        """The spec as YAML text, with target, keys, source table and the options of a batch filled in."""
        given = {"target": self.target, "pattern": "scd2", "keys": ["id"], **merge_options(self.spec or {}, options)}
        if "sources" in given:
            given["sources"] = {name: {"table": "nowhere", **source} for name, source in given["sources"].items()}
            return json.dumps(given, default=str)
        given["source"] = {**({} if self.tables else {"table": "nowhere"}), **given.get("source", {})}
        for alias in self.tables:
            given["source"]["join"][alias] = {"table": self.view(alias), **given["source"]["join"][alias]}
        return json.dumps(given, default=str)  # JSON is YAML

    def find_mistakes(self) -> list[CaseError]:
        """Parse every table and query of the case, so that mistakes are found before anything runs."""
        of_file, mistakes = self._spec is not None, Mistakes()
        # Ask for types late, so that a mistake in them is reported at the table that needs them.
        tables: list[tuple[Location, str | None, Callable[[], dict[str, str]] | None]] = [
            (("table",), self.table, None),
            (("given",), self.given, lambda: self.stored_types),
            (("facts",), self.facts, lambda: self.fact_types),
        ]
        tables += [(("queries", i, "rows"), query.rows, None) for i, query in enumerate(self.queries)]
        tables += [(("views", name), text, None) for name, text in self.views.items()]
        if of_file:
            tables += [(("tables", name), text, partial(self.table_types, name)) for name, text in self.tables.items()]
        for i, batch in enumerate(self.batches):
            with mistakes.at("batches", i, "tables"):
                if self.spec is not None and batch.tables.keys() != self.tables.keys():
                    raise CaseError(f"are not those of the case, {', '.join(self.tables) or 'none'}")
            named = batch.tables.items()
            tables += [(("batches", i, "tables", name), text, partial(self.table_types, name)) for name, text in named]
            if batch.rows is not None or (self.spec is not None and not self.tables):
                tables.append((("batches", i, "rows"), batch.rows or "", lambda: self.types))
            tables.append((("batches", i, "facts"), batch.facts, lambda: self.fact_types))
            tables.append((("batches", i, "expect" if of_file else "table"), batch.table, lambda: self.expected_types))
            again = batch.again.table if batch.again else None
            tables.append((("batches", i, "again"), again, lambda: self.expected_types))
            known = pattern_of(self._spec).actions(self._spec) if self._spec else MERGED
            with mistakes.at("batches", i, "counts"):
                for name in batch.counts or {}:
                    if name not in known:
                        raise CaseError(f"no count '{name}'{nearest(name, known)} (the counts: {', '.join(known)})")
        for place, given, types in tables:
            if given is not None:
                with mistakes.at(*place):
                    block = parse_block(given)
                    if types is not None and (kinds := types()):
                        block.typed(kinds)
        if self._spec:
            self._check_of_file(self._spec, mistakes)
        return mistakes


class Mistakes(list[CaseError]):
    """The mistakes of a case."""

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Add an error that is raised inside, with its place in the case."""
        try:
            yield
        except (UsageError, SpecError, ValueError) as error:
            self.append(CaseError(f"{_label(place)}: {error}", place))


def _label(place: Location) -> str:
    """Name a place of a case.

    >>> _label(("batches", 0, "rows")), _label(("views", "crm.now")), _label(("queries", 1, "rows"))
    ('batch 1: rows', 'views crm.now', 'query 2: rows')
    """
    first, *rest = map(str, place)
    one = {"batches": "batch", "queries": "query"}.get(first)
    if one and rest:
        return ": ".join(filter(None, [f"{one} {int(rest[0]) + 1}", " ".join(rest[1:])]))
    return " ".join([first, *rest])


MERGED = ("inserted", "updated", "deleted", "inferred")
"""The counts of a case with a spec of its own: rows of the MERGE, and inferred members."""


def source_types(spec: Spec) -> dict[str, str]:
    """Return lower-case name -> type of the columns of the source whose type the spec tells, other than text."""
    found = {name.lower(): kind for name, kind in spec.source.columns.items()}
    for name, column in spec.columns.items():
        bare = sql.expression(spec.column_source(name)).bare
        if bare is not None and is_nested(column.type):
            found.setdefault(bare.lower(), column.type)
    return found


def _types(place: str, schema: str) -> dict[str, str]:
    listed = [re.fullmatch(r"\s*(`(?:[^`]|``)+`|\S+)\s+(.+)", part, re.DOTALL) for part in split_at_commas(schema)]
    if not all(listed):
        raise CaseError(f"{place}: '{schema}' is not 'name type, name type'")
    return {sql.unquote(part[1]): part[2].strip() for part in listed if part}


def merge_options(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a spec with more of them, merged at every depth."""
    result = dict(base)
    for name, value in more.items():
        nested = isinstance(value, dict) and isinstance(result.get(name), dict)
        result[name] = merge_options(result[name], value) if nested else value
    return result


@dataclass(frozen=True)
class CaseFile:
    """A file of cases: its name, and the places in it if it is a user's."""

    name: str
    lines: Lines | None = None

    def wrong(self, message: str, *place: str | int) -> CaseError:
        """Return a mistake at a place."""
        at = self.lines.position(place)[1:] if self.lines else ()
        return CaseError(f"{':'.join([self.name, *map(str, at)])}: {message}")


# The fields of a case of a spec's file, and of its batches, as a user writes them.
_OF_FILE = {
    "": ("name", "why", "schema", "schemas", "tables", "given", "batches", "views", "queries"),
    "batches": ("feed", "rows", "tables", "facts", "params", "expect", "counts", "error", "again"),
    "queries": ("sql", "rows"),
}
_LEVELS = {"": "the case", "batches": "a batch", "queries": "a query"}


def read_case_file(path: Path, spec: Spec | None = None, wrong: list[str] | None = None) -> list[Case]:
    """Return the cases of a file ``NAME.test.yml``: the path of a spec, and the cases for it.

    A ``spec`` that has been read need not be where the file says. Raises :class:`CaseError` for the file or its spec,
    and with the mistakes of all cases, unless they are to be added to ``wrong`` and the other cases returned.
    """
    try:
        text = read_text(path)
        # Lines parses the text as well, and says what is wrong with the YAML, and where.
        file = CaseFile(path.as_posix(), Lines.of_text(text, path.as_posix()))
        document = YAML(typ="safe", pure=True).load(text)
    except UnicodeDecodeError as error:
        raise CaseError(f"{path.as_posix()}: {NO_UTF8}") from error
    except OSError as error:
        raise CaseError(of_system(error, path.as_posix())) from error
    except SpecError as error:
        raise CaseError(error.lines) from error
    if not isinstance(document, dict) or document.keys() != {"spec", "cases"}:
        raise file.wrong("a case file has two fields; write 'spec:' with the path of a spec, and 'cases:'")
    if not isinstance(document["cases"], list) or not document["cases"]:
        raise file.wrong("cases: is not a list of cases; begin each with '- name:'", "cases")
    if not isinstance(document["spec"], str):
        raise file.wrong("spec: is not a path; write that of a spec, relative to this file", "spec")
    try:
        spec = spec or load_spec(_find_spec(path.parent, document["spec"]))
    except CaseError as error:
        raise file.wrong(f"spec: {error}", "spec") from error
    except (SpecError, UsageError) as error:
        raise CaseError(error.lines) from error
    cases, found = dict[str, Case](), list[CaseError]()
    for number, listed in enumerate(document["cases"], 1):
        unknown = list(_find_wrong_fields(listed, number, file))
        case = _joined(unknown) if unknown else read_case(listed, number, file, spec)
        if isinstance(case, CaseError):
            found.append(case)
        elif cases.setdefault(case.name, case) is not case:
            what = f"the case '{case.name}' is there twice; give one of them another name"
            found.append(file.wrong(what, "cases", number - 1, "name"))
    if found and wrong is None:
        raise _joined(found)
    if wrong is not None:
        wrong += (line for each in found for line in each.lines)
    return list(cases.values())


def _joined(errors: Iterable[CaseError]) -> CaseError:
    return CaseError(line for error in errors for line in error.lines)


def _find_spec(folder: Path, name: str) -> Path:
    """Return the file of a spec that a case file names.

    Raises :class:`CaseError` for a path out of ``folder`` and the working folder, without a look at what is there: the
    file may be from somebody else, and messages about a spec quote it.
    """
    found = folder / name
    try:
        place, roots = found.resolve(), [folder.resolve(), Path.cwd().resolve()]
        inside = any(map(place.is_relative_to, roots))
        exists = inside and place.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # a name that no file can have, or links in a circle
        raise CaseError("is not the path of a file; write that of a spec, relative to this file") from error
    if not inside:
        what = f"{quoted(name)} is outside of this file's folder and of the working folder"
        raise CaseError(f"{what}; name a spec in one of them")
    if place.suffix not in (".yml", ".yaml") or found.suffix not in (".yml", ".yaml"):
        raise CaseError(f"{quoted(name)} is not the name of a spec; name a file .yml or .yaml")
    if not exists:
        raise CaseError(f"{found.as_posix()} does not exist; write the path relative to this file")
    return found


def _find_wrong_fields(listed: Any, number: int, file: CaseFile) -> Iterator[CaseError]:
    """Yield fields that no case of a spec's file has, for others are for our own cases, and those without a value."""
    parts: list[tuple[str, Location, Any]] = [("", (), listed)]
    for kind in ("batches", "queries"):
        found = listed.get(kind) if isinstance(listed, dict) else None
        parts += [(kind, (kind, i), one) for i, one in enumerate(found)] if isinstance(found, list) else []
    for kind, place, part in parts:
        fields = _OF_FILE[kind]
        for name, value in part.items() if isinstance(part, dict) else ():
            where = f"{_label(place)}: " if place else ""
            if value is None:
                what = f"{where}{name}: is empty; write its value, or leave it out"
                yield file.wrong(what, "cases", number - 1, *place, str(name))
            elif name not in fields:
                other = next((level for level, names in _OF_FILE.items() if name in names), None)
                hint = nearest(str(name), fields) if other is None else f"; it is a field of {_LEVELS[other]}"
                message = f"{where}no field '{name}'{hint} (the fields: {', '.join(fields)})"
                yield file.wrong(message, "cases", number - 1, *place, str(name))


def read_case(document: Any, number: int, file: CaseFile, spec: Spec | None) -> Case | CaseError:
    """Return a case, or its mistakes with their places in the file."""
    try:
        case = _parse_case(document, spec)
        mistakes = case.find_mistakes()
    except CaseError as error:
        mistakes = [error]
    name = document.get("name", number) if isinstance(document, dict) else number
    found = [file.wrong(f"case '{name}': {error}", "cases", number - 1, *error.field) for error in mistakes]
    return _joined(found) if found else case


def _parse_case(document: Any, spec: Spec | None) -> Case:
    """Return a case with the spec of its file. Raises :class:`CaseError` for fields that no case has."""
    try:
        case = Case.model_validate(document)
    except ValidationError as error:
        first, *_ = listed = error.errors(include_url=False)
        raise CaseError("; ".join(_problem(e["loc"], e["type"], e["msg"]) for e in listed), first["loc"]) from error
    if (case.spec is None) == (spec is None):
        raise CaseError("a case of a spec's file has no 'spec'; leave it out" if spec else "has no 'spec'; add it")
    return case.of_file(spec) if spec else case


def _problem(place: tuple[int | str, ...], kind: str, message: str) -> str:
    models: dict[str, type[BaseModel]] = {"batches": Batch, "queries": Query, "again": Again}
    where = " ".join(str(step + 1) if isinstance(step, int) else step for step in place)
    if kind == "extra_forbidden":
        model = next((models[step] for step in reversed(place[:-1]) if step in models and isinstance(step, str)), Case)
        # A field with two names is that of our own cases by the first one.
        aliases = {name: field.validation_alias for name, field in model.model_fields.items()}
        fields = [str(a.choices[0] if isinstance(a, AliasChoices) else a or name) for name, a in aliases.items()]
        return f"{where}: unknown field{nearest(str(place[-1]), fields)} (the fields: {', '.join(fields)})"
    if kind == "missing":
        message = "is missing; add it"
    return f"{where}: {message.removeprefix('Value error, ')}" if where else message.removeprefix("Value error, ")
