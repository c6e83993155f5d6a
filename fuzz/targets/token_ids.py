"""Token ids: any list of them is lossless and cut-independent; tags by id are what the executable specification says.

The table has all bytes, some tokens that cross the borders of tags or of UTF-8 sequences, the four tags, two stops, and
four ids without bytes. How an input becomes ids is a function of the cut byte.
"""

from __future__ import annotations

import random

from fuzz import checks
from fuzz.checks import STOP_TEXT, parser, read
from fuzz.settings import Settings, settings
from qwenparse import render
from qwenparse.tokens import TokenTable

NATIVE = True
MIN_EDGES = 1600

MERGES = [
    b"></",
    b">\n",
    b" </",
    b"\n\n",
    b"</",
    b"<tool",
    b"_call",
    b"=s",
    "天".encode(),
    b"\xa9\xe6",
    b"\xf0\x9f",
    b"ool_call>\n<",
]
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
SPECIALS = {text: 300 + i for i, text in enumerate((*TAGS, "<|im_end|>", "<|endoftext|>"))}
TABLE = TokenTable.from_ranks(
    {bytes([i]): i for i in range(256)} | {piece: 256 + i for i, piece in enumerate(MERGES)}, SPECIALS, vocab_size=310
)
STOPS = {"im_end": SPECIALS["<|im_end|>"], "other_stop": SPECIALS["<|endoftext|>"]}


def tokenize(body: bytes, rng: random.Random) -> list[int]:
    """Ids for `body`: all, some or none of its tags by their own id."""
    share = rng.choice((0.0, 0.5, 1.0, 1.0))
    ids: list[int] = []
    i = 0
    while i < len(body):
        tag = next((t for t in TAGS if body.startswith(t.encode(), i)), None) if body[i] == 60 else None
        if tag and rng.random() < share:
            ids.append(SPECIALS[tag])
            i += len(tag)
            continue
        piece = next((m for m in MERGES if body.startswith(m, i)), None) if rng.random() < 0.7 else None
        ids.append(256 + MERGES.index(piece) if piece else body[i])
        i += len(piece) if piece else 1
    return ids


def one(data: bytes) -> None:
    """`data`: header and completion."""
    s, body = settings(data)
    rng = random.Random(s.cut * 65537 + len(body))
    ids = tokenize(body, rng)
    checks.token_ids(s, ids, TABLE, rng)
    _others(s, ids, read(body), rng)


def _others(s: Settings, ids: list[int], text: str, rng: random.Random) -> None:
    """Ids without bytes give no text; a stop id in the list ends the turn, and what follows is kept."""
    odd = list(ids)
    for _ in range(rng.randrange(3)):
        odd.insert(rng.randrange(len(odd) + 1), rng.choice((306, 307, 309)))
    p = parser(s, tokens=TABLE)
    events = [*p.feed_ids(odd), *p.close(stop=s.stop)]
    assert "".join([e.raw for e in events]) == p.turn.raw == render(p.turn) == text + STOP_TEXT[s.stop]
    stop = rng.choice(("im_end", "other_stop"))
    p = parser(s, tokens=TABLE)
    at = rng.randrange(len(ids) + 1)
    p.feed_ids([*ids[:at], STOPS[stop], *ids[at:]])
    assert p.closed == stop and p.held == ""
    assert p.turn.raw_bytes == TABLE.decode_bytes(ids[:at]) + STOP_TEXT[stop].encode() + TABLE.decode_bytes(ids[at:])
    assert ("trailing" in {x.kind for x in p.turn.spans}) == bool(ids[at:])
    try:
        parser(s, tokens=TABLE).feed_ids([*ids, 310])
    except ValueError:
        pass
    else:
        raise AssertionError("an id outside the table was taken")
