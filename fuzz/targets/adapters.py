"""I3 at the edge: what a client adds up out of each adapter's stream is the turn; every item can be encoded."""

from __future__ import annotations

import json
from typing import Any

from fuzz.checks import cuttings
from fuzz.settings import TOOLSETS, Settings, settings
from qwenparse import DeltaParser, Turn
from qwenparse.adapters.anthropic import MessageStream
from qwenparse.adapters.ollama import ChatStream
from qwenparse.adapters.openai import ChatCompletionStream
from qwenparse.adapters.pieces import joined, replaced
from qwenparse.adapters.responses import ResponseStream

NATIVE = True
BYTECODE = ("qwenparse.adapters",)
MIN_EDGES = 1700

FINISH = {"im_end": "stop", "other_stop": "stop", "none": "length"}
Calls = list[tuple[str, str]]
Sum = tuple[str, str, Calls]


def openai(items: list[Any], turn: Turn) -> Sum:
    """Chat chunks, as clients of the API add them up."""
    reasoning = content = ""
    calls: list[list[str]] = []
    for item in items:
        delta = item["choices"][0]["delta"]
        reasoning += delta.get("reasoning_content") or ""
        content += delta.get("content") or ""
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                assert call["index"] == len(calls)
                calls.append([call["function"]["name"], ""])
            calls[call["index"]][1] += call["function"].get("arguments", "")
    finish = [x["choices"][0]["finish_reason"] for x in items]
    assert finish[-1] is not None and not any(finish[:-1])
    assert (finish[-1] == "tool_calls") == bool(turn.tool_calls)
    return reasoning, content, [(name, text) for name, text in calls]


def anthropic(items: list[Any], turn: Turn) -> Sum:
    """Messages events: blocks follow each other, each closed before the next."""
    parts: dict[str, str] = {"thinking": "", "text": ""}
    calls: Calls = []
    index, kind, text, name = -1, "", "", ""
    assert items[0]["type"] == "message_start" and [x["type"] for x in items[-2:]] == ["message_delta", "message_stop"]
    for item in items[1:-2]:
        if item["type"] == "content_block_start":
            assert not kind and item["index"] == index + 1
            index, block = item["index"], item["content_block"]
            kind, text, name = block["type"], "", block.get("name", "")
        elif item["type"] == "content_block_delta":
            delta = item["delta"]
            assert item["index"] == index and kind
            text += delta.get("thinking") or delta.get("text") or delta.get("partial_json") or ""
        elif item["type"] == "content_block_stop":
            assert item["index"] == index and kind
            if kind == "tool_use":
                calls.append((name, text))
            else:
                parts[kind] += text
            kind = ""
        else:
            assert item["type"] == "ping", item
    assert not kind
    return parts["thinking"], parts["text"], calls


def ollama(items: list[Any], turn: Turn) -> Sum:
    """`/api/chat` lines: calls come whole, and only complete ones."""
    assert [x["done"] for x in items] == [False] * (len(items) - 1) + [True]
    messages = [x["message"] for x in items]
    calls = [c["function"] for m in messages for c in m.get("tool_calls", ())]
    assert [c["name"] for c in calls] == [replaced(c.name or "") for c in turn.tool_calls]
    whole = [(replaced(c.name or ""), replaced(c.arguments_json)) for c in turn.calls]
    return "".join(m.get("thinking", "") for m in messages), "".join(m["content"] for m in messages), whole


def responses(items: list[Any], turn: Turn) -> Sum:
    """Responses events: numbered in order; the deltas of an item join to its final text."""
    assert [x["sequence_number"] for x in items] == list(range(len(items)))
    parts = {"reasoning": "", "message": ""}
    calls: Calls = []
    text, open_ = "", None
    for item in items:
        if item["type"] == "response.output_item.added":
            assert open_ is None
            open_, text = item["item"], ""
        elif item["type"].endswith(".delta"):
            assert open_ is not None
            text += item["delta"]
        elif item["type"] == "response.output_item.done":
            done = item["item"]
            assert open_ is not None and done["id"] == open_["id"]
            if done["type"] == "function_call":
                assert done["arguments"] == text
                calls.append((done["name"], text))
            else:
                assert done["content"][0]["text"] == text
                parts[done["type"]] += text
            open_ = None
    assert open_ is None and items[-1]["type"] in ("response.completed", "response.incomplete")
    return parts["reasoning"], parts["message"], calls


STREAMS = (
    (ChatCompletionStream, openai),
    (MessageStream, anthropic),
    (ChatStream, ollama),
    (ResponseStream, responses),
)


def one(data: bytes) -> None:
    """`data`: header and completion; the adapter is chosen by its length."""
    s, body = settings(data)
    check(s, body, *STREAMS[len(body) % len(STREAMS)])


def check(s: Settings, body: bytes, make: Any, add_up: Any) -> None:
    """One adapter over one cutting."""
    parser = DeltaParser(s.format, tools=TOOLSETS[s.tools], **s.options)
    stream = make(parser, model="m")
    items = [item for piece in cuttings(s, body, s.cut) for item in stream.feed(piece)]
    items += stream.close(FINISH[s.stop])
    turn = parser.turn
    got = add_up(items, turn)
    calls = [(replaced(c.name or ""), replaced(c.arguments_json)) for c in turn.calls]
    assert got == (joined(turn.reasoning or ""), joined(turn.content or ""), calls), f"{got!r}\n{turn!r}"
    assert stream.close("stop") == []
    wire = stream.encode(items)
    wire.decode("utf-8")
    for item in items:
        assert json.loads(json.dumps(item)) == item
