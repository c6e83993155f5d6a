"""SGLang plugin (0.5.23): a tool detector and a reasoning detector named `qwenparse`.

SGLang loads it by itself: the package has an entry point in the group `sglang.srt.plugins`.

    sglang serve --model-path MODEL --tool-call-parser qwenparse --reasoning-parser qwenparse

SGLang feeds the reasoning detector every delta and the tool detector right afterwards, in the same task, with what the
first gave as normal text. Where calls are parsed both share one parser (`Joint`): the reasoning detector feeds it, the
tool detector fetches content and calls. They find each other by a context variable. `ReasoningParser` does not tell its
detector which tools a request has; a hook of SGLang's plugin system does.

Each detector works alone too. The reasoning detector in front of another tool parser is refused at the second delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from sglang.srt.function_call.base_format_detector import (  # type: ignore[import-not-found,unused-ignore]
    BaseFormatDetector,
)
from sglang.srt.function_call.core_types import (  # type: ignore[import-not-found,unused-ignore]
    StreamingParseResult,
    StructureInfo,
    ToolCallItem,
)
from sglang.srt.parser.reasoning_parser import (  # type: ignore[import-not-found,unused-ignore]
    BaseReasoningFormatDetector,
)
from sglang.srt.parser.reasoning_parser import (
    StreamingParseResult as ReasoningResult,
)

from .._core import DeltaParser, parse
from ..formats import Policy, Start
from ..schema import ToolSet
from ..turn import Turn
from .joint import Joint

NAME = "qwenparse"
FORMAT = "qwen3.5"
"""Both dialects are read under any format; it only says which of them is no `foreign-dialect`."""
POLICY = Policy()

# What the reasoning detector of this task handed on last: its parser while streaming, else (turn, normal text).
_fed: ContextVar[Joint | None] = ContextVar("qwenparse_fed", default=None)
_whole: ContextVar[tuple[Turn, str] | None] = ContextVar("qwenparse_whole", default=None)


def _tool_set(tools: Sequence[Any] | None) -> ToolSet:
    return ToolSet.of([tool.model_dump() for tool in tools or ()])


class QwenReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc,unused-ignore]
    """Reasoning up to `</think>` or to the call that ends it (docs/format.md)."""

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool = False,
        continue_final_message: bool = False,
        previous_content: str = "",
        force_nonempty_content: bool = False,
        tool_call_parser_active: bool = False,
    ) -> None:
        super().__init__(
            "<think>",
            "</think>",
            think_excluded_tokens=["<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>"],
            force_reasoning=force_reasoning,
            stream_reasoning=stream_reasoning,
            tool_start_token="<tool_call>",
            continue_final_message=continue_final_message,
            previous_content=previous_content,
            thinks_internally=True,
            reasoning_default="enable_thinking",
            force_nonempty_content=force_nonempty_content,
        )
        self.tools = ToolSet.of(())
        self.calls_follow = tool_call_parser_active
        """The tool detector takes what follows the reasoning."""
        self.start: Start = "reasoning" if self._in_reasoning else "content" if continue_final_message else "auto"
        self.joint = Joint(self._parser)
        self._thoughts: list[str] = []

    def _parser(self) -> DeltaParser:
        return DeltaParser(FORMAT, tools=self.tools, start=self.start, policy=POLICY, record=False)

    def use_tools(self, tools: Sequence[Any] | None) -> None:
        """The tools of the request, if calls are parsed."""
        if self.calls_follow:
            self.tools = _tool_set(tools)

    def detect_and_parse(self, text: str) -> Any:
        turn = parse(text, FORMAT, tools=self.tools, start=self.start, policy=POLICY)
        normal = turn.content or ""
        if self.calls_follow:
            if turn.calls:  # for any tool parser to read
                normal = turn.raw[next((s.start for s in turn.spans if s.kind in _ANSWER), len(turn.raw)) :]
            _whole.set((turn, normal))
        return self._maybe_apply_force_nonempty_content(ReasoningResult(normal, turn.reasoning))

    def parse_streaming_increment(self, new_text: str) -> Any:
        joint = self.joint
        if self.calls_follow:
            if joint.waiting:
                raise RuntimeError(f"--reasoning-parser {NAME} needs --tool-call-parser {NAME}")
            joint.waiting = True
            _fed.set(joint)
        if new_text:
            joint.feed(new_text)
        return self._result()

    def finish(self) -> Any:
        self.joint.close()
        result = self._result()
        if self._force_nonempty_content and self.joint.ended_in_reasoning:
            return ReasoningResult("".join(self._thoughts) + result.normal_text)
        return result

    def _result(self) -> Any:
        joint = self.joint
        thought = ""
        if self.stream_reasoning or joint.closed or not joint.in_reasoning:
            thought = joint.take_reasoning()
            if self._force_nonempty_content and thought:
                self._thoughts.append(thought)
        if self.calls_follow:
            return ReasoningResult("", thought)
        return ReasoningResult(joint.take_answer()[0], thought)


_ANSWER = frozenset({"content", "call_open", "fn_open"})


class QwenToolDetector(BaseFormatDetector):  # type: ignore[misc,unused-ignore]
    """Content and calls. Arguments are streamed as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.joint: Joint | None = None

    def has_tool_call(self, text: str) -> bool:
        whole = _whole.get()
        if whole is not None and whole[1] == text:
            return bool(whole[0].tool_calls)
        return "<tool_call>" in text or "<function=" in text

    def detect_and_parse(self, text: str, tools: list[Any]) -> Any:
        whole = _whole.get()
        if whole is not None and whole[1] == text:
            turn = whole[0]
            _whole.set(None)
        else:
            turn = parse(text, FORMAT, tools=_tool_set(tools), start="content", policy=POLICY)
        places = self._get_tool_indices(tools)
        calls = [
            ToolCallItem(tool_index=places.get(call.name, -1), name=call.name, parameters=call.arguments_json)
            for call in turn.tool_calls
        ]
        return StreamingParseResult(normal_text=turn.content or "", calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> Any:
        joint = self.joint or self._meet(tools)
        if joint.waiting:
            joint.waiting = False  # this delta has been fed
        elif new_text:
            joint.feed(new_text)
        return self._result(joint)

    def finish(self, tools: list[Any]) -> Any:
        joint = self.joint or self._meet(tools)
        joint.close()
        return self._result(joint)

    def _meet(self, tools: list[Any]) -> Joint:
        joint = _fed.get()
        if joint is None or not joint.waiting:
            declared = _tool_set(tools)
            joint = Joint(lambda: DeltaParser(FORMAT, tools=declared, start="content", policy=POLICY, record=False))
        _fed.set(None)
        self.joint = joint
        return joint

    def _result(self, joint: Joint) -> Any:
        content, pieces = joint.take_answer()
        if not pieces:
            return StreamingParseResult(normal_text=content)
        calls = [
            ToolCallItem(tool_index=piece.index, name=piece.name, parameters=piece.arguments)
            for piece in pieces
            if piece.name is not None or piece.arguments
        ]
        return StreamingParseResult(normal_text=content, calls=calls)

    def structure_info(self) -> Any:
        """Of a call in the JSON dialect: the host puts the arguments' schema between `begin` and `end`."""
        return lambda name: StructureInfo(
            begin=f'<tool_call>\n{{"name": "{name}", "arguments": ', end="}\n</tool_call>", trigger="<tool_call>"
        )

    def get_structural_tag_name(self) -> str:
        return "qwen_3_coder"


def _tell_tools(result: Any, parser: Any, *args: Any, **kwargs: Any) -> None:
    """Behind `ReasoningParser.__init__(model_type, stream_reasoning, force_reasoning, request, …)`."""
    request = kwargs.get("request", args[3] if len(args) > 3 else None)
    if request is not None and isinstance(parser.detector, QwenReasoningDetector):
        parser.detector.use_tools(getattr(request, "tools", None))


def register() -> None:
    """The entry point: both detectors under `NAME`, the choices of the command line, the hook."""
    from sglang.srt.function_call.function_call_parser import (  # type: ignore[import-not-found,unused-ignore]
        FunctionCallParser,
    )
    from sglang.srt.function_call.parser_names import (  # type: ignore[import-not-found,unused-ignore]
        TOOL_CALL_PARSER_NAMES,
    )
    from sglang.srt.parser.reasoning_parser import ReasoningParser
    from sglang.srt.parser.reasoning_parser_names import (  # type: ignore[import-not-found,unused-ignore]
        REASONING_PARSER_NAMES,
    )
    from sglang.srt.plugins.hook_registry import (  # type: ignore[import-not-found,unused-ignore]
        HookRegistry,
        HookType,
    )

    FunctionCallParser.ToolCallParserEnum[NAME] = QwenToolDetector
    ReasoningParser.DetectorMap[NAME] = QwenReasoningDetector
    for names in (TOOL_CALL_PARSER_NAMES, REASONING_PARSER_NAMES):
        if NAME not in names:
            names.append(NAME)
    HookRegistry.register(
        "sglang.srt.parser.reasoning_parser.ReasoningParser.__init__", _tell_tools, HookType.AFTER
    )
