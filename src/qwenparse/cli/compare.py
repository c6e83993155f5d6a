"""`qwenparse compare`: what the model wrote, what a normalising server replays in the next prompt, what splice replays.

Without FILE it compares turns of a real small model that ship with the package, in the tokens it sampled.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FormatError, TemplateError
from ..formats import get_format
from ..ollama import replay
from ..prompt import Prompt, render_prompt
from ..start import open_tail
from ..turn import Turn, render
from ..utf8 import to_bytes
from . import options, turns
from .paint import Paint, visible
from .parse import make_parser

BEFORE, AFTER = 28, 44
"""Characters of a row in front of the first difference, and behind it."""
QUESTION = [{"role": "user", "content": "…"}]
TEMPLATE_FOR = {"qwen2.5": "qwen3-instruct-2507", "qwq": "qwen3", "qwen3-thinking-2507": "qwen3", "qwen3-vl-thinking": "qwen3-vl"}


@dataclass(frozen=True)
class Row:
    """One way to replay a turn. `first` is the first differing byte of the turn, None if all of it came back."""

    label: str
    text: str
    first: int | None
    lost_bytes: int
    lost_tokens: int | None
    note: str = ""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "compare", help="what replaying a turn loses, normalised and spliced", description=__doc__, allow_abbrev=False
    )
    options.add_reading(parser)
    options.add_mode(parser)
    options.add_cut(parser, "tokens")
    parser.add_argument("--tokenizer", metavar="FILE", help="tokenizer.json, to count lost tokens (extra: tokens)")
    parser.add_argument("--only-changed", action="store_true", help="leave out the turns that come back unchanged")
    options.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    paint = Paint(args.color)
    tokenizer = _tokenizer(args.tokenizer)
    recorded = list(turns.read(args.files)) if args.files else turns.shipped()
    changed = spliced = lost = total = lost_tokens = 0
    for given in recorded:
        turn = _parse(args, given)
        rows = [_normalised(args, given, turn, tokenizer), _spliced(turn, tokenizer)]
        bad = rows[0].first is not None
        changed += bad
        spliced += rows[1].first is not None
        lost += rows[0].lost_bytes
        lost_tokens += rows[0].lost_tokens or 0
        total += len(turn.raw_bytes)
        if args.only_changed and not bad:
            continue
        if args.json:
            print(json.dumps(_as_json(given, turn, rows), ensure_ascii=True))
        else:
            _show(given, turn, rows, paint)
    if not args.json:
        tokens = f" and {lost_tokens:,} tokens" if tokenizer is not None else ""
        print(paint("bold", f"{len(recorded)} turns, every byte kept by the parser. Replayed normalised: {changed} changed, "
                    f"{lost:,} of {total:,} bytes{tokens} behind the first difference. Spliced: {spliced} changed."))  # fmt: skip
    return 1 if spliced else 0


def _parse(args: argparse.Namespace, given: turns.Recorded) -> Turn:
    """The turn, fed as `--cut` says; proves that nothing was lost."""
    parser = make_parser(args, given)
    for piece in options.cutting(args.cut, given.text, given.pieces):
        parser.feed(piece)
    parser.close(stop=args.stop or given.stop or "none")  # type: ignore[arg-type]
    turn = parser.turn
    assert render(turn) == turn.raw
    return turn


def message_of(turn: Turn) -> dict[str, Any]:
    """The turn as a client hands it to a chat template: decoded arguments, no ids."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.content or ""}
    if turn.reasoning is not None:
        message["reasoning_content"] = turn.reasoning
    if turn.tool_calls:
        message["tool_calls"] = [
            {"type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in turn.tool_calls
        ]
    return message


def following(turn: Turn) -> list[dict[str, Any]]:
    """The messages that come behind the turn: results of its calls, or a question."""
    return [{"role": "tool", "content": "…"} for _ in turn.tool_calls] or list(QUESTION)


def _normalised(args: argparse.Namespace, given: turns.Recorded, turn: Turn, tokenizer: Any) -> Row:
    name = TEMPLATE_FOR.get(turn.format.name, turn.format.name)
    head = turn.gen_prefix + turn.raw
    if args.mode.startswith("ollama:"):
        parser_name = args.mode.partition(":")[2]
        renderer = {"qwen3": "qwen3-vl-instruct", "qwen3-thinking": "qwen3-vl-thinking"}.get(parser_name, parser_name)
        again = replay(parser_name, renderer, QUESTION, given.tools, None, given.text, new_messages=following(turn))
        after = again.next_prompt
        note = f"error: {again.error}" if again.error else ""
        label = args.mode
    elif args.mode == "lossless":
        messages = [*QUESTION, message_of(turn), *following(turn)]
        label, note = f"template {get_format(name).name}", ""
        try:
            after = render_prompt(messages, name, tools=given.tools).text
        except TemplateError as error:
            return Row(label, "", 0, len(turn.raw_bytes), None, f"the template refuses it: {error}")
    else:
        raise FormatError(f"--mode {args.mode}: it takes lossless or ollama:NAME")
    # The turn's own part of the prompt: behind the last assistant header that what follows does not open.
    written = _turn_part(after, head)
    return _row(label, turn, turn.gen_prefix, written, tokenizer, note)


def _turn_part(prompt: str, head: str) -> str:
    tail = open_tail(prompt)
    behind = prompt[: len(prompt) - len(tail) - len("<|im_start|>assistant\n")] if tail is not None else prompt
    at = behind.rfind("<|im_start|>assistant\n")
    return behind[at + len("<|im_start|>assistant\n") :] if at >= 0 else behind


def _spliced(turn: Turn, tokenizer: Any) -> Row:
    """What `Prompt.extend` puts into the next prompt."""
    name = TEMPLATE_FOR.get(turn.format.name, turn.format.name)
    asked = "<|im_start|>user\n…<|im_end|>\n<|im_start|>assistant\n"
    after = Prompt(asked + turn.gen_prefix, name).extend(turn, following(turn)).text
    return _row("splice", turn, turn.gen_prefix, after[len(asked) :], tokenizer, "")


def _row(label: str, turn: Turn, prefix: str, written: str, tokenizer: Any, note: str) -> Row:
    """Compares what was replayed (`written`, from the header on) with prefix and turn as generated."""
    wanted = prefix + turn.raw
    same = _common(wanted, written)
    if same == len(wanted):
        return Row(label, written[len(prefix) :][: len(turn.raw)], None, 0, 0 if tokenizer is not None else None, note)
    first = len(to_bytes(wanted[:same])) - len(to_bytes(prefix))
    lost = min(len(to_bytes(wanted[same:])), len(turn.raw_bytes))
    tokens = None
    if tokenizer is not None:
        ids = tokenizer.encode(turn.raw, add_special_tokens=False).ids
        again = tokenizer.encode(written[len(prefix) :], add_special_tokens=False).ids
        tokens = len(ids) - _common(ids, again)
    return Row(label, written[len(prefix) :] if same >= len(prefix) else written, first, lost, tokens, note)


def _common(a: Sequence[Any], b: Sequence[Any]) -> int:
    k = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        k += 1
    return k


def _tokenizer(path: str | None) -> Any:
    if path is None:
        return None
    from tokenizers import Tokenizer

    return Tokenizer.from_file(path)


def _as_json(given: turns.Recorded, turn: Turn, rows: list[Row]) -> dict[str, Any]:
    return {
        "name": given.name,
        "format": turn.format.name,
        "generated": turn.raw,
        "replays": [
            {
                "as": r.label,
                "text": r.text,
                "first_diff_byte_in_turn": r.first,
                "lost_bytes": r.lost_bytes,
                "lost_tokens": r.lost_tokens,
                "note": r.note or None,
            }
            for r in rows
        ],
    }


def _show(given: turns.Recorded, turn: Turn, rows: list[Row], paint: Paint) -> None:
    calls = f"{len(turn.tool_calls)} calls" if len(turn.tool_calls) != 1 else "1 call"
    issues = ", ".join(sorted({i.code for i in turn.issues}))
    print(paint("bold", given.name) + paint("dim", f"  {turn.format.name}, {calls}" + (f", {issues}" if issues else "")))
    changed = rows[0].first
    at = len(turn.raw_bytes[: max(changed, 0)].decode("utf-8", "surrogateescape")) if changed is not None else 0
    width = max(len(r.label) for r in rows)
    width = max(width, len("model"))
    start = max(0, at - BEFORE)
    print(f"  {'model':<{width}}  {_excerpt(turn.raw, start, at, None, paint)}")
    for row in rows:
        verdict = "the same" if row.first is None else f"differs at byte {row.first}, {row.lost_bytes:,} bytes"
        if row.lost_tokens:
            verdict += f", {row.lost_tokens} tokens"
        role = "good" if row.first is None else "bad"
        mark = at if row.first is not None and row.first >= 0 else None
        print(f"  {row.label:<{width}}  {_excerpt(row.text, start, at, mark, paint)}  {paint(role, verdict)}"
              + (f" ({visible(row.note)})" if row.note else ""))  # fmt: skip
        if mark is not None:
            print(" " * (width + 4 + (start > 0) + len(visible(turn.raw[start:at]))) + paint("bad", "^"))
    print()


def _excerpt(text: str, start: int, at: int, mark: int | None, paint: Paint) -> str:
    end = at + AFTER
    left, right = visible(text[start:at]), visible(text[at:end])
    shown = ("…" if start else "") + left + (paint("bad", right[:1]) + right[1:] if mark is not None else right)
    length = (1 if start else 0) + len(left) + len(right)
    tail = "…" if len(text) > end else ""
    return shown + tail + " " * max(0, 1 + BEFORE + AFTER - length - len(tail))
