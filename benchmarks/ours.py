"""qwenparse as rows of the table: the same interface as the adapters around other parsers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import real_tokenizers

import qwenparse
from qwenparse import ContentDelta, Issue, Markup, ReasoningDelta, ToolCallStart
from qwenparse.schema import ToolSet
from qwenparse.values import ArgumentsJSON

from .corpus import TOOLS, Turn
from .peers import Adapter, Parsed

TOOLSET = ToolSet.of(TOOLS)


def parser_of(turn: Turn, cls: Any = None, **options: Any) -> Any:
    """A parser for that turn, as a server makes one: tools prepared once, start state known."""
    return (cls or qwenparse.Parser)(turn.format, tools=TOOLSET, start=turn.start, **options)


class _Client:
    """Puts together what a client of a streaming server gets: text, and the JSON pieces of each call."""

    def __init__(self) -> None:
        self.reasoning: list[str] = []
        self.content: list[str] = []
        self.calls: list[tuple[str, list[str]]] = []
        self.pieces = ArgumentsJSON(TOOLSET)

    def take(self, events: Iterable[Any]) -> None:
        for event in events:
            kind = type(event)
            if kind is ContentDelta:
                self.content.append(event.text)
            elif kind is ReasoningDelta:
                self.reasoning.append(event.text)
            elif kind is not Markup and kind is not Issue:
                self.take_call(event)

    def take_call(self, event: Any) -> None:
        if type(event) is ToolCallStart:
            self.calls.append((event.name, []))
        piece = self.pieces.feed(event)
        if piece:
            self.calls[-1][1].append(piece)

    def parsed(self) -> Parsed:
        calls = [(name, json.loads("".join(pieces))) for name, pieces in self.calls]
        return Parsed("".join(self.reasoning) or None, "".join(self.content) or None, calls)


class Events(Adapter):
    """`Parser.feed(str)`: every event looked at, arguments as streamed JSON."""

    name = "qwenparse"
    what = "by token"
    requires = "qwenparse"
    unit = "text"

    def stream(self, turn: Turn, pieces: Sequence[str]) -> Parsed:
        parser, client = parser_of(turn, record=False), _Client()
        feed, take = parser.feed, client.take
        for piece in pieces:
            events = feed(piece)
            if events:
                take(events)
        take(parser.close(stop="im_end"))
        return client.parsed()

    def drop(self, turn: Turn, pieces: Sequence[str]) -> None:
        parser = parser_of(turn, record=False)
        feed = parser.feed
        for piece in pieces:
            feed(piece)
        parser.close(stop="im_end")


class Deltas(Adapter):
    """`DeltaParser.feed(str)`: one delta per token, arguments as streamed JSON."""

    name = "qwenparse (deltas)"
    what = "by token"
    requires = "qwenparse"
    unit = "text"

    def stream(self, turn: Turn, pieces: Sequence[str]) -> Parsed:
        parser, client = parser_of(turn, qwenparse.DeltaParser, record=False), _Client()
        feed, reasoning, content = parser.feed, client.reasoning, client.content
        for piece in (*pieces, None):
            delta = parser.close(stop="im_end") if piece is None else feed(piece)
            if delta is not None:
                if delta.reasoning:
                    reasoning.append(delta.reasoning)
                if delta.content:
                    content.append(delta.content)
                for event in delta.calls:
                    client.take_call(event)
        return client.parsed()

    def drop(self, turn: Turn, pieces: Sequence[str]) -> None:
        parser = parser_of(turn, qwenparse.DeltaParser, record=False)
        feed = parser.feed
        for piece in pieces:
            feed(piece)
        parser.close(stop="im_end")


class Ids(Adapter):
    """`Parser.feed_ids`, the whole completion at once, and the clean view of `Parser.turn`."""

    name = "qwenparse (ids, whole)"
    what = "by event"
    requires = "qwenparse"
    unit = "ids"

    def stream(self, turn: Turn, pieces: Sequence[int]) -> Parsed:
        parser = parser_of(turn, tokens=real_tokenizers.table(turn.vocabulary))
        parser.feed_ids(pieces)
        parser.close(stop="im_end")
        read = parser.turn
        return Parsed(read.reasoning, read.content, [(call.name, call.arguments) for call in read.tool_calls])

    def drop(self, turn: Turn, pieces: Sequence[int]) -> None:
        parser = parser_of(turn, tokens=real_tokenizers.table(turn.vocabulary), record=False)
        parser.feed_ids(pieces)
        parser.close(stop="im_end")


OURS: tuple[type[Adapter], ...] = (Events, Deltas, Ids)
