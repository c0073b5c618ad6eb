"""The files of cases: a list of cases with a spec in each, or a spec's file and a list of its cases. No Spark here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from scdgen import sql
from scdgen.cases.block import Block, CaseError, parse_block
from scdgen.cases.nested import is_nested
from scdgen.compile.compile import bind
from scdgen.errors import NO_UTF8, SpecError, UsageError, nearest, of_system, quoted
from scdgen.files.read import read_columns
from scdgen.model.graph import find_written_names
from scdgen.model.load import MOST_BYTES, Lines, load_spec, load_spec_text
from scdgen.model.option import sql_texts
from scdgen.model.rules import Location
from scdgen.model.spec import Spec
from scdgen.paths import read_text
from scdgen.patterns.pattern import pattern_of
from scdgen.sql.types import split_at_commas
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

    @model_validator(mode="before")
    @classmethod
    def _is_off(cls, given: Any) -> Any:
        return {"why": "it is not loaded again", "off": True} if given is False else given

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
    again: Again | None = None

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
    _mistake: CaseError | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _whole(self) -> Case:
        good = [batch for batch in self.batches if batch.error is None]
        if self.spec is None:
            return self
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

    def with_mistake(self, mistake: CaseError) -> Case:
        """Return the case with a mistake of its SQL, for which it alone is not played."""
        case = self.model_copy()
        case._mistake = mistake
        return case

    @property
    def mistake(self) -> CaseError | None:
        """A mistake of the case's SQL: of a query, or of the name of a table."""
        return self._mistake

    @property
    def target(self) -> str:
        """The table that is compared."""
        return self._spec.target if self._spec else f"cases.{self.name}"

    @property
    def fact_table(self) -> str:
        """The table whose rows are ``facts``."""
        if self._spec and self._spec.members.inferred:
            return self._spec.members.inferred.fact
        return f"{self.target}_facts"

    @property
    def types(self) -> dict[str, str]:
        """``name -> type`` of the source's columns; empty for a file's spec without a schema: they are text."""
        field = "source schema" if self.spec is not None else "schema"
        return _types(field, self.schema_) if self.schema_ or self.spec is not None else {}

    def row_types(self, batch: Batch, block: Block) -> dict[str, str]:
        """``name -> type`` of the columns of a batch's rows.

        Without a schema they are those that are named, and those that the spec of a file reads besides: of the types
        in its ``source.schema``, nested if they become nested columns, or else text.
        """
        if self.types:
            return self.types
        if self._spec is None:
            return dict.fromkeys(block.columns, "string")
        spec = self.spec_of(batch)
        named = {name.lower() for name in block.columns}
        known = source_types(spec)
        return {
            name: known.get(name.lower(), "string") for name in [*block.columns, *sorted(read_columns(spec) - named)]
        }

    def table_types(self, name: str) -> dict[str, str]:
        """``name -> type`` of the columns of another table, by its name, or by its alias in a join."""
        if self.spec is not None:
            return _types(f"tables {name}", self.tables[name])
        return _types(f"schemas {name}", self.schemas[name]) if name in self.schemas else {}

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
        assert self._spec is not None
        return {sql.unquote(column.name): column.type for column in pattern_of(self._spec).columns(self._spec)}

    @property
    def expected_types(self) -> dict[str, str]:
        """``name -> type`` of the cells of a file's target after a batch: those of runs are numbers of batches."""
        assert self._spec is not None
        return {**self.stored_types, **{name: "int" for names in run_columns(self._spec) for name in names}}

    def _check_counts(self, batch: Batch) -> None:
        known = pattern_of(self._spec).actions(self._spec) if self._spec else MERGED
        for name in batch.counts or {}:
            if name not in known:
                raise CaseError(f"no count '{name}'{nearest(name, known)} (the counts: {', '.join(known)})")

    def _check_rows(self, batch: Batch) -> None:
        """Raise :class:`CaseError` for a column of a batch that the spec of a file does not read."""
        block, spec = parse_block(batch.rows or ""), self.spec_of(batch)
        used = read_columns(spec) | {name for found in sql_texts(spec) for name in found.fragment.columns}
        for name in block.columns if not self.types else ():
            if name.lower() not in used:
                listed = ", ".join(sorted(read_columns(spec)))
                raise CaseError(f"the spec reads no column '{name}'{nearest(name, used)} (it reads {listed})")

    def _check_of_file(self) -> None:
        """Check what the spec of a file says of its cases. Raises :class:`CaseError`."""
        assert self._spec is not None
        if self.given is not None:
            with located("given"):
                # Build the statement that would store the rows, which refuses columns that it cannot fill.
                store_rows(self._spec, pattern_of(self._spec).columns(self._spec), parse_block(self.given).columns, "t")
        written = {parts: ".".join(parts) for parts in find_written_names(self._spec)}
        for name in self.views:
            with located("views", name):
                if sql.split_name(name) not in written:
                    listed = written.values()
                    raise CaseError(
                        f"the spec has no view of this name{nearest(name, listed)} (it has {', '.join(listed)})"
                    )
        for number, batch in enumerate(self.batches):
            with located("batches", number, "feed"):
                spec = self.spec_of(batch)
            with located("batches", number, "params"):
                bind(spec, None, batch.params, finds_dates=True)
            if batch.rows is not None:
                with located("batches", number, "rows"):
                    bind(spec, "rows", batch.params, finds_dates=True)  # not of a join
                    self._check_rows(batch)

    def spec_of(self, batch: Batch) -> Spec:
        """Return the spec of a batch: that of its feed, with its options. Raises :class:`SpecError`."""
        spec = self._spec or load_spec_text(self.spec_text(batch.options), name=self.name)
        return spec.for_feed(batch.feed)

    def spec_text(self, options: Mapping[str, Any]) -> str:
        """The spec as YAML text, with target, source table and the options of a batch filled in."""
        given = {"target": self.target, "pattern": "scd2", **merge_options(self.spec or {}, options)}
        if "sources" in given:
            given["sources"] = {name: {"table": "nowhere", **source} for name, source in given["sources"].items()}
            return json.dumps(given, default=str)
        given["source"] = {**({} if self.tables else {"table": "nowhere"}), **given.get("source", {})}
        for alias in self.tables:
            given["source"]["join"][alias] = {"table": self.view(alias), **given["source"]["join"][alias]}
        return json.dumps(given, default=str)  # JSON is YAML

    def check_blocks(self) -> None:
        """Parse every table of the case, so that mistakes are found before anything runs."""
        of_file = self._spec is not None
        # Ask for types late, so that a mistake in them is reported at the table that needs them.
        stored = (lambda: self.stored_types) if of_file else None
        expected = (lambda: self.expected_types) if of_file else None
        tables: list[tuple[Location, str | None, Callable[[], dict[str, str]] | None]] = [
            (("table",), self.table, None),
            (("given",), self.given, stored),
            (("facts",), self.facts, lambda: self.fact_types),
        ]
        tables += [(("queries", i, "rows"), query.rows, None) for i, query in enumerate(self.queries)]
        tables += [(("views", name), text, None) for name, text in self.views.items()]
        if of_file:
            tables += [(("tables", name), text, partial(self.table_types, name)) for name, text in self.tables.items()]
        for i, batch in enumerate(self.batches):
            if self.spec is not None and batch.tables.keys() != self.tables.keys():
                listed = ", ".join(self.tables) or "none"
                raise CaseError(f"are not those of the case, {listed}", ("batches", i, "tables"))
            for name, text in batch.tables.items():
                tables.append((("batches", i, "tables", name), text, partial(self.table_types, name)))
            if batch.rows is not None or (self.spec is not None and not self.tables):
                tables.append((("batches", i, "rows"), batch.rows or "", lambda: self.types))
            tables.append((("batches", i, "facts"), batch.facts, lambda: self.fact_types))
            tables.append((("batches", i, "expect" if of_file else "table"), batch.table, expected))
            tables.append((("batches", i, "again"), batch.again.table if batch.again else None, expected))
            with located("batches", i, "counts"):
                self._check_counts(batch)
        # Parse each table, and its cells if the types are known.
        for place, given, types in tables:
            with located(*place):
                block = parse_block(given) if given is not None else None
                if block is not None and types is not None and (known := types()):
                    block.typed(known)
        if of_file:
            self._check_of_file()

    def check_sql(self) -> None:
        """Check the queries, each one SELECT, and the names of tables. Raises :class:`CaseError`."""
        for i, query in enumerate(self.queries):
            with located("queries", i, "sql"):
                sql.query(query.sql.strip())
        names: list[Location] = [
            *(("tables", name) for name in self.tables),
            *(("schemas", name) for name in self.schemas),
        ]
        names += [("batches", i, "tables", name) for i, batch in enumerate(self.batches) for name in batch.tables]
        for place in names if self.spec is None else ():  # else they are aliases
            with located(*place):
                sql.split_name(str(place[-1]))


@contextmanager
def located(*place: str | int) -> Iterator[None]:
    """Say the place of a case in an error that is raised inside."""
    try:
        yield
    except (UsageError, SpecError, ValueError) as error:
        raise CaseError(str(error), place) from error


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


def read_cases(text: str, file: str) -> list[Case | CaseError]:
    """Return every case of a list of cases with specs of their own; a wrong one is replaced by its error."""
    try:
        listed = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        return [CaseError(f"{file}: not valid YAML: {error}")]
    if not isinstance(listed, list) or not listed:
        return [CaseError(f"{file}: a case file is a list of cases, each beginning with '- name:'")]
    return [_read_case(document, number, file, None) for number, document in enumerate(listed, 1)]


# The fields of a case of a spec's file, and of its batches, as a user writes them.
_OF_FILE = {
    "": ("name", "why", "schema", "schemas", "tables", "given", "batches", "views", "queries"),
    "batches": ("feed", "rows", "tables", "facts", "params", "expect", "counts", "error", "again"),
    "queries": ("sql", "rows"),
}
_LEVELS = {"": "the case", "batches": "a batch", "queries": "a query"}


def read_case_file(path: Path, spec: Spec | None = None) -> list[Case]:
    """Return the cases of a file ``NAME.test.yml``: the path of a spec, and the cases for it.

    Args:
        path: the file.
        spec: the spec, if it has been read; else it is below the folder of the file, or the working folder.

    Raises :class:`CaseError` for the first mistake of the file or for those of its spec.
    """
    file = path.as_posix()
    try:
        text = read_text(path, MOST_BYTES)
        # Lines parses the text as well, and says what is wrong with the YAML, and where.
        lines = Lines(text, file)
        document = YAML(typ="safe", pure=True).load(text)
    except UnicodeDecodeError as error:
        raise CaseError(f"{file}: {NO_UTF8}") from error
    except OSError as error:
        raise CaseError(of_system(error, file)) from error
    except SpecError as error:
        raise CaseError(error.lines) from error

    def wrong(message: str, *place: str | int) -> CaseError:
        return CaseError(f"{file}:{':'.join(map(str, lines.position(place)))}: {message}")

    if not isinstance(document, dict) or document.keys() != {"spec", "cases"}:
        raise wrong("a case file has two fields; write 'spec:' with the path of a spec, and 'cases:'")
    if not isinstance(document["cases"], list) or not document["cases"]:
        raise wrong("cases: is not a list of cases; begin each with '- name:'", "cases")
    if not isinstance(document["spec"], str):
        raise wrong("spec: is not a path; write that of a spec, relative to this file", "spec")
    try:
        spec = spec or load_spec(_find_spec(path.parent, document["spec"]))
    except CaseError as error:
        raise wrong(f"spec: {error}", "spec") from error
    except (SpecError, UsageError) as error:
        raise CaseError(error.lines) from error
    cases: list[Case] = []
    for number, listed in enumerate(document["cases"]):
        _require_fields(listed, number, wrong)
        case = _read_case(listed, number + 1, file, spec, lines)
        if isinstance(case, CaseError):
            raise case
        if case.name in (other.name for other in cases):
            raise wrong(
                f"the case '{case.name}' is there twice; give one of them another name", "cases", number, "name"
            )
        cases.append(case)
    return cases


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


def _require_fields(listed: Any, number: int, wrong: Callable[..., CaseError]) -> None:
    """Raise for a field that no case of a spec's file has: others are for our own cases."""
    inner: dict[str, list[tuple[Location, Any]]] = {"": [((), listed)]}
    for name in ("batches", "queries"):
        found = listed.get(name) if isinstance(listed, dict) else None
        inner[name] = [((name, i), one) for i, one in enumerate(found)] if isinstance(found, list) else []
    for kind, parts in inner.items():
        fields = _OF_FILE[kind]
        for place, part in parts:
            for name in part if isinstance(part, dict) else ():
                if name not in fields:
                    message = f"{_label(place)}: " if place else ""
                    other = next((level for level, names in _OF_FILE.items() if name in names), None)
                    hint = nearest(str(name), fields) if other is None else f"; it is a field of {_LEVELS[other]}"
                    message += f"no field '{name}'{hint} (the fields: {', '.join(fields)})"
                    raise wrong(message, "cases", number, *place, str(name))


def _label(place: Location) -> str:
    """Name a place of a case.

    >>> _label(("batches", 0, "rows")), _label(("views", "crm.now")), _label(("queries", 1, "rows"))
    ('batch 1: rows', 'views crm.now', 'query 2: rows')
    """
    first, *rest = place
    if rest and isinstance(rest[0], int):
        one = {"batches": "batch", "queries": "query"}.get(str(first), str(first))
        return ": ".join([f"{one} {rest[0] + 1}", *([" ".join(map(str, rest[1:]))] if rest[1:] else [])])
    return " ".join(map(str, place))


def _read_case(
    document: Any, number: int, file: str, spec: Spec | None, lines: Lines | None = None
) -> Case | CaseError:
    name = document.get("name", number) if isinstance(document, dict) else number

    def wrong(message: str, place: Location = ()) -> CaseError:
        at = lines.position(("cases", number - 1, *place)) if lines else ()
        return CaseError(f"{':'.join([file, *map(str, at)])}: case '{name}': {message}")

    try:
        case = Case.model_validate(document)
        if (case.spec is None) == (spec is None):
            raise CaseError("a case of a spec's file has no 'spec'; leave it out" if spec else "has no 'spec'; add it")
        case = case.of_file(spec) if spec else case
        case.check_blocks()
        # Keep a wrong query as the mistake of its case, so that the other cases are still played.
        try:
            case.check_sql()
        except CaseError as error:
            if not lines:
                raise
            case = case.with_mistake(wrong(f"{_label(error.field)}: {error}", error.field))
    except ValidationError as error:
        first, *_ = listed = error.errors(include_url=False)
        return wrong("; ".join(_problem(e["loc"], e["type"], e["msg"]) for e in listed), first["loc"])
    except CaseError as error:
        return wrong(f"{_label(error.field)}: {error}" if error.field else str(error), error.field)
    return case


def _problem(place: tuple[int | str, ...], kind: str, message: str) -> str:
    models: dict[str, type[BaseModel]] = {"batches": Batch, "queries": Query, "again": Again}
    where = " ".join(str(step + 1) if isinstance(step, int) else step for step in place)
    if kind == "extra_forbidden":
        model = next((models[step] for step in reversed(place[:-1]) if step in models and isinstance(step, str)), Case)
        fields = [_field_name(name, field) for name, field in model.model_fields.items()]
        return f"{where}: unknown field{nearest(str(place[-1]), fields)} (the fields: {', '.join(fields)})"
    if kind == "missing":
        message = "is missing; add it"
    return f"{where}: {message.removeprefix('Value error, ')}" if where else message.removeprefix("Value error, ")


def _field_name(name: str, field: FieldInfo) -> str:
    choices = field.validation_alias
    return str(choices.choices[0]) if isinstance(choices, AliasChoices) else field.alias or name


def all_cases(folder: Path) -> list[Case | CaseError]:
    """The cases of every file of a folder. A name that two cases share is an error, because it names the table."""
    found = [
        case
        for path in sorted(folder.glob("*.yml"))
        for case in read_cases(path.read_text(encoding="utf-8"), f"{path.parent.name}/{path.name}")
    ]
    seen: set[str] = set()
    for index, case in enumerate(found):
        if isinstance(case, Case):
            if case.name in seen:
                found[index] = CaseError(f"the case '{case.name}' is there twice; give one of them another name")
            seen.add(case.name)
    return found
