"""The executable specification: whole text in, spans and issues out. It states docs/format.md and is never shipped.

Numbers are sections and rows of docs/format.md. Not covered: values (8: `type-mismatch`, `duplicate-parameter`), bytes
(`broken-utf8`, `unknown-token`), and where a candidate behind a call came to nothing, if the prompt ends inside it (3).
"""

from __future__ import annotations

import json
import re
from collections import namedtuple
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any

from qwenparse import ToolSet
from qwenparse.formats import ENDOFTEXT, IM_END, Policy, get_format

THINK, UNTHINK, OPEN, CLOSE = "<think>", "</think>", "<tool_call>", "</tool_call>"
FN, UNFN, PARAM, UNPARAM = "<function=", "</function>", "<parameter=", "</parameter>"
TAGS = (THINK, UNTHINK, OPEN, CLOSE, FN, UNFN, PARAM, UNPARAM)
FOLLOWERS = {UNPARAM: (PARAM, UNFN, CLOSE), UNFN: (CLOSE, OPEN, FN), CLOSE: (OPEN,)}  # 7.1, 7.2
CUT, BLANK_LINE = "the input ends", "\n"  # what may stand in place of a tag
CLOSED, MALFORMED, MISSING = "closed", "malformed-close", "missing-parameter-close"  # how a value ends, besides CUT
MARKS = {">": "", "=": "fused-parameter", "": "unclosed-parameter-tag"}  # behind the name of a parameter: M2, M3
ARGUMENTS = ('"arguments"', '"parameters"')
JSON_KEYS = ('"name"', '"id"', '"type"', *ARGUMENTS)
JSON_VALUE = '{["-0123456789tfn'  # what it may begin with
regex = cache(partial(re.compile, flags=re.ASCII))
plain = regex(r"[^\s=]+").fullmatch  # NAMEs that may be undeclared
WS, WINDOW, ENDLESS = " \t\n\r\v\f", 1024, float("inf")


def prefixes(*words: str) -> str:
    """A regex of all prefixes of the words, the longest first, the empty one too."""
    return "|".join(sorted({re.escape(word[:size]) for word in words for size in range(len(word) + 1)}, key=len, reverse=True))


NAME = r"[^<>\r\n]{0,256}"
FUNCTION = f"(?P<fn_open><function=)(?P<name>{NAME})(?P<fn_open_end>>)"
FUNCTION_CUT = rf"(?:<function={NAME}|{prefixes(FN)})\Z"
PARAMETER = rf"<parameter=({NAME}(?=>)|[^<>\r\n=]{{0,255}}(?==)|{NAME}(?=[\r\n]))([>=]?)"
PARAMETER_CUT = rf"(?:<parameter=({NAME})|{prefixes(PARAM)})\Z"
CLOSER = r"</parameter([^<>\n]{0,32})>"
CLOSER_CUT = rf"(?:</parameter[^<>\n]{{0,32}}|{prefixes(UNPARAM)})\Z"
JWS = r"[ \t\n\r]*"
JSON_OPENER = rf"\{{[ \t\n\r]{{0,1024}}(?:{'|'.join(JSON_KEYS)}|(?:{prefixes(*JSON_KEYS)})\Z)"
STRING = r'"[^"\\]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[^"\\]*)*'  # control characters are accepted
TOKEN = rf'[{{}}\[\],:]|{STRING}"|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?'
WORDS = prefixes("-", "true", "false", "null")
TOKEN_BEGUN = rf'[{{}}\[\],:]|{STRING}(?:"|\\u[\da-fA-F]{{0,3}}|\\)?|-?(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?|{WORDS}'
QUOTED = r'(?:"[^"\\]*(?:\\[\s\S][^"\\]*)*)?'  # a string up to its closing quote
FENCE_END = r" {0,3}(?P=mark)(?P=char)*[ \t\r\v\f]*\n"
FENCE = rf" {{0,3}}(?P<mark>(?P<char>[`~])(?P=char){{2,}})(?!(?P=char)|(?<=`).*`).*\n(?:(?!{FENCE_END}).*\n)*{FENCE_END}"
UNFENCED = rf"(?:(?! {{0,3}}(?:`{{3,}}[^`\n]*\n|~~~)).*\n|{FENCE})*"  # lines that open no fence, and whole fences

SpecResult = namedtuple("SpecResult", "spans issues calls cut_call reasoning content complete")


@dataclass
class SpecCall:
    name: str | None = None  # None: the input ended before it was known
    dialect: str = ""
    spans: list[tuple[str, int]] = field(default_factory=list)  # kind and end; in XML those of the opener only
    args: list[tuple[str | None, str, bool]] = field(default_factory=list)  # key, literal, closed
    issues: list[tuple[str, int]] = field(default_factory=list)  # code, and where it was decided, if behind the call
    complete: bool = False
    end: float = ENDLESS  # where it was decided that it ends, if the input did not end first
    index: int | None = None

    def note(self, codes: Mapping[str, object], at: int = 0) -> None:
        self.issues += [(code, at) for code, found in codes.items() if found]


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


def read_object(text: str, i: int) -> tuple[list[Any], str, int, int]:
    """Of the object at `i` the members (key as written, start and end of the value, whether it closed); how it ends ("closed",
    "end" of the text, "fault": a code point that no JSON has there); where; and where a string ends that has the fault."""
    members: list[Any] = []
    due, key, want = "", "", "{"  # closing brackets; the last key; the characters that may come
    while want:
        i = end_of(JWS, text, i)
        first = text[i : i + 1]
        end = end_of(TOKEN_BEGUN, text, i) if first in want else i
        if first and want == JSON_VALUE and due == "}":
            members.append([key, i, i, False])
        if members and not members[-1][3]:
            members[-1][2] = end
        if not regex(TOKEN).fullmatch(text, i, end):
            return members, "end" if end == len(text) else "fault", end, end_of(QUOTED, text, i) if end > i else i
        if first in "{[":
            due, want = (due + "}", '"}') if first == "{" else (due + "]", JSON_VALUE + "]")
        elif first in ",:":
            want = '"' if first == "," and due[-1] == "}" else JSON_VALUE
        elif first == '"' and want in ('"', '"}'):
            key, want = text[i:end], ":"
        else:
            due = due[:-1] if first in "}]" else due
            want = "," + due[-1] if due else ""
            if due == "}":
                members[-1][3] = True
        i = end
    return members, "closed", i, i


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
        ids = {place + self.began for place in certain or ()}
        found = [(m[0], m.start(), m.end()) for m in re.finditer(rf"{'|'.join(TAGS)}|\n(?=[ \t\r\v\f]{{0,1022}}\n)", self.text)]
        self.tags = {i: tag for tag, i, end in found if tag not in self.id_tags or i in ids or end <= self.began}
        self.kinds = [""] * self.size  # of each character's region
        self.calls: list[SpecCall] = []
        self.turn = SpecCall(end=0)  # has the issues of no call
        self.place, self.thinking, self.owed = 0, self.start == "reasoning", False

    def result(self) -> SpecResult:
        while self.place < self.size:
            self.section()
        self.turn.note({"unclosed-think": self.thinking}, self.size + 1)
        text, kinds = self.text[self.began :], self.kinds[self.began :] + ["stop"] * len(self.ending)
        edges = [i for i, kind in enumerate(kinds) if i == 0 or kind != kinds[i - 1]] + [len(kinds)]
        spans = [(kinds[start], start, end) for start, end in pairwise(edges)]
        view = {name: "".join(text[a:b] for kind, a, b in spans if kind == name) or None for name in ("think_body", "content")}
        calls = [call for call in self.calls if call.end > self.began]
        for index, call in enumerate(calls):
            call.index = index
        noted = [(code, call) for call in (self.turn, *self.calls) for code, at in call.issues if max(at, call.end) > self.began]
        issues = [(code, None if call.name is None else call.index) for code, call in noted]
        complete = {code for code, _ in issues}.isdisjoint(("unclosed-think", "cut-tag", "cut-call"))
        cut = next((call for call in calls if call.end == ENDLESS and not call.complete), None)
        calls = [call for call in calls if call.name is not None]
        return SpecResult(spans, issues, calls, cut, view["think_body"], view["content"], complete)

    # --------------------------------------------------------------------------------------------- sections (3, 6, 9)
    def section(self) -> None:
        """Read a section and the structure that ends it. WS at its two ends is layout; removed tags count as WS (9)."""
        start = closers = self.place  # `closers`: where the stray closers end
        lines = UNFENCED if self.policy.fenced_call == "text" else r"(?:.*\n)*"
        line = lines + r"[ \t]*"  # at line start; `before`: what may stand in the section in front of a call, by rule (6)
        before = {"always": r"[\s\S]*", "anywhere": lines + ".*", "line": line, "declared": line, "never": "(?!)"}
        rules = {OPEN: self.policy.call_in_reasoning} if self.thinking else {OPEN: "anywhere", FN: self.policy.bare_function}
        for i in map(re.Match.start, regex(r"<|\Z").finditer(self.text, start)):
            tag = self.tags.get(i, "")
            end = i + len(tag)
            leads = tag == THINK and i == self.ws(start) and not self.calls and start <= self.began
            if i == self.size or leads or (tag == UNTHINK and self.thinking):  # `leads` the turn, or in R8 and R13
                break
            if tag in (CLOSE, UNFN, UNPARAM) and self.calls and i - start <= WINDOW and not self.text[closers:i].strip(WS):
                self.kinds[i:end] = ["stray"] * len(tag)
                self.calls[-1].note({"stray-close": True}, end)
                closers = end
            elif tag == UNTHINK:
                dropped = "stray" if self.policy.stray_think_close == "drop" else ""
                self.kinds[i:end] = ["late_think_close" if self.owed else dropped] * len(tag)
                self.turn.note({"late-think-close": self.owed, "stray-think-close": not self.owed}, end)
                self.owed = False
            elif tag in rules and self.tools != {} and regex(before[rules[tag]]).fullmatch(self.text, start, i):
                first = self.ws(end) if tag == OPEN else i
                call = self.block(first, "missing-tool-call-open" if tag == FN else "call-in-reasoning" if self.thinking else "")
                if call and (tag == OPEN or call.name in (self.tools or ())):
                    break
        text = "".join(" " if kind else char for kind, char in zip(self.kinds[start:i], self.text[start:i], strict=True))
        lead, trail = len(text) - len(text.lstrip(WS)), len(text) - len(text.rstrip(WS))
        kept = lead > WINDOW or (lead < len(text) and not self.thinking and "content" in self.kinds)
        kind = "think_body" if self.thinking else "content"
        self.emit(("ws", start if kept else start + lead), (kind, i if trail > WINDOW else i - trail), ("ws", i))
        if tag in (THINK, UNTHINK):
            unexpected = leads and not self.thinking and (start > 0 or self.start != "auto")
            self.turn.note({"repeated-think-open": leads and self.thinking, "unexpected-think-open": unexpected}, end)
            self.emit(("think_open" if leads else "think_close", end))
            self.thinking = leads
        elif tag:
            self.emit(("call_open", end if tag == OPEN else i))
            self.blocks(call, first, bare=tag == FN)
            self.owed, self.thinking = self.owed or self.thinking, False

    # ------------------------------------------------------------------------------------------------ calls (5, 10.6)
    def block(self, i: int, introduction: str) -> SpecCall | None:
        """The call that may begin at `i` in a wrapper, without a name if the input ends before it (F14, C1b)."""
        call, opener, quoted = None, self.function(i), False
        if opener and regex(r"\s{0,1024}(?:<|\Z)").match(self.text, opener.end()):
            name, quoted = clean_name(opener["name"])
            call = SpecCall(name, "xml", [(kind, opener.end(kind)) for kind in opener.re.groupindex])
        elif regex(JSON_OPENER).match(self.text, i, i + self.max_held):
            call = self.json_call(i)
        elif i <= self.size and regex(FUNCTION_CUT).match(self.text, i):
            call = SpecCall()
        if call is None or call.name is None:
            return None if self.ended else call
        call.note({introduction: introduction, "quoted-name": quoted, "foreign-dialect": call.dialect != self.dialect})
        call.note({"undeclared-tool": self.tools is not None and call.name not in self.tools})
        return call if fits(call.name, self.tools) or (self.policy.unknown_tool == "call" and not self.thinking) else None

    def function(self, i: int) -> re.Match[str] | None:
        """A `<function=NAME>` at `i` that is one."""
        found = regex(FUNCTION).match(self.text, i)
        name = clean_name(found["name"])[0] if found else ""
        return found if name and (plain(name) or fits(name, self.tools)) else None

    def blocks(self, call: SpecCall | None, first: int, bare: bool) -> None:
        """The blocks of a wrapper, or a bare call, from that at `first` on (F1, F4, F7, C4b)."""
        while call:
            self.calls.append(call)
            self.emit(("ws", first), *call.spans)
            if call.dialect == "xml":
                self.parameters(call)
            cut = call.end == ENDLESS
            call.complete &= not cut or self.policy.truncated_call == "closed"
            first = self.ws(self.place) if call.complete and not cut else self.place
            tag = CUT if cut else self.at(first, CLOSE)
            call = None if bare or tag else self.block(first, "several-calls-in-block")
        last, decided = self.calls[-1], self.size if tag else min(first, self.place + WINDOW)
        last.note({"cut-call": cut, "missing-tool-call-close": not (cut or bare or tag == CLOSE)}, decided + 1)
        last.note({"cut-tag": tag == CUT and first < self.size and last.name is not None}, decided + 1)
        self.emit(("ws", first if tag else 0))
        self.emit(("call_close" if tag == CLOSE else "junk", {CLOSE: first + len(CLOSE), CUT: self.size, "": 0}[tag]))

    def json_call(self, start: int) -> SpecCall | None:
        """The call that the object at `start` is, nameless if the input ends before the name; None: text (F12, F17–F20, C7)."""
        members, outcome, stop, behind = read_object(self.text, start)
        call, name_end, again = SpecCall(dialect="json"), 0, False
        whole = hollow = False  # there are arguments, and whole; they are a string that holds no object
        for key, begin, end, closed in members:
            first, limit = self.text[begin], begin + 1 + self.max_held
            string = json.loads(self.text[begin:end], strict=False) if first == '"' and closed else ""
            if key == '"name"' and not name_end and (closed or first != '"'):
                name_end = end if first == '"' else begin + 1
                call.name = string if 0 < len(string) <= 256 else None
                call.spans += [("json_close" if call.args else "json_open", begin), ("json_name", end)]
            elif key in ARGUMENTS and not call.args and first != "n":
                right = begin if first not in '{"' else limit if first == '"' and end - closed > limit else end
                _, held, at, _ = read_object(string, 0)
                whole = closed and right == end and (first == "{" or (held == "closed" and not string[at:].strip(" \t\n\r")))
                if right > begin:
                    call.args.append((None, self.text[begin:right], whole))
                    call.spans += [("json_open", begin), ("json_args", right)]
                    call.note({"aliased-arguments": key == '"parameters"'})
                if right < end or (hollow := closed and not whole):
                    outcome, stop, behind = "fault", right, end_of(QUOTED, self.text, begin)
                    break
            elif key == '"name"' or (key in ARGUMENTS and call.args):
                again = True
        decided = stop + (outcome == "fault" and not hollow)
        too_long = (name_end or decided) - start > self.max_held
        if call.name is None or too_long:
            self.turn.note({"window-exceeded": too_long}, start + self.max_held + 1)
            return SpecCall() if outcome == "end" and not name_end and not too_long else None
        if whole and closed and outcome != "closed" and stop == end_of(JWS, self.text, end) <= end + WINDOW:
            tag = self.at(stop, CLOSE, OPEN)  # only the last brace is missing (F12), or may be
            outcome = "end" if tag == CUT and not self.ended else "short" if tag else outcome
            decided = end_of(prefixes(CLOSE, OPEN), self.text, stop) + (tag not in (CLOSE, OPEN))
        call.end = {"closed": stop, "end": ENDLESS}.get(outcome, decided)
        call.complete = outcome in ("closed", "short") or (outcome == "end" and whole)
        call.spans += [("json_close" if call.args else "json_open", stop - (outcome == "closed")), ("json_close", stop)]
        call.note({"broken-json": again or outcome in ("fault", "short"), "missing-arguments": outcome == "closed" and not whole})
        if outcome == "fault":
            call.spans.append(("junk", self.first(max(stop, behind), lambda i: self.tags.get(i) in (CLOSE, OPEN))[0]))
        return call

    # ----------------------------------------------------------------------------------------- XML calls (5, 7, 10.4)
    def parameters(self, call: SpecCall) -> None:
        """All of a call behind `<function=NAME>`: parameters, and junk between them (F3, F22, C3)."""
        self.known, self.decided = (self.tools or {}).get(call.name or ""), 0  # its parameters; see `follower`
        tag, how, all_closed = PARAM, CLOSED, True
        while tag == PARAM and how != CUT:
            text = end_of(r"\s*", self.text, self.place)
            end, found = self.first(text, lambda i: self.at(i, PARAM, UNFN, CLOSE, OPEN, FN, BLANK_LINE))
            for i in range(self.place, end):
                self.emit(("ws" if self.text[i] in WS else "junk", i + 1))
            call.note({"malformed-parameter": end > text})
            tag = CUT if regex(PARAMETER_CUT).match(self.text, end) else found
            how = self.parameter(call) if tag == PARAM else how
            all_closed &= how in (CLOSED, MALFORMED)
        cut = CUT in (tag, how)
        closed = self.place == self.size and all_closed and (self.ended or bool(call.args))  # for `truncated_call`
        call.complete = closed if cut else tag != BLANK_LINE
        call.end = ENDLESS if cut else max(self.decided, self.place + len(tag) + (tag == BLANK_LINE))
        call.note({"missing-function-close": tag in (CLOSE, OPEN, FN)})
        self.emit(("fn_close", self.place + len(tag) if tag == UNFN else 0))

    def parameter(self, call: SpecCall) -> str:
        """A parameter tag (M1 to M6) and its value, discarded if it has no name; how that ends (7.3, M7)."""
        tag = regex(PARAMETER).match(self.text, self.place)
        written, mark = tag.groups() if tag else ("", "")
        key, quoted = clean_name(written)
        enough = any if mark == ">" else all
        named = key != "" and enough((plain(key), fits(key, self.known)))
        start = self.place + len(PARAM + written + mark) if named else end_of(f"<parameter={NAME}>?", self.text, self.place)
        self.emit(("param_open", self.place + len(PARAM)))
        if named:
            self.emit(("key", self.place + len(written)), ("param_open_end", start))
            call.note({MARKS[mark]: mark != ">", "quoted-name": quoted, "undeclared-parameter": not fits(key, self.known)})
        else:
            empty = clean_name(self.text[self.place : start].rstrip(">"))[0] == ""
            call.note({"nameless-parameter": empty, "malformed-parameter": not empty})
        given = {key if named else None, *(arg[0] for arg in call.args)}
        end, how = self.first(start, lambda i: self.value_end(i, start, given))
        if named:
            first = start + self.text.startswith("\n", start)
            last = end - (first < end < self.size and self.text[end - 1] == "\n")
            self.emit(("value_lead_nl", first), ("value", last), ("value_trail_nl", end))
            call.args.append((key, self.text[first:last], how != CUT))
            call.note({how: how in (MALFORMED, MISSING)})
        self.emit(("junk", end), ("param_close", end_of(CLOSER, self.text, end)))
        return str(how)

    def value_end(self, i: int, start: int, given: set[str | None]) -> str:
        """How the value ends at `i`, where a "<" or the end of the input is; "": it does not (7.1, 7.2, 7.4)."""
        closer = regex(CLOSER).match(self.text, i)
        if closer and (self.follower(UNPARAM, closer.end()) or (self.policy.argument_end == "first" and not closer[1])):
            return MALFORMED if closer[1] else CLOSED
        if regex(CLOSER_CUT).match(self.text, i):
            return CUT
        if self.text[start:i].rpartition("\n")[2].strip(" \t"):  # not at line start
            return ""
        parameter = regex(f"<parameter=({NAME})>").match(self.text, i)
        name = clean_name(parameter[1])[0] if parameter else ""
        tag = self.at(i, UNFN, CLOSE)
        begun = regex(PARAMETER_CUT).match(self.text, i)
        self.decided = self.follower(tag, i + len(tag)) if tag in FOLLOWERS else 0
        if tag == CUT or (self.decided > self.size and not self.ended) or (begun and self.may_grow(begun[1] or "", given)):
            return CUT
        return MISSING if self.decided or (name and name not in given and fits(name, self.known)) else ""

    def may_grow(self, begun: str, given: set[str | None]) -> bool:
        """Whether this beginning of a NAME, at the end of the input, may become one that ends the value (7.4)."""
        begun, word = begun.lstrip(" \t"), begun.strip(" \t")
        if self.known is None:
            return not begun or (plain(word) is not None and (word == begun or clean_name(word)[0] not in {"", *given}))
        forms = [form for name in self.known - given - {""} for form in (name, f'"{name}"', f"'{name}'")]
        return any(form.startswith(begun) or form == word for form in forms)

    def follower(self, tag: str, end: int) -> int:
        """Where it is decided that what must follow `tag` does, which ends at `end`; 0 if it does not (7.1, 7.2)."""
        i = self.ws(end)
        found = self.at(i, *FOLLOWERS[tag])
        if found == FN:
            function = self.function(i)
            return function.end() if function else self.size + 1 if regex(FUNCTION_CUT).match(self.text, i) else 0
        return self.size + 1 if found == CUT else i + len(found) if found else 0

    # -------------------------------------------------------------------------------------------- small questions
    def at(self, i: int, *tags: str) -> str:
        """Which of the tags stands at `i`; CUT if the input ends there or in a proper prefix of one; else ""."""
        tag, rest = self.tags.get(i, ""), self.text[i : i + len(CLOSE)]
        begun = rest and any(tag[:-1].startswith(rest) for tag in tags if tag not in self.id_tags)
        return tag if tag in tags else CUT if begun or i == self.size else ""

    def first(self, start: int, test: Callable[[int], Any]) -> tuple[int, Any]:
        """The first "<", newline or end of the input from `start` on that passes the test, and what that said."""
        places = map(re.Match.start, regex(r"[<\n]|\Z").finditer(self.text, start))
        return next((i, found) for i in places if (found := test(i)) or i == self.size)

    def ws(self, i: int) -> int:
        """The end of the WS run at `i`, behind the input if it is longer than the window."""
        run = regex(r"\s{0,1024}(?!\s)").match(self.text, i)
        return run.end() if run else self.size + 1

    def emit(self, *spans: tuple[str, int]) -> None:
        """Go on to the end of each span that is not reached already. What has a kind keeps it."""
        for kind, end in spans:
            self.kinds[self.place : end] = [old or kind for old in self.kinds[self.place : end]]
            self.place = max(self.place, end)


def parse_spec(text: str, format: str = "qwen3.5", **options: Any) -> SpecResult:
    """Parse a completion; `options` are those of `_Spec`. Positions are the completion's."""
    return _Spec(text, format, **options).result()
