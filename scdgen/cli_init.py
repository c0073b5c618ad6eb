"""The commands that begin a spec: its schema for editors, and a first draft of it."""

from __future__ import annotations

import click


@click.command()
@click.option("--debug", is_flag=True, help="Show Python's own errors in full.")
def schema(debug: bool) -> None:
    """Print the JSON Schema of a spec, for editors. Needs no Spark and no Java.

    \b
    Example:  scdgen schema > scdgen.schema.json
              then, as the first line of a spec:
              # yaml-language-server: $schema=scdgen.schema.json
    """
    from scdgen.schema import schema_text

    click.echo(schema_text(), nl=False)


COMMANDS = (schema,)
