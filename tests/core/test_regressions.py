"""Bugs that were, where the case files cannot say them."""

from __future__ import annotations

import pytest

import qwenparse


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
