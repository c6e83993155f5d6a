"""What three real agents were seen to do to a history: the turns are found all the same, or left to the template.

The behaviours are those of OpenCode, Pi and Qwen Code (docs/round_trip.md); the conversations are made up.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from roundtrip.conftest import Make
from roundtrip.support import read

from qwenparse import Prompt, Turn, render_prompt
from qwenparse.drift import explain
from qwenparse.store import TurnStore

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "edit",
            "parameters": {"properties": {"path": {"type": "string"}, "line": {"type": "number"}, "opts": {"type": "object"}}},
        },
    }
]
QUESTION = "Fix the bug in a.py."
RAW = (
    " Look first.\r\nThen edit. \n</think>\n\n\nI edit it now: é.\n<tool_call>\n<function=edit>\n<parameter=path>\n"
    ' a.py\n</parameter>\n<parameter=line>\n1.0\n</parameter>\n<parameter=opts>\n{"b":[1.0,2],"a":"\\u00e9"}\n'
    "</parameter>\n</function>\n</tool_call>\n"
)


def javascript(value: Any) -> Any:
    """A value through JSON.parse and JSON.stringify: 1.0 is 1."""
    if isinstance(value, dict):
        return {k: javascript(v) for k, v in value.items()}
    if isinstance(value, list):
        return [javascript(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _calls(message: dict[str, Any], arguments: Callable[[str], Any]) -> list[dict[str, Any]]:
    return [
        {**call, "function": {**call["function"], "arguments": arguments(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]


def opencode(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Arguments re-serialised by JavaScript, the thought trimmed and in another field, content as a list of parts."""
    again = _calls(message, lambda text: json.dumps(javascript(json.loads(text)), separators=(",", ":"), ensure_ascii=False))
    return [
        {
            "role": "assistant",
            "content": [{"type": "text", "text": message["content"].strip()}],
            "reasoning": message["reasoning_content"].strip().replace("\r\n", "\n"),
            "tool_calls": again,
        }
    ]


def pi(message: dict[str, Any]) -> list[dict[str, Any]]:
    """No thought, new ids, text and calls as two messages."""
    calls = [{**call, "id": f"pi{k}"} for k, call in enumerate(_calls(message, json.loads))]
    return [
        {"role": "assistant", "content": message["content"] + "\n"},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]


def qwen_code(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Arguments as objects with sorted keys, an empty thought."""
    calls = _calls(message, lambda text: dict(sorted(javascript(json.loads(text)).items())))
    return [{**message, "reasoning_content": "", "tool_calls": calls}]


AGENTS = {"opencode": opencode, "pi": pi, "qwen_code": qwen_code}
HEADS: dict[str, list[dict[str, Any]]] = {
    "opencode": [{"role": "system", "content": "You are OpenCode."}],
    "pi": [{"role": "developer", "content": "You are Pi."}],
    "qwen_code": [{"role": "system", "content": "You are Qwen Code."}],
}


def question(agent: str, text: str) -> dict[str, Any]:
    parts = agent == "opencode"
    return {"role": "user", "content": [{"type": "text", "text": text}] if parts else text}


def results(agent: str, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    calls = [call for message in sent for call in message.get("tool_calls", ())]
    content: Any = "done" if agent != "qwen_code" else [{"type": "text", "text": "done\n"}]
    return [{"role": "tool", "tool_call_id": call["id"], "content": content} for call in calls]


def ask(messages: list[dict[str, Any]], store: TurnStore) -> Prompt:
    """The prompt as a server renders it."""
    return render_prompt(messages, "qwen3.8", tools=TOOLS, turns=store, normalize="openai")


def answer(prompt: Prompt, raw: str) -> Turn:
    return read(prompt.text, raw, "qwen3.8", tools=TOOLS)


@pytest.mark.parametrize("agent", AGENTS)
def test_conversation(agent: str, make: Make) -> None:
    """Each prompt begins with the last one and what was generated from it, over tools, answers and a side request."""
    store, mangle = make(), AGENTS[agent]
    messages = [*HEADS[agent], question(agent, QUESTION)]
    held = ""
    for number, raw in enumerate((RAW, RAW.replace("a.py", "b.py"), "Ok.\n</think>\n\nDone. \n", "\n</think>\n\nBye.")):
        prompt = ask(messages, store)
        assert prompt.text.startswith(held)
        turn = answer(prompt, raw)
        assert store.remember(messages, turn)
        held = prompt.text + turn.raw
        # A side request for a title, with another system message, between two requests of the conversation.
        title = [{"role": "system", "content": "Write a title."}, question(agent, f"Title for: {QUESTION}")]
        side = ask(title, store)
        store.remember(title, answer(side, "\n</think>\n\nA bug"))
        sent = mangle(turn.message()) if turn.tool_calls else [{"role": "assistant", "content": (turn.content or "").strip()}]
        messages = [*messages, *sent]
        messages += results(agent, sent) if turn.tool_calls else [question(agent, f"And {number}?")]
        assert explain(prompt, ask(messages, store), turn=turn).cause == "none"
    if agent == "pi":
        plain = render_prompt(messages, "qwen3.8", tools=TOOLS, normalize="openai")
        assert explain(prompt, plain, turn=turn).cause == "reasoning_missing"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_message_that_the_model_never_wrote(agent: str, make: Make) -> None:
    """It is left to the template; the turns before and behind it are spliced."""
    store, mangle = make(), AGENTS[agent]
    messages = [*HEADS[agent], question(agent, QUESTION)]
    first = answer(ask(messages, store), RAW)
    store.remember(messages, first)
    sent = mangle(first.message())
    messages = [*messages, *sent, *results(agent, sent), {"role": "assistant", "content": "Stopped by the user."}]
    messages.append(question(agent, "Go on."))
    prompt = ask(messages, store)
    second = answer(prompt, " Go.\n</think>\n\nOn it.")
    store.remember(messages, second)
    messages += [{"role": "assistant", "content": "On it."}, question(agent, "More.")]
    after = ask(messages, store)
    assert explain(prompt, after, turn=second).cause == "none"
    assert [after.text[s.start : s.end] for s in after.segments if s.kind == "raw"] == [first.raw, second.raw]
    assert [note.code for note in after.notes] == ["turn-unknown"]
    assert "<think>\n\n</think>\n\nStopped by the user.<|im_end|>" in after.text


@pytest.mark.parametrize("agent", AGENTS)
def test_compaction(agent: str, make: Make) -> None:
    """Turns before are replaced by a summary: what has ids is found, the rest is the template's."""
    store, mangle = make(), AGENTS[agent]
    messages = [*HEADS[agent], question(agent, QUESTION)]
    first = answer(ask(messages, store), RAW)
    store.remember(messages, first)
    sent = mangle(first.message())
    compacted = [*HEADS[agent], question(agent, "Summary of what was done."), *sent, *results(agent, sent)]
    found = ask(compacted, store)
    raw = [found.text[s.start : s.end] for s in found.segments if s.kind == "raw"]
    assert raw == ([] if agent == "pi" else [first.raw])  # Pi gives calls ids of its own
