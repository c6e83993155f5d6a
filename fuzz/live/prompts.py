"""Prompts that make small models write the tags of the format.

A prompt is a system text with tools, worked turns, and a task. With the tags spelled in ordinary tokens
(`LiveModel.encode`, `real=CONTROL`) even models that never emit the ids of the tags copy the spelling.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

CONTROL = ("<|im_start|>", "<|im_end|>")
"""The only added tokens of a prompt that are meant as such."""

TOOLS: dict[str, dict[str, str]] = {
    "get_weather": {"city": "string", "days": "integer", "celsius": "boolean"},
    "write_file": {"path": "string", "content": "string"},
    "read_file": {"path": "string", "start": "integer", "end": "integer"},
    "run_shell": {"command": "string", "timeout": "number"},
    "search_web": {"query": "string", "limit": "integer"},
    "send_email": {"to": "array", "subject": "string", "body": "string"},
    "create_event": {"title": "string", "when": "string", "minutes": "integer"},
    "update_row": {"table": "string", "id": "integer", "values": "object"},
    "edit_file": {"path": "string", "old": "string", "new": "string"},
    "set_light": {"room": "string", "on": "boolean", "level": "number"},
}

TASKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Write a function that adds two numbers to /tmp/add.py.",
        "write_file",
        {"path": "/tmp/add.py", "content": "def add(a, b):\n    return a + b\n"},
    ),
    (
        "Write a page with a list of two items to index.html.",
        "write_file",
        {"path": "index.html", "content": "<ul>\n  <li>one</li>\n  <li>a &amp; b</li>\n</ul>"},
    ),
    (
        "Schreibe eine Datei grüße.txt mit zwei Zeilen.",
        "write_file",
        {"path": "grüße.txt", "content": "Schöne Grüße\naus Zürich"},
    ),
    (
        "Write a C program that prints its arguments into a.c.",
        "write_file",
        {
            "path": "a.c",
            "content": "#include <stdio.h>\nint main(int n, char **v) {\n\tfor (int i = 0; i < n; i++) puts(v[i]);\n}",
        },
    ),
    (
        "Save the settings as settings.json.",
        "write_file",
        {"path": "settings.json", "content": '{"a": [1, 2.0, {"b": null}], "on": true}'},
    ),
    (
        "What is the weather in Zürich for 3 days, in celsius?",
        "get_weather",
        {"city": "Zürich", "days": 3, "celsius": True},
    ),
    ("请告诉我北京今天的天气。", "get_weather", {"city": "北京", "days": 1, "celsius": True}),
    ("Weather in Lima tomorrow, please.", "get_weather", {"city": "Lima", "days": 1, "celsius": False}),
    ("Show me lines 10 to 20 of src/main.c.", "read_file", {"path": "src/main.c", "start": 10, "end": 20}),
    ("What does /etc/hostname say?", "read_file", {"path": "/etc/hostname", "start": 1, "end": 1}),
    ("List all files here, newest first.", "run_shell", {"command": "ls -lat", "timeout": 5}),
    (
        "Run the tests and stop at the first failure.",
        "run_shell",
        {"command": "pytest -x 2>&1 | tail -n 20", "timeout": 120.0},
    ),
    (
        "Write a script with a here-document.",
        "run_shell",
        {"command": "cat > run.sh <<'EOF'\necho \"$1\" && exit 0\nEOF", "timeout": 1.5},
    ),
    ("Find three articles about prefix caches.", "search_web", {"query": "prefix cache", "limit": 3}),
    ("Search for the price of tea in 東京.", "search_web", {"query": "お茶 値段 東京", "limit": 5}),
    (
        "Tell Ana and Bo that the meeting moves to Friday.",
        "send_email",
        {"to": ["ana@example.org", "bo@example.org"], "subject": "Meeting", "body": "Hi,\n\nit moves to Friday.\n"},
    ),
    (
        "Put the dentist into my calendar, tomorrow at nine.",
        "create_event",
        {"title": "Dentist", "when": "2026-01-15 09:00", "minutes": 60},
    ),
    (
        "Rename the event to 'Review & plan <2>'.",
        "create_event",
        {"title": "Review & plan <2>", "when": "today", "minutes": 30},
    ),
    (
        "Set the score of row 12 in players to 7.5.",
        "update_row",
        {"table": "players", "id": 12, "values": {"name": "O'Brien", "score": 7.5}},
    ),
    (
        "Replace x < 3 by x <= 3 in lib/util.js.",
        "edit_file",
        {"path": "lib/util.js", "old": "if (x < 3) {", "new": "if (x <= 3) {"},
    ),
    ("Turn off the kitchen light.", "set_light", {"room": "kitchen", "on": False, "level": 0}),
    ("Dim the hall to 0.3 🌙.", "set_light", {"room": "hall", "on": True, "level": 0.3}),
)

_XML = "<tool_call>\n<function="
_JSON = '<tool_call>\n{"name": "'
PREFILL = {
    "xml": "",
    "xml-tag": "<tool_call>\n",
    "xml-name": _XML,
    "xml-think": "<think>\n",
    "xml-text": "I will do that.\n\n<tool_call>\n",
    "json": "",
    "json-tag": _JSON,
    "json-think": "<think>\n",
    "quote": "",
    "bare": "",
}
MODES = tuple(PREFILL)
"""Dialect of the worked turns and what is prefilled; `quote` asks for an explanation, `bare` has no worked turns."""


@dataclass(frozen=True)
class Prompt:
    """`text` ends where the model begins; `prefill` is its last part that belongs to the turn itself."""

    mode: str
    text: str
    prefill: str


def build(mode: str, rng: random.Random) -> Prompt:
    """A prompt of that mode (one of `MODES`)."""
    tasks = rng.sample(TASKS, 3)
    dialect = "json" if mode.startswith("json") else "xml"
    text = _message("system", _system(sorted({tool for _, tool, _ in tasks}), dialect))
    if mode != "bare":
        for task, tool, arguments in tasks[:2]:
            thought = f"<think>\n{rng.choice(_THOUGHTS)}\n</think>\n\n" if "think" in mode else ""
            turn = thought + rng.choice(_LEADS) + _call(tool, arguments, dialect)
            if rng.random() < 0.3:
                turn += "\n" + _call(*rng.choice(tasks)[1:], dialect)
            text += _message("user", task) + _message("assistant", turn)
    task, tool, _ = tasks[2]
    if mode == "quote":
        task = f"Explain with an example how a call of {tool} is written. Then: {task}"
    text += _message("user", task) + "<|im_start|>assistant\n" + PREFILL[mode]
    return Prompt(mode, text, PREFILL[mode])


_THOUGHTS = (
    "One call is enough.",
    "First the file, then the answer.\nThe path is absolute.",
    "The user wants this done, so I call the tool.",
)
_LEADS = ("", "", "I will do that.\n\n", "Sure, one moment.\n\n", "Let me look.\n\n")


def _message(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def _system(names: list[str], dialect: str) -> str:
    lines = ["You can call these tools:"]
    for name in names:
        parameters = ", ".join(f"{key}: {kind}" for key, kind in TOOLS[name].items())
        lines.append(f"- {name}({parameters})")
    lines += ["", "Write every call exactly like this:", _call("tool_name", {"key": "value"}, dialect)]
    return "\n".join(lines)


def _call(name: str, arguments: dict[str, Any], dialect: str) -> str:
    if dialect == "json":
        body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
        return f"<tool_call>\n{body}\n</tool_call>"
    parts = [
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in arguments.items()
    ]
    return f"<tool_call>\n<function={name}>\n{''.join(parts)}</function>\n</tool_call>"
