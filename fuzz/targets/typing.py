"""Typed values never raise, whatever schema and literal; JSON texts of complete calls are valid and agree."""

from __future__ import annotations

from fuzz import checks
from fuzz.settings import settings

NATIVE = True
BYTECODE = ("qwenparse.values",)
MIN_EDGES = 1500

KEYS = (b"path", b"n", b"ids", b"opts", b"ok", b"maybe", b"other", b"cmd")


def one(data: bytes) -> None:
    """`data`: header and one literal, put where `cut` says: a parameter of `read`, or the arguments of a JSON call."""
    s, body = settings(data)
    key = KEYS[s.cut % len(KEYS)]
    call = b"<tool_call>\n<function=read>\n<parameter=" + key + b">\n" + body + b"\n</parameter>\n</function>\n</tool_call>"
    checks.typed(checks.whole(s._replace(start="content", tools=1, format="qwen3.5"), call))
    call = b'<tool_call>\n{"name": "read", "arguments": ' + body + b"}\n</tool_call>"
    checks.typed(checks.whole(s._replace(start="content", tools=1, format="qwen3"), call))
