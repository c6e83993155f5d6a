"""`qwenparse parse`: read completions and show what they are; `--live` shows a stream being parsed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from .._core import Parser
from .._events import Issue, Markup
from ..errors import FormatError
from ..ollama import ParseError
from ..ollama import Parser as OllamaParser
from ..turn import Turn, render
from . import options, turns
from .paint import Paint, printable, visible


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "parse", help="read completions and show them", description=__doc__, allow_abbrev=False
    )
    options.add_reading(parser)
    options.add_mode(parser)
    options.add_cut(parser, "whole")
    parser.add_argument("--spans", action="store_true", help="list every region with its positions")
    parser.add_argument("--live", action="store_true", help="show the stream as it is parsed (--cut tokens)")
    parser.add_argument("--delay", type=_seconds, default=0.03, metavar="SECONDS", help="between pieces of --live")
    options.add_output(parser)
    parser.set_defaults(run=run)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 3600:
        raise ValueError
    return seconds


def run(args: argparse.Namespace) -> int:
    paint = Paint(args.color)
    for number, turn in enumerate(turns.read(args.files or ["-"])):
        if number and not args.json:
            print()
        if args.mode.startswith("ollama:"):
            _ollama(args, turn, paint)
        elif args.mode == "lossless":
            _lossless(args, turn, paint)
        else:
            raise FormatError(f"--mode {args.mode}: it takes lossless or ollama:NAME")
    return 0


def make_parser(args: argparse.Namespace, turn: turns.Recorded) -> Parser:
    """A parser for a recorded turn, with the options of the command line in front of what the recording says."""
    format = args.format or turn.format
    if format is None:
        raise FormatError("which format? give --format NAME (a wrong guess would fail silently)")
    tools = options.tools_of(args)
    settings: dict[str, Any] = {"tools": turn.tools if tools is None else tools, "policy": options.policy_of(args)}
    if turn.gen_prefix and args.start is None:
        return Parser.for_prompt("<|im_start|>assistant\n" + turn.gen_prefix, format=format, **settings)
    return Parser(format, start=args.start, **settings)


def _lossless(args: argparse.Namespace, turn: turns.Recorded, paint: Paint) -> None:
    parser = make_parser(args, turn)
    how = "tokens" if args.live and args.cut == "whole" else args.cut
    for piece in options.cutting(how, turn.text, turn.pieces):
        events = parser.feed(piece)
        if args.live:
            _show_live(events, paint)
            time.sleep(args.delay)
    events = parser.close(stop=args.stop or turn.stop or "none")  # type: ignore[arg-type]
    if args.live:
        _show_live(events, paint)
        print("\n")
    if args.json:
        print(json.dumps(as_json(parser.turn, spans=args.spans), ensure_ascii=True))
    else:
        _show(turn.name, parser.turn, paint, spans=args.spans)


def as_json(turn: Turn, *, spans: bool) -> dict[str, Any]:
    """A turn for `--json`."""
    found: dict[str, Any] = {
        "reasoning": turn.reasoning,
        "content": turn.content,
        "calls": [
            {
                "index": c.index,
                "name": c.name,
                "arguments": c.arguments,
                "literals": dict(c.literals),
                "complete": c.complete,
                "clean": c.clean,
            }
            for c in turn.calls
        ],
        "complete": turn.complete,
        "closed": turn.closed,
        "issues": [{"code": i.code, "position": i.start, "call": i.index} for i in turn.issues],
        "lossless": render(turn) == turn.raw,
    }
    if spans:
        found["spans"] = [[s.kind, s.start, s.end] for s in turn.spans]
    return found


def _show_live(events: Any, paint: Paint) -> None:
    for event in events:
        if isinstance(event, Issue):
            text = paint("issue", f"‹{event.code}›")
        elif isinstance(event, Markup):
            text = paint(event.kind, printable(event.raw).replace("\n", "⏎\n" if event.kind == "ws" else "\n"))
        else:
            kind = {"ReasoningDelta": "think_body", "ContentDelta": "content", "ToolCallStart": "name",
                    "ArgumentStart": "key", "ArgumentDelta": "value"}.get(type(event).__name__, "dim")  # fmt: skip
            text = paint(kind, printable(event.raw))
        sys.stdout.write(text)
    sys.stdout.flush()


def _show(name: str, turn: Turn, paint: Paint, *, spans: bool) -> None:
    print(paint("bold", f"{name}: {len(turn.raw):,} characters, {len(turn.calls)} calls, "
                f"{'complete' if turn.complete else 'cut'}"))  # fmt: skip
    if turn.reasoning is not None:
        _section("reasoning", printable(turn.reasoning), paint, "think_body")
    if turn.content is not None:
        _section("content", printable(turn.content), paint, "content")
    for call in turn.calls:
        state = "" if call.clean else " (complete, not clean)" if call.complete else " (incomplete)"
        print(paint("dim", f"call {call.index}") + "  " + paint("name", visible(call.name or "?")) + paint("bad", state))
        for key, literal in call.literals.items():
            value = call.arguments.get(key)
            shown = literal if isinstance(value, str) else f"{literal}  → {value!r}"
            _section("  " + visible(key), printable(shown), paint, "value")
    for issue in turn.issues:
        where = f"at {issue.start}" + ("" if issue.index is None else f", call {issue.index}")
        print(paint("issue", f"issue   {issue.code} ({where})"))
    if spans:
        for span in turn.spans:
            print(f"{span.start:>7}–{span.end:<7} {span.kind:<16} "
                  + paint(span.kind, visible(turn.raw[span.start : span.end], spaces=True)))  # fmt: skip
    print(paint("good", "lossless: the regions join to the very text"))


def _section(title: str, text: str, paint: Paint, kind: str) -> None:
    lines = text.split("\n")
    print(paint("dim", f"{title:<10}") + paint(kind, lines[0]))
    for line in lines[1:]:
        print(" " * 10 + paint(kind, line))


def _ollama(args: argparse.Namespace, turn: turns.Recorded, paint: Paint) -> None:
    tools = options.tools_of(args)
    parser = OllamaParser(args.mode.partition(":")[2], turn.tools if tools is None else tools)
    found: dict[str, Any] = {"reasoning": "", "content": "", "calls": [], "error": None}
    try:
        for piece in [*options.cutting(args.cut, turn.text, turn.pieces), None]:
            result = parser.add(piece or "", done=piece is None)
            found["reasoning"] += result.thinking
            found["content"] += result.content
            found["calls"] += [{"name": c.name, "arguments": c.arguments} for c in result.calls]
    except UnicodeEncodeError as error:
        raise FormatError(f"{turn.name}: --mode {args.mode} reads UTF-8 only ({error.reason})") from None
    except ParseError as error:
        found["error"] = str(error)
    if args.json:
        print(json.dumps(found, ensure_ascii=True))
        return
    print(paint("bold", f"{turn.name}: as {args.mode} reads it"))
    for title, kind in (("reasoning", "think_body"), ("content", "content")):
        if found[title]:
            _section(title, printable(found[title]), paint, kind)
    for call in found["calls"]:
        print(paint("dim", "call      ") + paint("name", visible(call["name"])) + " "
              + visible(json.dumps(call["arguments"], ensure_ascii=False)))  # fmt: skip
    if found["error"]:
        print(paint("bad", f"error     {found['error']}"))


