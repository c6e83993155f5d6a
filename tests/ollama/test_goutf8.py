"""Go's white space and byte strings as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwenparse.ollama.goutf8 import SPACE, escaped, go_bytes, join, replace_invalid, skip_space


def test_space_is_unicode_isspace_and_not_str_isspace() -> None:
    python = {chr(i) for i in range(0x110000) if chr(i).isspace()}
    assert set(SPACE) == python - set("\x1c\x1d\x1e\x1f")
    assert len(SPACE) == 25
    assert not set(SPACE) & set("\u180e\u200b\u2060\ufeff")


def test_skip_space_stops_at_a_broken_sequence() -> None:
    assert skip_space("a \u3000\x85b", 1) == 4
    assert skip_space(escaped(b" \xe3\x80"), 0) == 1
    assert skip_space("", 0) == 0


@given(st.binary())
def test_every_byte_string_has_one_escaped_form(data: bytes) -> None:
    assert go_bytes(escaped(data)) == data
    assert escaped(bytearray(data)) == escaped(memoryview(data)) == escaped(data)
    assert escaped(escaped(data)) == escaped(data)


@given(st.lists(st.binary(max_size=4)))
def test_join_is_the_escaped_form_of_the_joined_bytes(pieces: list[bytes]) -> None:
    assert join([escaped(piece) for piece in pieces]) == escaped(b"".join(pieces))


def test_halves_of_a_character_join() -> None:
    assert escaped(b"\xe3\x80") == "\udce3\udc80"
    assert join(["\udce3\udc80", "\udc80"]) == "\u3000"
    assert escaped("\udce3\udc80\udc80") == "\u3000"


def test_each_invalid_byte_is_one_replacement() -> None:
    assert replace_invalid(escaped(b"a\xff\xe3\x80b")) == "a\ufffd\ufffd\ufffdb"
    assert replace_invalid("\ud800x") == "\ufffdx"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        escaped("\ud800")
    with pytest.raises(TypeError, match="expected str or bytes, got int"):
        escaped(3)  # type: ignore[arg-type]
