"""The executable specification: whole text in, spans and issues out. It states docs/format.md and is never shipped.

Numbers in comments are sections and rows of docs/format.md. Not covered: values and schemas (8, so neither
`type-mismatch` nor `duplicate-parameter`), bytes and ids without bytes (`broken-utf8`, `unknown-token`).
"""

from __future__ import annotations

import json
import re
from collections import namedtuple
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from typing import Any

from qwenparse import ToolSet
from qwenparse.formats import ENDOFTEXT, IM_END, Policy, get_format

THINK, UNTHINK, OPEN, CLOSE = "<think>", "</think>", "<tool_call>", "</tool_call>"
FN, UNFN, PARAM, UNPARAM = "<function=", "</function>", "<parameter=", "</parameter>"
FOLLOWERS = {UNPARAM: (PARAM, UNFN, CLOSE), UNFN: (CLOSE, OPEN, FN), CLOSE: (OPEN,)}  # 7.1, 7.2
CUT, BLANK_LINE = "the input ends", "\n"  # what may stand in place of a tag
CLOSED, MALFORMED, MISSING = "closed", "malformed-close", "missing-parameter-close"  # how a value ends, besides CUT
ARGUMENTS = ('"arguments"', '"parameters"')
JSON_KEYS = ('"name"', '"id"', '"type"', *ARGUMENTS)
JSON_VALUE = '{["-0123456789tfn'  # what it may begin with
regex = cache(partial(re.compile, flags=re.ASCII))
plain = regex(r"[^\s=]+").fullmatch  # NAMEs that may be undeclared
WS, WINDOW, ENDLESS = " \t\n\r\v\f", 1024, float("inf")


def prefixes(*words: str) -> str:
    """A regex of all proper prefixes of the words, the longest first, the empty one too."""
    return "|".join(sorted({re.escape(word[:size]) for word in words for size in range(len(word))}, key=len, reverse=True))


NAME = r"[^<>\r\n]{0,256}"
FUNCTION = f"(?P<fn_open><function=)(?P<name>{NAME})(?P<fn_open_end>>)"
FUNCTION_CUT = rf"(?:<function={NAME}|{prefixes(FN)})\Z"
PARAMETER = rf"(?P<param_open><parameter=)(?P<key>{NAME}(?=>)|[^<>\r\n=]{{0,255}}(?==)|{NAME}(?=[\r\n]))(?P<param_open_end>[>=]?)"
PARAMETER_CUT = rf"(?:<parameter=({NAME})|{prefixes(PARAM)})\Z"
CLOSER = r"</parameter([^<>\n]{0,32})>"
CLOSER_CUT = rf"(?:</parameter[^<>\n]{{0,32}}|{prefixes(UNPARAM)})\Z"
WRAPPER_BEGUN = f"{CLOSE}|{OPEN}|{prefixes(CLOSE, OPEN)}"
JWS = r"[ \t\n\r]*"
JSON_OPENER = r"\{[ \t\n\r]{0,1024}(?:" + "|".join(JSON_KEYS) + ")"
JSON_OPENER_CUT = r"\{[ \t\n\r]{0,1024}(?:" + prefixes(*JSON_KEYS) + r")\Z"
STRING = r'"[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*'  # control characters are accepted
TOKEN = rf'[{{}}\[\],:]|{STRING}"|true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?'
TOKEN_BEGUN = (
    rf'[{{}}\[\],:]|{STRING}(?:"|\\u[0-9a-fA-F]{{0,3}}|\\)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?'
    r"|-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?"
)

SpecResult = namedtuple("SpecResult", "spans issues calls cut_call reasoning content complete")


@dataclass
class SpecCall:
    name: str | None = None  # None: the input ended before it was known
    dialect: str = ""
    spans: list[tuple[str, int]] = field(default_factory=list)  # kind and end; in XML those of the opener only
    issues: set[str] = field(default_factory=set)  # in XML those of the opener only
    args: list[tuple[str | None, str, bool]] = field(default_factory=list)  # key, literal, closed
    complete: bool = False
    end: float = ENDLESS  # where it was decided that it ends, if the input did not end first
    index: int | None = None


def end_of(pattern: str, text: str, i: int) -> int:
    """The end of the match at `i`; `i` if there is none."""
    found = regex(pattern).match(text, i)
    return found.end() if found else i


def clean_name(written: str) -> tuple[str, bool]:
    """The NAME without surrounding blanks and one pair of quotes, and whether there were quotes (5)."""
    name = written.strip(" \t")
    quoted = len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"
    return name[1:-1] if quoted else name, quoted


def fits(name: str, declared: Collection[str] | None) -> bool:
    """Whether a name counts as declared; None: it is not known what is."""
    return plain(name) is not None if declared is None else name in declared


def read_object(text: str, i: int) -> tuple[list[Any], str, int, int | None]:
    """Of the object at `i` the members (key as written, start and end of the value, whether it closed); how it ends ("closed",
    "end" of the text, "fault": a code point that no JSON has there); where; and where the string begins that has the fault."""
    members: list[Any] = []
    due: list[str] = []  # closing brackets
    key, want = "", "{"  # `want`: the characters that may come
    while want:
        i = end_of(JWS, text, i)
        first, end = text[i : i + 1], end_of(TOKEN_BEGUN, text, i)
        if first and want == JSON_VALUE and due == ["}"]:
            members.append([key, i, i, False])
        if first not in want or not regex(TOKEN).fullmatch(text, i, end):
            stop = end if first in want else i
            if members and not members[-1][3]:
                members[-1][2] = stop
            return members, "end" if stop == len(text) else "fault", stop, i if first == '"' and stop > i else None
        if first in "{[":
            due.append("}" if first == "{" else "]")
            want = '"}' if first == "{" else JSON_VALUE + "]"
        elif first in ",:":
            want = '"' if first == "," and due[-1] == "}" else JSON_VALUE
        elif first == '"' and want in ('"', '"}'):
            key, want = text[i:end], ":"
        else:
            if first in "}]":
                due.pop()
            want = "," + due[-1] if due else ""
            if due == ["}"]:
                members[-1][2:] = end, True
        i = end
    return members, "closed", i, None


def holds_object(text: str) -> bool:
    _, outcome, end, _ = read_object(text, 0)
    return outcome == "closed" and not text[end:].strip(" \t\n\r")


class _Spec:
    def __init__(
        self, text: str, format: str, *, tools: Any = None, start: str | None = None, policy: Policy = Policy(),  # noqa: B008
        stop: str = "none", stop_text: str | None = None, prefix: str = "", certain: frozenset[int] | None = None,
        id_tags: frozenset[str] = frozenset({THINK, UNTHINK, OPEN, CLOSE}), max_held: int = 1 << 20,
    ) -> None:  # fmt: skip
        """`prefix`: what the prompt has of the turn. `certain`: where tags of `id_tags` are their own id; None: no ids."""
        chosen, tool_set = get_format(format), ToolSet.of(tools)
        self.dialect, self.policy, self.max_held = chosen.dialect, policy, max_held
        self.start = start or ("auto" if prefix and chosen.start == "reasoning" else chosen.start)
        self.tools = tool_set.declared if tool_set.known else None  # name -> names of its parameters (None: unknown)
        self.ended = stop != "none"  # by the model
        self.ending = {"none": "", "im_end": IM_END}.get(stop, ENDOFTEXT if stop_text is None else stop_text)
        self.text, self.began, self.size = prefix + text, len(prefix), len(prefix + text)
        self.id_tags = id_tags if certain is not None else frozenset()
        self.certain = {place + self.began for place in certain or ()}
        self.line_starts = {m.end() for m in re.finditer(r"^[ \t]*(?=<)", self.text, re.M)}
        self.kinds: list[str] = []  # of each character's region
        self.calls: list[SpecCall] = []
        self.issues: list[tuple[str, SpecCall | None, int]] = []  # code, call, where it was decided, if behind the call
        self.owed = self.content_seen = False

    def result(self) -> SpecResult:
        i = 0
        while i <= self.size:
            i = self.section(i)
        text, kinds = self.text[self.began :], self.kinds[self.began :]
        spans: list[tuple[str, int, int]] = []
        end = 0
        for kind, run in groupby(kinds + ["stop"] * len(self.ending)):
            spans.append((kind, end, end := end + len(list(run))))
        view = {name: "".join(text[a:b] for kind, a, b in spans if kind == name) or None for name in ("think_body", "content")}
        calls = [call for call in self.calls if call.end > self.began]
        for index, call in enumerate(calls):
            call.index = index
        issues = [(code, call and call.index) for code, call, at in self.issues if max(at, call.end if call else 0) > self.began]
        complete = {code for code, *_ in self.issues}.isdisjoint(("unclosed-think", "cut-tag", "cut-call"))
        cut = next((call for call in calls if call.end == ENDLESS and not call.complete), None)
        named = [call for call in calls if call.name is not None]
        return SpecResult(spans, issues, named, cut, view["think_body"], view["content"], complete)

    # --------------------------------------------------------------------------------------------- sections (3, 6, 9)
    def section(self, start: int) -> int:
        """Read the section at `start` and the structure that ends it; where the next one begins."""
        self.thinking = self.kinds[-1] == "think_open" if self.kinds else self.start == "reasoning"
        self.line, self.fence = start, ""
        removed: dict[int, str] = {}  # the characters of tags that are removed alone
        closers = start  # the end of the stray closers
        for found in regex("<").finditer(self.text, start):
            i = found.start()
            tag = self.at(i, THINK, UNTHINK, OPEN, CLOSE, FN, UNFN, UNPARAM)
            end = i + len(tag)
            if tag in (CLOSE, UNFN, UNPARAM):
                if self.calls and i - start <= WINDOW and not self.text[closers:i].strip(WS):
                    removed |= dict.fromkeys(range(i, end), "stray")
                    self.issue("stray-close", end)
                    closers = end
            elif tag == UNTHINK and self.thinking:
                self.emit_section(start, i, removed)
                self.emit("think_close", end)
                return end
            elif tag == UNTHINK:
                if self.owed or self.policy.stray_think_close == "drop":
                    removed |= dict.fromkeys(range(i, end), "late_think_close" if self.owed else "stray")
                self.issues.append(("late-think-close" if self.owed else "stray-think-close", None, end))
                self.owed = False
            elif tag == THINK and self.leads(start, i, end):
                self.emit("ws", i)
                self.emit("think_open", end)
                if start > 0 or self.start != "auto":
                    self.issues.append(("repeated-think-open" if self.thinking else "unexpected-think-open", None, end))
                return end
            elif tag in (OPEN, FN) and self.call_allowed(tag, start, i):
                first = self.ws(end) if tag == OPEN else i
                call = self.block(first, "missing-tool-call-open" if tag == FN else "call-in-reasoning" if self.thinking else "")
                if call and (tag == OPEN or call.name in (self.tools or ())):
                    self.emit_section(start, i, removed)
                    self.emit("call_open", end if tag == OPEN else i)
                    return self.blocks(call, first, bare=tag == FN)
        self.emit_section(start, self.size, removed)
        self.issues += [("unclosed-think", None, self.size + 1)] if self.thinking else []
        return self.size + 1

    def emit_section(self, start: int, end: int, removed: dict[int, str]) -> None:
        """The section without the characters that are `removed`. WS at its two ends is layout (9)."""
        kind = "think_body" if self.thinking else "content"
        text = "".join(" " if i in removed else self.text[i] for i in range(start, end))
        head, tail = end - len(text.lstrip(WS)), start + len(text.rstrip(WS))
        if head - start > WINDOW or (head < end and kind == "content" and self.content_seen):
            head = start
        if end - tail > WINDOW:
            tail = end
        self.kinds += [removed.get(i) or (kind if head <= i < tail else "ws") for i in range(start, end)]
        self.content_seen |= "content" in self.kinds[start:]

    def leads(self, start: int, i: int, end: int) -> bool:
        """Whether a `<think>` leads the turn, or stands first behind a thought that the prompt opened or left empty (R8, R13)."""
        known = start == 0 or start <= self.began < end
        return known and self.ws(start) == i and not self.calls and not self.content_seen

    def call_allowed(self, tag: str, start: int, i: int) -> bool:
        """Whether a call may begin with the tag at `i`, before a look at what follows (6)."""
        rule = self.policy.call_in_reasoning if self.thinking else "anywhere"
        if tag == FN:
            rule = "line" if self.policy.bare_function == "declared" and not self.thinking else "never"
        if self.tools == {} or rule == "never" or (rule == "line" and not self.line_start(i, start)):
            return False
        return rule == "always" or not self.fenced(i)

    def fenced(self, i: int) -> bool:
        """Whether a code fence is open at `i`; asked from left to right."""
        for line in self.text[self.line : i].split("\n")[:-1]:
            mark = rf"{self.fence}{self.fence[0]}*\s*\Z" if self.fence else r"(`{3,}(?=[^`]*\Z)|~{3,})"
            found = regex(" {0,3}" + mark).match(line)
            if found:
                self.fence = "" if self.fence else found[1]
            self.line += len(line) + 1
        return self.fence != "" and self.policy.fenced_call == "text"

    # ------------------------------------------------------------------------------------------------ calls (5, 10.6)
    def block(self, i: int, introduction: str) -> SpecCall | None:
        """The call that may begin at `i` in a wrapper, without a name if the input ends before it (F14, C1b)."""
        call, opener = None, self.function(i)
        if opener and regex(r"\s{0,1024}(?:<|\Z)").match(self.text, opener.end()):
            name, quoted = clean_name(opener["name"])
            spans = [(kind, opener.end(kind)) for kind in opener.re.groupindex]
            call = SpecCall(name, "xml", spans, {"quoted-name"} if quoted else set())
        elif regex(JSON_OPENER).match(self.text, i):
            call = self.json_call(i)
        elif i <= self.size and regex(f"{FUNCTION_CUT}|{JSON_OPENER_CUT}").match(self.text, i):
            call = SpecCall()
        if call is None or call.name is None:
            return None if self.ended else call
        foreign = "foreign-dialect" if call.dialect != self.dialect else ""
        undeclared = "undeclared-tool" if self.tools is not None and call.name not in self.tools else ""
        call.issues |= {introduction, foreign, undeclared} - {""}
        admitted = not self.thinking and self.policy.unknown_tool == "call"
        return call if admitted or fits(call.name, self.tools) else None

    def function(self, i: int) -> re.Match[str] | None:
        """A `<function=NAME>` at `i` that is one."""
        found = regex(FUNCTION).match(self.text, i)
        name = clean_name(found["name"])[0] if found else ""
        return found if name and (plain(name) or fits(name, self.tools)) else None

    def blocks(self, call: SpecCall, first: int, bare: bool) -> int:
        """The blocks of a wrapper, or a bare call, from that at `first` on; where the next section begins (F1, F4, F7, C4b)."""
        self.owed |= self.thinking
        following: SpecCall | None = call
        while following:
            call = following
            self.emit("ws", first)
            self.calls.append(call)
            for code in call.issues:
                self.issue(code)
            for kind, end in call.spans:
                self.emit(kind, end)
            if call.dialect == "xml":
                self.parameters(call)
            if call.end == ENDLESS:
                call.complete &= self.policy.truncated_call == "closed"
                self.issue("cut-call", self.size + 1)
                self.issue("cut-tag", when=call.name is not None and self.place < self.size)
                self.emit("junk", self.size)
                return self.size + 1
            first = self.ws(self.place) if call.complete else self.place
            tag = self.at(first, CLOSE)
            following = None if bare or tag else self.block(first, "several-calls-in-block")
        decided = self.size if tag else min(first, self.place + WINDOW)
        self.issue("missing-tool-call-close", decided + 1, when=not bare and tag != CLOSE)
        self.issue("cut-tag", self.size + 1, when=tag == CUT and first < self.size)
        self.emit("ws", first if tag else 0)
        self.emit("call_close" if tag == CLOSE else "junk", min(first + len(CLOSE), self.size) if tag else 0)
        return self.place

    def json_call(self, start: int) -> SpecCall | None:
        """The call that the object at `start` is, nameless if the input ends before the name; None: text (F12, F17–F20, C7)."""
        members, outcome, stop, quote = read_object(self.text, start)
        call, rest = SpecCall(dialect="json"), "json_open"
        for key, begin, end, closed in members:
            first, limit = self.text[begin], begin + 1 + self.max_held
            fault: tuple[int, int | None] | None = None
            if key == '"name"' and call.name is None:
                name = json.loads(self.text[begin:end], strict=False) if first == '"' and closed else ""
                if first != '"' or (closed and not (0 < len(name) <= 256 and end - start <= self.max_held)):
                    fault = end - 1 if first == '"' else begin, None
                else:
                    call.name = name or None
                    call.spans += [(rest, begin), ("json_name", end)]
            elif key in ARGUMENTS and not call.args and first != "n":
                if first == '"' and end - closed > limit:
                    fault = limit, begin
                elif first == '"' and closed and not holds_object(json.loads(self.text[begin:end], strict=False)):
                    fault = end, None
                elif first not in '{"':
                    fault = begin, None
                end = fault[0] if fault else end
                if end > begin:
                    call.args.append((None, self.text[begin:end], closed and not fault))
                    call.spans += [(rest, begin), ("json_args", end)]
                    call.issues |= {"aliased-arguments"} if key == '"parameters"' else set()
                    rest = "json_close"
            elif key == '"name"' or (key in ARGUMENTS and call.args):
                call.issues.add("broken-json")
            if fault:
                outcome, (stop, quote) = "fault", fault
                break
        if call.name is None:
            too_long = stop - start + (outcome != "end") > self.max_held
            if too_long:
                self.issues.append(("window-exceeded", None, start + self.max_held + 1))
            return SpecCall() if outcome == "end" and not too_long else None
        args_closed = bool(call.args) and call.args[0][2]
        _, _, last, closed = members[-1]
        decided = stop + 1
        if args_closed and closed and outcome != "closed" and stop == end_of(JWS, self.text, last) <= last + WINDOW:
            tag = self.at(stop, CLOSE, OPEN)  # only the last brace is missing (F12), or may be
            outcome = "end" if tag == CUT and not self.ended else "short" if tag else outcome
            decided = end_of(WRAPPER_BEGUN, self.text, stop) + (tag not in (CLOSE, OPEN))
        call.end = {"closed": stop, "end": ENDLESS}.get(outcome, decided)
        call.complete = outcome in ("closed", "short") or (outcome == "end" and args_closed)
        call.spans += [(rest, stop - (outcome == "closed")), ("json_close", stop)]
        call.issues |= {"broken-json"} if outcome in ("fault", "short") else set()
        call.issues |= {"missing-arguments"} if outcome == "closed" and not call.args else set()
        if outcome == "fault":
            place = stop if quote is None else end_of(r'"[^"\\]*(?:\\[\s\S][^"\\]*)*', self.text, quote)
            junk, _ = self.first("<", place, lambda i: self.at(i, CLOSE, OPEN) in (CLOSE, OPEN))
            call.spans.append(("junk", junk))
        return call

    # ----------------------------------------------------------------------------------------- XML calls (5, 7, 10.4)
    def parameters(self, call: SpecCall) -> None:
        """All of a call behind `<function=NAME>` (F3, C3)."""
        self.known = (self.tools or {}).get(call.name or "")  # its parameters
        self.decided, all_closed = 0, True
        while (tag := self.junk()) == PARAM and not regex(PARAMETER_CUT).match(self.text, self.place):
            all_closed &= self.parameter(call.args)
        if tag in (CUT, PARAM):
            call.complete = self.place == self.size and all_closed and (self.ended or bool(call.args))
            return
        call.complete = tag != BLANK_LINE
        call.end = max(self.decided, self.place + len(tag) + (tag == BLANK_LINE))
        self.issue("missing-function-close", when=tag in (CLOSE, OPEN, FN))
        self.emit("fn_close", self.place + len(tag) if tag == UNFN else 0)

    def junk(self) -> str:
        """The text between parameters; what ends it: a tag, BLANK_LINE or CUT (F22)."""
        text = end_of(r"\s*", self.text, self.place)
        stops = r"<|\n(?=[ \t\r\v\f]{0,1022}\n)"
        end, tag = self.first(stops, text, lambda i: self.at(i, PARAM, UNFN, CLOSE, OPEN, FN, BLANK_LINE))
        for piece in regex(r"(?P<ws>\s+)|(?P<junk>\S+)").finditer(self.text, self.place, end):
            self.emit(str(piece.lastgroup), piece.end())
        self.issue("malformed-parameter", when=end > text)
        return str(tag)

    def parameter(self, args: list[tuple[str | None, str, bool]]) -> bool:
        """A parameter tag (M1 to M6) and its value; whether a tag closed that."""
        tag = regex(PARAMETER).match(self.text, self.place)
        name, quoted = clean_name(tag["key"]) if tag else ("", False)
        enough = any if tag and tag["param_open_end"] == ">" else all
        if not tag or not name or not enough((plain(name), fits(name, self.known))):
            end = end_of(f"<parameter={NAME}", self.text, self.place)
            named = clean_name(self.text[self.place + len(PARAM) : end])[0]
            self.issue("malformed-parameter" if named else "nameless-parameter")
            self.emit("param_open", self.place + len(PARAM))
            return self.value(end_of(">", self.text, end), None, args)
        for kind in tag.re.groupindex:
            self.emit(kind, tag.end(kind))
        self.issue("fused-parameter", when=tag["param_open_end"] == "=")
        self.issue("unclosed-parameter-tag", when=tag["param_open_end"] == "")
        self.issue("quoted-name", when=quoted)
        self.issue("undeclared-parameter", when=self.known is not None and name not in self.known)
        return self.value(self.place, name, args)

    def value(self, start: int, key: str | None, args: list[tuple[str | None, str, bool]]) -> bool:
        """The value at `start`, discarded if it has no key; whether a tag closed it (7.3, M7)."""
        given = {key, *(arg[0] for arg in args)}
        end, how = self.first("<", start, lambda i: self.value_end(i, start, given))
        if key is None:
            self.emit("junk", end)
        else:
            first = start + self.text.startswith("\n", start)
            last = end - (first < end < self.size and self.text[end - 1] == "\n")
            self.emit("value_lead_nl", first)
            self.emit("value", last)
            self.emit("value_trail_nl", end)
            args.append((key, self.text[first:last], how != CUT))
            self.issue(how, when=how in (MALFORMED, MISSING))
        self.issue("cut-tag", when=how == CUT and end < self.size)
        self.emit("junk" if how == CUT else "param_close", self.size if how == CUT else end_of(CLOSER, self.text, end))
        return how in (CLOSED, MALFORMED)

    def value_end(self, i: int, start: int, given: set[str | None]) -> str:
        """How the value ends at `i`, where a "<" or the end of the input is; "": it does not (7.1, 7.2, 7.4)."""
        closer = regex(CLOSER).match(self.text, i)
        at_once = self.policy.argument_end == "first" and self.text.startswith(UNPARAM, i)
        if closer and (at_once or self.follower(UNPARAM, self.ws(closer.end()))):
            return MALFORMED if closer[1] else CLOSED
        if regex(CLOSER_CUT).match(self.text, i):
            return CUT
        if not self.line_start(i, start):
            return ""
        parameter = regex(f"<parameter=({NAME})>").match(self.text, i)
        if parameter:
            name = clean_name(parameter[1])[0]
            return MISSING if name not in given and fits(name, self.known) else ""
        tag = self.at(i, UNFN, CLOSE)
        begun = regex(PARAMETER_CUT).match(self.text, i)
        if tag == CUT or (begun and self.may_grow((begun[1] or "").lstrip(" \t"), given)):
            return CUT
        self.decided = self.follower(tag, self.ws(i + len(tag))) if tag else 0
        if self.decided > self.size and not self.ended:
            return CUT
        return MISSING if self.decided else ""

    def may_grow(self, begun: str, given: set[str | None]) -> bool:
        """Whether this beginning of a NAME, at the end of the input, may become one that ends the value (7.4)."""
        word = begun.rstrip(" \t")
        if self.known is None:
            return not begun or (plain(word) is not None and (word == begun or clean_name(word)[0] not in given))
        forms = [form for name in self.known - given for form in (name, f'"{name}"', f"'{name}'")]
        return any(form.startswith(begun) or form == word for form in forms)

    def follower(self, tag: str, i: int) -> int:
        """Where it is decided that what must follow `tag` stands at `i`; 0 if it does not (7.1, 7.2)."""
        found = self.at(i, *FOLLOWERS[tag])
        if found == FN:
            function = self.function(i)
            return function.end() if function else self.size + 1 if regex(FUNCTION_CUT).match(self.text, i) else 0
        return self.size + 1 if found == CUT else i + len(found) if found else 0

    # -------------------------------------------------------------------------------------------- small questions
    def at(self, i: int, *tags: str) -> str:
        """The tag that stands at `i` ("ids known": 6); CUT if the input ends there or in a proper prefix of one; else ""."""
        for tag in tags:
            if self.text.startswith(tag, i):
                spelled = tag in self.id_tags and i + len(tag) > self.began and i not in self.certain
                return "" if spelled else tag
        rest = self.text[i : i + len(CLOSE)]
        begun = rest and any(tag.startswith(rest) for tag in tags if tag not in self.id_tags)
        return CUT if begun or i == self.size else ""

    def first(self, pattern: str, start: int, test: Callable[[int], Any]) -> tuple[int, Any]:
        """The first match of the pattern, or the end of the input, that passes the test, and what that said."""
        places = (found.start() for found in regex(rf"{pattern}|\Z").finditer(self.text, start))
        return next((i, found) for i in places if (found := test(i)) or i == self.size)

    def ws(self, i: int) -> int:
        """The end of the WS run at `i`, behind the input if it is longer than the window."""
        run = regex(r"\s{0,1024}(?!\s)").match(self.text, i)
        return run.end() if run else self.size + 1

    def line_start(self, i: int, start: int) -> bool:
        """Whether only blanks stand between `i` and the newline before it, or the `start` of its section or value."""
        return i in self.line_starts or end_of(r"[ \t]*", self.text, start) >= i

    # -------------------------------------------------------------------------------------------------- reporting
    def emit(self, kind: str, end: int) -> None:
        """Go on to `end`, unless that is reached already."""
        self.kinds += [kind] * (end - self.place)

    @property
    def place(self) -> int:
        return len(self.kinds)

    def issue(self, code: str, at: int = 0, when: object = True) -> None:
        """An issue of the last call, or of the turn if that has no name; `at` matters only behind the call's end."""
        if when:
            self.issues.append((code, self.calls[-1] if self.calls[-1].name is not None else None, at))


def parse_spec(text: str, format: str = "qwen3.5", **options: Any) -> SpecResult:
    """Parse a completion; `options` are those of `_Spec`. Positions are the completion's."""
    return _Spec(text, format, **options).result()
