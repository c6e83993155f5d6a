"""Event classes: pickling, equality, hash and repr of any event made of any text."""

from __future__ import annotations

import pickle

from qwenparse import (
    ArgumentDelta,
    ArgumentEnd,
    ArgumentStart,
    ContentDelta,
    Delta,
    Event,
    Issue,
    Markup,
    ToolCallStart,
)

NATIVE = True
MIN_EDGES = 250


def one(data: bytes) -> None:
    """Build one event of each shape out of `data`."""
    text = data.decode("utf-8", "surrogateescape")
    start = len(text) * 3
    events: list[Event] = [
        ContentDelta(text, start),
        ToolCallStart(len(text), text, text[:3], start, id="x"),
        ArgumentStart(len(text), text or None, text, start),
        ArgumentDelta(len(text), text, start),
        ArgumentEnd(len(text), bool(text), start),
        Markup("ws", text, start),
        Issue("cut-call", text, start, index=None if text == "x" else len(text)),
    ]
    for event in events:
        assert event.end == event.start + len(event.raw)
        again = pickle.loads(pickle.dumps(event))
        assert again == event and hash(again) == hash(event) and repr(again) == repr(event)
    assert len(set(events)) == len(events)
    delta = Delta(text, None, (ToolCallStart(0, text),), ())
    assert pickle.loads(pickle.dumps(delta)) == delta
