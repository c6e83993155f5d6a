"""mlx-lm (0.32): a tool parser module, and its server with this parser in place of its loop.

**The server.** `python -m qwenparse.adapters.mlx_lm` takes the options of `mlx_lm.server`. mlx-lm splits a lossy stream
of text at the tags and hands whole calls to a parser; here the loop of chat requests reads token ids: arguments stream,
tags inside values and thoughts are text, a cut character is not lost. Everything else is mlx-lm's: requests, sampling,
caches, batches, `/v1/completions`, requests with logprobs, models that are no Qwen. `install()` does the same in a
program of yours that starts the server.

**The tool parser** alone, inside mlx-lm's own loop: `register()`, and `"tool_parser_type": "qwenparse"` in the
tokenizer's configuration, or `TokenizerWrapper(…, tool_parser=parse_tool_call, tool_call_start=…, tool_call_end=…)`. It
sees what lies between the tags: it cannot stream, and a `</tool_call>` in a value ends the call before it gets there.
"""

from __future__ import annotations

import importlib
import json
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from .. import _core
from .._core import DeltaParser
from ..formats import Policy, Stop
from ..tokens import TokenTable
from . import openai
from .openai import DONE, ChatCompletionStream
from .pieces import ReasoningField

FORMAT: Final = "qwen3.5"
POLICY = Policy()
REASONING: ReasoningField = "reasoning"
"""The field of thoughts; mlx-lm's own."""

# The protocol of `mlx_lm.tool_parsers`: these three names.
tool_call_start = "<tool_call>"
tool_call_end = "</tool_call>"


def parse_tool_call(text: str, tools: Sequence[Any] | None = None) -> dict[str, Any] | list[dict[str, Any]]:
    """The call between the tags, `name`, `arguments` and `id`; several as a list.

    Raises `ValueError` where no complete call can be read, as mlx-lm expects; it drops the text then. mlx-lm also hands
    over what a length limit has cut, without saying so: a call must have its own end (`</function>` behind a closed
    parameter, or the last brace) to count.

    >>> parse_tool_call("\\n<function=sh>\\n<parameter=cmd>\\nls\\n</parameter>\\n</function>\\n")["arguments"]
    {'cmd': 'ls'}
    """
    turn = _core.parse(tool_call_start + text, FORMAT, tools=tools or None, start="content", policy=POLICY)
    calls = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in turn.tool_calls]
    if not calls:
        raise ValueError("no complete tool call between the tags")
    return calls[0] if len(calls) == 1 else calls


def register(name: str = "qwenparse") -> None:
    """Makes this module `mlx_lm.tool_parsers.NAME`, where mlx-lm looks for a `tool_parser_type`."""
    sys.modules[f"mlx_lm.tool_parsers.{name}"] = sys.modules[__name__]


_tables: weakref.WeakKeyDictionary[Any, TokenTable] = weakref.WeakKeyDictionary()


def token_table(tokenizer: Any) -> TokenTable | None:
    """The table of mlx-lm's tokenizer, made once; None if it is no Qwen vocabulary."""
    found = _tables.get(tokenizer)
    if found is None:
        try:
            found = TokenTable.from_tokenizer(tokenizer)
        except (TypeError, ValueError):
            return None
        _tables[tokenizer] = found
    return found if found.stop_ids and found.tag_ids else None


class Generated:
    """Feeds a parser what mlx-lm's generation yields: ids, or text where the request has stop strings.

    mlx-lm finds stop strings by their tokens and then cuts their text off, which its `TextStateMachine` does here too;
    their ids would be part of the answer.
    """

    def __init__(self, table: TokenTable, prompt: Sequence[int], stop_words: Sequence[str], **settings: Any) -> None:
        self.parser = DeltaParser.for_prompt(prompt, tokens=table, policy=POLICY, **settings)
        self.table = table
        self.finish_reason = "stop"
        self.stop: Stop = "none"
        self.tokens = 0
        self._machine: Any = None
        if stop_words:
            self._machine = importlib.import_module("mlx_lm.generate").TextStateMachine
            edges = [(word, "normal") for word in stop_words]
            self._state = self._machine({"normal": edges}).make_state("normal")

    def data(self, response: Any) -> Any:
        """What one `Response` of mlx-lm's adds: ids, text, or None."""
        self.tokens += 1
        reason = response.finish_reason
        if reason is not None:
            self.finish_reason = reason
            if reason == "stop" and response.token in self.table.stop_ids:
                self.stop = "im_end" if self.table.stop_ids[response.token] == "<|im_end|>" else "other_stop"
                return None
        if self._machine is None:
            return (response.token,)
        if reason == "stop":
            return None
        self._state, segments = self._machine.split(self._state, response.text)
        text = "".join(part for _, part in segments)
        if reason == "length":
            self._state, rest, _ = self._machine.flush(self._state)
            text += rest
        return text


class _Asked(BaseException):
    """Carries the arguments of a generation out of mlx-lm's handler; no `Exception`, which that would catch."""


class _InPlace:
    """Stands in for the response generator for one call of `generate`: that raises or returns `given`."""

    def __init__(self, generator: Any, given: Any = None) -> None:
        self._generator = generator
        self._given = given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def generate(self, request: Any, generation_args: Any, progress_callback: Any = None) -> Any:
        if self._given is None:
            raise _Asked(generation_args, progress_callback)
        return self._given


def install() -> None:
    """Replaces the loop of chat requests in `mlx_lm.server`. May be called again."""
    handler: Any = importlib.import_module("mlx_lm.server").APIHandler
    original = handler.handle_completion
    if not hasattr(original, "qwenparse"):

        def handle_completion(self: Any, request: Any, stop_words: list[str]) -> None:
            _handle(self, request, stop_words, original)

        handle_completion.qwenparse = True  # type: ignore[attr-defined]
        handler.handle_completion = handle_completion


def _handle(self: Any, request: Any, stop_words: list[str], original: Callable[..., None]) -> None:
    if request.request_type != "chat" or self.logprobs or self.top_logprobs > 0:
        return original(self, request, stop_words)
    generator = self.response_generator
    try:
        self.response_generator = _InPlace(generator)
        original(self, request, stop_words)
        return None  # it answered without generating
    except _Asked as asked:
        arguments, callback = asked.args
    finally:
        self.response_generator = generator
    try:
        context, responses = generator.generate(request, arguments, progress_callback=callback)
    except Exception as error:  # as mlx-lm answers
        self._set_completion_headers(404)
        self.end_headers()
        self.wfile.write(json.dumps({"error": str(error)}).encode())
        return None
    table = token_table(generator.model_provider.tokenizer)
    if table is None:
        self.response_generator = _InPlace(generator, (context, responses))
        try:
            return original(self, request, stop_words)
        finally:
            self.response_generator = generator
    try:
        generated = Generated(table, context.prompt, stop_words, tools=request.tools or [], record=not self.stream)
        (_stream if self.stream else _whole)(self, context, responses, generated)
    finally:
        context.stop()
    return None


def _stream(self: Any, context: Any, responses: Iterable[Any], generated: Generated) -> None:
    self._set_stream_headers(200)
    self.end_headers()
    stream = ChatCompletionStream(
        generated.parser,
        model=self.requested_model,
        id=self.request_id,
        created=self.created,
        reasoning=REASONING,
        system_fingerprint=self.system_fingerprint,
    )

    def send(data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    for response in responses:
        data = generated.data(response)
        if data:
            chunks = stream.feed(data)
            if chunks:
                send(stream.encode(chunks))
    send(stream.encode(stream.close(generated.finish_reason, stop=generated.stop)))
    if self.stream_options is not None and self.stream_options["include_usage"]:
        usage = self.completion_usage_response(len(context.prompt), generated.tokens, context.prompt_cache_count)
        send(stream.encode([usage]))
    send(DONE)


def _whole(self: Any, context: Any, responses: Iterable[Any], generated: Generated) -> None:
    parser = generated.parser
    for response in responses:
        data = generated.data(response)
        if isinstance(data, str):
            parser.feed(data)
        elif data:
            parser.feed_ids(data)
    parser.close(stop=generated.stop)
    cached = context.prompt_cache_count
    usage = openai.usage(len(context.prompt), generated.tokens, cached_tokens=cached if cached >= 0 else None)
    completion = openai.completion(
        parser.turn,
        model=self.requested_model,
        finish_reason=generated.finish_reason,
        id=self.request_id,
        created=self.created,
        reasoning=REASONING,
        usage=usage,
    )
    completion["system_fingerprint"] = self.system_fingerprint
    body = json.dumps(completion).encode()
    self._set_completion_headers(200)
    self.send_header("Content-Length", str(len(body)))
    self.end_headers()
    self.wfile.write(body)
    self.wfile.flush()


def main() -> None:
    """`mlx_lm.server` with this loop and the tool parser."""
    register()
    install()
    importlib.import_module("mlx_lm.server").main()


if __name__ == "__main__":
    main()
