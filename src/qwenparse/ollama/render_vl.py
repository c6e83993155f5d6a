"""`model/renderers/qwen3vl.go`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .gojsontext import Ordered
from .rendering import END, START, THINK, THINK_END, Call, Images, Message, frame, last_query, tool_answers
from .tooljson import client_json, tool_object

_TOOLS_HEAD = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_TAIL = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n'
    "</tool_call>"
)


def render(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], thinking: bool, tags: bool
) -> Iterator[str]:
    """The prompt in pieces. Nothing is trimmed but line feeds around thinking."""
    system = messages[0].content if messages and messages[0].role == "system" else None
    if tools:
        yield f"{START}system\n" + ("" if system is None else f"{system}\n\n") + _TOOLS_HEAD
        for tool in tools:
            yield "\n" + client_json(tool_object(tool), spaced=True)
        yield f"{_TOOLS_TAIL}{END}\n"
    elif system is not None:
        yield frame("system", system)

    query = last_query(messages, [Images(tags).place(message) for message in messages])
    images = Images(tags)
    last = len(messages) - 1
    for i, message in enumerate(messages):
        content = images.place(message)
        if message.role == "assistant":
            yield f"{START}assistant\n"
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
                yield f"{END}\n"
        elif message.role == "tool":
            yield from tool_answers(messages, i, content)
        elif message.role == "user" or (message.role == "system" and i):
            yield frame(message.role, content)
    if messages and messages[-1].role != "assistant":
        yield f"{START}assistant\n" + (f"{THINK}\n" if thinking else "")


def _call(call: Call) -> str:
    arguments = None if call.arguments is None else Ordered(call.arguments.items())
    return f'<tool_call>\n{{"name": "{call.name}", "arguments": {client_json(arguments, spaced=True)}}}\n</tool_call>'
