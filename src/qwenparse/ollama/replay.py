"""A turn through the reference: its parser, a client that sends the message back, its renderer.

This is what a conversation with Ollama does to a turn, and it is where turns change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common import common_prefix
from .errors import ParseError
from .goutf8 import go_bytes, join, replace_invalid
from .render import render
from .result import ToolCall
from .stream import Parser
from .thinkvalue import Think


@dataclass(frozen=True)
class Replay:
    """What became of a turn.

    `message` is the assistant's message that a client collects and sends back; if the parser failed (`error` is the
    reference's text, else None) it holds what came before. `prompt` and `next_prompt` are rendered before and after
    the turn. `kept` says whether `next_prompt` starts with `prompt + generated`; if not, `first_difference` is the
    first byte of the turn (UTF-8, from 0) that the next prompt does not repeat, else None. It is negative if the
    prompt itself changed.
    """

    message: dict[str, Any]
    error: str | None
    prompt: str
    next_prompt: str
    kept: bool
    first_difference: int | None


def replay(
    parser_name: str,
    renderer_name: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    think: Think,
    generated: str,
    cut: int | None = None,
    *,
    new_messages: Sequence[Mapping[str, Any]] = (),
    arch: Any = "amd64",
    img_tags: bool = False,
) -> Replay:
    """Feed `generated` to a parser, put its result behind `messages`, and render again.

    `cut`: bytes per chunk, None for the whole turn at once. Raises what `Parser` and `render` raise for bad names or
    messages, but no `ParseError`.
    """
    prompt = render(renderer_name, messages, tools, think, img_tags=img_tags)
    parser = Parser(parser_name, tools, think, messages[-1] if messages else None, arch)
    data = go_bytes(generated)
    size = cut or len(data) or 1
    content: list[str] = []
    thinking: list[str] = []
    calls: list[dict[str, Any]] = []
    error = None
    for start in range(0, len(data), size):
        try:
            result = parser.add(data[start : start + size])
        except ParseError as failure:
            error = str(failure)
            break
        content.append(result.content)
        thinking.append(result.thinking)
        calls += [{"function": {"name": call.name, "arguments": _sent(call)}} for call in result.calls]
    # JSON carries valid Unicode only.
    message: dict[str, Any] = {"role": "assistant", "content": replace_invalid(join(content))}
    if any(thinking):
        message["thinking"] = replace_invalid(join(thinking))
    if calls:
        message["tool_calls"] = calls
    next_prompt = render(renderer_name, [*messages, message, *new_messages], tools, think, img_tags=img_tags)
    before, after = go_bytes(prompt + generated), go_bytes(next_prompt)
    kept = after.startswith(before)
    first = None if kept else common_prefix(before, after) - len(go_bytes(prompt))
    return Replay(message, error, prompt, next_prompt, kept, first)


def _sent(call: ToolCall) -> dict[str, Any] | None:
    """The arguments as a client sends them back."""
    return None if call.arguments_json == "null" else call.arguments
