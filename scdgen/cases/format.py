"""The files of cases: a list of cases with a spec in each, or a spec's file and a list of its cases. No Spark here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from scdgen.cases.block import CaseError, parse_block
from scdgen.errors import NO_UTF8, nearest, of_system
from scdgen.paths import read_text
from scdgen.patterns.words import KEYS, VERSIONS
from scdgen.spec.load import load_spec, load_spec_text
from scdgen.spec.model import Spec
from scdgen.sql.tokens import first_line


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


class Case(Model):
    """One scenario: with a spec of its own, or one of a file, whose table and sources it then has."""

    name: Text
    tier: Literal["test", "long"] = "test"
    why: Text | None = None
    spec: dict[str, Any] | None = None
    schema_: str = Field(default="", validation_alias=AliasChoices("source schema", "schema"))
    schemas: dict[str, Text] = Field(default_factory=dict)
    tables: dict[str, Text] = Field(default_factory=dict)
    facts_schema: Text | None = Field(default=None, alias="facts schema")
    batches: Annotated[list[Batch], Field(min_length=1)]
    table: str | None = None
    facts: str | None = None
    queries: list[Query] = Field(default_factory=list)
    views: dict[str, str] = Field(default_factory=dict)
    _spec: Spec | None = PrivateAttr(default=None)

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
        return _types("source schema", self.schema_) if self.schema_ or self.spec is not None else {}

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
        """``name -> type`` of the facts' columns."""
        return _types("facts schema", self.facts_schema or "")

    def _check_counts(self, place: str, counts: Iterable[str]) -> None:
        known = MERGED if self.spec is not None else (*KEYS, *VERSIONS)
        for name in counts:
            if name not in known:
                raise CaseError(f"{place}: no count '{name}'{nearest(name, known)} (the counts: {', '.join(known)})")

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
        tables: list[tuple[str, str | None, Callable[[], dict[str, str]] | None]] = [("table", self.table, None)]
        tables.append(("facts", self.facts, lambda: self.fact_types))
        tables += [(f"query {i}", query.rows, None) for i, query in enumerate(self.queries, 1)]
        tables += [(f"views {name}", text, None) for name, text in self.views.items()]
        if self.spec is None:
            tables += [(f"tables {name}", text, partial(self.table_types, name)) for name, text in self.tables.items()]
        for i, batch in enumerate(self.batches, 1):
            if self.spec is not None and batch.tables.keys() != self.tables.keys():
                raise CaseError(f"batch {i}: tables: are not those of the case, {', '.join(self.tables) or 'none'}")
            for name, text in batch.tables.items():
                tables.append((f"batch {i}: tables {name}", text, partial(self.table_types, name)))
            if batch.rows is not None or (self.spec is not None and not self.tables):
                tables.append((f"batch {i}: rows", batch.rows or "", lambda: self.types))
            tables.append((f"batch {i}: facts", batch.facts, lambda: self.fact_types))
            tables.append((f"batch {i}: table", batch.table, None))
            again = batch.again.table if batch.again else None
            tables.append((f"batch {i}: again", again, None))
            self._check_counts(f"batch {i}: counts", batch.counts or {})
        for place, given, types in tables:
            try:
                block = parse_block(given) if given is not None else None
                if block is not None and types is not None and (known := types()):
                    block.typed(known)
            except CaseError as error:
                raise CaseError(f"{place}: {error}") from error


MERGED = ("inserted", "updated", "deleted", "inferred")
"""The counts of a case with a spec of its own: rows of the MERGE, and inferred members."""


def _types(place: str, schema: str) -> dict[str, str]:
    listed = [part.split(None, 1) for part in re.split(r",(?![^()]*\))", schema)]
    if any(len(part) != 2 for part in listed):
        raise CaseError(f"{place}: '{schema}' is not 'name type, name type'")
    return {name: kind.strip() for name, kind in listed}


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


def read_case_file(path: Path) -> list[Case]:
    """Return the cases of a file ``NAME.test.yml``: the path of a spec, and the cases for it.

    Raises :class:`CaseError` for the first mistake, and the errors of :func:`scdgen.load_spec` for its spec.
    """
    file = path.as_posix()
    try:
        document = YAML(typ="safe", pure=True).load(read_text(path))
    except UnicodeDecodeError as error:
        raise CaseError(f"{file}: {NO_UTF8}") from error
    except OSError as error:
        raise CaseError(of_system(error, file)) from error
    except YAMLError as error:
        raise CaseError(f"{file}: not valid YAML: {first_line(error)}") from error
    if (
        not isinstance(document, dict)
        or document.keys() != {"spec", "cases"}
        or not isinstance(document["cases"], list)
    ):
        raise CaseError(f"{file}: a case file has two fields; write 'spec:' with the path of a spec, and 'cases:'")
    spec = load_spec(path.parent / str(document["spec"]))
    cases = []
    for number, listed in enumerate(document["cases"], 1):
        case = _read_case(listed, number, file, spec)
        if isinstance(case, CaseError):
            raise case
        cases.append(case)
    return cases


def _read_case(document: Any, number: int, file: str, spec: Spec | None) -> Case | CaseError:
    name = document.get("name", number) if isinstance(document, dict) else number
    try:
        case = Case.model_validate(document)
        if (case.spec is None) == (spec is None):
            raise CaseError("a case of a spec's file has no 'spec'; leave it out" if spec else "has no 'spec'; add it")
        case = case.of_file(spec) if spec else case
        case.check_blocks()
    except ValidationError as error:
        problems = "; ".join(_problem(e["loc"], e["type"], e["msg"]) for e in error.errors(include_url=False))
        return CaseError(f"{file}: case '{name}': {problems}")
    except CaseError as error:
        return CaseError(f"{file}: case '{name}': {error}")
    return case


def _problem(place: tuple[int | str, ...], kind: str, message: str) -> str:
    models: dict[str, type[BaseModel]] = {"batches": Batch, "queries": Query, "again": Again}
    where = " ".join(str(step + 1) if isinstance(step, int) else step for step in place)
    if kind == "extra_forbidden":
        model = next((models[step] for step in reversed(place[:-1]) if step in models and isinstance(step, str)), Case)
        fields = [_field_name(name, field) for name, field in model.model_fields.items()]
        return f"{where}: unknown field{nearest(str(place[-1]), fields)} (the fields: {', '.join(fields)})"
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
