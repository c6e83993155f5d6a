"""The command line: one module a command, one dialect of options (`options`)."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ..errors import QwenParseError

COMMANDS = ("parse", "compare", "check_template", "drift")
"""Modules of this package with `add_parser(subparsers)` and `run(args) -> int`."""


def build_parser() -> argparse.ArgumentParser:
    from .. import __version__

    parser = argparse.ArgumentParser(
        prog="qwenparse", description="Read what Qwen models write, losing nothing.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"qwenparse {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f".{name}", __name__).add_parser(subparsers)
    return parser


def _check_streams() -> None:
    if sys.stdin is None or sys.stdout is None:
        raise OSError(f"standard {'input' if sys.stdin is None else 'output'} is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a model wrote need not fit the locale's encoding.
        sys.stdout.reconfigure(errors="backslashreplace")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; its exit code. 0: done, 1: a difference or finding, 2: wrong usage or input."""
    args = build_parser().parse_args(argv)
    try:
        _check_streams()
        code = args.run(args)
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # The reader went away (`| head`); Python would complain once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (QwenParseError, OSError, ImportError) as error:
        print(f"qwenparse {args.command}: {error}", file=sys.stderr)
        return 2
