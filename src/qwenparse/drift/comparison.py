"""`explain`: compares what an engine holds with the prompt it gets next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from ..common import common_prefix
from ..formats import IM_END, Format, Policy, Stop, get_format
from ..prompt import Prompt
from ..replay import sampled_ids
from ..schema import ToolSet
from ..splice import raw_of
from ..templates.texts import ASSISTANT, EMPTY_THINK, THINK
from ..tokens import Encoder
from ..turn import Turn
from ..utf8 import to_bytes
from .frames import Frame, closed_body, frame_at, frames, head_cause, is_query
from .report import Cause, Drift
from .turns import differences

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXCERPT = 24


def explain(
    before: str | Prompt | Sequence[int],
    after: str | Prompt | Sequence[int],
    *,
    turn: Turn | int | None = None,
    format: Format | str | None = None,
    tools: Sequence[Mapping[str, Any]] | ToolSet | None = None,
    tokenizer: Any = None,
) -> Drift:
    """Where the next prompt `after` leaves what was there `before`, and why.

    `before`: prompt and turn as one text, `turn` the place where the turn begins (code points) or the `Turn` itself; or
    a `Prompt`, `turn` the `Turn` generated from it; or the ids that a server logged, `turn` the place among them.
    `after`: text, `Prompt` or ids. Without `turn` the turn begins behind the last assistant header and the generation
    prompt, as far as `format` tells. `tokenizer`: as `Prompt.ids` takes it, for the token fields (prompt, turn and next
    prompt are encoded apart); with ids, anything that decodes them, for the text. `format` and `tools` are needed to
    read the turn unless a `Turn` or `Prompt` brings them; without a format the cause of a difference inside a turn is
    `unknown`. Linear in the lengths; never raises for what the texts hold.
    """
    if format is None and isinstance(turn, Turn):
        format = turn.format
    for side in (before, after):
        if format is None and isinstance(side, Prompt):
            format = side.format
    if tools is None and isinstance(turn, Turn):
        tools = turn.tools
    reading = None
    if format is not None:
        policy = turn.policy if isinstance(turn, Turn) else Policy()
        reading = _Reading(get_format(format), ToolSet.of(tools), policy, turn if isinstance(turn, Turn) else None)
    return _compare(_Sides(before, after, turn, tokenizer, None if reading is None else reading.format), reading)


class _Reading(NamedTuple):
    """How turns are read."""

    format: Format
    tools: ToolSet
    policy: Policy
    turn: Turn | None

    def read(self, text: str, stop: Stop, prefix: str = "") -> Turn:
        turn: Turn = _core._replay(
            self.format, prefix, text, stop, prefixed=True, tools=self.tools, policy=self.policy, start=None
        )
        return turn


def _is_ids(x: Any) -> bool:
    return not isinstance(x, (str, Prompt))


def _listed(ids: Any) -> list[int]:
    return list(ids.tolist() if hasattr(ids, "tolist") else ids)


def _decoded(ids: Sequence[int], tokenizer: Any) -> str | None:
    if tokenizer is None or not hasattr(tokenizer, "decode"):
        return None
    try:
        return str(tokenizer.decode(ids, skip_special_tokens=False))
    except TypeError:
        return str(tokenizer.decode(ids))


class _Sides:
    """Both texts, the place of the turn, and the ids where they are known."""

    before: str | None
    after: str | None
    start: int | None
    """Where the turn begins in `before`, in code points."""
    closed: bool
    """The turn has an end of its own."""

    def __init__(self, before: Any, after: Any, turn: Any, tokenizer: Any, format: Format | None) -> None:
        self.before_ids: list[int] | None = None
        self.after_ids: list[int] | None = None
        self.turn_tokens: int | None = None
        self.format = format
        encoder = None
        if tokenizer is not None and not (_is_ids(before) and _is_ids(after)):
            encoder = Encoder(tokenizer)
        if _is_ids(before):
            self._logged(_listed(before), turn, tokenizer)
        else:
            self._written(before, turn, tokenizer, encoder)
        if _is_ids(after):
            self.after_ids = _listed(after)
            self.after = _decoded(self.after_ids, tokenizer)
        else:
            self.after = after.text if isinstance(after, Prompt) else after
            if encoder is not None and self.before_ids is not None:
                self.after_ids = (
                    after.ids(tokenizer) if isinstance(after, Prompt) else encoder.encode(after, specials=True)
                )
        self.closed = turn.closed != "none" if isinstance(turn, Turn) else self._ends()

    def _ends(self) -> bool:
        return self.before is not None and self.before.endswith((IM_END, "<|endoftext|>"))

    def _logged(self, ids: list[int], turn: Any, tokenizer: Any) -> None:
        self.before_ids = ids
        self.before = _decoded(ids, tokenizer)
        self.start = None
        if isinstance(turn, Turn):
            sampled = sampled_ids(turn)
            self.turn_tokens = None if sampled is None else len(sampled[0])
            if self.before is not None and self.before.endswith(raw_of(turn)):
                self.start = len(self.before) - len(raw_of(turn))
        elif turn is not None:
            self.turn_tokens = len(ids) - turn
            if self.before is not None:
                self.start = len(_decoded(ids[:turn], tokenizer) or "")
        if self.start is None and self.before is not None:
            self.start = _turn_start(self.before, self.format)
            if self.turn_tokens is None and self.start is not None:
                # Tags are tokens of their own, so the turn's tokens are the fewest last ones that spell it.
                low, high, length = 0, len(ids), len(self.before) - self.start
                while low < high:
                    middle = (low + high + 1) // 2
                    if len(_decoded(ids[middle:], tokenizer) or "") >= length:
                        low = middle
                    else:
                        high = middle - 1
                self.turn_tokens = len(ids) - low

    def _written(self, before: Any, turn: Any, tokenizer: Any, encoder: Encoder | None) -> None:
        text = before.text if isinstance(before, Prompt) else before
        generated = None
        if isinstance(turn, Turn):
            generated = raw_of(turn)
            if not isinstance(before, Prompt) and text.endswith(generated):
                text = text[: len(text) - len(generated)]
            self.before, self.start = text + generated, len(text)
        else:
            self.before, self.start = text, turn
            if isinstance(before, Prompt) and turn is None:
                self.start = len(text) if before.gen_start is not None else None
            if self.start is None:
                self.start = _turn_start(text, self.format)
        if encoder is None:
            return
        start = len(text) if self.start is None else self.start
        if isinstance(before, Prompt) and start == len(text):
            prompt_ids = before.ids(tokenizer)
        else:
            prompt_ids = encoder.encode(self.before[:start], specials=True)
        turn_ids: list[int] = []
        at = start
        sampled = sampled_ids(turn) if isinstance(turn, Turn) else None
        if sampled is not None:
            turn_ids, at = list(sampled[0]), start + sampled[1]
        if at < len(self.before):
            turn_ids += encoder.encode(self.before[at:], specials=True)
        self.before_ids = prompt_ids + turn_ids
        self.turn_tokens = len(turn_ids)



def _escaped(data: bytes) -> str:
    return "".join(
        f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF
        else "\\" + c if c in '"\\'
        else c if c.isprintable()
        else repr(c)[1:-1]
        for c in data.decode("utf-8", "surrogateescape")
    )  # fmt: skip


@dataclass
class _Place:
    """What is known of the first difference."""

    cause: Cause = "unknown"
    evidence: str | None = None
    later: tuple[Cause, ...] = ()
    kind: str | None = None
    turn_index: int | None = None


def _compare(sides: _Sides, reading: _Reading | None) -> Drift:
    fields: dict[str, Any] = {}
    tokens_agree = True
    if sides.before_ids is not None and sides.after_ids is not None:
        equal = common_prefix(sides.before_ids, sides.after_ids)
        tokens_agree = equal == len(sides.before_ids)
        fields.update(equal_prefix_tokens=equal, lost_tokens=len(sides.before_ids) - equal)
        size = sides.turn_tokens
        if size:
            fields["lost_share"] = min(1.0, (len(sides.before_ids) - equal) / size)
        if not tokens_agree:
            fields["first_diff_token"] = equal
            if size is not None:
                fields["first_diff_token_in_turn"] = equal - (len(sides.before_ids) - size)
    if sides.before is None or sides.after is None:
        return Drift(**fields, cause="none" if tokens_agree else "unknown")
    before, after = sides.before, sides.after
    start = sides.start
    place = _Place()
    # Bytes decide: a character that was cut may be whole in `after`, which as texts differ.
    if after.startswith(before) or to_bytes(after).startswith(to_bytes(before)):
        fields["equal_prefix_bytes"] = len(to_bytes(before))
        if tokens_agree:
            return Drift(**fields, cause="none")
        position = len(before)
        if start is not None:
            position = _seam(sides, fields, start)
        place = _Place("token_seam", f"the seam at code point {position}: {_around(before, position)}")
        place.kind, place.turn_index = _where(before, position, start, reading, sides)
    else:
        one, other = to_bytes(before), to_bytes(after)
        equal = common_prefix(one, other)
        fields.update(
            equal_prefix_bytes=equal,
            first_diff_byte=equal,
            excerpt_before=_escaped(one[equal : equal + _EXCERPT]),
            excerpt_after=_escaped(other[equal : equal + _EXCERPT]),
        )
        if start is not None:
            fields["first_diff_byte_in_turn"] = equal - len(to_bytes(before[:start]))
        place = _cause(before, after, common_prefix(before, after), start, reading, sides)
    return Drift(
        **fields, cause=place.cause, evidence=place.evidence, later=place.later, kind=place.kind,
        turn_index=place.turn_index,
    )  # fmt: skip


def _seam(sides: _Sides, fields: Mapping[str, Any], start: int) -> int:
    """Where, in code points, texts that agree were cut into tokens differently."""
    inside = fields.get("first_diff_token_in_turn")
    return start if inside is None or inside <= 0 else start + 1


def _around(text: str, position: int) -> str:
    return f"{text[max(0, position - 8) : position]!r} + {text[position : position + 8]!r}"


def _turn_start(text: str, format: Format | None) -> int | None:
    """Where the last assistant turn begins: behind its header and what a generation prompt writes there."""
    header = text.rfind(ASSISTANT)
    if header < 0:
        return None
    start = header + len(ASSISTANT)
    opens = format is not None and (format.start == "reasoning" or format.name == "qwen3.5-small")
    # An empty block is more often that of a turn without thinking than an empty thought.
    prefixes = (EMPTY_THINK, THINK) if opens else ()
    return next((start + len(prefix) for prefix in prefixes if text.startswith(prefix, start)), start)


def _where(
    before: str, position: int, start: int | None, reading: _Reading | None, sides: _Sides
) -> tuple[str | None, int | None]:
    """The kind of region at a position, and the index of the assistant turn it belongs to."""
    found = frames(before)
    at = frame_at(found, min(position, max(0, len(before) - 1)))
    if at is None:
        return None, None
    frame = found[at]
    if frame.role != "assistant":
        return ("head" if frame.role == "system" else "frame" if position < frame.body else "data"), None
    number = sum(f.role == "assistant" for f in found[:at])
    if position < frame.body:
        return "frame", number
    if start is not None and frame.body <= position < start and frame.end >= start:
        return "gen_prefix", number
    if reading is None:
        return None, number
    if reading.turn is not None and start is not None and position >= start and at == len(found) - 1:
        turn, inside = reading.turn, position - start
    else:
        turn, inside = reading.read(closed_body(before, frame), "im_end"), position - frame.body
    return next((span.kind for span in turn.spans if span.start <= inside < span.end), "stop"), number


def _cause(
    before: str, after: str, position: int, start: int | None, reading: _Reading | None, sides: _Sides
) -> _Place:
    """The cause of the first difference, which stands at `position` in both texts."""
    place = _Place()
    place.kind, place.turn_index = _where(before, position, start, reading, sides)
    old, new = frames(before), frames(after)
    at, there = frame_at(old, position), frame_at(new, position)
    if at is None or there is None:
        return place
    mine, theirs = old[at], new[there]
    if mine.start != theirs.start or mine.role != theirs.role or position < mine.body:
        return _frame_cause(before, after, old, new, min(at, there), place)
    if mine.role == "system" and at == 0:
        place.cause, place.evidence = head_cause(closed_body(before, mine), closed_body(after, theirs))
    elif mine.role == "assistant":
        _turn_cause(before, after, old, new, at, there, start, reading, sides, place)
    else:
        place.cause, place.evidence = "history_edited", f"a message of role {mine.role}"
    return place


def _frame_cause(
    before: str, after: str, old: list[Frame], new: list[Frame], at: int, place: _Place
) -> _Place:
    """The messages themselves are others from here on."""
    mine = old[at] if at < len(old) else None
    theirs = new[at] if at < len(new) else None
    roles = mine.role if mine is not None else "none", theirs.role if theirs is not None else "none"
    if at == 0 and "system" in roles:
        place.cause, place.evidence = head_cause(
            closed_body(before, mine) if mine is not None and roles[0] == "system" else "",
            closed_body(after, theirs) if theirs is not None and roles[1] == "system" else "",
        )
        place.kind = "head"
    else:
        place.cause, place.evidence = "history_edited", f"a message of role {roles[0]}, now {roles[1]}"
    return place


def _turn_cause(
    before: str, after: str, old: list[Frame], new: list[Frame], at: int, there: int, start: int | None,
    reading: _Reading | None, sides: _Sides, place: _Place,
) -> None:  # fmt: skip
    """The difference lies in an assistant turn: the last one, or one of the history."""
    if reading is None:
        return
    mine, theirs = old[at], new[there]
    if there == len(new) - 1 and IM_END not in after[theirs.body :]:
        place.cause, place.evidence = "history_edited", "the turn is not in the next prompt"
        return
    last = at == len(old) - 1
    text = before[mine.body : mine.end]
    cut = last and not sides.closed
    prefix = before[mine.body : start] if last and start is not None and start >= mine.body else ""
    if last and reading.turn is not None and reading.turn.gen_prefix == prefix:
        generated = reading.turn
    elif cut:
        generated = reading.read(text[len(prefix) :], "none", prefix)
    else:
        generated = reading.read(text.removesuffix("\n").removesuffix(IM_END)[len(prefix) :], "im_end", prefix)
    rendered = reading.read(closed_body(after, theirs), "im_end")
    off = "</think>" in (prefix or text[: len(EMPTY_THINK)]) and (not last or bool(prefix))
    queried = any(is_query(after, frame) for frame in new[there + 1 :])
    causes = list(differences(generated, rendered, cut=cut, thinking_off=off, old=queried))
    if cut and (not causes or before[mine.body :].startswith(closed_body(after, theirs))):
        # All that came back is as it was; it was closed where the cut was, or before the layout that was cut.
        causes = [("truncated", "the turn was cut; the next prompt closes it")]
    if causes:
        (place.cause, place.evidence), *rest = causes
        place.later = tuple(cause for cause, _ in rest)
    elif sides.closed and not before.endswith(IM_END) and last:
        place.evidence = "the turn ended with another stop token than the template writes"
