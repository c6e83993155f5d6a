"""vLLM plugin (0.33): a tool parser and a reasoning parser named `qwenparse`, both engine based.

    vllm serve MODEL --enable-auto-tool-choice \\
        --tool-parser-plugin qwenparse.adapters.vllm --tool-call-parser qwenparse \\
        --reasoning-parser-plugin qwenparse.adapters.vllm --reasoning-parser qwenparse

vLLM builds the reasoning parser and then the tool parser of a request, one after the other in one thread; they find
each other by that and share one parser (`Joint`). With `engine_based_streaming` each call gets only its own delta and
keeps nothing. The text of the deltas is parsed, not their ids: vLLM takes stop strings out of the text only. The
prompt's ids say where the completion begins, a sampled stop id says that the model ended its turn.

Each class works alone too. The reasoning parser without a tool parser reads calls as text.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vllm.entrypoints.generate.base.protocol import (  # type: ignore[import-not-found,unused-ignore]
    DeltaFunctionCall,
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    ToolCall,
)
from vllm.reasoning import (  # type: ignore[import-not-found,unused-ignore]
    ReasoningParser,
    ReasoningParserManager,
)
from vllm.tool_parsers import (  # type: ignore[import-not-found,unused-ignore]
    ToolParser,
    ToolParserManager,
)

from .._core import DeltaParser
from ..formats import ENDOFTEXT, IM_END, IM_START, Policy, Start, State
from ..schema import ToolSet
from .answer import Collected, collect
from .joint import IN_REASONING, Joint
from .pieces import CallPiece

FORMAT = "qwen3.5"
"""Both dialects are read under any format; it only says which of them is no `foreign-dialect`."""
POLICY = Policy()

_built = threading.local()

_NAMES = (IM_START, IM_END, ENDOFTEXT, "<think>", "</think>", "<tool_call>")
_ids: weakref.WeakKeyDictionary[Any, Mapping[str, int]] = weakref.WeakKeyDictionary()


def _ids_of(tokenizer: Any) -> Mapping[str, int]:
    """The ids of the tokens that matter; kept, since `get_vocab` may build a mapping of the whole vocabulary."""
    found = _ids.get(tokenizer)
    if found is None:
        vocab = tokenizer.get_vocab()
        found = _ids[tokenizer] = {name: vocab[name] for name in _NAMES if name in vocab}
    return found


class Settings:
    """What is known of a request before its text comes."""

    __slots__ = ("prompt", "thinking", "tokenizer", "tools", "vocab")

    def __init__(self, tokenizer: Any, thinking: bool) -> None:
        self.tokenizer = tokenizer
        self.vocab = _ids_of(tokenizer)
        self.thinking = thinking
        self.tools: ToolSet | tuple[()] = ()
        self.prompt: Sequence[int] | None = None

    def parser(self, *, answer: bool = False) -> DeltaParser:
        """A parser at the place where the prompt ends, or in the answer; by the request's switch if none is known."""
        if self.prompt is not None and not answer:
            return self.parser_after(self.prompt)
        start: Start = "content" if answer or not self.thinking else "reasoning"
        return DeltaParser(FORMAT, tools=self.tools, policy=POLICY, record=False, start=start)

    def parser_after(self, ids: Sequence[int]) -> DeltaParser:
        """A parser at the place where `ids` end: they are read from the last assistant header on."""
        opening = self.vocab.get(IM_START)
        at = len(ids)
        while at and ids[at - 1] != opening:
            at -= 1
        text = self.tokenizer.decode(list(ids[at:]))
        return DeltaParser.for_prompt(IM_START + text, format=FORMAT, tools=self.tools, policy=POLICY, record=False)

    def saw(self, ids: Sequence[int], joint: Joint) -> None:
        if ids:
            last = ids[-1]
            if last == self.vocab.get(IM_END):
                joint.stop = "im_end"
            elif last == self.vocab.get(ENDOFTEXT):
                joint.stop = "other_stop"


@ReasoningParserManager.register_module("qwenparse")  # type: ignore[untyped-decorator,unused-ignore]
class QwenReasoningParser(ReasoningParser):  # type: ignore[misc,unused-ignore]
    """Reasoning up to `</think>` or to the call that ends it (docs/format.md)."""

    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        switches = kwargs.get("chat_template_kwargs") or {}
        self.settings = Settings(tokenizer, switches.get("enable_thinking", True) is not False)
        self.joint = Joint(self.settings.parser)
        self.paired = False
        """A tool parser takes what follows the reasoning."""
        self.over = False
        """The tool parser is fed from now on, and has something to fetch."""
        self.answer: Collected | None = None
        _built.reasoning = weakref.ref(self)

    @property
    def reasoning_start_str(self) -> str:
        return "<think>"

    @property
    def reasoning_end_str(self) -> str:
        return "</think>"

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False
        return request

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        self.settings.prompt = prompt_token_ids

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        self.settings.prompt = prompt_token_ids

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        return self.settings.parser_after(input_ids).state not in IN_REASONING

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        return self.settings.vocab.get("</think>") in tuple(delta_ids)

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        closing = self.settings.vocab.get("</think>")
        return input_ids[input_ids.index(closing) + 1 :] if closing in input_ids else []

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """Tokens before the first `</think>`, or call, or all if the completion was still in its thought."""
        vocab = self.settings.vocab
        if self.settings.parser().state != State.REASONING and vocab.get("<think>") not in token_ids[:2]:
            return 0
        ends = {vocab.get("</think>")}
        if vocab.get("</think>") not in token_ids:
            ends.add(vocab.get("<tool_call>"))
        count = 0
        for i in token_ids:
            if i in ends:
                break
            count += i != vocab.get("<think>")
        return count

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        self.answer = collect(self.settings.parser(), (model_output,))
        return self.answer.reasoning, self.answer.content

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        joint = self.joint
        self.settings.saw(delta_token_ids, joint)
        if delta_text:
            joint.feed(delta_text)
        if not self.paired:
            return _message(joint)
        self.over = not joint.in_reasoning
        text = joint.take_reasoning()
        return DeltaMessage(reasoning=text) if text else None

    def has_engine_confirmed_reasoning_end(self) -> bool:
        # Alone it goes on to the end: what the host would send after the switch is raw text.
        return self.over

    def finish_streaming(self) -> Any:
        if self.over:
            return None
        self.joint.close()
        return _message(self.joint)


@ToolParserManager.register_module("qwenparse")  # type: ignore[untyped-decorator,unused-ignore]
class QwenToolParser(ToolParser):  # type: ignore[misc,unused-ignore]
    """Content and calls. Arguments are streamed as they come."""

    engine_based_streaming = True
    supports_required_and_named = False

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        super().__init__(tokenizer, tools)
        built = _built.__dict__.pop("reasoning", None)
        partner = built() if built is not None else None
        if partner is not None and partner.model_tokenizer is tokenizer and not partner.joint.started:
            partner.paired = True
            self.partner: QwenReasoningParser | None = partner
            self.settings = partner.settings
            self.joint = partner.joint
        else:
            self.partner = None
            self.settings = Settings(tokenizer, False)
            self.joint = Joint(lambda: self.settings.parser(answer=True))
        self.settings.tools = ToolSet.of([tool.model_dump() for tool in self.tools])

    def adjust_request(self, request: Any) -> Any:
        request = super().adjust_request(request)
        if request.tools and request.tool_choice != "none":
            request.skip_special_tokens = False
        return request

    def get_remaining_unstreamed_args(self) -> str:
        return ""

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        partner = self.partner
        if partner is not None and partner.answer is not None and (partner.answer.content or "") == model_output:
            answer = partner.answer
        else:
            answer = collect(self.settings.parser(answer=True), (model_output,))
        calls = [
            ToolCall(id=call.id, type="function", function=FunctionCall(name=call.name, arguments=call.arguments_json))
            for call in answer.tool_calls
        ]
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=answer.content)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        joint = self.joint
        if self.partner is not None and self.partner.over:
            self.partner.over = False  # this delta has been fed
        else:
            self.settings.saw(delta_token_ids, joint)
            if delta_text:
                joint.feed(delta_text)
        return _message(joint)

    def finish_streaming(self) -> Any:
        if self.joint.closed:
            return None
        self.joint.close()
        return _message(self.joint)


def _call(piece: CallPiece) -> Any:
    if piece.name is not None:
        function = DeltaFunctionCall(name=piece.name, arguments=piece.arguments)
        return DeltaToolCall(index=piece.index, id=piece.id, type="function", function=function)
    return DeltaToolCall(index=piece.index, function=DeltaFunctionCall(arguments=piece.arguments))


def _message(joint: Joint) -> Any:
    """What waits, as the host's message."""
    reasoning = joint.take_reasoning()
    content, pieces = joint.take_answer()
    calls = [_call(piece) for piece in pieces if piece.name is not None or piece.arguments]
    if not (reasoning or content or calls):
        return None
    # Only what there is: the host's class spends its time per field.
    fields: dict[str, Any] = {}
    if reasoning:
        fields["reasoning"] = reasoning
    if content:
        fields["content"] = content
    if calls:
        fields["tool_calls"] = calls
    return DeltaMessage(**fields)
