"""`model/renderers/qwen3coder.go`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..formats import IM_END, IM_START
from ..templates.texts import CODER_DEFAULT_SYSTEM, CODER_TOOLS_HEAD, XML_TOOLS_TAIL
from .gojsontext import Ordered
from .rendering import END_TOOLS, Message, argument_text, frame, tool_answers
from .tooljson import client_json, property_members, struct, text, type_names


def render(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The prompt in pieces. `think`, thinking and images make no difference; nothing is trimmed.

    The reference prints the further keys of a schema in a random order, here their order is fixed.
    """
    system = next((m.content for m in messages if m.role == "system" and m.content), "")
    messages = [m for m in messages if m.role != "system"]
    if system or tools:
        yield f"{IM_START}system\n{system or CODER_DEFAULT_SYSTEM}"
        if tools:
            yield CODER_TOOLS_HEAD
            for tool in tools:
                yield from _tool(struct(struct(tool).get("function")))
            yield END_TOOLS + XML_TOOLS_TAIL
        yield f"{IM_END}\n"
    last = len(messages) - 1
    for i, message in enumerate(messages):
        if message.role == "assistant":
            yield f"{IM_START}assistant\n{message.content}"
            if message.calls:
                yield "\n" if message.content else ""
                for call in message.calls:
                    yield f"\n<tool_call>\n<function={call.name}>"
                    for key, value in (call.arguments or {}).items():
                        yield f"\n<parameter={key}>\n{argument_text(value)}\n</parameter>"
                    yield "\n</function>\n</tool_call>"
            if message.calls or i < last:
                yield f"{IM_END}\n"
        elif message.role == "tool":
            yield from tool_answers(messages, i, message.content)
        else:
            yield frame(message.role, message.content)
    if messages and messages[-1].role != "assistant":
        yield f"{IM_START}assistant\n"


def _tool(function: Mapping[str, Any]) -> Iterator[str]:
    parameters = struct(function.get("parameters"))
    yield f"\n<function>\n<name>{text(function.get('name'))}</name>"
    yield from _tag("description", text(function.get("description")))
    yield "\n<parameters>"
    for name, schema in struct(parameters.get("properties")).items():
        types = type_names(struct(schema))
        yield f"\n<parameter>\n<name>{name}</name>"
        yield from _tag("type", types[0] if len(types) == 1 else client_json(types) if types else "")
        yield from _tag("description", text(struct(schema).get("description")))
        yield from _further(dict(property_members(schema)), ("anyOf", "items", "enum", "properties", "required"))
        yield "\n</parameter>"
    known = {"$defs": parameters.get("$defs"), "items": parameters.get("items")}
    if parameters.get("required"):
        known["required"] = parameters["required"]
    yield from _further(known, ("$defs", "items", "required"))
    yield "\n</parameters>\n</function>"


def _tag(name: str, content: str) -> Iterator[str]:
    if content:
        yield f"\n<{name}>{content}</{name}>"


def _further(members: Mapping[str, Any], keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        if members.get(key) is not None:
            yield f"\n<{key}>{argument_text(_as_map(members[key]))}</{key}>"


def _as_map(value: Any) -> Any:
    """Structs and ordered maps as plain maps, whose keys are sorted when written."""
    if isinstance(value, Ordered):
        return {key: _as_map(member) for key, member in value.members}
    if isinstance(value, list):
        return [_as_map(member) for member in value]
    return value
