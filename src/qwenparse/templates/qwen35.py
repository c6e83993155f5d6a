"""Native renderers of the XML family: Qwen3.5, 3.5-small, 3.6, 3.8, and the Unsloth redistribution of 3.6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..errors import TemplateError
from .base import Renderer
from .messages import UNDEFINED, Message, contains, field, items, require, text_after
from .pieces import Framed, Keep, Pad, Pieces, Splice, cut
from .texts import (
    ASSISTANT,
    ASSISTANT_THINK,
    EFFORT_LOW,
    EFFORT_XHIGH,
    EMPTY_THINK,
    END,
    END_RESPONSE,
    END_RESPONSES,
    END_THINK,
    IMAGE,
    RESPONSE,
    SYSTEM,
    THINK,
    USER,
    USER_RESPONSE,
    VIDEO,
    XML_TOOLS_HEAD,
    XML_TOOLS_TAIL,
)

CALL = "<tool_call>\n<function="
FIRST_PARAMETER = ">\n<parameter="
NEXT_PARAMETER = "\n</parameter>\n<parameter="
NEXT_CALL_BARE = ">\n</function>\n</tool_call>\n" + CALL
NEXT_CALL = "\n</parameter>\n</function>\n</tool_call>\n" + CALL

_PADS: Mapping[Pad, tuple[str, str]] = {"images": (IMAGE, "Picture"), "videos": (VIDEO, "Video")}

EFFORTS = {"xhigh": EFFORT_XHIGH, "medium": "", "low": EFFORT_LOW}


def split_inline(content: str) -> tuple[str, str]:
    """Reasoning and answer of a content that holds `</think>`; text between two closing tags is lost there too."""
    end = content.index("</think>")
    while end and content[end - 1] == "\n":
        end -= 1
    start = content.rfind("<think>", 0, end)
    start = 0 if start < 0 else start + len("<think>")
    while start < end and content[start] == "\n":
        start += 1
    rest = content.rindex("</think>") + len("</think>")
    while rest < len(content) and content[rest] == "\n":
        rest += 1
    return cut(content, start, end), cut(content, rest, len(content))


class Qwen35(Renderer):
    """Qwen3.5 from 4B up."""

    inline: ClassVar[bool] = True
    """Reasoning is taken out of the content if there is no reasoning field."""
    json_scalars: ClassVar[bool] = False
    """Scalar arguments are written as JSON, not as Python prints them."""
    empty_string_arguments: ClassVar[bool] = False
    """`arguments == ""` means no arguments."""
    empty_system: ClassVar[bool] = True
    """A blank system message has a turn of its own."""
    strict: ClassVar[bool] = True
    """Unknown roles, late system messages and arguments that are no mapping are errors."""

    preserve: bool = False
    """The think blocks of turns before the last query stay."""

    def gen_prefix(self) -> str:
        return EMPTY_THINK if self.enable_thinking is False else THINK

    def keep(self, index: int, last_query: int) -> Keep:
        return "keep" if self.preserve or index > last_query else "drop"

    # content

    def content(self, p: Pieces | None, x: Any, system: bool = False) -> str:
        """The text of a content, untrimmed. `p` counts images and videos; None does not."""
        if isinstance(x, str):
            return x
        if x is None or x is UNDEFINED:
            return ""
        if not isinstance(x, (list, tuple)):
            raise TemplateError("Unexpected content type.")
        parts: list[str] = []
        frames: list[tuple[int, int]] = []
        length = 0
        for item in x:
            pad, text = self.part(item)
            if pad is not None:
                text, name = _PADS[pad]
                if system:
                    raise TemplateError(f"System message cannot contain {pad}.")
                number = 0 if p is None else p.count(pad)
                if number and self.add_vision_id:
                    text = f"{name} {number}: {text}"
                frames.append((length, length + len(text)))
            parts.append(text)
            length += len(text)
        joined = "".join(parts)
        return Framed(joined, frames) if frames else joined

    def part(self, item: Any) -> tuple[Pad | None, str]:
        """What an item of a content is: a pad, or None and its text."""
        if contains(item, "image") or contains(item, "image_url") or field(item, "type") == "image":
            return "images", ""
        if contains(item, "video") or field(item, "type") == "video":
            return "videos", ""
        if contains(item, "text"):
            return None, self.engine.text(field(item, "text"))
        raise TemplateError("Unexpected item type in content.")

    def text_of(self, p: Pieces, content: Any) -> str:
        return self.content(p, content)

    # head

    def effort(self) -> str:
        """The effort sentence in front of the system block."""
        return ""

    def system_text(self, messages: Sequence[Message]) -> list[str] | None:
        """The trimmed bodies of the leading system block, None if there is no block."""
        first = messages[0]
        if first.get("role") != "system":
            return None
        return [self.trim(self.content(None, first.get("content"), system=True))]

    def head(self, p: Pieces, messages: Sequence[Message], tools: Any) -> int:
        if not messages:
            raise TemplateError("No messages provided.")
        effort = self.effort()
        bodies = self.system_text(messages)
        merged = "" if bodies is None else "\n".join(bodies)
        blank = not merged if bodies is not None and len(bodies) > 1 else not self.engine.strip(merged)
        if tools and isinstance(tools, (list, tuple)):
            frame = SYSTEM + (effort + "\n\n" if effort else "") + XML_TOOLS_HEAD + "\n"
            for tool in tools:
                p.put(frame, self.engine.json(tool))
                frame = "\n"
            frame = "\n</tools>" + XML_TOOLS_TAIL
            if not blank:
                frame += "\n\n"
        elif effort or not blank or (bodies and self.empty_system):
            frame = SYSTEM + effort + ("\n\n" if effort and not blank else "")
            blank = blank and not self.empty_system
        else:
            return 0
        if bodies and not blank:
            for body in bodies:
                p.put(frame, body)
                frame = "\n"
            frame = ""
        p.put(frame + END, "")
        return 0

    # messages

    def find_query(self, messages: Sequence[Message]) -> int | None:
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if message.get("role") == "user":
                text = self.content(None, message.get("content")).strip()
                if not (text.startswith("<tool_response>") and text.endswith("</tool_response>")):
                    return index
        return None

    def no_query(self, messages: Sequence[Message]) -> int:
        raise TemplateError("No user query found in messages.")

    def body(self, p: Pieces, messages: Sequence[Message], start: int, last_query: int, splice: Splice | None = None) -> None:
        out, put, trim = p.text, p.put, self.trim
        mark = p.marks.append
        last = len(messages) - 1
        preserve = self.preserve
        before = messages[start - 1].get("role") if start else UNDEFINED
        for index in range(start, last + 1):
            message = messages[index]
            mark(len(out))
            role, content = message.get("role"), message.get("content")
            if splice is not None and role == "assistant":
                parts = splice(index, self.keep(index, last_query))
                if parts is not None:
                    p.splice(parts)
                    before = role
                    continue
            if not self.strict and (role == "system" or role == "developer"):
                before = role
                continue
            text = trim(content) if type(content) is str else self.trimmed(self.content(p, content))
            if role == "user":
                if type(text) is str:
                    out += (USER, text, END, "")
                else:
                    put(USER, text)
                    out += (END, "")
            elif role == "assistant":
                self.assistant(p, message, text, preserve or index > last_query)
            elif role == "tool":
                header = USER_RESPONSE if index and before != "tool" else RESPONSE
                footer = END_RESPONSES if index == last or messages[index + 1].get("role") != "tool" else END_RESPONSE
                if type(text) is str:
                    out += (header, text, footer, "")
                else:
                    put(header, text)
                    out += (footer, "")
            elif role == "system":
                if index:
                    raise TemplateError("System message must be at the beginning.")
            elif self.strict:
                raise TemplateError("Unexpected message role.")
            before = role

    def assistant(self, p: Pieces, message: Message, content: str, block: bool) -> None:
        """Writes an assistant message."""
        reasoning = message.get("reasoning_content")
        if type(reasoning) is not str and not isinstance(reasoning, str):
            reasoning = ""
            if self.inline and "</think>" in content:
                reasoning, content = split_inline(content)
        out = p.text
        reasoning = self.trim(reasoning) if type(reasoning) is str else self.trimmed(reasoning)
        if type(content) is str and type(reasoning) is str:
            out += (ASSISTANT_THINK, reasoning, END_THINK, content) if block else (ASSISTANT, content)
        elif block:
            p.put(ASSISTANT_THINK, reasoning)
            p.put(END_THINK, content)
        else:
            p.put(ASSISTANT, content)
        calls = message.get("tool_calls")
        if calls and (type(calls) is list or isinstance(calls, (list, tuple, str))):
            out += (self.calls(p, calls, "\n\n" if self.engine.strip(content) else "") + END, "")
        else:
            out += (END, "")

    def calls(self, p: Pieces, calls: Sequence[Any], frame: str) -> str:
        """Writes calls; returns the frame that closes the last one."""
        out = p.text
        frame += CALL
        for call in calls:
            try:  # the usual form; what is not of it comes out of the slow way, or fails there
                function = call["function"]
                name, arguments = function["name"], function["arguments"]
            except (KeyError, TypeError, IndexError):
                function = field(call, "function")
                if function is UNDEFINED:
                    function = call
                name, arguments = require(function, "name"), field(function, "arguments")
            out += (frame, name if type(name) is str else text_after("", name))
            frame = FIRST_PARAMETER
            for key, value in arguments.items() if type(arguments) is dict else self.arguments(arguments):
                if type(key) is not str:
                    text_after("", key)
                out += (frame, key, ">\n", value if type(value) is str else self.value(value))
                frame = NEXT_PARAMETER
            frame = NEXT_CALL_BARE if frame is FIRST_PARAMETER else NEXT_CALL
        return frame[: -len(CALL) - 1]

    def arguments(self, arguments: Any) -> Any:
        """The pairs of a call's arguments."""
        if arguments is UNDEFINED or (arguments == "" and self.empty_string_arguments):
            return ()
        return items(arguments)

    def value(self, value: Any) -> str:
        """An argument as the template writes it."""
        if isinstance(value, str):
            return value
        if self.json_scalars or isinstance(value, (Mapping, list, tuple)):
            return self.engine.json(value)
        return self.engine.text(value)


class Qwen35Small(Qwen35):
    """Qwen3.5 0.8B and 2B: thinking is off unless asked for."""

    def gen_prefix(self) -> str:
        return THINK if self.enable_thinking is True else EMPTY_THINK


class Qwen36(Qwen35):
    """Qwen3.6."""

    json_scalars = True

    def __init__(self, engine: Any, options: Mapping[str, Any]) -> None:
        super().__init__(engine, options)
        self.preserve = self.preserves(options.get("preserve_thinking", UNDEFINED))

    def preserves(self, preserve_thinking: Any) -> bool:
        return preserve_thinking is True


class Qwen38(Qwen36):
    """Qwen3.8."""

    inline = False
    empty_string_arguments = True
    empty_system = False

    def __init__(self, engine: Any, options: Mapping[str, Any]) -> None:
        super().__init__(engine, options)
        self.reasoning_effort = options.get("reasoning_effort", UNDEFINED)

    def preserves(self, preserve_thinking: Any) -> bool:
        return preserve_thinking is UNDEFINED or preserve_thinking is True

    def effort(self) -> str:
        if self.enable_thinking is not UNDEFINED and self.enable_thinking is not True:
            return ""
        effort = "xhigh" if self.reasoning_effort is UNDEFINED else self.reasoning_effort
        if isinstance(effort, str) and effort in EFFORTS:
            return EFFORTS[effort]
        raise TemplateError(
            f"Unexpected reasoning effort {self.engine.text(effort)}. Supported types are xhigh (default), medium, and low."
        )


class Qwen36Unsloth(Qwen36):
    """The template that Unsloth ships with its conversions of Qwen3.6."""

    json_scalars = False
    empty_system = False
    strict = False

    def system_text(self, messages: Sequence[Message]) -> list[str] | None:
        bodies = []
        for message in messages[:2]:
            role = message.get("role")
            if role != "system" and role != "developer":
                break
            bodies.append(self.trim(self.content(None, message.get("content"), system=True)))
        return bodies or None

    def no_query(self, messages: Sequence[Message]) -> int:
        return len(messages) - 1

    def arguments(self, arguments: Any) -> Any:
        return arguments.items() if isinstance(arguments, Mapping) else ()
