"""The options that commands share, and what they mean."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FormatError
from ..formats import FORMATS, POLICY_VALUES, Policy


def add_reading(parser: argparse.ArgumentParser) -> None:
    """`FILE …` and how its completions are read."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="completions: text, or .jsonl of turns; - is stdin")
    parser.add_argument("--format", help=f"what wrote it: {', '.join(FORMATS)}")
    parser.add_argument("--start", choices=("reasoning", "content", "auto"), help="where the completion begins")
    parser.add_argument("--tools", metavar="FILE", type=Path, help="JSON list of the request's tools")
    parser.add_argument("--policy", action="append", default=[], metavar="NAME=VALUE", help="one of: " + "; ".join(
        f"{name}={'|'.join(values)}" for name, values in POLICY_VALUES.items()))  # fmt: skip
    parser.add_argument("--stop", choices=("none", "im_end", "other_stop"), help="how the turn ended (default: none)")


def add_cut(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--cut", default=default, metavar="HOW", help="feed it whole, chars, bytes, tokens (as recorded) or N characters"
        f" at a time (default: {default})",
    )  # fmt: skip


def add_mode(parser: argparse.ArgumentParser, default: str = "lossless") -> None:
    parser.add_argument("--mode", default=default, metavar="MODE", help="lossless, or ollama:NAME for one of its parsers")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")


def policy_of(args: argparse.Namespace) -> Policy:
    """The policy that `--policy` names. Raises `FormatError`."""
    chosen: dict[str, Any] = {}
    for item in args.policy:
        name, equals, value = item.partition("=")
        if not equals or name not in POLICY_VALUES:
            raise FormatError(f"--policy {item}: it takes NAME=VALUE, NAME one of {', '.join(POLICY_VALUES)}")
        chosen[name] = value
    return Policy(**chosen)


def tools_of(args: argparse.Namespace) -> list[dict[str, Any]] | None:
    if args.tools is None:
        return None
    try:
        tools = json.loads(args.tools.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"--tools {args.tools}: not JSON ({error})") from None
    if not isinstance(tools, list):
        raise FormatError(f"--tools {args.tools}: it holds a {type(tools).__name__}, not a list of tools")
    return tools


def cutting(how: str, text: str, pieces: list[str] | None) -> Iterator[str | bytes]:
    """`text` in the pieces that `--cut` asks for."""
    from ..utf8 import to_bytes

    if how == "whole":
        yield text
    elif how == "chars":
        yield from text
    elif how == "bytes":
        raw = to_bytes(text)
        yield from (raw[i : i + 1] for i in range(len(raw)))
    elif how == "tokens":
        # Without a recording, roughly: words with the space in front of them.
        yield from pieces if pieces is not None else _words(text)
    elif how.isascii() and how.isdigit() and int(how):
        yield from (text[i : i + int(how)] for i in range(0, len(text), int(how)))
    else:
        raise FormatError(f"--cut {how}: it takes whole, chars, bytes, tokens or a number")


def _words(text: str) -> Iterator[str]:
    import re

    return (m[0] for m in re.finditer(r" ?\w+|\s|.", text, re.DOTALL))
