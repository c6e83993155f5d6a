"""Anthropic Messages: streamed events and whole messages.

Shapes of the Messages API as the `anthropic` package 2.14 reads them. Plain dicts; the package is not imported.
"""

from __future__ import annotations

import uuid
from typing import Any, Final, Literal, TypedDict

from ..values import json_arguments
from .answer import Answer, outcome
from .pieces import CallPiece, DeltaSource, Dumps, Stream, as_bytes, compact, joined, replaced

STOP_REASONS: Final = {
    "tool_calls": "tool_use", "length": "max_tokens", "stop": "end_turn", "content_filter": "refusal",
}  # fmt: skip
"""OpenAI's finish reasons in Anthropic's words; others pass as they are."""


class Event(TypedDict, total=False):
    type: Literal[
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    ]  # fmt: skip
    message: dict[str, Any]
    index: int
    content_block: dict[str, Any]
    delta: dict[str, Any]
    usage: dict[str, int]


class Message(TypedDict):
    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]]
    stop_reason: str | None
    stop_sequence: str | None
    usage: dict[str, int]


class MessageStream(Stream):
    """Messages events, over a `DeltaParser` or an `ollama.Parser`.

    Blocks follow each other: `thinking`, `text`, `tool_use`; text that comes behind a call is a block of its own. The
    input of a call arrives as `input_json_delta` pieces that join to one JSON text, `{}` if it has no arguments. The
    stop reason is `tool_use` if a complete call exists, `max_tokens` if one was cut, else the engine's in Anthropic's
    words; `close(…, stop_sequence=)` names the stop string of the request that ended it.

    `output_tokens` may be set before `close`; it is reported in `message_delta`. Thinking blocks carry an empty
    signature: there is nothing to sign.

    >>> from qwenparse import DeltaParser
    >>> stream = MessageStream(DeltaParser("qwen3.5", start="content"), model="qwen", id="msg_1", input_tokens=9)
    >>> for event in stream.feed("Hi") + stream.close("stop"):
    ...     print(event)
    {'type': 'message_start', 'message': {'id': 'msg_1', 'type': 'message', 'role': 'assistant', 'model': 'qwen', \
'content': [], 'stop_reason': None, 'stop_sequence': None, 'usage': {'input_tokens': 9, 'output_tokens': 0}}}
    {'type': 'content_block_start', 'index': 0, 'content_block': {'type': 'text', 'text': ''}}
    {'type': 'content_block_delta', 'index': 0, 'delta': {'type': 'text_delta', 'text': 'Hi'}}
    {'type': 'content_block_stop', 'index': 0}
    {'type': 'message_delta', 'delta': {'stop_reason': 'end_turn', 'stop_sequence': None}, \
'usage': {'output_tokens': 0}}
    {'type': 'message_stop'}
    >>> stream.encode([{"type": "message_stop"}])
    b'event: message_stop\\ndata: {"type":"message_stop"}\\n\\n'
    """

    def __init__(
        self,
        parser: DeltaSource,
        *,
        model: str,
        id: str | None = None,
        input_tokens: int = 0,
        thinking: bool = True,
        dumps: Dumps = compact,
    ) -> None:
        super().__init__(parser, dumps=dumps)
        self.id = id if id is not None else "msg_" + uuid.uuid4().hex
        self.model = model
        self.input_tokens = input_tokens
        self.output_tokens = 0
        self.stop_sequence: str | None = None
        self._thinking_shown = thinking
        self._index = -1
        self._open: str | None = None

    def _begin(self, out: list[Any]) -> None:
        message = _message(self.id, self.model, [], None, None, self.input_tokens, 0)
        out.append({"type": "message_start", "message": message})

    def _block(self, kind: str, block: dict[str, Any], out: list[Any]) -> None:
        self._shut(out)
        self._index += 1
        self._open = kind
        out.append({"type": "content_block_start", "index": self._index, "content_block": block})

    def _shut(self, out: list[Any]) -> None:
        if self._open is not None:
            self._open = None
            out.append({"type": "content_block_stop", "index": self._index})

    def _delta(self, delta: dict[str, Any], out: list[Any]) -> None:
        out.append({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _reasoning(self, text: str, out: list[Any]) -> None:
        if not self._thinking_shown:
            return
        if self._open != "thinking":
            self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""}, out)
        self._delta({"type": "thinking_delta", "thinking": text}, out)

    def _content(self, text: str, out: list[Any]) -> None:
        if self._open != "text":
            self._block("text", {"type": "text", "text": ""}, out)
        self._delta({"type": "text_delta", "text": text}, out)

    def _call(self, piece: CallPiece, out: list[Any]) -> None:
        if piece.name is not None:
            self._block("tool_use", {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}, out)
        if piece.arguments:
            self._delta({"type": "input_json_delta", "partial_json": piece.arguments}, out)
        if piece.complete is not None:
            self._shut(out)

    def _end(self, outcome: str, out: list[Any]) -> None:
        self._shut(out)
        reason = _reason(outcome, self.stop_sequence)
        out.append(
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": self.stop_sequence},
                "usage": {"output_tokens": self.output_tokens},
            }
        )
        out.append({"type": "message_stop"})

    def _wire(self, item: Any) -> bytes:
        return f"event: {item['type']}\n".encode() + b"data: " + as_bytes(self.dumps(item)) + b"\n\n"


def _reason(outcome: str, stop_sequence: str | None) -> str:
    if outcome == "stop" and stop_sequence is not None:
        return "stop_sequence"
    return STOP_REASONS.get(outcome, outcome)


def _message(
    id: str, model: str, content: list[dict[str, Any]], reason: str | None, sequence: str | None, read: int,
    written: int,
) -> Message:  # fmt: skip
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


def message(
    answer: Answer,
    *,
    model: str,
    finish_reason: str | None = None,
    stop_sequence: str | None = None,
    id: str | None = None,
    input_tokens: int = 0,
    output_tokens: int = 0,
    thinking: bool = True,
) -> Message:
    """A whole message: at most one `thinking` and one `text` block, then the complete calls.

    >>> import qwenparse
    >>> message(qwenparse.parse("Hm.\\n</think>\\n\\nHi", "qwen3.5"), model="qwen")["content"]
    [{'type': 'thinking', 'thinking': 'Hm.', 'signature': ''}, {'type': 'text', 'text': 'Hi'}]
    """
    content: list[dict[str, Any]] = []
    if thinking and answer.reasoning is not None:
        content.append({"type": "thinking", "thinking": joined(answer.reasoning), "signature": ""})
    if answer.content is not None:
        content.append({"type": "text", "text": joined(answer.content)})
    for call in answer.tool_calls:
        arguments = json_arguments(replaced(call.arguments_json), True)
        content.append({"type": "tool_use", "id": call.id, "name": replaced(call.name or ""), "input": arguments})
    reason = _reason(outcome(answer, finish_reason), stop_sequence)
    return _message(
        id if id is not None else "msg_" + uuid.uuid4().hex, model, content, reason, stop_sequence, input_tokens,
        output_tokens,
    )  # fmt: skip
