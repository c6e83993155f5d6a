"""Time grows with the length of the input, however it is cut, where the reference's is quadratic."""


from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from qwenparse.ollama import ParseError, Parser

TOOLS = [{"function": {"name": "f", "parameters": {"properties": {"a": {"type": ["integer", "number", "array"]}}}}}]


def xml(value: str) -> str:
    return f"<tool_call><function=f><parameter=a>{value}</parameter></function></tool_call>"


def js(value: str) -> str:
    return f'<tool_call>{{"name":"f","arguments":{{"a":{value}}}}}</tool_call>'


SHAPES: dict[str, tuple[str, Callable[[int], str], int | None]] = {
    "white space in front": ("qwen3.5", lambda n: "\n" * n, 1),
    "white space in thinking": ("qwen3-thinking", lambda n: "a" + "\n" * n + "b", 1),
    "white space in content": ("qwen3-coder", lambda n: "a" + "\u3000" * n + "b", 1),
    "white space after a call": ("qwen3-vl-instruct", lambda n: js("1") + "\n" * n, 1),
    "one run of wide spaces": ("qwen3", lambda n: "a" + "\u3000" * (n * 8), None),
    "partial tags": ("qwen3.5", lambda n: "<tool" * (n // 5), 5),
    "text": ("qwen3.5", lambda n: "text" * n, 4),
    "characters in bytes": ("qwen3.5", lambda n: "é" * (n // 2), 0),
    "string argument": ("qwen3-coder", lambda n: xml("x" * (n * 4)), 4),
    "string argument of JSON": ("qwen3", lambda n: js('"' + "x\\n" * n + '"'), 4),
    "closing brackets in an argument": ("qwen3-coder", lambda n: xml("l>" * (n // 2)), 1),
    "open rewritten tags": ("qwen3-coder", lambda n: "<tool_call>" + "<a=" * n + "</tool_call>", None),
    "rewritten tags": ("qwen3-coder", lambda n: xml("<a=b>" * n), None),
    "beginnings of tags": ("qwen3-coder", lambda n: xml("<function " * n), None),
    "unfinished names": ("qwen3-coder", lambda n: xml('<function name="' * n), None),
    "nested tags": ("qwen3-coder", lambda n: "<tool_call>" + "<function>" * n, None),
    "entities": ("qwen3-coder", lambda n: '<tool_call><function name="' + "&amp;" * n + '"></function></tool_call>', None),
    "parameters": ("qwen3-coder", lambda n: xml("</parameter><parameter=b>" * n), None),
    "calls in one chunk": ("qwen3-coder", lambda n: "<tool_call><function=f></function></tool_call>" * (n // 8), None),
    "calls in many chunks": ("qwen3", lambda n: '<tool_call>{"name":"f"}</tool_call>' * (n // 8), 7),
    "errors": ("qwen3-vl-instruct", lambda n: "<tool_call>x</tool_call>" * (n // 8), 24),
    "digits": ("qwen3-coder", lambda n: xml("9" * (n * 8)), None),
    "digits with underscores": ("qwen3-coder", lambda n: xml("1_" * (n * 2) + "x"), None),
    "array": ("qwen3-coder", lambda n: xml("[" + "1," * (n // 4) + "1]"), None),
    "open brackets": ("qwen3-coder", lambda n: xml("[" * n), None),
    "members": ("qwen3", lambda n: js("{" + ",".join(f'"{i}":{i}' for i in range(n // 8)) + "}"), None),
    "repeated arguments": ("qwen3", lambda n: '<tool_call>{"name":"f"' + ',"arguments":{}' * (n // 4) + "}</tool_call>", None),
    "escaped key": ("qwen3", lambda n: '<tool_call>{"name":"f","arguments":{"' + "\\n" * n + '":1}}</tool_call>', None),
}  # fmt: skip


def seconds(name: str, text: str, size: int | None) -> float:
    """Time to feed a text in pieces of `size` characters, whole (None), or byte by byte (0)."""
    chunks: list[str | bytes]
    if size == 0:
        chunks = [bytes([byte]) for byte in text.encode()]
    else:
        step = size or len(text)
        chunks = [text[i : i + step] for i in range(0, len(text), step)]
    parser = Parser(name, TOOLS)
    start = time.process_time()
    for chunk in chunks:
        try:
            parser.add(chunk)
        except ParseError:
            pass
    return time.process_time() - start


@pytest.mark.parametrize("shape", SHAPES)
def test_eight_times_the_input_takes_about_eight_times_as_long(shape: str) -> None:
    name, make, size = SHAPES[shape]
    n = 8000
    gc.disable()
    try:
        small, large = (min(seconds(name, make(k), size) for _ in range(3)) for k in (n, 8 * n))
    finally:
        gc.enable()
    assert large < 0.02 or large < 24 * small, f"{small * 1e3:.1f} ms became {large * 1e3:.1f} ms"  # quadratic: 64 times


def test_a_megabyte_in_four_byte_chunks() -> None:
    for name, text in (("qwen3-coder", xml("x" * 1_000_000)), ("qwen3", js('"' + "x" * 1_000_000 + '"'))):
        assert seconds(name, text, 4) < 2.0  # the reference takes about 10 s


def test_two_hundred_thousand_line_feeds() -> None:
    assert seconds("qwen3.5", "a" + "\n" * 200_000 + "b", 1) < 2.0
