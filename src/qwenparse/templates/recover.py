"""Taking reasoning out of a content that still holds its think block. What is unclear stays content."""

from __future__ import annotations

import re

from .pieces import cut

_OPEN, _CLOSE = "<think>", "</think>"

# A closing tag that ends reasoning stands on a line of its own, or has a blank line or a call behind it.
_AT_LINE_START = re.compile(r"\r?\n|<tool_call>|\Z")
_ANYWHERE = re.compile(r"\n\n|\r\n\r\n|<tool_call>")
_FENCE = re.compile(r"^ *```", re.MULTILINE)


def recover(content: str) -> tuple[str, str] | None:
    """Reasoning and answer of a trimmed content, both as they stand; None if it holds no block that is sure."""
    at = content.find(_CLOSE)
    if at < 0:
        return None
    if content.startswith(_OPEN):
        return cut(content, len(_OPEN), at), cut(content, at + len(_CLOSE), len(content))
    fences = [m.start() for m in _FENCE.finditer(content)]
    passed = 0
    while at >= 0:
        line = content.rfind("\n", 0, at) + 1
        while passed < len(fences) and fences[passed] < line:
            passed += 1
        behind = at + len(_CLOSE)
        if passed % 2 == 0 and ((line == at and _AT_LINE_START.match(content, behind)) or _ANYWHERE.match(content, behind)):
            return cut(content, 0, at), cut(content, behind, len(content))
        at = content.find(_CLOSE, behind)
    return None
