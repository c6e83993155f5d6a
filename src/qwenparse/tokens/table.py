"""`TokenTable`: id -> bytes of a byte-level BPE vocabulary, with the ids that are tags or stops.

Three flat buffers, so that the core reads them without a Python object per id: `blob` (all bytes, one after
another), `offsets` (native uint32, `size + 1` of them: id `i` is `blob[offsets[i]:offsets[i + 1]]`) and `kinds`
(one byte per id, see `Kind`).
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import tempfile
from array import array
from collections.abc import Iterable, Mapping
from enum import IntEnum
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..formats import ENDOFTEXT, IM_END


class Kind(IntEnum):
    """What an id is: the values of `TokenTable.kinds`."""

    ORDINARY = 0
    THINK_OPEN = 1
    THINK_CLOSE = 2
    CALL_OPEN = 3
    CALL_CLOSE = 4
    IM_END = 8
    OTHER_STOP = 9
    NONE = 255


KIND_OF_TEXT: Mapping[str, Kind] = MappingProxyType(
    {
        "<think>": Kind.THINK_OPEN,
        "</think>": Kind.THINK_CLOSE,
        "<tool_call>": Kind.CALL_OPEN,
        "</tool_call>": Kind.CALL_CLOSE,
        IM_END: Kind.IM_END,
        ENDOFTEXT: Kind.OTHER_STOP,
    }
)
TEXT_OF_KIND: Mapping[int, str] = MappingProxyType({int(kind): text for text, kind in KIND_OF_TEXT.items()})
TAG_KINDS = (Kind.THINK_OPEN, Kind.THINK_CLOSE, Kind.CALL_OPEN, Kind.CALL_CLOSE)
STOP_KINDS = (Kind.IM_END, Kind.OTHER_STOP)
MAX_SIZE = 1 << 24
"""Ids a table may hold. Published vocabularies end below 2**18; a stray huge id must not allocate gigabytes."""

_ALL_KINDS = bytes(Kind)
_MAGIC = b"qwenparse tokens 1\n"
_DIGEST_SIZE = 32


class TokenTable:
    """Which bytes each token id stands for, and which ids are tags or stops. Immutable.

    Make one with `from_tokenizer`, `from_file` or `from_ranks` and share it: parsers only read it. The constructor
    takes the three buffers of another table and checks them, so that no table can lead a reader out of `blob`.

    Raises `ValueError` for buffers that do not fit together.
    """

    __slots__ = ("__weakref__", "_blob", "_core", "_kinds", "_offsets", "_stop_ids", "_tag_ids")

    def __init__(self, blob: bytes, offsets: bytes, kinds: bytes) -> None:
        self._core: Any = None  # what the core makes of the buffers, once
        self._blob = bytes(blob)
        self._offsets = bytes(offsets)
        self._kinds = bytes(kinds)
        if len(self._offsets) != 4 * (len(self._kinds) + 1) or len(self._kinds) > MAX_SIZE:
            raise ValueError(f"{len(self._kinds)} kinds do not fit {len(self._offsets)} bytes of offsets")
        places = array("I", self._offsets).tolist()
        # sorted() of a sorted list is one comparison per element: the cheapest check of order there is.
        if places[0] != 0 or places[-1] != len(self._blob) or places != sorted(places):
            raise ValueError("offsets do not run from 0 to the end of the blob in order")
        if self._kinds.translate(None, _ALL_KINDS):
            raise ValueError("kinds hold a value that is no Kind")
        tags = {TEXT_OF_KIND[k]: i for k in TAG_KINDS if (i := self._kinds.find(k)) >= 0}
        self._tag_ids = MappingProxyType(tags)
        self._stop_ids = MappingProxyType({i: TEXT_OF_KIND[k] for k in STOP_KINDS for i in _positions(self._kinds, k)})
        for i in (*self._tag_ids.values(), *self._stop_ids):
            if self._blob[places[i] : places[i + 1]].decode("utf-8", "replace") != TEXT_OF_KIND[self._kinds[i]]:
                raise ValueError(f"id {i} is marked {Kind(self._kinds[i]).name} but has other bytes")

    # ------------------------------------------------------------------------------------------------- making

    @classmethod
    def from_ranks(
        cls, ranks: Mapping[bytes, int], specials: Mapping[str, int], *, vocab_size: int | None = None
    ) -> TokenTable:
        """A table from byte strings and their ids (a tiktoken rank table), and added tokens by their text.

        Ids between them that neither names have no bytes. `vocab_size` is the number of rows of the model's embedding
        (`vocab_size` of its config.json): rows behind the last token are padding, which can be sampled all the same.
        An added token wins over an ordinary one of the same id.

        Raises `TypeError` for ranks that are not bytes, `ValueError` for an id that is negative, beyond `vocab_size`
        or given twice.
        """
        return cls._assemble(_pairs(ranks), specials.items(), vocab_size)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, *, vocab_size: int | None = None) -> TokenTable:
        """A table from a tokenizer object: `tokenizers.Tokenizer`, one of transformers or mlx-lm that wraps it (or
        a slow one with `get_vocab`), a `tiktoken.Encoding`, or Qwen's own tokenizer with a `decoder`.

        `vocab_size`: as in `from_ranks`. Takes some tenths of a second for Qwen's vocabularies; `from_file` caches.
        Raises `TypeError` for other objects, `ValueError` for a vocabulary that is not byte-level BPE.
        """
        from .sources import read_tokenizer

        ordinary, added = read_tokenizer(tokenizer)
        return cls._assemble(ordinary, added, vocab_size)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        specials: Mapping[str, int] | None = None,
        *,
        vocab_size: int | None = None,
        cache: bool | str | os.PathLike[str] = True,
    ) -> TokenTable:
        """A table from a `tokenizer.json`, a model directory that holds one, or a `.tiktoken` rank file.

        `specials` adds to, or for a rank file gives, the added tokens. A rank file names none; those of the two
        published Qwen vocabularies (151,643 and 248,044 ranks) are known by their number of ranks.
        `vocab_size`: as in `from_ranks`; None reads it from a `config.json` beside the file, if there is one.
        `cache`: a directory for finished tables, True for the user's own (`default_cache_dir`), False for none. Entries
        are named by a digest of all that goes in; one that cannot be read or written is passed over.

        Raises `OSError` if the file cannot be read, `ValueError` if it is no byte-level BPE vocabulary.
        """
        from .sources import read_file, vocab_size_beside

        file = Path(path)
        if file.is_dir():
            file = file / "tokenizer.json"
        data = file.read_bytes()
        if vocab_size is None:
            vocab_size = vocab_size_beside(file)
        entry = None
        if cache is not False:
            digest = hashlib.blake2b(data, digest_size=_DIGEST_SIZE)
            digest.update(repr((_MAGIC, vocab_size, sorted((specials or {}).items()))).encode("utf-8", "surrogatepass"))
            entry = (default_cache_dir() if cache is True else Path(cache)) / f"{digest.hexdigest()}.tokens"
            try:
                return cls.load(entry)
            except (OSError, ValueError):
                pass
        ordinary, added = read_file(data, specials)
        table = cls._assemble(ordinary, added, vocab_size)
        if entry is not None:
            try:
                table.save(entry)
            except OSError:
                pass
        return table

    @classmethod
    def _assemble(
        cls, ordinary: Iterable[tuple[int, bytes]], added: Iterable[tuple[str, int]], vocab_size: int | None
    ) -> TokenTable:
        named: dict[int, bytes] = {}
        for i, data in ordinary:
            if i in named:
                raise ValueError(f"id {i} is given twice")
            named[i] = data
        specials = {i: text for text, i in added}
        size = max(max(named, default=-1), max(specials, default=-1)) + 1
        if min(min(named, default=0), min(specials, default=0)) < 0:
            raise ValueError("a token id is negative")
        if vocab_size is not None:
            if vocab_size < size:
                raise ValueError(f"vocab_size is {vocab_size}, but the vocabulary has the id {size - 1}")
            size = vocab_size
        if size > MAX_SIZE:
            raise ValueError(f"{size} ids are more than the {MAX_SIZE} a table may hold")
        kinds = bytearray(b"\xff") * size
        pieces = [b""] * size
        for i, data in named.items():
            pieces[i], kinds[i] = data, Kind.ORDINARY
        for i, text in specials.items():
            pieces[i], kinds[i] = text.encode("utf-8", "surrogatepass"), KIND_OF_TEXT.get(text, Kind.ORDINARY)
        offsets = array("I", accumulate(map(len, pieces), initial=0))
        return cls(b"".join(pieces), offsets.tobytes(), bytes(kinds))

    # ------------------------------------------------------------------------------------------------- reading

    @property
    def blob(self) -> bytes:
        """The bytes of all tokens, one after another."""
        return self._blob

    @property
    def offsets(self) -> bytes:
        """`size + 1` native uint32: where each token begins in `blob`."""
        return self._offsets

    @property
    def kinds(self) -> bytes:
        """One byte per id: a `Kind`."""
        return self._kinds

    @property
    def size(self) -> int:
        """Number of ids, padding rows included. Ids are `0 <= id < size`."""
        return len(self._kinds)

    @property
    def tag_ids(self) -> Mapping[str, int]:
        """The tags that have an id of their own, by text. A tag that is absent is recognised by its characters."""
        return self._tag_ids

    @property
    def stop_ids(self) -> Mapping[int, str]:
        """The ids that end a turn, with their text."""
        return self._stop_ids

    def __len__(self) -> int:
        return len(self._kinds)

    def __getitem__(self, id: int, /) -> bytes | None:
        """The bytes of one id; None if it has none (padding, gaps). Raises `ValueError` outside the table."""
        if not 0 <= id < len(self._kinds):
            raise ValueError(f"id {id} is outside the table of {len(self._kinds)} ids")
        start, end = struct.unpack_from("=II", self._offsets, 4 * id)
        return None if self._kinds[id] == Kind.NONE else self._blob[start:end]

    def decode_bytes(self, ids: Iterable[int], /) -> bytes:
        """The exact bytes of these ids; ids without bytes give none. Raises `ValueError` outside the table."""
        ids = list(ids)
        if ids and not (0 <= min(ids) and max(ids) < len(self._kinds)):
            raise ValueError(f"ids {min(ids)} to {max(ids)} are not all inside the table of {len(self._kinds)} ids")
        places, blob = memoryview(self._offsets).cast("I"), self._blob
        return b"".join([blob[places[i] : places[i + 1]] for i in ids])

    def decode(self, ids: Iterable[int], /) -> str:
        """The text of these ids; bytes that are not UTF-8 become lone surrogates (`surrogateescape`)."""
        return self.decode_bytes(ids).decode("utf-8", "surrogateescape")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenTable):
            return NotImplemented
        return (self._kinds, self._offsets, self._blob) == (other._kinds, other._offsets, other._blob)

    def __hash__(self) -> int:
        return hash((self._kinds, self._offsets, self._blob))

    def __repr__(self) -> str:
        tags = ", ".join(f"{text} {i}" for text, i in self._tag_ids.items())
        return f"<TokenTable: {self.size} ids, {len(self._blob)} bytes; {tags or 'no tag ids'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenTable, (self._blob, self._offsets, self._kinds)

    # ------------------------------------------------------------------------------------------------- on disk

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Writes the table to a file, whole or not at all. Raises `OSError`."""
        file = Path(path)
        offsets = array("I", self._offsets)
        if sys.byteorder == "big":
            offsets.byteswap()
        body = b"".join((struct.pack("<II", self.size, len(self._blob)), offsets.tobytes(), self._kinds, self._blob))
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".tokens-", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(_MAGIC + hashlib.blake2b(body, digest_size=_DIGEST_SIZE).digest() + body)
            os.replace(draft, file)
        except BaseException:
            os.unlink(draft)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], /) -> TokenTable:
        """Reads a table that `save` wrote. Raises `OSError`, or `ValueError` if it is not whole."""
        data = Path(path).read_bytes()
        start = len(_MAGIC) + _DIGEST_SIZE
        body = memoryview(data)[start:]
        digest = hashlib.blake2b(body, digest_size=_DIGEST_SIZE).digest()
        if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != digest or len(body) < 8:
            raise ValueError(f"{os.fspath(path)}: not a token table, or a damaged one")
        size, length = struct.unpack_from("<II", body)
        kinds = 8 + 4 * (size + 1)
        offsets = array("I", bytes(body[8:kinds]))
        if sys.byteorder == "big":
            offsets.byteswap()
        if len(body) != kinds + size + length:
            raise ValueError(f"{os.fspath(path)}: not a token table, or a damaged one")
        return cls(bytes(body[kinds + size :]), offsets.tobytes(), bytes(body[kinds : kinds + size]))


def _positions(kinds: bytes, kind: int) -> Iterable[int]:
    i = kinds.find(kind)
    while i >= 0:
        yield i
        i = kinds.find(kind, i + 1)


def _pairs(ranks: Mapping[bytes, int]) -> Iterable[tuple[int, bytes]]:
    for data, i in ranks.items():
        if not isinstance(data, bytes):
            raise TypeError(f"a rank table maps bytes to ids; it has the key {data!r}")
        yield i, data


def default_cache_dir() -> Path:
    """Where `TokenTable.from_file` keeps finished tables: `$QWENPARSE_CACHE_DIR`, or `qwenparse` in the user's cache
    directory (`$XDG_CACHE_HOME` or `~/.cache`; `~/Library/Caches` on macOS; `%LOCALAPPDATA%` on Windows)."""
    if own := os.environ.get("QWENPARSE_CACHE_DIR"):
        return Path(own)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "qwenparse"
