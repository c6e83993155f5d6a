"""Server logs: requests with the ids of their prompt and of what was sampled, paired with the request that follows.

Read are JSON Lines that hold, at any depth, `prompt_token_ids` and `token_ids` (vLLM and SGLang write both; OpenAI-style
responses with `choices` too). No template and no tokenizer is needed to say where the next prompt leaves them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..common import common_prefix
from ..errors import FormatError

WINDOW = 64
"""Requests back that a request may go on from: side requests and other conversations stand in between."""


class Request(NamedTuple):
    """One logged request."""

    name: str
    prompt: list[int]
    sampled: list[int]


def _ids(value: Any) -> list[int] | None:
    if isinstance(value, list) and value and all(type(i) is int for i in value):
        return value
    return None


def _search(value: Any, key: str, depth: int = 0) -> list[int] | None:
    """The first list of ids under `key`, however deep."""
    if depth > 8:
        return None
    if isinstance(value, dict):
        found = _ids(value.get(key))
        children: Iterable[Any] = value.values()
    elif isinstance(value, list) and (not value or not isinstance(value[0], (int, float, str))):
        found, children = None, value
    else:
        return None
    if found is not None:
        return found
    return next((ids for ids in (_search(child, key, depth + 1) for child in children) if ids is not None), None)


def read_log(lines: Iterable[str]) -> Iterator[Request]:
    """The requests of a log. Lines without ids are passed over. Raises `FormatError` for a line that is no JSON."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"line {number}: not JSON ({error})") from None
        prompt = _search(row, "prompt_token_ids")
        if prompt is None:
            continue
        sampled = _search(row, "token_ids") or _search(row, "output_token_ids") or []
        label = row.get("request_id") or row.get("id") if isinstance(row, dict) else None
        yield Request(f"{label or 'request'} (line {number})", prompt, sampled)


def pairs(requests: Iterable[Request]) -> Iterator[tuple[Request, Request]]:
    """(request, the one that goes on from it): of the last `WINDOW` the one that shares most with it.

    A request that shares less than half of its own prompt with all of them begins a conversation. One that is itself
    the beginning of a request before it (a retry) goes on from whatever that one did.
    """
    recent: list[Request] = []
    for request in requests:
        best, shared = None, 0
        for earlier in reversed(recent):
            if len(request.prompt) > len(earlier.prompt):
                size = common_prefix(earlier.prompt + earlier.sampled, request.prompt)
                if size > shared:
                    best, shared = earlier, size
        if best is not None and 2 * shared >= len(best.prompt):
            yield best, request
        recent.append(request)
        del recent[:-WINDOW]
