"""``scdgen schema``: the JSON Schema of a spec."""

from __future__ import annotations

import click

from scdgen.cli import options


@click.command()
@options.common_options
def schema() -> None:
    """Print the JSON Schema of a spec, for editors.

    \b
    Example:  scdgen schema > scdgen.schema.json
              then, as the first line of a spec:
              # yaml-language-server: $schema=scdgen.schema.json
    """
    from scdgen.model.reference import render_schema

    click.echo(render_schema(), nl=False)
