"""`qwenparse compare`: what the model wrote, what a normalising server replays in the next prompt, what splice replays.

Without FILE it compares turns of a real small model that ship with the package, in the tokens it sampled.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

from ..drift import Drift, explain
from ..errors import FormatError, TemplateError
from ..ollama import replay
from ..prompt import Prompt, render_prompt
from ..start import open_tail
from ..turn import Turn, render
from . import options, turns
from .paint import Paint, visible
from .parse import make_parser

BEFORE, AFTER = 28, 44
"""Characters of a row in front of the first difference, and behind it."""
QUESTION = [{"role": "user", "content": "…"}]
TEMPLATE_FOR = {"qwen2.5": "qwen3-instruct-2507", "qwq": "qwen3", "qwen3-thinking-2507": "qwen3", "qwen3-vl-thinking": "qwen3-vl"}


@dataclass(frozen=True)
class Row:
    """One way to replay a turn: the next prompt's own text from the turn on, and where and why it drifts."""

    label: str
    text: str
    drift: Drift | None
    note: str = ""

    @property
    def changed(self) -> bool:
        return self.drift is None or self.drift.cause != "none"

    @property
    def first(self) -> int | None:
        """The first byte of the turn that does not come back; None if all of it does (or its tokens alone differ)."""
        return 0 if self.drift is None else self.drift.first_diff_byte_in_turn


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
        changed += rows[0].changed
        spliced += rows[1].changed
        lost += lost_bytes(turn, rows[0])
        lost_tokens += (rows[0].drift and rows[0].drift.lost_tokens) or 0
        total += len(turn.raw_bytes)
        if args.only_changed and not rows[0].changed:
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


def lost_bytes(turn: Turn, row: Row) -> int:
    """Bytes of the turn behind the first difference."""
    if row.first is None:
        return 0
    return len(turn.raw_bytes) - max(row.first, 0)


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


def _asked(turn: Turn) -> Prompt:
    """A prompt that leaves the turn open as its own did."""
    name = TEMPLATE_FOR.get(turn.format.name, turn.format.name)
    return Prompt("<|im_start|>user\n…<|im_end|>\n<|im_start|>assistant\n" + turn.gen_prefix, name)


def _normalised(args: argparse.Namespace, given: turns.Recorded, turn: Turn, tokenizer: Any) -> Row:
    before = _asked(turn)
    note = ""
    if args.mode.startswith("ollama:"):
        parser_name = args.mode.partition(":")[2]
        renderer = {"qwen3": "qwen3-vl-instruct", "qwen3-thinking": "qwen3-vl-thinking"}.get(parser_name, parser_name)
        again = replay(parser_name, renderer, QUESTION, given.tools, None, given.text, new_messages=following(turn))
        after, label = again.next_prompt, args.mode
        note = f"error: {again.error}" if again.error else ""
    elif args.mode == "lossless":
        label = f"template {before.format}"
        try:
            after = render_prompt([*QUESTION, message_of(turn), *following(turn)], before.format or "").text
        except TemplateError as error:
            return Row(label, "", None, f"the template refuses it: {error}")
    else:
        raise FormatError(f"--mode {args.mode}: it takes lossless or ollama:NAME")
    return _row(label, before, turn, after, tokenizer, note)


def _spliced(turn: Turn, tokenizer: Any) -> Row:
    """What `Prompt.extend` puts into the next prompt."""
    before = _asked(turn)
    return _row("splice", before, turn, before.extend(turn, following(turn)).text, tokenizer, "")


def _row(label: str, before: Prompt, turn: Turn, after: str, tokenizer: Any, note: str) -> Row:
    # Server and template may write another head; only the turn is compared.
    header = "<|im_start|>assistant\n"
    behind = after[: len(after) - len(open_tail(after) or "") - len(header)] if open_tail(after) is not None else after
    at = behind.rfind(header)
    written = behind[at + len(header) :] if at >= 0 else behind
    head = before.text[: len(before.text) - len(turn.gen_prefix)]
    drift = explain(before, head + written, turn=turn, format=turn.format, tokenizer=tokenizer)
    shown = written[len(turn.gen_prefix) :] if written.startswith(turn.gen_prefix) else written
    return Row(label, shown, drift, note)


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
                "as": row.label,
                "text": row.text,
                "cause": None if row.drift is None else row.drift.cause,
                "first_diff_byte_in_turn": row.first,
                "lost_bytes": lost_bytes(turn, row),
                "lost_tokens": None if row.drift is None else row.drift.lost_tokens,
                "note": row.note or None,
            }
            for row in rows
        ],
    }


def _show(given: turns.Recorded, turn: Turn, rows: list[Row], paint: Paint) -> None:
    calls = f"{len(turn.tool_calls)} calls" if len(turn.tool_calls) != 1 else "1 call"
    issues = ", ".join(sorted({i.code for i in turn.issues}))
    print(paint("bold", given.name) + paint("dim", f"  {turn.format.name}, {calls}" + (f", {issues}" if issues else "")))
    changed = rows[0].first
    at = len(turn.raw_bytes[: max(changed, 0)].decode("utf-8", "surrogateescape")) if changed is not None else 0
    width = max(len("model"), *(len(row.label) for row in rows))
    start = max(0, at - BEFORE)
    print(f"  {'model':<{width}}  {_excerpt(turn.raw, start, at, None, paint)}")
    for row in rows:
        mark = at if row.first is not None and row.first >= 0 else None
        print(f"  {row.label:<{width}}  {_excerpt(row.text, start, at, mark, paint)}  {_verdict(turn, row, paint)}")
        if mark is not None:
            print(" " * (width + 4 + (start > 0) + len(visible(turn.raw[start:at]))) + paint("bad", "^"))
    print()


def _verdict(turn: Turn, row: Row, paint: Paint) -> str:
    if not row.changed:
        return paint("good", "the same")
    said = f"byte {row.first}: {row.drift.cause if row.drift else 'refused'}, {lost_bytes(turn, row):,} bytes lost"
    if row.drift is not None and row.drift.lost_tokens:
        said += f", {row.drift.lost_tokens} tokens"
    return paint("bad", said) + (f" ({visible(row.note)})" if row.note else "")


def _excerpt(text: str, start: int, at: int, mark: int | None, paint: Paint) -> str:
    end = at + AFTER
    left, right = visible(text[start:at]), visible(text[at:end])
    shown = ("…" if start else "") + left + (paint("bad", right[:1]) + right[1:] if mark is not None else right)
    length = (1 if start else 0) + len(left) + len(right)
    tail = "…" if len(text) > end else ""
    return shown + tail + " " * max(0, 1 + BEFORE + AFTER - length - len(tail))
