"""Text -> ids, with a choice that tokenizers do not give: text that came from outside is encoded without added tokens.

Qwen's `<think>` and `<tool_call>` are added tokens but not `special`, so a library's own switch for special tokens
does not keep them out of data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


class Encoder:
    """Encodes pieces of text with the caller's tokenizer.

    `tokenizer`: a `tokenizers.Tokenizer`, one of transformers or mlx-lm (fast or slow), a `tiktoken.Encoding`, or
    anything whose `encode(text)` gives ids. Raises `TypeError` for others. Normalisation is the tokenizer's own
    (Qwen3's is NFC), and no piece sees its neighbours: a seam between two pieces is a seam between two tokens.
    """

    __slots__ = ("_added_ids", "_plain", "_whole", "added")

    added: Mapping[str, int] | None
    """Text -> id of every added token; None where the tokenizer does not tell."""

    def __init__(self, tokenizer: Any, /) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
        self._whole: Callable[[str], Any]
        self._plain: Callable[[str], Any] | None = None
        self.added = None
        if hasattr(backend, "get_added_tokens_decoder"):  # tokenizers.Tokenizer
            from tokenizers import Tokenizer

            plain = Tokenizer(backend.model)  # shares the model; takes over all but the added tokens
            if backend.normalizer is not None:
                plain.normalizer = backend.normalizer
            if backend.pre_tokenizer is not None:
                plain.pre_tokenizer = backend.pre_tokenizer
            self._whole = partial(backend.encode, add_special_tokens=False)
            self._plain = plain.encode
            self.added = {token.content: i for i, token in backend.get_added_tokens_decoder().items()}
        elif hasattr(backend, "encode_ordinary"):  # tiktoken.Encoding
            self._whole = partial(backend.encode, allowed_special="all")
            self._plain = backend.encode_ordinary
            self.added = {text: backend.encode_single_token(text) for text in backend.special_tokens_set}
        elif hasattr(backend, "get_added_vocab"):  # a slow tokenizer of transformers
            self._whole = partial(backend.encode, add_special_tokens=False)
            self.added = dict(backend.get_added_vocab())
        elif hasattr(backend, "encode") and not isinstance(backend, str):
            self._whole = backend.encode
        else:
            raise TypeError(f"{type(tokenizer).__name__} is no tokenizer that text can be encoded with")
        self._added_ids = frozenset((self.added or {}).values())

    @property
    def added_ids(self) -> frozenset[int]:
        """The ids of all added tokens: those that `encode(..., specials=False)` never gives."""
        return self._added_ids

    def encode(self, text: str, /, *, specials: bool) -> list[int]:
        """The ids of `text`. With `specials=False` the text of an added token is spelled in ordinary tokens.

        Surrogates become U+FFFD (tokenizers take valid text only). Raises `TypeError` if the tokenizer cannot encode
        without added tokens, and `ValueError` if the vocabulary has no other way to write one's text than its id.
        """
        text = _SURROGATE.sub("\ufffd", text)
        if specials:
            return _ids(self._whole(text))
        if self._plain is None:
            raise TypeError("this tokenizer cannot encode without added tokens; use a tokenizers.Tokenizer")
        ids = _ids(self._plain(text))
        if not self._added_ids.isdisjoint(ids):
            raise ValueError("this vocabulary writes the text of an added token with that token only")
        return ids


def _ids(encoded: Any) -> list[int]:
    return list(getattr(encoded, "ids", encoded))
