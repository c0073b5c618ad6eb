"""The cases of tests/cases/dbt (see the README there), their drafts and their table: python -m tests.support.dbt_cases.

The command writes the draft of each case and the table of the README. No Spark and no dbt here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from scdgen.cases.block import Block, CaseError, parse_block
from scdgen.cases.format import Model, Text, merge_options

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "cases" / "dbt"
DOC = FOLDER / "README.md"
CLOCK = "taken_at"


class Load(Model):
    """The rows of the source at a time, and the tables after a run at that time."""

    at: dt.datetime
    rows: str
    dbt: str | None = None
    dbt_stops: str | None = Field(None, alias="dbt stops")
    scdgen: str | None = None
    scdgen_stops: str | None = Field(None, alias="scdgen stops")
    because: str | None = None

    @model_validator(mode="after")
    def _said(self) -> Load:
        if (self.dbt is None) == (self.dbt_stops is None):
            raise ValueError("takes either 'dbt', its table, or 'dbt stops', a part of its message")
        if self.dbt_stops and not (self.scdgen or self.scdgen_stops):
            raise ValueError("says what scdgen does where dbt stops: 'scdgen' or 'scdgen stops'")
        if self.scdgen and self.scdgen_stops:
            raise ValueError("'scdgen stops' says that the table stays as it was; leave out 'scdgen'")
        return self

    @property
    def differs(self) -> bool:
        """Whether scdgen's table differs from dbt's, or only one of them has a table."""
        return bool(self.scdgen or self.scdgen_stops)


class DbtCase(Model):
    """A snapshot of dbt, its draft, and a sequence of inputs."""

    name: str
    why: Text
    adapter: Literal["spark", "duckdb"] = "spark"
    source: Annotated[str, Field(pattern=r"^\w+\.\w+$")]
    schema_: Text = Field(alias="source schema")
    yaml: Text | None = None
    sql: Text | None = None
    draft: str = ""
    edit: dict[str, Any] = Field(default_factory=dict)
    loads: Annotated[list[Load], Field(min_length=2)]

    @model_validator(mode="after")
    def _whole(self) -> DbtCase:
        if not (self.yaml or self.sql):
            raise ValueError("has no snapshot: give 'yaml', 'sql' or both")
        said = False
        for number, load in enumerate(self.loads, 1):
            said = said or load.because is not None
            if load.differs and not said:
                raise ValueError(f"load {number} differs, and nothing says because of what")
            if load.because and not load.differs:
                raise ValueError(f"load {number} does not differ; 'because' has no place")
        return self

    @property
    def forms(self) -> dict[str, str]:
        """File extension in dbt -> the snapshot in that form."""
        return {ending: text for ending, text in (("yml", self.yaml), ("sql", self.sql)) if text}

    @property
    def types(self) -> dict[str, str]:
        """``name -> type`` of the source's columns."""
        listed = [part.split(None, 1) for part in re.split(r",\s*(?![^()]*\))", self.schema_)]
        return {name: kind for name, kind in listed}

    @property
    def manifest(self) -> Path:
        """The manifest that dbt wrote for all forms of the snapshot."""
        return FOLDER / f"{self.name}.json"

    def drafted(self, ending: str) -> str:
        """The draft of ``scdgen init`` for one form of the snapshot; all forms get the target of the first."""
        from scdgen.cli.main import main

        nodes = json.loads(self.manifest.read_text(encoding="utf-8"))["nodes"].values()
        name = next(node["name"] for node in nodes if node["original_file_path"].endswith(ending))
        columns = ",".join(f"{name}:{kind}" for name, kind in self.types.items())
        first = ending == next(iter(self.forms))
        target = [] if first else ["--target", YAML(typ="safe", pure=True).load(self.draft)["target"]]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
            main(["init", "--dbt", str(self.manifest), "--name", name, "--columns", columns, *target])
        return out.getvalue()

    def spec_text(self) -> str:
        """The draft with the case's edits, and with the time of a snapshot as a param instead of the clock."""
        spec = merge_options(YAML(typ="safe", pure=True).load(self.draft), self.edit)
        if spec["source"]["feed"] == "snapshot":
            spec = merge_options(spec, {"params": {CLOCK: "timestamp"}, "snapshot": {"taken_at": f":{CLOCK}"}})
        return json.dumps(spec, default=str)

    def source_select(self, load: Load) -> str:
        """A SELECT of the rows of a load, cast to the types of the source."""
        block = self.source_block(load)
        names = ", ".join(["none", *block.columns])
        rows = [[0, *map(_literal, row)] for row in block.rows] or [[1, *("NULL" for _ in block.columns)]]
        values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in self.types.items())
        return f"SELECT {columns} FROM (VALUES {values}) AS v ({names}) WHERE none = 0"

    def source_block(self, load: Load) -> Block:
        """The rows of a load; raises :class:`CaseError` if they do not match the source."""
        block = parse_block(load.rows)
        if set(block.columns) != set(self.types):
            raise CaseError(f"{self.name}: {load.at}: rows have {block.columns}, the source {tuple(self.types)}")
        block.typed(self.types)
        return block


def _literal(cell: str | None) -> str:
    return "NULL" if cell is None else "'" + cell.replace("'", "''") + "'"


def manifest_text(config: dict[str, Any], name: str = "s", **node: Any) -> str:
    """A dbt manifest with one snapshot of the source ``y.z``; ``node`` sets more keys of the snapshot."""
    snapshot = {
        "name": name, "schema": "x", "alias": name, "config": config, "depends_on": {"nodes": ["source.p.y.z"]},
        "raw_code": "select * from {{ source('y', 'z') }}", **node,
    }  # fmt: skip
    source = {"name": "z", "schema": "y", "identifier": "z"}
    return json.dumps({"nodes": {f"snapshot.p.{name}": snapshot}, "sources": {"source.p.y.z": source}})


def cases() -> Iterator[DbtCase]:
    """Every case, one per file; raises :class:`CaseError`."""
    for path in sorted(FOLDER.glob("*.yml")):
        document = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
        try:
            case = DbtCase.model_validate({"name": path.stem, **document})
        except ValidationError as error:
            found = [f"{' '.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)]
            raise CaseError(f"{path.name}: {'; '.join(found)}") from error
        for load in case.loads:
            case.source_block(load)
        yield case


def write(name: str, place: tuple[str | int, ...], text: str) -> None:
    """Replace one text in the file of a case and keep the rest of the file unchanged."""
    path = FOLDER / f"{name}.yml"
    yaml = YAML()
    yaml.width = 4096
    yaml.preserve_quotes = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(path.read_text(encoding="utf-8"))
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = LiteralScalarString(text.rstrip("\n") + "\n")
    with path.open("w", encoding="utf-8") as out:
        yaml.dump(document, out)


def table() -> str:
    """The cases as a Markdown table: what each shows, and where scdgen's table differs."""
    lines = ["| example | what it shows | scdgen's table |", "|---|---|---|"]
    for case in cases():
        of = " (dbt-duckdb)" if case.adapter == "duckdb" else ""
        reasons = [f"load {number}: {' '.join(load.because.split())}" for number, load in _reasons(case)]
        verdict = f"differs. {'. '.join(reasons)}" if reasons else "the same"
        lines.append(f"| [{case.name}]({case.name}.yml){of} | {case.why.strip()} | {verdict} |")
    return "\n".join(lines)


def _reasons(case: DbtCase) -> Iterator[tuple[int, Any]]:
    return ((number, load) for number, load in enumerate(case.loads, 1) if load.because)


def filled(text: str) -> str:
    """The page with the current table."""
    return re.sub(r"(<!-- cases -->\n).*?(<!-- end -->)", lambda m: f"{m[1]}{table()}\n{m[2]}", text, flags=re.DOTALL)


if __name__ == "__main__":
    for each in cases():
        write(each.name, ("draft",), each.drafted(next(iter(each.forms))))
    DOC.write_text(filled(DOC.read_text(encoding="utf-8")), encoding="utf-8")
