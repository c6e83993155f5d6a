"""OpenAI Responses: streamed events and whole responses.

Shapes of the Responses API as the `openai` package 3.57 reads them. Plain dicts; the package is not imported.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from .answer import Answer, outcome
from .pieces import CallPiece, DeltaSource, Dumps, Stream, as_bytes, compact, joined, replaced


class Event(TypedDict, total=False):
    type: str
    sequence_number: int
    response: dict[str, Any]
    output_index: int
    content_index: int
    item_id: str
    item: dict[str, Any]
    part: dict[str, Any]
    delta: str
    text: str
    arguments: str
    name: str
    logprobs: list[Any]


class Response(TypedDict, total=False):
    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["in_progress", "completed", "incomplete"]
    error: None
    incomplete_details: dict[str, str] | None
    model: str
    output: list[dict[str, Any]]
    parallel_tool_calls: bool
    tool_choice: Any
    tools: Sequence[Any]
    usage: dict[str, Any] | None


class ResponseStream(Stream):
    """Responses events, over a `DeltaParser` or an `ollama.Parser`.

    Items follow each other: a reasoning item, messages, function calls; text that comes behind a call is a message item
    of its own. A function call's argument deltas join to one JSON text, `{}` if it has no arguments. A call that stays
    incomplete ends with status `incomplete` and is not in the final response's `output`. The final event is
    `response.incomplete` if the engine cut the turn or a call was cut (reason `max_output_tokens`, or
    `content_filter`), else `response.completed`.

    `request`: fields of the request that the response object repeats (`tools`, `tool_choice`, `temperature`, …).
    `usage` may be set before `close`. Item ids are made from the response's id.

    >>> from qwenparse import DeltaParser
    >>> stream = ResponseStream(DeltaParser("qwen3.5", start="content"), model="qwen", id="resp_1", created_at=0)
    >>> events = stream.feed("Hi") + stream.close("stop")
    >>> [event["type"] for event in events]  # doctest: +NORMALIZE_WHITESPACE
    ['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added',
     'response.output_text.delta', 'response.output_text.done', 'response.content_part.done',
     'response.output_item.done', 'response.completed']
    >>> events[4]
    {'type': 'response.output_text.delta', 'sequence_number': 4, 'item_id': 'msg_resp_1_0', 'output_index': 0, \
'content_index': 0, 'delta': 'Hi', 'logprobs': []}
    """

    def __init__(
        self,
        parser: DeltaSource,
        *,
        model: str,
        id: str | None = None,
        created_at: int | None = None,
        reasoning: bool = True,
        request: Mapping[str, Any] | None = None,
        dumps: Dumps = compact,
    ) -> None:
        super().__init__(parser, dumps=dumps)
        self.id = id if id is not None else "resp_" + uuid.uuid4().hex
        self.created_at = created_at if created_at is not None else int(time.time())
        self.model = model
        self.usage: dict[str, Any] | None = None
        self._request = dict(request or {})
        self._reasoning_shown = reasoning
        self._sequence = 0
        self._index = -1
        self._item: dict[str, Any] | None = None
        self._kind: str | None = None
        self._item_id = ""
        self._texts: list[str] = []
        self._output: list[dict[str, Any]] = []

    def _event(self, type: str, out: list[Any], **fields: Any) -> None:
        out.append({"type": type, "sequence_number": self._sequence, **fields})
        self._sequence += 1

    def _response(self, status: str, details: dict[str, str] | None = None) -> Response:
        return _response(
            self.id, self.created_at, self.model, status, details, list(self._output), self._request, self.usage
        )

    def _begin(self, out: list[Any]) -> None:
        self._event("response.created", out, response=self._response("in_progress"))
        self._event("response.in_progress", out, response=self._response("in_progress"))

    def _open(self, item: dict[str, Any], part: dict[str, Any] | None, out: list[Any]) -> None:
        self._shut(out)
        self._index += 1
        self._item = item
        self._texts = []
        self._kind = item["type"]
        self._item_id = item["id"] = f"{item['id']}_{self.id}_{self._index}"
        shown = {**item, "content": []} if "content" in item else dict(item)
        self._event("response.output_item.added", out, output_index=self._index, item=shown)
        if part is not None:
            self._event("response.content_part.added", out, **self._place(), part=part)

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item_id, "output_index": self._index, "content_index": 0}

    def _shut(self, out: list[Any], complete: bool = True) -> None:
        """Ends the open item. `complete` matters to calls only."""
        item = self._item
        if item is None:
            return
        text = "".join(self._texts)
        item["status"] = "completed" if complete else "incomplete"
        if item["type"] == "function_call":
            item["arguments"] = text
            if complete:
                place = self._place()
                del place["content_index"]
                self._event(
                    "response.function_call_arguments.done", out, **place, name=item["name"], arguments=text
                )
        elif item["type"] == "message":
            part = _text_part(text)
            item["content"] = [part]
            self._event("response.output_text.done", out, **self._place(), text=text, logprobs=[])
            self._event("response.content_part.done", out, **self._place(), part=part)
        else:
            part = {"type": "reasoning_text", "text": text}
            item["content"] = [part]
            self._event("response.reasoning_text.done", out, **self._place(), text=text)
            self._event("response.content_part.done", out, **self._place(), part=part)
        self._event("response.output_item.done", out, output_index=self._index, item=item)
        self._item = self._kind = None
        if complete:
            self._output.append(item)

    def _reasoning(self, text: str, out: list[Any]) -> None:
        if not self._reasoning_shown:
            return
        if self._kind != "reasoning":
            self._open(_reasoning_item("rs", ""), {"type": "reasoning_text", "text": ""}, out)
        self._texts.append(text)
        out.append(
            {
                "type": "response.reasoning_text.delta", "sequence_number": self._sequence, "item_id": self._item_id,
                "output_index": self._index, "content_index": 0, "delta": text,
            }
        )  # fmt: skip
        self._sequence += 1

    def _content(self, text: str, out: list[Any]) -> None:
        if self._kind != "message":
            self._open(_message_item("msg", ""), _text_part(""), out)
        self._texts.append(text)
        out.append(
            {
                "type": "response.output_text.delta", "sequence_number": self._sequence, "item_id": self._item_id,
                "output_index": self._index, "content_index": 0, "delta": text, "logprobs": [],
            }
        )  # fmt: skip
        self._sequence += 1

    def _call(self, piece: CallPiece, out: list[Any]) -> None:
        if piece.name is not None:
            self._open(_call_item("fc", piece.id or "", piece.name, "", "in_progress"), None, out)
        if text := piece.arguments:
            self._texts.append(text)
            out.append(
                {
                    "type": "response.function_call_arguments.delta", "sequence_number": self._sequence,
                    "item_id": self._item_id, "output_index": self._index, "delta": text,
                }
            )  # fmt: skip
            self._sequence += 1
        if piece.complete is not None:
            self._shut(out, piece.complete)

    def _end(self, outcome: str, out: list[Any]) -> None:
        self._shut(out, self._kind != "function_call")
        status, details = _status(outcome, self.cut)
        self._event(f"response.{status}", out, response=self._response(status, details))

    def _wire(self, item: Any) -> bytes:
        return f"event: {item['type']}\n".encode() + b"data: " + as_bytes(self.dumps(item)) + b"\n\n"


def _status(outcome: str, cut: bool) -> tuple[str, dict[str, str] | None]:
    if cut or outcome == "length":
        return "incomplete", {"reason": "max_output_tokens"}
    if outcome == "content_filter":
        return "incomplete", {"reason": "content_filter"}
    return "completed", None


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message_item(id: str, text: str) -> dict[str, Any]:
    content = [_text_part(text)] if text else []
    return {"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": content}


def _reasoning_item(id: str, text: str) -> dict[str, Any]:
    content = [{"type": "reasoning_text", "text": text}] if text else []
    return {"id": id, "type": "reasoning", "summary": [], "status": "in_progress", "content": content}


def _call_item(id: str, call_id: str, name: str, arguments: str, status: str) -> dict[str, Any]:
    return {
        "id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, "status": status,
    }  # fmt: skip


def _response(
    id: str, created_at: int, model: str, status: str, details: dict[str, str] | None, output: list[dict[str, Any]],
    request: Mapping[str, Any], usage: dict[str, Any] | None,
) -> Response:  # fmt: skip
    made: Any = {
        "id": id,
        "object": "response",
        "created_at": created_at,
        "status": status,
        "error": None,
        "incomplete_details": details,
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
        **request,
    }
    response: Response = made
    return response


def response(
    answer: Answer,
    *,
    model: str,
    finish_reason: str | None = None,
    id: str | None = None,
    created_at: int | None = None,
    reasoning: bool = True,
    request: Mapping[str, Any] | None = None,
    usage: dict[str, Any] | None = None,
) -> Response:
    """A whole response: at most one reasoning and one message item, then the complete calls.

    >>> import qwenparse
    >>> turn = qwenparse.parse("Hm.\\n</think>\\n\\nHi", "qwen3.5")
    >>> [item["type"] for item in response(turn, model="qwen")["output"]]
    ['reasoning', 'message']
    """
    id = id if id is not None else "resp_" + uuid.uuid4().hex
    output: list[dict[str, Any]] = []
    if reasoning and answer.reasoning is not None:
        output.append(_reasoning_item("rs", joined(answer.reasoning)))
    if answer.content is not None:
        output.append(_message_item("msg", joined(answer.content)))
    for call in answer.tool_calls:
        output.append(_call_item("fc", call.id, replaced(call.name or ""), replaced(call.arguments_json), ""))
    for place, item in enumerate(output):
        item["id"] = f"{item['id']}_{id}_{place}"
        item["status"] = "completed"
    status, details = _status(outcome(answer, finish_reason), answer.cut_call is not None)
    created = created_at if created_at is not None else int(time.time())
    return _response(id, created, model, status, details, output, request or {}, usage)
