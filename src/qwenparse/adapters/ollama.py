"""Ollama's `/api/chat`: streamed lines and the one line without streaming.

Shapes of Ollama's API (fields of its Go types at commit fb3076099) as the `ollama` package 0.6 reads them. Calls come
whole there. Plain dicts; the package is not imported.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Literal, TypedDict

from ..values import json_arguments
from .answer import Answer, outcome
from .pieces import CallPiece, DeltaSource, Dumps, Stream, as_bytes, compact, joined, replaced


class CallFunction(TypedDict):
    index: int
    name: str
    arguments: dict[str, Any]


class ToolCall(TypedDict):
    id: str
    function: CallFunction


class Message(TypedDict, total=False):
    role: Literal["assistant"]
    content: str
    thinking: str
    tool_calls: list[ToolCall]


class Line(TypedDict, total=False):
    model: str
    created_at: str
    message: Message
    done: bool
    done_reason: str
    total_duration: int
    load_duration: int
    prompt_eval_count: int
    prompt_eval_duration: int
    eval_count: int
    eval_duration: int


class ChatStream(Stream):
    """`/api/chat` lines, over a `DeltaParser` or an `ollama.Parser`.

    Each line holds a piece of content, a piece of thinking, or one whole call; a call that was cut is never sent. The
    last line has `done` and `done_reason`: `stop`, or `length` if the engine said so or a call was cut (Ollama has no
    reason for calls). `stats` may be set before `close`: the counts and durations (ns) of the last line.

    `created_at` is the RFC 3339 time of every line, now if not given.

    >>> from qwenparse import DeltaParser
    >>> stream = ChatStream(DeltaParser("qwen3.5", id_factory=lambda: "call_1"), model="qwen3.6", created_at="T")
    >>> text = "Hm.\\n</think>\\n\\n<tool_call>\\n<function=now>\\n</function>\\n</tool_call>"
    >>> for line in stream.feed(text) + stream.close("stop"):
    ...     print(line)
    {'model': 'qwen3.6', 'created_at': 'T', 'message': {'role': 'assistant', 'content': '', 'thinking': 'Hm.'}, \
'done': False}
    {'model': 'qwen3.6', 'created_at': 'T', 'message': {'role': 'assistant', 'content': '', 'tool_calls': \
[{'id': 'call_1', 'function': {'index': 0, 'name': 'now', 'arguments': {}}}]}, 'done': False}
    {'model': 'qwen3.6', 'created_at': 'T', 'message': {'role': 'assistant', 'content': ''}, 'done': True, \
'done_reason': 'stop'}
    """

    def __init__(
        self, parser: DeltaSource, *, model: str, created_at: str | None = None, dumps: Dumps = compact
    ) -> None:
        super().__init__(parser, dumps=dumps)
        self.model = model
        self.created_at = created_at
        self.stats: dict[str, int] = {}
        self._given: tuple[str, str] = "", ""
        self._arguments: list[str] = []

    def _line(self, content: str, done: bool = False, **fields: Any) -> Any:
        return {
            "model": self.model,
            "created_at": self.created_at or _now(),
            "message": {"role": "assistant", "content": content, **fields},
            "done": done,
        }

    def _begin(self, out: list[Any]) -> None:
        pass

    def _reasoning(self, text: str, out: list[Any]) -> None:
        out.append(self._line("", thinking=text))

    def _content(self, text: str, out: list[Any]) -> None:
        out.append(self._line(text))

    def _call(self, piece: CallPiece, out: list[Any]) -> None:
        if piece.name is not None:
            self._given = piece.id or "", piece.name
            self._arguments = []
        self._arguments.append(piece.arguments)
        if piece.complete:
            call = _tool_call(piece.index, *self._given, "".join(self._arguments))
            out.append(self._line("", tool_calls=[call]))

    def _end(self, outcome: str, out: list[Any]) -> None:
        line = self._line("", True)
        line["done_reason"] = _done_reason(outcome, self.cut)
        line.update(self.stats)
        out.append(line)

    def _wire(self, item: Any) -> bytes:
        return as_bytes(self.dumps(item)) + b"\n"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def _done_reason(outcome: str, cut: bool) -> str:
    if cut:
        return "length"
    return "stop" if outcome == "tool_calls" else outcome


def _tool_call(index: int, id: str, name: str, arguments: str) -> ToolCall:
    return {"id": id, "function": {"index": index, "name": name, "arguments": json_arguments(arguments, True)}}


def message(answer: Answer) -> Message:
    """The whole message.

    >>> import qwenparse
    >>> message(qwenparse.parse("Hm.\\n</think>\\n\\nHi", "qwen3.5"))
    {'role': 'assistant', 'content': 'Hi', 'thinking': 'Hm.'}
    """
    made: Message = {"role": "assistant", "content": joined(answer.content or "")}
    if answer.reasoning is not None:
        made["thinking"] = joined(answer.reasoning)
    if answer.tool_calls:
        made["tool_calls"] = [
            _tool_call(call.index, call.id, replaced(call.name or ""), replaced(call.arguments_json))
            for call in answer.tool_calls
        ]
    return made


def response(
    answer: Answer, *, model: str, finish_reason: str | None = None, created_at: str | None = None, **stats: int
) -> Line:
    """The one line of a request without streaming; `stats` as in `ChatStream`."""
    made: Any = {
        "model": model,
        "created_at": created_at or _now(),
        "message": message(answer),
        "done": True,
        "done_reason": _done_reason(outcome(answer, finish_reason), answer.cut_call is not None),
        **stats,
    }
    line: Line = made
    return line
