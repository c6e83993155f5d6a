"""qwenparse as rows of the table: the same interface as the adapters around other parsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import real_tokenizers

import qwenparse
from qwenparse import ArgumentDelta, ArgumentEnd, ArgumentStart, ContentDelta, ReasoningDelta, ToolCallStart
from qwenparse.schema import ToolSet

from .corpus import TOOLS, Turn
from .peers import Adapter, Parsed

TOOLSET = ToolSet.of(TOOLS)


def parser_of(turn: Turn, cls: Any = None, **options: Any) -> Any:
    """A parser for that turn, as a server makes one: tools prepared once, start state known."""
    return (cls or qwenparse.Parser)(turn.format, tools=TOOLSET, start=turn.start, **options)


def _of_turn(turn: Any) -> Parsed:
    return Parsed(turn.reasoning, turn.content, [(call.name, call.arguments) for call in turn.tool_calls])


class Events(Adapter):
    """`Parser.feed(str)`: every event looked at, text and literals put together, values from the turn."""

    name = "qwenparse"
    what = "by token"
    requires = "qwenparse"
    unit = "text"

    def stream(self, turn: Turn, pieces: Sequence[str]) -> Parsed:
        parser = parser_of(turn)
        feed, consumer = parser.feed, _Consumer()
        for piece in pieces:
            for event in feed(piece):
                consumer.take(event)
        for event in parser.close(stop="im_end"):
            consumer.take(event)
        parsed = _of_turn(parser.turn)
        assert consumer.reasoning == (parsed.reasoning or "") and consumer.content == (parsed.content or "")
        return parsed

    def drop(self, turn: Turn, pieces: Sequence[str]) -> None:
        parser = parser_of(turn)
        feed = parser.feed
        for piece in pieces:
            feed(piece)
        parser.close(stop="im_end")


class _Consumer:
    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._literals: list[list[str]] = []
        self._calls: list[str] = []

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is ContentDelta:
            self._content.append(event.text)
        elif kind is ReasoningDelta:
            self._reasoning.append(event.text)
        elif kind is ArgumentDelta:
            self._literals[-1].append(event.text)
        elif kind is ArgumentStart:
            self._literals.append([])
        elif kind is ToolCallStart:
            self._calls.append(event.name)
        elif kind is ArgumentEnd:
            pass

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def content(self) -> str:
        return "".join(self._content)


class Deltas(Adapter):
    """`DeltaParser.feed(str)`: one delta per token."""

    name = "qwenparse (deltas)"
    what = "by token"
    requires = "qwenparse"
    unit = "text"

    def stream(self, turn: Turn, pieces: Sequence[str]) -> Parsed:
        parser = parser_of(turn, qwenparse.DeltaParser)
        feed = parser.feed
        reasoning: list[str] = []
        content: list[str] = []
        events: list[Any] = []
        for piece in pieces:
            delta = feed(piece)
            if delta is not None:
                if delta.reasoning:
                    reasoning.append(delta.reasoning)
                if delta.content:
                    content.append(delta.content)
                if delta.calls:
                    events += delta.calls
        parser.close(stop="im_end")
        return _of_turn(parser.turn)

    def drop(self, turn: Turn, pieces: Sequence[str]) -> None:
        parser = parser_of(turn, qwenparse.DeltaParser)
        feed = parser.feed
        for piece in pieces:
            feed(piece)
        parser.close(stop="im_end")


class Ids(Adapter):
    """`Parser.feed_ids`, the whole completion at once."""

    name = "qwenparse (ids, whole)"
    what = "by event"
    requires = "qwenparse"
    unit = "ids"

    def stream(self, turn: Turn, pieces: Sequence[int]) -> Parsed:
        parser = parser_of(turn, tokens=real_tokenizers.table(turn.vocabulary))
        parser.feed_ids(pieces)
        parser.close(stop="im_end")
        return _of_turn(parser.turn)

    def drop(self, turn: Turn, pieces: Sequence[int]) -> None:
        parser = parser_of(turn, tokens=real_tokenizers.table(turn.vocabulary))
        parser.feed_ids(pieces)
        parser.close(stop="im_end")


OURS: tuple[type[Adapter], ...] = (Events, Deltas, Ids)
