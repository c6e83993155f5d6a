"""A turn: what was read of one completion, and the clean view on it.

Everything here is made from the machine's record, the list of regions and marks; no text is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import values
from ._events import Issue
from .formats import ISSUE_CODES, KINDS, UNCLEAN, Dialect, Format, Kind, Policy, Stop
from .schema import Tool, ToolSet
from .utf8 import to_bytes

if TYPE_CHECKING:
    from . import replay
    from ._core import DeltaParser, Parser

# The machine's zero-width records follow the kinds.
_CALL, _ARGUMENT, _TEXT, _ARGUMENT_END, _CALL_END, _ISSUE, _CUT = range(len(KINDS), len(KINDS) + 7)


class Span(NamedTuple):
    """A region of `Turn.raw`: half open, in code points."""

    kind: Kind
    start: int
    end: int


class ToolCall:
    """One call as the model wrote it. The three views of its arguments are made when they are first asked for."""

    __slots__ = ("__dict__", "_max_held", "_tool", "arguments_recorded", "complete", "dialect", "id", "index", "name",
                 "source_issues")  # fmt: skip

    index: int
    id: str
    name: str | None
    """None only for a call that was cut before its name was known."""
    complete: bool
    dialect: Dialect
    arguments_recorded: tuple[values.Recorded, ...]
    """(key, literal, closed) in the order written; a JSON call has one entry with the key None."""
    source_issues: tuple[Issue, ...]
    """The issues that the parser saw; `issues` adds those that belong to values."""

    def __init__(
        self,
        index: int,
        name: str | None,
        *,
        id: str = "",
        complete: bool = True,
        recorded: tuple[values.Recorded, ...] = (),
        dialect: Dialect = "xml",
        tool: Tool | None = None,
        issues: tuple[Issue, ...] = (),
        max_held: int = values.MAX_HELD,
    ) -> None:
        self.index = index
        self.id = id
        self.name = name
        self.complete = complete
        self.dialect = dialect
        self.arguments_recorded = recorded
        self.source_issues = issues
        self._tool = tool
        self._max_held = max_held

    @cached_property
    def literals(self) -> Mapping[str, str]:
        """The values as written, in order. In a JSON call the source text of the object's members."""
        return values.literals(self.arguments_recorded)

    @cached_property
    def _typed(self) -> tuple[dict[str, Any], list[str]]:
        return values.arguments(self.arguments_recorded, self._tool, max_held=self._max_held)

    @property
    def arguments(self) -> dict[str, Any]:
        """The values, typed by the tool's schema; what fits no declared type stays the literal as a string."""
        return self._typed[0]

    @cached_property
    def arguments_json(self) -> str:
        """The JSON text a client gets: valid for a complete call, as far as it was sent for any other."""
        return values.arguments_json(
            self.arguments_recorded, self._tool, complete=self.complete, max_held=self._max_held
        )

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        start = self.source_issues[0].start if self.source_issues else 0
        return self.source_issues + tuple(Issue(code, "", start, index=self.index) for code in self._typed[1])

    @property
    def clean(self) -> bool:
        """Complete, and nothing about it makes running it a guess."""
        return self.complete and not any(issue.code in UNCLEAN for issue in self.issues)

    def _compared(self) -> tuple[Any, ...]:
        return self.index, self.name, self.complete, self.dialect, self.arguments_recorded

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if isinstance(other, ToolCall) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    def __repr__(self) -> str:
        return f"ToolCall(index={self.index}, name={self.name!r}, literals={dict(self.literals)!r}, complete={self.complete})"


class Turn:
    """One completion: its exact text, the regions of it, and what a client shows and runs.

    `raw` is the text as generated, the stop text included if the model wrote one; `gen_prefix` is what the prompt had
    already written of the turn. Positions are code points of `raw`. Two turns are equal if prefix, text, regions and
    calls are; the ids of calls do not count.
    """

    raw: str
    gen_prefix: str
    closed: Stop | None
    """How the completion ended; None while it is still being read."""
    complete: bool
    """The input did not end inside reasoning, a tag or a call."""
    spans: tuple[Span, ...]
    calls: tuple[ToolCall, ...]
    """All calls in order, complete or not."""
    cut_call: ToolCall | None
    """The last call, if the input ended inside it."""
    token_ids: tuple[int, ...] | None
    """The ids that were fed, if ids were."""
    format: Format
    policy: Policy
    tools: ToolSet

    def __init__(self, parser: Parser | DeltaParser) -> None:
        """Made by `Parser.turn` and `parse`."""
        raw, records, strings, ids, incomplete = parser._recorded()
        self.raw = raw
        self.gen_prefix = parser.gen_prefix
        self.closed = parser.closed
        self.complete = parser.closed is not None and not incomplete
        self.format = parser.format
        self.policy = parser.policy
        self.tools = parser.tools
        self.settings = parser._settings()
        self.origin = parser._origin()
        self.token_ids = None if ids is None else tuple(ids)
        self._read(records, strings, parser.max_held)

    def _read(self, records: list[tuple[int, int, int, int]], strings: list[Any], max_held: int) -> None:
        spans: list[Span] = []
        issues: list[Issue] = []
        issues_of: dict[int | None, list[Issue]] = {}
        calls: list[dict[str, Any]] = []
        cut: int | None = None
        for kind, aux, start, end in records:
            if kind < _CALL:
                if spans and spans[-1].kind == KINDS[kind] and spans[-1].end == start:
                    spans[-1] = spans[-1]._replace(end=end)
                else:
                    spans.append(Span(cast(Kind, KINDS[kind]), start, end))
                if KINDS[kind] in ("value", "json_args"):
                    calls[-1]["recorded"][-1][1].append(self.raw[start:end])
            elif kind == _CALL:
                name, call_id = strings[aux]
                calls.append({"name": name, "id": call_id, "complete": False, "recorded": []})
            elif kind == _ARGUMENT:
                calls[-1]["recorded"].append([strings[aux], [], False])
            elif kind == _TEXT:
                calls[-1]["recorded"][-1][1].append(strings[aux])
            elif kind == _ARGUMENT_END:
                calls[-1]["recorded"][-1][2] = bool(aux)
            elif kind == _CALL_END:
                calls[-1]["complete"] = bool(aux)
            elif kind == _ISSUE:
                text = strings[(aux >> 8) - 1] if aux >> 8 else ""
                issue = Issue(ISSUE_CODES[aux & 255], text, start, index=end if end >= 0 else None)
                issues.append(issue)
                issues_of.setdefault(issue.index, []).append(issue)
            elif kind == _CUT:
                cut = aux
        self.spans = tuple(spans)
        self._issues = tuple(issues)
        self.calls = tuple(
            ToolCall(
                index,
                call["name"],
                id=call["id"],
                complete=call["complete"],
                recorded=tuple((key, "".join(parts), closed) for key, parts, closed in call["recorded"]),
                dialect=self._dialect(issues_of.get(index, ())),
                tool=self.tools.get(call["name"]),
                issues=tuple(issues_of.get(index, ())),
                max_held=max_held,
            )
            for index, call in enumerate(calls)
        )
        self.cut_call = None
        if cut == 1:
            self.cut_call = ToolCall(len(self.calls), None, complete=False, dialect=self.format.dialect)
        elif cut == 0:
            self.cut_call = self.calls[-1]

    def _dialect(self, issues: Iterable[Issue]) -> Dialect:
        # Not read from the arguments: a call of either dialect may have none.
        if any(issue.code == "foreign-dialect" for issue in issues):
            return "json" if self.format.dialect == "xml" else "xml"
        return self.format.dialect

    def _joined(self, kind: Kind) -> str | None:
        return "".join(self.raw[s.start : s.end] for s in self.spans if s.kind == kind) or None

    @cached_property
    def reasoning(self) -> str | None:
        """The thought, without the whitespace around it."""
        return self._joined("think_body")

    @cached_property
    def content(self) -> str | None:
        """The answer, without the whitespace around it and in front of calls."""
        return self._joined("content")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The complete calls."""
        return tuple(call for call in self.calls if call.complete)

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """What is unusual about the text, in the order it was seen; then what is unusual about values."""
        return self._issues + tuple(i for call in self.calls for i in call.issues[len(call.source_issues) :])

    @cached_property
    def raw_bytes(self) -> bytes:
        """`raw` as the bytes it was: UTF-8, undecodable bytes as themselves."""
        return to_bytes(self.raw)

    def byte_offset(self, position: int, /) -> int:
        """The offset in `raw_bytes` of a position in `raw`. Linear in the position."""
        if not 0 <= position <= len(self.raw):
            raise ValueError(f"position {position} is outside the turn of {len(self.raw)} code points")
        return len(to_bytes(self.raw[:position]))

    def message(self) -> dict[str, Any]:
        """The turn as an OpenAI-style message: role, content, and if there are any reasoning_content and tool_calls."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments_json}}
                for c in self.tool_calls
            ]
        return message

    def digest(self) -> str:
        """32 hexadecimal digits: a hash of content, names and arguments, whatever a client does to their spelling.

        Equal to `qwenparse.digest` of the messages that a client makes of the turn. Of a continued turn it is that of
        the joined text.
        """
        return self._digests[0]

    def reasoning_digest(self) -> str:
        """The same of the reasoning, which is not in `digest`: many clients drop it."""
        return self._digests[1]

    @cached_property
    def _digests(self) -> tuple[str, str]:
        from . import replay

        return replay.turn_digests(self)

    def to_blob(self, *, key: replay.Keys = None) -> bytes:
        """The turn as bytes, for a store or an opaque field that a client sends back; see `replay.dump_turn`."""
        from . import replay

        return replay.dump_turn(self, key)

    @classmethod
    def from_blob(cls, blob: bytes, /, *, key: replay.Keys = None) -> Turn:
        """The turn of such bytes, read again. Raises `ReplayError` for a blob that fails its checks."""
        from . import replay

        return replay.load_turn(blob, key)

    def _compared(self) -> tuple[Any, ...]:
        return self.gen_prefix, self.raw, self.closed, self.spans, self.calls

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if isinstance(other, Turn) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.gen_prefix, self.raw, self.closed))

    def __repr__(self) -> str:
        return f"Turn(reasoning={self.reasoning!r}, content={self.content!r}, calls={self.calls!r}, closed={self.closed!r})"


def render(turn: Turn) -> str:
    """The exact text of the turn: its regions joined. `render(parse(x)) == x`."""
    return "".join(turn.raw[s.start : s.end] for s in turn.spans)
