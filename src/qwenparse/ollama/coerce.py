"""From the text of an XML parameter to a typed value (`model/parsers/qwen3coder.go`, `parseValue`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .gojson import JSONSyntaxError, NumberOverflow, parse, to_any
from .gostrconv import Arch, float_to_int64, parse_float, parse_int

Tools = Sequence[Mapping[str, Any]]


def declared_types(tools: Tools) -> dict[str, dict[str, list[str]]]:
    """Per function name and property: its types, those of `anyOf` in place of its own. Of equal names the first."""
    declared: dict[str, dict[str, list[str]]] = {}
    for tool in tools:
        function = _mapping(_mapping(tool).get("function"))
        properties = _mapping(_mapping(function.get("parameters")).get("properties"))
        types = {name: _types(_mapping(schema)) for name, schema in properties.items()}
        declared.setdefault(function.get("name") or "", types)
    return declared


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _types(schema: Mapping[str, Any]) -> list[str]:
    members = schema.get("anyOf")
    sources = [_mapping(member) for member in members] if isinstance(members, list) and members else [schema]
    types: list[str] = []
    for source in sources:
        declared = source.get("type")
        names = declared if isinstance(declared, list) else [declared]
        types += [name for name in names if isinstance(name, str)]
    return types


def typed(raw: str, types: list[str], arch: Arch) -> Any:
    """The value of a parameter: `str`, `int` (int64), `float`, `bool`, None, list or dict.

    `raw` is the character data between the tags; one line feed is removed at its start and one at its end.
    """
    raw = raw.removeprefix("\n").removesuffix("\n")
    if len(raw) == 4 and raw.isascii() and raw.lower() == "null":
        return None
    if not types:
        return raw
    alone = len(types) == 1
    if "boolean" in types:
        word = raw.lower() if len(raw) <= 5 and raw.isascii() else ""
        if word in ("true", "false"):
            return word == "true"
        if alone:
            return False
    if "integer" in types:
        integer = parse_int(raw)
        if integer is not None:
            return integer
        if alone:
            return raw
    if "number" in types:
        value = parse_float(raw)
        if value is not None:
            whole = math.isinf(value) or value.is_integer()
            return float_to_int64(value, arch) if whole else value
        if alone:
            return raw
    for name, kind in (("array", list), ("object", dict)):
        if name in types:
            ok, container = _container(raw, kind)
            if ok:
                return container
            if alone:
                return raw
    return raw


def _container(raw: str, kind: type) -> tuple[bool, Any]:
    """Whether the text is a JSON value of that kind, or null, and the value."""
    try:
        value = to_any(parse(raw))
    except (JSONSyntaxError, NumberOverflow):
        return False, None
    return value is None or isinstance(value, kind), value
