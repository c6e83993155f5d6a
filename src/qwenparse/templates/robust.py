"""The robust policy: the layout of Qwen3.8 for histories that are imperfect. Rules: docs/templates.md.

An explicit error stands where a template would fall back in silence, and text is never lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..errors import TemplateError
from .engines import Engine
from .markers import last_marker, remove_markers
from .messages import REASONING, UNDEFINED, Message, field, require, text_after
from .pieces import Note, Pad, Pieces, Splice
from .qwen35 import CALL, EFFORTS, FIRST_PARAMETER, NEXT_CALL, NEXT_CALL_BARE, NEXT_PARAMETER, Qwen35
from .recover import recover
from .results import Pending
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
    THINK,
    USER,
    USER_RESPONSE,
    XML_TOOLS_HEAD,
    XML_TOOLS_TAIL,
)

DEFAULTS: Mapping[str, Any] = {
    "reasoning_effort": None,
    "enable_thinking": None,
    "preserve_thinking": None,
    "tool_call_format": None,
    "think_markers": "control",
    "allow_user_think_control": False,
    "tool_instructions": "template",
    "no_user": "error",
    "tool_error_prefix": "[tool error]\n",
    "add_vision_id": False,
}
VALUES: Mapping[str, tuple[str, ...]] = {
    "think_markers": ("control", "text"),
    "tool_instructions": ("template", "scoped"),
    "no_user": ("error", "continuation"),
}

REMINDER = next(line for line in XML_TOOLS_TAIL.split("\n") if line.startswith("- You may provide optional reasoning"))
SCOPED_REMINDER = (
    "- Plan a function call inside the thinking block; write no other text between the thinking block and the function call"
)
NO_OBJECT = "Tool call arguments must be a JSON object."
HEAD = ("system", "developer")

JSON_CALL = '<tool_call>\n{"name": '
NEXT_JSON_CALL = "}\n</tool_call>\n" + JSON_CALL


class Spelled(str):
    """A number as a JSON text spells it."""

    __slots__ = ()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def parse_arguments(source: str) -> dict[str, Any]:
    """The object that `source` holds as JSON; a number on its top level comes as `Spelled`. Raises `TemplateError`."""
    try:
        spelled = json.loads(source, parse_int=Spelled, parse_float=Spelled, parse_constant=_refuse_constant)
        if not isinstance(spelled, dict):
            raise TemplateError(NO_OBJECT)
        if any(isinstance(value, (dict, list)) for value in spelled.values()):
            read = json.loads(source)
            return {key: value if type(value) is Spelled else read[key] for key, value in spelled.items()}
        return spelled
    except TemplateError:
        raise
    except (ValueError, RecursionError):
        raise TemplateError(NO_OBJECT) from None


class Robust(Qwen35):
    """The robust policy with its options. Raises `TemplateError` for an option or a value it does not know."""

    def __init__(self, engine: Engine, options: Mapping[str, Any]) -> None:
        super().__init__(engine, options)
        for name in options:
            if name not in DEFAULTS:
                raise TemplateError(f"Unknown option {name}.")
        chosen = {**DEFAULTS, **options}
        for name, values in VALUES.items():
            if not isinstance(chosen[name], str) or chosen[name] not in values:
                raise TemplateError(f"Unexpected value of {name}: {engine.text(chosen[name])}.")
        if not isinstance(chosen["tool_error_prefix"], str):
            raise TemplateError(f"Unexpected value of tool_error_prefix: {engine.text(chosen['tool_error_prefix'])}.")
        self.reasoning_effort: Final = chosen["reasoning_effort"]
        self.enable_thinking = chosen["enable_thinking"]
        self.preserve_thinking: Final = chosen["preserve_thinking"]
        self.tool_call_format: Final = chosen["tool_call_format"]
        self.markers: Final = chosen["think_markers"] == "control"
        self.user_control: Final = chosen["allow_user_think_control"] is True
        self.scoped: Final = chosen["tool_instructions"] == "scoped"
        self.continues: Final = chosen["no_user"] == "continuation"
        self.error_prefix: Final = chosen["tool_error_prefix"]
        self.json: Final = chosen["tool_call_format"] == "json"

    # options

    def effort(self) -> str:
        """The effort sentence, whether thinking is on or not."""
        effort = self.reasoning_effort
        if effort is None or effort == "high":
            effort = "xhigh"
        if isinstance(effort, str) and effort in EFFORTS:
            return EFFORTS[effort]
        raise TemplateError(
            f"Unexpected reasoning effort {self.engine.text(effort)}. Supported values are high/xhigh, medium, and low."
        )

    def check(self, tools: Any) -> str:
        """Checks the arguments of a render; returns the effort sentence."""
        effort = self.effort()
        if self.tool_call_format is not None and self.tool_call_format not in ("xml", "json"):
            raise TemplateError(
                f"Unexpected tool call format {self.engine.text(self.tool_call_format)}. Supported formats are xml and json."
            )
        for name in ("enable_thinking", "preserve_thinking"):
            value = getattr(self, name)
            if value is not None and value is not True and value is not False:
                raise TemplateError(f"{name} must be true or false.")
        if tools is not None and not isinstance(tools, (list, tuple)):
            raise TemplateError("Tools must be a list.")
        return effort

    def keep(self, index: int, last_query: int) -> Any:
        return "drop" if self.preserve_thinking is False and index <= last_query else "keep"

    # content

    def part(self, item: Any) -> tuple[Pad | None, str]:
        if isinstance(item, Mapping):
            kind = item.get("type")
            if "image" in item or "image_url" in item or kind == "image":
                return "images", ""
            if "video" in item or kind == "video":
                return "videos", ""
            item = item.get("text")
        if not isinstance(item, str):
            raise TemplateError("Unexpected item type in content.")
        return None, item

    def spoken(self, p: Pieces | None, content: Any, index: int) -> str:
        """The body of a system, developer or user message, without markers; with `p` every removal is noted."""
        return self.trimmed(self.cleaned(p, self.content(p, content), index))

    def cleaned(self, p: Pieces | None, text: str, index: int) -> str:
        if not self.markers:
            return text
        text, removed = remove_markers(text)
        if p is not None:
            for removal in sorted(removed, key=lambda r: r.offset):
                p.notes.append(Note("marker-removed", f"{removal.marker} removed", index, removal.offset))
        return text

    # head

    def head(self, p: Pieces, messages: Sequence[Message], tools: Any) -> int:
        if not messages:
            raise TemplateError("No messages provided.")
        effort = self.check(tools)
        bodies: list[str] = []
        start = 0
        for message in messages:
            if message.get("role") not in HEAD:
                break
            text = self.content(None, message.get("content"), system=True)
            if self.markers:
                asked = last_marker(text)
                p.thinking = p.thinking if asked is None else asked
            body = self.trim(self.cleaned(p, text, start))
            if self.engine.strip(body):
                bodies.append(body)
            start += 1
        self.hear_users(p, messages, start, Note("head-changed", "the head differs from that of earlier prompts"))
        thinking = self.thinks_now(p)
        parts = [effort] if effort and thinking else []
        frame = SYSTEM + "".join(parts)
        if tools:
            frame += ("\n\n" if parts else "") + (JSON_TOOLS_HEAD if self.json else XML_TOOLS_HEAD) + "\n"
            for tool in tools:
                p.put(frame, self.engine.json(tool))
                frame = "\n"
            frame = JSON_TOOLS_TAIL if self.json else "\n</tools>" + self.instructions(thinking)
            parts.append("")
        for body in bodies:
            p.put(frame + ("\n\n" if parts else ""), body)
            parts.append("")
            frame = ""
        if parts:
            p.put(frame + END, "")
        return start

    def instructions(self, thinking: bool) -> str:
        """What stands behind the tool definitions in the XML format."""
        if not self.scoped:
            return XML_TOOLS_TAIL
        return XML_TOOLS_TAIL.replace(REMINDER + "\n", SCOPED_REMINDER + "\n" if thinking else "")

    def thinks_now(self, p: Pieces) -> bool:
        """Whether thinking is on: by the last marker, or else by the argument."""
        return self.enable_thinking is not False if p.thinking is None else p.thinking

    def hear_users(self, p: Pieces, messages: Sequence[Message], start: int, note: Note) -> None:
        """Lets users turn thinking on and off, where they may; a change is noted."""
        if not (self.markers and self.user_control):
            return
        for index in range(start, len(messages)):
            message = messages[index]
            if message.get("role") == "user":
                asked = last_marker(self.content(None, message.get("content")))
                if asked is not None and asked != self.thinks_now(p):
                    text = f"thinking turned {'on' if asked else 'off'}: {note.text}"
                    p.notes.append(Note(note.code, text, index))
                p.thinking = p.thinking if asked is None else asked

    # messages

    def find_query(self, messages: Sequence[Message]) -> int | None:
        for index in range(len(messages) - 1, -1, -1):
            if messages[index].get("role") == "user":
                text = self.engine.strip(self.spoken(None, messages[index].get("content"), index))
                if not (text.startswith("<tool_response>") and text.endswith("</tool_response>")):
                    return index
        return None

    def no_query(self, messages: Sequence[Message]) -> int:
        if self.continues:
            return -1
        raise TemplateError("No user query found in messages.")

    def body(self, p: Pieces, messages: Sequence[Message], start: int, last_query: int, splice: Splice | None = None) -> None:
        last = len(messages) - 1
        pending = Pending((), -1)
        if start and messages[start - 1].get("role") == "assistant":
            pending = Pending(messages[start - 1].get("tool_calls"), start - 1)
        index = start
        while index <= last:
            message = messages[index]
            role = message.get("role")
            if role == "tool":
                index = self.results(p, messages, index, pending)
                continue
            p.marks.append(len(p.text))
            if role == "user":
                p.put(USER, self.spoken(p, message.get("content"), index))
                p.put(END, "")
            elif role == "assistant":
                parts = None if splice is None else splice(index, self.keep(index, last_query))
                if parts is None or parts or message.get("tool_calls"):  # else the turn before stands for it too
                    self.note_missing(p, pending)
                    pending = Pending(message.get("tool_calls"), index)
                if parts is not None:
                    p.splice(parts)
                else:
                    content = self.trimmed(self.content(p, message.get("content")))
                    self.assistant(p, message, content, self.keep(index, last_query) == "keep")
            elif role in HEAD:
                raise TemplateError("System message must be at the beginning.")
            else:
                raise TemplateError("Unexpected message role.")
            index += 1
        self.note_missing(p, pending)

    def note_missing(self, p: Pieces, pending: Pending) -> None:
        for call in pending.left:
            p.notes.append(Note("tool-result-missing", f"call {call + 1} has no result", pending.index))

    def results(self, p: Pieces, messages: Sequence[Message], start: int, pending: Pending) -> int:
        """Writes a run of tool messages in the order of their calls; returns the index behind it."""
        end = start
        while end < len(messages) and messages[end].get("role") == "tool":
            end += 1
        run = messages[start:end]
        order = pending.order(run, self.engine.text)
        for place, at in enumerate(order):
            p.marks.append(len(p.text))
            message = run[at]
            if place != at:
                text = f"rendered as result {place + 1} of its run, where its call stands"
                p.notes.append(Note("tool-result-moved", text, start + at))
            text = self.trimmed(self.content(p, message.get("content")))
            frame = USER_RESPONSE if start and not place else RESPONSE
            p.put(frame + (self.error_prefix if message.get("is_error") is True else ""), text)
            p.put(END_RESPONSES if place == len(run) - 1 else END_RESPONSE, "")
        return end

    def reasoning(self, message: Message) -> str:
        """The first reasoning field that is not blank, trimmed."""
        for name in REASONING:
            value = message.get(name)
            if value is not None:
                text = value if isinstance(value, str) else self.engine.json(value)
                if self.engine.strip(text):
                    return self.trim(text)
        return ""

    def assistant(self, p: Pieces, message: Message, content: str, block: bool) -> None:
        """Writes an assistant message; `content` is trimmed."""
        reasoning = self.reasoning(message)
        split = recover(content)
        if split is not None:
            thought, answer = map(self.trimmed, split)
            if not reasoning or thought.strip() == reasoning.strip():
                reasoning, content = thought, answer
        if block:
            p.put(ASSISTANT_THINK, reasoning)
            p.put(END_THINK, content)
        else:
            p.put(ASSISTANT, content)
        calls = message.get("tool_calls")
        frame = ""
        if calls and isinstance(calls, (list, tuple, str)):
            frame = "\n\n" if self.engine.strip(content) else ""
            frame = self.json_calls(p, calls, frame) if self.json else self.xml_calls(p, calls, frame)
        p.put(frame + END, "")

    def functions(self, calls: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """Name and arguments of each call."""
        for call in calls:
            function = field(call, "function")
            if function is UNDEFINED:
                function = call
            arguments = field(function, "arguments")
            if arguments is UNDEFINED or (isinstance(arguments, str) and not self.engine.strip(arguments)):
                arguments = None
            yield text_after("", require(function, "name")), arguments

    def xml_calls(self, p: Pieces, calls: Sequence[Any], frame: str) -> str:
        """Writes calls; returns the frame that closes the last one."""
        frame += CALL
        for name, arguments in self.functions(calls):
            p.put(frame, name)
            if isinstance(arguments, str):
                arguments = parse_arguments(arguments)
            frame = FIRST_PARAMETER
            if arguments is not None:
                if not isinstance(arguments, Mapping):
                    raise TemplateError(NO_OBJECT)
                for key, value in arguments.items():
                    p.put(frame, text_after("", key))
                    p.put(">\n", value if isinstance(value, str) else self.engine.json(value))
                    frame = NEXT_PARAMETER
            frame = NEXT_CALL_BARE if frame is FIRST_PARAMETER else NEXT_CALL
        return frame[: -len(CALL) - 1]

    def json_calls(self, p: Pieces, calls: Sequence[Any], frame: str) -> str:
        """Writes calls; returns the frame that closes the last one."""
        frame += JSON_CALL
        for name, arguments in self.functions(calls):
            p.put(frame, self.engine.json(name))
            if isinstance(arguments, str):
                parse_arguments(arguments)
                text = self.engine.strip(arguments)
            elif arguments is None:
                text = "{}"
            elif isinstance(arguments, Mapping):
                text = self.engine.json(arguments)
            else:
                raise TemplateError(NO_OBJECT)
            p.put(', "arguments": ', text)
            frame = NEXT_JSON_CALL
        return frame[: -len(JSON_CALL) - 1]

    # the open turn

    def gen_prefix(self) -> str:
        return EMPTY_THINK if self.enable_thinking is False else THINK

    def open_turn(self, p: Pieces) -> None:
        p.begin_turn()
        p.add("gen_prefix", THINK if self.thinks_now(p) else EMPTY_THINK)

    def follow(
        self,
        p: Pieces,
        messages: Sequence[Message],
        splice: Splice | None = None,
        turn: Message | None = None,
    ) -> None:
        self.hear_users(p, [{}, *messages], 1, Note("head-kept", "the head stays as it was"))
        super().follow(p, messages, splice, turn)
