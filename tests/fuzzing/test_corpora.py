"""Recorded outputs of real models: complete, and every invariant holds on them."""

from __future__ import annotations

from collections import Counter

import pytest
from tokenizers import Tokenizer

from fuzz import seeds
from fuzz.build import ROOT
from fuzz.live import corpus
from fuzz.soak import Failures, Text, of_model
from qwenparse.tokens import TokenTable

TINY = ROOT / "fuzz" / "live" / "tiny"
RECORDINGS = sorted(seeds.CORPORA.glob("*.jsonl.xz"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.name)
def test_recording_says_how_it_came_about(path: object) -> None:
    rows = list(seeds.outputs(path))  # type: ignore[arg-type]
    assert len(rows) > 100
    for row in rows:
        assert row["model"] and "mode" in row and row["stop"] in ("im_end", "other_stop", "none")
        assert isinstance(row["text"], str) and isinstance(row["prefill"], str)


def test_recordings_are_small() -> None:
    assert sum(p.stat().st_size for p in RECORDINGS) < 1_000_000


def test_invariants_hold_on_recorded_outputs() -> None:
    """Every tenth; the fuzzers' own run takes all of them."""
    failures = Failures()
    for body in list(seeds.recorded())[::10]:
        of_model(failures, Text(body))
    assert failures.checks > 500
    assert failures.report() == 0


def test_tiny_vocabulary_gives_exact_bytes() -> None:
    tokenizer = Tokenizer.from_file(str(TINY / "tokenizer.json"))
    table = TokenTable.from_tokenizer(tokenizer)
    assert set(table.tag_ids) == {"<think>", "</think>", "<tool_call>", "</tool_call>"}
    for text in (" leading", "a\x00b", "👩‍💻 é e\u0301", "<tool_call>\n<function=f>\n</function>\n</tool_call>", "\r\n\t  x"):
        assert table.decode_bytes(tokenizer.encode(text, add_special_tokens=False).ids) == text.encode()


def test_training_texts_are_the_same_for_the_same_seed() -> None:
    one = corpus.documents(300, 7)
    assert one == corpus.documents(300, 7) != corpus.documents(300, 8)
    kinds = Counter("xml" if "<function=" in t else "json" if '"arguments"' in t else "none" for t in one)
    assert min(kinds.values()) > 30 and sum("<think>" in t for t in one) > 60
