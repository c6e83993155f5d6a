"""Tool definitions as Ollama keeps them (`api/types.go`): known fields only, in the order of its structs.

Free-form parts (`items`, `$defs`, members of `enum`) stay what they are. They and `properties` disappear only when
missing or null, the other optional fields also when empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .gojsontext import Ordered, dumps, float64

Schema = Mapping[str, Any]


def struct(value: Any) -> Schema:
    """A JSON object; anything else is Go's zero struct."""
    return value if isinstance(value, Mapping) else {}


def text(value: Any) -> str:
    """A string field; missing or null is empty."""
    return value if isinstance(value, str) else ""


def type_names(schema: Schema) -> list[str]:
    """The `type` of a property, which may be one name or several."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    return [name for name in names if isinstance(name, str) and (name or declared is not name)]


def tool_object(tool: Any) -> Ordered:
    """A tool with all its parts."""
    tool = struct(tool)
    function = struct(tool.get("function"))
    parameters = struct(function.get("parameters"))
    members: list[tuple[str, Any]] = [("type", text(tool.get("type")))]
    members += _free(tool, "items")
    described = [("name", text(function.get("name"))), *_nonempty("description", text(function.get("description")))]
    members.append(("function", Ordered([*described, ("parameters", _parameters(parameters))])))
    return Ordered(members)


def _parameters(parameters: Schema) -> Ordered:
    return Ordered([
        ("type", text(parameters.get("type"))),
        *_free(parameters, "$defs"),
        *_free(parameters, "items"),
        *_nonempty("required", _list(parameters.get("required"))),
        ("properties", _properties(parameters.get("properties"))),
    ])  # fmt: skip


def property_members(schema: Any) -> list[tuple[str, Any]]:
    """A property's fields that are there, in order."""
    schema = struct(schema)
    names = type_names(schema)
    properties = schema.get("properties")
    return [
        *_nonempty("anyOf", [Ordered(property_members(member)) for member in _list(schema.get("anyOf"))]),
        *_nonempty("type", names[0] if len(names) == 1 else names),
        *_free(schema, "items"),
        *_nonempty("description", text(schema.get("description"))),
        *_nonempty("enum", _list(schema.get("enum"))),
        *([("properties", _properties(properties))] if isinstance(properties, Mapping) else []),
        *_nonempty("required", _list(schema.get("required"))),
    ]


def _properties(properties: Any) -> Ordered | None:
    if not isinstance(properties, Mapping):
        return None
    return Ordered((name, Ordered(property_members(schema))) for name, schema in properties.items())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _free(schema: Schema, key: str) -> list[tuple[str, Any]]:
    return [(key, schema[key])] if schema.get(key) is not None else []


def _nonempty(key: str, value: Any) -> list[tuple[str, Any]]:
    return [(key, value)] if value else []


def client_json(value: Any, *, spaced: bool = False) -> str:
    """JSON text of a value that came from a client, whose every number is a float64."""
    separators = {"comma": ", ", "colon": ": "} if spaced else {}
    return dumps(value, integer=lambda number: float64(client_float(number)), **separators)


def client_float(number: float) -> float:
    """A client's number, which is a float64; infinite (which JSON cannot write) beyond it."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
