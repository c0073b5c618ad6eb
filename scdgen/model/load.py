"""From YAML text to a :class:`~scdgen.model.spec.Spec`, with every mistake at its line and column."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from scdgen import sql
from scdgen.errors import NO_UTF8, Problem, SpecError, UsageError, nearest, of_system
from scdgen.model import defaults
from scdgen.model.defaults import Layer
from scdgen.model.joins import fill_in
from scdgen.model.nodes import CheckedComposer, CheckedConstructor, RefusedError
from scdgen.model.option import Location, find_model
from scdgen.model.registry import pattern_names
from scdgen.model.rules import find_inapplicable, place_of_feed, rule_problems
from scdgen.model.spec import ShortForm, Source, Spec
from scdgen.paths import read_text

_QUOTES = "put the whole text in quotes"
# Message of the YAML reader ("context problem") -> whether to report the place where the construct begins, and the
# message with its fix.
_MEANINGS: tuple[tuple[str, bool, str], ...] = (
    (r"found character '\\t'", False, "a tab indents this line; YAML takes spaces alone"),
    (r"found character '(.)' that cannot start", False,
     f"a text cannot begin with {{0}} where it has no quotes; {_QUOTES}"),
    (r"mapping values are not allowed here", False,
     f"a colon follows a text that has ended, or the line is indented too far; {_QUOTES}, or line it up with the "
     "options around it"),
    (r"while (?:scanning a quoted scalar).*unexpected end of stream", True,
     "a quote that opens here is never closed; close it"),
    (r"while parsing a flow (sequence|mapping|node)", True,
     "a bracket that opens here is not closed where it should be; close it, and put texts with , : [ ] {{ }} in "
     "quotes"),
    (r"expected <block end>, but found '(?:<scalar>|\{|\[|<alias>)'", False,
     f"something follows a value that has ended; {_QUOTES}"),
    (r"expected <block end>", False,
     "the line does not line up with those before it; give options of one level the same indentation"),
    (r"could not find expected ':'", False,
     "a line between options has no colon; write option: value"),
    (r"but found another document", False, "a second document begins here, after ---; write one spec per file"),
)  # fmt: skip

CASES = (".test.yml", ".test.yaml")
"""The ends of the names of files with cases of a spec, which `scdgen test` reads."""


def is_case_file(path: Path) -> bool:
    """Whether a file has cases of a spec, by its name; it is then no spec."""
    return path.name.endswith(CASES)


def is_spec_file(path: Path) -> bool:
    """Whether a file of a folder is a spec, by its name."""
    return path.suffix in {".yml", ".yaml"} and not is_case_file(path) and not defaults.is_defaults_file(path)


@dataclass(frozen=True)
class Loaded:
    """A spec, and which options of its folders' ``defaults.yml`` are not in it, because it does not take them."""

    spec: Spec
    files: tuple[str, ...] = ()
    """The files of defaults that it has."""
    left_out: dict[tuple[str, Location], Problem] = field(default_factory=dict)
    """File and place of an option -> the mistake that it is if no spec takes it."""


def load_spec(path: str | Path, target: str | None = None) -> Spec:
    """Read one spec file. Raises :class:`SpecError` with all its mistakes, :class:`UsageError` if it cannot be read.

    It has the defaults of its folder. What a join leaves out comes from the specs next to the file. With a ``target``
    of the working folder's ``scdgen.toml``, its tables have the names of that.
    """
    loaded = read_spec(path)
    if problems := find_useless([loaded]):
        raise SpecError(problems)
    return in_target([fill_joins(loaded.spec)], target)[0]


def in_target(specs: list[Spec], name: str | None) -> list[Spec]:
    """Return specs with the names that their tables have in a target, if one is given.

    Raises :class:`SpecError` for names that it cannot have, :class:`UsageError` for an unknown target.
    """
    if name is None:
        return specs
    from scdgen.model.targets import place, read_target

    placed, found = place(specs, read_target(name))
    if found:
        raise SpecError(Lines.of_spec(spec).problem(at, message) for spec, at, message in found)
    return placed


def read_spec(path: str | Path) -> Loaded:
    """Read one spec file as :func:`load_spec` does, but leave its joins and its defaults as they are written."""
    path = Path(path)
    return _build([_layer(_read_text(path), path.as_posix()), *_read_defaults(path)])


def _read_text(path: Path) -> str:
    try:
        return read_text(path)
    except UnicodeDecodeError as error:
        raise SpecError([Problem(str(path), 0, 0, NO_UTF8)]) from error
    except OSError as error:
        raise UsageError(of_system(error, path)) from error


def _read_defaults(spec: Path) -> list[Layer]:
    """Read the defaults of a spec, the nearest first."""
    layers = [
        Layer(file.as_posix(), _parse(_read_text(file), file.as_posix())) for file in defaults.find_defaults(spec)
    ]
    if problems := [problem for layer in layers for problem in defaults.find_misplaced(layer)]:
        raise SpecError(problems)
    return layers


def read_defaults(spec: Path) -> dict[str, Any]:
    """Return the options of the defaults of a spec, which may not be there yet. Raises :class:`SpecError`."""
    return defaults.merge([Layer("", {}), *_read_defaults(spec)])


def find_useless(loaded: Sequence[Loaded]) -> list[Problem]:
    """Return the options of defaults that a spec left out, and that no other spec below their file takes."""
    found: list[Problem] = []
    of_folder: dict[str, list[Loaded | None]] = {}
    for (file, place), problem in {key: value for each in loaded for key, value in each.left_out.items()}.items():
        takes = functools.partial(_takes, file=file, place=place)
        if any(map(takes, loaded)):
            continue
        if file not in of_folder:
            of_folder[file] = list(_read_below(Path(file).parent))
        if not any(map(takes, of_folder[file])):
            found.append(problem)
    return found


def _takes(loaded: Loaded | None, file: str, place: Location) -> bool:
    """Whether a spec may take an option of a file of defaults; of a spec with mistakes, that is not known."""
    if loaded is None:
        return True
    left_out = any((file, place[:count]) in loaded.left_out for count in range(1, len(place) + 1))
    return file in loaded.files and not left_out


def _read_below(folder: Path) -> Iterator[Loaded | None]:
    for path in sorted(filter(is_spec_file, folder.rglob("*"))):
        try:
            yield read_spec(path)
        except (SpecError, UsageError):
            yield None


def fill_joins(spec: Spec, given: Iterable[Spec] = ()) -> Spec:
    """Fill in how joined tables that are targets of other specs write their versions.

    The other specs are those next to the file of the spec and, for other targets, those ``given``. Raises
    :class:`SpecError` for a table that cannot be joined.
    """
    joining = [feed for feed in spec.feeds if feed.source.join]
    if not joining:
        return spec
    sources, found = {}, list[tuple[Location, str]]()
    others = list(given)
    loaded = {other.origin: other for other in others}
    for feed in joining:
        # A spec beside the file decides over a given one with the same target.
        beside = list(_find_joined(feed, loaded))
        known = {other.target_parts for other in beside}
        filled, problems = fill_in(feed, [*beside, *(other for other in others if other.target_parts not in known)])
        sources[feed.feed] = filled.source
        found += [(place_of_feed(place, feed.feed), message) for place, message in problems]
    # Only a mistake needs places, for which the file is read again.
    if found:
        lines = Lines.of_file(spec.origin)
        raise SpecError(lines.problem(place, message) for place, message in found)
    return spec.with_sources(sources)


def _find_joined(spec: Spec, loaded: Mapping[str, Spec]) -> Iterator[Spec]:
    """Yield the specs next to a spec's file that mention a table of its join; a spec with mistakes is left out.

    Those in ``loaded``, by the names of their files, are not read again.
    """
    path = Path(spec.origin)
    tables = [sql.split_name(joined.table)[-1].lower() for joined in spec.source.join.values()]
    for other in sorted(path.parent.iterdir()):
        if not is_spec_file(other) or other == path:
            continue
        if other.as_posix() in loaded:
            yield loaded[other.as_posix()]
            continue
        with suppress(OSError, UnicodeDecodeError, SpecError):
            text = read_text(other)
            if any(table in text.lower() for table in tables):
                yield read_spec(other).spec


def load_spec_text(text: str, name: str = "inline") -> Spec:
    """Read a spec from YAML text; ``name`` is the file's name in messages. Raises :class:`SpecError`."""
    return _build([_layer(text, name)]).spec


def load_draft(text: str, path: Path) -> Spec:
    """Read a spec from the text that is to be written to a file, with the defaults of its folder."""
    return _build([_layer(text, path.as_posix()), *_read_defaults(path)]).spec


_NULL = "nothing"  # in messages
_Mistakes = list[tuple[Location, str]]


def _layer(text: str, name: str) -> Layer:
    tree = parse(text, name)
    if not isinstance(tree, dict):
        what = "the file is empty" if tree is None else f"the file holds {_shown(tree)}"
        begin = "a mapping that begins with 'target:', 'pattern:', 'source:', 'keys:' and 'columns:'"
        raise SpecError([Problem(name, 1, 1, f"{what}; a spec is {begin}")])
    return Layer(name, tree)


def _build(layers: Sequence[Layer]) -> Loaded:
    """Build a spec from its file, the first layer, and its defaults. Raises :class:`SpecError`."""
    name, lines = layers[0].file, Lines(layers)
    spec, found, broken = _validate(defaults.merge(layers), lines)
    # Leave out defaults that are not for this spec.
    left_out: dict[tuple[str, Location], Problem] = {}
    for place, message in find_inapplicable(spec) if spec is not None and lines.has_defaults else ():
        problem = lines.problem(place, f"{message}; no spec below this file takes it")
        if problem.file != name:
            left_out[problem.file, place] = problem
    if left_out:
        data = defaults.merge(layers)
        for _, place in left_out:
            _set_aside(data, place, None)
        spec, found, broken = _validate(data, lines)
    back = "; no defaults.yml sets it, so that null takes nothing back" if lines.has_defaults else ""
    problems = [lines.problem(place, message + (back if f" {_NULL}" in message else "")) for place, message in found]
    for place, message in broken:
        problem = lines.problem(place, message)
        # A default may be right for the other specs.
        problems.append(problem if problem.file == name else lines.problem(place, f"{message} (of {name})"))
    if problems:
        raise SpecError(problems)
    assert spec is not None
    return Loaded(spec.for_feed(), tuple(layer.file for layer in layers[1:]), left_out)


@functools.lru_cache(maxsize=64)
def _parse(text: str, name: str) -> Any:
    """Parse a file that many specs have."""
    return parse(text, name)


def parse(text: str, name: str) -> Any:
    """Parse YAML text into a tree with the positions of its nodes. Raises :class:`SpecError`."""
    reader = YAML(typ="rt", pure=True)
    reader.Composer, reader.Constructor = CheckedComposer, CheckedConstructor
    try:
        return reader.load(text)
    except RefusedError as error:
        found = (Problem(name, line + 1, column + 1, what) for line, column, what in error.problems)
        raise SpecError(found) from error
    except MarkedYAMLError as error:
        raise SpecError([_marked(error, name)]) from error
    except ReaderError as error:
        # The error has only the position in the text.
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        what = f"holds the control character 0x{ord(text[error.position]):02X}; take it out"
        raise SpecError([Problem(name, line, column, what)]) from error
    except Exception as error:  # what ruamel.yaml raises for odd values has no class of its own
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise SpecError([Problem(name, 0, 0, f"not valid YAML: {reason}; fix or quote the value")]) from error


def _marked(error: MarkedYAMLError, name: str) -> Problem:
    said = " ".join(str(part) for part in (error.context, error.problem) if part)
    mark: Any = error.problem_mark or error.context_mark
    what = str(error.problem or error.context or "cannot be read").splitlines()[0]
    what = f"{what}; fix the line, or put its text in quotes"
    for pattern, at_begin, meaning in _MEANINGS:
        if found := re.search(pattern, said, re.DOTALL):
            mark = (error.context_mark if at_begin else None) or mark
            what = meaning.format(*found.groups())
            break
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return Problem(name, line, column, f"not valid YAML: {what}")


def _validate(data: dict[str, Any], lines: Lines) -> tuple[Spec | None, _Mistakes, _Mistakes]:
    """Return the spec, the mistakes of its options and the rules that it breaks; ``None`` if it could not be built.

    Invalid fields are replaced or removed, so that the rules across the other fields are checked too and all mistakes
    are reported at once.
    """
    found: _Mistakes = []
    reported = _Places()
    spec: Spec | None = None
    if "source" not in data:
        reported.add(("source",))  # sources may be there instead, so that the model does not require it
        if "sources" not in data:
            found.append((("source",), "'source' is missing; every spec needs it"))
    for _ in range(4):  # each round removes what was wrong, and defaults take over, so few are needed
        try:
            spec = Spec.model_validate(data).placed_at(lines.file)
            break
        except ValidationError as error:
            issues = [(_location(e["loc"]), e) for e in error.errors(include_url=False)]
            found += [(place, _message(place, e, lines)) for place, e in issues if not reported.cover(place)]
            # What was reported is not reported again, such as by a rule that meets the stand-in.
            for place, _ in issues:
                reported.add(place)
            for place, e in issues:
                if e["type"] != "missing":
                    _set_aside(data, place, _stand_in(place, e["type"]))
    # The rules across fields need a whole spec, with stand-ins for what was wrong.
    rules = rule_problems(spec) if spec is not None else []
    return spec, found, [(place, message) for place, message in rules if not reported.cover(place)]


class _Places:
    """Places of a spec, found again by those inside and those around them."""

    def __init__(self) -> None:
        self._whole: set[Location] = set()
        self._around: set[Location] = set()

    def add(self, place: Location) -> None:
        """Keep a place."""
        self._whole.add(place)
        self._around |= {place[:count] for count in range(len(place) + 1)}

    def cover(self, place: Location) -> bool:
        """Whether a place is one of these, in one of them, or around one."""
        return place in self._around or any(place[:count] in self._whole for count in range(len(place)))


def _location(place: tuple[int | str, ...]) -> Location:
    """Convert a location of pydantic's to a place in the YAML: without union types and mapping keys."""
    own = {"str", "int", "bool", "float", "dict", "[key]"}
    return tuple(step for index, step in enumerate(place) if not (index and step in own))


def _stand_in(place: Location, kind: str) -> str | None:
    """Return a valid value to put in place of a wrong required one while the rest is checked."""
    if kind == "literal_error":
        return _allowed_values(place)[0]
    return {"type": "string", "target": "a.target", "query": "SELECT 1"}.get(str(place[-1]))


def _set_aside(data: Any, place: Location, instead: str | None) -> None:
    for step in place[:-1]:
        try:
            holder, data = data, data[step]
        except (KeyError, IndexError, TypeError):
            # A mistake above it has removed the place already.
            return
        if isinstance(data, str):  # the short form, such as a column given by its type
            holder[step] = instead
            return
    if isinstance(data, dict):
        data.pop(place[-1], None)
        if instead is not None:
            data[place[-1]] = instead


def _message(place: Location, error: Any, lines: Lines) -> str:
    """Describe an error of pydantic's on one line: what is wrong, what is allowed."""
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    # The last name on the path is the option; numbers are places in lists.
    option = next((step for step in reversed(place) if isinstance(step, str)), "spec")
    if kind == "extra_forbidden":
        allowed = _options_at(place[:-1], is_default=lines.position(place)[0] != lines.file)
        hint = nearest(option, allowed) or f" (allowed here: {', '.join(allowed)})"
        if place == ("source", option) and isinstance(given, dict):
            hint = "; write several sources under sources:"
        if given is None and not re.fullmatch(r"[\w-]*", option):  # {query: SELECT a, b}
            hint = "; put the text with a comma in quotes"
        return f"unknown option '{option}'{hint}"
    if kind == "missing":
        return f"'{option}' is missing; {_holder(place[:-1])} needs it"
    if kind == "literal_error":
        allowed = _allowed_values(place)
        return f"{option}: {_shown(given)} is not one of {', '.join(allowed)}{nearest(str(given), allowed)}"
    if kind == "value_error":
        text = str(context["error"])
        return text if f"'{option}'" in text else f"{option}: {text}"
    if kind == "string_pattern_mismatch":
        return f"'{given}' is not a name; write letters, digits and _, beginning with a letter"
    if kind == "model_type" and issubclass(_model_at(place), ShortForm):
        short = {"is_current": "a name, or null for no such column", "sequence": "a name"}.get(option, "a type")
        return f"{option}: expected {short}, or a mapping of option: value, not {_shown(given)}"
    # Say in words of YAML which type pydantic expects.
    wanted = {
        "string_type": "text", "bool_type": "true or false", "bool_parsing": "true or false", "int_type": "a number",
        "dict_type": "a mapping of name: value", "tuple_type": "a list like [a, b]", "float_type": "a number",
        "model_type": "a mapping of option: value", "float_parsing": "a number",
        **dict.fromkeys(("greater_than_equal", "less_than_equal"), "a share from 0 to 1, such as 0.05 or 5%"),
    }.get(kind, error["msg"].lower())  # fmt: skip
    # YAML reads a bare 2024 or true as another type than text.
    quotes = "; put it in quotes" if kind == "string_type" and not isinstance(given, dict | list | None) else ""
    quotes = "; write a name, or put it in quotes if it is one" if quotes and isinstance(given, bool) else quotes
    if "from" in place[2:-1] and given is None:
        quotes = "; write 'NULL' for no value"
    return f"{option}: expected {wanted}, not {_shown(given)}{quotes}"


def _holder(place: Location) -> str:
    """Name what needs an option: every entry of a kind, or a mapping by its path."""
    named = [step for step in place if isinstance(step, str)]
    entries = {"columns", "params", "checks", "lookups", "expectations"}
    if "join" in named[1:3] and named[0] in ("source", "sources"):
        return "every table of a join"
    if not named:
        return "every spec"
    return f"every {named[0].removesuffix('s')}" if named[0] in entries else ".".join(named)


def _shown(value: Any) -> str:
    if value is None:
        return _NULL
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return f"'{str(value).lower() if isinstance(value, bool) else value}'"


def _model_at(place: Location) -> type[BaseModel]:
    """Return the model at a place; the spec itself if it has none."""
    model: type[BaseModel] | None = Spec
    many = False  # whether the next step is an entry of a mapping or a list
    for step in place:
        if model is not None and not many:
            fields = model.model_fields.items()
            model, many = find_model(next((f.annotation for n, f in fields if step in (n, f.alias)), None))
        else:
            many = False
    return Spec if model is None or many else model


def _options_at(place: Location, is_default: bool) -> list[str]:
    model = _model_at(place)
    own = {Spec: defaults.OWN, Source: defaults.OWN_OF_SOURCE}.get(model, ()) if is_default else ()
    names = (field.alias or name for name, field in model.model_fields.items())
    return [name for name in names if name not in own]


def _allowed_values(place: Location) -> list[str]:
    if place == ("pattern",):
        return list(pattern_names())
    model = _model_at(place[:-1])
    annotation = model.model_fields[str(place[-1])].annotation
    options = [annotation, *get_args(annotation)]
    return [str(value) for option in options if get_origin(option) is Literal for value in get_args(option)]


class Lines:
    """The places of the options of a spec in its files: its own, and those of its defaults."""

    def __init__(self, layers: Sequence[Layer]):
        self._layers = layers
        self.file = layers[0].file

    @classmethod
    def of_text(cls, text: str, name: str) -> Lines:
        """Read the text of one file."""
        return cls([Layer(name, parse(text, name))])

    @classmethod
    def of_file(cls, origin: str) -> Lines:
        """Read the file of a spec, and its defaults."""
        return cls([Layer(origin, parse(read_text(Path(origin)), origin)), *_read_defaults(Path(origin))])

    @classmethod
    def of_spec(cls, spec: Spec) -> Lines:
        """Read the files of a spec; one that was read from a text has no lines."""
        return cls.of_file(spec.origin) if Path(spec.origin).is_file() else cls([Layer(spec.origin, None)])

    @property
    def has_defaults(self) -> bool:
        """Whether the spec has any."""
        return len(self._layers) > 1

    def position(self, place: Location) -> tuple[str, int, int]:
        """Return file, line and column, from 1, of an option; if no file sets it, those of the enclosing option."""
        return defaults.locate(self._layers, place)

    def problem(self, place: Location, message: str) -> Problem:
        """Return the mistake of an option."""
        return Problem(*self.position(place), message)
