"""The reference's state machines, literally: one buffer of bytes, searched from its start at every step.

Quadratic on purpose. It shares nothing with the package's streaming code; the text of a call is read by the package.
"""


from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qwenparse.ollama import ParseError

TO, TC, KO, KC = b"<tool_call>", b"</tool_call>", b"<think>", b"</think>"
SPACES = {
    chr(c).encode()
    for c in (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
}  # fmt: skip


def ltrim(b: bytes) -> bytes:
    while b:
        n = next((n for n in (1, 2, 3) if b[:n] in SPACES), 0)
        if not n:
            break
        b = b[n:]
    return b


def rtrim(b: bytes) -> bytes:
    while b:
        n = next((n for n in (1, 2, 3) if b[-n:] in SPACES), 0)
        if not n:
            break
        b = b[:-n]
    return b


def overlap(b: bytes, tag: bytes) -> int:
    return max((k for k in range(1, len(tag) + 1) if b.endswith(tag[:k])), default=0)


def hold(b: bytes, k: int) -> tuple[bytes, bytes]:
    head = rtrim(b[: len(b) - k])
    return head, b[len(head) :]


Read = Callable[[str], Any]


class Naive:
    """`add` gives (content, thinking, [(name, arguments, index)]), texts as bytes, or raises `ParseError`."""

    def __init__(self, name: str, think: Any, prefill: bool, read: Read) -> None:
        self.read = read
        self.name = name
        self.index = 0
        self.buffer = b""
        self.eat = False
        on = think is None or bool(think)
        if name == "qwen3-coder":
            self.state, self.step = "LOOK", self.coder
        elif name == "qwen3.5":
            self.state, self.step = ("THINK" if on and not prefill else "CONTENT"), self.qwen35
            self.inner = Naive("qwen3-coder", None, False, read)
        elif name.startswith("qwen3-vl"):
            thinking = name == "qwen3-vl-thinking" and not prefill
            self.state, self.step = ("THINK" if thinking else "CONTENT"), self.vl
        else:
            thinking = name == "qwen3-thinking" and on
            self.state, self.step = ("THINK" if thinking else "CONTENT"), self.qwen3
        self.leading = True

    def add(self, chunk: bytes) -> tuple[bytes, bytes, list[tuple[str, Any, int]]]:
        self.buffer += chunk
        self.content, self.thinking = b"", b""
        self.texts: list[bytes] = []
        self.inner_calls: list[tuple[str, Any, int]] = []
        while self.step():
            pass
        if self.name == "qwen3.5":
            return self.content, self.thinking, self.inner_calls
        calls = []
        first = self.index
        for t in self.texts:
            try:
                name, arguments = self.read(t.decode("utf-8", "surrogateescape"))
            except ParseError:
                if self.name.startswith("qwen3-vl"):
                    self.index = first
                raise
            calls.append((name, arguments, self.index))
            self.index += 1
        return self.content, self.thinking, calls

    def coder(self) -> bool:
        b = self.buffer
        if self.state == "LOOK":
            if TO in b:
                before, _, self.buffer = b.partition(TO)
                self.content += rtrim(before)
                self.state = "COLLECT"
                return True
            out, self.buffer = hold(b, overlap(b, TO))
            self.content += out
            return False
        if TC in b:
            text, _, rest = b.partition(TC)
            self.texts.append(text)
            self.buffer = ltrim(rest)
            self.state = "LOOK"
            return True
        return False

    def qwen35(self) -> bool:
        b = self.buffer
        if self.state == "AFTER":
            self.buffer = b = ltrim(b)
            if not b:
                return False
            self.state = "CONTENT"
            return True
        if self.state == "CONTENT":
            self.buffer = b""
            content, _, self.inner_calls = self.inner.add(b)
            self.content += content
            return False
        if self.leading:
            t = ltrim(b)
            if t.startswith(KO):
                self.buffer = ltrim(t[len(KO) :])
                self.leading = False
                if not self.buffer:
                    self.eat = True
                    return False
                return True
            if len(t) < len(KO) and KO.startswith(t):
                return False
            self.leading = False
        if self.eat:
            self.buffer = b = ltrim(b)
            if not b:
                return False
            self.eat = False
        if KC in b:
            before, _, rest = b.partition(KC)
            self.thinking += rtrim(before)
            self.buffer = ltrim(rest)
            self.state = "CONTENT" if self.buffer else "AFTER"
            return True
        k = max(overlap(b, KC), overlap(b, TO))
        if k:
            out, self.buffer = hold(b, k)
            self.thinking += out
            return False
        if TO in b:
            before, _, rest = b.partition(TO)
            self.buffer = rtrim(before) + KC + TO + ltrim(rest)
            return True
        out, self.buffer = hold(b, 0)
        self.thinking += out
        return False

    def qwen3(self) -> bool:
        b = self.buffer
        if self.state in ("AFTER", "TOOLSPACE"):
            self.buffer = ltrim(b)
            if not self.buffer:
                return False
            self.state = "CONTENT" if self.state == "AFTER" else "TOOL"
            return True
        if self.state == "TOOL":
            if TC not in b:
                return False
            text, _, rest = b.partition(TC)
            self.texts.append(rtrim(text))
            self.buffer = ltrim(rest)
            self.state = "CONTENT"
            return True
        if self.state == "THINK" and self.leading:
            t = ltrim(b)
            if t.startswith(KO):
                self.buffer = ltrim(t[len(KO) :])
                if not self.buffer:
                    return False
                self.leading = False
                return True
            if len(t) < len(KO) and KO.startswith(t):
                return False
            self.leading = False
        return self.text(trims=True)

    def vl(self) -> bool:
        b = self.buffer
        if self.state in ("AFTER", "AFTERTOOL"):
            self.buffer = ltrim(b)
            if not self.buffer:
                return False
            self.state = "CONTENT"
            return True
        if self.state == "TOOL":
            if TC not in b:
                return False
            text, _, self.buffer = b.partition(TC)
            self.texts.append(text)
            self.state = "AFTERTOOL"
            return True
        return self.text(trims=False)

    def text(self, trims: bool) -> bool:
        """THINK and CONTENT of the JSON parsers."""
        b = self.buffer
        thinking = self.state == "THINK"
        at, close = b.find(TO), b.find(KC) if thinking else -1
        if at >= 0 and (close < 0 or at < close):
            piece = rtrim(b[:at])
            self.buffer = b[at + len(TO) :]
            self.state = "TOOL"
            if trims:
                self.buffer = ltrim(self.buffer)
                self.state = "TOOL" if self.buffer else "TOOLSPACE"
            more = True
        elif close >= 0:
            piece = rtrim(b[:close])
            self.buffer = ltrim(b[close + len(KC) :])
            self.state = "CONTENT" if self.buffer else "AFTER"
            more = True
        else:
            k = max(overlap(b, TO), overlap(b, KC) if thinking else 0)
            piece, self.buffer = hold(b, k)
            more = False
        if thinking:
            self.thinking += piece
        else:
            self.content += piece
        return more
