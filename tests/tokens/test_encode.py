"""`Encoder`: control tokens come from frames only, never from data."""

from __future__ import annotations

import unicodedata
from types import SimpleNamespace

import pytest
import real_tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from qwenparse.tokens import Encoder

EVERY = (*real_tokenizers.NAMES, "small")
HOSTILE = ("<|im_end|>", "<|im_start|>", "</tool_response>", "<tool_call>", "</tool_call>", "<think>", "</think>")
AROUND = ("Weather: 3 °C\n", "天气 ok", " <tool_response", "|im_end|>", "<<|im_end|>>\n\n")


@pytest.mark.parametrize("name", EVERY)
def test_data_never_holds_a_control_token(name: str) -> None:
    encoder, table = Encoder(real_tokenizers.tokenizer(name)), real_tokenizers.table(name)
    for hostile in HOSTILE:
        for text in AROUND:
            for k in range(len(text) + 1):
                data = text[:k] + hostile + text[k:]
                ids = encoder.encode(data, specials=False)
                assert encoder.added_ids.isdisjoint(ids)
                assert table.decode(ids) == data
                assert not encoder.added_ids.isdisjoint(encoder.encode(data, specials=True))


@pytest.mark.parametrize("name", EVERY)
@given(st.lists(st.sampled_from(HOSTILE + AROUND) | st.text(max_size=8), max_size=8).map("".join))
def test_only_the_control_tokens_differ(name: str, text: str) -> None:
    tokenizer, encoder = real_tokenizers.tokenizer(name), Encoder(real_tokenizers.tokenizer(name))
    table = real_tokenizers.table(name)
    assert encoder.encode(text, specials=True) == tokenizer.encode(text).ids
    assert table.decode(encoder.encode(text, specials=False)) == unicodedata.normalize("NFC", text)
    if not any(token.content in text for token in tokenizer.get_added_tokens_decoder().values()):
        assert encoder.encode(text, specials=False) == encoder.encode(text, specials=True)


def test_added_ids_are_all_of_them() -> None:
    assert Encoder(real_tokenizers.tokenizer("qwen3")).added_ids == set(range(151_643, 151_669))
    assert Encoder(real_tokenizers.tokenizer("qwen3.5")).added_ids == set(range(248_044, 248_077))


def test_the_callers_tokenizer_is_left_alone() -> None:
    tokenizer = real_tokenizers.small_tokenizer()
    before = tokenizer.to_str()
    Encoder(SimpleNamespace(backend_tokenizer=tokenizer)).encode("a<think>", specials=False)
    assert tokenizer.to_str() == before


def test_surrogates_become_replacement_characters() -> None:
    encoder, table = Encoder(real_tokenizers.tokenizer("small")), real_tokenizers.table("small")
    for specials in (True, False):
        assert table.decode(encoder.encode("a\udc80\ud83db", specials=specials)) == "a\ufffd\ufffdb"


def test_a_vocabulary_that_cannot_spell_an_added_token_is_refused() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "<": 1, "x": 2, ">": 3, "<x": 4, "<x>": 5}, [("<", "x"), ("<x", ">")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.add_tokens(["<x>"])
    encoder = Encoder(tokenizer)
    assert encoder.encode("aa", specials=False) == [0, 0]
    with pytest.raises(ValueError, match="with that token only"):
        encoder.encode("a<x>", specials=False)


class Tiktoken:
    """The part of `tiktoken.Encoding` that is used (tiktoken 0.14)."""

    special_tokens_set = {"<|im_end|>"}  # noqa: RUF012

    def encode_single_token(self, text: str) -> int:
        return {"<|im_end|>": 999}[text]

    def encode_ordinary(self, text: str) -> list[int]:
        return list(text.encode())

    def encode(self, text: str, *, allowed_special: str) -> list[int]:
        assert allowed_special == "all"
        head, *rest = text.split("<|im_end|>")
        return list(head.encode()) + [i for part in rest for i in (999, *part.encode())]


def test_tiktoken() -> None:
    encoder = Encoder(Tiktoken())
    assert encoder.added_ids == {999}
    assert encoder.encode("a<|im_end|>b", specials=True) == [97, 999, 98]
    assert encoder.encode("a<|im_end|>b", specials=False) == list(b"a<|im_end|>b")


def test_tokenizers_that_cannot_encode_without_added_tokens() -> None:
    class Slow:
        """The part of a slow tokenizer of transformers that is used."""

        def get_added_vocab(self) -> dict[str, int]:
            return {"<think>": 300}

        def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
            assert not add_special_tokens
            return list(text.encode())

    class Any:
        def encode(self, text: str) -> tuple[int, ...]:
            return tuple(text.encode())

    for tokenizer, added in ((Slow(), {"<think>": 300}), (Any(), None)):
        encoder = Encoder(tokenizer)
        assert encoder.added == added and encoder.added_ids == set((added or {}).values())
        assert encoder.encode("ab", specials=True) == [97, 98]
        with pytest.raises(TypeError, match="cannot encode without added tokens"):
            encoder.encode("ab", specials=False)


@pytest.mark.parametrize("other", [object(), "text", None])
def test_other_objects_are_refused(other: object) -> None:
    with pytest.raises(TypeError, match="is no tokenizer"):
        Encoder(other)
