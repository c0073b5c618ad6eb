"""``scdgen validate`` and ``scdgen generate``: report the errors of specs, and write the files."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import click

from scdgen import paths
from scdgen.cli import log, options
from scdgen.cli.config import is_typed
from scdgen.cli.output import code, echo, paint, print_hint, say
from scdgen.compile.compile import render_feeds
from scdgen.compile.queries import check_script
from scdgen.compile.script import render_script
from scdgen.compile.statements import FILES, Script
from scdgen.errors import Problem, SpecError, line_and_status, printable
from scdgen.escape import escape_control
from scdgen.model.load import in_target
from scdgen.model.resolved import SPEC_JSON, from_json, to_json
from scdgen.model.spec import Spec
from scdgen.settings import read_targets
from scdgen.sql.words import remark
from scdgen.stored.migrate import write_lines
from scdgen.stored.state import Stored, compare

# A notebook is in Databricks' source format: a header line, a separator between cells, and Markdown after ``-- MAGIC``.
# A cell shows the result of its last statement only, so each statement has its own cell; session variables are kept
# across cells.
NOTEBOOK = "notebook.sql"
_HEADER = "-- Databricks notebook source"
_SEPARATOR = "-- COMMAND ----------"
_MAGIC = "-- MAGIC"
_SCRIPTS = {"merge.sql": "merge.script.sql", "rejects.sql": "rejects.script.sql"}
# What is written on demand, by --plan or --format: the files of each.
PLAN, CHECKS = "plan", "checks.job.sql"
ADDED = {PLAN: ("plan.sql",), "notebook": (NOTEBOOK,), "script": (*_SCRIPTS.values(),), "checks": (CHECKS,)}
# The files that each of several sources has; the others are about the table, whatever its source.
OF_FEED = ("merge.sql", "plan.sql", "rejects.sql", NOTEBOOK, *_SCRIPTS.values())

# The files in a notebook, in the order in which they run. plan.sql is left out: it computes the MERGE a second time.
_INTRODUCTIONS = {
    "create.sql": "Creates the table if it does not exist.",
    "rejects.sql": "Keeps the rows that break an expectation in the quarantine table.",
    "infer.sql": "Adds the keys that facts name and the table lacks.",
    "merge.sql": "Changes the table. Run the cells in order: they share session variables.",
    "checks.sql": "A row for each check that the table breaks: no rows is good.",
    "views.sql": "Creates or replaces the views.",
    "lookups.sql": "Creates or replaces the views of facts with their versions.",
}


@click.command()
@options.specs_argument
def validate(specs: tuple[str, ...]) -> None:
    """Report all errors of the specs at once. Needs no Spark.

    \b
    Example:  scdgen validate specs
    """
    problems, found = list[Problem](), options.find_specs(specs)
    for spec in _load_right(specs, found, problems):
        try:
            render_feeds(spec)
            say(f"{spec.origin}: ok ({spec.target})")
        except SpecError as error:
            _note(error, problems)
    if problems:
        log.error(line_and_status(SpecError(problems))[0], status=SpecError.exit_status)
        wrong = len({problem.file for problem in problems})
        print_hint(f"{len(problems)} error{'s' * (len(problems) > 1)} in {wrong} of {len(found)} specs")
        raise click.exceptions.Exit(SpecError.exit_status)


def _note(error: SpecError, problems: list[Problem]) -> None:
    log.trace(error)
    problems += error.problems


def _load_right(given: Sequence[str], found: Sequence[Path], problems: list[Problem]) -> list[Spec]:
    """Load the specs that have no mistakes, and add those of the others."""
    try:
        return options.load_specs(given)
    except SpecError as error:
        _note(error, problems)
        wrong = {problem.file for problem in problems}
        right = [path for path in found if str(path) not in wrong]
    try:
        return options.load_specs(right)
    except SpecError:  # one may need another
        return []


@click.command()
@options.specs_argument
@click.option("--out", default="generated", show_default=True, metavar="DIR", help="The output folder.")
@click.option("--format", "kind", type=click.Choice(["sql", "notebook", "script", "checks"]), default="sql",
              show_default=True, help="Also write a Databricks notebook, merge.sql as one statement, or checks that "
              "fail a job.")  # fmt: skip
@click.option("--plan", is_flag=True, help="Also write plan.sql, which shows what merge.sql would do.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff if files differ.")
@click.option("--diff", is_flag=True, help="Like --check; also show what the changes mean for stored rows.")
def generate(specs: tuple[str, ...], out: str, kind: str, plan: bool, check: bool, diff: bool) -> None:
    """Write the SQL of each spec to `DIR/<target>/`. Needs no Spark.

    \b
    Examples:  scdgen generate specs
               scdgen generate --format notebook specs
               scdgen generate --format script specs
               scdgen generate --check specs      in CI
               scdgen generate --diff specs       before running a changed spec
               scdgen generate --target dev --target prod specs      to DIR/dev and DIR/prod
    """
    dry, found = check or diff, options.find_specs(specs)
    loaded = options.load_written(found)
    targets = _choose_targets(Path(out), loaded, dry)
    roots = {name: in_target(loaded, name) for name in targets}
    # A single spec says nothing about the folders of others, nor does an output that has more in it than SQL.
    below = any(path.absolute().is_relative_to(Path(out).absolute()) for path in found)
    is_whole = any(map(os.path.isdir, specs)) and not below
    # Update those that exist with every format: an outdated one would look right.
    asked = {kind, PLAN} if plan else {kind}
    more = [*(["--plan"] if plan else []), *(["--out", out] if out != "generated" else [])]
    changed, foreign, commands = 0, list[Path](), []
    for name, placed in roots.items():
        differ, known = _generate(placed, Path(out), Path(out, name or ""), asked, dry, diff)
        changed += differ
        commands += [[*(["--target", name] if name else []), *specs, *more]] if differ else []
        if dry:
            others = [] if name else [path.name for path in _list_folders(Path(out)) if path.name in roots]
            foreign += _list_foreign(Path(out, name or ""), known, is_whole, others)
    if dry:
        for path in foreign:
            echo(f"{path}: no spec of {shlex.join(specs)} makes it; remove it, or give its spec too")
        _require_none(changed, commands, kind, len(foreign))
    if not changed:
        print_hint("all files are up to date")


def _choose_targets(out: Path, loaded: Sequence[Spec], dry: bool) -> Sequence[str | None]:
    """Return the targets to generate, ``None`` for the names as written; by default, compare all that have a folder."""
    chosen = options.chosen_targets()
    if not dry or is_typed("target"):
        return chosen or (None,)
    folders = [path.name for path in _list_folders(out)]
    written = {spec.folder for spec in loaded}
    targets = [name for name in read_targets()[1] if name in folders] if {*folders} - written else []
    as_written: list[str | None] = [None] if written & {*folders} else []
    return [*as_written, *targets] or chosen or (None,)


def _list_folders(out: Path) -> list[Path]:
    return sorted(path for path in out.iterdir() if path.is_dir()) if out.is_dir() else []


def _generate(
    specs: Sequence[Spec], out: Path, root: Path, asked: Collection[str], dry: bool, diff: bool
) -> tuple[int, dict[str, list[str]]]:
    """Write or compare the files in the folder of a target; return how many differ, and folder -> names it may have."""
    # Headers name the spec relative to the output's parent folder, so that they do not depend on the working one.
    parent = out.absolute().parent
    shown = [spec.placed_at(Path(os.path.relpath(spec.origin, parent)).as_posix()) for spec in specs]
    added = frozenset(
        (spec.folder, format_)
        for spec in shown
        for format_, names in ADDED.items()
        if format_ in asked or any(paths.exists(root / spec.folder / name, out) for name in names)
    )
    changed = 0
    known: dict[str, list[str]] = {}
    for spec in shown:
        files = render_files(spec, added)
        differ, folder = 0, root / spec.folder
        known[spec.folder] = _list_names(spec, folder)
        for name in known[spec.folder]:
            differ += _write_file(folder / name, files.get(name), dry, out)
        if diff and differ:
            _print_meanings(spec, folder)
        changed += differ
    return changed, known


def _list_foreign(
    out: Path, known: Mapping[str, Collection[str]], is_whole: bool, others: Collection[str]
) -> list[Path]:
    """List the files and folders of the output that no spec makes. ``known`` is folder -> the names that it may have.

    Without ``is_whole``, only those inside of the folders of the specs; ``others`` are folders of targets.
    """
    folders = {Path(out, name): names for name, names in known.items()}
    found = _list_others(out, {*known, *others}) if is_whole else []
    return sorted(found + [path for folder, names in folders.items() for path in _list_others(folder, names)])


_KEPT = re.compile(r"\.git\w+|README(\.md)?")


def _list_others(folder: Path, known: Collection[str]) -> list[Path]:
    """List what is in a folder and not ``known``, but for READMEs and files such as .gitkeep."""
    if not paths.exists(folder) or not folder.is_dir():
        return []
    files = (path for path in folder.iterdir() if path.name not in known)
    return [path for path in files if not _KEPT.fullmatch(path.name) or path.is_symlink() or not path.is_file()]


def _require_none(changed: int, given: Sequence[Sequence[str]], kind: str, foreign: int = 0) -> None:
    """Exit with status 1 if files differ or are foreign, and say what to do."""
    if foreign:
        one, several = "file or folder belongs to no spec; remove it", "files or folders belong to no spec; remove them"
        echo(f"{foreign} {several if foreign > 1 else one}", err=True)
    if changed:
        what = "generated files differ" if changed > 1 else "generated file differs"
        more = ["--format", kind] if kind != "sql" else []
        commands = " && ".join(shlex.join(["scdgen", "generate", *words, *more]) for words in given)
        echo(f"{changed} {what}; run: {commands}", err=True)
    if changed or foreign:
        raise click.exceptions.Exit(1)


def _list_names(spec: Spec, folder: Path) -> list[str]:
    """List the files that the spec has or might have, and those of sources that the ``spec.json`` on disk has."""
    stored = _read_stored(folder)
    old = from_json(stored) if '"sources": {' in stored else None
    feeds = [*spec.feeds, *(old.feeds if old is not None else ())]
    names = [*FILES, CHECKS, *OF_FEED, *(feed.file_name(name) for feed in feeds for name in OF_FEED)]
    return [*dict.fromkeys(names), SPEC_JSON]


def _read_stored(folder: Path) -> str:
    """Read the ``spec.json`` in a folder; empty without one."""
    file, root = folder / SPEC_JSON, folder.parent
    return paths.read_bytes(file, root).decode("utf-8", "replace") if paths.exists(file, root) else ""


def render_files(spec: Spec, added: Collection[tuple[str, str]] = frozenset()) -> dict[str, str]:
    """Render the files of a spec: name -> text. ``added`` are (folder, name in ``ADDED``) to write."""
    found: dict[str, str] = {}
    formats = [format_ for format_ in ADDED if (spec.folder, format_) in added]
    for feed, texts in render_feeds(spec):
        files = texts.files()
        # Only these are made of statements; a text that is written as it is need not be cut.
        scripts = texts.cut().files() if {"notebook", "script"} & {*formats} else {}
        if PLAN not in formats:
            files.pop("plan.sql", None)
        if "notebook" in formats:
            files[NOTEBOOK] = render_notebook(feed, scripts)
        if "script" in formats:
            for name, block in _SCRIPTS.items():
                if name in scripts:
                    files[block] = render_script(scripts[name], feed.file_name(name))
        found |= {feed.file_name(name) if name in OF_FEED else name: text for name, text in files.items()}
    if "checks" in formats:
        found[CHECKS] = check_script(spec)
    found[SPEC_JSON] = to_json(spec)
    return found


def render_notebook(spec: Spec, scripts: Mapping[str, Script]) -> str:
    """Render a notebook from the files of a spec (file name -> statements)."""
    title = [f"# {code(spec.target)}", "", *([code(spec.description), ""] if spec.description else [])]
    origin = code(printable(spec.origin)) + (f", feed {code(spec.feed)}" if spec.feed else "")
    title += [f"Generated from {origin}; do not edit: change the spec and run `scdgen generate`."]
    cells = [_format_markdown(title)]
    for name, what in _INTRODUCTIONS.items():
        if name in scripts:
            cells += [
                _format_markdown([f"## {name.removesuffix('.sql')}", "", what]),
                *(statement.written.strip("\n") for statement in scripts[name].statements),
            ]
    return f"{_HEADER}\n" + f"\n\n{_SEPARATOR}\n\n".join(cells) + "\n"


def _format_markdown(lines: Sequence[str]) -> str:
    return "\n".join(f"{_MAGIC} {remark(line)}".rstrip() for line in ("%md", *lines))


def _print_meanings(spec: Spec, place: Path) -> None:
    """Print what the changes between the ``spec.json`` on disk and the spec mean for the stored rows."""
    file, old = place / SPEC_JSON, from_json(_read_stored(place))
    unknown = "what the difference means for stored rows is not known"
    if old is not None:
        what, lines = "the stored table fits the changed spec", compare(Stored.of_spec(old), spec)
    elif file.is_file():
        what, lines = f"{file} is not as scdgen writes it; {unknown}", []
    elif place.is_dir():
        what, lines = f"no {file} to compare with; {unknown}", []
    else:
        what, lines = "nothing was generated before, so that there is nothing to compare with", []
    for line in write_lines(spec, lines) or [f"{spec.target}: {what}"]:
        echo(line)


def _write_file(path: Path, text: str | None, check: bool, out: Path) -> int:
    """Write a file below ``out`` (``None``: remove it), or with ``check`` show the diff; return 1 if it differs."""
    # Compare bytes, because text would hide other line ends.
    before = paths.read_bytes(path, out) if paths.exists(path, out) else None
    after = None if text is None else text.encode()
    if before == after:
        return 0
    if check:
        old, new = _split_lines(before or b""), _split_lines(after or b"")
        lines = [*difflib.unified_diff(old, new, f"{path} (on disk)", f"{path} (of the spec)", lineterm="")]
        # If only line ends differ, say so instead of showing every line.
        if before is not None and after is not None and before.replace(b"\r\n", b"\n") == after:
            what = "CR LF on disk, LF of the spec; for git, write eol=lf in .gitattributes"
            lines = [f"{path}: the line ends differ: {what}"]
        for line in map(escape_control, lines or [f"{path}: the bytes differ, though not the lines"]):
            click.echo(paint(line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])))
    elif text is None:
        paths.remove(path, out)
        say(f"removed {path}")
    else:
        paths.write_text(path, text, out)
        say(f"wrote {path}")
    return 1


def _split_lines(text: bytes) -> list[str]:
    r"""Split at LF alone, and show bytes that are no UTF-8 as such.

    >>> _split_lines(b"a\xff\r\n\n"), _split_lines(b"")
    (['a\\xff\r', ''], [])
    """
    return text.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n") if text else []
