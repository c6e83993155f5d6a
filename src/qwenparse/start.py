"""Where a completion begins, read from the rendered prompt: the format, and what the prompt wrote of the turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .formats import IM_END, IM_START, Format, get_format

if TYPE_CHECKING:
    from .tokens import TokenTable

HEADER = IM_START + "assistant\n"


def open_turn(
    prompt: str | Sequence[int], format: str | Format | None, tokens: TokenTable | None
) -> tuple[Format, str | list[int] | None]:
    """The format of a prompt, and the tail behind its last assistant header; None if no turn is open."""
    if isinstance(prompt, str):
        tail = open_tail(prompt)
        return (get_format(format) if format is not None else guess_format(prompt, tail)), tail
    if isinstance(prompt, (bytes, bytearray, memoryview)):
        raise TypeError("a prompt is text (str) or token ids, not bytes")
    if tokens is None:
        raise TypeError("a prompt of token ids needs tokens=")
    ids = list(prompt)
    text = tokens.decode(ids)
    tail = open_tail(text)
    chosen = get_format(format) if format is not None else guess_format(text, tail)
    if tail is None:
        return chosen, None
    # Fewest last ids whose bytes are the tail: a token never spans the header's newline and the tail's beginning
    # unless the tail is empty or begins with a newline, and then the header ends inside it.
    start, missing = len(ids), len(tail.encode("utf-8", "surrogateescape"))
    while start and missing > 0:
        start -= 1
        missing -= len(tokens[ids[start]] or b"")
    return chosen, ids[start:] if tokens.decode(ids[start:]) == tail else tail


def open_tail(prompt: str) -> str | None:
    """What stands behind the last assistant header, or None if that turn is already closed (or there is none)."""
    at = prompt.rfind(HEADER)
    if at < 0:
        return None
    tail = prompt[at + len(HEADER) :]
    return None if IM_END in tail else tail


def guess_format(prompt: str, tail: str | None) -> Format:
    """The format whose instructions the prompt holds.

    The XML dialect's tool instructions name `<function=`; the JSON dialect's show `{"name": <function-name>`. Without
    tools both dialects are read alike, so only the beginning of the turn matters.
    """
    head = prompt[: prompt.find("<|im_start|>user")] if "<|im_start|>user" in prompt else prompt
    thinks = tail is not None and "<think>" in tail
    if "<function=" in head:
        return get_format("qwen3.5" if thinks else "qwen3-coder")
    if "<tools>" in head or not thinks:
        return get_format("qwen3")
    return get_format("qwen3.5")
