"""The executable specification: whole text in, spans and issues out. It states docs/format.md and is never shipped.

Section numbers in comments are those of docs/format.md. This file: start states, sections, what is a call, the end of
the input; `spec_calls`: the inside of a call; `spec_json`: the JSON in it. Not covered: values (section 8, so neither
`type-mismatch` nor `duplicate-parameter`) and the front ends for bytes and ids (`broken-utf8`, `unknown-token`).
"""

from __future__ import annotations

import re
from typing import Any

from spec_calls import JSON_KEYS, JSON_OPENER, CallReader, JSONBlock
from spec_text import CLOSE, NON_WS, OPEN, TAG_OR_NEWLINE, THINK, UNFN, UNPARAM, UNTHINK, WINDOW, WS_CHARS
from spec_text import SpecCall as SpecCall
from spec_text import SpecResult as SpecResult

from qwenparse.formats import ENDOFTEXT, IM_END, Policy, get_format

FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")


class _Spec(CallReader):
    # --------------------------------------------------------------------------------------------- sections (1, 9)
    def text(self, kind: str, s: int, e: int, layout: list[tuple[int, int, str]]) -> None:
        """Emit the section [s, e); `layout` are the tags in it that are removed alone. WS at its two ends is layout."""
        a, b = s, e
        for start, end, _ in [*layout, (e, e, "")]:
            m = NON_WS.search(self.T, a, start)
            a = m.start() if m else end
            if m:
                break
        for start, end, _ in [*reversed(layout), (s, s, "")]:
            k = b
            while k > end and self.T[k - 1] in WS_CHARS:
                k -= 1
            b = k if k > end else start
            if k > end:
                break
        whole = a >= e
        head = a if a - s <= WINDOW and (whole or kind != "content" or not self.content_seen) else s
        tail = b if e - b <= WINDOW and not whole else e
        i = s
        for start, end, tag in [*layout, (e, e, "")]:
            for part, limit in (("ws", min(head, start)), (kind, min(tail, start)), ("ws", start)):
                self.emit(part, i, limit)
                self.content_seen |= part == "content" and i < limit
                i = max(i, limit)
            self.emit(tag, start, end)
            i = end

    def start(self, start: str) -> None:
        k = self.ws(0)
        i, state = 0, start
        if k >= 0 and self.tag(k, THINK):
            i, state = k + len(THINK), "reasoning"
            self.emit("ws", 0, k)
            self.emit("think_open", k, i)
            if start != "auto":
                self.issue("repeated-think-open" if start == "reasoning" else "unexpected-think-open", i)
        i = self.section(i, state == "reasoning", False)
        while i >= 0:
            i = self.section(i, False, bool(self.calls))

    def section(self, s: int, thinking: bool, after_call: bool) -> int:
        """Read one section and the structure that ends it; the start of the next one, -1 at the end of the input."""
        kind = "think_body" if thinking else "content"
        layout: list[tuple[int, int, str]] = []
        i = line = closers = s
        fence = ""
        while True:
            m = TAG_OR_NEWLINE.search(self.T, i)
            if m is None:
                break
            i = m.start()
            if self.T[i] == "\n":
                fence = self.fence(fence, self.T[line:i])
                i = line = i + 1
                continue
            stray = next((t for t in (CLOSE, UNFN, UNPARAM) if after_call and self.tag(i, t)), None)
            if stray and i - s <= WINDOW and not NON_WS.search(self.T, closers, i):
                closers = i + len(stray)
                layout.append((i, closers, "stray"))
                self.call_issue("stray-close", closers)
                i = closers
                continue
            after_call = False
            if self.tag(i, UNTHINK):
                end = i + len(UNTHINK)
                if thinking:
                    self.text(kind, s, i, layout)
                    self.emit("think_close", i, end)
                    return end
                drop = self.owed or self.policy.stray_think_close == "drop"
                if drop:
                    layout.append((i, end, "late_think_close" if self.owed else "stray"))
                self.issue("late-think-close" if self.owed else "stray-think-close", end)
                self.owed = False
                i = end if drop else i + 1
                continue
            end = i + len(THINK)
            if (self.tag(i, THINK) and 0 < s <= self.p0 < end and not self.calls and not self.content_seen
                    and self.ws(s) == i):  # fmt: skip
                # A leading <think> behind a prompt that opened the thought, or closed an empty one (3).
                self.emit("ws", s, i)
                self.emit("think_open", i, end)
                self.issue("repeated-think-open" if thinking else "unexpected-think-open", end)
                return self.section(end, True, False)
            fenced = bool(fence) and self.policy.fenced_call == "text"
            if self.tag(i, OPEN) and self.call_allowed(i, s, thinking, fenced):
                q = self.ws(i + len(OPEN))
                block = self.block(q, thinking) if q >= 0 else None
                if block is not None:
                    self.text(kind, s, i, layout)
                    self.emit("call_open", i, i + len(OPEN))
                    return self.wrapper(i + len(OPEN), q, block, thinking)
            elif not thinking and not fenced and self.bare_allowed(i, s):
                opener = self.xml_opener(i)
                if opener and opener[0] in self.tools:  # type: ignore[operator]
                    self.text(kind, s, i, layout)
                    return self.after_bare(self.xml_call(i, opener, ["missing-tool-call-open"]))
            i += 1
        self.text(kind, s, self.n, layout)
        if thinking:
            self.whole = False
            self.issue("unclosed-think", self.n + 1)
        return -1

    def fence(self, fence: str, line: str) -> str:
        if not fence:
            m = FENCE.match(line)
            return m[1] if m else ""
        body = line.lstrip(" ")
        marks = len(body) - len(body.lstrip(fence[0]))
        closes = len(line) - len(body) <= 3 and marks >= len(fence) and not body[marks:].strip(WS_CHARS)
        return "" if closes else fence

    def call_allowed(self, i: int, s: int, thinking: bool, fenced: bool) -> bool:
        if self.tools == {}:
            return False
        if not thinking:
            return not fenced
        rule = self.policy.call_in_reasoning
        return rule == "always" or (rule == "line" and not fenced and self.line_start(i, s))

    def bare_allowed(self, i: int, s: int) -> bool:
        return bool(self.tools) and self.policy.bare_function == "declared" and self.line_start(i, s)

    # ------------------------------------------------------------------------------------------------- calls (5, 6)
    def block(self, q: int, in_reasoning: bool) -> Any:
        """What begins at `q` inside a wrapper: an opener, a JSON block, "cut" (C1b), or None: no block."""
        opener = self.xml_opener(q)
        if opener:
            return opener if self.admitted(opener[0], in_reasoning) else None
        m = JSON_OPENER.match(self.T, q)
        if m and m[1] in JSON_KEYS:
            found = self.json_block(q, in_reasoning)
            if found.outcome == "window":
                self.issue("window-exceeded", q + self.max_held + 1)
            if found.outcome != "nameless":
                return None if found.outcome in ("text", "window") else found
            return None if self.ended else "cut"
        json_cut = m and m.end() == self.n and any(key.startswith(m[1] or "") for key in JSON_KEYS)
        return "cut" if not self.ended and (q == self.n or self.function_cut(q) or json_cut) else None

    def wrapper(self, after: int, q: int, block: Any, in_reasoning: bool) -> int:
        """The blocks of one `<tool_call>`, the first at `q`; returns the start of the next section."""
        before = ["call-in-reasoning"] if in_reasoning else []
        self.owed |= in_reasoning
        while True:
            self.emit("ws", after, q)
            if block == "cut":
                self.emit("junk", q, self.n)
                self.whole = False
                self.nameless = SpecCall(len(self.calls), None)
                self.issue("cut-call", self.n + 1)
                return -1
            if isinstance(block, JSONBlock):
                end = self.json_call(q, block, before)
            else:
                end = self.xml_call(q, block, before)
            if end < 0:
                return -1
            w = -1 if self.left else self.ws(end)
            if w >= 0 and self.tag(w, CLOSE):
                return self.close_wrapper(end, w)
            if w >= 0 and self.cut(w, CLOSE) and self.calls[-1].complete:
                end = self.cut_close(end, w)
            elif w >= 0 and w < self.n and self.calls[-1].complete:
                block = self.block(w, in_reasoning)
                if block is not None:
                    before, after, q = ["several-calls-in-block"], end, w
                    continue
            self.call_issue("missing-tool-call-close", max(end, w) + 1)
            return end

    def close_wrapper(self, end: int, w: int) -> int:
        self.emit("ws", end, w)
        self.emit("call_close", w, w + len(CLOSE))
        return w + len(CLOSE)

    def cut_close(self, end: int, w: int) -> int:
        """A proper prefix of `</tool_call>` ends the input behind a call (C4b)."""
        self.emit("ws", end, w)
        self.emit("junk", w, self.n)
        self.call_issue("cut-tag", self.n + 1)
        self.whole = False
        return self.n

    def after_bare(self, end: int) -> int:
        w = -1 if end < 0 or self.left else self.ws(end)
        if w >= 0 and self.tag(w, CLOSE):
            return self.close_wrapper(end, w)
        return self.cut_close(end, w) if w >= 0 and self.cut(w, CLOSE) else end


def parse_spec(
    text: str,
    format: str = "qwen3.5",
    *,
    tools: Any = None,
    start: str | None = None,
    policy: Policy = Policy(),  # noqa: B008
    stop: str = "none",
    stop_text: str | None = None,
    prefix: str = "",
    certain: frozenset[int] | None = None,
    id_tags: frozenset[str] = frozenset({THINK, UNTHINK, OPEN, CLOSE}),
    max_held: int = 1 << 20,
) -> SpecResult:
    """Parse a completion. `prefix` is the text of the open turn that the prompt holds; positions are the completion's.

    `certain`: the offsets (code points of `text`) at which a tag of `id_tags` was sampled as its own id; None: no ids.
    """
    chosen = get_format(format)
    s = _Spec(text, prefix, tools, policy, stop, chosen.dialect, certain, id_tags, max_held)
    s.start(start or ("auto" if prefix and chosen.start == "reasoning" else chosen.start))
    p0 = len(prefix)
    spans = [(kind, max(a - p0, 0), b - p0) for kind, a, b in s.spans if b > p0]
    if stop != "none":
        ending = IM_END if stop == "im_end" else ENDOFTEXT if stop_text is None else stop_text
        spans += [("stop", len(text), len(text) + len(ending))] if ending else []
    index: dict[int, int] = {}
    for call, end in zip(s.calls, s.ends, strict=True):
        if end > p0:
            index[call.index] = len(index)
            call.index = index[call.index]
    calls = [c for c, end in zip(s.calls, s.ends, strict=True) if end > p0]
    issues = [(code, index.get(i) if i is not None else None) for code, i, at in s.issues if i in index or at > p0]
    joined = {k: "".join(text[a:b] for kind, a, b in spans if kind == k) for k in ("think_body", "content")}
    last_cut = calls[-1] if calls and ("cut-call", calls[-1].index) in issues and not calls[-1].complete else None
    if s.nameless:
        s.nameless.index = len(calls)
    return SpecResult(spans, issues, calls, s.nameless or last_cut, joined["think_body"] or None,
                      joined["content"] or None, s.whole)  # fmt: skip
