"""Render templates to SQL or HTML. Templates in a user's folder replace those of the package."""

from __future__ import annotations

import functools
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.loaders import split_template_path
from jinja2.sandbox import SandboxedEnvironment

from scdgen.errors import NOT_UTF8, ScdgenError, UsageError, cause_of_system, nearest, of_system
from scdgen.facts.base import Facts
from scdgen.facts.columns import aliased, equal, named, struct
from scdgen.model.registry import options_of, pattern_names
from scdgen.paths import cache_folder, exists, make_private, read_bytes
from scdgen.sql.expression import quote, text_literal
from scdgen.sql.layout import lay_out
from scdgen.sql.words import all_true, any_true, assigned, bare, commented, remark
from scdgen.version import __version__


@dataclass(frozen=True)
class Compiler:
    """Renders facts with their templates, each from a user's folder if that has it, or else from this package."""

    templates: str | None = None
    """The user's folder, if there is one."""

    @property
    def is_custom(self) -> bool:
        """Whether a template may be one of the user's."""
        return self.templates is not None

    def render(self, facts: Facts) -> str:
        """Render facts with one newline at the end. Raises :class:`UsageError` for a broken template of the user."""
        try:
            text = environment(self.templates).get_template(facts.template).render(ctx=facts)
        except ScdgenError:
            raise
        except Exception as error:  # an expression in a template may fail in any way
            if not self.is_custom:
                raise
            place = _place(facts.template, error)
            raise UsageError(f"{place}: {_what(error, facts)}; fix the template or leave out --templates") from error
        return lay_out(text) if facts.is_sql else text.rstrip() + "\n"

    def render_query(self, facts: Facts) -> str:
        """Render a single statement, without its semicolon."""
        return self.render(facts).strip().removesuffix(";")


def environment(own: str | None = None) -> SandboxedEnvironment:
    """Return the Jinja environment; ``own`` is a user's folder, whose files replace those of the package.

    Raises :class:`UsageError` if none of them replaces one of the package.
    """
    if own is None:
        return _environment(None, ())
    folder = Path(own).absolute()
    # The files and their times are part of the key of the cache, so that a change is seen.
    try:
        files = [file for file in folder.rglob("*.j2") if file.is_file()]
        found = tuple(sorted((file.relative_to(folder).as_posix(), file.stat().st_mtime_ns) for file in files))
    except OSError as error:
        raise UsageError(of_system(error, own)) from error
    # A folder that replaces nothing is most likely the wrong one.
    known = sorted(name for name in _own().list_templates() if name.endswith(".j2"))
    if not any(name in known for name, _ in found):
        hint = next(
            filter(None, (nearest(name, known) for name, _ in found)), "; name it as one, such as create.sql.j2"
        )
        raise UsageError(f"no file has the name of one of scdgen's templates{hint}", option="--templates", value=own)
    return _environment(str(folder), found)


class _OwnFolder(jinja2.FileSystemLoader):
    """A user's folder of templates, in which no link is followed."""

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        """Return the text of a template as Jinja asks for it. Raises :class:`SpecError` for a link."""
        root = Path(self.searchpath[0])
        place = root.joinpath(*split_template_path(template))
        if not exists(place, root):
            raise jinja2.TemplateNotFound(template)
        return read_bytes(place, root=root).decode("utf-8"), str(place), lambda: True


_NAMED = (aliased, all_true, any_true, assigned, bare, commented, equal, named, remark, struct)
FILTERS = {**{function.__name__: function for function in _NAMED}, "literal": text_literal, "quoted": quote}


def _own() -> jinja2.BaseLoader:
    try:
        own: jinja2.BaseLoader = jinja2.PackageLoader("scdgen", "templates")
    except ValueError:  # a checkout has the folder next to the package
        own = jinja2.FileSystemLoader(Path(__file__).parents[2] / "templates")
    folders = [options_of(name).templates for name in pattern_names()]
    return jinja2.ChoiceLoader([own, *(jinja2.FileSystemLoader(folder) for folder in folders if folder is not None)])


class _Compiled(FileSystemBytecodeCache):
    """The compiled templates of the package, in a folder that only this user can write."""

    @classmethod
    def of_user(cls) -> _Compiled | None:
        """Return those in the user's cache; ``None`` where nothing can be kept or another user could write."""
        folder = cache_folder() / "templates"
        if not (make_private(folder.parent) and make_private(folder)):
            return None
        return cls(str(folder), f"{__version__}-{version('jinja2')}-{sys.implementation.cache_tag}-%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, unless its file is damaged."""
        with suppress(Exception):  # pickle and marshal fail in many ways
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, if there is room."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@functools.lru_cache(maxsize=8)
def _environment(own: str | None, _files: tuple[tuple[str, int], ...]) -> SandboxedEnvironment:
    """Cache one environment per folder and state of its files, because Jinja does not notice new files."""
    environment = SandboxedEnvironment(
        loader=jinja2.ChoiceLoader([_OwnFolder(own), _own()]) if own else _own(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        extensions=["jinja2.ext.do"],
        optimized=False,  # what a filter makes of a constant is not a part of a compiled template
        bytecode_cache=None if own else _Compiled.of_user(),
    )
    environment.filters |= FILTERS
    return environment


def read_file(name: str) -> str:
    """Return the text of a file of the package's templates that is not a template."""
    return _own().get_source(environment(), name)[0]


def _place(name: str, error: Exception) -> str:
    """Return ``file:line`` of the template's line that failed, which Jinja puts into the traceback."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"{_shown(error.filename or error.name or name)}:{error.lineno}"
    if isinstance(error, OSError) and error.filename:
        return _shown(error.filename)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(".j2")]
    return f"{_shown(frames[-1].filename)}:{frames[-1].lineno}" if frames else name


def _shown(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _what(error: Exception, facts: Facts) -> str:
    if isinstance(error, jinja2.TemplateNotFound):
        return f"no template '{error.name}'"
    if isinstance(error, UnicodeDecodeError):
        return NOT_UTF8
    if isinstance(error, RecursionError):
        return "a macro calls itself without end"
    if isinstance(error, OSError) and error.errno is not None:
        return f"it: {cause_of_system(error)}"
    said = str(error.message if isinstance(error, jinja2.TemplateError) else error).rstrip(".")
    if missing := re.search(r"object' has no attribute '(\w+)'", said):
        return f"no attribute '{missing[1]}'{nearest(missing[1], vars(facts))}"
    if unclosed := re.search(r"looking for the following tags: (.*?)\. The innermost block .* is '(\w+)'", said):
        return f"'{unclosed[2]}' is never closed with {unclosed[1]}"
    line = (said.splitlines() or [type(error).__name__])[0]
    return line[:1].lower() + line[1:]
