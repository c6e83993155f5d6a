"""A turn as bytes: everything a second reading needs, and a seal.

Layout of version 1: `QP`, version (1 byte), flags (1 byte: 1 sealed with a key, 2 deflated), seal (16 bytes), payload.
The seal is HMAC-SHA-256 over all that stands around it, or plain SHA-256 without a key, cut to 128 bits. The payload is
the length of a JSON head (4 bytes, big endian), the head, and the text. On load the text is read again: spans and calls
are never taken from a blob.
"""

from __future__ import annotations

import hmac
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from .. import _core
from ..errors import QwenParseError, ReplayError
from ..formats import ENDOFTEXT, FORMATS, IM_END, IM_START, Format, Policy, get_format
from ..schema import ToolSet
from .digest import body, whole

if TYPE_CHECKING:
    from ..turn import Turn

VERSION: Final = 1
MAX_SIZE: Final = 1 << 28
"""Bytes of a payload that are read."""

Keys = bytes | Sequence[bytes] | None

_MAGIC: Final = b"QP"
_SEALED: Final = 1
_DEFLATED: Final = 2
_SEAL: Final = 16
_HEAD: Final = len(_MAGIC) + 2
_UNREADABLE: Final = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError, QwenParseError,
)  # fmt: skip
_CONTROLS: Final = (IM_START, IM_END)


def keys_of(key: Keys) -> tuple[bytes, ...]:
    """The keys, the one to sign with first. Raises `TypeError` for what is no key, `ValueError` for an empty one."""
    keys = () if key is None else (key,) if isinstance(key, (bytes, bytearray)) else tuple(key)
    for each in keys:
        if not isinstance(each, (bytes, bytearray)):
            raise TypeError(f"a key is bytes, not {type(each).__name__}")
        if not each:
            raise ValueError("a key must not be empty")
    return tuple(map(bytes, keys))


def _seal(start: bytes, payload: bytes, key: bytes | None) -> bytes:
    if key is None:
        return sha256(start + payload).digest()[:_SEAL]
    return hmac.new(key, start + payload, sha256).digest()[:_SEAL]


def spells_control(turn: Turn) -> bool:
    """Whether a control token is spelled in the turn anywhere but in its stop text."""
    if not any(token in turn.raw for token in _CONTROLS):
        return False
    stop = next((span for span in turn.spans if span.kind == "stop"), None)
    if stop is None:
        return True
    pieces = turn.raw[: stop.start], turn.raw[stop.end :]
    return any(token in piece for piece in pieces for token in _CONTROLS)


def controls_are_text(turn: Turn) -> bool:
    """Whether the turn's ids show that control tokens spelled in it were made of ordinary tokens."""
    known: bool | None = turn.__dict__.get("controls_are_text")
    if known is not None:
        return known
    tokens = turn.settings[2]
    if turn.token_ids is None or tokens is None:
        return False
    ids = list(turn.token_ids)
    if turn.closed != "none":
        stop = next((k for k, i in enumerate(ids) if i in tokens.stop_ids), None)
        if stop is not None:
            del ids[stop]
    controls = {token.encode() for token in _CONTROLS}
    return not any(tokens[i] in controls for i in set(ids))


def sampled_ids(turn: Turn) -> tuple[tuple[int, ...], int] | None:
    """The ids that a turn was read from and how much of `raw` they are; None if it was not fed by ids.

    What stands behind the stop token is left out; the stop text is not covered if its token was not fed.
    """
    if turn.token_ids is None:
        return None
    count: int | None = turn.__dict__.get("sampled")
    ids = turn.token_ids
    if count is None:
        tokens = turn.settings[2]
        if tokens is None:
            return None
        count = next((k for k, i in enumerate(ids) if i in tokens.stop_ids), -1) + 1
    if not count:
        return ids, len(body(turn))
    stop = next(span for span in turn.spans if span.kind == "stop")
    return ids[:count], stop.end


def _types(tools: ToolSet, names: set[str]) -> dict[str, Any]:
    """The parameters of the tools that were called, with their types."""
    found: dict[str, Any] = {}
    for name in sorted(names):
        tool = tools.get(name)
        if tool is None or tool.parameters is None:
            continue
        types = {parameter: tool.types(parameter) for parameter in sorted(tool.parameters)}
        found[name] = {p: None if t is None else sorted(t) for p, t in types.items()}
    return found


def _tools(names: Sequence[str] | None, types: dict[str, Any]) -> ToolSet:
    if names is None:
        return ToolSet.of(None)
    made: list[dict[str, Any]] = []
    for name in names:
        tool: dict[str, Any] = {"name": name}
        if name in types:
            properties = {p: {} if t is None else {"type": t} for p, t in types[name].items()}
            tool["parameters"] = {"properties": properties}
        made.append(tool)
    return ToolSet(made)


def dump_turn(turn: Turn, key: Keys = None) -> bytes:
    """The turn as bytes, sealed with `key` if one is given. Raises `ValueError` for a turn that is still being read."""
    if turn.closed is None:
        raise ValueError("a turn is kept when it is closed")
    keys = keys_of(key)
    start, max_held, _, _ = turn.settings
    prefixed, evidence = turn.origin
    text = body(turn)
    sampled = sampled_ids(turn)
    head: dict[str, Any] = {
        "format": turn.format.name if FORMATS.get(turn.format.name) == turn.format else asdict(turn.format),
        "start": start,
        "closed": turn.closed,
        "digest": turn.digest(),
        "reasoning": turn.reasoning_digest(),
    }
    policy = {k: v for k, v in asdict(turn.policy).items() if v != getattr(Policy(), k)}
    stop = next((span for span in turn.spans if span.kind == "stop"), None)
    called = {call.name for call in (*turn.calls, *whole(turn).calls) if call.name is not None}
    optional = {
        "prefix": turn.gen_prefix,
        "prefixed": prefixed,
        "policy": policy,
        "max_held": max_held if max_held != 1 << 20 else None,
        "stop": turn.raw[stop.start : stop.end] if stop is not None and turn.closed == "other_stop" else None,
        "trailing": turn.raw[stop.end if stop is not None else len(text) :],
        "tools": sorted(turn.tools.names) if turn.tools.known else None,
        "types": _types(turn.tools, called),
        "calls": [call.id for call in turn.calls],
        "sampled": None if sampled is None or sampled[1] == len(text) else len(sampled[0]),
        "ids": None if turn.token_ids is None else list(turn.token_ids),
        "tags": None if evidence is None else [evidence[0], *evidence[1]],
        "unknown": [[i.start, i.text] for i in turn.issues if i.code == "unknown-token"],
        "literal": (bool(keys) and spells_control(turn) and controls_are_text(turn)) or None,
    }
    head.update((k, v) for k, v in optional.items() if v is not None and (v or k == "tools" or k == "prefixed"))
    written = json.dumps(head, separators=(",", ":")).encode()
    payload = len(written).to_bytes(4, "big") + written + text.encode("utf-8", "surrogatepass")
    flags = _SEALED if keys else 0
    if len(payload) > 256:
        small = zlib.compress(payload, 1)
        if len(small) < len(payload):
            payload, flags = small, flags | _DEFLATED
    begin = _MAGIC + bytes((VERSION, flags))
    return begin + _seal(begin, payload, keys[0] if keys else None) + payload


def _open(blob: bytes, keys: tuple[bytes, ...]) -> tuple[bytes, bool]:
    """The payload and whether it was sealed with a key."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"a blob is bytes, not {type(blob).__name__}")
    blob = bytes(blob)
    if blob[:2] != _MAGIC or len(blob) < _HEAD + _SEAL:
        raise ReplayError("this is no turn")
    version, flags = blob[2], blob[3]
    if not 1 <= version <= VERSION:
        raise ReplayError(f"written in version {version}; this reader knows versions up to {VERSION}")
    if flags & ~(_SEALED | _DEFLATED):
        raise ReplayError(f"unknown flags {flags:#x}")
    begin, seal, payload = blob[:_HEAD], blob[_HEAD : _HEAD + _SEAL], blob[_HEAD + _SEAL :]
    sealed = bool(flags & _SEALED)
    if sealed and not keys:
        raise ReplayError("sealed with a key, and no key was given")
    if keys and not sealed:
        raise ReplayError("not sealed, and a key was given")
    if not any(hmac.compare_digest(seal, _seal(begin, payload, key)) for key in (keys or (None,))):
        raise ReplayError("the seal does not fit")
    if flags & _DEFLATED:
        stream = zlib.decompressobj()
        try:
            payload = stream.decompress(payload, MAX_SIZE)
        except zlib.error as error:
            raise ReplayError("not readable: zlib.error") from error
        if not stream.eof or stream.unused_data:
            raise ReplayError("too long, or cut")
    return payload, sealed


def load_turn(blob: bytes, key: Keys = None) -> Turn:
    """The turn of a blob, read again. `key`: the key it is sealed with, or several to try.

    Raises `ReplayError` if the seal does not fit (with a key an unsealed blob is refused too), the version is a later
    one, the text does not give the digests it was stored with, or a control token is spelled in it outside its stop
    text (allowed only in a sealed blob whose ids showed that it was ordinary text).
    """
    payload, sealed = _open(blob, keys_of(key))
    try:
        turn, head = _read(payload)
    except _UNREADABLE as error:
        raise ReplayError(f"not readable: {type(error).__name__}") from error
    if spells_control(turn):
        if not (sealed and head.get("literal") is True):
            raise ReplayError("a control token is spelled in the text")
        turn.__dict__["controls_are_text"] = True
    if (turn.digest(), turn.reasoning_digest()) != (head.get("digest"), head.get("reasoning")):
        raise ReplayError("the text does not give the digest it was stored with")
    return turn


def _read(payload: bytes) -> tuple[Turn, dict[str, Any]]:
    size = int.from_bytes(payload[:4], "big")
    head = json.loads(payload[4 : 4 + size])
    text = payload[4 + size :].decode("utf-8", "surrogatepass")
    closed, stop = head["closed"], head.get("stop")
    if closed not in ("im_end", "other_stop", "none") or (stop is not None and closed != "other_stop"):
        raise ValueError("closed")
    tags, ids, call_ids = head.get("tags"), head.get("ids"), head.get("calls", [])
    if any(type(i) is not int or not 0 <= i < 1 << 32 for i in ids or ()):
        raise ValueError("ids")
    format = head["format"]
    turn: Turn = _core._replay(
        get_format(format) if isinstance(format, str) else Format(**format),
        head.get("prefix", ""),
        text,
        closed,
        prefixed=head.get("prefixed"),
        stop_text=ENDOFTEXT if stop is None else stop,
        trailing=head.get("trailing", ""),
        evidence=None if tags is None else (tags[0], tuple(tags[1:])),
        unknown=[(at, note) for at, note in head.get("unknown", ())],
        ids=ids,
        tools=_tools(head.get("tools"), head.get("types", {})),
        policy=Policy(**head.get("policy", {})),
        start=head["start"],
        max_held=head.get("max_held", 1 << 20),
    )
    if ids is not None:
        sampled = head.get("sampled", 0)
        if type(sampled) is not int or not 0 <= sampled <= len(ids) or (sampled and closed == "none"):
            raise ValueError("sampled")
        turn.__dict__["sampled"] = sampled
    if len(call_ids) != len(turn.calls):
        raise ValueError("calls")
    for call, call_id in zip(turn.calls, call_ids, strict=True):
        if not isinstance(call_id, str):
            raise ValueError("calls")
        call.id = call_id
    return turn, head
