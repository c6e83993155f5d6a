"""Native renderers of Qwen3-Coder: XML calls, tools written as XML too, no thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..formats import IM_START
from .base import Renderer
from .messages import UNDEFINED, Message, engine_error, field, items, no_attribute, require, text_after
from .pieces import Pieces, Splice
from .texts import (
    ASSISTANT,
    CODER_DEFAULT_SYSTEM,
    CODER_TOOLS_HEAD,
    CODER_TOOLS_HEAD_LC,
    CODER_TOOLS_TAIL_LC,
    END,
    SYSTEM,
    USER,
    XML_TOOLS_TAIL,
)

HEADERS = {role: f"{IM_START}{role}\n" for role in ("user", "assistant", "system", "developer")}


class Qwen3Coder(Renderer):
    """Qwen3-Coder, with the tool texts of the published template."""

    thinks = False
    tools_head: ClassVar[str] = CODER_TOOLS_HEAD
    tools_tail: ClassVar[str] = XML_TOOLS_TAIL

    def head(self, p: Pieces, messages: Sequence[Message], tools: Any) -> int:
        if not messages:
            raise engine_error("list object has no element 0", "UndefinedError")
        start = int(messages[0].get("role") == "system")
        system = messages[0].get("content", UNDEFINED) if start else UNDEFINED
        tools = tools if isinstance(tools, (list, tuple, Mapping)) and tools else None
        if system is not UNDEFINED:
            p.put(SYSTEM, text_after("", system))
        elif tools:
            p.put(SYSTEM + CODER_DEFAULT_SYSTEM, "")
        if tools:
            frame = self.tools_head
            for tool in tools:
                frame = self.tool_definition(p, frame, tool)
            p.put(frame + "\n</tools>" + self.tools_tail, "")
        if p.text:
            p.put(END, "")
        return start

    # tool definitions

    def tool_definition(self, p: Pieces, frame: str, tool: Any) -> str:
        """Writes a tool behind `frame`; returns the frame that closes it. The other methods do the same."""
        function = field(tool, "function")
        if function is UNDEFINED:
            function = tool
        text = self.engine.text
        p.put(frame + "\n<function>\n<name>", text(field(function, "name")))
        frame = self.described("</name>", p, function) + "\n<parameters>"
        parameters = field(function, "parameters")
        properties = field(parameters, "properties") if isinstance(parameters, Mapping) else None
        if isinstance(properties, Mapping):
            for key, schema in properties.items():
                p.put(frame + "\n<parameter>\n<name>", text(key))
                frame = "</name>"
                kind = field(schema, "type")
                if kind is not UNDEFINED:
                    p.put(frame + "\n<type>", text(kind))
                    frame = "</type>"
                frame = self.described(frame, p, schema)
                frame = self.extra(frame, p, schema, ("name", "type", "description")) + "\n</parameter>"
        frame = self.extra(frame, p, parameters, ("type", "properties")) + "\n</parameters>"
        return self.extra(frame, p, function, ("type", "name", "description", "parameters")) + "\n</function>"

    def described(self, frame: str, p: Pieces, x: Any) -> str:
        description = field(x, "description")
        if description is UNDEFINED:
            return frame
        p.put(frame + "\n<description>", self.trim(self.engine.text(description)))
        return "</description>"

    def extra(self, frame: str, p: Pieces, x: Any, handled: tuple[str, ...]) -> str:
        if isinstance(x, Mapping):
            for key, value in x.items():
                if key not in handled:
                    name = self.engine.text(key)
                    p.put(frame + "\n<", name)
                    p.put(">", self.value(value))
                    p.put("</", name)
                    frame = ">"
        return frame

    def value(self, value: Any) -> str:
        """A value as the template writes it: containers as JSON, the rest as Python prints it."""
        if isinstance(value, str):
            return value
        if isinstance(value, (dict, list, tuple, Mapping)):
            return self.engine.json(value)
        return self.engine.text(value)

    # messages

    def body(self, p: Pieces, messages: Sequence[Message], start: int, last_query: int, splice: Splice | None = None) -> None:
        first = start if start and messages[start - 1].get("role") == "system" else 0
        last = len(messages) - 1
        for index in range(start, last + 1):
            message = messages[index]
            p.marks.append(len(p.text))
            role = message.get("role", UNDEFINED)
            if splice is not None and role == "assistant":
                parts = splice(index, "keep")
                if parts is not None:
                    p.splice(parts)
                    continue
            calls = message.get("tool_calls")
            if role == "assistant" and calls and isinstance(calls, (list, tuple, str, Mapping)):
                self.calls(p, message.get("content"), calls)
            elif role == "tool":
                opened = index > first and messages[index - 1].get("role") != "tool"
                closed = index == last or messages[index + 1].get("role") != "tool"
                content = self.engine.text(message.get("content", UNDEFINED))
                p.put(f"{USER}<tool_response>\n" if opened else "<tool_response>\n", content)
                p.text += ("\n</tool_response>\n" + END if closed else "\n</tool_response>\n", "")
            else:
                if role is UNDEFINED:
                    raise no_attribute(message, "role")
                written = text_after("", role)
                frame = HEADERS.get(written)
                if frame is None:
                    p.put(IM_START, written)
                    frame = "\n"
                p.text += (frame, text_after("", require(message, "content")), END, "")

    def calls(self, p: Pieces, content: Any, calls: Any) -> None:
        """Writes an assistant message with calls."""
        frame = ASSISTANT[:-1]
        if isinstance(content, str) and self.engine.strip(content):
            p.put(ASSISTANT, self.trim(content))
            frame = "\n"
        out = p.text
        for call in calls:
            function = field(call, "function")
            if function is UNDEFINED:
                function = call
            out += (frame + "\n<tool_call>\n<function=", text_after("", require(function, "name")))
            frame = ">\n"
            arguments = field(function, "arguments")
            for key, value in () if arguments is UNDEFINED else items(arguments):
                out += (frame + "<parameter=", text_after("", key), ">\n", self.value(value))
                frame = "\n</parameter>\n"
            frame += "</function>\n</tool_call>"
        out += (frame + END, "")


class Qwen3CoderLlamaCpp(Qwen3Coder):
    """Qwen3-Coder as llama.cpp ships its template."""

    tools_head = CODER_TOOLS_HEAD_LC
    tools_tail = CODER_TOOLS_TAIL_LC
