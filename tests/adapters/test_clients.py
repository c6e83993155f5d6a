"""The public clients read our streams off the wire, add them up their own way, and have the message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic as anthropic_client
import httpx
import httpx2
import ollama as ollama_client
import openai as openai_client
import pytest
from adapter_inputs import Input, cuts, engine_reason, inputs
from openai.lib.streaming.chat import ChatCompletionStreamState

from qwenparse import Turn
from qwenparse.adapters import anthropic, ollama, openai, responses
from qwenparse.adapters.pieces import Stream

Wire = Callable[[], bytes]


class Server:
    """Answers every request with the body that `wire` makes."""

    def __init__(self) -> None:
        self.wire: Wire = bytes

    def transport(self, library: Any) -> Any:
        headers = {"content-type": "text/event-stream"}
        return library.MockTransport(lambda request: library.Response(200, headers=headers, content=self.wire()))


SERVER = Server()
OPENAI = openai_client.OpenAI(
    api_key="none",
    base_url="http://host/v1",
    max_retries=0,
    http_client=httpx.Client(transport=SERVER.transport(httpx)),
)
ANTHROPIC = anthropic_client.Anthropic(
    api_key="none",
    base_url="http://host",
    max_retries=0,
    http_client=httpx2.Client(transport=SERVER.transport(httpx2)),
)
OLLAMA = ollama_client.Client("http://host", transport=SERVER.transport(httpx))
USER: Any = [{"role": "user", "content": "Hi"}]


def wire(stream: Stream, pieces: list[Any], stop: str, end: bytes = b"") -> Wire:
    def body() -> bytes:
        parts = [stream.encode(stream.feed(piece)) for piece in pieces]
        return b"".join([*parts, stream.encode(stream.close(engine_reason(stop), stop=stop)), end])  # type: ignore[arg-type]

    return body


def some_cuts(item: Input) -> list[list[Any]]:
    """Two cuttings, all of short inputs; the clients add up what they have at every chunk, which is quadratic."""
    return list(cuts(item, single=len(item.text) < 30))[: None if len(item.text) < 30 else 2]


# A lone escape in the arguments of a JSON call is JSON, but not to jiter, with which the client reads partial input.
def jiter_reads(turn: Turn) -> bool:
    return not any("\\ud" in c.arguments_json.lower() for c in turn.calls)


@pytest.mark.parametrize("item", inputs(30), ids=lambda i: i.id)
def test_the_openai_client_has_the_message(item: Input) -> None:
    for pieces in some_cuts(item):
        parser = item.parser()
        stream = openai.ChatCompletionStream(parser, model="m", reasoning="both", include_usage=True)
        SERVER.wire = wire(stream, pieces, item.stop, stream.encode([stream.usage_chunk(3, 4)]) + openai.DONE)
        state = ChatCompletionStreamState()  # type: ignore[var-annotated]
        for chunk in OPENAI.chat.completions.create(model="m", messages=USER, stream=True):
            state.handle_chunk(chunk)
        final = state.current_completion_snapshot  # `get_final_completion` raises for the reason `length`
        assert final.usage is not None and final.usage.total_tokens == 7
        got = final.choices[0].message
        want = openai.message(parser.turn, reasoning="both")
        extra = got.model_extra or {}
        assert (got.role, got.content) == ("assistant", want["content"])
        assert extra.get("reasoning_content") == extra.get("reasoning") == want.get("reasoning")
        calls = [(c.id, c.type, c.function.name, c.function.arguments) for c in got.tool_calls or ()]
        turn_calls = parser.turn.calls
        assert len(calls) == len(turn_calls)
        complete = [c for c, ours in zip(calls, turn_calls, strict=True) if ours.complete]
        assert complete == [
            (c["id"], c["type"], c["function"]["name"], c["function"]["arguments"]) for c in want.get("tool_calls", ())
        ]
        assert final.choices[0].finish_reason == (
            "tool_calls" if complete else "length" if parser.turn.cut_call is not None else engine_reason(item.stop)
        )


@pytest.mark.parametrize("item", inputs(30), ids=lambda i: i.id)
def test_the_openai_client_has_the_response(item: Input) -> None:
    for pieces in some_cuts(item):
        parser = item.parser()
        stream = responses.ResponseStream(parser, model="m")
        SERVER.wire = wire(stream, pieces, item.stop)
        final = None
        with OPENAI.responses.stream(model="m", input="Hi") as events:
            for event in events:
                if event.type in ("response.completed", "response.incomplete"):
                    final = event.response  # type: ignore[union-attr]
        assert final is not None
        want = openai.message(parser.turn)
        assert (final.output_text or None) == want["content"]
        thoughts = [p.text for i in final.output if i.type == "reasoning" for p in i.content or ()]
        assert ("".join(thoughts) or None) == want.get("reasoning_content")
        calls = [(i.call_id, i.name, i.arguments) for i in final.output if i.type == "function_call"]
        assert calls == [
            (c["id"], c["function"]["name"], c["function"]["arguments"]) for c in want.get("tool_calls", ())
        ]


@pytest.mark.parametrize("item", inputs(30), ids=lambda i: i.id)
def test_the_anthropic_client_has_the_message(item: Input) -> None:
    if not jiter_reads(item.turn()):
        return
    for pieces in some_cuts(item):
        parser = item.parser()
        stream = anthropic.MessageStream(parser, model="m", input_tokens=3)
        stream.output_tokens = 4
        SERVER.wire = wire(stream, pieces, item.stop)
        with ANTHROPIC.messages.stream(model="m", max_tokens=9, messages=USER) as events:
            got = events.get_final_message()
        want = openai.message(parser.turn)
        assert ("".join(b.text for b in got.content if b.type == "text") or None) == want["content"]
        thoughts = "".join(b.thinking for b in got.content if b.type == "thinking")
        assert (thoughts or None) == want.get("reasoning_content")
        calls = [b for b in got.content if b.type == "tool_use"]
        assert len(calls) == len(parser.turn.calls)
        complete = [(b.id, b.name, b.input) for b, c in zip(calls, parser.turn.calls, strict=True) if c.complete]
        assert complete == [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in want.get("tool_calls", ())
        ]
        assert (got.usage.input_tokens, got.usage.output_tokens) == (3, 4)
        assert got.stop_reason == anthropic.message(
            parser.turn, model="m", finish_reason=engine_reason(item.stop)
        )["stop_reason"]  # fmt: skip


@pytest.mark.parametrize("item", inputs(30), ids=lambda i: i.id)
def test_the_ollama_client_has_the_message(item: Input) -> None:
    for pieces in some_cuts(item):
        parser = item.parser()
        stream = ollama.ChatStream(parser, model="m")
        stream.stats = {"eval_count": 4}
        SERVER.wire = wire(stream, pieces, item.stop)
        parts = list(OLLAMA.chat("m", messages=USER, stream=True))
        want = ollama.message(parser.turn)
        assert "".join(p.message.content or "" for p in parts) == want["content"]
        assert ("".join(p.message.thinking or "" for p in parts) or None) == want.get("thinking")
        calls = [(c.function.name, dict(c.function.arguments)) for p in parts for c in p.message.tool_calls or ()]
        assert calls == [(c["function"]["name"], c["function"]["arguments"]) for c in want.get("tool_calls", ())]
        assert parts[-1].done and parts[-1].eval_count == 4 and not any(p.done for p in parts[:-1])
