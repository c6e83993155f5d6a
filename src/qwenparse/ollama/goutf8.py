"""Go strings as Python text: bytes with surrogate escapes (PEP 383), and Go's idea of white space.

Go works on bytes. Here a byte string is the `str` that `bytes.decode("utf-8", "surrogateescape")` gives, its
*escaped form*. There is one for every byte string, and `str.find`, `strip` and `re` see in it what Go's functions
see in the bytes, because UTF-8 sequences synchronise themselves. Two escaped forms put together need not be one
(half a character at the end of the first, the other half at the start of the second), hence `join`.
"""

from __future__ import annotations

import re

SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Exactly what `unicode.IsSpace` accepts (`str.isspace` accepts U+001C to U+001F too)."""

_SPACES = re.compile(f"[{SPACE}]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


def skip_space(text: str, pos: int) -> int:
    """The first position from `pos` on that is not white space."""
    found = _SPACES.match(text, pos)
    assert found is not None  # the pattern matches the empty string
    return found.end()


def escaped(data: str | bytes | bytearray | memoryview) -> str:
    """The escaped form of bytes, or of text that may hold surrogate escapes.

    Raises `UnicodeEncodeError` for a lone surrogate that is no escape and `TypeError` for any other type.
    """
    if type(data) is bytes:
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("utf-8", "surrogateescape")
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data).decode("utf-8", "surrogateescape")
    raise TypeError(f"expected str or bytes, got {type(data).__name__}")


def join(pieces: list[str]) -> str:
    """The escaped form of the bytes that the pieces stand for, one after another."""
    if len(pieces) == 1:
        return pieces[0]
    return escaped("".join(pieces))


def replace_invalid(text: str) -> str:
    """Each byte that is no UTF-8, and each lone surrogate, as one U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def go_bytes(text: str) -> bytes:
    """The bytes an escaped form stands for."""
    return text.encode("utf-8", "surrogateescape")
