"""Stored turns: a blob gives its turn back exactly; any other bytes are refused with `ReplayError`, and nothing else.

Cut byte 0 modulo 4: a turn there and back; 1: one byte of a good blob changed; 2: the seal made to fit again after the
change, so that the reader behind it is reached; 3: the input itself as a sealed payload.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from hashlib import sha256

from fuzz.checks import whole
from fuzz.settings import HEADER, settings
from qwenparse import ReplayError, Turn, render

NATIVE = True
BYTECODE = ("qwenparse.replay",)
MIN_EDGES = 1500

SEAL, PLACE = 16, 4


def sealed(flags: int, payload: bytes) -> bytes:
    """A blob of version 1 around that payload, with the seal of no key."""
    begin = b"QP" + bytes((1, flags))
    return begin + sha256(begin + payload).digest()[:SEAL] + payload


def load(blob: bytes, **key: bytes) -> None:
    """Load; what is accepted must be consistent."""
    try:
        turn = Turn.from_blob(blob, **key)
    except ReplayError:
        return
    assert render(turn) == turn.raw
    again = Turn.from_blob(turn.to_blob())
    assert again == turn and again.digest() == turn.digest()


def one(data: bytes) -> None:
    """`data`: header and completion, or payload."""
    s, body = settings(data)
    what = s.cut & 3
    if what == 3:
        load(sealed(0, body))
        return
    turn = whole(s, body)
    key = body[:8] or b"k"
    blob = turn.to_blob()
    if what == 0:
        _round_trip(turn, blob, key)
        return
    rng = random.Random(s.cut * 65537 + len(body))
    changed = bytearray(blob)
    for _ in range(rng.choice((1, 1, 2, 4))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    if what == 1:
        if bytes(changed) != blob:
            try:
                Turn.from_blob(bytes(changed))
            except ReplayError:
                return
            raise AssertionError("a changed blob was taken")
        return
    payload = blob[PLACE + SEAL :]
    if blob[3] & 2:
        payload = zlib.decompress(payload)
    bent = bytearray(payload)
    for _ in range(rng.choice((1, 2, 5))):
        at = rng.randrange(len(bent))
        bent[at : at + rng.randrange(3)] = bytes(rng.choice(b'0123456789"{}[],:-aefnul\x00\xff') for _ in range(rng.randrange(3)))
    load(sealed(0, bytes(bent)))


def _round_trip(turn: Turn, blob: bytes, key: bytes) -> None:
    signed = turn.to_blob(key=key)
    for made, more in ((blob, {}), (signed, {"key": key})):
        try:
            again = Turn.from_blob(made, **more)
        except ReplayError as error:
            # Text that spells control tokens is refused on purpose.
            assert "<|im_" in turn.raw and "control" in str(error), f"{error}: {turn!r}"
            continue
        assert again == turn and again.raw_bytes == turn.raw_bytes and again.closed == turn.closed
        assert again.spans == turn.spans and again.issues == turn.issues
        assert [c.arguments for c in again.calls] == [c.arguments for c in turn.calls]
        assert again.digest() == turn.digest()
    for wrong in (None, b"wrong" + key):
        try:
            Turn.from_blob(signed, key=wrong)
        except ReplayError:
            continue
        raise AssertionError("a blob was opened with another key")


def seeds() -> Iterator[bytes]:
    """Payloads of real turns."""
    for body in (
        b"Hi",
        b"T.\n</think>\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>",
    ):
        for header in (bytes(HEADER), bytes((0, 1, 0, 1))):
            s, text = settings(header + body)
            blob = whole(s, text).to_blob()
            payload = blob[PLACE + SEAL :]
            yield bytes((0, 0, 0, 3 << 2)) + (zlib.decompress(payload) if blob[3] & 2 else payload)
