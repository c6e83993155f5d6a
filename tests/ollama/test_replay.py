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
