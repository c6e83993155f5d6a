"""JSON of the executable specification: where a value ends, or the first code point that no JSON text has there.

Control characters inside strings are accepted (docs/format.md 5).
"""

from __future__ import annotations

import json
import re

JSON_BODY = re.compile(r'[^"\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*)*')
JSON_STRING_REST = re.compile(r'[^"\\]*(?:\\[\s\S][^"\\]*)*')
JSON_ESCAPE_CUT = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
JSON_NUMBER_CUT = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?)?")
JWS = re.compile(r"[ \t\n\r]*")


def json_string(text: str, i: int) -> tuple[str, int]:
    """Of the string whose quote is at `i`: ("ok", its end), ("end", length) or ("string fault", the code point)."""
    k = JSON_BODY.match(text, i + 1).end()  # type: ignore[union-attr]
    if text.startswith('"', k):
        return "ok", k + 1
    if k < len(text):
        k = JSON_ESCAPE_CUT.match(text, k).end()  # type: ignore[union-attr]
    return ("string fault", k) if k < len(text) else ("end", k)


def json_scalar(text: str, i: int) -> tuple[str, int]:
    for word in ("true", "false", "null"):
        if text[i] == word[0]:
            k = i
            while k < len(text) and k - i < len(word) and text[k] == word[k - i]:
                k += 1
            return ("ok", k) if k - i == len(word) else ("end" if k == len(text) else "fault", k)
    k = JSON_NUMBER_CUT.match(text, i).end()  # type: ignore[union-attr]
    if JSON_NUMBER.fullmatch(text, i, k):
        return "ok", k
    return "end" if k == len(text) else "fault", k


def json_value(text: str, i: int) -> tuple[str, int]:
    """Of the value at `i`: "ok" and its end, "end" and the length of the text, or a fault and the first code point that
    can stand in no JSON text."""
    stack: list[str] = []
    want = "value"
    while True:
        i = JWS.match(text, i).end()  # type: ignore[union-attr]
        if i == len(text):
            return "end", i
        c, status = text[i], "ok"
        if want in ("first", "key") and stack[-1] == "{" and c == '"':
            status, i = json_string(text, i)
            want = "colon"
        elif want == "colon" and c == ":":
            i, want = i + 1, "value"
        elif want in ("first", "after") and c == ("}" if stack[-1] == "{" else "]"):
            stack.pop()
            i, want = i + 1, "after"
        elif want == "after" and c == ",":
            i, want = i + 1, "key" if stack[-1] == "{" else "value"
        elif want == "value" or (want == "first" and stack[-1] == "["):
            if c in "{[":
                stack.append(c)
                i, want = i + 1, "first"
            else:
                status, i = json_string(text, i) if c == '"' else json_scalar(text, i)
                want = "after"
        else:
            return "fault", i
        if status != "ok":
            return status, i
        if want == "after" and not stack:
            return "ok", i


def holds_object(source: str) -> bool:
    """Whether a JSON string (source, with quotes) holds a JSON object and nothing else."""
    text = json.loads(source, strict=False)
    i = JWS.match(text).end()  # type: ignore[union-attr]
    status, k = json_value(text, i) if text.startswith("{", i) else ("fault", i)
    return status == "ok" and JWS.match(text, k).end() == len(text)  # type: ignore[union-attr]
