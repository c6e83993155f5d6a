"""Adapters around other parsers of Qwen output: each runs its program's own code the way its own server does.

An adapter has `stream(turn, pieces) -> Parsed` (everything a client would get, put together) and `drop(turn, pieces)`
(the same calls per token, results thrown away). Making an adapter imports its program: `ImportError` if it is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from benchmarks.corpus import TOOLS, Turn

Pieces = Sequence[str]
"""The text of each token, as an incremental UTF-8 decoder gives it ('' inside a character)."""


@dataclass
class Parsed:
    """What a client gets of one turn; arguments as Python values."""

    reasoning: str | None
    content: str | None
    calls: list[tuple[str, Any]]


@dataclass(frozen=True)
class Score:
    """Share of turns that are right."""

    calls: float
    text: float
    whole: float
    raised: int


class Adapter(ABC):
    """One program. Making one imports it."""

    name: ClassVar[str]
    what: ClassVar[str]
    """What it streams of a call."""
    requires: ClassVar[str]
    """Distribution whose version is shown."""
    unit: ClassVar[Literal["text", "ids"]]
    """`text`: one piece of text per token; `ids`: the whole completion as ids."""

    @abstractmethod
    def stream(self, turn: Turn, pieces: Any) -> Parsed: ...

    @abstractmethod
    def drop(self, turn: Turn, pieces: Any) -> None: ...


def same_value(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and True are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same_value(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same_value, a, b))
    return bool(a == b)


def right_calls(turn: Turn, parsed: Parsed) -> bool:
    return len(turn.calls) == len(parsed.calls) and all(
        name == other and same_value(arguments, values)
        for (name, arguments), (other, values) in zip(turn.calls, parsed.calls, strict=True)
    )


def right_text(turn: Turn, parsed: Parsed, *, exact: bool = False) -> bool:
    """Reasoning and content equal; without `exact` after stripping, which is lenient to parsers that keep layout."""
    if exact:
        return (turn.reasoning, turn.content) == (parsed.reasoning, parsed.content)
    return ((turn.reasoning or "").strip(), (turn.content or "").strip()) == (
        (parsed.reasoning or "").strip(),
        (parsed.content or "").strip(),
    )


def score(adapter: Adapter, turns: Sequence[Turn], pieces: Sequence[Any], *, exact: bool = False) -> Score:
    """Runs each turn once. A turn whose parser raises is wrong."""
    calls = text = whole = raised = 0
    for turn, data in zip(turns, pieces, strict=True):
        try:
            parsed = adapter.stream(turn, data)
        except Exception:
            raised += 1
            continue
        c, t = right_calls(turn, parsed), right_text(turn, parsed, exact=exact)
        calls, text, whole = calls + c, text + t, whole + (c and t)
    n = len(turns)
    return Score(calls / n, text / n, whole / n, raised)


def prompt_tail(turn: Turn) -> str:
    """The end of the prompt that the completion goes on from."""
    thought = {"reasoning": "<think>\n", "content": "<think>\n\n</think>\n\n", "auto": ""}[turn.start]
    return "<|im_start|>assistant\n" + ("" if turn.format == "qwen3-coder" else thought)


def is_xml(turn: Turn) -> bool:
    return turn.format.startswith(("qwen3.", "qwen3-coder"))


def adapters() -> tuple[type[Adapter], ...]:
    """All peers."""
    from .mlx import MlxLm
    from .renderer import Renderers
    from .sglang import SGLang
    from .transformer import Transformers

    return MlxLm, SGLang, Transformers, Renderers


NOT_RUN = {
    "vLLM": "its wheel needs torch and a GPU build",
    "llama.cpp": "llama-cpp-python is a source build of the whole engine",
    "vllm-mlx, rapid-mlx": "they overwrite each other's package, and refuse the newest mlx-lm",
}
"""Peers that are known, and why they are not in the table."""

__all__ = ["NOT_RUN", "TOOLS", "Adapter", "Parsed", "Score", "adapters", "is_xml", "prompt_tail", "score"]
