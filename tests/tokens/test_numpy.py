"""Ids as numpy hands them over, and as tensors do: read in place, or by their integers; never guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qwenparse
from qwenparse import Parser, Prompt
from qwenparse.tokens import TokenTable, usage

BYTES = {bytes([b]): b for b in range(256)}
SPECIALS = {"<|im_start|>": 257, "<|im_end|>": 258, "</think>": 301}
TABLE = TokenTable.from_ranks(BYTES, SPECIALS, vocab_size=320)
TEXT = [*b"ab\n\n", 301, *"\n\nnaïve 天".encode()]


def parser() -> Parser:
    return Parser("qwen3.6", start="reasoning", tokens=TABLE)


def fed(*steps: Any) -> qwenparse.Turn:
    p = parser()
    for step in steps:
        p.feed_ids(step)
    p.close()
    return p.turn


EXPECTED = fed(TEXT)


class Scalar:
    """A tensor of no dimension: an integer by `__index__`, and by `tolist`."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def tolist(self) -> int:
        return self.value


class Tensor:
    """As torch's: no buffer, items that are tensors, `tolist`."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, k: int) -> Scalar:
        return Scalar(self.ids[k])

    def tolist(self) -> list[int]:
        return list(self.ids)


@pytest.mark.parametrize("kind", ["int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4", ">u2"])
def test_arrays(kind: str) -> None:
    ids = np.array(TEXT, kind)
    spread = np.zeros(3 * len(TEXT), kind)
    spread[::3] = ids
    backwards = ids[::-1].copy()
    frozen = ids.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"\0" + ids.tobytes(), kind, offset=1)  # not aligned
    views = [] if ids.dtype.byteorder == ">" else [memoryview(ids)]  # Python reads no memory of another byte order
    for given in (ids, spread[::3], backwards[::-1], frozen, shifted, list(ids), ids.reshape(1, -1)[0], *views):
        turn = fed(given)
        assert turn == EXPECTED and turn.token_ids == tuple(TEXT)
        assert all(type(i) is int for i in turn.token_ids or ())
    assert fed(*ids) == EXPECTED  # one scalar at a time
    assert fed(ids[:3], ids[3:3], ids[3:]) == EXPECTED


def test_tensors_and_other_integers() -> None:
    assert fed(Tensor(TEXT)) == EXPECTED
    assert fed(*map(Scalar, TEXT)) == EXPECTED
    assert fed([Scalar(i) for i in TEXT]) == EXPECTED


def test_the_callers_array_is_read_and_left_alone() -> None:
    ids = np.array(TEXT)
    p = parser()
    p.feed_ids(ids)
    ids[:] = 0
    ids.resize(1, refcheck=False)
    p.close()
    assert p.turn == EXPECTED


@pytest.mark.parametrize("bad", [[-1], [320], [1 << 40], [65, -5], [65, 320]])
def test_an_id_outside_the_table_consumes_nothing(bad: list[int]) -> None:
    p = parser()
    with pytest.raises(ValueError, match="table"):
        p.feed_ids(np.array(bad, "int64"))
    with pytest.raises(ValueError, match="table"):
        p.feed_ids(Tensor(bad))
    p.feed_ids(np.array(TEXT))
    p.close()
    assert p.turn == EXPECTED


@pytest.mark.parametrize("bad", [np.array([1.0]), np.array(["a"]), np.array([[65], [66]]), np.array([1j])])
def test_what_holds_no_ids_is_a_type_error(bad: Any) -> None:
    p = parser()
    with pytest.raises(TypeError):
        p.feed_ids(bad)
    assert p.held == "" and p.state == qwenparse.State.REASONING


def test_prompts_and_tables_take_arrays() -> None:
    assert TABLE.decode(np.array(TEXT)) == "ab\n\n</think>\n\nnaïve 天"
    assert usage(fed(np.array(TEXT)), TABLE) == usage(EXPECTED, TABLE)
    prompt = [257, *b"assistant\n<think>\n"]
    p = Parser.for_prompt(np.array(prompt), format="qwen3.6", tokens=TABLE)
    p.feed_ids(np.array(TEXT))
    p.close()
    assert p.gen_prefix == "<think>\n" and p.turn.reasoning == "ab"

    class Letters:
        """A tokenizer of bytes."""

        special_tokens_set = frozenset(SPECIALS)

        def encode_ordinary(self, text: str) -> list[int]:
            return list(text.encode())

        def encode_single_token(self, text: str) -> int:
            return SPECIALS[text]

        def encode(self, text: str, *, allowed_special: str) -> list[int]:
            for name, i in SPECIALS.items():
                head, found, rest = text.partition(name)
                if found:
                    return [*self.encode(head, allowed_special="all"), i, *self.encode(rest, allowed_special="all")]
            return list(text.encode())

    following = Prompt("<|im_start|>assistant\n<think>\n", "qwen3.6").extend(p.turn, [{"role": "user", "content": "?"}])
    for given in (np.array(prompt), np.array(prompt, "int32"), prompt):
        ids = following.ids_after(given, p.turn, Letters())  # type: ignore[arg-type]
        assert ids[: len(prompt) + len(TEXT)] == prompt + TEXT and all(type(i) is int for i in ids)
        assert TABLE.decode(ids) == following.text
