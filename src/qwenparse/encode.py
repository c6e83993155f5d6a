"""Token ids of a text in segments: added tokens count where the template wrote them, not where a message does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import FormatError
from .templates.pieces import Known, Segment
from .tokens import Encoder


def _pattern(added: Mapping[str, int]) -> re.Pattern[str] | None:
    # Longest first: at one place tokenizers take the longest added token.
    names = sorted((name for name in added if name), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))) if names else None


def _runs(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """The stretches that are encoded as one: a raw turn alone, everything between two of them together."""
    run: list[Segment] = []
    for segment in segments:
        if segment.kind == "raw":
            if run:
                yield run
            yield [segment]
            run = []
        else:
            run.append(segment)
    if run:
        yield run


def _frames(run: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Maximal stretches of a run that the template wrote."""
    start = end = -1
    for segment in run:
        if segment.kind == "data":
            continue
        if segment.start == end:
            end = segment.end
        else:
            if end > start:
                yield start, end
            start, end = segment.start, segment.end
    if end > start:
        yield start, end


def _encode_run(text: str, run: Sequence[Segment], encoder: Encoder, pattern: re.Pattern[str]) -> list[int]:
    begin, end = run[0].start, run[-1].end
    splits = [m.span() for start, stop in _frames(run) for m in pattern.finditer(text, start, stop)]
    return _encode_split(text, begin, end, splits, encoder, pattern)


def _encode_turn(text: str, begin: int, stop: int, encoder: Encoder, pattern: re.Pattern[str]) -> list[int]:
    """The ids of what a model wrote, of which only the text is known, up to its stop text.

    Tags are taken for tokens, which a model samples where it writes them. Tokens like `<|im_end|>` are not: the engine
    would have stopped, or never lets them be sampled.
    """
    splits = [m.span() for m in pattern.finditer(text, begin, stop) if not m[0].startswith("<|")]
    return _encode_split(text, begin, stop, splits, encoder, pattern)


def _encode_split(
    text: str, begin: int, end: int, splits: Sequence[tuple[int, int]], encoder: Encoder, pattern: re.Pattern[str]
) -> list[int]:
    """The ids of `text[begin:end]`, in which `splits` are the added tokens."""
    if splits == [m.span() for m in pattern.finditer(text, begin, end)]:
        return encoder.encode(text[begin:end], specials=True)
    ids: list[int] = []
    assert encoder.added is not None
    for start, stop in [*splits, (end, end)]:
        piece = text[begin:start]
        if piece:
            spelled = pattern.search(piece) is not None
            try:
                ids += encoder.encode(piece, specials=not spelled)
            except TypeError as e:
                raise TypeError(
                    f'text that is no frame spells an added token ({piece!r:.80}): {e}, or specials_in_data="template"'
                ) from None
        if stop > start:
            ids.append(encoder.added[text[start:stop]])
        begin = stop
    return ids


def encode_segments(
    text: str,
    segments: Sequence[Segment],
    tokenizer: Any,
    *,
    specials_in_data: str = "text",
    known: Mapping[int, Known] | None = None,
) -> list[int]:
    """The ids of `text`, of which `segments` is a gap-free cover (see `Prompt.ids`).

    `known`: where a raw turn begins -> what is known of its tokens; what is not known is encoded, every raw turn apart
    from what stands around it.
    """
    if specials_in_data not in ("text", "template"):
        raise FormatError(f"specials_in_data={specials_in_data!r}: it takes 'text' or 'template'")
    encoder = Encoder(tokenizer)
    pattern = _pattern(encoder.added) if specials_in_data == "text" and encoder.added else None
    ids: list[int] = []
    for run in _runs(segments):
        start, end = run[0].start, run[-1].end
        stop = start
        if run[0].kind == "raw" and known is not None and start in known:
            turn = known[start]
            ids += turn.ids
            start, stop = start + turn.ids_end, start + turn.stop
            if start < stop and pattern is not None:
                ids += _encode_turn(text, start, stop, encoder, pattern)
                start = stop
        if start >= end:
            continue
        if pattern is None or run[0].kind == "raw":
            ids += encoder.encode(text[start:end], specials=True)
        else:
            ids += _encode_run(text, run, encoder, pattern)
    return ids
