"""Native renderer against Jinja2 on one history of 202 messages: `python benchmarks/bench_templates.py [ROUNDS]`.

Both render the format of Qwen3.8; Jinja2 runs `agent.jinja`, a template written for this benchmark whose prompt is
the same to the byte. Or a template file of your own: `python benchmarks/bench_templates.py ROUNDS FILE`. Prints the
minimum over rounds that run each job five times in turn, with the join of the finished pieces as the floor.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qwenparse.prompt import render_prompt
from qwenparse.templates.texts import EFFORT_LOW, EFFORT_XHIGH, XML_TOOLS_HEAD, XML_TOOLS_TAIL

HERE = Path(__file__).parent
WORDS = (
    "the parser reads a stream in any pieces and loses nothing of it because every character of the input belongs to "
    "one event files tests values errors return result check line number path index naïve 模型 cache"
).split()
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name} of the workspace",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "start": {"type": "integer"}, "all": {"type": "boolean"}},
                "required": ["path"],
            },
        },
    }
    for name in ("read_file", "search", "write_file", "run_tests")
]


def history(seed: int = 1) -> list[dict[str, Any]]:
    """A system message, 50 rounds of question, call, result and answer, and a last question: 202 messages."""
    rng = random.Random(seed)

    def prose(low: int, high: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(low, high))) + rng.choice(("", "", ".\n", "\n\n"))

    messages: list[dict[str, Any]] = [{"role": "system", "content": prose(60, 80)}]
    for index in range(50):
        arguments: dict[str, Any] = {"path": f"src/{rng.choice(WORDS)}_{index}.py", "start": rng.randint(0, 9999)}
        if index % 2:
            arguments["all"] = bool(index % 4 == 1)
        if index % 5 == 0:
            arguments["options"] = {"depth": index, "names": rng.choices(WORDS, k=3)}
        function = {"name": rng.choice(TOOLS)["function"]["name"], "arguments": arguments}
        call = {"id": f"call_{index}", "type": "function", "function": function}
        messages += (
            {"role": "user", "content": prose(20, 60)},
            {"role": "assistant", "content": prose(3, 12), "reasoning_content": prose(40, 80), "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": prose(60, 120)},
            {"role": "assistant", "content": prose(40, 80), "reasoning_content": prose(20, 40)},
        )
    return [*messages, {"role": "user", "content": prose(20, 60)}]


def texts() -> dict[str, str]:
    """The fixed texts that `agent.jinja` takes as arguments."""
    return {
        "effort_xhigh": EFFORT_XHIGH,
        "effort_low": EFFORT_LOW,
        "tools_head": XML_TOOLS_HEAD,
        "tools_tail": XML_TOOLS_TAIL,
    }


def measure(rounds: int = 40, template: Path = HERE / "agent.jinja") -> dict[str, float]:
    """Milliseconds of one render, minimum over interleaved rounds, and the ratio. Raises if the prompts differ."""
    messages, source = history(), template.read_text(encoding="utf-8")
    prompt = render_prompt(messages, "qwen3.8", tools=TOOLS)
    if render_prompt(messages, "qwen3.8", tools=TOOLS, template=source, **texts()).text != prompt.text:
        raise AssertionError(f"{template} does not give the native renderer's prompt")
    pieces = prompt._pieces
    jobs: dict[str, Callable[[], object]] = {
        "join": pieces.join,
        "segments": pieces.segments,
        "native": lambda: render_prompt(messages, "qwen3.8", tools=TOOLS),
        "jinja2": lambda: render_prompt(messages, "qwen3.8", tools=TOOLS, template=source, **texts()),
    }
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            for _ in range(5):
                start = time.perf_counter()
                job()
                best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return {**best, "ratio": best["jinja2"] / best["native"], "messages": len(messages), "characters": len(prompt.text)}


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    found = measure(rounds, Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "agent.jinja")
    print(f"{found['messages']:.0f} messages, {found['characters']:.0f} characters, minimum of {rounds} rounds")
    for name in ("join", "native", "segments", "jinja2"):
        print(f"{name:10} {found[name]:8.3f} ms")
    print(f"native is {found['ratio']:.1f} times faster than jinja2 (budget 0.7 ms, alarm 1.4 ms; at least 15 times)")
    return 0 if found["ratio"] >= 15 and found["native"] <= 1.4 else 1


if __name__ == "__main__":
    sys.exit(main())
