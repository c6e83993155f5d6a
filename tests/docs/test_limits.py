"""docs/format.md 12: a string value parses back to itself unless it spells its own end, in one of four ways."""

from __future__ import annotations

import random
import re

import pytest
from cases import TOOLS

import qwenparse

WS = r"[ \t\n\r\v\f]{0,1024}"
LINE_START = r"(?:\A|\n)[ \t]*"
NAME = r"[^<>\r\n]{1,256}"
ENDS = [
    re.compile(rf"</parameter[^<>\n]{{0,32}}>{WS}(?:<parameter=|</function>|</tool_call>)"),
    re.compile(rf"{LINE_START}</function>{WS}(?:</tool_call>|<tool_call>|<function={NAME}>)"),
    re.compile(rf"{LINE_START}</tool_call>{WS}<tool_call>"),
]
PARAMETER = re.compile(rf"{LINE_START}<parameter=({NAME})>")
FRAGMENTS = (
    "<tool_call>", "</tool_call>", "<function=read>", "<function=zz>", "</function>", "<parameter=path>",
    "<parameter=n>", "<parameter=zz>", '<parameter="n">', "<parameter= n >", "<parameter=n\n", "<parameter=n=1",
    "</parameter>", "</parameter_x>", "</parameter", "<parameter=", "<function=", "<think>", "</think>",
    "\n", "\n", "\n", " ", "\t", "\r", "x", "ls -l", '"', "{", "}", "```\n", "<", "</", ">", "=", "é",
)  # fmt: skip


def spells_its_end(value: str, *, known: bool) -> bool:
    if any(end.search(value) for end in ENDS):
        return True
    for found in PARAMETER.finditer(value):
        name = found[1].strip(" \t")
        if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'":
            name = name[1:-1]
        if name == "n" if known else name and name != "path" and not re.search(r"[\s=]", name):
            return True
    return False


@pytest.mark.parametrize("known", [True, False])
def test_those_and_only_those_values_come_back_changed(known: bool) -> None:
    rng = random.Random(12)
    changed = 0
    for _ in range(6000):
        value = "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 9)))
        text = f"<tool_call>\n<function=read>\n<parameter=path>\n{value}\n</parameter>\n</function>\n</tool_call>"
        tools = [TOOLS["read"]] if known else None
        turn = qwenparse.parse(text, "qwen3.5", tools=tools, start="content", stop="im_end")
        same = [call.literals for call in turn.tool_calls] == [{"path": value}] and not turn.issues
        assert same != spells_its_end(value, known=known), value
        changed += not same
    assert 300 < changed < 3000
