"""Which tokens of a turn belong to which region, and how many were thought, answer and calls."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from ..formats import Kind
from ..utf8 import to_bytes
from .table import TokenTable

if TYPE_CHECKING:
    from ..turn import Turn


class TokenSpan(NamedTuple):
    """A region of a turn in tokens: half open, positions in `Turn.token_ids`."""

    kind: Kind
    start: int
    end: int


class Usage(NamedTuple):
    """Tokens of one turn, each counted once."""

    reasoning: int
    """The thought and its tags."""
    content: int
    tool_calls: int
    """Calls with all their tags, complete or not."""
    layout: int
    """Whitespace between those, the stop token, what was sampled behind it."""

    @property
    def total(self) -> int:
        return self.reasoning + self.content + self.tool_calls + self.layout


_REASONING = frozenset({"think_open", "think_body", "think_close", "late_think_close"})
_LAYOUT = frozenset({"ws", "stop", "trailing"})


def token_spans(turn: Turn, table: TokenTable) -> tuple[TokenSpan, ...]:
    """The turn's spans in tokens, in order and without gaps: one for each of `turn.spans`, empty if no token begins
    in it. A token belongs to the span that its first byte lies in; one without bytes to the span that follows it.

    Raises `ValueError` if the turn was not fed by ids, or not by those of this table. Linear in the turn.
    """
    if turn.token_ids is None:
        raise ValueError("the turn was fed as text: its tokens are not known")
    starts = [0, *accumulate(len(table[i] or b"") for i in turn.token_ids)]
    if not to_bytes(turn.raw).startswith(table.decode_bytes(turn.token_ids)):
        raise ValueError("the turn's ids are not those of this table")
    out = []
    begin = at = 0
    for span in turn.spans:
        at += len(to_bytes(turn.raw[span.start : span.end]))
        end = min(bisect_left(starts, at), len(turn.token_ids))
        out.append(TokenSpan(span.kind, begin, end))
        begin = end
    if out and begin < len(turn.token_ids):  # tokens without bytes at the end
        out[-1] = out[-1]._replace(end=len(turn.token_ids))
    return tuple(out)


def usage(turn: Turn, table: TokenTable) -> Usage:
    """How many tokens of a turn were thought, answer and calls. Whitespace counts with what stands on both its sides.

    Raises `ValueError` as `token_spans` does.
    """
    spans = token_spans(turn, table)
    fields = [_field(span.kind) for span in spans]
    counts = dict.fromkeys(Usage._fields, 0)
    for n, (span, field) in enumerate(zip(spans, fields, strict=True)):
        if span.kind == "ws" and 0 < n < len(spans) - 1 and fields[n - 1] == fields[n + 1]:
            field = fields[n - 1]
        counts[field] += span.end - span.start
    return Usage(**counts)


def _field(kind: str) -> str:
    if kind in _REASONING:
        return "reasoning"
    if kind in _LAYOUT:
        return "layout"
    return "content" if kind == "content" else "tool_calls"
