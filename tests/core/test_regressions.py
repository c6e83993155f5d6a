"""Bugs that were, where the case files cannot say them."""

from __future__ import annotations

from typing import Any

import pytest

import qwenparse
from qwenparse.testing import Accumulated


@pytest.mark.parametrize("rest", ["}", ', "arguments": null}', ', "argu', ", x}"])
@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_dialect_of_a_json_call_without_arguments(format: str, rest: str) -> None:
    (call,) = qwenparse.parse('<tool_call>\n{"name": "sh"' + rest, format, start="content").calls
    assert call.dialect == "json"


@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_dialect_of_an_xml_call_without_arguments(format: str) -> None:
    (call,) = qwenparse.parse("<tool_call>\n<function=sh>\n", format, start="content").calls
    assert call.dialect == "xml"


def test_dialect_of_a_call_named_in_the_prompt() -> None:
    parser = qwenparse.Parser.for_prompt('<|im_start|>assistant\n<tool_call>\n{"name": "sh"', format="qwen3.5")
    parser.feed(" x")
    parser.close()
    assert [call.dialect for call in parser.turn.calls] == ["json"]


@pytest.mark.parametrize("begun", ["ls", "ls\n</param", "ls\n"])
@pytest.mark.parametrize("make", [qwenparse.Parser, qwenparse.DeltaParser])
def test_a_value_begun_in_the_prompt_is_streamed_whole(make: Any, begun: str) -> None:
    prompt = "<|im_start|>assistant\n<tool_call>\n<function=sh>\n<parameter=cmd>\n" + begun
    parser = make.for_prompt(prompt, format="qwen3-coder")
    seen = Accumulated(parser)
    for piece in (" -l", "\n</parameter>\n</function>\n</tool_call>"):
        seen.add(parser.feed(piece))
    seen.add(parser.close(stop="im_end"))
    (call,) = seen.calls
    assert call["recorded"] == [["cmd", begun + " -l", True]]
    assert call["json"] == parser.turn.calls[0].arguments_json
