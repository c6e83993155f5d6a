"""`model/renderers/qwen35.go`: Qwen3.5 and Qwen3.8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..formats import IM_END, IM_START
from ..templates.texts import EFFORT_LOW, EFFORT_XHIGH, XML_TOOLS_HEAD, XML_TOOLS_TAIL
from .errors import RenderError
from .rendering import (
    END_TOOLS,
    THINK,
    THINK_END,
    Images,
    Message,
    argument_text,
    frame,
    is_tool_response,
    last_query,
    tool_answers,
    trim,
)
from .tooljson import client_json, tool_object

_EFFORT = {None: EFFORT_XHIGH, "high": EFFORT_XHIGH, "max": EFFORT_XHIGH, "low": EFFORT_LOW}


def render(
    variant: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], think: Any, tags: bool
) -> Iterator[str]:
    """The prompt of `qwen3.5`, `qwen3.8` or `ornith` (3.5 that always prints the think block), in pieces.

    Every content is trimmed. Raises `RenderError` for some messages with `qwen3.8`.
    """
    newer = variant == "qwen3.8"
    if newer:
        messages = _folded(messages)
    here = [trim(Images(tags).place(message)) for message in messages]  # each numbered on its own
    if newer:
        _check(messages, here)
    thinking = think is None or bool(think)
    yield from _system(newer, messages, here, tools, _EFFORT.get(think, "") if newer else "")

    query = last_query(messages, here)
    images = Images(tags)
    last = len(messages) - 1
    for i, message in enumerate(messages):
        content = trim(images.place(message))
        role = message.role
        if role == "assistant":
            block = newer or variant == "ornith" or (thinking and i > query)
            yield from _assistant(newer, message, content, block)
            if i < last:
                yield f"{IM_END}\n"
        elif role == "tool":
            yield from tool_answers(messages, i, content)
        elif role == "user" or (newer and role != "system") or (role == "system" and i):
            yield frame(role, content)
    if messages and messages[-1].role != "assistant":
        yield f"{IM_START}assistant\n{THINK}\n" + ("" if thinking else f"\n{THINK_END}\n\n")


def _folded(messages: Sequence[Message]) -> Sequence[Message]:
    """All system and developer messages as one system message in front."""
    instructions = [m for m in messages if m.role in ("system", "developer")]
    for message in instructions:
        if message.images:
            raise RenderError(f"{message.role} message cannot contain images")
    if not instructions or (len(instructions) == 1 and messages[0].role == "system"):
        return messages
    content = "\n\n".join(filter(None, (trim(m.content) for m in instructions)))
    rest = [m for m in messages if m.role not in ("system", "developer")]
    return [Message("system", content, "", (), 0), *rest]


def _check(messages: Sequence[Message], contents: Sequence[str]) -> None:
    if not messages:
        raise RenderError("no messages provided")
    for message, content in zip(messages, contents, strict=True):
        if message.role == "user" and not is_tool_response(content):
            return
    raise RenderError("no user query found in messages")


def _system(
    newer: bool, messages: Sequence[Message], contents: Sequence[str], tools: Sequence[Mapping[str, Any]], effort: str
) -> Iterator[str]:
    given = bool(messages) and messages[0].role == "system"
    content = contents[0] if given else ""
    if tools:
        yield f"{IM_START}system\n" + (f"{effort}\n\n" if effort else "") + XML_TOOLS_HEAD
        for tool in tools:
            yield "\n" + client_json(tool_object(tool), spaced=True)
        yield END_TOOLS + XML_TOOLS_TAIL + (f"\n\n{content}" if content else "") + f"{IM_END}\n"
    elif effort or content or (given and not newer):
        yield frame("system", "\n\n".join(filter(None, (effort, content))))


def _assistant(newer: bool, message: Message, content: str, block: bool) -> Iterator[str]:
    thinking = ""
    if block and message.thinking:
        thinking = trim(message.thinking)
    elif not newer and THINK_END in content:
        before, _, after = content.partition(THINK_END)
        thinking = trim(before.rpartition(THINK)[2])
        content = after.lstrip("\n")
    yield f"{IM_START}assistant\n"
    if block:
        yield f"{THINK}\n{thinking}\n{THINK_END}\n\n"
    yield content
    for i, call in enumerate(message.calls):
        if i:
            yield "\n"
        elif trim(content):
            yield "\n\n"
        yield f"<tool_call>\n<function={call.name}>\n"
        for key, value in (call.arguments or {}).items():
            yield f"<parameter={key}>\n{argument_text(value)}\n</parameter>\n"
        yield "</function>\n</tool_call>"
