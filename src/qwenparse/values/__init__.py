"""From literals to values and JSON text (docs/format.md, typed values). Nothing here raises for what a model wrote."""

from __future__ import annotations

from .calls import Recorded, arguments, json_arguments, json_literals, literals
from .json_text import object_in_string
from .literals import MAX_HELD, Converted, convert
from .stream import ArgumentsJSON, arguments_json

__all__ = [
    "MAX_HELD", "ArgumentsJSON", "Converted", "Recorded", "arguments", "arguments_json", "convert", "json_arguments",
    "json_literals", "literals", "object_in_string",
]  # fmt: skip
