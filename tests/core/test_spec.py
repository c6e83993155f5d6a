"""The core equals the executable specification: every short sequence of lexemes, and random input."""

from __future__ import annotations

import random
from typing import Any

import lexemes
import pytest
from soak import differs, of_core, of_spec
from spec_parser import parse_spec

import qwenparse
from qwenparse.testing import Accumulated


@pytest.mark.parametrize("start", lexemes.STARTS)
@pytest.mark.parametrize("stop", ["none", "im_end"])
def test_every_sequence_of_up_to_four_lexemes(start: str, stop: str) -> None:
    settings = {"format": "qwen3.5", "tools": lexemes.TOOLS, "start": start}
    for length in range(1, 5):
        for text in lexemes.sequences(length):
            assert not differs(text, stop, settings), text


@pytest.mark.parametrize("seed", range(4))
def test_random_input(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(4000):
        text, settings, stop = lexemes.text(rng), lexemes.settings(rng), rng.choice(lexemes.STOPS)
        assert not differs(text, stop, settings), (text, stop, settings)


PREFIXES = (
    "", "<think>\n", "<think>\n\n</think>\n\n", "<think>\nI'm", "<think>\nPlan.\n</think>\n\nHello, ", "Hello, ", "Hi\n\n",
    "<tool_call>\n<function=", "<tool_call>\n<function=sh>\n<parameter=cmd>\nls", "<tool_call>\n<function=sh>\n<parameter=cmd>\n",
    '<tool_call>\n{"name": "sh", "arguments": {"cmd": "a', "<tool_call>\n", "<tool", "```\n", "  ",
    "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n",
)  # fmt: skip
SPLIT = (
    *lexemes.TEMPLATES, *PREFIXES,
    '<tool_call>\n{"name": "sh", "arguments": {}</tool_call>', '<tool_call>\n{"name": "sh", "arguments": {}<tool_x>',
    "<tool_call>\n<function=sh>\n</function>" + "\n" * 1026, "<tool_call>\n<function=sh>\n</function>\n\nDone.",
)  # fmt: skip


@pytest.mark.parametrize("stop", ["none", "im_end"])
@pytest.mark.parametrize("format", ["qwen3.5", "qwen3"])
def test_a_turn_split_anywhere_between_prefix_and_completion(format: str, stop: Any) -> None:
    for whole in SPLIT:
        for at in range(1, len(whole) + 1):
            prefix, text = whole[:at], whole[at:]
            parser = qwenparse.Parser.for_prompt("<|im_start|>assistant\n" + prefix, format=format, tools=lexemes.TOOLS)
            parser.feed(text)
            parser.close(stop=stop)
            spec = parse_spec(text, format, tools=lexemes.TOOLS, start="auto", prefix=prefix, stop=stop)
            assert of_core(parser.turn) == of_spec(spec), (prefix, text)


@pytest.mark.parametrize("format", ["qwen3.5", "qwen3", "qwen3-coder"])
def test_completion_behind_a_prefix(format: str) -> None:
    rng = random.Random(format)
    for _ in range(3000):
        prefix, text = rng.choice(PREFIXES), lexemes.text(rng)[:400]
        policy, tools, stop = lexemes.policies(rng), rng.choice(lexemes.TOOL_CHOICES), rng.choice(lexemes.STOPS)
        start = qwenparse.get_format(format).start
        start = "auto" if start == "reasoning" else start
        spec = of_spec(parse_spec(text, format, tools=tools, start=start, policy=policy, stop=stop, prefix=prefix))
        for pieces in ([text], list(text), lexemes.pieces(rng, text), lexemes.pieces(rng, text.encode())):
            parser = qwenparse.Parser.for_prompt(
                "<|im_start|>assistant\n" + prefix, format=format, tools=tools, policy=policy
            )
            seen = Accumulated(parser)
            events = [e for piece in pieces for e in parser.feed(piece)]
            events += parser.close(stop=stop)
            seen.add(events)
            seen.same_as(parser.turn)
            assert of_core(parser.turn) == spec, (prefix, text, tools, policy, stop)
            assert "".join(e.raw for e in events) == parser.turn.raw
