"""Render templates to SQL or HTML."""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from scdgen.facts.base import Facts
from scdgen.facts.columns import aliased, equal, named, struct
from scdgen.model.registry import options_of, pattern_names
from scdgen.paths import cache_folder, make_private
from scdgen.sql.expression import quote, text_literal
from scdgen.sql.layout import lay_out
from scdgen.sql.words import all_true, any_true, assigned, bare, commented, remark
from scdgen.version import __version__


def render_facts(facts: Facts) -> str:
    """Render facts with their template, with one newline at the end."""
    text = environment().get_template(facts.template).render(ctx=facts)
    return lay_out(text) if facts.is_sql else text.rstrip() + "\n"


def render_query(facts: Facts) -> str:
    """Render a single statement, without its semicolon."""
    return render_facts(facts).strip().removesuffix(";")


_NAMED = (aliased, all_true, any_true, assigned, bare, commented, equal, named, remark, struct)
FILTERS = {**{function.__name__: function for function in _NAMED}, "literal": text_literal, "quoted": quote}


def _loader() -> jinja2.BaseLoader:
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
        return cls(str(folder), f"{__version__}-jinja-{version('jinja2')}-{sys.implementation.cache_tag}-%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, unless its file is damaged."""
        with suppress(Exception):  # pickle and marshal fail in many ways
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, if there is room."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@functools.cache
def environment() -> jinja2.Environment:
    """Return the Jinja environment, with the filters of the templates."""
    environment = jinja2.Environment(
        loader=_loader(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        extensions=["jinja2.ext.do"],
        optimized=False,  # what a filter makes of a constant is not a part of a compiled template
        bytecode_cache=_Compiled.of_user(),
    )
    environment.filters |= FILTERS
    return environment


def read_file(name: str) -> str:
    """Return the text of a file of the package's templates that is not a template."""
    return _loader().get_source(environment(), name)[0]
