"""Train the tiny model: python -m fuzz.live.train [--steps 500] [--out fuzz/live/tiny]

A Qwen3-architecture model of 0.9M parameters and a byte-level BPE tokenizer with the tags as added tokens, both from
`corpus.documents`. 500 steps take about four minutes on two quiet cores with OpenBLAS. The committed `fuzz/live/tiny`
is the result of the default arguments.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.live import blas  # noqa: F401  (before mlx)

import mlx.core as mx  # isort: skip
import mlx.nn as nn  # isort: skip
import mlx.optimizers as optim  # isort: skip
import numpy as np  # isort: skip
from mlx.utils import tree_flatten  # isort: skip
from mlx_lm.models import qwen3  # isort: skip
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers  # isort: skip

from fuzz.live.corpus import documents  # isort: skip

TINY = Path(__file__).with_name("tiny")
STOP = "<|im_end|>"
ADDED = (STOP, "<think>", "</think>", "<tool_call>", "</tool_call>")
VOCABULARY = 768
# The split of Qwen's published tokenizers: words with a leading blank, single digits, punctuation, line ends, blanks.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

CONFIG: dict[str, Any] = {
    "model_type": "qwen3",
    "hidden_size": 128,
    "num_hidden_layers": 4,
    "intermediate_size": 384,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "rms_norm_eps": 1e-6,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """A byte-level BPE tokenizer of `VOCABULARY` tokens; the stop token is id 0."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(t, special=t == STOP, normalized=False) for t in ADDED],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def batches(ids: np.ndarray, size: int, length: int, seed: int) -> Iterator[mx.array]:
    """Endless random windows of `length` + 1 ids."""
    rng = np.random.default_rng(seed)
    while True:
        starts = rng.integers(0, len(ids) - length - 1, size)
        yield mx.array(np.stack([ids[s : s + length + 1] for s in starts]))


def train(
    *, steps: int, seed: int = 0, count: int = 12000, size: int = 16, length: int = 128
) -> tuple[qwen3.Model, Tokenizer, float]:
    """Model, tokenizer and mean loss (nats per token) of the last 20 steps."""
    texts = documents(count, seed)
    tokenizer = train_tokenizer(texts)
    stop = tokenizer.token_to_id(STOP)
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    ids = np.array([i for e in encoded for i in (*e.ids, stop)], dtype=np.int32)
    print(f"{len(ids)} tokens, {sum(len(t.encode()) for t in texts) / len(ids):.2f} bytes each", flush=True)

    mx.random.seed(seed)
    model = qwen3.Model(qwen3.ModelArgs(**CONFIG))
    warmup = min(20, max(1, steps // 5))
    schedule = optim.join_schedules(
        [optim.linear_schedule(1e-4, 3e-3, warmup), optim.cosine_decay(3e-3, max(1, steps - warmup), 1e-4)], [warmup]
    )
    optimizer = optim.AdamW(learning_rate=schedule, weight_decay=0.01)

    def loss_of(model: qwen3.Model, batch: mx.array) -> mx.array:
        return nn.losses.cross_entropy(model(batch[:, :-1]), batch[:, 1:], reduction="mean")

    step_of = nn.utils.value_and_grad(model, loss_of)
    losses: list[float] = []
    started = time.monotonic()
    for step, batch in enumerate(batches(ids, size, length, seed), 1):
        loss, gradients = step_of(model, batch)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, loss)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise RuntimeError(f"the loss is {losses[-1]} at step {step}")
        if step % 25 == 0 or step == steps:
            print(f"step {step}: loss {losses[-1]:.3f}, {time.monotonic() - started:.0f} s", flush=True)
        if step == steps:
            break
    return model, tokenizer, sum(losses[-20:]) / len(losses[-20:])


def save(model: qwen3.Model, tokenizer: Tokenizer, directory: Path) -> None:
    """Write the model directory, weights as float16."""
    directory.mkdir(parents=True, exist_ok=True)
    flat: Any = tree_flatten(model.parameters())
    weights = {name: value.astype(mx.float16) for name, value in flat}
    mx.save_safetensors(str(directory / "model.safetensors"), weights, metadata={"format": "mlx"})
    config = CONFIG | {"_name_or_path": "tiny", "eos_token_id": tokenizer.token_to_id(STOP)}
    (directory / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    tokenizer.save(str(directory / "tokenizer.json"), pretty=False)
    (directory / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": STOP}) + "\n", encoding="utf-8"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=TINY)
    parser.add_argument("--max-loss", type=float, help="fail above this mean loss of the last 20 steps")
    args = parser.parse_args()
    model, tokenizer, loss = train(steps=args.steps, seed=args.seed)
    save(model, tokenizer, args.out)
    print(f"mean loss {loss:.3f}, {args.out}")
    if args.max_loss is not None and loss > args.max_loss:
        raise SystemExit(f"loss {loss:.3f} is above {args.max_loss}")


if __name__ == "__main__":
    main()
