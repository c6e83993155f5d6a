"""Native renderers of Qwen3 (current and April 2025 form) and Qwen3 Instruct 2507: JSON calls, nothing is trimmed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..formats import IM_START
from .base import Renderer
from .messages import UNDEFINED, Message, contains, engine_error, field, no_attribute, require, text_after
from .pieces import Keep, Pieces, Splice
from .qwen35 import split_inline
from .texts import (
    ASSISTANT,
    ASSISTANT_THINK,
    EMPTY_THINK,
    END,
    END_RESPONSE,
    END_RESPONSES,
    END_THINK,
    JSON_TOOLS_HEAD,
    JSON_TOOLS_TAIL,
    RESPONSE,
    SYSTEM,
    USER,
    USER_RESPONSE,
)

CALL = '<tool_call>\n{"name": "'
ARGUMENTS = '", "arguments": '
NEXT_CALL = "}\n</tool_call>\n" + CALL


def iterate(x: Any) -> Iterable[Any]:
    """A `for` loop of a template: a mapping is walked by its keys, what is absent not at all."""
    if type(x) is list:
        return x
    if x is UNDEFINED:
        return ()
    if isinstance(x, Iterable):
        return x
    raise engine_error(f"'{type(x).__name__}' object is not iterable")


def method_owner(x: Any, owner: Any, key: str, method: str) -> str:
    """`x.method(…)` of a template, where `x` is `owner.key`: only strings have it."""
    if isinstance(x, str):
        return x
    raise no_attribute(owner, key) if x is UNDEFINED else no_attribute(x, method)


class Qwen3Instruct(Renderer):
    """Qwen3 Instruct 2507."""

    thinks = False

    def head(self, p: Pieces, messages: Sequence[Message], tools: Any) -> int:
        if not messages:
            raise engine_error("list object has no element 0", "UndefinedError")
        has_system = messages[0].get("role") == "system"
        if tools:
            frame = SYSTEM
            if has_system:
                self.system(p, frame, messages[0], left=True)
                frame = "\n\n"
            frame += JSON_TOOLS_HEAD + "\n"
            for tool in iterate(tools):
                p.put(frame, self.engine.json(tool))
                frame = "\n"
            p.put(frame[:-1] + JSON_TOOLS_TAIL + END, "")
        elif has_system:
            self.system(p, SYSTEM, messages[0])
            p.put(END, "")
        return 1 if has_system else 0

    def system(self, p: Pieces, frame: str, message: Message, left: bool = False) -> None:
        """Writes the body of the first system message. `left`: it stands left of the `+` (error text only)."""
        content = require(message, "content")
        if left and not isinstance(content, str):
            kind = type(content).__name__
            if isinstance(content, (list, tuple)):
                raise engine_error(f'can only concatenate {kind} (not "str") to {kind}')
            raise engine_error(f"unsupported operand type(s) for +: '{kind}' and 'str'")
        p.put(frame, text_after("", content))

    def body(self, p: Pieces, messages: Sequence[Message], start: int, last_query: int, splice: Splice | None = None) -> None:
        out, put = p.text, p.put
        last = len(messages) - 1
        for index in range(start, last + 1):
            message = messages[index]
            p.marks.append(len(out))
            role = message.get("role")
            if role == "assistant":
                if splice is not None:
                    keep = self.keep(index, last_query)
                    parts = splice(index, "keep" if keep == "keep_nonempty" and index == last else keep)
                    if parts is not None:
                        p.splice(parts)
                        continue
                self.assistant(p, message, index > last_query, index == last)
            elif role == "user" or role == "system":
                self.plain(p, role, message)
            elif role == "tool":
                opened = not index or messages[index - 1].get("role") != "tool"
                self.tool(p, USER_RESPONSE if opened else RESPONSE, message)
                closed = index == last or messages[index + 1].get("role") != "tool"
                put(END_RESPONSES if closed else END_RESPONSE, "")

    def plain(self, p: Pieces, role: str, message: Message) -> None:
        """Writes a user message or a late system message."""
        content = message.get("content")
        header = USER if role == "user" else SYSTEM
        p.text += (header, content if type(content) is str else self.text_of(p, content), END, "")

    def tool(self, p: Pieces, header: str, message: Message) -> None:
        """Writes the body of a tool message."""
        content = message.get("content")
        p.text += (header, content if type(content) is str else self.text_of(p, content))

    def assistant(self, p: Pieces, message: Message, current: bool, final: bool) -> None:
        """Writes an assistant message. `current`: behind the last query; `final`: the last message of all."""
        content = self.text_of(p, message.get("content"))
        p.text += (ASSISTANT, content)
        p.text += (self.calls(p, message, bool(content)) + END, "")

    def calls(self, p: Pieces, message: Message, newline: bool) -> str:
        """Writes calls, on a new line if `newline`; returns the frame that closes the last one."""
        calls = message.get("tool_calls")
        if not calls:
            return ""
        frame = "\n" if newline else ""
        out, json = p.text, self.engine.json
        frame += CALL
        for call in iterate(calls):
            function = field(call, "function") or call
            name, arguments = field(function, "name"), field(function, "arguments")
            out += (
                frame,
                name if type(name) is str else self.engine.text(name),
                ARGUMENTS,
                arguments if isinstance(arguments, str) else json(arguments),
            )
            frame = NEXT_CALL
        return frame[: -len(CALL) - 1]


class Qwen3(Qwen3Instruct):
    """Qwen3, the current form of its template."""

    thinks = True

    def gen_prefix(self) -> str:
        return EMPTY_THINK if self.enable_thinking is False else ""

    def keep(self, index: int, last_query: int) -> Keep:
        return "keep_nonempty" if index > last_query else "drop"

    def find_query(self, messages: Sequence[Message]) -> int | None:
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if message.get("role") == "user":
                text = self.query_text(message)
                if text is not None and not (text.startswith("<tool_response>") and text.endswith("</tool_response>")):
                    return index
        return None

    def query_text(self, message: Message) -> str | None:
        """The text of a user message; None: it is no query."""
        content = message.get("content")
        return content if isinstance(content, str) else None

    def assistant_content(self, message: Message) -> Any:
        """The content as the template takes it."""
        content = message.get("content")
        return content if isinstance(content, str) else ""

    def reasoning(self, message: Message) -> Any:
        """The reasoning field, None if it does not count."""
        reasoning = message.get("reasoning_content")
        return reasoning if isinstance(reasoning, str) else None

    def assistant(self, p: Pieces, message: Message, current: bool, final: bool) -> None:
        content, reasoning = self.assistant_content(message), self.reasoning(message)
        if reasoning is None:
            reasoning = ""
            if "</think>" in content if type(content) is str else contains(content, "</think>"):
                reasoning, content = split_inline(method_owner(content, message, "content", "split"))
        if current and (final or reasoning):
            p.put(ASSISTANT_THINK, method_owner(reasoning, message, "reasoning_content", "strip").strip("\n"))
            p.put(END_THINK, method_owner(content, message, "content", "lstrip").lstrip("\n"))
        elif content is UNDEFINED:
            raise no_attribute(message, "content")
        else:
            p.put(ASSISTANT, text_after("", content))
        p.put(self.calls(p, message, bool(content)) + END, "")


class Qwen3April(Qwen3):
    """Qwen3 as released in April 2025: contents are used as they are, so what is no string fails."""

    def query_text(self, message: Message) -> str | None:
        return method_owner(message.get("content", UNDEFINED), message, "content", "startswith")

    def plain(self, p: Pieces, role: str, message: Message) -> None:
        p.put(f"{IM_START}{role}\n", text_after("", require(message, "content")))
        p.put(END, "")

    def tool(self, p: Pieces, header: str, message: Message) -> None:
        p.put(header, self.engine.text(message.get("content", UNDEFINED)))

    def assistant_content(self, message: Message) -> Any:
        return message.get("content", UNDEFINED)

    def reasoning(self, message: Message) -> Any:
        return message.get("reasoning_content")
