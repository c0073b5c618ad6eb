"""From YAML text to a :class:`~scdgen.spec.model.Spec`, with every mistake of a file named at its line and column."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from scdgen.errors import NO_UTF8, Problem, SpecError, UsageError, nearest, of_system
from scdgen.spec.model import Spec
from scdgen.spec.pattern import pattern_names
from scdgen.spec.rules import Location, rule_problems
from scdgen.spec.yaml_text import parse


def load_spec(path: str | Path) -> Spec:
    """Read one spec file. Raises :class:`SpecError` with all its mistakes, :class:`UsageError` if it is not there."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError([Problem(str(path), 0, 0, NO_UTF8)]) from error
    except OSError as error:
        raise UsageError(of_system(error, path)) from error
    return load_spec_text(text, name=path.as_posix())


def load_spec_text(text: str, name: str = "inline") -> Spec:
    """Read a spec from YAML text; ``name`` stands for the file in messages. Raises :class:`SpecError`."""
    tree = parse(text, name)
    if not isinstance(tree, dict):
        what = "the file is empty" if tree is None else f"the file holds {_shown(tree)}"
        begin = "a mapping that begins with 'target:', 'pattern:', 'source:', 'keys:' and 'columns:'"
        raise SpecError([Problem(name, 1, 1, f"{what}; a spec is {begin}")])
    spec, found = _validate(_plain(tree), name)
    if found:
        raise SpecError(Problem(name, *_position(tree, place), message) for place, message in found)
    assert spec is not None
    return spec


def _plain(node: Any) -> Any:
    """Plain Python values: the round-trip types of the YAML reader carry positions that the models do not want."""
    if isinstance(node, dict):
        return {key if isinstance(key, str) else str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _validate(data: dict[str, Any], name: str) -> tuple[Spec | None, list[tuple[Location, str]]]:
    """The spec, or what is wrong with it.

    Fields that are wrong by themselves are set aside, so that the rules across the other fields are heard in the
    same go and not one mistake at a time.
    """
    found: list[tuple[Location, str]] = []
    aside: set[Location] = set()
    spec: Spec | None = None
    for _ in range(4):  # each round takes out what was wrong; defaults stand in, so it ends soon
        try:
            spec = Spec.model_validate(data).placed_at(name)
            break
        except ValidationError as error:
            issues = [(_location(e["loc"]), e) for e in error.errors(include_url=False)]
            found += [(place, _message(place, e)) for place, e in issues if not _covered(place, aside)]
            aside |= {place for place, _ in issues}
            for place, e in issues:
                if e["type"] != "missing":
                    _set_aside(data, place, _stand_in(place, e["type"]))
    if spec is not None:
        found += [(place, message) for place, message in rule_problems(spec) if not _covered(place, aside)]
    return spec, found


def _covered(place: Location, aside: Iterable[Location]) -> bool:
    return any(place[: len(other)] == other or other[: len(place)] == place for other in aside)


def _location(place: tuple[int | str, ...]) -> Location:
    """A place in the YAML: pydantic's own steps (types of a union, the key of a mapping) taken out."""
    own = {"str", "int", "bool", "float", "[key]"}
    return tuple(step for index, step in enumerate(place) if not (index and step in own))


def _stand_in(place: Location, kind: str) -> str | None:
    """What takes the place of a wrong value that the spec cannot do without, while the rest is looked at."""
    if kind == "literal_error":
        return _allowed_values(place)[0]
    return {"type": "string", "target": "a.target", "query": "SELECT 1"}.get(str(place[-1]))


def _set_aside(data: Any, place: Location, instead: str | None) -> None:
    for step in place[:-1]:
        try:
            holder, data = data, data[step]
        except (KeyError, IndexError, TypeError):
            return
        if isinstance(data, str):  # the short form, such as a column given by its type alone
            holder[step] = instead
            return
    if isinstance(data, dict):
        data.pop(place[-1], None)
        if instead is not None:
            data[place[-1]] = instead


def _message(place: Location, error: Any) -> str:
    """One line: what is wrong at this place, what is allowed."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    option = next((step for step in reversed(place) if isinstance(step, str)), "spec")
    if kind == "extra_forbidden":
        allowed = _options_at(place[:-1])
        return f"unknown option '{option}'{nearest(option, allowed)} (allowed here: {', '.join(allowed)})"
    if kind == "missing":
        return f"'{option}' is missing; every {_holder(place[:-1])} needs it"
    if kind == "literal_error":
        allowed = _allowed_values(place)
        return f"{option}: '{given}' is not one of {', '.join(allowed)}{nearest(str(given), allowed)}"
    if kind == "value_error":
        text = str(context["error"])
        return text if f"'{option}'" in text else f"{option}: {text}"
    if kind == "string_pattern_mismatch":
        return f"'{given}' is not a name; write letters, digits and _, beginning with a letter"
    if kind == "model_type" and (model := _model_at(place)) is not None and hasattr(model, "_short_form"):
        short = "a name, or null for no such column" if option == "is_current" else "a type"
        return f"{option}: expected {short}, or a mapping of option: value, not {_shown(given)}"
    wanted = {
        "string_type": "text", "bool_type": "true or false", "bool_parsing": "true or false", "int_type": "a number",
        "dict_type": "a mapping of name: value", "tuple_type": "a list like [a, b]", "float_type": "a number",
        "model_type": "a mapping of option: value", "float_parsing": "a number",
        "greater_than_equal": "a share from 0 to 1", "less_than_equal": "a share from 0 to 1",
    }.get(kind, error["msg"].lower())  # fmt: skip
    quotes = "; put it in quotes" if kind == "string_type" and not isinstance(given, dict | list | None) else ""
    return f"{option}: expected {wanted}, not {_shown(given)}{quotes}"


def _holder(place: Location) -> str:
    """What an option belongs to: an entry is called by its kind, a mapping by its name."""
    named = [step for step in place if isinstance(step, str)]
    kinds = {"columns": "column", "params": "param", "checks": "check"}
    return kinds.get(named[0], named[-1]) if named else "spec"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"'{value}'"


def _model_at(place: Location) -> type[BaseModel] | None:
    """The model whose fields stand at a place; the steps into mappings and lists are taken too."""
    kind: Any = Spec
    for step in place:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = next((f.annotation for n, f in kind.model_fields.items() if step in (n, f.alias)), None)
        else:
            kind = get_args(kind)[-1 if get_origin(kind) is dict else 0] if get_args(kind) else None
        kind = next((inner for inner in get_args(kind) if _is_model(inner)), kind) if _is_union(kind) else kind
    return kind if _is_model(kind) else None


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (typing.Union, types.UnionType)


def _options_at(place: Location) -> list[str]:
    model = _model_at(place) or Spec
    return [field.alias or name for name, field in model.model_fields.items()]


def _allowed_values(place: Location) -> list[str]:
    if place == ("pattern",):
        return list(pattern_names())
    model = _model_at(place[:-1]) or Spec
    annotation = model.model_fields[str(place[-1])].annotation
    options = [annotation, *typing.get_args(annotation)]
    return [str(value) for option in options if get_origin(option) is Literal for value in get_args(option)]


def _position(tree: Any, place: Location) -> tuple[int, int]:
    """Line and column (from 1) of the nearest node that the file has on the way to ``place``."""
    line, column = 0, 0
    for step in place:
        try:
            if isinstance(tree, dict):
                key = next(key for key in tree if str(key) == step)
                line, column = tree.lc.key(key)  # type: ignore[attr-defined]
                tree = tree[key]
            else:
                line, column = tree.lc.item(step)
                tree = tree[step]
        except (StopIteration, AttributeError, KeyError, IndexError, TypeError):
            break
    return line + 1, column + 1


class Lines:
    """Where the options of a spec stand in its file."""

    def __init__(self, text: str, name: str = "inline"):
        self._tree = parse(text, name)

    @classmethod
    def of_file(cls, origin: str) -> Lines:
        """Those of the file that a spec was read from."""
        return cls(Path(origin).read_text(encoding="utf-8"), origin)

    def of(self, place: Location) -> int | None:
        """The line of an option, from 1; ``None`` where the file does not set it, so that its default holds."""
        node = self._tree
        for step in place:
            if isinstance(node, dict):
                key = next((key for key in node if str(key) == step), None)
                if key is None:
                    return None
                node = node[key]
            elif isinstance(node, list):
                if not isinstance(step, int) or step >= len(node):
                    return None
                node = node[step]
            elif not isinstance(step, int):  # a single entry may stand without its list
                return None
        return _position(self._tree, place)[0] or None
