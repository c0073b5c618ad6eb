"""The command that tells what a spec's MERGE does."""

from __future__ import annotations

import click

from scdgen.cli.options import specs_argument, templates_option
from scdgen.errors import UsageError


@click.command()
@specs_argument
@templates_option
@click.option("--format", "kind", type=click.Choice(["text", "markdown", "mermaid"]), default="text", show_default=True,
              help="mermaid: the column lineage alone, as a flowchart.")  # fmt: skip
def explain(specs: tuple[str, ...], templates: str | None, kind: str, debug: bool) -> None:
    """Tell in words what the MERGE of a spec does, for a review: what each option means, and where in the SQL.

    Needs no Spark and no Java.

    \b
    Examples:  scdgen explain specs/customer.yml
               scdgen explain specs --format markdown > review.md
               scdgen explain specs/customer.yml --format mermaid      which column is made of which
    """
    from scdgen.cli import explain_output
    from scdgen.cli import lineage as lineage_output
    from scdgen.cli.explain import explain as sections_of
    from scdgen.cli.inputs import load_specs
    from scdgen.patterns.lineage import lineage
    from scdgen.spec.load import Lines

    loaded = load_specs(specs)
    if kind == "mermaid" and len(loaded) > 1:
        raise UsageError(f"--format mermaid: draws one spec, and {len(loaded)} are given; give one, or use markdown")
    for number, spec in enumerate(loaded):
        if kind == "mermaid":
            click.echo(lineage_output.as_mermaid(lineage(spec)))
            continue
        lines = Lines.of_file(spec.origin)
        output = explain_output.as_markdown if kind == "markdown" else explain_output.as_text
        click.echo(("\n" if number else "") + output(spec, sections_of(spec, lines.of, templates), lineage(spec)))


COMMANDS = (explain,)
