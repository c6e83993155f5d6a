"""A seeded corpus of Qwen turns whose right parse is known, because they are written from it.

Layout is that of the published templates (docs/format.md): reasoning, content, up to three calls, XML and JSON. Text
is prose, Chinese, emoji and code; code goes into arguments, with its indentation and its last newline. With
`lookalikes=True` some turns spell tags and whole calls in ordinary characters; their right parse needs token ids.

    for turn in corpus(400, seed=1):
        turn.text, turn.reasoning, turn.content, turn.calls
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qwenparse.tokens import Encoder


LENGTH = 6
"""`length` of the turns that are measured."""


def _tool(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": f"{name} tool", "parameters": schema}}


_STRING, _INTEGER, _NUMBER, _BOOLEAN = ({"type": t} for t in ("string", "integer", "number", "boolean"))
TOOLS: list[dict[str, Any]] = [
    _tool("write_file", path=_STRING, content=_STRING, executable=_BOOLEAN),
    _tool("edit_file", path=_STRING, old=_STRING, new=_STRING, count=_INTEGER),
    _tool("run_command", command=_STRING, timeout=_NUMBER, background=_BOOLEAN),
    _tool("search", query=_STRING, limit=_INTEGER, paths={"type": "array", "items": _STRING}),
    _tool("http_request", url=_STRING, method={"type": "string", "enum": ["GET", "POST"]}, headers={"type": "object"}),
    _tool("get_weather", city=_STRING, days={"anyOf": [_INTEGER, {"type": "null"}]}, celsius=_BOOLEAN),
    _tool("create_task", title=_STRING, priority=_INTEGER, estimate=_NUMBER, tags={"type": "array"}),
    _tool("list_tasks"),
]

_WORDS = (
    "the file parser value returns check before after token stream first second result test should need update "
    "config server request time list then because when error path read write call user wants small change line "
    "function argument looks right fails again simple case run build output input state empty default"
).split()
_CHINESE = [
    "天气",
    "文件",
    "需要",
    "先",
    "读取",
    "然后",
    "写入",
    "测试",
    "结果",
    "正确",
    "用户",
    "希望",
    "这个",
    "函数",
    "返回",
    "错误",
]
_ODD = ["naïve", "déjà vu", "Zürich", "👩‍💻", "🎉", "→", "“quoted”", "x² + y²", "한국어", "привет", "🇩🇪", "ก็", "𝛼𝛽"]
_NAMES = ["data", "rows", "node", "total", "index", "buffer", "items", "user_id", "cfg", "path", "out", "acc"]


@dataclass(frozen=True)
class Turn:
    """One completion, without its stop token, and what a right parser makes of it."""

    id: str
    format: str
    vocabulary: str
    """Name in tests/real_tokenizers.py."""
    start: str
    """What the prompt left open: `reasoning`, `content`, or `auto` (the model opens its thought itself)."""
    pieces: tuple[tuple[str, bool], ...]
    """The text, cut where a tag with an id of its own (True) begins or ends."""
    reasoning: str | None
    content: str | None
    calls: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.pieces)

    @property
    def lookalike(self) -> bool:
        """True if tags are also spelled in ordinary tokens, so that the text alone is ambiguous."""
        return any(tag in text for text, structure in self.pieces if not structure for tag in _TAGS)

    def ids(self, encoder: Encoder) -> list[int]:
        """The token ids: tags by their own ids, all other text in ordinary tokens."""
        return [i for text, tag in self.pieces for i in encoder.encode(text, specials=tag)]


_TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")


class _Writer:
    """Writes one turn after another from one random stream."""

    def __init__(self, seed: int, lookalikes: bool, length: int) -> None:
        self.r = random.Random(seed)
        self.lookalikes = lookalikes
        self.length = length

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    def words(self, low: int, high: int) -> str:
        out = []
        for _ in range(self.r.randint(low, high)):
            out.append(self.r.choice(_ODD) if self.chance(0.02) else self.r.choice(_WORDS))
        return " ".join(out)

    def sentence(self) -> str:
        roll = self.r.random()
        if roll < 0.12:
            return "".join(self.r.choice(_CHINESE) for _ in range(self.r.randint(3, 14))) + "。"
        if roll < 0.17:
            return f"If a < b and `{self.name()}[i] > 0`, {self.words(2, 6)}."
        if roll < 0.20:
            return f"See <b>{self.words(1, 3)}</b> &amp; <https://example.org/{self.name()}>."
        return self.words(4, 16).capitalize() + self.r.choice("..!?")

    def lookalike(self, *, in_value: bool = False) -> str:
        """Tags in ordinary characters. A value cannot hold `</parameter></function>`, which have no ids to tell by."""
        options = [
            "Close the thought with </think> and go on.",
            "A call begins with `<tool_call>` and ends with `</tool_call>`.",
            'Or <tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>, as JSON.',
            "The turn ends with <|im_end|> there, and <think> opens.",
        ]
        if not in_value:
            options.append(
                "Like <tool_call><function=search><parameter=query>x</parameter></function></tool_call>, in one line."
            )
        return self.r.choice(options)

    def paragraph(self, low: int, high: int) -> str:
        lines = [self.sentence() for _ in range(self.r.randint(low, high))]
        if self.lookalikes and self.chance(0.5):
            lines.insert(self.r.randint(0, len(lines)), self.lookalike())
        return " ".join(lines)

    def prose(self, low: int, high: int) -> str:
        parts = [self.paragraph(1, 4) for _ in range(self.length * self.r.randint(low, high))]
        if self.chance(0.15):
            parts.append("\n".join(f"{n}. {self.sentence()}" for n in range(1, self.r.randint(3, 6))))
        if self.chance(0.12):
            parts.append(f"```python\n{self.python(self.r.randint(2, 8))}```")
        if self.chance(0.4):
            parts.append(self.sentence())
        return "\n\n".join(parts)

    # ------------------------------------------------------------------------------------------------------ code

    def name(self) -> str:
        return self.r.choice(_NAMES)

    def python(self, lines: int) -> str:
        out = [f"def {self.name()}_{self.name()}({self.name()}, *, limit={self.r.randint(1, 99)}):"]
        depth = 1
        for _ in range(lines):
            pad = "    " * depth
            roll = self.r.random()
            if roll < 0.2 and depth < 4:
                out.append(
                    f"{pad}if {self.name()}[{self.r.randint(0, 9)}] <= {self.r.randint(0, 99)} and not {self.name()}:"
                )
                depth += 1
            elif roll < 0.3 and depth < 4:
                out.append(f"{pad}for i, {self.name()} in enumerate({self.name()}):")
                depth += 1
            elif roll < 0.45:
                out.append(f'{pad}print(f"{self.words(1, 4)}: {{{self.name()}!r}}\\n", file=out)')
            elif roll < 0.55:
                out.append(f"{pad}# {self.sentence()}")
            elif roll < 0.62:
                out.append("")
            else:
                out.append(f"{pad}{self.name()} = {self.name()}.get('{self.name()}', {self.r.randint(0, 999)})")
            if self.chance(0.3) and depth > 1:
                depth -= 1
        return "\n".join(out) + f"\n{'    ' * depth}return {self.name()}\n"

    def html(self, lines: int) -> str:
        rows = [
            f'  <li class="{self.name()}"><a href="/{self.name()}?a=1&b=2">{self.words(1, 5)}</a></li>'
            for _ in range(lines)
        ]
        return "\n".join(["<!doctype html>", "<ul>", *rows, "</ul>", ""])

    def javascript(self, lines: int) -> str:
        rows = [
            f"  const {self.name()}{n} = {self.name()}.map((x) => x < {n} ? `${{x}}` : null);" for n in range(lines)
        ]
        return "\n".join(
            [f"export function {self.name()}({self.name()}) {{", *rows, f"  return {self.name()};", "}", ""]
        )

    def code(self) -> str:
        lines = self.length * min(int(self.r.expovariate(1 / 14)) + 2, 90)
        return self.r.choice([self.python, self.python, self.html, self.javascript])(lines)

    def string(self, tool: str, name: str) -> str:
        r = self.r
        if name in ("content", "new", "old"):
            text = self.code()
            if name != "content":
                text = text[: r.randint(len(text) // 2, len(text))].strip("\n") or "x"
            if self.lookalikes and self.chance(0.3):
                text = f"# {self.lookalike(in_value=True)}\n{text}"
            return text
        if name == "path":
            stem = r.choice(["a", "天气", "naïve"])
            return f"/srv/{self.name()}/{stem}_{r.randint(1, 99)}.{r.choice(['py', 'html', 'js'])}"
        if name == "command":
            return r.choice(
                [
                    f"grep -rn '{self.name()}' src | head -{r.randint(2, 50)}",
                    f"cat > {self.name()}.py <<'EOF'\n{self.python(r.randint(1, 5))}EOF",
                    f'git commit -m "{self.words(2, 6)}" && git push 2>&1',
                    f'for f in *.{self.name()}; do echo "$f"; done',
                ]
            )
        if name == "city":
            return r.choice(["Zürich", "北京", "Århus", "New York", "서울"])
        if name == "url":
            return f"https://example.org/{self.name()}?q={self.name()}&n={r.randint(1, 9)}#top"
        return self.sentence() if self.chance(0.8) else f"{r.randint(0, 99):03d}"

    def value(self, tool: str, name: str, schema: dict[str, Any]) -> Any:
        r = self.r
        kind = schema.get("type")
        if "enum" in schema:
            return r.choice(schema["enum"])
        if kind == "string":
            return self.string(tool, name)
        if kind == "integer":
            return r.randint(0, 5000)
        if kind == "number":
            return r.choice([0.5, 1.25, 30, 2.5, 120])
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "array":
            return [self.words(1, 2) for _ in range(r.randint(0, 4))]
        if kind == "object":
            return {"Accept": "text/html", "X-Name": self.words(1, 2), "n": r.randint(0, 9)}
        return None if self.chance(0.3) else r.randint(1, 9)

    # ------------------------------------------------------------------------------------------------------ calls

    def arguments(self, tool: dict[str, Any]) -> dict[str, Any]:
        function = tool["function"]
        out = {}
        for n, (name, schema) in enumerate(function["parameters"]["properties"].items()):
            if n == 0 or name in ("content", "old", "new") or self.chance(0.6):
                out[name] = self.value(function["name"], name, schema)
        return out

    def turn(self, number: int) -> Turn:
        r = self.r
        format = r.choice(["qwen3.6", "qwen3.6", "qwen3.5", "qwen3-coder", "qwen3", "qwen3-thinking-2507"])
        xml = format in ("qwen3.6", "qwen3.5", "qwen3-coder")
        start = {"qwen3-coder": "content", "qwen3": "auto", "qwen3-thinking-2507": "reasoning"}.get(
            format, "reasoning" if self.chance(0.8) else "content"
        )
        calls = [
            (tool["function"]["name"], self.arguments(tool))
            for tool in (r.choice(TOOLS) for _ in range(r.choice([0, 1, 1, 1, 1, 2, 2, 3])))
        ]
        reasoning = self.prose(1, 5) if start == "reasoning" or (start == "auto" and self.chance(0.7)) else None
        content = self.prose(1, 3) if not calls or self.chance(0.5) else None
        out: list[tuple[str, bool]] = []
        if reasoning is not None:
            if start == "auto":
                out.append(("<think>", True))
                out.append(("\n", False))
            out += [(reasoning + "\n", False), ("</think>", True), ("\n\n", False)]
        if content is not None:
            out.append((content, False))
        for n, (name, arguments) in enumerate(calls):
            gap = "\n" if n else ("\n\n" if xml else "\n") if content is not None else ""
            body = _xml(name, arguments, python=format != "qwen3.6") if xml else _json(name, arguments)
            out += [(gap, False), ("<tool_call>", True), (f"\n{body}\n", False), ("</tool_call>", True)]
        return Turn(
            id=f"{number:05d}",
            format=format,
            vocabulary="qwen3.5" if format in ("qwen3.6", "qwen3.5") else "qwen3",
            start=start,
            pieces=_joined(out),
            reasoning=reasoning,
            content=content,
            calls=tuple(calls),
        )


def _joined(pieces: list[tuple[str, bool]]) -> tuple[tuple[str, bool], ...]:
    """Neighbouring text in one piece: a tokenizer sees it in one piece too."""
    out: list[tuple[str, bool]] = []
    for text, tag in pieces:
        if out and not tag and not out[-1][1]:
            out[-1] = (out[-1][0] + text, False)
        elif text:
            out.append((text, tag))
    return tuple(out)


def _xml(name: str, arguments: dict[str, Any], *, python: bool) -> str:
    """`python`: Qwen3.5 and Qwen3-Coder print scalars as Python does (`True`), Qwen3.6 as JSON."""
    out = [f"<function={name}>\n"]
    for key, value in arguments.items():
        if isinstance(value, str):
            literal = value
        elif python and isinstance(value, bool):
            literal = str(value)
        else:
            literal = json.dumps(value, ensure_ascii=False)
        out.append(f"<parameter={key}>\n{literal}\n</parameter>\n")
    return "".join(out) + "</function>"


def _json(name: str, arguments: dict[str, Any]) -> str:
    return f'{{"name": "{name}", "arguments": {json.dumps(arguments, ensure_ascii=False)}}}'


def corpus(turns: int, *, seed: int = 20261, lookalikes: bool = False, length: int = 1) -> Iterator[Turn]:
    """`turns` turns; the same ones for the same seed, on every Python. `length`: so many times as much prose and code
    (1: some 300 tokens a turn; LENGTH: some 1,500, as a model that thinks writes them)."""
    writer = _Writer(seed, lookalikes, length)
    for number in range(turns):
        yield writer.turn(number)
