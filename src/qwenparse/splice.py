"""Raw turns in prompts: what stands in the place of an assistant message whose turn is known.

Only the closing token, the newline behind it and the frames of other messages come from the template; the rest is what
the engine read and wrote, so the prompt begins with exactly the text it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from .formats import IM_END
from .replay import History, sampled_ids
from .templates.pieces import Keep, Note, Part
from .templates.texts import ASSISTANT

if TYPE_CHECKING:
    from .turn import Turn

HistoryThinking = Literal["raw", "template"]


class Finder(Protocol):
    """What `turns=` takes: a store, or anything that finds turns as one does."""

    def find(self, messages: Sequence[Mapping[str, Any]], index: int, /) -> Turn | None: ...


class Found(NamedTuple):
    """A turn that stands for `messages[index:end]`."""

    turn: Turn
    end: int


def find_turns(store: Finder, messages: Sequence[Mapping[str, Any]]) -> dict[int, Found]:
    """The turns of a history by the index of their first message.

    Assistant messages in a row are one turn. Where none is found for them, the first is left to the template (the
    client may have put it there itself) and the others are tried without it.
    """
    find_all = getattr(store, "find_all", None)
    if find_all is not None:
        return {index: Found(turn, end) for index, (turn, end) in find_all(messages).items()}
    history = History(messages)
    found: dict[int, Found] = {}
    index = 0
    while index < len(messages):
        place = history.place(index)
        turn = None if place is None else store.find(messages, index)
        if place is None or turn is None:
            index += 1
        else:
            found[index] = Found(turn, place.end)
            index = place.end
    return found


def raw_of(turn: Turn) -> str:
    """The turn as generated, stop text included; what came behind that is left out."""
    last = turn.spans[-1] if turn.spans else None
    return turn.raw[: last.start] if last is not None and last.kind == "trailing" else turn.raw


def without_thought(turn: Turn) -> tuple[str, str]:
    """Prefix and raw text of a turn whose think block the template drops; the rest stays as it is.

    The block goes from the beginning of the prefix to its closing tag, with the whitespace behind; if there is no such
    tag, to the first call or the end of the body.
    """
    prefix, raw = turn.gen_prefix, raw_of(turn)
    if "</think>" in prefix:
        rest = prefix[prefix.index("</think>") + len("</think>") :].lstrip()
        if not rest and turn.spans and turn.spans[0].kind == "ws":
            raw = raw[turn.spans[0].end :]
        return rest, raw
    end = begun = 0
    closed = False
    for span in turn.spans:
        if closed:
            end = span.end if span.kind == "ws" else end
            break
        if span.kind == "think_close":
            end, closed = span.end, True
        elif span.kind in ("think_open", "think_body"):
            begun = end = span.end
        elif span.kind == "ws" and (begun or prefix):
            end = span.end
        elif span.kind in ("content", "call_open", "fn_open", "json_open", "stop"):
            break
    if "<think>" in prefix:
        return "", raw[end:]
    return prefix, raw[end:] if begun or closed else raw


def parts_of(turn: Turn, keep: Keep = "keep") -> list[Part]:
    """The turn as it stands in a later prompt, from `<|im_start|>assistant` to the newline behind its closing token."""
    digest = turn.digest()
    if keep == "drop" or (keep == "keep_nonempty" and turn.reasoning is None and not _thought_before(turn)):
        prefix, raw = without_thought(turn)
    else:
        prefix, raw = turn.gen_prefix, raw_of(turn)
    ids, ids_end = (sampled_ids(turn) if len(raw) == len(raw_of(turn)) else None) or (None, 0)
    stop = len(raw) - sum(span.end - span.start for span in turn.spans[-2:] if span.kind == "stop")
    parts = [
        Part("frame", ASSISTANT),
        Part("gen_prefix", prefix, digest),
        Part("raw", raw, digest, ids, ids_end, stop),
    ]
    if turn.closed == "none":
        parts.append(Part("close", IM_END, digest))
    parts.append(Part("frame", "\n"))
    return parts


def _thought_before(turn: Turn) -> bool:
    """Whether the prompt had written thoughts of a turn that goes on."""
    begin, _, rest = turn.gen_prefix.partition("<think>")
    return not begin and bool(rest.partition("</think>")[0].strip())


class Splicer:
    """Answers a renderer that asks for each assistant message of one history.

    `notes` says which turns lost their thoughts to the template, and which assistant messages had no turn.
    """

    def __init__(self, found: Mapping[int, Found], policy: HistoryThinking) -> None:
        self.found = found
        self.policy = policy
        self.notes: list[Note] = []
        self.covered = {k for index, each in found.items() for k in range(index + 1, each.end)}

    def __call__(self, index: int, keep: Keep) -> Sequence[Part] | None:
        if index in self.covered:
            return ()
        found = self.found.get(index)
        if found is None:
            self.notes.append(Note("turn-unknown", "no stored turn; written by the template", index))
            return None
        parts = parts_of(found.turn, "keep" if self.policy == "raw" else keep)
        kept = len(parts[1].text) + len(parts[2].text)
        if kept != len(found.turn.gen_prefix) + len(raw_of(found.turn)):
            self.notes.append(Note("thought-dropped", "the template drops this turn's think block", index, 0))
        return parts
