"""The linear formulation equals the reference's literal, quadratic state machines for every text and every cut."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ollama_naive import Naive

from qwenparse.ollama import ParseError, Parser
from qwenparse.ollama.gojsontext import UnsupportedValue, dumps

SETTINGS: list[tuple[str, Any, bool]] = [
    ("qwen3-coder", None, False), ("qwen3.5", None, False), ("qwen3.5", False, False), ("qwen3.5", None, True),
    ("qwen3", None, False), ("qwen3-thinking", None, False), ("qwen3-thinking", False, False),
    ("qwen3-vl-instruct", None, False), ("qwen3-vl-thinking", None, False), ("qwen3-vl-thinking", None, True),
]  # fmt: skip

PARTS: list[bytes] = [
    *(b"<tool_call> </tool_call> <think> </think> < </ <t </t <tool_call </tool_call <thin > >l l>".split()),
    b" ", b"\n", b"\n\n", b"\t", b"\r\n", b"\v", b"\x1c", b"\x00", "\u3000".encode(), "\x85".encode(), b"\xa0",
    "\u2028".encode(), b"\xe3", b"\x80", b"\xe3\x80", b"\xc2", b"\xff", b"\xf0\xc2\xa0", b"\xed\xa0\x80", "é".encode(), "😀".encode(),
    b"a", b"text", b"ok.", b"<function=f>", b"</function>", b"<parameter=a>", b"</parameter>", b"1", b"null",
    b'{"name": "f", "arguments": {"a": 1}}', b'{"name":"g"}', b"{}", b"<function=f></function>",
    b"<tool_call><function=f></function></tool_call>", b'<tool_call>{"name":"h"}</tool_call>', b"<<", b"<tool_call><",
]  # fmt: skip

MESSAGE = {"role": "assistant", "content": "x"}


def both(name: str, think: Any, prefill: bool, chunks: list[bytes], way: int = 0) -> None:
    """Feed both, compare each answer. `way`: 0 bytes, 1 str, 2 mixed."""
    parser = Parser(name, think=think, last_message=MESSAGE if prefill else None)
    reader = Parser(name)
    naive = Naive(name, think, prefill, reader._read_call)
    for i, chunk in enumerate(chunks):
        try:
            content, thinking, calls = naive.add(chunk)
            expected: Any = (content, thinking, [(n, written(a), k) for n, a, k in calls])
        except ParseError as error:
            expected = str(error)
        data = chunk.decode("utf-8", "surrogateescape") if (way == 1 or (way == 2 and i % 2)) else chunk
        try:
            r = parser.add(data)
            got: Any = (encoded(r.content), encoded(r.thinking), [(c.name, c.arguments_json, c.index) for c in r.calls])
            assert r.content.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == r.content
        except ParseError as error:
            got = str(error)
        assert got == expected, (name, think, prefill, chunks[: i + 1])


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def written(arguments: Any) -> str:
    try:
        return dumps(arguments)
    except UnsupportedValue:
        return ""


def cuts(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_random_soups_in_random_cuts(setting: tuple[str, Any, bool]) -> None:
    rng = random.Random(str(setting))
    for _ in range(700):
        data = b"".join(rng.choices(PARTS, k=rng.randint(1, 14)))
        for chunks in ([data], cuts(data, 1), cuts(data, 3), cuts(data, 11), random_cut(data, rng), random_cut(data, rng)):
            both(*setting, chunks, rng.randint(0, 2))


def random_cut(data: bytes, rng: random.Random) -> list[bytes]:
    places = sorted(rng.choices(range(len(data) + 1), k=rng.randint(0, 6)))
    return [data[a:b] for a, b in itertools.pairwise([0, *places, len(data)])]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_sequence_of_three_lexemes(setting: tuple[str, Any, bool]) -> None:
    lexemes = [b"<tool_call>", b"</tool_call>", b"<think>", b"</think>", b" ", b"a", b"<", "\u3000".encode(),
               b"<function=f></function>", b'{"name":"f"}']  # fmt: skip
    for sequence in itertools.product(lexemes, repeat=3):
        both(*setting, list(sequence))
        both(*setting, [b"".join(sequence)])
        both(*setting, [sequence[0], sequence[1] + sequence[2], b".", b" ", b"</tool_call>z"])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SETTINGS), st.lists(st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=4), max_size=8))
def test_generated_chunks(setting: tuple[str, Any, bool], chunks: list[list[bytes]]) -> None:
    both(*setting, [b"".join(chunk) for chunk in chunks], 2)


@pytest.mark.parametrize("size", [1, 2, 5, 12, 13])
@pytest.mark.parametrize("text", [b"</tool_call>", b"x</tool_call>y", b"</tool_cal</tool_call>", b"l></tool_call>>"])
def test_closing_tag_cut_anywhere(size: int, text: bytes) -> None:
    for lead in range(14):
        both("qwen3-coder", None, False, [b"<tool_call>", *cuts(b"." * lead + text, size), b"end"])
