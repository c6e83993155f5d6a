"""Ollama mode answers each chunk as the literal, quadratic model of the reference does; `feed` says what `add` says."""

from __future__ import annotations

from typing import Any

from ollama_naive import Naive

from fuzz.checks import cuttings
from fuzz.settings import TOOLS, settings
from qwenparse import ArgumentDelta
from qwenparse.ollama import ParseError, Parser

NATIVE = False
BYTECODE = ("qwenparse.ollama",)
MIN_EDGES = 450

NAMES = ("qwen3-coder", "qwen3.5", "qwen3", "qwen3-thinking", "qwen3-vl-instruct", "qwen3-vl-thinking")
THINK = (None, True, False, None)
MESSAGE = {"role": "assistant", "content": "x"}


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def one(data: bytes) -> None:
    """`data`: header (byte 0 the parser, byte 2 thinking and prefill, byte 3 the cut) and completion."""
    s, body = settings(data)
    body = body[:1500]  # the model is quadratic
    name = NAMES[(data[0] if data else 0) % len(NAMES)]
    way = data[2] if len(data) > 2 else 0
    think, last = THINK[way & 3], MESSAGE if way & 4 else None
    tools = TOOLS[s.tools]
    parser = Parser(name, tools, think=think, last_message=last)
    other = Parser(name, tools, think=think, last_message=last)
    naive = Naive(name, think, last is not None, Parser(name, tools)._read_call)
    for piece in cuttings(s, body, s.cut):
        chunk = piece if isinstance(piece, bytes) else _raw(piece)
        expected: Any
        try:
            content, thinking, calls = naive.add(chunk)
            expected = content, thinking, [(n, k) for n, _, k in calls]
        except ParseError as error:
            expected = str(error)
        got: Any
        texts: list[str] = []
        try:
            result = parser.add(piece)
            got = _raw(result.content), _raw(result.thinking), [(c.name, c.index) for c in result.calls]
            texts = [c.arguments_json for c in result.calls if c.arguments_json not in ("", "null")]
        except ParseError as error:
            got = str(error)
        assert got == expected, f"{name} at {piece!r}: {got!r}, not {expected!r}"
        try:
            delta = other.feed(piece)
        except ParseError as error:
            assert str(error) == got
            continue
        assert not isinstance(got, str)
        assert (delta is None) == (got == (b"", b"", []))
        if delta is not None:
            assert (_raw(delta.content or ""), _raw(delta.reasoning or "")) == got[:2]
            assert [e.text for e in delta.calls if isinstance(e, ArgumentDelta)] == texts
    assert parser.close() is None
