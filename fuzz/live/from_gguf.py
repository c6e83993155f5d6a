"""python -m fuzz.live.from_gguf FILE.gguf DIRECTORY: a llama-architecture GGUF file as a directory for mlx-lm.

Reads what `mx.load` reads (F32, F16, Q4_0, Q4_1, Q8_0). Weights are written as float16. GGUF stores the query and key
rows in the order of interleaved rotary embeddings, which `rope_traditional` asks mlx-lm for.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import mlx.core as mx
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL = 3  # the token type of control tokens in GGUF


def convert(source: Path, target: Path) -> None:
    """Write config.json, model.safetensors and tokenizer.json into `target`. ValueError for another architecture."""
    loaded: Any = mx.load(str(source), return_metadata=True)
    weights, meta = loaded
    if meta["general.architecture"] != "llama" or meta["tokenizer.ggml.model"] != "gpt2":
        raise ValueError("only llama models with a byte-level BPE tokenizer are read")
    target.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name in [n for n in weights if n.endswith(".weight")]:
        value, stem = weights[name], name.removesuffix(".weight")
        if f"{stem}.scales" in weights:
            scales, biases = weights[f"{stem}.scales"], weights[f"{stem}.biases"]
            value = mx.dequantize(value, scales, biases, 32, value.shape[1] // scales.shape[1])
        tensors[_name(stem)] = value.astype(mx.float16)
    mx.save_safetensors(str(target / "model.safetensors"), tensors, metadata={"format": "mlx"})

    def number(key: str) -> Any:
        return meta[f"llama.{key}"].item()

    config = {
        "_name_or_path": meta.get("general.name", source.stem),
        "model_type": "llama",
        "hidden_size": number("embedding_length"),
        "num_hidden_layers": number("block_count"),
        "intermediate_size": number("feed_forward_length"),
        "num_attention_heads": number("attention.head_count"),
        "num_key_value_heads": number("attention.head_count_kv"),
        "rms_norm_eps": number("attention.layer_norm_rms_epsilon"),
        "rope_theta": number("rope.freq_base"),
        "rope_traditional": True,
        "vocab_size": number("vocab_size"),
        "tie_word_embeddings": "output.weight" not in weights,
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"].item(),
    }
    (target / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    tokens = meta["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ")) for m in meta["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    kinds = meta["tokenizer.ggml.token_type"].tolist()
    tokenizer.add_special_tokens(
        [AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, kinds, strict=True) if k == CONTROL]
    )
    tokenizer.save(str(target / "tokenizer.json"))
    (target / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}\n', encoding="utf-8")


def _name(stem: str) -> str:
    part = stem.split(".")
    if part[0] == "blk":
        return f"model.layers.{part[1]}.{LAYER[part[2]]}.weight"
    return {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}[stem] + ".weight"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, metavar="FILE.gguf")
    parser.add_argument("target", type=Path, metavar="DIRECTORY")
    args = parser.parse_args()
    convert(args.source, args.target)


if __name__ == "__main__":
    main()
