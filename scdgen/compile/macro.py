"""The statements of a spec as macros of dbt, for the materialization in ``integrations/dbt``.

The statements are those of create.sql and merge.script.sql. dbt fills in the table and the source when it runs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from scdgen.compile.compile import render_statements
from scdgen.compile.render import Compiler
from scdgen.compile.script import render_script
from scdgen.facts.base import Facts
from scdgen.model.pattern import definition
from scdgen.model.spec import Spec

# Names in the SQL of a model's spec, instead of those of its table and of the view of its SELECT.
THIS, ROWS = "_scd_this", "_scd_rows"


@dataclass(frozen=True)
class Model:
    """A model of dbt."""

    name: str
    """Its name in the names of its macros."""
    spec: Spec
    """Its spec; the target is :data:`THIS`, and the table of its source is :data:`ROWS`."""
    digest: str
    """The MD5 of its options as JSON with sorted keys."""


@dataclass(frozen=True)
class Macro(Facts, template="macro.sql.j2", is_sql=False):
    """The file of a model. Its SQL is text that Jinja reads."""

    name: str
    """The name of the model in the names of its macros."""
    origin: str
    """The file with the options that it is generated from."""
    facts: str
    """A literal of Jinja: the digest of the options, and the properties of the table that rows depend on."""
    create: tuple[str, ...]
    """The statements of create.sql, without semicolons."""
    merge: str
    """The statements of merge.sql as one script."""


def render_macro(model: Model, compiler: Compiler) -> str:
    """Render the macros of a model. Raises :class:`SpecError` if the gate refuses its SQL."""
    files = render_statements(model.spec, compiler)
    macro = Macro(
        name=model.name,
        origin=model.spec.origin,
        facts=json.dumps({"options": model.digest, "properties": definition(model.spec)}),
        create=tuple(map(_as_jinja, files.create.texts)),
        merge=_as_jinja(render_script(files.merge, compiler, file=None).strip()),
    )
    return compiler.render(macro)


def _as_jinja(text: str) -> str:
    """Return a text with the names that dbt fills in; the gate has refused one in which Jinja would find more.

    >>> _as_jinja("MERGE INTO _scd_this USING (SELECT id FROM _scd_rows)")
    'MERGE INTO {{ this }} USING (SELECT id FROM {{ rows }})'
    """
    # The head of the file says where it comes from, and how to change it.
    text = re.sub(r"^-- Generated from .*\n", "", text, count=1, flags=re.MULTILINE)
    return text.replace(THIS, "{{ this }}").replace(ROWS, "{{ rows }}")
