"""Digests: one for a turn and for whatever clients make of it, another for every real edit."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from roundtrip.support import NATIVE, TOOLS, random_case, read

from qwenparse import digest, reasoning_digest
from qwenparse.replay.canonical_json import canonical, canonical_arguments

PROMPT = "<|im_start|>assistant\n<think>\n"


def _spelled(rng: random.Random, value: Any) -> str:
    """The same JSON value in another spelling."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        space = rng.choice(("", " ", "\n  "))
        return "{" + f",{space}".join(f"{_spelled(rng, k)}:{space}{_spelled(rng, value[k])}" for k in keys) + "}"
    if isinstance(value, list):
        return "[" + rng.choice((",", ", ")).join(_spelled(rng, v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, float) and not value.is_integer():
        return json.dumps(value)
    if isinstance(value, (int, float)) and abs(value) < 1e15:
        return rng.choice((f"{int(value)}", f"{int(value)}.0", f"{int(value)}.00e0", f"{int(value) * 10}e-1"))
    return json.dumps(value)


def transformed(rng: random.Random, message: dict[str, Any]) -> list[dict[str, Any]]:
    """What clients do to an assistant message without changing what it says."""
    message = deepcopy(message)
    if rng.random() < 0.5:
        message.pop("reasoning_content", None)
    for call in message.get("tool_calls", ()):
        function = call["function"]
        try:
            value = json.loads(function["arguments"])
        except ValueError:
            continue
        kind = rng.randrange(3)
        if kind == 1:
            function["arguments"] = value
        elif kind == 2:
            function["arguments"] = _spelled(rng, value)
        if not value and rng.random() < 0.5:
            function["arguments"] = rng.choice(("", None, "{}", " { } ", {}))
        call["id"] = rng.choice((call["id"], "other", None))
    content = message["content"]
    if content is None:
        kind = rng.randrange(3)
        if kind == 1:
            message["content"] = rng.choice(("", " \n", []))
        elif kind == 2:
            del message["content"]
    else:
        content = rng.choice(("", " ", "\r\n")) + content + rng.choice(("", "\n", "\ufeff", "\u00a0"))
        if rng.random() < 0.3:
            content = content.replace("\r\n", "\n").replace("\n", "\r\n")
        if rng.random() < 0.3:
            cut = rng.randint(0, len(content))
            content = [{"type": "text", "text": content[:cut]}, {"type": "text", "text": content[cut:], "cache_control": {}}]
        message["content"] = content
    if rng.random() < 0.4 and message.get("tool_calls"):
        calls = message.pop("tool_calls")
        at = rng.randint(0, len(calls))
        pieces = [message, {"role": "assistant", "content": None, "tool_calls": calls[:at]}]
        return [*pieces, {"role": "assistant", "content": "", "tool_calls": calls[at:]}]
    return [message]


def edits(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Real changes of what a message says."""
    content, calls = message["content"], message.get("tool_calls", [])
    found = [{**message, "content": (content or "") + "x"}, {**message, "content": "x" + (content or "")}]
    if content:
        found += [{**message, "content": None}, {**message, "content": content[: len(content) // 2]}]
        if len(content) > 2:
            found.append({**message, "content": content[0] + " \n" + content[1:]})
    for k, call in enumerate(calls):
        function = call["function"]
        others = [*calls[:k], *calls[k + 1 :]]
        found.append({**message, "tool_calls": others})
        found.append({**message, "tool_calls": [*calls, call]})
        found.append({**message, "tool_calls": [{**call, "function": {**function, "name": function["name"] + "x"}}, *others]})
        try:
            value = json.loads(function["arguments"])
        except ValueError:
            continue
        changes = [{**value, "more": 1}, *({x: y for x, y in value.items() if x != key} for key in value)]
        changes += [{**value, key: f"{given!r} "} for key, given in value.items()]
        for change in changes:
            new = [*calls[:k], {**call, "function": {**function, "arguments": change}}, *calls[k + 1 :]]
            found.append({**message, "tool_calls": new})
    if len(calls) == 2 and calls[0]["function"] != calls[1]["function"]:
        found.append({**message, "tool_calls": calls[::-1]})
    return [each for each in found if each != message]


def meaning(message: dict[str, Any]) -> Any:
    """What a message says, by another way: JSON read by Python, which takes 1 and 1.0 for one."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    decoded = [f["arguments"] if isinstance(f["arguments"], dict) else json.loads(f["arguments"]) for f in functions]
    text = (message["content"] or "").encode("utf-8", "replace").decode().replace("\r\n", "\n").strip().strip("\ufeff").strip()
    return text, [(f["name"], value) for f, value in zip(functions, decoded, strict=True)]


@pytest.mark.parametrize("format", NATIVE)
def test_random_turns(format: str) -> None:
    for number in range(120):
        rng = random.Random(f"digest/{format}/{number}")
        *_, turn = random_case(rng, format)
        message = turn.message()
        assert digest(message) == turn.digest()
        assert reasoning_digest(message) == turn.reasoning_digest()
        for _ in range(6):
            messages = transformed(rng, message)
            assert digest(messages) == turn.digest(), messages
            assert digest(json.loads(json.dumps(messages))) == turn.digest()
        for edited in edits(message):
            assert (digest(edited) == turn.digest()) == (meaning(edited) == meaning(message)), edited
        thought = {**message, "reasoning_content": (turn.reasoning or "") + "x"}
        assert digest(thought) == turn.digest() and reasoning_digest(thought) != turn.reasoning_digest()


def test_reasoning_fields() -> None:
    turn = read(PROMPT, " a\r\nb \n</think>\n\nHi", "qwen3.8")
    for key in ("reasoning_content", "thinking", "reasoning"):
        assert reasoning_digest({"role": "assistant", "content": "Hi", key: "a\nb\n"}) == turn.reasoning_digest()
    parts = [{"type": "thinking", "thinking": "a\nb"}, {"type": "text", "text": "Hi"}]
    assert digest({"role": "assistant", "content": parts}) == turn.digest()
    assert reasoning_digest({"role": "assistant", "content": parts}) == turn.reasoning_digest()
    twice = [
        {"role": "assistant", "content": "Hi", "reasoning": "a\nb"},
        {"role": "assistant", "content": "", "reasoning": "a\nb"},
    ]
    assert reasoning_digest(twice) == turn.reasoning_digest()


def test_continued_turn() -> None:
    """A continued turn says what the client will send: the prefix's text and the completion's, joined."""
    opened = read(PROMPT + "I pl", "an it.\n</think>\n\nHi", "qwen3.8")
    assert (opened.reasoning, opened.content) == ("an it.", "Hi")
    joined = {"role": "assistant", "content": "Hi", "reasoning_content": "I plan it."}
    assert digest(joined) == opened.digest() and reasoning_digest(joined) == opened.reasoning_digest()
    answer = read(PROMPT + "\n</think>\n\nOne, ", "two", "qwen3.8")
    assert digest({"role": "assistant", "content": "One, two"}) == answer.digest()
    call = read(
        PROMPT + "\n</think>\n\n<tool_call>\n<function=sh>\n<parameter=cmd>\nl",
        "s\n</parameter>\n</function>\n</tool_call>",
        "qwen3.8",
        tools=TOOLS,
    )
    sent = {"role": "assistant", "tool_calls": [{"function": {"name": "sh", "arguments": {"cmd": "ls"}}}]}
    assert digest(sent) == call.digest()


def test_ids_and_roles() -> None:
    with pytest.raises(ValueError):
        digest({"role": "user", "content": "Hi"})
    flat = {"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{}", "id": "1"}]}
    nested = {"role": "assistant", "content": "", "tool_calls": [{"id": "2", "function": {"name": "f"}}]}
    assert digest(flat) == digest(nested)

    class Message:
        role = "assistant"
        content = " Hi"

    assert digest([Message()]) == digest({"role": "assistant", "content": "Hi"})


def test_broken_bytes_come_back_as_replacement_characters() -> None:
    turn = read(PROMPT, "</think>\n\na\udc80\udcffb", "qwen3.8")
    assert digest({"role": "assistant", "content": "a\ufffd\ufffdb"}) == turn.digest()
    assert digest({"role": "assistant", "content": "a\ufffdb"}) != turn.digest()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), st.randoms(use_true_random=False))
def test_arguments(value: dict[str, Any], rng: random.Random) -> None:
    one = canonical_arguments(value)
    assert canonical_arguments(json.dumps(value)) == one
    assert canonical_arguments(_spelled(rng, value)) == one
    assert canonical_arguments({**value, "\x00new": 1}) != one


@settings(max_examples=300, deadline=None)
@given(VALUES, VALUES)
def test_canonical_tells_values_apart(one: Any, other: Any) -> None:
    def plain(x: Any) -> Any:
        if isinstance(x, bool) or x is None or isinstance(x, str):
            return (type(x).__name__, x)
        if isinstance(x, (int, float)):
            return ("number", x)
        if isinstance(x, list):
            return ["list", *map(plain, x)]
        return {k: plain(v) for k, v in x.items()}

    try:
        same = plain(one) == plain(other)
    except OverflowError:
        return
    if same:
        assert json.loads(json.dumps(one)) == json.loads(json.dumps(other))
    else:
        assert canonical(one) != canonical(other)


def test_arguments_that_are_no_object() -> None:
    shapes = ["[1]", "x", "1", '"{}"', '{"a": 1', "null", "[" * 900 + "]" * 900, '{"a": ' * 900 + "1" + "}" * 900]
    assert len({canonical_arguments(shape) for shape in (*shapes, "{}")}) == len(shapes) + 1
    nested: Any = 1
    for _ in range(5000):
        nested = [nested]
    assert canonical_arguments({"a": nested}).startswith("!")
    assert canonical_arguments({"a": object}).startswith("!")
    assert canonical_arguments('{"a": 1, "a": 2}') == canonical_arguments({"a": 2})
    assert canonical_arguments('{"a": 1e400}') != canonical_arguments('{"a": 1e401}')
    assert canonical_arguments({1: 2, False: 3, None: 4}) == canonical_arguments('{"1": 2, "false": 3, "null": 4}')
    assert canonical_arguments('{"a": "\\ud800"}') == canonical_arguments({"a": "\ufffd"})
    assert canonical_arguments('{"a": 1e99999999999999999999}')
