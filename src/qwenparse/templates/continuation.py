"""Prompts that let the model go on with the last message.

Two programs, two rules. llama.cpp (0c1e57098) takes the message off and writes its text untrimmed behind the header of
the turn; transformers (5.24.0) sends it through the template with a marker at its end and cuts the prompt there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..errors import FormatError
from .messages import REASONING, Message, engine_error
from .pieces import Pieces
from .texts import END_THINK, THINK

Style = Literal["block", "plain", "qwq"]
"""How a family writes thoughts in an open turn: a block with newlines, not at all, or QwQ's bare tags."""

_TAGS = {"block": (THINK, END_THINK), "qwq": ("<think>", "</think>")}


def continue_turn(p: Pieces, message: Message, content: str, field: str | bool, style: Style) -> None:
    """Writes the continued message into the open turn of `p`. `field`: which text goes on, True: whichever is last.

    Raises `FormatError` for another field, `TemplateError` if the message is not an assistant's.
    """
    if field not in ("content", "reasoning_content", True):
        raise FormatError(f"continue_final_message={field!r}: it takes 'content', 'reasoning_content' or True")
    if message.get("role") != "assistant":
        raise engine_error("continue_final_message is set but the last message is not the assistant's", "ValueError")
    reasoning = message.get("reasoning_content")
    reasoning = reasoning if isinstance(reasoning, str) else ""
    if field is True:
        field = "reasoning_content" if reasoning and not content else "content"
    if style != "plain":
        opening, closing = _TAGS[style]
        p.add("gen_prefix", opening)
        p.add("data", reasoning)
        if field == "content":
            p.add("gen_prefix", closing)
    if field == "content":
        p.put("", content)


_MARKER = "QWENPARSE_CONTINUES_HERE"  # printable: a template may print it as part of a repr
_MARK = _MARKER + " "


def _mark_text(block: Any) -> Any:
    return {**block, "text": block["text"] + _MARK}


def mark_final(messages: Sequence[Message], field: str | bool) -> tuple[list[Message], str]:
    """The messages with a marker behind the text that goes on, and that text; `TemplateError` if there is none."""
    if not messages:
        raise engine_error("continue_final_message is set but the conversation is empty", "ValueError")
    name = field if isinstance(field, str) else "content"
    if name not in ("content", *REASONING):
        raise engine_error(f'continue_final_message is set to "{name}", which no template reads', "ValueError")
    last = dict(messages[-1])
    text = last.get(name)
    if text is None:
        raise engine_error(f'continue_final_message is set but the last message has no "{name}"', "ValueError")
    if isinstance(text, (list, tuple)):
        blocks = list(text)
        for place in range(len(blocks) - 1, -1, -1):
            if isinstance(blocks[place], Mapping) and isinstance(blocks[place].get("text"), str):
                text = blocks[place]["text"]
                blocks[place] = _mark_text(blocks[place])
                last[name] = blocks
                break
        else:
            raise engine_error("continue_final_message is set but the last message has no text", "ValueError")
    elif isinstance(text, str):
        for key in REASONING if name in REASONING else (name,):
            if last.get(key) == text:
                last[key] = text + _MARK
    else:
        raise engine_error(f"continue_final_message is set but the last message's {name} is not text")
    return [*messages[:-1], last], text


def cut_at_marker(prompt: str, text: str) -> int:
    """The length to which a prompt with a marker is cut; where the template trims behind the text, so does this."""
    at = prompt.rfind(_MARKER)
    if at < 0 or text.strip() not in prompt:
        raise engine_error(
            "continue_final_message is set but the last message's text does not appear in the prompt", "ValueError"
        )
    if prompt.startswith(_MARK, at):
        return at
    return len(prompt[:at].rstrip())
