"""PrimeIntellect renderers: `parse_qwen35` and `parse_qwen3`, which take the ids of a whole completion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import real_tokenizers

from benchmarks.corpus import Turn

from . import TOOLS, Adapter, Parsed, is_xml


class _Tokenizer:
    """The face of a transformers tokenizer that renderers uses."""

    def __init__(self, vocabulary: str) -> None:
        backend = real_tokenizers.tokenizer(vocabulary)
        self.decode = backend.decode
        self._encode = backend.encode

    def encode(self, text: str, **options: Any) -> list[int]:
        return list(self._encode(text, **options).ids)


@cache
def _setting(vocabulary: str) -> tuple[_Tokenizer, dict[str, Any], dict[str, int]]:
    table = real_tokenizers.table(vocabulary)
    tags = table.tag_ids
    calls = {"tool_call_id": tags["<tool_call>"], "tool_call_end_id": tags["</tool_call>"]}
    thinks = {"think_id": tags["<think>"], "think_end_id": tags["</think>"]}
    return _Tokenizer(vocabulary), {"stop_ids": set(table.stop_ids), **calls}, thinks


class Renderers(Adapter):
    name = "renderers"
    what = "not streaming"
    requires = "renderers"
    unit = "ids"

    def __init__(self) -> None:
        from renderers.parsing import parse_qwen3, parse_qwen35

        self.parse_xml: Any = parse_qwen35
        self.parse_json: Any = parse_qwen3

    def _parse(self, turn: Turn, ids: Sequence[int]) -> Any:
        tokenizer, common, thinks = _setting(turn.vocabulary)
        prefilled = turn.start == "reasoning"
        if is_xml(turn):
            return self.parse_xml(tokenizer, ids, tools=TOOLS, prefilled_thinking=prefilled, **thinks, **common)
        end = thinks["think_end_id"]
        return self.parse_json(tokenizer, ids, reasoning_end_id=end, prefilled_thinking=prefilled, **common)

    def stream(self, turn: Turn, pieces: Sequence[int]) -> Parsed:
        parsed = self._parse(turn, pieces)
        calls = [(call.name, call.arguments) for call in parsed.tool_calls if call.status == "ok"]
        return Parsed(parsed.reasoning_content, parsed.content, calls)

    def drop(self, turn: Turn, pieces: Sequence[int]) -> None:
        self._parse(turn, pieces)
