"""What the renderers share (`model/renderers/`): messages, images, argument text, blocks of text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..formats import IM_END, IM_START
from ..templates.texts import IMAGE
from .gostrconv import format_v
from .goutf8 import SPACE
from .tooljson import client_float, client_json, text

THINK, THINK_END = "<think>", "</think>"
END_TOOLS = "\n</tools>"

class Call(NamedTuple):
    """A call of an assistant's message. `arguments` None: `null`; missing arguments are `{}`."""

    name: str
    arguments: Mapping[str, Any] | None


class Message(NamedTuple):
    """A message as the server decodes it. `images` is their number."""

    role: str
    content: str
    thinking: str
    calls: tuple[Call, ...]
    images: int


def decode(message: Mapping[str, Any]) -> Message:
    """A message as the reference's server decodes it. Raises `TypeError` for what that could not decode."""
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise TypeError(f"message content must be a string, got {type(content).__name__}")
    calls = tuple(_call(call) for call in message.get("tool_calls") or ())
    images = message.get("images") or ()
    return Message(text(message.get("role")).lower(), content or "", text(message.get("thinking")), calls, len(images))


def _call(call: Mapping[str, Any]) -> Call:
    function = call.get("function") or {}
    arguments = function.get("arguments", {})
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TypeError(f"tool call arguments must be an object, got {type(arguments).__name__}")
    return Call(text(function.get("name")), arguments)


class Images:
    """Puts images into contents: as placeholders in front, or (`tags`) as numbered tags where `[img]` stands."""

    def __init__(self, tags: bool) -> None:
        self._tags = tags
        self._next = 0

    def place(self, message: Message) -> str:
        """The content with its images. Tags go on counting from message to message."""
        first = self._next
        self._next += message.images
        content = message.content
        if not message.images:
            return content
        if not self._tags:
            return IMAGE * message.images + content
        if "[img-" in content:
            return content
        head, *rest = content.split("[img]", message.images)
        body = head + "".join(f"[img-{first + i}]{part}" for i, part in enumerate(rest))
        prefix = "".join(f"[img-{first + i}]" for i in range(len(rest), message.images))
        if prefix and body and not (body[0] in SPACE or body[0] == "\ufffd" or "\ud800" <= body[0] <= "\udfff"):
            prefix += " "
        return prefix + body


def trim(content: str) -> str:
    """`strings.TrimSpace`."""
    return content.strip(SPACE)


def is_tool_response(content: str) -> bool:
    """A user message that stands for a tool's answer."""
    return content.startswith("<tool_response>") and content.endswith("</tool_response>")


def last_query(messages: Sequence[Message], contents: Sequence[str]) -> int:
    """Index of the last user message that is no wrapped tool answer; without one, the last index."""
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].role == "user" and not is_tool_response(contents[i]):
            return i
    return len(messages) - 1


def argument_text(value: Any) -> str:
    """An argument between its tags: strings raw, numbers as `%v` of a float64, lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        number = client_float(value)
        return format_v(number) if math.isfinite(number) else client_json(number)
    return client_json(value)


def tool_answers(messages: Sequence[Message], i: int, content: str) -> Iterator[str]:
    """A tool message, which shares one user frame with the tool messages next to it."""
    if i == 0 or messages[i - 1].role != "tool":
        yield f"{IM_START}user"
    yield f"\n<tool_response>\n{content}\n</tool_response>"
    if i + 1 == len(messages) or messages[i + 1].role != "tool":
        yield f"{IM_END}\n"


def frame(role: str, content: str) -> str:
    """A whole message."""
    return f"{IM_START}{role}\n{content}{IM_END}\n"
