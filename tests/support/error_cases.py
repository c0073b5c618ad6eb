"""Reads the case files of tests/cases/errors, and runs a case in this process. The README there describes the files.
No Spark here."""

from __future__ import annotations

import contextlib
import importlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from ruamel.yaml import YAML

from scdgen.cli.main import main
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "cases" / "errors"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Model):
    """A file of a case: a text in an encoding, also many ``times`` with what is around it, bytes in hex, or a link."""

    text: str = ""
    before: str = ""
    times: int = 1
    after: str = ""
    encoding: str = "utf-8"
    hex: str | None = None
    link: str | None = None
    mode: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value

    def write(self, path: Path) -> None:
        """Write it; ``HERE`` in the text is the working folder."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _placed(self.before + self.text * self.times + self.after)
        if self.link is not None:
            path.symlink_to(self.link)
            return
        path.write_bytes(bytes.fromhex(self.hex) if self.hex is not None else text.encode(self.encoding))
        if self.mode is not None:
            path.chmod(self.mode)


def _placed(text: str) -> str:
    return re.sub(r"\bHERE\b", str(Path.cwd()), text)


class Raised(_Model):
    """An exception of any library."""

    raises: str
    args: tuple[Any, ...] = ()

    def error(self) -> BaseException:
        """The exception object."""
        module, _, name = self.raises.rpartition(".")
        error: BaseException = getattr(importlib.import_module(module or "builtins"), name)(*self.args)
        return error


class Fault(Raised):
    """A simulated failure: a function that raises once its arguments match ``when``."""

    at: str
    when: str = ""
    prints: str = ""

    def apply(self, patch: pytest.MonkeyPatch) -> None:
        """Replace the real function by the failing one."""
        holder, _, function = self.at.rpartition(".")
        original = getattr(_resolved(holder), function)

        def fails(*args: Any, **options: Any) -> Any:
            if not re.search(self.when, repr(args)):
                return original(*args, **options)
            if self.prints:
                import os

                os.write(2, self.prints.encode())
            raise self.error()

        patch.setattr(self.at, fails)


class BrokenSession:
    """A session without Spark, which answers every call with one error."""

    version = "4.0.0"

    def __init__(self, raised: Raised):
        self._raised = raised
        self.conf = SimpleNamespace(get=lambda *_: "true", set=lambda *_: None, unset=lambda *_: None)

    def __getattr__(self, name: str) -> Any:
        raise self._raised.error()


def _resolved(dotted: str) -> Any:
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found = importlib.import_module(".".join(parts[:end]))
            for part in parts[end:]:
                found = getattr(found, part)
            return found
    raise LookupError(dotted)


class Case(_Model):
    """A command that ends in an error: its files, its exit status and the exact lines on stderr."""

    name: str
    spec: str | None = None
    swap: dict[str, str | None] = Field(default_factory=dict)
    more: str = ""
    files: dict[str, File | None] = Field(default_factory=dict)
    given: tuple[str, ...] = ()
    command: str = "validate spec.yml"
    status: int = 1
    errors: tuple[str, ...]
    cause: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    without: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    engine: Raised | None = None
    meanwhile: str = ""
    changed: list[str] = Field(default_factory=list)

    def run(self, capture: Callable[[], Any]) -> tuple[int, str, list[str]]:
        """The result of :func:`called` for its command."""
        return called(_placed(self.command), capture)

    def write(self, base: Mapping[str, File | None]) -> None:
        """Write the shared files of the case file, then the files of the case."""
        spec = {"spec.yml": File(text=self.spec)} if self.spec is not None else {}
        for name, file in {**base, **spec, **self.files}.items():
            if file is None:
                Path(name).mkdir(parents=True, exist_ok=True)
            else:
                file.write(Path(name))

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """Set the environment, hide missing modules and install failing functions."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.env.items():
                patch.setenv(name, _placed(value))
            # pyspark takes a process whose main module has no file, such as those of pytest-xdist, for one of its own.
            patch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
            for module in self.without:
                patch.setitem(sys.modules, module, None)
            for fault in self.faults:
                fault.apply(patch)
            if self.engine is not None:
                session = BrokenSession(self.engine)
                patch.setattr("scdgen.engine.session.local_session", lambda *_: session)
            yield


class Group(_Model):
    """A case file: the cases of one kind, and the parts they share."""

    title: str
    about: str = ""
    files: dict[str, File | None] = Field(default_factory=dict)
    given: tuple[str, ...] = ()
    schema_name: str = Field(default="", alias="schema")
    spec: str = ""
    cases: tuple[Case, ...]

    @field_validator("cases")
    @classmethod
    def _whole_specs(cls, cases: tuple[Case, ...], group: ValidationInfo) -> tuple[Case, ...]:
        """Give a case that changes lines of the group's spec the whole text."""
        base = group.data.get("spec", "")
        changed = {case.name: {"spec": swapped(base, case)} for case in cases if case.swap or case.more}
        return tuple(case.model_copy(update=changed.get(case.name)) for case in cases)


def swapped(base: str, case: Case) -> str:
    """The spec of a group with the lines that the case has instead, or more."""
    lines = base.splitlines()
    assert {line.strip() for line in lines} >= case.swap.keys(), case.name
    kept = [(line, case.swap.get(line.strip(), line.strip())) for line in lines]
    return "".join(indent(f"{new}\n", line[: -len(line.lstrip())]) for line, new in kept if new is not None) + case.more


@dataclass(frozen=True)
class Found:
    """A case of a case file."""

    file: Path
    group: Group
    case: Case

    @property
    def id(self) -> str:
        return f"{self.file.stem}: {self.case.name}"


def read(file: Path) -> Group:
    """One case file."""
    return Group.model_validate(YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8")))


def groups(spark: bool | None = None) -> dict[Path, Group]:
    """The case files in order of name: all, or those with or without Spark, which are in different folders."""
    files = sorted(FOLDER.glob("*.yml")) if spark is not True else []
    files += sorted((FOLDER / "spark").glob("*.yml")) if spark is not False else []
    return {file: read(file) for file in files}


def cases(spark: bool) -> list[Found]:
    """Every case that needs Spark, or every case that does not."""
    return [Found(file, group, case) for file, group in groups(spark).items() for case in group.cases]


def called(command: str, capture: Callable[[], Any]) -> tuple[int, str, list[str]]:
    """(exit status, stdout, lines on stderr) of a command in this process; the working folder is shown as ``HERE``."""
    capture()
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(command))
    out, err = capture()
    return int(stopped.value.code or 0), out, [line.replace(str(Path.cwd()), "HERE") for line in err.splitlines()]


def expected(case: Case) -> tuple[int, Sequence[str]]:
    return case.status, list(case.errors)
