"""`TokenTable` against the tokenizer it was made from, and what it refuses."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import subprocess
import sys
import time
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import real_tokenizers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from qwenparse.tokens import Kind, TokenTable
from qwenparse.tokens.sources import published_specials, read_ranks
from qwenparse.tokens.table import default_cache_dir

EVERY = (*real_tokenizers.NAMES, "small")
BYTES = {bytes([b]): b for b in range(256)}
TAGS = {"<think>": 300, "</think>": 301, "<tool_call>": 302, "</tool_call>": 303}
STOPS = {"<|endoftext|>": 256, "<|im_start|>": 257, "<|im_end|>": 258}

TEXTS = [
    "<think>\nplan\n</think>\n\n<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>",
    "天气怎么样?👩‍💻 🎉 naïve ก็ <think <tool_call</tool_call> \x00\r\n\t \u3000end<|im_end|>",
    " leading and trailing  ",
]


@pytest.mark.parametrize("name", EVERY)
def test_bytes_of_encoded_text_are_the_text(name: str) -> None:
    table, tokenizer = real_tokenizers.table(name), real_tokenizers.tokenizer(name)
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        assert table.decode_bytes(ids) == text.encode()
        assert table.decode(ids) == text


@pytest.mark.parametrize("name", EVERY)
def test_every_id_agrees_with_the_tokenizer(name: str) -> None:
    table, tokenizer = real_tokenizers.table(name), real_tokenizers.tokenizer(name)
    compared = incomplete = 0
    for i in range(table.size):
        data = table[i]
        if tokenizer.id_to_token(i) is None:
            assert data is None and table.kinds[i] == Kind.NONE
            continue
        assert data is not None
        text = tokenizer.decode([i], skip_special_tokens=False)
        if "\ufffd" in text and data != text.encode():
            incomplete += 1
            with pytest.raises(UnicodeDecodeError):
                data.decode()
        else:
            compared += 1
            assert data == text.encode()
    assert compared > 300 and incomplete >= 128


@pytest.mark.parametrize(
    ("name", "size", "first"), [("qwen3", 151_669, 151_643), ("qwen3.5", 248_077, 248_044)], ids=["qwen3", "qwen3.5"]
)
def test_published_ids(name: str, size: int, first: int) -> None:
    table = real_tokenizers.table(name)
    assert table.size == len(table) == size
    assert table.tag_ids == {
        "<think>": first + 24, "</think>": first + 25, "<tool_call>": first + 14, "</tool_call>": first + 15
    }  # fmt: skip
    assert table.stop_ids == {first: "<|endoftext|>", first + 2: "<|im_end|>"}
    assert [table[i] for i in (198, 271, first + 1, first + 22, first + 23)] == [
        b"\n", b"\n\n", b"<|im_start|>", b"<tool_response>", b"</tool_response>"
    ]  # fmt: skip
    marked = {i: k for i, k in enumerate(table.kinds) if k}
    assert marked == {
        first: Kind.OTHER_STOP, first + 2: Kind.IM_END, first + 14: Kind.CALL_OPEN, first + 15: Kind.CALL_CLOSE,
        first + 24: Kind.THINK_OPEN, first + 25: Kind.THINK_CLOSE,
    }  # fmt: skip
    assert published_specials(first) == {
        token.content: i for i, token in real_tokenizers.tokenizer(name).get_added_tokens_decoder().items()
    }


def test_all_sources_of_one_vocabulary_give_one_table() -> None:
    ranks = read_ranks(real_tokenizers.vocabulary_file("qwen3.5").read_bytes())
    expected = real_tokenizers.table("qwen3.5")
    tokenizer = real_tokenizers.tokenizer("qwen3.5")
    assert TokenTable.from_ranks(ranks, published_specials(len(ranks))) == expected
    assert TokenTable.from_tokenizer(tokenizer) == expected
    assert TokenTable.from_tokenizer(SimpleNamespace(backend_tokenizer=tokenizer)) == expected
    assert TokenTable.from_file(real_tokenizers.tokenizer_file("qwen3.5"), cache=False) == expected


def test_the_buffers_are_what_a_reader_in_c_needs() -> None:
    table = TokenTable.from_ranks({b"ab": 2, b"c": 0}, {"<think>": 4})
    assert table.blob == b"cab<think>"
    assert array("I", table.offsets).tolist() == [0, 1, 1, 3, 3, 10]
    assert table.kinds == bytes([Kind.ORDINARY, Kind.NONE, Kind.ORDINARY, Kind.NONE, Kind.THINK_OPEN])
    assert (table.size, table.tag_ids, table.stop_ids) == (5, {"<think>": 4}, {})


def test_ids_without_bytes() -> None:
    table = TokenTable.from_ranks(BYTES, {**STOPS, **TAGS}, vocab_size=320)
    assert table.size == 320
    assert [table[i] for i in (65, 259, 299, 300, 304, 319)] == [b"A", None, None, b"<think>", None, None]
    assert table.decode([65, 259, 66, 319]) == "AB"
    for bad in (-1, 320, 1 << 40):
        with pytest.raises(ValueError, match=f"id {bad} is outside the table of 320 ids"):
            table[bad]


def test_a_tag_without_an_id_is_no_tag_id() -> None:
    table = TokenTable.from_ranks({**BYTES, b"<think>": 270}, {**STOPS, "<tool_call>": 302, "</tool_call>": 303})
    assert table.tag_ids == {"<tool_call>": 302, "</tool_call>": 303}
    assert table[270] == b"<think>" and table.kinds[270] == Kind.ORDINARY


def test_a_stop_text_with_two_ids_stops_with_both() -> None:
    table = TokenTable.from_ranks(BYTES, STOPS)
    twice = bytearray(table.kinds) + bytes([Kind.IM_END])
    offsets = table.offsets + struct.pack("=I", len(table.blob) + 10)
    assert TokenTable(table.blob + b"<|im_end|>", offsets, bytes(twice)).stop_ids == {
        258: "<|im_end|>", 259: "<|im_end|>", 256: "<|endoftext|>"
    }  # fmt: skip


def test_added_tokens_are_literal_text() -> None:
    table = TokenTable.from_ranks(BYTES, {"Ġ<é>": 256, "<tool_response>": 257})
    assert table[256] == "Ġ<é>".encode()
    assert table[257] == b"<tool_response>" and table.kinds[257] == Kind.ORDINARY


def test_an_added_token_inside_the_model_vocabulary_is_added() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    specials = ["<think>", "</think>", "<|im_end|>", "天"]
    trainer = trainers.BpeTrainer(
        vocab_size=280, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["a b c"], trainer)
    table = TokenTable.from_tokenizer(tokenizer)
    assert [table[i] for i in range(4)] == [s.encode() for s in specials]
    assert table.tag_ids == {"<think>": 0, "</think>": 1} and table.stop_ids == {2: "<|im_end|>"}


# ----------------------------------------------------------------------------------------------- other tokenizers


class Tiktoken:
    """The part of `tiktoken.Encoding` that is read (tiktoken 0.14)."""

    special_tokens_set = set(STOPS)  # noqa: RUF012
    n_vocab = 300

    def encode_single_token(self, text: str) -> int:
        return STOPS[text]

    def decode_single_token_bytes(self, i: int) -> bytes:
        if i < 256:
            return bytes([i])
        raise KeyError(i)


class Slow:
    """The part of a slow tokenizer of transformers that is read."""

    added_tokens_decoder = {i: text for text, i in STOPS.items()}  # noqa: RUF012

    def get_vocab(self) -> dict[str, int]:
        characters = real_tokenizers._characters()
        return {**{characters[b]: b for b in range(256)}, **STOPS}


def test_tokenizers_of_other_libraries() -> None:
    expected = TokenTable.from_ranks(BYTES, STOPS)
    qwen = SimpleNamespace(decoder={**{i: data for data, i in BYTES.items()}, **{i: t for t, i in STOPS.items()}})
    assert TokenTable.from_tokenizer(Slow()) == expected
    assert TokenTable.from_tokenizer(qwen) == expected
    assert TokenTable.from_tokenizer(Tiktoken(), vocab_size=300) == TokenTable.from_ranks(BYTES, STOPS, vocab_size=300)
    with pytest.raises(TypeError, match="object is no tokenizer"):
        TokenTable.from_tokenizer(object())


def _other(model: Any, pre: Any, decoder: Any = None) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre
    if decoder is not None:
        tokenizer.decoder = decoder
    return tokenizer


@pytest.mark.parametrize(
    "tokenizer",
    [
        _other(models.WordPiece({"a": 0, "##b": 1}, unk_token="a"), pre_tokenizers.Whitespace()),
        _other(models.BPE({"a": 0, "▁b": 1}, []), pre_tokenizers.Metaspace(), decoders.Metaspace()),
        _other(models.Unigram([("a", 0.0)]), pre_tokenizers.Whitespace()),
        _other(models.BPE({"a": 0, "天": 1}, []), pre_tokenizers.ByteLevel(), decoders.ByteLevel()),
    ],
    ids=["wordpiece", "metaspace", "unigram", "not-the-alphabet"],
)
def test_other_vocabularies_are_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not byte-level BPE"):
        TokenTable.from_tokenizer(tokenizer)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match="not byte-level BPE"):
        TokenTable.from_file(tmp_path, cache=False)


@pytest.mark.parametrize(
    ("ranks", "specials", "size", "error", "message"),
    [
        ({b"a": 0, b"b": 0}, {}, None, ValueError, "id 0 is given twice"),
        ({b"a": -1}, {}, None, ValueError, "negative"),
        ({b"a": 0}, {"<think>": -3}, None, ValueError, "negative"),
        ({b"a": 5}, {}, 5, ValueError, "vocab_size is 5, but the vocabulary has the id 5"),
        ({b"a": 1 << 30}, {}, None, ValueError, "more than"),
        ({b"a": 1}, {}, 1 << 30, ValueError, "more than"),
        ({"a": 0}, {}, None, TypeError, "maps bytes to ids"),
    ],
)
def test_from_ranks_refuses(ranks: Any, specials: Any, size: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TokenTable.from_ranks(ranks, specials, vocab_size=size)


def test_the_constructor_refuses_buffers_that_do_not_fit() -> None:
    table = TokenTable.from_ranks({b"ab": 0, b"c": 1}, {"<think>": 2})
    places = array("I", table.offsets).tolist()

    def offsets(*values: int) -> bytes:
        return array("I", values).tobytes()

    assert TokenTable(table.blob, offsets(*places), table.kinds) == table
    for wrong in (
        (table.blob, offsets(0, 3, 2, 10), table.kinds),
        (table.blob, offsets(1, 2, 3, 10), table.kinds),
        (table.blob, offsets(0, 2, 3, 11), table.kinds),
        (table.blob, offsets(0, 2, 3, 9), table.kinds),
        (table.blob, offsets(0, 2, 3), table.kinds),
        (table.blob, b"", b""),
        (table.blob, table.offsets + b"\0", table.kinds),
        (table.blob, table.offsets, b"\0\7\1"),
        (table.blob, table.offsets, b"\0\0\2"),
        (table.blob, table.offsets, b"\0\10\1"),
    ):
        with pytest.raises(ValueError):
            TokenTable(*wrong)


def test_a_table_is_a_value() -> None:
    table = TokenTable.from_ranks(BYTES, {**STOPS, **TAGS})
    for other in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
        assert other == table and hash(other) == hash(table)
    assert table != TokenTable.from_ranks(BYTES, STOPS) and table != 1
    assert repr(table) == (
        "<TokenTable: 304 ids, 329 bytes; <think> 300, </think> 301, <tool_call> 302, </tool_call> 303>"
    )
    with pytest.raises(AttributeError):
        table.blob = b""  # type: ignore[misc]
    with pytest.raises(TypeError):
        table.stop_ids[1] = "x"  # type: ignore[index]


# ---------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    file = tmp_path / "model" / "tokenizer.json"
    file.parent.mkdir()
    real_tokenizers.tokenizer("small").save(str(file))
    return file


def test_a_model_directory_knows_its_padding(small_file: Path) -> None:
    plain = TokenTable.from_file(small_file, cache=False)
    assert plain == TokenTable.from_file(small_file.parent, cache=False) == real_tokenizers.table("small")
    (small_file.parent / "config.json").write_text('{"text_config": {"vocab_size": 600}}')
    padded = TokenTable.from_file(small_file.parent, cache=False)
    assert padded.size == 600 and padded[599] is None and padded.tag_ids == plain.tag_ids
    (small_file.parent / "config.json").write_text('{"vocab_size": 512}')
    assert TokenTable.from_file(small_file, cache=False).size == 512
    assert TokenTable.from_file(small_file, cache=False, vocab_size=700).size == 700
    for unreadable in ("{", "[]", '{"vocab_size": "many"}', "{}"):
        (small_file.parent / "config.json").write_text(unreadable)
        assert TokenTable.from_file(small_file, cache=False) == plain


def test_rank_files(tmp_path: Path) -> None:
    file = tmp_path / "x.tiktoken"
    file.write_bytes(b"YQ== 0\nYmM= 1\n\n")
    table = TokenTable.from_file(file, {"<think>": 4}, cache=False)
    assert [table[i] for i in range(5)] == [b"a", b"bc", None, None, b"<think>"]
    with pytest.raises(ValueError, match="2 ranks are no published Qwen vocabulary: give specials="):
        TokenTable.from_file(file, cache=False)
    for broken in (b"", b"YQ==\n", b"YQ== x\n", b"!! 1\n", b'{"model": ', b"\xff\xfe"):
        file.write_bytes(broken)
        with pytest.raises(ValueError, match=r"neither a tokenizer\.json nor a rank file"):
            TokenTable.from_file(file, {}, cache=False)
    file.write_bytes(b'{"model": {"type": "BPE"}}')
    with pytest.raises(ValueError, match="not byte-level BPE"):
        TokenTable.from_file(file, cache=False)
    with pytest.raises(FileNotFoundError):
        TokenTable.from_file(tmp_path / "absent")


def test_specials_add_to_those_of_a_tokenizer_json(small_file: Path) -> None:
    table = TokenTable.from_file(small_file, {"<|own|>": 500}, cache=False)
    assert table[500] == b"<|own|>" and table.tag_ids == real_tokenizers.table("small").tag_ids


def test_the_cache_is_used(small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    table = TokenTable.from_file(small_file, cache=cache)
    (entry,) = cache.iterdir()
    assert TokenTable.load(entry) == table
    assert TokenTable.from_file(small_file, cache=cache, vocab_size=999) != table
    assert TokenTable.from_file(small_file, {"<|own|>": 500}, cache=cache) != table
    assert len(list(cache.iterdir())) == 3

    def unread(*_: object) -> None:
        raise AssertionError("the vocabulary was read although the table is cached")

    monkeypatch.setattr("qwenparse.tokens.sources.read_file", unread)
    assert TokenTable.from_file(small_file, cache=cache) == table
    small_file.write_text(small_file.read_text() + " ")
    with pytest.raises(AssertionError, match="although"):
        TokenTable.from_file(small_file, cache=cache)


def test_a_damaged_entry_is_made_anew(small_file: Path, tmp_path: Path) -> None:
    table = TokenTable.from_file(small_file, cache=tmp_path / "cache")
    (entry,) = (tmp_path / "cache").iterdir()
    whole = entry.read_bytes()
    damaged = [whole[:k] for k in (0, 10, 40, 51, 59, len(whole) - 1)] + [whole + b"x", b"qwenparse tokens 2\n" + whole]
    damaged += [whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :] for k in range(0, len(whole), 97)]
    for data in damaged:
        entry.write_bytes(data)
        with pytest.raises(ValueError, match="damaged"):
            TokenTable.load(entry)
    assert TokenTable.from_file(small_file, cache=tmp_path / "cache") == table
    assert entry.read_bytes() == whole
    assert list((tmp_path / "cache").iterdir()) == [entry]


def test_a_cache_that_cannot_be_written_is_passed_over(small_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert TokenTable.from_file(small_file, cache=tmp_path / "file") == real_tokenizers.table("small")
    assert TokenTable.from_file(small_file, cache=tmp_path / "file" / "below") == real_tokenizers.table("small")
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError):
        TokenTable.from_ranks(BYTES, {}).save(tmp_path / "dir")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".tokens-")] == []


def test_the_default_cache_is_the_users_own(small_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QWENPARSE_CACHE_DIR", str(tmp_path / "own"))
    table = TokenTable.from_file(small_file)
    (entry,) = (tmp_path / "own").iterdir()
    assert TokenTable.load(entry) == table
    monkeypatch.delenv("QWENPARSE_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_cache_dir() == Path("/x/qwenparse")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_cache_dir() == Path.home() / "Library/Caches/qwenparse"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/l")
    assert default_cache_dir() == Path("/l/qwenparse")


@pytest.mark.measures
@pytest.mark.parametrize("name", real_tokenizers.NAMES)
def test_a_real_table_comes_from_the_cache_quickly(name: str, tmp_path: Path) -> None:
    file = real_tokenizers.vocabulary_file(name)
    table = TokenTable.from_file(file, cache=tmp_path)
    took = []
    for _ in range(10):
        start = time.process_time()
        again = TokenTable.from_file(file, cache=tmp_path)
        took.append(time.process_time() - start)
        assert again == table
    # 12 to 14 ms (benchmarks); far more would mean that the cache was not used.
    assert min(took) < 0.1


def test_importing_loads_no_third_party_module() -> None:
    code = "import sys, json, qwenparse.tokens; print(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not {"tokenizers", "transformers", "numpy", "tiktoken"} & set(json.loads(out))
