"""Checks of the parser's promises, for this project's tests and fuzzers and for those of its users.

`check` runs every invariant over one input and several cuttings; an `AssertionError` is a bug of the parser.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import _events
from ._core import DeltaParser, Parser, parse
from ._events import (
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    ContentDelta,
    Delta,
    Event,
    Issue,
    Markup,
    ReasoningDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ._grammar import Grammar, crossover, mutate
from .formats import WINDOW, Stop
from .turn import Turn, render
from .utf8 import to_bytes
from .values import ArgumentsJSON

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "HELD_LIMIT", "Accumulated", "Grammar", "check", "check_values", "completions", "crossover", "damaged", "mutate",
    "normalize", "splits",
]  # fmt: skip

Data = TypeVar("Data", str, bytes)

HELD_LIMIT = 3 * WINDOW + 300
"""Code points that a parser may hold, but for a JSON call whose name has not come."""


def splits(data: Data, *, seed: int = 0, random_cuts: int = 2) -> Iterator[list[Data]]:
    """Ways to cut `data`: whole, one by one, and at random with that seed. Joined, each gives `data`."""
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    rng = random.Random(seed)
    for _ in range(random_cuts):
        size = rng.choice((2, 3, 4, 8, 30))
        cuts: list[Data] = []
        at = 0
        while at < len(data):
            step = rng.randint(1, size)
            cuts.append(data[at : at + step])
            at += step
        yield cuts


def _merged_key(event: Event) -> tuple[Any, ...] | None:
    if isinstance(event, (ReasoningDelta, ContentDelta)):
        return (type(event),)
    if isinstance(event, ArgumentDelta):
        return ArgumentDelta, event.index
    if isinstance(event, Markup):
        return Markup, event.kind
    return None


def normalize(events: Iterable[Event]) -> list[Event]:
    """The events with neighbours of one kind merged: the same for every cutting of the input."""
    merged: list[Event] = []
    for event in events:
        key = _merged_key(event)
        if merged and key is not None and key == _merged_key(merged[-1]):
            last = merged[-1]
            raw = last.raw + event.raw
            if isinstance(event, ArgumentDelta) and isinstance(last, ArgumentDelta):
                text = last.text + event.text
                merged[-1] = _events._make(ArgumentDelta, raw, last.start, last.index, None if text == raw else text, None)
            else:
                merged[-1] = _events._make(type(event), raw, last.start, 0, getattr(event, "kind", None), None)
        else:
            merged.append(event)
    return merged


class Accumulated:
    """What a client has after some events or deltas: nothing in it ever shrinks."""

    def __init__(self, parser: Parser | DeltaParser) -> None:
        self.reasoning = ""
        self.content = ""
        self.calls: list[dict[str, Any]] = []
        self.issues: list[Issue] = []
        self._json = ArgumentsJSON(parser.tools, max_held=parser.max_held)

    def add(self, result: Sequence[Event] | Delta | None) -> None:
        """The result of one call of `feed` or `close`."""
        if result is None:
            return
        if isinstance(result, Delta):
            self.reasoning += result.reasoning or ""
            self.content += result.content or ""
            self.issues += result.issues
            result = result.calls
        for event in result:
            self._event(event)

    def _event(self, event: Event) -> None:
        if isinstance(event, ReasoningDelta):
            self.reasoning += event.text
        elif isinstance(event, ContentDelta):
            self.content += event.text
        elif isinstance(event, Issue):
            self.issues.append(event)
        elif isinstance(event, ToolCallStart):
            assert event.index == len(self.calls), "calls are numbered in order"
            self.calls.append({"name": event.name, "id": event.id, "recorded": [], "complete": False, "json": ""})
        elif isinstance(event, ArgumentStart):
            self.calls[event.index]["recorded"].append([event.name, "", False])
        elif isinstance(event, ArgumentDelta):
            self.calls[event.index]["recorded"][-1][1] += event.text
        elif isinstance(event, ArgumentEnd):
            self.calls[event.index]["recorded"][-1][2] = event.closed
        elif isinstance(event, ToolCallEnd):
            self.calls[event.index]["complete"] = event.complete
        if not isinstance(event, (Markup, Issue, ReasoningDelta, ContentDelta)):
            self.calls[-1]["json"] += self._json.feed(event)

    def same_as(self, turn: Turn) -> None:
        """Asserts that this is what the turn says."""
        assert self.reasoning == (turn.reasoning or "")
        assert self.content == (turn.content or "")
        assert [i for i in self.issues] == list(turn._issues)
        assert len(self.calls) == len(turn.calls)
        for mine, call in zip(self.calls, turn.calls, strict=True):
            assert (mine["name"], mine["id"], mine["complete"]) == (call.name, call.id, call.complete)
            assert [tuple(a) for a in mine["recorded"]] == list(call.arguments_recorded)
            assert mine["json"] == call.arguments_json


def check_values(turn: Turn) -> None:
    """The argument JSON of every complete call is valid and says what `arguments` says."""
    for call in turn.calls:
        assert isinstance(call.arguments, dict)
        assert isinstance(call.literals, dict)
        assert isinstance(call.clean, bool)
        if call.complete:
            read = json.loads(call.arguments_json)
            assert read == call.arguments or _beyond_limits(call.arguments_json), (call.arguments_json, call.arguments)
    turn.message()


def _beyond_limits(text: str) -> bool:
    # Numbers of thousands of digits and very deep nesting are kept as their source (values, module docstring).
    return len(text) > 1000


def check(
    data: str | bytes,
    format: str,
    *,
    stop: Stop = "none",
    seed: int = 0,
    random_cuts: int = 2,
    every_prefix: bool = False,
    make: Callable[..., Any] | None = None,
    **settings: Any,
) -> Turn:
    """Asserts the invariants of one completion under every way of feeding it; returns the turn.

    `settings` are those of `Parser`. `every_prefix` also closes a copy after every piece: quadratic.
    """
    text = data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")
    turn = parse(text, format, stop=stop, **settings)
    closing = turn.raw[len(text) :]
    assert turn.raw == text + closing
    assert render(turn) == turn.raw, "the regions cover the text"
    at = 0
    for span in turn.spans:
        assert span.start == at < span.end
        at = span.end
    check_values(turn)
    # Bytes that happen to be UTF-8 only when joined cannot be told from text, so bytes are cut from the bytes given.
    raw = data if isinstance(data, bytes) else to_bytes(data)
    inputs: list[Any] = list(splits(text, seed=seed, random_cuts=random_cuts))
    if raw.decode("utf-8", "surrogateescape") == text:
        inputs += splits(raw, seed=seed + 1, random_cuts=random_cuts)
    expected: list[Event] | None = None
    for cuts in inputs:
        events = _check_events(cuts, format, turn, stop, every_prefix, settings)
        if expected is None:
            expected = events
        assert events == expected, "the events do not depend on the cutting"
        _check_deltas(cuts, format, turn, stop, settings)
    return turn


def _check_events(
    cuts: Sequence[Any], format: str, turn: Turn, stop: Stop, every_prefix: bool, settings: dict[str, Any]
) -> list[Event]:
    parser = Parser(format, **settings)
    accumulated = Accumulated(parser)
    events: list[Event] = []
    at = 0
    for piece in cuts:
        got = parser.feed(piece)
        events += got
        accumulated.add(got)
        assert parser.position - len(parser.held) == events[-1].end if events else not parser.position - len(parser.held)
        if every_prefix:
            accumulated.same_as(parser.turn)
            _check_prefix(parser, events, format, stop, settings)
    got = parser.close(stop=stop)
    events += got
    accumulated.add(got)
    assert parser.held == "" and parser.held_bytes == b""
    assert tuple(parser.close()) == ()
    for event in events:
        assert event.start == at and event.end == at + len(event.raw), "regions are contiguous"
        at = event.end
    assert "".join(e.raw for e in events) == turn.raw
    accumulated.same_as(parser.turn)
    assert parser.turn == turn and parser.turn._issues == turn._issues
    assert (parser.turn.complete, parser.turn.cut_call) == (turn.complete, turn.cut_call)
    return normalize(events)


def _check_prefix(parser: Parser, events: list[Event], format: str, stop: Stop, settings: dict[str, Any]) -> None:
    """What was reported and what is held depend on the prefix alone."""
    text = parser.turn.raw
    whole = Parser(format, **settings)
    once = list(whole.feed(text))
    assert normalize(once) == normalize(events)
    assert whole.held == parser.held and len(parser.held) <= max(HELD_LIMIT, parser.max_held)
    assert whole.state == parser.state
    copy = parser.copy()
    rest: list[Event] = list(copy.close(stop=stop))
    if not parser.held_bytes:
        assert copy.turn == parse(text, format, stop=stop, **settings)
    assert normalize(events + rest) == normalize(once + list(_closed(whole, parser, stop)))


def _closed(whole: Parser, parser: Parser, stop: Stop) -> Sequence[Event]:
    if parser.held_bytes:
        return parser.copy().close(stop=stop)
    return whole.close(stop=stop)


def _check_deltas(cuts: Sequence[Any], format: str, turn: Turn, stop: Stop, settings: dict[str, Any]) -> None:
    parser = DeltaParser(format, **settings)
    accumulated = Accumulated(parser)
    for piece in cuts:
        accumulated.add(parser.feed(piece))
    accumulated.add(parser.close(stop=stop))
    accumulated.same_as(parser.turn)
    assert parser.turn == turn


def completions(mischief: float = 0.12) -> SearchStrategy[str]:
    """A Hypothesis strategy for near-valid completions; `mischief` is the probability of a fault at each place."""
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(lambda rng: Grammar(rng, mischief).completion())


def damaged(mischief: float = 0.12) -> SearchStrategy[bytes]:
    """A Hypothesis strategy for completions as bytes with a tag, a `>` or a newline dropped, a call doubled, cut or
    spliced; broken UTF-8 among them."""
    from hypothesis import strategies as st

    def make(rng: random.Random) -> bytes:
        return mutate(rng, Grammar(rng, mischief).completion().encode("utf-8", "surrogatepass"))

    return st.randoms(use_true_random=False).map(make)
