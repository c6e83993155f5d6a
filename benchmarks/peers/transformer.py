"""transformers: `ResponseParser` with the response templates that `transformers serve` has for Qwen."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.corpus import Turn

from . import TOOLS, Adapter, Parsed, Pieces, is_xml, prompt_tail


class Transformers(Adapter):
    name = "transformers"
    what = "whole calls"
    requires = "transformers"
    unit = "text"

    def __init__(self) -> None:
        from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS as templates
        from transformers.utils.chat_parsing.response_parser import ResponseParser
        from transformers.utils.chat_parsing.response_templates import load_response_template

        by_type = {kind: spec for kinds, spec in templates.items() for kind in kinds}
        self.parser: Any = ResponseParser
        self.templates = {
            True: load_response_template(by_type["qwen3_5"]),
            False: load_response_template(by_type["qwen3"]),
        }

    def _parser(self, turn: Turn) -> Any:
        template = self.templates[is_xml(turn)]
        return self.parser(template, prefix=prompt_tail(turn), tools=TOOLS)

    def stream(self, turn: Turn, pieces: Pieces) -> Parsed:
        parser = self._parser(turn)
        events = []
        for piece in pieces:
            events += parser.feed(piece)
        message, last = parser.finalize()
        events += last
        calls = []
        for call in message.get("tool_calls") or []:
            arguments = call["function"]["arguments"]
            calls.append((call["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments))
        return Parsed(message.get("reasoning_content"), message.get("content"), calls)

    def drop(self, turn: Turn, pieces: Pieces) -> None:
        parser = self._parser(turn)
        for piece in pieces:
            parser.feed(piece)
        parser.finalize()
