"""`explain` never raises, and is never wrong about the place of the first difference.

The prompt before is a fixed head and the input; the prompt after is the same with one mutation, or rendered again from
the message a client got, or untouched; and perhaps more messages behind it.
"""

from __future__ import annotations

import random

from fuzz.checks import read, whole
from fuzz.settings import TOOLS, Settings, settings
from qwenparse import render_prompt
from qwenparse._grammar import mutate
from qwenparse.drift import CAUSES, explain
from qwenparse.errors import TemplateError
from qwenparse.utf8 import to_bytes

NATIVE = True
BYTECODE = ("qwenparse.drift",)
MIN_EDGES = 1800

HEAD = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
TAILS = ("", "<|im_end|>", "<|im_end|>\n<|im_start|>user\nMore.<|im_end|>\n<|im_start|>assistant\n<think>\n")


def first_difference(one: bytes, two: bytes) -> int | None:
    """The first byte of `one` that `two` does not begin with; None if it begins with all of them."""
    if two.startswith(one):
        return None
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == two[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def one(data: bytes) -> None:
    """`data`: header and the generated turn."""
    s, body = settings(data)
    rng = random.Random(s.cut * 65537 + len(body))
    head = HEAD + ("<think>\n" if s.start != "content" else "")
    before = head + read(body) + ("<|im_end|>" if s.stop == "im_end" else "")
    after = _after(s, body, head, rng) + rng.choice(TAILS)
    turn = rng.choice((None, len(head), len(head)))
    drift = explain(before, after, turn=turn, format=rng.choice((s.format, s.format, None)), tools=TOOLS[s.tools])
    expected = first_difference(to_bytes(before), to_bytes(after))
    assert drift.first_diff_byte == expected, f"{drift}, but the first difference is at {expected}"
    assert drift.cause in CAUSES and all(cause in CAUSES for cause in drift.later)
    assert bool(drift) == (expected is not None), str(drift)
    if expected is not None and turn is not None:
        assert drift.first_diff_byte_in_turn == expected - len(to_bytes(head))
    assert str(drift) and drift.text() and drift.as_dict()["cause"] == drift.cause


def _after(s: Settings, body: bytes, head: str, rng: random.Random) -> str:
    way = rng.randrange(4)
    if way == 0:
        return head + read(body)
    if way == 1:
        return read(mutate(rng, to_bytes(head) + body))
    if way == 2:
        return head + read(mutate(rng, body, changes=1))
    turn = whole(s, body)
    messages = [{"role": "user", "content": "Hi"}, turn.message()]
    try:
        return render_prompt(messages, "qwen3.6", add_generation_prompt=False, normalize="openai").text
    except TemplateError:
        return head
