"""The options of a spec, read from the models: for ``scdgen explain``, and as a JSON Schema for editors.

A place is written with dots; ``*`` is any name that the user chooses, or any entry of a list. The JSON Schema checks
each option by itself; rules across options, and SQL, are checked by ``scdgen validate``.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from scdgen.model import spec as spec
from scdgen.model.defaults import OWN, OWN_OF_SOURCE
from scdgen.model.option import find_model, without_option
from scdgen.model.registry import options_of, pattern_names
from scdgen.model.spec import Spec
from scdgen.sql.types import TYPE_NAMES

# Defaults that the models cannot hold, because they depend on other options.
DEFAULTS = {
    "source": "required, or `sources`",
    "source.effective_at": "",
    "source.join.*.valid_from": "`valid_from`",
    "source.join.*.valid_to": "`valid_to`",
    "columns.*.from": "the same name",
    "history.is_current": "`is_current`",
    "table.properties": "deletion vectors on",
    "on_delete": "`close`; scd1 `remove`; scd0 `ignore`",
    "late_arriving": "`apply`; snapshots `fail`",
}

_KINDS: dict[Any, str] = {
    spec.Name: "a name",
    spec.Names: "a name, or a list",
    spec.TableName: "a table name",
    spec.Expression: "SQL expression",
    spec.Expressions: "SQL expression, or a list",
    spec.Query: "one SELECT",
    spec.DataType: "a Spark type",
    spec.Properties: "name: value",
    spec.Scalar: "a literal",
    bool: "`true`, `false`",
    int: "a number",
    float: "a number",
    str: "text",
    dict: "a mapping",
    tuple: "a list",
    spec.Flag: "a name, a mapping, null",
    spec.Sequence: "a name, a mapping",
    spec.Recorded: "`true`, a mapping, null",
}


@dataclass(frozen=True)
class Entry:
    """One option in the table of options: its place, allowed values, default, and meaning in one line (Markdown)."""

    place: str
    allowed: str
    default: str
    meaning: str
    is_switched: bool = False
    """Whether it is a mapping that ``true`` stands for, with its defaults."""


def options(model: type[BaseModel] = Spec, above: str = "") -> Iterator[Entry]:
    """Yield every option of a model and of the models in it, in the order of the models."""
    hints = typing.get_type_hints(model, include_extras=True)
    for name, field in model.model_fields.items():
        place = f"{above}{field.alias or name}"
        default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
        allowed = _allowed(without_option(hints[name]))
        inner, many = find_model(field.annotation)
        switched = inner is not None and issubclass(inner, spec.Switched)
        yield Entry(place, allowed, DEFAULTS.get(place, default), field.description or "", switched)
        if inner is not None and name != "sources":  # whose options are those of source
            yield from options(inner, f"{place}.*." if many else f"{place}.")


def _allowed(kind: Any) -> str:
    """Describe the values of a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind == spec.Pattern:
        return ", ".join(f"`{name}` ({options_of(name).summary})" for name in pattern_names())
    if kind in _KINDS or origin in _KINDS:
        return _KINDS.get(kind) or _KINDS[origin]
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in parts)
    if origin is Annotated:
        return _allowed(parts[0])
    return ", ".join(dict.fromkeys(_allowed(part) for part in parts if part is not NoneType)) or "a mapping"


def _default(value: object) -> str:
    if value is None:
        return "`null`"
    if isinstance(value, BaseModel | dict | tuple):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


TYPES = (
    "string", "int", "bigint", "double", "decimal(10,2)", "boolean", "date", "timestamp", "binary", "smallint",
    "tinyint", "float", "timestamp_ntz", "variant", "array<string>", "map<string,string>", "struct<a:int>",
)  # fmt: skip
# A name, not an address: the schema is not published, and the name would stay if it were.
SCHEMA_ID, _DRAFT = "urn:scdgen:spec", "http://json-schema.org/draft-07/schema#"


def build_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 7, which all editors know), with the description of every option."""
    made = _with_type_references(spec.Spec.model_json_schema(schema_generator=_Generator))
    definitions = made["$defs"]
    for definition in definitions.values():
        definition.pop("title", None)
    definitions["Type"] = {"anyOf": [{"enum": list(TYPES)}, {"type": "string", "pattern": _type_pattern()}]}
    made["required"].remove("pattern")  # a defaults.yml may have it
    # The most frequent mistake is a source without one of the three.
    del made["properties"]["source"]["default"]  # one of the two is required
    made["oneOf"] = [{"required": [name]} for name in ("source", "sources")]
    definitions["Source"]["oneOf"] = [{"required": [name]} for name in ("table", "query", "path", "join")]
    definitions["JoinedTable"]["oneOf"] = [{"required": [name]} for name in ("keys", "on")]
    for name in ("", *definitions.keys() - _WITHOUT_DEFAULTS):
        definition = definitions[name] if name else made
        own = {"": OWN, "Source": OWN_OF_SOURCE}.get(name, ())
        for options in (form.get("properties", {}) for form in (definition, *definition.get("anyOf", ()))):
            options |= {key: _or_null(options[key]) for key in options.keys() - {*own}}
    return {"$schema": _DRAFT, "$id": SCHEMA_ID, **made, "title": "scdgen spec"}


_WITHOUT_DEFAULTS = {"Column", "JoinedTable", "Check", "Expectation", "Type"}
"""What has no defaults: the entries of options that each spec has of its own, and of lists."""


def _or_null(option: dict[str, Any]) -> dict[str, Any]:
    """Let null, which takes a default back, be a value of an option, and of its entries whose names a user chooses."""
    null = {"type": "null"}
    if "$ref" in option:
        return {"anyOf": [{"$ref": option["$ref"]}, null], **{k: v for k, v in option.items() if k != "$ref"}}
    if "anyOf" in option:
        return {**option, "anyOf": [*(kind for kind in option["anyOf"] if kind != null), null]}
    kinds = option["type"] if isinstance(option["type"], list) else [option["type"]]
    made = {**option, "type": [*kinds, "null"]}
    if "enum" in option:
        made["enum"] = [*option["enum"], None]
    if isinstance(option.get("additionalProperties"), dict):
        made["additionalProperties"] = _or_null(option["additionalProperties"])
    if "patternProperties" in option:
        made["patternProperties"] = {name: _or_null(entry) for name, entry in option["patternProperties"].items()}
    return made


def build_defaults_schema() -> dict[str, Any]:
    """Build the JSON Schema of ``defaults.yml``: the options of a spec that are not of one alone, each optional."""
    made = build_schema()
    source = made["$defs"]["Source"]
    for holder, own in ((made, OWN), (source, OWN_OF_SOURCE)):
        for name in own:
            del holder["properties"][name]
        del holder["oneOf"]
    # A spec may have the rest of a mapping; the entries of a list are whole.
    for definition in (made, *(made["$defs"][name] for name in made["$defs"].keys() - {"Check", "Expectation"})):
        for part in (definition, *definition.get("anyOf", ())):
            part.pop("required", None)
    text = json.dumps(made["properties"])
    while unused := [name for name in made["$defs"] if f'/{name}"' not in text + json.dumps(made["$defs"])]:
        for name in unused:
            del made["$defs"][name]
    return {**made, "$id": f"{SCHEMA_ID}:defaults", "title": "scdgen defaults", "description": "Options of specs."}


def render_schema(defaults: bool = False) -> str:
    """Render the JSON Schema of a spec, or of ``defaults.yml``, as text, ending in a newline."""
    made = build_defaults_schema() if defaults else build_schema()
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


class _Generator(GenerateJsonSchema):
    """pydantic's schema, with the short forms of models."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        made["description"] = made["description"].replace("``", "`")
        model = schema["cls"]
        if issubclass(model, spec.Switched):
            return {"anyOf": [{"type": "boolean"}, made]}
        if not issubclass(model, spec.ShortForm):
            return made
        text = {k: v for k, v in made["properties"][model.given_as].items() if k not in {"default", "description"}}
        return {"anyOf": [text, made]}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        made = super().dict_schema(schema)
        if "patternProperties" in made:
            made["additionalProperties"] = False
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _with_type_references(node: Any) -> Any:
    """Refer to one definition for every Spark type, and move the description of a property to its end."""
    if isinstance(node, list):
        return [_with_type_references(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    made = {key: _with_type_references(inner) for key, inner in node.items()}
    if made.get("format") == spec.TYPE_FORMAT:
        del made["format"], made["type"]
        made["$ref"] = "#/$defs/Type"
    if isinstance(made.get("description"), str) and "properties" not in made:
        made["description"] = made.pop("description")
    return made


def _type_pattern() -> str:
    """Return a pattern for names of types in any case, because JSON Schema has no flag for that.

    >>> import re
    >>> [bool(re.search(_type_pattern(), text)) for text in ("Decimal(10, 2)", "STRUCT<a: INT>", "strng", "int4x")]
    [True, True, False, False]
    """
    names = "|".join("".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in name) for name in TYPE_NAMES)
    return rf"^\s*({names})\s*([(<].*[)>])?\s*$"
