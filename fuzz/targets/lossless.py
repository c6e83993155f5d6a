"""I1, I5: one feed; nothing is raised, and the events join to the input."""

from __future__ import annotations

from fuzz.checks import STOP_TEXT, joined
from fuzz.settings import TOOLSETS, settings
from qwenparse import Parser

NATIVE = True
MIN_EDGES = 1400


def one(data: bytes) -> None:
    """`data`: header and completion. The short way, for speed; `joined` says what is wrong."""
    s, body = settings(data)
    parser = Parser(s.format, tools=TOOLSETS[s.tools], **s.options, record=False)
    events = [*parser.feed(body), *parser.close(stop=s.stop)]
    if "".join([e.raw for e in events]) != body.decode("utf-8", "surrogateescape") + STOP_TEXT[s.stop]:
        joined(s, body)
