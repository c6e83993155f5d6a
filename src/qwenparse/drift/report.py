"""The result of a comparison, and its one-line and text forms."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Cause = Literal[
    "none", "think_leading_ws", "think_trailing_ws", "think_close_ws", "reasoning_missing", "history_think_dropped",
    "think_off_block_dropped", "raw_in_content", "content_leading_ws", "content_trailing_ws", "call_leading_ws",
    "call_gap_ws", "call_trailing_ws", "call_frame", "value_frame", "text_between_calls", "text_after_call",
    "call_in_think", "number_spelling", "bool_spelling", "null_spelling", "json_layout", "json_key_order",
    "json_escape", "json_call_layout", "duplicate_parameter", "argument_order", "value_trimmed", "newline_normalised",
    "literal_think_close", "truncated", "token_seam", "head_changed", "tools_changed", "system_changed",
    "history_edited", "unknown",
]  # fmt: skip
CAUSES: tuple[str, ...] = get_args(Cause)
"""Every cause code; docs/round_trip.md says what each means."""

MEANING: dict[str, str] = {
    "none": "no difference",
    "think_leading_ws": "whitespace in front of the thought",
    "think_trailing_ws": "whitespace between the thought and its closing tag",
    "think_close_ws": "whitespace behind the closing tag of the thought",
    "reasoning_missing": "the client did not send the thought back",
    "history_think_dropped": "the template drops the thoughts of earlier turns",
    "think_off_block_dropped": "the template drops the empty block of a turn without thinking",
    "raw_in_content": "the thought came back as part of the answer",
    "content_leading_ws": "whitespace in front of the answer",
    "content_trailing_ws": "whitespace behind the answer",
    "call_leading_ws": "whitespace in front of the first call",
    "call_gap_ws": "whitespace between two calls",
    "call_trailing_ws": "whitespace behind the last call",
    "call_frame": "the tags of a call, or the whitespace between them",
    "value_frame": "the newlines around a value",
    "text_between_calls": "text between two calls",
    "text_after_call": "text behind the last call",
    "call_in_think": "a call inside the thought",
    "number_spelling": "a number is spelled differently",
    "bool_spelling": "a boolean is spelled differently",
    "null_spelling": "null is spelled differently",
    "json_layout": "whitespace or quotes in JSON",
    "json_key_order": "the order of keys in JSON",
    "json_escape": "a character is escaped differently in JSON",
    "json_call_layout": "the members of a call object",
    "duplicate_parameter": "a parameter was given twice",
    "argument_order": "the order of arguments",
    "value_trimmed": "whitespace at the ends of a value was lost",
    "newline_normalised": "CRLF became LF",
    "literal_think_close": "a </think> in the text was taken for a tag",
    "truncated": "the turn was cut, and is closed in the next prompt",
    "token_seam": "the bytes agree, the tokens do not",
    "head_changed": "an argument of the request (effort, thinking, a marker) changed the head",
    "tools_changed": "the tools of the request changed",
    "system_changed": "the system message changed",
    "history_edited": "an earlier message is not what it was",
    "unknown": "a difference that has no name here",
}


@dataclass(frozen=True)
class Drift:
    """What two prompts have in common, and where and why they part. Fields that are not known are None.

    `..._byte` fields count UTF-8 bytes from the beginning of the prompt, `..._byte_in_turn` from the beginning of the
    generated turn (negative: inside the prompt); the token fields do so in tokens. They are None where there is no
    difference of that kind.
    """

    equal_prefix_bytes: int | None = None
    equal_prefix_tokens: int | None = None
    lost_tokens: int | None = None
    """Tokens of prompt and turn that are not the beginning of the next prompt. Whether the others are still cached is
    the engine's affair; a hybrid model goes back to its last checkpoint before them."""
    lost_share: float | None = None
    """The part of the turn's tokens that is lost, 0 to 1."""
    first_diff_byte: int | None = None
    first_diff_byte_in_turn: int | None = None
    first_diff_token: int | None = None
    first_diff_token_in_turn: int | None = None
    turn_index: int | None = None
    """The assistant turn in which the first difference lies, counted from 0."""
    kind: str | None = None
    """The kind of region (`Span.kind`) or segment (`Segment.kind`) there."""
    excerpt_before: str | None = None
    """24 bytes of what was there, from the first difference on, escaped."""
    excerpt_after: str | None = None
    """24 bytes of what stands there now."""
    cause: Cause = "none"
    evidence: str | None = None
    """What shows the cause: both spellings, the place of a seam."""
    later: tuple[Cause, ...] = ()
    """Causes of further differences in the same turn, in order."""

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return self.cause != "none"

    def __str__(self) -> str:
        if self.cause == "none":
            return f"drift cause=none {self._kept()}".rstrip()
        words = [f"drift cause={self.cause}"]
        if self.first_diff_byte is not None:
            words.append(f"byte={self.first_diff_byte} in_turn={self.first_diff_byte_in_turn}")
        if self.first_diff_token is not None:
            words.append(f"token={self.first_diff_token} in_turn={self.first_diff_token_in_turn}")
        if self.lost_tokens is not None:
            share = "" if self.lost_share is None else f" share={self.lost_share:.0%}"
            words.append(f"lost_tokens={self.lost_tokens}{share}")
        words.append(self._kept())
        if self.turn_index is not None:
            words.append(f"turn={self.turn_index}")
        if self.kind is not None:
            words.append(f"kind={self.kind}")
        if self.excerpt_before is not None:
            words.append(f'before="{self.excerpt_before}" after="{self.excerpt_after}"')
        if self.later:
            words.append(f"later={','.join(self.later)}")
        return " ".join(word for word in words if word)

    def _kept(self) -> str:
        if self.equal_prefix_tokens is not None:
            return f"kept_tokens={self.equal_prefix_tokens}"
        return "" if self.equal_prefix_bytes is None else f"kept_bytes={self.equal_prefix_bytes}"

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types."""
        return {**asdict(self), "later": list(self.later)}

    def text(self) -> str:
        """The report for a terminal: several lines, the two texts under each other."""
        lines = [f"cause     {self.cause}: {MEANING[self.cause]}"]
        if self.evidence:
            lines.append(f"evidence  {self.evidence}")
        if self.first_diff_byte is not None:
            lines.append(
                f"byte      {self.first_diff_byte} of the prompt, {self.first_diff_byte_in_turn} of the turn"
                + (f" (in {self.kind})" if self.kind else "")
            )
        if self.first_diff_token is not None:
            inside = self.first_diff_token_in_turn
            lines.append(f"token     {self.first_diff_token} of the prompt, {inside} of the turn")
        if self.lost_tokens is not None:
            share = "" if self.lost_share is None else f", {self.lost_share:.0%} of the turn"
            lines.append(f"lost      {self.lost_tokens} tokens{share}; hybrid models: back to the last checkpoint")
        if self.excerpt_before is not None:
            lines += [f"before    {self.excerpt_before}", f"after     {self.excerpt_after}"]
        if self.later:
            lines.append(f"later     {', '.join(self.later)}")
        return "\n".join(lines)
