"""Colour on a terminal, and text with its invisible characters made visible."""

from __future__ import annotations

import os
import sys

COLORS = {
    "think_body": "2;37", "content": "0", "value": "32", "json_args": "32", "name": "1;36", "json_name": "1;36",
    "key": "36", "ws": "2;34", "junk": "31", "stray": "31", "stop": "2", "trailing": "31", "issue": "33",
    "bad": "1;31", "good": "1;32", "dim": "2", "bold": "1",
}  # fmt: skip
VISIBLE = {"\n": "⏎", "\r": "␍", "\t": "⇥", "\x00": "␀", "\v": "␋", "\f": "␌", "\x1b": "␛"}


class Paint:
    """Paints for one output. `when`: auto, always or never (auto: a terminal, and NO_COLOR is not set)."""

    def __init__(self, when: str) -> None:
        self.on = when == "always" or (when == "auto" and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))

    def __call__(self, kind: str, text: str) -> str:
        """`text` in the colour of a region kind or of a role."""
        if not self.on or not text:
            return text
        return f"\x1b[{COLORS.get(kind, '35')}m{text}\x1b[0m"


def visible(text: str, *, spaces: bool = False) -> str:
    """One line: newlines and other control characters as symbols, undecodable bytes as \\xNN."""
    out = []
    for c in text:
        if "\udc80" <= c <= "\udcff":
            out.append(f"\\x{ord(c) - 0xDC00:02x}")
        elif c in VISIBLE:
            out.append(VISIBLE[c])
        elif c == " " and spaces:
            out.append("␣")
        elif ord(c) < 32 or "\ud800" <= c <= "\udfff" or "\x7f" <= c < "\xa0":
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(c)
    return "".join(out)


def printable(text: str) -> str:
    """`text` for a terminal: newlines stay, other control characters are made visible."""
    return "\n".join(visible(line) for line in text.split("\n"))
