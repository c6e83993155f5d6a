# ruff: noqa: E501  (tables)
"""Turns through the reference's parser and back through its renderer: the exact bytes that come back."""

from __future__ import annotations

from typing import Any

import pytest
from ollama_golden import rows, text

from qwenparse.ollama import replay

CASES = rows("ollama_replay.jsonl.gz")


def title(case: dict[str, Any]) -> str:
    think = "" if case["think"] is None else f", think {case['think']}"
    return f"{case['id']} [{case['origin']}, {case['parser']} to {case['renderer']}{think}, {case['cut']}]"


@pytest.mark.parametrize("case", CASES, ids=title)
def test_turn_comes_back_as_recorded(case: dict[str, Any]) -> None:
    cut = {"whole": None, "4 bytes": 4}[case["cut"]]
    got = replay(case["parser"], case["renderer"], case["messages"], case["tools"], case["think"],
                 text(case["generated"]), cut, new_messages=case["new_messages"])  # fmt: skip
    assert got.error == case["error"]
    assert got.message == case["message"]
    assert repr(got.message.get("tool_calls")) == repr(case["message"].get("tool_calls"))
    assert got.prompt == case["prompt"]
    assert got.next_prompt == case["next_prompt"]
    assert got.kept == case["byte_prefix"]
    assert got.first_difference == case["first_diff_byte_in_turn"]


def test_rows_are_all_there_and_no_two_alike() -> None:
    assert len(CASES) == 318
    assert len({title(case) for case in CASES}) == 318


# ------------------------------------------------------------------------------------ what changes, one fact a test

TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
    "n": {"type": "number"}, "b": {"type": "boolean"}, "i": {"type": "integer"}, "o": {"type": "object"}, "s": {"type": "string"}}}}}]  # fmt: skip
USER = {"role": "user", "content": "Hi"}


def back(turn: str) -> str:
    """A turn of Qwen3.8 as it stands in the next prompt."""
    got = replay("qwen3.5", "qwen3.8", [USER], TOOLS, None, turn, new_messages=[{"role": "user", "content": "Next"}])
    assert got.error is None
    return got.next_prompt.removeprefix(got.prompt).partition("<|im_end|>")[0]


def turn(parameter: str, value: str, before: str = "R\n</think>\n\nA\n\n") -> str:
    return f"{before}<tool_call>\n<function=f>\n<parameter={parameter}>\n{value}\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(("parameter", "value", "replayed"), [
    ("n", "1.0", "1"), ("n", "0.10", "0.1"), ("n", "1000000", "1e+06"), ("i", "1000000", "1e+06"), ("i", "999999", "999999"), ("b", "True", "true"),
    ("b", "yes", "false"), ("s", "NULL", "null"), ("o", '{"b":1,"a":2}', '{"a":2,"b":1}'), ("o", '{"a": 1}', '{"a":1}'), ("o", '{"a":"<"}', '{"a":"\\u003c"}'),
    ("s", "a\r\nb", "a\nb"), ("s", "<a=1>", '<a name="1">'), ("s", "  kept  ", "  kept  "), ("s", "1.0", "1.0"),
])  # fmt: skip
def test_value_comes_back(parameter: str, value: str, replayed: str) -> None:
    assert back(turn(parameter, value)) == turn(parameter, replayed)


@pytest.mark.parametrize("before", ["R\n</think>\n\nA", "R\n</think>\n\nA\n", "R\n</think>\n\nA\n\n\n", "R</think>A", " \nR \n\n</think>\n\nA \n\n"])
def test_white_space_around_thinking_and_content_becomes_canonical(before: str) -> None:
    assert back(turn("s", "x", before)) == turn("s", "x")


def test_a_think_close_is_put_before_a_call_in_the_thinking() -> None:
    assert back(turn("s", "x", "R\n")) == turn("s", "x", "R\n</think>\n\n")


def test_text_behind_a_call_moves_in_front() -> None:
    assert back(turn("s", "x", "R\n</think>\n\n") + "\nB") == turn("s", "x", "R\n</think>\n\nB\n\n")


def test_cut_inside_a_character_changes_nothing() -> None:
    got = replay("qwen3.5", "qwen3.8", [USER], None, None, "é\n</think>\n\n思", 1)
    assert got.message == {"role": "assistant", "content": "思", "thinking": "é"}
    assert (got.kept, got.first_difference) == (True, None)


def test_arguments_without_json_and_null_arguments_are_sent_back() -> None:
    got = replay("qwen3.5", "qwen3.8", [USER], TOOLS, False, turn("n", "nan", ""))
    assert got.message["tool_calls"] == [{"function": {"name": "f", "arguments": {}}}]
    null = '<tool_call>{"name":"f","arguments":null}</tool_call>'
    got = replay("qwen3-vl-instruct", "qwen3-vl-instruct", [USER], None, None, null)
    assert got.message["tool_calls"] == [{"function": {"name": "f", "arguments": None}}]
    assert got.next_prompt.endswith('{"name": "f", "arguments": null}\n</tool_call>')
