"""Token spans and counts."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import real_tokenizers

import qwenparse
from benchmarks.corpus import TOOLS, corpus
from qwenparse.tokens import Encoder, TokenTable, Usage, token_spans, usage

TABLE = TokenTable.from_ranks(
    {bytes([b]): b for b in range(256)},
    {"<|im_end|>": 258, "<think>": 300, "</think>": 301, "<tool_call>": 302, "</tool_call>": 303},
    vocab_size=320,
)


def read(ids: list[int], stop: str = "none") -> qwenparse.Turn:
    parser = qwenparse.Parser("qwen3.6", start="reasoning", tokens=TABLE)
    parser.feed_ids(ids)
    parser.close(stop=stop)  # type: ignore[arg-type]
    return parser.turn


CALL = [302, *b"\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n", 303]


def test_each_token_is_counted_once_where_it_belongs() -> None:
    turn = read([*b"Plan.\n", 301, *b"\n\nYes.\n\n", *CALL, *b"\n", *CALL, 258, *b"\n"])
    assert usage(turn, TABLE) == Usage(reasoning=7, content=4, tool_calls=2 * len(CALL) + 1, layout=6)
    assert usage(turn, TABLE).total == len(turn.token_ids or ())


def test_spans_in_tokens() -> None:
    turn = read([*"天".encode(), 301, *b"\n\n", *"né".encode(), 310, 258])
    assert token_spans(turn, TABLE) == (
        ("think_body", 0, 3), ("think_close", 3, 4), ("ws", 4, 6), ("content", 6, 9), ("stop", 9, 11)
    )  # fmt: skip
    assert [span.kind for span in token_spans(turn, TABLE)] == [span.kind for span in turn.spans]


def test_a_token_over_a_border_belongs_where_it_begins() -> None:
    table = TokenTable.from_ranks({b"Plan.\n": 0, b"\n\nYes": 1}, {"</think>": 2})
    parser = qwenparse.Parser("qwen3.6", start="reasoning", tokens=table)
    parser.feed_ids([0, 2, 1])
    parser.close()
    assert token_spans(parser.turn, table) == (
        ("think_body", 0, 1), ("ws", 1, 1), ("think_close", 1, 2), ("ws", 2, 3), ("content", 3, 3)
    )  # fmt: skip
    assert usage(parser.turn, table) == Usage(reasoning=2, content=0, tool_calls=0, layout=1)


def test_a_stop_given_at_close_is_no_token() -> None:
    turn = read([*b"x", 301, *b"y"], stop="im_end")
    assert usage(turn, TABLE) == Usage(reasoning=2, content=1, tool_calls=0, layout=0)
    assert token_spans(turn, TABLE)[-1] == ("stop", 3, 3)


def test_broken_bytes_and_ids_without_bytes() -> None:
    turn = read([0xE5, 0xA4, 301, 0xFF, 311, 97, 311])
    assert usage(turn, TABLE) == Usage(reasoning=3, content=4, tool_calls=0, layout=0)


def test_an_empty_turn() -> None:
    assert usage(read([]), TABLE) == Usage(0, 0, 0, 0) and token_spans(read([]), TABLE) == ()


def test_corpus_counts_are_those_of_the_pieces() -> None:
    for turn in corpus(60):
        table, encoder = real_tokenizers.table(turn.vocabulary), Encoder(real_tokenizers.tokenizer(turn.vocabulary))
        parser = qwenparse.Parser(turn.format, tools=TOOLS, start=turn.start, tokens=table)
        ids = turn.ids(encoder)
        parser.feed_ids(ids)
        parser.close(stop="im_end")
        spans = token_spans(parser.turn, table)
        assert spans[0].start == 0 and all(a.end == b.start for a, b in pairwise(spans))
        counted = usage(parser.turn, table)
        assert counted.total == len(ids) and (counted.tool_calls > 0) == bool(turn.calls)
        if turn.reasoning is not None:
            close = ids.index(table.tag_ids["</think>"])
            assert counted.reasoning == close + 1


def test_turns_that_were_not_fed_by_these_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="fed as text"):
        usage(qwenparse.parse("x", "qwen3.6"), TABLE)
    other = TokenTable.from_ranks({bytes([255 - b]): b for b in range(256)}, {}, vocab_size=320)
    with pytest.raises(ValueError, match="not those of this table"):
        usage(read([*b"abc"]), other)


def test_the_reasoning_budget_of_the_documentation_works() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tokens.md").read_text("utf-8")
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def generate" in block]
    names: dict[str, Any] = {}
    exec(source, names)
    said: list[int] = []
    answer = iter([*b"\n\nYes.", 258])

    def sample(force: int | None = None) -> int:
        said.append(next(answer) if 301 in said else 97 if force is None else force)
        return said[-1]

    parser = qwenparse.Parser("qwen3.6", start="reasoning", tokens=TABLE)
    events = list(names["generate"](sample, parser, TABLE, 5))
    assert (parser.turn.reasoning, parser.turn.content, parser.turn.closed) == ("aaaaa", "Yes.", "im_end")
    assert events and bytes(said[:5]) == b"aaaaa" and said[5] == 301
    assert usage(parser.turn, TABLE).reasoning == 6


def test_the_documentation_runs() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tokens.md").read_text("utf-8")
    first, following, counting, budget = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = repr(str(real_tokenizers.tokenizer_file("qwen3.5")))
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    said = Encoder(tokenizer).encode("Hm.\n</think>\n\nYes.<|im_end|>", specials=True)
    names: dict[str, Any] = {
        "prompt": "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<think>\n",
        "generated": [said[:2], said[2], said[3:]],
        "messages": [{"role": "user", "content": "q"}],
        "new_messages": [{"role": "user", "content": "And?"}],
        "tokenizer": tokenizer,
        "sample": lambda held: iter(said),
    }
    assert first.count('"/models/Qwen3.6-27B"') == 1
    exec(first.replace('"/models/Qwen3.6-27B"', file), names)
    assert names["parser"].turn.content == "Yes."
    held = qwenparse.render_prompt(names["messages"], "qwen3.6").ids(tokenizer)
    exec(following, names)
    assert names["held"][: len(held) + len(said)] == held + said
    assert names["table"].decode(names["held"]) == names["following"].text
    exec(counting, names)
    assert usage(names["parser"].turn, names["table"]).total == len(said)
    assert "def generate" in budget
    shown = re.search(r"# Usage\((.*)\)", counting)
    assert shown and tuple(re.findall(r"(\w+)=", shown[1])) == Usage._fields
    for reason in ("text-fed", "prefix-mismatch", "foreign-ids", "unsafe-seam"):
        assert f"| `{reason}` |" in page
