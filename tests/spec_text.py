"""What the parts of the executable specification share: the text, its tags and windows, the tools, and the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qwenparse.formats import Policy

WINDOW = 1024
THINK, UNTHINK, OPEN, CLOSE = "<think>", "</think>", "<tool_call>", "</tool_call>"
FN, UNFN, PARAM, UNPARAM = "<function=", "</function>", "<parameter=", "</parameter>"
WS = re.compile(r"[ \t\n\r\v\f]{0,1025}")
WS_OR_NOT = re.compile(r"[ \t\n\r\v\f]+|[^ \t\n\r\v\f]+")
NON_WS = re.compile(r"[^ \t\n\r\v\f]")
WS_CHARS = " \t\n\r\v\f"
TAG_OR_NEWLINE = re.compile(r"[<\n]")
NAME_RUN = re.compile(r"[^<>\r\n]{0,256}")


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


class Reader:
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
        self.whole, self.left, self.decided = True, False, 0
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

    def end_cut_call(self, closed: bool) -> int:
        """The input ended inside the call; policy `truncated_call` may count it as complete all the same."""
        self.calls[-1].complete = closed and self.policy.truncated_call == "closed"
        self.whole = False
        self.call_issue("cut-call", self.n)
        return -1
