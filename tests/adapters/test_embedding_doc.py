"""The examples of docs/embedding.md run."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from pathlib import Path
from typing import Any

DOC = (Path(__file__).parents[2] / "docs" / "embedding.md").read_text("utf-8")
BLOCKS = re.findall(r"```python( no-run)?\n(.*?)```", DOC, re.DOTALL)


def test_examples_are_python() -> None:
    assert len(BLOCKS) == 3
    for _, code in BLOCKS:
        ast.parse(code)


def test_the_dicts_are_what_the_stream_gives() -> None:
    (code,) = (code for skip, code in BLOCKS if not skip and "assert got == [" in code)
    exec(compile(code, "embedding.md", "exec"), {})


def test_the_asgi_server_answers() -> None:
    (code,) = (code for skip, code in BLOCKS if "async def app" in code)

    async def engine(prompt: str) -> Any:
        assert prompt.endswith("<think>\n")
        for text in ("Hm.\n</th", "ink>\n\nHi"):
            yield text, None
        yield "", "stop"

    names: dict[str, Any] = {"engine": engine, "render": lambda request: "<|im_start|>assistant\n<think>\n"}
    exec(compile(code, "embedding.md", "exec"), names)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"body": json.dumps({"model": "m", "messages": []}).encode()}

    async def send(event: Any) -> None:
        sent.append(event)

    asyncio.run(names["app"]({}, receive, send))
    lines = b"".join(e.get("body", b"") for e in sent).decode().split("\n\n")
    deltas = [json.loads(x.removeprefix("data: "))["choices"][0]["delta"] for x in lines[:-2]]
    assert lines[-2:] == ["data: [DONE]", ""] and not sent[-1].get("more_body")
    assert deltas == [{"role": "assistant", "content": None}, {"reasoning_content": "Hm."}, {"content": "Hi"}, {}]


def test_the_modules_named_exist() -> None:
    table = re.findall(r"^\| `(\w+)` \| [^|]* \| `(\w+)` \| ([^|]*) \|$", DOC, re.MULTILINE)
    assert [row[0] for row in table] == ["openai", "responses", "anthropic", "ollama"]
    for module, stream, whole in table:
        made = __import__(f"qwenparse.adapters.{module}", fromlist=["x"])
        for name in (stream, *re.findall(r"`(\w+)`", whole)):
            assert callable(getattr(made, name))
