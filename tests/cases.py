"""Reader of tests/cases/*.md. One case:

    ## F1 a bare call at line start
    format: qwen3.5        (header lines as needed; these are the defaults, and `prefix: "<think>\\n"`, a JSON string)
    start: content
    tools: sh read         (names of TOOLS; `unknown`: None, `none`: [])
    stop: none
    bare_function: never   (any policy)
    ~~~~
    input; a line's end is a newline, ␣ a space, ⟨0D⟩ a code point in hexadecimal, ⟨20*1025⟩ the same 1,025 times
    ~~~~
    reasoning: "Plan."     (what is expected; a line that is absent: None, no call, no issue, complete)
    content: "I look."
    call: sh {"cmd": "ls"}               (complete; literals by key, in order)
    cut: sh json {"cmd": "l              (`cut_call`, JSON dialect: source of the arguments)
    broken: sh {}                        (incomplete and left behind; `cut: -` is a cut call without a name)
    typed: {"cmd": "ls"}                 (`arguments` of the call above; `text:` its `arguments_json`)
    complete: false
    issues: missing-tool-call-open@0 stray-think-close        (code@index of the call, or code alone)

`### key=value …` begins a variant: the same input with other header lines and its own expectation.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qwenparse.formats import POLICY_VALUES, Policy


def _tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS: dict[str, dict[str, Any]] = {
    "sh": _tool("sh", cmd={"type": "string"}),
    "read": _tool("read", path={"type": "string"}, n={"type": "integer"}),
    "f": _tool("f", a={"type": "integer"}),
    "dotted": _tool("mcp__a-b.c$", **{"dry-run": {"type": "string"}, "größe": {"type": "string"}}),
    "blank": _tool("my tool", **{"a key": {"type": "string"}, "k=v": {"type": "string"}}),
    "open": {"type": "function", "function": {"name": "open", "parameters": {}}},
    "v": _tool(
        "v",
        s={"type": "string"},
        i={"type": "integer"},
        x={"type": "number"},
        b={"type": "boolean"},
        oi={"anyOf": [{"type": "integer"}, {"type": "null"}]},
        os={"type": ["string", "null"]},
        a={"type": "array"},
        o={"type": "object"},
        u={},
        r={"$ref": "#/$defs/box"},
    ),
}
TOOLS["v"]["function"]["parameters"]["$defs"] = {"box": {"type": "object"}}


@dataclass
class ExpectedCall:
    kind: str  # call, cut, broken
    name: str | None
    literals: list[tuple[str, str]] | None = None  # XML dialect
    source: str | None = None  # JSON dialect: source of the arguments, None if they never began
    typed: Any = None
    text: str | None = None


@dataclass
class Case:
    id: str
    input: str
    kwargs: dict[str, Any]  # of `parse`: format, tools, start, policy, stop
    prefix: str = ""
    reasoning: str | None = None
    content: str | None = None
    calls: list[ExpectedCall] = field(default_factory=list)
    complete: bool = True
    issues: list[tuple[str, int | None]] = field(default_factory=list)


def _unescape(text: str) -> str:
    text = text.replace("␣", " ")
    return re.sub(r"⟨([0-9A-F]+)(?:\*(\d+))?⟩", lambda m: chr(int(m[1], 16)) * int(m[2] or 1), text)


def _kwargs(head: dict[str, str]) -> dict[str, Any]:
    tools = head.get("tools", "sh read")
    return {
        "format": head.get("format", "qwen3.5"),
        "start": head.get("start", "content"),
        "tools": None if tools == "unknown" else [TOOLS[t] for t in tools.split() if t != "none"],
        "policy": Policy(**{k: v for k, v in head.items() if k in POLICY_VALUES}),  # type: ignore[arg-type]
        "stop": head.get("stop", "none"),
    }


def _expect(case: Case, key: str, value: str) -> None:
    value = _unescape(value)
    if key in ("reasoning", "content"):
        setattr(case, key, json.loads(value, strict=False))
    elif key == "complete":
        case.complete = {"true": True, "false": False}[value]
    elif key == "issues":
        for item in value.split():
            code, _, index = item.partition("@")
            case.issues.append((code, int(index) if index else None))
    elif key == "typed":
        case.calls[-1].typed = json.loads(value)
    elif key == "text":
        case.calls[-1].text = value
    else:
        name, _, args = value.partition(" json")
        call = ExpectedCall({"call": "call", "cut": "cut", "broken": "broken"}[key], name)
        if " json" in value:
            call.source = args[1:] or None
        else:
            at = value.index("{") if name != "-" else len(value)
            call.name = value[:at].strip() if name != "-" else None
            call.literals = json.loads(value[at:] or "[]", object_pairs_hook=list, strict=False)
            call.literals = [(k, v) for k, v in call.literals or []]
        case.calls.append(call)


def load(path: Path) -> list[Case]:
    """The cases of one file. A line that is none of the above is an error."""
    cases: list[Case] = []
    head: dict[str, str] = {}
    text = title = ""
    case: Case | None = None
    block: list[str] | None = None
    for line in path.read_text("utf-8").split("\n"):
        if block is not None:
            if line != "~~~~":
                block.append(line)
                continue
            text, block = _unescape("\n".join(block)), None
            case = Case(f"{path.stem}: {title}", text, _kwargs(head), json.loads(head.get("prefix", '""')))
            cases.append(case)
        elif line == "~~~~":
            block = []
        elif line.startswith("## "):
            head, title, case = {}, line[3:], None
        elif line.startswith("### "):
            changed = head | dict(pair.split("=", 1) for pair in line[4:].split())
            prefix = json.loads(head.get("prefix", '""'))
            case = Case(f"{path.stem}: {title} {line[4:]}", text, _kwargs(changed), prefix)
            cases.append(case)
        elif line and not line.startswith("# "):
            key, _, value = line.partition(": ")
            if case is None:
                head[key] = value
            else:
                _expect(case, key, value)
    return cases


def load_all() -> list[Case]:
    """Every case; two cases of one name are an error."""
    cases = [case for path in sorted(Path(__file__).with_name("cases").glob("*.md")) for case in load(path)]
    assert len({case.id for case in cases}) == len(cases)
    return cases
