"""Token ids of a text in segments: added tokens count where the template wrote them, not where a message does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .errors import FormatError
from .templates.pieces import Segment


class _Encoder:
    """One face for the tokenizers people have.

    `whole(text)` recognises added tokens; `plain(text)` recognises none and is None where the tokenizer cannot do that;
    `added` maps the text of each added token to its id, None where the tokenizer does not tell.
    """

    __slots__ = ("added", "plain", "whole")

    def __init__(self, tokenizer: Any) -> None:
        fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
        self.added: dict[str, int] | None = None
        self.plain: Callable[[str], list[int]] | None = None
        self.whole: Callable[[str], list[int]]
        if hasattr(fast, "get_added_tokens_decoder") and hasattr(fast, "pre_tokenizer"):  # tokenizers.Tokenizer
            self.added = {token.content: number for number, token in fast.get_added_tokens_decoder().items()}
            self.whole = lambda text: list(fast.encode(text, add_special_tokens=False).ids)
            self.plain = lambda text: _model_ids(fast, text)
        elif hasattr(fast, "encode_ordinary"):  # tiktoken.Encoding
            self.added = {text: fast.encode_single_token(text) for text in fast.special_tokens_set}
            self.whole = lambda text: list(fast.encode(text, allowed_special="all"))
            self.plain = lambda text: list(fast.encode_ordinary(text))
        else:
            if hasattr(fast, "get_added_vocab"):  # transformers, slow
                self.added = dict(fast.get_added_vocab())
                self.whole = lambda text: list(fast.encode(text, add_special_tokens=False))
            else:
                self.whole = lambda text: _ids(fast.encode(text))


def _ids(encoded: Any) -> list[int]:
    return list(getattr(encoded, "ids", encoded))


def _model_ids(tokenizer: Any, text: str) -> list[int]:
    """The ids a `tokenizers.Tokenizer` gives if it had no added tokens: its own steps without the first one."""
    if tokenizer.normalizer is not None:
        text = tokenizer.normalizer.normalize_str(text)
    if tokenizer.pre_tokenizer is None:
        words = [text]
    else:
        words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    model = tokenizer.model
    return [token.id for word in words for token in model.tokenize(word)]


def _pattern(added: dict[str, int]) -> re.Pattern[str] | None:
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


def _encode_run(text: str, run: Sequence[Segment], encoder: _Encoder, pattern: re.Pattern[str]) -> list[int]:
    begin, end = run[0].start, run[-1].end
    splits = [m.span() for start, stop in _frames(run) for m in pattern.finditer(text, start, stop)]
    if splits == [m.span() for m in pattern.finditer(text, begin, end)]:
        return encoder.whole(text[begin:end])
    ids: list[int] = []
    assert encoder.added is not None
    for start, stop in [*splits, (end, end)]:
        piece = text[begin:start]
        if piece:
            if pattern.search(piece) is None:
                ids += encoder.whole(piece)
            elif encoder.plain is None:
                raise TypeError(
                    f"text from a message spells an added token ({piece!r:.80}), and this tokenizer cannot encode "
                    'without added tokens; use a tokenizers.Tokenizer, or specials_in_data="template"'
                )
            else:
                ids += encoder.plain(piece)
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
    raw_ids: Callable[[Segment], Sequence[int] | None] | None = None,
) -> list[int]:
    """The ids of `text`, whose gap-free cover is `segments` (see `Prompt.ids`).

    `raw_ids` gives the sampled ids of a raw segment where they are known; the others are encoded apart.
    """
    if specials_in_data not in ("text", "template"):
        raise FormatError(f"specials_in_data={specials_in_data!r}: it takes 'text' or 'template'")
    encoder = _Encoder(tokenizer)
    pattern = _pattern(encoder.added) if specials_in_data == "text" and encoder.added else None
    ids: list[int] = []
    for run in _runs(segments):
        start, end = run[0].start, run[-1].end
        if run[0].kind == "raw":
            known = raw_ids(run[0]) if raw_ids is not None else None
            ids += encoder.whole(text[start:end]) if known is None else known
        elif pattern is None:
            ids += encoder.whole(text[start:end])
        else:
            ids += _encode_run(text, run, encoder, pattern)
    return ids
