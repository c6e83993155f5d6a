"""Digests of assistant turns: of what every client sends back, however it re-serialises it.

A turn and the assistant messages that a client makes of it have the same digest. Reasoning and ids are not in it, since
clients drop the one and change the other; reasoning has a digest of its own. Source of the rules: what OpenCode, Pi and
Qwen Code were seen to do to a history (docs/round_trip.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from .. import _core
from .canonical_json import canonical, canonical_arguments, text_of

if TYPE_CHECKING:
    from ..turn import Turn

REASONING_KEYS: Final = ("reasoning_content", "thinking", "reasoning")
_BLANK_PREFIXES: Final = ("", "<think>\n", "<think>\n\n</think>\n\n", "<think>\n</think>")
_OUTER: Final = "".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "\ufeff"
"""What strip() of Python and trim() of JavaScript take away (the latter U+FEFF too)."""


@dataclass(frozen=True)
class Said:
    """What an assistant turn says, in the form that digests compare."""

    content: str
    reasoning: str
    calls: tuple[tuple[str, str], ...]
    """(name, canonical arguments)"""
    ids: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        return hashed("turn", self.content, *(part for call in self.calls for part in call))

    @cached_property
    def reasoning_digest(self) -> str:
        return hashed("reasoning", self.reasoning)


def hashed(*parts: str | bytes) -> str:
    """128 bits of a hash over the parts; their borders count."""
    given = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]
    lengths = " ".join(map(str, map(len, given))).encode()
    return sha256(b"\n".join((lengths, *given))).hexdigest()[:32]


def bare(text: str) -> str:
    """Text without what clients change in it: outer whitespace, CRLF, half surrogate pairs."""
    return text_of(text).replace("\r\n", "\n").strip(_OUTER)


def field(x: Any, name: str) -> Any:
    """`x.name`, be it the item of a mapping or the attribute of an object; None if it is absent."""
    return x.get(name) if type(x) is dict or isinstance(x, Mapping) else getattr(x, name, None)


def texts_and_rest(content: Any) -> tuple[str, str, list[str]]:
    """Text, reasoning and the hashes of everything else in a message's content, as it was written."""
    if content is None:
        return "", "", []
    if isinstance(content, str):
        return content, "", []
    if not isinstance(content, (list, tuple)):
        return "", "", [hashed("content", canonical(content))]
    texts: list[str] = []
    thoughts: list[str] = []
    rest: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        kind, text = field(part, "type"), field(part, "text")
        if kind in ("thinking", "reasoning"):
            thought = field(part, "thinking") or field(part, "reasoning") or text
            thoughts.append(thought if isinstance(thought, str) else "")
        elif isinstance(text, str) and kind in (None, "text", "input_text", "output_text"):
            texts.append(text)
        elif isinstance(part, Mapping):
            rest.append(hashed("part", canonical({k: v for k, v in part.items() if k != "cache_control"})))
        else:
            rest.append(hashed("part", canonical(part)))
    return "".join(texts), "".join(thoughts), rest


def calls_of(message: Any) -> list[tuple[str, str, str]]:
    """(name, canonical arguments, id) of the calls of a message."""
    calls = field(message, "tool_calls")
    found = []
    for call in calls if isinstance(calls, (list, tuple)) else ():
        function = field(call, "function")
        if function is None:
            function = call
        name, call_id = field(function, "name"), field(call, "id")
        found.append((
            text_of(name) if isinstance(name, str) else f"!{canonical(name)}",
            canonical_arguments(field(function, "arguments")),
            call_id if isinstance(call_id, str) else "",
        ))  # fmt: skip
    return found


def said(messages: Iterable[Any]) -> Said:
    """What consecutive assistant messages say together."""
    contents: list[str] = []
    rest: list[str] = []
    thoughts: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for message in messages:
        text, thought, other = texts_and_rest(field(message, "content"))
        contents.append(text)
        rest += other
        given = next((v for v in (field(message, k) for k in REASONING_KEYS) if isinstance(v, str) and v.strip()), None)
        thought = bare(thought if given is None else given)
        if thought and thought not in thoughts:  # some clients repeat it with every piece of the turn
            thoughts.append(thought)
        calls += calls_of(message)
    content = bare("".join(contents)) + "".join(f"\0{part}" for part in rest)
    return Said(content, "".join(thoughts), tuple(call[:2] for call in calls), tuple(c[2] for c in calls if c[2]))


def body(turn: Turn) -> str:
    """The text of a turn without its stop text and what stands behind that."""
    spans = turn.spans
    end = len(turn.raw)
    for span in reversed(spans):
        if span.kind not in ("stop", "trailing"):
            break
        end = span.start
    return turn.raw[:end]


def whole(turn: Turn) -> Turn:
    """The turn together with what the prompt had written of it, read as one text; itself if that says nothing."""
    prefix = turn.gen_prefix
    if prefix in _BLANK_PREFIXES:
        return turn
    start, max_held, _, _ = turn.settings
    prefixed, evidence = turn.origin
    if evidence is not None:
        opened = (at for at, char in enumerate(prefix) if char == "<")
        evidence = evidence[0], (*opened, *(at + len(prefix) for at in evidence[1]))
    joined: Turn = _core._replay(
        turn.format, "", prefix + body(turn), turn.closed or "none", prefixed=prefixed is not False,
        evidence=evidence, tools=turn.tools, policy=turn.policy, start=start, max_held=max_held,
    )  # fmt: skip
    return joined


def turn_said(turn: Turn) -> Said:
    """What a turn says."""
    turn, calls = whole(turn), turn.tool_calls
    return Said(
        bare(turn.content or ""),
        bare(turn.reasoning or ""),
        tuple((text_of(call.name or ""), canonical_arguments(call.arguments_json)) for call in turn.tool_calls),
        tuple(call.id for call in calls if call.id),
    )


def digest(messages: Mapping[str, Any] | Sequence[Any]) -> str:
    """The digest of the assistant messages that one turn became: equal to `Turn.digest()` of that turn.

    `messages` is one message or several consecutive ones. 32 hexadecimal digits. Content counts without outer
    whitespace and with CRLF as LF (absent, None and `""` are one), calls by name and decoded arguments in order (see
    `canonical_arguments`). Raises `ValueError` for a message of another role.

    >>> digest({"role": "assistant", "content": " Hi\\r\\n"}) == digest([{"role": "assistant", "content": "Hi"}])
    True
    """
    return said(_assistant(messages)).digest


def reasoning_digest(messages: Mapping[str, Any] | Sequence[Any]) -> str:
    """The digest of the reasoning of the same messages: equal to `Turn.reasoning_digest()`."""
    return said(_assistant(messages)).reasoning_digest


def _assistant(messages: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    given = list(messages) if isinstance(messages, (list, tuple)) else [messages]
    for message in given:
        if field(message, "role") != "assistant":
            raise ValueError(f"a digest is of assistant messages, not of role {field(message, 'role')!r}")
    return given


def turn_digests(turn: Turn) -> tuple[str, str]:
    """The digest of a turn and that of its reasoning."""
    told = turn_said(turn)
    return told.digest, told.reasoning_digest
