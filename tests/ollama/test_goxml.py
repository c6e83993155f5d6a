"""The strict XML reader, and the rewriting before it."""

# ruff: noqa: E501  (tables)
from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwenparse.ollama.goxml import Function, XMLError, read_function
from qwenparse.ollama.qwen3coder import to_xml


def read(text: str) -> Function:
    return read_function(to_xml(text))


@pytest.mark.parametrize(("text", "name", "parameters"), [
    ('<function name="f&amp;"><parameter name="k">x</parameter></function> tail \x01', "f&", [("k", "x")]),
    ("<function><parameter>x</parameter></function>", "", [("", "x")]),
    ("<function=f><parameter= a >\n1\n</parameter></function>", "f", [(" a ", "\n1\n")]),
    ("text <b>&lt; <function=f></function>", "f", []),
    ("<function=f\n<parameter=a>x</parameter ></function>", "f\n<parameter=a", []),
    ("<function=f><parameter=a>x<parameter=b>y</parameter>z</parameter></function>", "f", [("a", "xz")]),
    ("<function=f><function=g><parameter=a>x</parameter></function><parameter=b>y</parameter>t</function>", "f", [("b", "y")]),
    ("<function=f>t<function=g>u</function><parameter=a>v</parameter></function>", "f", [("a", "v")]),
    ("<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>", "f", [("a", "1"), ("a", "2")]),
    ("<function=f><parameter=a>a\r\nb\rc\n\r</parameter></function>", "f", [("a", "a\nb\nc\n\n")]),
    ("<function=a\r\nb></function>", "a\r\nb", []), ('<function name="a\r\nb\r"></function>', "a\nb\n", []),
    ('<function name="&#65;&#x42;&quot;&apos;&lt;&gt;&#xD800;&#0000000065;"></function>', "AB\"'<>\ufffdA", []),
    ("<function=f><parameter=a>&amp;<![CDATA[x]]><!-- c --><?p?></ parameter></parameter></function>", "f",
     [("a", "&amp;<![CDATA[x]]><!-- c --><?p?></ parameter>")]),
    ("<function=a==b></function>", "a==b", []), ("<function=f><parameter=a>\udcff\udc80</parameter></function>", "f", [("a", "\ufffd\ufffd")]),
    ("<function=\x01\udcff&\"'\t<></function>", "\ufffd\ufffd&\"'\t<", []), ("<function=f><parameter=a>\x7f\x85\ufeff</parameter></function>", "f", [("a", "\x7f\x85\ufeff")]),
    ("<function=f><parameter=a><x y='1'></parameter><Parameter></function>", "f", [("a", "<x y='1'>")]),
    ('<function \t\n\rname="f"></function>', "f", []),
])  # fmt: skip
def test_what_is_read(text: str, name: str, parameters: list[tuple[str, str]]) -> None:
    assert read(text) == (name, parameters)


@pytest.mark.parametrize(("text", "error"), [
    ("", "EOF"), (" \n", "EOF"), ('{"name":"f"}', "EOF"), ("<parameter=a></parameter>", "expected element type <function> but have <parameter>"),
    ("\n</function>\n", "2: unexpected end element </function>"), ("\n<function=f>\n<parameter=a>\n1\n</function>\n", "5: element <parameter> closed by </function>"),
    ("<function=f\n<parameter=a>x</parameter></function>", "1: element <function> closed by </parameter>"),
    ('\n<function=f>\n</function name="x">\n', "3: invalid characters between </function and >"),
    ('<function=f></function\n\n\fname="x">', "3: invalid characters between </function and >"),
    ('<function=f></function \n name="x">', "2: invalid characters between </function and >"),
    ('<function\n\f\nname="x">', "2: expected attribute name in element"), ("<function=f>\n", "2: unexpected EOF"), ("<function=f>\r\r\n", "2: unexpected EOF"),
    ("\n<function=f>\n<parameter=a>\n\x1b[31mred\n</parameter>", "5: illegal character code U+001B"), ("\x00\n", "2: illegal character code U+0000"),
    ("<function=f>\ufffe", "1: illegal character code U+FFFE"), ("<function=f>\uffff", "1: illegal character code U+FFFF"),
    ('<function name="a<b">', "1: unescaped < inside quoted string"), ('<function name="a\n&bad;\n">', "2: invalid character entity &bad;"),
    ('<function name="&">', "1: invalid character entity & (no semicolon)"), ('<function name="&;">', "1: invalid character entity &;"),
    ('<function name="&amp">', "1: invalid character entity &amp (no semicolon)"), ('<function name="&é1.:-_x y;">', "1: invalid character entity &é1.:-_x (no semicolon)"),
    ('<function name="&#;">', "1: invalid character entity &#;"), ('<function name="&#x;">', "1: invalid character entity &#x;"),
    ('<function name="&#X41;">', "1: invalid character entity &# (no semicolon)"), ('<function name="&#12a;">', "1: invalid character entity &#12 (no semicolon)"),
    ('<function name="&#1114112;">', "1: invalid character entity &#1114112;"), ('<function name="&#xffffffffffffffffff;">', "1: invalid character entity &#xffffffffffffffffff;"),
    ('<function name="&#1;\n">', "2: illegal character code U+0001"), ('<function name="\udcff">', "1: invalid UTF-8"), ('<function name="\x0b\udcff">', "1: illegal character code U+000B"),
    ('<parameter name="&x;">', "1: invalid character entity &x;"), ("</parameter>", "1: unexpected end element </parameter>"),
    ("\r\n\r<function=f\n\n></parameter>", "2: element <function> closed by </parameter>"),
])  # fmt: skip
def test_errors(text: str, error: str) -> None:
    with pytest.raises(XMLError) as caught:
        read(text)
    prefix = "XML syntax error on line " if error[0].isdigit() else ""
    assert str(caught.value) == prefix + error


@pytest.mark.parametrize(("text", "xml"), [
    ("<vector<T=int>>", '<vector<T name="int">>'), ("<a=1>", '<a name="1">'), ("<font=red size=\"2\">", '<font name="red size=&#34;2&#34;">'),
    ("if a<b=c>d", 'if a<b name="c">d'), ("<a=x\ny>", '<a name="x&#xA;y">'), ("<x=>", "<x=>"), ("<a==b>", '<a name="=b">'), ("<a <b=c>", '<a <b name="c">'),
    ("<é=1>", "<é=1>"), ("<a=b", "<a=b"), ("<_9=<a=b>", '<_9 name="&lt;a=b">'), ("<a='\t\r&>", '<a name="&#39;&#x9;&#xD;&amp;">'),
])  # fmt: skip
def test_rewriting(text: str, xml: str) -> None:
    assert to_xml(text) == xml


def test_twenty_thousand_nested_tags() -> None:
    assert read("<function=f>" + "<parameter=a>" * 20000 + "</parameter>" * 20000 + "</function>") == ("f", [("a", "")])


LEGAL = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=20)


@given(LEGAL, st.lists(st.tuples(LEGAL, LEGAL), max_size=4))
def test_well_formed_calls_agree_with_pythons_reader(name: str, parameters: list[tuple[str, str]]) -> None:
    def call(text: Callable[[str], str]) -> str:
        inner = "".join(f"<parameter {attribute(key)}>{text(value)}</parameter>" for key, value in parameters)
        return f"<function {attribute(name)}>{inner}</function>"

    tree = ET.fromstring(call(escape))
    expected = (tree.get("name"), [(p.get("name"), p.text or "") for p in tree])
    assert read_function(call(str)) == expected  # its text is literal


def attribute(name: str) -> str:
    return 'name="' + escape(name, {'"': "&quot;"}) + '"'
