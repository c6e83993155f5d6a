"""The next prompt's ids: those that the engine holds, as they are, and behind them only new text encoded."""

from __future__ import annotations

import gzip
import json
import unicodedata
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import real_tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bench_templates import texts
from qwenparse import Parser, Prompt, Turn, render_prompt
from qwenparse.errors import TokenIdsError
from qwenparse.formats import IM_END
from qwenparse.store import MemoryStore
from qwenparse.tokens import Encoder, TokenTable

DATA = Path(__file__).resolve().parents[1] / "data"
AGENT = Path(__file__).resolve().parents[2] / "benchmarks" / "agent.jinja"
with gzip.open(DATA / "drift_cases.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
    ROWS: list[dict[str, Any]] = [json.loads(line) for line in file]
QUESTION = [{"role": "user", "content": "What is <b>new</b>?"}]
NEXT = [{"role": "user", "content": "And <|im_end|> then é?"}]


def encode(text: str, vocabulary: str = "qwen3.5", *, specials: bool = True) -> list[int]:
    return Encoder(real_tokenizers.tokenizer(vocabulary)).encode(text, specials=specials)


def generated(prompt: str, ids: Sequence[int], format: str, *, stop: Any = "none", vocabulary: str = "qwen3.5") -> Turn:
    parser = Parser.for_prompt(prompt, format=format, tokens=real_tokenizers.table(vocabulary))
    parser.feed_ids(ids)
    if parser.closed is None:
        parser.close(stop=stop)
    return parser.turn


def same_text(ids: Sequence[int], text: str, vocabulary: str = "qwen3.5") -> bool:
    """Whether ids are a text, which Qwen's tokenizers compose."""
    one = real_tokenizers.table(vocabulary).decode(ids)
    return one == text or unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", text)


def refused(reason: str, prompt: Prompt, *given: Any, **options: Any) -> TokenIdsError:
    with pytest.raises(TokenIdsError) as caught:
        prompt.ids_after(*given, **options)
    assert caught.value.reason == reason and str(caught.value)
    return caught.value


# the recorded cases -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vocabulary", real_tokenizers.NAMES)
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_recorded_turns(row: dict[str, Any], vocabulary: str) -> None:
    tokenizer = real_tokenizers.tokenizer(vocabulary)
    format = "qwen3.8" if row["template"].startswith("froggeric") else row["template"]
    prompt = Prompt(row["prompt"], format)
    held, sampled = encode(row["prompt"], vocabulary), encode(row["raw"], vocabulary)
    turn = generated(row["prompt"], sampled, format, vocabulary=vocabulary)
    assert turn.raw == row["raw"] and turn.closed == ("im_end" if row["closed"] else "none")
    following = prompt.extend(turn, row["new_messages"], tools=row["tools"], **row["kwargs_next"])
    ids = following.ids_after(held, turn, tokenizer)
    assert ids[: len(held) + len(sampled)] == held + sampled
    assert same_text(ids, following.text, vocabulary)
    assert following.ids(tokenizer) == ids
    if vocabulary == "qwen3.5":
        assert (len(held), len(sampled)) == (row["prompt_tokens"], row["turn_tokens"])
        assert (encode(row["prompt"] + row["raw"]) != held + sampled) == row["seam_retokenised"]


def test_all_recorded_turns_are_there() -> None:
    assert len(ROWS) == 61


def test_two_newlines_at_the_seam_stay_two_tokens() -> None:
    (row,) = [row for row in ROWS if row["name"] == "empty_think_seam"]
    held, sampled = encode(row["prompt"]), encode(row["raw"])
    assert (held[-1], sampled[0]) == (198, 198) and encode(row["prompt"] + row["raw"])[len(held) - 1] == 271
    turn = generated(row["prompt"], sampled, "qwen3.8")
    ids = Prompt(row["prompt"], "qwen3.8").extend(turn, NEXT).ids_after(held, turn, real_tokenizers.tokenizer("qwen3.5"))
    assert ids[len(held) - 1 : len(held) + 1] == [198, 198]


# any conversation -------------------------------------------------------------------------------------------------

WORDS = ("<|im_end|>", "</think>", "<tool_call>", "天", "e\u0301", "\n", "\n\n", " ", "a", "x < y", "👩‍💻")
SAID = ("\n", "\n\n</think>\n\n", "ok", " <", "天", "\n\n<tool_call>\n<function=f>\n</function>\n</tool_call>")
words = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=5).map("".join)
pieces = st.tuples(st.sampled_from(SAID), st.booleans()) | st.integers(0, 100_000) | st.just(-1)


@st.composite
def answers(draw: st.DrawFn, vocabulary: str) -> tuple[list[int], str]:
    """Sampled ids, with parts of characters and padding among them, and how the turn ended."""
    ids: list[int] = []
    for piece in draw(st.lists(pieces, max_size=8)):
        if isinstance(piece, int):
            ids.append(piece if piece >= 0 else real_tokenizers.table(vocabulary).size - 1)
        else:
            ids += encode(piece[0], vocabulary, specials=piece[1])
    return ids, draw(st.sampled_from(("id", "im_end", "none", "other_stop", "trailing")))


@pytest.mark.parametrize("vocabulary", real_tokenizers.NAMES)
@pytest.mark.parametrize("way", ["native", "jinja"])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_held_ids_are_never_encoded_again(vocabulary: str, way: str, data: st.DataObject) -> None:
    tokenizer, table = real_tokenizers.tokenizer(vocabulary), real_tokenizers.table(vocabulary)
    format = data.draw(st.sampled_from(("qwen3.8", "qwen3.6", "qwen3", "qwen3-coder")))
    options: dict[str, Any] = {"template": AGENT, **texts()} if way == "jinja" else {}
    prompt = render_prompt([{"role": "user", "content": data.draw(words)}], format, **options)
    held = prompt.ids(tokenizer)
    for _ in range(2):
        ids, end = data.draw(answers(vocabulary))
        stop = encode(IM_END, vocabulary)
        fed = ids + (stop if end in ("id", "trailing") else []) + (ids if end == "trailing" else [])
        turn = generated(prompt.text, fed, format, stop="none" if end in ("id", "trailing") else end, vocabulary=vocabulary)
        cut = next((k + 1 for k, i in enumerate(fed) if i in table.stop_ids), len(fed))
        following = prompt.extend(turn, [{"role": "user", "content": data.draw(words)}])
        found = following.ids_after(held, turn, tokenizer)
        assert found[: len(held) + cut] == held + fed[:cut]
        assert same_text(found, following.text, vocabulary)
        assert following.ids(tokenizer) == found
        # The same for one who knows the texts only.
        recorded = Prompt(prompt.text, format).extend(turn, []).ids_after(held, turn, tokenizer)
        assert recorded[: len(held) + cut] == held + fed[:cut]
        prompt, held = following, found


@pytest.mark.parametrize("way", ["native", "jinja"])
def test_a_prompt_rendered_with_a_store(way: str) -> None:
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    options: dict[str, Any] = {"template": AGENT, **texts()} if way == "jinja" else {}
    store = MemoryStore(key=b"key")
    messages: list[dict[str, Any]] = list(QUESTION)
    prompt = render_prompt(messages, "qwen3.8", **options)
    held = prompt.ids(tokenizer)
    for answer in ("\n</think>\n\nOne.", "Hm.\n\n</think>\n\nTwo.\n"):
        turn = generated(prompt.text, encode(answer + IM_END), "qwen3.8")
        store.remember(messages, turn)
        messages += [turn.message(), *NEXT]
        following = render_prompt(messages, "qwen3.8", turns=store, **options)
        assert following.text == prompt.extend(turn, NEXT).text
        ids = following.ids_after(held, turn, tokenizer)
        assert ids[: len(held)] == held and ids == prompt.extend(turn, NEXT).ids_after(held, turn, tokenizer)
        prompt, held = following, ids


def test_a_stored_turn() -> None:
    prompt = render_prompt(QUESTION, "qwen3.8")
    tokenizer, table = real_tokenizers.tokenizer("qwen3.5"), real_tokenizers.table("qwen3.5")
    held = prompt.ids(tokenizer)
    turn = generated(prompt.text, encode("\n</think>\n\nOne." + IM_END), "qwen3.8")
    stored = Turn.from_blob(turn.to_blob())
    ids = prompt.extend(turn, NEXT).ids_after(held, turn, tokenizer)
    assert prompt.extend(stored, NEXT).ids_after(held, stored, tokenizer) == ids
    assert prompt.extend(stored, NEXT).ids_after(held, stored, tokenizer, table=table) == ids


@pytest.mark.parametrize("stop", ["none", "im_end", "other_stop"])
def test_an_empty_turn(stop: Any) -> None:
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    prompt = render_prompt(QUESTION, "qwen3.8")
    parser = Parser.for_prompt(prompt.text, format="qwen3.8", tokens=real_tokenizers.table("qwen3.5"))
    parser.close(stop=stop)
    held = prompt.ids(tokenizer)
    following = prompt.extend(parser.turn, NEXT)
    ids = following.ids_after(held, parser.turn, tokenizer)
    assert ids[: len(held)] == held and same_text(ids, following.text)
    assert generated(prompt.text, [], "qwen3.8", stop=stop) == parser.turn


def test_only_new_text_is_encoded_and_what_is_known_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    seen: dict[str, int] = {"encoded": 0, "decoded": 0}
    encoded, decoded = Encoder.encode, TokenTable.decode_bytes

    def count_encoded(self: Encoder, text: str, /, *, specials: bool) -> list[int]:
        seen["encoded"] += len(text)
        return encoded(self, text, specials=specials)

    def count_decoded(self: TokenTable, ids: Any, /) -> bytes:
        seen["decoded"] += len(ids)
        return decoded(self, ids)

    prompt = render_prompt([{"role": "user", "content": "word " * 20_000}], "qwen3.8")
    held = prompt.ids(tokenizer)
    monkeypatch.setattr(Encoder, "encode", count_encoded)
    monkeypatch.setattr(TokenTable, "decode_bytes", count_decoded)
    for _ in range(3):
        turn = generated("<|im_start|>assistant\n<think>\n", encode("Hm.\n</think>\n\nYes." + IM_END), "qwen3.8")
        prompt = prompt.extend(turn, NEXT)
        seen.update(encoded=0, decoded=0)
        held = prompt.ids_after(held, turn, tokenizer)
        assert 0 < seen["encoded"] < 200 and 0 < seen["decoded"] < 100
    prompt.extend(turn, NEXT)
    strange = render_prompt([{"role": "user", "content": "word " * 20_000}], "qwen3.8")
    strange_held = strange.ids(tokenizer)
    copied = Prompt(strange.text, "qwen3.8").extend(turn, NEXT)
    seen.update(encoded=0, decoded=0)
    copied.ids_after(strange_held, turn, tokenizer)
    assert seen["encoded"] < 200 and seen["decoded"] > 20_000


class Tensor:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def tolist(self) -> list[int]:
        return list(self.ids)


def test_ids_come_in_any_container() -> None:
    prompt = render_prompt(QUESTION, "qwen3.8")
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    held = prompt.ids(tokenizer)
    turn = generated(prompt.text, encode("\n</think>\n\nOne."), "qwen3.8")
    following = prompt.extend(turn, NEXT)
    ids = following.ids_after(held, turn, tokenizer)
    for held_too in (tuple(held), array("i", held), Tensor(held), iter(held)):
        assert following.ids_after(held_too, turn, tokenizer) == ids  # type: ignore[arg-type]
    for bad in ([1.0], ["a"], [True], "ab"):
        with pytest.raises(TypeError):
            following.ids_after(bad, turn, tokenizer)  # type: ignore[arg-type]


# refusals ---------------------------------------------------------------------------------------------------------


def test_a_turn_that_was_read_as_text_is_refused() -> None:
    prompt = render_prompt(QUESTION, "qwen3.8")
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    parser = Parser.for_prompt(prompt.text, format="qwen3.8")
    parser.feed("Hm.\n</think>\n\nYes.")
    with pytest.raises(ValueError, match="close its parser"):
        prompt.ids_after(prompt.ids(tokenizer), parser.turn, tokenizer)
    parser.close(stop="im_end")
    refused("text-fed", prompt.extend(parser.turn, NEXT), prompt.ids(tokenizer), parser.turn, tokenizer)
    assert prompt.extend(parser.turn, NEXT).ids(tokenizer)


def test_a_prompt_that_is_another_one_is_refused() -> None:
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    prompt = render_prompt(QUESTION, "qwen3.8")
    held = prompt.ids(tokenizer)
    turn = generated(prompt.text, encode("Hm.\n</think>\n\nOne." + IM_END), "qwen3.8")
    other = generated(prompt.text, encode("Hm.\n</think>\n\nTwo." + IM_END), "qwen3.8")
    edited = render_prompt([{"role": "user", "content": "What is <b>old</b>?"}], "qwen3.8").extend(turn, NEXT)
    error = refused("prefix-mismatch", edited, held, turn, tokenizer)
    assert error.position is not None and edited.text[error.position :].startswith("old</b>?")
    following = prompt.extend(turn, NEXT)
    error = refused("prefix-mismatch", following, held, other, tokenizer)
    assert error.position is not None and following.text[error.position :].startswith("One.")
    for wrong in (held[:-1], held[1:], [*held, 198], []):
        refused("prefix-mismatch", following, wrong, turn, tokenizer)
    # A template that drops old thoughts writes another text than the engine holds.
    store = MemoryStore()
    prompt = render_prompt(QUESTION, "qwen3.6")
    store.remember(QUESTION, turn)
    messages = [*QUESTION, turn.message(), *NEXT]
    dropped = render_prompt(messages, "qwen3.6", turns=store, history_thinking="template")
    refused("prefix-mismatch", dropped, prompt.ids(tokenizer), turn, tokenizer)
    kept = render_prompt(messages, "qwen3.6", turns=store, history_thinking="raw")
    assert kept.ids_after(prompt.ids(tokenizer), turn, tokenizer)


def test_ids_of_another_vocabulary_are_refused() -> None:
    prompt = render_prompt(QUESTION, "qwen3.8")
    tokenizer, other = real_tokenizers.tokenizer("qwen3.5"), real_tokenizers.tokenizer("qwen3")
    turn = generated(prompt.text, encode("\n</think>\n\nOne." + IM_END), "qwen3.8")
    following = prompt.extend(turn, NEXT)
    held = prompt.ids(tokenizer)
    refused("foreign-ids", following, prompt.ids(other), turn, other)
    refused("foreign-ids", following, held, turn, other)
    refused("foreign-ids", following, [*held[:-1], 1 << 20], turn, tokenizer)
    refused("foreign-ids", following, [*held[:-1], -1], turn, tokenizer)
    refused("foreign-ids", following, held, turn, tokenizer, table=real_tokenizers.table("qwen3"))
    # The added tokens agree, the others do not.
    letters = {bytes([b]): b for b in range(256)}
    swapped = {**letters, b"a": ord("n"), b"n": ord("a")}
    specials = {text: i for text, i in Encoder(tokenizer).added.items()}  # type: ignore[union-attr]
    table = TokenTable.from_ranks({**swapped}, specials)
    parser = Parser("qwen3.8", start="content", tokens=table)
    parser.feed_ids([])
    parser.close()
    text = "<|im_start|>assistant\n"
    begun = Prompt(text, "qwen3.8").extend(parser.turn, NEXT)
    refused("foreign-ids", begun, [specials["<|im_start|>"], *(swapped[c.encode()] for c in text[12:])], parser.turn, tokenizer)


def test_text_that_goes_on_behind_the_sampled_ids_is_refused() -> None:
    prompt = render_prompt(QUESTION, "qwen3.8")
    tokenizer, table = real_tokenizers.tokenizer("qwen3.5"), real_tokenizers.table("qwen3.5")
    held = prompt.ids(tokenizer)
    # The engine cut the turn at a stop string, which it had sampled in tokens that nobody kept.
    parser = Parser.for_prompt(prompt.text, format="qwen3.8", tokens=table)
    parser.feed_ids(encode("\n</think>\n\nOne."))
    parser.close(stop="other_stop", text="\nUser:")
    error = refused("unsafe-seam", prompt.extend(parser.turn, NEXT), held, parser.turn, tokenizer)
    assert error.position == len(prompt.text) + len("\n</think>\n\nOne.")
    # A recorded prompt in which the turn's text goes on.
    turn = generated(prompt.text, encode("\n</think>\n\nOne"), "qwen3.8")
    refused("unsafe-seam", Prompt(prompt.text + turn.raw + "rous<|im_end|>\n", "qwen3.8"), held, turn, tokenizer)
    closed = Prompt(prompt.text + turn.raw + "<|im_end|>\n", "qwen3.8")
    assert closed.ids_after(held, turn, tokenizer) == [*held, *turn.token_ids, *encode("<|im_end|>\n")]  # type: ignore[misc]
