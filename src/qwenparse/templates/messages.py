"""Reading message objects as a chat template sees them, and the two normalisations callers can ask for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from ..errors import FormatError, TemplateError

Message = Mapping[str, Any]
Normalize = Literal["transformers5", "openai"]

REASONING = ("reasoning_content", "thinking", "reasoning")


class Undefined:
    """A key that is absent: not the same as None. The class name is the one an engine's error text shows."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = Undefined()

_PLAIN = (str, int, float, list, tuple, bytes, type(None))


def field(x: Any, name: str) -> Any:
    """`x.name` as a template reads it: the item of a mapping, the attribute of an object, else `UNDEFINED`."""
    if type(x) is dict or isinstance(x, Mapping):
        return x.get(name, UNDEFINED)
    if isinstance(x, _PLAIN):
        return UNDEFINED
    return getattr(x, name, UNDEFINED)


def engine_error(text: str, type: str = "TypeError") -> TemplateError:
    return TemplateError(text, kind="engine", type=type)


def no_attribute(x: Any, name: str) -> TemplateError:
    """What Jinja raises when an absent attribute is used."""
    shown = "'None'" if x is None else f"'{type(x).__name__} object'"
    return engine_error(f"{shown} has no attribute '{name}'", "UndefinedError")


def require(x: Any, name: str) -> Any:
    """`x.name`, which must exist."""
    value = field(x, name)
    if value is UNDEFINED:
        raise no_attribute(x, name)
    return value


def text_after(text: str, value: Any) -> str:
    """`text + value` in a template, the value alone: it must be a string."""
    if not isinstance(value, str):
        raise engine_error(f'can only concatenate str (not "{type(value).__name__}") to str')
    return value


def contains(x: Any, key: str) -> bool:
    """`key in x` as a template evaluates it."""
    if isinstance(x, (str, Mapping, list, tuple)):
        return key in x
    if x is UNDEFINED:
        return False
    raise engine_error(f"argument of type '{type(x).__name__}' is not iterable")


def items(arguments: Any) -> Iterable[tuple[Any, Any]]:
    """The filter `items`. Raises for anything but a mapping."""
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        raise engine_error("Can only get item pairs from a mapping.")
    return arguments.items()


def as_list(messages: Any) -> list[dict[str, Any]]:
    """The messages as dicts. What is neither a mapping nor an object with fields counts as an empty message."""
    if messages is None:
        return []
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise engine_error(f"messages must be a list of messages, not {type(messages).__name__}")
    if type(messages) is list and set(map(type, messages)) == {dict}:
        return messages
    return [m if type(m) is dict else _as_dict(m) for m in messages]


def _as_dict(message: Any) -> dict[str, Any]:
    if isinstance(message, Mapping):
        return dict(message)
    found = {name: field(message, name) for name in ("role", "content", "tool_calls", "tool_call_id", *REASONING)}
    return {name: value for name, value in found.items() if value is not UNDEFINED}


def has_string_arguments(messages: Sequence[Message]) -> bool:
    """Whether some call carries its arguments as JSON text, on which templates of the XML families fail."""
    for message in messages:
        calls = field(message, "tool_calls")
        if isinstance(calls, (list, tuple)):
            for call in calls:
                function = field(call, "function")
                if isinstance(field(call if function is UNDEFINED else function, "arguments"), str):
                    return True
    return False


# normalisation ----------------------------------------------------------------------------------------------------


def _plain(x: Any) -> Any:
    if x is None or type(x) in (str, int, float, bool):
        return x
    for base in (str, int, float):
        if isinstance(x, base):
            return getattr(base, f"__{base.__name__}__")(x)
    if isinstance(x, Mapping):
        return {_plain(k): _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(map(_plain, x)) if type(x) in (list, tuple) else list(map(_plain, x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {f.name: _plain(getattr(x, f.name)) for f in dataclasses.fields(x)}
    if callable(getattr(x, "model_dump", None)):
        return _plain(x.model_dump())
    return f"<{type(x).__name__}>"


def _transformers5(messages: Any) -> list[dict[str, Any]]:
    plain = [_plain(m) for m in messages]
    result = []
    for message in plain:
        if not isinstance(message, dict):
            raise engine_error(f"Chat messages should be dicts, dataclasses or pydantic models, but got {message!r}.")
        kept = {k: v for k, v in message.items() if v is not None}
        reasoning = next((kept[key] for key in REASONING if key in kept), None)
        if reasoning is not None:
            kept = {"thinking": reasoning, **kept, "reasoning_content": reasoning}
        result.append(kept)
    return result


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type", "text") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def _object(arguments: Any) -> Any:
    """The mapping a JSON text holds; anything else comes back as it is."""
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
        if isinstance(value, dict):
            return value
    return arguments


def _call(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    if isinstance(call.get("function"), Mapping):
        return {**call, "function": _call(call["function"])}
    return {**call, "arguments": _object(call["arguments"])} if isinstance(call.get("arguments"), str) else call


def _openai(messages: Any) -> list[dict[str, Any]]:
    result = []
    for message in as_list(messages):
        new = dict(message)
        if new.get("role") == "developer":
            new["role"] = "system"
        content = new.get("content")
        if isinstance(content, (list, tuple)):
            texts = [_part_text(part) for part in content]
            if None not in texts:
                new["content"] = "".join(text for text in texts if text is not None)
        reasoning = next((v for v in map(new.get, REASONING) if isinstance(v, str) and v.strip()), None)
        if reasoning is not None:
            new["reasoning_content"] = reasoning
        if isinstance(new.get("tool_calls"), (list, tuple)):
            new["tool_calls"] = [_call(call) for call in new["tool_calls"]]
        result.append(new)
    return result


_NORMALIZE: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {"transformers5": _transformers5, "openai": _openai}


def normalized(messages: Any, how: str | None) -> list[dict[str, Any]]:
    """The messages as dicts, normalised by `how`; the caller's objects stay as they are.

    `"transformers5"`: as transformers 5 does before it renders (keys with None dropped, the reasoning fields copied
    onto each other, values rebuilt as plain JSON types). `"openai"`: string arguments that hold an object become
    mappings, lists of text parts their joined text, the reasoning fields `reasoning_content`, `developer` becomes
    `system`. Raises `FormatError` for any other name.
    """
    if how is None:
        return as_list(messages)
    if how not in _NORMALIZE:
        raise FormatError(f"normalize={how!r}: it takes None, 'transformers5' or 'openai'")
    if messages is not None and (isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable)):
        raise engine_error(f"messages must be a list of messages, not {type(messages).__name__}")
    return _NORMALIZE[how](messages or [])
