"""One parser behind the two classes that hosts want: one for reasoning, one for what follows.

A host feeds its reasoning class first and its tool class afterwards. Both share a `Joint`: whichever is fed feeds the
parser, each takes its part of what came out, and what the other side must say waits. Nothing is read twice and no text
is accumulated.
"""

from __future__ import annotations

from collections.abc import Callable

from .._core import DeltaParser
from .._events import Delta
from ..formats import State, Stop
from .pieces import CallPiece, CallPieces, replaced

IN_REASONING = (State.START, State.REASONING)


class Joint:
    """A completion being read. The parser is made when the first text comes, so that both sides can say what they know.

    `make` makes the parser; it is called once.
    """

    __slots__ = (
        "_answer", "_calls", "_make", "_parser", "_pieces", "_thought", "ended_in_reasoning", "stop", "waiting",
    )  # fmt: skip

    def __init__(self, make: Callable[[], DeltaParser]) -> None:
        self._make = make
        self._parser: DeltaParser | None = None
        self._pieces: CallPieces | None = None
        self._thought: list[str] = []
        self._answer: list[str] = []
        self._calls: list[CallPiece] = []
        self.stop: Stop = "none"
        """How the completion ended, as far as the host has shown it."""
        self.waiting = False
        """One side has fed it, the other has not fetched its part yet."""
        self.ended_in_reasoning = False

    @property
    def started(self) -> bool:
        return self._parser is not None

    @property
    def parser(self) -> DeltaParser:
        parser = self._parser
        if parser is None:
            parser = self._parser = self._make()
            self._pieces = CallPieces(parser)
        return parser

    @property
    def in_reasoning(self) -> bool:
        """A thought may still come, or goes on."""
        return self.parser.state in IN_REASONING

    @property
    def closed(self) -> bool:
        return self._parser is not None and self._parser.closed is not None

    @property
    def empty(self) -> bool:
        """Nothing waits for either side."""
        return not (self._thought or self._answer or self._calls)

    def feed(self, text: str) -> None:
        delta = (self._parser or self.parser).feed(text)
        if delta is not None:
            self._add(delta)

    def close(self) -> None:
        """The end. May be called by both sides."""
        parser = self.parser
        if parser.closed is None:
            self.ended_in_reasoning = parser.state in IN_REASONING
            delta = parser.close(stop=self.stop)
            if delta is not None:
                self._add(delta)

    def _add(self, delta: Delta) -> None:
        if delta.reasoning:
            self._thought.append(replaced(delta.reasoning))
        if delta.content:
            self._answer.append(replaced(delta.content))
        if delta.calls:
            self._calls += self._pieces.feed(delta.calls)  # type: ignore[union-attr]  # made with the parser

    def take_reasoning(self) -> str:
        return _taken(self._thought) if self._thought else ""

    def take_answer(self) -> tuple[str, list[CallPiece]]:
        """Content and pieces of calls that wait."""
        calls = self._calls
        if calls:
            self._calls = []
        return (_taken(self._answer) if self._answer else ""), calls


def _taken(parts: list[str]) -> str:
    text = "".join(parts)
    parts.clear()
    return text
