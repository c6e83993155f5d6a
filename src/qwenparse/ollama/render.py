"""`render`: messages to a prompt, as the reference's renderers do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import render_coder, render_qwen35, render_vl
from .errors import RenderError
from .gojsontext import UnsupportedValue
from .rendering import decode
from .thinkvalue import Think, check_think

RENDERERS = ("qwen3-coder", "qwen3.5", "qwen3.8", "ornith", "qwen3-vl-instruct", "qwen3-vl-thinking")


def render(
    name: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None = None,
    think: Think = None,
    *,
    img_tags: bool = False,
) -> str:
    """The prompt that Ollama makes of these messages.

    `name`: one of `RENDERERS`. Messages have Ollama's shape (`role`, `content`, `thinking`, `tool_calls` with an
    object as `arguments`, `images`) and stand for the JSON of a client, whose numbers are all float64. `img_tags` is
    how Ollama's server numbers images. Neither messages nor tools are changed.

    Raises `RenderError` with the reference's text, `FormatError` (a `ValueError`) for a bad `think`, and `TypeError`
    for messages that its server could not decode.
    """
    on = check_think(think)
    decoded = [decode(message) for message in messages]
    tools = tools or ()
    try:
        if name == "qwen3-coder":
            pieces = render_coder.render(decoded, tools)
        elif name in ("qwen3-vl-instruct", "qwen3-vl-thinking"):
            thinking = name == "qwen3-vl-thinking" if on is None else on
            pieces = render_vl.render(decoded, tools, thinking, img_tags)
        elif name in ("qwen3.5", "qwen3.8", "ornith"):
            pieces = render_qwen35.render(name, decoded, tools, think, img_tags)
        else:
            raise RenderError(f'unknown renderer "{name}"')
        return "".join(pieces)
    except UnsupportedValue as error:
        raise RenderError(str(error)) from None
