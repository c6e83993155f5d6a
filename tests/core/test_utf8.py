"""Bytes in: every cut inside a character, broken bytes, and the three widths of Python strings."""

from __future__ import annotations

import random

import pytest

import qwenparse
from qwenparse.testing import check

CALL = "<tool_call>\n<function=sh>\n<parameter=cmd>\n{}\n</parameter>\n</function>\n</tool_call>"
WORDS = ("a", "é", "世界", "😀👩‍👩‍👧", "e\u0301", "\ufeff", "\x00", "\r", "\u2028", "\u00a0", "\u3000")


@pytest.mark.parametrize("word", WORDS)
def test_every_cut_inside_a_character(word: str) -> None:
    text = f"{word}\n</think>\n\n{word} x\n\n" + CALL.format(word)
    raw = text.encode()
    whole = qwenparse.parse(text, "qwen3.5")
    for cut in range(len(raw) + 1):
        parser = qwenparse.Parser("qwen3.5")
        parser.feed(raw[:cut])
        parser.feed(raw[cut:])
        parser.close()
        assert parser.turn == whole
    assert whole.calls[0].literals == {"cmd": word}


def test_characters_that_unicode_calls_space_are_text() -> None:
    assert qwenparse.parse("\u00a0\n</think>\n\n\u3000", "qwen3.5").reasoning == "\u00a0"
    assert qwenparse.parse("\u3000", "qwen2.5").content == "\u3000"


def test_text_is_not_normalised() -> None:
    assert qwenparse.parse("e\u0301", "qwen2.5").content == "e\u0301"


@pytest.mark.parametrize("data", [
    b"\xff", b"a\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80\x80 x\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"ok\xe4\xb8<tool",
])  # fmt: skip
def test_broken_bytes_come_back(data: bytes) -> None:
    turn = check(data, "qwen2.5")
    assert turn.raw_bytes == data
    assert {i.code for i in turn.issues} == {"broken-utf8"}


def test_one_issue_for_each_run_of_broken_bytes() -> None:
    turn = qwenparse.parse(b"a\xff\xfeb\xffc\xc3", "qwen2.5")
    assert [(i.code, i.start) for i in turn.issues] == [("broken-utf8", 1), ("broken-utf8", 4), ("broken-utf8", 6)]


def test_broken_bytes_in_a_call_are_the_calls() -> None:
    raw = CALL.format("x").encode().replace(b"x", b"\xff")
    turn = qwenparse.parse(raw, "qwen2.5", tools=None)
    assert [(i.code, i.index) for i in turn.calls[0].issues if i.code == "broken-utf8"] == [("broken-utf8", 0)]
    assert not turn.calls[0].clean


def test_random_broken_bytes() -> None:
    rng = random.Random(7)
    for seed in range(300):
        data = bytes(rng.choice(b"a<\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80\xff\n") for _ in range(rng.randint(0, 20)))
        assert check(data, "qwen3.5", seed=seed).raw_bytes == data


def test_pending_bytes_are_visible() -> None:
    parser = qwenparse.Parser("qwen2.5")
    parser.feed("世".encode()[:2])
    assert (parser.held_bytes, parser.held, parser.position) == ("世".encode()[:2], "", 0)
    parser.feed("世".encode()[2:])
    assert (parser.held_bytes, parser.turn.content) == (b"", "世")


def test_other_lone_surrogates_of_a_str_are_kept() -> None:
    turn = qwenparse.parse("a\ud800b", "qwen2.5")
    assert turn.content == "a\ud800b" and turn.raw_bytes == b"a\xed\xa0\x80b"


def test_any_buffer_is_taken() -> None:
    for data in (b"Hi", bytearray(b"Hi"), memoryview(b"Hi")):
        assert qwenparse.parse(data, "qwen2.5").content == "Hi"


def test_broken_byte_inside_a_variant_of_a_closer() -> None:
    data = b"<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parametero\x80>\n</function>\n</tool_call>"
    events = qwenparse.Parser("qwen3-coder", start="content").feed(data)
    assert "".join(event.raw for event in events).encode("utf-8", "surrogateescape") == data
