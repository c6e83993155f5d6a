"""A finished completion for the non-streamed shapes: a `Turn`, or what `collect` read with either parser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..formats import Stop
from .pieces import ENDED, CallPieces, DeltaSource, joined


class AnswerCall(Protocol):
    @property
    def index(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    @property
    def arguments_json(self) -> str: ...


class Answer(Protocol):
    """What the non-streamed shapes are made of. `Turn` is one."""

    @property
    def reasoning(self) -> str | None: ...
    @property
    def content(self) -> str | None: ...
    @property
    def tool_calls(self) -> Sequence[AnswerCall]: ...
    @property
    def cut_call(self) -> object | None: ...


class CollectedCall:
    """A call with its JSON text, complete or not."""

    __slots__ = ("arguments_json", "complete", "id", "index", "name")

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.arguments_json = ""
        self.complete = False


class Collected:
    """A completion read with `collect`; the fields of a `Turn` that clients see."""

    __slots__ = ("calls", "content", "cut", "reasoning")

    def __init__(self, reasoning: str | None, content: str | None, calls: Sequence[CollectedCall], cut: bool) -> None:
        self.reasoning = reasoning
        self.content = content
        self.calls = tuple(calls)
        self.cut = cut

    @property
    def tool_calls(self) -> tuple[CollectedCall, ...]:
        """The complete calls."""
        return tuple(call for call in self.calls if call.complete)

    @property
    def cut_call(self) -> CollectedCall | str | None:
        """The call the input ended in; `""` if its name had not come."""
        if not self.cut:
            return None
        return self.calls[-1] if self.calls and not self.calls[-1].complete else ""


def collect(
    parser: DeltaSource, data: Iterable[Any], finish_reason: str | None = None, *, stop: Stop | None = None
) -> Collected:
    """Feeds every piece of `data` (text or bytes) and closes; arguments as for `Stream.close`.

    >>> import qwenparse
    >>> collect(qwenparse.DeltaParser("qwen3.5"), ["Hm.\\n</th", "ink>\\n\\nHi"], "stop").content
    'Hi'
    """
    pieces = CallPieces(parser)
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[CollectedCall] = []
    texts: list[list[str]] = []
    cut = False
    ended = stop or ("im_end" if finish_reason in ENDED else "none")
    for delta in (*map(parser.feed, data), parser.close(stop=ended)):
        if delta is None:
            continue
        reasoning.append(delta.reasoning or "")
        content.append(delta.content or "")
        for piece in pieces.feed(delta.calls):
            if piece.name is not None:
                calls.append(CollectedCall(piece.index, piece.id or "", piece.name))
                texts.append([])
            texts[-1].append(piece.arguments)
            if piece.complete is not None:
                calls[-1].complete = piece.complete
        cut = cut or pieces.cut(delta)
    for call, parts in zip(calls, texts, strict=True):
        call.arguments_json = "".join(parts)
    return Collected(joined("".join(reasoning)) or None, joined("".join(content)) or None, calls, cut)


def outcome(answer: Answer, finish_reason: str | None) -> str:
    """The rule of `Stream.outcome`, for a finished completion."""
    if answer.tool_calls:
        return "tool_calls"
    if answer.cut_call is not None:
        return "length"
    return "stop" if finish_reason is None else finish_reason
