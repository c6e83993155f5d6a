"""OpenAI Chat Completions: streamed chunks and whole messages.

Shapes of the OpenAI API as the `openai` package 3.57 reads them, with the reasoning field that servers of open models
added. Plain dicts; the package is not imported.
"""

from __future__ import annotations

import time
import uuid
from typing import Any, Final, Literal, TypedDict

from .answer import Answer, outcome
from .pieces import REASONING_FIELDS, CallPiece, DeltaSource, Dumps, ReasoningField, Stream, compact, joined, replaced

DONE: Final = b"data: [DONE]\n\n"
"""The last line of an event stream."""


class FunctionDelta(TypedDict, total=False):
    name: str
    arguments: str


class ToolCallDelta(TypedDict, total=False):
    index: int
    id: str
    type: Literal["function"]
    function: FunctionDelta


class ChoiceDelta(TypedDict, total=False):
    role: Literal["assistant"]
    content: str | None
    reasoning_content: str
    reasoning: str
    tool_calls: list[ToolCallDelta]


class ChunkChoice(TypedDict):
    index: int
    delta: ChoiceDelta
    finish_reason: str | None


class Usage(TypedDict, total=False):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]
    completion_tokens_details: dict[str, int]


class Chunk(TypedDict, total=False):
    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChunkChoice]
    system_fingerprint: str
    usage: Usage | None


class Message(TypedDict, total=False):
    role: Literal["assistant"]
    content: str | None
    reasoning_content: str
    reasoning: str
    tool_calls: list[dict[str, Any]]


def usage(
    prompt_tokens: int, completion_tokens: int, *, cached_tokens: int | None = None, reasoning_tokens: int | None = None
) -> Usage:
    """The usage object; the details only if they are known."""
    counted: Usage = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    if cached_tokens is not None:
        counted["prompt_tokens_details"] = {"cached_tokens": cached_tokens}
    if reasoning_tokens is not None:
        counted["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
    return counted


class ChatCompletionStream(Stream):
    """`chat.completion.chunk` dicts of one choice, over a `DeltaParser` or an `ollama.Parser`.

    The first chunk holds the role. A call's first delta holds index, id, type and name; later ones index and arguments.
    The arguments of a call join to one JSON text, `{}` if it has none; those of a call that was cut stay open. The last
    chunk of the choice has an empty delta and the finish reason (`outcome`). Deltas are never empty otherwise, and a
    piece that is still undecided gives no chunk.

    `id`, `created`: made here if not given. `reasoning`: the field, or fields, of thoughts. `index`: of the choice
    (several choices: several streams, one id). `include_usage`: each chunk has `"usage": None`, as OpenAI's have where
    `usage_chunk` ends the stream. `dumps`: the encoder of `encode`.

    >>> from qwenparse import DeltaParser
    >>> parser = DeltaParser("qwen3.5", id_factory=lambda: "call_1", tools=[{"name": "sh", "parameters": {
    ...     "properties": {"cmd": {"type": "string"}}}}])
    >>> stream = ChatCompletionStream(parser, model="qwen3.6-27b", id="chatcmpl-1", created=1700000000)
    >>> pieces = ["I list", " them.\\n</think>\\n\\nHere:\\n\\n<tool_call>\\n<function=sh>\\n<parameter=cmd>\\nls ",
    ...           "-l\\n</parameter>\\n</function>\\n</tool_call>"]
    >>> chunks = [chunk for piece in pieces for chunk in stream.feed(piece)] + stream.close("stop")
    >>> for chunk in chunks:
    ...     print(chunk["choices"][0])
    {'index': 0, 'delta': {'role': 'assistant', 'content': None}, 'finish_reason': None}
    {'index': 0, 'delta': {'reasoning_content': 'I list'}, 'finish_reason': None}
    {'index': 0, 'delta': {'reasoning_content': ' them.'}, 'finish_reason': None}
    {'index': 0, 'delta': {'content': 'Here:'}, 'finish_reason': None}
    {'index': 0, 'delta': {'tool_calls': [{'index': 0, 'id': 'call_1', 'type': 'function', 'function': {'name': 'sh', \
'arguments': '{"cmd": "ls '}}]}, 'finish_reason': None}
    {'index': 0, 'delta': {'tool_calls': [{'index': 0, 'function': {'arguments': '-l"}'}}]}, 'finish_reason': None}
    {'index': 0, 'delta': {}, 'finish_reason': 'tool_calls'}
    >>> chunks[1]
    {'id': 'chatcmpl-1', 'object': 'chat.completion.chunk', 'created': 1700000000, 'model': 'qwen3.6-27b', \
'choices': [{'index': 0, 'delta': {'reasoning_content': 'I list'}, 'finish_reason': None}]}
    >>> stream.usage_chunk(20, 31)
    {'id': 'chatcmpl-1', 'object': 'chat.completion.chunk', 'created': 1700000000, 'model': 'qwen3.6-27b', \
'choices': [], 'usage': {'prompt_tokens': 20, 'completion_tokens': 31, 'total_tokens': 51}}
    >>> stream.encode(chunks[-1:]) + DONE
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"qwen3.6-27b",\
"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\\n\\ndata: [DONE]\\n\\n'
    """

    def __init__(
        self,
        parser: DeltaSource,
        *,
        model: str,
        id: str | None = None,
        created: int | None = None,
        reasoning: ReasoningField = "reasoning_content",
        index: int = 0,
        system_fingerprint: str | None = None,
        include_usage: bool = False,
        dumps: Dumps = compact,
    ) -> None:
        super().__init__(parser, dumps=dumps)
        self.id = id if id is not None else "chatcmpl-" + uuid.uuid4().hex
        self.created = created if created is not None else int(time.time())
        self.model = model
        self.index = index
        self._fields = _fields(reasoning)
        self._extra: dict[str, Any] = {}
        if system_fingerprint is not None:
            self._extra["system_fingerprint"] = system_fingerprint
        if include_usage:
            self._extra["usage"] = None

    def _chunk(self, delta: Any, finish_reason: str | None = None) -> Any:
        chunk = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": self.index, "delta": delta, "finish_reason": finish_reason}],
        }
        if self._extra:
            chunk.update(self._extra)
        return chunk

    def usage_chunk(
        self, prompt_tokens: int, completion_tokens: int, *, cached_tokens: int | None = None,
        reasoning_tokens: int | None = None,
    ) -> Chunk:  # fmt: skip
        """The chunk without choices that ends a stream with `stream_options: {"include_usage": true}`."""
        chunk: Chunk = self._chunk({})
        chunk["choices"] = []
        chunk["usage"] = usage(
            prompt_tokens, completion_tokens, cached_tokens=cached_tokens, reasoning_tokens=reasoning_tokens
        )
        return chunk

    def _begin(self, out: list[Any]) -> None:
        out.append(self._chunk({"role": "assistant", "content": None}))

    def _reasoning(self, text: str, out: list[Any]) -> None:
        if self._fields:
            out.append(self._chunk(dict.fromkeys(self._fields, text)))

    def _content(self, text: str, out: list[Any]) -> None:
        out.append(self._chunk({"content": text}))

    def _call(self, piece: CallPiece, out: list[Any]) -> None:
        if piece.name is not None:
            function = {"name": piece.name, "arguments": piece.arguments}
            call = {"index": piece.index, "id": piece.id, "type": "function", "function": function}
        elif piece.arguments:
            call = {"index": piece.index, "function": {"arguments": piece.arguments}}
        else:
            return
        out.append(self._chunk({"tool_calls": [call]}))

    def _end(self, outcome: str, out: list[Any]) -> None:
        out.append(self._chunk({}, outcome))


def _fields(reasoning: str) -> tuple[str, ...]:
    try:
        return REASONING_FIELDS[reasoning]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, REASONING_FIELDS))
        raise ValueError(f"reasoning={reasoning!r}: it takes {known}") from None


def message(answer: Answer, *, reasoning: ReasoningField = "reasoning_content") -> Message:
    """The non-streamed message: `Turn.message()` with the reasoning field asked for and encodable text.

    >>> import qwenparse
    >>> message(qwenparse.parse("Hm.\\n</think>\\n\\nHi", "qwen3.5"), reasoning="reasoning")
    {'role': 'assistant', 'content': 'Hi', 'reasoning': 'Hm.'}
    """
    made: Any = {"role": "assistant", "content": None if answer.content is None else joined(answer.content)}
    if answer.reasoning is not None:
        made.update(dict.fromkeys(_fields(reasoning), joined(answer.reasoning)))
    if answer.tool_calls:
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": replaced(call.name or ""), "arguments": replaced(call.arguments_json)},
            }
            for call in answer.tool_calls
        ]
    result: Message = made
    return result


def completion(
    answer: Answer,
    *,
    model: str,
    finish_reason: str | None = None,
    id: str | None = None,
    created: int | None = None,
    reasoning: ReasoningField = "reasoning_content",
    usage: Usage | None = None,
) -> dict[str, Any]:
    """A whole `chat.completion` with one choice; `finish_reason` is the engine's, by the rule of the stream."""
    made: dict[str, Any] = {
        "id": id if id is not None else "chatcmpl-" + uuid.uuid4().hex,
        "object": "chat.completion",
        "created": created if created is not None else int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message(answer, reasoning=reasoning),
                "finish_reason": outcome(answer, finish_reason),
            }
        ],
    }
    if usage is not None:
        made["usage"] = usage
    return made
