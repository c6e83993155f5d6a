"""Does the next prompt begin with the text the server holds? Canonical turns, over the usual conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..common import common_prefix
from .report import Loss, Shape
from .target import ASSISTANT, Target, call, tool

Encode = Callable[[str], Sequence[int]]
THOUGHT = "The user asks about the weather, so the forecast has to be looked up first."
TEXT = "I will look that up."
ANSWER = "It will rain in Oslo, so take an umbrella."
TOOLS = [tool(city="string", days="integer", metric="boolean", note="string", options="object")]
USER = {"role": "user", "content": "Will it rain in Oslo?"}
NEXT = {"role": "user", "content": "And in Bergen?"}
RESULT = {"role": "tool", "content": "rain", "tool_call_id": "c1"}


class RefusedError(Exception):
    """The template does not render a conversation that a check needs."""


@dataclass(frozen=True)
class Held:
    """A prompt and the turn generated from it, as the server holds them. `turns`: where turns begin in the text."""

    prompt: str
    turn: str
    turns: tuple[int, ...]

    @property
    def text(self) -> str:
        return self.prompt + self.turn


def rendered(t: Target, messages: Any, **options: Any) -> str:
    """The text of a render. Raises `RefusedError` if there is none."""
    outcome = t.render(messages, TOOLS, **options)
    if outcome.text is None:
        raise RefusedError(outcome.error)
    return outcome.text


def canonical(t: Target, messages: Sequence[Any], turn: dict[str, Any], **options: Any) -> Held:
    """The prompt of a history, and `turn` as a model that follows the template to the byte would generate it.

    The text of the turn is what the template itself writes while the turn is the last message; what the prompt gives
    the turn is taken off it.
    """
    prompt = rendered(t, messages, **options)
    given = t.gen_prefix(prompt)
    text = rendered(t, [*messages, turn], **options, add_generation_prompt=False)
    at = text.rfind(ASSISTANT)
    if at < 0:
        raise RefusedError("the assistant's turn has no header")
    body = text[at + len(ASSISTANT) :]
    body = body[: body.find("<|im_end|>") + len("<|im_end|>")] if "<|im_end|>" in body else body
    if body.startswith(given):
        body = body[len(given) :]
    elif given and body.startswith("<think>"):  # a block of its own where the prompt gave another one
        body = body.partition("</think>")[2].lstrip("\n")
    elif given and "</think>" not in given:  # the block is never written: the model closes what the prompt opened
        body = f"{turn.get('reasoning_content', '')}\n</think>\n\n{body}"
    starts = [len(prompt)]
    for place, message in enumerate(messages):
        if message["role"] == "assistant":
            before = rendered(t, messages[:place], **options)
            if prompt.startswith(before.removesuffix(t.gen_prefix(before))):
                starts.insert(len(starts) - 1, len(before))
    return Held(prompt, body, tuple(starts))


def loss(held: Held, after: str, encode: Encode | None = None) -> Loss:
    """What of the held text the next prompt `after` cannot use."""
    text = held.text
    at = common_prefix(text, after)
    lost_tokens = None
    if encode is not None:
        before = [*encode(held.prompt), *encode(held.turn)]
        same = common_prefix(before, list(encode(after)))
        lost_tokens = len(before) - same
    if at == len(text):
        return Loss(None, 0, 0.0, lost_tokens)
    ends = (*held.turns[1:], len(text))
    start = next(start for start, end in zip(held.turns, ends, strict=True) if at < end)
    offset = len(text[start:at].encode()) if at >= start else -len(text[at:start].encode())
    lost = len(text[at:].encode())
    return Loss(offset, lost, min(1.0, lost / (len(held.turn.encode()) or 1)), lost_tokens)


def turn(content: str = "", reasoning: str = "", calls: Sequence[Any] = ()) -> dict[str, Any]:
    """An assistant message."""
    made: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning:
        made["reasoning_content"] = reasoning
    if calls:
        made["tool_calls"] = list(calls)
    return made


def echoed(t: Target, message: dict[str, Any], held: Held) -> dict[str, Any]:
    """A turn as the client sends it back; where the template takes the raw turn, with it."""
    if "raw" not in t.splices:
        return message
    closed = "im_end" if held.turn.endswith("<|im_end|>") else "none"
    return {**message, "raw": held.turn, "gen_prefix": t.gen_prefix(held.prompt), "closed": closed}


_ONE = [call({"city": "Oslo"}, id="c1")]
_TWO = [*_ONE, call({"city": "Bergen"}, id="c2")]
_OFF = {"enable_thinking": False}

SHAPES: tuple[tuple[str, list[dict[str, Any]], dict[str, Any], list[dict[str, Any]], dict[str, Any]], ...] = (
    ("answer → user, reasoning echoed", [USER], turn(ANSWER, THOUGHT), [NEXT], {}),
    ("answer → user, thinking off", [USER], turn(ANSWER), [NEXT], _OFF),
    ("call → tool, reasoning echoed", [USER], turn("", THOUGHT, _ONE), [RESULT], {}),
    ("text + call → tool, reasoning echoed", [USER], turn(TEXT, THOUGHT, _ONE), [RESULT], {}),
    ("call → tool, thinking off", [USER], turn("", "", _ONE), [RESULT], _OFF),
    ("text + call → tool, thinking off", [USER], turn(TEXT, "", _ONE), [RESULT], _OFF),
    (
        "two calls → tools", [USER], turn("", THOUGHT, _TWO),
        [RESULT, {"role": "tool", "content": "snow", "tool_call_id": "c2"}], {},
    ),
    ("call, tool, answer → user", [USER, turn("", THOUGHT, _ONE), RESULT], turn(ANSWER, THOUGHT), [NEXT], {}),
)  # fmt: skip
"""Name, history, generated turn, what comes next, options."""


def check_shapes(t: Target, encode: Encode | None = None) -> tuple[Shape, ...]:
    """Every shape with what it loses."""
    found = []
    for name, messages, made, new, options in SHAPES:
        if made.get("tool_calls") and t.dialect is None:
            found.append(Shape(name, None, "the template writes no calls"))
            continue
        try:
            chosen = options or t.thinking
            held = canonical(t, messages, made, **chosen)
            after = rendered(t, [*messages, echoed(t, made, held), *new], **chosen)
            found.append(Shape(name, loss(held, after, encode)))
        except RefusedError as error:
            found.append(Shape(name, None, str(error)))
    return tuple(found)
