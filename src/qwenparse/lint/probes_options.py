"""Probes of what a template does with its arguments and with the arguments of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..common import common_prefix
from .registry import NotApplicable, defect, probe
from .report import Finding
from .target import ASSISTANT, Target, call, tool

USER: dict[str, Any] = {"role": "user", "content": "Question?"}
UNKNOWN_EFFORTS: tuple[Any, ...] = ("medum", "HIGH", "very_high", "none", "minimal", "", 1)
UNKNOWN_FORMATS: tuple[Any, ...] = ("yaml", "JSON", "", 1)

FAILS = "the request fails, although clients send this"
WRONG_EFFORT = "the model is told another effort than the caller asked for, and nobody is told"


@probe("effort", "R1")
def effort(t: Target) -> Iterator[Finding]:
    plain = t.render([USER])
    known = {value: t.render([USER], reasoning_effort=value) for value in ("xhigh", "high", "medium", "low")}
    if all(outcome == plain for outcome in known.values()):
        raise NotApplicable("reasoning_effort changes nothing")
    for value, outcome in known.items():
        if outcome.text is None:
            what = f"the effort {value!r} is refused"
            yield defect(t, f"effort-{value}-rejected", what, FAILS, [USER], outcome, rule="R1", reasoning_effort=value)
    high, xhigh = known["high"], known["xhigh"]
    if high.text is not None and xhigh.text is not None and high != xhigh:
        what = "`high` is accepted but is not what `xhigh` is"
        yield defect(t, "effort-high-differs", what, WRONG_EFFORT, [USER], high, rule="R1", reasoning_effort="high")
    none = t.render([USER], reasoning_effort=None)
    if none.text is None:
        what = "reasoning_effort=None, which servers pass for an absent one, is refused"
        yield defect(t, "effort-none-rejected", what, FAILS, [USER], none, rule="R1", reasoning_effort=None)
    for value in UNKNOWN_EFFORTS:
        outcome = t.render([USER], reasoning_effort=value)
        if outcome.text is not None:
            what = f"the unknown effort {value!r} is accepted in silence"
            yield defect(t, "effort-fallback", what, WRONG_EFFORT, [USER], outcome, rule="R1", reasoning_effort=value)
    off: dict[str, Any] = {"reasoning_effort": "medum", "enable_thinking": False}
    outcome = t.render([USER], **off)
    if outcome.text is not None:
        what = "an unknown effort is accepted in silence while thinking is off"
        cost = "a typing error shows only when thinking is turned on"
        yield defect(t, "effort-unchecked-when-off", what, cost, [USER], outcome, rule="R1", **off)


@probe("format option", "R2")
def format_option(t: Target) -> Iterator[Finding]:
    messages = _call_history({"city": "Oslo"})
    names = [name for name in sorted(t.reads) if "format" in name]
    found = False
    for name in names:
        xml, as_json = (t.render(messages, [tool()], **{name: value}) for value in ("xml", "json"))
        if xml == as_json:
            continue
        found = True
        for value in UNKNOWN_FORMATS:
            outcome = t.render(messages, [tool()], **{name: value})
            if outcome.text is not None:
                what = f"the unknown call format {value!r} is accepted in silence"
                cost = "the model is shown a call format that the server's parser may not read"
                options = {name: value}
                yield defect(t, "format-fallback", what, cost, messages, outcome, rule="R2", tools=[tool()], **options)
    if not found:
        raise NotApplicable("the template has one call format")


def _result(text: Any, id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **({} if id is None else {"tool_call_id": id}), **more}


def _call_history(arguments: Any) -> list[dict[str, Any]]:
    return [USER, {"role": "assistant", "content": "", "tool_calls": [call(arguments)]}, _result("fine")]


@probe("string arguments", "R3")
def string_arguments(t: Target) -> Iterator[Finding]:
    if t.dialect is None:
        raise NotApplicable("the template writes no calls")
    source = '{"city": "Oslo", "days": 3}'
    messages = _call_history(source)
    outcome = t.render(messages, add_generation_prompt=False)
    if outcome.kind == "engine":
        what = "arguments as a JSON string, the form of the OpenAI API, make the engine fail"
        yield defect(t, "string-arguments-fail", what, FAILS, messages, outcome, rule="R3")
    elif outcome.text is not None:
        turn = t.body_of(outcome.text, ASSISTANT)
        if t.dialect == "xml" and source in turn:
            what = "a JSON string is written raw inside `<function=`"
            cost = "the model sees a call format that nothing taught it, and copies it"
            yield defect(t, "string-arguments-raw", what, cost, messages, turn, rule="R3")
        elif json.dumps(source) in turn:
            what = "a JSON string is encoded a second time"
            cost = "the model learns to write arguments as a string, which parsers reject or double-decode"
            yield defect(t, "string-arguments-double", what, cost, messages, turn, rule="R3")
        elif "Oslo" not in turn:
            what = "arguments as a JSON string are left out"
            cost = "the model sees calls without arguments in its own history"
            yield defect(t, "string-arguments-lost", what, cost, messages, turn, rule="R3")
    for blank in ("", None):
        messages = _call_history(blank)
        outcome = t.render(messages, add_generation_prompt=False)
        if outcome.kind == "engine":
            what = f"arguments={blank!r}, which clients send for a call without arguments, make the engine fail"
            yield defect(t, "blank-arguments-fail", what, FAILS, messages, outcome, rule="R3")
        elif outcome.text is not None and t.dialect == "json" and not _json_call(t.body_of(outcome.text, ASSISTANT)):
            turn = t.body_of(outcome.text, ASSISTANT)
            what = f"arguments={blank!r} gives a call that is no JSON object with arguments"
            cost = "the model sees a broken call in its own history"
            yield defect(t, "blank-arguments-broken", what, cost, messages, turn, rule="R3")


def _json_call(turn: str) -> dict[str, Any] | None:
    """The first JSON call of a turn, if its arguments are an object."""
    found = re.search(r"<tool_call>\n?(.*?)\n?</tool_call>", turn, re.DOTALL)
    try:
        read = json.loads(found.group(1)) if found else None
    except ValueError:
        return None
    return read if isinstance(read, dict) and isinstance(read.get("arguments"), dict) else None


SCALARS: dict[str, Any] = {"yes": True, "no": None, "list": [True, None, "x"], "object": {"k": False, "t": "it's"}}


@probe("scalars", "R4")
def scalars(t: Target) -> Iterator[Finding]:
    if t.dialect is None:
        raise NotApplicable("the template writes no calls")
    messages = _call_history({**SCALARS, "text": "True"})
    outcome = t.render(messages, add_generation_prompt=False)
    if outcome.text is None:
        yield defect(t, "values-fail", "values of all JSON types make it fail", FAILS, messages, outcome, rule="R4")
        return
    turn = t.body_of(outcome.text, ASSISTANT)
    cost = "the model copies it, parsers then read a string, and every such value leaves the prefix"
    for key, value in SCALARS.items():
        written = _value(t, turn, key)
        try:
            same = written is not None and json.loads(written) == value
        except ValueError:
            same = False
        if not same:
            kind = "container" if isinstance(value, (list, dict)) else "scalar"
            what = f"{json.dumps(value)} is written {written}" if written is not None else f"{key} is left out"
            yield defect(t, f"python-{kind}", what, cost, messages, turn, rule="R4")
    text = _value(t, turn, "text")
    if text != ("True" if t.dialect == "xml" else '"True"'):
        what = f"the string 'True' is written {text}"
        yield defect(t, "string-changed", what, cost, messages, turn, rule="R4")


def _value(t: Target, turn: str, key: str) -> str | None:
    """An argument as a turn spells it."""
    if t.dialect == "xml":
        found = re.search(rf"<parameter={key}>\n?(.*?)\n?</parameter>", turn, re.DOTALL)
        return found.group(1) if found else None
    read = _json_call(turn)
    return None if read is None or key not in read["arguments"] else json.dumps(read["arguments"][key])


@probe("empty thought", "R5")
def empty_thought(t: Target) -> Iterator[Finding]:
    off: dict[str, Any] = {"enable_thinking": False}
    prompt = t.render([USER], **off).text
    prefix = t.gen_prefix(prompt) if prompt else ""
    if "</think>" not in prefix:
        raise NotApplicable("the template opens no turn with an empty block")
    answer = [USER, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "Next?"}]
    called = _call_history({"city": "Oslo"})
    for code, what, messages in (
        ("empty-block-dropped", "behind the next question", answer),
        ("empty-block-dropped-in-loop", "behind a tool result", called),
    ):
        outcome = t.render(messages, **off)
        if outcome.text is None or (t.dialect is None and messages is called):
            continue
        if ASSISTANT + prefix not in outcome.text.rpartition(ASSISTANT)[0]:
            turn = t.body_of(outcome.text, ASSISTANT)
            what = f"a turn made with thinking off loses its empty block {what}"
            cost = f"the prompt changes {len(prefix.encode())} bytes before each such turn: all of it is read again"
            yield defect(t, code, what, cost, messages, turn, rule="R5", **off)


LENGTHS = (*range(1, 8), 10, 11, 15, 16, 20, 21, 25, 26, 31, 32, 33, 49, 50, 51, 52, 64, 65, 99, 100, 101)
LONG = 40_000


@probe("history length", "R6")
def history_length(t: Target) -> Iterator[Finding]:
    cost = "prompts of one conversation change their form at that length: the whole history is read again"
    families: dict[str, Callable[[int], list[dict[str, Any]]]] = {
        "turns without a user": lambda n: [_numbered("assistant", k) for k in range(n)],
        "a question and tool calls": lambda n: [USER, *(m for k in range(n) for m in _step(k))],
        "questions and answers": lambda n: [m for k in range(n) for m in (_numbered("user", k), _numbered("assistant", k))],
    }
    for name, make in families.items():
        before = None
        length = 0
        for n in LENGTHS:
            messages = make(n)
            options: dict[str, Any] = {"add_generation_prompt": False}
            if name == "turns without a user" and "no_user" in t.reads:
                options["no_user"] = "continuation"
            outcome = t.render(messages, **options)
            if n == 2:
                before = None
            if before is not None and (before.kind, before.error) != (outcome.kind, outcome.error):
                what = f"{name}: {len(messages)} messages give {outcome.kind}, {length} gave {before.kind}"
                yield defect(t, "length-heuristic", what, cost, messages, outcome, rule="R6", **options)
                break
            if before is not None and before.text is not None and outcome.text is not None:
                stem = _stem(before.text, name)
                if not outcome.text.startswith(stem):
                    at = common_prefix(outcome.text, stem)
                    what = f"{name}: earlier messages are written otherwise once there are {len(messages)}"
                    shown = f"…{outcome.text[max(0, at - 40) : at + 80]}"
                    yield defect(t, "length-heuristic", what, cost, messages, shown, rule="R6", **options)
                    break
            before, length = outcome, len(messages)
    body = "data " * (LONG // 5)
    messages = [*_call_history({"city": "Oslo"})[:-1], _result(body + "end")]
    outcome = t.render(messages, add_generation_prompt=False)
    if outcome.text is not None and t.dialect is not None and body + "end" not in outcome.text:
        what = f"a tool result of {len(body) + 3} characters is cut"
        yield defect(t, "long-text-cut", what, "text is lost in silence", messages, outcome.text[-200:], rule="R6")


def _numbered(role: str, k: int) -> dict[str, Any]:
    return {"role": role, "content": f"Text {k}.", **({"reasoning_content": f"Thought {k}."} if role[0] == "a" else {})}


def _step(k: int) -> tuple[dict[str, Any], dict[str, Any]]:
    made = call({"city": f"Oslo {k}"}, id=f"c{k}")
    turn = {"role": "assistant", "content": "", "reasoning_content": f"Thought {k}.", "tool_calls": [made]}
    return turn, _result(f"fine {k}", f"c{k}")


def _stem(text: str, family: str) -> str:
    """What a longer history must begin with: all but the last two turns, which a template may write otherwise."""
    at = len(text)
    for _ in range(3 if family == "questions and answers" else 2):
        at = max(text.rfind("<|im_start|>", 0, at), 0)
    return text[:at]
