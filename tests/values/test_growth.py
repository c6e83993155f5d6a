"""Time for hostile literals and sources grows with their length."""

import time

import pytest

from qwenparse.values import arguments, convert, json_literals

TYPES = [
    frozenset({"integer"}),
    frozenset({"number"}),
    frozenset({"array", "object"}),
    frozenset({"string", "null", "number", "array"}),
    None,
]


def cost(text):
    """Processor seconds for every way of reading a text, the least of three runs."""
    runs = []
    for _ in range(3):
        start = time.process_time()
        for types in TYPES:
            convert(text, types)
        arguments([(None, '{"a": ' + text, False)], None)
        json_literals(text)
        json_literals('"' + text)
        runs.append(time.process_time() - start)
    return min(runs)


@pytest.mark.parametrize(
    ("first", "repeated", "last"),
    [
        ("", "1", "x"),
        ("", "1", ".5"),
        ("0.", "0", "e5"),
        ("1e", "1", ""),
        ("", "0", ""),
        ("", " ", "5"),
        ("[", "[", ""),
        ("[", "]", ""),
        ('{"a": [', "1,", "1]}"),
        ("{", '"a":{', ""),
        ("{", '"a":1,', ""),
        ('["', '\\"', '"]'),
        ('["', "\n", '"]'),
        ('["', "[{", '"]'),
        ("[", "'", ""),
        ("[", "'''", ""),
        ("['", "\\", "']"),
        ("[", "1_", ""),
        ("[", "1.", ""),
        ("[", "#\n", ""),
        ("[", "\\\n", "x"),
        ("['", "\\N{", "']"),
        ("[", "-", "1]"),
        ('"{', '\\"a', ""),
        ("\\", "\\", ""),
    ],
)
@pytest.mark.parametrize("size", [8_000, 60_000])  # the second one up to beyond what is read as a Python literal
def test_time_grows_with_the_length(first, repeated, last, size):
    def text(length):
        return first + repeated * (length // len(repeated)) + last

    cost(text(1000))
    assert cost(text(size)) < 8 * 2 * cost(text(size // 8)) + 0.005
