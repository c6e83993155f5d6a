"""Which characters of a template's output came from messages, for templates that are known as text only.

The history is rendered a second time with every `<` of its strings exchanged for a character that occurs nowhere. Where
the two texts differ in nothing else, the exchanged characters are the places. A template that looks for tags in message
text (`</think>` in what an assistant said, `<tool_response>` around what a user did) then writes another text; such a
`<` is found by halving, and stays what the template makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Render = Callable[[Any, Any], str]

_READ_BY_TEMPLATES = re.compile(r"</?think>|^\s*<tool_response>|</tool_response>\s*$|<\|think_(?:on|off)\|>")


class _Marker:
    """Numbers the `<` of all strings of a history in order, and exchanges those that are chosen."""

    def __init__(self, mask: str, chosen: frozenset[int] | None) -> None:
        self.mask = mask
        self.chosen = chosen
        self.count = 0
        self.likely: list[int] = []
        """Those that templates are known to look for."""

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._string(value) if "<" in value else value
        if isinstance(value, Mapping):
            return {self(key): self(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self(item) for item in value]
        return value

    def _string(self, text: str) -> str:
        begin = self.count
        self.count += text.count("<")
        for found in _READ_BY_TEMPLATES.finditer(text):
            self.likely.append(begin + text.count("<", 0, found.start()))
        if self.chosen is None:
            return text.replace("<", self.mask)
        out = list(text)
        for number, found in enumerate(re.finditer("<", text), begin):
            if number in self.chosen:
                out[found.start()] = self.mask
        return "".join(out)


def data_places(render: Render, messages: Sequence[Any], tools: Any, text: str) -> list[int]:
    """Positions in `text`, which is `render(messages, tools)`, of each `<` that a string of them holds, ascending.

    Costs one more render; a few more for each place that the template itself looks at.
    """
    taken = set(text)
    mask = next(c for c in map(chr, range(0xE000, 0x110000)) if c not in taken)

    def masked(chosen: frozenset[int] | None) -> tuple[str | None, _Marker]:
        marker = _Marker(mask, chosen)
        history, declared = marker(messages), marker(tools)
        if not marker.count:
            return text, marker
        try:
            found = render(history, declared)
        except ValueError:  # a TemplateError: it does not even accept the history without the tag
            return None, marker
        return (found if found.replace(mask, "<") == text else None), marker

    found, marker = masked(None)
    if found is None:
        likely = frozenset(marker.likely)
        chosen: frozenset[int] = frozenset()
        for group in ([k for k in range(marker.count) if k not in likely], sorted(likely)):
            chosen = _settle(lambda some: masked(some)[0] is not None, chosen, group)
        found = masked(chosen)[0]
    return [] if found is None else [m.start() for m in re.finditer(mask, found)]


def _settle(fits: Callable[[frozenset[int]], bool], chosen: frozenset[int], group: Sequence[int]) -> frozenset[int]:
    """`chosen` and as many of `group` as fit together."""
    if not group:
        return chosen
    if fits(chosen | frozenset(group)):
        return chosen | frozenset(group)
    if len(group) == 1:
        return chosen
    half = len(group) // 2
    return _settle(fits, _settle(fits, chosen, group[:half]), group[half:])
