"""`qwenparse drift`: where the next prompt leaves what was generated, why, and what that costs.

  drift BEFORE AFTER           two prompts (text, or JSON lists of token ids); the first may end with the turn
  drift --log FILE             a server's log with prompt_token_ids and token_ids: exact, no template needed
  drift FILE.jsonl ...         recorded turns, each replayed the way --template or --mode says
  drift                        the same with turns of a small model that ship with the package

A line of a .jsonl file holds `text` (or `raw`, or `pieces`), and may hold `name`, `messages`, `prompt`, `next_prompt`,
`new_messages`, `format`, `tools`, `stop`, `gen_prefix`, `kwargs`, `kwargs_next`. With one case a report is printed, with
several a table of causes.
Exit code 0: no difference, 1: a difference, 2: wrong usage or input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from . import options, turns

if TYPE_CHECKING:
    from ..drift.corpus import Case
    from ..drift.replay import Recording


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "drift", help="where and why the next prompt leaves the cached prefix", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    options.add_reading(parser)
    options.add_mode(parser)
    options.add_cut(parser, "whole")
    parser.add_argument("--log", metavar="FILE", action="append", default=[], help="a server's log; - is stdin")
    parser.add_argument("--template", metavar="FILE", help="replay with this Jinja file, or robust (extra: templates)")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="template argument of both prompts; VALUE is JSON, or text if it is none")  # fmt: skip
    parser.add_argument("--next-option", action="append", default=[], metavar="NAME=VALUE",
                        help="template argument of the next prompt only")  # fmt: skip
    parser.add_argument("--turn", type=int, metavar="N", help="where the turn begins in BEFORE: code points, or ids")
    parser.add_argument("--tokenizer", metavar="FILE", help="tokenizer.json, to count tokens and read ids (extra: tokens)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a page")
    parser.add_argument("--all", action="store_true", help="one line for every case, not only the table")
    options.add_output(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..drift.corpus import Summary

    cases = list(_cases(args))
    drifted = [case for case in cases if case.drift]
    if args.json:
        for case in cases:
            print(json.dumps({"name": case.name, **case.drift.as_dict()}, ensure_ascii=True))
    elif len(cases) == 1:
        print(cases[0].drift.text())
    else:
        for case in cases if args.all else ():
            print(f"{case.name}: {case.drift}")
        print(Summary.of(cases).table())
    if args.html is not None:
        from ..drift.html import page

        title = "Drift" if len(cases) != 1 else f"Drift: {cases[0].drift.cause}"
        args.html.write_text(page(cases, title=title), encoding="utf-8")
        print(f"wrote {args.html}", file=sys.stderr)
    return 1 if drifted else 0


def _cases(args: argparse.Namespace) -> Iterator[Case]:
    tokenizer = _tokenizer(args.tokenizer)
    if args.log:
        for name in args.log:
            yield from _logged(name, args, tokenizer)
    corpus = [name for name in args.files if name.endswith(".jsonl")]
    prompts = [name for name in args.files if not name.endswith(".jsonl")]
    if len(prompts) not in (0, 2):
        raise FormatError("drift takes two prompts, .jsonl files of turns, or --log FILE")
    if prompts:
        yield _two(prompts, args, tokenizer)
    if prompts or (args.log and not corpus):
        return
    from ..drift.replay import replay

    how: dict[str, Any] = {"mode": args.mode, "policy": options.policy_of(args), "tokenizer": tokenizer, "cut": _cut(args.cut)}
    if args.template == "robust":
        how["robust"] = True
    elif args.template is not None:
        how["template"] = Path(args.template)
    sources = {name: _read(name) for name in corpus} or {"recorded": turns.shipped_text()}
    for name, text in sources.items():
        for number, row in enumerate(_rows(text, name), 1):
            yield replay(_recording(row, f"{name}:{number}", args), **how)


def _cut(how: str) -> int | None:
    """Bytes at a time, for the modes whose result depends on it."""
    if how == "whole":
        return None
    if how in ("bytes", "chars") or (how.isdigit() and int(how)):
        return int(how) if how.isdigit() else 1
    raise FormatError(f"--cut {how}: drift takes whole, bytes or a number of bytes")


def _tokenizer(file: str | None) -> Any:
    if file is None:
        return None
    from tokenizers import Tokenizer

    return Tokenizer.from_file(file)


def _read(name: str) -> str:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return data.decode("utf-8", "surrogateescape")


def _rows(text: str, name: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise FormatError(f"{name}, line {number}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise FormatError(f"{name}, line {number}: not an object")
        yield row


def _two(names: Sequence[str], args: argparse.Namespace, tokenizer: Any) -> Case:
    from ..drift import explain
    from ..drift.corpus import Case

    before, after = (_prompt(_read(name)) for name in names)
    drift = explain(
        before, after, turn=args.turn, format=args.format, tools=options.tools_of(args), tokenizer=tokenizer
    )
    one, other = _text(before, tokenizer), _text(after, tokenizer)
    start = None
    if one is not None and drift.first_diff_byte is not None and drift.first_diff_byte_in_turn is not None:
        from ..utf8 import to_bytes

        start = len(to_bytes(one)[: drift.first_diff_byte - drift.first_diff_byte_in_turn].decode("utf-8", "replace"))
    return Case(f"{names[0]} → {names[1]}", one, other, start, drift)


def _prompt(text: str) -> str | list[int]:
    """A prompt: JSON lists of integers are token ids."""
    if text.lstrip().startswith("["):
        try:
            ids = json.loads(text)
        except ValueError:
            return text
        if isinstance(ids, list) and all(type(i) is int for i in ids):
            return ids
    return text


def _text(prompt: str | list[int], tokenizer: Any) -> str | None:
    if isinstance(prompt, str):
        return prompt
    return None if tokenizer is None else str(tokenizer.decode(prompt, skip_special_tokens=False))


def _logged(name: str, args: argparse.Namespace, tokenizer: Any) -> Iterator[Case]:
    from ..drift import explain
    from ..drift.corpus import Case
    from ..drift.logs import pairs, read_log

    tools = options.tools_of(args)
    for earlier, later in pairs(read_log(_read(name).split("\n"))):
        before = earlier.prompt + earlier.sampled
        drift = explain(
            before, later.prompt, turn=len(earlier.prompt), format=args.format, tools=tools, tokenizer=tokenizer
        )
        start = len(_text(earlier.prompt, tokenizer) or "") or None
        label = f"{earlier.name} → {later.name}"
        yield Case(label, _text(before, tokenizer), _text(later.prompt, tokenizer), start, drift, len(before))


def _named(items: Iterable[str], option: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise FormatError(f"{option} {item}: it takes NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _recording(row: dict[str, Any], name: str, args: argparse.Namespace) -> Recording:
    from ..drift.replay import Recording

    given = Recording.of(row, name=name, format=args.format)
    tools = options.tools_of(args)
    mine = _named(args.option, "--option")
    following = given.options if given.next_options is None else given.next_options
    return replace(
        given,
        tools=given.tools if tools is None else tools,
        stop=args.stop or given.stop,
        options={**given.options, **mine},
        next_options={**following, **mine, **_named(args.next_option, "--next-option")},
    )
