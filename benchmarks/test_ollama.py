"""The reference-compatible parsers: ns per 4-byte chunk, and growth with the length of one argument.

Run `python -m pytest benchmarks/test_ollama.py`. `extra_info` holds ns per chunk (minimum of the rounds) and, where
known, what the reference itself takes: Ollama fb3076099 under go1.26.0, on the same kind of machine and text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from qwenparse.ollama import Parser, render, replay

GO_NS = {"qwen3-coder": 234, "qwen3.5": 359, "qwen3": 193}

PROSE = (
    "Let me look at the files first. The configuration probably lives under src/config, but the client may carry its "
    "own default value, so I search the tree for it.\n\n"
) * 40
CODE = "def f(x):\n    return x + 1\n" * 100
XML = (
    "<tool_call>\n<function=write_file>\n<parameter=path>\na/b.py\n</parameter>\n<parameter=content>\n"
    f"{CODE}\n</parameter>\n</function>\n</tool_call>"
)
JSON_CODE = CODE.replace("\n", "\\n")
JSON = (
    f'<tool_call>\n{{"name": "write_file", "arguments": {{"path": "a/b.py", "content": "{JSON_CODE}"}}}}\n</tool_call>'
)
THOUGHT = f"{PROSE}\n</think>\n\n"
TURNS = {
    "qwen3-coder": PROSE + XML,
    "qwen3.5": THOUGHT + PROSE + XML,
    "qwen3": PROSE + JSON,
    "qwen3-thinking": THOUGHT + PROSE + JSON,
    "qwen3-vl-instruct": PROSE + JSON,
    "qwen3-vl-thinking": THOUGHT + PROSE + JSON,
}


def cut(text: str, size: int = 4) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def feed(name: str, chunks: list[Any], method: str = "add") -> Callable[[], None]:
    def run() -> None:
        take = getattr(Parser(name), method)
        for chunk in chunks:
            take(chunk)

    return run


def measure(benchmark: Any, run: Callable[[], None], chunks: int) -> None:
    benchmark.pedantic(run, rounds=30, warmup_rounds=2)
    benchmark.extra_info["chunks"] = chunks
    if not benchmark.disabled:
        benchmark.extra_info["ns_per_chunk"] = round(benchmark.stats.stats.min / chunks * 1e9, 1)


@pytest.mark.benchmark(group="ollama: turn in 4-byte chunks")
@pytest.mark.parametrize("kind", ["str", "bytes"])
@pytest.mark.parametrize("name", TURNS)
def test_add(benchmark: Any, name: str, kind: str) -> None:
    chunks: list[Any] = cut(TURNS[name])
    if kind == "bytes":
        chunks = [chunk.encode() for chunk in chunks]
    measure(benchmark, feed(name, chunks), len(chunks))
    if name in GO_NS:
        benchmark.extra_info["reference_ns_per_chunk"] = GO_NS[name]


@pytest.mark.benchmark(group="ollama: turn in 4-byte chunks")
def test_feed(benchmark: Any) -> None:
    chunks = cut(TURNS["qwen3.5"])
    measure(benchmark, feed("qwen3.5", chunks, "feed"), len(chunks))


class Floor:
    """Calls and results without parsing: what CPython takes for one method call and one result."""

    def add(self, chunk: str, done: bool = False) -> list[str]:
        return [chunk]


@pytest.mark.benchmark(group="ollama: turn in 4-byte chunks")
def test_floor(benchmark: Any) -> None:
    chunks = cut(TURNS["qwen3.5"])

    def run() -> None:
        take = Floor().add
        for chunk in chunks:
            take(chunk)

    measure(benchmark, run, len(chunks))


GROWING: dict[str, tuple[str, Callable[[int], str], int]] = {
    "string argument, XML": ("qwen3-coder", lambda n: XML.replace(CODE, "x" * n), 4),
    "string argument, JSON": ("qwen3", lambda n: JSON.replace(JSON_CODE, "x" * n), 4),
    "line feeds one by one": ("qwen3.5", lambda n: "a" + "\n" * n + "b", 1),
    "prose": ("qwen3.5", lambda n: PROSE * (n // len(PROSE)), 4),
}


@pytest.mark.benchmark(group="ollama: growth")
@pytest.mark.parametrize("size", [125_000, 250_000, 500_000, 1_000_000])
@pytest.mark.parametrize("shape", GROWING)
def test_growth(benchmark: Any, shape: str, size: int) -> None:
    name, make, step = GROWING[shape]
    chunks = cut(make(size), step)
    benchmark.pedantic(feed(name, chunks), rounds=3)
    if not benchmark.disabled:
        benchmark.extra_info["ns_per_byte"] = round(benchmark.stats.stats.min / size * 1e9, 1)


MESSAGES: list[dict[str, Any]] = [
    {"role": "user" if i % 2 == 0 else "assistant", "content": PROSE[:400], "thinking": PROSE[:200] if i % 2 else ""}
    for i in range(201)
]


@pytest.mark.benchmark(group="ollama: render and replay")
@pytest.mark.parametrize("name", ["qwen3-coder", "qwen3.5", "qwen3.8", "qwen3-vl-thinking"])
def test_render_201_messages(benchmark: Any, name: str) -> None:
    benchmark(render, name, MESSAGES)


@pytest.mark.benchmark(group="ollama: render and replay")
def test_replay(benchmark: Any) -> None:
    benchmark(replay, "qwen3.5", "qwen3.8", MESSAGES[:1], None, None, TURNS["qwen3.5"], 4)
