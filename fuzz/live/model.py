"""A model directory in mlx-lm's layout, sampled in batches as exact bytes.

Tokens become bytes by the vocabulary (`TokenTable`), not by a detokenizer: mlx-lm's drops a leading space, maps NUL
to another character and replaces unfinished UTF-8 (seen in mlx-lm 0.32.2), and the fuzzers need what was sampled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fuzz.live import blas  # noqa: F401  (before mlx)

import mlx.core as mx  # isort: skip
from mlx.utils import tree_map  # isort: skip
from mlx_lm.models.cache import make_prompt_cache  # isort: skip
from mlx_lm.utils import load_model  # isort: skip
from tokenizers import Tokenizer  # isort: skip

from qwenparse.tokens import TokenTable  # isort: skip


MLX_VERSION = version("mlx")


@dataclass(frozen=True)
class Sample:
    """One completion: token ids without the stop token, their exact bytes, and whether a stop token ended it."""

    ids: tuple[int, ...]
    data: bytes
    stopped: bool


class LiveModel:
    """`directory` holds config.json, *.safetensors and tokenizer.json, as `mlx_lm.convert` writes them.

    Weights are cast to float32: on CPU the half-precision and quantised paths of MLX 0.32 are slower.
    """

    def __init__(self, directory: str | Path, *, stop: Sequence[str] = ("<|im_end|>", "<|endoftext|>")) -> None:
        self.directory = Path(directory)
        self.model, self.config = load_model(self.directory)
        if "quantization" not in self.config:
            self.model.set_dtype(mx.float32)
        self.tokenizer = Tokenizer.from_file(str(self.directory / "tokenizer.json"))
        self.table = TokenTable.from_tokenizer(self.tokenizer)
        added = self.tokenizer.get_added_tokens_decoder()
        self.added = {t.content: i for i, t in added.items()}
        self.stop_ids = frozenset(self.added[s] for s in stop if s in self.added)

    @property
    def name(self) -> str:
        return str(self.config.get("_name_or_path") or self.directory.name)

    def encode(self, text: str, *, real: Collection[str] | None = None) -> list[int]:
        """Token ids of `text`. Added tokens not in `real` (default: all are) are spelled in ordinary tokens: a small
        model copies a spelling out of its prompt, but gives the id of a tag it was not trained on no probability."""
        spelled = [t for t in self.added if real is not None and t not in real and len(t) > 1]
        if not spelled:
            return list(self.tokenizer.encode(text, add_special_tokens=False).ids)
        cut = "|".join(f"(?<={re.escape(t[0])})(?={re.escape(t[1:])})" for t in sorted(spelled, key=len, reverse=True))
        ids: list[int] = []
        for piece in re.split(cut, text):
            ids += self.tokenizer.encode(piece, add_special_tokens=False).ids
        return ids

    def sample(
        self, prompt: Sequence[int], count: int, *, temperature: float, max_tokens: int, seed: int | None = None
    ) -> list[Sample]:
        """`count` completions of one prompt, sampled in one batch; equal arguments give equal samples."""
        if seed is not None:
            mx.random.seed(seed)
        ids: list[list[int]] = [[] for _ in range(count)]
        stopped = [False] * count
        for rows, tokens in self._steps(prompt, count, temperature, max_tokens):
            for row, token in zip(rows, tokens, strict=True):
                if token in self.stop_ids:
                    stopped[row] = True
                else:
                    ids[row].append(token)
        return [
            Sample(tuple(i), b"".join(self.table[t] or b"" for t in i if t < self.table.size), s)
            for i, s in zip(ids, stopped, strict=True)
        ]

    def _steps(
        self, prompt: Sequence[int], count: int, temperature: float, max_tokens: int
    ) -> Iterator[tuple[list[int], list[int]]]:
        cache: list[Any] = make_prompt_cache(self.model)
        logits = self.model(mx.array([list(prompt)]), cache=cache)[:, -1, :]
        mx.eval(logits)
        for layer in cache:
            _each_array(layer, lambda a: mx.repeat(a, count, axis=0))
        logits = mx.repeat(logits, count, axis=0)
        rows = list(range(count))
        done: set[int] = set()
        for step in range(max_tokens):
            if temperature > 0:
                token = mx.random.categorical(logits * (1 / temperature))
            else:
                token = mx.argmax(logits, axis=-1)
            tokens: Any = token.tolist()
            live = [i for i, row in enumerate(rows) if row not in done]
            yield [rows[i] for i in live], [tokens[i] for i in live]
            done.update(rows[i] for i in live if tokens[i] in self.stop_ids)
            live = [i for i, row in enumerate(rows) if row not in done]
            if not live or step + 1 == max_tokens:
                return
            # Dropping a row copies the cache, so finished rows ride along until they are a quarter of the batch.
            if 4 * len(live) <= 3 * len(rows):
                index = mx.array(live)
                for layer in cache:
                    _each_array(layer, partial(mx.take, indices=index, axis=0))
                rows, token = [rows[i] for i in live], mx.take(token, index, axis=0)
            logits = self.model(token[:, None], cache=cache)[:, -1, :]


def _each_array(layer: Any, change: Callable[[mx.array], mx.array]) -> None:
    layer.state = tree_map(lambda a: change(a) if isinstance(a, mx.array) else a, layer.state)
