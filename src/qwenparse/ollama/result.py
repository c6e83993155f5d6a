"""What `Parser.add` returns."""

from __future__ import annotations

import json
from typing import Any

from . import gojson, gojsontext


class ToolCall:
    """A tool call as the reference reports it. The call's place in the turn is `index`, from 0.

    `arguments_json` is exactly the JSON text Go writes, and `""` if Go cannot write it (`arguments_error` is then
    its error text): a NaN value, or one nested 10,000 deep. Both it and `name` are valid Unicode.
    """

    __slots__ = ("_arguments", "arguments_error", "arguments_json", "index", "name")

    def __init__(self, name: str, arguments_json: str, index: int, arguments_error: str | None = None) -> None:
        self.name = name
        self.arguments_json = arguments_json
        self.index = index
        self.arguments_error = arguments_error
        self._arguments: dict[str, Any] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """`json.loads(arguments_json)`, and `{}` where that is not an object. Made when first asked for."""
        if self._arguments is None:
            self._arguments = _loads(self.arguments_json) or {}
        return self._arguments

    def _key(self) -> tuple[str, str, int]:
        return self.name, self.arguments_json, self.index

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ToolCall) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"ToolCall(name={self.name!r}, arguments_json={self.arguments_json!r}, index={self.index})"


def _loads(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except RecursionError:
        return _plain_numbers(gojson.parse(text))


def _plain_numbers(node: gojson.Node) -> Any:
    """As `json.loads`, for values nested deeper than it goes."""
    return gojson.to_any(node, number=lambda s: float(s) if set(s) & set(".eE") else int(s))


class AddResult:
    """What one `add` gives: pieces of content and thinking (`""` for none) and the calls that it completed.

    The texts may hold surrogate escapes (PEP 383) where the model wrote bytes that are not UTF-8, or a chunk ended
    inside a character: encode with `surrogateescape` before joining pieces.
    """

    __slots__ = ("calls", "content", "thinking")

    content: str
    thinking: str
    calls: list[ToolCall]

    # No `__init__`: it would double the cost of a chunk of plain text. The parser sets the three fields.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddResult):
            return NotImplemented
        return (self.content, self.thinking, self.calls) == (other.content, other.thinking, other.calls)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AddResult(content={self.content!r}, thinking={self.thinking!r}, calls={self.calls!r})"


def new_call(name: str, arguments: gojsontext.Ordered | None, index: int) -> ToolCall:
    """A call from Go values. Go marshals the arguments through three types, each of which wraps an error."""
    try:
        return ToolCall(name, gojsontext.dumps(arguments), index)
    except gojsontext.UnsupportedValue as error:
        return ToolCall(name, "", index, f"{_WRAPPED}{error}")


_WRAPPED = "".join(
    f"json: error calling MarshalJSON for type {name}: "
    for name in (
        "api.ToolCallFunctionArguments",
        "*orderedmap.Map[string,interface {}]",
        "*orderedmap.OrderedMap[string,interface {}]",
    )
)
