"""A recorded turn through a server: read, sent back by a client as a message, rendered again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .._core import Parser
from ..errors import FormatError
from ..formats import ENDOFTEXT, IM_END, Policy, Stop, get_format
from ..ollama.replay import replay as replay_by_ollama
from ..prompt import Prompt, render_prompt
from ..splice import raw_of
from .comparison import explain
from .corpus import Case

if TYPE_CHECKING:
    from ..turn import Turn

QUESTION: Sequence[Mapping[str, Any]] = ({"role": "user", "content": "…"},)
_TEMPLATES = {
    "qwen2.5": "qwen3-instruct-2507", "qwq": "qwen3", "qwen3-thinking-2507": "qwen3", "qwen3-vl-thinking": "qwen3-vl",
}  # fmt: skip
_RENDERERS = {"qwen3": "qwen3-vl-instruct", "qwen3-thinking": "qwen3-vl-thinking"}
"""The reference's renderer behind a parser where their names differ."""


@dataclass(frozen=True)
class Recording:
    """A turn as it was recorded. Only `raw` and a format are needed; the rest is what a plain conversation would have."""

    raw: str
    """As generated; a stop token at its end counts as one."""
    format: str
    name: str = "turn"
    messages: Sequence[Mapping[str, Any]] = QUESTION
    tools: Sequence[Mapping[str, Any]] | None = None
    stop: Stop | None = None
    prompt: str | None = None
    """As the engine got it; None: rendered."""
    gen_prefix: str | None = None
    """What the prompt gives the turn, where that is all that is known of it."""
    new_messages: Sequence[Mapping[str, Any]] | None = None
    next_prompt: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    next_options: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any], *, name: str, format: str | None = None) -> Recording:
        """From a row of a JSON Lines file. Raises `FormatError` where the text or the format is missing."""
        pieces = row.get("pieces")
        raw = row.get("raw", row.get("text", "".join(pieces) if isinstance(pieces, list) else None))
        chosen = format or row.get("format") or row.get("template")
        if not isinstance(raw, str):
            raise FormatError(f'{name}: a turn has "raw", "text" or "pieces"')
        if chosen is None:
            raise FormatError(f"{name}: which format? give --format NAME")
        stop = row.get("stop")
        if stop is None and isinstance(row.get("closed"), str):
            stop = row["closed"]
        if stop not in (None, "im_end", "other_stop", "none"):
            raise FormatError(f"{name}: unknown stop {stop!r}")
        return cls(
            raw, get_format(chosen).name, str(row.get("name") or name), row.get("messages") or QUESTION,
            row.get("tools"), stop, row.get("prompt"), row.get("gen_prefix"), row.get("new_messages"),
            row.get("next_prompt"), row.get("kwargs") or {}, row.get("kwargs_next"),
        )  # fmt: skip


def replay(
    given: Recording,
    *,
    mode: str = "lossless",
    template: str | os.PathLike[str] | None = None,
    robust: bool = False,
    policy: Policy | None = None,
    cut: int | None = None,
    tokenizer: Any = None,
) -> Case:
    """What becomes of a recorded turn in the next prompt.

    `mode`: `"lossless"` reads it with this package's parser and renders the message natively, by `robust` or by
    `template` (a path object or source); `"ollama:NAME"` sends it through that parser of Ollama, `cut` bytes at a time
    (None: whole), and its renderer. A recorded `next_prompt` is taken as it is. Raises `FormatError` for unknown names,
    `TemplateError` as `render_prompt`.
    """
    format = get_format(given.format)
    settings: dict[str, Any] = {"tools": given.tools, "policy": policy}
    if mode.startswith("ollama:"):
        return _by_ollama(given, mode.partition(":")[2], cut, settings, tokenizer)
    if mode != "lossless":
        raise FormatError(f"mode {mode!r}: it takes lossless or ollama:NAME")
    name = format.name if format.renderer or template is not None else _TEMPLATES[format.name]
    how: dict[str, Any] = {"tools": given.tools, "template": template, "robust": robust}
    how["normalize"] = None if robust else "openai"  # the robust policy keeps the spelling that JSON text has
    prompt = given.prompt
    if prompt is None:
        prompt = render_prompt(given.messages, name, **how, **given.options).text
        if given.gen_prefix is not None:
            header = prompt.rfind("<|im_start|>assistant\n")
            prompt = prompt[: header + len("<|im_start|>assistant\n")] + given.gen_prefix
    turn = _read(given, prompt, settings)
    after = given.next_prompt
    if after is None:
        history = [*given.messages, turn.message(), *_following(given, turn)]
        options = given.options if given.next_options is None else given.next_options
        after = render_prompt(history, name, **how, **options).text
    return _case(given, prompt, turn, after, tokenizer)


def _read(given: Recording, prompt: str, settings: Mapping[str, Any]) -> Turn:
    raw, stop = given.raw, given.stop
    for token, kind in ((IM_END, "im_end"), (ENDOFTEXT, "other_stop")):
        if raw.endswith(token) and stop in (None, kind):
            raw, stop = raw[: -len(token)], cast(Stop, kind)
    parser = Parser.for_prompt(prompt, format=given.format, **settings)
    parser.feed(raw)
    parser.close(stop=stop or "none")
    return parser.turn


def _following(given: Recording, turn: Turn) -> Sequence[Mapping[str, Any]]:
    if given.new_messages is not None:
        return given.new_messages
    return [{"role": "tool", "tool_call_id": call.id, "content": "…"} for call in turn.tool_calls] or QUESTION


def _by_ollama(given: Recording, name: str, cut: int | None, settings: Mapping[str, Any], tokenizer: Any) -> Case:
    think = given.options.get("enable_thinking")
    prompt = replay_by_ollama(name, _RENDERERS.get(name, name), given.messages, given.tools, think, "").prompt
    turn = _read(given, prompt, settings)
    text = turn.raw[: next((s.start for s in turn.spans if s.kind == "stop"), len(turn.raw))]
    again = replay_by_ollama(
        name, _RENDERERS.get(name, name), given.messages, given.tools, think, text, cut, new_messages=_following(given, turn)
    )
    return _case(given, prompt, turn, again.next_prompt, tokenizer)


def _case(given: Recording, prompt: str, turn: Turn, after: str, tokenizer: Any) -> Case:
    drift = explain(Prompt(prompt, given.format), after, turn=turn, tokenizer=tokenizer)
    return Case(given.name, prompt + raw_of(turn), after, len(prompt), drift)
