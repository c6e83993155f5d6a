"""The executable specification: whole text in, spans and issues out. It states docs/format.md and is never shipped.

Section numbers in comments are those of docs/format.md. Not covered: values (section 8, so neither `type-mismatch` nor
`duplicate-parameter`) and the front ends for bytes and ids (`broken-utf8`, `unknown-token`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qwenparse.formats import ENDOFTEXT, IM_END, Policy, get_format

WINDOW = 1024
THINK, UNTHINK, OPEN, CLOSE = "<think>", "</think>", "<tool_call>", "</tool_call>"
FN, UNFN, PARAM, UNPARAM = "<function=", "</function>", "<parameter=", "</parameter>"
WS = re.compile(r"[ \t\n\r\v\f]{0,1025}")
WS_OR_NOT = re.compile(r"[ \t\n\r\v\f]+|[^ \t\n\r\v\f]+")
NON_WS = re.compile(r"[^ \t\n\r\v\f]")
WS_CHARS = " \t\n\r\v\f"
TAG_OR_NEWLINE = re.compile(r"[<\n]")
NAME_RUN = re.compile(r"[^<>\r\n]{0,256}")
VARIANT = re.compile(r"</parameter([^<>\n]{0,32})>")
VARIANT_CUT = re.compile(r"</parameter[^<>\n]{0,32}\Z")
BLANK_LINE = re.compile(r"\n[ \t\r\v\f]{0,1022}\n")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
JSON_KEYS = ('"name"', '"arguments"', '"parameters"', '"id"', '"type"')
JSON_OPENER = re.compile(r'\{[ \t\n\r]{0,1024}("[a-z]*"?)?')
JSON_BODY = re.compile(r'[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*')
JSON_STRING_REST = re.compile(r'[^"\\]*(?:\\[\s\S][^"\\]*)*')
JSON_ESCAPE_CUT = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
JSON_NUMBER_CUT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?")
JWS = re.compile(r"[ \t\n\r]*")


@dataclass
class SpecCall:
    index: int
    name: str | None
    args: list[tuple[str | None, str, bool]] = field(default_factory=list)  # key, literal, closed
    complete: bool = False


@dataclass
class SpecResult:
    spans: list[tuple[str, int, int]]
    issues: list[tuple[str, int | None]]
    calls: list[SpecCall]
    cut_call: SpecCall | None
    reasoning: str | None
    content: str | None
    complete: bool


@dataclass
class JSONBlock:
    """One JSON call as far as it was read: `end` is where it closed, broke, was short of a brace, or was cut."""

    outcome: str = ""  # text, window, nameless (before the name is known); closed, fault, short, cut
    end: int = 0
    name: str | None = None
    name_span: tuple[int, int] | None = None
    args_span: tuple[int, int] | None = None
    args_closed: bool = False
    aliased: bool = False
    repeated: bool = False
    in_string: bool = False  # the fault stands in a string


def clean_name(written: str) -> tuple[str, bool]:
    """The NAME without surrounding blanks and one pair of quotes, and whether there were quotes."""
    name = written.strip(" \t")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
        return name[1:-1], True
    return name, False


def plain(name: str) -> bool:
    return bool(name) and not any(c in WS_CHARS or c == "=" for c in name)


def declared_tools(tools: Any) -> dict[str, frozenset[str] | None] | None:
    """Name -> names of its parameters (None: unknown); None if the tools are not known."""
    if tools is None or getattr(tools, "known", True) is False:
        return None
    if hasattr(tools, "names"):
        return {name: tools.get(name).parameters for name in tools.names}
    found: dict[str, frozenset[str] | None] = {}
    for tool in tools:
        inner = tool["function"] if isinstance(tool.get("function"), Mapping) else tool
        schema = inner.get("parameters", inner.get("input_schema"))
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        found.setdefault(inner["name"], frozenset(properties) if isinstance(properties, Mapping) else None)
    return found


# --------------------------------------------------------------------------- JSON, sections 5 and 8
def json_string(text: str, i: int) -> tuple[str, int]:
    """Of the string whose quote is at `i`: ("ok", its end), ("end", length) or ("string fault", the code point)."""
    k = JSON_BODY.match(text, i + 1).end()  # type: ignore[union-attr]
    if text.startswith('"', k):
        return "ok", k + 1
    if k < len(text):
        k = JSON_ESCAPE_CUT.match(text, k).end()  # type: ignore[union-attr]
    return ("string fault", k) if k < len(text) else ("end", k)


def json_scalar(text: str, i: int) -> tuple[str, int]:
    for word in ("true", "false", "null"):
        if text[i] == word[0]:
            k = i
            while k < len(text) and k - i < len(word) and text[k] == word[k - i]:
                k += 1
            return ("ok", k) if k - i == len(word) else ("end" if k == len(text) else "fault", k)
    k = JSON_NUMBER_CUT.match(text, i).end()  # type: ignore[union-attr]
    if JSON_NUMBER.fullmatch(text, i, k):
        return "ok", k
    return "end" if k == len(text) else "fault", k


def json_value(text: str, i: int) -> tuple[str, int]:
    """Of the value at `i`: "ok" and its end, "end" and the length of the text, or a fault and the first code point that
    can stand in no JSON text."""
    stack: list[str] = []
    want = "value"
    while True:
        i = JWS.match(text, i).end()  # type: ignore[union-attr]
        if i == len(text):
            return "end", i
        c, status = text[i], "ok"
        if want in ("first", "key") and stack[-1] == "{" and c == '"':
            status, i = json_string(text, i)
            want = "colon"
        elif want == "colon" and c == ":":
            i, want = i + 1, "value"
        elif want in ("first", "after") and c == ("}" if stack[-1] == "{" else "]"):
            stack.pop()
            i, want = i + 1, "after"
        elif want == "after" and c == ",":
            i, want = i + 1, "key" if stack[-1] == "{" else "value"
        elif want == "value" or (want == "first" and stack[-1] == "["):
            if c in "{[":
                stack.append(c)
                i, want = i + 1, "first"
            else:
                status, i = json_string(text, i) if c == '"' else json_scalar(text, i)
                want = "after"
        else:
            return "fault", i
        if status != "ok":
            return status, i
        if want == "after" and not stack:
            return "ok", i


def holds_object(source: str) -> bool:
    """Whether a JSON string (source, with quotes) holds a JSON object and nothing else."""
    text = json.loads(source, strict=False)
    i = JWS.match(text).end()  # type: ignore[union-attr]
    status, k = json_value(text, i) if text.startswith("{", i) else ("fault", i)
    return status == "ok" and JWS.match(text, k).end() == len(text)  # type: ignore[union-attr]


class _Spec:
    def __init__(self, text: str, prefix: str, tools: Any, policy: Policy, stop: str, dialect: str,
                 certain: frozenset[int] | None, id_tags: frozenset[str], max_held: int) -> None:  # fmt: skip
        self.T, self.n, self.p0 = prefix + text, len(prefix) + len(text), len(prefix)
        self.tools, self.policy, self.dialect, self.max_held = declared_tools(tools), policy, dialect, max_held
        self.ended = stop != "none"  # by the model
        self.certain, self.id_tags = certain, id_tags if certain is not None else frozenset()
        self.spans: list[tuple[str, int, int]] = []
        self.issues: list[tuple[str, int | None, int]] = []  # code, call, where it was decided
        self.calls: list[SpecCall] = []
        self.ends: list[int] = []  # where the end of each call was decided
        self.nameless: SpecCall | None = None
        self.whole, self.left = True, False
        self.owed = self.content_seen = False

    # -------------------------------------------------------------------------------------------- small questions
    def tag(self, i: int, tag: str) -> bool:
        """Whether the whole tag stands at `i` (6, "ids known")."""
        if not self.T.startswith(tag, i):
            return False
        return tag not in self.id_tags or i + len(tag) <= self.p0 or i - self.p0 in self.certain  # type: ignore[operator]

    def cut(self, i: int, *tags: str) -> bool:
        """Whether the text ends, behind `i`, in a proper prefix of one of the tags."""
        k = self.n - i
        return any(0 < k < len(t) and self.T.startswith(t[:k], i) for t in tags if t not in self.id_tags)

    def ws(self, i: int) -> int:
        """The end of the WS run at `i`, -1 if it is longer than the window."""
        k = WS.match(self.T, i).end()  # type: ignore[union-attr]
        return k if k - i <= WINDOW else -1

    def line_start(self, i: int, start: int) -> bool:
        while i > start and self.T[i - 1] in " \t":
            i -= 1
        return i == start or self.T[i - 1] == "\n"

    def declared(self, name: str) -> bool:
        return plain(name) if self.tools is None else name in self.tools

    def admitted(self, name: str, in_reasoning: bool) -> bool:
        return self.declared(name) or not (in_reasoning or self.policy.unknown_tool == "text")

    def function(self, i: int) -> tuple[str, bool, int] | None:
        """NAME, whether quoted, and the end of `<function=NAME>` at `i`."""
        if not self.T.startswith(FN, i):
            return None
        k = NAME_RUN.match(self.T, i + len(FN)).end()  # type: ignore[union-attr]
        name, quoted = clean_name(self.T[i + len(FN) : k])
        if not self.T.startswith(">", k) or not name or not (plain(name) or self.declared(name)):
            return None
        return name, quoted, k + 1

    def function_cut(self, i: int) -> bool:
        return self.cut(i, FN) or (self.T.startswith(FN, i) and NAME_RUN.fullmatch(self.T, i + len(FN)) is not None)

    def xml_opener(self, i: int) -> tuple[str, bool, int] | None:
        found = self.function(i)
        if found is None:
            return None
        k = self.ws(found[2])
        return found if k == self.n or (k > 0 and self.T[k] == "<") else None

    # -------------------------------------------------------------------------------------------------- reporting
    def emit(self, kind: str, start: int, end: int) -> None:
        if start < end:
            if self.spans and self.spans[-1][0] == kind:
                start = self.spans.pop()[1]
            self.spans.append((kind, start, end))

    def emit_junk(self, start: int, end: int) -> None:
        for m in WS_OR_NOT.finditer(self.T, start, end):
            self.emit("ws" if m[0][0] in WS_CHARS else "junk", *m.span())

    def issue(self, code: str, at: int, call: int | None = None) -> None:
        self.issues.append((code, call, at))

    def call_issue(self, code: str, at: int) -> None:
        self.issue(code, at, len(self.calls) - 1)

    def begin_call(self, name: str, at: int, dialect: str, before: Iterable[str]) -> SpecCall:
        self.calls.append(SpecCall(len(self.calls), name))
        self.ends.append(self.n + 1)
        for code in before:
            self.call_issue(code, at)
        if dialect != self.dialect:
            self.call_issue("foreign-dialect", at)
        if self.tools is not None and name not in self.tools:
            self.call_issue("undeclared-tool", at)
        return self.calls[-1]

    def end_cut_call(self, closed: bool) -> None:
        """The input ended inside the call; `closed`: policy `truncated_call="closed"` could count it as complete."""
        self.whole = False
        self.call_issue("cut-call", self.n)
        self.calls[-1].complete = closed and self.policy.truncated_call == "closed"

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
            for k, limit in (("ws", min(head, start)), (kind, min(tail, start)), ("ws", start)):
                self.emit(k, i, limit)
                self.content_seen |= k == "content" and i < limit
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
            if (not thinking and self.tag(i, THINK) and 0 < s <= self.p0 < end and not self.calls
                    and not self.content_seen and self.ws(s) == i):  # fmt: skip
                # The prompt had closed an empty thought, and the model thinks all the same (3).
                self.emit("ws", s, i)
                self.emit("think_open", i, end)
                self.issue("unexpected-think-open", end)
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
                self.issue("window-exceeded", found.end)
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

    def json_block(self, q: int, in_reasoning: bool) -> JSONBlock:
        T, n, b, first, i = self.T, self.n, JSONBlock(), True, q + 1

        def stop(outcome: str, end: int) -> JSONBlock:
            b.end = end
            b.in_string, outcome = outcome == "string fault", outcome.removeprefix("string ")
            b.outcome = {"end": "cut"}.get(outcome, outcome)
            if b.name is None:
                read = end - q + (outcome != "end")
                b.outcome = "window" if read > self.max_held else "nameless" if outcome == "end" else "text"
            return b

        while True:
            i = JWS.match(T, i).end()  # type: ignore[union-attr]
            if T.startswith("}", i) and first:
                return stop("closed", i + 1)
            if not T.startswith('"', i):
                return stop("end" if i == n else "fault", i)
            status, k = json_string(T, i)
            if status != "ok":
                return stop(status, k)
            key, i = T[i:k], JWS.match(T, k).end()  # type: ignore[union-attr]
            if not T.startswith(":", i):
                return stop("end" if i == n else "fault", i)
            i = JWS.match(T, i + 1).end()  # type: ignore[union-attr]
            if i == n:
                return stop("end", n)
            is_args = key in ('"arguments"', '"parameters"')
            b.repeated |= bool((key == '"name"' and b.name_span) or (is_args and b.args_span))
            first = False
            if is_args and b.args_span is None and T[i] != "n":
                if T[i] not in '{"':
                    return stop("fault", i)
                b.aliased = key == '"parameters"'
                status, k = json_value(T, i)
                if T[i] == '"':
                    if k - (status == "ok") - i - 1 > self.max_held:
                        status, k = "string fault", i + 1 + self.max_held
                    elif status == "ok" and not holds_object(T[i:k]):
                        status = "fault"
                b.args_span, b.args_closed = (i, k), status == "ok"
            elif key == '"name"' and b.name_span is None:
                status, k = json_string(T, i) if T[i] == '"' else ("fault", i)
                if status == "ok":
                    name = json.loads(T[i:k], strict=False)
                    if k - q > self.max_held or not 0 < len(name) <= 256:
                        return stop("fault", k - 1)
                    if not self.admitted(name, in_reasoning):
                        return JSONBlock("text")
                    b.name, b.name_span = name, (i, k)
            else:
                status, k = json_value(T, i)
            if status != "ok":
                return stop(status, k)
            i = JWS.match(T, k).end()  # type: ignore[union-attr]
            if T.startswith(",", i):
                i += 1
                continue
            if T.startswith("}", i):
                return stop("closed", i + 1)
            w = self.ws(k)
            if b.name is not None and b.args_closed and w >= 0:
                if self.tag(w, CLOSE) or self.tag(w, OPEN) or (self.ended and w == n):
                    return stop("short", w)
                if self.cut(w, CLOSE, OPEN):
                    return stop("short" if self.ended else "end", w)
            return stop("end" if i == n else "fault", i)

    def json_call(self, q: int, b: JSONBlock, before: list[str]) -> int:
        assert b.name is not None and b.name_span is not None
        self.left = False
        call = self.begin_call(b.name, b.name_span[1], "json", before)
        marks = [(*b.name_span, "json_name"), (*(b.args_span or (b.end, b.end)), "json_args")]
        i, rest = q, "json_open"
        for start, end, kind in sorted(marks):
            if kind == "json_args" and b.args_span is None:
                continue
            self.emit(rest, i, start)
            self.emit(kind, start, end)
            i, rest = end, "json_close" if kind == "json_args" else rest
        body = b.end - (b.outcome == "closed")
        self.emit(rest, i, body)
        self.emit("json_close", body, b.end)
        if b.args_span:
            call.args.append((None, self.T[slice(*b.args_span)], b.args_closed))
        if b.aliased:
            self.call_issue("aliased-arguments", b.end)
        if b.repeated or b.outcome in ("fault", "short"):
            self.call_issue("broken-json", b.end)
        if b.outcome == "cut":
            if b.end < self.n:
                self.emit("junk", b.end, self.n)
                self.call_issue("cut-tag", self.n)
            self.end_cut_call(b.args_closed)
            return -1
        call.complete = b.outcome != "fault"
        self.ends[-1] = b.end
        if b.outcome == "closed" and b.args_span is None:
            self.call_issue("missing-arguments", b.end)
        if call.complete:
            return b.end
        start = b.end
        if b.args_span and self.T[b.args_span[0]] == '"' and b.end == b.args_span[1]:
            start = b.args_span[0] + 1  # longer than `max_held`: the place may be inside an escape
        i = JSON_STRING_REST.match(self.T, start).end() if b.in_string else b.end  # type: ignore[union-attr]
        while i < self.n and not (self.tag(i, CLOSE) or self.tag(i, OPEN)):
            k = self.T.find("<", i + 1)
            i = k if k >= 0 else self.n
        self.emit("junk", b.end, i)
        return i

    def xml_call(self, i: int, opener: tuple[str, bool, int], before: list[str]) -> int:
        """The block at `i`; returns where it ended, -1 if the input did first."""
        name, quoted, p = opener
        call = self.begin_call(name, p, "xml", before)
        if quoted:
            self.call_issue("quoted-name", p)
        self.emit("fn_open", i, i + len(FN))
        self.emit("name", i + len(FN), p - 1)
        self.emit("fn_open_end", p - 1, p)
        known = (self.tools or {}).get(name)
        self.by_tag: list[bool] = []  # for each parameter begun, whether a tag closed it
        self.left = False
        i, dirty = p, False
        while True:
            m = TAG_OR_NEWLINE.search(self.T, i)
            j = m.start() if m else self.n
            dirty = dirty or NON_WS.search(self.T, i, j) is not None
            ends = [t for t in (UNFN, CLOSE, OPEN, FN) if self.tag(j, t)]
            param = self.T.startswith(PARAM, j)
            cut = self.cut(j, PARAM, UNFN, CLOSE, OPEN, FN)
            cut |= param and NAME_RUN.fullmatch(self.T, j + len(PARAM)) is not None
            self.left = dirty and BLANK_LINE.match(self.T, j) is not None
            if not (ends or param or cut or self.left or j == self.n):
                dirty |= self.T[j] == "<"
                i = j + 1
                continue
            self.emit_junk(p, j)
            if dirty:
                self.call_issue("malformed-parameter", j + 1)
            if cut or j == self.n:
                if cut:
                    self.emit("junk", j, self.n)
                    self.call_issue("cut-tag", self.n)
                self.end_cut_call(not cut and all(self.by_tag) and (self.ended or any(a[0] for a in call.args)))
                return -1
            if param:
                i = p = self.parameter(j, call, known)
                dirty = False
                if p < 0:
                    return -1
                continue
            call.complete = not self.left
            self.ends[-1] = j + (2 if self.left else len(ends[0]))
            if self.left or ends[0] != UNFN:
                if not self.left:
                    self.call_issue("missing-function-close", j + 1)
                return j
            self.emit("fn_close", j, j + len(UNFN))
            return j + len(UNFN)

    # ------------------------------------------------------------------------------------- parameters (5, 7, 10.4)
    def parameter(self, j: int, call: SpecCall, known: frozenset[str] | None) -> int:
        q = j + len(PARAM)
        k = NAME_RUN.match(self.T, q).end()  # type: ignore[union-attr]
        closed = self.T.startswith(">", k)
        written = self.T[q:k]
        name, quoted = clean_name(written)
        self.emit("param_open", j, q)
        code, v = None, k
        if closed and self.parameter_name(name, known):
            v = k + 1
        elif not closed and "=" in written and self.one_word(written.partition("=")[0], known):
            code, written = "fused-parameter", written.partition("=")[0]
            k, (name, quoted) = q + len(written), clean_name(written)
            v = k + 1
        elif not closed and self.T[k] in "\r\n" and self.one_word(written, known):
            code = "unclosed-parameter-tag"
        else:
            self.call_issue("malformed-parameter" if name else "nameless-parameter", k + 1)
            return self.value(q, k + closed, None, call, known)
        self.emit("key", q, k)
        self.emit("param_open_end", k, v)
        if code:
            self.call_issue(code, v)
        if quoted:
            self.call_issue("quoted-name", v)
        if known is not None and name not in known:
            self.call_issue("undeclared-parameter", v)
        return self.value(v, v, name, call, known)

    def parameter_name(self, name: str, known: frozenset[str] | None) -> bool:
        return bool(name) and (plain(name) or (known is not None and name in known))

    def one_word(self, written: str, known: frozenset[str] | None) -> bool:
        name = clean_name(written)[0]
        return plain(name) and (known is None or name in known)

    def value(self, begin: int, v: int, key: str | None, call: SpecCall, known: frozenset[str] | None) -> int:
        """The value at `v`, discarded (junk from `begin` on) if `key` is None; where it ended, -1 if the input did."""
        given = {a[0] for a in call.args} | {key}
        status, c = "cut", v - 1
        while status == "cut":
            c = self.T.find("<", c + 1)
            if c < 0:
                break
            status = self.value_end(c, v, given, known)
            if status == "cut-tag" or status == "":
                status = status or "cut"
        end = c if c >= 0 else self.n
        literal = self.T[begin:end]
        if key is None:
            self.emit("junk", begin, end)
        else:
            a = begin + literal.startswith("\n")
            b = end - (end > a and status != "cut" and self.T[end - 1] == "\n")
            self.emit("value_lead_nl", begin, a)
            self.emit("value", a, b)
            self.emit("value_trail_nl", b, end)
            call.args.append((key, self.T[a:b], not status.startswith("cut")))
        self.by_tag.append(status.startswith("close"))
        if status == "cut-tag":
            k = next((end + len(t) for t in (UNFN, CLOSE) if self.tag(end, t)), self.n)
            self.emit("junk", end, k)
            w = self.ws(k)
            self.emit("ws", k, w)
            self.emit("junk", w, self.n)
            self.call_issue("cut-tag", self.n)
        if status.startswith("cut"):
            self.end_cut_call(False)
            return -1
        if status == "missing":
            if key is not None:
                self.call_issue("missing-parameter-close", end + 1)
            return end
        k = VARIANT.match(self.T, end).end()  # type: ignore[union-attr]
        if status == "close-variant" and key is not None:
            self.call_issue("malformed-close", k)
        self.emit("param_close", end, k)
        return k

    def value_end(self, c: int, v: int, given: set[str | None], known: frozenset[str] | None) -> str:
        """What the `<` at `c` is: "close" or "close-variant" (7.1), "missing" (7.2), "cut-tag" (7.4), or "": text."""
        T = self.T
        closer = VARIANT.match(T, c)
        if closer:
            w = self.ws(closer.end())
            follows = w == self.n or self.cut(w, PARAM, UNFN, CLOSE)
            follows = follows or T.startswith((PARAM, UNFN), w) or self.tag(w, CLOSE)
            if (w >= 0 and follows) or (self.policy.argument_end == "first" and not closer[1]):
                return "close-variant" if closer[1] else "close"
        if self.cut(c, UNPARAM) or VARIANT_CUT.match(T, c):
            return "cut-tag"
        if not self.line_start(c, v):
            return ""
        if T.startswith(PARAM, c):
            k = NAME_RUN.match(T, c + len(PARAM)).end()  # type: ignore[union-attr]
            name = clean_name(T[c + len(PARAM) : k])[0]
            if T.startswith(">", k):
                return "missing" if name not in given and self.parameter_could(name, known) else ""
        if self.parameter_cut(c, given, known) or self.cut(c, UNFN, CLOSE):
            return "cut-tag"
        for tag, followers in ((UNFN, (CLOSE, OPEN)), (CLOSE, (OPEN,))):
            w = self.ws(c + len(tag)) if self.tag(c, tag) else -1
            if w < 0:
                continue
            if any(self.tag(w, t) for t in followers) or (tag == UNFN and self.function(w)):
                return "missing"
            if w == self.n or self.cut(w, *followers) or (tag == UNFN and self.function_cut(w)):
                return "missing" if self.ended else "cut-tag"
        return ""

    def parameter_could(self, name: str, known: frozenset[str] | None) -> bool:
        return plain(name) if known is None else name in known

    def parameter_cut(self, c: int, given: set[str | None], known: frozenset[str] | None) -> bool:
        """Whether the input ends in a beginning of a `<parameter=NAME>` that could still end the value."""
        if not self.cut(c, PARAM):
            if not (self.T.startswith(PARAM, c) and NAME_RUN.fullmatch(self.T, c + len(PARAM))):
                return False
        t = self.T[c + len(PARAM) :].lstrip(" \t")
        word = t.rstrip(" \t")
        if known is None:
            return not t or (plain(word) and (word == t or clean_name(word)[0] not in given))
        forms = [f for name in known - given for f in (name, f'"{name}"', f"'{name}'")]
        return any(f.startswith(t) or f == word for f in forms)


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
            call.index = index[call.index] = len(index)
    calls = [c for c, end in zip(s.calls, s.ends, strict=True) if end > p0]
    issues = [(code, index.get(i) if i is not None else None) for code, i, at in s.issues if i in index or at > p0]
    joined = {k: "".join(text[a:b] for kind, a, b in spans if kind == k) for k in ("think_body", "content")}
    last_cut = calls[-1] if calls and ("cut-call", calls[-1].index) in issues and not calls[-1].complete else None
    if s.nameless:
        s.nameless.index = len(calls)
    return SpecResult(spans, issues, calls, s.nameless or last_cut, joined["think_body"] or None,
                      joined["content"] or None, s.whole)  # fmt: skip
