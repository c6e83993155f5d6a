"""The ids of a prompt behind those that an engine holds: the prompt it read, and the turn it sampled from that.

Nothing that is held is encoded again, so it does not matter how a tokenizer would cut it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .common import common_prefix
from .encode import encode_segments
from .errors import TokenIdsError
from .replay import sampled_ids
from .replay.digest import body
from .splice import raw_of
from .templates.pieces import Segment
from .tokens import Encoder, TokenTable
from .tokens.table import Kind
from .utf8 import to_bytes

if TYPE_CHECKING:
    from .turn import Turn

_SURROGATE = re.compile("[\ud800-\udfff]")


def as_ids(ids: Any) -> list[int]:
    """Ids as a list of int, from any sequence, array or tensor. Raises `TypeError` for what holds none."""
    found = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if not all(type(i) is int for i in found):
        raise TypeError("token ids are integers")
    return found


def _as_tokenized(text: str) -> str:
    """`text` as a tokenizer gives it back: composed (Qwen's tokenizers normalise to NFC), halves of pairs replaced."""
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))


def _same(one: str, other: str) -> bool:
    return one == other or _as_tokenized(one) == _as_tokenized(other)


def _decode(table: TokenTable, ids: Sequence[int], whose: str) -> bytes:
    try:
        return table.decode_bytes(ids)
    except ValueError as e:
        raise TokenIdsError(f"{whose}: {e}", reason="foreign-ids") from None


def _start(text: str, segments: Sequence[Segment], head: str, turn: Turn) -> int:
    """Where the turn begins in a prompt that begins with `head`."""
    if text.startswith(head):
        return len(head)
    digest = turn.digest()
    for segment in reversed(segments):
        if segment.turn == digest and segment.kind in ("raw", "close") and _same(text[: segment.start], head):
            return segment.start
    at = common_prefix(text, head)
    raise TokenIdsError(
        f"the prompt differs from the text of its ids at {at}: {text[at : at + 24]!r}, held {head[at : at + 24]!r}",
        reason="prefix-mismatch",
        position=at,
    )


def _rest(segments: Sequence[Segment], at: int) -> Iterator[Segment]:
    for segment in segments:
        if segment.end > at:
            yield segment if segment.start >= at else segment._replace(start=at)


def following(
    held: list[int],
    turn: Turn,
    text: str,
    segments: Sequence[Segment],
    tokenizer: Any,
    *,
    start: int | None,
    table: TokenTable | None,
    specials_in_data: str,
) -> list[int]:
    """See `Prompt.ids_after`. `start`: how much of `text` the held ids are, if that is known."""
    if turn.closed is None:
        raise ValueError("the turn is still being read; close its parser first")
    sampled = sampled_ids(turn)
    if sampled is None and body(turn) == "":
        sampled = (), 0  # nothing was fed
    if sampled is None:
        raise TokenIdsError("the turn was read as text: the ids that were sampled are not known", reason="text-fed")
    ids, length = sampled
    said = raw_of(turn)[:length]
    encoder = Encoder(tokenizer)
    table = table or turn.settings[2] or TokenTable.from_tokenizer(tokenizer)
    for token, i in (encoder.added or {}).items():
        if not (0 <= i < table.size and table[i] == to_bytes(token)):
            raise TokenIdsError(f"the tokenizer's {token!r} is {i}, but not in the table", reason="foreign-ids")
    if _decode(table, ids, "the sampled ids") != to_bytes(said):
        raise TokenIdsError("the sampled ids are not the text of the turn in this table", reason="foreign-ids")
    if start is None:
        head = _decode(table, held, "the ids of the prompt").decode("utf-8", "surrogateescape")
        start = _start(text, segments, head, turn)
    end = start + len(said)
    if text[start:end] != said:
        at = start + common_prefix(text[start:end], said)
        raise TokenIdsError(
            f"the turn does not stand in the prompt as generated: {text[at : at + 24]!r} at {at}",
            reason="prefix-mismatch",
            position=at,
        )
    new = encode_segments(text, list(_rest(segments, end)), tokenizer, specials_in_data=specials_in_data)
    if not _same(_decode(table, new, "the new ids").decode("utf-8", "surrogateescape"), text[end:]):
        raise TokenIdsError("the tokenizer's ids of the new text are not that text in the table", reason="foreign-ids")
    ids = (*held, *ids)
    borders = {i for i in (*ids[-1:], *new[:1]) if table.kinds[i] not in (Kind.ORDINARY, Kind.NONE)}
    if ids and new and not borders and encoder.added_ids.isdisjoint((ids[-1], new[0])):
        raise TokenIdsError(
            f"behind the sampled ids {text[end : end + 24]!r} goes on, and no token need end there",
            reason="unsafe-seam",
            position=end,
        )
    return [*ids, *new]
