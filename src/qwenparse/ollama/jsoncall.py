"""The text of a JSON call, as `json.Unmarshal` decodes it into the reference's structs.

`qwen3.go` decodes into a struct with name and arguments, `qwen3vl.go` into `api.ToolCallFunction`, which has an index
too. Syntax is checked first, over the whole text; then fields are decoded in order. A field of the wrong kind is an
error that Go remembers and reports at the end; an error inside the arguments ends the decoding at once. The keys
directly under the arguments go through a JSON reader of their own (the ordered map's), with other rules.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .gojson import JSONSyntaxError, Node, NumberOverflow, parse, to_any
from .gojsontext import Ordered
from .gostrconv import parse_int
from .goutf8 import go_bytes


class CallError(ValueError):
    """`str(e)` is Go's text."""


class Struct(NamedTuple):
    """A Go struct: its type in error texts, the prefix of its fields there, and whether it has an index."""

    type: str
    prefix: str
    has_index: bool


QWEN3 = Struct(
    r'struct { Name string "json:\"name\""; Arguments api.ToolCallFunctionArguments "json:\"arguments\"" }', "", False
)
QWEN3_VL = Struct("api.ToolCallFunction", "ToolCallFunction", True)


def read(text: str, struct: Struct) -> tuple[str, Ordered | None]:
    """Name and arguments (None for `null`) of a call. Raises `CallError`."""
    try:
        node = parse(text)
    except JSONSyntaxError as error:
        raise CallError(str(error)) from None
    if node.kind not in ("object", "null"):
        raise CallError(f"json: cannot unmarshal {node.kind} into Go value of type {struct.type}")
    name = ""
    arguments: Ordered | None = Ordered(())
    remembered = ""
    for member in node.value or ():
        field, value = _field(member.key), member.node
        problem = ""
        if field == "arguments":
            arguments = _arguments(value, struct)
        elif field == "name":
            if value.kind == "string":
                name = value.value
            elif value.kind != "null":
                problem = _mismatch(value.kind, struct, "name", "string")
        elif field == "index" and struct.has_index and value.kind != "null":
            if value.kind != "number":
                problem = _mismatch(value.kind, struct, "index", "int")
            elif parse_int(value.value) is None:
                problem = _mismatch(f"number {value.value}", struct, "index", "int")
        remembered = remembered or problem
    if remembered:
        raise CallError(remembered)
    return name, arguments


def _field(key: str) -> str:
    """A key as Go folds it to find a field: ASCII case, and U+017F for `s`."""
    return key.replace("\u017f", "s").lower()


def _mismatch(what: str, struct: Struct, field: str, go_type: str) -> str:
    return f"json: cannot unmarshal {what} into Go struct field {struct.prefix}.{field} of type {go_type}"


def _arguments(node: Node, struct: Struct) -> Ordered | None:
    if node.kind == "null":
        return None
    if node.kind != "object":
        raise CallError("Value looks like object, but can't find closing '}' symbol")
    members: dict[str, Any] = {}
    for member in node.value:
        key = argument_key(member.source)
        try:
            members[key] = to_any(member.node)
        except NumberOverflow as error:
            raise CallError(_mismatch(f"number {error}", struct, "arguments", "float64")) from None
    return Ordered(members.items())


_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_SIMPLE = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_BAD_ESCAPE = "Encountered an invalid escape sequence in a string"


def argument_key(source: str) -> str:
    r"""A key directly under the arguments, from its source between the quotes (its syntax has been checked).

    A `\u` escape of any surrogate takes the next six bytes for its other half, of which it reads the last four.
    Raises `CallError`.
    """
    if "\\" not in source and source.isascii():
        return source
    data = go_bytes(source)
    out = bytearray()
    pos = 0
    while found := _ESCAPE.search(data, pos):
        out += data[pos : found.start()]
        pos = found.end()
        if found[1] != b"u":
            out += _SIMPLE.get(found[1], found[1])
            continue
        code = int(data[pos : pos + 4], 16)
        pos += 4
        if 0xD800 <= code <= 0xDFFF:
            code = _surrogates(code, data[pos : pos + 6])
            pos += 6
        out += chr(code).encode()
    out += data[pos:]
    try:
        return out.decode()
    except UnicodeDecodeError as error:
        shown = out.decode("utf-8", "surrogateescape")
        raise CallError(f"not a valid UTF-8 string (at position {error.start}): {shown}") from None


_FOUR_HEX = re.compile(rb"[0-9a-fA-F]{4}")


def _surrogates(high: int, following: bytes) -> int:
    if len(following) < 6 or not _FOUR_HEX.fullmatch(following[2:]):
        raise CallError(_BAD_ESCAPE)
    low = int(following[2:], 16)
    if low < 0xDC00:
        raise CallError(_BAD_ESCAPE)
    code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    return code if code <= 0x10FFFF else 0xFFFD
