# ruff: noqa: E501  (tables)
"""The renderers' interface, and what of it the recorded cases do not name."""

from __future__ import annotations

import math
from typing import Any

import pytest

from qwenparse import QwenParseError
from qwenparse.ollama import RENDERERS, RenderError, render

USER = {"role": "user", "content": "Hi"}
NEXT = "<|im_end|>\n<|im_start|>assistant\n"


def arguments(value: Any, name: str = "qwen3-coder") -> str:
    """How one argument of a call in the history is written."""
    call = {"function": {"name": "f", "arguments": {"a": value}}}
    text = render(name, [USER, {"role": "assistant", "tool_calls": [call]}, USER])
    head, tail = ("<parameter=a>\n", "\n</parameter>") if name == "qwen3-coder" else ('"arguments": {"a": ', "}}\n</tool_call>")
    return text.partition(head)[2].partition(tail)[0]


@pytest.mark.parametrize(("value", "text", "in_json"), [
    (1000000, "1e+06", "1000000"), (123456789, "1.23456789e+08", "123456789"), (1.0, "1", "1"), (0.00001, "1e-05", "0.00001"), (-0.0, "-0", "-0"),
    (True, "true", "true"), (None, "null", "null"), ("<a>", "<a>", '"\\u003ca\\u003e"'), ([1, {"b": 2, "a": "\b"}], '[1,{"a":"\\b","b":2}]', '[1, {"a": "\\b", "b": 2}]'),
    ({}, "{}", "{}"), (12345678901234567890, "1.2345678901234567e+19", "12345678901234567000"), ("", "", '""'),
])  # fmt: skip
def test_arguments_of_the_history(value: Any, text: str, in_json: str) -> None:
    assert arguments(value) == text
    assert arguments(value, "qwen3-vl-instruct") == in_json


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan], 10**400])
def test_numbers_that_json_does_not_have_are_refused(value: Any) -> None:
    with pytest.raises(RenderError, match=r"^json: unsupported value: (NaN|\+Inf)$"):
        arguments(value)


@pytest.mark.parametrize("name", RENDERERS)
def test_messages_are_what_a_client_may_send(name: str) -> None:
    for message in ({"role": "user", "content": ["Hi"]}, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}):
        with pytest.raises(TypeError, match="must be"):
            render(name, [message, USER])
    assert "Hi" in render(name, [{"role": "USER", "content": "Hi", "thinking": None, "tool_calls": None, "images": None}])


def test_unknown_names_and_options() -> None:
    with pytest.raises(RenderError, match=r'^unknown renderer "qwen3"$') as caught:
        render("qwen3", [USER])
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, QwenParseError)
    with pytest.raises(ValueError, match=r'^invalid think value: "xhigh"'):
        render("qwen3.5", [USER], think="xhigh")  # type: ignore[arg-type]


def test_errors_of_qwen38() -> None:
    cases: list[tuple[list[Any], str]] = [
        ([], "no messages provided"), ([{"role": "system", "content": "S"}], "no user query found in messages"),
        ([{"role": "user", "content": " <tool_response>x</tool_response> "}], "no user query found in messages"),
        ([USER, {"role": "Developer", "images": ["x"]}, {"role": "system", "images": ["x"]}], "developer message cannot contain images"),
    ]  # fmt: skip
    for messages, error in cases:
        with pytest.raises(RenderError, match=f"^{error}$"):
            render("qwen3.8", messages)
    image_in_query = [{"role": "user", "content": "<tool_response></tool_response>", "images": ["x"]}]
    assert render("qwen3.8", image_in_query).endswith("</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n")


@pytest.mark.parametrize(("content", "images", "expected"), [
    ("", 2, "[img-0][img-1]"), ("a", 1, "[img-0] a"), (" a", 1, "[img-0] a"), ("\u3000a", 1, "[img-0]\u3000a"), ("\ufffda", 1, "[img-0]\ufffda"),
    ("\udcffa", 1, "[img-0]\udcffa"), ("a [img] b [img] c", 1, "a [img-0] b [img] c"), ("a [img]", 3, "[img-1][img-2] a [img-0]"), ("[img-7] [img]", 2, "[img-7] [img]"), ("[img]", 0, "[img]"),
])  # fmt: skip
def test_image_tags(content: str, images: int, expected: str) -> None:
    message = {"role": "user", "content": content, "images": ["x"] * images}
    assert render("qwen3-vl-instruct", [message], img_tags=True) == f"<|im_start|>user\n{expected}{NEXT}"
    pads = "<|vision_start|><|image_pad|><|vision_end|>" * images
    assert render("qwen3-vl-instruct", [message]) == f"<|im_start|>user\n{pads}{content}{NEXT}"


def test_images_are_numbered_through_all_messages() -> None:
    image = {"role": "user", "content": "[img]", "images": ["x"]}
    text = render("qwen3.5", [image, {**image, "content": "[img-5]"}, {**image, "role": "critic"}, image], img_tags=True, think=False)
    assert [part.partition("]")[0] for part in text.split("[img-")[1:]] == ["0", "5", "3"]


def test_ornith_always_prints_the_think_block() -> None:
    messages = [USER, {"role": "assistant", "content": "A", "thinking": "T"}, USER]
    with_block = "assistant\n<think>\nT\n</think>\n\nA<|im_end|>"
    assert with_block in render("ornith", messages, think=False)
    assert with_block not in render("qwen3.5", messages, think=False)
