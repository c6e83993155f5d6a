"""Help for tests of code that uses this package: cuttings, event comparison, Hypothesis strategies.

>>> from qwenparse import Parser
>>> from qwenparse.testing import assert_split_invariant
>>> assert_split_invariant(lambda: Parser("qwen3.5"), "Plan.\\n</think>\\n\\nHi")
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .. import ArgumentDelta, ContentDelta, Event, Markup, Parser, ReasoningDelta
from .grammar import Grammar, crossover, mutate

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "Grammar", "assert_split_invariant", "completions", "crossover", "damaged", "mutate", "normalize", "random_split",
    "splits",
]  # fmt: skip

Text = TypeVar("Text", str, bytes)


def normalize(events: Iterable[Event]) -> list[Event]:
    """The events with neighbours of one kind merged: equal for every cutting of one input.

    Merged are `ReasoningDelta`, `ContentDelta`, `ArgumentDelta` of one call, and `Markup` of one kind.
    """
    merged: list[Event] = []
    texts: list[str] = []
    start, key = 0, cast(Any, None)

    def flush() -> None:
        if key is not None:
            merged.append(_MAKE[type(key)](key, "".join(texts), start))

    for event in events:
        make = _MAKE.get(type(event))
        if make is None:
            flush()
            key = None
            merged.append(event)
        elif key is not None and type(event) is type(key) and _label(event) == _label(key):
            texts.append(event.raw)
        else:
            flush()
            key, texts, start = event, [event.raw], event.start
    flush()
    return merged


_MAKE: dict[type[Event], Callable[[Any, str, int], Event]] = {
    ReasoningDelta: lambda _, raw, start: ReasoningDelta(raw, start),
    ContentDelta: lambda _, raw, start: ContentDelta(raw, start),
    ArgumentDelta: lambda e, raw, start: ArgumentDelta(e.index, raw, start),
    Markup: lambda e, raw, start: Markup(e.kind, raw, start),
}


def _label(event: Event) -> object:
    if isinstance(event, Markup):
        return event.kind
    return event.index if isinstance(event, ArgumentDelta) else None


def random_split(rng: random.Random, data: Text, pieces: int | None = None) -> list[Text]:
    """`data` cut at random places, empty pieces among them; about `pieces` of them (default: about a tenth of the
    length)."""
    count = len(data) // 10 + 1 if pieces is None else pieces - 1
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(count))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def splits(data: Text, *, seed: int = 0, random_cuts: int = 3) -> Iterator[list[Text]]:
    """Ways of cutting `data`: whole, every unit alone, in twos and threes, then `random_cuts` at random."""
    yield [data]
    for size in (1, 2, 3):
        yield [data[i : i + size] for i in range(0, len(data), size)]
    rng = random.Random(seed)
    for _ in range(random_cuts):
        yield random_split(rng, data)


def assert_split_invariant(make: Callable[[], Parser], text: str | bytes, *, stop: str = "none", seed: int = 0) -> None:
    """Feed `text` to fresh parsers in every way of `splits`, as `str` and as bytes, and compare the normalized events;
    also that the events join to the input. AssertionError names the cutting that differs."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    read = raw.decode("utf-8", "surrogateescape")
    inputs: list[Sequence[str | bytes]] = [*splits(read, seed=seed), *splits(raw, seed=seed)]
    if isinstance(text, str) and read != text:
        inputs = [*splits(text, seed=seed)]  # lone surrogates: not the same input as their bytes
        read = text
    first: list[Event] | None = None
    for pieces in inputs:
        parser = make()
        events = [e for piece in pieces for e in parser.feed(piece)]
        events += parser.close(stop=cast(Any, stop))
        joined = "".join(e.raw for e in events if e.raw)
        assert joined.startswith(read), f"the events do not join to the input, cut as {pieces!r}"
        merged = normalize(events)
        if first is None:
            first = merged
        assert merged == first, f"cut as {pieces!r}\n{merged!r}\nis not\n{first!r}"


def completions(mischief: float = 0.12) -> SearchStrategy[str]:
    """A Hypothesis strategy for near-valid completions (`grammar.Grammar`)."""
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(lambda rng: Grammar(rng, mischief).completion())


def damaged(mischief: float = 0.12) -> SearchStrategy[bytes]:
    """A Hypothesis strategy for completions as bytes, with a tag, a `>` or a newline dropped, a call doubled, cut or
    spliced, broken UTF-8 among them (`grammar.mutate`)."""
    from hypothesis import strategies as st

    def make(rng: random.Random) -> bytes:
        return mutate(rng, Grammar(rng, mischief).completion().encode("utf-8", "surrogatepass"))

    return st.randoms(use_true_random=False).map(make)
