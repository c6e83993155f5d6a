"""Cost of an adapter per token, beside the parser alone and the host's object alone.

    pip install pytest-benchmark
    PYTHONPATH=tests:. pytest benchmarks/test_adapters.py --benchmark-group-by=group --benchmark-columns=min,median

Each row feeds one completion of 900 tokens (a thought, an answer, a string argument) token by token. `floor` is the
parser with the pieces of JSON, and the object that the API or host wants for each piece, made directly. The last test
fails where an adapter costs more than twice its floor. vLLM and SGLang run from their wheels (`host_sources`).
"""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qwenparse import DeltaParser
from qwenparse.adapters import anthropic, ollama, openai, responses
from qwenparse.values import ArgumentsJSON

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from benchmarks.timing import cpu_ns  # noqa: E402

WORDS = 300
TOOLS = [
    {
        "type": "function",
        "function": {"name": "sh", "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}}},
    }
]
PIECES = [
    *[f" word{i % 10}" for i in range(WORDS)],
    "\n</think>\n\n",
    *[f" word{i % 10}" for i in range(WORDS)],
    "\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\n",
    *[f" word{i % 10}" for i in range(WORDS)],
    "\n</parameter>\n</function>\n</tool_call>",
]


def parser(**more: Any) -> DeltaParser:
    return DeltaParser("qwen3.5", tools=TOOLS, record=False, **more)


def bare() -> None:
    feed = parser().feed
    for piece in PIECES:
        feed(piece)


def floor_of(
    thought: Callable[[str], Any], answer: Callable[[str], Any], arguments: Callable[[str], Any]
) -> Callable[[], None]:
    """The parser, the pieces of JSON, and one object for each of these."""

    def run() -> None:
        feed = parser().feed
        json = ArgumentsJSON(TOOLS).feed
        for piece in PIECES:
            delta = feed(piece)
            if delta is None:
                continue
            if delta.reasoning:
                thought(delta.reasoning)
            if delta.content:
                answer(delta.content)
            for event in delta.calls:
                text = json(event)
                if text:
                    arguments(text)

    return run


def stream_of(make: Callable[..., Any]) -> Callable[[], None]:
    def run() -> None:
        feed = make(parser(), model="m").feed
        for piece in PIECES:
            feed(piece)

    return run


def chat(delta: Any) -> Any:
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }  # fmt: skip


def block(delta: Any) -> Any:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def event(type: str, text: str) -> Any:
    return {
        "type": type, "sequence_number": 1, "item_id": "i", "output_index": 0, "content_index": 0, "delta": text,
    }  # fmt: skip


def line(message: Any) -> Any:
    return {"model": "m", "created_at": ollama._now(), "message": message, "done": False}


ROWS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "chat chunks": (
        stream_of(openai.ChatCompletionStream),
        floor_of(
            lambda t: chat({"reasoning_content": t}),
            lambda t: chat({"content": t}),
            lambda t: chat({"tool_calls": [{"index": 0, "function": {"arguments": t}}]}),
        ),
    ),
    "Messages events": (
        stream_of(anthropic.MessageStream),
        floor_of(
            lambda t: block({"type": "thinking_delta", "thinking": t}),
            lambda t: block({"type": "text_delta", "text": t}),
            lambda t: block({"type": "input_json_delta", "partial_json": t}),
        ),
    ),
    "Responses events": (
        stream_of(responses.ResponseStream),
        floor_of(
            lambda t: event("response.reasoning_text.delta", t),
            lambda t: {**event("response.output_text.delta", t), "logprobs": []},
            lambda t: event("response.function_call_arguments.delta", t),
        ),
    ),
    "Ollama lines": (
        stream_of(ollama.ChatStream),
        floor_of(
            lambda t: line({"role": "assistant", "content": "", "thinking": t}),
            lambda t: line({"role": "assistant", "content": t}),
            lambda t: None,
        ),
    ),
}


HOSTS = contextlib.ExitStack()
"""What keeps the hosts' modules importable while the rows are measured."""
atexit.register(HOSTS.close)


def hosts() -> None:
    """Adds the rows of vLLM and SGLang."""
    import host_sources
    from adapters import test_sglang, test_vllm  # type: ignore[import-not-found,unused-ignore]

    root = host_sources.source("vllm", test_vllm.VERSION, test_vllm.FILES)
    modules = HOSTS.enter_context(host_sources.loaded(root, "vllm", test_vllm.REAL, test_vllm.GIVEN))
    v = modules["vllm.entrypoints.generate.base.protocol"]
    import qwenparse.adapters.vllm as vllm_plugin

    tokenizer = test_vllm.TOKENIZER
    prompt = tokenizer.ids("<|im_start|>assistant\n<think>\n")
    param = __import__("vllm.entrypoints.openai.chat_completion.protocol", fromlist=["x"]).ChatCompletionToolsParam()
    param.model_dump = lambda: TOOLS[0]

    def vllm() -> None:
        first = vllm_plugin.QwenReasoningParser(tokenizer)
        second = vllm_plugin.QwenToolParser(tokenizer, [param])
        first.set_prompt_token_ids(prompt)
        pieces = iter(PIECES)
        for piece in pieces:
            first.extract_reasoning_streaming("", piece, piece, [], [1], [1])
            if first.has_engine_confirmed_reasoning_end():
                second.extract_tool_calls_streaming("", "", "", [], [], [], None)
                break
        for piece in pieces:
            second.extract_tool_calls_streaming("", piece, piece, [], [1], [1], None)

    function, call = v.DeltaFunctionCall, v.DeltaToolCall
    ROWS["vLLM messages"] = (
        vllm,
        floor_of(
            lambda t: v.DeltaMessage(reasoning=t),
            lambda t: v.DeltaMessage(content=t),
            lambda t: v.DeltaMessage(tool_calls=[call(index=0, function=function(arguments=t))]),
        ),
    )

    root = host_sources.source("sglang", test_sglang.VERSION, test_sglang.FILES)
    modules = HOSTS.enter_context(host_sources.loaded(root, "sglang", test_sglang.REAL, test_sglang.GIVEN))
    types = modules["sglang.srt.function_call.core_types"]
    thought = modules["sglang.srt.parser.reasoning_parser"].StreamingParseResult
    import qwenparse.adapters.sglang as sglang_plugin

    tools = [test_sglang.Tool(tool) for tool in TOOLS]

    def sglang() -> None:
        first = sglang_plugin.QwenReasoningDetector(force_reasoning=True, tool_call_parser_active=True)
        first.use_tools(tools)
        second = sglang_plugin.QwenToolDetector()
        for piece in PIECES:
            normal = first.parse_streaming_increment(piece).normal_text
            second.parse_streaming_increment(normal, tools)

    def sglang_floor() -> None:
        feed = parser().feed
        json = ArgumentsJSON(TOOLS).feed
        for piece in PIECES:  # the host calls both detectors for every delta, and wants an object of each
            delta = feed(piece)
            thought("", delta.reasoning if delta else None)
            content = delta.content if delta else None
            calls = [json(e) for e in delta.calls] if delta else []
            if any(calls):
                items = [types.ToolCallItem(tool_index=0, parameters=text) for text in calls if text]
                types.StreamingParseResult(normal_text=content or "", calls=items)
            else:
                types.StreamingParseResult(normal_text=content or "")

    ROWS["SGLang results"] = (sglang, sglang_floor)


hosts()


def test_parser_alone(benchmark: Any) -> None:
    benchmark.group = "parser alone"
    benchmark.extra_info["tokens"] = len(PIECES)
    benchmark(bare)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("kind", ["adapter", "floor"])
def test_per_token(benchmark: Any, name: str, kind: str) -> None:
    benchmark.group = name
    benchmark.extra_info["tokens"] = len(PIECES)
    benchmark(ROWS[name][kind == "floor"])


@pytest.mark.parametrize("name", ROWS)
def test_no_adapter_costs_twice_its_floor(name: str) -> None:
    run, floor = ROWS[name]
    ours, least, alone = cpu_ns(run, 15), cpu_ns(floor, 15), cpu_ns(bare, 15)
    per = {k: round(v / len(PIECES)) for k, v in (("adapter", ours), ("floor", least), ("parser", alone))}
    print(f"\n{name}: ns a token: {per}, {ours / least:.2f} times the floor")
    assert ours < 2 * least, per
