"""`qwenparse check-template`: does a chat template keep the prefix, and which known defects does it have.

Prints per probe a verdict, a small example and what it costs. Exit code 0: no defect, 1: defects (with --strict
warnings too), 2: a file that is no template. TEMPLATE is a file, or the name of a template that comes with the package.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..errors import FormatError
from .paint import Paint, printable

_ROLES = {"defect": "bad", "warning": "issue", "ok": "good"}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "check-template", help="prefix stability and known defects of chat templates", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("templates", nargs="+", metavar="TEMPLATE", help="a .jinja file, or qwen3.8, robust.jinja, …")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="template argument for every render; VALUE is JSON, or text if it is none")  # fmt: skip
    parser.add_argument("--tokenizer", metavar="FILE", help="tokenizer.json, to count lost tokens (extra: tokens)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings too")
    parser.add_argument("--quiet", action="store_true", help="no examples, nothing about templates without findings")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from ..lint import check_template

    paint = Paint(args.color)
    given = dict(_option(item) for item in args.option)
    encode = None if args.tokenizer is None else _encoder(args.tokenizer)
    bad = False
    for template in args.templates:
        report = check_template(template, options=given, encode=encode)
        bad = bad or not report.ok or (args.strict and bool(report.findings))
        if args.json:
            print(json.dumps(json.loads(report.to_json()), ensure_ascii=False))
        elif report.findings or not args.quiet:
            for line in report.to_text(examples=not args.quiet).split("\n"):
                print(paint(_role(line), printable(line)))
    return 1 if bad else 0


def _role(line: str) -> str:
    """The colour of a line: that of the verdict it states."""
    return next((role for word, role in _ROLES.items() if f": {word}" in line or f"    {word} " in line), "content")


def _option(item: str) -> tuple[str, Any]:
    name, equals, value = item.partition("=")
    if not name or not equals:
        raise FormatError(f"--option {item}: it takes NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _encoder(path: str) -> Any:
    """Text to ids by a tokenizer.json, added tokens recognised."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError("--tokenizer needs tokenizers: pip install 'qwenparse[tokens]'") from error
    tokenizer = Tokenizer.from_file(path)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
