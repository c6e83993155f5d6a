"""Raw turns in prompts of templates that are known as text only.

A stand-in is rendered in the place of each turn: a message with marks for text and thought and as many calls. What the
template writes between its header and its closing token is then exchanged for the turn, whatever the template is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..formats import IM_END
from .jinja import pieces_of, places_of
from .messages import Message, engine_error
from .pieces import Part, Pieces, Splice
from .texts import ASSISTANT

_TEXT = "QWENPARSE_TURN_{}_TEXT"
_THOUGHT = "QWENPARSE_TURN_{}_THOUGHT"

Render = Callable[[Sequence[Message], Any], str]


def stand_in(number: int, calls: Sequence[tuple[str, str]], thought: bool) -> dict[str, Any]:
    """The message that stands for a turn. `calls`: (id, name) of each."""
    message: dict[str, Any] = {"role": "assistant", "content": _TEXT.format(number)}
    if thought:
        message["reasoning_content"] = _THOUGHT.format(number)
    if calls:
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": {}}} for call_id, name in calls
        ]
    return message


def keeps_old_thinking(render: Callable[[Sequence[Message]], str]) -> bool:
    """Whether a template writes the thoughts of turns before the last query, or never writes any."""
    ask: dict[str, Any] = {"role": "user", "content": "?"}
    said = stand_in(0, (), True)
    mark = _THOUGHT.format(0)
    return mark in render([ask, said, ask]) or mark not in render([ask, said])


class Standing(NamedTuple):
    """A turn that stands for the messages up to `end`."""

    end: int
    calls: Sequence[tuple[str, str]]
    thought: bool


def spliced(
    render: Render,
    messages: Sequence[Message],
    tools: Any,
    turns: Mapping[int, Standing],
    parts: Splice,
) -> Pieces:
    """The prompt of `messages` with turns in it; `turns` by the index of their first message, `parts` what they are.

    Raises `TemplateError` where the template does not write a stand-in between `<|im_start|>assistant` and
    `<|im_end|>`.
    """
    shown: list[Message] = []
    index = 0
    while index < len(messages):
        turn = turns.get(index)
        shown.append(messages[index] if turn is None else stand_in(index, turn.calls, turn.thought))
        index = index + 1 if turn is None else turn.end
    text = render(shown, tools)
    places = places_of(render, shown, tools, text)
    p = Pieces()
    at = 0
    for index in sorted(turns):
        mark = text.find(_TEXT.format(index), at)
        start = text.rfind(ASSISTANT, at, mark) if mark >= 0 else -1
        end = text.find(IM_END, mark)
        if start < 0 or end < 0:
            raise engine_error("the template does not write an assistant message as a turn of its own", "ValueError")
        block = _THOUGHT.format(index) if turns[index].thought else "<think>"
        given = parts(index, "keep" if block in text[start:mark] else "drop")
        assert given
        p.add("frame", text[at:start])
        p.guard(places, len(p.text) - 2, at)
        # The newline behind the closing token is the template's own.
        p.splice(part for part in given if part != Part("frame", "\n"))
        at = end + len(IM_END)
    tail = pieces_of(text[at:])
    if tail.open is not None:
        p.open = len(p.text) + tail.open
    p.special.update((place + len(p.text), kind) for place, kind in tail.special.items())
    begin = len(p.text)
    p.text += tail.text
    p.guard(places, begin, at)
    return p
