"""The inside of a call: JSON and XML blocks, parameters, values (docs/format.md 5, 7, 8.8, 10.4)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from spec_json import JSON_STRING_REST, JWS, holds_object, json_string, json_value
from spec_text import (
    CLOSE,
    FN,
    NAME_RUN,
    NON_WS,
    OPEN,
    PARAM,
    TAG_OR_NEWLINE,
    UNFN,
    UNPARAM,
    WINDOW,
    Reader,
    SpecCall,
    clean_name,
    plain,
)

VARIANT = re.compile(r"</parameter([^<>\n]{0,32})>")
VARIANT_CUT = re.compile(r"</parameter[^<>\n]{0,32}\Z")
BLANK_LINE = re.compile(r"\n[ \t\r\v\f]{0,1022}\n")
JSON_KEYS = ('"name"', '"arguments"', '"parameters"', '"id"', '"type"')
JSON_OPENER = re.compile(r'\{[ \t\n\r]{0,1024}("[a-z]*"?)?')


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
    seen: int = 1  # how many code points from `end` on it takes to know a fault


class CallReader(Reader):
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
            w = i
            if b.name is not None and b.args_closed and w - k <= WINDOW:
                if self.tag(w, CLOSE) or self.tag(w, OPEN) or (self.ended and w == n):
                    return stop("short", w)
                if self.cut(w, CLOSE, OPEN):
                    return stop("short" if self.ended else "end", w)
                b.seen += max(k for t in (CLOSE, OPEN) for k in range(len(t)) if T.startswith(t[:k], w))
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
                self.whole = False
            return self.end_cut_call(b.args_closed)
        call.complete = b.outcome != "fault"
        self.ends[-1] = b.end + {"closed": 0, "fault": b.seen}.get(b.outcome, len(OPEN))
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
        self.left, self.decided = False, 0
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
                closed = not cut and all(self.by_tag) and (self.ended or bool(call.args))
                return self.end_cut_call(closed)
            if param:
                i = p = self.parameter(j, call, known)
                dirty = False
                if p < 0:
                    return -1
                continue
            call.complete = not self.left
            self.ends[-1] = max(self.decided, j + (2 if self.left else len(ends[0])))
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
        status, c = "", v - 1
        while not status:
            c = self.T.find("<", c + 1)
            status = self.value_end(c, v, given, known) if c >= 0 else "cut"
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
            self.emit("junk", end, self.n)
            self.call_issue("cut-tag", self.n)
        if status.startswith("cut"):
            return self.end_cut_call(False)
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
            follower = next((t for t in followers if self.tag(w, t)), None)
            function = self.function(w) if tag == UNFN else None
            if follower or function:
                self.decided = w + len(follower) if follower else function[2]  # type: ignore[index]
                return "missing"
            if w == self.n or self.cut(w, *followers) or (tag == UNFN and self.function_cut(w)):
                self.decided = self.n + 1
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
