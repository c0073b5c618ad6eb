"""From a context to text, SQL or a page of HTML. A folder of the user's templates comes before the package's own."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    TemplateError,
    select_autoescape,
)
from jinja2.sandbox import SandboxedEnvironment

from scdgen.errors import UsageError
from scdgen.layout import joined, spread


@functools.lru_cache(maxsize=8)
def environment(templates: str | None = None) -> SandboxedEnvironment:
    """The Jinja environment; ``templates`` is a folder whose files come before the package's own."""
    try:
        own: BaseLoader = PackageLoader("scdgen", "templates")
    except ValueError:  # a checkout: the folder lies beside the package
        own = FileSystemLoader(Path(__file__).parent.parent / "templates")
    environment = SandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(templates), own]) if templates else own,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default=False),
    )
    environment.filters |= {"spread": spread, "joined": joined}
    return environment


def render_template(name: str, ctx: SimpleNamespace, templates: str | None = None) -> str:
    """One file's text, with one newline at its end. Raises :class:`UsageError` for a broken template."""
    try:
        text = environment(templates).get_template(name).render(ctx=ctx)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f"{getattr(error, 'name', None) or name}:{line}" if line else name
        raise UsageError(f"template {place}: {error.message}; mend the template or leave out --templates") from error
    return text.rstrip() + "\n"
