"""What ``scdgen explain`` prints: the sections and the lineage of a spec as text or as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from scdgen.cli import lineage as lineage_output
from scdgen.cli.explain import Section, Sentence
from scdgen.patterns.lineage import Lineage
from scdgen.spec.model import Spec

_WIDTH = 110


def _about(spec: Spec) -> str:
    return (
        f"Numbers are lines: of {spec.origin} (spec), and of the files that `scdgen generate` writes for it to "
        f"{spec.folder}/. An option that the spec does not set has its default."
    )


def as_text(spec: Spec, sections: Sequence[Section], lineage: Lineage) -> str:
    """The sections, each sentence with its lines below it, and the lineage."""
    lines = [f"{spec.target}: what its MERGE does", "", *textwrap.wrap(_about(spec), _WIDTH)]
    for section in sections:
        lines += ["", section.title.upper(), ""]
        for sentence in section.sentences:
            lines += textwrap.wrap(
                sentence.words, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
            if where := references(sentence):
                lines.append(f"  [{where}]")
    return "\n".join([*lines, "", "COLUMN LINEAGE", "", lineage_output.as_text(lineage)])


def as_markdown(spec: Spec, sections: Sequence[Section], lineage: Lineage) -> str:
    """The same as Markdown, with the lineage as a Mermaid flowchart."""
    lines = [f"# {spec.target}: what its MERGE does", "", _about(spec)]
    for section in sections:
        lines += ["", f"## {section.title}", ""]
        for sentence in section.sentences:
            where = references(sentence)
            lines.append(f"- {sentence.words}{f' *[{where}]*' if where else ''}")
    return "\n".join([*lines, "", "## Column lineage", "", "```mermaid", lineage_output.as_mermaid(lineage), "```"])


def references(sentence: Sentence) -> str:
    """The lines of a sentence: ``spec 6; merge.sql 11, 35-40``; ``default`` where the file does not set the option."""
    parts = ([f"spec {sentence.line}" if sentence.line else "default"]) if sentence.option else []
    for file in dict.fromkeys(place.file for place in sentence.places):
        spans = dict.fromkeys((p.first, p.last) for p in sentence.places if p.file == file)
        listed = (f"{first}" if first == last else f"{first}-{last}" for first, last in sorted(spans))
        parts.append(f"{file} {', '.join(listed)}")
    return "; ".join(parts)
