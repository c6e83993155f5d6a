"""The invariants of the parser, as functions of settings and a completion; the targets and soak.py call them.

Each raises AssertionError with what differs. Numbers I1 to I9 are those of docs/fuzzing.md.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from spec_parser import SpecResult, parse_spec

from fuzz.settings import ALTERNATIVES, TOOLS, TOOLSETS, Settings
from qwenparse import (
    ArgumentDelta,
    ContentDelta,
    DeltaParser,
    Event,
    Markup,
    Parser,
    Policy,
    ReasoningDelta,
    ToolCall,
    Turn,
    parse,
    render,
)
from qwenparse.testing import Accumulated, normalize
from qwenparse.tokens import TokenTable

STOP_TEXT = {"im_end": "<|im_end|>", "other_stop": "<|endoftext|>", "none": ""}
VALUE_ISSUES = ("type-mismatch", "duplicate-parameter")


def parser(s: Settings, **more: Any) -> Parser:
    """A parser with these settings."""
    return Parser(s.format, tools=TOOLSETS[s.tools], **s.options, **more)


def whole(s: Settings, data: str | bytes, **more: Any) -> Turn:
    """The turn of the whole completion."""
    turn: Turn = parse(data, s.format, tools=TOOLSETS[s.tools], **s.options, stop=s.stop, **more)
    return turn


def read(body: bytes) -> str:
    """A completion as the parser reads it."""
    return body.decode("utf-8", "surrogateescape")


def joined(s: Settings, body: bytes) -> Sequence[Event]:
    """I1: the events of one feed join to the input, positions without gaps; nothing is held after the end."""
    p = parser(s)
    events = [*p.feed(body), *p.close(stop=s.stop)]
    raw = "".join([e.raw for e in events])
    text = read(body) + STOP_TEXT[s.stop]
    assert raw == text, f"the events join to {raw!r}, not to {text!r}"
    position = 0
    for e in events:
        if e.raw:
            assert e.start == position, f"{e!r} starts at {e.start}, not at {position}"
            position += len(e.raw)
        else:
            assert e.start <= position, f"{e!r} stands ahead of the text"
    assert p.held == "" and p.held_bytes == b""
    return events


def rendered(s: Settings, body: bytes) -> Turn:
    """I4: `render(parse(x)) == x`, bytes too; spans without gaps; the turn's own parts agree."""
    turn = whole(s, body)
    text = read(body) + STOP_TEXT[s.stop]
    assert render(turn) == text == turn.raw
    assert turn.raw_bytes == body + STOP_TEXT[s.stop].encode()
    position = 0
    for span in turn.spans:
        assert span.start == position < span.end, span
        position = span.end
    assert position == len(text)
    return turn


def cuttings(s: Settings, body: bytes, cut: int) -> Sequence[str | bytes]:
    """The way of cutting that byte `cut` names: characters, bytes, or either at random places."""
    text = read(body)
    if cut & 3 == 0:
        return list(text)
    if cut & 3 == 1:
        return [body[i : i + 1] for i in range(len(body))]
    data = text if cut & 3 == 2 else body
    rng = random.Random(cut * 65537 + len(body))
    count = rng.choice((1, 2, 3, 8, 1 + len(data) // 4))
    places = sorted([rng.randrange(len(data) + 1) for _ in range(count)])
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def cut(s: Settings, body: bytes, way: int) -> None:
    """I2: the merged events, and what is held at a place, are the same for every cutting."""
    pieces = cuttings(s, body, way)
    first, other = parser(s), parser(s)
    one: str | bytes = read(body) if way & 1 == 0 else body
    expected = [*first.feed(one), *first.close(stop=s.stop)]
    got: list[Event] = []
    for piece in pieces:
        got += other.feed(piece)
    got += other.close(stop=s.stop)
    if signature(got) != signature(expected):
        one_, two = normalize(got), normalize(expected)
        raise AssertionError(f"cut as {pieces!r}\n{one_!r}\nnot\n{two!r}")


def prefix(s: Settings, body: bytes, way: int) -> None:
    """I2 at one place of a cutting: events so far, what is held, and how a copy closes depend on the prefix alone."""
    pieces = cuttings(s, body, way)
    at = (way * 7 + len(body)) % (len(pieces) + 1)
    one, two = parser(s), parser(s)
    got = [e for piece in pieces[:at] for e in one.feed(piece)]
    start: str | bytes = "".join(pieces[:at]) if way & 1 == 0 else b"".join(pieces[:at])  # type: ignore[arg-type]
    expected = list(two.feed(start))
    assert (one.held, one.held_bytes, one.state) == (two.held, two.held_bytes, two.state), f"held after {pieces[:at]!r}"
    assert signature(got) == signature(expected), f"events after {pieces[:at]!r}"
    copy = one.copy()
    ends = two.close(stop=s.stop)
    assert copy.close(stop=s.stop) == ends, f"a copy closed after {pieces[:at]!r}"
    assert one.close(stop=s.stop) == ends and one.turn == copy.turn == two.turn


def signature(events: Sequence[Event]) -> list[Any]:
    """What `normalize` keeps of events, as plain values: faster to make and to compare."""
    result: list[Any] = []
    last: Any = None
    texts: list[str] = []
    e: Any
    for e in events:
        kind = type(e)
        label: Any = e.kind if kind is Markup else e.index if kind is ArgumentDelta else kind
        if kind not in _MERGED:
            result.append(e)
            last = None
        elif last == label:
            texts.append(e.raw)
        else:
            last, texts = label, [e.raw]
            result += label, e.start, texts
    return ["".join(x) if type(x) is list else x for x in result]


_MERGED = frozenset((ReasoningDelta, ContentDelta, ArgumentDelta, Markup))


def specification(s: Settings, body: bytes, **more: Any) -> Turn:
    """The turn is what the executable specification says: spans, issues, calls, the clean view."""
    turn = whole(s, body)
    spec = parse_spec(read(body), s.format, tools=TOOLS[s.tools], **s.options, stop=s.stop, **more)
    same(turn, spec)
    return turn


def same(turn: Turn, spec: SpecResult) -> None:
    """Compare a turn with the specification's result."""
    spans = [(x.kind, x.start, x.end) for x in turn.spans]
    assert spans == spec.spans, f"spans\n{spans}\nthe specification has\n{spec.spans}"
    ignored = (*VALUE_ISSUES, "broken-utf8", "unknown-token")
    issues = sorted((i.code, -1 if i.index is None else i.index) for i in turn.issues if i.code not in ignored)
    expected = sorted((code, -1 if index is None else index) for code, index in spec.issues)
    assert issues == expected, f"issues\n{issues}\nthe specification has\n{expected}"
    calls = [(c.index, c.name, list(c.arguments_recorded), c.complete) for c in turn.calls]
    wanted = [(c.index, c.name, c.args, c.complete) for c in spec.calls]
    assert calls == wanted, f"calls\n{calls}\nthe specification has\n{wanted}"
    assert (turn.reasoning, turn.content, turn.complete) == (spec.reasoning, spec.content, spec.complete)
    cut_call, wanted_cut = turn.cut_call, spec.cut_call
    assert (cut_call is None) == (wanted_cut is None), "cut call"
    if cut_call is not None and wanted_cut is not None:
        assert (cut_call.index, cut_call.name) == (wanted_cut.index, wanted_cut.name)


def accumulated(s: Settings, body: bytes, way: int, *, steps: int = 48) -> None:
    """I3, I7, I8: deltas add up to the turn, at every step if there are few; JSON pieces to the calls' JSON texts."""
    pieces = cuttings(s, body, way)
    p = DeltaParser(s.format, tools=TOOLSETS[s.tools], **s.options)
    sum_ = Accumulated(p)
    for piece in pieces:
        delta = p.feed(piece)
        assert delta is None or delta, "an empty delta"
        sum_.add(delta)
        if len(pieces) <= steps:
            _sofar(sum_, p)
    sum_.add(p.close(stop=s.stop))
    sum_.same_as(p.turn)
    assert p.turn == whole(s, body)


def _sofar(sum_: Accumulated, p: DeltaParser) -> None:
    turn = p.turn
    assert (turn.reasoning or "", turn.content or "") == (sum_.reasoning, sum_.content)
    assert [(c.name, c.id, c.complete) for c in turn.calls] == [(c["name"], c["id"], c["complete"]) for c in sum_.calls]
    assert [list(map(list, c.arguments_recorded)) for c in turn.calls] == [c["recorded"] for c in sum_.calls]
    assert len(render(turn)) + len(p.held) == p.position


def typed(turn: Turn) -> None:
    """Values never raise; the JSON text of a complete call is valid and says what `arguments` says."""
    for call in turn.calls:
        arguments, text = call.arguments, call.arguments_json
        assert isinstance(call.issues, tuple) and call.clean in (True, False) and dict(call.literals) is not None
        if call.complete:
            try:
                loaded = json.loads(text)
            except RecursionError:
                continue
            except ValueError as error:
                # Python's own limit on digits; the text is valid JSON all the same.
                assert "4300" in str(error), f"{text!r}: {error}"
                continue
            assert _equal(loaded, arguments), f"{text!r} is not {arguments!r}"
    message = turn.message()
    assert len(message.get("tool_calls", ())) == len(turn.tool_calls)


def _equal(one: Any, two: Any) -> bool:
    if isinstance(one, dict) and isinstance(two, dict):
        return list(one) == list(two) and all(_equal(one[k], two[k]) for k in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_equal, one, two))
    return one is two or (isinstance(one, bool) == isinstance(two, bool) and one == two)


def token_ids(s: Settings, ids: Sequence[int], table: TokenTable, rng: random.Random) -> None:
    """Ids: lossless, the same for every list they come in, and what the executable specification says of tags by id."""
    body = b"".join([table[i] or b"" for i in ids])
    first, second = parser(s, tokens=table), parser(s, tokens=table)
    expected = [*first.feed_ids(list(ids)), *first.close(stop=s.stop)]
    places = sorted(rng.randrange(len(ids) + 1) for _ in range(rng.choice((0, 1, 4, len(ids)))))
    lists = [list(ids[a:b]) for a, b in zip([0, *places], [*places, len(ids)], strict=True)]
    got: list[Event] = []
    for number, piece in enumerate(lists):
        got += second.feed_ids(piece)
        if number == len(lists) // 2:
            second = second.copy()
    got += second.close(stop=s.stop)
    assert signature(got) == signature(expected), f"ids cut as {lists}"
    turn, text = first.turn, read(body)
    assert "".join([e.raw for e in expected]) == turn.raw == render(turn) == text + STOP_TEXT[s.stop]
    assert turn.token_ids == tuple(ids)
    tags = set(table.tag_ids.values())
    certain, at = set(), 0
    for i in ids:
        if i in tags:
            certain.add(len(read(body[:at])))
        at += len(table[i] or b"")
    spec = parse_spec(
        text,
        s.format,
        tools=TOOLS[s.tools],
        **s.options,
        stop=s.stop,
        certain=frozenset(certain),
        id_tags=frozenset(table.tag_ids),
    )
    same(turn, spec)


def policies(s: Settings, body: bytes) -> None:
    """I9: policies and tools change classification only, and each only where it has something to say."""
    base = s._replace(policy=Policy())
    default = whole(base, body)
    kinds = {i.code for i in default.issues}
    text = read(body)
    alternative: dict[str, Any]
    for field, value in ALTERNATIVES:
        alternative = {field: value}
        turn = whole(base._replace(policy=Policy(**alternative)), body)
        assert turn.raw == default.raw == render(turn)
        silent = {
            "bare_function": "missing-tool-call-open" not in kinds,
            "fenced_call": "```" not in text and "~~~" not in text,
            "stray_think_close": "stray-think-close" not in kinds,
            "unknown_tool": "undeclared-tool" not in kinds and (s.tools > 0 or all(map(_plain, default.calls))),
            "argument_end": not any("</parameter>" in x for x in _values(default)),
            "call_in_reasoning": "<tool_call>" not in text,
        }.get(field, False)
        if silent:
            assert turn == default, f"{field}={value} changed a turn it has nothing to say about"
        if field == "truncated_call":
            assert turn.spans == default.spans
            assert [c.name for c in turn.calls] == [c.name for c in default.calls]
    none = whole(base._replace(tools=len(TOOLS) - 1), body)
    assert none.raw == default.raw and not none.calls and none.cut_call is None


def _plain(call: ToolCall) -> bool:
    return call.name is not None and not any(c in " \t\n\r\v\f=" for c in call.name)


def _values(turn: Turn) -> list[str]:
    return [turn.raw[x.start : x.end] for x in turn.spans if x.kind in ("value", "junk")]
