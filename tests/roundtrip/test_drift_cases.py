"""The recorded rows: positions in bytes and tokens, causes, and what splicing makes of the same turns."""

from __future__ import annotations

from typing import Any

import pytest
from real_tokenizers import tokenizer
from roundtrip.support import drift_rows, row_format, row_turn

from qwenparse import Parser, Prompt, Turn, digest, render_prompt
from qwenparse.drift import CAUSES, Drift, explain
from qwenparse.store import MemoryStore
from qwenparse.tokens import Encoder, TokenTable

ROWS = drift_rows()
NAMES = [row["name"] for row in ROWS]
HEAD_DIFFERS = {"effort_changed", "thinking_toggled", "think_marker_v22", "think_off_v22"}


@pytest.fixture(scope="module")
def qwen() -> Any:
    return tokenizer("qwen3.5")


def recorded(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("cause", "first_diff_byte", "first_diff_byte_in_turn", "first_diff_token", "first_diff_token_in_turn")
    return (*(row[name] for name in names), row["tokens_lost"], row["turn_share_lost"])


def found(drift: Drift) -> tuple[Any, ...]:
    assert drift.lost_share is not None
    return (
        drift.cause, drift.first_diff_byte, drift.first_diff_byte_in_turn, drift.first_diff_token,
        drift.first_diff_token_in_turn, drift.lost_tokens, round(drift.lost_share, 4),
    )  # fmt: skip


def test_there_are_61() -> None:
    assert len(ROWS) == 61 and {row["cause"] for row in ROWS} < set(CAUSES)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_explain(row: dict[str, Any], qwen: Any) -> None:
    turn, format = row_turn(row), row_format(row)
    whole, after = row["prompt"] + row["raw"], row["next_prompt"]
    by_turn = explain(whole, after, turn=turn, tokenizer=qwen)
    assert found(by_turn) == recorded(row)
    assert explain(Prompt(row["prompt"], format), after, turn=turn, tokenizer=qwen) == by_turn
    by_place = explain(whole, after, turn=len(row["prompt"]), format=format, tools=row["tools"], tokenizer=qwen)
    assert found(by_place) == recorded(row)
    assert bool(by_turn) == (row["cause"] != "none")
    bytes_only = explain(whole, after, turn=turn)
    cause = "none" if row["cause"] == "token_seam" else row["cause"]
    assert (bytes_only.cause, bytes_only.first_diff_byte, bytes_only.lost_tokens) == (cause, row["first_diff_byte"], None)
    assert row["cause"] in str(by_turn) and "\n" not in str(by_turn)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_explain_from_logged_ids(row: dict[str, Any], qwen: Any) -> None:
    encode = Encoder(qwen).encode
    prompt, turn = encode(row["prompt"], specials=True), encode(row["raw"], specials=True)
    after = encode(row["next_prompt"], specials=True)
    bare = explain(prompt + turn, after, turn=len(prompt))
    assert (bare.first_diff_token, bare.first_diff_token_in_turn) == (row["first_diff_token"], row["first_diff_token_in_turn"])
    assert (bare.lost_tokens, bare.equal_prefix_tokens) == (row["tokens_lost"], len(prompt + turn) - row["tokens_lost"])
    assert bare.cause == ("none" if row["token_prefix"] else "unknown") and bare.first_diff_byte is None
    read = explain(prompt + turn, after, turn=len(prompt), format=row_format(row), tools=row["tools"], tokenizer=qwen)
    assert found(read) == recorded(row)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_splice(row: dict[str, Any], qwen: Any) -> None:
    turn, format = row_turn(row), row_format(row)
    prompt = Prompt(row["prompt"], format)
    held = prompt.ids(qwen) + Encoder(qwen).encode(row["raw"], specials=True)
    assert len(held) == row["prompt_tokens"] + row["turn_tokens"]
    spliced = prompt.extend(turn, row["new_messages"], **row["kwargs_next"])
    assert spliced.text.startswith(row["prompt"] + row["raw"])
    ids = spliced.ids(qwen)
    assert ids[: len(held)] == held
    assert Prompt(row["prompt"], format).extend(turn, row["new_messages"], **row["kwargs_next"]).ids(qwen) == ids
    if row["cause"] == "none":
        assert spliced.text == row["next_prompt"]
    drift = explain(prompt, spliced, turn=turn, tokenizer=qwen)
    assert drift.cause == "none" and drift.lost_tokens == 0
    segments = spliced.segments
    assert "".join(spliced.text[s.start : s.end] for s in segments) == spliced.text
    assert [spliced.text[s.start : s.end] for s in segments if s.kind == "raw"] == [row["raw"]]
    assert {s.turn for s in segments if s.kind == "raw"} == {turn.digest()}


def test_splice_by_ids(qwen: Any) -> None:
    """A turn that was fed by ids keeps the ids that were sampled, whatever the tokenizer makes of its text."""
    table = TokenTable.from_tokenizer(qwen)
    for row in ROWS:
        prompt = Prompt(row["prompt"], row_format(row))
        sampled = [i for piece in row["raw"] for i in Encoder(qwen).encode(piece, specials=True)]
        if row["closed"]:
            sampled[-len("<|im_end|>") :] = Encoder(qwen).encode("<|im_end|>", specials=True)
        parser = Parser.for_prompt(row["prompt"], format=row_format(row), tools=row["tools"], tokens=table, tags="text")
        parser.feed_ids(sampled)
        parser.close()
        turn = parser.turn
        assert turn.raw == row["raw"]
        for each in (turn, Turn.from_blob(turn.to_blob())):
            ids = prompt.extend(each, row["new_messages"], **row["kwargs_next"]).ids(qwen)
            held = prompt.ids(qwen) + sampled
            assert ids[: len(held)] == held


def test_render_with_a_store(qwen: Any) -> None:
    """With the head as it was, a fresh render with the store is the same text as `extend`."""
    reached = set()
    for row in ROWS:
        if row["template"].startswith("froggeric"):
            continue
        format, turn = row_format(row), row_turn(row)
        store = MemoryStore()
        assert store.remember(row["messages"], turn)
        history = [*row["messages"], turn.message(), *row["new_messages"]]
        settings = {"tools": row["tools"], "normalize": "openai", "history_thinking": "raw", **row["kwargs_next"]}
        prompt = render_prompt(history, format, turns=store, **settings)
        rendered = render_prompt(row["messages"], format, tools=row["tools"], **row["kwargs"])
        assert rendered.text == row["prompt"]
        if prompt.text.startswith(row["prompt"] + row["raw"]):
            reached.add(row["name"])
            assert prompt.text == rendered.extend(turn, row["new_messages"], **row["kwargs_next"]).text
            held = rendered.ids(qwen) + Encoder(qwen).encode(row["raw"], specials=True)
            assert prompt.ids(qwen)[: len(held)] == held
    assert reached == set(NAMES) - HEAD_DIFFERS and len(reached) == 57


def test_what_the_recorded_clients_sent_back() -> None:
    """52 of the recorded messages are what the turn said; the others were changed by another parser on the way."""
    changed = {
        "raw_in_content_38", "raw_in_content_36", "number_big_int_float", "null_NULL", "null_none_35",
        "object_html_escape", "value_trimmed", "value_crlf", "coder_control",
    }  # fmt: skip
    assert {row["name"] for row in ROWS if digest(row["echoed_message"]) != row_turn(row).digest()} == changed
