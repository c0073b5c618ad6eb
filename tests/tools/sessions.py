"""Runs the pages: their files, commands, SQL and Python, in order, in an empty folder.

``python -m tests.tools.sessions [PAGE...]`` writes what the commands print into the pages; with ``--check`` it writes
nothing, prints the differences and exits with status 1 if there are any.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from scdgen.cli.main import main
from scdgen.compile.statements import cut
from tests.conftest import ROOT, SETTINGS
from tests.support.pages import PAGES, Command, blocks, commands, name_of

_SECONDS = re.compile(r"in \d+\.\d s$", re.MULTILINE)


def masked(text: str) -> str:
    """The output of a command, without its duration."""
    return _SECONDS.sub("in … s", text)


class Session:
    """One page's folder, and the Spark session that its commands use instead of starting one."""

    def __init__(self, spark: Any, folder: Path):
        self.spark, self.folder = spark, folder
        self.names: dict[str, Any] = {"spark": spark}

    def replayed(self, page: str) -> str:
        """The page with the current output of its commands."""
        out, last = [], 0
        for block in blocks(page):
            if block.kind in {"write", "file"}:
                path = self.folder / block.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            elif block.kind == "copy":
                shutil.copytree(ROOT / block.path, self.folder / block.path)
            elif block.kind == "run":
                self.run((self.folder / block.path).read_text(), Path(block.path).suffix[1:])
            elif block.kind in {"sql", "python"}:
                self.run(block.text, block.kind)
            elif block.kind == "console":
                given = commands(block.text)
                said = "".join(f"$ {command.line}\n{self.output(command)}" for command in given)
                out += [page[last : block.start], said]
                last = block.end
        return "".join([*out, page[last:]])

    def run(self, text: str, language: str) -> None:
        """Run SQL statements or Python; their output is not in the page."""
        if language == "sql":
            for statement in cut(text).texts:
                self.spark.sql(statement).collect()
        else:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(text, "page", "exec"), self.names)

    def output(self, command: Command) -> str:
        """The output of a command, with the blank lines that follow it on the page."""
        blank = "\n" if command.output.endswith("\n\n") or command.output == "\n" else ""
        said = self._said(shlex.split(command.line))
        old = command.output[: len(command.output) - len(blank)]
        return (old if masked(old) == masked(said) else said) + blank

    def _said(self, words: list[str]) -> str:
        if words[0] == "cat":
            return "".join((self.folder / name).read_text() for name in words[1:])
        if words[0] == "rm":
            for name in words[1:]:
                (self.folder / name).unlink()
            return ""
        assert words[0] == "scdgen", words
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            main(words[1:])
        return said.getvalue()


@contextlib.contextmanager
def session_on(spark: Any, folder: Path) -> Iterator[Session]:
    """A session in a folder; its tables are dropped afterwards."""
    before, home = _schemas(spark), Path.cwd()
    os.chdir(folder)
    with (
        mock.patch("scdgen.engine.session.local_session", lambda *_: spark),
        mock.patch.object(spark, "stop", lambda: None),
    ):
        try:
            yield Session(spark, folder)
        finally:
            os.chdir(home)
            for schema in _schemas(spark) - before:
                spark.sql(f"DROP SCHEMA `{schema}` CASCADE")


def _schemas(spark: Any) -> set[str]:
    return {row[0] for row in spark.sql("SHOW SCHEMAS").collect()}


def differences(spark: Any, page: Path, write: bool) -> str:
    """The diff of a page against the current output; with ``write`` the page is updated."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder, session_on(spark, Path(folder)) as session:
        replayed = session.replayed(text)
    if write:
        page.write_text(replayed)
    old, new = (masked(side).splitlines(keepends=True) for side in (text, replayed))
    return "".join(difflib.unified_diff(old, new, name_of(page), "what happens"))


def run(arguments: list[str]) -> int:
    from scdgen.engine.session import local_session

    write = "--check" not in arguments
    wanted = {argument for argument in arguments if argument != "--check"}
    found = 0
    with tempfile.TemporaryDirectory() as warehouse:
        spark = local_session(warehouse, SETTINGS)
        for page in PAGES:
            if name_of(page) in wanted or not wanted:
                changes = differences(spark, page, write)
                found += bool(changes)
                print(changes or f"{name_of(page)}: as it is", flush=True)
        spark.stop()
    return int(found > 0 and not write)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
