"""Which parser reads which call format: turns in the XML and in the JSON format, given to each parser of each peer.

    python -m benchmarks.peers_formats

The turns are written by the robust policy (`tool_call_format`), so this says which format a server behind that
template has to be started with. Run it where `python -m benchmarks.peers_install DIR` put the peers.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import real_tokenizers

from qwenparse.prompt import render_prompt
from qwenparse.tokens import Encoder

from . import peers
from .corpus import TOOLS, Turn
from .ours import OURS
from .peers_table import text_pieces

FORMATS = {"xml": ("qwen3.8", "qwen3.5"), "json": ("qwen3", "qwen3")}
"""Per call format: the name whose parser expects it, and a vocabulary."""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "a < b", "limit": 5, "paths": ["src", "docs é"]}),
    ("run_command", {"command": "ls -l\necho 'x'", "timeout": 1.5, "background": True}),
    ("list_tasks", {}),
)
_TAGS = re.compile(r"(</?think>|</?tool_call>)")


def turns(written: str, expected: str) -> list[Turn]:
    """Turns in the format `written`, labelled for the parser of the format `expected`."""
    format, vocabulary = FORMATS[expected]
    found = []
    for content, calls in (("I look.", CALLS[:1]), ("", CALLS[1:2]), ("", CALLS[:2]), ("Done.", CALLS[2:])):
        sent = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
        message = {"role": "assistant", "content": content, "reasoning_content": "So I need it.", "tool_calls": sent}
        history = [{"role": "user", "content": "Go."}, message]
        text = render_prompt(
            history, "qwen3.8", robust=True, tools=TOOLS, tool_call_format=written, add_generation_prompt=False
        ).text
        raw = text.rpartition("<|im_start|>assistant\n<think>\n")[2].removesuffix("<|im_end|>\n")
        pieces = tuple((piece, bool(_TAGS.fullmatch(piece))) for piece in _TAGS.split(raw) if piece)
        found.append(Turn("", format, vocabulary, "reasoning", pieces, "So I need it.", content or None, calls))
    return found


def reads(adapter: peers.Adapter, written: str, expected: str) -> str:
    """What the parser of the format `expected` makes of calls in the format `written`."""
    encoder = Encoder(real_tokenizers.tokenizer(FORMATS[expected][1]))
    outcomes = []
    for turn in turns(written, expected):
        ids = turn.ids(encoder)
        try:
            parsed = adapter.stream(turn, ids if adapter.unit == "ids" else text_pieces(turn, ids))
        except Exception as error:
            outcomes.append(f"raises {type(error).__name__}")
            continue
        if peers.right_calls(turn, parsed):
            outcomes.append("yes")
        elif parsed.calls:
            outcomes.append("wrong arguments" if len(parsed.calls) == len(turn.calls) else "wrong calls")
        else:
            outcomes.append("text" if turn.calls[0][0] in (parsed.content or "") else "call lost")
    return outcomes[0] if len(set(outcomes)) == 1 else ", ".join(sorted(set(outcomes)))


def table() -> str:
    """The table, as Markdown."""
    lines = ["| parser | version | started for | XML calls | JSON calls |", "|---|---|---|---|---|"]
    for make in (OURS[0], *peers.adapters()):
        try:
            adapter = make()
            shown = version(adapter.requires)
        except (ImportError, PackageNotFoundError) as error:
            lines.append(f"| {make.name} | not installed ({error}) | | | |")
            continue
        for expected in FORMATS:
            cells = [reads(adapter, written, expected) for written in FORMATS]
            lines.append(f"| {adapter.name} | {shown} | {expected.upper()} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    sys.exit(0)
