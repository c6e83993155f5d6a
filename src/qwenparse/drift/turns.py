"""Why a turn is written differently: the generated text and the rendered one, both read, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..formats import IM_END
from ..turn import Turn
from .literals import arguments_cause, value_cause
from .report import Cause

Difference = tuple[Cause, str]

_CALL_STARTS = ("call_open", "fn_open", "json_open")
_TAGS = frozenset({
    "call_open", "fn_open", "fn_open_end", "param_open", "param_open_end", "param_close", "fn_close", "call_close",
})  # fmt: skip


class _Call(NamedTuple):
    spans: list[tuple[str, str]]
    """(kind, text) from the opening tag to the closing one."""
    gap: str
    """Whitespace in front of it."""
    whole: bool
    """It came to an end."""

    def pick(self, *kinds: str) -> list[str]:
        return [text for kind, text in self.spans if kind in kinds]


class _View:
    """The sections of a turn, text and layout."""

    def __init__(self, turn: Turn) -> None:
        raw = turn.raw
        self.turn = turn
        self.opened = self.closed = self.echoed = False
        self.lead = self.thought = self.trail = self.behind = ""
        self.pieces: list[str] = []
        """Content before the first call, behind the first, behind the second, …"""
        self.gap_before_content = self.gap_before_end = ""
        self.calls: list[_Call] = []
        spans = _prefix_regions(turn.gen_prefix)
        for span in turn.spans:
            if span.kind not in ("stop", "trailing"):
                text = raw[span.start : span.end]
                if span.kind == "ws" and spans and spans[-1][0] == "ws":
                    text = spans.pop()[1] + text
                spans.append((span.kind, text))
        at = 0
        while at < len(spans) and spans[at][0] in ("think_open", "think_body", "think_close", "ws"):
            kind, text = spans[at]
            at += 1
            if kind == "think_open":
                self.echoed = self.opened
                self.opened = True
            elif kind == "think_body":
                self.thought += text
            elif kind == "think_close":
                self.closed = True
                if at < len(spans) and spans[at][0] == "ws":
                    self.behind = spans[at][1]
                    at += 1
                break
            elif self.thought:
                self.trail = text
            elif self.opened:
                self.lead = text
            else:
                at -= 1
                break
        if not self.thought:
            self.lead, self.trail = "", self.lead + self.trail
        self.late_close = any(kind == "late_think_close" for kind, _ in spans)
        self._rest(spans[at:])

    def _rest(self, spans: Sequence[tuple[str, str]]) -> None:
        content, gap = "", ""
        call: list[tuple[str, str]] | None = None
        call_gap = ""
        for kind, text in spans:
            if call is not None and kind not in ("content", "late_think_close"):
                if not (kind in _CALL_STARTS and self._ended(call, kind)):
                    call.append((kind, text))
                    continue
            if call is not None:
                gap = self._close(call, call_gap)
                call = None
            if kind == "content":
                if not content and not self.pieces:
                    self.gap_before_content = gap
                content += (gap if content else "") + text
                gap = ""
            elif kind in _CALL_STARTS:
                self.pieces.append(content)
                content, call, call_gap = "", [(kind, text)], gap
                gap = ""
            else:
                gap += text
        if call is not None:
            gap = self._close(call, call_gap)
        self.pieces.append(content)
        self.gap_before_end = gap

    @staticmethod
    def _ended(call: list[tuple[str, str]], kind: str) -> bool:
        """Whether a tag of this kind begins another call."""
        return kind == "call_open" or any(k in ("call_close", "fn_close", "json_close") for k, _ in call)

    def _close(self, call: list[tuple[str, str]], gap: str) -> str:
        """Notes a call; whitespace behind its last tag is not its own and is given back."""
        behind = ""
        while call and call[-1][0] == "ws":
            behind = call.pop()[1] + behind
        number = len(self.calls)
        known = number < len(self.turn.calls)
        self.calls.append(_Call(call, gap, known and self.turn.calls[number].complete))
        return behind


def _prefix_regions(prefix: str) -> list[tuple[str, str]]:
    """What a prompt writes of a turn, as regions; texts that it may hold belong to their sections."""
    regions: list[tuple[str, str]] = []

    def text(kind: str, piece: str) -> None:
        bare = piece.strip()
        if bare:
            lead, _, trail = piece.partition(bare)
            regions.extend((k, t) for k, t in (("ws", lead), (kind, bare), ("ws", trail)) if t)
        elif piece:
            regions.append(("ws", piece))

    if prefix.startswith("<think>"):
        regions.append(("think_open", "<think>"))
        thought, close, rest = prefix[len("<think>") :].partition("</think>")
        text("think_body", thought)
        if close:
            regions.append(("think_close", close))
            text("content", rest)
    else:
        text("content", prefix)
    return regions


def differences(before: Turn, after: Turn, *, cut: bool, thinking_off: bool, old: bool) -> Iterator[Difference]:
    """The differences between a turn as generated and as rendered, in the order of the text, each with evidence.

    `cut`: the generated turn has no end of its own.
    `thinking_off`: the prompt had closed the block. `old`: a user message follows, so templates may drop thoughts.
    """
    a, b = _View(before), _View(after)
    yield from _thought(a, b, thinking_off, old)
    yield from _content(a, b, cut)
    yield from _calls(a, b, cut)


def _thought(a: _View, b: _View, thinking_off: bool, old: bool) -> Iterator[Difference]:
    if a.opened and not b.opened:
        content = before_content = "".join(a.pieces)
        content = "".join(b.pieces)
        if "</think>" in before_content and content != before_content:
            yield "literal_think_close", f"{_short(before_content)} became {_short(content)}"
        elif not a.thought:
            yield ("think_off_block_dropped" if thinking_off else "history_think_dropped"), "the block is gone"
        elif content.startswith(a.thought[:200]):
            yield "raw_in_content", f"the answer begins with {_short(content)}"
        elif old:
            yield "history_think_dropped", "the block is gone"
        else:
            yield "reasoning_missing", "the block is gone"
        return
    if not a.opened:
        if b.opened:
            literal = "</think>" in a.turn.raw
            yield ("literal_think_close" if literal else "unknown"), "a think block appeared"
        return
    if a.echoed:
        yield "unknown", "the model wrote <think> again"
    if a.lead != b.lead and a.thought and b.thought:
        yield "think_leading_ws", f"{a.lead!r}, now {b.lead!r}"
    if a.thought != b.thought:
        yield from _other_thought(a, b)
    elif a.trail != b.trail and (a.closed or not a.calls):
        yield "think_trailing_ws", f"{a.trail!r}, now {b.trail!r}"
    if b.closed and not a.closed and a.calls:
        yield "call_in_think", "the call stands inside the thought"
    elif a.closed and b.closed and a.behind != b.behind:
        if a.behind.startswith(b.behind) and (a.pieces[0] or a.calls):
            kind: Cause = "content_leading_ws" if a.pieces[0] else "call_leading_ws"
            yield kind, f"{a.behind!r}, now {b.behind!r}"
        else:
            yield "think_close_ws", f"{a.behind!r}, now {b.behind!r}"


def _other_thought(a: _View, b: _View) -> Iterator[Difference]:
    shown = f"{_short(a.thought)}, now {_short(b.thought)}"
    if not b.thought:
        content = "".join(b.pieces)
        if content.startswith(a.thought[:200]):
            yield "raw_in_content", f"the answer begins with {_short(content)}"
        else:
            yield "reasoning_missing", shown
    elif "<tool_call>" in a.thought and "<tool_call>" not in b.thought:
        yield "call_in_think", shown
    elif "</think>" in "".join(a.pieces) and "".join(a.pieces) != "".join(b.pieces):
        yield "literal_think_close", shown
    elif a.thought.replace("\r\n", "\n") == b.thought.replace("\r\n", "\n"):
        yield "newline_normalised", shown
    elif a.thought.strip() == b.thought.strip():
        yield ("think_trailing_ws" if a.thought.startswith(b.thought.rstrip()) else "think_leading_ws"), shown
    else:
        yield "history_edited", shown


def _content(a: _View, b: _View, cut: bool) -> Iterator[Difference]:
    if a.late_close and not b.late_close:
        yield "call_in_think", "a closing tag came late"
    moved = [k for k, piece in enumerate(a.pieces) if k and piece and not (k < len(b.pieces) and b.pieces[k] == piece)]
    if moved and len(b.pieces) > 1 and not any(b.pieces[1:]):
        for k in moved:
            last = k == len(a.pieces) - 1
            yield ("text_after_call" if last else "text_between_calls"), _short(a.pieces[k])
        return
    if not a.opened and a.gap_before_content != b.gap_before_content:
        yield "content_leading_ws", f"{a.gap_before_content!r}, now {b.gap_before_content!r}"
    one, other = a.pieces, b.pieces
    if not all(call.whole for call in a.calls):  # calls that ended badly are not sent back
        one, other = ["".join(one)], ["".join(other)]
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            yield from _text(mine, theirs)
    if not a.calls and a.gap_before_end != b.gap_before_end:
        yield ("truncated" if cut else "content_trailing_ws"), f"{a.gap_before_end!r}, now {b.gap_before_end!r}"


def _text(before: str, after: str) -> Iterator[Difference]:
    shown = f"{_short(before)}, now {_short(after)}"
    if before.replace("\r\n", "\n") == after.replace("\r\n", "\n"):
        yield "newline_normalised", shown
    elif before.strip() == after.strip():
        if before.lstrip() != before and not after.startswith(before[:1]):
            yield "content_leading_ws", shown
        if before.rstrip() != before or after.rstrip() != after:
            yield "content_trailing_ws", shown
    elif "</think>" in before:
        yield "literal_think_close", shown
    else:
        yield "history_edited", shown


def _calls(a: _View, b: _View, cut: bool) -> Iterator[Difference]:
    rest = list(b.calls)
    first = True
    for number, one in enumerate(a.calls):
        if not one.whole:
            at_end = cut and a.turn.cut_call is not None and number == len(a.calls) - 1
            yield ("truncated" if at_end else "call_frame"), f"a call of {_name(one)!r} that is not complete"
            continue
        if not rest:
            yield "history_edited", f"{len(a.calls)} calls, now {len(b.calls)}"
            return
        other = rest.pop(0)
        if one.gap != other.gap and (not first or a.pieces[0] or not a.opened):
            yield ("call_leading_ws" if first else "call_gap_ws"), f"{one.gap!r}, now {other.gap!r}"
        first = False
        yield from _call(one, other)
    if rest:
        yield "history_edited", f"{len(a.calls)} calls, now {len(b.calls)}"
    elif a.calls and a.gap_before_end != b.gap_before_end:
        yield "call_trailing_ws", f"{a.gap_before_end!r}, now {b.gap_before_end!r}"


def _call(one: _Call, other: _Call) -> Iterator[Difference]:
    if one.spans == other.spans:
        return
    if bool(one.pick("json_open")) != bool(other.pick("json_open")):
        yield "call_frame", "the dialect of the call"
    elif one.pick("json_open"):
        yield from _json_call(one, other)
    else:
        yield from _xml_call(one, other)


def _json_call(one: _Call, other: _Call) -> Iterator[Difference]:
    if _name(one) != _name(other):
        yield "history_edited", f"{_name(one)}, now {_name(other)}"
        return
    kinds = [[k for k, _ in call.spans if k in ("json_name", "json_args")] for call in (one, other)]
    source, target = "".join(one.pick("json_args")), "".join(other.pick("json_args"))
    cause = arguments_cause(source, target)
    frame = [[t for k, t in call.spans if k in ("json_open", "json_close")] for call in (one, other)]
    if one.pick("call_open", "ws", "call_close") != other.pick("call_open", "ws", "call_close"):
        yield "call_frame", "the tags of the call, or what stands between them"
    if kinds[0] != kinds[1] or ["".join(t.split()) for t in frame[0]] != ["".join(t.split()) for t in frame[1]]:
        yield "json_call_layout", f"{_short(''.join(frame[0]))}, now {_short(''.join(frame[1]))}"
    elif frame[0] != frame[1] and cause != "json_layout":
        yield "json_layout", f"{_short(''.join(frame[0]))}, now {_short(''.join(frame[1]))}"
    if cause is not None:
        yield cause, f"{_short(source)}, now {_short(target)}"


def _name(call: _Call) -> str:
    return "".join(call.pick("name", "json_name"))


def _parameters(call: _Call) -> list[tuple[str, str, list[str]]]:
    """(key, value, its framing) of the parameters."""
    found: list[tuple[str, str, list[str]]] = []
    for kind, text in call.spans:
        if kind == "key":
            found.append((text, "", []))
        elif found and kind == "value":
            key, value, frame = found[-1]
            found[-1] = key, value + text, frame
        elif found and kind in ("value_lead_nl", "value_trail_nl"):
            found[-1][2].append(kind)
    return found


def _xml_call(one: _Call, other: _Call) -> Iterator[Difference]:
    if _name(one) != _name(other):
        yield "history_edited", f"{_name(one)}, now {_name(other)}"
        return
    mine, theirs = _parameters(one), _parameters(other)
    keys, new_keys = [key for key, _, _ in mine], [key for key, _, _ in theirs]
    head, new_head = _head(one), _head(other)
    if head != new_head:
        yield "call_frame", f"{_short(head)}, now {_short(new_head)}"
    if len(set(keys)) < len(keys) and len(new_keys) < len(keys):
        twice = next(key for k, key in enumerate(keys) if key in keys[:k])
        yield "duplicate_parameter", twice
    elif keys != new_keys:
        if sorted(keys) == sorted(new_keys):
            yield "argument_order", f"{', '.join(keys)}; now {', '.join(new_keys)}"
        else:
            yield "history_edited", f"{', '.join(keys)}; now {', '.join(new_keys)}"
    else:
        for (key, value, frame), (_, new_value, new_frame) in zip(mine, theirs, strict=True):
            cause = value_cause(value, new_value)
            if frame != new_frame and cause != "value_trimmed":
                yield "value_frame", f"the newlines around {key}"
            if cause is not None:
                yield cause, f"{key}: {_short(value)}, now {_short(new_value)}"
    if head == new_head and _tags(one) != _tags(other) and keys == new_keys:
        yield "call_frame", "the tags of the call, or what stands between them"


def _head(call: _Call) -> str:
    """What stands before the first parameter."""
    text = ""
    for kind, piece in call.spans:
        if kind in ("param_open", "fn_close", "call_close"):
            break
        text += piece
    return text


def _tags(call: _Call) -> list[tuple[str, str]]:
    return [each for each in call.spans if each[0] in _TAGS or each[0] in ("ws", "junk", "stray")]


def _short(text: str) -> str:
    text = text.replace(IM_END, "")
    return repr(text if len(text) <= 48 else text[:47] + "…")
