"""One adapter over both parsers, text, bytes and ids; options; errors."""

from __future__ import annotations

import json
import time
from typing import Any

import ollama_golden
import pytest
import real_tokenizers
from adapter_inputs import inputs

from qwenparse import DeltaParser, ParserClosed, ToolCallStart
from qwenparse.adapters import anthropic, ollama, openai, responses
from qwenparse.adapters.answer import collect
from qwenparse.adapters.openai import ChatCompletionStream
from qwenparse.adapters.pieces import joined
from qwenparse.ollama import ParseError, Parser

CALL = "<tool_call>\n<function=sh>\n<parameter=cmd>\nls\n</parameter>\n</function>\n</tool_call>"
HEAD, *ROWS = ollama_golden.rows("ollama_parse.jsonl.gz")


def fed(stream: Any, pieces: list[Any], finish: str | None = "stop") -> list[Any]:
    return [item for piece in pieces for item in stream.feed(piece)] + stream.close(finish)


def answer(chunks: list[Any]) -> tuple[str, str, list[list[Any]]]:
    """Reasoning, content, calls of chat chunks."""
    deltas = [c["choices"][0]["delta"] for c in chunks]
    calls: list[list[Any]] = []
    for call in (call for delta in deltas for call in delta.get("tool_calls", ())):
        if "id" in call:
            calls.append([call["function"]["name"], ""])
        calls[-1][1] += call["function"]["arguments"]
    text = {key: "".join(d.get(key) or "" for d in deltas) for key in ("reasoning_content", "content")}
    return text["reasoning_content"], text["content"], calls


@pytest.mark.parametrize("part", range(8))
def test_recorded_chunks_of_the_reference_join_to_what_it_answered(part: int) -> None:
    for row in ROWS[part :: 8 * 3]:
        chunks = [ollama_golden.text(c) for c in row["chunks"]]
        thinking = content = ""
        calls = []
        for expect in row["expect"]:
            thinking += ollama_golden.text(expect.get("thinking", ""))
            content += ollama_golden.text(expect.get("content", ""))
            for call in expect.get("calls", ()):
                text = call["arguments_json"]
                calls.append([ollama_golden.text(call["name"]), "{}" if text in ("", "null") else text])
        for _, pieces in ollama_golden.feedings(chunks):
            parser = Parser(
                row["parser"], HEAD["toolsets"][row["tools"]], think=row.get("think"),
                last_message=row.get("last_message"), arch=row.get("arch") or "amd64",
            )  # fmt: skip
            stream = ChatCompletionStream(parser, model="m")
            out = []
            for piece in pieces:
                try:
                    out += stream.feed(piece)
                except ParseError:  # feeding goes on, as in the reference
                    pass
            out += stream.close("length")
            got = answer(out)
            assert got == (joined(thinking), joined(content), calls), row["id"]
            assert all(isinstance(json.loads(text), dict) for _, text in got[2] if len(text) < 5000)
            assert out[-1]["choices"][0]["finish_reason"] == ("tool_calls" if calls else "length")


@pytest.mark.parametrize("item", inputs(60), ids=lambda i: i.id)
def test_ids_give_what_their_text_gives(item: Any) -> None:
    table = real_tokenizers.table("small")
    plain = joined(item.text).replace("<|", "<!")  # a stop id would end the turn
    ids = real_tokenizers.tokenizer("small").encode(plain, add_special_tokens=False).ids
    text = item.parser(tokens=table, tags="text")
    want = answer(fed(ChatCompletionStream(text, model="m"), [table.decode(ids)], "length"))
    for pieces in ([ids], [[i] for i in ids], list(ids), [tuple(ids)], [ids[:3], [], ids[3:]]):
        parser = item.parser(tokens=table, tags="text")
        assert answer(fed(ChatCompletionStream(parser, model="m"), pieces, "length")) == want


def test_a_stop_id_ends_the_turn_and_close_may_follow() -> None:
    table = real_tokenizers.table("small")
    ids = real_tokenizers.tokenizer("small").encode("Hi<|im_end|>", add_special_tokens=False).ids
    parser = DeltaParser("qwen3.5", start="content", tokens=table)
    chunks = fed(ChatCompletionStream(parser, model="m"), [ids], None)
    assert answer(chunks)[1] == "Hi" and chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert parser.turn.closed == "im_end"


@pytest.mark.parametrize("data", [bytearray(b"Hi \xe4\xb8\x96"), memoryview(b"Hi \xe4\xb8\x96")])
def test_any_buffer_is_bytes(data: Any) -> None:
    chunks = fed(ChatCompletionStream(DeltaParser("qwen3.5", start="content"), model="m"), [data])
    assert answer(chunks)[1] == "Hi 世"


def test_the_role_comes_with_the_first_feed_even_if_it_decides_nothing() -> None:
    stream = ChatCompletionStream(DeltaParser("qwen3.5"), model="m")
    (chunk,) = stream.feed("\n")
    assert chunk["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert stream.feed("\n") == []
    assert [c["choices"][0] for c in stream.close("length")] == [{"index": 0, "delta": {}, "finish_reason": "length"}]


def test_an_empty_completion_has_a_role_and_an_end() -> None:
    chunks = ChatCompletionStream(DeltaParser("qwen3.5"), model="m").close("stop")
    assert [c["choices"][0]["delta"] for c in chunks] == [{"role": "assistant", "content": None}, {}]


FINISH = {
    "complete": (f"{CALL}", "stop", "tool_calls"),
    "complete, length": (f"{CALL}", "length", "tool_calls"),
    "complete, then cut": (f"{CALL}\n{CALL[:60]}", "length", "tool_calls"),
    "cut": (CALL[:60], "length", "length"),
    "cut, although the engine says stop": (CALL[:60], "stop", "length"),
    "cut before the name": ("<tool_call>\n<function=s", "length", "length"),
    "text": ("Hi", "stop", "stop"),
    "text, length": ("Hi", "length", "length"),
    "the engine's own word": ("Hi", "content_filter", "content_filter"),
    "unknown": ("Hi", None, "stop"),
    "broken by a fault": ('<tool_call>\n{"name": "sh", "arguments": [1]}\n</tool_call>', "stop", "stop"),
}


@pytest.mark.parametrize("name", FINISH)
def test_finish_reason(name: str) -> None:
    text, engine, expected = FINISH[name]
    stream = ChatCompletionStream(DeltaParser("qwen3.5", start="content"), model="m")
    assert fed(stream, [text], engine)[-1]["choices"][0]["finish_reason"] == expected
    collected = collect(DeltaParser("qwen3.5", start="content"), [text], engine)
    assert openai.completion(collected, model="m", finish_reason=engine)["choices"][0]["finish_reason"] == expected


def test_the_parser_is_told_how_the_engine_ended() -> None:
    for finish, stop, closed in (
        ("stop", None, "im_end"), ("length", None, "none"), (None, None, "none"), ("abort", None, "none"),
        ("stop", "none", "none"), ("length", "other_stop", "other_stop"),
    ):  # fmt: skip
        parser = DeltaParser("qwen3.5")
        ChatCompletionStream(parser, model="m").close(finish, stop=stop)  # type: ignore[arg-type]
        assert parser.closed == closed


def test_a_call_that_is_cut_is_in_the_stream_only() -> None:
    parser = DeltaParser("qwen3.5", start="content")
    chunks = fed(ChatCompletionStream(parser, model="m"), [CALL[:55]], "length")
    assert answer(chunks)[2] == [["sh", '{"cmd": "ls']] or answer(chunks)[2][0][0] == "sh"
    assert "tool_calls" not in openai.message(parser.turn)
    assert [b["type"] for b in anthropic.message(parser.turn, model="m")["content"]] == []


def test_argument_text_streams_as_it_comes() -> None:
    tools = [{"name": "w", "parameters": {"properties": {"t": {"type": "string"}}}}]
    stream = ChatCompletionStream(DeltaParser("qwen3.5", start="content", tools=tools), model="m")
    stream.feed("<tool_call>\n<function=w>\n<parameter=t>\n")
    for word in ("alpha", ' "q"', "\tx"):
        (chunk,) = stream.feed(word)
        arguments = chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"]
        assert arguments.removeprefix('{"t": "') == json.dumps(word)[1:-1]


@pytest.mark.parametrize(
    "option, fields",
    [("reasoning_content", ["reasoning_content"]), ("reasoning", ["reasoning"]), ("none", []),
     ("both", ["reasoning_content", "reasoning"])],
)  # fmt: skip
def test_reasoning_goes_to_the_field_asked_for(option: Any, fields: list[str]) -> None:
    parser = DeltaParser("qwen3.5")
    chunks = fed(ChatCompletionStream(parser, model="m", reasoning=option), ["Hm.\n</think>\n\nHi"])
    deltas = [c["choices"][0]["delta"] for c in chunks]
    assert ([list(d) for d in deltas if "Hm." in d.values()] or [[]]) == [fields]
    message = openai.message(parser.turn, reasoning=option)
    assert [k for k, v in message.items() if v == "Hm."] == fields


def test_other_options_of_the_chunks() -> None:
    stream = ChatCompletionStream(
        DeltaParser("qwen3.5", start="content"), model="m", index=2, system_fingerprint="fp", include_usage=True
    )
    chunks = fed(stream, ["Hi"])
    assert {c["choices"][0]["index"] for c in chunks} == {2}
    assert {(c["system_fingerprint"], c["usage"]) for c in chunks} == {("fp", None)}
    assert len({c["id"] for c in chunks}) == 1 and chunks[0]["id"].startswith("chatcmpl-")
    assert abs(chunks[0]["created"] - time.time()) < 60
    last = stream.usage_chunk(2, 3, cached_tokens=1, reasoning_tokens=0)
    assert last["choices"] == [] and last["usage"] == {
        "prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip


STREAMS = [ChatCompletionStream, responses.ResponseStream, anthropic.MessageStream, ollama.ChatStream]


@pytest.mark.parametrize("stream", STREAMS)
def test_the_callers_encoder_is_used_and_may_give_bytes(stream: Any) -> None:
    seen = []

    def dumps(value: Any) -> bytes:
        seen.append(value)
        return b"{}"

    made = stream(DeltaParser("qwen3.5", start="content"), model="m", dumps=dumps)
    items = fed(made, ["Hi"])
    assert made.encode(items).count(b"{}") == len(items) and seen == items


def test_thoughts_can_be_left_out() -> None:
    text = ["Hm.\n</think>\n\nHi"]
    events = fed(anthropic.MessageStream(DeltaParser("qwen3.5"), model="m", thinking=False), text)
    assert [e["content_block"]["type"] for e in events if "content_block" in e] == ["text"]
    events = fed(responses.ResponseStream(DeltaParser("qwen3.5"), model="m", reasoning=False), text)
    assert [e["item"]["type"] for e in events if e["type"] == "response.output_item.added"] == ["message"]


def test_the_request_is_repeated_in_a_response() -> None:
    request = {"tools": [{"type": "function", "name": "sh"}], "temperature": 0.5, "tool_choice": "required"}
    stream = responses.ResponseStream(DeltaParser("qwen3.5"), model="m", request=request)
    stream.usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    final = fed(stream, ["Hm."])[-1]["response"]
    assert {k: final[k] for k in request} == request and final["usage"]["total_tokens"] == 3


def test_a_stop_string_is_named_to_anthropic_clients() -> None:
    stream = anthropic.MessageStream(DeltaParser("qwen3.5", start="content"), model="m")
    stream.feed("Hi")
    stream.stop_sequence = "END"
    (*_, delta, _) = stream.close("stop", stop="none")
    assert delta["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "END"}


def test_misuse() -> None:
    with pytest.raises(ValueError, match="reasoning='x': it takes"):
        ChatCompletionStream(DeltaParser("qwen3.5"), model="m", reasoning="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reasoning='x': it takes"):
        openai.message(collect(DeltaParser("qwen3.5"), ["Hm."]), reasoning="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="tokens"):
        ChatCompletionStream(DeltaParser("qwen3.5"), model="m").feed([1])
    with pytest.raises(TypeError, match="reads text or bytes, not list"):
        ChatCompletionStream(Parser("qwen3.5"), model="m").feed([1])
    stream = ChatCompletionStream(DeltaParser("qwen3.5"), model="m")
    stream.close()
    with pytest.raises(ParserClosed):
        stream.feed("x")


def test_a_call_of_the_reference_without_arguments_is_an_empty_object() -> None:
    parser = Parser("qwen3")
    delta = parser.feed('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')
    assert delta is not None and isinstance(delta.calls[0], ToolCallStart)
    assert answer(fed(ChatCompletionStream(Parser("qwen3"), model="m"), [
        '<tool_call>\n{"name": "f", "arguments": null}\n</tool_call>'
    ]))[2] in ([["f", "{}"]], [])  # fmt: skip
