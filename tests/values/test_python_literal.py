"""The reader of Python displays against `ast.literal_eval`, and what it refuses."""

import warnings

import pytest
from values.support import oracle

from qwenparse.values.python_literal import read_container


@pytest.mark.parametrize(
    "text",
    [
        "[]", "()", "{}", "[1]", "[1,]", "(1,)", "(1)", "([1])", "[(1)]", "(,)", "[,]", "{,}", "[1,,2]", "[1 2]",
        "{1}", "{1:2,}", "{1:2 3:4}", "{1,2}", "{1:}", "{:1}", "['a' 'b']", "['a' \"b\" u'c' r'\\d']", "[b'a']",
        "[f'a']", "['a' b'b']", "[rb'a']", "[ur'a']", "['it''s']", "['it\\'s', \"\\\"\"]", "['''a'b''c\n\r\n\rd''']",
        '["""a"b"""]', "['''a''''']", "['''\\''''']", "[r'\\'']", "['a\nb']", "['a\\\nb']", "['a\\\r\nb']",
        "['\\x41\\u00e9\\U0001F600']", "['\\x4']", "['\\u00e']", "['\\U00110000']",
        "['\\N{BULLET}\\N{LATIN SMALL LETTER A}']", "['\\N{no such}']", "['\\N']", "['\\101\\7\\08\\777']",
        "['\\q\\ \\d\\']", "['\\a\\b\\f\\n\\r\\t\\v\\\\']", "[1_000, 0x1F, 0XfF, 0o17, 0b101, 0_0, 00]", "[007]",
        "[1__0]", "[1_]", "[_1]", "[0x]", "[0o8]", "[0b2]", "[1.]", "[.5]", "[1.5e3, 1e-3, 1E+3, 1_0.0_1e1_0]",
        "[1.e3]", "[.e3]", "[1e]", "[1e400]", "[-1e400]", "[1j]", "[1.5J]", "[+1, -1, - 1]", "[--1]", "[-True]",
        "[-'a']", "[~1]", "[1+1]", "[1-2]", "[1+2j]", "[not 1]", "[True, False, None]", "[true]", "[Truey]",
        "[None,]", "[x]", "[...]", "[*[1]]", "{**{}}", "[1] + [2]", "[1][0]", "[1].x", "[1 for x in y]", "set()",
        "[1 # one\n, 2]", "[1]# end", "[\\\n1]", "[\\ 1]", "[\f1\t\r\n]", "[\v1]", "[1\u00a0]",
        "{None: 1, True: 2, 1.5: 3, -1: 4}", "{(1,): 2}", "{'a': {'b': [()]}}", "[1]]", "[1", "[(1, 2", "{'a': 1",
        "['a", "[\"a']", "1", "'a'", "", "[1];", "[1]\n[2]", "['\udcff']", "['\0']", "[0.1e-400]", "[1if 1else 2]",
        "[0xfor]", "[1.real]", "[1..real]", "[\u0661]", "['a'\\\n'b']", "[ 1 ,\n 2 ]", "lambda: 1", "[lambda: 1]",
        "[(yield)]", "1, 2", "1,", "[],[],", "1,,", ",1", "'a', {}", "1, 2]", "(1), 2",
    ],
)  # fmt: skip
def test_equals_cpython(text):
    if text in ("['\udcff']", "['\0']"):  # CPython cannot compile these; a string may hold them
        assert read_container(text) == [text[2:-2]]
        return
    if text == "[1if 1else 2]":
        assert read_container(text) is None
        return
    found = read_container(text)
    assert repr(found) == repr(oracle(text))


@pytest.mark.parametrize(
    "text", ["[" + "-" * 60000 + "1]", "[" + "(" * 60000, "[" + "1+" * 30000 + "1]", "[" + "'a'" * 20000 + "]"]
)
def test_long_hostile_text_neither_raises_nor_crashes(text):
    found = read_container(text)
    assert found is None or found == ["a" * 20000]


def test_reading_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_container(r"['\d\777']") == ["\\d\u01ff"]


def test_keys_that_become_equal():
    assert read_container("{1: 'a', '1': 'b', 2: 'c'}") == {"1": "b", "2": "c"}


@pytest.mark.parametrize("digits", ["9" * 4300, "1" + "0" * 4299])
def test_digits_at_the_limit(digits):
    assert read_container(f"[{digits}, ]") == [int(digits)]
    assert read_container(f"[{digits}0, ]") is None


def test_a_number_in_hexadecimal_that_is_too_long():
    assert read_container("[0x" + "f" * 5000 + "]") is None
