"""Which types a parameter may have (docs/format.md, typed values 1), out of schemas that nobody vouches for."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from qwenparse.errors import FormatError
from qwenparse.schema import MAX_REFS, TYPE_NAMES, UNKNOWN_TOOLS, Tool, ToolSet


def types(schema, **root):
    """The types of one parameter, sorted; None if unknown."""
    found = Tool("t", {"properties": {"p": schema}, **root}).types("p")
    return None if found is None else sorted(found)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, ["string"]),
        ({"type": "STRING"}, ["string"]),
        ({"type": "Integer"}, ["integer"]),
        ({"type": ["string", "null"]}, ["null", "string"]),
        ({"type": ("number",)}, ["number"]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["integer", "null"]),
        ({"oneOf": [{"type": ["integer", "null"]}, {"type": "array"}]}, ["array", "integer", "null"]),
        ({"anyOf": [{"anyOf": [{"type": "integer"}]}, {"enum": ["a"]}]}, ["integer", "string"]),
        ({"anyOf": [{"type": "integer"}, {}]}, None),
        ({"anyOf": [{"type": "integer"}, {"type": "date"}]}, None),
        ({"anyOf": [{"type": "integer"}, True]}, None),
        ({"anyOf": []}, None),
        ({"anyOf": {"type": "integer"}}, None),
        ({"allOf": [{"description": "x"}, {"type": "object"}, {"type": "string"}]}, ["object"]),
        ({"allOf": [{"type": "date"}, {"type": "object"}]}, ["object"]),
        ({"allOf": [{}]}, None),
        ({"allOf": "x"}, None),
        ({"enum": ["a", "b"]}, ["string"]),
        ({"enum": ["a", 1, 1.5, True, None, [], {}]}, sorted(set(TYPE_NAMES.values()))),
        ({"enum": [True]}, ["boolean"]),
        ({"enum": []}, None),
        ({"enum": "ab"}, None),
        ({"enum": [b"x"]}, None),
        ({"const": 5}, ["integer"]),
        ({"const": None}, ["null"]),
        ({"type": "string", "enum": [1]}, ["string"]),
        ({"type": "string", "anyOf": [{"type": "integer"}]}, ["string"]),
        ({"type": "any"}, None),
        ({"type": "any", "anyOf": [{"type": "integer"}]}, None),
        ({"type": ["string", "any"]}, None),
        ({"type": []}, None),
        ({"type": 5}, None),
        ({"type": [["string"]]}, None),
        ({"type": None}, None),
        ({"type": None, "enum": [1]}, ["integer"]),
        ({"description": "x"}, None),
        ({}, None),
        (True, None),
        (None, None),
        ("string", None),
        ([], None),
    ],
)
def test_types(schema, expected):
    assert types(schema) == expected


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        *((alias, "integer") for alias in ("int", "uint", "long", "short")),
        *((alias, "number") for alias in ("num", "float", "double")),
        *((alias, "array") for alias in ("list", "arr")),
        *((alias, "string") for alias in ("str", "text", "char", "varchar")),
        ("bool", "boolean"),
        ("dict", "object"),
    ],
)
def test_aliases(alias, name):
    assert types({"type": alias}) == types({"type": alias.upper()}) == [name]


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("#/$defs/A", ["object"]),
        ("#/$defs/a~1b~0c", ["integer"]),
        ("#/%24defs/A", ["object"]),
        ("#/$defs/list/0", ["boolean"]),
        ("#/properties/other", ["null"]),
        ("#/$defs/list/1", None),
        ("#/$defs/list/-1", None),
        ("#/$defs/list/²", None),
        ("#/$defs/list/" + "9" * 5000, None),
        ("#/$defs/none", None),
        ("#/$defs/A/type/x", None),
        ("#", None),
        ("#A", None),
        ("", None),
        ("other.json#/$defs/A", None),
        ("https://example.com/s", None),
        ("#/", None),
        (5, None),
    ],
)
def test_refs(ref, expected):
    defs = {"A": {"type": "object"}, "a/b~c": {"type": "integer"}, "list": [{"type": "boolean"}]}
    tool = Tool("t", {"$defs": defs, "properties": {"p": {"$ref": ref}, "other": {"type": "null"}}})
    assert tool.types("p") == (None if expected is None else frozenset(expected))


def test_ref_to_the_whole_schema():
    assert types({"$ref": "#"}, type="object") == ["object"]


def test_refs_are_followed_eight_deep():
    chain = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(MAX_REFS + 2)}
    chain[str(MAX_REFS + 1)] = {"type": "array"}
    assert MAX_REFS == 8
    assert types({"$ref": "#/$defs/2"}, **{"$defs": chain}) == ["array"]
    assert types({"$ref": "#/$defs/1"}, **{"$defs": chain}) is None


def test_recursive_refs_are_unknown():
    assert types({"$ref": "#/properties/p"}) is None
    assert types({"anyOf": [{"$ref": "#/properties/p"}, {"type": "integer"}]}) is None
    defs = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert types({"$ref": "#/$defs/A"}, **{"$defs": defs}) is None


def test_a_ref_inside_an_object_that_refers_to_itself_is_an_object():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert types({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}}) == ["object"]


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_unions_that_double_at_each_level_end_soon(keyword):
    defs = {str(n): {keyword: [{"$ref": f"#/$defs/{n + 1}"}] * 60} for n in range(9)}
    assert types({"$ref": "#/$defs/0"}, **{"$defs": defs}) is None


def test_schemas_that_hold_themselves_are_unknown():
    loop: dict = {}
    loop["anyOf"] = [loop]
    assert types(loop) is None
    deep: dict = {"type": "string"}
    for _ in range(5000):
        deep = {"anyOf": [deep]}
    assert types(deep) is None


@pytest.mark.parametrize(
    "schema", [None, {}, {"properties": None}, {"properties": []}, {"properties": "x"}, "x", 5, []]
)
def test_without_properties_everything_is_unknown(schema):
    tool = Tool("t", schema)
    assert tool.parameters is None
    assert tool.types("p") is None


def test_empty_properties_are_known():
    tool = Tool("t", {"properties": {}})
    assert tool.parameters == frozenset()
    assert tool.types("p") is None


def test_keys_of_properties_that_are_not_strings_are_no_parameters():
    assert Tool("t", {"properties": {1: {"type": "string"}, None: {}, "p": {}}}).parameters == {"p"}


def test_types_are_read_once_and_undeclared_names_are_not_remembered():
    tool = Tool("t", {"properties": {"p": {"type": "string"}}})
    assert tool.types("p") is tool.types("p")
    before = sys.getsizeof(tool._types)
    for n in range(1000):
        assert tool.types(f"q{n}") is None
    assert sys.getsizeof(tool._types) == before


SCHEMA = {"type": "object", "properties": {"cmd": {"type": "string"}}}


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "function", "function": {"name": "sh", "parameters": SCHEMA}},
        {"function": {"name": "sh", "parameters": SCHEMA}},
        {"type": "function", "name": "sh", "parameters": SCHEMA},
        {"name": "sh", "parameters": SCHEMA},
        {"name": "sh", "input_schema": SCHEMA},
        {"name": "sh", "input_schema": SCHEMA, "parameters": None},
        {"name": "sh", "function": None, "parameters": SCHEMA},
    ],
)
def test_shapes_of_a_tool(shape):
    tools = ToolSet.of([shape])
    assert tools.known and tools.names == {"sh"} and "sh" in tools and len(tools) == 1 and tools
    tool = tools.get("sh")
    assert tool is not None and tool.name == "sh" and tool.parameters == {"cmd"} and tool.types("cmd") == {"string"}


def test_a_tool_may_have_no_schema():
    tool = ToolSet.of([{"name": "now"}]).get("now")
    assert tool is not None and tool.parameters is None


def test_unknown_tools_and_no_tools_differ():
    unknown, none = ToolSet.of(None), ToolSet.of([])
    assert unknown is UNKNOWN_TOOLS
    assert (unknown.known, none.known) == (False, True)
    assert unknown.get("sh") is none.get("sh") is None
    assert "sh" not in unknown and "sh" not in none and not unknown.names and not none.names
    assert None not in none


def test_a_ready_set_is_passed_through():
    tools = ToolSet([{"name": "sh"}])
    assert ToolSet.of(tools) is tools


def test_of_two_tools_with_one_name_the_first_counts():
    tools = ToolSet.of([{"name": "sh", "parameters": SCHEMA}, {"name": "sh"}, {"name": "read"}])
    assert tools.get("sh").parameters == {"cmd"}
    assert [tool.name for tool in tools] == ["sh", "read"]


@pytest.mark.parametrize(
    "tools",
    [
        [{}],
        [{"name": None}],
        [{"name": 5}],
        [{"type": "function", "function": {}}],
        [{"type": "function", "function": {"parameters": SCHEMA}}],
        [{"name": "sh"}, {"name": ["sh"]}],
        [None],
        ["sh"],
        [5],
        {"name": "sh"},
        "sh",
        b"sh",
        5,
    ],
)
def test_a_tool_without_a_string_name_is_a_format_error(tools):
    with pytest.raises(FormatError):
        ToolSet.of(tools)


def test_the_error_says_which_tool():
    with pytest.raises(FormatError, match=r"tools\[1\]"):
        ToolSet.of([{"name": "sh"}, {"name": 5}])


def test_a_set_is_shared_by_threads():
    tools = ToolSet.of([{"name": "t", "parameters": {"properties": {str(n): {"enum": [n]} for n in range(200)}}}])
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: tools.get("t").types(str(n % 200)), range(4000)))
    assert set(found) == {frozenset({"integer"})}


def test_a_set_is_picklable():
    tools = pickle.loads(pickle.dumps(ToolSet.of([{"name": "sh", "parameters": SCHEMA}])))
    assert tools.get("sh").types("cmd") == {"string"}
    assert "sh" in repr(tools) and "cmd" in repr(tools.get("sh"))
