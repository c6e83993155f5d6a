"""Bytes of a turn's text. Bytes that were no UTF-8 travel as U+DC80-U+DCFF (PEP 383) and become themselves again."""

from __future__ import annotations

import codecs


def _surrogates(error: UnicodeError) -> tuple[bytes, int]:
    """Half of a pair that is no escaped byte (a caller fed it in a `str`) is written as its three bytes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return b"".join(
        bytes((ord(c) - 0xDC00,)) if 0xDC80 <= ord(c) <= 0xDCFF else c.encode("utf-8", "surrogatepass") for c in found
    ), error.end


codecs.register_error("qwenparse.surrogates", _surrogates)


def to_bytes(text: str) -> bytes:
    """The bytes that `text` was decoded from. Never raises."""
    return text.encode("utf-8", "qwenparse.surrogates")
