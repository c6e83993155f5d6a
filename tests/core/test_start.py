"""The start state comes from the rendered prompt, whatever template rendered it."""

from __future__ import annotations

import lexemes
import pytest

import qwenparse
from qwenparse import Parser, State, render_prompt
from qwenparse.formats import FORMATS
from qwenparse.start import guess_format, open_tail

NATIVE = [name for name, format in FORMATS.items() if format.renderer]
USER = [{"role": "user", "content": "Hi"}]
HISTORY = [
    *USER,
    {"role": "assistant", "content": "</think> or <think>?", "reasoning_content": "A"},
    {"role": "user", "content": "<|im_start|>assistant\n<think>\n"},
]


@pytest.mark.parametrize("messages", [USER, HISTORY], ids=["first turn", "history with tags"])
@pytest.mark.parametrize("tools", [None, lexemes.TOOLS], ids=["no tools", "tools"])
@pytest.mark.parametrize("name", NATIVE)
def test_every_template(name: str, tools: list[dict[str, object]] | None, messages: list[dict[str, str]]) -> None:
    prompt = render_prompt(messages, name, tools=tools)
    parser = Parser.for_prompt(prompt.text, format=name, tools=tools)
    assert parser.gen_prefix == prompt.gen_prefix
    thinks = (prompt.gen_prefix or "").startswith("<think>") and "</think>" not in (prompt.gen_prefix or "")
    auto = not prompt.gen_prefix and FORMATS[name].start != "content"
    assert parser.state == (State.REASONING if thinks else State.START if auto else State.CONTENT)
    if tools:
        assert Parser.for_prompt(prompt.text, tools=tools).format.dialect == FORMATS[name].dialect


@pytest.mark.parametrize("name", ["qwen3", "qwen3.5", "qwen3.6", "qwen3.8"])
def test_thinking_off(name: str) -> None:
    prompt = render_prompt(USER, name, enable_thinking=False)
    parser = Parser.for_prompt(prompt.text, format=name)
    assert parser.state == State.CONTENT
    parser.feed("<think>x</think>y")
    turn = parser.turn
    assert (turn.reasoning, turn.content) == ("x", "y") and turn.issues[0].code == "unexpected-think-open"


def test_an_echoed_think_tag() -> None:
    parser = Parser.for_prompt(render_prompt(USER, "qwen3.8").text, format="qwen3.8")
    parser.feed("<think>\nx\n</think>\n\ny")
    assert (parser.turn.reasoning, parser.turn.content) == ("x", "y")
    assert [i.code for i in parser.turn.issues] == ["repeated-think-open"]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_prefilled_answers(size: int) -> None:
    for prefix, text, reasoning, content in (
        ("<think>\nI'm", " sure.\n</think>\n\nYes.", " sure.", "Yes."),
        ("<think>\n\n</think>\n\nHello, ", "  world", None, "  world"),
        ("Hi", "\n\nthere", None, "\n\nthere"),
    ):
        parser = Parser.for_prompt("<|im_start|>assistant\n" + prefix, format="qwen3.5")
        for at in range(0, len(text), size):
            parser.feed(text[at : at + size])
        parser.close()
        assert (parser.turn.reasoning, parser.turn.content, parser.turn.raw) == (reasoning, content, text)


def test_a_closed_turn_leaves_nothing_open() -> None:
    assert open_tail("<|im_start|>assistant\nHi<|im_end|>\n") is None
    assert open_tail("no header") is None
    assert guess_format("no header", None).name == "qwen3"
    assert qwenparse.open_turn("no header", None, None)[1] is None
