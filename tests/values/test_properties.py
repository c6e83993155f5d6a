"""Properties of values and JSON text, over generated literals, objects and cuts."""

import json
from itertools import pairwise
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from values.support import TOOL, TOOLS, TYPES, events, oracle, pieces, plain

from qwenparse._events import ArgumentDelta, ArgumentEnd, ArgumentStart, ToolCallEnd
from qwenparse.schema import ToolSet
from qwenparse.values import (
    ArgumentsJSON,
    arguments,
    arguments_json,
    convert,
    json_arguments,
    json_literals,
    object_in_string,
)
from qwenparse.values.json_text import ControlEscaper, depth_exceeds, escape_controls, members
from qwenparse.values.python_literal import read_container

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4),
    max_leaves=8,
)


OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


def split(text, cuts):
    edges = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@settings(deadline=None)
@given(st.recursive(st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)), st.lists(st.integers(0, 200)))
def test_raw_control_characters_read_the_same_after_escaping(value, cuts):
    # JSON with each control character that its strings hold written raw
    source = json.dumps(value, ensure_ascii=False, indent=1)
    for code in range(32):
        source = source.replace(f"\\u{code:04x}", chr(code))
    escaper = ControlEscaper()
    text = "".join(escaper.feed(piece) for piece in split(source, cuts))
    assert text == escape_controls(source)
    assert json.loads(text) == json.loads(source, strict=False) == value


@settings(deadline=None)
@given(st.text(alphabet='"\\\nax\x00 {', max_size=30), st.lists(st.integers(0, 30)))
def test_escaping_does_not_depend_on_the_cuts(source, cuts):
    escaper = ControlEscaper()
    assert "".join(escaper.feed(piece) for piece in split(source, cuts)) == escape_controls(source)


@settings(deadline=None)
@given(OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_members_of_a_whole_object(value, indent, in_string):
    source = json.dumps(value, ensure_ascii=False, indent=indent)
    found = list(members(json.dumps(source) if in_string else source))
    assert {m.key: json.loads(m.source) for m in found} == value
    assert [m.key for m in found] == list(value) and all(m.whole for m in found)


@settings(deadline=None)
@given(OBJECTS)
def test_members_only_grow_with_the_source(value):
    source = json.dumps(value)
    full = list(members(source))
    for end in range(len(source)):
        found = list(members(source[:end]))
        assert [m.key for m in found] == [m.key for m in full[: len(found)]]
        for part, whole in zip(found, full, strict=False):
            assert whole.source.startswith(part.source) or not part.whole
            assert part.source == whole.source or not part.whole
        assert all(m.whole for m in found[:-1])


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,\\ \n0123u-etrufalsn\x00\ud83d', max_size=40))
def test_nothing_raises(source):
    list(members(source))
    list(members("{" + source))
    list(members('"' + source))
    list(members('{"a": ' + source))
    object_in_string(source)
    object_in_string('"{' + source)
    escape_controls(source)
    depth_exceeds(source, 1)


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=5), st.booleans(), st.booleans())
def test_a_whole_object_reads_the_same_closed_or_not(value, in_string, closed):
    source = json.dumps(value)
    assert json_arguments(json.dumps(source) if in_string else source, closed) == value


@settings(deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=5), st.data())
def test_a_cut_object_has_the_beginning_of_the_arguments(value, data):
    source = json.dumps(value)
    end = data.draw(st.integers(0, len(source)))
    found = json_arguments(source[:end], False)
    assert list(found.items()) == list(value.items())[: len(found)]
    assert len(json_literals(source[:end])) - len(found) in (0, 1)


PYTHON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(PYTHON_VALUES)
def test_reads_what_python_writes(value):
    expected = plain(value) if isinstance(value, (list, tuple, dict)) else None
    assert read_container(repr(value)) == expected


PIECES = st.sampled_from(
    [
        "[", "]", "(", ")", "{", "}", ",", ":", "+", "-", "'", '"', "'a'", '"b"', "'''", "\\", "\\n", "\\x4", "1",
        "0", "_", ".", "e", "0x", "True", "None", " ", "\n", "r", "u", "b", "#", "j", "é",
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.lists(PIECES, max_size=9).map(lambda parts: "[" + "".join(parts) + "]"))
@example("['[''''']")
@example("[\\\n]")
@example("['a'\n'b']")
def test_equals_cpython_on_soup(text):
    assert repr(read_container(text)) == repr(oracle(text))


@settings(deadline=None)
@given(st.text())
def test_never_raises(text):
    for literal in (text, f"[{text}]", f"['{text}']", f"{{{text}"):
        found = read_container(literal)
        assert found is None or isinstance(found, (list, dict))


LITERALS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
          "null", "None", "True", "false", "5", "-05", "5.0", "1e23", "1e400", ".5", "[1]", "['a', 1]",
          '{"a": "x\ny"}', "{", "[", '{"a": 1,}', "[NaN]", " 5 ", "\udcff", "\0", "1" * 5000, "[" * 2000,
          "[" * 600 + "]" * 600, '"', "\\", "", "[1] ",
      ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
        max_leaves=5,
    ).flatmap(lambda v: st.sampled_from([json.dumps(v), repr(v), json.dumps(v, ensure_ascii=False, indent=1)])),
)  # fmt: skip


KEYS = st.sampled_from([*TYPES, "x", "", 'q"', "\ud800"])


RECORDED = st.lists(st.tuples(KEYS, LITERALS, st.just(True)), max_size=4)


CUTS = st.integers(0, 1 << 32).map(Random)


def cutter(random):
    def cut(text):
        at = 0
        while at < len(text):
            end = at + random.choice((0, 1, 1, 2, 3, 7, 1000))
            yield text[at:end]
            at = end

    return cut


@settings(deadline=None, max_examples=300)
@given(RECORDED, CUTS, st.sampled_from([1 << 20, 3]))
@example([("i", "1e400", True)], None, 1 << 20)
def test_pieces_join_to_the_text_and_the_text_reads_as_the_arguments(recorded, random, max_held):
    cut = cutter(random) if random else (lambda text: [text])
    text = "".join(pieces(recorded, cut=cut, max_held=max_held))
    assert text == arguments_json(recorded, TOOL, complete=True, max_held=max_held)
    values, issues = arguments(recorded, TOOL, max_held=max_held)
    assert json.loads(text) == values
    assert list(json.loads(text)) == list(values)
    assert len(issues) <= 2 * len(recorded)


@settings(deadline=None, max_examples=200)
@given(RECORDED, CUTS)
def test_at_each_step_the_pieces_join_to_the_text_so_far(recorded, random):
    writer = ArgumentsJSON(TOOLS)
    sent, so_far, closed = "", [], False
    for event in events(recorded, True, cutter(random)):
        sent += writer.feed(event)
        if isinstance(event, ArgumentStart):
            so_far.append((event.name, "", False))
        elif isinstance(event, ArgumentDelta):
            so_far[-1] = (so_far[-1][0], so_far[-1][1] + event.text, False)
        elif isinstance(event, ArgumentEnd):
            so_far[-1] = (*so_far[-1][:2], True)
        closed = isinstance(event, ToolCallEnd)
        assert sent == arguments_json(so_far, TOOL, complete=closed)
    assert closed


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text(), VALUES, max_size=4), CUTS, st.booleans(), st.booleans())
def test_objects_of_the_json_dialect(value, random, raw_controls, in_string):
    source = json.dumps(value, ensure_ascii=False, indent=1)
    if raw_controls:
        for code in range(32):
            source = source.replace(f"\\u{code:04x}", chr(code))
    recorded = [(None, json.dumps(source) if in_string else source, True)]
    text = "".join(pieces(recorded, cut=cutter(random)))
    assert text == arguments_json(recorded, TOOL, complete=True)
    assert json.loads(text) == value == arguments(recorded, TOOL)[0]


@settings(deadline=None)
@given(st.text(alphabet='{}[]":,\\ \n1et\x00\ud83d', max_size=30), CUTS, st.booleans())
def test_any_source_of_the_json_dialect_is_cut_independent_and_raises_nothing(source, random, closed):
    recorded = [(None, source, closed)]
    text = "".join(pieces(recorded, complete=closed, cut=cutter(random)))
    assert text == arguments_json(recorded, TOOL, complete=closed)


WORDS = st.sampled_from(
    ["type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const", "properties", "$defs", "p", "string", "INT", "null",
     "#", "#/properties/p", "#/$defs/p", "#/anyOf/0", "#/anyOf/-1", "#/%"]
)  # fmt: skip
SCHEMAS = st.recursive(
    WORDS | st.none() | st.booleans() | st.integers() | st.binary(max_size=1) | st.text(max_size=2),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(WORDS | st.integers(), v, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, max_examples=300)
@given(SCHEMAS, SCHEMAS)
def test_no_schema_raises(schema, defs):
    known = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
    for parameters in (schema, {"properties": {"p": schema}, "$defs": defs}, {"properties": schema, "anyOf": defs}):
        (tool,) = ToolSet.of([{"name": "t", "parameters": parameters}])
        for name in ("p", "type", *(tool.parameters or ())):
            types = tool.types(name)
            assert types is None or (types and types <= known)


@settings(deadline=None)
@given(
    LITERALS,
    st.none() | st.frozensets(st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])),
)
def test_a_conversion_is_what_its_json_text_says(literal, types):
    found = convert(literal, types)
    assert json.loads(found.json) == found.value
    if found.mismatch:
        assert found.value in (literal, None) and "string" not in types
    if types == {"string"}:
        assert found.value == literal
