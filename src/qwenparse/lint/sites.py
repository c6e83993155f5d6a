"""Where a template normalises: turns that deviate from the canonical form, one deviation each.

Every deviation is applied to the generated text, and to the message where a message can carry it. What then does not
come back is a site.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..common import common_prefix
from .report import Owner, Site
from .shapes import (
    NEXT,
    RESULT,
    TEXT,
    THOUGHT,
    USER,
    Encode,
    Held,
    RefusedError,
    canonical,
    echoed,
    loss,
    rendered,
    turn,
)
from .target import Target, call

DAYS = 7531
NOTE = "by the harbour"
OPTIONS: dict[str, Any] = {"wind": 1, "air": "café <b>", "list": [1, 2]}
ARGUMENTS: dict[str, Any] = {"city": "Oslo", "days": DAYS, "metric": True, "note": NOTE, "options": OPTIONS}

Message = dict[str, Any]


class Variant(NamedTuple):
    """One deviation: the cause it would be reported under, and how text and message change.

    `message` None: no message can carry it, and none changes. `text` gives None where the canonical turn has nothing to
    change. `owner`: who could keep it; None: the template if the message changes, else no message.
    """

    cause: str
    what: str
    text: Callable[[str], str | None]
    message: Callable[[Message], Message] | None = None
    calls: int = 1
    owner: Owner | None = None


def _swap(old: str, new: str) -> Callable[[str], str | None]:
    return lambda text: text.replace(old, new, 1) if old in text else None


def _both(old: str, new: str, what: str, cause: str, field: str) -> Variant:
    return Variant(cause, what, _swap(old, new), lambda message: {**message, field: message[field].replace(old, new, 1)})


def _near(pattern: str, new: str) -> Callable[[str], str | None]:
    """Replaces group 1 of the first match."""

    def change(text: str) -> str | None:
        found = re.search(pattern, text, re.DOTALL)
        if found is None or found.group(1) == new:
            return None
        return text[: found.start(1)] + new + text[found.end(1) :]

    return change


def _last(pattern: str, new: str) -> Callable[[str], str | None]:
    def change(text: str) -> str | None:
        found = list(re.finditer(pattern, text, re.DOTALL))
        return text[: found[-1].start(1)] + new + text[found[-1].end(1) :] if found else None

    return change


def _arguments(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Message], Message]:
    def changed(message: Message) -> Message:
        first, *rest = message["tool_calls"]
        function = {**first["function"], "arguments": change(first["function"]["arguments"])}
        return {**message, "tool_calls": [{**first, "function": function}, *rest]}

    return changed


def _set(**values: Any) -> Callable[[Message], Message]:
    return _arguments(lambda arguments: {**arguments, **values})


def _literal(t: Target, key: str, spelled: str) -> Callable[[str], str | None]:
    """The value of an argument spelled otherwise."""
    if t.dialect == "xml":
        return _near(rf"<parameter={key}>\n(.*?)\n</parameter>", spelled)
    return _near(rf'"{key}": ({{.*?}}|[^,}}]*)', spelled)


def _frame(old: str, new: str) -> Callable[[str], str | None]:
    return _near(f"({re.escape(old)})", new)


def _order(pairs: dict[str, Any]) -> dict[str, Any]:
    return dict(reversed(pairs.items()))


def variants(t: Target) -> Iterator[Variant]:
    """All deviations that the template's call format can show."""
    think, text = THOUGHT[:8], THOUGHT[-8:]
    yield _both(think, f"\n{think}", "a newline more before the thought", "think_leading_ws", "reasoning_content")
    yield _both(think, f" {think}", "a space before the thought", "think_leading_ws", "reasoning_content")
    yield _both(text, f"{text}\n", "a blank line behind the thought", "think_trailing_ws", "reasoning_content")
    yield _both(text, f"{text} ", "a space behind the thought", "think_trailing_ws", "reasoning_content")
    yield Variant("think_trailing_ws", "no newline before </think>", _frame("\n</think>", "</think>"))
    yield Variant("think_close_ws", "one newline behind </think>", _frame("</think>\n\n", "</think>\n"))
    yield Variant("think_close_ws", "nothing behind </think>", _frame("</think>\n\n", "</think>"))
    yield Variant("reasoning_missing", "the client returns no thoughts", lambda text: text, _no_reasoning, owner="client")
    yield _both(TEXT, f" {TEXT}", "a space before the content", "content_leading_ws", "content")
    yield _both(TEXT, f"{TEXT} ", "a space behind the content", "content_trailing_ws", "content")
    yield Variant("call_leading_ws", "one newline before the call", _near(rf"{re.escape(TEXT)}(\n+)<tool", "\n"))
    yield Variant("call_leading_ws", "two newlines before the call", _near(rf"{re.escape(TEXT)}(\n+)<tool", "\n\n"))
    yield Variant("call_leading_ws", "three newlines before the call", _near(rf"{re.escape(TEXT)}(\n+)<tool", "\n\n\n"))
    yield Variant("call_gap_ws", "a blank line between calls", _near(r"</tool_call>(\n)<tool_call>", "\n\n"), calls=2)
    yield Variant("call_gap_ws", "no newline between calls", _near(r"</tool_call>(\n)<tool_call>", ""), calls=2)
    yield Variant("text_between_calls", "text between calls", _near(r"</tool_call>(\n)<tool_call>", "\nand\n"), calls=2)
    yield Variant("call_trailing_ws", "a newline behind the call", _last(r"</tool_call>()", "\n"))
    yield Variant("text_after_call", "text behind the call", _last(r"</tool_call>()", "\nDone."))
    yield Variant("call_frame", "no newline in the call's tag", _frame("<tool_call>\n", "<tool_call>"))
    if t.dialect == "xml":
        yield from _xml_variants(t)
    else:
        yield Variant("json_layout", "compact JSON", _recoded(lambda o: json.dumps(o, ensure_ascii=False, separators=(",", ":"))))
        yield Variant("json_call_layout", "arguments before the name", _near(r"<tool_call>\n(\{.*?\})\n</tool_call>", _flipped()))
    for cause, what, key, literal, value, owner in _spelled(t):
        change = None if value is None else _set(**{key: value[0]})
        yield Variant(cause, what, _literal(t, key, literal), change, owner=owner)


def _no_reasoning(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _recoded(write: Callable[[Any], str]) -> Callable[[str], str | None]:
    """The arguments object of the first JSON call, written otherwise."""

    def change(text: str) -> str | None:
        found = re.search(r'"arguments": (\{.*?\})\}\n</tool_call>', text, re.DOTALL)
        if found is None:
            return None
        try:
            new = write(json.loads(found.group(1)))
        except ValueError:
            return None
        return None if new == found.group(1) else text[: found.start(1)] + new + text[found.end(1) :]

    return change


def _flipped() -> str:
    return json.dumps({"arguments": ARGUMENTS, "name": "lookup"}, ensure_ascii=False)


def _xml_variants(t: Target) -> Iterator[Variant]:
    yield Variant("value_frame", "a value on the line of its tag", _near(r"<parameter=city>(\n)", ""))
    for what, value in (
        ("a newline more in front of a value", f"\n{NOTE}"),
        ("spaces around a value", f"  {NOTE} "),
        ("a newline more behind a value", f"{NOTE}\n"),
        ("a value with CRLF", f"{NOTE}\r\nat nine"),
    ):
        cause = "newline_normalised" if "\r" in value else "value_trimmed"
        yield Variant(cause, what, _literal(t, "note", value), _set(note=value))
    yield Variant("argument_order", "arguments in another order", _reordered, _arguments(_order))
    twice = "<parameter=city>\nOslo\n</parameter>\n"
    yield Variant("duplicate_parameter", "a parameter twice", _frame(twice, twice + twice))
    yield Variant("call_in_think", "a call inside the thoughts", _call_in_think)


def _reordered(text: str) -> str | None:
    found = re.search(r"((?:<parameter=[^>]*>\n.*?\n</parameter>\n)+)", text, re.DOTALL)
    if found is None:
        return None
    parts = re.findall(r"<parameter=[^>]*>\n.*?\n</parameter>\n", found.group(1), re.DOTALL)
    return text[: found.start()] + "".join(reversed(parts)) + text[found.end() :]


def _call_in_think(text: str) -> str | None:
    found = re.search(r"(\n</think>\n\n.*?)(<tool_call>.*</tool_call>)", text, re.DOTALL)
    if found is None:
        return None
    return f"{text[: found.start()]}\n{found.group(2)}{found.group(1).rstrip()}{text[found.end() :]}"


def _spelled(t: Target) -> Iterator[tuple[str, str, str, str, tuple[Any] | None, Owner | None]]:
    """Cause, what, key, spelling, the value that the message then has if it is another one, who could keep it."""
    yield "number_spelling", "the integer as a float, 7531.0", "days", f"{DAYS}.0", (float(DAYS),), None
    yield "number_spelling", "the integer as 7.531e3", "days", "7.531e3", None, None
    yield "bool_spelling", "True for true", "metric", "True", None, None
    yield "bool_spelling", "true for True", "metric", "true", None, None
    yield "null_spelling", "null", "metric", "null", (None,), None
    yield "null_spelling", "None for null", "metric", "None", (None,), "message"
    if t.dialect == "xml":
        compact = json.dumps(OPTIONS, ensure_ascii=False, separators=(",", ":"))
        yield "json_layout", "a compact object", "options", compact, None, None
        indented = json.dumps(OPTIONS, ensure_ascii=False, indent=2)
        yield "json_layout", "an indented object", "options", indented, None, None
    swapped = _order(OPTIONS)
    reordered = json.dumps(swapped, ensure_ascii=False)
    yield "json_key_order", "an object's keys in another order", "options", reordered, (swapped,), None
    yield "json_escape", "an object with \\u00e9", "options", json.dumps(OPTIONS), None, None
    html = json.dumps(OPTIONS, ensure_ascii=False).replace("<", "\\u003c")
    yield "json_escape", "an object with \\u003c", "options", html, None, None


def check_sites(t: Target, encode: Encode | None = None) -> tuple[tuple[Site, ...], tuple[str, ...]]:
    """The sites, and what was tried and comes back. Empty where the template has no stable turn to start from."""
    sites: list[Site] = []
    kept: list[str] = []
    bases: dict[int, tuple[list[Message], Message, list[Message], Held]] = {}
    results = [RESULT, {"role": "tool", "content": "snow", "tool_call_id": "c2"}]
    for calls in (1, 2):
        made = [call(ARGUMENTS, id="c1"), call({"city": "Bergen"}, id="c2")][:calls]
        base = turn(TEXT, THOUGHT, made if t.dialect else ())
        after = results[:calls] if t.dialect else [NEXT]
        try:
            held = canonical(t, [USER], base, **t.thinking)
            back = rendered(t, [USER, echoed(t, base, held), *after], **t.thinking)
        except RefusedError:
            continue
        if back.startswith(held.text):
            bases[calls] = [USER], base, after, held
    for variant in variants(t):
        if variant.calls not in bases:
            continue
        messages, base, after, held = bases[variant.calls]
        generated = variant.text(held.turn)
        if generated is None or (variant.cause == "reasoning_missing" and THOUGHT not in held.turn):
            continue
        held = Held(held.prompt, generated, held.turns)
        message = base if variant.message is None else variant.message(base)
        try:
            back = rendered(t, [*messages, echoed(t, message, held), *after], **t.thinking)
        except RefusedError:
            continue
        lost = loss(held, back, encode)
        if lost.stable:
            kept.append(variant.what)
            continue
        owner = variant.owner or ("message" if variant.message is None else "template")
        if owner == "message" and _string_keeps(t, messages, base, after, held):
            owner = "client"
        at = common_prefix(held.text, back)
        shown = [text[max(0, at - 12) : at + 24] for text in (held.text, back)]
        sites.append(Site(variant.cause, variant.what, owner, lost, *shown))
    seam = _empty_thought(t, results[:1], encode)
    if seam is not None and seam.loss.stable:
        kept.append(seam.what)
    elif seam is not None:
        sites.append(seam)
    return tuple(sites), tuple(kept)


def _empty_thought(t: Target, results: list[Message], encode: Encode | None) -> Site | None:
    """A thought without text: every byte may come back, and the newlines at the seam still be other tokens."""
    base = turn(TEXT, "", [call({"city": "Oslo"}, id="c1")] if t.dialect else ())
    try:
        held = canonical(t, [USER], base, **t.thinking)
        if not held.turn.startswith("\n</think>"):
            return None
        back = rendered(t, [USER, echoed(t, base, held), *(results if t.dialect else [NEXT])], **t.thinking)
    except RefusedError:
        return None
    lost = loss(held, back, encode)
    cause = "token_seam" if lost.offset is None else "think_off_block_dropped"
    return Site(cause, "a thought without text", "message", lost, held.turn[:24], t.gen_prefix(held.prompt))


def _string_keeps(t: Target, messages: list[Message], base: Message, after: list[Message], held: Held) -> bool:
    """Whether the text comes back if the client returns a call's arguments as the JSON string it got."""
    if not base.get("tool_calls"):
        return False
    if t.dialect == "json":
        found = re.search(r'"arguments":\s?(\{.*?\})\}\n?</tool_call>', held.turn, re.DOTALL)
        source = found.group(1) if found else ""
    else:
        days = re.search(r"<parameter=days>\n(.*?)\n</parameter>", held.turn)
        source = json.dumps(ARGUMENTS, ensure_ascii=False).replace(str(DAYS), days.group(1) if days else "")
    first, *rest = base["tool_calls"]
    as_string = {**first, "function": {**first["function"], "arguments": source}}
    try:
        back = rendered(t, [*messages, {**base, "tool_calls": [as_string, *rest]}, *after], **t.thinking)
    except RefusedError:
        return False
    return back.startswith(held.text)
