"""The streams of all four APIs, joined by the plainest rules, give the message; for every input and cutting."""

from __future__ import annotations

import json
from typing import Any

import pytest
from adapter_inputs import Input, cuts, engine_reason, inputs

from qwenparse import Turn
from qwenparse.adapters import answer, anthropic, ollama, openai, responses
from qwenparse.adapters.pieces import joined, replaced


def expected(turn: Turn) -> tuple[str, str, list[tuple[str, str, str, bool]]]:
    calls = [(c.id, replaced(c.name or ""), replaced(c.arguments_json), c.complete) for c in turn.calls]
    return joined(turn.reasoning or ""), joined(turn.content or ""), calls


def reason(turn: Turn, stop: str) -> str:
    if turn.tool_calls:
        return "tool_calls"
    return "length" if turn.cut_call is not None else engine_reason(stop)


def run(stream: Any, pieces: list[Any], stop: str) -> list[Any]:
    out = [item for piece in pieces for item in stream.feed(piece)]
    out += stream.close(engine_reason(stop), stop=stop)
    assert stream.close("stop") == []
    for item in out:
        stream.encode([item]).decode("utf-8")
    return out


def encodable(item: Any) -> None:
    json.dumps(item, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("item", inputs(), ids=lambda i: i.id)
def test_chat_chunks_join_to_the_message(item: Input) -> None:
    for pieces in cuts(item):
        parser = item.parser()
        stream = openai.ChatCompletionStream(parser, model="m", id="x", created=1)
        chunks = run(stream, pieces, item.stop)
        reasoning = content = ""
        calls: list[dict[str, Any]] = []
        for place, chunk in enumerate(chunks):
            encodable(chunk)
            (choice,) = chunk["choices"]
            delta = dict(choice["delta"])
            assert (choice["finish_reason"] is not None) == (place == len(chunks) - 1) == (delta == {})
            if place == 0:
                assert delta == {"role": "assistant", "content": None}
                continue
            assert len(delta) <= 1 and all(delta.values())
            reasoning += delta.get("reasoning_content", "")
            content += delta.get("content", "")
            for call in delta.get("tool_calls", ()):
                if "id" in call:
                    assert call["index"] == len(calls) and call["type"] == "function" and len(call) == 4
                    calls.append({"id": call["id"], **call["function"]})
                    assert call["function"].keys() == {"name", "arguments"}
                else:
                    assert call.keys() == {"index", "function"} and call["index"] == len(calls) - 1
                    assert call["function"].keys() == {"arguments"} and call["function"]["arguments"]
                    calls[-1]["arguments"] += call["function"]["arguments"]
        turn = parser.turn
        want = expected(turn)
        assert (reasoning, content) == want[:2]
        assert [(c["id"], c["name"], c["arguments"]) for c in calls] == [c[:3] for c in want[2]]
        for call, (*_, complete) in zip(calls, want[2], strict=True):
            if complete:
                assert isinstance(json.loads(call["arguments"]), dict)
        assert chunks[-1]["choices"][0]["finish_reason"] == reason(turn, item.stop)
        assert_message(turn, item.stop)


def assert_message(turn: Turn, stop: str) -> None:
    """The non-streamed message is `Turn.message()` but for what cannot be encoded."""
    message = openai.message(turn)
    encodable(message)
    plain = turn.message()
    for holder in (message, plain):
        for key in ("content", "reasoning_content"):
            if holder.get(key) is not None:
                holder[key] = joined(holder[key])  # type: ignore[literal-required]
        for call in holder.get("tool_calls", ()):
            call["function"] = {k: replaced(v) for k, v in call["function"].items()}
    assert message == plain
    whole = openai.completion(turn, model="m", finish_reason=engine_reason(stop))
    assert whole["choices"][0]["finish_reason"] == reason(turn, stop)


@pytest.mark.parametrize("item", inputs(), ids=lambda i: i.id)
def test_messages_events_join_to_the_message(item: Input) -> None:
    for pieces in cuts(item, single=False):
        parser = item.parser()
        events = run(anthropic.MessageStream(parser, model="m"), pieces, item.stop)
        blocks: list[dict[str, Any]] = []
        open_at = -1
        for event in events:
            encodable(event)
            if event["type"] == "content_block_start":
                assert open_at == -1 and event["index"] == len(blocks)
                open_at = event["index"]
                blocks.append(dict(event["content_block"], pieces=[]))
            elif event["type"] == "content_block_delta":
                assert event["index"] == open_at
                kind, text = event["delta"].values()
                assert text
                blocks[-1]["pieces"].append((kind, text))
            elif event["type"] == "content_block_stop":
                assert event["index"] == open_at
                open_at = -1
        assert open_at == -1 and events[0]["type"] == "message_start" and events[-1]["type"] == "message_stop"
        kinds = {"thinking": "thinking_delta", "text": "text_delta", "tool_use": "input_json_delta"}
        assert all(kind == kinds[b["type"]] for b in blocks for kind, _ in b["pieces"])
        text = {k: "".join(t for b in blocks if b["type"] == k for _, t in b["pieces"]) for k in kinds}
        want = expected(parser.turn)
        assert (text["thinking"], text["text"]) == want[:2]
        calls = [(b["id"], b["name"], "".join(t for _, t in b["pieces"])) for b in blocks if b["type"] == "tool_use"]
        assert calls == [c[:3] for c in want[2]]
        words = {"tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn"}
        assert events[-2]["delta"]["stop_reason"] == words[reason(parser.turn, item.stop)]
        whole = anthropic.message(parser.turn, model="m", finish_reason=engine_reason(item.stop))
        assert whole["stop_reason"] == events[-2]["delta"]["stop_reason"]
        tools = [b for b in whole["content"] if b["type"] == "tool_use"]
        complete = [c for c in want[2] if c[3]]
        assert [(b["id"], b["name"]) for b in tools] == [c[:2] for c in complete]
        for block, call in zip(tools, complete, strict=True):
            if len(call[2]) < 1000:
                assert block["input"] == json.loads(call[2])


@pytest.mark.parametrize("item", inputs(), ids=lambda i: i.id)
def test_responses_events_join_to_the_response(item: Input) -> None:
    for pieces in cuts(item, single=False):
        parser = item.parser()
        events = run(responses.ResponseStream(parser, model="m"), pieces, item.stop)
        assert [e["sequence_number"] for e in events] == list(range(len(events)))
        items: dict[int, dict[str, Any]] = {}
        texts: dict[int, str] = {}
        for event in events:
            encodable(event)
            if event["type"] == "response.output_item.added":
                assert event["output_index"] == len(items) and event["item"]["status"] == "in_progress"
                items[event["output_index"]] = event["item"]
                texts[event["output_index"]] = ""
            elif event["type"].endswith(".delta"):
                assert event["output_index"] == len(items) - 1
                assert event["item_id"] == items[event["output_index"]]["id"] and event["delta"]
                texts[event["output_index"]] += event["delta"]
            elif event["type"] in ("response.output_text.done", "response.reasoning_text.done"):
                assert event["text"] == texts[event["output_index"]]
            elif event["type"] == "response.function_call_arguments.done":
                assert event["arguments"] == texts[event["output_index"]]
            elif event["type"] == "response.output_item.done":
                items[event["output_index"]] = event["item"]
        of = {k: "".join(texts[i] for i, x in items.items() if x["type"] == k) for k in ("reasoning", "message")}
        turn = parser.turn
        want = expected(turn)
        assert (of["reasoning"], of["message"]) == want[:2]
        calls = [x for x in items.values() if x["type"] == "function_call"]
        assert [(c["call_id"], c["name"], c["arguments"], c["status"] == "completed") for c in calls] == want[2]
        final = events[-1]["response"]
        assert final["output"] == [x for x in items.values() if x["status"] == "completed"]
        cut = turn.cut_call is not None or reason(turn, item.stop) == "length"
        assert events[-1]["type"] == ("response.incomplete" if cut else "response.completed")
        whole = responses.response(turn, model="m", finish_reason=engine_reason(item.stop))
        assert whole["status"] == final["status"]
        kept = [x for x in whole["output"] if x["type"] == "function_call"]
        assert [(x["call_id"], x["arguments"]) for x in kept] == [(c[0], c[2]) for c in want[2] if c[3]]


@pytest.mark.parametrize("item", inputs(), ids=lambda i: i.id)
def test_chat_lines_join_to_the_message(item: Input) -> None:
    for pieces in cuts(item, single=False):
        parser = item.parser()
        lines = run(ollama.ChatStream(parser, model="m"), pieces, item.stop)
        for line in lines:
            encodable(line)
        messages = [line["message"] for line in lines]
        want = expected(parser.turn)
        assert "".join(m.get("thinking", "") for m in messages) == want[0]
        assert "".join(m["content"] for m in messages) == want[1]
        calls = [call for m in messages for call in m.get("tool_calls", ())]
        complete = [(i, c) for i, c in enumerate(want[2]) if c[3]]
        assert [(c["function"]["index"], c["id"], c["function"]["name"]) for c in calls] == [
            (i, c[0], c[1]) for i, c in complete
        ]
        for call, (_, (_, _, text, _)) in zip(calls, complete, strict=True):
            if len(text) < 1000:
                assert call["function"]["arguments"] == json.loads(text)
        assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
        whole = ollama.response(parser.turn, model="m", finish_reason=engine_reason(item.stop))
        assert whole["done_reason"] == lines[-1]["done_reason"]
        assert whole["message"].get("tool_calls", []) == calls


@pytest.mark.parametrize("item", inputs(), ids=lambda i: i.id)
def test_collected_pieces_are_the_turn(item: Input) -> None:
    turn = item.turn()
    want = expected(turn)
    for pieces in cuts(item):
        got = answer.collect(item.parser(), pieces, engine_reason(item.stop), stop=item.stop)  # type: ignore[arg-type]
        assert (got.reasoning or "", got.content or "") == want[:2]
        assert [(c.id, c.name, c.arguments_json, c.complete) for c in got.calls] == want[2]
        assert (got.cut_call is not None) == (turn.cut_call is not None)
        for shape in (openai.message, ollama.message):
            assert shape(got) == shape(turn)  # type: ignore[operator]
