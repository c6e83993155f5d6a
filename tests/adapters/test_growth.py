"""Time grows with the text and no faster, for every adapter and kind of text."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from qwenparse import DeltaParser
from qwenparse.adapters import anthropic, ollama, openai, responses
from qwenparse.adapters.joint import Joint

TOOLS = [{"name": "sh", "parameters": {"properties": {"cmd": {"type": "string"}}}}]
CALL = "<tool_call>\n<function=sh>\n<parameter=cmd>\n"
KINDS = {"thought": "", "answer": "</think>\n\n", "argument": "</think>\n\n" + CALL, "calls": "</think>\n\n"}
ONE = CALL + "x\n</parameter>\n</function>\n</tool_call>\n"
STREAMS: dict[str, Callable[..., Any]] = {
    "chat": openai.ChatCompletionStream,
    "responses": responses.ResponseStream,
    "messages": anthropic.MessageStream,
    "lines": ollama.ChatStream,
}


def least(run: Callable[[], None], rounds: int = 5) -> int:
    best = 1 << 62
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        start = time.thread_time_ns()
        run()
        best = min(best, time.thread_time_ns() - start)
        gc.enable()
    return best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_linear(name: str, kind: str) -> None:
    piece, count = (ONE, 400) if kind == "calls" else ("é word", 4000)

    def run(n: int) -> None:
        stream = STREAMS[name](DeltaParser("qwen3.5", tools=TOOLS, record=False), model="m")
        stream.feed(KINDS[kind])
        for _ in range(n):
            stream.feed(piece)
        stream.close("length")

    once, twice = least(lambda: run(count)), least(lambda: run(2 * count))
    assert twice < 2.6 * once


@pytest.mark.parametrize("kind", KINDS)
def test_what_waits_in_a_joint_is_linear(kind: str) -> None:
    """The worst a host can do: fetch nothing before the end."""
    piece, count = (ONE, 400) if kind == "calls" else ("é word", 4000)

    def run(n: int) -> None:
        joint = Joint(lambda: DeltaParser("qwen3.5", tools=TOOLS, record=False))
        joint.feed(KINDS[kind])
        for _ in range(n):
            joint.feed(piece)
        joint.close()
        joint.take_reasoning()
        joint.take_answer()
        assert joint.empty

    once, twice = least(lambda: run(count)), least(lambda: run(2 * count))
    assert twice < 2.6 * once
