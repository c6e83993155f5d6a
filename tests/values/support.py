"""What the tests of values share."""

import ast
import json
import math
import warnings

from qwenparse._events import ArgumentDelta, ArgumentEnd, ArgumentStart, ToolCallEnd, ToolCallStart
from qwenparse.schema import ToolSet
from qwenparse.values import ArgumentsJSON

TYPES = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "a": {"type": "array"},
    "o": {"$ref": "#/$defs/O"},
    "in": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "sn": {"type": ["string", "null"]},
    "so": {"type": ["string", "object", "integer", "number", "boolean", "array"]},
    "u": {},
}


TOOLS = ToolSet.of([{"name": "t", "parameters": {"properties": TYPES, "$defs": {"O": {"type": "object"}}}}])


TOOL = TOOLS.get("t")


def events(recorded, complete=True, cut=lambda text: [text], name="t", index=0):
    yield ToolCallStart(index, name)
    for key, literal, closed in recorded:
        yield ArgumentStart(index, key)
        for piece in cut(literal):
            yield ArgumentDelta(index, piece)
        yield ArgumentEnd(index, closed)
    yield ToolCallEnd(index, complete)


def pieces(recorded, complete=True, cut=lambda text: [text], **kw):
    writer = ArgumentsJSON(TOOLS, **kw)
    return [writer.feed(event) for event in events(recorded, complete, cut)]


def oracle(text):
    """What CPython reads, as JSON can say it; None where the literal is none of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(ast.literal_eval(text), top=True)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None


def plain(value, top=False):
    if isinstance(value, dict):
        if not all(k is None or isinstance(k, (str, int, float)) for k in value):
            raise ValueError
        return {k if isinstance(k, str) else json.dumps(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if top or isinstance(value, (bytes, complex, set)) or value is ...:
        raise ValueError
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError
    return value
