"""`model/renderers/qwen3vl.go`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..formats import IM_END, IM_START
from ..templates.texts import JSON_TOOLS_HEAD, JSON_TOOLS_TAIL
from .gojsontext import Ordered
from .rendering import THINK, THINK_END, Call, Images, Message, frame, last_query, tool_answers
from .tooljson import client_json, tool_object


def render(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], thinking: bool, tags: bool
) -> Iterator[str]:
    """The prompt in pieces. Nothing is trimmed but line feeds around thinking."""
    system = messages[0].content if messages and messages[0].role == "system" else None
    if tools:
        yield f"{IM_START}system\n" + ("" if system is None else f"{system}\n\n") + JSON_TOOLS_HEAD
        for tool in tools:
            yield "\n" + client_json(tool_object(tool), spaced=True)
        yield f"{JSON_TOOLS_TAIL}{IM_END}\n"
    elif system is not None:
        yield frame("system", system)

    query = last_query(messages, [Images(tags).place(message) for message in messages])
    images = Images(tags)
    last = len(messages) - 1
    for i, message in enumerate(messages):
        content = images.place(message)
        if message.role == "assistant":
            yield f"{IM_START}assistant\n"
            if thinking and i > query and (i == last or message.thinking):
                inner = message.thinking.strip("\n")
                yield f"{THINK}\n{inner}"
                if content:
                    yield f"\n{THINK_END}\n\n" + content.lstrip("\n")
            else:
                yield content
            for number, call in enumerate(message.calls):
                yield ("\n" if number or content else "") + _call(call)
            if i < last:
                yield f"{IM_END}\n"
        elif message.role == "tool":
            yield from tool_answers(messages, i, content)
        elif message.role == "user" or (message.role == "system" and i):
            yield frame(message.role, content)
    if messages and messages[-1].role != "assistant":
        yield f"{IM_START}assistant\n" + (f"{THINK}\n" if thinking else "")


def _call(call: Call) -> str:
    arguments = None if call.arguments is None else Ordered(call.arguments.items())
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {client_json(arguments, spaced=True)}}}\n</tool_call>'
