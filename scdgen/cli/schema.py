"""``scdgen schema``: the JSON Schema of a spec."""

from __future__ import annotations

import click

from scdgen.cli import options


@click.command()
@click.option("--defaults", is_flag=True, help="That of defaults.yml.")
@options.common_options
def schema(defaults: bool) -> None:
    """Print the JSON Schema of a spec, for editors.

    \b
    Example:  scdgen schema > scdgen.schema.json
              then, as the first line of a spec:
              # yaml-language-server: $schema=scdgen.schema.json
    """
    from scdgen.model.reference import render_schema

    click.echo(render_schema(defaults), nl=False)
