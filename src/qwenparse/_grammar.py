"""Near-valid completions, and mutations that know what a tag is.

`Grammar` writes completions after the grammar of docs/format.md and, with probability `mischief` at every choice, one
of the faults listed there. `mutate` changes given bytes: drops a tag, a `>`, a newline, doubles a call, cuts, splices.
Both are deterministic functions of their `random.Random`; `ByteRandom` is one that is driven by bytes.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence

NAMES = (
    "sh",
    "read",
    "edit",
    "ping",
    "get-weather",
    "mcp__a.b",
    "ünï",
    "sh ",
    "'sh'",
    '"read"',
    "rm",
    "a b",
    "f=g",
    "",
)
KEYS = ("cmd", "path", "n", "ids", "opts", "ok", "maybe", "text", "x", "cmd ", '"cmd"', "a b", "a=b", "")

OPEN = (
    "<think>",
    "<tool_call>",
    "<function=sh>",
    "<function=read>",
    "<parameter=cmd>",
    "<parameter=path>",
    "<parameter=n>",
)
CLOSE = ("</think>", "</tool_call>", "</function>", "</parameter>")
BENT = (
    "</parameter/>",
    "</parameter_x>",
    "</parameter ",
    "<function=",
    "<parameter=",
    "<function=sh",
    "<parameter=cmd",
    "<parameter=cmd=",
    '<function="sh">',
    "<parameter='cmd'>",
    "<parameter=ids: [1]",
    "<thinking>",
    "<tool_response>",
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "</tool",
    "<tool",
    "</",
    "<",
)
JOINED = (
    "<tool_call>\n<function=",
    ">\n<parameter=",
    ">\n</parameter>\n",
    "</parameter>\n<parameter=",
    "</parameter>\n</function>\n</tool_call>",
    "</function>\n</tool_call>\n",
    "</tool_call>\n<tool_call>\n",
    '<tool_call>\n{"name": "',
    '"}}\n</tool_call>',
    "\n</think>\n\n",
)
JSON = (
    '{"name": "sh", "arguments": {',
    '"name"',
    '"arguments"',
    '"parameters"',
    '"id"',
    '"type"',
    '"cmd"',
    "}}",
    "}",
    "{",
    '": ',
    '"',
    '\\"',
    "\\n",
    "\\u00e9",
    "\\ud800",
    "[",
    "]",
    ", ",
    "null",
    "true",
    "1.0",
    "1e5",
    "-",
)
LAYOUT = ("\n", "\n\n", " ", "\t", "\r\n", "\v", "\f", "```", "```xml\n", "~~~\n", "\n```\n", "   ```")
LEXEMES: tuple[str, ...] = OPEN + CLOSE + BENT + JOINED + JSON + LAYOUT
"""What the dictionary holds and `mutate` inserts."""

SCALARS = (
    "1",
    "0",
    "-7",
    "007",
    "230.0",
    "1.0",
    ".5",
    "5.",
    "+5",
    "1e5",
    "1e400",
    "1e999999",
    "true",
    "True",
    "yes",
    "null",
    "None",
    "NULL",
    "2026-01-15",
    "02134",
    '"q"',
    "'q'",
    "[1, 2]",
    "['a', 'b']",
    '{"a": 1}',
    '{"a": 1,}',
    "{'k': None}",
    "NaN",
)
PROSE = (
    "Plan.",
    "I look.",
    "Done",
    "a < b",
    "List<int> x",
    "&amp;",
    "naïve",
    "天气",
    "👩‍💻",
    "\x00",
    "\r",
    "\u00a0",
    "\u3000",
    "e\u0301",
    "if a<b: c",
    "</item>",
    "<item id=3>",
    "x",
    " ",
    "The token `<tool_call>` opens a call.",
    "ends with </tool_call> there",
    "close with </parameter> here",
    "cat > p <<EOF\nli\nEOF",
    "Doc:\n</function>",
    "def f(x):\n    return x\n",
)
WINDOW = 1024


class ByteRandom(random.Random):
    """A `random.Random` whose choices are read from `data`. Zero bits, also behind its end, choose the usual: the first
    of a sequence, and no fault."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def getrandbits(self, k: int, /) -> int:
        size = (k + 7) // 8
        piece = self._data[self._at : self._at + size].ljust(size, b"\0")
        self._at += size
        return int.from_bytes(piece, "little") & ((1 << k) - 1)

    def random(self) -> float:
        return 1 - (self.getrandbits(16) + 1) / 65536


class Grammar:
    """Writes completions. `mischief` is the probability of a fault at each place where one is possible."""

    def __init__(self, rng: random.Random, mischief: float = 0.12) -> None:
        self.rng = rng
        self.mischief = mischief

    def completion(self) -> str:
        """One completion, seldom longer than 2,000 code points (a WS run of the window's size excepted)."""
        rng = self.rng
        text = ""
        if rng.random() < 0.5:
            text += self.either("<think>\n", "", "<think>", "\n<think>\n", "<think><think>")
            text += self.prose(4)
            text += self.either("\n</think>\n\n", "", "</think>", "\n</think>", "\n\n</think>\n\n\n")
        if rng.random() < 0.7:
            text += self.prose(3)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
            text += self.either("\n\n", "\n", "", " ", "x", "\n```\n", self.space())
            text += self.wrapper()
            if self.bad():
                text += self.either(
                    "\n</tool_call>", "\n</think>\n\n", "</parameter>\n</function>\n</tool_call>", "</function>"
                )
            if rng.random() < 0.3:
                text += self.either("\n\n", "\n", "") + self.prose(2)
        if self.bad():
            text = text[: rng.randrange(len(text) + 1)]
        return text

    def wrapper(self) -> str:
        """One `<tool_call>` block, XML or JSON, or a bare call."""
        rng = self.rng
        gap = self.either("\n", "", " ", "\n\n", self.space())
        blocks = [self.xml_call(gap) if rng.random() < 0.65 else self.json_call()]
        while self.bad():
            blocks.append(self.xml_call(gap) if rng.random() < 0.5 else self.json_call())
        return (
            self.either("<tool_call>", "", "`<tool_call>`", "<tool_call><tool_call>")
            + gap
            + gap.join(blocks)
            + gap
            + self.either("</tool_call>", "", "</tool_call></tool_call>", "</tool_cal")
        )

    def xml_call(self, gap: str) -> str:
        """`<function=…>` with its parameters."""
        rng = self.rng
        name = rng.choice(NAMES) if self.bad() else rng.choice(NAMES[:4])
        text = f"<function={name}" + self.either(">", "") + gap
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            text += self.parameter() + self.either("\n", "", gap, "junk\n", "\n\nprose\n\n", "}")
        return text + self.either("</function>", "", "</function></function>", "</function")

    def parameter(self) -> str:
        """`<parameter=…>` with its value."""
        rng = self.rng
        key = rng.choice(KEYS) if self.bad() else rng.choice(KEYS[:9])
        text = "<parameter=" + key + self.either(">", "", "=", "\n", ": [1]", " >")
        frame = self.either("\n", "", " ", "\n\n", "\r\n")
        return (
            text
            + frame
            + self.value()
            + frame
            + self.either(
                "</parameter>", "", "</parameter/>", "</parameter_x>", "</parameter", "</parameter></parameter>"
            )
        )

    def value(self) -> str:
        """A literal: scalar, prose, or text that holds tags of the format."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            return rng.choice(SCALARS)
        if kind < 0.35 + 3 * self.mischief:
            return self.prose(1) + rng.choice(LEXEMES) + self.either("\n", "", " ") + self.prose(1)
        return self.prose(2)

    def json_call(self) -> str:
        """A JSON call object."""
        rng = self.rng
        name = json.dumps(rng.choice(NAMES) if self.bad() else rng.choice(NAMES[:4]), ensure_ascii=rng.random() < 0.5)
        if self.bad():
            name = rng.choice(("5", "null", '""', "sh", '["sh"]'))
        members = [
            f'"name": {name}',
            f"{self.either(chr(34) + 'arguments' + chr(34), chr(34) + 'parameters' + chr(34))}: {self.arguments()}",
        ]
        if self.bad():
            members.insert(
                rng.randrange(3),
                rng.choice(('"id": 3', '"type": "function"', '"name": "rm"', '"arguments": {"cmd": "b"}')),
            )
        if self.bad():
            rng.shuffle(members)
        if self.bad():
            del members[rng.randrange(len(members))]
        gap = self.either(" ", "", "\n", "\v")
        return "{" + self.either("", " ", "\n") + ("," + gap).join(members) + self.either("}", "", "}}", ",}")

    def arguments(self) -> str:
        """The arguments of a JSON call."""
        rng = self.rng
        if self.bad():
            return rng.choice(
                ("null", "[1]", "5", "true", '"text"', '"{\\"cmd\\": \\"ls\\"}"', '"{"', "{'cmd': 1}", '{"cmd": True}')
            )
        members = [
            f"{json.dumps(rng.choice(KEYS[:9]))}: {self.json_value(0)}" for _ in range(rng.choice((0, 1, 1, 2, 3)))
        ]
        return "{" + ", ".join(members) + self.either("}", "", ",}")

    def json_value(self, depth: int) -> str:
        """Any JSON value, control characters inside strings now and then."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.15 and depth < 4:
            return "[" + ", ".join(self.json_value(depth + 1) for _ in range(rng.randrange(3))) + "]"
        if kind < 0.3 and depth < 4:
            return (
                "{"
                + ", ".join(
                    f'"{k}": {self.json_value(depth + 1)}' for k in rng.sample(("a", "b", "c"), rng.randrange(3))
                )
                + "}"
            )
        if kind < 0.5:
            numbers = ("01", "1.", "NaN", "-") if self.bad() else ("1", "1.0", "-0", "1e5", "true", "false", "null")
            return rng.choice(numbers)
        text = json.dumps(self.prose(1) + (rng.choice(LEXEMES) if self.bad() else ""), ensure_ascii=rng.random() < 0.5)
        return text.replace("\\n", "\n") if self.bad() else text

    def prose(self, most: int) -> str:
        """Up to `most` pieces of text."""
        rng = self.rng
        pieces = [rng.choice(PROSE) for _ in range(rng.randint(1, most))]
        if self.bad():
            pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(LEXEMES))
        return rng.choice(("\n", " ", "\n\n", "")).join(pieces)

    def space(self) -> str:
        """A WS run, at times just about as long as the window."""
        if self.rng.random() < 0.2:
            return self.rng.choice((" ", "\n")) * (WINDOW + self.rng.randint(-2, 2))
        return "".join(self.rng.choice(" \t\n\r\v\f") for _ in range(self.rng.randrange(4)))

    def bad(self) -> bool:
        """Whether to make a fault here."""
        return self.rng.random() < self.mischief

    def either(self, usual: str, *faults: str) -> str:
        """`usual`, or with probability `mischief` one of the others."""
        return self.rng.choice(faults) if self.bad() else usual


# -------------------------------------------------------------------------------------------------------- mutations

_TAG = re.compile(rb"</?(?:think|tool_call|function|parameter)[^<>\n]{0,40}>?")
_CALL = re.compile(rb"<tool_call>.*?</tool_call>\n?", re.DOTALL)
_PARAMETER = re.compile(rb"<parameter=.*?</parameter>\n?", re.DOTALL)
_LEXEMES = [x.encode("utf-8", "surrogatepass") for x in LEXEMES]
_BROKEN = (b"\xff", b"\xc3", b"\xe5\xa4", b"\xf0\x9f\x91", b"\xed\xa0\x80", b"\x80", b"\xc0\xaf", b"\xf8")


def _pick(rng: random.Random, data: bytes, pattern: re.Pattern[bytes]) -> tuple[int, int] | None:
    found = [m.span() for m in pattern.finditer(data)]
    return rng.choice(found) if found else None


def _drop(pattern: re.Pattern[bytes]) -> Callable[[random.Random, bytes], bytes]:
    def change(rng: random.Random, data: bytes) -> bytes:
        span = _pick(rng, data, pattern)
        return data[: span[0]] + data[span[1] :] if span else data

    return change


def _double(pattern: re.Pattern[bytes]) -> Callable[[random.Random, bytes], bytes]:
    def change(rng: random.Random, data: bytes) -> bytes:
        span = _pick(rng, data, pattern)
        return data[: span[1]] + data[span[0] :] if span else data

    return change


def _insert(pieces: Sequence[bytes]) -> Callable[[random.Random, bytes], bytes]:
    def change(rng: random.Random, data: bytes) -> bytes:
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.choice(pieces) + data[at:]

    return change


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _behead(rng: random.Random, data: bytes) -> bytes:
    return data[rng.randrange(len(data) + 1) :]


def _swap_tag(rng: random.Random, data: bytes) -> bytes:
    span = _pick(rng, data, _TAG)
    return data[: span[0]] + rng.choice(_LEXEMES) + data[span[1] :] if span else data


def _space(rng: random.Random, data: bytes) -> bytes:
    span = _pick(rng, data, _TAG)
    at = rng.choice(span) if span else rng.randrange(len(data) + 1)
    return (
        data[:at]
        + rng.choice((b" ", b"\n", b"\t", b"\r\n")) * rng.choice((1, 1, 2, 3, 63, 64, 1023, 1024, 1025))
        + data[at:]
    )


def _splice(rng: random.Random, data: bytes) -> bytes:
    other = Grammar(rng).completion().encode("utf-8", "surrogatepass")
    return crossover(rng, data, other)


def _copy_part(rng: random.Random, data: bytes) -> bytes:
    a, b = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[a:b] + data[at:]


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _drop(_TAG),
    _drop(re.compile(rb">")),
    _drop(re.compile(rb"\n")),
    _drop(re.compile(rb"[\"{}:,]")),
    _double(_CALL),
    _double(_PARAMETER),
    _double(_TAG),
    _cut,
    _behead,
    _splice,
    _swap_tag,
    _space,
    _copy_part,
    _insert(_LEXEMES),
    _insert(_LEXEMES),
    _insert(_BROKEN),
)


def mutate(rng: random.Random, data: bytes, max_size: int = 1 << 20, *, changes: int | None = None) -> bytes:
    """`data` with 1 to 3 (or `changes`) of `MUTATIONS` applied, at most `max_size` bytes."""
    for _ in range(changes or rng.choice((1, 1, 2, 3))):
        data = rng.choice(MUTATIONS)(rng, data)
    return data[:max_size]


def crossover(rng: random.Random, one: bytes, two: bytes, max_size: int = 1 << 20) -> bytes:
    """The beginning of `one` and the end of `two`, both cut at a tag where they have one."""
    a, b = _pick(rng, one, _TAG), _pick(rng, two, _TAG)
    head = one[: rng.choice(a)] if a else one[: rng.randrange(len(one) + 1)]
    tail = two[rng.choice(b) :] if b else two[rng.randrange(len(two) + 1) :]
    return (head + tail)[:max_size]
