"""A first draft of a spec: nested options, comments above them, and the YAML text of both."""

from __future__ import annotations

import io
import textwrap
import types
import typing
from dataclasses import dataclass, field
from typing import Any, get_args

from pydantic import BaseModel
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import LiteralScalarString

from scdgen.patterns.compile import render
from scdgen.spec.load import load_spec_text
from scdgen.spec.model import Spec

WIDTH = 110
Place = tuple[str, ...]


class _Representer(RoundTripRepresenter):
    """Writes null as a word: a line that ends in a colon looks like a mistake."""


_Representer.add_representer(type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null"))


@dataclass
class Draft:
    """A spec being made: ``options`` as in the YAML, ``notes`` by the place of the option that they stand above."""

    options: dict[str, Any] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)
    notes: dict[Place, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # what the other tool has and the draft has not
    left_title: str = "Not mapped:"

    def put(self, place: str, value: Any, note: str | None = None) -> None:
        """Set the option at a place written with dots, and say why above it."""
        steps = tuple(place.split("."))
        inner = self.options
        for step in steps[:-1]:
            inner = inner.setdefault(step, {})
        inner[steps[-1]] = value
        if note:
            self.note(note, *steps)

    def note(self, text: str, *place: str) -> None:
        """A comment above an option; of an option that the draft does not write, at its head."""
        self.notes.setdefault(place, []).append(text)

    def text(self, name: str = "the draft") -> str:
        """The YAML, read again and rendered; raises :class:`SpecError` where the draft is no spec."""
        inner = _mapping(self.options, (), self.notes, Spec)
        homeless = [line for place, lines in self.notes.items() if not _holds(self.options, place) for line in lines]
        out = io.StringIO()
        writer = YAML()
        writer.Representer = _Representer
        writer.width = 4096
        writer.indent(mapping=2, sequence=4, offset=2)
        writer.dump(inner, out)
        head = [*self.header, *homeless]
        if self.left_out:
            head += ["", self.left_title, *(f"- {line}" for line in self.left_out)]
        begin = "".join(f"{line}\n" for part in head for line in _comment(part, 0))
        text = f"{begin}\n{out.getvalue()}" if begin else out.getvalue()
        render(load_spec_text(text, name=name))
        return text


def _holds(options: Any, place: Place) -> bool:
    for step in place:
        if not isinstance(options, dict) or step not in options:
            return False
        options = options[step]
    return True


def _mapping(options: dict[str, Any], above: Place, notes: dict[Place, list[str]], model: Any) -> CommentedMap:
    made = CommentedMap()
    order = [f.alias or name for name, f in model.model_fields.items()] if model else list(options)
    for name in sorted(options, key=order.index):
        place = (*above, name)
        made[name] = _value(options[name], place, notes, _model_of(model, name))
        if place in notes:
            lines = [line for note in notes[place] for line in _comment(note, 2 * len(above), marked=False)]
            made.yaml_set_comment_before_after_key(name, before="\n".join(lines), indent=2 * len(above))
    return made


def _value(value: Any, place: Place, notes: dict[Place, list[str]], model: Any) -> Any:
    if isinstance(value, dict):
        inner = _mapping(value, place, notes, model)
        if len(place) > 1:
            inner.fa.set_flow_style()
        return inner
    if isinstance(value, list):
        listed = CommentedSeq(value)
        listed.fa.set_flow_style()
        return listed
    return LiteralScalarString(f"{value.strip()}\n") if isinstance(value, str) and "\n" in value else value


def _model_of(model: Any, name: str) -> Any:
    """The model of the mapping that an option holds, where it holds one."""
    if model is None:
        return None
    kind = next(f.annotation for key, f in model.model_fields.items() if name in (key, f.alias))
    parts = get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    return next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)


def _comment(text: str, indent: int, marked: bool = True) -> list[str]:
    lines = textwrap.wrap(
        text, WIDTH - indent, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [f"# {line}".rstrip() if marked else line for line in lines or [""]]
