"""Text -> ids, with a choice that tokenizers do not give: text that came from outside is encoded without added tokens.

Qwen's `<think>` and `<tool_call>` are added tokens but not `special`, so a library's own switch for special tokens
does not keep them out of data.
"""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


class Encoder:
    """Encodes pieces of a prompt with the caller's tokenizer.

    `tokenizer`: a `tokenizers.Tokenizer`, one of transformers or mlx-lm that wraps it, or a `tiktoken.Encoding`.
    Raises `TypeError` for others. Normalisation is the tokenizer's own (Qwen3's is NFC), and no piece sees its
    neighbours: a seam between two pieces is a seam between two tokens.
    """

    __slots__ = ("_added", "_backend", "_plain")

    def __init__(self, tokenizer: Any, /) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None) or tokenizer
        self._backend = backend
        self._plain: Any = None
        if hasattr(backend, "get_added_tokens_decoder"):
            from tokenizers import Tokenizer

            self._plain = Tokenizer(backend.model)  # shares the model; takes over all but the added tokens
            if backend.normalizer is not None:
                self._plain.normalizer = backend.normalizer
            if backend.pre_tokenizer is not None:
                self._plain.pre_tokenizer = backend.pre_tokenizer
            self._added = frozenset(backend.get_added_tokens_decoder())
        elif hasattr(backend, "encode_ordinary"):
            self._added = frozenset(backend.encode_single_token(text) for text in backend.special_tokens_set)
        else:
            raise TypeError(f"{type(tokenizer).__name__} is no tokenizer that text can be encoded with")

    @property
    def added_ids(self) -> frozenset[int]:
        """The ids of all added tokens: those that `encode(..., specials=False)` never gives."""
        return self._added

    def encode(self, text: str, /, *, specials: bool) -> list[int]:
        """The ids of `text`. With `specials=False` the text of an added token is spelled in ordinary tokens.

        Surrogates become U+FFFD (tokenizers take valid text only). Raises `ValueError` if the vocabulary has no
        other way to write an added token's text than its id.
        """
        text = _SURROGATE.sub("\ufffd", text)
        if self._plain is None:
            backend = self._backend
            ids = backend.encode(text, allowed_special="all") if specials else backend.encode_ordinary(text)
        else:
            encoder = self._backend if specials else self._plain
            ids = encoder.encode(text, add_special_tokens=False).ids
        if not specials and not self._added.isdisjoint(ids):
            raise ValueError("this vocabulary writes the text of an added token with that token only")
        return list(ids)
