"""Places that ordinary completions do not reach. What can be compared with the executable specification is."""

from __future__ import annotations

from typing import Any

import lexemes
import pytest
from soak import differs

import qwenparse
from qwenparse.tokens import TokenTable

FN = "<tool_call>\n<function=sh>\n"
CALL = FN + "<parameter=cmd>\nls\n</parameter>\n</function>"
JSON = '<tool_call>\n{"name": "sh", "arguments": '
TEXTS = {
    "junk, a newline and blanks longer than a window": FN + "junk\n" + " " * 1100 + "</function>\n</tool_call>",
    "a string longer than max_held as arguments": JSON + '"' + "x" * 200 + '"}\n</tool_call>',
    "a number that is broken off by a letter": '<tool_call>\n{"id": 12x, "name": "sh"}\n</tool_call>',
    "a number behind the name that is": '<tool_call>\n{"name": "sh", "id": 1.5x}\n</tool_call>',
    "a fault in a string with escapes behind it": JSON + '{"a": "\\x \\" \\\\ "}}\n</tool_call>\nok',
    "a JSON block behind a call, too long without a name": CALL + '\n{"id": "' + "y" * 200 + '"}\n</tool_call>',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_as_specified(text: str, format: str) -> None:
    for stop in lexemes.STOPS:
        settings = {"format": format, "tools": None, "start": "content", "max_held": 64}
        assert not differs(text, stop, settings), (text, stop)


LOOK_ALIKES = [
    chr(base + other)
    for base, others in ((0x3C00, (0x41, 0x3C)), (0x0A00, (0x05, 0x0A)), (0x2F00, (0x3C, 0x0A, 0xDC)), (0x0000, (0xDC,)),
                         (0x1F300, (0x3C, 0x0A, 0xDC)), (0x13C00, (0x41,)), (0x1DC00, (0x41,)), (0xA0000, (0x41,)))
    for other in others
]  # fmt: skip
"""Characters one of whose bytes is that of a '<', a newline or the upper half of an undecodable byte."""


@pytest.mark.parametrize("odd", LOOK_ALIKES, ids=ascii)
@pytest.mark.parametrize("format", ["qwen3", "qwen3.5"])
def test_a_byte_of_another_character_is_no_tag(odd: str, format: str) -> None:
    value = f"{odd}a{odd}\n{odd * 40}</b>\n  {odd}"
    for end in ("", "\udc80", f"\udcff{odd}"):
        for text in (
            f"{odd} so\n{odd}\n</think>\n\n{odd}\n```\n{odd}<tool_call>{odd}\n```{odd}{end}",
            f"{FN}<parameter=cmd>\n{value}{end}\n</parameter>\n</function>\n</tool_call>\n{odd}",
            f'{JSON}{{"cmd": "{value[:3]}\\n{value[4:44]}\\"{end}"}}}}\n</tool_call>{odd}\n<{odd}',
        ):
            odd_turn, plain = (qwenparse.parse(t, format, stop="im_end") for t in (text, text.replace(odd, "x")))
            assert odd_turn.spans == plain.spans and odd_turn.issues == plain.issues, text
            assert end or not differs(text, "im_end", {"format": format, "tools": None, "start": None}), text


@pytest.mark.parametrize("cls", [qwenparse.Parser, qwenparse.DeltaParser])
def test_a_window_that_was_large_is_given_back(cls: Any) -> None:
    """64 KB of a JSON block are held until its name comes; then the buffer shrinks, and what follows is read on."""
    parser = cls("qwen3", start="content")
    body = '{"arguments": {"a": "' + "z" * 65_536 + '"}, "name": "f"'
    for at in range(0, len(body), 4096):
        parser.feed("<tool_call>\n" + body[:4096] if at == 0 else body[at : at + 4096])
    parser.feed("}\n</tool_ca")
    parser.feed("ll>\nDone.")
    parser.close(stop="im_end")
    assert parser.turn.tool_calls[0].arguments == {"a": "z" * 65_536} and parser.turn.content == "Done."


def failing() -> str:
    raise KeyError("no id")


def test_an_exception_at_the_end_of_a_turn_and_among_ids() -> None:
    """The call is certain only when the input ends; the turn is then half read."""
    table = TokenTable.from_ranks({bytes([b]): b for b in range(256)}, {"<tool_call>": 256})
    parser = qwenparse.Parser("qwen3.5", start="content", id_factory=failing)
    parser.feed(FN[:-1])
    with pytest.raises(KeyError, match="no id"):
        parser.close()
    with pytest.raises(RuntimeError, match="half read"):
        parser.feed("x")
    parser = qwenparse.Parser("qwen3.5", start="content", id_factory=failing, tokens=table)
    with pytest.raises(KeyError, match="no id"):
        parser.feed_ids([256, *CALL.removeprefix("<tool_call>").encode()])
    with pytest.raises(RuntimeError, match="half read"):
        parser.feed_ids([120])


def test_a_stop_token_in_what_the_prompt_wrote_is_text() -> None:
    table = TokenTable.from_ranks({bytes([b]): b for b in range(256)}, {"<|im_start|>": 256, "<|endoftext|>": 257})
    prompt = [256, *b"assistant\nSo: ", 257, *b" and"]
    parser = qwenparse.Parser.for_prompt(prompt, format="qwen3-coder", tokens=table)
    parser.feed_ids(list(b" on"))
    parser.close(stop="im_end")
    assert parser.gen_prefix == "So: <|endoftext|> and" and parser.turn.content == " on"


def test_ids_without_bytes_come_back_with_the_record() -> None:
    table = TokenTable.from_ranks({bytes([b]): b for b in range(256)}, {"<|im_end|>": 256}, vocab_size=300)
    parser = qwenparse.Parser("qwen3-coder", tokens=table)
    parser.feed_ids([*b"Hi ", 290, *b"there", 291, 256])
    turn = parser.turn
    again = qwenparse.Turn.from_blob(turn.to_blob())
    assert [(i.code, i.text, i.start) for i in turn.issues] == [("unknown-token", "290", 3), ("unknown-token", "291", 8)]
    assert again.issues == turn.issues and again.raw == turn.raw and again == turn


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"policy": {}}, TypeError, r"policy must be a qwenparse\.Policy"),
    ({"tags": "bytes"}, qwenparse.FormatError, "tags='bytes'"),
    ({"max_held": 2**63}, ValueError, "max_held is not a size"),
    ({"max_held": -(2**80)}, ValueError, "max_held is not a size"),
    ({"max_held": 0}, ValueError, "max_held must be at least 1"),
    ({"max_held": 1.5}, TypeError, "float"),
    ({"tokens": 5}, TypeError, "tokens is a TokenTable, not a int"),
    ({"tokens": [b"a"]}, TypeError, "tokens is a TokenTable, not a list"),
    ({"tools": memoryview(b"abcd").cast("B", (2, 2))}, qwenparse.FormatError, "not memoryview"),
    ({"tools": bytearray(b"a")}, qwenparse.FormatError, "not bytearray"),
]


@pytest.mark.parametrize(("wrong", "error", "says"), WRONG)
def test_settings_of_the_wrong_kind(wrong: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        qwenparse.Parser("qwen3", **wrong)


def test_arrays_that_are_odd() -> None:
    table = TokenTable.from_ranks({bytes([b]): b for b in range(256)}, {})
    parser = qwenparse.Parser("qwen3-coder", tokens=table)
    view = memoryview(bytes(range(97, 105)))[::2]
    assert "".join(e.raw for e in parser.feed_ids(view)) == "aceg"
    view.release()
    with pytest.raises(ValueError, match="released"):
        parser.feed_ids(view)
    assert "".join(e.raw for e in parser.feed_ids([104])) == "h"
