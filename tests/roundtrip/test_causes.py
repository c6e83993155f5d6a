"""Causes that no recorded row has, and differences in the history before the turn."""

from __future__ import annotations

import random
from typing import Any

import pytest
from real_tokenizers import tokenizer
from roundtrip.support import NATIVE, TOOLS, follow_up, random_case, read

from qwenparse import Prompt, TemplateError, render_prompt
from qwenparse.drift import CAUSES, explain

SYSTEM = {"role": "system", "content": "Be brief."}
ASK = {"role": "user", "content": "What is in a.txt?"}
RAW = "I look.\n</think>\n\n<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>"
RESULT = {"role": "tool", "content": "text"}
OTHER_TOOLS = [*TOOLS[:2], {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {}}}]


def conversation(format: str = "qwen3.8") -> tuple[list[dict[str, Any]], Prompt, Any]:
    messages = [SYSTEM, ASK]
    prompt = render_prompt(messages, format, tools=TOOLS)
    raw = RAW if format.startswith("qwen3.") else RAW.partition("</think>\n\n")[2]
    return messages, prompt, read(prompt.text, raw, format, tools=TOOLS)


def again(messages: list[dict[str, Any]], turn: Any, format: str = "qwen3.8", tools: Any = TOOLS, **kwargs: Any) -> Prompt:
    return render_prompt([*messages, turn.message(), RESULT], format, tools=tools, normalize="openai", **kwargs)


@pytest.mark.parametrize("format", ["qwen3.8", "qwen3.6", "qwen3.5", "qwen3-coder"])
def test_head(format: str) -> None:
    messages, prompt, turn = conversation(format)

    def cause(new: Prompt) -> tuple[str, str | None]:
        drift = explain(prompt, new, turn=turn)
        if drift:
            assert drift.turn_index is None and drift.lost_tokens is None
            assert drift.first_diff_byte is not None and drift.first_diff_byte_in_turn is not None
            assert drift.first_diff_byte_in_turn < 0
        return drift.cause, drift.kind

    assert cause(again(messages, turn, format)) == ("none", None)
    assert cause(again(messages, turn, format, tools=OTHER_TOOLS)) == ("tools_changed", "head")
    assert cause(again(messages, turn, format, tools=TOOLS[:2])) == ("tools_changed", "head")
    assert cause(again(messages, turn, format, tools=None))[0] == "tools_changed"
    assert cause(again([{**SYSTEM, "content": "Be long."}, ASK], turn, format))[0] == "system_changed"
    assert cause(again([{**SYSTEM, "content": "Be brief. Now."}, ASK], turn, format))[0] == "system_changed"
    if format != "qwen3-coder":  # which writes a system text of its own
        assert cause(again([ASK], turn, format))[0] == "system_changed"
    if format == "qwen3.8":
        assert cause(again(messages, turn, format, reasoning_effort="low")) == ("head_changed", "head")
        assert cause(again(messages, turn, format, reasoning_effort="medium")) == ("head_changed", "head")


def test_system_block_appears_without_tools() -> None:
    with_system = render_prompt([SYSTEM, ASK], "qwen3.6")
    without = render_prompt([ASK], "qwen3.6")
    assert explain(with_system.text, without.text).cause == "system_changed"
    assert explain(without.text, with_system.text).cause == "system_changed"
    with_tools = render_prompt([ASK], "qwen3.6", tools=TOOLS)
    assert explain(without.text, with_tools.text).cause == "tools_changed"


def test_history_edited() -> None:
    messages, prompt, turn = conversation()
    edited = [SYSTEM, {**ASK, "content": "What is in b.txt?"}]
    drift = explain(prompt, again(edited, turn), turn=turn)
    assert (drift.cause, drift.kind, drift.turn_index) == ("history_edited", "data", None)
    message = turn.message()
    call = message["tool_calls"][0]
    other = {**message, "tool_calls": [{**call, "function": {"name": "read", "arguments": {"path": "b.txt"}}}]}
    drift = explain(prompt, render_prompt([*messages, other, RESULT], "qwen3.8", tools=TOOLS), turn=turn)
    assert (drift.cause, drift.kind, drift.turn_index) == ("history_edited", "value", 0)
    renamed = {**message, "tool_calls": [{**call, "function": {"name": "now", "arguments": {"path": "a.txt"}}}]}
    drift = explain(prompt, render_prompt([*messages, renamed, RESULT], "qwen3.8", tools=TOOLS), turn=turn)
    assert (drift.cause, drift.kind) == ("history_edited", "name")
    drift = explain(prompt, render_prompt([*messages, {**message, "tool_calls": []}, ASK], "qwen3.8", tools=TOOLS), turn=turn)
    assert drift.cause == "history_edited"
    thought = {**message, "reasoning_content": "I never thought that."}
    drift = explain(prompt, render_prompt([*messages, thought, RESULT], "qwen3.8", tools=TOOLS, normalize="openai"), turn=turn)
    assert (drift.cause, drift.kind) == ("history_edited", "think_body")
    # A message more, or one less, before the turn.
    drift = explain(prompt, again([SYSTEM, ASK, ASK], turn), turn=turn)
    assert drift.cause == "history_edited"
    drift = explain(again(messages, turn), render_prompt([SYSTEM, ASK], "qwen3.8", tools=TOOLS), turn=None)
    assert drift.cause == "history_edited"


def test_drift_of_an_earlier_turn() -> None:
    """A user message makes 3.6 drop the thoughts of every turn, the first one too."""
    messages, prompt, turn = conversation("qwen3.6")
    second = prompt.extend(turn, [RESULT])
    answer = read(second.text, "Done.\n</think>\n\nIt says text.", "qwen3.6", tools=TOOLS)
    history = [*messages, turn.message(), RESULT, answer.message(), {"role": "user", "content": "Thanks"}]
    after = render_prompt(history, "qwen3.6", tools=TOOLS, normalize="openai")
    drift = explain(second, after, turn=answer)
    assert (drift.cause, drift.turn_index, drift.kind) == ("history_think_dropped", 0, "think_open")
    drift = explain(
        second,
        render_prompt(
            [*history[:2], {**history[2], "reasoning_content": None}, *history[3:5]], "qwen3.6", tools=TOOLS, normalize="openai"
        ),
        turn=answer,
    )
    assert (drift.cause, drift.turn_index) == ("reasoning_missing", 0)


def test_unknown() -> None:
    messages, prompt, turn = conversation()
    assert (
        explain(prompt.text + turn.raw, again(messages, turn).text.replace("I look.", "I see."), turn=len(prompt.text)).cause
        == "unknown"
    )
    ended = read(prompt.text, RAW, "qwen3.8", stop="other_stop", tools=TOOLS)
    drift = explain(prompt, again(messages, ended), turn=ended)
    assert (drift.cause, drift.kind) == ("unknown", "stop") and "stop token" in (drift.evidence or "")
    assert explain([1, 2, 3], [1, 2, 4]).cause == "unknown"
    assert explain("a", "b").cause == "unknown"


def test_later_differences() -> None:
    _, prompt, _ = conversation()
    raw = (
        " I look. \n</think>\nOk\n<tool_call>\n<function=sh>\n<parameter=on>\nTrue\n</parameter>\n<parameter=x>\n5e1\n"
        '</parameter>\n<parameter=o>\n{"b": 1, "a":2}\n</parameter>\n</function>\n</tool_call>\n'
    )
    turn = read(prompt.text, raw, "qwen3.8", tools=TOOLS)
    drift = explain(prompt, again([SYSTEM, ASK], turn), turn=turn)
    assert drift.cause == "think_leading_ws"
    assert drift.later == (
        "think_trailing_ws",
        "think_close_ws",
        "call_leading_ws",
        "bool_spelling",
        "number_spelling",
        "json_layout",
        "call_trailing_ws",
    )


def test_report_forms() -> None:
    _, prompt, turn = conversation()
    drift = explain(prompt, again([{**SYSTEM, "content": 'Be "b".\n'}, ASK], turn), turn=turn, tokenizer=tokenizer("qwen3.5"))
    line = str(drift)
    assert line.startswith("drift cause=system_changed byte=") and "\n" not in line and "lost_tokens=" in line
    assert "system_changed" in drift.text() and drift.as_dict()["later"] == []
    assert set(drift.as_dict()) == {
        "equal_prefix_bytes",
        "equal_prefix_tokens",
        "lost_tokens",
        "lost_share",
        "first_diff_byte",
        "first_diff_byte_in_turn",
        "first_diff_token",
        "first_diff_token_in_turn",
        "turn_index",
        "kind",
        "excerpt_before",
        "excerpt_after",
        "cause",
        "evidence",
        "later",
    }
    assert len(explain("x" * 50, "y" * 50).excerpt_before or "") == 24
    split = explain("é", "è")
    assert (split.first_diff_byte, split.excerpt_before) == (1, "\\xa9")


@pytest.mark.parametrize("format", NATIVE)
def test_random_turns(format: str) -> None:
    """No difference with itself and a suffix; none behind `extend`; the right place for what the template changes."""
    named = 0
    for number in range(150):
        rng = random.Random(f"explain/{format}/{number}")
        messages, kwargs, prompt, turn = random_case(rng, format)
        whole = prompt.text + turn.raw
        assert explain(whole, whole + rng.choice(("", "x", "\n<|im_start|>user\n")), turn=turn).cause == "none"
        new = follow_up(rng, turn)
        spliced = prompt.extend(turn, new)
        assert explain(prompt, spliced, turn=turn).cause == "none"
        assert spliced.segments[0].start == 0 and spliced.segments[-1].end == len(spliced.text)
        try:
            after = render_prompt([*messages, turn.message(), *new], format, tools=TOOLS, normalize="openai", **kwargs)
        except TemplateError:
            continue
        drift = explain(prompt, after, turn=turn)
        one, other = whole.encode("utf-8", "surrogatepass"), after.text.encode("utf-8", "surrogatepass")
        equal = next((k for k, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other)))
        if equal == len(one):
            assert drift.cause == "none" and drift.first_diff_byte is None
        else:
            assert drift.first_diff_byte == equal == drift.equal_prefix_bytes and drift.cause in CAUSES
            assert drift.first_diff_byte_in_turn == equal - len(prompt.text.encode())
            named += drift.cause != "unknown"
    assert named > 10


def test_never_raises() -> None:
    rng = random.Random(7)
    alphabet = [
        "<|im_start|>",
        "<|im_end|>",
        "assistant\n",
        "user\n",
        "system\n",
        "<think>",
        "</think>",
        "<tool_call>",
        "\n",
        "a",
        "<tools>",
        "</tools>",
        "# Tools\n\n",
        '{"name": "x"',
        "\udc80",
        "é",
        "<function=f>",
        "<parameter=p>",
    ]
    for _ in range(3000):
        before = "".join(rng.choices(alphabet, k=rng.randint(0, 14)))
        after = before[: rng.randint(0, len(before))] + "".join(rng.choices(alphabet, k=rng.randint(0, 8)))
        turn = rng.choice([None, rng.randint(0, len(before))])
        drift = explain(before, after, turn=turn, format=rng.choice([None, "qwen3.8", "qwen3"]), tools=rng.choice([None, TOOLS]))
        assert (drift.cause == "none") == after.startswith(before)
