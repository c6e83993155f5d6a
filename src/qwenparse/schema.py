"""Tools as the caller declares them, and the types of their parameters.

A schema is read no deeper than docs/format.md (typed values) asks: which JSON types a parameter may have. Schemas come
from clients and are not trusted: whatever they hold, at worst the type is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from .errors import FormatError

MAX_REFS: Final = 8
"""The longest chain of `$ref` that is followed."""
MAX_NODES: Final = 4096
"""Subschemas looked at for one parameter; more, and its type is unknown. Stops cycles and exponential unions."""
MAX_NESTING: Final = 64
"""The deepest nesting of `anyOf`, `oneOf`, `allOf` and `$ref` that is followed."""

TYPE_NAMES: Final[Mapping[str, str]] = {
    **{name: name for name in ("array", "boolean", "integer", "null", "number", "object", "string")},
    **dict.fromkeys(("int", "uint", "long", "short"), "integer"),
    **dict.fromkeys(("num", "float", "double"), "number"),
    "bool": "boolean",
    "dict": "object",
    **dict.fromkeys(("list", "arr"), "array"),
    **dict.fromkeys(("str", "text", "char", "varchar"), "string"),
}
"""Accepted type name, in lower case, to JSON Schema's."""

Types = frozenset[str]
"""JSON Schema type names; `None` in its place means unknown."""


class Tool:
    """One declared tool. Its schema is read when first asked for, so do not change it afterwards."""

    __slots__ = ("_properties", "_root", "_types", "name", "parameters")

    name: str
    parameters: frozenset[str] | None
    """The names in `properties`; None if the schema has none."""

    def __init__(self, name: str, schema: object = None) -> None:
        self.name = name
        self._root = schema
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        self._properties: Mapping[Any, Any] | None = properties if isinstance(properties, Mapping) else None
        self._types: dict[str, Types | None] = {}
        self.parameters = None
        if self._properties is not None:
            self.parameters = frozenset(key for key in self._properties if isinstance(key, str))

    def types(self, parameter: str) -> Types | None:
        """The JSON Schema types of a parameter, or None if they are unknown. Resolved once, then looked up."""
        try:
            return self._types[parameter]
        except KeyError:
            pass
        types = None
        if self.parameters is not None and self._properties is not None and parameter in self.parameters:
            types = _Resolver(self._root).types(self._properties[parameter])
            # Only declared names are remembered: the others come from the model and have no end.
            self._types[parameter] = types
        return types

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, parameters={None if self.parameters is None else sorted(self.parameters)})"


class ToolSet:
    """The declared tools of a request, made once and shared: immutable, safe in threads.

    `tools` are mappings of the shapes `{"type": "function", "function": {…}}`, the same flat (`name`, `parameters`),
    or `{"name", "input_schema"}`. None means that the tools are not known, an empty sequence that there are none.
    Of two tools with one name the first counts. Raises `FormatError` for a tool without a string name.

    >>> tools = ToolSet.of([{"name": "read", "parameters": {"properties": {"n": {"type": "integer"}}}}])
    >>> tools.known, "read" in tools, sorted(tools.get("read").types("n"))
    (True, True, ['integer'])
    """

    __slots__ = ("_tools", "declared", "known", "names")

    known: bool
    """False if the tools are not known (`None` was given)."""
    names: frozenset[str]
    declared: dict[str, frozenset[str] | None]
    """Name to the names of its parameters (None: unknown): all that the parser asks of a tool."""

    def __init__(self, tools: Iterable[Mapping[str, Any]] | None) -> None:
        self.known = tools is not None
        self._tools: dict[str, Tool] = {}
        if tools is not None:
            for tool in _read(tools):
                self._tools.setdefault(tool.name, tool)
        self.names = frozenset(self._tools)
        self.declared = {tool.name: tool.parameters for tool in self._tools.values()}

    @classmethod
    def of(cls, tools: Iterable[Mapping[str, Any]] | ToolSet | None) -> ToolSet:
        """`tools` itself if it is a `ToolSet`, else one made of it."""
        if tools is None:
            return UNKNOWN_TOOLS
        return tools if isinstance(tools, ToolSet) else cls(tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, if it is declared."""
        return self._tools.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __bool__(self) -> bool:
        return self.known and bool(self._tools)

    def __repr__(self) -> str:
        return f"ToolSet({list(self._tools) if self.known else None!r})"


UNKNOWN_TOOLS: Final = ToolSet(None)


def _read(tools: Iterable[Mapping[str, Any]]) -> Iterator[Tool]:
    if isinstance(tools, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(tools, Iterable):
        raise FormatError(f"tools are a sequence of mappings, not {type(tools).__name__}")
    for place, given in enumerate(tools):
        function = given.get("function") if isinstance(given, Mapping) else None
        tool: Any = function if isinstance(function, Mapping) else given
        name = tool.get("name") if isinstance(tool, Mapping) else None
        if not isinstance(name, str):
            raise FormatError(f"tools[{place}] has no name that is a string")
        schema = tool.get("parameters")
        yield Tool(name, schema if isinstance(schema, Mapping) else tool.get("input_schema"))


class _Resolver:
    """The types of one parameter; counts its work, because a schema may refer to itself."""

    __slots__ = ("nodes", "root")

    def __init__(self, root: object) -> None:
        self.root = root
        self.nodes = 0

    def types(self, schema: object, refs: int = 0, nesting: int = 0) -> Types | None:
        self.nodes += 1
        if not isinstance(schema, Mapping) or self.nodes > MAX_NODES or nesting > MAX_NESTING:
            return None
        if schema.get("type") is not None:
            return _named(schema["type"])
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self._union(schema[keyword], refs, nesting + 1)
        if "allOf" in schema:
            return self._first(schema["allOf"], refs, nesting + 1)
        if "$ref" in schema:
            if refs >= MAX_REFS:
                return None
            return self.types(self._target(schema["$ref"]), refs + 1, nesting + 1)
        if "enum" in schema:
            return _members(schema["enum"])
        if "const" in schema:
            return _members([schema["const"]])
        return None

    def _union(self, branches: object, refs: int, nesting: int) -> Types | None:
        if not isinstance(branches, (list, tuple)):
            return None
        union: Types = frozenset()
        for branch in branches:
            types = self.types(branch, refs, nesting)
            if types is None:
                return None
            union |= types
        return union or None

    def _first(self, branches: object, refs: int, nesting: int) -> Types | None:
        if isinstance(branches, (list, tuple)):
            for branch in branches:
                types = self.types(branch, refs, nesting)
                if types is not None:
                    return types
                if self.nodes > MAX_NODES:
                    break
        return None

    def _target(self, ref: object) -> object:
        """What a JSON pointer (RFC 6901) in a URI fragment names inside the tool's own schema; None if nothing."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        node = self.root
        path = unquote(ref[1:])
        if not path:
            return node
        if path[0] != "/":
            return None
        for part in path[1:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping) and key in node:
                node = node[key]
            elif isinstance(node, (list, tuple)) and key.isascii() and key.isdigit() and len(key) < 9:
                if int(key) >= len(node):
                    return None
                node = node[int(key)]
            else:
                return None
        return node


def _named(type_: object) -> Types | None:
    names = [type_] if isinstance(type_, str) else type_
    if not isinstance(names, (list, tuple)):
        return None
    types = set()
    for name in names:
        known = TYPE_NAMES.get(name.lower()) if isinstance(name, str) else None
        if known is None:
            return None
        types.add(known)
    return frozenset(types) or None


def _members(members: object) -> Types | None:
    if not isinstance(members, (list, tuple)):
        return None
    types = set()
    for member in members:
        name = _type_of(member)
        if name is None:
            return None
        types.add(name)
    return frozenset(types) or None


def _type_of(value: object) -> str | None:
    if value is None:
        return "null"
    for classes, name in _CLASSES:
        if isinstance(value, classes):
            return name
    return None


_CLASSES: Final[tuple[tuple[Any, str], ...]] = (
    (str, "string"),
    (bool, "boolean"),  # before int, its base class
    (int, "integer"),
    (float, "number"),
    (Mapping, "object"),
    ((list, tuple), "array"),
)
