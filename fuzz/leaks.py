"""A loop over everything that allocates in the core, for the leak sanitizer: python -m fuzz.sanitize leaks

Failing constructors, faults in the middle, copies and abandoned parsers included.
"""

from __future__ import annotations

import gc

from fuzz import seeds
from fuzz.settings import TOOLSETS, settings
from qwenparse import DeltaParser, FormatError, Parser, parse
from qwenparse.tokens import TokenTable

ROUNDS = 3


def main() -> None:
    table = TokenTable.from_ranks({bytes([i]): i for i in range(256)}, {"<tool_call>": 256, "<|im_end|>": 257})
    inputs = [p.read_bytes() for folder in seeds.folders() for p in folder.iterdir() if p.name != ".complete"]
    for _ in range(ROUNDS):
        for data in inputs:
            s, body = settings(data)
            tools = TOOLSETS[s.tools]
            parser = Parser(s.format, tools=tools, **s.options)
            parser.feed(body[: len(body) // 2])
            copy = parser.copy()
            parser.feed(body[len(body) // 2 :])
            parser.close(stop=s.stop)
            parser.turn.message()
            parser.reset()
            parser.feed(body[:30])
            del copy
            deltas = DeltaParser(s.format, tools=tools, **s.options)
            for i in range(0, len(body), 7):
                deltas.feed(body[i : i + 7])
            ids = Parser(s.format, tools=tools, tokens=table)
            ids.feed_ids(list(body))
            parse(body, s.format, tools=tools)
        for wrong in ({"format": "nothing"}, {"format": "qwen3.5", "start": "x"}, {"format": "qwen3.5", "tools": [{}]}):
            try:
                Parser(**wrong)  # type: ignore[arg-type]
            except FormatError:
                pass
    gc.collect()
    print(f"{ROUNDS * len(inputs)} inputs")


if __name__ == "__main__":
    main()
