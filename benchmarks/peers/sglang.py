"""SGLang: its reasoning parser, then its detector, as `serving_chat.py` chains them.

Through `llm-router-utils`, which carries SGLang's own files and installs without torch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.corpus import Turn

from . import TOOLS, Adapter, Parsed, Pieces, is_xml


class SGLang(Adapter):
    name = "SGLang (llm-router-utils)"
    what = "XML by parameter, JSON by token"
    requires = "llm-router-utils"
    unit = "text"

    def __init__(self) -> None:
        from llm_router_utils.sglang.srt.entrypoints.openai.protocol import Tool
        from llm_router_utils.sglang.srt.function_call.qwen3_coder_detector import Qwen3CoderDetector
        from llm_router_utils.sglang.srt.function_call.qwen25_detector import Qwen25Detector
        from llm_router_utils.sglang.srt.parser.reasoning_parser import Qwen3Detector

        self.reasoning: Any = Qwen3Detector
        self.detectors: dict[bool, Any] = {True: Qwen3CoderDetector, False: Qwen25Detector}
        self.tools = [Tool(**tool) for tool in TOOLS]

    def _steps(self, turn: Turn, pieces: Pieces) -> Iterator[tuple[str, str, Any]]:
        """(reasoning, content, calls) of each step."""
        thinks = turn.start != "content"
        reasoner = self.reasoning(stream_reasoning=True, force_reasoning=turn.start == "reasoning") if thinks else None
        detector = self.detectors[is_xml(turn)]()
        tools = self.tools
        for piece in pieces:
            reasoning = ""
            if reasoner is not None:
                step = reasoner.parse_streaming_increment(piece)
                reasoning, piece = step.reasoning_text or "", step.normal_text or ""
            if piece:
                result = detector.parse_streaming_increment(piece, tools)
                yield reasoning, result.normal_text, result.calls
            else:
                yield reasoning, "", ()
        if reasoner is not None:
            step = reasoner.finish()
            result = detector.parse_streaming_increment(step.normal_text or "", tools)
            yield step.reasoning_text or "", result.normal_text, result.calls
        if hasattr(detector, "finish"):
            result = detector.finish(tools)
            yield "", result.normal_text, result.calls

    def stream(self, turn: Turn, pieces: Pieces) -> Parsed:
        reasoning: list[str] = []
        content: list[str] = []
        calls: dict[int, list[str]] = {}
        for thought, text, items in self._steps(turn, pieces):
            if thought:
                reasoning.append(thought)
            if text:
                content.append(text)
            for item in items:
                parts = calls.setdefault(item.tool_index, [])
                if item.name:
                    parts.insert(0, item.name)
                if item.parameters:
                    parts.append(item.parameters)
        made = [(name, json.loads("".join(rest) or "{}")) for name, *rest in calls.values()]
        return Parsed("".join(reasoning), "".join(content), made)

    def drop(self, turn: Turn, pieces: Pieces) -> None:
        for _ in self._steps(turn, pieces):
            pass
