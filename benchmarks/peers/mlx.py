"""mlx-lm: the loop of `APIHandler.handle_completion` (server.py) around its own state machine and tool parsers."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from benchmarks.corpus import Turn

from . import TOOLS, Adapter, Parsed, Pieces, is_xml


class MlxLm(Adapter):
    name = "mlx-lm"
    what = "whole calls"
    requires = "mlx-lm"
    unit = "text"

    def __init__(self) -> None:
        from mlx_lm.generate import TextStateMachine, make_text_state_machine
        from mlx_lm.tool_parsers import json_tools, qwen3_coder

        self.machine = TextStateMachine
        self.tool_parsers = {True: qwen3_coder, False: json_tools}
        self.text_sm = make_text_state_machine(
            SimpleNamespace(
                has_thinking=True,
                think_start="<think>",
                think_end="</think>",
                has_tool_calling=True,
                tool_call_start=qwen3_coder.tool_call_start,
                tool_call_end=qwen3_coder.tool_call_end,
                response_transitions={},
                structural_markers=None,
            )
        )

    def stream(self, turn: Turn, pieces: Pieces) -> Parsed:
        split, state = self.machine.split, self._state(turn)
        prev = current = state[0]
        reasoning: list[str] = []
        content: list[str] = []
        tool: list[str] = []
        calls: list[str] = []
        for piece in pieces:
            state, segments = split(state, piece)
            for current, text in segments:
                if current == "reasoning":
                    reasoning.append(text)
                elif current == "tool":
                    tool.append(text)
                elif current == "normal":
                    if prev == "tool":
                        calls.append("".join(tool))
                        tool.clear()
                    content.append(text)
                prev = current
        state, current = self.machine.discard(state)
        if prev == "tool" and tool:
            calls.append("".join(tool))
        parse: Any = self.tool_parsers[is_xml(turn)].parse_tool_call
        made = []
        for call in calls:
            try:
                parsed = parse(call, TOOLS)
            except (ValueError, json.JSONDecodeError):
                continue
            made += parsed if isinstance(parsed, list) else [parsed]
        return Parsed("".join(reasoning), "".join(content), [(c["name"], c["arguments"]) for c in made])

    def drop(self, turn: Turn, pieces: Pieces) -> None:
        split, state = self.machine.split, self._state(turn)
        for piece in pieces:
            state, _ = split(state, piece)
        self.machine.discard(state)

    def _state(self, turn: Turn) -> Any:
        return self.text_sm.make_state("reasoning" if turn.start == "reasoning" else "normal")
