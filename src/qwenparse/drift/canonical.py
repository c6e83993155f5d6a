"""Whether a template would write a turn just as the model did.

Nothing is rendered: the layout that each family writes is put together here from the turn's regions a second time,
independently of the renderers, and compared. (tests/roundtrip compares the two on random turns.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..formats import IM_END, Format, get_format
from ..splice import raw_of
from ..templates.engines import get_engine
from ..templates.messages import UNDEFINED

if TYPE_CHECKING:
    from ..turn import Turn

_XML = ("qwen3.5", "qwen3.5-small", "qwen3.6", "qwen3.6-unsloth", "qwen3.8")
_CODER = ("qwen3-coder", "qwen3-coder-llamacpp")
_THINKING_JSON = ("qwen3", "qwen3-2504")
_JSON = (*_THINKING_JSON, "qwen3-instruct-2507", "qwen3-vl")


class _Refused(Exception):
    """The template raises for the message of this turn."""


def canonical(
    turn: Turn,
    template: Format | str,
    *,
    current: bool | None = None,
    engine: str | tuple[str, str] = "python",
    **template_kwargs: Any,
) -> bool:
    """Whether the next prompt, rendered by `template` from the turn's message, begins with what the engine holds.

    `template`: a name with a native renderer. The message is `turn.message()` as `normalize="openai"` hands it to the
    template. `current`: no user message follows yet, so templates that drop old thoughts do not (None: as is the rule
    behind a turn with calls, and not behind one without). `template_kwargs` are those of the next prompt. Raises
    `FormatError` for an unknown name, `ValueError` for one without a renderer. Linear in the length of the turn.
    """
    name = get_format(template).name
    if current is None:
        current = bool(turn.tool_calls)
    layout = _Layout(name, engine, template_kwargs)
    try:
        written = layout.turn(turn, current)
    except _Refused:
        return False
    return f"{written}{IM_END}\n".startswith(turn.gen_prefix + raw_of(turn))


class _Layout:
    """How one family writes an assistant's message, from behind the header to before the closing token."""

    def __init__(self, name: str, engine: str | tuple[str, str], options: Mapping[str, Any]) -> None:
        self.name = name
        self.engine = get_engine(engine)
        if name not in (*_XML, *_CODER, *_JSON):
            raise ValueError(f"{name} has no native renderer")
        preserve = options.get("preserve_thinking", UNDEFINED)
        self.preserves = (name in ("qwen3.6", "qwen3.6-unsloth", "qwen3.8") and preserve is True) or (
            name == "qwen3.8" and preserve is UNDEFINED
        )

    def turn(self, turn: Turn, current: bool) -> str:
        content, reasoning = turn.content, turn.reasoning
        calls = [(call.name or "", _object(call.arguments_json)) for call in turn.tool_calls]
        if self.name in _XML:
            return self._xml(content or "", reasoning, calls, current)
        if self.name in _CODER:
            return self._coder(content, calls)
        return self._json(content, reasoning, calls, current)

    def _xml(self, content: str, reasoning: str | None, calls: list[tuple[str, Any]], current: bool) -> str:
        trim = self.engine.trim
        content = trim(content)
        if reasoning is None:
            reasoning = ""
            if "</think>" in content and self.name != "qwen3.8":
                reasoning, content = _split(content)
        written = f"<think>\n{trim(reasoning)}\n</think>\n\n" if current or self.preserves else ""
        written += content
        if calls and self.engine.strip(content):
            written += "\n\n"
        scalars = self.engine.json if self.name in ("qwen3.6", "qwen3.8") else self.engine.text
        return written + "\n".join(self._xml_call(name, arguments, scalars) for name, arguments in calls)

    def _xml_call(self, name: str, arguments: Any, scalars: Any) -> str:
        if not isinstance(arguments, dict):
            if self.name != "qwen3.6-unsloth" and not (self.name == "qwen3.8" and arguments == ""):
                raise _Refused
            arguments = {}
        lines = [f"<tool_call>\n<function={name}>"]
        for key, value in arguments.items():
            text = value
            if not isinstance(value, str):
                text = self.engine.json(value) if isinstance(value, (dict, list)) else scalars(value)
            lines.append(f"<parameter={key}>\n{text}\n</parameter>")
        return "\n".join([*lines, "</function>\n</tool_call>"])

    def _coder(self, content: str | None, calls: list[tuple[str, Any]]) -> str:
        if not calls:
            if content is None:
                raise _Refused
            return content
        written = "\n".join(self._xml_call(name, arguments, self.engine.text) for name, arguments in calls)
        return f"{self.engine.trim(content)}\n\n{written}" if content and self.engine.strip(content) else written

    def _json(self, content: str | None, reasoning: str | None, calls: list[tuple[str, Any]], current: bool) -> str:
        if content is None and self.name in ("qwen3-2504", "qwen3-vl"):
            raise _Refused
        text, written = content or "", ""
        if self.name in _THINKING_JSON:
            if reasoning is None and "</think>" in text:
                reasoning, text = _split(text)
            if reasoning and current:
                text = text.lstrip("\n")
                shown = reasoning.strip("\n")
                written = f"<think>\n{shown}\n</think>\n\n"
        written += text
        json_calls = [
            f'<tool_call>\n{{"name": "{name}", "arguments": '
            f"{arguments if isinstance(arguments, str) else self.engine.json(arguments)}}}\n</tool_call>"
            for name, arguments in calls
        ]
        return written + ("\n" if text and calls else "") + "\n".join(json_calls)


def _object(arguments: str) -> Any:
    """The mapping that the JSON text holds; the text itself if it holds none."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def _split(content: str) -> tuple[str, str]:
    """What the templates make of `</think>` in a content: the text between two closing tags is lost."""
    thought, rest = content.split("</think>")[0], content.split("</think>")[-1]
    return thought.rstrip("\n").split("<think>")[-1].lstrip("\n"), rest.lstrip("\n")
