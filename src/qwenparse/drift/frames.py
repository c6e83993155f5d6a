"""A prompt as the messages it was made of, and the cause of a difference in its head."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..common import common_prefix
from ..formats import IM_END, IM_START
from .report import Cause

_EFFORT = re.compile(r"\s*Reasoning effort is set to [^\n]*")
_MARKER = re.compile(r"<\|think_(?:on|off)\|>")
_TOOLS = re.compile(r"(?:# Tools\n\n.*?)?<tools>.*</tools>.*?(?:</IMPORTANT>|</tool_call>(?=\s*\Z)|\Z)", re.DOTALL)


class Frame(NamedTuple):
    """One message of a prompt: `text[start:end]` from `<|im_start|>` to the next one; `body` begins behind the role."""

    role: str
    start: int
    body: int
    end: int


def frames(text: str, end: int | None = None) -> list[Frame]:
    """The messages of `text[:end]`. A control token spelled in a message counts as one: good enough to name a place."""
    limit = len(text) if end is None else end
    found: list[Frame] = []
    at = text.find(IM_START, 0, limit)
    while at >= 0:
        following = text.find(IM_START, at + len(IM_START), limit)
        stop = limit if following < 0 else following
        begin = at + len(IM_START)
        newline = text.find("\n", begin, stop)
        body = stop if newline < 0 else newline + 1
        found.append(Frame(text[begin : body - (newline >= 0)], at, body, stop))
        at = following
    return found


def frame_at(found: list[Frame], position: int) -> int | None:
    """The index of the frame that holds `position`; None if it stands before the first."""
    low, high = 0, len(found)
    while low < high:
        middle = (low + high) // 2
        if found[middle].start <= position:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low else None


def closed_body(text: str, frame: Frame) -> str:
    """What stands in a frame up to its closing token."""
    end = text.find(IM_END, frame.body, frame.end)
    return text[frame.body : frame.end if end < 0 else end]


def is_query(text: str, frame: Frame) -> bool:
    """Whether a frame is a user message that is no tool result."""
    return frame.role == "user" and not text.startswith("<tool_response>", frame.body)


def head_cause(before: str, after: str) -> tuple[Cause, str]:
    """Why two system blocks differ: their bodies, empty where there is none."""
    effort_before, rest_before = _split_effort(before)
    effort_after, rest_after = _split_effort(after)
    if effort_before != effort_after:
        return "head_changed", f"effort text {_shown(effort_before)}, now {_shown(effort_after)}"
    tools_before, tools_after = _TOOLS.search(rest_before), _TOOLS.search(rest_after)
    if (tools_before is None) != (tools_after is None):
        return "tools_changed", "tools " + ("appeared" if tools_before is None else "disappeared")
    if tools_before is None or tools_after is None:
        return _system_cause(rest_before, rest_after)
    lead_before, lead_after = rest_before[: tools_before.start()], rest_after[: tools_after.start()]
    if lead_before != lead_after:
        return _system_cause(lead_before, lead_after)
    if tools_before[0] != tools_after[0]:
        at = common_prefix(tools_before[0], tools_after[0])
        return "tools_changed", f"{_shown(tools_before[0][at:])}, now {_shown(tools_after[0][at:])}"
    return _system_cause(rest_before[tools_before.end() :], rest_after[tools_after.end() :])


def _split_effort(body: str) -> tuple[str, str]:
    match = _EFFORT.match(body)
    return (match[0].strip(), body[match.end() :].lstrip("\n")) if match else ("", body)


def _system_cause(before: str, after: str) -> tuple[Cause, str]:
    if _MARKER.sub("", before).strip() == _MARKER.sub("", after).strip():
        return "head_changed", "a thinking marker"
    at = common_prefix(before, after)
    return "system_changed", f"{_shown(before[at:])}, now {_shown(after[at:])}"



def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")
