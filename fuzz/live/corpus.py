"""The texts the tiny model learns from: invented completions in both dialects, most of them well formed.

A language model trained on them writes plausible calls and, the hotter it samples, plausible mistakes.
"""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = (
    "the a to of file list now read write run test line first then this that with and is are not call tool name value "
    "result error check fix open close next path user wants one two more done here will should let me see answer query "
    "city days weather build code loop text data page row table mail light room time date see also because if so "
    "die Datei und Größe für naïve café 天气 文件 北京 你好 再 これは です приход 한국 🌙 👩‍💻 é ñ — … “quoted”"
).split()

TOOLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("get_weather", ("city", "days", "celsius")),
    ("write_file", ("path", "content")),
    ("read_file", ("path", "start", "end")),
    ("run_shell", ("command", "timeout")),
    ("search-web", ("query", "limit")),
    ("send.mail", ("to", "subject", "body")),
    ("update_row", ("table", "id", "values", "items")),
    ("f", ("x",)),
    ("ping", ()),
)

CODE = (
    "def f(x):\n    return x + 1\n",
    "for (int i = 0; i < n; i++) {\n\tputs(v[i]);\n}",
    'echo "$1" && ls -la | head -n 3',
    "cat > a.sh <<'EOF'\nexit 0\nEOF\n",
    "if a<b: print(a, '<', b)",
    "<ul>\n  <li>a &amp; b</li>\n</ul>",
    "```python\nprint('hi')\n```",
    "SELECT * FROM t WHERE x >= 1.0;\r\n",
    "std::vector<int> v;\r\nv.push_back(3);\r\n",
    'x = {"a": [1, 2.0, null], "b": "\\n"}',
)

TAGS = (
    "`<tool_call>`",
    "`</parameter>`",
    "</think>",
    "<parameter=x>",
    "`<function=f>`",
    "</tool_call>",
    "<|im_start|>",
    "<tool_response>",
)

SCALARS = (
    "1",
    "0",
    "-7",
    "1.0",
    "0.50",
    "1e5",
    "true",
    "false",
    "True",
    "False",
    "null",
    "NULL",
    "None",
    "007",
    "2026-01-15",
    "",
)


def documents(count: int, seed: int = 0) -> list[str]:
    """`count` completions, without stop tokens; the same for the same seed."""
    rng = random.Random(seed)
    return [completion(rng) for _ in range(count)]


def completion(rng: random.Random) -> str:
    """One completion: perhaps reasoning, perhaps an answer, up to three calls."""
    json_dialect = rng.random() < 0.25
    calls = [_call(rng, json_dialect) for _ in range(rng.choices((0, 1, 2, 3), (25, 50, 18, 7))[0])]
    thought = rng.choices(("", "whole", "opened", "open"), (40, 35, 20, 5))[0]
    text = ""
    if thought:
        body = _prose(rng, 3, 18)
        text = body if thought == "opened" else f"<think>\n{body}"
        text += "\n" if thought == "open" else rng.choices(("\n</think>\n\n", "\n</think>\n", "</think>"), (90, 5, 5))[0]
    if not calls or rng.random() < 0.6:
        text += _prose(rng, 2, 18)
        text += rng.choices(("\n\n", "\n", " ", ""), (85, 8, 4, 3))[0] if calls else ""
    text += rng.choices(("\n", "\n\n", ""), (90, 5, 5))[0].join(calls)
    if calls and rng.random() < 0.08:
        text += "\n\n" + _prose(rng, 2, 12)
    return text


def _prose(rng: random.Random, low: int, high: int) -> str:
    if rng.random() < 0.05:
        return rng.choice(CODE).strip()
    words = [rng.choice(WORDS) for _ in range(rng.randint(low, high))]
    if rng.random() < 0.08:
        words.insert(rng.randrange(len(words)), rng.choice(TAGS))
    text, end = "", 0
    for i, word in enumerate(words):
        text += (" " if i > end else "") + (word.capitalize() if i == end else word)
        if i + 1 == len(words) or (i > end + 4 and rng.random() < 0.2):
            text += rng.choice((".", ".", ".", "?", "!", ":"))
            if i + 1 < len(words):
                text, end = text + rng.choice(("\n", "\n\n", " ", " ")), i + 1
    return text


def _call(rng: random.Random, json_dialect: bool) -> str:
    name, keys = rng.choice(TOOLS)
    keys = keys[: rng.randint(0, len(keys))] if rng.random() < 0.2 else keys
    if json_dialect:
        body = json.dumps({"name": name, "arguments": {k: _object(rng) for k in keys}}, ensure_ascii=rng.random() < 0.2)
        return f"<tool_call>\n{body}\n</tool_call>"
    gap = rng.choices(("\n", "", " ", "\n\n"), (92, 4, 2, 2))[0]
    frame = rng.choices(("\n", "", "\n\n"), (93, 5, 2))[0]
    parts = "".join(f"<parameter={k}>{frame}{_literal(rng)}{frame}</parameter>{gap}" for k in keys)
    return f"<tool_call>{gap}<function={name}>{gap}{parts}</function>{gap}</tool_call>"


def _literal(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(SCALARS)
    if kind < 0.5:
        return rng.choice(CODE)
    if kind < 0.58:
        return json.dumps(_object(rng), ensure_ascii=False)
    if kind < 0.66:
        return rng.choice(("/srv/a.py", "src/main.c", "a.txt", "index.html", "../x/y z.md"))
    if kind < 0.72:
        return f"{rng.choice(WORDS)} {rng.choice(TAGS)} {rng.choice(WORDS)}"
    return _prose(rng, 1, 12)


def _object(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if kind < 0.12 and depth < 2:
        return [_object(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind < 0.24 and depth < 2:
        return {rng.choice(WORDS): _object(rng, depth + 1) for _ in range(rng.randrange(3))}
    if kind < 0.5:
        return rng.choice((1, 0, -7, 1.0, 0.5, 1e20, True, False, None))
    return rng.choice(CODE) if kind < 0.65 else _prose(rng, 1, 6)
